"""One partition's folder, read-only: its segments, its other files, and what they say together.

Listed when first asked for, then kept: open the log directory anew to see what a live broker did
    since.

Kafka: org.apache.kafka.storage.internals.log.UnifiedLog, LogLoader (4.2)
"""

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench.files import names
from workbench.files.leader_epochs import LeaderEpochs
from workbench.files.names import DirectoryKind, FileKind
from workbench.files.partition_metadata import PartitionMetadata
from workbench.files.producer_snapshot import ProducerSnapshot
from workbench.files.text import format_uuid
from workbench.inspection.entries import FileEntry, list_folder
from workbench.inspection.html import table_html
from workbench.inspection.segment import Segment


@dataclass(slots=True)
class _Contents:
    """A partition's folder, sorted by what its files are."""

    files: tuple[FileEntry, ...]
    segments: tuple[Segment, ...]
    snapshots: tuple[FileEntry, ...]
    metadata_snapshots: tuple[FileEntry, ...]
    leftovers: tuple[FileEntry, ...]
    orphans: tuple[FileEntry, ...]
    unknown: tuple[FileEntry, ...]
    folders: tuple[str, ...]


def _sort_files(files: list[FileEntry], folders: list[str]) -> _Contents:
    """Give every file its place; what has none is ``unknown``."""
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
    last = max((base for base, kinds in found.items() if "log" in kinds), default=-1)
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
        orphans=tuple(f for kinds in found.values() if "log" not in kinds for f in kinds.values()),
        unknown=tuple(unknown),
        folders=tuple(folders),
    )


class Partition:
    """A partition as its folder holds it.

    Attributes:
        name: of the folder: ``orders-0``; deleted, stray and future ones carry their suffix.
        topic, partition: parsed from the name.
        path: of the folder.
        root: the log directory it lies in; None when it was opened by itself.
        kind: "log" in use, or "delete", "stray", "future".
        only: name of the one file to look at, when a single file was opened; else None.
    """

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
    ) -> None:
        self.name = name
        self.path = path
        self.root = root
        self.topic = topic
        self.partition = partition
        self.kind: DirectoryKind = kind
        self.only = only
        self._checkpoint_start = checkpoint_start

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was read: another process reads it anew."""
        state = dict(self.__dict__)
        for cached in ("_contents", "log_end_offset"):
            state.pop(cached, None)
        return state

    def __repr__(self) -> str:
        return f"<Partition {self.name} in {os.path.dirname(self.path) or '.'}>"

    @cached_property
    def _contents(self) -> _Contents:
        try:
            files, folders = list_folder(self.path)
        except FileNotFoundError:  # a broker removed it since the directory was opened
            files, folders = [], []
        if self.only is not None:
            files, folders = [file for file in files if file.name == self.only], []
            return self._single_file(files)
        return _sort_files(files, folders)

    def _single_file(self, files: list[FileEntry]) -> _Contents:
        """Sort one file, which need not be in use nor have a broker's name."""
        contents = _sort_files(files, [])
        stem = [file.name.removesuffix(names.TEMPORARY) for file in files]
        for suffix in (names.DELETED, names.CLEANED, names.SWAP, names.PART):
            stem = [name.removesuffix(suffix) for name in stem]
        logs = [f for f, name in zip(files, stem, strict=True) if name.endswith(_BATCH_FILES)]
        if contents.segments or not logs:
            return contents
        segment = Segment(0, {"log": logs[0]}, is_active=True)
        rows = segment.batches.rows
        if len(rows) and rows["base_offset"][0] > 0:
            segment.base_offset = int(rows["base_offset"][0])
        return _Contents(contents.files, (segment,), (), (), (), (), (), ())

    @property
    def files(self) -> tuple[FileEntry, ...]:
        """Every file of the folder, sorted by name."""
        return self._contents.files

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments in use, ascending by base offset; leftovers are not among them."""
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
        """Files a broker was about to remove or to swap in: `.deleted`, `.cleaned`, `.swap`."""
        return self._contents.leftovers

    @property
    def orphans(self) -> tuple[FileEntry, ...]:
        """Indexes without a `.log` file; a broker deletes them when it loads the partition."""
        return self._contents.orphans

    @property
    def unknown(self) -> tuple[FileEntry, ...]:
        """Files that no broker names so."""
        return self._contents.unknown

    @property
    def folders(self) -> tuple[str, ...]:
        """Names of folders inside; a broker makes none."""
        return self._contents.folders

    @property
    def size(self) -> int:
        """Bytes of the `.log` files in use."""
        return sum(segment.size for segment in self.segments)

    def file(self, name: str) -> FileEntry | None:
        """Return a file of the folder by name."""
        return next((file for file in self.files if file.name == name), None)

    @property
    def log_start_offset(self) -> int:
        """First offset a client may read: the checkpoint's where that is higher than the segments'.

        Kafka: LogLoader.load
        """
        first = self.segments[0].base_offset if self.segments else 0
        return max(first, self._checkpoint_start or 0)

    @cached_property
    def log_end_offset(self) -> int:
        """The offset the next record would get, by the batches there are; 0 without segments."""
        return self.segments[-1].next_offset if self.segments else 0

    @property
    def leader_epochs(self) -> LeaderEpochs | None:
        """The leader epoch checkpoint with its problems; None when there is no such file."""
        entry = self.file(names.LEADER_EPOCHS)
        return LeaderEpochs.read(entry.path, strict=False) if entry else None

    @property
    def metadata(self) -> PartitionMetadata | None:
        """`partition.metadata` with its problems; None when there is no such file."""
        entry = self.file(names.PARTITION_METADATA)
        return PartitionMetadata.read(entry.path, strict=False) if entry else None

    @property
    def topic_id(self) -> str | None:
        """The topic's id as Kafka writes it, 22 characters; None when it is not told."""
        metadata = self.metadata
        if metadata is None or metadata.topic_id is None:
            return None
        return format_uuid(metadata.topic_id)

    def producer_snapshot(self, entry: FileEntry) -> ProducerSnapshot:
        """Return one of `snapshots` with its problems."""
        return ProducerSnapshot.read(entry.path, strict=False)

    def segment_of(self, offset: int) -> Segment | None:
        """Return the segment that would hold ``offset``: the last whose base is not above it."""
        below = [segment for segment in self.segments if segment.base_offset <= offset]
        return below[-1] if below else None

    def offset_for_timestamp(self, timestamp: int) -> int | None:
        """Return the first offset whose record is at or after ``timestamp`` (ms); None without one.

        The answer of a broker's ListOffsets, from the batches and records themselves: a wrong time
        index changes nothing.

        Kafka: UnifiedLog.fetchOffsetByTimestamp, FileRecords.searchForTimestamp (4.2)
        """
        start = self.log_start_offset
        for segment in self.segments:
            rows = segment.batches.rows
            reaching = (rows["max_timestamp"] >= timestamp) & (rows["last_offset"] >= start)
            for row in rows[reaching]:
                begin, end = int(row["position"]), int(row["position"] + row["size"])
                for chunk in segment.read(begin, end, options=0):
                    columns = chunk.columns
                    found = (columns.timestamps >= timestamp) & (columns.offsets >= start)
                    if found.any():
                        return int(columns.offsets[found][0])
        return None

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


_BATCH_FILES = (".log", ".checkpoint")  # endings of files that hold batches
_SHOWN = 20  # rows of a table in a notebook
