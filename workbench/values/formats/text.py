"""Text, and what the workbench's decoders of single records give, as text."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from workbench.decoders.decoder import printable
from workbench.decoders.registry import DECODERS
from workbench.values.column import Bytes, ColumnName, ColumnProblem, Decoded, Int64s, one_problem
from workbench.values.formats.pieces import halved, pieces_of
from workbench.values.readable import Readable, as_text, is_failure
from workbench.values.schemas.schemas import Schemas


@dataclass(frozen=True)
class Utf8Decoder:
    """Decodes UTF-8."""

    kind: pa.DataType = pa.large_string()  # noqa: RUF009 — types cannot be changed

    def decode_spans(self, data: Bytes, spans: Int64s) -> Decoded:
        """Decode the values in ``spans`` of ``data``."""
        text, bad = halved(pieces_of(data, spans), lambda some: some.cast(self.kind), self.kind)
        return Decoded(text, one_problem(bad, "not UTF-8"))


@dataclass(frozen=True)
class MeaningDecoder:
    """Decodes the records of a topic of Kafka's own, or bytes to hex, as JSON text.

    Attributes:
        name: of one of `decoders.registry.DECODERS`.
        column: key or value.
    """

    name: str
    column: ColumnName

    @property
    def kind(self) -> pa.DataType:
        """Text."""
        return pa.large_string()

    @property
    def needs(self) -> tuple[str, ...]:
        """What a value means depends on its key."""
        return ("key",) if self.column == "value" else ()

    def decode(self, column: pa.Array, others: Mapping[str, pa.Array]) -> Decoded:
        """Decode large_binary[n]."""
        decoder = DECODERS[self.name]
        data = column.to_pylist()
        if self.column == "key":
            found = [decoder.key(key) for key in data]
        else:
            keys = others["key"].to_pylist()
            found = [decoder.value(key, value) for key, value in zip(keys, data, strict=True)]
        bad = [
            row for row, value in enumerate(found) if isinstance(value, dict) and "error" in value
        ]
        problem = f"not of {self.name}: {found[bad[0]]['error']}" if bad else ""
        for row in bad:
            found[row] = None
        texts = [
            None if raw is None else field_text(value)
            for raw, value in zip(data, found, strict=True)
        ]
        for row in bad:
            texts[row] = None
        return Decoded(pa.array(texts, self.kind), one_problem(np.array(bad, np.int64), problem))


@dataclass(frozen=True)
class ReadableDecoder:
    """Decodes as people read it, to text: by the rule of `values.readable`.

    JSON is text as it is stored, what decoders say JSON text, and other bytes are ``0x`` and hex;
    bytes that a topic's decoder or a schema does not read have the reason beside them.

    Attributes:
        column: key or value.
        schemas: those of `_schemas`.
    """

    column: ColumnName
    schemas: Schemas

    @property
    def kind(self) -> pa.DataType:
        """Text."""
        return pa.large_string()

    @property
    def needs(self) -> tuple[str, ...]:
        """The topic, and the key for a value."""
        return ("topic", "key") if self.column == "value" else ("topic",)

    def decode(self, column: pa.Array, others: Mapping[str, pa.Array]) -> Decoded:
        """Decode large_binary[n]."""
        data = column.to_pylist()
        topics = others["topic"].to_pylist() if "topic" in others else [""] * len(data)
        keys = others["key"].to_pylist() if self.column == "value" else data
        rules = {topic: Readable(topic, lambda: self.schemas) for topic in set(topics)}
        found = [
            rules[topic].key(each) if self.column == "key" else rules[topic].value(key, each)
            for topic, key, each in zip(topics, keys, data, strict=True)
        ]
        bad = [row for row, each in enumerate(found) if is_failure(each)]
        problems = []
        if bad:
            problems = [ColumnProblem(bad[0], len(bad), found[bad[0]]["error"], is_whole=False)]
        return Decoded(pa.array(list(map(as_text, found)), self.kind), problems)


def field_text(value: object) -> str:
    """Return a field's value: a text as it is, other values as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(printable(value), ensure_ascii=False, default=str)
