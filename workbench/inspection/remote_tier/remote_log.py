"""The remote part of a partition's log: its segments, and which of them a broker reads where.

A broker looks for an offset below its local log in the remote segments of the offset's leader
epoch, by the partition's own leader epochs. So a segment that a deposed leader copied is not read
beyond the offset where its epoch ended.

Kafka: RemoteLogManager.read (4.2)
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

from workbench.files.leader_epochs import EpochEntry
from workbench.inspection.findings import Finding
from workbench.inspection.remote_tier.metadata_cache import MetadataCache
from workbench.inspection.remote_tier.segment_metadata import RemoteSegmentMetadata
from workbench.inspection.remote_tier.stored_segments import StoredPartition, StoredSegment
from workbench.inspection.segment import Segment

MetadataSource = Literal["topic", "files"]


class RemoteSegment(NamedTuple):
    """One remote segment: what is known of it, and its files.

    Attributes:
        metadata: from `__remote_log_metadata`, otherwise from its files; None if these say nothing.
        stored: its files; None: the tier has none.
    """

    metadata: RemoteSegmentMetadata | None
    stored: StoredSegment | None

    @property
    def start_offset(self) -> int:
        """The first offset."""
        if self.metadata is not None:
            return self.metadata.start_offset
        return self.stored.start_offset if self.stored is not None else 0

    @property
    def segment_id(self) -> str:
        """Its id, 22 characters."""
        if self.metadata is not None:
            return self.metadata.segment_id
        return self.stored.segment_id if self.stored is not None else ""


class RemoteRead(NamedTuple):
    """Offsets [low, high) that a broker reads from one remote segment.

    Attributes:
        metadata: the segment's.
        segment: the segment to be read; None: its `.log` file is not in the tier.
    """

    metadata: RemoteSegmentMetadata
    segment: Segment | None
    low: int
    high: int


class Gap(NamedTuple):
    """Offsets [low, high) that no remote segment has which a broker would read."""

    low: int
    high: int


@dataclass(frozen=True)
class RemoteContents:
    """What a tier holds of one partition, and what is known of it.

    Attributes:
        stored: the folder; None: the tier has none for the partition.
        cache: the metadata, as a broker would hold it.
        source: "topic": the metadata comes from `__remote_log_metadata`; "files": from the
            segments' own files, because the topic says nothing of the partition.
        other_folders: folders of the partition under other topic ids.
        findings: metadata that cannot be read.
    """

    stored: StoredPartition | None = None
    cache: MetadataCache = field(default_factory=MetadataCache)
    source: MetadataSource = "files"
    other_folders: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


class RemoteLoader(Protocol):
    """Reads the contents when they are first asked for."""

    def load(self) -> RemoteContents:
        """Return the contents."""


class RemoteLog:
    """The remote part of a partition's log, read when it is first asked for."""

    def __init__(self, loader: RemoteLoader) -> None:
        self._loader = loader

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was read: another process reads it again."""
        return {"_loader": self._loader}

    @cached_property
    def contents(self) -> RemoteContents:
        """What the tier holds, and what is known of it."""
        return self._loader.load()

    @cached_property
    def segments(self) -> tuple[RemoteSegment, ...]:
        """Every segment that has metadata or files, deleted ones too, ascending by start offset."""
        cache, stored = self.contents.cache, self.contents.stored
        files = {} if stored is None else stored.segments
        known = {**cache.deleted, **cache.segments}
        found = [RemoteSegment(known.get(each), files.get(each)) for each in {**known, **files}]
        return tuple(sorted(found, key=lambda each: (each.start_offset, each.segment_id)))

    @cached_property
    def own_epochs(self) -> tuple[EpochEntry, ...]:
        """The leader epochs by the remote segments alone, where no local file has them."""
        every = {
            (entry.epoch, entry.start_offset)
            for metadata in self.contents.cache.segments.values()
            for entry in metadata.leader_epochs
        }
        entries: tuple[EpochEntry, ...] = ()
        for epoch, start in sorted(every, reverse=True):
            if not entries or (epoch < entries[0].epoch and start < entries[0].start_offset):
                entries = (EpochEntry(epoch, start), *entries)
            elif epoch == entries[0].epoch:  # the lowest start that still ascends
                entries = (EpochEntry(epoch, start), *entries[1:])
        return entries

    def parts(
        self, epochs: Sequence[EpochEntry], low: int, high: int
    ) -> Iterator[RemoteRead | Gap]:
        """Yield what a broker reads for the offsets [low, high), and what it does not find.

        Args:
            epochs: the partition's leader epochs, ascending; before the first, nothing is found.
            low, high: the range; after the last remote segment it ends.
        """
        cache, stored = self.contents.cache, self.contents.stored
        files = {} if stored is None else stored.segments
        high = min(high, max((m.end_offset for m in cache.segments.values()), default=-1) + 1)
        at = low
        while at < high:
            slot = bisect_right(epochs, at, key=lambda entry: entry.start_offset)
            end = min(high, epochs[slot].start_offset) if slot < len(epochs) else high
            metadata, last = cache.find(epochs[slot - 1].epoch, at) if slot else (None, None)
            end = end if last is None else min(end, last + 1)
            if metadata is None:
                yield Gap(at, end)
            else:
                found = files.get(metadata.segment_id)
                yield RemoteRead(metadata, None if found is None else found.segment, at, end)
            at = end

    def highest_offset(self, epochs: Sequence[EpochEntry], log_end: int) -> int | None:
        """Return the last offset that was copied, in the newest epoch that has any; None: none.

        Args:
            epochs: the partition's leader epochs, ascending.
            log_end: the log end offset.

        Kafka: RemoteLogManager.findHighestRemoteOffset (4.2)
        """
        ends = [entry.start_offset for entry in epochs[1:]] + [log_end]
        for entry, end in zip(reversed(epochs), reversed(ends), strict=True):
            highest = self.contents.cache.highest_offset(entry.epoch)
            if highest is not None:
                return min(highest, end - 1)
        return None


def joined(parts: Iterable[RemoteRead | Gap]) -> Iterator[RemoteRead | Gap]:
    """Yield parts, with neighbors of the same segment, and neighboring gaps, as one."""
    last: RemoteRead | Gap | None = None
    for part in parts:
        if isinstance(last, Gap) and isinstance(part, Gap):
            last = Gap(last.low, part.high)
        elif (
            isinstance(last, RemoteRead)
            and isinstance(part, RemoteRead)
            and last.metadata.segment_id == part.metadata.segment_id
        ):
            last = last._replace(high=part.high)
        else:
            if last is not None:
                yield last
            last = part
    if last is not None:
        yield last
