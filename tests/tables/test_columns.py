"""Declared tables: the types that Arrow, JSON, help and documents make of a row class."""

from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any, Final, NamedTuple

import pyarrow as pa
import pytest

import workbench.tables
from tests.cli.program import run
from workbench.loaders.schemas import TIMESTAMP, schema_of
from workbench.loaders.tables.rows import table_of
from workbench.tables.columns import Bytes, Int16, Time, Topic, columns_of, is_row_class, json_of


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
