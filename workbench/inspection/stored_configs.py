"""Configurations that lie in a log directory: those that `__cluster_metadata` tells.

A KRaft broker keeps a copy of the cluster's metadata log, by default in its first log directory,
with what was configured for topics and brokers. What `server.properties` says is nowhere.

Kafka: ConfigurationsImage, TopicsImage (4.2)
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from workbench.decoders.cluster_metadata import decode_value
from workbench.files import names
from workbench.inspection.partition import Partition
from workbench.inspection.segment import Segment
from workbench.record.reader import KEYS, VALUES

METADATA_LOG: Final = "__cluster_metadata-0"
EVERY_BROKER: Final = ""
"""The name under which a configuration of all brokers is kept."""

_TOPIC, _BROKER = 2, 4  # resource types

Configs = dict[str, dict[str, str]]


@dataclass(slots=True)
class StoredConfigs:
    """What was configured in a cluster, by Kafka's names.

    Attributes:
        topics: topic → its own configuration; also topics that set nothing.
        brokers: id of a broker, or `EVERY_BROKER` → what was set while it ran.
    """

    topics: Configs = field(default_factory=dict)
    brokers: Configs = field(default_factory=dict)

    def of_broker(self, node_id: int | None) -> dict[str, str]:
        """Return what was set for all brokers, and for this one."""
        own = self.brokers.get(str(node_id), {})
        return {**self.brokers.get(EVERY_BROKER, {}), **own}


def read_stored_configs(partition: Partition) -> StoredConfigs:
    """Read a metadata log: its newest snapshot, and the records behind that.

    All records count, also those that the quorum may not have agreed on yet.

    Raises:
        OSError: a file cannot be read.

    Kafka: MetadataLoader, KafkaMetadataLog (4.2)
    """
    image = _Image()
    start = 0
    for entry in partition.metadata_snapshots[-1:]:
        name = names.parse_file_name(entry.name)
        start = 0 if name is None else name.offset
        image.take(_values(Segment(0, {"log": entry}, is_active=False), 0))
    for segment in partition.segments:
        image.take(_values(segment, start))
    return image.configs


def _values(segment: Segment, start: int) -> Iterator[Any]:
    """Yield the decoded data records from an offset on."""
    for chunk in segment.read(options=KEYS | VALUES, select=lambda rows: ~rows["is_control"]):
        columns = chunk.columns
        assert columns.values is not None
        for index, offset in enumerate(columns.offsets.tolist()):
            if offset >= start:
                yield decode_value(None, columns.values.item(index))


class _Image:
    """The state that records lead to."""

    def __init__(self) -> None:
        self.configs = StoredConfigs()
        self._names: dict[str, str] = {}  # id of a topic → its name
        self._open: list[tuple[str, Mapping[str, Any]]] | None = None  # of a transaction

    def take(self, values: Iterable[Any]) -> None:
        """Take records in; those of a transaction when it ends."""
        for value in values:
            kind, data = str(value.get("type", "")), value.get("data", {})
            if kind == "BeginTransactionRecord":
                self._open = []
            elif kind == "AbortTransactionRecord":
                self._open = None
            elif kind == "EndTransactionRecord":
                for change in self._open or ():
                    self._apply(*change)
                self._open = None
            elif self._open is not None:
                self._open.append((kind, data))
            else:
                self._apply(kind, data)

    def _apply(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "TopicRecord":
            self._names[data["topicId"]] = data["name"]
            self.configs.topics[data["name"]] = {}
        elif kind == "RemoveTopicRecord":
            self.configs.topics.pop(self._names.pop(data["topicId"], ""), None)
        elif kind == "ConfigRecord" and data["resourceType"] in {_TOPIC, _BROKER}:
            is_topic = data["resourceType"] == _TOPIC
            kept = self.configs.topics if is_topic else self.configs.brokers
            own = kept.setdefault(data["resourceName"], {})
            if data["value"] is None:
                own.pop(data["name"], None)
            else:
                own[data["name"]] = data["value"]
