"""Check what lies in a partition's folder beside its segments: leftovers, orphans, wrong names.

A cleaning writes `.cleaned` files, renames them `.swap` when all are complete, and then replaces
the old ones. So a `.swap` beside a `.cleaned` of a lower or equal offset is incomplete and is
thrown away; any other is put in place of whatever lies in its range.

Kafka: LogLoader.removeTempFilesAndCollectSwapFiles, LogLoader.load (4.2)
"""

from collections.abc import Iterator, Sequence
from typing import Final

from workbench.files import names
from workbench.files.names import CLEANED, DELETED, SWAP, FileName
from workbench.inspection.entries import FileEntry
from workbench.inspection.findings import Finding, Severity
from workbench.inspection.partition import Partition

Named = tuple[FileEntry, FileName]

_SUFFIX_KINDS: Final[dict[str, tuple[str, Severity]]] = {
    DELETED: ("leftover-deleted", "info"),
    CLEANED: ("leftover-cleaned", "info"),
    SWAP: ("leftover-swap", "warning"),
}


def swaps(partition: Partition) -> list[Named]:
    """Return the `.swap` files that a broker would put in place."""
    named = _named(partition)
    lowest = _lowest_cleaned(named)
    return [(entry, name) for entry, name in named if name.suffix == SWAP and name.offset < lowest]


def swap_ranges(partition: Partition) -> list[tuple[int, FileEntry]]:
    """Return base offset and `.log.swap` file of the swaps that a broker would complete."""
    return [(name.offset, entry) for entry, name in swaps(partition) if name.kind == "log"]


def verify_leftovers(partition: Partition) -> Iterator[Finding]:
    """Yield a finding for each segment that has leftover files, and for each other odd file."""
    named = _named(partition)
    lowest = _lowest_cleaned(named)
    groups: dict[tuple[int, str], list[Named]] = {}
    for entry, name in named:
        groups.setdefault((name.offset, name.suffix), []).append((entry, name))
    for (offset, suffix), group in sorted(groups.items()):
        kind, severity = _SUFFIX_KINDS.get(suffix, ("leftover-temporary", "info"))
        files = sorted(group, key=lambda pair: pair[1].kind != "log")
        size = sum(entry.size for entry, _ in group)
        found = f"{', '.join(entry.name for entry, _ in files)}: {size} bytes"
        broker = _consequence(suffix, offset, files, lowest)
        yield Finding(kind, severity, files[0][0].path, None, offset, found, "", broker)
    for entry in partition.leftovers:
        if names.parse_file_name(entry.name) is None:
            broker = "It was being written when the broker stopped: the next writing replaces it."
            kind = "leftover-temporary"
            yield Finding(kind, "info", entry.path, None, None, f"{entry.size} bytes", "", broker)
    yield from _orphans(partition, {offset for offset, _ in swap_ranges(partition)})
    yield from _unknown(partition)


def _named(partition: Partition) -> list[Named]:
    return [
        (entry, name)
        for entry in partition.leftovers
        if (name := names.parse_file_name(entry.name)) is not None
    ]


def _lowest_cleaned(named: Sequence[Named]) -> int:
    """Return the lowest offset of a `.cleaned` file: swaps from there on are incomplete."""
    offsets = [name.offset for _, name in named if name.suffix == CLEANED]
    return min(offsets, default=names.MAX_OFFSET)


def _consequence(suffix: str, offset: int, files: Sequence[Named], lowest: int) -> str:
    if suffix == DELETED:
        if files[0][1].kind == "checkpoint":
            return "A controller deletes it when it starts."
        return "A broker deletes it a minute after it was renamed, or when it starts."
    if suffix == CLEANED:
        return "A broker deletes it when it starts: the cleaning it is of was not finished."
    if suffix != SWAP:
        return "A controller deletes it when it starts."
    if offset >= lowest:
        return (
            f"A broker deletes it when it starts: {lowest:020d} is still .cleaned, so not all "
            "segments of this cleaning were complete."
        )
    if files[0][1].kind != "log":
        return (
            "Since 3.0 a broker renames it into place when it starts; before, it deletes it and "
            "builds the index anew."
        )
    return (
        "A broker puts it in the log when it starts: it deletes the segments whose base offsets "
        f"lie from {offset} to the end of this one, then takes .swap off its name. (Before 3.0 it "
        "also reads it and builds its indexes anew, and up to 1.1 the segment before may go, too.)"
    )


def _orphans(partition: Partition, swapped: set[int]) -> Iterator[Finding]:
    for entry in partition.orphans:
        name = names.parse_file_name(entry.name)
        if name is None or name.offset in swapped:
            continue
        broker = "A broker deletes it when it loads the partition."
        found, wanted = f"{entry.size} bytes", f"{names.file_name('log', name.offset)} beside it"
        yield Finding("orphan", "warning", entry.path, None, name.offset, found, wanted, broker)


def _unknown(partition: Partition) -> Iterator[Finding]:
    for entry in partition.unknown:
        kind = names.misnamed_kind(entry.name)
        found = f"{entry.size} bytes"
        if kind is None:
            broker = "A broker takes no notice of it."
            yield Finding("unknown-file", "info", entry.path, None, None, found, "", broker)
            continue
        prefix = entry.name.split(".")[0]
        if kind == "snapshot" or prefix.isdecimal():
            severity: Severity = "warning"
            broker = (
                f"A broker reads the number {prefix}, and looks for the file of that name with 20 "
                "digits: what is in this one is not read."
                if prefix.isdecimal()
                else "A broker fails when it parses the number that the name should begin with."
            )
        else:
            severity = "error"
            broker = (
                "A broker does not start: it takes what stands before the first dot for a number "
                "(NumberFormatException)."
            )
        wanted = "20 digits before the first dot"
        yield Finding("file-name", severity, entry.path, None, None, found, wanted, broker)
    for folder in partition.folders:
        path = f"{partition.path}/{folder}"
        broker = "A broker takes no notice of folders inside a partition's."
        yield Finding("unknown-folder", "info", path, None, None, "a folder", "", broker)
