"""What changed in a cluster, when, and from which value.

The metadata log is read as a list of changes. Where records are missing or damaged, the next sound
snapshot says what is different after them.
"""

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

from workbench.inspection.cluster.image import StoredCluster
from workbench.inspection.cluster.loading import At, StateReading, end_of, snapshot_files
from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition


class RowChange(NamedTuple):
    """A row of `StoredCluster.tables` that changed.

    Attributes:
        offset: of the record that did it; for the end of a transaction, of that. If it is not
            exact, the last offset of the snapshot that shows it.
        timestamp: when that record was written, ms; None if it is not known.
        is_exact: whether the record is there; otherwise it was before ``offset``.
        kind: a name of `StoredCluster.tables`.
        key: the key there.
        before, after: the row; None for none.
    """

    offset: int
    timestamp: int | None
    is_exact: bool
    kind: str
    key: Hashable
    before: Any
    after: Any


class ClusterHistory:
    """The changes up to an offset or a time; iterate over it once.

    Args:
        partition: the metadata log.
        at: see `offset_or_time`; None: the end of the log.

    Attributes:
        findings: what could not be read, complete after the last change.
        first_offset: the offset that the changes begin at; what was before is not known.
        cluster: the state after the changes that were returned so far.

    Raises:
        OSError: a file cannot be read.
        StateUnknownError: see `cluster_at`.
        ValueError: ``at`` is neither an offset nor a time.
    """

    def __init__(self, partition: DiskPartition, at: At | None = None) -> None:
        self._partition = partition
        self._end = end_of(partition, at)
        self._snapshots = [each for each in snapshot_files(partition) if each.offset <= self._end]
        self.findings: list[Finding] = []
        self._pending: list[RowChange] = []
        self._reading = self._first()
        self.first_offset = self._reading.next_offset

    @property
    def cluster(self) -> StoredCluster:
        """The state after the changes that were returned so far."""
        return self._reading.fold.cluster

    def __iter__(self) -> Iterator[RowChange]:
        """Yield the changes in the order of the log."""
        is_done = False
        while not is_done:
            is_done = True
            for _ in self._reading.log_parts(self._partition):
                yield from self._drain()
                if self._reading.is_broken and self._resynchronize():
                    yield from self._drain()
                    is_done = False
                    break
        self.findings += self._reading.findings

    def _drain(self) -> list[RowChange]:
        found, self._pending = self._pending, []
        return found

    def _first(self) -> StateReading:
        """Return the oldest state that is known."""
        segments = self._partition.segments
        if segments and segments[0].base_offset == 0:
            return self._observed(StateReading(self._end))
        found = self._next_sound(0)
        if found is not None:
            return found
        reading = self._observed(StateReading(self._end))
        reading.next_offset = segments[0].base_offset if segments else 0
        return reading

    def _next_sound(self, offset: int) -> StateReading | None:
        """Return the state of the first whole snapshot at or after an offset; None without one."""
        while self._snapshots:
            snapshot = self._snapshots.pop(0)
            reading = StateReading(self._end)
            if snapshot.offset >= offset and reading.snapshot(snapshot):
                return self._observed(reading)
        return None

    def _observed(self, reading: StateReading) -> StateReading:
        def changed(kind: str, key: Hashable, before: Any, after: Any) -> None:
            offset, timestamp = reading.moment
            change = RowChange(offset, timestamp, True, kind, key, before, after)  # noqa: FBT003
            self._pending.append(change)

        reading.fold.changed = changed
        return reading

    def _resynchronize(self) -> bool:
        """Continue after what could not be read, at a snapshot; return whether there is one."""
        before = self._reading
        before.is_broken = False
        later = self._next_sound(before.next_offset)
        if later is None:
            return False
        self.findings += before.findings
        later.known = before.known
        offset, timestamp = later.moment
        was, now = before.fold.cluster.tables, later.fold.cluster.tables
        for kind, rows in now.items():
            for key in {**was[kind], **rows}:
                row, old = rows.get(key), was[kind].get(key)
                if row != old:
                    change = RowChange(offset, timestamp, False, kind, key, old, row)  # noqa: FBT003
                    self._pending.append(change)
        self._reading = later
        return True
