"""What fills the disk, as nodes of a treemap: directories, topics, partitions, segments, parts.

A node is a list: key (its own among its siblings), name, index of its parent (-1: none), kind,
bytes of the files' lengths, bytes that the disk holds, a note, and whether it is quiet (Kafka's
own). Parents come first.
"""

from collections.abc import Iterable
from typing import Any, Final

from widgets.view.text import short_names
from widgets.view.tree import KINDS
from workbench.inspection.entries import FileEntry
from workbench.inspection.listing import Listing, Root
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.loaders.tables.disk_usage import FilePart, LogFileParts, file_kind, parts_of_file
from workbench.runtime.words import plural, short_name, size_text

Node = list[Any]

KEY, NAME, PARENT, KIND, SIZE, OCCUPIED = range(6)

OTHER: Final = "other files"
"""Key of the node that holds the files of a directory that belong to no segment."""

REMOTE: Final = "remote tier"
"""Key of the node that holds the segments in the remote tier."""

MOST_READ: Final = 256 << 20
"""Bytes of a `.log` file that are decoded; the parts of a larger one are estimated from them."""

_MOST_WITH_FILES: Final = 2000  # segments; with more, their files are not nodes
_FILES: Final = {
    "log": "records",
    "index": "offset index",
    "timeindex": "time index",
    "txnindex": "transaction index",
}
_PARTS: Final = {"entries": "index entries", "whole": "contents", "unreadable": "not readable"}


def directory_nodes(listing: Listing) -> list[Node]:
    """Return directories (if there are several), topics, partitions, and the other files.

    Only names and sizes are read.
    """
    nodes: list[Node] = []
    names = {id(partition): name for name, partition in listing.partitions.items()}
    short = short_names([root.path for root in listing.roots])
    for root, name in zip(listing.roots, short, strict=True):
        parent = -1
        if len(listing.roots) > 1:
            parent = _add(nodes, root.path, name, -1, "directory", note=root.path)
        _add_topics(nodes, root, parent, names)
        if root.files:
            _add_files(nodes, parent, ((file.name, file) for file in root.files))
    _sum_up(nodes)
    return nodes


def partition_paths(nodes: list[Node]) -> dict[str, list[str]]:
    """Return name of a partition → the keys that lead to it, from `directory_nodes`."""
    paths: list[list[str]] = []
    for node in nodes:
        above = paths[node[PARENT]] if node[PARENT] >= 0 else []
        paths.append([*above, node[KEY]])
    told = zip(nodes, paths, strict=True)
    return {node[KEY]: path for node, path in told if node[KIND] == "partition"}


def partition_nodes(partition: DiskPartition) -> list[Node]:
    """Return the segments of a partition with their files, and its other files.

    Of segments in the remote tier, the disk holds nothing.
    """
    nodes: list[Node] = []
    told = set()
    with_files = len(partition.segments) <= _MOST_WITH_FILES
    for segment in partition.segments:
        files = list(segment.files.items())
        told |= {entry.name for _, entry in files}
        at = _add(nodes, str(segment.base_offset), f"{segment.base_offset:,}", -1, "segment",
                  note="active" if segment.is_active else "")  # fmt: skip
        if with_files:
            for kind, entry in files:
                _add(
                    nodes,
                    kind,
                    _FILES.get(kind, kind),
                    at,
                    kind,
                    entry,
                    note=short_name(entry.name),
                )
        else:
            nodes[at][SIZE] = sum(entry.size for _, entry in files)
            nodes[at][OCCUPIED] = sum(entry.occupied for _, entry in files)
    rest = [(file_kind(file, partition), file) for file in partition.files if file.name not in told]
    if rest:
        _add_files(nodes, -1, rest)
    _add_remote(nodes, partition)
    _sum_up(nodes)
    return nodes


def _add_remote(nodes: list[Node], partition: DiskPartition) -> None:
    """Append the remote segments that are read, below a node of their own."""
    found = partition.remote_segments
    if not found:
        return
    note = f"{plural(len(found), 'segment')}, not on this disk"
    above = _add(nodes, REMOTE, REMOTE, -1, "files", note=note, is_quiet=True)
    for segment in found:
        name = short_name(segment.files["log"].name)
        at = _add(nodes, segment.path, name, above, "file", note="remote", is_quiet=True)
        nodes[at][SIZE] = segment.size


def segment_nodes(segment: Segment, read: LogFileParts | None = None) -> list[Node]:
    """Return the files of a segment with their parts: reads its records, up to `MOST_READ`.

    Args:
        segment: the segment.
        read: what was read of it before it grew; it is updated.
    """
    nodes: list[Node] = []
    for kind, entry in segment.files.items():
        note = short_name(entry.name)
        if kind == "log" and entry.size > MOST_READ:
            note += f", estimated from its first {size_text(MOST_READ)}"
        at = _add(nodes, kind, _FILES.get(kind, kind), -1, kind, entry, note=note)
        for part in parts_of_file(segment, kind, most=MOST_READ, read=read):
            _add_part(nodes, part, at)
    return nodes


def _add_part(nodes: list[Node], part: FilePart, parent: int) -> None:
    name = _PARTS.get(part.name, part.name)
    note = ""
    if part.uncompressed is not None and part.uncompressed != part.size:
        note = f"{size_text(part.uncompressed)} before compression"
    nodes.append([part.name, name, parent, part.name, part.size, part.occupied, note, False])


def _add(
    nodes: list[Node],
    key: str,
    name: str,
    parent: int,
    kind: str,
    entry: FileEntry | None = None,
    *,
    note: str = "",
    is_quiet: bool = False,
) -> int:
    """Append a node and return its index."""
    size, occupied = (entry.size, entry.occupied) if entry else (0, 0)
    nodes.append([key, name, parent, kind, size, occupied, note, is_quiet])
    return len(nodes) - 1


def _add_topics(nodes: list[Node], root: Root, parent: int, names: dict[int, str]) -> None:
    topics: dict[str, int] = {}
    counts: dict[int, int] = {}
    for partition in root.partitions:
        topic = partition.topic
        is_quiet = topic.startswith("__")
        if topic not in topics:
            topics[topic] = _add(nodes, topic, topic, parent, "topic", is_quiet=is_quiet)
        above = topics[topic]
        counts[above] = counts.get(above, 0) + 1
        number = str(partition.partition) if partition.kind == "log" else partition.name
        at = _add(
            nodes, names[id(partition)], number, above, "partition",
            note=KINDS.get(partition.kind) or plural(len(partition.segments), "segment"),
            is_quiet=is_quiet,
        )  # fmt: skip
        nodes[at][SIZE] = sum(file.size for file in partition.files)
        nodes[at][OCCUPIED] = sum(file.occupied for file in partition.files)
    for at, count in counts.items():
        nodes[at][6] = plural(count, "partition")


def _add_files(nodes: list[Node], parent: int, files: Iterable[tuple[str, FileEntry]]) -> None:
    """Append the files that belong to no segment, below a node of their own."""
    above = _add(nodes, OTHER, OTHER, parent, "files", is_quiet=True)
    for kind, entry in files:
        is_kind = kind not in {entry.name, "unknown"}
        note = kind if is_kind or kind == "unknown" else ""
        _add(nodes, entry.name, entry.name, above, "file", entry, note=note, is_quiet=True)
    nodes[above][6] = plural(len(nodes) - above - 1, "file")


def _sum_up(nodes: list[Node]) -> None:
    """Add the bytes of each node to its parent."""
    for node in reversed(nodes):
        if node[PARENT] >= 0:
            nodes[node[PARENT]][SIZE] += node[SIZE]
            nodes[node[PARENT]][OCCUPIED] += node[OCCUPIED]
