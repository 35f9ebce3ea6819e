"""What a table does with other types: it widens them, rescues values, or refuses with advice."""

import io
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow.dataset import dataset

from tests.cli.program import run
from tests.naive import Record
from tests.pipelines.planted import Disk, Place
from workbench.errors import SchemaError
from workbench.pipelines import to_table
from workbench.values.registry import Decoding

FORMATS = ("parquet", "delta", "iceberg")
SMALL = pa.schema([("i", pa.int32()), ("f", pa.float32()), ("d", pa.decimal128(6, 2))])
LARGE = pa.schema([("i", pa.int64()), ("f", pa.float64()), ("d", pa.decimal128(12, 2))])


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path / "broker")


def put(disk: Disk, first: int, *values: Any, log: str = "orders-0") -> None:
    """Add records of JSON to a log."""
    given = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in values]
    disk.append(log, [Record(at, 1, b"k%d" % at, v) for at, v in enumerate(given, first)])


@pytest.mark.parametrize("form", FORMATS)
def test_wider_values_widen_a_column_where_the_format_can_and_are_rescued_elsewhere(
    disk: Disk, tmp_path: Path, form: str
) -> None:
    lake = Place(form, tmp_path / "lake")
    put(disk, 0, {"i": 1, "f": 0.5, "d": 1.25})
    to_table(disk.path, **lake.arguments, decode={"value": SMALL})
    put(disk, 1, {"i": 2**40, "f": 0.1, "d": 123456.25}, {"i": 2, "f": 0.5, "d": 1})
    (row,) = to_table(disk.path, **lake.arguments, decode={"value": LARGE}).to_pylist()
    first, second, third = lake.everything()
    assert [row["rescued"], row["log_end_offset"]] == [0 if form == "iceberg" else 1, 3]
    assert (first["i"], first["f"], first["d"]) == (1, 0.5, Decimal("1.25"))
    assert (third["i"], third["f"], third["d"]) == (2, 0.5, 1)
    if form == "iceberg":
        assert (second["i"], second["f"], second["d"]) == (2**40, 0.1, Decimal("123456.25"))
    else:
        assert (second["i"], second["d"]) == (None, None)
        assert json.loads(second["_rescued"]) == {"value.i": f"{2**40}", "value.d": "123456.25"}


OTHERS: dict[str, tuple[Any, Any, Any, dict[str, str] | None]] = {
    "text for a number": (pa.int64(), pa.string(), "12", {"value.a": "12"}),
    "a number for text": (pa.string(), pa.int64(), 12, None),
    "a number for a list": (pa.list_(pa.int64()), pa.int64(), 12, {"value.a": "12"}),
    "a fraction in a list": (
        pa.list_(pa.int64()), pa.list_(pa.float64()), [1.5, 2.5], {"value.a[]": "1.5, 2.5"},
    ),
    "text in an object": (
        pa.struct([("b", pa.int64())]), pa.struct([("b", pa.string())]), {"b": "x"},
        {"value.a.b": "x"},
    ),
    "a time for a number": (
        pa.int64(), pa.timestamp("us", "UTC"), "2024-01-01T00:00:00Z",
        {"value.a": "2024-01-01 00:00:00.000000Z"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS)
def test_no_type_of_later_values_blocks_a_table(case: str, disk: Disk, tmp_path: Path) -> None:
    kind, later, value, rescued = OTHERS[case]
    put(disk, 0, {})
    lake = tmp_path / "lake"
    to_table(disk.path, lake, decode={"value": pa.schema([("a", kind), ("b", pa.int64())])})
    put(disk, 1, {"a": value, "b": 5})
    decode = {"value": pa.schema([("a", later), ("b", pa.int64())])}
    to_table(disk.path, lake, decode=decode)
    _, row = _table(lake).to_pylist()
    assert row["b"] == 5
    found = None if row["_rescued"] is None else json.loads(row["_rescued"])
    assert found == rescued


def _table(lake: Path) -> pa.Table:
    """Return a table of Parquet, with the columns of all of its files."""
    found = dataset(str(lake), exclude_invalid_files=True)
    every = pa.unify_schemas([each.physical_schema for each in found.get_fragments()])
    return found.replace_schema(every).to_table().sort_by("offset")


def test_a_mask_keeps_what_does_not_fit_a_table_private(disk: Disk, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    put(disk, 0, {"a": 1, "mail": "m"})
    fields = [("mail", pa.string())]
    mask = "orders value.mail drop"
    to_table(disk.path, lake, decode=pa.schema([("a", pa.int64()), *fields]), mask=mask)
    put(disk, 1, {"a": "secret", "mail": "m"})
    to_table(disk.path, lake, decode=pa.schema([("a", pa.string()), *fields]), mask=mask)
    assert _table(lake)["_rescued"].to_pylist() == [None, '{"value.a": null}']


@pytest.mark.parametrize("form", FORMATS)
def test_declared_types_are_there_from_the_first_commit_on_and_outlive_the_run(
    disk: Disk, tmp_path: Path, form: str
) -> None:
    lake = Place(form, tmp_path / "lake")
    put(disk, 0, {"price": 1, "more": True})
    told: list[str] = []
    types = [("price", pa.decimal128(12, 2)), ("at", pa.timestamp("us", "UTC"))]
    to_table(disk.path, **lake.arguments, types={"orders": pa.schema(types)})
    columns = {name: kind for name, kind in types if name in lake.table().schema.names}
    assert [*columns.items()] == types
    put(disk, 1, {"price": 2.25, "at": "2024-01-01T00:00:00Z"}, {"price": "many", "at": None})
    (row,) = to_table(disk.path, **lake.arguments, decode="json", tell=told.append).to_pylist()
    assert (row["rescued"], len(told)) == (1, 1)
    first, second, third = lake.everything()
    assert (first["price"], first["more"], first["at"]) == (1, True, None)
    assert (second["price"], second["at"].isoformat()) == (
        Decimal("2.25"), "2024-01-01T00:00:00+00:00",
    )  # fmt: skip
    assert (third["price"], third["_rescued"]) == (None, '{"value.price": "many"}')


SCHEMAS = {
    "avro": {
        "type": "record", "name": "Order", "fields": [
            {"name": "price", "type": {
                "type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        ],
    },
    "json": {"type": "object", "properties": {"price": {"type": "number"}}},
}  # fmt: skip


@pytest.mark.parametrize(("language", "price"), [("avro", Decimal(7)), ("json", 7.0)])
def test_types_are_declared_by_a_file(
    disk: Disk, tmp_path: Path, language: str, price: object
) -> None:
    put(disk, 0, {"price": 7})
    file = tmp_path / "orders.schema"
    file.write_text(json.dumps(SCHEMAS[language]))
    done = run("to-table", disk.path, "--to", tmp_path / "lake", "--types", f"orders={file}")
    assert (done.code, done.err) == (
        0,
        f"kafka-workbench: 1 record loaded into {tmp_path / 'lake'}\n",
    )
    found = _table(tmp_path / "lake")["price"].to_pylist()
    assert (found, type(found[0])) == ([price], type(price))


def test_what_cannot_be_declared_is_refused(disk: Disk, tmp_path: Path) -> None:
    put(disk, 0, {})
    put(disk, 0, {}, log="people-0")
    for given, words in (
        ({"order": SMALL}, "types are declared for 'order', which is not loaded"),
        ({"orders": pa.int64()}, r"int64 describes int64 \(expected an object with fields\)"),
        ({"orders": str(tmp_path / "none")}, "No such file"),
    ):
        with pytest.raises((LookupError, SchemaError), match=words):
            to_table(disk.path, tmp_path / "lake", types=given)
    assert not (tmp_path / "lake").exists()


def test_the_advice_of_a_refused_decoding_works(disk: Disk, tmp_path: Path) -> None:
    put(disk, 0, b"a")
    lake = tmp_path / "lake"
    to_table(disk.path, lake, decode="utf8")
    put(disk, 1, b"b")
    advice = r"value is binary in these records and string in .*decode value as the earlier runs"
    with pytest.raises(SchemaError, match=advice):
        to_table(disk.path, lake)
    assert to_table(disk.path, lake, decode="utf8")["records"].to_pylist() == [1]  # as they did
    to_table(disk.path, tmp_path / "another")
    assert _table(lake)["value"].to_pylist() == ["a", "b"]
    assert _table(tmp_path / "another")["value"].to_pylist() == [b"a", b"b"]


def test_the_advice_of_a_refused_declaration_works(disk: Disk, tmp_path: Path) -> None:
    put(disk, 0, {"a": 1})
    lake = tmp_path / "lake"
    to_table(disk.path, lake, decode="json")
    put(disk, 1, {"a": 2, "b": 3})
    types = {"orders": pa.schema([("a", pa.float64()), ("b", pa.float64())])}
    with pytest.raises(SchemaError, match=r"a is declared as double and is int64 in .*leave it"):
        to_table(disk.path, lake, types=types)
    to_table(disk.path, lake, types={"orders": pa.schema([("b", pa.float64())])})
    to_table(disk.path, tmp_path / "another", types=types)
    assert [str(_table(lake)[name].type) for name in "ab"] == ["int64", "double"]
    assert [str(_table(tmp_path / "another")[name].type) for name in "ab"] == ["double", "double"]


def test_the_advice_for_topics_that_are_declared_differently_works(
    disk: Disk, tmp_path: Path
) -> None:
    put(disk, 0, {"a": 1})
    put(disk, 0, {"a": "x"}, log="people-0")
    types = {"orders": pa.schema([("a", pa.int64())]), "people": pa.schema([("a", pa.string())])}
    with pytest.raises(SchemaError, match=r"\{topic\} in the table's name gives each its own"):
        to_table(disk.path, tmp_path / "lake", types=types)
    to_table(disk.path, tmp_path / "{topic}", types=types)
    assert _table(tmp_path / "orders")["a"].to_pylist() == [1]
    assert _table(tmp_path / "people")["a"].to_pylist() == ["x"]


@pytest.mark.parametrize("form", ["parquet", pytest.param("delta", marks=pytest.mark.long)])
def test_a_time_that_no_table_holds_is_rescued(form: str, tmp_path: Path) -> None:
    """A table has microseconds; Avro's milliseconds may be of years that those do not reach."""
    time = {"type": "long", "logicalType": "timestamp-millis"}
    local = {"type": "long", "logicalType": "local-timestamp-millis"}
    deep = {
        "type": "record",
        "name": "Deep",
        "fields": [
            {"name": "times", "type": {"type": "array", "items": local}},
            {"name": "by_name", "type": {"type": "map", "values": time}},
        ],
    }
    fields = [{"name": "at", "type": ["null", time]}, {"name": "deep", "type": deep}]
    schema = {"type": "record", "name": "R", "fields": fields}
    last = (2**63 - 1) // 1000
    values = [
        {"at": last, "deep": {"times": [-last, 0], "by_name": {"a": last}}},
        {"at": last + 1, "deep": {"times": [0, 2**63 - 1, -last - 1], "by_name": {"a": 0}}},
        {"at": None, "deep": {"times": [], "by_name": {"a": 0, "b": -(2**63)}}},
    ]
    numbers = re.sub('"logicalType": "[a-z-]+"', '"is": "a number"', json.dumps(schema))
    bare = fastavro.parse_schema(json.loads(numbers))
    disk, lake = Disk(tmp_path / "broker"), Place(form, tmp_path / "lake")
    for at, value in enumerate(values):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, bare, value)
        disk.append("orders-0", [Record(at, 1, b"k", out.getvalue())])
    decode = {"value": Decoding("avro", json.dumps(schema))}
    done = to_table(disk.path, **lake.arguments, decode=decode, tell=print)
    assert done["rescued"].to_pylist() == [2]
    table = lake.table().sort_by("offset")
    assert table["at"].cast(pa.int64()).to_pylist() == [last * 1000, None, None]
    lists = table["deep"].combine_chunks().field("times")
    assert lists.cast(pa.list_(pa.int64())).to_pylist() == [[-last * 1000, 0], [0, None, None], []]
    assert [json.loads(each or "{}") for each in table["_rescued"].to_pylist()] == [
        {},
        {
            "value.at": "294247-01-10T04:00:54.776Z",
            "value.deep.times[]": "292278994-08-17T07:12:55.807, -290308-12-21T19:59:05.224",
        },
        {"value.deep.by_name[]": "-9223372036854775808"},
    ]
