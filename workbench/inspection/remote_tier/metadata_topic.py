"""Read `__remote_log_metadata`: every event of remote segments, in the order of the log.

A topic's partitions can be on other brokers: what is not in these directories is not known.

Kafka: TopicBasedRemoteLogMetadataManager, RemotePartitionMetadataStore (4.2)
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from workbench.decoders.remote_log_metadata import decode_value
from workbench.inspection.findings import Finding, finding_of
from workbench.inspection.partition import DiskPartition
from workbench.inspection.remote_tier.metadata_cache import MetadataCache
from workbench.inspection.remote_tier.segment_metadata import (
    DELETE_PARTITION_FINISHED,
    metadata_of,
)
from workbench.inspection.unreadable import unreadable
from workbench.record.reading.reader import VALUES

TOPIC: Final = "__remote_log_metadata"
MOST_ENTRIES: Final = 300_000
"""Segments and their leader epochs in memory, about 150 MB; what a log names later is left out."""

MOST_VALUE_BYTES: Final = 1 << 20
"""A larger value is not decoded: a broker's have some hundred bytes."""

_MOST_FINDINGS: Final = 20
_LOADER: Final = (
    "A broker stops reading the remote log metadata at a record that it cannot decode: it then "
    "neither copies nor serves later remote segments."
)


class TopicIdPartition(NamedTuple):
    """A partition of one incarnation of a topic.

    Attributes:
        topic: the topic's name.
        partition: its number.
        topic_id: 22 characters.
    """

    topic: str
    partition: int
    topic_id: str


class MetadataTopic:
    """What the topic says.

    Attributes:
        caches: by partition.
        findings: records that cannot be read.
        is_here: whether any partition of the topic is in the directories.
    """

    def __init__(self) -> None:
        self.caches: dict[TopicIdPartition, MetadataCache] = {}
        self.findings: list[Finding] = []
        self.is_here = False

    def of(self, topic: str, partition: int, topic_id: str | None) -> MetadataCache | None:
        """Return what is said of a partition; the newest incarnation if its id is not known."""
        if topic_id is not None:
            return self.caches.get(TopicIdPartition(topic, partition, topic_id))
        known = [cache for key, cache in self.caches.items() if key[:2] == (topic, partition)]
        return known[-1] if known else None


def read_metadata_topic(
    partitions: Iterable[DiskPartition], is_wanted: Callable[[str, int], bool]
) -> MetadataTopic:
    """Read the topic's partitions.

    Args:
        partitions: those of the topic.
        is_wanted: whether a partition's remote segments are asked for, by topic and number.
    """
    found = MetadataTopic()
    reader = _Reader(found, is_wanted)
    for partition in partitions:
        found.is_here = True
        for segment in partition.segments:
            try:
                for chunk in segment.read(options=VALUES):
                    found.findings += (finding_of(p, segment.path, _LOADER) for p in chunk.problems)
                    assert chunk.columns.values is not None
                    is_control = chunk.rows["is_control"][chunk.columns.batch].tolist()
                    offsets = chunk.columns.offsets.tolist()
                    for index, offset in enumerate(offsets):
                        if not is_control[index]:
                            value = chunk.columns.values.item(index)
                            reader.take(segment.path, offset, value)
            except OSError as error:
                found.findings += unreadable(segment.path, error)
    return found


class _Reader:
    def __init__(self, found: MetadataTopic, is_wanted: Callable[[str, int], bool]) -> None:
        self._found = found
        self._is_wanted = is_wanted
        self._left = MOST_ENTRIES

    def take(self, path: str, offset: int, encoded: bytes | None) -> None:
        """Apply one record."""
        if encoded is not None and len(encoded) > MOST_VALUE_BYTES:
            expected = f"at most {MOST_VALUE_BYTES:,} bytes"
            self._report(path, offset, f"a value of {len(encoded):,} bytes", expected)
            return
        value: Mapping[str, Any] | None = decode_value(None, encoded)
        data = (value or {}).get("data")
        if value is None or not isinstance(data, dict):
            problem = "a null value" if value is None else value.get("error") or value.get("type")
            self._report(path, offset, str(problem), "a record of KIP-405's four types")
            return
        for key, change in _changes(value["type"], data):
            if not self._is_wanted(key.topic, key.partition):
                continue
            cache = self._found.caches.setdefault(key, MetadataCache())
            before = cache.size
            if self._left > 0 or value["type"] != "RemoteLogSegmentMetadataRecord":
                change(cache)
                self._left -= cache.size - before
            else:
                expected = f"at most {MOST_ENTRIES:,} segments and leader epochs of these"
                self._report(path, offset, "one more remote segment", expected)
            if cache.partition_state == DELETE_PARTITION_FINISHED:
                del self._found.caches[key]

    def _report(self, path: str, offset: int, found: str, expected: str) -> None:
        if len(self._found.findings) < _MOST_FINDINGS:
            kind = "remote-metadata-damaged"
            self._found.findings.append(
                Finding(kind, "error", path, None, offset, found, expected, _LOADER)
            )


def _changes(
    kind: str, data: Mapping[str, Any]
) -> Iterator[tuple[TopicIdPartition, Callable[[MetadataCache], None]]]:
    """Yield the partition of a record, and what the record changes in its cache."""
    if kind == "RemoteLogSegmentMetadataRecord":
        metadata = metadata_of(data)
        yield _key(data["remoteLogSegmentId"]["topicIdPartition"]), lambda c: c.add(metadata)
    elif kind == "RemoteLogSegmentMetadataUpdateRecord":
        event = (
            data["remoteLogSegmentId"]["id"],
            data["remoteLogSegmentState"],
            data["brokerId"],
            data["eventTimestampMs"],
        )
        yield _key(data["remoteLogSegmentId"]["topicIdPartition"]), lambda c: c.update(*event)
    elif kind == "RemotePartitionDeleteMetadataRecord":
        state = data["remotePartitionDeleteState"]
        yield _key(data["topicIdPartition"]), lambda c: setattr(c, "partition_state", state)


def _key(data: Mapping[str, Any]) -> TopicIdPartition:
    return TopicIdPartition(data["name"], data["partition"], data["id"])
