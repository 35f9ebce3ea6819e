"""A scan: records of any partitions as Arrow batches, read when a verb asks for them.

`Scan.to_arrow_batch_reader`, `Scan.__arrow_c_stream__`, `Scan.to_duckdb` and `Scan.to_parquet`
stream in bounded memory; the methods that return a table hold all of it. Damaged batches are left
out, and values that cannot be decoded are null: a warning and `Scan.findings` report both.
"""

import copy
import dataclasses
import os
import weakref
from collections.abc import Generator, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Unpack

import pyarrow as pa

from workbench.errors import CorruptDataWarning, LogDirectoryError, UncommittedRecordsWarning
from workbench.file_system.outputs import new_file
from workbench.inspection.facts.html import Cell, table_html
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition
from workbench.inspection.transactions import IsolationLevel
from workbench.loaders.exports.parquet_file import ROW_GROUP, write_parquet
from workbench.loaders.queries.query import Query, all_of, parse
from workbench.loaders.queries.ranges import HIGHEST, LOWEST, common
from workbench.loaders.read_warnings import warn_caller
from workbench.loaders.scan.arrow_stream import ArrowStream
from workbench.loaders.scan.column_engines import lazy_frame, polars_frame
from workbench.loaders.scan.field_columns import columns_read, fields_of, with_fields
from workbench.loaders.scan.not_searched import NotSearched, internal_topics, left_out, unread_by
from workbench.loaders.scan.plan import (
    SegmentRead,
    are_named,
    choose_partitions,
    input_paths,
    is_of_users,
    offset_range,
    offsets_of,
    plan_partition,
)
from workbench.loaders.scan.reading import ScanReading, Watch
from workbench.loaders.scan.rows import BatchesAhead, rows_of
from workbench.loaders.scan.scan_options import (
    OTHER_OPTIONS,
    OnCorrupt,
    ScanOptions,
    by_column,
    known_decodings,
    takes_scan_options,
)
from workbench.loaders.scan.segment_batches import EVERY_RECORD, ReadOptions
from workbench.loaders.schemas import RECORD_FIELDS
from workbench.runtime.several import several
from workbench.runtime.times import time_range
from workbench.runtime.words import did_you_mean, safe
from workbench.runtime.workers import worker_count
from workbench.values.masking import Masks

if TYPE_CHECKING:  # imported when something is to be decoded
    from workbench.loaders.scan.decoding import ValueColumns
    from workbench.values.schemas.schemas import Schemas


_SHOWN: Final = 20  # records that `head` gives
_END: Final = 1024  # offsets at the end of a log that `tail` reads first


class Scan(ArrowStream):
    """Records to be read; nothing is read before a verb. Made by `LogDirectory.scan`.

    `filter`, `select` and `limit` return another scan, with that option: ``logs.scan("orders")
    .filter("$.amount>100").select("offset", "value").limit(3)``.

    Args:
        listing: the opened listing.
        topics: a name or names of topics; default all.
        partitions: numbers, names or paths of partitions; default all.
        offsets: (first, end) with the end excluded and None for open, below 0 counted from the log
            end offset; or one offset, or text such as ``"100:200"`` and ``"-2:"``; for every
            partition or, as a mapping, by partition name.
        timestamps: (first, end), end excluded, in ms, datetimes or text as ISO 8601 (UTC unless it
            names a zone), ``-1h`` and ``yesterday``; or one text that names a day. Records without
            a timestamp never match.
        where: a query that records must meet, as `queries.query` describes: ``"key:id-7
            $.amount>100 -test"``. What it excludes by offset, time or partition is not read.
        columns: names out of `schemas.SCAN_FIELDS`; default `schemas.RECORD_FIELDS`. What is not
            asked for is not decoded. ``$.total_cents`` or ``$.customer.id`` is a field of the
            values, which are JSON unless ``decode`` says otherwise; null where a value lacks it.
        decode: how to read bytes, by column: ``{"key": "utf8", "value": "avro"}``, or the values
            alone: ``"json"``; see `values.registry`. ``"auto"`` gives keys and values as text by
            the rule of `values.readable`, other bytes as ``0x`` and hex. ``json`` gives a struct
            whose type is inferred from all records that are asked for, which are read once more for
            it: whole numbers
            beside fractions are doubles, beyond int64 decimals, a number beside text is text. An
            Arrow schema or struct type is the type of the JSON: fields it does not name are
            skipped, missing fields are null, and so is a field that does not fit.
            ``avro``, ``protobuf`` and ``json_schema`` find the schemas of values that begin with an
            id in the topic `_schemas` of the same directories; ``avro:FILE`` takes one schema,
            ``avro:FOLDER`` schemas by id. A value that cannot be decoded is null. A topic may have
            a format of its own, ``{"value": {"orders": "json", "*": "avro"}}``, with ``"*"`` for
            the others; a column of several types is text, with JSON for what has fields.
        mask: rules that keep private data out, see `values.masking`; lines, or a file of lines.
        isolation_level: ``read_committed`` leaves out aborted records and stops at the last stable
            offset, as a consumer would. Not given, all are read, and a warning says how many
            records of aborted or open transactions there were.
        limit: records at the most.
        include_control: whether to return control records too.
        rescue: whether to read also what damaged batches still give: the records of a batch whose
            CRC is invalid, and those beside a record whose lengths are wrong. Each may have changed
            bytes; a finding says which batch it is.
        on_corrupt: ``report`` continues and warns; ``raise`` stops at the first damaged batch, or
            value that cannot be decoded.
        workers: threads that decompress, decode and filter side by side; None: one per core, at
            most 8. What they give, and its order, do not depend on it. Each takes up to 64 MiB.
        everything: whether to read also what no consumer gets, and what is still on the disk:
            records below the log start offset, files out of use (``.deleted``, ``.cleaned``,
            ``.swap``), metadata snapshots, folders that are marked for deletion, strays and future
            ones, and what ``rescue`` reads. An offset can come several times; the column
            ``file`` says where each is.
        include_internal: whether to read Kafka's own topics, such as ``__consumer_offsets``, though
            neither ``topics`` nor ``partitions`` nor the query names them. Otherwise they are left
            out, unless nothing else is there; `left_out` says which.
        latest: whether to return only the newest record of each key of a partition, among those of
            ``offsets`` and the isolation level; null values show which keys end in a tombstone.
            Records without a key are left out. The keys are read once more, before the records.

    Raises:
        LookupError: a topic, partition or column does not exist.
        QueryError: the query cannot be read.
        SchemaError: a mask has no meaning or is about no topic, or a decoding is unknown.
        ValueError: an argument has no meaning.
    """

    _ahead: "weakref.ref[BatchesAhead] | None" = None
    """The newest iteration, for `__len__`."""

    @takes_scan_options()
    def __init__(
        self,
        listing: Listing,
        **options: Unpack[ScanOptions],
    ) -> None:
        unknown = sorted(options.keys() - ScanOptions.__annotations__.keys())
        if unknown:
            hint = OTHER_OPTIONS.get(unknown[0]) or did_you_mean(
                unknown[0], ScanOptions.__annotations__
            )
            raise TypeError(f"unknown option {unknown[0]!r} of a scan{hint}")
        asked = options.get("columns")
        names = several(RECORD_FIELDS if asked is None else asked)
        read = columns_read(names)
        self._columns = tuple(names)
        self.listing = _required(listing)
        self.masks = Masks.of(options.get("mask"))
        self.masks.require_topics(each.topic for each in self.listing.partitions.values())
        decode = by_column(options.get("decode") or {}, read)
        self.decode = known_decodings(with_fields(decode, names), read, listing)
        self.isolation_level: IsolationLevel = options.get("isolation_level", "read_uncommitted")
        self._says_uncommitted = "isolation_level" not in options
        if self.isolation_level not in {"read_uncommitted", "read_committed"}:
            levels = "read_uncommitted or read_committed"
            raise ValueError(f"isolation_level is {self.isolation_level!r}, not {levels}")
        self.on_corrupt: OnCorrupt = options.get("on_corrupt", "report")
        if self.on_corrupt not in {"report", "raise"}:
            raise ValueError(f"on_corrupt is {self.on_corrupt!r}, not report or raise")
        self.workers = worker_count(options.get("workers"))
        self.most = options.get("limit")
        if self.most is not None and self.most < 0:
            raise ValueError(f"limit is {self.most}, below 0")
        self.everything = options.get("everything", False)
        self.latest = options.get("latest", False)
        if self.latest and self.everything:
            raise ValueError("latest=True asks for one record of each key, everything=True for all")
        self._place = _as_tuple(options.get("topics")), _as_tuple(options.get("partitions"))
        topics, partitions = self._place
        chosen_by: ScanOptions = {"topics": topics, "partitions": partitions, "columns": names}
        self._given: ScanOptions = {**options, **chosen_by}
        where = options.get("where", "")
        self.where = self._where = where if isinstance(where, Query) else parse(where)
        self.partitions = self._chosen(include_internal=options.get("include_internal", False))
        offsets = options.get("offsets")
        if isinstance(offsets, Mapping):
            self.offsets: Any = {name: offsets_of(each) for name, each in offsets.items()}
        else:
            self.offsets = None if offsets is None else offsets_of(offsets)
        first, end = time_range(options.get("timestamps"))
        self.options = ReadOptions(
            columns=read,
            times=common(
                self.where.times,
                (LOWEST if first is None else first, HIGHEST if end is None else end),
            ),
            where=self.where,
            include_control=options.get("include_control", False),
            rescue=options.get("rescue", self.everything),
        )
        self.infers_from_first = False
        self.watch: Watch | None = None
        self._ranges: Mapping[str, tuple[int, int]] = {}
        self._last = ScanReading(self)
        if self.decode and self.where.asks_invalid:
            self._bind_invalid()

    def _chosen(self, *, include_internal: bool) -> list[DiskPartition]:
        """Return the partitions that the options and the query choose."""
        chosen = choose_partitions(self.listing, *self._place, everything=self.everything)
        if not (self.everything or include_internal or are_named(*self._place)):
            chosen = [p for p in chosen if is_of_users(p) or self.where.names(p.topic)] or chosen
        return self.where.admitted(chosen, self.listing.partitions.values())

    def _bind_invalid(self) -> None:
        """Let ``invalid`` mean what the decodings of the scan cannot read."""
        whole = copy.copy(self)
        whole.options = dataclasses.replace(self.options, where=EVERY_RECORD)
        self.where = self.where.with_decoders(whole.values.decoders)
        self.options = dataclasses.replace(self.options, where=self.where)

    def filter(self, query: str | Query) -> "Scan":
        """Return the scan of those records that also meet a query; ``where`` is the same option.

        Raises:
            QueryError: the query cannot be read.
            TypeError: it is an expression of Arrow, Polars or pandas.
            ValueError: the scan has a limit, which comes last.
        """
        if not isinstance(query, str | Query):
            raise TypeError(
                f"a filter is {query!r} (expected a query as text: 'key:id-7 $.amount>100'); for "
                "an expression of Arrow, to_arrow().filter(…)"
            )
        if self.most is not None:
            raise ValueError("filter comes before limit: a scan ends at the limit's last record")
        added = query if isinstance(query, Query) else parse(query)
        return self._with(where=all_of([self._where, added]))

    def select(self, *columns: str | Iterable[str]) -> "Scan":
        """Return the scan with other columns: ``select("offset", "value")``.

        Raises:
            LookupError: a column does not exist.
        """
        names = tuple(name for each in columns for name in several(each))
        read = columns_read(names)
        decode = {name: each for name, each in self.decode.items() if name in read}
        return self._with(columns=names, decode=decode)

    def flatten(self) -> "Scan":
        """Return the scan with a column per field of the values, such as ``$.customer.id``.

        They are in the place of the column ``value``; lists remain lists. Values without a decoding
        are read as JSON, and records are read to find the fields.

        Raises:
            LookupError: the scan has no column ``value``, or values have no fields.
            MissingDependencyError: a format needs a package.
            SchemaError: a decoding or mask cannot be used.
        """
        if "value" not in self.columns:
            raise LookupError(f"no column value to flatten; columns: {', '.join(self.columns)}")
        scan = self._with(decode={"value": "json", **self.decode})
        fields = fields_of(scan.schema.field("value").type)
        names = [each for name in self.columns for each in (fields if name == "value" else [name])]
        return scan.select(*names)

    def limit(self, count: int) -> "Scan":
        """Return the scan that ends after ``count`` records.

        Raises:
            ValueError: ``count`` is below 0.
        """
        most = count if self.most is None else min(count, self.most)
        return self._with(limit=most)

    def _with(self, **changed: Unpack[ScanOptions]) -> "Scan":
        options: ScanOptions = {**self._given, **changed}
        return Scan(self.listing, **options)

    @property
    def left_out(self) -> list[NotSearched]:
        """What is in the directories and is not read, by names and sizes; see `not_searched`."""
        meant = choose_partitions(self.listing, *self._place, everything=True)
        return left_out(
            self.listing,
            self.partitions,
            self.where.admitted(meant, self.listing.partitions.values()),
            everything=self.everything,
        )

    @property
    def not_searched(self) -> list[NotSearched]:
        """What the scan does not look at, and what the last reading could not look into.

        Files out of use, folders that are marked for deletion, records below the log start offset
        (``everything`` includes these), remote segments of a tier that is not opened, files that
        Kafka does not know; after a reading also damage, values that cannot be decoded, and values
        that are not JSON where the query asks for JSON.
        """
        return [*self.left_out, *unread_by(self.findings, self.unread, self.where.text)]

    @property
    def schema(self) -> pa.Schema:
        """Names, types and nullability of the columns; records are read to infer types.

        Raises:
            LookupError: a column is a field that values do not have.
            MissingDependencyError: a format needs a package.
            SchemaError: a decoding or mask cannot be used.
        """
        if self.is_plain:
            return self.options.schema
        return self.values.schema({partition.topic for partition in self.partitions})

    @property
    def is_plain(self) -> bool:
        """Whether columns leave the scan as they are read: neither decoded nor masked."""
        return not self.decode and not self.masks.rules

    @cached_property
    def values(self) -> "ValueColumns":
        """What decodes and masks the columns; can be pickled.

        Raises:
            MissingDependencyError: a format needs a package.
            SchemaError: a decoding cannot be used.
        """
        from workbench.loaders.scan.decoding import value_columns

        return value_columns(
            self._columns,
            self.decode,
            self.masks,
            {partition.topic for partition in self.partitions},
            sample=self._first_records,
            schemas=partial(stored_in, self.listing),
            values=self._every_value,
        )

    def _bare(self, columns: tuple[str, ...], partitions: list[DiskPartition]) -> "Scan":
        """Return a scan of the same records with other columns, neither decoded nor masked."""
        scan = copy.copy(self)
        scan.__dict__.pop("values", None)
        scan.decode = {}
        scan.masks = Masks()
        scan.options = dataclasses.replace(self.options, columns=columns)
        scan._columns = columns  # noqa: SLF001 - the same class
        scan.partitions = partitions
        return scan

    def _only(self, columns: tuple[str, ...]) -> "Scan":
        """Return a scan of the same records with some of the columns."""
        scan = copy.copy(self)
        scan.options = dataclasses.replace(self.options, columns=columns)
        if not self.is_plain:
            scan.values = self.values.only(columns)
        return scan

    def _of_topic(self, topic: str | None) -> list[DiskPartition]:
        """Return the partitions of a topic; None: all."""
        return [p for p in self.partitions if topic in {None, p.topic}]

    def _first_records(self, columns: tuple[str, ...], topic: str | None = None) -> pa.Table:
        """Return columns of the first records of each partition of a topic; None: of all."""
        from workbench.loaders.scan.decoding import SAMPLE

        tables = [self._bare(columns, []).schema.empty_table()]
        partitions = self._of_topic(topic)
        for partition in partitions:
            first = self._bare(columns, [partition])
            first.latest = False
            tables.append(first.head(max(SAMPLE // len(partitions), 1)))
        return pa.concat_tables(tables)

    def _every_value(self, name: str, topic: str | None = None) -> Iterator[pa.Array]:
        """Yield a column of all records of a topic, for its type; see `infers_from_first`."""
        if self.infers_from_first:
            yield from self._first_records((name,), topic)[name].chunks
            return
        bare = self._bare((name,), self._of_topic(topic))
        bare.on_corrupt = "report"  # the reading that counts raises
        if self.latest:  # which of them are the newest does not matter to the type
            bare.latest, bare.most = False, None
        for batch in ScanReading(bare).batches():
            yield batch.column(0)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out an iteration that has begun."""
        return {**self.__dict__, "_ahead": None}

    def __repr__(self) -> str:
        names = ", ".join(p.name for p in self.partitions[:3])
        more = f" and {len(self.partitions) - 3} more" if len(self.partitions) > 3 else ""
        return safe(f"<Scan of {names}{more}: {', '.join(self.columns)}>")

    def _repr_html_(self) -> str:
        """Return what will be read as a table, for notebooks; no record is read for it."""
        rows: list[list[Cell]] = [
            [p.name, p.log_start_offset, p.log_end_offset, p.size] for p in self.partitions
        ]
        own = [each for each in self.left_out if each.kind == "internal"]
        notes = [f"columns: {', '.join(self.columns)}"]
        notes += [f"{len(rows) - _SHOWN} more partitions"] if len(rows) > _SHOWN else []
        notes += [internal_topics(own, "name {} in topics")] if own else []
        names = ["partition", "log start offset", "log end offset", "bytes"]
        title = "Scan: nothing is read before head(), to_pandas() or another verb"
        return table_html(title, names, rows[:_SHOWN], safe("; ".join(notes)))

    def plan(self) -> list[SegmentRead]:
        """Return the segments that will be read, in order; reads names, indexes, transactions."""
        reads: list[SegmentRead] = []
        for partition in self.partitions:
            given = self._ranges.get(partition.path) or offset_range(
                self.offsets, partition, everything=self.everything
            )
            low, high = common(given, self.where.offsets)
            reads += plan_partition(
                partition, low, high, self.isolation_level, everything=self.everything
            )
        return reads

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        """Yield the records as Arrow batches of some MiB, by partition and offset.

        Memory is used again for the next batch once a batch is dropped, and never before.

        Raises:
            CorruptRecordError: with ``on_corrupt="raise"``, at the first damage or bad value.
        """
        reading = self._last = ScanReading(self)
        yield from reading.batches()
        if losses := reading.losses():
            warn_caller(losses, CorruptDataWarning)
        if self._says_uncommitted and (uncommitted := reading.uncommitted()):
            hint = "isolation_level='read_committed' leaves them out, 'read_uncommitted' is silent"
            warn_caller(f"{uncommitted}; {hint}", UncommittedRecordsWarning)

    @property
    def findings(self) -> list[Finding]:
        """What the last reading left out or made null: damage, and what cannot be decoded."""
        return self._last.findings

    @property
    def unread(self) -> int:
        """How many keys and values a path of the query could not look into in the last reading."""
        return self._last.unread

    @property
    def last_reading(self) -> ScanReading:
        """The last reading, with what it found."""
        return self._last

    def to_polars(self, *, lazy: bool = False) -> Any:
        """Return all records as a `polars.DataFrame`.

        Args:
            lazy: whether to return a `polars.LazyFrame` instead. Each ``collect()`` reads the
                records again, batch by batch: only the columns that the query needs, and no more
                batches than its ``head()`` needs. Filters are applied to each batch; ranges of
                offsets and times, and ``where``, which skip batches, are those of the scan.

        Raises:
            MissingDependencyError: polars is not installed.
        """
        if lazy:
            return lazy_frame(self.schema, lambda names: self._only(names).batches())
        return polars_frame(self.to_arrow())

    def to_parquet(
        self,
        path: str | os.PathLike[str],
        *,
        compression: str = "zstd",
        row_group_bytes: int = ROW_GROUP,
    ) -> int:
        """Write the records to a Parquet file and return how many there were.

        Memory stays bounded, by a row group. The file appears under its name only when it is
        complete; an error leaves no file.

        Args:
            path: the file; an existing one is replaced.
            compression: a codec that pyarrow knows.
            row_group_bytes: bytes of a row group in memory, before encoding; it ends with the batch
                of some MiB that reaches this.

        Raises:
            OutputError: the file would be in a directory that is read, or is one that is read.
        """
        with new_file(path, input_paths(self.partitions), overwrite=True) as file:
            scan = of_one_worker(self)
            count = write_parquet(
                scan.batches(), scan.schema, file, compression, row_group_bytes, self.workers
            )
            self._last = scan.last_reading
            return count

    def count(self) -> int:
        """Return how many records there are; keys, values and headers are not decoded."""
        narrow = self._bare(("offset",), self.partitions)
        total: int = sum(batch.num_rows for batch in narrow.batches())
        self._last = narrow.last_reading
        return total

    def head(self, count: int = _SHOWN) -> pa.Table:
        """Return the first ``count`` records as a table; reads no further."""
        limit = count if self.most is None else min(count, self.most)
        first = copy.copy(self)
        first.most = limit
        table = first.to_arrow()
        self._last = first.last_reading
        return table

    def tail(self, count: int = _SHOWN) -> pa.Table:
        """Return the last ``count`` records as a table, in their order.

        Reads the ends of the logs; with a ``limit`` or ``everything``, all records.

        Raises:
            ValueError: ``count`` is below 0.
        """
        if count < 0:
            raise ValueError(f"count is {count}, below 0")
        if self.most is not None or self.everything:
            table = self.to_arrow()
            return table.slice(max(table.num_rows - count, 0))
        ranges: dict[str, tuple[int, int]] = {}
        left = count
        chosen: list[DiskPartition] = []
        for partition in reversed(self.partitions):
            if not left:
                break
            ranges[partition.path], found = self._end_of(partition, left)
            chosen.insert(0, partition)
            left -= found
        end = self._within(ranges, chosen)
        table = end.to_arrow()
        self._last = end.last_reading
        return table

    def _within(
        self, ranges: Mapping[str, tuple[int, int]], partitions: list[DiskPartition]
    ) -> "Scan":
        """Return a scan of the same records of these offsets, by path of partition."""
        scan = copy.copy(self)
        scan._ranges, scan.partitions = ranges, partitions  # noqa: SLF001 - the same class
        return scan

    def _end_of(self, partition: DiskPartition, count: int) -> tuple[tuple[int, int], int]:
        """Return the offsets of the last records of a partition, and how many of them there are."""
        given = offset_range(self.offsets, partition)
        low, high = common(given, self.where.offsets)
        low, high = max(low, partition.log_start_offset), min(high, partition.log_end_offset)
        size = max(2 * count, _END)
        while True:
            begin = max(low, high - size)
            part = self._bare(("offset",), [partition])
            reading = ScanReading(
                part._within(  # noqa: SLF001 - the same class
                    {partition.path: (begin, max(low, high))}, [partition]
                )
            )
            offsets = [batch.column(0) for batch in reading.batches()]
            found = sum(map(len, offsets))
            if found >= count or high - size <= low:
                if found > count:
                    begin = pa.chunked_array(offsets)[found - count].as_py()
                    found = count
                return (begin, max(low, high)), found
            size *= 8

    def __len__(self) -> int:
        ahead = None if self._ahead is None else self._ahead()
        count = None if ahead is None else ahead.count()
        return self.count() if count is None else count

    def __bool__(self) -> bool:
        """Whether there is a record; reads no further than the first."""
        narrow = self._bare(("offset",), self.partitions)
        return bool(narrow.head(1).num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield one dict per record, by column name. Convenient, not fast.

        Times are datetimes; ms since the epoch where they are beyond what a datetime can hold.
        """
        ahead = BatchesAhead(self.batches())
        self._ahead = weakref.ref(ahead)
        return rows_of(ahead)


def of_one_worker(scan: Scan) -> Scan:
    """Return the same scan for what has workers of its own and takes the batches in turn."""
    other = copy.copy(scan)
    other.workers = 1
    return other


def _as_tuple(given: Any) -> Any:
    """Return one name, or several that can be looked at again."""
    return given if given is None or isinstance(given, int | str) else tuple(given)


def _required(listing: object) -> Listing:
    """Refuse what is not a listing, such as a partition, which has a scan of its own."""
    if not isinstance(listing, Listing):
        kind = type(listing).__name__
        raise LogDirectoryError("Scan", f"expected a listing (found {kind}, whose scan() has one)")
    return listing


def stored_in(listing: Listing) -> "Schemas":
    """Return the schemas of the topic `_schemas` in these directories."""
    from workbench.loaders.scan.decoding import stored_schemas
    from workbench.values.schemas.schemas import SCHEMAS_TOPIC

    partitions = [p for p in listing.partitions.values() if p.topic == SCHEMAS_TOPIC]
    whole = Scan(Listing((), {p.path: p for p in partitions}), columns=("key", "value"))
    return stored_schemas(ScanReading(whole).batches())  # verify says what is wrong with it
