"""Some fields of JSON: objects are looked through for them, and only they are built.

What comes out is what `formats.json` makes of whole objects, of these fields. It differs from them
for values that fit no type whole, or that few parsers agree about; with these, all is read whole.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa

from workbench.errors import SchemaError
from workbench.kernels import dispatch
from workbench.kernels.plain.json import working_memory
from workbench.values.column import Bytes, Decoded, Int64s, spans_of
from workbench.values.fitting import as_text
from workbench.values.formats.json import JsonDecoder, inferred_kind, json_decoder, json_object


class NotPlainError(SchemaError):
    """JSON of which fields cannot be read alone."""


@dataclass(frozen=True)
class JsonFields:
    """The argument of a decoding `json`: only these fields are wanted.

    Attributes:
        names: in UTF-8, of fields of the objects; ASCII letters in lower case, which upper case is
            as good as.
    """

    names: frozenset[bytes]

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        """Return the fields of these names."""
        return cls(frozenset(map(_name, names)))

    def decoder(self, values: Iterable[pa.Array]) -> "FieldsDecoder":
        """Return the decoder of values.

        Args:
            values: large_binary[n] each: those from which the type is inferred.

        Raises:
            NotPlainError: a field of a value may have been read otherwise in the whole value.
            SchemaError: the fields have too many fields, or each value has too many bytes.
        """
        return FieldsDecoder(json_decoder(inferred_kind(self._picked(values)), pa.string()), self)

    def _picked(self, values: Iterable[pa.Array]) -> Iterator[pa.Array]:
        for array in values:
            some = array.drop_null()
            picked, whole = self.pick(*spans_of(some))
            if any(_is_object(some[row].as_py()) for row in whole.tolist()):
                raise NotPlainError("fields of JSON cannot be read without its other fields")
            yield picked

    def pick(self, data: Bytes, spans: Int64s) -> tuple[pa.Array, Int64s]:
        """Return objects with only these fields, and the rows of what is not plain: it is whole.

        Args:
            data: uint8[m]
            spans: int64[n, 2]: first byte and end of each value in ``data``.
        """
        names = sorted(self.names)
        out = np.empty(int((spans[:, 1] - spans[:, 0]).sum()), np.uint8)
        offsets = np.zeros(len(spans) + 1, np.int64)
        is_whole = np.zeros(len(spans), np.bool_)
        dispatch.pick_json_fields(
            data,
            spans,
            np.frombuffer(b"".join(names), np.uint8),
            np.cumsum([len(name) for name in names], dtype=np.int64),
            working_memory(),
            out,
            offsets,
            is_whole,
        )
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(out)]
        array = pa.Array.from_buffers(pa.large_binary(), len(spans), buffers)
        return array, np.flatnonzero(is_whole)

    def pick_one(self, value: bytes) -> bytes:
        """Return an object with only these fields, read by Python; what is none as it is."""
        try:
            found = json_object(value)
        except (ValueError, RecursionError):
            return value
        members = (
            f"{json.dumps(name)}:{as_text(each) if isinstance(each, float) else json.dumps(each)}"
            for name, each in found.items()
            if _name(name) in self.names
        )
        return f"{{{','.join(members)}}}".encode()


@dataclass(frozen=True)
class FieldsDecoder:
    """Decodes some fields of JSON objects.

    Attributes:
        inner: decodes objects that have only these fields.
        fields: picks them.
    """

    inner: JsonDecoder
    fields: JsonFields

    @property
    def kind(self) -> pa.DataType:
        """The type of the decoded values."""
        return self.inner.kind

    def decode_spans(self, data: Bytes, spans: Int64s) -> Decoded:
        """Decode the values in ``spans`` of ``data``."""
        picked, whole = self.fields.pick(data, spans)
        if len(whole):  # not plain, and not seen when the type was inferred, or no object
            values: list[Any] = picked.to_pylist()
            for row in whole.tolist():
                values[row] = self.fields.pick_one(values[row])
            picked = pa.array(values, pa.large_binary())
        return self.inner.decode_spans(*spans_of(picked))


def are_quick() -> bool:
    """Return whether some fields are read faster than whole objects: not in plain Python."""
    return dispatch.is_compiled()


def _name(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass").lower()


def _is_object(value: bytes) -> bool:
    try:
        json_object(value)
    except (ValueError, RecursionError):
        return False
    return True
