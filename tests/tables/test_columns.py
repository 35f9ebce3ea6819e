"""Declared tables: the types that Arrow, JSON, help and documents make of a row class."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Annotated, Any, Final, NamedTuple

import pandas as pd
import pyarrow as pa
import pytest

import workbench as wb
import workbench.tables
from tests.cli.program import run
from workbench.loaders.scan.column_engines import data_frame
from workbench.loaders.schemas import SCAN_FIELDS, TIMESTAMP, schema_of
from workbench.loaders.tables.rows import table_of
from workbench.tables.columns import Bytes, Int16, Time, Topic, columns_of, is_row_class, json_of

SHOP: Final = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


class Part(NamedTuple):
    """A nested row."""

    name: str
    size: Annotated[Int16 | None, "bytes"]


@dataclass(frozen=True)
class Whole:
    """A row of every type."""

    topic: Topic
    count: Annotated[int, "how many"]
    ratio: float
    time: Annotated[Time | None, "when; null: never"]
    key: Annotated[Bytes | None, "the key"]
    parts: Annotated[list[Part], "its parts"]
    names: tuple[str, ...] | None
    is_open: bool


ROWS: Final = [
    Whole("t", 1, 0.5, 1_000, b"\x01", [Part("a", 2), Part("b", None)], ("x", "y"), is_open=True),
    Whole("t", 2, 0.5, None, None, [], None, is_open=False),
]


def declared() -> list[type]:
    """Return the classes of all tables."""
    found = []
    for module in iter_modules(workbench.tables.__path__, "workbench.tables."):
        names = vars(import_module(module.name)).values()
        found += [each for each in names if is_row_class(each, module.name)]
    return found


def test_arrow_has_the_declared_columns_and_values() -> None:
    table = table_of(Whole, ROWS)
    part = pa.struct([pa.field("name", pa.string(), nullable=False), pa.field("size", pa.int16())])
    assert table.schema == pa.schema(
        [
            pa.field("topic", pa.string(), nullable=False),
            pa.field("count", pa.int64(), nullable=False),
            pa.field("ratio", pa.float64(), nullable=False),
            pa.field("time", TIMESTAMP),
            pa.field("key", pa.large_binary()),
            pa.field("parts", pa.list_(part), nullable=False),
            pa.field("names", pa.list_(pa.string())),
            pa.field("is_open", pa.bool_(), nullable=False),
        ]
    )
    assert table["parts"].to_pylist() == [
        [{"name": "a", "size": 2}, {"name": "b", "size": None}],
        [],
    ]
    assert table["time"].cast(pa.int64()).to_pylist() == [1_000, None]
    assert table_of(Whole, []).schema == table.schema


def test_json_has_the_same_names() -> None:
    first, second = map(json_of, ROWS)
    assert first == {
        "topic": "t", "count": 1, "ratio": 0.5, "time": 1_000, "key": "01",
        "parts": [{"name": "a", "size": 2}, {"name": "b", "size": None}], "names": ["x", "y"],
        "is_open": True,
    }  # fmt: skip
    assert list(first) == list(second) == schema_of(Whole).names


def test_documents_name_types_and_meanings() -> None:
    texts = {each.name: (each.type_text, each.meaning) for each in columns_of(Whole)}
    assert texts["topic"] == ("text", "the topic")
    assert texts["time"] == ("time in ms or null", "when; null: never")
    assert texts["parts"] == ("list of objects", "its parts")
    assert texts["names"] == ("list of text or null", "")


def test_a_type_without_a_column_is_refused() -> None:
    class Odd(NamedTuple):
        value: complex

    with pytest.raises(TypeError, match="value: <class 'complex'> is not the type of a column"):
        columns_of(Odd)


@pytest.mark.parametrize("row_class", declared(), ids=lambda each: each.__name__)
def test_every_declared_table_says_what_its_rows_and_fields_are(row_class: Any) -> None:
    assert row_class.__doc__.splitlines()[0].endswith(".")
    assert [each.name for each in columns_of(row_class) if not each.meaning] == []
    assert schema_of(row_class).names == [each.name for each in columns_of(row_class)]


def test_help_lists_the_fields() -> None:
    text = run("offsets", "--help").out
    assert "Fields with --json:" in text
    assert "high_watermark" in text.partition("Fields with --json:")[2]


MEANINGS: Final = {
    "before": "a value of the cluster, or an offset",
    "broker": "an id, or a name",
    "checkpoint": "an offset, or a file",
    "difference": "bytes, or a word",
    "leader": "a broker, or a member",
    "offsets": "how many committed offsets, or how many of a log",
    "partitions": "how many, or which",
    "reason": "of each of millions of records it is a category",
    "replicas": "which, or how many",
    "threshold": "a number, or a configuration with its unit",
    "value": "of a configuration, of a quota, or of a record",
}
"""Names that stand for different things in different tables; all others have one type."""


def test_columns_of_one_name_have_one_type_in_all_tables() -> None:
    types: dict[str, set[pa.DataType]] = {}
    for row_class in declared():
        for field in schema_of(row_class):
            types.setdefault(field.name, set()).add(field.type)
    assert {name for name, found in types.items() if len(found) > 1} == set(MEANINGS)


def test_pandas_has_one_type_for_a_type_of_arrow_in_scans_and_in_tables() -> None:
    """Tables of `inspect` have them by the schema's metadata, which `to_pandas` reads."""
    of_scan = data_frame(table_of(Whole, ROWS)).dtypes
    of_table = table_of(Whole, ROWS).to_pandas().dtypes
    for name in ("topic", "count", "time", "is_open"):
        assert of_table[name] == of_scan[name], name
    assert of_table["topic"] == pd.StringDtype("pyarrow")
    assert table_of(Whole, ROWS).to_pandas()["key"].str.len().notna().any()
    assert str(of_table["time"]) == "datetime64[ms, UTC]"


def test_a_table_of_inspect_has_the_types_of_a_scan() -> None:
    logs = wb.open_log_directory(SHOP)
    scanned = logs.scan(topics="orders", limit=5, columns=list(SCAN_FIELDS)).to_pandas().dtypes
    tables = [logs.inspect.segments(), logs.inspect.findings(), logs.inspect.group_offsets()]
    shared = 0
    for table in tables:
        types = table.to_pandas().dtypes
        for name in types.index.intersection(scanned.index):
            # Where a table may have null, an integer is Int64; a scan's column has none.
            assert str(types[name]).lower() == str(scanned[name]).lower(), name
            shared += 1
        assert "object" not in {str(each) for each in types}
    assert shared >= 6
