"""The formats of keys and values by name: those here, and those of other packages.

A package adds a format by an entry point of the group `kafka_log_workbench.decoders`: its name is
the format's, its object a `Format`. `decoder` is the one way from what a user asks for to what
decodes a column; scans, the command line, widgets and Spark all take it.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, TypeAlias

import pyarrow as pa

from workbench.decoders.registry import DECODERS
from workbench.errors import SchemaError
from workbench.runtime.words import did_you_mean
from workbench.values.avro.decoder import AvroDecoder
from workbench.values.column import Column, ColumnDecoder, SpanDecoder, WholeValues
from workbench.values.formats.json import JsonDecoder, inferred_kind, json_decoder
from workbench.values.formats.json_fields import JsonFields
from workbench.values.formats.json_schema import JsonSchemaDecoder
from workbench.values.formats.msgpack import MessagePackDecoder, inferred_type
from workbench.values.formats.protobuf import ProtobufDecoder, descriptors_of, first_message
from workbench.values.formats.text import MeaningDecoder, ReadableDecoder, Utf8Decoder
from workbench.values.guard import GuardedDecoder, as_schema_error
from workbench.values.readable import AUTO
from workbench.values.schemas.framed import FramedDecoder
from workbench.values.schemas.schemas import (
    Schemas,
    SchemaType,
    given_schemas,
    read_schema,
    read_schema_bytes,
    schemas_in_folder,
)

ENTRY_POINTS: Final = "kafka_log_workbench.decoders"

Format = Callable[[Any, Column], ColumnDecoder]
"""Makes the decoder of a column from the argument of a `Decoding`, None if there is none; raises
`SchemaError` for an argument that it cannot use."""


@dataclass(frozen=True)
class Decoding:
    """How to decode a column: a format, and what it needs to know.

    Attributes:
        name: of the format, see `names`.
        argument: a schema (text, Python's dicts and lists, a generated Protobuf class), the path of
            its file or of a folder of schemas, schemas by id, or an Arrow type; None: the format
            looks itself, for instance in the topic `_schemas`.
    """

    name: str
    argument: Any = None

    @classmethod
    def of(cls, decoding: "AnyDecoding") -> "Decoding":
        """Return a decoding given in any form: ``"avro:orders.avsc"`` is name and argument.

        Raises:
            SchemaError: it has no such form.
        """
        if isinstance(decoding, Decoding):
            return decoding
        if isinstance(decoding, pa.Schema | pa.StructType):
            return cls("json", decoding)
        if not isinstance(decoding, str):
            raise SchemaError(f"unknown decoding {decoding!r}: not a text, Decoding or Arrow type")
        name, _, argument = decoding.partition(":")
        return cls(name, argument or None)


AnyDecoding: TypeAlias = str | Decoding | pa.Schema | pa.StructType
"""``"utf8"``, ``"avro:schemas/"``, a `Decoding`, or the Arrow type of JSON."""

ColumnDecoding: TypeAlias = AnyDecoding | Mapping[str, AnyDecoding]
"""The decoding of a column, or that of each topic; ``"*"`` is that of the others."""


AnyType: TypeAlias = pa.Schema | pa.StructType | str | os.PathLike[str]
"""Fields with their types: of Arrow, or the path of a file with an Avro or JSON Schema."""


def declared_type(given: AnyType) -> pa.StructType:
    """Return fields with their types.

    Raises:
        SchemaError: it is not the schema of an object.
    """
    if isinstance(given, pa.Schema):
        return pa.struct(list(given))
    if isinstance(given, pa.DataType):
        kind = given
    else:
        with as_schema_error():
            schema = read_schema(os.fspath(given))
            is_avro = '"record"' in schema and json.loads(schema).get("type") == "record"
            kind = AvroDecoder(schema).kind if is_avro else JsonSchemaDecoder(schema).kind
    if not pa.types.is_struct(kind):
        raise SchemaError(f"{given} describes {kind} (expected an object with fields)")
    return kind


def names() -> list[str]:
    """Return the names of all formats, ascending."""
    return sorted({*FORMATS, *added_formats()})


def decoder(decoding: AnyDecoding, column: Column) -> ColumnDecoder:
    """Return what decodes a column.

    Raises:
        MissingDependencyError: the format needs a package.
        SchemaError: the format is unknown, or its argument cannot be used.
    """
    asked = known(decoding)
    with as_schema_error():
        make = FORMATS.get(asked.name) or added_formats()[asked.name].load()
        return GuardedDecoder(make(asked.argument, column))


def known(decoding: "AnyDecoding") -> Decoding:
    """Return a decoding whose format is known.

    Raises:
        SchemaError: the format is unknown.
    """
    asked = Decoding.of(decoding)
    if asked.name not in FORMATS and asked.name not in added_formats():
        raise SchemaError(
            f"unknown decoding {asked.name!r} (expected one of {', '.join(names())}, or the JSON's "
            f"Arrow schema){did_you_mean(asked.name, names())}"
        )
    return asked


@cache
def added_formats() -> dict[str, EntryPoint]:
    """Return the entry points of other packages, by name; they are loaded when they are used."""
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def _utf8(argument: Any, _column: Column) -> ColumnDecoder:
    _refuse("utf8", argument)
    return WholeValues(Utf8Decoder())


def _readable(argument: Any, column: Column) -> ColumnDecoder:
    _refuse(AUTO, argument)
    return ReadableDecoder(column.name, column.schemas())


def _meaning(name: str, argument: Any, column: Column) -> ColumnDecoder:
    _refuse(name, argument)
    return MeaningDecoder(name, column.name)


def _refuse(name: str, argument: Any) -> None:
    if argument is not None:
        raise SchemaError(f"{name} takes no schema, not {str(argument)[:60]!r}")


def _json(argument: Any, column: Column) -> ColumnDecoder:
    if argument is None:
        return WholeValues(json_decoder(inferred_kind(column.values()), pa.string()))
    if isinstance(argument, JsonFields):
        return WholeValues(argument.decoder(column.values()))
    if isinstance(argument, JsonDecoder):
        return WholeValues(argument)
    if not isinstance(argument, pa.Schema | pa.StructType):
        raise SchemaError("json takes an Arrow schema or struct type; json_schema takes a schema")
    return WholeValues(JsonDecoder(pa.struct(list(argument))))


def _msgpack(argument: Any, column: Column) -> ColumnDecoder:
    if argument is None:
        return WholeValues(MessagePackDecoder(inferred_type(column.values())))
    if isinstance(argument, pa.Schema):
        argument = pa.struct(list(argument))
    if not isinstance(argument, pa.DataType):
        raise SchemaError("msgpack takes an Arrow type")
    return WholeValues(MessagePackDecoder(argument))


def _registry(only: SchemaType | None, argument: Any, column: Column) -> ColumnDecoder:
    """Return the decoder of values with ids, if the argument gives schemas by id."""
    schemas = _schemas_by_id(argument, column)
    if schemas is None:
        raise SchemaError("registry takes a folder of schemas, or schemas by id")
    return FramedDecoder.of(column, schemas, only)


def _schemas_by_id(argument: Any, column: Column) -> Schemas | None:
    if argument is None:
        return column.schemas()
    if isinstance(argument, Schemas):
        return argument
    if isinstance(argument, Mapping) and argument and all(isinstance(key, int) for key in argument):
        return given_schemas(argument)
    if isinstance(argument, os.PathLike | str) and os.path.isdir(argument):
        return schemas_in_folder(argument)
    return None


def _of_one_schema(
    only: SchemaType, make: Callable[[Any], SpanDecoder], argument: Any, column: Column
) -> ColumnDecoder:
    """Return the decoder of bare values if the argument is a schema, otherwise of framed ones."""
    if _schemas_by_id_given(argument):
        return _registry(only, argument, column)
    return WholeValues(make(argument))


def _schemas_by_id_given(argument: Any) -> bool:
    if isinstance(argument, Mapping):
        return bool(argument) and all(isinstance(key, int) for key in argument)
    if isinstance(argument, os.PathLike | str):
        return os.path.isdir(argument)
    return argument is None or isinstance(argument, Schemas)


def _text_of(argument: Any) -> Any:
    """Return a schema: itself, or what its file holds."""
    if isinstance(argument, os.PathLike):
        return read_schema(os.fspath(argument))
    if isinstance(argument, str) and not argument.lstrip().startswith(("{", "[", '"')):
        return read_schema(argument)
    return argument


def _protobuf(argument: Any) -> SpanDecoder:
    """Return the decoder of a generated class, or of ``FILE.proto#Message``, ``FILE.desc#…``."""
    described = getattr(argument, "DESCRIPTOR", None)
    if described is not None:
        return ProtobufDecoder(_descriptors_of_class(described), described.full_name)
    if not isinstance(argument, os.PathLike | str):
        raise SchemaError(
            "protobuf takes a generated class, FILE.proto#Message or FILE.desc#Message"
        )
    path, _, message = os.fspath(argument).partition("#")
    if path.endswith(".proto"):
        folder = os.path.dirname(path) or "."
        imports = {
            name: read_schema(os.path.join(folder, name))
            for name in sorted(os.listdir(folder))
            if name.endswith(".proto") and name != os.path.basename(path)
        }
        descriptors = descriptors_of(read_schema(path), imports)
    else:
        descriptors = read_schema_bytes(path)
    return ProtobufDecoder(descriptors, message or first_message(descriptors))


def _descriptors_of_class(described: Any) -> bytes:
    """Return a FileDescriptorSet of the file that describes a class, and of what it imports."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    files = FileDescriptorSet()
    seen: set[str] = set()

    def add(file: Any) -> None:
        if file.name not in seen:
            seen.add(file.name)
            for each in file.dependencies:
                add(each)
            file.CopyToProto(files.file.add())

    add(described.file)
    return bytes(files.SerializeToString())


FORMATS: Final[dict[str, Format]] = {
    **{name: partial(_meaning, name) for name in DECODERS if name not in {"utf8", "json"}},
    AUTO: _readable,
    "utf8": _utf8,
    "json": _json,
    "avro": partial(_of_one_schema, "AVRO", lambda schema: AvroDecoder(_text_of(schema))),
    "json_schema": partial(
        _of_one_schema, "JSON", lambda schema: JsonSchemaDecoder(_text_of(schema))
    ),
    "protobuf": partial(_of_one_schema, "PROTOBUF", _protobuf),
    "msgpack": _msgpack,
    "registry": partial(_registry, None),
}
"""The formats of the workbench. `registry` takes values with ids of schemas of any type."""
