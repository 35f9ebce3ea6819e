"""Queries: what each condition finds, what is refused, and that no expression hangs."""

import json
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from tests.naive import Record, batch
from workbench.errors import QueryError
from workbench.loaders.queries.json_path import NOT_JSON, comparison, parsed
from workbench.loaders.queries.patterns import literal, regular_expression
from workbench.loaders.queries.query import LONGEST, Query, parse
from workbench.loaders.scan.scan import Scan
from workbench.log_directory import LogDirectory

LOG = "00000000000000000000.log"
MARCH = 1_772_323_200_000  # 2026-03-01T00:00Z
DAY = 86_400_000

RECORDS = [
    Record(0, MARCH, b"id-7", b'{"customer": {"id": 42}, "amount": 10, "city": "Oslo"}'),
    Record(1, MARCH + 1, b"id-70", b'{"customer":{"id":"42"},"amount":99.5,"tags":["a b","c"]}'),
    Record(2, MARCH + DAY, b"ID-7", b"PAID by card", ((b"trace", b"abc"), (b"trace", None))),
    Record(3, MARCH + DAY + 1, None, b"paid", ((b"other", b"trace"),)),
    Record(4, MARCH + 2 * DAY, b"k4", None),
    Record(5, -1, b"", b"\x00\x01\xff\n"),
    Record(6, MARCH + 3 * DAY, "Kraków".encode(), b'{"\\u0061mount": 1e2, "n": null, "ok": true}'),
    Record(7, MARCH + 3 * DAY, b"k7", b'[{"sku": "x-1"}, {"sku": "y.2"}] '),
    Record(8, MARCH + 3 * DAY, b'{"id": 8}', b'{"customer": {"id": 42.0}} trailing'),
]

FOUND = {
    "": [0, 1, 2, 3, 4, 5, 6, 7, 8],
    "paid": [2, 3],
    "PAID": [2],
    "-paid": [0, 1, 4, 5, 6, 7, 8],
    "paid card": [2],
    '"by card"': [2],
    "key:id-7": [0, 1, 2],
    "key:ID-7": [2],
    "key=id-7": [0],
    'key=""': [5],
    "trace": [2, 3],
    "header:abc": [2],
    "header.trace": [2],
    "header.trace:abc": [2],
    "header.trace:xyz": [],
    "header.trac": [],
    "/^id-7$/": [0],
    "key:/^id-7$/i": [0, 2],
    "key=/ID-./": [2],
    r"value:/\n/": [5],
    "0x0001ff": [5],
    "value:0x00ff": [],
    "kraków": [6],
    "Kraków": [6],
    "$.customer.id=42": [0, 1],
    '$.customer.id="42"': [1],
    "$.customer.id!=42": [],
    "$.customer": [0, 1],
    "$.amount>10": [1, 6],
    "$.amount>=10": [0, 1, 6],
    "$.amount<99.5": [0],
    "$.amount=100": [6],
    "$.amount=10.0": [0],
    "$.city:osl": [0],
    "$.city>Nice": [0],
    "$.amount:9": [1],
    '$.tags[0]="a b"': [1],
    "$.tags[*]=c": [1],
    "$.tags[2]": [],
    "$[*].sku:/^y/": [7],
    '$[1]["sku"]=y.2': [7],
    "$.n=null": [6],
    "$.ok=true": [6],
    "$.ok=1": [],
    "key$.id=8": [8],
    "-$.amount": [2, 3, 4, 5, 7, 8],
    "is:tombstone": [4],
    "is:keyless": [3],
    "-is:keyless key:7": [0, 1, 2, 7],
    "offset:2..3": [2, 3],
    "offset:..1": [0, 1],
    "offset>6": [7, 8],
    "offset>=6 offset<8": [6, 7],
    "time:2026-03-01": [0, 1],
    "time:2026-03-01..2026-03-02": [0, 1, 2, 3],
    "time:2026-03-01T00:00:00.001": [1],
    'time>"2026-03-02 00:00"': [4, 6, 7, 8],
    f"time:{MARCH}": [0],
    "time<2026-03-02": [0, 1],
    "time<=2026-03-02": [0, 1, 2, 3],
    "partition:1": [],
    "partition:0,1 key:id": [0, 1, 2, 8],
}


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> LogDirectory:
    folder = tmp_path_factory.mktemp("logs") / "orders-0"
    folder.mkdir()
    (folder / LOG).write_bytes(batch(RECORDS[:4]) + batch(RECORDS[4:]))
    return workbench.open_log_directory(folder.parent)


@pytest.mark.parametrize("text", FOUND)
def test_a_query_finds_these_records(text: str, orders: LogDirectory) -> None:
    assert orders.scan(where=text).to_arrow()["offset"].to_pylist() == FOUND[text]


def test_a_query_adds_to_the_other_options(orders: LogDirectory) -> None:
    scan = orders.scan(
        where="time:2026-03-01..2026-03-02 offset>0",
        offsets=(None, 3),
        timestamps=(MARCH, MARCH + DAY),
        columns=["key"],
    )
    assert scan.to_arrow()["key"].to_pylist() == [b"id-70"]
    assert scan.count() == 1


def test_columns_that_only_the_query_looks_at_are_not_returned(orders: LogDirectory) -> None:
    table = orders.scan(where="$.amount=10 header:x -value:y", columns=["offset"]).to_arrow()
    assert table.schema.names == ["offset"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("key:", "key: lacks what to find"),
        ("header.a:", "header.a: lacks what to find"),
        ("/a(?=b)/", "not a regular expression: invalid perl operator"),
        (r"/(a)\1/", "not a regular expression: invalid escape sequence"),
        ("/" + "(a{1000}){1000}" + "/", "not a regular expression"),
        ("offset:x", "'x' is not an offset"),
        ("offset:1..y", "'y' is not an offset"),
        ("offset:", "lacks a value"),
        ("time:soon", "'soon' is not a time"),
        ("partition:a", "is not partition:0"),
        ("partition>x", "'x' is not a number"),
        ("is:big", "is:big is unknown .expected is:tombstone"),
        ("$.a=", "lacks what to compare with"),
        ("$.a;b=1", None),
        ("$.a[x]=1", "the path cannot be read at"),
        (f"/{'a' * (LONGEST - 2)}b/", "characters"),
        ("a" * (LONGEST + 1), "characters"),
    ],
)
def test_what_has_no_meaning_is_refused(text: str, message: str | None) -> None:
    if message is None:
        assert parse(text).conditions
        return
    with pytest.raises(QueryError, match=message):
        parse(text)


def test_a_query_can_be_sent_to_another_process(orders: LogDirectory) -> None:
    query = parse('paid -key:/x/i $.a[*]>1 header.h:7 is:keyless time:2026-03-01 "q u"')
    assert pickle.loads(pickle.dumps(query)) == query  # noqa: S301
    assert Scan(orders.listing, where=parse("paid")).count() == 2


def test_no_expression_takes_more_than_linear_time() -> None:
    values = pa.array([b"a" * 1_000_000], pa.large_binary())
    began = time.process_time()
    assert not regular_expression("(a+)+$b").find(values).any()
    assert not regular_expression("(a|a)*b").find(values).any()
    assert time.process_time() - began < 5


def test_any_bytes_are_found_as_they_are() -> None:
    every = bytes(range(256))
    values = pa.array([every, None, b"", every[::-1]], pa.large_binary())
    assert literal(every).find(values).tolist() == [True, False, False, False]
    assert literal(b"").find(values).tolist() == [True, False, True, True]
    for at in range(256):
        one = pa.array([bytes([at]), bytes([at ^ 1])], pa.binary())
        assert literal(bytes([at])).find(one).tolist() == [True, False]


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b"Infinity", b"\xff", b"{", b"1" * 10_000, b'"\xed\xa0\x80"']
)
def test_what_is_not_json_is_no_error(data: bytes) -> None:
    assert parsed(data) is NOT_JSON


def test_json_is_found_however_it_is_written(tmp_path: Path) -> None:
    """What need not be parsed is decided by its text: that must never hide a match."""
    wanted: list[Any] = [
        b'{"id":42}', b'{"id" : 42}', b'{ "id"\n:\t42 }', b'{"\\u0069d":42}', b'{"id":42.0}',
        b'{"id":4.2e1}', b'{"id":"42"}', b'{"id":"\\u0034\\u0032"}', b'{"a":{"id":1},"id":42}',
        b'{"id":420e-1}',
    ]  # fmt: skip
    others = [
        b'{"id":43}',
        b'{"idx":42}',
        b'{"a":{"id":42}}',
        b'["id",42]',
        b'"id":42',
        b'{"id":[[42]]}',
        b'{"id":{"id":42}}',
    ]
    folder = tmp_path / "logs" / "orders-0"
    folder.mkdir(parents=True)
    records = [Record(at, 1, None, value) for at, value in enumerate([*wanted, *others])]
    (folder / LOG).write_bytes(batch(records))
    scan = workbench.open_log_directory(tmp_path / "logs").scan(where="$.id=42")
    assert scan.to_arrow()["offset"].to_pylist() == list(range(len(wanted)))


@given(
    st.sampled_from([">", ">=", "<", "<=", "=", "!="]),
    st.one_of(st.integers(-50, 2000), st.floats(-10, 2000).map(lambda each: round(each, 2))),
    st.lists(
        st.one_of(
            st.integers(-2000, 20000),
            st.floats(-1e6, 1e6),
            st.floats(0, 1e-3),
            st.just(-0.0),
            st.integers(0, 2000).map(str),
            st.none(),
            st.booleans(),
            st.sampled_from(["", "x", [1999], {"n": 5}]),
        ),
        max_size=30,
    ),
)
def test_no_number_is_hidden_by_what_decides_whether_it_is_parsed(
    operator: str, bound: float, values: list[Any]
) -> None:
    query = parse(f"$.n{operator}{bound}")
    column = pa.array([json.dumps({"n": each}).encode() for each in values], pa.large_binary())
    found = query.mask(lambda _: column, np.ones(len(values), np.bool_))
    wanted = comparison(operator, str(bound), is_quoted=False)
    assert found.tolist() == [wanted.holds(each) for each in values]


def test_an_empty_query_is_every_record() -> None:
    assert parse("  ") == Query()
