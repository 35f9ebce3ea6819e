"""JSON whose type is described by a JSON Schema.

What a schema leaves open (several types, any type, a type in itself) is text: its JSON.

Source: JSON Schema, drafts 4 to 2020-12
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import pyarrow as pa

from workbench.errors import SchemaError
from workbench.values.column import Bytes, Decoded, Int64s
from workbench.values.formats.json import JsonDecoder
from workbench.values.formats.pieces import decoded_one_by_one
from workbench.values.guard import ENTRIES, LARGEST_SCHEMA

MOST_NODES: Final = 5000
_DEEPEST: Final = 60

Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class JsonSchemaDecoder:
    """Decodes JSON to the type of a schema; whether a value is valid is checked no further.

    Attributes:
        schema: the JSON Schema: text, or as Python has it.
        references: texts of the schemas that it refers to, by name.

    Raises:
        SchemaError: it is not a JSON Schema.
    """

    schema: Any
    references: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _ = self._shape

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the schema is read again."""
        return {"schema": self.schema, "references": self.references}

    @cached_property
    def _shape(self) -> "_Shape":
        return _Shaper(self.references).shape(*_document(self.schema), 0)

    @cached_property
    def _by_arrow(self) -> JsonDecoder | None:
        """Arrow's reader, for a type that it reads."""
        return JsonDecoder(self.kind) if self._shape.is_plain else None

    @property
    def kind(self) -> pa.DataType:
        """The type of the decoded values."""
        return self._shape.kind

    def decode_spans(self, data: Bytes, spans: Int64s) -> Decoded:
        """Decode the values in ``spans`` of ``data``."""
        if self._by_arrow is not None:
            return self._by_arrow.decode_spans(data, spans)
        convert = self._shape.convert
        return decoded_one_by_one(
            data, spans, lambda value: convert(json.loads(value)), self.kind, "JSON of its schema"
        )


@dataclass(frozen=True)
class _Shape:
    """A type, how a value of JSON becomes what Arrow takes for it, and whether Arrow reads it."""

    kind: pa.DataType
    convert: Convert
    is_plain: bool = False


def _document(schema: Any) -> tuple[Any, Any]:
    """Return a schema as Python has it, and the document it is in: itself."""
    if isinstance(schema, str):
        if len(schema) > LARGEST_SCHEMA:
            raise SchemaError(f"JSON Schema: more than {LARGEST_SCHEMA:,} characters")
        try:
            schema = json.loads(schema)
        except (ValueError, RecursionError) as error:
            raise SchemaError(f"JSON Schema: not JSON: {error}") from None
    if not isinstance(schema, dict | bool):
        raise SchemaError("JSON Schema: not an object")
    return schema, schema


class _Shaper:
    def __init__(self, references: Mapping[str, str]) -> None:
        self.references = references
        self.open: list[int] = []
        self.count = 0

    def shape(self, schema: Any, document: Any, depth: int) -> _Shape:
        self.count += 1
        if self.count > MOST_NODES or depth > _DEEPEST:
            raise SchemaError(f"JSON Schema: more than {MOST_NODES:,} types, or nested too deeply")
        if not isinstance(schema, dict) or id(schema) in self.open:
            return _JSON
        self.open.append(id(schema))
        try:
            return self._shape(schema, document, depth + 1)
        finally:
            self.open.pop()

    def _shape(self, schema: dict[str, Any], document: Any, depth: int) -> _Shape:
        if isinstance(reference := schema.get("$ref"), str):
            target, its_document = self._target(reference, document)
            return self.shape(target, its_document, depth)
        for word in ("anyOf", "oneOf", "allOf"):
            if isinstance(choices := schema.get(word), list):
                left = [each for each in choices if each != {"type": "null"}]
                return self.shape(left[0], document, depth) if len(left) == 1 else _JSON
        kind = schema.get("type")
        if isinstance(kind, list):
            kinds = [each for each in kind if each != "null"]
            kind = kinds[0] if len(kinds) == 1 else None
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, document, depth)
        if kind == "array":
            items = self.shape(schema.get("items"), document, depth)
            return _Shape(pa.list_(items.kind), _listed(items.convert), items.is_plain)
        return _SIMPLE.get(kind, _JSON) if isinstance(kind, str) else _JSON

    def _object(self, schema: dict[str, Any], document: Any, depth: int) -> _Shape:
        properties = schema.get("properties")
        if isinstance(properties, dict) and properties:
            shapes = {name: self.shape(each, document, depth) for name, each in properties.items()}
            kind = pa.struct([(name, shape.kind) for name, shape in shapes.items()])
            is_plain = all(shape.is_plain for shape in shapes.values())
            return _Shape(kind, _struct({n: s.convert for n, s in shapes.items()}), is_plain)
        if isinstance(more := schema.get("additionalProperties"), dict):
            item = self.shape(more, document, depth)
            return _Shape(pa.map_(pa.large_string(), item.kind), _mapped(item.convert))
        return _JSON

    def _target(self, reference: str, document: Any) -> tuple[Any, Any]:
        name, _, pointer = reference.partition("#")
        if name:
            text = self.references.get(name)
            if text is None:
                return True, True
            document = self._loaded(name, text)
        found = document
        for part in filter(None, pointer.split("/")):
            step = part.replace("~1", "/").replace("~0", "~")
            found = found.get(step) if isinstance(found, dict) else None
        return found, document

    def _loaded(self, name: str, text: str) -> Any:
        loaded = self.__dict__.setdefault("documents", {})
        if name not in loaded:
            loaded[name] = _document(text)[0]
        return loaded[name]


def _json_text(value: Any) -> Any:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _of(kinds: tuple[type, ...], words: str) -> Convert:
    def convert(value: Any) -> Any:
        if value is None or (isinstance(value, kinds) and type(value) in kinds):
            return value
        raise ValueError(f"{type(value).__name__} instead of {words}")

    return convert


def _integer(value: Any) -> Any:
    if type(value) is float and value.is_integer():
        return int(value)
    return _of((int,), "an integer")(value)


def _listed(convert: Convert) -> Convert:
    is_list = _of((list,), "an array")
    return lambda value: None if is_list(value) is None else [convert(each) for each in value]


def _mapped(convert: Convert) -> Convert:
    is_dict = _of((dict,), "an object")
    return lambda value: (
        None if is_dict(value) is None else [(name, convert(each)) for name, each in value.items()]
    )


def _struct(converts: dict[str, Convert]) -> Convert:
    is_dict = _of((dict,), "an object")

    def convert_object(value: Any) -> Any:
        if is_dict(value) is None:
            return None
        ENTRIES.take(len(converts) + 1)
        return {name: convert(value.get(name)) for name, convert in converts.items()}

    return convert_object


_JSON: Final = _Shape(pa.large_string(), _json_text)
_SIMPLE: Final = {
    "string": _Shape(pa.string(), _of((str,), "text"), is_plain=True),
    "integer": _Shape(pa.int64(), _integer),
    "number": _Shape(pa.float64(), _of((int, float), "a number")),
    "boolean": _Shape(pa.bool_(), _of((bool,), "a boolean"), is_plain=True),
    "null": _Shape(pa.null(), lambda _value: None),
}
