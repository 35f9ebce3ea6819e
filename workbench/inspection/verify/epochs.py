"""Check the leader epochs that batches carry against each other and against the leader epoch file.

A batch's CRC does not cover its epoch. Epochs never fall along a log, and a batch has the epoch of
the file's last entry at or before its offset; the file says nothing of offsets below its first.

Kafka: LeaderEpochFileCache.assign, truncateFromEnd; LogSegment.recover (4.2)
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.files import names
from workbench.files.leader_epochs import LeaderEpochs
from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition
from workbench.inspection.verify.segments.log_pass import MOST_OF_A_KIND
from workbench.inspection.verify.segments.segment import SegmentSummary
from workbench.inspection.verify.segments.trusted_batches import EPOCH_ROW
from workbench.inspection.verify.shutdown_state import PartitionShutdownState, goes_offline
from workbench.layout.rows import joined_rows

Rows = npt.NDArray[Any]

_BATCH: Final = (
    "A broker does not detect it: the CRC does not cover the epoch, and recovery keeps the batch. "
    "Consumers read the batch; followers may truncate their logs at the wrong offset."
)


def verify_epochs(
    partition: DiskPartition,
    file: LeaderEpochs | None,
    logs: Sequence[SegmentSummary],
    log_end: int | None,
    situation: PartitionShutdownState,
) -> Iterator[Finding]:
    """Yield what is wrong with the epochs of a partition.

    Args:
        partition: the partition.
        file: the leader epoch file, read before the logs; None when there is none.
        logs: its segments, ascending.
        log_end: log end offset; None when it is not sure.
        situation: how the partition would be found.
    """
    tables = [(log.place.path, log.epochs) for log in logs]
    rows = joined_rows((rows for _, rows in tables), EPOCH_ROW)
    offsets, epochs = rows["base_offset"], rows["partition_leader_epoch"].astype(np.int64)
    odd = np.zeros(len(epochs), np.bool_)
    culprits = _culprits(epochs)
    odd[culprits] = True
    for number, slot in enumerate(culprits[:MOST_OF_A_KIND], 1):
        path, position = _place(tables, slot)
        later = (len(culprits) - number) * (number == MOST_OF_A_KIND)
        more = f" (the last of its kind to be shown; {later} more problems follow)" if later else ""
        found = f"leader epoch {epochs[slot]}{more}"
        wanted = f"an epoch between those of its neighbors, {_neighbours(epochs, slot)}"
        yield Finding(
            "batch-epoch", "warning", path, position, int(offsets[slot]), found, wanted, _BATCH
        )
    entry = partition.file(names.LEADER_EPOCHS)
    if entry is None or file is None:
        if len(epochs) and not partition.has_name(
            names.LEADER_EPOCHS
        ):  # a broker that writes epochs keeps a file of them
            yield _missing(partition.path, "no leader-epoch-checkpoint", situation)
        return
    for problem in file.problems[:1]:
        broker = goes_offline(situation.rules) if problem.kind != "wrong order" else _REORDERED
        severity = "error" if problem.kind != "wrong order" else "warning"
        found, wanted = problem.found, problem.expected
        kind = "leader-epochs-damaged"
        yield Finding(kind, severity, entry.path, problem.position, None, found, wanted, broker)  # type: ignore[arg-type]
    if file.problems:
        return
    if not file.entries:
        if len(epochs):
            yield _missing(entry.path, "no entries", situation)
        return
    yield from _against_end(entry.path, file, log_end)
    yield from _against_batches(entry.path, file, tables, offsets, epochs, odd)


_REORDERED: Final = (
    "A broker accepts the entries in any order; followers may truncate at wrong offsets."
)


def _missing(path: str, found: str, situation: PartitionShutdownState) -> Finding:
    if situation.stop == "unclean" and situation.recovery_point == 0:
        broker = f"{situation.recovers} restores the epochs of the batches it reads."
    else:
        broker = (
            "After a clean shutdown, a broker does not look for the epochs in the batches: the "
            "file then has only the next leader's, and a leader does not detect followers that "
            "diverged. After an unclean one, recovery restores the epochs of the batches it reads."
        )
    wanted = "an entry for every leader epoch of the batches"
    kind = "leader-epochs-missing"
    return Finding(kind, "warning", path, None, None, found, wanted, broker)


def _culprits(epochs: npt.NDArray[np.int64]) -> list[int]:
    """Return the batches whose epoch is out of place: with them left out, epochs never fall."""
    found = (epochs < -1).nonzero()[0].tolist()
    skip = set(found)
    for slot in (epochs[1:] < epochs[:-1]).nonzero()[0].tolist():
        if slot in skip or slot + 1 in skip:
            continue
        before = epochs[slot - 1] if slot else -1
        # A single batch above both neighbors is the odd one; otherwise the one that fell is.
        culprit = slot if before <= epochs[slot + 1] else slot + 1
        skip.add(culprit)
        found.append(culprit)
    return sorted(found)


def _place(tables: Sequence[tuple[str, Rows]], slot: int) -> tuple[str, int]:
    for path, rows in tables:
        if slot < len(rows):
            return path, int(rows["position"][slot])
        slot -= len(rows)
    raise IndexError(slot)


def _neighbours(epochs: npt.NDArray[np.int64], slot: int) -> str:
    before = str(epochs[slot - 1]) if slot else "none"
    after = str(epochs[slot + 1]) if slot + 1 < len(epochs) else "none"
    return f"{before} and {after}"


def _against_end(path: str, file: LeaderEpochs, log_end: int | None) -> Iterator[Finding]:
    beyond = [
        entry for entry in file.entries if log_end is not None and entry.start_offset > log_end
    ]
    if beyond:
        found = f"epoch {beyond[0].epoch} starts at offset {beyond[0].start_offset}"
        broker = "A broker drops the entries past the log end offset when it loads the partition."
        wanted = f"offsets up to {log_end}, the log end offset"
        yield Finding(
            "leader-epochs-mismatch", "warning", path, None, beyond[0].start_offset, found, wanted,
            broker,
        )  # fmt: skip


def _against_batches(
    path: str,
    file: LeaderEpochs,
    tables: Sequence[tuple[str, Rows]],
    offsets: npt.NDArray[np.int64],
    epochs: npt.NDArray[np.int64],
    odd: npt.NDArray[np.bool_],
) -> Iterator[Finding]:
    starts = np.array([entry.start_offset for entry in file.entries], np.int64)
    named = np.array([entry.epoch for entry in file.entries], np.int64)
    slot = starts.searchsorted(offsets, "right") - 1
    told = (slot >= 0) & ~odd
    wrong = told & (named[np.maximum(slot, 0)] != epochs)
    if not np.count_nonzero(wrong):
        return
    first = int(np.flatnonzero(wrong)[0])
    entry = file.entries[int(slot[first])]
    # All batches under an entry disagree with it: the entry is wrong. Otherwise the batches are.
    if bool(wrong[told & (slot == slot[first])].all()):
        found = f"epoch {entry.epoch} starts at offset {entry.start_offset}"
        wanted = f"epoch {epochs[first]}, as in the batch at offset {offsets[first]}"
        broker = (
            "After a clean shutdown, a broker trusts the file: followers that diverged may "
            "truncate at the wrong offset. After an unclean one, recovery only adds later epochs."
        )
        kind = "leader-epochs-mismatch"
        yield Finding(kind, "warning", path, None, int(offsets[first]), found, wanted, broker)
        return
    where, position = _place(tables, first)
    found = f"leader epoch {epochs[first]}"
    wanted = f"{entry.epoch}, which leader-epoch-checkpoint starts at offset {entry.start_offset}"
    yield Finding(
        "batch-epoch", "warning", where, position, int(offsets[first]), found, wanted, _BATCH
    )
