"""The files of remote segments in a partition's folder of a tier, by name alone.

`LocalTieredStorage` keeps every file as it was. Aiven's plugin transforms them: `aiven_files` reads
the files that they were made of.

Kafka: RemoteLogSegmentFileset (4.2)
"""

from dataclasses import dataclass, field
from typing import Final

from workbench.file_system.source import Files
from workbench.files.leader_epochs import LeaderEpochs, cut_end, cut_start
from workbench.files.names import FileKind
from workbench.inspection.entries import FileEntry, Unread, list_folder
from workbench.inspection.remote_tier.segment_metadata import RemoteSegmentMetadata
from workbench.inspection.remote_tier.tier_names import (
    LEADER_EPOCHS,
    LOCAL_SUFFIXES,
    TRANSACTION_INDEX,
    parse_file_name,
)
from workbench.inspection.segment import Segment

_OPTIONAL: Final = frozenset({TRANSACTION_INDEX})
_KINDS: Final[dict[str, FileKind]] = {
    ".log": "log",
    ".index": "index",
    ".timeindex": "timeindex",
    ".txnindex": "txnindex",
    ".snapshot": "snapshot",
}


@dataclass(frozen=True)
class StoredSegment:
    """The files of one remote segment.

    Attributes:
        segment_id: 22 characters.
        start_offset: from the files' names.
        files: by kind; without "log" there is nothing to read.
        leader_epochs: the file of the leader epochs up to the segment's end; None without one.
        missing: suffixes of files that are not there.
        stored: the files as they are in the tier.
    """

    segment_id: str
    start_offset: int
    files: dict[FileKind, FileEntry]
    leader_epochs: FileEntry | None = None
    missing: tuple[str, ...] = ()
    stored: tuple[FileEntry, ...] = ()

    @property
    def segment(self) -> Segment | None:
        """The segment, to be read like a local one; None without its `.log` file."""
        if "log" not in self.files:
            return None
        return Segment(self.start_offset, self.files, is_active=False)

    def own_metadata(self) -> RemoteSegmentMetadata | None:
        """Return what the files say by themselves; None if they hold no batch or no epoch.

        Reads the end of the `.log` file and the leader epochs.

        Raises:
            OSError: a file cannot be read.
        """
        segment = self.segment
        end = -1 if segment is None else segment.next_offset - 1
        if self.leader_epochs is None or end < self.start_offset:
            return None
        epochs = self.leader_epochs.read(LeaderEpochs)
        entries = cut_end(cut_start(epochs.entries, self.start_offset), end + 1)
        if epochs.problems or not entries:
            return None
        size = None if segment is None else segment.size
        return RemoteSegmentMetadata(self.segment_id, self.start_offset, end, entries, size=size)


@dataclass(frozen=True)
class StoredPartition:
    """A partition's folder in a tier.

    Attributes:
        path: the folder.
        segments: by segment id.
        unknown: files with names that are not a segment's.
        unread: what cannot be read: links out of the tier, FIFOs, no rights.
    """

    path: str
    segments: dict[str, StoredSegment] = field(default_factory=dict)
    unknown: tuple[FileEntry, ...] = ()
    unread: tuple[Unread, ...] = ()


def list_local_segments(path: str, tier: str, fs: Files) -> StoredPartition:
    """Return the segments in a partition's folder of `LocalTieredStorage`.

    Args:
        path: the folder.
        tier: the tier's folder; links that lead out of it are not followed.
        fs: what reads it.
    """
    files, unknown, unread = files_by_segment(path, tier, fs)
    segments = {}
    for (start, segment_id), found in files.items():
        segments[segment_id] = StoredSegment(
            segment_id,
            start,
            {_KINDS[suffix]: entry for suffix, entry in found.items() if suffix in _KINDS},
            found.get(LEADER_EPOCHS),
            tuple(s for s in LOCAL_SUFFIXES if s not in found and s not in _OPTIONAL),
            tuple(found.values()),
        )
    return StoredPartition(path, segments, unknown, unread)


Found = dict[tuple[int, str], dict[str, FileEntry]]


def files_by_segment(
    path: str, tier: str, fs: Files
) -> tuple[Found, tuple[FileEntry, ...], tuple[Unread, ...]]:
    """Return (start offset, segment id) → suffix → file; other files; what cannot be read."""
    try:
        contents = list_folder(path, tier, fs)
    except FileNotFoundError:
        return {}, (), ()
    except OSError as error:
        return {}, (), (Unread.of_error("", path, error),)
    found: Found = {}
    unknown = []
    for entry in contents.files:
        name = parse_file_name(entry.name)
        if name is None:
            unknown.append(entry)
        else:
            found.setdefault((name.start_offset, name.segment_id), {})[name.suffix] = entry
    return found, tuple(unknown), tuple(contents.unread)
