"""Avro schemas as trees, and the Arrow types that hold exactly what they describe.

A union of null and one type is that type, nullable. Any other union is a struct with a field for
each branch, of which at most one is not null. Where a type contains itself, which Arrow cannot
describe, its JSON is stored as text.

Source: Apache Avro specification 1.12
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from workbench.errors import SchemaError
from workbench.values.guard import LARGEST_SCHEMA

MOST_NODES: Final = 5000  # types in a schema, each counted wherever it is used
MOST_OF_OTHERS: Final = 50_000  # types in all schemas that one refers to
DEEPEST: Final = 60  # types in types
MOST_FIXED: Final = 64  # bytes of a fixed that is one of Arrow's; larger ones are large_binary

PRIMITIVES: Final = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.large_binary(),
    "string": pa.large_string(),
}
_LOGICAL: Final = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("ms", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "timestamp-nanos"): pa.timestamp("ns", "UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("long", "local-timestamp-nanos"): pa.timestamp("ns"),
}
DURATION: Final = pa.struct([(part, pa.uint32()) for part in ("months", "days", "milliseconds")])


@dataclass(eq=False)
class Node:
    """A type of a schema, at one place where it is used.

    Attributes:
        kind: a primitive type, ``record``, ``enum``, ``fixed``, ``array``, ``map``, ``union``; or
            ``recursive``, which stands for the type around it that `children` has.
        arrow: the type in Arrow; JSON as text for ``recursive``.
        name: of a named type, without its namespace.
        children: of fields, items, values or branches.
        names: of fields or symbols; for branches, the fields of a union's struct.
        size: bytes of a fixed.
    """

    kind: str
    arrow: pa.DataType = field(default_factory=pa.null)
    name: str = ""
    children: "list[Node]" = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    size: int = 0

    @property
    def nullable_of(self) -> "Node | None":
        """The type of a union of null and one other type."""
        if self.kind != "union" or len(self.children) != 2:
            return None
        other = [child for child in self.children if child.kind != "null"]
        return other[0] if len(other) == 1 else None

    @property
    def is_recursive(self) -> bool:
        """Whether a type in here contains itself."""
        return self.kind == "recursive" or any(child.is_recursive for child in self.children)


def parse_schema(schema: Any, references: Iterable[Any] = ()) -> Node:
    """Return the tree of a schema.

    Args:
        schema: JSON, as text or as Python has it.
        references: schemas whose named types this one uses, in an order in which each uses only
            those before it.

    Raises:
        SchemaError: it is not a schema.
    """
    parser = _Parser()
    for each in references:
        parser.define(_json_of(each))
    return parser.node(_json_of(schema), "", 0)


def _json_of(schema: Any) -> Any:
    if not isinstance(schema, str):
        return schema
    if len(schema) > LARGEST_SCHEMA:
        raise SchemaError(f"Avro schema: more than {LARGEST_SCHEMA:,} characters")
    try:
        return json.loads(schema)
    except RecursionError:
        raise SchemaError("Avro schema: nested too deeply") from None
    except ValueError as error:
        if schema in PRIMITIVES:
            return schema
        raise SchemaError(f"Avro schema: not JSON: {error}") from None


class _Parser:
    def __init__(self) -> None:
        self.count = 0
        self.others = 0
        self.definitions: dict[str, tuple[Any, str]] = {}
        self.open: dict[str, Node] = {}

    def define(self, schema: Any) -> None:
        """Note the named types of a schema that others use."""
        self.node(schema, "", 0)
        self.others += self.count
        if self.others > MOST_OF_OTHERS:
            raise SchemaError(f"Avro schema: more than {MOST_OF_OTHERS:,} types in references")
        self.count = 0

    def node(  # noqa: C901 — one case for each form of a schema
        self, schema: Any, namespace: str, depth: int
    ) -> Node:
        self.count += 1
        if self.count > MOST_NODES:
            raise SchemaError(f"Avro schema: more than {MOST_NODES:,} types")
        if depth > DEEPEST:
            raise SchemaError(f"Avro schema: types nested more than {DEEPEST} deep")
        if isinstance(schema, str):
            return self._named(schema, namespace, depth)
        if isinstance(schema, list):
            return self._union(schema, namespace, depth)
        if not isinstance(schema, dict):
            raise SchemaError(f"Avro schema: {_short(schema)} is not a type")
        kind = schema.get("type")
        if isinstance(kind, dict | list):
            return self.node(kind, namespace, depth + 1)
        if kind in {"record", "error", "enum", "fixed"}:
            return self._definition(schema, namespace, depth)
        if kind == "array":
            items = self.node(schema.get("items"), namespace, depth + 1)
            return Node("array", pa.list_(items.arrow), children=[items])
        if kind == "map":
            values = self.node(schema.get("values"), namespace, depth + 1)
            arrow = pa.map_(pa.large_string(), values.arrow)
            return Node("map", arrow, children=[values])
        if not isinstance(kind, str):
            raise SchemaError(f"Avro schema: {_short(schema)} has no type")
        found = self._named(kind, namespace, depth)
        return _with_logical_type(found, schema) if kind in PRIMITIVES else found

    def _named(self, name: str, namespace: str, depth: int) -> Node:
        if name in PRIMITIVES:
            return Node(name, PRIMITIVES[name])
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        if full not in self.definitions and name in self.definitions:
            full = name
        if full in self.open:
            return Node("recursive", pa.large_string(), children=[self.open[full]])
        if full not in self.definitions:
            raise SchemaError(f"Avro schema: unknown type {_short(name)}")
        definition, its_namespace = self.definitions[full]
        return self.node(definition, its_namespace, depth + 1)

    def _definition(self, schema: dict[str, Any], namespace: str, depth: int) -> Node:
        name = schema.get("name")
        if not isinstance(name, str) or not name:
            raise SchemaError(f"Avro schema: {_short(schema)} has no name")
        given = schema.get("namespace")
        before, _, short = name.rpartition(".")
        its_namespace = before or (given if isinstance(given, str) else namespace)
        full = f"{its_namespace}.{short}" if its_namespace else short
        self.definitions.setdefault(full, (schema, its_namespace))
        if schema["type"] == "enum":
            symbols = schema.get("symbols")
            if not isinstance(symbols, list) or not all(isinstance(s, str) for s in symbols):
                raise SchemaError(f"Avro schema: enum {_short(short)} has no symbols")
            return Node("enum", pa.large_string(), short, names=list(symbols))
        if schema["type"] == "fixed":
            size = schema.get("size")
            if not isinstance(size, int) or isinstance(size, bool) or not 0 < size < 1 << 31:
                raise SchemaError(f"Avro schema: fixed {_short(short)} has no size above 0")
            # Arrow's binary of one size takes it for nulls, too.
            kind = pa.binary(size) if size <= MOST_FIXED else pa.large_binary()
            node = Node("fixed", kind, short, size=size)
            return _with_logical_type(node, schema)
        return self._record(schema, short, full, its_namespace, depth)

    def _record(
        self, schema: dict[str, Any], short: str, full: str, its_namespace: str, depth: int
    ) -> Node:
        node = Node("record", name=short)
        outer = self.open.get(full)
        self.open[full] = node
        fields = schema.get("fields")
        if not isinstance(fields, list):
            raise SchemaError(f"Avro schema: record {_short(short)} has no fields")
        names: set[str] = set()
        for each in fields:
            if not isinstance(each, dict) or not isinstance(each.get("name"), str):
                raise SchemaError(f"Avro schema: a field of {_short(short)} has no name")
            if each["name"] in names:
                raise SchemaError(f"Avro schema: {_short(short)} has {_short(each['name'])} twice")
            names.add(each["name"])
            node.names.append(each["name"])
            node.children.append(self.node(each.get("type"), its_namespace, depth + 1))
        if outer is None:
            del self.open[full]
        else:
            self.open[full] = outer
        node.arrow = pa.struct(
            [pa.field(n, child.arrow) for n, child in zip(node.names, node.children, strict=True)]
        )
        return node

    def _union(self, schema: list[Any], namespace: str, depth: int) -> Node:
        branches = [self.node(branch, namespace, depth + 1) for branch in schema]
        if not branches:
            raise SchemaError("Avro schema: a union has no branches")
        if any(branch.kind == "union" for branch in branches):
            raise SchemaError("Avro schema: a union is directly in a union")
        node = Node("union", children=branches, names=list(_branch_names(branches)))
        other = node.nullable_of
        if other is not None:
            node.arrow = other.arrow
        else:
            node.arrow = pa.struct(
                [
                    pa.field(name, branch.arrow)
                    for name, branch in zip(node.names, branches, strict=True)
                    if branch.kind != "null"
                ]
            )
        return node


def _branch_names(branches: list[Node]) -> Iterator[str]:
    """Yield a name for each branch, never the same twice: its own, or that of its type."""
    used: set[str] = set()
    for branch in branches:
        name = branch.name or (
            branch.children[0].name if branch.kind == "recursive" else branch.kind
        )
        while name in used:
            name += "_"
        used.add(name)
        yield name


def _with_logical_type(node: Node, schema: dict[str, Any]) -> Node:
    """Return the node with the Arrow type of its logical type; an unknown one means nothing."""
    logical = schema.get("logicalType")
    if not isinstance(logical, str):
        return node
    if logical == "decimal" and node.kind in {"bytes", "fixed"}:
        precision, scale = schema.get("precision"), schema.get("scale", 0)
        if isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision:
            if 1 <= precision <= 38:
                node.arrow = pa.decimal128(precision, scale)
            elif precision <= 76:
                node.arrow = pa.decimal256(precision, scale)
    elif logical == "duration" and node.kind == "fixed" and node.size == 12:
        node.arrow = DURATION
    else:
        node.arrow = _LOGICAL.get((node.kind, logical), node.arrow)
    return node


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
