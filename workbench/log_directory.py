"""The public face of reading: open a log directory, then look, scan and verify.

Nothing is written or locked, bad bytes raise nothing, and nothing is read before it is asked for.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from workbench.errors import LogDirectoryError
from workbench.file_system.source import Files, absolute, is_uri, real
from workbench.inspection.brokers import NO_ID, listings_by_broker
from workbench.inspection.listing import Listing, StrPath, opened_paths, require_logs
from workbench.loaders.directory import ListedDirectory
from workbench.loaders.in_hand import InHand, place_of
from workbench.loaders.partition import Partition
from workbench.loaders.remote import attach_tier, listed_with_tier
from workbench.loaders.scan.plan import choose_partitions
from workbench.loaders.topic import Topic
from workbench.runtime.several import Names, Partitions, several
from workbench.runtime.signatures import explained
from workbench.runtime.times import HOUR, Time, ms_of

if TYPE_CHECKING:  # Arrow and the engine that writes are imported when they are asked for
    import pyarrow as pa

    from workbench.comparison.results import PartitionComparison
    from workbench.config.broker_config import BrokerConfig
    from workbench.config.settings import Settings
    from workbench.foresight.preflight.results import Preflight
    from workbench.foresight.startup.prediction import StartupPrediction
    from workbench.loaders.explanations.what_if import WhatIf
    from workbench.loaders.tables.findings import FindingList
    from workbench.loaders.tables.replica_comparison import ReplicaComparison
    from workbench.log_manager.loading import Progress
    from workbench.server.events import Event
    from workbench.server.limits import ServerLimits
    from workbench.server.security import ServerSecurity
    from workbench.server.server import Server


@explained
def open_log_directory(
    paths: InHand | Iterable[InHand],
    *,
    remote: StrPath | None = None,
    remote_keys: Mapping[str, StrPath] | None = None,
) -> "LogDirectory":
    """Open a log directory for reading; nothing is written to it.

    Args:
        paths: a log directory (an entry of `log.dirs`), several of one broker, a single partition
            directory, or a single file; on this machine, or a URI such as ``s3://bucket/broker-1``
            (also ``gs://``, ``abfs://``, ``hdfs://``). A remote tier alone, where all brokers are
            gone: its topics are those that its folders and manifests name. Also what was opened:
            a `LogDirectory`, a `Topic`, a `Partition`, or a `Segment`, which stands for its
            partition.
        remote: the folder or URL of the remote tier (KIP-405), so that remote and local segments
            read as one log.
        remote_keys: key id → file of the RSA private key (PEM), for a tier that Aiven's plugin
            encrypted.

    Raises:
        ConfigError: a file holds no RSA private key.
        LogDirectoryError: a path does not exist, is a file that is not Kafka's, or its server
            cannot be reached.
        MissingDependencyError: keys are given, and cryptography is not installed.
        OSError: a directory cannot be listed.
    """
    if isinstance(paths, LogDirectory) and remote is None:
        return paths
    place = place_of(paths)
    if remote is None:
        remote, remote_keys = place.tier.get("remote"), place.tier.get("remote_keys", remote_keys)
    return _opened(place.paths, remote, remote_keys, place.fs)


def _opened(
    paths: StrPath | Iterable[StrPath],
    remote: StrPath | None,
    remote_keys: Mapping[str, StrPath] | None,
    fs: Files,
) -> "LogDirectory":
    """See `open_log_directory`; ``fs`` is what was opened there before."""
    listing, remote = listed_with_tier(several(paths), remote, remote_keys, Partition, fs)
    for root in listing.roots:
        if not root.is_log_directory and (reason := root.nothing_here) is not None:
            raise LogDirectoryError(opened_paths(Listing((root,), {}))[0], reason)
        if (inside := root.directories_inside) is not None:
            raise LogDirectoryError(root.path, inside)
    together = tuple(absolute(root.path) for root in listing.roots if root.is_log_directory)
    for partition in listing.partitions.values():
        if not partition.is_alone:
            cast(Partition, partition).log_directories = together
    logs = LogDirectory(listing, remote=remote, remote_keys=remote_keys)
    for each in listing.partitions.values() if logs.tier else ():
        cast(Partition, each).tier = logs.tier
    return logs


def later(
    logs: "LogDirectory", listing: Listing, *, is_tier_read_again: bool = False
) -> "LogDirectory":
    """Return a later listing of the same directories, with the same remote tier.

    Args:
        logs: what was opened.
        listing: the directories as they are now.
        is_tier_read_again: whether the tier has changed too; otherwise partitions keep what they
            have of it.

    Raises:
        OSError: the tier cannot be listed.
    """
    tier = logs.tier
    if is_tier_read_again:
        attach_tier(listing, tier.get("remote"), tier.get("remote_keys"), listing.fs)
    return LogDirectory(listing, **tier)


@explained
def verify(
    paths: InHand | Iterable[InHand],
    *,
    deep: bool = True,
    info: bool = False,
    workers: int | None = None,
    kafka: str | None = None,
) -> "FindingList":
    """Check what `open_log_directory` opens; see `LogDirectory.verify` for the arguments.

    An empty list means that nothing is wrong, so there must be something to check: an empty
    directory, or a file that is not Kafka's, is refused. `open_log_directory` accepts an empty
    directory, because a new broker's log directory is empty.

    Raises:
        LogDirectoryError: a path does not exist, or nothing there looks like Kafka's.
    """
    logs = open_log_directory(paths)
    require_logs(logs.listing)
    return logs.verify(deep=deep, info=info, workers=workers, kafka=kafka)


@explained
def what_if(
    logs: InHand | Iterable[InHand],
    config: Mapping[str, Any],
    *,
    now: Time | None = None,
    topics: Names = None,
    partitions: Partitions = None,
    kafka: str | None = None,
) -> "WhatIf":
    """Return what a broker would delete and compact with this configuration; nothing is written.

    Retention works once on every log, and the cleaner once on every log that is due then. Committed
    offsets expire by ``offsets.retention.minutes``: the result's ``offsets`` names which, and the
    rule.

    Args:
        logs: the result of `open_log_directory`, or its argument.
        config: names of brokers and topics to values; ``"orders:retention.ms"`` is one topic's own.
            Other names have the value in `__cluster_metadata`, or Kafka's default.
        now: a time, see `Partition`, that ages are measured by; the machine's time when None.
        topics: names; only their partitions are looked at.
        partitions: numbers, or names such as ``"orders-0"``; only these are looked at.
        kafka: the broker's version, such as "2.8"; None takes the newest that the directories show.

    Raises:
        ConfigError: a configuration's name or value is wrong, or the version is unknown.
        LogDirectoryError: a path does not exist, or is a file.
        LookupError: a topic or partition is not there.

    Kafka: LogManager.cleanupLogs, LogCleaner.CleanerThread.cleanFilthiestLog (4.2)
    """
    from workbench.loaders.explanations.what_if import what_would_be

    opened = open_log_directory(logs)
    return what_would_be(
        opened.listing, config, ms_of(now), several(topics), several(partitions), kafka=kafka
    )


@explained
def compare_replicas(
    brokers: Mapping[Any, InHand | Iterable[InHand]],
    *,
    topics: Names = None,
    partitions: Partitions = None,
    deep: bool = True,
    version: str | None = None,
    progress: "Callable[[PartitionComparison], None] | None" = None,
) -> "ReplicaComparison":
    """Compare the disks of several brokers of one cluster, partition by partition.

    For each partition: who is ahead, where logs diverge, what each replica would truncate as a
    follower of each, what was committed, and what of it is lost. Batches that are equal byte for
    byte are not decoded; the others are compared record by record. Nothing is written.

    Stop the brokers first, or copy their directories at one time: a log that grows meanwhile looks
    like one that is ahead.

    Args:
        brokers: name or id of each broker → what `open_log_directory` returns, or its argument.
        topics: names; None: all that any broker has.
        partitions: numbers, or names as ``orders-0``; None: all.
        deep: check the CRC of every batch; otherwise only headers are read, and the stored CRCs
            compared.
        version: of Kafka, such as "2.4": followers truncate by its rules; None: by the newest.
        progress: a callback after each partition.

    Raises:
        ConfigError: the version is none.
        LogDirectoryError: a path does not exist, nothing there looks like Kafka's, no broker is
            given, or two brokers have one directory.
        LookupError: no broker has a topic or partition that is named.

    Kafka: Partition.readRecords, AbstractFetcherThread.getOffsetTruncationState (4.2)
    """
    from workbench.loaders.tables.replica_comparison import compare_listings

    named: object = brokers  # a caller may give anything
    if not isinstance(named, Mapping) or isinstance(named, ListedDirectory | Topic):
        raise LogDirectoryError(
            "compare_replicas",
            f"expected a name for each broker, as {{'1': PATH, '2': PATH}} (found "
            f"{type(brokers).__name__}); what was opened has compare(PATH)",
        )
    listings: dict[str, Listing] = {}
    seen: dict[str, str] = {}
    for broker, given in brokers.items():
        logs = open_log_directory(given)
        require_logs(logs.listing)
        name = str(broker)
        for root in logs.roots:
            other = name if name in listings else seen.get(real(root.path))
            if other is not None:
                raise LogDirectoryError(
                    root.path, f"given for broker {name} and for {other} (expected one broker)"
                )
        seen.update((real(root.path), name) for root in logs.roots)
        listings[name] = logs.listing
    if not listings:
        raise LogDirectoryError("compare_replicas", "no broker was given")
    return compare_listings(
        listings,
        topics=several(topics),
        partitions=several(partitions),
        deep=deep,
        version=version,
        progress=progress,
    )


@explained
def serve(
    logs: InHand | Iterable[InHand],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    topics: Names = None,
    insecure: bool = False,
    security: "ServerSecurity | None" = None,
    advertised: str | None = None,
    limits: "ServerLimits | None" = None,
    observe: "Callable[[Event], None] | None" = None,
    writable: bool = False,
    recover: bool = False,
    config: Mapping[str, Any] | None = None,
    defaults: bool = False,
    strict: bool = False,
) -> "Server":
    """Return a server that any Kafka client can read the logs from; by default nothing is written.

        with serve("sample_data/shop-4.3.1") as server:
            where = server.bootstrap_servers  # for the configuration of a client

    Args:
        logs: the result of `open_log_directory`, or its argument.
        host: name or address to listen at.
        port: 0 takes any free one.
        topics: the only topics to serve; None: all.
        insecure: allows a host that other machines can reach without TLS or without passwords.
        security: TLS, and the users that may connect; None: neither.
        advertised: ``"host:port"`` that clients receive as the address; None: the one that they
            have connected to.
        limits: what clients can take at most; None: the defaults.
        observe: receives each request and finding in the server's thread.
        writable: whether clients may write: the engine then leads the partitions as the only broker
            of its cluster, and recovers, retains and cleans them. Work on a copy.
        recover: with ``writable``, whether directories are taken that were not stopped cleanly.
        config: with ``writable``, names of brokers and topics to values.
        defaults: with ``writable``, whether Kafka's defaults apply where the configuration of the
            directory's broker is unknown, such as 7 days of retention; otherwise what is not
            configured deletes nothing.
        strict: whether a consumer that comes to a damaged batch gets the error CORRUPT_MESSAGE;
            otherwise it continues after the batch.

    Raises:
        LogDirectoryError: a path does not exist, or nothing there looks like Kafka's.
        LookupError: a topic is not there.
        ConfigError: a configuration's name or value is wrong.
    """
    from workbench.server.server import Server

    opened = open_log_directory(logs)
    if not all(is_uri(root.path) or os.path.isabs(root.path) for root in opened.roots):
        # A server outlives a chdir.
        opened = opened.listed_again([absolute(root.path) for root in opened.roots])
    fs = opened.listing.fs
    far = [root.path for root in opened.roots if fs.at(root.path) is not None]
    if writable and far:
        raise LogDirectoryError(far[0], "nothing is written there; serve it without writable")
    if writable and opened.tier:
        where = os.fspath(opened.tier["remote"])
        raise LogDirectoryError(where, "a writable server reads no remote tier; leave it out")
    if not writable:  # which may begin with an empty directory
        require_logs(opened.listing)
    topics = several(topics)
    if topics is not None:
        choose_partitions(opened.listing, topics, None)
    return Server(
        opened.listing,
        host,
        port,
        topics=topics,
        insecure=insecure,
        security=security,
        advertised=advertised,
        limits=limits,
        observe=observe,
        writable=writable,
        recover=recover,
        config=config,
        defaults=defaults,
        strict=strict,
    )


_what_if, _serve = what_if, serve  # in the class, the names are its methods


class LogDirectory(ListedDirectory):
    """Partitions by name: ``logs["orders-0"]``. Pickling drops what was read."""

    def __init__(
        self,
        listing: Listing,
        *,
        remote: StrPath | None = None,
        remote_keys: Mapping[str, StrPath] | None = None,
    ) -> None:
        super().__init__(listing)
        self._remote = remote
        self._remote_keys = {k: os.fspath(path) for k, path in (remote_keys or {}).items()}

    @property
    def tier(self) -> dict[str, Any]:
        """The arguments of `open_log_directory` that name the remote tier; empty without one."""
        if self._remote is None:
            return {}
        named = {"remote": self._remote, "remote_keys": self._remote_keys or None}
        return {name: value for name, value in named.items() if value is not None}

    def listed_again(self, paths: Iterable[StrPath] | None = None) -> "LogDirectory":
        """Open the same directories, with the same remote tier, as they are now.

        Args:
            paths: the directories by other paths; None: as they were opened.

        Raises:
            As `open_log_directory`.
        """
        again = opened_paths(self.listing) if paths is None else paths
        return _opened(again, self._remote, self._remote_keys, self.listing.fs)

    what_if = _what_if
    serve = _serve

    def compare(
        self,
        *others: InHand | Iterable[InHand],
        topics: Names = None,
        partitions: Partitions = None,
        deep: bool = True,
        version: str | None = None,
    ) -> "ReplicaComparison":
        """Compare this broker's disks with those of others; see `compare_replicas`.

        Brokers have the names that `meta.properties` gives, or else their paths.

        Raises:
            LogDirectoryError, LookupError, ConfigError: as `compare_replicas`.
        """
        brokers: dict[str, LogDirectory] = {}
        for given in (self, *others):
            logs = open_log_directory(given)
            (node_id, *more) = listings_by_broker(logs.listing) or [NO_ID]
            paths = ", ".join(root.path for root in logs.roots)
            name = paths if more or node_id == NO_ID else str(node_id)
            brokers[name if name not in brokers else paths] = logs
        return compare_replicas(
            brokers, topics=topics, partitions=partitions, deep=deep, version=version
        )

    def predict_startup(
        self,
        config: "BrokerConfig | Mapping[str, Any] | None" = None,
        *,
        topic_configs: Mapping[str, Mapping[str, Any]] | None = None,
        node_id: int | None = None,
        cluster_id: str | None = None,
        now: Time | None = None,
        topic_ids: Iterable[UUID] | UUID | None = None,
        kafka: str | None = None,
        consumers: bool = True,
        progress: "Progress | None" = None,
    ) -> "StartupPrediction":
        """Return what a broker would do with these directories when it starts.

        The metadata log comes first, as in a broker, and says which topics are known. The loading
        code runs on the directories with every change kept in memory. For a partition
        directory that was opened alone, only its own fate is predicted, with the checkpoints of its
        log directory.

        Args:
            config: the broker's configuration, or a mapping of Kafka's names to values.
            topic_configs: topic → its own configuration, by Kafka's names.
            node_id: the broker's id; None takes it from `meta.properties`.
            cluster_id: the cluster's id; None as for ``node_id``.
            now: a time, see `Partition`, when the broker starts: producers expire by it; None takes
                the machine's time.
            topic_ids: the ids of the cluster's topics; logs of others become stray. None takes
                those in the metadata log.
            kafka: the broker's version, such as "3.9"; None takes the newest that the directories
                show.
            consumers: whether consumers read the logs afterwards, every one completely, to find
                damage that a broker does not detect.
            progress: a callback after each partition.

        Raises:
            ConfigError: a configuration's name or value is wrong.
            LogDirectoryError: a single file was opened.
        """
        from workbench.foresight.startup.predict import predict_startup

        alone = [root for root in self.roots if not root.is_log_directory]
        names = {os.path.basename(absolute(root.path)) for root in alone}
        return predict_startup(
            self.listing.log_directories,
            config,
            topic_configs=topic_configs,
            fs=self.listing.fs,
            node_id=node_id,
            cluster_id=cluster_id,
            now=ms_of(now),
            topic_ids=several(topic_ids),
            kafka=kafka,
            only=names or None,
            consumers=consumers,
            progress=progress,
        )

    def preflight(
        self,
        config: "Mapping[str, Any] | Settings | None" = None,
        *,
        kafka: str | None = None,
        node_id: int | None = None,
        cluster_id: str | None = None,
        topic_ids: Iterable[UUID] | UUID | None = None,
        now: Time | None = None,
        rate: float | None = None,
        deep: bool = False,
        progress: "Progress | None" = None,
    ) -> "Preflight":
        """Return whether topics will be served after a start here, per topic, and what to do first.

        For a restore, an upgrade, a migration from ZooKeeper or a move of disks. The verdicts are
        those of `predict_startup`; formats, configurations and defaults that differ between the
        version that wrote the directories and ``kafka`` are in the result's ``concerns``.

        Args:
            config: names of brokers and topics to values, as `what_if` takes them. Other names have
                the value in `__cluster_metadata`, or Kafka's default.
            kafka: the version that is to start; None takes the newest that the directories show.
            node_id, cluster_id: of the node that is to start; None takes those found.
            topic_ids: the ids of the cluster's topics; None takes those in the metadata log.
            now: a time, see `Partition`, when the broker starts; None takes the machine's time.
            rate: bytes per second that one recovery thread reads; None: as measured here.
            deep: whether consumers read the logs completely, to find what a broker does not detect.
            progress: a callback after each partition.

        Raises:
            ConfigError: a configuration's name or value is wrong, or the version is unknown.
            LogDirectoryError: a single file or partition directory was opened.
        """
        from workbench.loaders.answers.preflight import preflight_of

        return preflight_of(
            self.listing,
            config,
            kafka=kafka,
            node_id=node_id,
            cluster_id=cluster_id,
            topic_ids=several(topic_ids),
            now=ms_of(now),
            rate=rate,
            deep=deep,
            progress=progress,
        )

    def stuck(
        self,
        config: "Mapping[str, Any] | Settings | None" = None,
        *,
        now: Time | None = None,
        window_ms: int = HOUR,
        kafka: str | None = None,
    ) -> "pa.Table":
        """Return what is not deleted, not compacted, not readable or not consumed (`StuckRow`).

        Over all partitions and groups, with the record, transaction or group that holds it, the
        bytes held back, and what to do. An empty table says that nothing of these four is stuck in
        the logs that load; `inspect.group_lags` has the groups that are fine, too.

        Args:
            config: names of brokers and topics to values, as `what_if` takes them.
            now: a time, that retention and groups are judged at. None: retention and expired
                offsets by the machine's time, lags of groups by the newest commit.
            window_ms: the time whose commits decide whether a group makes progress.
            kafka: the broker's version; None takes the newest that the directories show.

        Raises:
            ConfigError: a configuration's name or value is wrong, or the version is unknown.
            LogDirectoryError: a single file was opened.
        """
        from workbench.loaders.answers.stuck import stuck_rows
        from workbench.loaders.tables.rows import table_of
        from workbench.tables.stuck import StuckRow

        rows = stuck_rows(self.listing, config, now=ms_of(now), window_ms=window_ms, kafka=kafka)
        return table_of(StuckRow, rows)

    def report(
        self, *, now: Time | None = None, kafka: str | None = None, deep: bool = False
    ) -> str:
        """Return one HTML page for a ticket: what this is, what is wrong, and what to do.

        Preflight, findings, what fills the disk, what is stuck, groups by lag, open transactions
        and the cluster's state, each with the command that gives it. Of the directories of several
        brokers: whether their replicas agree, and what one broker does, for each. Keys and values
        of records are not in it, and it needs no network.

        Args:
            now: a time, see `Partition`, that ages are measured by; None: lags of groups by the
                newest commit, everything else by the machine's time.
            kafka: the version that is to start; None takes the newest that the directories show.
            deep: whether every CRC is checked and every record decoded.

        Raises:
            ConfigError: the version is unknown.
            LogDirectoryError: a single file or partition directory was opened.
        """
        from workbench.loaders.answers.facts import Facts
        from workbench.loaders.answers.preflight import preflight_of
        from workbench.loaders.answers.sections import report_html

        def verified(*some: LogDirectory) -> list[Any]:
            return [each for logs in some for each in logs.verify(deep=deep, kafka=kafka)]

        def facts(logs: LogDirectory, *parts: LogDirectory) -> Facts:
            judged = Facts(
                logs.listing,
                ms_of(now),
                kafka,
                lambda: preflight_of(logs.listing, now=ms_of(now), kafka=kafka, judge=judged.judge),
                partial(verified, *parts),
                is_deep=deep,
            )
            return judged

        brokers = self._by_broker()
        own = [facts(each, each) for each in brokers] if len(brokers) > 1 else []
        return report_html(facts(self, *brokers), own)

    def _by_broker(self) -> "list[LogDirectory]":
        """Return the directories of each broker, sorted by its id."""
        several = listings_by_broker(self.listing).values()
        if len(several) < 2:
            return [self]
        return [
            open_log_directory([root.path for root in own.roots], **self.tier) for own in several
        ]
