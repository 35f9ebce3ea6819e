"""The partitions of a log directory by name, and what can be asked of all of them.

Nothing is written or locked, bad bytes raise nothing, and nothing is read before it is asked for.
"""

import copy
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self, Unpack, cast
from uuid import UUID

from workbench.config.internal_topics import METADATA_TOPIC
from workbench.errors import WorkbenchError
from workbench.files.names import TopicPartition
from workbench.inspection.facts.html import Cell, table_html
from workbench.inspection.listing import Listing, Root, StrPath
from workbench.loaders.log_scope import LeadsToScans
from workbench.loaders.partition import Partition
from workbench.loaders.scan.scan_options import takes_scan_options
from workbench.loaders.topic import Topic
from workbench.runtime.several import Names, Partitions, several
from workbench.runtime.times import Time, ms_of
from workbench.runtime.words import did_you_mean, safe

if TYPE_CHECKING:  # Arrow and the engine that writes are imported when they are asked for
    import pyarrow as pa

    from workbench.foresight.copies.undeleting import BroughtBack
    from workbench.inspection.transactions import IsolationLevel
    from workbench.loaders.explanations.cleaning_plan import CleaningPlan
    from workbench.loaders.explanations.explain_partition import Explainer
    from workbench.loaders.explanations.explanation import Explanation
    from workbench.loaders.exports.replay import OtherSource
    from workbench.loaders.scan.scan import Scan
    from workbench.loaders.scan.scan_options import RecordOptions, ScanOptions
    from workbench.loaders.sql.result import SqlResult
    from workbench.loaders.tables.findings import FindingList
    from workbench.loaders.tables.inspect import Inspect
    from workbench.values.masking import AnyMasks
    from workbench.values.registry import ColumnDecoding

_SHOWN: Final = 40  # rows of the table in a notebook


class ListedDirectory(LeadsToScans, Mapping[str, Partition]):
    """Partitions by name; the class that users open is `LogDirectory`.

    Attributes:
        listing: the directories and partitions, as they were listed.
    """

    def __init__(self, listing: Listing) -> None:
        self.listing = listing

    def __getitem__(self, name: str | tuple[str, int]) -> Partition:
        """Return a partition, ``logs["orders-0"]`` or ``logs["orders", 0]``; or a `Topic`.

        ``logs["orders"]`` is what ``logs.topic("orders")`` returns. Editors take it for a
        partition, which has the same verbs.

        Raises:
            KeyError: nothing has the name; the message names the nearest.
        """
        if isinstance(name, tuple) and len(name) == 2:
            return self.topic(name[0])[name[1]]
        found = self.listing.partitions.get(str(name))
        if found is None:
            return cast(Partition, self.topic(str(name)))
        partition = cast(Partition, found)
        partition.listing = self.listing
        return partition

    def topic(self, name: str) -> Topic:
        """Return a topic, with its partitions by number.

        Raises:
            KeyError: no topic has the name; the message names the nearest.
        """
        own = {p.partition: p for p in self.values() if p.topic == name and p.kind == "log"}
        if not own:
            hint = did_you_mean(str(name), [*self.listing.partitions, *self.topics])
            known = "" if hint or not self.topics else f" (topics: {', '.join(self.topics[:9])})"
            raise KeyError(f"no topic or partition has the name {name}{hint}{known}")
        return Topic(name, self.listing, own)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Do nothing: no file stays open between calls. It is there for ``with``."""

    def __contains__(self, name: object) -> bool:
        return name in self.listing.partitions

    def __iter__(self) -> Iterator[str]:
        return iter(self.listing.partitions)

    def __len__(self) -> int:
        return len(self.listing.partitions)

    def __repr__(self) -> str:
        where = ", ".join(root.path for root in self.roots)
        return safe(f"<LogDirectory {where}: {len(self)} partitions of {len(self.topics)} topics>")

    @property
    def roots(self) -> tuple[Root, ...]:
        """The directories that were opened, with their checkpoints and other files."""
        return self.listing.roots

    @property
    def partitions(self) -> dict[str, Partition]:
        """All partitions by name, sorted by topic and number."""
        return dict(self)

    @cached_property
    def topics(self) -> list[str]:
        """Names of the topics, sorted."""
        return sorted({partition.topic for partition in self.values()})

    @property
    def inspect(self) -> "Inspect":
        """Everything but the records as Arrow tables: ``logs.inspect.batches()``."""
        from workbench.loaders.tables.inspect import Inspect

        return Inspect(self.listing)

    @takes_scan_options()
    def scan(self, topics: Names = None, **options: "Unpack[RecordOptions]") -> "Scan":
        """Return a scan: the records that its options choose, read when a verb asks for them.

        Verbs are `head`, `to_pandas`, `to_polars`, `to_arrow`, `to_duckdb`, `to_parquet` and more.
        The options, of which `Scan` says all:

            columns         ["offset", "value", "bytes", "$.total_cents"]: $ is a JSON value
            decode          "json", or by column {"key": "utf8", "value": "avro"}; default: bytes
            where           a query such as "key:id-7 $.amount>100"
            offsets         (100, 200), "-10:" or by partition; the end is excluded
            timestamps      ("2024-11-29", None), "-1h"; the end is excluded
            isolation_level "read_committed" leaves out aborted and open transactions
            latest          True: the newest record of each key
            limit           records at the most
            mask, rescue, on_corrupt, everything, include_control, include_internal, workers

        Raises:
            LookupError: a topic, partition or column does not exist.
            ValueError: an option has no meaning.
        """
        from workbench.loaders.scan.scan import Scan

        return Scan(self.listing, topics=topics, **options)

    @takes_scan_options()
    def to_duckdb(self, connection: Any = None, **options: "Unpack[ScanOptions]") -> Any:
        """Make every topic a view of its name and return the `duckdb` connection.

        Args:
            connection: a connection to use; default a new one in memory.
            options: the options of the scans, see `Scan`; ``topics`` leaves out the others.
                See `Scan.to_duckdb` for how queries read.

        Raises:
            LookupError: a topic, partition or column does not exist.
            MissingDependencyError: duckdb is not installed.
            ValueError: an option has no meaning.
        """
        from workbench.loaders.scan.arrow import utf8
        from workbench.loaders.scan.column_engines import new_connection

        chosen: ScanOptions = {"include_internal": True, **options}
        every = self.scan(**chosen)
        for topic in sorted({partition.topic for partition in every.partitions}):
            scan = copy.copy(every)
            scan.partitions = [p for p in every.partitions if p.topic == topic]
            connection = scan.to_duckdb(utf8(topic).decode(), connection)
        return new_connection() if connection is None else connection

    def sql(
        self,
        query: str,
        *,
        decode: "Mapping[str, ColumnDecoding] | str | None" = None,
        mask: "AnyMasks | None" = None,
        isolation_level: "IsolationLevel | None" = None,
    ) -> "SqlResult":
        """Run a SELECT of DuckDB's SQL and return its result, which reads when it is asked for.

        A topic is a view of its records; other tables are those of `inspect`, such as ``batches``.
        Only what the query names is read, and it can read or write nothing else.

        Args:
            query: such as ``"select topic, sum(size) from segments group by all"``.
            decode: how keys and values are decoded, as in `scan`; default: as JSON, or by the ids
                of schemas, where the query names fields as ``value.order_id``; otherwise bytes.
            mask: rules that keep private values out, as in `scan`.
            isolation_level: "read_committed" leaves out records of aborted and open transactions;
                None reads them, and a warning says how many there were.

        Raises:
            LookupError: a table is neither a topic nor one of `inspect`.
            MissingDependencyError: duckdb is not installed.
            QueryError: DuckDB cannot read the query, or it is not one SELECT.
        """
        from workbench.loaders.sql.run import run_sql

        return run_sql(
            self.listing, query, decode=decode, mask=mask, isolation_level=isolation_level
        )

    def verify(
        self,
        *,
        topics: Names = None,
        partitions: Partitions = None,
        deep: bool = True,
        info: bool = False,
        workers: int | None = None,
        kafka: str | None = None,
    ) -> "FindingList":
        """Check everything and return what is not as a healthy broker would leave it.

        The result is a list, and a table in notebooks, Arrow and pandas. In a directory without
        Kafka's files nothing can be wrong; `workbench.verify` refuses it.

        Args:
            topics: names; only their partitions are checked, and no other files.
            partitions: numbers or names; as ``topics``; what groups and transactions mean is not
                looked at then.
            deep: check CRCs and decode every record; otherwise names, sizes, headers and indexes
                only.
            info: also return what is only worth knowing: a file that is marked for deletion, an
                open transaction, an incomplete last batch of a running broker.
            workers: threads that check CRCs and decode side by side; None: one per core, at most 8.
                The findings, and their order, do not depend on it.
            kafka: the version of the broker that findings speak of, such as "2.8"; None: the newest
                that the directories show.

        Raises:
            ConfigError: the version is unknown.
            LookupError: a topic or partition does not exist.
            ValueError: ``workers`` is below 1.
        """
        from workbench.loaders.scan.plan import chosen_names
        from workbench.loaders.tables.findings import FindingList
        from workbench.loaders.tables.inspect import chosen_findings

        return FindingList(
            chosen_findings(
                self.listing, topics, partitions, deep=deep, info=info, workers=workers, kafka=kafka
            ),
            self.listing,
            kafka,
            chosen_names(self.listing, topics, partitions),
        )

    def explain_cleaning(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        now: Time | None = None,
        partitions: Names = None,
        kafka: str | None = None,
    ) -> "dict[str, Explanation]":
        """Return what `Partition.explain_cleaning` says of many partitions; each log loads once.

        A partition whose log cannot be loaded is left out with a warning.

        Args:
            config, now: see `Partition`.
            partitions: names, as ``orders-0``; None: all that the log manager serves.
            kafka: the broker's version; None takes the newest that the directories show.

        Raises:
            ConfigError: a configuration's name or value is wrong.
            KeyError: a partition does not exist.
            LogDirectoryError: a single file was opened.
        """
        from workbench.loaders.explanations.explain_partition import Explainer

        return self._explained(Explainer.cleaning, config, now, partitions, kafka)

    def explain_retention(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        now: Time | None = None,
        partitions: Names = None,
        kafka: str | None = None,
    ) -> "dict[str, Explanation]":
        """Return what `Partition.explain_retention` says of many partitions.

        The arguments and errors are those of `explain_cleaning`.
        """
        from workbench.loaders.explanations.explain_partition import Explainer

        return self._explained(Explainer.retention, config, now, partitions, kafka)

    def plan_cleaning(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        now: Time | Sequence[Time] | None = None,
        passes: int = 1,
        partitions: Names = None,
        kafka: str | None = None,
    ) -> "dict[str, CleaningPlan]":
        """Return what `Partition.plan_cleaning` says of many partitions.

        Args:
            config, now, passes: see `Partition.plan_cleaning`.
            partitions: names, as ``orders-0``; None: those known to be compacted.
            kafka: the broker's version; None takes the newest that the directories show.

        Raises:
            As `Partition.plan_cleaning`; KeyError: a partition does not exist.
        """
        from workbench.foresight.dry_listing import open_dry, round_times
        from workbench.loaders.explanations.explain_partition import plan_partition

        times = round_times(now, passes)
        with open_dry(
            self.listing.log_directories, config, times[0], kafka, self.listing.fs
        ) as dry:
            compacted = (
                name
                for name in self._served()
                if dry.is_compacted(TopicPartition(self[name].topic, self[name].partition))
            )
            chosen = [*several(compacted if partitions is None else partitions)]
            return {
                name: plan_partition(dry, self[name], times, everything=False) for name in chosen
            }

    def _served(self) -> Iterator[str]:
        """Yield the names of the partitions that a log manager serves."""
        for name, partition in self.items():
            if partition.kind == "log" and partition.topic != METADATA_TOPIC:
                yield name

    def _explained(
        self,
        explain: "Callable[[Explainer, Partition], Explanation]",
        config: Mapping[str, Any] | None,
        now: Time | None,
        partitions: Names,
        kafka: str | None,
    ) -> "dict[str, Explanation]":
        """Return the explanation of each partition; logs that cannot be loaded are left out."""
        from workbench.foresight.dry_listing import open_dry
        from workbench.loaders.explanations.explain_partition import Explainer
        from workbench.loaders.tables.segment_tables import warn_left_out
        from workbench.runtime.times import time_or_now

        chosen = [self[name] for name in several(partitions or self._served())]
        moment = time_or_now(now)
        found: dict[str, Explanation] = {}
        with open_dry(self.listing.log_directories, config, moment, kafka, self.listing.fs) as dry:
            explainer = Explainer(dry, moment)
            for partition in chosen:
                try:
                    found[partition.name] = explain(explainer, partition)
                except (WorkbenchError, OSError) as error:
                    warn_left_out(partition.path, error)
        return found

    def explain_group(
        self,
        group: str,
        *,
        version: str | None = None,
        now: Time | None = None,
        retention_ms: int | None = None,
    ) -> "Explanation":
        """Return why a group resumes where it stopped, or starts over: one row per rule.

        It starts over where no offset is left (expired, deleted, its transaction aborted), or where
        the log does not hold the offset any more (out of range, topic gone or recreated).

        Args:
            group: its id.
            version: of the broker that loads it, such as "2.8"; None: as the directories show.
            now: a time; what has expired then is gone. None: expiry removes nothing.
            retention_ms: `offsets.retention.minutes` in ms; None: the default of the version.

        Raises:
            ValueError: the version is none.
            OSError: a file cannot be read.
        """
        from workbench.loaders.explanations.coordinator_explanation import explain_group

        return explain_group(
            self.listing,
            group,
            version=version,
            now=ms_of(now),
            retention_ms=retention_ms,
        )

    def explain_transaction(
        self,
        transaction: str | int,
        *,
        now: Time | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> "Explanation":
        """Return what a transaction blocks and what ends it: one row per rule.

        Its state, where its coordinator looks for it, when it times out or expires, which
        partitions wait for its transaction marker, the last stable offset that it holds back,
        whether it hangs (no transactional id waits for it, as `kafka-transactions.sh find-hanging`
        asks), and the command that would end it. Walks the batch headers of every log.

        Args:
            transaction: a transactional id, or a producer id as a number.
            now: a time, that ages are measured by. None: no age is judged.
            config: the broker's configurations by name, such as
                ``{"transactional.id.expiration.ms": 86_400_000}``. The others are those stored in
                the cluster's metadata, otherwise Kafka's defaults; the rows say which they use.

        Raises:
            ConfigError: a configuration's name or value is wrong.
            OSError: a file cannot be read.
        """
        from workbench.loaders.explanations.coordinator_explanation import explain_transaction

        return explain_transaction(self.listing, transaction, now=ms_of(now), config=config)

    def undelete(
        self,
        topic: str,
        to: StrPath,
        *,
        topic_id: UUID | None = None,
        partitions: Iterable[int] | int | None = None,
    ) -> "list[BroughtBack]":
        """Copy the deleted (`-delete`) and stray logs of a topic into a new log directory.

        There they have the names that brokers serve. `serve` and scans read the copy as it is. A
        broker serves its directories if the cluster has a topic with the id in
        `partition.metadata`: create the topic again, stop the broker, and put them in place of the
        new, empty ones, with the new id as ``topic_id``. Records that DeleteRecords deleted come
        back where their segment was not deleted: a log start offset is in no file of a deleted log.

        Args:
            topic: its name.
            to: the copy, missing or empty.
            topic_id: the id of the topic in the cluster that is to serve it; None keeps the log's.
            partitions: numbers of the partitions that are brought back; None: all.

        Raises:
            LookupError: no directory of the topic, or of a partition, is deleted or stray.
            OutputError: ``to`` holds something, or one path contains the other.
            OSError: reading or writing failed.
        """
        from workbench.foresight.copies.undeleting import undelete

        return undelete(self.listing, topic, os.fspath(to), topic_id, several(partitions))

    @takes_scan_options("columns")
    def replay(
        self,
        to: str | Mapping[str, Any],
        topics: Names = None,
        *,
        name: str = "replay",
        create_topics: bool = False,
        rate: float | None = None,
        progress: Callable[[int], None] | None = None,
        other_source: "OtherSource" = "fail",
        **options: "Unpack[RecordOptions]",
    ) -> "pa.Table":
        """Write committed records into a running cluster, each once; return a table of partitions.

        Records keep topic, partition, order, key, value, headers and time. A replay of the same
        ``name`` continues where the last one stopped, even if that was killed.

        Args:
            to: ``host:port`` of a broker, or librdkafka's configuration of a client.
            topics: names; None: all but the internal ones.
            name: of the replay; its place is kept in the cluster, as offsets of the group
                ``kafka-workbench-replay.NAME``.
            create_topics: whether to create topics that are missing.
            rate: records per second at the most.
            progress: receives the number of records after each transaction.
            other_source: what to do where the replay of this name has read another source (another
                cluster, topic id or directory): "fail", "restart" at the log start, or "continue"
                at its offset.
            options: of the scan, such as ``mask`` and ``offsets``; see `Scan`. Aborted records are
                left out unless ``isolation_level="read_uncommitted"``.

        Raises:
            LookupError: a topic or partition is not in the directories.
            MissingDependencyError: confluent-kafka is not installed.
            ReplayError: the cluster cannot be reached, lacks a topic, or refuses records; or the
                replay has read another source.
        """
        from workbench.loaders.exports.replay import COLUMNS, replay
        from workbench.loaders.tables.rows import table_of
        from workbench.tables.replay import ReplayRow

        chosen: RecordOptions = {"isolation_level": "read_committed", **options, "columns": COLUMNS}
        rows = replay(
            self.scan(topics, **chosen),
            to,
            name=name,
            create_topics=create_topics,
            rate=rate,
            progress=progress,
            other_source=other_source,
        )
        return table_of(ReplayRow, rows)

    def _repr_html_(self) -> str:
        shown = list(self.values())[:_SHOWN]
        cells: list[list[Cell]] = [
            [
                p.name,
                len(p.segments),
                p.size,
                p.log_start_offset,
                _log_end(p),
                len(p.leftovers),
            ]
            for p in shown
        ]
        left = len(self) - len(shown)
        columns = ["partition", "segments", "bytes", "log start", "log end", "leftover files"]
        note = f"{left} more partitions" if left else None
        title = ", ".join(root.path for root in self.roots)
        return table_html(title, columns, cells, note)


def _log_end(partition: Partition) -> int | None:
    """Return a log end offset; None where the file cannot be read."""
    try:
        return partition.log_end_offset
    except OSError:
        return None
