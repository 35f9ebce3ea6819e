"""What became of the records of share groups over time, from `__share_group_state`.

Each record of a share coordinator is compared with the state before it. A released record is
available again, with the number of its deliveries; one that is released after the last delivery
that the limit allows is archived by the broker, as a rejected one is.

Kafka: SharePartition.acknowledge, releaseAcquisitionLockOnTimeout, ShareCoordinatorShard.replay
(4.2)
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from workbench.coordinator.groups.share_state import (
    SHARE_TOPIC,
    UNKNOWN,
    DeliveryKey,
    DeliveryRun,
    ShareState,
    apply_share_record,
    delivery_limit,
)
from workbench.coordinator.offsets.positions import LogPositions
from workbench.coordinator.runtime.log_records import Marker, read_log_records
from workbench.errors import CorruptRecordError
from workbench.tables.groups import DeliveryRow

EVENTS: Final = {
    "began": "the group reads the partition from this start offset",
    "reset": "another start offset was set",
    "released": "delivered and not acknowledged in time, or released: to be delivered again",
    "acknowledged": "a consumer has processed the records",
    "rejected": "a consumer has rejected the records before their last delivery",
    "archived": "the last delivery was released, timed out or rejected: not delivered again",
    "deleted": "the state was deleted, with the group or the topic",
}
"""What `DeliveryRow.event` says."""

_EVENT_OF_STATE: Final = {0: "released", 2: "acknowledged", 4: "archived"}


def share_deliveries(logs: LogPositions, group: str | None = None) -> Iterator[DeliveryRow]:
    """Yield what became of records of share groups, in the order of each log.

    Unreadable records are left out: `load_share_partitions` has the findings.

    Args:
        logs: the logs, with those of `__share_group_state`.
        group: the only group to yield.

    Raises:
        OSError: a file cannot be read.
    """
    for partition in logs.topics(SHARE_TOPIC):
        states: dict[DeliveryKey, tuple[ShareState, int]] = {}
        known: dict[DeliveryKey, _Known] = {}
        for record in read_log_records(partition, []):
            if isinstance(record, Marker):
                continue
            try:
                key = apply_share_record(states, record.key, record.value, record.offset)
            except CorruptRecordError:
                continue
            if key is None or (group is not None and key[0] != group):
                continue
            before = known.pop(key, None)
            if key in states:
                known[key] = _Known.of(states[key][0])
            topic = logs.topic_names.get(key[1], key[1])
            limit = delivery_limit(logs.cluster, key[0])
            for event, first, last, count in _changes(before, known.get(key), limit):
                left = None if event != "released" or count is None else max(limit - count, 0)
                yield DeliveryRow(
                    key[0], topic, key[2], record.timestamp, event, first, last, count, left,
                    partition.name, record.offset,
                )  # fmt: skip


class _Known(NamedTuple):
    """The state of a share-partition after a record."""

    start: int
    epoch: int
    ranges: Sequence[DeliveryRun]

    @classmethod
    def of(cls, state: ShareState) -> "_Known":
        return cls(state.start, state.state_epoch, tuple(state.ranges))


_Change = tuple[str, int | None, int | None, int | None]


def _changes(before: _Known | None, after: _Known | None, limit: int) -> Iterator[_Change]:
    """Yield event, first and last offset and delivery count of what a record changed."""
    if after is None:
        if before is not None:
            yield "deleted", None, None, None
        return
    is_other = before is not None and before.epoch != after.epoch
    starts = before is None or (before.start == UNKNOWN != after.start)
    if is_other or starts:
        first = None if after.start == UNKNOWN else after.start
        yield "reset" if is_other else "began", first, None, None
    earlier = () if before is None or is_other else before.ranges
    for first, last, count, state in _differing(earlier, after.ranges):
        event = _EVENT_OF_STATE.get(state)
        if event == "released" and not count:
            continue  # it waits for its first delivery
        if event == "archived" and count < limit:
            event = "rejected"
        if event is not None:
            yield event, first, last, count


def _differing(
    before: Sequence[DeliveryRun], after: Sequence[DeliveryRun]
) -> Iterator[DeliveryRun]:
    """Yield what is in some ascending runs and was not in others, without their common parts."""
    waiting = list(reversed(before))
    for first, last, *now in after:
        at = first
        while at <= last:
            while waiting and waiting[-1][1] < at:
                waiting.pop()
            if not waiting or waiting[-1][0] > last:
                yield at, last, now[0], now[1]
                break
            low, high, *then = waiting[-1]
            if low > at:
                yield at, low - 1, now[0], now[1]
            if then != now:
                yield max(low, at), min(high, last), now[0], now[1]
            at = min(high, last) + 1
