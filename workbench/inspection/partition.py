"""Read one partition directory: its segments, its other files, and what follows from all of them.

Listed when first asked for, then kept: open the log directory again to see what a live broker did
since.

Kafka: org.apache.kafka.storage.internals.log.UnifiedLog, LogLoader (4.2)
"""

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

from workbench.file_system.source import THIS_MACHINE, Files, RemoteEntry
from workbench.files import names
from workbench.files.leader_epochs import EpochEntry, LeaderEpochs
from workbench.files.names import DirectoryKind, FileKind
from workbench.files.partition_metadata import PartitionMetadata
from workbench.files.producer_snapshot import ProducerSnapshot
from workbench.files.text import format_uuid
from workbench.inspection.entries import (
    FileEntry,
    FolderContents,
    Unread,
    list_folder,
    remote_contents,
    without_unreadable,
)
from workbench.inspection.facts.html import table_html
from workbench.inspection.log_parts import LogPart, log_parts
from workbench.inspection.lookups.time_lookup import first_record_at
from workbench.inspection.remote_tier.remote_log import Gap, RemoteLog, RemoteRead, joined
from workbench.inspection.segment import Segment, SegmentEnds
from workbench.runtime.clock import since_change_ns
from workbench.runtime.times import Time, milliseconds
from workbench.runtime.words import safe

T = TypeVar("T")

_WAIT: Final = 0.02  # seconds until a directory that changes is listed again
_WAITS: Final = 50
_CACHED: Final = (
    "log_start_offset", "log_end_offset", "broker_log_end_offset", "committed_end", "remote_parts",
)  # fmt: skip
MOST_LISTINGS: Final = 10  # of a directory in which a broker deletes what was listed
_MOVES_NS: Final = 5_000_000_000  # within which a cleaning that replaces segments has done so


@dataclass(slots=True)
class _Contents:
    """A partition directory, sorted by kinds of files."""

    files: tuple[FileEntry, ...]
    segments: tuple[Segment, ...]
    snapshots: tuple[FileEntry, ...]
    metadata_snapshots: tuple[FileEntry, ...]
    leftovers: tuple[FileEntry, ...]
    orphans: tuple[FileEntry, ...]
    unknown: tuple[FileEntry, ...]
    folders: tuple[str, ...]
    unread: tuple[Unread, ...] = ()


def _sort_files(contents: FolderContents) -> _Contents:
    """Sort every file by its kind; the rest are ``unknown``."""
    files, folders, unread = contents
    found: dict[int, dict[FileKind, FileEntry]] = {}
    snapshots: list[FileEntry] = []
    metadata: list[FileEntry] = []
    leftovers: list[FileEntry] = []
    unknown: list[FileEntry] = []
    for entry in files:  # sorted by name, so by offset
        name = names.parse_file_name(entry.name)
        if name is None:
            if entry.name in names.PARTITION_FILES:
                continue
            is_temporary = entry.name.removesuffix(names.TEMPORARY) in names.PARTITION_FILES
            (leftovers if is_temporary else unknown).append(entry)
            continue
        kind, offset, suffix, _ = name
        if suffix:
            leftovers.append(entry)
        elif kind == "snapshot":
            snapshots.append(entry)
        elif kind == "checkpoint":
            metadata.append(entry)
        elif offset in found:
            found[offset][kind] = entry
        else:
            found[offset] = {kind: entry}
    logs = {base for base, kinds in found.items() if "log" in kinds}
    unread_logs = _bases_of_logs(each.name for each in unread)
    all_logs = logs | unread_logs
    last = max(all_logs, default=-1)
    return _Contents(
        files=tuple(files),
        segments=tuple(
            Segment(base, kinds, is_active=base == last)
            for base, kinds in found.items()
            if "log" in kinds
        ),
        snapshots=tuple(snapshots),
        metadata_snapshots=tuple(metadata),
        leftovers=tuple(leftovers),
        orphans=tuple(
            entry
            for base, kinds in found.items()
            if base not in all_logs
            for entry in kinds.values()
        ),
        unknown=tuple(unknown),
        folders=tuple(folders),
        unread=tuple(unread),
    )


def _without_folders_named_as_files(contents: FolderContents, path: str) -> FolderContents:
    """Return what is in a folder, with folders ``unread`` that have the name of a file."""
    named = {
        name
        for name in contents.folders
        if name in names.PARTITION_FILES or names.parse_file_name(name) is not None
    }
    if not named:
        return contents
    unread = [Unread(name, os.path.join(path, name), "not-a-file", "a folder") for name in named]
    folders = [name for name in contents.folders if name not in named]
    return contents._replace(folders=folders, unread=sorted([*contents.unread, *unread]))


def _bases_of_logs(unread: Iterable[str]) -> set[int]:
    """Return the base offsets in names of `.log` files in use."""
    parsed = map(names.parse_file_name, unread)
    return {name.offset for name in parsed if name and name.kind == "log" and not name.suffix}


class DiskPartition:
    """A partition, read from its directory.

    Attributes:
        name: the directory's name: ``orders-0``; deleted, stray and future ones have a suffix.
        topic, partition: parsed from the name.
        path: the directory.
        root: the log directory that holds it; None when nothing beside it is a broker's.
        kind: "log" in use, or "delete", "stray", "future".
        only: name of the single file that was opened; None for a whole partition.
        is_alone: whether it was opened by its own path, and not with its log directory.
        fs: what reads its files.
    """

    _remote: RemoteLog | None = None
    remote_topic_id: str | None = None
    """The topic id by the remote tier, of a partition that no log directory was opened of."""

    def __init__(
        self,
        name: str,
        path: str,
        *,
        root: str | None,
        topic: str,
        partition: int,
        kind: DirectoryKind = "log",
        only: str | None = None,
        checkpoint_start: int | None = None,
        entries: Iterable[RemoteEntry] | None = None,
        is_alone: bool = False,
        fs: Files = THIS_MACHINE,
    ) -> None:
        self.name = name
        self.path = path
        self.root = root
        self.topic = topic
        self.partition = partition
        self.kind: DirectoryKind = kind
        self.only = only
        self.is_alone = is_alone
        self.fs = fs
        self._checkpoint_start = checkpoint_start
        self.state: object = None  # what its records say together, kept by those who read them
        self._entries = entries  # as listed with the whole log directory; None: not listed yet

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was read: another process reads it again."""
        state = {**self.__dict__, "_entries": None, "state": None}
        for cached in ("_contents", *_CACHED):
            state.pop(cached, None)
        return state

    def __repr__(self) -> str:
        return safe(f"<Partition {self.name} in {os.path.dirname(self.path) or '.'}>")

    @property
    def is_here(self) -> bool:
        """Whether the operating system reads it: it is not in a bucket or an archive."""
        return self.fs.at(self.path) is None

    def listed_again(self) -> "DiskPartition":
        """Return the same partition, to list its directory again."""
        return copy(self)  # leaves out what was read, like a pickle

    @property
    def remote(self) -> RemoteLog | None:
        """Its segments in a remote tier; None if no tier was opened."""
        return self._remote

    @remote.setter
    def remote(self, remote: RemoteLog | None) -> None:
        self._remote = remote
        for cached in _CACHED:
            self.__dict__.pop(cached, None)

    @property
    def names(self) -> frozenset[str]:
        """All names in the directory when it was listed."""
        unread = (each.name for each in self.unread)
        return frozenset([*(file.name for file in self.files), *self.folders, *unread])

    @cached_property
    def _contents(self) -> _Contents:
        if self.remote_topic_id is not None:
            return _sort_files(FolderContents([], [], []))  # it has segments in the tier alone
        if self.only is not None:
            return self._single_file(self.only)
        try:
            entries, self._entries = self._entries, None
            if entries is not None:
                contents = remote_contents(self.path, entries, self.fs)
            else:
                # The caller named a link that was opened alone, so it may lead anywhere.
                is_named_link = self.is_alone and os.path.islink(self.path)
                within = None if is_named_link else self.root
                if self.is_here:
                    contents = _at_one_time(self.path, within, self.fs)
                else:
                    contents = list_folder(self.path, within, self.fs)
        except FileNotFoundError:  # a broker deleted it since the log directory was opened
            return _sort_files(FolderContents([], [], []))
        except OSError as error:
            here = Unread.of_error("", self.path, error)
            return _sort_files(FolderContents([], [], [here]))
        contents = without_unreadable(contents, names.PARTITION_FILES)
        return _sort_files(_without_folders_named_as_files(contents, self.path))

    def _single_file(self, only: str) -> _Contents:
        """Sort one file, which may be out of use and have any name.

        The caller named it, so a link is followed to any target.
        """
        path = os.path.join(self.path, only)
        is_there = not self.is_here or os.path.isfile(path)
        files = [FileEntry(only, path, fs=self.fs)] if is_there else []
        contents = _sort_files(FolderContents(files, [], []))
        stem = [file.name.removesuffix(names.TEMPORARY) for file in files]
        for suffix in (names.DELETED, names.CLEANED, names.SWAP, names.PART):
            stem = [name.removesuffix(suffix) for name in stem]
        logs = [f for f, name in zip(files, stem, strict=True) if name.endswith(BATCH_FILES)]
        if contents.segments or not logs:
            return contents
        segment = Segment(0, {"log": logs[0]}, is_active=True)
        with suppress(OSError):  # reading its records raises it again
            rows = segment.batches.rows
            if len(rows) and rows["base_offset"][0] > 0:
                segment.base_offset = int(rows["base_offset"][0])
        return _Contents(contents.files, (segment,), (), (), (), (), (), ())

    @property
    def files(self) -> tuple[FileEntry, ...]:
        """Every file of the directory, sorted by name."""
        return self._contents.files

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments in use, ascending by base offset, without leftovers."""
        return self._contents.segments

    @property
    def snapshots(self) -> tuple[FileEntry, ...]:
        """Producer snapshots, ascending by offset."""
        return self._contents.snapshots

    @property
    def metadata_snapshots(self) -> tuple[FileEntry, ...]:
        """KRaft `.checkpoint` snapshots, ascending by offset."""
        return self._contents.metadata_snapshots

    @property
    def leftovers(self) -> tuple[FileEntry, ...]:
        """Files a broker was about to delete or to swap in: `.deleted`, `.cleaned`, `.swap`."""
        return self._contents.leftovers

    @property
    def orphans(self) -> tuple[FileEntry, ...]:
        """Indexes without a `.log` file; a broker deletes them when it loads the partition."""
        return self._contents.orphans

    @property
    def unknown(self) -> tuple[FileEntry, ...]:
        """Files with names that no broker uses."""
        return self._contents.unknown

    @property
    def folders(self) -> tuple[str, ...]:
        """Names of folders inside; a broker creates none."""
        return self._contents.folders

    @property
    def unread(self) -> tuple[Unread, ...]:
        """What cannot be read: FIFOs, devices, links out of the directory, no rights.

        An empty name means the directory itself: it cannot be listed, or is such a link.
        """
        return self._contents.unread

    def has_name(self, name: str) -> bool:
        """Return whether anything has a name in the directory, even if it is not read."""
        others = (*self.folders, *(each.name for each in self.unread))
        return self.file(name) is not None or name in others

    @property
    def size(self) -> int:
        """Bytes of the `.log` files in use."""
        return sum(segment.size for segment in self.segments)

    def file(self, name: str) -> FileEntry | None:
        """Return a file of the directory by name."""
        return next((file for file in self.files if file.name == name), None)

    @property
    def checkpoint_start(self) -> int | None:
        """The log start offset in the directory's checkpoint; None if it does not name the log."""
        return self._checkpoint_start

    @cached_property
    def log_start_offset(self) -> int:
        """First offset a client can read: the checkpoint's if it is above the first segment's.

        Kafka: LogLoader.load
        """
        first = self.segments[0].base_offset if self.segments else 0
        for read in self.remote_reads:
            first = min(first, read.low) if self.segments else read.low
            break
        return max(first, self._checkpoint_start or 0)

    @cached_property
    def log_end_offset(self) -> int:
        """The offset after the last record that can be read; 0 without segments.

        In a sound log that is the offset of the next record. Where damage is followed by records,
        they count, and a broker stops before them: see `broker_log_end_offset`.
        """
        return of_now(self, _log_end)

    @cached_property
    def broker_log_end_offset(self) -> int:
        """Where a broker ends the log that starts after a clean shutdown: perhaps at damage.

        After an unclean one, recovery truncates the log at the first damage: see
        `LogDirectory.predict_startup`.

        Raises:
            OSError: a file cannot be read.
        """
        return of_now(self, lambda now: _ends(now).broker)

    @cached_property
    def committed_end(self) -> int:
        """Where read_committed ends if no transaction is open: see `SegmentEnds.committed`.

        Raises:
            OSError: a file cannot be read.
        """
        return of_now(self, lambda now: _ends(now).committed)

    @cached_property
    def remote_parts(self) -> tuple[RemoteRead | Gap, ...]:
        """What a broker reads from the remote tier: the offsets below the first local segment.

        From the checkpointed log start offset on, ascending, with the offsets that no remote
        segment has. Empty without a tier.
        """
        if self.remote is None:
            return ()
        local = self.segments[0].base_offset if self.segments else names.MAX_OFFSET
        found = self.remote.parts(self._lineage(self.remote), self._checkpoint_start or 0, local)
        parts = tuple(joined(found))
        if parts and parts[-1].high < local and self.segments:
            parts = tuple(joined([*parts, Gap(parts[-1].high, local)]))
        begins_later = self._checkpoint_start is None and parts and isinstance(parts[0], Gap)
        return parts[1:] if begins_later else parts

    def _lineage(self, remote: RemoteLog) -> tuple[EpochEntry, ...]:
        """Return the leader epochs; where the checkpoint is missing or damaged, by the tier."""
        epochs = None
        with suppress(OSError):  # `verify` says so where it cannot be read
            epochs = self.leader_epochs
        is_sound = epochs is not None and epochs.entries and not epochs.problems
        return epochs.entries if epochs is not None and is_sound else remote.own_epochs

    @property
    def highest_remote_offset(self) -> int | None:
        """The last offset that was copied to the remote tier; None if none is known to be.

        Kafka: RemoteLogManager.findHighestRemoteOffset (4.2)
        """
        if self.remote is None:
            return None
        return self.remote.highest_offset(self._lineage(self.remote), self.log_end_offset)

    @property
    def local_log_start_offset(self) -> int:
        """First offset that is read from a local segment.

        Kafka: UnifiedLog.localLogStartOffset (4.2)
        """
        start = self.log_start_offset
        return max(start, self.segments[0].base_offset) if self.segments else self.log_end_offset

    @property
    def remote_reads(self) -> tuple[RemoteRead, ...]:
        """The parts of remote segments that a broker reads before the local ones, ascending."""
        return tuple(part for part in self.remote_parts if isinstance(part, RemoteRead))

    @property
    def remote_segments(self) -> tuple[Segment, ...]:
        """The remote segments that a reader needs, each once, ascending."""
        found = {read.metadata.segment_id: read.segment for read in self.remote_reads}
        return tuple(segment for segment in found.values() if segment is not None)

    @property
    def parts(self) -> tuple[LogPart, ...]:
        """What a reader reads of each segment, remote ones first; ascending by offset."""
        return log_parts(self.remote_parts, self.segments)

    @property
    def segments_of_log(self) -> tuple[Segment, ...]:
        """All segments that a reader needs, remote ones first; ascending by base offset."""
        return (*self.remote_segments, *self.segments)

    @property
    def leader_epochs(self) -> LeaderEpochs | None:
        """The leader epoch checkpoint with its problems; None when there is no such file."""
        entry = self.file(names.LEADER_EPOCHS)
        with suppress(FileNotFoundError):  # a broker deleted it since it was listed
            return entry.read(LeaderEpochs) if entry else None
        return None

    @property
    def metadata(self) -> PartitionMetadata | None:
        """`partition.metadata` with its problems; None when there is no such file."""
        entry = self.file(names.PARTITION_METADATA)
        with suppress(FileNotFoundError):
            return entry.read(PartitionMetadata) if entry else None
        return None

    @property
    def topic_id(self) -> str | None:
        """The topic's id as Kafka writes it, 22 characters; None when it is not known."""
        if self.remote_topic_id is not None:
            return self.remote_topic_id
        metadata = None
        with suppress(OSError):  # `verify` says so where it cannot be read
            metadata = self.metadata
        if metadata is None or metadata.topic_id is None:
            return None
        return format_uuid(metadata.topic_id)

    def producer_snapshot(self, entry: FileEntry) -> ProducerSnapshot:
        """Return one of `snapshots` with its problems."""
        return entry.read(ProducerSnapshot)

    def segment_of(self, offset: int) -> Segment | None:
        """Return the segment that would hold ``offset``: the last whose base is not above it."""
        for part in self.parts:
            if part.is_remote and part.low <= offset < part.high:
                return part.segment
        below = [segment for segment in self.segments if segment.base_offset <= offset]
        return below[-1] if below else None

    def offset_for_timestamp(self, timestamp: Time) -> int | None:
        """Return the first offset at or after a time, see `milliseconds`, that a broker finds.

        None if it finds none: it looks only into the first segment whose largest timestamp reaches
        the time, and the file's time counts for a segment without timestamps. Times are read from
        batches and records: a wrong time index changes nothing.

        Raises:
            OSError: a file cannot be read.

        Kafka: UnifiedLog.fetchOffsetByTimestamp (4.2)
        """
        time = milliseconds(timestamp)
        found = of_now(self, lambda now: first_record_at(now, time))
        return None if found is None else found.offset

    def _repr_html_(self) -> str:
        rows = [
            [s.base_offset, s.size, *(kind in s.files for kind in names.SEGMENT_KINDS[1:])]
            for s in self.segments[:_SHOWN]
        ]
        cells = [[row[0], row[1], *("yes" if has else None for has in row[2:])] for row in rows]
        left = len(self.segments) - len(rows)
        columns = ["base offset", "bytes", *names.SEGMENT_KINDS[1:]]
        note = f"{left} more segments" if left else None
        title = f"{self.name}: offsets {self.log_start_offset} to {self.log_end_offset} (excluded)"
        return table_html(title, columns, cells, note)


BATCH_FILES: Final = (".log", ".checkpoint")  # endings of files that hold batches
_SHOWN = 20  # rows of a table in a notebook


def of_now(partition: DiskPartition, read: Callable[[DiskPartition], T]) -> T:
    """Return what ``read`` says; while a broker deletes what it reads, of the partition as it is.

    One that was deleted has no segments.

    Raises:
        OSError: ``read`` raised it, and not because a broker deleted a file.
    """
    now = partition
    for _ in range(MOST_LISTINGS):
        try:
            return read(now)
        except FileNotFoundError:
            if not partition.is_here:
                raise
        now = now.listed_again()
    return read(now)


def _log_end(partition: DiskPartition) -> int:
    if partition.segments:
        return partition.segments[-1].next_offset
    return max((read.high for read in partition.remote_reads), default=0)


def _ends(partition: DiskPartition) -> SegmentEnds:
    if partition.segments:
        return partition.segments[-1].ends
    end = _log_end(partition)
    return SegmentEnds(end, end, end)


def metadata_now(partition: DiskPartition) -> tuple[int, ...] | None:
    """Return which `partition.metadata` is there at this moment; empty if there is none.

    A topic that is deleted and made again has another file. None: it is a bucket's or an archive's,
    and not asked for.
    """
    if not partition.is_here:
        return None
    try:
        found = os.stat(os.path.join(partition.path, names.PARTITION_METADATA))
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _at_one_time(path: str, within: str | None, fs: Files) -> FolderContents:
    """List a directory of this machine while no name in it changes.

    A cleaning puts segments in place in several steps: for a moment the old ones have gone, and the
    new one still ends in `.swap`. A directory that remains so was left by a broker that died.
    """
    contents = None
    for _ in range(_WAITS):
        before = _changed_ns(path)
        contents = list_folder(path, within, fs)
        is_moving = any(each.name.endswith(".log.swap") for each in contents.files)
        is_moving &= 0 <= since_change_ns(before) < _MOVES_NS
        if not is_moving and _changed_ns(path) == before:
            break
        time.sleep(_WAIT)
    assert contents is not None
    return contents


def _changed_ns(path: str) -> int:
    """Return when a directory's names last changed; 0: unknown, and listing it says why."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
