"""Avro schemas and values of them, for hypothesis, and their bytes as fastavro writes them."""

import io
from typing import Any

import fastavro
from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
LOGICAL = [
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "long", "logicalType": "local-timestamp-millis"},
    {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
    {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 10},
    {"type": "bytes", "logicalType": "decimal", "precision": 60, "scale": 1},
]
PRIMITIVE = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]


class _Names:
    """Gives each named type its own name."""

    def __init__(self) -> None:
        self.count = 0

    def new(self) -> str:
        self.count += 1
        return f"T{self.count}"


@st.composite
def schemas(draw: st.DrawFn) -> Any:
    """A record of any types."""
    return _record(draw, _Names(), 3)


def _record(draw: st.DrawFn, names: _Names, depth: int) -> Any:
    fields = draw(st.lists(NAMES, unique=True, max_size=5))
    return {
        "type": "record",
        "name": names.new(),
        "namespace": "shop.events",
        "fields": [{"name": name, "type": _any(draw, names, depth - 1)} for name in fields],
    }


def _any(draw: st.DrawFn, names: _Names, depth: int) -> Any:
    kinds = ["primitive", "logical", "enum", "fixed", "nullable"]
    if depth:
        kinds += ["record", "array", "map", "union"]
    match draw(st.sampled_from(kinds)):
        case "primitive":
            return draw(st.sampled_from(PRIMITIVE))
        case "logical":
            return draw(st.sampled_from(LOGICAL))
        case "enum":
            return {"type": "enum", "name": names.new(), "symbols": ["RED", "GREEN"]}
        case "fixed":
            return {"type": "fixed", "name": names.new(), "size": draw(st.integers(1, 9))}
        case "nullable":
            kind = draw(st.sampled_from(PRIMITIVE[1:]))
            return draw(st.permutations(["null", kind]))
        case "record":
            return _record(draw, names, depth)
        case "array":
            return {"type": "array", "items": _any(draw, names, depth - 1)}
        case "map":
            return {"type": "map", "values": _any(draw, names, depth - 1)}
    kinds = draw(st.lists(st.sampled_from(PRIMITIVE), unique=True, min_size=1, max_size=4))
    return [*kinds, _record(draw, names, depth - 1)]


def written(schema: Any, value: Any) -> bytes:
    """A value as fastavro writes it; logical types take what they are made of."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()
