"""Keys and values of a scan's batches: decoded, then masked.

`ValueColumns` is all that a task elsewhere needs: it can be pickled.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from workbench.inspection.findings import Finding
from workbench.loaders.schemas import SCAN_FIELDS, table_schema
from workbench.values.column import Column, ColumnDecoder, ColumnProblem
from workbench.values.guard import MOST_BUILT
from workbench.values.masking import Masks
from workbench.values.registry import AnyDecoding, decoder
from workbench.values.schemas.schemas import Schemas, schemas_of_records
from workbench.values.types import as_texts, width_of

SAMPLE: Final = 1000  # records that a decoding may look at before it decodes
MOST_SCHEMA_BYTES: Final = 256 << 20  # of the records of `_schemas`

Sample = Callable[[tuple[str, ...]], pa.Table]


@dataclass(frozen=True)
class ValueColumns:
    """What happens to the columns of bytes before they leave a scan.

    Attributes:
        columns: names of the scan's columns.
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
        return tuple(dict.fromkeys((*self.columns, *needed)))

    def schema(self, topics: Collection[str]) -> pa.Schema:
        """Return names, types and nullability of the columns.

        Args:
            topics: names of the topics that are read; where a mask of one of them changes a type,
                all topics have the new one.

        Raises:
            SchemaError: a mask names a field that values do not have.
        """
        found = []
        for name in self.columns:
            given = SCAN_FIELDS[name]
            if name in self.decoders:
                given = pa.field(name, self.decoders[name].kind)
            elif self.masks.touches(name) and name != "headers":
                given = pa.field(name, given.type)
            found.append(given.with_type(self._masked_kind(name, given.type, topics)))
        return table_schema(found)

    def _masked_kind(self, name: str, kind: Any, topics: Collection[str]) -> Any:
        if self.masks.touches(name):
            for topic in sorted(set(topics)):
                kind = self.masks.for_topic(topic).kind(name, kind)
        return kind

    def parts(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield a batch in parts whose decoded columns take a bounded size even if all is null."""
        widths = [width_of(each.kind) for each in self.decoders.values()]
        rows = max(1, MOST_BUILT // max(widths, default=1))
        for first in range(0, batch.num_rows, rows):
            yield batch if rows >= batch.num_rows else batch.slice(first, rows)

    def apply(
        self, batch: pa.RecordBatch, schema: pa.Schema, topic: str, path: str
    ) -> tuple[pa.RecordBatch, list[Finding]]:
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
        decoded = dict(columns)
        for name, each in self.decoders.items():
            found = each.decode(columns[name], columns)
            decoded[name] = found.values
            for problem in found.problems:
                offset = columns["offset"][problem.row].as_py() if "offset" in columns else None
                words = _words(name, len(batch), problem, is_private=masks.touches(name))
                findings.append(_undecoded(path, offset, words, each.kind))
        arrays = []
        for name, wanted in zip(schema.names, schema, strict=True):
            array = masks.masked(name, decoded[name]) if masks.rules else decoded[name]
            if array.type != wanted.type:  # another topic's mask changed the type
                array = as_texts(array, wanted.type)
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=schema), findings


def value_columns(
    columns: tuple[str, ...],
    decode: Mapping[str, AnyDecoding],
    masks: Masks,
    sample: Sample,
    schemas: Callable[[], Schemas],
) -> ValueColumns:
    """Return what happens to the columns of a scan.

    Args:
        columns: names of the scan's columns.
        decode: decodings by column.
        masks: the rules.
        sample: reads columns of the first records of each partition.
        schemas: reads the schemas of `_schemas`.

    Raises:
        MissingDependencyError: a format needs a package.
        SchemaError: a decoding is unknown, or cannot be used.
    """

    def of(names: tuple[str, ...]) -> dict[str, pa.Array]:
        table = sample(names)
        return {name: _combined(table[name]) for name in names}

    decoders = {
        name: decoder(how, Column("key" if name == "key" else "value", of, schemas))
        for name, how in decode.items()
    }
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
    words = f"{problem.count} of {rows} {name}s cannot be decoded"
    return words if is_private else f"{words}: {problem.found}"


def _undecoded(path: str, offset: int | None, found: str, kind: pa.DataType) -> Finding:
    return Finding(
        kind="undecoded",
        severity="warning",
        path=path,
        position=None,
        offset=offset,
        found=found,
        expected=str(kind),
        broker="Keys and values mean nothing to it: consumers get them as they are.",
    )
