"""DiskUsage: what fills the disk, from directories down to keys and values."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

import traitlets

import workbench
from widgets._assets import script, style
from widgets._file import Answer
from widgets._widget import KafkaWidget
from widgets.disk.usage_nodes import (
    KEY,
    KIND,
    MOST_READ,
    OCCUPIED,
    PARENT,
    SIZE,
    Node,
    directory_nodes,
    partition_nodes,
    partition_paths,
    segment_nodes,
)
from widgets.live.directory_changes import DirectoryChanges
from widgets.queries import usage_query
from widgets.selection import NOTHING, from_front, segment_with_base, to_front
from widgets.view.text import title_of
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.loaders.tables.disk_usage import LogFileParts
from workbench.runtime.several import several
from workbench.runtime.words import plural, size_text


class DiskUsage(KafkaWidget):
    """Show what fills the disk: directories, topics, partitions, segments, keys, values, headers.

    The sizes of files are shown at once; the records of a segment are read when it is opened.
    Preallocated and sparse files count with what the disk holds of them.

    Attributes:
        at: what is open, as a path of names: topic, partition, base offset of the segment as a
            text, file; if several directories are shown, the path of the directory first. ``()``
            opens everything.
        selected: the partition and segment, see `LogExplorer.selected`; with
            ``traitlets.link((usage, "selected"), (explorer, "selected"))`` both follow each other.
            It is open unless ``at`` says what is; ``at=()`` opens everything.
        query: Python code that gives the sizes that are shown. Read-only.
        logs: the log directories shown.

    Args:
        logs: the result of `workbench.open_log_directory`, or what it opens.

    Raises:
        LogDirectoryError: the path is not a log directory.
        TraitError: there is nothing at the path ``at``.
        TypeError: an unknown option.
    """

    _esm = script("disk/disk_usage.js")
    _css = style("disk/disk_usage.css")

    in_address = ("at",)
    at = traitlets.List(traitlets.Unicode()).tag(sync=True)
    selected: Any = traitlets.Dict(NOTHING).tag(sync=True, to_json=to_front, from_json=from_front)
    query = traitlets.Unicode(read_only=True).tag(sync=True)
    _usage: Any = traitlets.Dict().tag(sync=True)
    _partition: Any = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True)
    _segment: Any = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True)

    def __init__(self, logs: Any, *, at: Sequence[str] | None = None, **options: Any) -> None:
        """Open a path, or show an opened directory; see the class."""
        logs = workbench.open_log_directory(logs)
        self.logs = logs
        self._parts = LogFileParts()  # of the open segment
        chosen = options.pop("selected", None)
        super().__init__(**options)
        self._list()
        self._follow()
        if chosen is not None:
            self.selected = chosen
        if at is not None:
            self.at = list(several(at))

    def address(self) -> dict[str, str]:
        """Return what is open."""
        return {"at": "/".join(quote(step, safe="") for step in self.at)} if self.at else {}

    def show_address(self, parts: Mapping[str, str]) -> None:
        """Open what an address says; by default everything."""
        self.at = [unquote(step) for step in parts.get("at", "").split("/") if step]

    # What is open.

    @traitlets.validate("at")
    def _is_there(self, proposal: Any) -> list[str]:
        path: list[str] = list(proposal["value"])
        if self._find(path) is None:
            raise traitlets.TraitError(f"nothing to open at {path}")
        return path

    def path_of(self, name: str) -> list[str]:
        """Return what `at` is to be, so that a partition is open.

        Raises:
            KeyError: no partition has that name.
        """
        return list(self._paths[name])

    @traitlets.observe("at")
    def _open(self, _change: Any) -> None:
        self._follow()

    @traitlets.observe("selected")
    def _go(self, change: Any) -> None:
        """Open the partition that another widget has selected; its segment if one is open."""
        new, old = NOTHING | change["new"], NOTHING | (change["old"] or {})
        name, base = new["partition"], new["segment"]
        if name not in self.logs.listing.partitions or (name, base) == (
            old["partition"],
            old["segment"],
        ):
            return
        partition, segment = self._place(self.at)
        path = self._paths[name]
        if partition is None or partition is not self.logs.listing.partitions[name]:
            self.at = path
        elif segment is not None and base is not None and base != segment.base_offset:
            self.at = [*path, str(base)]

    def _follow(self) -> None:
        """Read and send what is inside of what is open."""
        partition, segment = self._place(self.at)
        name = self._name_of(partition)
        self._picture = None
        with self.hold_sync():
            if name != (self._partition or {}).get("name"):
                nodes = partition_nodes(partition) if partition else []
                self._partition = {"name": name, "nodes": nodes} if partition else None
            base = None if segment is None else str(segment.base_offset)
            if (name, base) != self._segment_place():
                self._parts = LogFileParts()
                self._segment = self._sent(name, segment, self._parts) if segment else None
            selected = NOTHING | self.selected
            if name is not None and (
                selected["partition"] != name
                or (segment and selected["segment"] != segment.base_offset)
            ):
                chosen = segment.base_offset if segment else None
                self.selected = NOTHING | {"partition": name, "segment": chosen}
            paths = [str(root.path) for root in self.logs.listing.roots]
            self.set_trait("query", usage_query(paths, self._topic(), partition, segment))

    def _sent(
        self, name: str | None, segment: Segment, parts: LogFileParts | None = None
    ) -> dict[str, Any]:
        base, nodes = str(segment.base_offset), segment_nodes(segment, parts)
        return {"partition": name, "base": base, "nodes": nodes}

    def _segment_place(self) -> tuple[str | None, str | None]:
        held = self._segment or {}
        return (held.get("partition"), held.get("base")) if held else (None, None)

    def _name_of(self, partition: DiskPartition | None) -> str | None:
        listed = self.logs.listing.partitions.items()
        return next((name for name, each in listed if each is partition), None)

    def _topic(self) -> str | None:
        found = self._find(self.at)
        if found is None or found[0] is None:
            return None
        nodes = self._usage["nodes"]
        node = nodes[found[0]]
        while node[KIND] != "topic" and node[PARENT] >= 0:
            node = nodes[node[PARENT]]
        return str(node[KEY]) if node[KIND] == "topic" else None

    def _find(self, path: Sequence[str]) -> tuple[int | None, list[str]] | None:
        """Return the node of the tree that a path leads to, and the rest of it below a partition.

        None if it leads nowhere.
        """
        nodes = self._usage.get("nodes", [])
        at: int | None = None
        for step, key in enumerate(path):
            above = -1 if at is None else at
            if at is not None and nodes[at][KIND] == "partition":
                rest = list(path[step:])
                return (at, rest) if self._is_inside(str(nodes[at][KEY]), rest) else None
            at = next(
                (i for i, n in enumerate(nodes) if n[PARENT] == above and n[KEY] == key), None
            )
            if at is None:
                return None
        return at, []

    def _is_inside(self, name: str, rest: list[str]) -> bool:
        """Return whether a path below a partition leads to something that can be opened."""
        partition = self.logs.listing.partitions[name]
        level = [n for n in partition_nodes(partition) if n[PARENT] < 0 and n[KEY] == rest[0]]
        if not level or len(rest) == 1:
            return bool(level)
        segment = segment_with_base(partition, int(rest[0])) if rest[0].isdecimal() else None
        return segment is not None and len(rest) == 2 and rest[1] in segment.files

    def _place(self, path: Sequence[str]) -> tuple[DiskPartition | None, Segment | None]:
        found = self._find(path)
        if found is None or found[0] is None:
            return None, None
        node, rest = self._usage["nodes"][found[0]], found[1]
        if node[KIND] != "partition":
            return None, None
        partition = self.logs.listing.partitions[node[KEY]]
        base = int(rest[0]) if rest and rest[0].isdecimal() else None
        return partition, segment_with_base(partition, base)

    def answer_refresh(self) -> Answer:
        """List the directory again."""
        self.refresh()
        return {}, []

    def refresh(self) -> None:
        """List the log directories again, because a broker may have written since."""
        logs = self.logs.listed_again()
        every = frozenset(logs) | frozenset(self.logs)
        self.relist(logs, DirectoryChanges(every, every))

    def relist(self, logs: workbench.LogDirectory, written: DirectoryChanges) -> None:
        """Take over the directories as they are listed now; what is open stays open.

        Of a segment that grew, only what is new is read.
        """
        self.logs = logs
        path = list(self.at)
        name = (self._partition or {}).get("name")
        with self.hold_sync():
            self._list()
            while self._find(path) is None:
                path.pop()
            if name in written.changed:
                partition, segment = self._place(path)
                if partition is None or self._name_of(partition) != name:
                    self._partition = None
                else:
                    self._partition = {"name": name, "nodes": partition_nodes(partition)}
                if name in written.rewritten or segment is None:
                    self._segment = None
                elif self._segment is not None:
                    self._segment = self._sent(name, segment, self._parts)
            self.at = path
            self._follow()

    def _list(self) -> None:
        """Send the tree down to the partitions."""
        listing = self.logs.listing
        nodes = directory_nodes(listing)
        self._paths = partition_paths(nodes)
        paths = [str(root.path) for root in listing.roots]
        self._usage = {
            **title_of(paths),
            "nodes": nodes,
        }

    # Without a kernel, and without a browser.

    def inputs(self) -> list[str]:
        """Return the paths of the log directories."""
        return [root.path for root in self.logs.roots]

    def foreseen_answers(self) -> Iterable[tuple[str, dict[str, Any], Answer]]:
        """Yield those about partitions, the largest first, then about segments of the open one."""
        partitions = self.logs.listing.partitions
        for name in sorted(partitions, key=lambda each: -partitions[each].size):
            path = self._paths[name]
            sent = {"name": name, "nodes": partition_nodes(partitions[name])}
            yield "inside", {"path": path}, ({"path": path, "partition": sent}, [])
        partition, _ = self._place(self.at)
        name, read = self._name_of(partition), 0
        if partition is None or name is None:
            return
        for segment in partition.segments:
            read += min(segment.size, MOST_READ)
            if read > MOST_READ:
                return
            path = [*self._paths[name], str(segment.base_offset)]
            content = {"path": path, "segment": self._sent(name, segment)}
            yield "inside", {"path": path}, (content, [])

    @property
    def sizes(self) -> tuple[int, int]:
        """Bytes of all files: their lengths, and what the disk holds of them."""
        top: list[Node] = [node for node in self._usage["nodes"] if node[PARENT] < 0]
        return sum(node[SIZE] for node in top), sum(node[OCCUPIED] for node in top)

    def describe(self) -> str:
        """Describe the widget in one line, where no picture can be shown."""
        size, occupied = self.sizes
        kinds = [node[KIND] for node in self._usage["nodes"]]
        told = f"{plural(kinds.count('topic'), 'topic')}, {size_text(occupied)}"
        if size != occupied:
            told += f" on the disk, {size_text(size)} with holes"
        place = " / ".join(self.at)
        return f"DiskUsage: {self._usage['title']}: {told}" + (f"; open: {place}" if place else "")

    def to_png(self) -> bytes:
        """Draw what is open. Imports matplotlib."""
        if self._picture is None:
            from widgets.disk.usage_picture import usage_picture

            self._picture = usage_picture(self._usage, self._partition, self._segment, self.at)
        return self._picture
