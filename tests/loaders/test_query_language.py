"""The grammar of queries: against a plain twin, what is refused with which hint, completions."""

import contextlib
import json
import operator
import re
from collections.abc import Callable
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
from workbench.loaders.queries.language import FIELDS, FLAGS, FORMS, completions
from workbench.loaders.queries.query import parse
from workbench.loaders.schemas import HEADERS
from workbench.log_directory import LogDirectory

LOG = "00000000000000000000.log"
MARCH = 1_772_323_200_000  # 2026-03-01T00:00Z
DAY = 86_400_000

RECORDS = [
    Record(0, MARCH, b"O-1", b'{"total_cents": 99, "city": "Oslo", "items": [{"sku": "a-1"}]}'),
    Record(1, MARCH + 1, b"O-2", b'{"total_cents": 101, "items": [{"sku": "b"}, {"sku": "c"}]}'),
    Record(2, MARCH + DAY, b"o-3", b"paid by user=42", ((b"user", b"7"), (b"user", b"8"))),
    Record(3, MARCH + DAY, None, b'{"total_cents": "150", "city": null}', ((b"trace", b"paid"),)),
    Record(4, MARCH + 2 * DAY, b"O-5", None, ((b"user", None),)),
    Record(5, -1, b"and", b"\xff\x00" + b"x" * 500),
    Record(6, MARCH + 3 * DAY, b"O-7 (a)", b'{"total_cents": -1, "tags": ["new", "x y"]}'),
    Record(7, MARCH + 3 * DAY, b"O-8", b'{"total_cents": 1e3, "city": "Rio", "tags": []}'),
]


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> LogDirectory:
    folder = tmp_path_factory.mktemp("logs") / "orders-0"
    folder.mkdir()
    (folder / LOG).write_bytes(
        batch(RECORDS[:4]) + batch(RECORDS[4:], producer_id=4001, base_sequence=0)
    )
    other = folder.parent / "clicks-1"
    other.mkdir()
    (other / LOG).write_bytes(batch([Record(0, MARCH, b"c", b"click")]))
    return workbench.open_log_directory(folder.parent)


FOUND = {
    "$.total_cents > 100": [1, 3, 7],
    "$.total_cents>100": [1, 3, 7],
    "$.total_cents >= 101 and $.total_cents <= 150": [1, 3],
    "$.total_cents==101": [1],
    '$.total_cents > "100"': [3],
    "$.total_cents < 0": [6],
    "$.city = Oslo OR $.city = Rio": [0, 7],
    "$.city in (Oslo, Rio)": [0, 7],
    '$.city in ("Oslo",Rio)': [0, 7],
    "$.city not in (Oslo)": [3, 7],
    "$.city = null": [3],
    "$.city != null": [0, 7],
    "$.city": [0, 3, 7],
    "not $.city": [1, 2, 4, 5, 6],
    "$.items.sku = c": [1],
    "$.items[*].sku = c": [1],
    "$.items[0].sku = c": [],
    "$.items.sku in (a-1, c)": [0, 1],
    "$.tags = new": [6],
    '$.tags:"x y"': [6],
    "$.tags": [6, 7],
    "$.tags = []": [7],
    "$": [0, 1, 3, 6, 7],
    "key = O-1": [0],
    "key != O-1": [1, 2, 4, 5, 6, 7],
    "key in (O-1, O-2, o-3)": [0, 1, 2],
    "key not in (O-1, O-2, o-3)": [4, 5, 6, 7],
    "key=null": [3],
    "key!=null": [0, 1, 2, 4, 5, 6, 7],
    'key="O-7 (a)"': [6],
    "key:(a)": [6],
    "value = null": [4],
    "value!=null": [0, 1, 2, 3, 5, 6, 7],
    "header.user": [2, 4],
    "header.user = 8": [2],
    "header.user != 8": [2],
    "header.user != null": [2],
    "header.user = null": [4],
    "header.user in (1, 7)": [2],
    "header.user not in (7, 8)": [],
    "header:user": [2, 4],
    "paid": [2, 3],
    "paid and user": [2],
    "paid AND NOT user": [3],
    "paid -user": [3],
    "-(paid or $.total_cents)": [4, 5],
    "(paid or oslo) -user": [0, 3],
    "oslo or paid user": [0, 2],
    "(oslo or paid) user": [2],
    "not not paid": [2, 3],
    '"and"': [5],
    '"user=42"': [2],
    '"\\"sku\\": \\"c\\""': [1],
    "offset in (1, 2, 9)": [1, 2],
    "offset != 3": [0, 1, 2, 4, 5, 6, 7],
    "-offset:2..5": [0, 1, 6, 7],
    "offset < 2 or offset > 6": [0, 1, 7],
    "offset = 1_0": [],
    "size > 500": [5],
    "key.size = 3 value.size >= 59": [0, 1, 5],
    "size = 19": [],
    "value.size = 0": [4],
    "timestamp >= 2026-03-04": [6, 7],
    "timestamp = null": [5],
    "timestamp != 2026-03-04": [0, 1, 2, 3, 4],
    "timestamp in (2026-03-01, 2026-03-03)": [0, 1, 4],
    "producer = 4001": [4, 5, 6, 7],
    "producer = null": [0, 1, 2, 3],
    "producer != 4001": [],
    "tombstone": [4],
    "is:tombstone": [4],
    "tombstone = false": [0, 1, 2, 3, 5, 6, 7],
    "not tombstone": [0, 1, 2, 3, 5, 6, 7],
    "keyless": [3],
    "invalid": [2, 5],
    "is:invalid key:o": [2],
    "topic = orders and partition != 1": [0, 1, 2, 3, 4, 5, 6, 7],
    "topic:/^ord/ offset:3": [3],
    "topic in (orders)": [0, 1, 2, 3, 4, 5, 6, 7],
    "partition:0": [0, 1, 2, 3, 4, 5, 6, 7],
    "partition > 0 or topic=orders offset=2": [0, 2],
    "http://x": [],
    "12:30": [],
}


@pytest.mark.parametrize("text", FOUND)
def test_a_query_finds_these_records(text: str, orders: LogDirectory) -> None:
    every = "topic" in text or "partition" in text
    scan = orders.scan(where=text) if every else orders.scan(topics="orders", where=text)
    assert scan.to_arrow()["offset"].to_pylist() == FOUND[text]


@pytest.mark.parametrize(
    ("text", "at", "hint"),
    [
        ("total_cents>100", 1, "$.total_cents>100"),
        ("total_cents > 100", 1, "$.total_cents > 100"),
        ("ofset > 5", 1, "did you mean offset?"),
        ("paid status:new", 6, "$.status:new"),
        ("status in (a, b)", 1, "$.status in (a, b)"),
        ("value.total_cents > 100", 1, "$.total_cents > 100"),
        ("value.$.total_cents > 100", 1, "written $.total_cents > 100"),
        ("headers.user=42", 1, "header.user=42"),
        ("header:user=42", 8, "header.user=42"),
        ("value:null", 7, "value=null"),
        ("key > a", 5, "key.size > N"),
        ("paid && oslo", 6, "write and"),
        ("a || b", 3, "write or"),
        ("!paid", 1, "not paid"),
        ("paid | oslo", 6, "write or"),
        ("value is null", 7, "write ="),
        ("$.city contains Oslo", 8, "write :"),
        ("$.city <> Oslo", 8, "write !="),
        ("key:a.*b", 5, "key:/a.*b/"),
        ("^O-1$", 1, "/^O-1$/"),
        (r"O-\d", 1, r"/O-\d/"),
        ("a=b", 1, '"a=b"'),
        ("x->y", 1, '"x->y"'),
        ("(paid", 1, "never closed"),
        ("paid)", 5, "closes nothing"),
        ("()", 2, "a condition is expected"),
        ("paid or", 8, "a condition is expected"),
        ("and paid", 1, "a condition is expected"),
        ("key in (a, )", 12, "lacks a value"),
        ("key in (a b)", 11, "(A, B, C)"),
        ("key in (a", 8, "(A, B, C)"),
        ('"paid', 1, "no end"),
        ('key="a b"c', 10, "a blank is missing"),
        (r'"a\d"', 3, "escape"),
        ("offset:1,2", 8, "'1,2' is not an offset"),
        ("size > big", 8, "'big' is not a number"),
        ("tombstone = 5", 11, "= true or = false"),
        ("is:tombston", 4, "did you mean tombstone?"),
        ("$.a = /x/", 7, "follows a colon"),
        ("$.a[x]", 4, "the path cannot be read"),
        ("$" + "[*]" * 101, 1, "more than 100 steps"),
        (r'$.a["\x"]', 1, "not a quoted name"),
        ("key:", 5, "lacks what to find"),
        ("key='k 1'", 5, 'as "k 1"'),
        ("$.a in (1, 'x')", 12, 'as "x"'),
        ("- paid", 1, "not paid"),
        ("(" * 60 + "a" + ")" * 60, 51, "nested"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_place_and_a_hint(
    text: str, at: int, hint: str
) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert str(caught.value).startswith(f"character {at}: ")
    assert hint in str(caught.value)


@given(
    st.one_of(
        st.text(max_size=40),
        st.lists(
            st.sampled_from(
                [*'()-:=<>!$.[]*,/ "', "and", "not", "in", "key", "$.a", "header.", "0x"]
            ),
            max_size=15,
        ).map("".join),
    )
)
def test_any_text_is_a_query_or_is_refused_with_a_place(text: str) -> None:
    query, said = None, ""
    try:
        query = parse(text)
    except QueryError as error:
        said = str(error)
    assert (query is None) is bool(re.match(r"character \d+: ", said))
    if query is not None:
        rows = {"key": b"k", "value": b'{"a": [1]}'}
        columns = {name: pa.array([each], pa.large_binary()) for name, each in rows.items()}
        columns["headers"] = pa.array([[]], HEADERS)
        columns["topic"] = pa.array(["orders"])
        numbers = pa.array([5], pa.int64())
        query.mask(lambda name: columns.get(name, numbers), np.ones(1, np.bool_))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("topic=ordes", "unknown topic ordes; did you mean orders?"),
        ("topic in (orders, x)", "unknown topic x"),
        ("topic:payments", "no topic has such a name (there are clicks, orders)"),
    ],
)
def test_a_topic_that_is_not_there_is_refused(text: str, words: str, orders: LogDirectory) -> None:
    with pytest.raises(LookupError) as caught:
        orders.scan(where=text)
    assert words in str(caught.value)


def test_what_a_query_excludes_is_not_read(orders: LogDirectory) -> None:
    scan = orders.scan(where="offset in (2, 4) and (topic=orders or topic:rders)")
    assert [partition.name for partition in scan.partitions] == ["orders-0"]
    assert [(read.low, read.high) for read in scan.plan()] == [(2, 5)]
    either = parse("time:2026-03-01 or time:2026-03-03")
    assert either.times == (MARCH, MARCH + 3 * DAY)
    assert parse("time:2026-03-01 or paid").times == parse("").times
    assert parse("-time:2026-03-01").times == parse("").times


# A twin: it evaluates what it has written itself, with json.loads and Python's own comparisons.

Twin = Callable[[Record], bool]
Written = tuple[str, Twin]

NAMES = ["n", "s", "list", "deep"]
TEXTS = ["a", "b c", "7", "x=y", 'q"', "(", "null", "and", "ü"]
NUMBERS = [-3, 0, 7, 7.5, 1000]
ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def reached(document: Any, path: list[str | int | None]) -> list[Any]:
    """Return what a path leads to: a name looks into the elements of a list."""
    if not path:
        return [document]
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        owners = document if isinstance(document, list) else [document]
        return [
            found
            for owner in owners
            if isinstance(owner, dict) and step in owner
            for found in reached(owner[step], rest)
        ]
    if not isinstance(document, list):
        return []
    chosen = document if step is None else document[step : step + 1]
    return [found for each in chosen for found in reached(each, rest)]


def json_values(record: Record, path: list[str | int | None]) -> list[Any]:
    try:
        return reached(json.loads(record.value or b"?"), path)
    except ValueError:
        return []


def opened(values: list[Any]) -> list[Any]:
    return [each for value in values for each in (value if isinstance(value, list) else [value])]


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def compares(sign: str, value: Any, number: float) -> bool:
    """Compare as an unquoted number does."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = json.loads(value)
        if not is_number(value):
            return isinstance(value, str) and ORDERED[sign](value, str(number))
    return is_number(value) and ORDERED[sign](value, number)


blanks = st.sampled_from(["", " ", "  "])
paths = st.lists(st.sampled_from([*NAMES, 0, 1, None]), min_size=1, max_size=3)


def shown(path: list[str | int | None]) -> str:
    steps = (
        f".{step}" if isinstance(step, str) else "[*]" if step is None else f"[{step}]"
        for step in path
    )
    return "$" + "".join(steps)


def with_blanks(name: str, sign: str, operand: str, before: str, after: str) -> str:
    return f"{name}{before}{sign}{after}{operand}"


@st.composite
def leaves(draw: st.DrawFn) -> Written:
    kind = draw(st.sampled_from(["order", "equal", "there", "text", "key", "size", "offset"]))
    before, after = draw(blanks), draw(blanks)
    if kind == "order":
        path, number = draw(paths), draw(st.sampled_from(NUMBERS))
        sign = draw(st.sampled_from(sorted(ORDERED)))
        text = with_blanks(shown(path), sign, str(number), before, after)
        return text, lambda record: any(
            compares(sign, value, number) for value in opened(json_values(record, path))
        )
    if kind == "equal":
        path, wanted = draw(paths), draw(st.sampled_from(TEXTS))
        is_not = draw(st.booleans())
        text = with_blanks(shown(path), "!=" if is_not else "=", json.dumps(wanted), before, after)
        return text, lambda record: any(
            (value == wanted) is not is_not for value in opened(json_values(record, path))
        )
    if kind == "there":
        path = draw(paths)
        return shown(path), lambda record: bool(json_values(record, path))
    if kind == "text":
        word = draw(st.sampled_from(TEXTS))
        data = word.encode()
        return json.dumps(word, ensure_ascii=False), lambda record: any(
            data.decode().casefold()
            in part.decode("latin-1").encode("latin-1").decode("utf-8", "replace").casefold()
            for part in (record.key, record.value, *(p for pair in record.headers for p in pair))
            if part is not None
        )
    if kind == "key":
        listed = draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3))
        is_not = draw(st.booleans())
        keys = {each.encode() for each in listed}
        text = f"key {'not ' * is_not}in ({', '.join(map(json.dumps, listed))})"
        return text, lambda record: record.key is not None and (record.key in keys) is not is_not
    number = draw(st.integers(0, 30))
    sign = draw(st.sampled_from(sorted(ORDERED)))
    text = with_blanks(kind, sign, str(number), before, after)
    if kind == "offset":
        return text, lambda record: ORDERED[sign](record.offset, number)
    return text, lambda record: ORDERED[sign](
        len(record.key or b"") + len(record.value or b""), number
    )


def joined(inner: st.SearchStrategy[Written]) -> st.SearchStrategy[Written]:
    both = st.tuples(inner, inner)
    return st.one_of(
        both.map(lambda two: (f"({two[0][0]}) ({two[1][0]})", _both(*two))),
        both.map(lambda two: (f"({two[0][0]}) AND ({two[1][0]})", _both(*two))),
        both.map(lambda two: (f"({two[0][0]}) or ({two[1][0]})", _either(*two))),
        inner.map(lambda one: (f"not ({one[0]})", lambda record: not one[1](record))),
        inner.map(lambda one: (f"-({one[0]})", lambda record: not one[1](record))),
    )


def _both(first: Written, second: Written) -> Twin:
    return lambda record: first[1](record) and second[1](record)


def _either(first: Written, second: Written) -> Twin:
    return lambda record: first[1](record) or second[1](record)


documents = st.recursive(
    st.one_of(st.none(), st.booleans(), st.sampled_from(TEXTS), st.sampled_from(NUMBERS)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=6,
)
values = st.one_of(
    st.none(),
    documents.map(lambda each: json.dumps(each, ensure_ascii=False).encode()),
    documents.map(lambda each: json.dumps(each).encode()),
    st.sampled_from(TEXTS).map(str.encode),
    st.just(b'{"n": 7'),
)


@given(
    query=st.recursive(leaves(), joined, max_leaves=5),
    stored=st.lists(
        st.tuples(
            st.one_of(st.none(), st.sampled_from(TEXTS).map(str.encode)),
            values,
            st.lists(st.sampled_from([(b"a", b"b c"), (b"h", None)]), max_size=2).map(tuple),
        ),
        min_size=1,
        max_size=8,
    ),
)
def test_a_query_finds_what_its_twin_finds(
    query: Written, stored: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("logs") / "orders-0"
    folder.mkdir()
    records = [Record(at, MARCH, *each) for at, each in enumerate(stored)]
    (folder / LOG).write_bytes(batch(records))
    text, twin = query
    found = workbench.open_log_directory(folder).scan(where=text).to_arrow()["offset"].to_pylist()
    assert found == [record.offset for record in records if twin(record)]


SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
PLAIN: dict[str, Callable[[dict[str, Any], Any], bool]] = {
    "$.total_cents > 14000": lambda _, order: order["total_cents"] > 14000,
    "$.total_cents>=14490 and $.total_cents<=14490": lambda _, order: order["total_cents"] == 14490,
    "$.items.sku = TEA-0302": lambda _, order: (
        "TEA-0302" in [item["sku"] for item in order["items"]]
    ),
    "$.items[0].sku = TEA-0302": lambda _, order: order["items"][0]["sku"] == "TEA-0302",
    "$.items.quantity > 2": lambda _, order: any(item["quantity"] > 2 for item in order["items"]),
    "$.ship_to.country in (PL, NL)": lambda _, order: order["ship_to"]["country"] in {"PL", "NL"},
    "$.channel != web-shop": lambda _, order: order["channel"] != "web-shop",
    "size > 500": lambda record, _: len(record["key"]) + len(record["value"]) > 500,
    "header.app-version = 5.1.2": lambda record, _: (
        b"5.1.2" in [each["value"] for each in record["headers"] if each["key"] == "app-version"]
    ),
    "not header.campaign": lambda record, _: (
        "campaign" not in [each["key"] for each in record["headers"]]
    ),
    "teapot and $.total_cents > 30000": lambda record, order: (
        b"teapot" in record["value"].lower() and order["total_cents"] > 30000
    ),
    "partition = 0 or offset in (1, 2, 5)": lambda record, _: (
        record["partition"] == 0 or record["offset"] in {1, 2, 5}
    ),
}


@pytest.fixture(scope="module")
def read_plainly() -> list[tuple[dict[str, Any], Any]]:
    """Every order of the sample, with its value as json.loads reads it."""
    scan = workbench.open_log_directory(SHOP).scan(topics="orders")
    return [(record, json.loads(record["value"])) for record in scan.to_arrow().to_pylist()]


@pytest.mark.parametrize("text", PLAIN)
def test_what_a_broker_wrote_is_found_as_plain_python_finds_it(
    text: str, read_plainly: list[tuple[dict[str, Any], Any]]
) -> None:
    wanted = [
        (record["partition"], record["offset"])
        for record, order in read_plainly
        if PLAIN[text](record, order)
    ]
    scan = workbench.open_log_directory(SHOP).scan(
        topics="orders", where=text, columns=["partition", "offset"]
    )
    found = [(each["partition"], each["offset"]) for each in scan]
    assert found == wanted
    assert 0 < len(found) < len(read_plainly)


def test_a_word_can_be_completed() -> None:
    assert [each.text for each in completions("par", 3)] == ["partition"]
    assert [each.text for each in completions("paid AND -value.s", 17)] == ["value.size"]
    assert completions("paid off", 8)[0] == (5, "offset", FIELDS["offset"].meaning)
    assert [each.text for each in completions("$.c", 3, ["$.city", "$.customer.id", "$.n"])] == [
        "$.city",
        "$.customer.id",
    ]
    assert completions("", 0) == []
    assert completions('"par', 4) == []


@pytest.mark.parametrize("form", FORMS)
def test_every_form_that_is_shown_is_understood(form: Any) -> None:
    assert parse(form.example).conditions
    for name in (*FIELDS, *FLAGS):
        assert name in "".join(each.example + each.meaning for each in FORMS), name
