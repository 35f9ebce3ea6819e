"""Where each field of a message is: a walk by the same declarations that messages are read with.

Kafka: org.apache.kafka.common.protocol.Message and the classes generated for it (4.2)
"""

from typing import Any, Final, NamedTuple

from workbench.errors import CorruptRecordError
from workbench.record import varint
from workbench.record.message_schema import Bytes, Field, Message, MessageReader, Struct

Path = tuple[str | int, ...]
"""Names of fields, and numbers of elements: ``("topics", 0, "partitions", 1)``."""


CONTINUES: Final = "continues after these bytes"
"""The note of a field whose end is missing."""


class Span(NamedTuple):
    """A field's bytes.

    Attributes:
        path: where it is in the message; structs and arrays come before what they hold.
        start, end: its bytes, [start, end), with the length before them.
        value: int, float, str, bytes or bool; None for null, structs and arrays.
        note: what the value does not say.
    """

    path: Path
    start: int
    end: int
    value: Any
    note: str = ""


def message_spans(
    message: Message, data: Bytes, version: int, at: int = 0, *, most: int
) -> tuple[list[Span], int]:
    """Return the fields of a message, and the position after the last of them.

    Args:
        message: the declaration.
        data: the bytes, which may end too early; they are never an error.
        version: of the message.
        at: where it begins.
        most: how many spans are returned; the rest is one.
    """
    fields = message.struct(version)
    reader = _Spans(data, flexible=fields.is_flexible, most=most)
    try:
        _, end = reader.struct(fields, at)
    except _EnoughError as enough:
        reader.close(len(data))
        reader.spans.append(Span(("…",), enough.at, len(data), None, "further fields"))
        return reader.spans, len(data)
    except CorruptRecordError:
        reader.close(len(data))
        return reader.spans, len(data)
    return reader.spans, end


class _EnoughError(Exception):
    """There are as many spans as were asked for."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at


class _Spans(MessageReader):
    """Reads a message and notes where each field is."""

    def __init__(self, data: Bytes, *, flexible: bool, most: int) -> None:
        super().__init__(data, flexible=flexible)
        self.spans: list[Span] = []
        self._most = most
        self._open: list[int] = []
        self._elements: list[int] = []  # how many each open array has so far
        self._is_count = False  # the next length is that of an array

    def _begin(self, name: str | int, at: int) -> None:
        if len(self.spans) >= self._most:
            raise _EnoughError(at)
        path = self.spans[self._open[-1]].path if self._open else ()
        self._open.append(len(self.spans))
        self.spans.append(Span((*path, name), at, at, None))

    def _end(self, end: int, value: Any, note: str = "") -> None:
        number = self._open.pop()
        value = None if isinstance(value, dict | list) else value
        self.spans[number] = self.spans[number]._replace(end=end, value=value, note=note)

    def close(self, end: int) -> None:
        """End the spans that are open, because the bytes end."""
        for number in self._open:
            self.spans[number] = self.spans[number]._replace(end=end, note=CONTINUES)

    def struct(self, of: Struct, at: int) -> tuple[dict[str, Any], int]:
        """Read a struct field by field, so that each is noted."""
        values = {}
        for field in of.fields:
            if field.tag is None:
                values[field.name], at = self.field(field, at)
        return values, self.tagged(of, values, at) if of.is_flexible else at

    def field(self, field: Field, at: int) -> tuple[Any, int]:
        """Note a field, and what it holds."""
        self._begin(field.name, at)
        if field.is_array:
            self._elements.append(0)
            self._is_count = True
        value, end = super().field(field, at)
        if field.is_array:
            self._elements.pop()
        self._end(end, value, _note(value))
        return value, end

    def length(self, width: int, at: int) -> tuple[int, int]:
        """Note how many elements an array has."""
        size, end = super().length(width, at)
        if self._is_count:
            self._is_count = False
            self._begin("length", at)
            self._end(end, size, "null" if size < 0 else "")
        return size, end

    def items(self, field: Field, count: int, at: int) -> tuple[list[Any], int]:
        """Note each element of an array, numbers too."""
        items = []
        for _ in range(count):
            item, at = self.value(field, at)
            items.append(item)
        return items, at

    def value(self, field: Field, at: int) -> tuple[Any, int]:
        """Note an element of an array."""
        if not field.is_array:
            return super().value(field, at)
        self._begin(self._elements[-1], at)
        self._elements[-1] += 1
        value, end = super().value(field, at)
        self._end(end, value, _note(value))
        return value, end

    def tagged(self, of: Struct, values: dict[str, Any], at: int) -> int:
        """Note the tagged fields of a struct: their number, and for each its tag and size."""
        count, first = varint.decode_unsigned(self.data, at)
        self._begin("taggedFields", at)
        if count:
            self._begin("count", at)
            self._end(first, count)
        end = super().tagged(of, values, at)
        self._end(end, count)
        return end

    def tag(self, at: int) -> tuple[int, int, int]:
        """Note a field's tag and size as one."""
        tag, size, end = super().tag(at)
        self._begin(f"tag {tag}", at)
        self._end(end, size, "size of the field")
        return tag, size, end


def _note(value: Any) -> str:
    if value is None:
        return "null"
    return f"{len(value)} bytes" if isinstance(value, bytes) else ""
