"""One thing that a repair must do to a log, so that a broker that starts on it serves on."""

from dataclasses import dataclass
from typing import Final

from workbench.files.names import TopicPartition

APPEND: Final = "append"
MARKER: Final = "marker"
CLEAN: Final = "clean"
REMOVE: Final = "remove"
ACTIONS: Final = {
    APPEND: "append a record with this key and value; without a value it is a tombstone",
    MARKER: "append a transaction marker of this producer",
    CLEAN: "roll the active segment and compact the log, so that damaged records are dropped",
    REMOVE: "write the segment without the bytes at this offset: no record can replace them",
}

REPAIR: Final = "repair"
BROKER: Final = "broker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """One step of a repair; its order among the others counts.

    Attributes:
        where: the partition whose log is changed.
        action: one of `ACTIONS`.
        by: "repair"; or "broker", for what a starting broker does by itself.
        finding: the kind of the finding of `verify` that it mends.
        subject: the group, the transactional id, or ``producer 7``; empty: the whole log.
        what: what is written, as text: the record's type, or ABORT or COMMIT.
        reason: why, and what it costs.
        offset: where in the log the damage is, or the open transaction begins; None: nowhere.
        key, value: the bytes of the record; value None: a tombstone, or no record.
        timestamp: of the record that is written again, ms; None: the time of the repair.
        producer_id, producer_epoch: of a marker, or of the state in a record; None: of neither.
        coordinator_epoch: of a marker; None where the broker decides.
    """

    where: TopicPartition
    action: str
    finding: str
    subject: str
    what: str
    reason: str
    by: str = REPAIR
    offset: int | None = None
    key: bytes | None = None
    value: bytes | None = None
    timestamp: int | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    coordinator_epoch: int | None = None
