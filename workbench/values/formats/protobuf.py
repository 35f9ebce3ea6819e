"""Protobuf messages, read by Google's runtime from the descriptors of their files.

Fields that know whether they were set are null if they were not; enums are their names; maps are
maps; timestamps and durations are ns, and do not fit beyond 292 years; wrappers are nullable
values. What contains itself, and google.protobuf.Struct, is text: its JSON.

Source: Protocol Buffers language guide; google.protobuf descriptor.proto
"""

import base64
import binascii
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from workbench.errors import SchemaError
from workbench.runtime import children
from workbench.runtime.extras import optional
from workbench.values.column import Bytes, Decoded, Int64s
from workbench.values.fitting import FarTime, MapEntries
from workbench.values.formats.pieces import decoded_one_by_one
from workbench.values.guard import ENTRIES, LARGEST_SCHEMA, require_size, words_of
from workbench.values.types import widest_item

MOST_FIELDS: Final = 5000
_DEEPEST: Final = 60
_WIDE: Final = 4096  # bytes of a message's fields
_LONGEST_NAME: Final = 255  # bytes of a part of an import's name
_COMPILE_S: Final = 30
_MAIN: Final = "schema.proto"
_PER_SECOND: Final = 1_000_000_000  # ns

Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class ProtobufDecoder:
    """Decodes messages of one type.

    Attributes:
        descriptors: a serialized FileDescriptorSet; each file uses only those before it.
        message: the full name of the message's type.

    Raises:
        MissingDependencyError: protobuf is not installed.
        SchemaError: the descriptors are damaged, or have no such message.
    """

    descriptors: bytes
    message: str

    def __post_init__(self) -> None:
        _ = self._shape

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the descriptors are read again."""
        return {"descriptors": self.descriptors, "message": self.message}

    @cached_property
    def _shape(self) -> "tuple[Any, pa.DataType, Convert]":
        factory = optional("google.protobuf.message_factory", "protobuf")
        try:
            descriptor = _pool(self.descriptors).FindMessageTypeByName(self.message)
        except KeyError:
            raise SchemaError(f"Protobuf: there is no message {self.message}") from None
        kind, convert = _Shaper().message(descriptor)
        return factory.GetMessageClass(descriptor), kind, convert

    @property
    def kind(self) -> pa.DataType:
        """The type of the decoded values."""
        return self._shape[1]

    def decode_spans(self, data: Bytes, spans: Int64s) -> Decoded:
        """Decode the values in ``spans`` of ``data``."""
        message, kind, convert = self._shape
        error = optional("google.protobuf.message", "protobuf").DecodeError

        widest = widest_item(kind)

        def read(value: bytes) -> Any:
            if widest > _WIDE:  # the runtime takes as much for an item of two bytes
                require_size(len(value) // 2 * widest)
            try:
                parsed = message.FromString(value)
            except error as problem:
                raise ValueError(str(problem)) from None
            if not parsed.IsInitialized():
                raise ValueError("a required field is missing")
            return convert(parsed)

        return decoded_one_by_one(data, spans, read, kind, f"a {self.message}", _given)


def message_at(descriptors: bytes, indexes: tuple[int, ...]) -> str:
    """Return the full name of the message at these indexes of the last file, the innermost last.

    Raises:
        SchemaError: there is none.
    """
    files = _file_set(descriptors).file
    scope = files[-1].message_type if files else []
    names = [files[-1].package] if files and files[-1].package else []
    for index in indexes:
        if not 0 <= index < len(scope):
            raise SchemaError(f"Protobuf: there is no message {list(indexes)}")
        names.append(scope[index].name)
        scope = scope[index].nested_type
    return ".".join(names)


def descriptors_of(text: str, imports: Mapping[str, str]) -> bytes:
    """Return the descriptors of a schema as registries have it: .proto, or a descriptor in base64.

    Args:
        text: the schema.
        imports: texts of the files that it may import, by name.

    Raises:
        MissingDependencyError: protobuf or grpcio-tools is not installed.
        SchemaError: it cannot be compiled.
    """
    return _compiled(text, tuple(sorted(imports.items())))


@lru_cache(maxsize=256)
def _compiled(text: str, imports: tuple[tuple[str, str], ...]) -> bytes:
    if (descriptor := _from_base64(text)) is not None:
        return _with_imports(descriptor, dict(imports))
    optional("grpc_tools", "grpcio-tools")
    if len(text) + sum(len(content) for _, content in imports) > LARGEST_SCHEMA:
        raise SchemaError(f"Protobuf: more than {LARGEST_SCHEMA:,} characters with its imports")
    with tempfile.TemporaryDirectory() as folder:
        for name, content in [*imports, (_MAIN, text)]:
            _check_name(name)
            path = os.path.join(folder, *name.split("/"))
            if (base := _from_base64(content)) is not None:
                raise SchemaError(f"Protobuf: the import {base.name[:100]} is compiled already")
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(content)
            except (OSError, UnicodeError) as error:
                why = words_of(error).replace(folder, "")
                raise SchemaError(f"Protobuf: the import {name[:100]!r}: {why}") from None
        out = os.path.join(folder, "descriptors")
        # In a process of its own: the compiler is C++, and the text may come from anywhere.
        words = children.python(
            "grpc_tools.protoc", f"--proto_path={folder}", f"--proto_path={_google()}",
            "--include_imports", "-o", out, os.path.join(folder, _MAIN),
        )  # fmt: skip
        try:
            done = children.run(words, limit_s=_COMPILE_S)
        except TimeoutError:
            raise SchemaError(f"Protobuf: not compiled in {_COMPILE_S} s") from None
        if done.returncode:
            reason = done.stderr.decode("utf-8", "replace").strip()[:500]
            raise SchemaError(f"Protobuf: not compiled: {reason}")
        with open(out, "rb") as file:
            return file.read()


def _check_name(name: str) -> None:
    """Refuse the name of an import that is not that of a .proto file below the schema's folder.

    Protobuf's compiler asks for the same: relative, "/" between the parts, none of them empty, "."
    or "..".

    Raises:
        SchemaError: it is not, or no file can have it.
    """
    parts = name.encode("utf-8", "surrogatepass").split(b"/")
    if (
        not name.endswith(".proto")
        or {b"", b".", b".."} & set(parts)
        or any(character in name for character in "\0\\:")
        or max(map(len, parts)) > _LONGEST_NAME
        or len(parts) > _DEEPEST
    ):
        raise SchemaError(
            f"Protobuf: the import {name[:100]!r} is not the name of a schema "
            "(expected a relative path that ends in .proto)"
        )


def _google() -> str:
    """Return the folder of the .proto files that come with the compiler."""
    package = optional("grpc_tools", "grpcio-tools")
    return os.path.join(os.path.dirname(package.__file__), "_proto")


def _from_base64(text: str) -> Any:
    """Return the FileDescriptorProto that a text is; None if it is .proto."""
    messages = optional("google.protobuf.descriptor_pb2", "protobuf")
    try:
        return messages.FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (
        binascii.Error,
        ValueError,
        optional("google.protobuf.message", "protobuf").DecodeError,
    ):
        return None


def _with_imports(descriptor: Any, imports: Mapping[str, str]) -> bytes:
    """Return a FileDescriptorSet of a descriptor and what it imports."""
    messages = optional("google.protobuf.descriptor_pb2", "protobuf")
    files: dict[str, Any] = {}

    def add(file: Any) -> None:
        if file.name in files:
            return
        files[file.name] = file  # keeps circles out
        for name in file.dependency:
            if name not in files:
                add(_imported(name, imports))
        files[file.name] = files.pop(file.name)

    add(descriptor)
    result: bytes = messages.FileDescriptorSet(file=files.values()).SerializeToString()
    return result


def _imported(name: str, imports: Mapping[str, str]) -> Any:
    if name in imports and (found := _from_base64(imports[name])) is not None:
        found.name = name
        return found
    messages = optional("google.protobuf.descriptor_pb2", "protobuf")
    # Google's own files are in the runtime.
    module = name.removesuffix(".proto").replace("/", ".") + "_pb2"
    if not name.startswith("google/protobuf/") or ".." in name:
        raise SchemaError(f"Protobuf: the import {name[:100]} is missing")
    try:
        loaded = optional(module, "protobuf")
    except ImportError:
        raise SchemaError(f"Protobuf: the import {name[:100]} is missing") from None
    return messages.FileDescriptorProto.FromString(loaded.DESCRIPTOR.serialized_pb)


def _file_set(descriptors: bytes) -> Any:
    messages = optional("google.protobuf.descriptor_pb2", "protobuf")
    try:
        return messages.FileDescriptorSet.FromString(descriptors)
    except optional("google.protobuf.message", "protobuf").DecodeError as error:
        raise SchemaError(f"Protobuf: not a FileDescriptorSet: {error}") from None


def _pool(descriptors: bytes) -> Any:
    pool = optional("google.protobuf.descriptor_pool", "protobuf").DescriptorPool()
    try:
        for file in _file_set(descriptors).file:
            pool.Add(file)
    except TypeError as error:
        raise SchemaError(f"Protobuf: {error}") from None
    return pool


def first_message(descriptors: bytes) -> str:
    """Return the full name of the first message of the last file.

    Raises:
        SchemaError: there is none.
    """
    return message_at(descriptors, (0,))


_NUMBERS: Final = {
    1: pa.float64(), 2: pa.float32(), 3: pa.int64(), 4: pa.uint64(), 5: pa.int32(),
    6: pa.uint64(), 7: pa.uint32(), 8: pa.bool_(), 9: pa.large_string(), 12: pa.large_binary(),
    13: pa.uint32(), 15: pa.int32(), 16: pa.int64(), 17: pa.int32(), 18: pa.int64(),
}  # fmt: skip
"""Arrow's types by FieldDescriptorProto.Type."""
_ENUM: Final = 14
_IN_JSON: Final = frozenset(f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue"))
_WRAPPERS: Final = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)  # fmt: skip


class _Shaper:
    """Makes the Arrow type of a message, and what turns a message into a value of it."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.count = 0

    def message(self, descriptor: Any) -> tuple[pa.DataType, Convert]:
        name = descriptor.full_name
        if name == "google.protobuf.Timestamp":
            return pa.timestamp("ns", "UTC"), _time
        if name == "google.protobuf.Duration":
            return pa.duration("ns"), _duration
        if name in _WRAPPERS:
            kind, convert = self._single(descriptor.fields_by_name["value"])
            return kind, lambda message: convert(message.value)
        if name in _IN_JSON or name in self.open:
            return pa.large_string(), _json_text
        if len(self.open) >= _DEEPEST:
            raise SchemaError(f"Protobuf: messages nested more than {_DEEPEST} deep")
        self.open.append(name)
        parts = [(field, *self._field(field)) for field in descriptor.fields]
        self.open.pop()

        def convert_message(message: Any) -> dict[str, Any]:
            ENTRIES.take(len(parts) + 1)
            return {
                field.name: convert(getattr(message, field.name))
                if not field.has_presence or message.HasField(field.name)
                else None
                for field, _, convert in parts
            }

        return pa.struct([(field.name, kind) for field, kind, _ in parts]), convert_message

    def _field(self, field: Any) -> tuple[pa.DataType, Convert]:
        self.count += 1
        if self.count > MOST_FIELDS:
            raise SchemaError(f"Protobuf: more than {MOST_FIELDS:,} fields")
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            key_kind, convert_key = self._single(entry.fields_by_name["key"])
            kind, convert = self._single(entry.fields_by_name["value"])
            return pa.map_(key_kind, kind), lambda pairs: MapEntries(
                (convert_key(key), convert(pairs[key])) for key in pairs
            )
        kind, convert = self._single(field)
        if field.is_repeated:
            return pa.list_(kind), lambda items: [convert(item) for item in items]
        return kind, convert

    def _single(self, field: Any) -> tuple[pa.DataType, Convert]:
        if field.message_type is not None:
            return self.message(field.message_type)
        if field.type == _ENUM:
            names = {value.number: value.name for value in field.enum_type.values}
            return pa.large_string(), lambda number: names.get(number, str(number))
        return _NUMBERS[field.type], _same


def _same(value: Any) -> Any:
    return value


def _given(value: Any, _kind: Any) -> Any:
    return value


def _time(message: Any) -> int | FarTime:
    """Return ns since 1970."""
    count = _nanoseconds(message)
    if abs(count) < 2**63:
        return count
    seconds, rest = divmod(count, _PER_SECOND)
    return FarTime(f"{np.datetime64(seconds, 's')}.{rest:09d}Z")


def _duration(message: Any) -> int | FarTime:
    """Return ns."""
    count = _nanoseconds(message)
    if abs(count) < 2**63:
        return count
    return FarTime(f"{Decimal(count).scaleb(-9):f}s")


def _nanoseconds(message: Any) -> int:
    return int(message.seconds) * _PER_SECOND + int(message.nanos)


def _json_text(message: Any) -> str:
    to_dict = optional("google.protobuf.json_format", "protobuf").MessageToDict
    return json.dumps(to_dict(message, preserving_proto_field_name=True), ensure_ascii=False)
