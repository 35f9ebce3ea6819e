"""Names and types of columns are public: other programs, files and queries rely on them."""

from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest

from tests.tables.test_columns import declared
from workbench.loaders.schemas import schema_of

COLUMNS: Final = Path(__file__).with_name("columns.txt")
"""One line per table: its columns as Arrow has them; ``?`` marks those that may be null."""


def _line(row_class: type) -> str:
    return f"{row_class.__name__}: {', '.join(map(_text, schema_of(row_class)))}"


def _text(field: pa.Field) -> str:
    return f"{field.name} {field.type}{'?' * field.nullable}"


@pytest.mark.parametrize("line", COLUMNS.read_text().splitlines(), ids=lambda x: x.split(":")[0])
def test_a_column_keeps_its_name_and_type(line: str) -> None:
    """A change is one of the format: it stands in CHANGELOG, and only then here."""
    name = line.partition(":")[0]
    assert [_line(each) for each in declared() if each.__name__ == name] == [line]
