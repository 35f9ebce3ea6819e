"""Kafka's versioned messages: Kafka's own declarations, one reader and one writer for all.

Kafka declares each message in a JSON file, from which its build makes Java classes. The files are
kept here as they are, in a folder for each version of Kafka (`messages/4.3.1/FetchRequest.json`).
A version of a message is read by the newest Kafka that knows it: what Kafka 4.0 has removed is in
the folder of 3.9.1.

Since the first *flexible* version, lengths are unsigned varints of n + 1 and every struct ends
with tagged fields: those that have a tag, when they differ from their default.

Values are those of JSON by the names of the fields, ``camelCase``, but bytes remain bytes. A uuid
is its text: 22 characters of URL-safe base64. A field that is not given has Kafka's default; but
one that may be null is null, unless it is tagged.

Kafka: org.apache.kafka.message.MessageGenerator, FieldSpec, MessageSpec (4.3)
"""

import base64
import copy
import json
import os
import re
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

from workbench.errors import CorruptRecordError, UnsupportedFormatError
from workbench.record import varint

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
    "records": b"", "uuid": NULL_UUID,
}  # fmt: skip
PLAIN_STRING: Final = "plain string"
"""Type of a string that is not compact in flexible versions: the client id of a header."""

_BYTE: Final = 0x7F  # the largest varint of one byte
_LARGE: Final = 1 << 12  # bytes of a field that is worth a part of its own
_FOLDER: Final = os.path.join(os.path.dirname(__file__), "messages")
_TRUNK: Final = "trunk"  # the folder of what no release has yet
_COMMENT: Final = re.compile(r"^\s*//.*$", re.MULTILINE)

Bytes = bytes | memoryview
Declaration = Mapping[str, Any]
"""A message as in Kafka's file."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct, in one version.

    Attributes:
        name: as in Kafka's definition, but for the first letter.
        type: name of a type, or a struct.
        is_array: the value is a list of that type.
        is_nullable: the value may be None.
        tag: the field's tag if it is a tagged field; otherwise None.
        default: the value of a field that is not given.
        number: packs one value of a type of numbers; otherwise None.
    """

    name: str
    type: "str | Struct"
    is_array: bool
    is_nullable: bool
    tag: int | None
    default: Any
    number: struct.Struct | None


@dataclass(frozen=True, slots=True)
class Struct:
    """The fields of a struct, in one version.

    Attributes:
        name: as in Kafka's definition.
        fields: in the order of the bytes, and tagged fields where Kafka's definition has them.
        tagged: the tagged fields by tag.
        is_flexible: whether it ends with tagged fields, and lengths are varints.
    """

    name: str
    fields: tuple[Field, ...]
    tagged: Mapping[int, Field]
    is_flexible: bool


class Message:
    """A declared message.

    Args:
        name: as in Kafka's definition.
        declarations: Kafka's definitions, the newest first; None: those of the files.
    """

    def __init__(self, name: str, declarations: Sequence[Declaration] | None = None) -> None:
        self.name = name
        self._given = declarations
        self._structs: dict[int, Struct] = {}

    @cached_property
    def _eras(self) -> list[tuple[range, Declaration]]:
        declarations = _declared(self.name) if self._given is None else self._given
        return [(_versions(each["validVersions"]), each) for each in declarations]

    @cached_property
    def lowest(self) -> int:
        """The first version that is declared."""
        return min(each.start for each, _ in self._eras)

    @cached_property
    def highest(self) -> int:
        """The last version."""
        return max(each[-1] for each, _ in self._eras)

    def is_flexible(self, version: int) -> bool:
        """Return whether messages of a version have tagged fields.

        Raises:
            UnsupportedFormatError: the version is not declared.
        """
        return self.struct(version).is_flexible

    def struct(self, version: int, at: int | None = None) -> Struct:
        """Return the fields of a version.

        Raises:
            UnsupportedFormatError: the version is not declared.
        """
        found = self._structs.get(version)
        if found is None:
            declared = self._declaration(version, at)
            found = self._structs[version] = _Declared(declared, version).struct(
                self.name, declared["fields"]
            )
        return found

    def _declaration(self, version: int, at: int | None) -> Declaration:
        for versions, declared in self._eras:
            if version in versions:
                return declared
        expected = f"{self.lowest} to {self.highest}"
        raise UnsupportedFormatError(
            None, at, f"{self.name} has version {version} (expected {expected})"
        )

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
        fields = self.struct(version, at)
        return MessageReader(data, flexible=fields.is_flexible).struct(fields, at)

    def decode_counted(
        self, data: Bytes, version: int, at: int, most_items: int
    ) -> tuple[dict[str, Any], int]:
        """Return the values by field name, and how many elements and tagged fields there are.

        Args:
            data, version, at: see `decode`.
            most_items: how many elements there may be, because one takes many times its bytes in
                memory.

        Raises:
            UnsupportedFormatError, CorruptRecordError: see `decode`; or the elements are too many.
        """
        fields = self.struct(version, at)
        reader = MessageReader(data, flexible=fields.is_flexible, items=most_items)
        values, _ = reader.struct(fields, at)
        return values, most_items - reader.items_left

    def encode(self, values: Mapping[str, Any], version: int) -> bytes:
        """Return the bytes of a message; a field that ``values`` lacks has its default.

        Raises:
            UnsupportedFormatError: the version is not declared.
        """
        fields, out = self.struct(version), bytearray()
        _Writer(out, flexible=fields.is_flexible).struct(fields, values)
        return bytes(out)

    def encode_parts(self, values: Mapping[str, Any], version: int) -> list[bytes]:
        """Return what `encode` does in parts; a large field of bytes is a part and not copied.

        Raises:
            UnsupportedFormatError: the version is not declared.
        """
        fields = self.struct(version)
        writer = _PartsWriter(bytearray(), flexible=fields.is_flexible)
        writer.struct(fields, values)
        return [*writer.parts, bytes(writer.out)]


@cache
def message(name: str) -> Message:
    """Return the message of a name; its files are read when it is first needed."""
    return Message(name)


def _kafkas() -> list[str]:
    """Return the folders, the newest version of Kafka first."""
    folders = [each for each in os.listdir(_FOLDER) if each == _TRUNK or each[0].isdigit()]
    return sorted(
        folders,
        key=lambda name: (
            name == _TRUNK,
            [int(part) for part in name.split(".") if part.isdigit()],
        ),
        reverse=True,
    )


def _declared(name: str) -> list[Declaration]:
    paths = [os.path.join(_FOLDER, kafka, f"{name}.json") for kafka in _kafkas()]
    found = []
    for path in filter(os.path.exists, paths):
        with open(path, encoding="utf-8") as file:
            found.append(json.loads(_COMMENT.sub("", file.read())))
    assert found, f"no version of Kafka has a message {name}"
    return found


def _versions(text: str) -> range:
    """Return the versions of "3+", "1-4", "2" or "none"."""
    if text == "none":
        return range(0)
    if text.endswith("+"):
        return range(int(text[:-1]), sys.maxsize)
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


class _Declared:
    """Makes the structs of one version of a declaration."""

    def __init__(self, declared: Declaration, version: int) -> None:
        self._version = version
        self._shared = {each["name"]: each["fields"] for each in declared.get("commonStructs", ())}
        self._is_flexible = self._has(declared, "flexibleVersions")

    def _has(self, declared: Declaration, *names: str) -> bool:
        """Return whether the version is in the first of some ranges that is declared."""
        texts = (declared[name] for name in names if name in declared)
        return self._version in _versions(next(texts, "none"))

    def struct(self, name: str, declared: Sequence[Declaration]) -> Struct:
        """Return the struct with the fields that are there in the version."""
        there = [each for each in declared if self._has(each, "versions", "taggedVersions")]
        fields = tuple(map(self._field, there))
        tagged = {field.tag: field for field in fields if field.tag is not None}
        return Struct(name, fields, tagged, self._is_flexible)

    def _field(self, declared: Declaration) -> Field:
        name, element = declared["name"], declared["type"].removeprefix("[]")
        inner = declared.get("fields") or self._shared.get(element)
        kind = element if inner is None else self.struct(element, inner)
        if declared.get("flexibleVersions") == "none":
            kind = PLAIN_STRING
        tag = declared["tag"] if self._has(declared, "taggedVersions") else None
        is_array = declared["type"] != element
        is_nullable = self._has(declared, "nullableVersions")
        text = str(declared.get("default") or "")
        if text == "null" or (is_nullable and tag is None and not text):
            default = None
        else:
            default = [] if is_array else _default(kind, text)
        return Field(
            name=name[0].lower() + name[1:],
            type=kind,
            is_array=is_array,
            is_nullable=is_nullable,
            tag=tag,
            default=default,
            number=_NUMBERS.get(kind) if isinstance(kind, str) else None,
        )


def _default(kind: str | Struct, text: str) -> Any:
    if isinstance(kind, Struct):
        return {each.name: each.default for each in kind.fields}
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    return int(text, 0) if text else _DEFAULTS[kind]


class MessageReader:
    """Reads one message; every method takes a position and returns a value and the next one."""

    def __init__(self, data: Bytes, *, flexible: bool, items: int = sys.maxsize) -> None:
        self.data = data
        self.size = len(data)
        self.flexible = flexible
        self.items_left = items

    def struct(self, of: Struct, at: int) -> tuple[dict[str, Any], int]:
        """Read the fields of a struct."""
        values: dict[str, Any] = {}
        data, size = self.data, self.size
        for field in of.fields:
            number = field.number
            if field.tag is not None:
                values[field.name] = copy.copy(field.default)
            elif number is not None and not field.is_array and number.size <= size - at:
                (values[field.name],) = number.unpack_from(data, at)
                at += number.size
            elif field.is_array:
                values[field.name], at = self.field(field, at)
            else:
                values[field.name], at = self.value(field, at)
        if of.is_flexible:
            if at < size and not data[at]:  # no tagged fields, as in most structs
                return values, at + 1
            at = self.tagged(of, values, at)
        return values, at

    def tagged(self, of: Struct, values: dict[str, Any], at: int) -> int:
        """Read the tagged fields at the end of a struct into ``values``."""
        data = self.data
        count, at = varint.decode_unsigned(data, at)
        self.take(count, at, f"{of.name}: the tagged fields have")
        for _ in range(count):
            tag, size, at = self.tag(at)
            end = at + size
            if end > self.size:
                self.end(at, size, "a tagged field")
            known = of.tagged.get(tag)
            if known is None:
                values.setdefault(UNKNOWN_TAGS, {})[tag] = bytes(data[at:end])
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
        data = self.data
        if at + 1 < self.size and data[at] <= _BYTE and data[at + 1] <= _BYTE:
            return data[at], data[at + 1], at + 2
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
        if count > self.size - at:
            self.end(at, count, f"{field.name}, an array")
        self.take(count, at, f"{field.name} has")
        return self.items(field, count, at)

    def take(self, count: int, at: int, what: str) -> None:
        """Count elements that are about to be read.

        Raises:
            CorruptRecordError: they are too many.
        """
        self.items_left -= count
        if self.items_left < 0:
            raise CorruptRecordError(None, at, f"{what} {count} elements, which is too many")

    def items(self, field: Field, count: int, at: int) -> tuple[list[Any], int]:
        """Read the elements of an array."""
        if field.number is not None:
            end = at + count * field.number.size
            if end > self.size:
                self.end(at, end - at, field.name)
            numbers = struct.unpack_from(f">{count}{field.number.format[1:]}", self.data, at)
            return list(numbers), end
        items = []
        for _ in range(count):
            item, at = self.value(field, at)
            items.append(item)
        return items, at

    def value(self, field: Field, at: int) -> tuple[Any, int]:
        """Read a field that is not an array, or one element of an array."""
        number, kind = field.number, field.type
        if number is not None:
            if number.size > self.size - at:
                self.end(at, number.size, str(kind))
            return number.unpack_from(self.data, at)[0], at + number.size
        if isinstance(kind, Struct):
            if field.is_nullable and not field.is_array:
                is_null, at = self.struct_is_null(field, at)
                if is_null:
                    return None, at
            return self.struct(kind, at)
        if kind == "uuid":
            end = self.end(at, 16, field.name)
            return uuid_text(bytes(self.data[at:end])), end
        if kind is PLAIN_STRING:
            size, at = self.number("int16", at)
        else:
            size, at = self.length(2 if kind == "string" else 4, at)
        if size < 0:
            self.check_nullable(field, at)
            return None, at
        end = at + size
        if end > self.size:
            self.end(at, size, field.name)
        content = bytes(self.data[at:end])
        return content.decode("utf-8", "replace") if kind.endswith("string") else content, end

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
        end = at + number.size
        if end > self.size:
            self.end(at, number.size, kind)
        return number.unpack_from(self.data, at)[0], end

    def length(self, width: int, at: int) -> tuple[int, int]:
        """Read the length of a string, bytes or an array; -1 is null."""
        if self.flexible:
            if at < self.size and self.data[at] <= _BYTE:
                return self.data[at] - 1, at + 1
            size, at = varint.decode_unsigned(self.data, at)
            return size - 1, at
        return self.number("int16" if width == 2 else "int32", at)

    def end(self, at: int, size: int, what: str) -> int:
        """Return where ``size`` bytes end, if the message has them."""
        end = at + size
        if end > self.size:
            raise CorruptRecordError(
                None, at, f"{what} needs {size} bytes, {max(self.size - at, 0)} are left"
            )
        return end

    def check_nullable(self, field: Field, at: int) -> None:
        """Raise CorruptRecordError if a field must not be null."""
        if not field.is_nullable:
            raise CorruptRecordError(None, at, f"{field.name} is null, which is not allowed")


class _Writer:
    """Appends one message to ``out``."""

    def __init__(self, out: bytearray, *, flexible: bool) -> None:
        self.out = out
        self.flexible = flexible

    def struct(self, of: Struct, values: Mapping[str, Any]) -> None:
        for field in of.fields:
            if field.tag is not None:
                continue
            value = values.get(field.name, field.default)
            if field.is_array:
                self.array(field, value)
            elif field.number is not None:
                self.out += field.number.pack(value)
            else:
                self.value(field, value)
        if of.is_flexible:
            if of.tagged or UNKNOWN_TAGS in values:
                self.tagged(of, values)
            else:
                self.out.append(0)

    def tagged(self, of: Struct, values: Mapping[str, Any]) -> None:
        contents: dict[int, bytes] = dict(values.get(UNKNOWN_TAGS, {}))
        for tag, field in of.tagged.items():
            value = values.get(field.name, field.default)
            if value != field.default:
                inner = _Writer(bytearray(), flexible=True)
                write = inner.array if field.is_array else inner.value
                write(field, value)
                contents[tag] = bytes(inner.out)
        self.out += varint.encode_unsigned(len(contents))
        for tag, content in sorted(contents.items()):
            self.out += varint.encode_unsigned(tag) + varint.encode_unsigned(len(content))
            self.out += content

    def array(self, field: Field, value: Any) -> None:
        self.length(4, -1 if value is None else len(value))
        if not value:
            return
        if field.number is not None:
            self.out += struct.pack(f">{len(value)}{field.number.format[1:]}", *value)
            return
        for item in value:
            self.value(field, item)

    def value(self, field: Field, value: Any) -> None:
        number, kind = field.number, field.type
        if number is not None:
            self.out += number.pack(value)
        elif isinstance(kind, Struct):
            if field.is_nullable and not field.is_array:
                null = 0xFF if field.tag is None else 0
                self.out.append(null if value is None else 1)
            if value is not None:
                self.struct(kind, value)
        elif kind == "uuid":
            self.out += base64.urlsafe_b64decode(value + "==")
        else:
            content = value.encode() if isinstance(value, str) else value
            self.length(2 if kind == "string" else 4, -1 if content is None else len(content))
            self.content(content or b"")

    def content(self, content: bytes) -> None:
        self.out += content

    def length(self, width: int, size: int) -> None:
        if not self.flexible:
            self.out += _NUMBERS["int16" if width == 2 else "int32"].pack(size)
        elif size < 0x7F:
            self.out.append(size + 1)
        else:
            self.out += varint.encode_unsigned(size + 1)


class _PartsWriter(_Writer):
    """Appends one message to ``out``, and to `parts` what comes before it."""

    def __init__(self, out: bytearray, *, flexible: bool) -> None:
        super().__init__(out, flexible=flexible)
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
