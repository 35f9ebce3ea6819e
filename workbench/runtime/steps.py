"""What the engine reports about its work: one `Step` for each action or decision.

An observer is any function that takes a `Step`. Its numbers are those that the engine decided
by, so a step shows the engine's own reason, not a later reconstruction. Without an observer no
step is made.
"""

import os
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

KINDS: Final = {
    # appending
    "appended": "records were written to the active segment",
    "duplicate found": "a producer sent a batch again; it is not written twice",
    "index entry added": "a batch got an index entry",
    "index entry skipped": "a batch got no index entry, because the last entry is near",
    "rolled": "a new active segment was created",
    "flushed": "records were flushed to the disk, and the recovery point rose",
    "taken from the leader": "a log appended a leader's batch that it would refuse from a producer",
    "transaction completed": "a transaction marker ended a transaction",
    "time index not finished": "a damaged time index did not accept its last entry",
    # reading
    "segment found": "a lookup found the last segment that begins at or before its target",
    "segment passed": "no batch of a segment reaches a lookup's target, so the next one is read",
    "index probed": "a lookup compared an index entry",
    "index entry found": "a lookup found the last index entry at or before its target",
    "batch passed": "a batch ends before a lookup's target, so the next header is read",
    "batch found": "a lookup found the first batch that reaches its target",
    "records sliced": "a read chose the bytes of a segment that it returns",
    # removing
    "segment deletable": "a retention rule deletes a segment",
    "segment kept": "a retention rule keeps a segment and all later ones",
    "segment marked deleted": "a segment's files were renamed to .deleted",
    "segment files removed": "files that were renamed to .deleted were removed",
    "snapshot removed": "the producer snapshot of a deleted segment was removed",
    "log start offset raised": "records before an offset can no longer be read",
    "truncated": "records at and after an offset were removed",
    "left over file removed": "a leftover file with the name of a new segment's file was removed",
    # replacing segments
    "segment ready to swap": "a new segment is complete and was renamed to .swap",
    "segment swapped in": "a new segment replaced others",
    "segment split": "a segment with offsets too far from its base offset was split",
    # cleaning
    "log chosen": "a log is dirty enough, or has waited long enough, to be cleaned",
    "log not due": "the cleaner does not clean a log yet",
    "key mapped": "the key of a record was put into the offset map",
    "batch not mapped": "the keys of a batch were not put into the offset map",
    "map full": "the offset map holds no more keys, so the round ends before the next record",
    "segment mapped": "the keys of a segment are in the offset map",
    "segments grouped": "segments that will be cleaned into one",
    "record kept": "a record is copied into the new segment",
    "record dropped": "a record is not copied into the new segment",
    "batch copied": "a batch is copied into the new segment byte for byte",
    "batch rebuilt": "a batch is rewritten with the records that are kept",
    "batch emptied": "only the header of a batch is kept",
    "batch removed": "nothing of a batch is kept",
    "segment cleaned": "the kept records of a segment are in the new one",
    "log uncleanable": "cleaning a log failed, so the cleaner no longer cleans it",
    "log cleaned": "a round ended, and the log is clean up to an offset",
    # loading
    "leftover removed": "a file that a crash left was removed",
    "swap found": "a replacement of segments was interrupted",
    "swap undone": "the files of an incomplete replacement of segments were removed",
    "swap completed": "an interrupted replacement of segments was finished",
    "replaced file removed": "a file of a segment that a complete replacement replaces was removed",
    "index removed": "an index was removed, to be rebuilt from a .swap of its segment",
    "orphaned index removed": "an index file without a .log file was removed",
    "batch validated": "recovery found a batch valid",
    "invalid batch found": "recovery found a batch incomplete or invalid",
    "segment recovered": "a segment was read batch by batch, and its indexes were rebuilt",
    "segment emptied": "a segment was emptied because its indexes cannot be built",
    "producer state read": "batches were read to rebuild the producer state",
    "log loaded": "a log was loaded and is ready",
    # producers and leaders
    "producer snapshot written": "the state of all producers was written to a file",
    "producer snapshot loaded": "the state of all producers was read from a file",
    "producer snapshot removed": "a producer snapshot file was removed",
    "producer snapshot forgotten": "recovery goes back to before a snapshot but keeps its file",
    "producer snapshot kept": "recovery kept a snapshot file that already has the right bytes",
    "producers expired": "producers that wrote nothing for a long time were forgotten",
    "leader epoch assigned": "a leader epoch began at an offset",
    "leader epochs truncated": "leader epochs of removed records were removed",
    "leader epochs cleared": "all leader epochs were removed, because old batches have none",
    # directories and their logs
    "broker state changed": "the broker entered another state; `state` is its number",
    "directory made": "a log directory was created",
    "directory locked": "a log manager locked a log directory",
    "directory left": "a log manager left a log directory",
    "directory offline": "a log directory failed and is offline",
    "all directories failed": "every log directory failed, so a broker halts",
    "marker removed": "the clean shutdown file was removed before logs were loaded",
    "marker missing": "the clean shutdown file was missing, so the logs must be recovered",
    "marker written": "the clean shutdown file was written: every log of a directory was closed",
    "marker not written": "the clean shutdown file was not written: not every log was closed",
    "checkpoint written": "offsets of a log directory's logs were written to a checkpoint file",
    "log created": "a partition directory was created",
    "log moved": "a log was moved from another log directory",
    "log not closed": "a log could not be closed",
    "folder renamed": "a partition directory was renamed",
    "config changed": "a topic's configuration was replaced",
}
"""Every kind of step and what it means."""


class Step(NamedTuple):
    """One thing that the engine did or decided; `str()` gives it in one line.

    Attributes:
        kind: the action, in Kafka's words; one of `KINDS`.
        where: the file or partition concerned: a path, or ``topic-partition``.
        reason: why, in a sentence with its numbers; empty if the kind says it all.
        numbers: the numbers of the decision, by name.
    """

    kind: str
    where: str
    reason: str
    numbers: dict[str, Any]

    def __str__(self) -> str:
        numbers = ", ".join(f"{name}={value}" for name, value in self.numbers.items())
        parts = (f"{self.kind}: {os.path.basename(self.where)}", self.reason, numbers)
        return "; ".join(part for part in parts if part)


Observer = Callable[[Step], None]


class Reports(Protocol):
    """What a part of the engine reports its steps to."""

    def tell(self, kind: str, where: object = "", reason: str = "", **numbers: Any) -> None:
        """Report a step; see `Step` for the arguments."""


class Reporter:
    """A part of the engine that reports its steps.

    Attributes:
        observer: receives each step; None for no observer.
    """

    __slots__ = ()
    observer: Observer | None

    @property
    def subject(self) -> object:
        """What a step is about that names no file and no partition."""
        return ""

    def tell(self, kind: str, where: object = "", reason: str = "", **numbers: Any) -> None:
        """Report a step to the observer; see `Step` for the arguments.

        Call it only if its arguments cost nothing; otherwise check `observer` first.
        """
        if self.observer is not None:
            self.observer(Step(kind, str(where or self.subject), reason, numbers))


class Outline:
    """An observer that does not receive the single batches and index entries that are read.

    Recovering or predicting a large log is slow with an observer that receives them.

    Args:
        observer: receives the steps.
    """

    wants_details = False

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def __call__(self, step: Step) -> None:
        """Pass a step on."""
        self._observer(step)


class BatchOutline(Outline):
    """An observer that receives single batches and index entries, but not single records."""

    wants_details = True
    wants_records = False


def wants_details(observer: Observer | None) -> bool:
    """Return whether an observer also wants single batches and index entries."""
    return observer is not None and getattr(observer, "wants_details", True)


def wants_records(observer: Observer | None) -> bool:
    """Return whether an observer also wants single records."""
    return wants_details(observer) and getattr(observer, "wants_records", True)
