"""Check a partition directory's files beside its segments: leftovers, orphans, wrong names.

A cleaning writes `.cleaned` files, renames them `.swap` when all are complete, and then replaces
the old ones. So a broker deletes a `.swap` beside a `.cleaned` of a lower or equal offset, because
its cleaning is incomplete; any other `.swap` replaces all segments in its range.

Kafka: LogLoader.removeTempFilesAndCollectSwapFiles, LogLoader.load (4.2)
"""

from collections.abc import Iterator, Sequence
from typing import Final

from workbench.config.broker_rules import BrokerRules, SwapRule
from workbench.files import names
from workbench.files.names import CLEANED, DELETED, SWAP, FileName
from workbench.inspection.entries import FileEntry
from workbench.inspection.findings import Finding, Severity
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import findings_of_unread

Named = tuple[FileEntry, FileName]

HALF_WRITTEN: Final = "A broker stopped while it wrote the file: its next write replaces the file."
IGNORED: Final = "A broker ignores the file."
_SUFFIX_KINDS: Final[dict[str, tuple[str, Severity]]] = {
    DELETED: ("leftover-deleted", "info"),
    CLEANED: ("leftover-cleaned", "info"),
    SWAP: ("leftover-swap", "warning"),
}


def swaps(partition: DiskPartition) -> list[Named]:
    """Return the `.swap` files that a broker would rename to segments."""
    named = _named(partition)
    if not named:
        return []
    lowest = _lowest_cleaned(named)
    return [(entry, name) for entry, name in named if name.suffix == SWAP and name.offset < lowest]


def swap_ranges(partition: DiskPartition) -> list[tuple[int, FileEntry]]:
    """Return base offset and `.log.swap` file of the swaps that a broker would complete."""
    return [(name.offset, entry) for entry, name in swaps(partition) if name.kind == "log"]


def verify_leftovers(partition: DiskPartition, rules: BrokerRules) -> Iterator[Finding]:
    """Yield a finding for each segment that has leftover files, and for each other odd file.

    Args:
        partition: the partition.
        rules: of the broker that findings speak of.
    """
    yield from findings_of_unread(partition.unread)
    named = _named(partition)
    lowest = _lowest_cleaned(named) if rules.undoes_partial_swaps else names.MAX_OFFSET
    groups: dict[tuple[int, str], list[Named]] = {}
    for entry, name in named:
        groups.setdefault((name.offset, name.suffix), []).append((entry, name))
    for (offset, suffix), group in sorted(groups.items()):
        kind, severity = _SUFFIX_KINDS.get(suffix, ("leftover-temporary", "info"))
        files = sorted(group, key=lambda pair: pair[1].kind != "log")
        size = sum(entry.size for entry, _ in group)
        found = f"{', '.join(entry.name for entry, _ in files)}: {size} bytes"
        broker = _consequence(suffix, offset, files, lowest, rules)
        yield Finding(kind, severity, files[0][0].path, None, offset, found, "", broker)
    for entry in partition.leftovers:
        if names.parse_file_name(entry.name) is None:
            broker = HALF_WRITTEN
            kind = "leftover-temporary"
            yield Finding(kind, "info", entry.path, None, None, f"{entry.size} bytes", "", broker)
    yield from _orphans(partition, {offset for offset, _ in swap_ranges(partition)})
    yield from _unknown(partition)


def _named(partition: DiskPartition) -> list[Named]:
    return [
        (entry, name)
        for entry in partition.leftovers
        if (name := names.parse_file_name(entry.name)) is not None
    ]


def _lowest_cleaned(named: Sequence[Named]) -> int:
    """Return the lowest offset of a `.cleaned` file: swaps at or after it are incomplete."""
    offsets = [name.offset for _, name in named if name.suffix == CLEANED]
    return min(offsets, default=names.MAX_OFFSET)


def _consequence(
    suffix: str, offset: int, files: Sequence[Named], lowest: int, rules: BrokerRules
) -> str:
    if suffix == DELETED and files[0][1].kind != "checkpoint":
        return "A broker deletes these files a minute after it renamed them, or when it starts."
    if suffix == CLEANED:
        return "A broker deletes these files when it starts: their cleaning is incomplete."
    if suffix != SWAP:
        return "A controller deletes these files when it starts."
    if offset >= lowest:
        return (
            f"A broker deletes these files when it starts: {lowest:020d} is still .cleaned, so "
            "their cleaning is incomplete."
        )
    if files[0][1].kind != "log":
        return (
            "A broker removes .swap from the names when it starts."
            if rules.swaps is SwapRule.RENAME_ALL
            else "A broker removes these files when it starts, and rebuilds the indexes."
        )
    swaps = {
        SwapRule.RENAME_ALL: "deletes the segments whose base offsets are between {} and the end "
        "of this segment, then removes .swap from its name.",
        SwapRule.RECOVER_OVERLAPPING: "reads this segment, rebuilds its indexes, deletes the "
        "segments with offsets from {} to its end, then removes .swap from its name.",
        SwapRule.RECOVER_FROM_FLOOR: "reads this segment, rebuilds its indexes, deletes the "
        "segments with base offsets from {} to its end, and the one before if none begins at {}, "
        "then removes .swap from its name.",
        SwapRule.RENAME_LOG: "removes .swap from its name and rebuilds its index; other segments "
        "with offsets of {} or above are kept.",
    }
    return f"A broker completes the swap when it starts: it {swaps[rules.swaps]}".format(
        *[offset] * 2
    )


def _orphans(partition: DiskPartition, swapped: set[int]) -> Iterator[Finding]:
    for entry in partition.orphans:
        name = names.parse_file_name(entry.name)
        if name is None or name.offset in swapped:
            continue
        broker = "A broker deletes the index when it loads the partition."
        found, wanted = f"{entry.size} bytes", f"{names.file_name('log', name.offset)} beside it"
        yield Finding("orphan", "warning", entry.path, None, name.offset, found, wanted, broker)


def _unknown(partition: DiskPartition) -> Iterator[Finding]:
    for entry in partition.unknown:
        kind = names.misnamed_kind(entry.name)
        found = f"{entry.size} bytes"
        if kind is None:
            broker = IGNORED
            yield Finding("unknown-file", "info", entry.path, None, None, found, "", broker)
            continue
        prefix = entry.name.split(".")[0]
        if kind == "snapshot" or prefix.isdecimal():
            severity: Severity = "warning"
            broker = (
                f"A broker parses the number {prefix} and opens the file that has it as 20 "
                "digits: it does not read this one."
                if prefix.isdecimal()
                else "A broker fails when it parses the number that the name should begin with."
            )
        else:
            severity = "error"
            broker = (
                "A broker does not start: it parses the text before the first dot as a number "
                "(NumberFormatException)."
            )
        wanted = "20 digits before the first dot"
        yield Finding("file-name", severity, entry.path, None, None, found, wanted, broker)
    for folder in partition.folders:
        path = f"{partition.path}/{folder}"
        broker = "A broker ignores folders inside a partition directory."
        yield Finding("unknown-folder", "info", path, None, None, "a folder", "", broker)
