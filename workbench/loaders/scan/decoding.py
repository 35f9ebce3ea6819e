"""Keys and values of a scan's batches: decoded, then masked.

`ValueColumns` is all that a task elsewhere needs: it can be pickled.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workbench.inspection.findings import Finding
from workbench.loaders.scan.arrow import utf8
from workbench.loaders.scan.field_columns import (
    columns_read,
    field_kind,
    field_of,
    field_steps,
)
from workbench.loaders.schemas import SCAN_FIELDS, table_schema
from workbench.values.by_topic import decoder_by_topic
from workbench.values.column import (
    Column,
    ColumnDecoder,
    ColumnName,
    ColumnProblem,
    Decoded,
    Int64s,
)
from workbench.values.guard import MOST_BUILT
from workbench.values.masking import Masks
from workbench.values.registry import AnyDecoding, ColumnDecoding, decoder
from workbench.values.schemas.schemas import Schemas, schemas_of_records
from workbench.values.types import as_texts, width_of

SAMPLE: Final = 1000  # records that a decoding may look at before it decodes
MOST_SCHEMA_BYTES: Final = 256 << 20  # of the records of `_schemas`

_LONGEST: Final = 80  # characters of a type in a finding

Sample = Callable[[tuple[str, ...], str | None], pa.Table]


class LostValues(NamedTuple):
    """The keys or values of a batch that could not be decoded, or not whole.

    Attributes:
        column: key or value.
        raw: large_binary[n]: the bytes.
        found: what the decoder gave, with problems.
        is_private: whether a mask touches the column.
    """

    column: str
    raw: pa.Array
    found: Decoded
    is_private: bool

    @property
    def null_rows(self) -> Int64s:
        """The rows, ascending, that have bytes and are null."""
        return np.flatnonzero(
            pc.and_(self.raw.is_valid(), self.found.values.is_null()).to_numpy(zero_copy_only=False)
        )

    @property
    def value_count(self) -> int:
        """How many values are null, or incomplete."""
        incomplete = sum(p.count for p in self.found.problems if not p.is_whole)
        return max(len(self.null_rows) + len(self.found.unfit), incomplete)

    def texts(self) -> dict[int, dict[str, str | None]]:
        r"""Return row → path, such as ``value.a.b[]``, → text of what is null; None: it is private.

        Bytes that are not UTF-8 are escaped, as ``\\xff``.
        """
        found: dict[int, dict[str, str | None]] = {}
        for row in self.null_rows.tolist():
            text = self.raw[row].as_py().decode("utf-8", "backslashreplace")
            found[row] = {self.column: None if self.is_private else text}
        for row, texts in self.found.unfit.items():
            found.setdefault(row, {}).update(
                {
                    f"{self.column}.{path}" if path else self.column: None
                    if self.is_private
                    else utf8(text).decode()
                    for path, text in texts.items()
                }
            )
        return found


class Applied(NamedTuple):
    """A batch that is decoded and masked.

    Attributes:
        batch: the columns.
        findings: what could not be decoded.
        lost: the same with the values; of each column that has any.
    """

    batch: pa.RecordBatch
    findings: list[Finding]
    lost: list[LostValues]

    @property
    def lost_count(self) -> int:
        """How many keys and values are null because they cannot be decoded, or incomplete."""
        return sum(each.value_count for each in self.lost)


@dataclass(frozen=True)
class ValueColumns:
    """What happens to the columns of bytes before they leave a scan.

    Attributes:
        columns: names of the scan's columns, fields of values among them.
        decoders: by column.
        masks: the rules, of any topics.
    """

    columns: tuple[str, ...]
    decoders: Mapping[str, ColumnDecoder] = field(default_factory=dict)
    masks: Masks = field(default_factory=Masks)

    @property
    def read(self) -> tuple[str, ...]:
        """The columns to read: those of the scan, and those that decoders look at."""
        needed = [name for each in self.decoders.values() for name in each.needs]
        return tuple(dict.fromkeys((*columns_read(self.columns), *needed)))

    def only(self, columns: tuple[str, ...]) -> "ValueColumns":
        """Return what happens to some of the columns."""
        decoders = {name: each for name, each in self.decoders.items() if name in columns}
        return replace(self, columns=columns, decoders=decoders)

    def schema(self, topics: Collection[str]) -> pa.Schema:
        """Return names, types and nullability of the columns.

        Args:
            topics: names of the topics that are read; where a mask of one of them changes a type,
                all topics have the new one.

        Raises:
            LookupError: a column is a field that values do not have.
            SchemaError: a mask names a field that values do not have, or values have no fields.
        """
        found = []
        for name in self.columns:
            if field_steps(name):
                whole = self._masked_kind("value", self.decoders["value"].kind, topics)
                found.append(pa.field(name, field_kind(name, whole)))
                continue
            given = SCAN_FIELDS[name]
            if name in self.decoders:
                given = pa.field(name, self.decoders[name].kind)
            elif self.masks.touches(name) and name != "headers":
                given = pa.field(name, given.type)
            found.append(given.with_type(self._masked_kind(name, given.type, topics)))
        return table_schema(found)

    def _masked_kind(self, name: str, kind: Any, topics: Collection[str]) -> Any:
        given = kind
        if self.masks.touches(name):
            for topic in sorted(set(topics)):
                self.masks.for_topic(topic).require_fields(name, given)
                kind = self.masks.for_topic(topic).kind(name, kind)
        return kind

    def parts(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield a batch in parts whose decoded columns take a bounded size even if all is null."""
        widths = [width_of(each.kind) for each in self.decoders.values()]
        rows = max(1, MOST_BUILT // max(widths, default=1))
        for first in range(0, batch.num_rows, rows):
            yield batch if rows >= batch.num_rows else batch.slice(first, rows)

    def apply(self, batch: pa.RecordBatch, schema: pa.Schema, topic: str, path: str) -> Applied:
        """Return a batch with its columns decoded and masked, and what could not be decoded.

        Args:
            batch: the columns of `read`.
            schema: of the result, by `schema`.
            topic: that the records are of.
            path: of the segment, for findings.

        Raises:
            SchemaError: a mask of the topic names a field that its values do not have.
        """
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        masks = self.masks.for_topic(topic)
        findings: list[Finding] = []
        lost: list[LostValues] = []
        decoded = dict(columns)
        for name, each in self.decoders.items():
            found = each.decode(columns[name], columns)
            decoded[name] = found.values
            is_private = masks.touches(name)
            for problem in found.problems:
                offset = columns["offset"][problem.row].as_py() if "offset" in columns else None
                words = _words(name, len(batch), problem, is_private=is_private)
                findings.append(_undecoded(path, offset, words, each.kind))
            if found.problems:
                lost.append(LostValues(name, columns[name], found, is_private))
        if masks.rules:
            read = columns_read(schema.names)
            decoded |= {name: masks.masked(name, decoded[name]) for name in read}
        arrays = []
        for name, wanted in zip(schema.names, schema, strict=True):
            array = field_of(name, decoded["value"]) if field_steps(name) else decoded[name]
            if array.type != wanted.type:  # another topic's mask changed the type
                array = as_texts(array, wanted.type)
            arrays.append(array)
        return Applied(pa.RecordBatch.from_arrays(arrays, schema=schema), findings, lost)


def value_columns(
    columns: tuple[str, ...],
    decode: Mapping[str, ColumnDecoding],
    masks: Masks,
    topics: Collection[str],
    *,
    sample: Sample,
    schemas: Callable[[], Schemas],
    values: Callable[[str, str | None], Iterable[pa.Array]],
) -> ValueColumns:
    """Return what happens to the columns of a scan.

    Args:
        columns: names of the scan's columns.
        decode: decodings by column.
        masks: the rules.
        topics: those that are read.
        sample: reads columns of the first records of each partition of a topic; None: of all.
        schemas: reads the schemas of `_schemas`.
        values: reads a column of all records of a topic, from which a type is inferred; None: of
            all topics.

    Raises:
        MissingDependencyError: a format needs a package.
        SchemaError: a decoding is unknown, or cannot be used.
    """

    def of(topic: str | None, names: tuple[str, ...]) -> dict[str, pa.Array]:
        table = sample(names, topic)
        return {name: _combined(table[name]) for name in names}

    def made(name: ColumnName, how: AnyDecoding, topic: str | None) -> ColumnDecoder:
        return decoder(how, Column(name, partial(of, topic), schemas, partial(values, name, topic)))

    decoders = {}
    for column, how in decode.items():
        name: ColumnName = "key" if column == "key" else "value"
        make = partial(made, name)
        found = decoder_by_topic(how, topics, make) if isinstance(how, Mapping) else make(how, None)
        if found is not None:
            decoders[column] = found
    return ValueColumns(columns, decoders, masks)


def _combined(column: Any) -> pa.Array:
    combined = column.combine_chunks()
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined


def stored_schemas(batches: Iterator[pa.RecordBatch]) -> Schemas:
    """Return the schemas of `_schemas`.

    Args:
        batches: its keys and values, by offset; what is beyond `MOST_SCHEMA_BYTES` is not read.
    """

    def records() -> Iterator[tuple[bytes | None, bytes | None]]:
        size = 0
        for batch in batches:
            size += batch.nbytes
            if size > MOST_SCHEMA_BYTES:
                return
            yield from zip(batch["key"].to_pylist(), batch["value"].to_pylist(), strict=True)

    return schemas_of_records(records())


def _words(name: str, rows: int, problem: ColumnProblem, *, is_private: bool) -> str:
    what = "cannot be decoded" if problem.is_whole else "are incomplete"
    words = f"{problem.count} of {rows} {name}s {what}"
    return words if is_private else f"{words}: {problem.found}"


def _undecoded(path: str, offset: int | None, found: str, kind: pa.DataType) -> Finding:
    return Finding(
        kind="undecoded",
        severity="warning",
        path=path,
        position=None,
        offset=offset,
        found=found,
        expected=_short(kind),
        broker="Keys and values mean nothing to it: consumers get them as they are.",
    )


def _short(kind: pa.DataType) -> str:
    text = str(kind)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
