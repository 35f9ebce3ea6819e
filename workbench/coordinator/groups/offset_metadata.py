"""Committed offsets: one value, the table of them, and those that wait for a transaction marker.

Kafka: OffsetAndMetadata, OffsetMetadataManager (4.2; once OffsetManager.offsetsCache)
"""

from collections.abc import Iterator
from typing import NamedTuple

from workbench.files.names import TopicPartition


class OffsetAndMetadata(NamedTuple):
    """A committed offset.

    Attributes:
        offset: the next record that the group wants; never compared with the log.
        leader_epoch: the epoch of the last record that the group consumed; None: unknown.
        metadata: the client's own text.
        commit_timestamp: the time of the commit, ms; -1 if the client sent that.
        expire_timestamp: the commit's own expiry, ms; None: the retention of the broker and the
            group decides.
        topic_id: the id of the topic that it was committed for; None: unknown.
        record_offset: the commit's offset in the coordinator's log.
        version: the value's version.
    """

    offset: int
    leader_epoch: int | None
    metadata: str
    commit_timestamp: int
    expire_timestamp: int | None
    topic_id: str | None
    record_offset: int
    version: int


Offsets = dict[TopicPartition, OffsetAndMetadata]


class Dropped(NamedTuple):
    """A pending commit that a transaction marker dropped.

    Attributes:
        group, where: the group and the partition of the commit.
        pending: the commit.
        newer: the plain commit that wins; None: the transaction aborted.
    """

    group: str
    where: TopicPartition
    pending: OffsetAndMetadata
    newer: OffsetAndMetadata | None


class OffsetTable:
    """Committed offsets by group, and the pending ones by producer.

    Attributes:
        offsets: group → topic partition → the commit that a broker serves.
        pending: producer id → group → topic partition → the commit that waits for a transaction
            marker.
    """

    def __init__(self) -> None:
        self.offsets: dict[str, Offsets] = {}
        self.pending: dict[int, dict[str, Offsets]] = {}

    def put(
        self, group: str, where: TopicPartition, value: OffsetAndMetadata
    ) -> OffsetAndMetadata | None:
        """Put a plain commit into the table; return the one that it replaces."""
        offsets = self.offsets.setdefault(group, {})
        replaced = offsets.get(where)
        offsets[where] = value
        return replaced

    def put_pending(
        self, producer: int, group: str, where: TopicPartition, value: OffsetAndMetadata
    ) -> OffsetAndMetadata | None:
        """Keep a transactional commit until its transaction ends; return the replaced one."""
        offsets = self.pending.setdefault(producer, {}).setdefault(group, {})
        replaced = offsets.get(where)
        offsets[where] = value
        return replaced

    def remove(self, group: str, where: TopicPartition) -> OffsetAndMetadata | None:
        """Remove a commit from the table and return it."""
        offsets = self.offsets.get(group, {})
        removed = offsets.pop(where, None)
        if removed is not None and not offsets:
            del self.offsets[group]
        return removed

    def remove_pending(self, producer: int, group: str, where: TopicPartition) -> bool:
        """Forget what a producer's transaction committed; return whether there was anything."""
        groups = self.pending.get(producer, {})
        offsets = groups.get(group, {})
        removed = offsets.pop(where, None)
        if removed is not None and not offsets:
            del groups[group]
        return removed is not None

    def complete(
        self, producer: int, *, is_commit: bool
    ) -> tuple[list[tuple[str, TopicPartition, OffsetAndMetadata]], list[Dropped]]:
        """End a producer's transaction; return the commits in force, and the dropped ones.

        A commit of the transaction takes effect unless a plain one follows it in the log.

        Args:
            producer: its id; the epoch does not matter.
            is_commit: whether the transaction marker commits.
        """
        taken: list[tuple[str, TopicPartition, OffsetAndMetadata]] = []
        dropped: list[Dropped] = []
        for group, offsets in self.pending.pop(producer, {}).items():
            for where, pending in offsets.items():
                known = self.offsets.get(group, {}).get(where)
                if not is_commit:
                    dropped.append(Dropped(group, where, pending, None))
                elif known is None or known.record_offset < pending.record_offset:
                    self.offsets.setdefault(group, {})[where] = pending
                    taken.append((group, where, pending))
                else:
                    dropped.append(Dropped(group, where, pending, known))
        return taken, dropped

    def pending_of(self, group: str) -> Iterator[tuple[int, TopicPartition, OffsetAndMetadata]]:
        """Yield what waits for transaction markers: producer id, topic partition and commit."""
        for producer, groups in self.pending.items():
            for where, pending in groups.get(group, {}).items():
                yield producer, where, pending
