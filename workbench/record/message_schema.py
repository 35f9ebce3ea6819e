"""Kafka's versioned messages: one declaration for each, one reader and one writer for all.

A message is declared as text, one line per field, in the order of the bytes:

    name: type [= default] [tag N] [versions A+ | A-B]

Types: int8 int16 uint16 int32 int64 float64 bool string bytes uuid, ``[type]`` for an array, ``{``
and ``}`` or ``[`` and ``]`` around lines of fields for a struct or an array of them, ``?`` before
a nullable type. The default of a struct is ``null`` or ``{}``, of an array ``null`` or ``[]``.

Since the first *flexible* version, lengths are unsigned varints of n + 1 and every struct ends
with tagged fields: those that have a tag, when they differ from their default.

Values are those of JSON, but bytes remain bytes. A uuid is its text: 22 characters of URL-safe
base64.

Kafka: org.apache.kafka.common.protocol.Message and the classes generated for it (4.2)
"""

import base64
import copy
import re
import struct
import sys
from dataclasses import dataclass
from typing import Any, Final

from workbench.errors import CorruptRecordError, UnsupportedFormatError
from workbench.record import varint

LATEST: Final = 1 << 15  # the last version of a field that still exists
NULL_UUID: Final = "A" * 22
UNKNOWN_TAGS: Final = "unknownTaggedFields"  # {tag: bytes}; present when there are any

_NUMBERS: Final = {
    name: struct.Struct(f">{code}")
    for name, code in {
        "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "int64": "q", "float64": "d",
        "bool": "?",
    }.items()
}  # fmt: skip
_DEFAULTS: Final[dict[str, Any]] = {
    **dict.fromkeys(_NUMBERS, 0), "bool": False, "float64": 0.0, "string": "", "bytes": b"",
    "uuid": NULL_UUID,
}  # fmt: skip

_LARGE: Final = 1 << 12  # bytes of a field that is worth a part of its own

Bytes = bytes | memoryview


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct.

    Attributes:
        name: as in Kafka's definition.
        type: name of a type, or the fields of a struct.
        is_array: the value is a list of that type.
        is_nullable: the value may be None.
        tag: the field's tag if it is a tagged field; otherwise None.
        first, last: the versions that have the field, both inclusive.
        default: the value in versions without the field.
    """

    name: str
    type: "str | tuple[Field, ...]"
    is_array: bool
    is_nullable: bool
    tag: int | None
    first: int
    last: int
    default: Any


@dataclass(frozen=True, slots=True)
class Message:
    """A declared message.

    Attributes:
        name: as in Kafka's definition.
        fields: in the order of the bytes.
        highest: its versions are 0 to this one.
        flexible: the first flexible version; None when there is none.
    """

    name: str
    fields: tuple[Field, ...]
    highest: int
    flexible: int | None

    def decode(self, data: Bytes, version: int, at: int = 0) -> tuple[dict[str, Any], int]:
        """Return the values by field name, and the position after the message.

        Missing tagged fields have their default; bytes after the message are ignored.

        Args:
            data: the bytes.
            version: of the message.
            at: where the message begins.

        Raises:
            UnsupportedFormatError: the version is not declared.
            CorruptRecordError: a length does not fit, or a field is null that must not be; with the
                position in ``data``.
        """
        self._check_version(version, at)
        return MessageReader(data, version, flexible=self.is_flexible(version)).struct(
            self.fields, at
        )

    def decode_counted(
        self, data: Bytes, version: int, at: int, most_items: int
    ) -> tuple[dict[str, Any], int]:
        """Return the values by field name, and how many elements all arrays have together.

        Args:
            data, version, at: see `decode`.
            most_items: how many elements there may be, because one takes many times its bytes in
                memory.

        Raises:
            UnsupportedFormatError, CorruptRecordError: see `decode`; or the elements are too many.
        """
        self._check_version(version, at)
        reader = MessageReader(data, version, flexible=self.is_flexible(version), items=most_items)
        values, _ = reader.struct(self.fields, at)
        return values, most_items - reader.items_left

    def encode(self, values: dict[str, Any], version: int) -> bytes:
        """Return the bytes of a message; a field that ``values`` lacks has its default.

        Raises:
            UnsupportedFormatError: the version is not declared.
        """
        self._check_version(version, None)
        out = bytearray()
        writer = _Writer(out, version, flexible=self.is_flexible(version))
        writer.struct(self.fields, values)
        return bytes(out)

    def encode_parts(self, values: dict[str, Any], version: int) -> list[bytes]:
        """Return what `encode` does in parts; a large field of bytes is a part and not copied.

        Raises:
            UnsupportedFormatError: the version is not declared.
        """
        self._check_version(version, None)
        writer = _PartsWriter(bytearray(), version, flexible=self.is_flexible(version))
        writer.struct(self.fields, values)
        return [*writer.parts, bytes(writer.out)]

    def _check_version(self, version: int, at: int | None) -> None:
        if not 0 <= version <= self.highest:
            raise UnsupportedFormatError(
                None, at, f"{self.name} has version {version} (expected 0 to {self.highest})"
            )

    def is_flexible(self, version: int) -> bool:
        """Return whether messages of a version have tagged fields."""
        return self.flexible is not None and version >= self.flexible


def declare(name: str, text: str, *, highest: int = 0, flexible: int | None = 0) -> Message:
    """Return the message that ``text`` describes, in the notation of this module."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    fields, rest = _parse_fields(lines)
    assert not rest, f"{name}: left over {rest}"
    return Message(name, fields, highest, flexible)


_LINE: Final = re.compile(
    r"(?P<name>\w+): (?P<nullable>\??)(?P<open>[\[{]?)(?P<type>\w*)(?P<close>[\]}]?)(?P<tail>.*)"
)
_TAIL: Final = re.compile(
    r"( = (?P<default>\S+))?( tag (?P<tag>\d+))?( versions (?P<first>\d+)(-(?P<last>\d+)|\+))?"
)


def _parse_fields(lines: list[str]) -> tuple[tuple[Field, ...], list[str]]:
    """Return the fields up to the line that closes them, and the lines after it."""
    fields = []
    while lines and lines[0][0] not in "]}":
        line = _LINE.fullmatch(lines[0])
        assert line is not None, lines[0]
        lines = lines[1:]
        kind: str | tuple[Field, ...] = line["type"]
        tail = line["tail"]
        if not kind:  # the fields follow; the rest of the declaration is after the bracket
            kind, lines = _parse_fields(lines)
            tail, lines = lines[0][1:], lines[1:]
        extra = _TAIL.fullmatch(tail)
        assert extra is not None, tail
        fields.append(
            Field(
                name=line["name"],
                type=kind,
                is_array=line["open"] == "[",
                is_nullable=bool(line["nullable"]),
                tag=None if extra["tag"] is None else int(extra["tag"]),
                first=int(extra["first"] or 0),
                last=int(extra["last"] or LATEST),
                default=_default(line, kind, extra["default"]),
            )
        )
    return tuple(fields), lines


def _default(line: re.Match[str], kind: str | tuple[Field, ...], text: str | None) -> Any:
    if text == "null" or (text is None and line["nullable"]):
        return None
    if line["open"] == "[":
        return []
    if isinstance(kind, tuple):
        assert text in (None, "{}"), text
        return {field.name: field.default for field in kind}
    if text in ("true", "false"):
        return text == "true"
    return _DEFAULTS[kind] if text is None else int(text)


class MessageReader:
    """Reads one message; every method takes a position and returns a value and the next one."""

    def __init__(
        self, data: Bytes, version: int, *, flexible: bool, items: int = sys.maxsize
    ) -> None:
        self.data = data
        self.size = len(data)
        self.version = version
        self.flexible = flexible
        self.items_left = items

    def struct(self, fields: tuple[Field, ...], at: int) -> tuple[dict[str, Any], int]:
        """Read the fields of a struct."""
        values: dict[str, Any] = {}
        for field in fields:
            if not field.first <= self.version <= field.last:
                continue
            if field.tag is None:
                values[field.name], at = self.field(field, at)
            elif self.flexible:
                values[field.name] = copy.copy(field.default)
        if self.flexible:
            at = self.tagged(fields, values, at)
        return values, at

    def tagged(self, fields: tuple[Field, ...], values: dict[str, Any], at: int) -> int:
        """Read the tagged fields at the end of a struct into ``values``."""
        count, at = varint.decode_unsigned(self.data, at)
        for _ in range(count):
            tag, size, at = self.tag(at)
            end = self.end(at, size, "a tagged field")
            known = next((f for f in fields if f.tag == tag and f.name in values), None)
            if known is None:
                values.setdefault(UNKNOWN_TAGS, {})[tag] = bytes(self.data[at:end])
            else:
                values[known.name], reached = self.field(known, at)
                if reached != end:
                    raise CorruptRecordError(
                        None, at, f"{known.name} takes {reached - at} bytes, its tag says {size}"
                    )
            at = end
        return at

    def tag(self, at: int) -> tuple[int, int, int]:
        """Read a field's tag and size, which are before it."""
        tag, at = varint.decode_unsigned(self.data, at)
        size, at = varint.decode_unsigned(self.data, at)
        return tag, size, at

    def field(self, field: Field, at: int) -> tuple[Any, int]:
        """Read a field, which may be an array."""
        if not field.is_array:
            return self.value(field, at)
        count, at = self.length(4, at)
        if count < 0:
            self.check_nullable(field, at)
            return None, at
        # An element takes a byte or more, so a count that cannot be right reserves nothing.
        self.end(at, count, f"{field.name}, an array")
        self.items_left -= count
        if self.items_left < 0:
            raise CorruptRecordError(None, at, f"{field.name} has {count} elements too many")
        items = []
        for _ in range(count):
            item, at = self.value(field, at)
            items.append(item)
        return items, at

    def value(self, field: Field, at: int) -> tuple[Any, int]:
        """Read a field that is no array, or one element of an array."""
        kind = field.type
        if isinstance(kind, tuple):
            if field.is_nullable and not field.is_array:
                is_null, at = self.struct_is_null(field, at)
                if is_null:
                    return None, at
            return self.struct(kind, at)
        if kind in _NUMBERS:
            return self.number(kind, at)
        if kind == "uuid":
            end = self.end(at, 16, field.name)
            return uuid_text(bytes(self.data[at:end])), end
        size, at = self.length(2 if kind == "string" else 4, at)
        if size < 0:
            self.check_nullable(field, at)
            return None, at
        end = self.end(at, size, field.name)
        content = bytes(self.data[at:end])
        return content.decode("utf-8", "replace") if kind == "string" else content, end

    def struct_is_null(self, field: Field, at: int) -> tuple[bool, int]:
        """Read whether a struct that may be null is."""
        # Null is a negative byte in ordinary fields, the varint 0 in tagged fields.
        if field.tag is None:
            present, at = self.number("int8", at)
            return present < 0, at
        present, at = varint.decode_unsigned(self.data, at)
        return present == 0, at

    def number(self, kind: str, at: int) -> tuple[Any, int]:
        """Read a number of a named type."""
        number = _NUMBERS[kind]
        end = self.end(at, number.size, kind)
        return number.unpack_from(self.data, at)[0], end

    def length(self, width: int, at: int) -> tuple[int, int]:
        """Read the length of a string, bytes or an array; -1 is null."""
        if self.flexible:
            size, at = varint.decode_unsigned(self.data, at)
            return size - 1, at
        return self.number("int16" if width == 2 else "int32", at)

    def end(self, at: int, size: int, what: str) -> int:
        """Return where ``size`` bytes end, if the message has them."""
        if size > self.size - at:
            raise CorruptRecordError(
                None, at, f"{what} needs {size} bytes, {max(self.size - at, 0)} are left"
            )
        return at + size

    def check_nullable(self, field: Field, at: int) -> None:
        """Raise CorruptRecordError if a field must not be null."""
        if not field.is_nullable:
            raise CorruptRecordError(None, at, f"{field.name} is null, which is not allowed")


class _Writer:
    """Appends one message to ``out``."""

    def __init__(self, out: bytearray, version: int, *, flexible: bool) -> None:
        self.out = out
        self.version = version
        self.flexible = flexible

    def struct(self, fields: tuple[Field, ...], values: dict[str, Any]) -> None:
        tagged: dict[int, bytes] = dict(values.get(UNKNOWN_TAGS, {}))
        for field in fields:
            if not field.first <= self.version <= field.last:
                continue
            value = values.get(field.name, field.default)
            if field.tag is None:
                self.field(field, value)
            elif self.flexible and value != field.default:
                inner = _Writer(bytearray(), self.version, flexible=True)
                inner.field(field, value)
                tagged[field.tag] = bytes(inner.out)
        if self.flexible:
            self.out += varint.encode_unsigned(len(tagged))
            for tag, content in sorted(tagged.items()):
                self.out += varint.encode_unsigned(tag) + varint.encode_unsigned(len(content))
                self.out += content

    def field(self, field: Field, value: Any) -> None:
        if not field.is_array:
            self.value(field, value)
            return
        self.length(4, -1 if value is None else len(value))
        for item in value or ():
            self.value(field, item)

    def value(self, field: Field, value: Any) -> None:
        kind = field.type
        if isinstance(kind, tuple):
            if field.is_nullable and not field.is_array:
                null = 0xFF if field.tag is None else 0
                self.out.append(null if value is None else 1)
            if value is not None:
                self.struct(kind, value)
        elif kind in _NUMBERS:
            self.out += _NUMBERS[kind].pack(value)
        elif kind == "uuid":
            self.out += base64.urlsafe_b64decode(value + "==")
        else:
            content = value.encode() if isinstance(value, str) else value
            self.length(2 if kind == "string" else 4, -1 if content is None else len(content))
            self.content(content or b"")

    def content(self, content: bytes) -> None:
        self.out += content

    def length(self, width: int, size: int) -> None:
        if self.flexible:
            self.out += varint.encode_unsigned(size + 1)
        else:
            self.out += _NUMBERS["int16" if width == 2 else "int32"].pack(size)


class _PartsWriter(_Writer):
    """Appends one message to ``out``, and to `parts` what comes before it."""

    def __init__(self, out: bytearray, version: int, *, flexible: bool) -> None:
        super().__init__(out, version, flexible=flexible)
        self.parts: list[bytes] = []

    def content(self, content: bytes) -> None:
        if len(content) < _LARGE:
            self.out += content
            return
        self.parts += [bytes(self.out), content]
        self.out.clear()


def uuid_text(data: bytes) -> str:
    """Return Kafka's text for the 16 bytes of a uuid: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")
