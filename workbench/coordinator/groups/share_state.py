"""What share groups have delivered, as a share coordinator loads it from `__share_group_state`.

A snapshot replaces the state of a share-partition, an update is merged into it, a tombstone removes
it. Of two delivery states of an offset, the one with the larger delivery count holds, then the
larger state.

Kafka: ShareCoordinatorShard.replay, PersisterStateBatchCombiner (4.2)
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from workbench.config.internal_topics import SHARE_STATE_TOPIC
from workbench.coordinator.offsets.positions import LogPositions
from workbench.coordinator.runtime.log_records import Marker, read_log_records
from workbench.decoders.share_group_state import decode_key, decode_value
from workbench.errors import CorruptRecordError
from workbench.files.names import TopicPartition
from workbench.inspection.cluster.image import StoredCluster
from workbench.inspection.findings import Finding
from workbench.tables.groups import DeliveryRange, ShareRow

SHARE_TOPIC: Final = SHARE_STATE_TOPIC

STATES: Final = {0: "available", 1: "acquired", 2: "acknowledged", 3: "archiving", 4: "archived"}
"""Delivery states. Acquired records are not stored: after a restart they are available again."""

_LIMIT: Final = "share.delivery.count.limit"
_LIMIT_OF_BROKERS: Final = f"group.{_LIMIT}"
_DEFAULT_LIMIT: Final = 5
UNKNOWN: Final = -1
"""A start offset that is not known yet."""


DeliveryRun = tuple[int, int, int, int]
"""First and last offset, delivery count, number of the state."""
DeliveryKey = tuple[str, str, int]
"""Group, topic id, partition."""


class ShareState:
    """The state of one share-partition while records are applied."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.start: int = data["startOffset"]
        self.leader_epoch: int = data["leaderEpoch"]
        self.state_epoch: int = data.get("stateEpoch", 0)
        self.complete: int = data["deliveryCompleteCount"]
        self.ranges = merged(_ranges(data), self.start)

    def update(self, data: Mapping[str, Any]) -> None:
        """Kafka: ShareCoordinatorShard.merge (4.2)."""
        if data["startOffset"] != UNKNOWN:
            self.start = data["startOffset"]
        if data["leaderEpoch"] != UNKNOWN:
            self.leader_epoch = data["leaderEpoch"]
        self.complete = data["deliveryCompleteCount"]
        self.ranges = merged([*self.ranges, *_ranges(data)], self.start)


def _ranges(data: Mapping[str, Any]) -> list[DeliveryRun]:
    return [
        (each["firstOffset"], each["lastOffset"], each["deliveryCount"], each["deliveryState"])
        for each in data["stateBatches"]
    ]


def merged(ranges: Iterable[DeliveryRun], start: int) -> list[DeliveryRun]:
    """Return ranges that do not overlap, ascending, from a start offset on.

    Args:
        ranges: (first offset, last offset, delivery count, number of the state) each.
        start: what is below it is dropped; -1: nothing.

    Kafka: PersisterStateBatchCombiner.combineStateBatches (4.2)
    """
    left = [(max(first, start), *rest) for first, *rest in ranges if rest[0] >= max(first, start)]
    edges = sorted({edge for first, last, *_ in left for edge in (first, last + 1)})
    slots = {edge: slot for slot, edge in enumerate(edges)}
    best: list[tuple[int, int] | None] = [None] * len(edges)
    free = list(range(len(edges) + 1))  # slot → the first one from it on that has no state yet
    for first, last, count, state in sorted(left, key=lambda each: each[2:], reverse=True):
        slot = _first_free(free, slots[first])
        while slot < slots[last + 1]:
            best[slot], free[slot] = (count, state), slot + 1
            slot = _first_free(free, slot)
    found: list[DeliveryRun] = []
    for slot, state_of in enumerate(best):
        if state_of is None:
            continue
        first, last = edges[slot], edges[slot + 1] - 1
        if found and found[-1][1] + 1 == first and found[-1][2:] == state_of:
            found[-1] = (found[-1][0], last, *state_of)
        else:
            found.append((first, last, *state_of))
    return found


def _first_free(free: list[int], slot: int) -> int:
    """Return the first free slot from one on; the way there is shortened for the next search."""
    while free[slot] != slot:
        free[slot] = free[free[slot]]
        slot = free[slot]
    return slot


def delivery_limit(cluster: StoredCluster | None, group: str) -> int:
    """Return how often a record may be delivered to a group, as far as the cluster's metadata say.

    Args:
        cluster: the cluster's metadata; None: only the default is known.
        group: the group.

    Kafka: SharePartition.maxDeliveryCount, ShareGroupConfig (4.2), GroupConfig (4.3)
    """
    found = ""
    if cluster is not None:
        dynamic = cluster.configs.brokers.values()
        found = next((each[_LIMIT_OF_BROKERS] for each in dynamic if _LIMIT_OF_BROKERS in each), "")
        found = cluster.configs.groups.get(group, {}).get(_LIMIT, found)
    return int(found) if found.isdecimal() else _DEFAULT_LIMIT


def load_share_partitions(logs: LogPositions, findings: list[Finding]) -> list[ShareRow]:
    """Return the state of every share-partition, sorted by group, topic and partition.

    Args:
        logs: the logs, with those of `__share_group_state`.
        findings: the list that gets the findings about unreadable records.

    Raises:
        OSError: a file cannot be read.
    """
    found = []
    for partition in logs.topics(SHARE_TOPIC):
        states: dict[DeliveryKey, tuple[ShareState, int]] = {}
        for record in read_log_records(partition, findings):
            if isinstance(record, Marker):
                continue
            try:
                apply_share_record(states, record.key, record.value, record.offset)
            except CorruptRecordError as error:
                findings.append(_unreadable(partition.path, record.offset, error))
        found += [
            _shown(key, state, at, partition.name, logs) for key, (state, at) in states.items()
        ]
    return sorted(found, key=lambda each: (each.group, each.topic, each.partition))


def apply_share_record(
    states: dict[DeliveryKey, tuple[ShareState, int]],
    key: bytes | None,
    value: bytes | None,
    offset: int,
) -> DeliveryKey | None:
    """Apply a record of a share coordinator; return whose it is, None if a broker skips it.

    Args:
        states: the states so far, each with the offset of its last record; changed.
        key, value: the record's.
        offset: the record's.

    Raises:
        CorruptRecordError: it cannot be read.
    """
    decoded, content = decode_key(key), decode_value(key, value)
    if decoded is None:
        raise CorruptRecordError(None, None, "the key is null")
    if str(decoded.get("type", "")).startswith("unknown"):
        return None  # a broker skips types that it does not know
    where, fields = _fields(decoded), None if content is None else _fields(content)
    at = (where["groupId"], where["topicId"], where["partition"])
    if fields is None:
        states.pop(at, None)
    elif decoded["type"] == "ShareUpdate" and at in states:
        state = states[at][0]
        state.update(fields)
        states[at] = state, offset
    else:
        states[at] = ShareState(fields), offset
    return at


def _fields(decoded: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a key or value.

    Raises:
        CorruptRecordError: its bytes do not fit.
    """
    if "data" not in decoded:
        raise CorruptRecordError(None, None, str(decoded.get("error", "not readable")))
    fields: Mapping[str, Any] = decoded["data"]
    return fields


def _shown(
    key: DeliveryKey, state: ShareState, offset: int, log: str, logs: LogPositions
) -> ShareRow:
    """Kafka: GroupCoordinatorService.computeShareGroupLagAndBuildResponse (4.2)."""
    group, topic_id, number = key
    topic = logs.topic_names.get(topic_id, topic_id)
    facts = logs.log(TopicPartition(topic, number))
    start = None if state.start == UNKNOWN else state.start
    ranges = tuple(
        DeliveryRange(first, last, STATES.get(kind, str(kind)), count)
        for first, last, count, kind in state.ranges
    )
    end = ranges[-1].last_offset + 1 if ranges else start
    log_end = None if facts is None else facts.log_end_offset
    done = None if state.complete == UNKNOWN else state.complete
    counts = dict.fromkeys(STATES.values(), 0)
    last, limit = 0, delivery_limit(logs.cluster, group)
    for each in ranges:
        count = each.last_offset - each.first_offset + 1
        counts[each.state] = counts.get(each.state, 0) + count
        last += count * (each.state == "available" and each.delivery_count == limit - 1)
    return ShareRow(
        group=group,
        topic=topic,
        partition=number,
        topic_id=topic_id,
        start_offset=start,
        end_offset=end,
        leader_epoch=state.leader_epoch,
        state_epoch=state.state_epoch,
        delivery_complete_count=done,
        states=ranges,
        log=log,
        record_offset=offset,
        log_start_offset=None if facts is None else facts.log_start_offset,
        log_end_offset=log_end,
        lag=None if start is None or log_end is None or done is None else log_end - start - done,
        in_flight=0 if start is None or end is None else end - start,
        available=counts["available"],
        acknowledged=counts["acknowledged"],
        archived=counts["archived"],
        last_delivery=last,
    )


def _unreadable(path: str, offset: int, error: Exception) -> Finding:
    return Finding(
        "share-record", "error", path, None, offset, str(error), "a record of a share coordinator",
        "A broker's load of the partition fails here: its share groups are not served.",
    )  # fmt: skip
