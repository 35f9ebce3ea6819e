"""Values that begin with the id of their schema, or whose headers have it.

    value  ::=  0  id: int32  data          |  1  GUID: 16 bytes  data
    header ::=  the same without the data: __key_schema_id, __value_schema_id

Protobuf's data begin with the indexes of the message in its file: a zigzag count and that many
zigzag numbers; a count of 0 is the first message.

Source: Confluent Schema Registry, wire format; confluent-kafka 2.16, SchemaId
"""

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from workbench.errors import CorruptRecordError, SchemaError
from workbench.record import varint
from workbench.values.avro.decoder import AvroDecoder
from workbench.values.column import (
    Bytes,
    Column,
    ColumnName,
    ColumnProblem,
    Decoded,
    Int64s,
    Others,
    SpanDecoder,
    at_rows,
    spans_of,
    spread,
    valid_rows,
)
from workbench.values.formats.json_schema import JsonSchemaDecoder
from workbench.values.formats.protobuf import ProtobufDecoder, descriptors_of, message_at
from workbench.values.guard import as_schema_error, require_size
from workbench.values.schemas.schemas import Schemas, SchemaType
from workbench.values.types import aligned, fields_of, merged

_ID_SIZE: Final = 5  # magic byte and id
_GUID_SIZE: Final = 17
_MOST_INDEXES: Final = 100
_MOST_GUESSES: Final = 200  # schemas that a column's type is made of
_MOST_SECONDS: Final = 60  # that making the decoders of all schemas may take
_LARGEST: Final = 16 << 20  # characters of a schema and of those that it refers to
_FIRST: Final = (0,)


Groups = dict["_Frame", list[tuple[Int64s, Int64s]]]
"""Rows and spans of each schema, in parts."""


class _Frame(NamedTuple):
    """Which schema a value is of.

    Attributes:
        number: the schema's id.
        indexes: of the message in a Protobuf schema; otherwise empty.
    """

    number: int
    indexes: tuple[int, ...] = ()


@dataclass(frozen=True)
class FramedDecoder:
    """Decodes values that name their schemas. What has an unknown one is null, and a problem.

    Attributes:
        column: key or value.
        schemas: the schemas.
        kind: the type of the column: every field that one of its schemas has.
        only: the type of schema that values must have; None: any.
        in_headers: whether to look for ids in headers.
    """

    column: ColumnName
    schemas: Schemas
    kind: pa.DataType
    only: SchemaType | None
    in_headers: bool
    _decoders: dict[_Frame, "SpanDecoder | str"] = field(
        default_factory=dict, repr=False, compare=False
    )
    _seconds: list[float] = field(default_factory=lambda: [0.0], repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: decoders are made again."""
        return {**self.__dict__, "_decoders": {}, "_seconds": [0.0]}

    @classmethod
    def of(
        cls, column: Column, schemas: Schemas, only: SchemaType | None = None
    ) -> "FramedDecoder":
        """Return the decoder of a column whose type its first values decide.

        All versions of the subjects that these are of have their fields in it.

        Raises:
            SchemaError: schemas have no type together.
        """
        sample = column.sample((column.name, "headers"))
        headers, raw = sample["headers"], sample[column.name]
        in_headers = bool(len(_header_ids(headers, _header(column.name))[0]))
        first = cls(column.name, schemas, pa.null(), only, in_headers)
        frames = first._frames(raw, {"headers": headers})[0]
        indexes: dict[int, set[tuple[int, ...]]] = {}
        for frame in frames:
            indexes.setdefault(frame.number, set()).add(frame.indexes)
        every = sorted({each for some in indexes.values() for each in some})
        kinds = []
        for number in schemas.same_subjects(indexes)[-_MOST_GUESSES:]:
            for each in sorted(indexes.get(number, every)):
                decoder = first.decoder(_Frame(number, each))
                if not isinstance(decoder, str):
                    kinds.append(decoder.kind)
        kind = merged(kinds)
        return cls(column.name, schemas, kind, only, in_headers, first._decoders, first._seconds)

    @property
    def needs(self) -> tuple[str, ...]:
        """Headers, if the ids are there."""
        return ("headers",) if self.in_headers else ()

    def decoder(self, frame: _Frame) -> "SpanDecoder | str":
        """Return what decodes values of a schema, or why nothing does."""
        if frame not in self._decoders:
            try:
                with as_schema_error():
                    self._decoders[frame] = self._timed(frame)
            except SchemaError as error:
                self._decoders[frame] = f"schema {frame.number} of {self.schemas.source}: {error}"
        return self._decoders[frame]

    def alone(self, data: bytes) -> "FramedDecoder | str | None":
        """Return what decodes one value to the type of its own schema.

        A text says why its schema cannot be used; None: the bytes name no schema that is known.
        """
        for frame in self._frames(pa.array([data], pa.large_binary()), {})[0]:
            if frame.number in self.schemas.by_id:
                decoder = self.decoder(frame)
                return decoder if isinstance(decoder, str) else replace(self, kind=decoder.kind)
        return None

    def _timed(self, frame: _Frame) -> SpanDecoder:
        """Return the decoder of a schema, as long as all of them took a bounded time.

        Raises:
            SchemaError: the schema cannot be used, or those before it took too long.
        """
        (spent,) = self._seconds
        if spent > _MOST_SECONDS:
            raise SchemaError(f"not read: the schemas before it took {spent:.0f} s")
        start = time.monotonic()
        try:
            return self._made(frame)
        finally:
            self._seconds[0] += time.monotonic() - start

    def _made(self, frame: _Frame) -> SpanDecoder:
        schema = self.schemas.by_id.get(frame.number)
        if schema is None:
            raise SchemaError("unknown id")
        if self.only not in {None, schema.type}:
            raise SchemaError(f"it is {schema.type}, not {self.only}")
        references = {name: each.text for name, each in self.schemas.referenced(schema)}
        if len(schema.text) + sum(map(len, references.values())) > _LARGEST:
            raise SchemaError(f"with its references it has more than {_LARGEST:,} characters")
        if schema.type == "AVRO":
            return AvroDecoder(schema.text, tuple(references.values()))
        if schema.type == "JSON":
            return JsonSchemaDecoder(schema.text, references)
        descriptors = descriptors_of(schema.text, {**self.schemas.imports, **references})
        return ProtobufDecoder(descriptors, message_at(descriptors, frame.indexes or _FIRST))

    def decode(self, column: pa.Array, others: Others) -> Decoded:
        """Decode large_binary[n]."""
        data, _ = spans_of(column)
        groups, problems = self._frames(column, others)
        arrays, places = [], []
        unfit: dict[int, dict[str, str]] = {}
        built = 0
        own_fields = fields_of(self.kind)
        for frame, (rows, spans) in groups.items():
            decoder = self.decoder(frame)
            if isinstance(decoder, str):
                problems.append(ColumnProblem(int(rows[0]), len(rows), decoder))
                continue
            found = decoder.decode_spans(data, spans)
            built += found.values.nbytes
            require_size(built)
            problems += at_rows(found.problems, rows)
            unfit.update({int(rows[row]): texts for row, texts in found.unfit.items()})
            try:
                arrays.append(aligned(found.values, self.kind))
            except pa.ArrowException as error:
                words = f"schema {frame.number} is of another type than the column: {error}"
                problems.append(ColumnProblem(int(rows[0]), len(rows), words))
                continue
            places.append(rows)
            if left_out := sorted(fields_of(decoder.kind) - own_fields):
                words = f"schema {frame.number} has fields without a column: {', '.join(left_out)}"
                problems.append(ColumnProblem(int(rows[0]), len(rows), words[:300]))
        if not arrays:
            return Decoded(pa.nulls(len(column), self.kind), problems)
        values = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
        rows = np.concatenate(places)
        return Decoded(spread(values, rows, len(column)), problems, unfit)

    def _frames(
        self, column: pa.Array, others: Others
    ) -> tuple[dict[_Frame, tuple[Int64s, Int64s]], list[ColumnProblem]]:
        """Return the rows and the data of each schema, and what is not framed."""
        data, spans = spans_of(column)
        rows = valid_rows(column)
        rows = np.arange(len(spans)) if rows is None else rows
        problems: list[ColumnProblem] = []
        groups: Groups = {}
        if self.in_headers and "headers" in others:
            named, ids = _header_ids(others["headers"], _header(self.column))
            chosen = np.isin(named, rows)
            self._by_header(named[chosen], [i for i, c in zip(ids, chosen, strict=True) if c],
                            spans, groups, problems)  # fmt: skip
            rows = np.setdiff1d(rows, named)
        sizes = spans[rows, 1] - spans[rows, 0]
        magic = (
            np.where(sizes > 0, data[spans[rows, 0]] if len(data) else 0, 0xFF)
            if len(rows)
            else np.zeros(0, np.int64)
        )
        has_id = (sizes >= _ID_SIZE) & (magic == 0)
        has_guid = (sizes >= _GUID_SIZE) & (magic == 1)
        bad = rows[~(has_id | has_guid)]
        if len(bad):
            words = "it does not begin with the id of a schema"
            problems.append(ColumnProblem(int(bad[0]), len(bad), words))
        framed = rows[has_id]
        starts = spans[framed, 0]
        numbers = np.zeros(len(framed), np.int64)
        for byte in range(1, _ID_SIZE):
            numbers = numbers << 8 | data[starts + byte]
        after = spans[framed].copy()
        after[:, 0] += _ID_SIZE
        self._group(numbers, framed, after, data, groups, problems)
        self._by_guid(rows[has_guid], spans, data, groups, problems)
        return {frame: _joined(parts) for frame, parts in groups.items()}, problems

    def _by_guid(
        self,
        rows: Int64s,
        spans: Int64s,
        data: Bytes,
        groups: Groups,
        problems: list[ColumnProblem],
    ) -> None:
        """Add rows whose values begin with the GUIDs of their schemas."""
        if not len(rows):
            return
        starts = spans[rows, 0]
        guids = data[starts[:, None] + np.arange(1, _GUID_SIZE)]
        after = np.stack([starts + _GUID_SIZE, spans[rows, 1]], axis=1)
        for guid, mine in _by_value(np.ascontiguousarray(guids).view("V16")[:, 0]):
            number = self._of_guid(guid.tobytes(), rows[mine], problems)
            if number is not None:
                numbers = np.full(len(mine), number)
                self._group(numbers, rows[mine], after[mine], data, groups, problems)

    def _group(
        self,
        numbers: Int64s,
        rows: Int64s,
        spans: Int64s,
        data: Bytes,
        groups: Groups,
        problems: list[ColumnProblem],
    ) -> None:
        """Add rows to the groups of their schemas, and of their messages."""
        for number, mine in _by_value(numbers):
            schema = self.schemas.by_id.get(number)
            if schema is None or schema.type != "PROTOBUF":
                _add(groups, _Frame(number), rows[mine], spans[mine])
                continue
            by_message: dict[tuple[int, ...], list[tuple[int, int, int]]] = {}
            for row, (start, end) in zip(rows[mine].tolist(), spans[mine].tolist(), strict=True):
                try:
                    indexes, at = _indexes(data[start : min(end, start + 600)].tobytes())
                except CorruptRecordError as error:
                    problems.append(ColumnProblem(row, 1, f"message indexes: {error.problem}"))
                    continue
                by_message.setdefault(indexes, []).append((row, start + at, end))
            for indexes, found in by_message.items():
                table = np.array(found, np.int64)
                _add(groups, _Frame(number, indexes), table[:, 0], table[:, 1:])

    def _by_header(
        self,
        rows: Int64s,
        ids: list[bytes],
        spans: Int64s,
        groups: Groups,
        problems: list[ColumnProblem],
    ) -> None:
        """Add rows whose headers have the ids; their bytes are data from the first on."""
        for row, header in zip(rows.tolist(), ids, strict=True):
            number: int | None = None
            size = 0
            if len(header) >= _ID_SIZE and header[0] == 0:
                number, size = int.from_bytes(header[1:_ID_SIZE], "big"), _ID_SIZE
            elif len(header) >= _GUID_SIZE and header[0] == 1:
                guid = header[1:_GUID_SIZE]
                number, size = self._of_guid(guid, np.array([row]), problems), _GUID_SIZE
                if number is None:
                    continue
            if number is None:
                problems.append(ColumnProblem(row, 1, "the header has no id of a schema"))
                continue
            try:
                indexes = _indexes(header[size:])[0] if len(header) > size else ()
            except CorruptRecordError as error:
                problems.append(ColumnProblem(row, 1, f"message indexes: {error.problem}"))
                continue
            _add(groups, _Frame(number, indexes), np.array([row]), spans[row : row + 1])

    def _of_guid(self, guid: bytes, rows: Int64s, problems: list[ColumnProblem]) -> int | None:
        name = str(uuid.UUID(bytes=guid))
        number = self.schemas.by_guid(name)
        if number is None:
            words = f"schema {name} of {self.schemas.source}: unknown GUID"
            problems.append(ColumnProblem(int(rows[0]), len(rows), words))
        return number


def _by_value(values: Any) -> Iterator[tuple[Any, Int64s]]:
    """Yield each value, ascending, and where it is; the time is that of sorting."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    ends = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    if len(order):
        for some in np.split(order, ends):
            yield values[some[0]].item() if values.dtype.kind == "i" else values[some[0]], some


def _joined(parts: list[tuple[Int64s, Int64s]]) -> tuple[Int64s, Int64s]:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([rows for rows, _ in parts]), np.concatenate([each for _, each in parts])


def _add(groups: Groups, frame: _Frame, rows: Int64s, spans: Int64s) -> None:
    groups.setdefault(frame, []).append((rows, np.ascontiguousarray(spans)))


def _indexes(data: bytes) -> tuple[tuple[int, ...], int]:
    """Return the indexes of a message, and how many bytes they have."""
    count, at = varint.decode(data, 0)
    if not 0 <= count <= _MOST_INDEXES:
        raise CorruptRecordError(None, 0, f"{count} of them")
    if not count:
        return _FIRST, at
    found = []
    for _ in range(count):
        index, at = varint.decode(data, at)
        found.append(index)
    return tuple(found), at


def _header(column: ColumnName) -> str:
    return f"__{column}_schema_id"


def _header_ids(headers: Any, name: str) -> tuple[Int64s, list[bytes]]:
    """Return the rows that have a header of this name, and the last such header of each."""
    if not len(headers):
        return np.zeros(0, np.int64), []
    items = headers.flatten()
    hits = np.flatnonzero(
        pa.compute.equal(items.field("key"), name).fill_null(False).to_numpy(zero_copy_only=False)  # noqa: FBT003
    )
    parents = headers.value_parent_indices().to_numpy()
    values = items.field("value")
    found = {int(parents[hit]): values[hit].as_py() or b"" for hit in hits.tolist()}
    return np.array(list(found), np.int64), list(found.values())
