"""The tree of log directories, topics, partitions and other files, as nodes of a list.

A node names its parent by its index in the list, which is below its own. Files that no broker would
write are in the tree as well, marked, never left out.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from workbench.inspection.brokers import listings_by_broker
from workbench.inspection.entries import Unread
from workbench.inspection.listing import Listing, Root
from workbench.inspection.partition import DiskPartition

MOST_LOOKED_INTO = 2000
"""With more partitions, their directories are not listed; sizes and odd files are not shown."""

KINDS: Final = {"delete": "to be deleted", "future": "future", "stray": "stray"}

Node = dict[str, Any]


def tree_nodes(listing: Listing) -> list[Node]:
    """Return the nodes of a listing, parents first.

    Args:
        listing: the opened log directories.

    Returns:
        ``key`` (for a partition: its name in ``listing.partitions``), ``name``, ``parent`` (index
        in the list or -1), ``kind`` ("root", "topic", "partition", "file"), ``size`` (bytes or
        None), ``quiet``, and optionally ``chip``, ``title``.
    """
    nodes: list[Node] = []
    names = {id(partition): name for name, partition in listing.partitions.items()}
    deep = len(names) <= MOST_LOOKED_INTO
    brokers = listings_by_broker(listing)
    for root in listing.roots:
        parent = -1
        if len(listing.roots) > 1:
            owner = [node_id for node_id, own in brokers.items() if root in own.roots]
            chip = f"broker {owner[0]}" if len(brokers) > 1 else None
            parent = _add(nodes, f"root {root.path}", root.path, -1, "root", chip=chip)
        _add_topics(nodes, root, parent, lambda p: names[id(p)], deep=deep)
        _add_files(nodes, root, parent)
    return nodes


def _add(nodes: list[Node], key: str, name: str, parent: int, kind: str, **more: Any) -> int:
    """Append a node and return its index."""
    node = {"key": key, "name": name, "parent": parent, "kind": kind, "size": None, "quiet": False}
    nodes.append(node | more)
    return len(nodes) - 1


def _add_topics(
    nodes: list[Node],
    root: Root,
    parent: int,
    key_of: Callable[[DiskPartition], str],
    *,
    deep: bool,
) -> None:
    """Append the topics of a log directory, Kafka's own last, each with its partitions."""
    topics: dict[str, list[DiskPartition]] = {}
    for partition in root.partitions:
        topics.setdefault(partition.topic, []).append(partition)
    for topic in sorted(topics, key=lambda name: (name.startswith("__"), name)):
        members = topics[topic]
        size = sum(each.size for each in members) if deep else None
        place = _add(
            nodes,
            f"topic {root.path} {topic}",
            topic,
            parent,
            "topic",
            size=size,
            quiet=topic.startswith("__"),
        )
        for partition in members:
            at = _add(
                nodes,
                key_of(partition),
                str(partition.partition) if partition.kind == "log" else partition.name,
                place,
                "partition",
                size=partition.size if deep else None,
                quiet=topic.startswith("__"),
                chip=KINDS.get(partition.kind),
                title=f"{partition.name} in {partition.root or partition.path}",
            )
            if deep:
                _add_odd_files(nodes, partition, at)


def _add_odd_files(nodes: list[Node], partition: DiskPartition, parent: int) -> None:
    """Append the files of a partition that do not belong to its segments in use."""
    for chip, files in (
        ("leftover", partition.leftovers),
        ("orphan", partition.orphans),
        ("unknown", partition.unknown),
    ):
        for file in files:
            _add(nodes, file.path, file.name, parent, "file", size=file.size, quiet=True, chip=chip)
    for folder in partition.folders:
        _add(nodes, f"{partition.path}/{folder}", folder, parent, "file", quiet=True, chip="folder")
    _add_unread(nodes, partition.unread, parent)


def _add_unread(nodes: list[Node], unread: Iterable[Unread], parent: int) -> None:
    """Append what has a name but is not read: FIFOs, devices, links that lead out."""
    for each in unread:
        _add(
            nodes, each.path, each.name or each.path, parent, "file",
            quiet=True, chip="not read", title=each.found,
        )  # fmt: skip


def _add_files(nodes: list[Node], root: Root, parent: int) -> None:
    """Append the plain files of a log directory, and the folders that are not partitions."""
    if not root.files and not root.unknown_folders and not root.unread:
        return
    place = _add(nodes, f"files {root.path}", "Files of the directory", parent, "files", quiet=True)
    unknown = set(root.unknown)
    for file in root.files:
        chip = "unknown" if file in unknown else None
        _add(nodes, file.path, file.name, place, "file", size=file.size, quiet=True, chip=chip)
    for folder in root.unknown_folders:
        _add(nodes, f"{root.path}/{folder}", folder, place, "file", quiet=True, chip="not a log")
    _add_unread(nodes, root.unread, place)
