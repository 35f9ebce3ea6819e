"""Values decoded in a scan: text and JSON, what replaces bad ones, and what is said of them."""

import json
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import workbench
from tests.naive import Record, batch
from workbench.errors import CorruptDataWarning, SchemaError
from workbench.values.column import Column, ColumnDecoder
from workbench.values.registry import decoder

LOG = "00000000000000000000.log"
PRICE = pa.schema([("cents", pa.int64()), ("of", pa.struct([("sku", pa.string())]))])
SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


def none_wanted() -> pa.Array:
    raise AssertionError("the type was given")


def column_decoder(how: Any, first_values: Callable[[], pa.Array]) -> ColumnDecoder:
    return decoder(
        how,
        Column("value", lambda _: {"value": first_values()}, none_wanted, lambda: [first_values()]),
    )


def decoded(how: Any, values: Sequence[bytes | None]) -> list[Any]:
    """What a decoding makes of values."""
    raw = pa.array(values, pa.large_binary())
    column = column_decoder(how, lambda: raw).decode(raw, {}).values
    assert len(column) == len(raw)
    return column.to_pylist()  # type: ignore[no-any-return]


def logs_of(tmp_path: Path, **topics: list[bytes | None]) -> workbench.LogDirectory:
    """A log directory with a partition of each topic that holds these values."""
    for topic, values in topics.items():
        folder = tmp_path / "logs" / f"{topic}-0"
        folder.mkdir(parents=True)
        records = [Record(at, 1, b"k%d" % at, value) for at, value in enumerate(values)]
        (folder / LOG).write_bytes(batch(records))
    return workbench.open_log_directory(tmp_path / "logs")


def test_text_is_what_is_utf_8() -> None:
    values = [b"tea", None, b"", "Krak\N{LATIN SMALL LETTER O WITH ACUTE}w".encode(), b"\xff", b"x"]
    assert decoded("utf8", values) == ["tea", None, "", "Kraków", None, "x"]


def test_json_of_a_given_type_takes_what_fits() -> None:
    of = {"sku": "A"}
    values = [
        (b'{"cents":1,"of":{"sku":"A"},"more":[{"x":[]}]}', {"cents": 1, "of": of}),
        (b' {\n "of": {"sku":"A"} }\n', {"cents": None, "of": of}),
        (b'{"cents":9007199254740993}', {"cents": 2**53 + 1, "of": None}),
        (b"{}", {"cents": None, "of": None}),
        (None, None),
    ]
    assert decoded(PRICE, [value for value, _ in values]) == [found for _, found in values]


BAD = [
    b"", b" ", b"null", b"12", b'"text"', b"[]", b"nope", b"{", b"}", b"{}{}", b'{"cents":1},{}',
    b'{"cents":1}\n{"cents":2}', b'{"cents":1,"cents":2}', b'{"\xff":1}',
    b'{"of":{"sku":"\xff"}}', b'{"of":{"sku":"\n"}}', b'{"cents":', b'{"cents":1}x',
    b"\0\0\0\0\x01\x02", b'{"a":{"b":' + b"[" * 5000 + b"}}",
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_what_is_not_such_json_is_null_and_nothing_else_is(bad: bytes) -> None:
    good, found = b'{"cents":1}', {"cents": 1, "of": None}
    assert decoded(PRICE, [good, bad, None, good, bad]) == [found, None, None, found, None]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (b'{"cents":"1","of":{"sku":"A"}}', {"cents": None, "of": {"sku": "A"}}),
        (b'{"cents":1.5,"of":{"sku":"A"}}', {"cents": None, "of": {"sku": "A"}}),
        (b'{"cents":1e30}', {"cents": None, "of": None}),
        (b'{"cents":99999999999999999999}', {"cents": None, "of": None}),
        (b'{"cents":7,"of":[]}', {"cents": 7, "of": None}),
        (b'{"cents":7,"of":{"sku":1}}', {"cents": 7, "of": {"sku": "1"}}),
        (b'{"cents":7,"of":{"sku":{"b":[1.50]}}}', {"cents": 7, "of": {"sku": '{"b": [1.50]}'}}),
    ],
)
def test_a_field_that_does_not_fit_is_null_alone_and_text_holds_anything(
    value: bytes, found: dict[str, Any]
) -> None:
    good = {"cents": 1, "of": None}
    assert decoded(PRICE, [b'{"cents":1}', value, None, value]) == [good, found, None, found]


def test_no_two_values_make_one_object() -> None:
    """The bytes of a batch are read together: what is open in one must not be closed in another."""
    pieces = [
        b'{"cents":[{}',
        b"{}]}",
        b'{"of":{"sku":"}',
        b'{"}}',
        b"{}{}",
        b'{"of":{"sku":"{}',
        b"{}",
    ]
    assert decoded(PRICE, pieces) == [None] * 6 + [{"cents": None, "of": None}]


def test_json_is_read_as_python_reads_it() -> None:
    """Random damage: what is taken is what `json` takes, and means the same."""
    randomly = random.Random(6)
    whole = b'{"cents":12,"of":{"sku":"\\u00e9\\"x"},"more":[1,{"a":null},true]}'
    values: list[bytes] = []
    for _ in range(3000):
        damaged = bytearray(whole)
        for _ in range(randomly.randint(0, 2)):
            at = randomly.randrange(len(damaged))
            damaged[at : at + randomly.randint(0, 3)] = randomly.choice(
                [b"", b"{", b"}", b",", b"\n", b"\xff", b'"', b"[", b"0", b" ", b"\\"]
            )
        values.append(bytes(damaged))
    for value, found in zip(values, decoded(PRICE, values), strict=True):
        if found is not None:
            told = json.loads(value)
            assert found["cents"] in (told.get("cents"), None)
            if isinstance(of := told.get("of") or {}, dict):
                assert (found["of"] or {}).get("sku") == of.get("sku")
    assert decoded(PRICE, [whole]) == [{"cents": 12, "of": {"sku": 'é"x'}}]


def test_a_required_field_makes_objects_without_it_bad() -> None:
    required = pa.schema([pa.field("cents", pa.int64(), nullable=False)])
    assert decoded(required, [b'{"cents":1}', b"{}", b'{"cents":null}']) == [
        {"cents": 1},
        None,
        None,
    ]


def test_a_types_own_times_and_decimals_are_read() -> None:
    kinds = pa.schema([("at", pa.timestamp("ms", "UTC")), ("price", pa.decimal128(9, 2))])
    (found,) = decoded(kinds, [b'{"at":"2024-11-25T00:20:11.411Z","price":"12.50"}'])
    assert (found["at"].isoformat(), str(found["price"])) == (
        "2024-11-25T00:20:11.411000+00:00",
        "12.50",
    )


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([b'{"a":1}', b'{"b":"x","c":true}'], "struct<a: int64, b: string, c: bool>"),
        ([b'{"a":1}', b"nope", None, b'{"a":1.5}'], "struct<a: double>"),
        ([b'{"a":"2024-11-25"}'], "struct<a: string>"),
        ([b'{"a":null,"e":{},"l":[]}'], "struct<a: string, l: list<item: string>>"),
        ([b'{"l":[{"q":1},{"r":2}]}'], "struct<l: list<item: struct<q: int64, r: int64>>>"),
        ([b"12", b"[" * 100_000], "struct<>"),
        ([], "struct<>"),
    ],
)
def test_the_type_of_json_is_what_its_objects_have(values: list[bytes | None], kind: str) -> None:
    assert str(column_decoder("json", lambda: pa.array(values, pa.large_binary())).kind) == kind


def test_types_that_json_has_not_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"duration.*another type"):
        column_decoder(pa.schema([("a", pa.duration("ms"))]), none_wanted)
    with pytest.raises(SchemaError, match="unknown decoding 'avra'"):
        column_decoder("avra", none_wanted)


def test_a_scan_decodes_what_it_is_told_to(tmp_path: Path) -> None:
    logs = logs_of(tmp_path, prices=[b'{"cents":1}', None, b'{"cents":2}'])
    scan = logs.scan(columns=["offset", "key", "value"], decode={"key": "utf8", "value": "json"})
    assert str(scan.schema.field("value").type) == "struct<cents: int64>"
    assert scan.to_arrow().to_pylist() == [
        {"offset": 0, "key": "k0", "value": {"cents": 1}},
        {"offset": 1, "key": "k1", "value": None},
        {"offset": 2, "key": "k2", "value": {"cents": 2}},
    ]
    assert scan.to_arrow_batch_reader().read_all().schema == scan.schema
    assert (scan.count(), len(scan.head(2)), scan.findings) == (3, 2, [])


def test_every_partition_has_its_part_in_the_type(tmp_path: Path) -> None:
    logs = logs_of(tmp_path, clicks=[b'{"page":"/"}'] * 2000, orders=[b'{"cents":1}'], void=[None])
    table = logs.scan(columns=["topic", "value"], decode={"value": "json"}).to_arrow()
    assert str(table.schema.field("value").type) == "struct<page: string, cents: int64>"
    assert table["value"].to_pylist()[-2:] == [{"page": None, "cents": 1}, None]


def test_bad_values_are_null_counted_and_warned_of(tmp_path: Path) -> None:
    values = [b'{"cents":1}', b"tea", None, b'{"cents":"x"}']
    scan = logs_of(tmp_path, prices=values).scan(decode={"value": PRICE})
    with pytest.warns(CorruptDataWarning, match="2 keys and values null or incomplete") as told:
        table = scan.to_arrow()
    assert len(str(told[0].message)) < 300
    assert table["value"].is_null().to_pylist() == [False, True, True, False]
    whole, part = scan.findings
    assert (whole.kind, whole.offset, whole.severity) == ("undecoded", 1, "warning")
    assert whole.found == "1 of 4 values cannot be decoded: not a JSON object"
    assert (part.offset, part.found) == (
        3,
        "1 of 4 values are incomplete: field cents is text (expected int64)",
    )
    assert whole.path.endswith(LOG)


def test_bad_values_may_stop_a_scan_instead(tmp_path: Path) -> None:
    logs = logs_of(tmp_path, prices=[b'{"cents":1}', b"tea"])
    with pytest.raises(workbench.CorruptRecordError, match="1 of 2 values"):
        logs.scan(decode={"value": PRICE}, on_corrupt="raise").to_arrow()


def test_only_keys_and_values_that_are_read_can_be_decoded(tmp_path: Path) -> None:
    logs = logs_of(tmp_path, prices=[b"{}"])
    for columns, decode in ((None, {"headers": "utf8"}), (["offset"], {"value": "utf8"})):
        with pytest.raises(LookupError, match="to decode"):
            logs.scan(columns=columns, decode=decode)


def test_a_batch_is_decoded_at_once() -> None:
    """A loop in Python takes several times as long."""
    raw = pa.array([b'{"cents":1,"of":{"sku":"TEA-0101"},"more":"x"}'] * 50_000, pa.large_binary())
    prices = column_decoder(PRICE, none_wanted)
    start = time.process_time()
    assert prices.decode(raw, {}).values.null_count == 0
    batch_s = time.process_time() - start
    start = time.process_time()
    pa.array([json.loads(value) for value in raw.to_pylist()], pa.struct(list(PRICE)))
    assert batch_s < time.process_time() - start


def test_the_sample_s_orders_are_json() -> None:
    scan = workbench.open_log_directory(SHOP).scan(topics="orders", decode={"value": "json"})
    orders = scan.to_arrow()["value"].combine_chunks()
    assert (len(orders), orders.null_count, scan.findings) == (5200, 0, [])
    assert orders.field("total_cents").type == pa.int64()
