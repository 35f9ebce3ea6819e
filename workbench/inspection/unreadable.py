"""Findings for what cannot be read: FIFOs and devices, links that are not followed, no rights.

Nothing is known of such a file's contents, and nothing with its name is reported as missing.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from workbench.errors import RemoteStorageError
from workbench.file_system.archives.opening import is_here
from workbench.files import names
from workbench.files.names import FileKind
from workbench.inspection.entries import Unread, UnreadKind
from workbench.inspection.findings import Finding, Severity
from workbench.inspection.partition import DiskPartition
from workbench.inspection.remote_tier.remote_log import Gap

T = TypeVar("T")

_WORDS: Final[dict[UnreadKind, tuple[str, str]]] = {
    "not-a-file": (
        "a regular file or a folder",
        "The workbench did not open it. A broker that opens it waits, or fails.",
    ),
    "link-not-followed": (
        "no link, or one to a target inside the directory",
        "The workbench did not follow the link; its target is not known. A broker follows it.",
    ),
    "unreadable": (
        "a file or folder that can be read",
        "The workbench cannot read it. If a broker cannot either, the log directory goes offline.",
    ),
}


def findings_of_unread(unread: Iterable[Unread]) -> Iterator[Finding]:
    """Yield a finding for each; those with a name that no broker looks for are only "info"."""
    for each in unread:
        severity: Severity = "error" if _has_meaning(each.name) else "info"
        expected, broker = _WORDS[each.kind]
        if each.found == "a folder":  # where a name is that of a file
            expected = "a regular file"
        yield Finding(each.kind, severity, each.path, None, None, each.found, expected, broker)


def unreadable(path: str, error: OSError) -> list[Finding]:
    """Return the finding for a file that could not be read; none if a broker has deleted it.

    No broker deletes a file outside this machine: one that is missing there is a finding.
    """
    if isinstance(error, FileNotFoundError) and is_here(path):
        return []
    if isinstance(error, RemoteStorageError):
        broker, wanted = _REMOTE, "a segment that its manifest describes, and its key"
        kind = "remote-unreadable"
        return [Finding(kind, "error", error.path, None, None, error.problem, wanted, broker)]
    return list(findings_of_unread([Unread.of_error("", path, error)]))


def if_readable(read: Callable[[], T]) -> T | None:
    """Return what ``read`` returns; None where the system does not let us read a file."""
    try:
        return read()
    except OSError:
        return None


def findings_about_records(partition: DiskPartition) -> list[Finding]:
    """Return the findings for `.log` files that cannot be read, or for the whole directory."""
    unread_logs = (
        each
        for each in partition.unread
        if not each.name
        or ((name := names.parse_file_name(each.name)) and name.kind == "log" and not name.suffix)
    )
    return [*findings_of_unread(unread_logs), *missing_remote(partition)]


def missing_remote(partition: DiskPartition) -> Iterator[Finding]:
    """Yield a finding for each part of the log that should be in the remote tier and is not."""
    path = partition.path
    for part in partition.remote_parts:
        low, last = part.low, part.high - 1
        if isinstance(part, Gap):
            found = f"no remote segment for the offsets {low} to {last}"
            yield Finding("remote-gap", "error", path, None, low, found, _SEGMENTS, _REMOTE_GAP)
        elif part.segment is None:
            found = f"no .log file, or no manifest, of remote segment {part.metadata.segment_id}"
            wanted = f"the offsets {low} to {last}"
            yield Finding("remote-missing", "error", path, None, low, found, wanted, _REMOTE)


_SEGMENTS: Final = "segments from the log start offset up to the first local one"
_REMOTE: Final = "Consumers that read these offsets from a broker get an error and do not continue."
_REMOTE_GAP: Final = (
    "A broker answers OFFSET_OUT_OF_RANGE there: consumers start over where `auto.offset.reset` "
    "says, or stop."
)


def removed(path: str) -> Finding:
    """Return the finding for a segment that was deleted before its records were read."""
    broker = "A broker deletes segments by retention and compaction while it runs."
    found, expected = "deleted since it was listed", "the records that it held"
    return Finding("unreadable", "info", path, None, None, found, expected, broker)


def unread_kinds(partition: DiskPartition) -> dict[int, set[FileKind]]:
    """Return base offset → kinds of the segment's files that cannot be read."""
    kinds: dict[int, set[FileKind]] = {}
    for each in partition.unread:
        name = names.parse_file_name(each.name)
        if name is not None and not name.suffix:
            kinds.setdefault(name.offset, set()).add(name.kind)
    return kinds


def _has_meaning(name: str) -> bool:
    """Return whether a broker looks for a name, or for the folder itself (no name)."""
    return (
        not name
        or name in names.ROOT_FILES | names.PARTITION_FILES
        or names.parse_file_name(name) is not None
        or names.parse_directory_name(name) is not None
    )
