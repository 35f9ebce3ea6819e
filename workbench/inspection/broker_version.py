"""Which version of Kafka a log directory shows, and which broker is assumed by "a broker would".

Brokers do not write their version down, except into the metadata log. But many files, formats and
names came with one version, so the newest of them is a lower bound: the broker was not older. All
names are looked at; of contents only the newest segments of some partitions, near their beginning.

Kafka: what each version began to write; MetadataVersion (4.4), RegisterBrokerRecord
"""

import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Final, NamedTuple

from workbench.config.broker_rules import BrokerRules
from workbench.config.internal_topics import METADATA_LOG, OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from workbench.config.kafka_versions import LATEST, MODELED, SERIES, series_of
from workbench.errors import LogDirectoryError
from workbench.file_system.source import absolute
from workbench.files import names
from workbench.files.clean_shutdown import CleanShutdown
from workbench.files.quorum_state import QuorumState
from workbench.inspection.cluster.image import METADATA_VERSION, StoredCluster
from workbench.inspection.cluster.loading import read_stored_cluster
from workbench.inspection.listing import Listing, Root, list_log_directories
from workbench.inspection.node_start.bootstrap import bootstrap_level
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.inspection.verify.shutdown_state import has_own_files
from workbench.record.reading.reader import KEYS, VALUES

OLDEST: Final = SERIES[0]

_METADATA_VERSIONS: Final = (
    (32, "4.4"), (30, "4.3"), (28, "4.2"), (26, "4.1"), (22, "4.0"), (21, "3.9"), (20, "3.8"),
    (15, "3.7"), (12, "3.6"), (9, "3.5"), (8, "3.4"), (4, "3.3"), (3, "3.2"), (2, "3.1"),
    (1, "3.0"),
)  # fmt: skip
"""First level of `metadata.version` of each series, descending. Kafka: MetadataVersion (4.4)"""

_NEWEST_LEVEL: Final = 33  # the last of them, that 4.4 knows

_UNSTABLE_LEVELS: Final = {"3.7": 1, "3.8": 1, "3.9": 2, "4.0": 1, "4.1": 2, "4.2": 1, "4.3": 1}
"""How many levels a series has a name for that it does not allow yet."""

_NEWEST_OF_PARTITIONS: Final = "4.0"  # the newest that the folders of partitions can show
_LEAST_OF_4: Final = 7
_SOME_PARTITIONS: Final = 64
_SOME_BYTES: Final = 1 << 20  # of a segment
_SOME_BATCHES: Final = 4096
_ZSTD: Final = 4
_INT16: Final = struct.Struct(">h")


class MeantBroker(NamedTuple):
    """The broker that is assumed.

    Attributes:
        version: its version: a series such as "2.8", or what was asked for.
        reason: why this one, as a clause.
    """

    version: str
    reason: str

    @property
    def rules(self) -> BrokerRules:
        """How brokers of the version start, clean and delete."""
        return BrokerRules.of(self.version)

    def __str__(self) -> str:
        return f"A broker of Kafka {self.version} is assumed: {self.reason}."


def meant_broker(
    listing: Listing, kafka: str | None = None, cluster: StoredCluster | None = None
) -> MeantBroker:
    """Return the broker that is assumed: of the given version, or the newest that is shown.

    Logs without any file of a broker beside them are a copy of a part: they show how old the
    broker can be, not which it is, so `MODELED` is assumed.

    Args:
        listing: the opened log directories.
        kafka: a version, as in `config.kafka_versions.series_of`; None: what the listing shows.
        cluster: the metadata log, if it was read already.

    Raises:
        ConfigError: the version is unknown.
    """
    if kafka is not None:
        series_of(kafka)
        return MeantBroker(str(kafka), "it was asked for")
    whole = _whole(listing)
    shown = shown_version(whole, cluster)
    if any(has_own_files(root) for root in whole.roots) or shown.version == LATEST:
        return shown
    if not whole.partitions:
        return MeantBroker(MODELED, "no file shows a version")
    reason = f"no file of a broker is beside the logs, of which the newest is of {shown.version}"
    return MeantBroker(MODELED, f"{reason} or later ({shown.reason})")


def _whole(listing: Listing) -> Listing:
    """Return the log directories that hold what was opened, if that was a part of them."""
    if all(root.is_log_directory for root in listing.roots):
        return listing
    paths = []
    for root in listing.roots:  # a partition directory, or a file in one or in a log directory
        path = absolute(root.path)
        is_part = names.parse_directory_name(os.path.basename(path)) is not None
        paths.append(os.path.dirname(path) if is_part and not root.is_log_directory else path)
    try:
        return list_log_directories(dict.fromkeys(paths), fs=listing.fs)
    except (LogDirectoryError, OSError):
        return listing


def shown_version(listing: Listing, cluster: StoredCluster | None = None) -> MeantBroker:
    """Return the newest version that opened log directories show, and what shows it.

    Args:
        listing: the opened log directories.
        cluster: the metadata log, if it was read already.
    """
    best = MeantBroker(OLDEST, "nothing that was looked at is of a later version")
    for evidence in (_of_node(listing, cluster), _of_partitions(listing)):
        for found in evidence:
            if SERIES.index(found.version) > SERIES.index(best.version):
                best = found
        if SERIES.index(best.version) >= SERIES.index(_NEWEST_OF_PARTITIONS):
            break
    return best


def later_formats(
    listing: Listing, version: str, cluster: StoredCluster | None = None
) -> Iterator[MeantBroker]:
    """Yield what in opened log directories only versions later than the given one write.

    Args:
        listing: the opened log directories.
        version: as in `config.kafka_versions.series_of`.
        cluster: the metadata log, if it was read already.

    Raises:
        ConfigError: the version is unknown.
    """
    at = SERIES.index(series_of(version))
    yield from (each for each in _evidence(listing, cluster) if SERIES.index(each.version) > at)


def series_of_metadata_version(level: int) -> str:
    """Return the series that a level of `metadata.version` came with; the last for later ones."""
    return next((series for first, series in _METADATA_VERSIONS if level >= first), OLDEST)


def metadata_versions_of(version: str) -> tuple[int, int, int]:
    """Return the lowest and the highest level of `metadata.version` that a version allows.

    And the highest that it has a name for: it does not allow those above yet.

    Kafka: MetadataVersion.fromFeatureLevel (4.0 dropped what was before 3.3), LATEST_PRODUCTION
    """
    later = SERIES.index(series_of(version)) + 1
    above = [first for first, series in _METADATA_VERSIONS if SERIES.index(series) >= later]
    least = _LEAST_OF_4 if SERIES.index(series_of(version)) >= SERIES.index("4.0") else 1
    most = min(above) - 1 if above else _NEWEST_LEVEL
    return least, most, most + _UNSTABLE_LEVELS.get(series_of(version), 0)


def _evidence(listing: Listing, cluster: StoredCluster | None) -> Iterator[MeantBroker]:
    yield from _of_node(listing, cluster)
    yield from _of_partitions(listing)


def _of_node(listing: Listing, cluster: StoredCluster | None) -> Iterator[MeantBroker]:
    yield from _of_cluster(listing, cluster)
    for root in listing.roots:
        with suppress(OSError):  # `verify` reports what cannot be read
            yield from _of_root(root)


def _of_partitions(listing: Listing) -> Iterator[MeantBroker]:
    partitions = list(listing.partitions.values())
    for partition in partitions:
        with suppress(OSError):
            yield from _of_names(partition)
    for partition in _some(partitions):
        with suppress(OSError):
            yield from _of_batches(partition)
    for partition in _some(p for p in partitions if p.topic in {OFFSETS_TOPIC, TRANSACTIONS_TOPIC}):
        with suppress(OSError):
            yield from _of_coordinators(partition)


def _some(partitions: Iterable[DiskPartition]) -> Iterator[DiskPartition]:
    return islice((p for p in partitions if p.kind == "log"), _SOME_PARTITIONS)


def _of_cluster(listing: Listing, cluster: StoredCluster | None) -> Iterator[MeantBroker]:
    """Yield what the metadata log shows: the broker's own registration, and the finalized level."""
    metadata = listing.partitions.get(METADATA_LOG)
    if metadata is None:
        return
    yield MeantBroker("3.0", f"{METADATA_LOG} is there, as since 3.0")
    if cluster is None:
        try:
            cluster = read_stored_cluster(metadata)
        except OSError:
            return
    for root in listing.roots:
        properties = root.meta_properties
        node = None if properties is None else properties.node_id
        level = cluster.supported.get(-1 if node is None else node, {}).get(METADATA_VERSION, 0)
        if level:
            version = series_of_metadata_version(level)
            yield MeantBroker(
                version,
                f"in {METADATA_LOG}, node {node} registered with metadata.version up to {level}, "
                f"{_that_is(level, version)}",
            )
    level = cluster.features.get(METADATA_VERSION, 0)
    if level:
        version = series_of_metadata_version(level)
        yield MeantBroker(
            version, f"metadata.version in {METADATA_LOG} is {level}, {_that_is(level, version)}"
        )


def _that_is(level: int, version: str) -> str:
    return (
        f"of {version}"
        if level <= _NEWEST_LEVEL
        else f"later than {version}, the last that is known"
    )


def _of_root(root: Root) -> Iterator[MeantBroker]:
    """Yield what the files of a log directory show."""
    properties = root.meta_properties
    if properties is not None:
        yield MeantBroker("0.9.0", "meta.properties is there, as since 0.9")
        if properties.cluster_id is not None:
            yield MeantBroker("2.4", "meta.properties has a cluster.id, as since 2.4")
        if properties.version == 1:
            yield MeantBroker("3.0", "meta.properties has version 1, as brokers of KRaft write it")
        if properties.directory_id is not None:
            yield MeantBroker("3.7", "meta.properties has a directory.id, as since 3.7")
    if root.file(names.BOOTSTRAP_CHECKPOINT) is not None:
        yield MeantBroker("3.3", "bootstrap.checkpoint is there, as since 3.3")
    level = bootstrap_level(root)
    if level:
        version = series_of_metadata_version(level)
        yield MeantBroker(
            version,
            f"metadata.version in bootstrap.checkpoint is {level}, {_that_is(level, version)}",
        )
    if root.file(names.LOG_START_OFFSETS) is not None:
        yield MeantBroker("0.11.0", f"{names.LOG_START_OFFSETS} is there, as since 0.11")
    marker = root.file(names.CLEAN_SHUTDOWN)
    if marker is not None and marker.read(CleanShutdown).version is not None:
        yield MeantBroker("3.7", f"{names.CLEAN_SHUTDOWN} has a broker epoch, as since 3.7")


def _of_names(partition: DiskPartition) -> Iterator[MeantBroker]:
    """Yield what the names of a partition's folder and files show."""
    if partition.kind == "stray":
        yield MeantBroker("3.6", f"{partition.name} is named as stray, as since 3.6")
    if partition.kind == "future":
        yield MeantBroker("1.1", f"{partition.name} is moving between directories, as since 1.1")
    where = partition.name
    if partition.file(names.PARTITION_METADATA) is not None:
        yield MeantBroker("2.8", f"{where} has {names.PARTITION_METADATA}, as since 2.8")
    state = partition.file(names.QUORUM_STATE)
    if state is not None and state.read(QuorumState).version == 1:
        yield MeantBroker("3.9", f"{names.QUORUM_STATE} has version 1, as since 3.9")
    if partition.file(names.LEADER_EPOCHS) is not None:
        yield MeantBroker("0.11.0", f"{where} has {names.LEADER_EPOCHS}, as since 0.11")
    kinds = {kind for segment in partition.segments for kind in segment.files}
    if partition.snapshots or "txnindex" in kinds:
        yield MeantBroker("0.11.0", f"{where} has producer snapshots or .txnindex, as since 0.11")
    if "timeindex" in kinds:
        yield MeantBroker("0.10.1", f"{where} has a .timeindex, as since 0.10.1")


def _of_batches(partition: DiskPartition) -> Iterator[MeantBroker]:
    """Yield what the batches near the beginning of the newest segments show."""
    where = partition.name
    for segment in reversed(partition.segments[-2:]):
        rows = next(iter(segment.batch_parts()), None)
        if rows is None or not len(rows.rows):
            continue
        some = rows.rows[:_SOME_BATCHES]
        some = some[some["problem"] == 0]
        if not len(some):
            continue
        if (some["delete_horizon"] >= 0).any():
            yield MeantBroker("3.1", f"a batch in {where} has a delete horizon, as since 3.1")
        if (some["codec"] == _ZSTD).any():
            yield MeantBroker("2.1", f"a batch in {where} is compressed with zstd, as since 2.1")
        if some["magic"].max() >= 2:
            yield MeantBroker("0.11.0", f"{where} has batches of magic 2, as since 0.11")
            if _indexes_last_offsets(segment):
                yield MeantBroker(
                    "2.0",
                    f"an index entry in {where} has the last offset of its batch, as since 2.0",
                )
        elif some["magic"].max() == 1:
            yield MeantBroker("0.10.0", f"{where} has messages of magic 1, as since 0.10.0")


def _indexes_last_offsets(segment: Segment) -> bool:
    """Return whether an entry of the offset index has the last offset of a batch of several."""
    index = segment.offset_index
    if index is None or not len(index.offsets) or not len(index.positions):
        return False
    for offset, position in zip(index.offsets[:8], index.positions[:8], strict=True):
        head = segment.read_bytes(int(position), 27)
        if len(head) < 27 or head[16] != 2:
            continue
        base, delta = struct.unpack(">q15xi", head)
        if delta > 0 and int(offset) in {base, base + delta}:
            return bool(int(offset) == base + delta)
    return False


def _of_coordinators(partition: DiskPartition) -> Iterator[MeantBroker]:
    """Yield what the versions of coordinators' records show."""
    where = partition.name
    seen: set[tuple[int, int]] = set()
    for segment in reversed(partition.segments[-2:]):
        for chunk in segment.read(0, min(segment.size, _SOME_BYTES), options=KEYS | VALUES):
            keys, values = chunk.columns.keys, chunk.columns.values
            assert keys is not None
            assert values is not None
            for row in range(len(chunk.columns.offsets)):
                key, value = keys.item(row), values.item(row)
                if key is not None and value is not None and min(len(key), len(value)) >= 2:
                    seen.add((_INT16.unpack_from(key)[0], _INT16.unpack_from(value)[0]))
            break
    for kind, version in sorted(seen):
        since = _since(partition.topic, kind, version)
        if since is not None:
            yield MeantBroker(
                since,
                f"{where} has records of type {kind} with values of version {version}, "
                f"as since {since}",
            )


_OFFSETS: Final = {(0, 0): "0.8.2", (1, 1): "0.9.0", (1, 2): "2.1", (1, 3): "2.1"}
_GROUPS: Final = {0: "0.9.0", 1: "0.10.1", 2: "2.1", 3: "2.3"}
_NEWEST_CLASSIC: Final = 3


def _since(topic: str, kind: int, version: int) -> str | None:
    """Return the version that began to write such records; None where it is not known.

    Kafka: GroupMetadataManager.offsetCommitValue, groupMetadataValue (0.8.2.2 to 2.8),
    CoordinatorRecordType (4.0), TransactionLogValue (4.0)
    """
    if topic == TRANSACTIONS_TOPIC:
        return "4.0" if version >= 1 else "0.11.0"
    version = min(version, _NEWEST_CLASSIC)
    if kind in {0, 1}:
        return _OFFSETS.get((kind, version))
    if kind == 2:
        return _GROUPS.get(version)
    return "3.7" if kind > 2 else None
