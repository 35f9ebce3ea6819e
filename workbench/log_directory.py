"""The public face of reading: open a log directory, then look, scan and verify.

Nothing is written or locked, bad bytes raise nothing, and nothing is read before it is asked for.
"""

import copy
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack, cast
from uuid import UUID

from workbench.inspection.findings import Finding, without_info
from workbench.inspection.html import Cell, table_html
from workbench.inspection.listing import Listing, Root, StrPath, list_log_directories
from workbench.inspection.verify import verify_listing
from workbench.loaders.partition import Partition
from workbench.loaders.scan import Scan, ScanOptions
from workbench.loaders.tables import Inspect

if TYPE_CHECKING:  # the engine that writes is imported when it is asked for
    from workbench.loaders.what_if import WhatIf
    from workbench.log.broker_config import BrokerConfig
    from workbench.log_manager.loading import Progress
    from workbench.log_manager.prediction import StartupPrediction


def open_log_directory(paths: StrPath | Iterable[StrPath]) -> "LogDirectory":
    """Open a log directory to look into it; it is never written to.

    Args:
        paths: a log directory (an entry of `log.dirs`), several that belong to one broker, a single
            partition's folder, or a single file.

    Raises:
        LogDirectoryError: a path does not exist.
        OSError: a folder may not be listed.
    """
    listing = list_log_directories(paths, Partition)
    together = tuple(os.path.abspath(root.path) for root in listing.roots if root.is_log_directory)
    for partition in listing.partitions.values():
        if partition.root is not None:
            cast(Partition, partition).log_directories = together
    return LogDirectory(listing)


def verify(
    paths: StrPath | Iterable[StrPath], *, deep: bool = True, info: bool = False
) -> list[Finding]:
    """Check what `open_log_directory` opens; arguments as of `LogDirectory.verify`.

    Raises:
        LogDirectoryError: a path does not exist.
    """
    return open_log_directory(paths).verify(deep=deep, info=info)


def what_if(
    logs: "LogDirectory | StrPath | Iterable[StrPath]",
    config: Mapping[str, Any],
    *,
    now: int | None = None,
    topics: Collection[str] | None = None,
) -> "WhatIf":
    """Return what a broker would delete and compact if it were configured so: nothing is written.

    Retention works once on every log, and the cleaner once on every log that is due then.

    Args:
        logs: what `open_log_directory` returned, or takes.
        config: names of brokers and topics to values; ``"orders:retention.ms"`` is one topic's own.
            What is not given is as `__cluster_metadata` tells, or Kafka's default.
        now: ms since the epoch, that ages are measured by; the machine's time when None.
        topics: names; only their partitions are looked at.

    Raises:
        ConfigError: a configuration's name or value is wrong.
        LogDirectoryError: a path does not exist, or is a file.

    Kafka: LogManager.cleanupLogs, LogCleaner.CleanerThread.cleanFilthiestLog (4.2)
    """
    from workbench.loaders.what_if import what_would_be

    opened = logs if isinstance(logs, LogDirectory) else open_log_directory(logs)
    return what_would_be(opened.listing, config, now, topics)


class LogDirectory(Mapping[str, Partition]):
    """Partitions by name: ``logs["orders-0"]``. Pickled, it leaves behind what was read."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing

    def __getitem__(self, name: str) -> Partition:
        return cast(Partition, self.listing.partitions[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.listing.partitions)

    def __len__(self) -> int:
        return len(self.listing.partitions)

    def __repr__(self) -> str:
        where = ", ".join(root.path for root in self.roots)
        return f"<LogDirectory {where}: {len(self)} partitions of {len(self.topics)} topics>"

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
    def inspect(self) -> Inspect:
        """Everything but the records as Arrow tables: ``logs.inspect.batches()``."""
        return Inspect(self.listing)

    def scan(self, **options: Unpack[ScanOptions]) -> Scan:
        """Return a lazy scan over the records; `Scan` describes the options.

        Raises:
            LookupError: a topic, partition or column is not there.
            ValueError: an option has no meaning.
        """
        return Scan(self.listing, **options)

    def to_duckdb(self, connection: Any = None, **options: Unpack[ScanOptions]) -> Any:
        """Make every topic a view of its name and return the `duckdb` connection.

        Args:
            connection: a connection to use; default a new one in memory.
            options: of the scans, as `Scan` describes them; ``topics`` leaves out the others.
                Queries read as `Scan.to_duckdb` says.

        Raises:
            LookupError: a topic, partition or column is not there.
            MissingDependencyError: duckdb is not installed.
            ValueError: an option has no meaning.
        """
        every = self.scan(**options)
        for topic in sorted({partition.topic for partition in every.partitions}):
            scan = copy.copy(every)
            scan.partitions = [p for p in every.partitions if p.topic == topic]
            connection = scan.to_duckdb(topic, connection)
        return connection

    def verify(
        self,
        *,
        topics: Collection[str] | None = None,
        partitions: Collection[int] | None = None,
        deep: bool = True,
        info: bool = False,
    ) -> list[Finding]:
        """Check everything and return what is not as a healthy broker would leave it.

        Args:
            topics: names; only their partitions are checked, and nothing beside them.
            partitions: numbers; as ``topics``.
            deep: check CRCs and decode every record; else names, sizes, headers and indexes only.
            info: also return what is only worth knowing: a file that waits for its deletion, an
                open transaction, a batch that a running broker has not finished.
        """
        found = verify_listing(self.listing, topics=topics, partitions=partitions, deep=deep)
        return found if info else without_info(found)

    def predict_startup(
        self,
        config: "BrokerConfig | Mapping[str, Any] | None" = None,
        *,
        topic_configs: Mapping[str, Mapping[str, Any]] | None = None,
        node_id: int | None = None,
        topic_ids: Collection[UUID] | None = None,
        kraft: bool | None = None,
        consumers: bool = True,
        progress: "Progress | None" = None,
    ) -> "StartupPrediction":
        """Return what a broker of Kafka 4.2 would do with these directories when it starts.

        The loading code runs on the directories with every change kept in memory. Of a partition's
        folder opened by itself only its own fate is told, with what its log directory says of it.

        Args:
            config: of the broker, or a mapping of Kafka's names to values.
            topic_configs: topic → its own configuration, by Kafka's names.
            node_id: of the broker; None takes what `meta.properties` tell.
            topic_ids: of the topics that the cluster has: others' logs are set aside. None takes
                every id for one of them.
            kraft: whether the broker is one without ZooKeeper; None tells by the directories.
            consumers: let consumers read the logs afterwards, to see what goes unnoticed; that
                reads every log whole.
            progress: called after each folder.

        Raises:
            ConfigError: a configuration's name or value is wrong.
            LogDirectoryError: a file was opened by itself.
        """
        from workbench.log_manager.predict import predict_startup

        alone = [root for root in self.roots if not root.is_log_directory]
        names = {os.path.basename(os.path.abspath(root.path)) for root in alone}
        return predict_startup(
            self.listing.log_directories,
            config,
            topic_configs=topic_configs,
            node_id=node_id,
            topic_ids=topic_ids,
            kraft=kraft,
            only=names or None,
            consumers=consumers,
            progress=progress,
        )

    def _repr_html_(self) -> str:
        shown = list(self.values())[:_SHOWN]
        cells: list[list[Cell]] = [
            [
                p.name,
                len(p.segments),
                p.size,
                p.log_start_offset,
                p.log_end_offset,
                len(p.leftovers),
            ]
            for p in shown
        ]
        left = len(self) - len(shown)
        columns = ["partition", "segments", "bytes", "log start", "log end", "leftover files"]
        note = f"{left} more partitions" if left else None
        title = ", ".join(root.path for root in self.roots)
        return table_html(title, columns, cells, note)


_SHOWN = 40  # rows of the table in a notebook
