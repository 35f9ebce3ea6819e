"""What the engine says about what it does: one `Step` for each thing done or decided.

An observer is any function that takes a `Step`. The numbers in it are those that the engine decided
with, so what is shown of a step is the engine's own reason and not told after it. Without an
observer nothing is made.
"""

import os
from collections.abc import Callable
from typing import Any, Final, NamedTuple

KINDS: Final = {
    # appending
    "appended": "records were written to the active segment",
    "duplicate found": "a producer sent a batch again; it is not written twice",
    "index entry added": "a batch got an entry in the sparse indexes",
    "index entry skipped": "a batch got none, for the last one is near",
    "rolled": "a new active segment was begun",
    "flushed": "records reached the disk, and the recovery point rose",
    "taken from the leader": "a batch that a client could not send, which the leader has taken",
    "transaction completed": "a marker ended a transaction",
    "time index not finished": "a damaged time index does not take its last entry",
    # reading
    "index probed": "a look-up compared an entry of an index",
    "index entry found": "… and came to the last one at or before what is looked for",
    "batch passed": "a batch ends before what is looked for: on to the next header",
    "batch found": "the first batch that reaches what is looked for",
    # removing
    "segment deletable": "a rule of retention lets a segment go",
    "segment kept": "a rule of retention keeps a segment, and all behind it",
    "segment marked deleted": "a segment's files were renamed .deleted",
    "segment files removed": "files that were marked deleted are gone",
    "snapshot removed": "the producer snapshot of a removed segment is gone",
    "log start offset raised": "records before an offset are no longer given",
    "truncated": "records from an offset on were removed",
    "left over file removed": "a file stood in the way of a new segment",
    # replacing segments
    "segment ready to swap": "a new segment is complete and was renamed .swap",
    "segment swapped in": "a new segment took the place of others",
    "segment split": "offsets too far from the base offset were split off",
    # cleaning
    "log chosen": "a log is dirty enough, or has waited long enough, to be cleaned",
    "log not due": "the cleaner lets a log wait",
    "key mapped": "the map of newest offsets took the key of a record in",
    "batch not mapped": "the keys of a batch do not count",
    "map full": "the map holds no more keys: the round ends before the next one",
    "segment mapped": "the keys of a segment are in the map",
    "segments grouped": "segments that will be one",
    "record kept": "a record goes into the new segment",
    "record dropped": "a record is left out of it",
    "batch copied": "all of a batch goes into the new segment, byte for byte",
    "batch rebuilt": "a batch is written anew, with the records that stay",
    "batch emptied": "only the header of a batch stays",
    "batch removed": "nothing stays of a batch",
    "segment cleaned": "what stays of a segment is in the new one",
    "log uncleanable": "cleaning a log failed, and it is not cleaned any more",
    "log cleaned": "a round ended, and up to an offset the log is clean",
    # loading
    "leftover removed": "a file that a crash left was removed",
    "swap found": "a replacement of segments was interrupted",
    "swap undone": "it had not got far, and its files were removed",
    "swap completed": "it was complete, and was finished",
    "replaced file removed": "a file that a finished replacement takes the place of",
    "orphaned index removed": "an index file without a .log",
    "batch validated": "recovery found a batch whole",
    "invalid batch found": "recovery came to a batch that is not whole",
    "segment recovered": "a segment was read batch by batch, its indexes built anew",
    "segment emptied": "a segment whose indexes cannot be built was emptied",
    "producer state read": "batches were read for what they tell of producers",
    "log loaded": "a log is ready",
    # producers and leaders
    "producer snapshot written": "the state of all producers was written to a file",
    "producer snapshot loaded": "… and read from one",
    "producer snapshot removed": "… and a file of it removed",
    "producer snapshot forgotten": "recovery goes back to before it; its file stays for now",
    "producer snapshot kept": "what recovery would write is what such a file holds",
    "producers expired": "producers that were silent for long are forgotten",
    "leader epoch assigned": "a leader's time began at an offset",
    "leader epochs truncated": "leader epochs of records that are gone were forgotten",
    "leader epochs cleared": "all were forgotten, for old batches have none",
    # directories and their logs
    "directory made": "a log directory was made",
    "directory locked": "a log directory is ours",
    "directory left": "… and no longer",
    "directory offline": "a log directory failed",
    "all directories failed": "a broker halts then",
    "marker removed": "the sign of a clean shutdown is taken away when logs are loaded",
    "marker missing": "it was not there: the logs have to be recovered",
    "marker written": "every log of a directory was closed in order",
    "marker not written": "not every log was",
    "checkpoint written": "offsets of the logs of a directory were written to a file",
    "log created": "a partition's folder was made",
    "log moved": "a log came in from another directory",
    "log not closed": "a log could not be closed",
    "folder renamed": "a partition's folder got another name",
    "config changed": "a topic's configuration was replaced",
}
"""Every kind of step and what it means."""


class Step(NamedTuple):
    """One thing that the engine did or decided; `str()` says it in a line.

    Attributes:
        kind: what, in Kafka's words; one of `KINDS`.
        where: the file or partition that it concerns: a path, or ``topic-partition``.
        reason: why, in a sentence with its numbers; empty where the kind says all.
        numbers: what it was decided by, by name.
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


class Outline:
    """An observer that is not told of single batches and index entries that are read.

    Recovering or predicting a large log with an observer that is told of them takes long.

    Args:
        observer: gets the steps.
    """

    wants_details = False

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def __call__(self, step: Step) -> None:
        """Hand a step on."""
        self._observer(step)


class BatchOutline(Outline):
    """An observer that is told of single batches and index entries, and not of single records."""

    wants_details = True
    wants_records = False


def wants_details(observer: Observer | None) -> bool:
    """Return whether an observer is to be told of single batches and index entries, too."""
    return observer is not None and getattr(observer, "wants_details", True)


def wants_records(observer: Observer | None) -> bool:
    """Return whether an observer is to be told of single records, too."""
    return wants_details(observer) and getattr(observer, "wants_records", True)
