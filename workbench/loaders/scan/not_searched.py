"""What a search, a scan or an export did not look at, so that "nothing" is said of the rest alone.

A broker reads the segments in use, from the log start offset on. A customer's name can also be
in a segment that is about to be deleted, in a folder that is marked for deletion, below the log
start offset, in a remote segment, or in bytes that cannot be read.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from workbench.files.names import parse_file_name
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition
from workbench.loaders.queries.ranges import HIGHEST, LOWEST
from workbench.loaders.scan.plan import out_of_use
from workbench.runtime.words import plural

Kind = Literal[
    "leftover", "snapshot", "below-start", "folder", "internal", "remote", "unknown", "damaged",
    "undecodable", "not-json",
]  # fmt: skip

INCLUDED: Final = frozenset({"leftover", "snapshot", "below-start", "folder", "internal"})
"""The kinds that ``everything`` includes."""

_FOLDERS: Final = {
    "delete": "is marked for deletion",
    "stray": "is a stray",
    "future": "is a copy for another disk",
}
RESCUED: Final = frozenset({"crc", "record"})
"""The kinds of findings about batches whose other records ``rescue`` reads."""

_NAMES: Final[dict[str, tuple[str, str]]] = {
    "leftover": ("file that is out of use", "files that are out of use"),
    "snapshot": ("metadata snapshot", "metadata snapshots"),
    "below-start": ("log below its start offset", "logs below their start offsets"),
    "folder": ("folder that is not in use", "folders that are not in use"),
    "remote": ("log below its first local segment", "logs below their first local segments"),
    "unknown": ("unknown file or folder", "unknown files and folders"),
    "damaged": ("damaged place", "damaged places"),
    "undecodable": ("place that cannot be decoded", "places that cannot be decoded"),
    "not-json": ("path into values that are not JSON", "paths into values that are not JSON"),
}


@dataclass(frozen=True)
class NotSearched:
    """Something that was not looked at.

    Attributes:
        kind: why; those in `INCLUDED` are looked at with ``everything``.
        path: the file or folder; empty: no single one.
        what: what it is.
        size: bytes; None: unknown.
    """

    kind: Kind
    path: str
    what: str
    size: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        size = "" if self.size is None else f" ({plural(self.size, 'byte')})"
        return f"{self.path}: {self.what}{size}" if self.path else f"{self.what}{size}"


def left_out(
    listing: Listing,
    searched: Iterable[DiskPartition],
    meant: Iterable[DiskPartition],
    *,
    everything: bool,
) -> list[NotSearched]:
    """Return what is in the directories and is not searched, by names and sizes.

    Args:
        listing: everything that was opened.
        searched: the partitions that are searched.
        meant: those that would be searched with ``everything``.
        everything: whether it was asked for.
    """
    found: list[NotSearched] = []
    chosen = list(searched)
    are_chosen = set(chosen)
    for partition in chosen:
        if not everything:
            found += _out_of_use(partition)
            found += _below_start(partition)
        found += _beside(partition)
    others = [each for each in meant if each not in are_chosen]
    found += [
        NotSearched("folder", each.path, _FOLDERS.get(each.kind, "is not in use"), _size(each))
        for each in others
        if each.kind != "log"
    ]
    found += _internal(each for each in others if each.kind == "log")
    if chosen == [each for each in listing.partitions.values() if each in are_chosen]:
        found += _unknown_in_roots(listing)
    return found


def _internal(partitions: Iterable[DiskPartition]) -> Iterator[NotSearched]:
    """Yield each of Kafka's own topics that is not named, with its size."""
    sizes: Counter[str] = Counter()
    for each in partitions:
        sizes[each.topic] += _size(each)
    for topic, size in sizes.items():
        yield NotSearched("internal", "", f"the topic {topic} is Kafka's own", size)


def _size(partition: DiskPartition) -> int:
    return partition.size + sum(
        read.segment.size for read in out_of_use(partition, LOWEST, HIGHEST)
    )


def _out_of_use(partition: DiskPartition) -> Iterator[NotSearched]:
    for read in out_of_use(partition, LOWEST, HIGHEST):
        entry = read.segment.files["log"]
        if not entry.size:
            continue
        parsed = parse_file_name(entry.name)
        is_snapshot = parsed is not None and not parsed.suffix
        what = "a metadata snapshot" if is_snapshot else "a file that is out of use"
        yield NotSearched("snapshot" if is_snapshot else "leftover", entry.path, what, entry.size)


def _below_start(partition: DiskPartition) -> Iterator[NotSearched]:
    start = partition.log_start_offset
    first = partition.segments[0].base_offset if partition.segments else start
    if first < start:
        what = f"the offsets {first} to {start - 1} are below the log start offset {start}"
        yield NotSearched("below-start", partition.path, what)


def _beside(partition: DiskPartition) -> Iterator[NotSearched]:
    """Yield what no option includes: segments of a tier that is not opened, unknown files."""
    start = partition.checkpoint_start
    if partition.remote is None and start is not None and partition.segments:
        first = partition.segments[0].base_offset
        if start < first:
            what = (
                f"the offsets {start} to {first - 1} are in no local segment; --remote opens a tier"
            )
            yield NotSearched("remote", partition.path, what)
    for entry in partition.unknown:
        yield NotSearched("unknown", entry.path, "Kafka does not know such a file", entry.size)
    for name in partition.folders:
        yield NotSearched("unknown", f"{partition.path}/{name}", "a folder inside of a log")


def _unknown_in_roots(listing: Listing) -> Iterator[NotSearched]:
    for root in listing.roots:
        for entry in root.unknown:
            yield NotSearched("unknown", entry.path, "Kafka does not know such a file", entry.size)
        for name in root.unknown_folders:
            yield NotSearched("unknown", f"{root.path}/{name}", "Kafka does not know such a folder")


def unread_by(findings: Iterable[Finding], unread: int, query: str) -> list[NotSearched]:
    """Return what was tried in vain: damage, values that cannot be decoded, values without JSON.

    Args:
        findings: of the search.
        unread: keys and values that a path of the query could not look into.
        query: the query.
    """
    found = [
        NotSearched(
            "undecodable" if each.kind == "undecoded" else "damaged", each.path, str(each.found)
        )
        for each in findings
        if each.kind not in RESCUED or each.severity == "error"  # what was rescued was read
    ]
    if unread:
        values = plural(unread, "key or value", "keys and values")
        what = f"{values} with the names of the paths in {query!r} are not JSON"
        found.append(NotSearched("not-json", "", what))
    return found


def summary(entries: Collection[NotSearched], option: str = "everything=True") -> str:
    """Return what was not searched as one line; empty if there is nothing.

    Args:
        entries: what was not searched.
        option: how a reader asks for everything.
    """
    given = [each for each in entries if each.kind != "internal"]
    others = internal_topics(
        entries, "name {} with -t" if option.startswith("-") else "name {} in topics"
    )
    if not given:
        return others
    counts = Counter(each.kind for each in given)
    parts = [plural(count, *_NAMES[kind]) for kind, count in counts.items()]
    hint = ""
    if counts.keys() & INCLUDED:
        whom = "them" if counts.keys() <= INCLUDED else "those that can be read"
        hint = f"; {option} includes {whom}"
    text = f"not searched: {', '.join(parts)}; the first: {given[0]}{hint}"
    return f"{text}; {others}" if others else text


def internal_topics(entries: Iterable[NotSearched], how: str) -> str:
    """Return which of Kafka's own topics were left out, as one line; empty if none were.

    Args:
        entries: what was not searched.
        how: what a reader does to get them, such as "name {} with -t".
    """
    count = sum(each.kind == "internal" for each in entries)
    if not count:
        return ""
    what = plural(count, "of Kafka's own topics", "of Kafka's own topics")
    return f"{what} left out: {how.format('it' if count == 1 else 'them')}"
