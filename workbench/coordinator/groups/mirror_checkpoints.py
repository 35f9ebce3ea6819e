"""Where groups that MirrorMaker 2 mirrors go on here, from the topics `X.checkpoints.internal`.

A checkpoint has the offset that a group of cluster X had committed there, and the offset of the
same record here. With `sync.group.offsets.enabled`, MirrorMaker commits it for a group without
members; other consumers ask for it (RemoteClusterUtils.translateOffsets).

Kafka: MirrorCheckpointTask, Checkpoint (4.2)
"""

from collections.abc import Iterator
from typing import Final

from workbench.coordinator.offsets.positions import LogPositions
from workbench.coordinator.runtime.log_records import Marker, read_log_records
from workbench.decoders.mirror_maker import checkpoint_key, checkpoint_value
from workbench.files.names import TopicPartition
from workbench.tables.groups import MirrorCheckpointRow

_ENDING: Final = ".checkpoints.internal"


def mirror_checkpoints(
    logs: LogPositions, group: str | None = None
) -> Iterator[MirrorCheckpointRow]:
    """Yield the newest checkpoint of each group, cluster and partition, sorted.

    Unreadable records are left out; `verify` and `dump` show them.

    Args:
        logs: the logs.
        group: the only group to yield.

    Raises:
        OSError: a file cannot be read.
    """
    found: dict[tuple[str, str, str, int], MirrorCheckpointRow] = {}
    for topic in sorted(logs.topics_here):
        source = topic.removesuffix(_ENDING)
        if source in {topic, ""}:
            continue
        for partition in logs.topics(topic):
            for record in read_log_records(partition, []):
                if isinstance(record, Marker):
                    continue
                key, value = checkpoint_key(record.key), checkpoint_value(record.key, record.value)
                if key is None or "error" in key or (value is not None and "error" in value):
                    continue
                if group is not None and key["group"] != group:
                    continue
                at = (key["group"], source, key["topic"], key["partition"])
                found.pop(at, None)
                if value is None:
                    continue
                log = logs.log(TopicPartition(key["topic"], key["partition"]))
                end = None if log is None else log.log_end_offset
                found[at] = MirrorCheckpointRow(
                    key["group"], source, key["topic"], key["partition"],
                    value["upstreamOffset"], value["offset"], value["metadata"],
                    end, None if end is None else end - value["offset"], record.timestamp,
                    partition.name, record.offset,
                )  # fmt: skip
    yield from (found[at] for at in sorted(found))
