"""How a table is declared: the class of its rows names each column, its type and its meaning.

Declare it in a module of this room, by subject, and use it everywhere::

    class Epoch(NamedTuple):
        '''A leader epoch of a partition: one row per entry of leader-epoch-checkpoint.'''

        topic: Topic                                        # a column that many tables have
        epoch: Annotated[Int32, "the leader epoch"]         # int32; `int` alone is int64
        end_time: Annotated[Time | None, "null: never"]     # nullable; ms, in Arrow a timestamp
        replicas: Annotated[list[str], "brokers, by name"]  # list[ROW CLASS] is a list of structs

- Rows are instances: mypy checks their fields. A frozen dataclass works as a NamedTuple does.
- Arrow: `loaders.tables.rows.table_of(Epoch, rows)`; of arrays: `loaders.schemas.schema_of(Epoch)`.
- JSON: `json_of(row)`. `--help`: ``@click.command(…, cls=Command, fields={"--json": Epoch})``.
- The page of tables on the documentation site has every class of this room by itself.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)


class Kind(NamedTuple):
    """The type of a column's values where it is not the plain one of a Python type.

    Attributes:
        name: a key of `TEXTS`.
    """

    name: str


Int8 = Annotated[int, Kind("int8")]
Int16 = Annotated[int, Kind("int16")]
Int32 = Annotated[int, Kind("int32")]
UInt32 = Annotated[int, Kind("uint32")]
Time = Annotated[int, Kind("time")]
Bytes = Annotated[bytes, Kind("large_binary")]
Category = Annotated[str, Kind("category")]
Headers = Annotated[list[tuple[str, bytes | None]], Kind("headers")]

Topic = Annotated[str, "the topic"]
PartitionNumber = Annotated[Int32, "number of the partition in its topic"]
SegmentOffset = Annotated[int, "base offset of the segment"]
RecordOffset = Annotated[int, "the record's offset"]
BatchPosition = Annotated[int, "byte in the segment's .log file"]
TopicId = Annotated[str, "the topic's id"]
ProducerId = Annotated[int, "the producer's id"]
ProducerEpoch = Annotated[Int16, "the producer's epoch"]
LeaderEpoch = Annotated[Int32, "the leader epoch"]
EpochStart = Annotated[int, "the first offset of the epoch"]
Reason = Annotated[str, "why, with the figures"]
HighWatermark = Annotated[int | None, "as checkpointed"]
AdminState = Annotated[str, "as an admin client names it"]
LastOffset = Annotated[int, "offset of its last record"]
TransactionStart = Annotated[int, "offset of the transaction's first record"]

_PLAIN: Final = {str: "string", int: "int64", bool: "bool", float: "float64", bytes: "binary"}

TEXTS: Final = {
    "string": "text",
    "category": "text",
    "bool": "boolean",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "uint32": "uint32",
    "int64": "int64",
    "float64": "float64",
    "time": "time in ms",
    "binary": "bytes",
    "large_binary": "bytes",
    "headers": "list of objects",
    "list": "list",
    "objects": "list of objects",
    "struct": "object",
}
"""The types of columns, as help and documents name them."""


class TableColumn(NamedTuple):
    """A column of a table, or a field of the structs that a column holds.

    Attributes:
        name: the same in Arrow and JSON.
        kind: a key of `TEXTS`.
        is_nullable: whether values may be null.
        meaning: one phrase, with the unit and what null stands for.
        item: of a list, what it holds.
        fields: of a struct, what it holds.
    """

    name: str
    kind: str
    is_nullable: bool
    meaning: str = ""
    item: "TableColumn | None" = None
    fields: "tuple[TableColumn, ...]" = ()

    @property
    def type_text(self) -> str:
        """The type as documents name it: ``int32 or null``, ``list of text``."""
        text = TEXTS[self.kind]
        if self.item is not None:
            text += f" of {TEXTS[self.item.kind]}{'s' * (self.item.kind == 'struct')}"
        return f"{text} or null" if self.is_nullable else text


@cache
def columns_of(row_class: type) -> tuple[TableColumn, ...]:
    """Return the columns that a row class declares, in order.

    Raises:
        TypeError: a field has no type that a column can have.
    """
    hints = get_type_hints(row_class, include_extras=True)
    return tuple(_column(name, hint) for name, hint in hints.items())


def is_row_class(found: object, module: str) -> bool:
    """Return whether something in a module of this room is the class of a table's rows."""
    is_class = isinstance(found, type) and found.__module__ == module
    return is_class and module != __name__ and bool(columns_of(found))


def _column(name: str, hint: Any, *, is_nullable: bool = False) -> TableColumn:
    notes: tuple[Any, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *given = get_args(hint)
        notes = tuple(given)
    meaning = next((note for note in reversed(notes) if isinstance(note, str)), "")
    kind = next((note.name for note in notes if isinstance(note, Kind)), None)
    if kind is None:
        kind = "string" if get_origin(hint) is Literal else _PLAIN.get(hint)
    if kind is not None:
        return TableColumn(name, kind, is_nullable, meaning)
    if get_origin(hint) in {UnionType, Union}:
        (other,) = (each for each in get_args(hint) if each is not NoneType)
        found = _column(name, other, is_nullable=True)
        return found._replace(meaning=meaning or found.meaning)
    if get_origin(hint) in {list, tuple}:
        item = _column("item", get_args(hint)[0], is_nullable=True)
        return TableColumn(name, "list", is_nullable, meaning, item)
    if isinstance(hint, type) and get_type_hints(hint):
        return TableColumn(name, "struct", is_nullable, meaning, None, columns_of(hint))
    raise TypeError(f"{name}: {hint!r} is not the type of a column")


def json_of(row: Any) -> dict[str, Any]:
    """Return a row as an object of JSON: times in ms since the epoch, bytes in hex."""
    row_class: type = type(row)
    return {each.name: _plain(getattr(row, each.name)) for each in columns_of(row_class)}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not hasattr(value, "_fields"):
        return [_plain(each) for each in value]
    return json_of(value)
