"""Schemas by id: given in Python, from a folder, or from the topic of a schema registry.

Source: Confluent Schema Registry, SchemaKey, SchemaValue; Karapace writes the same
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from workbench.errors import NotRegularFileError, SchemaError
from workbench.file_system.source import read_small
from workbench.values.guard import LARGEST_SCHEMA

SchemaType = Literal["AVRO", "PROTOBUF", "JSON"]

SCHEMAS_TOPIC: Final = "_schemas"
ENDINGS: Final[dict[str, SchemaType]] = {".avsc": "AVRO", ".proto": "PROTOBUF", ".json": "JSON"}
"""What a file with a schema ends in."""

LARGEST_RECORD: Final = 16 << 20  # bytes of a record of the topic
_TYPES: Final = {kind: kind for kind in ENDINGS.values()}
_NUMBERED: Final = re.compile(r"(\d+)(?!\d).*")
_REFERENCES_DEEP: Final = 50


@dataclass(frozen=True)
class Reference:
    """A schema that another uses: under this name, a subject's version."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class Schema:
    """One schema.

    Attributes:
        type: its language.
        text: as it was registered.
        references: what it uses.
        subjects: (subject, version) under which it is registered.
        guid: its id in the headers of records; None: not known.
    """

    type: SchemaType
    text: str
    references: tuple[Reference, ...] = ()
    subjects: tuple[tuple[str, int], ...] = ()
    guid: str | None = None


@dataclass
class Schemas:
    """Schemas by id.

    Attributes:
        by_id: every schema.
        by_version: ids by (subject, version).
        problems: what could not be read, as text.
        imports: other texts that schemas may import by name: of .proto files in a folder.
        source: where they are from, for messages.
    """

    by_id: dict[int, Schema] = field(default_factory=dict)
    by_version: dict[tuple[str, int], int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    imports: dict[str, str] = field(default_factory=dict)
    source: str = "the given schemas"
    _guids: dict[str, int] = field(default_factory=dict, repr=False, compare=False)
    _guids_of: int = field(default=0, repr=False, compare=False)

    def same_subjects(self, ids: Iterable[int]) -> list[int]:
        """Return the known ids, and those of every version of their subjects, ascending."""
        known = {each for each in ids if each in self.by_id}
        subjects = {subject for each in known for subject, _ in self.by_id[each].subjects}
        return sorted(known | {i for (name, _), i in self.by_version.items() if name in subjects})

    def by_guid(self, guid: str) -> int | None:
        """Return the id of the schema with this GUID."""
        if self._guids_of != len(self.by_id):
            ids = reversed(self.by_id.items())  # of several with one GUID, the first
            self._guids = {schema.guid: number for number, schema in ids if schema.guid}
            self._guids_of = len(self.by_id)
        return self._guids.get(guid)

    def referenced(self, schema: Schema) -> list[tuple[str, Schema]]:
        """Return names and schemas that a schema uses; each uses only those before it.

        Raises:
            SchemaError: one of them is missing, or they use each other in a circle.
        """
        found: dict[str, Schema] = {}
        self._collect(schema, found, 0)
        return list(found.items())

    def _collect(self, schema: Schema, found: dict[str, Schema], depth: int) -> None:
        if depth > _REFERENCES_DEEP:
            raise SchemaError("schemas refer to each other in a circle, or too deeply")
        for reference in schema.references:
            if reference.name in found:
                continue
            number = self.by_version.get((reference.subject, reference.version))
            if number is None:
                raise SchemaError(
                    f"it uses {reference.subject} version {reference.version}, which is missing"
                )
            self._collect(self.by_id[number], found, depth + 1)
            found[reference.name] = self.by_id[number]


def given_schemas(schemas: Mapping[int, Any]) -> Schemas:
    """Return schemas given in Python.

    Args:
        schemas: by id: a `Schema`; or Avro's, as JSON text or as Python has it.

    Raises:
        SchemaError: one of them is neither.
    """
    result = Schemas()
    for number, schema in schemas.items():
        if isinstance(schema, Schema):
            result.by_id[number] = schema
        elif isinstance(schema, str | dict | list):
            text = schema if isinstance(schema, str) else json.dumps(schema)
            result.by_id[number] = Schema("AVRO", text)
        else:
            raise SchemaError(f"schema {number} is a {type(schema).__name__}, not a Schema or text")
        for version in result.by_id[number].subjects:
            result.by_version[version] = number
    return result


def schemas_in_folder(path: str | os.PathLike[str]) -> Schemas:
    """Return the schemas of files named by their ids: ``17.avsc``, ``17-orders.proto``.

    Other .proto files can be imported by those.

    Raises:
        SchemaError: the folder or a file cannot be read, or two files have the same id.
    """
    result = Schemas(source=os.fspath(path))
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise SchemaError(f"{os.fspath(path)}: {error.strerror}") from error
    for name in names:
        kind = ENDINGS.get(os.path.splitext(name)[1].lower())
        if kind is None:
            continue
        text = read_schema(os.path.join(path, name))
        number = _NUMBERED.fullmatch(name)
        if number is None:
            if kind == "PROTOBUF":
                result.imports[name] = text
            continue
        if int(number[1]) in result.by_id:
            raise SchemaError(f"{os.fspath(path)}: two files are schema {number[1]}")
        result.by_id[int(number[1])] = Schema(kind, text)
    if not result.by_id:
        raise SchemaError(f"{os.fspath(path)}: no file as 17.avsc, 17.proto or 17.json")
    return result


def read_schema(path: str) -> str:
    """Return the text of a schema's file.

    Raises:
        SchemaError: it cannot be read, or is too large.
    """
    try:
        return read_schema_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SchemaError(f"{path}: not UTF-8") from None


def read_schema_bytes(path: str) -> bytes:
    """Return the bytes of a schema's file.

    Raises:
        SchemaError: it cannot be read, or is too large.
    """
    try:
        return read_small(path, LARGEST_SCHEMA)
    except NotRegularFileError as error:
        raise SchemaError(str(error)) from error
    except OSError as error:
        raise SchemaError(f"{path}: {error.strerror}") from error


def schemas_of_records(records: Iterable[tuple[bytes | None, bytes | None]]) -> Schemas:
    """Return the schemas of a registry's topic; bad records become `Schemas.problems`.

    A schema that was deleted later is kept, because values with its id may still be in a log.

    Args:
        records: keys and values of `_schemas`, by offset.
    """
    result = Schemas(source=f"the topic {SCHEMAS_TOPIC}")
    subjects: dict[int, dict[tuple[str, int], None]] = {}
    for key, value in records:
        if key is None or value is None:
            continue  # deleted for good: what is still in the log is still good for its values
        if len(key) + len(value) > LARGEST_RECORD:
            result.problems.append(f"a record has more than {LARGEST_RECORD:,} bytes")
            continue
        try:
            name, found = json.loads(key), json.loads(value)
        except (ValueError, RecursionError):
            result.problems.append("a record is not JSON")
            continue
        if not isinstance(name, dict) or name.get("keytype") != "SCHEMA":
            continue
        try:
            _register(result, found, subjects)
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
            result.problems.append(
                f"the record of {str(name.get('subject'))[:100]} is not a schema"
            )
    for number, names in subjects.items():
        result.by_id[number] = replace(result.by_id[number], subjects=tuple(names))
    return result


def _register(
    schemas: Schemas, value: Any, subjects: dict[int, dict[tuple[str, int], None]]
) -> None:
    """Add the schema of a record; ``subjects`` of each id ascend by their last registration."""
    subject, version, number = str(value["subject"]), int(value["version"]), int(value["id"])
    kind = _TYPES[value.get("schemaType") or "AVRO"]
    text = value["schema"]
    if not isinstance(text, str):
        raise TypeError(text)
    references = tuple(_references(value.get("references") or ()))
    own = subjects.setdefault(number, {})
    own.pop((subject, version), None)
    own[subject, version] = None
    guid = value.get("guid")
    schemas.by_id[number] = Schema(
        type=kind,
        text=text,
        references=references,
        guid=guid if isinstance(guid, str) else None,
    )
    schemas.by_version[subject, version] = number


def _references(values: Iterable[Any]) -> Iterator[Reference]:
    for value in values:
        yield Reference(str(value["name"]), str(value["subject"]), int(value["version"]))
