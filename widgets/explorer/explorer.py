"""LogExplorer: from a log directory down to the bytes of a batch, in the browser.

The kernel reads the selection and sends columns of numbers; the page requests records and bytes.
The front end draws by itself, so panning and zooming work while the kernel is busy.
"""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import traitlets

import workbench
from widgets._assets import script, style
from widgets.explorer.file_view import FileView, find_file, find_unread, nothing_read
from widgets.explorer.following import Following
from widgets.explorer.segment_view import SegmentView
from widgets.queries import view_queries
from widgets.selection import NOTHING, complete, from_front, segment_with_base, to_front
from widgets.verification.verifier import Verifier
from widgets.view.findings import rows_by_place
from widgets.view.meanings import Meanings
from widgets.view.records import AnyMask
from widgets.view.segments import strip_columns
from widgets.view.text import title_of
from widgets.view.tree import MOST_LOOKED_INTO, tree_nodes
from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.runtime.words import plural, size_text

if TYPE_CHECKING:
    from workbench.values.registry import AnyDecoding


class LogExplorer(Following):
    """Look around in a log directory: topics, segments, batches, index entries, records, bytes.

    Attributes:
        selected: the selection, as numbers: ``partition``, ``segment`` (base offset),
            ``position`` (the batch's), ``offset`` (the record's). Set any of them: the rest is
            filled in from it.
        view: the range of the segment's bytes that the map shows: [from, to).
        file: the path of a listed file that is shown instead of the partition; None without one.
        color_by: "codec", "producer" or "epoch": what the colors of the batches mean.
        show_values: whether keys, values and headers are shown; otherwise their bytes do not leave
            the kernel.
        query: name of a view → Python code that gives what it shows. Read-only.
        follow: whether new batches, segments and partitions appear as a broker writes them.
        logs: the log directories shown.
        lens: how much of keys, values and headers is shown.
        shown: the selected segment as read; None without one, or while the widget rests.
        rests: whether the selected segment is not read yet, because the widget is not visible.

    Args:
        logs: the result of `workbench.open_log_directory`, or what it opens.
        show_values: None: values are shown, and are not in saved notebooks nor in pages of
            `to_html`; True: they are there, too.
        mask: a function of "key", "value" or "header" and the bytes; it returns the bytes to show.
            Or rules, as `LogDirectory.scan` takes them.
        decode: how key and value are shown, as in `LogDirectory.scan`; by default as people read
            them, see `workbench.values.readable`. Kafka's own topics are decoded anyway. With a
            mask, nothing is.
        verifier: what verifies the directories, if several widgets show its findings.
        rests: see the attribute.

    Raises:
        LogDirectoryError: the path is not a log directory.
        SchemaError: a column other than key and value is to be decoded.
        TypeError: an unknown option.
    """

    _esm = script("explorer/explorer.js")
    _css = style()

    selected = traitlets.Dict(NOTHING).tag(sync=True, to_json=to_front, from_json=from_front)
    file: Any = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    view = traitlets.List(traitlets.Float()).tag(sync=True)
    color_by = traitlets.Enum(("codec", "producer", "epoch"), "codec").tag(sync=True)
    query = traitlets.Dict(read_only=True).tag(sync=True)
    _directory = traitlets.Dict().tag(sync=True)
    _strip: Any = traitlets.Dict(allow_none=True).tag(sync=True)
    _segment: Any = traitlets.Dict(allow_none=True).tag(sync=True)
    _file: Any = traitlets.Dict(allow_none=True).tag(sync=True)

    def __init__(
        self,
        logs: Any,
        *,
        show_values: bool | None = None,
        mask: AnyMask = None,
        decode: "Mapping[str, AnyDecoding] | None" = None,
        verifier: Verifier | None = None,
        **options: Any,
    ) -> None:
        """Open a path, or show an opened directory; see the class."""
        given, logs = logs, workbench.open_log_directory(logs)
        self.logs = logs
        self._meanings = Meanings(logs.listing, decode)
        self._place: tuple[str | None, int | None] = (None, None)
        self.shown: SegmentView | None = None
        self._rests = bool(options.pop("rests", False))
        self._file_view: FileView | None = None
        if "colour_by" in options:
            _warn_of_old_spelling()
            options.setdefault("color_by", options.pop("colour_by"))
        wanted, file = options.pop("selected", None), options.pop("file", None)
        if wanted is None and isinstance(given, Segment) and logs:
            wanted = {"partition": next(iter(logs)), "segment": given.base_offset}
        follow = options.pop("follow", False)
        super().__init__(show_values=show_values, mask=mask, **options)
        self.follow_verifier(verifier or Verifier(self.logs.listing))
        self.send_tree()
        self.selected = wanted if wanted is not None else self._first_choice()
        self._file, self.file = None, file
        self.follow = follow

    @property
    def colour_by(self) -> str:
        """The same as `color_by`; deprecated."""
        _warn_of_old_spelling()
        return self.color_by

    @colour_by.setter
    def colour_by(self, value: str) -> None:
        _warn_of_old_spelling()
        self.color_by = value

    @property
    def rests(self) -> bool:
        """See the class."""
        return self._rests

    @rests.setter
    def rests(self, value: bool) -> None:
        self._rests = value
        if not value:
            self._catch_up()

    def _catch_up(self) -> None:
        """Read the selected segment, if that was put off."""
        if self.shown is None and self._place[1] is not None:
            with self.hold_sync():
                self._read_segment(*self._place)
                self._show_fresh()
                self.set_trait("query", self._queries())

    # The selection.

    @traitlets.validate("selected")
    def _complete(self, proposal: Any) -> dict[str, Any]:
        try:
            return complete(proposal["value"], self.logs.listing.partitions)
        except ValueError as error:
            raise traitlets.TraitError(str(error)) from error

    @traitlets.observe("selected")
    def _follow(self, _change: Any) -> None:
        """Read and send the selection's contents."""
        name, base = self.selected.get("partition"), self.selected.get("segment")
        self._picture = None
        with self.hold_sync():
            if (name, base) != self._place:
                if name != self._place[0]:
                    self._strip = self._read_strip(name) if name else None
                self._place = (name, base)
                self.view = []
                self.shown = self._segment = None
                if not self._rests:
                    self._read_segment(name, base)
                self._show_fresh()
            self.file = None
            self.set_trait("query", self._queries())

    @traitlets.observe("show_values")
    def _look_again(self, _change: Any) -> None:
        """Read the segment with values, or without."""
        self._picture = None
        if self.shown is not None:
            self._read_segment(*self._place)

    @traitlets.validate("file")
    def _listed(self, proposal: Any) -> str | None:
        path: str | None = proposal["value"]
        listing = self.logs.listing
        if path is None or find_file(listing, path) or find_unread(listing, path):
            return path
        raise traitlets.TraitError(f"{path} is not a file of the opened directories")

    @traitlets.observe("file")
    def _read_file(self, _change: Any = None) -> None:
        """Read and send the file that is shown."""
        path, self._file_view, sent = self.file, None, None
        if path is not None:
            entry, unread = find_file(self.logs.listing, path), None
            if entry is not None:
                self._file_view = FileView(entry)
                sent = self._file_view.contents()
            elif (unread := find_unread(self.logs.listing, path)) is not None:
                sent = nothing_read(path, *unread)
        with self.hold_sync():
            self._file = sent
            self.set_trait("query", self._queries())

    def show_file_again(self) -> None:
        """Read the file that is shown again if it was written since; end if it is gone."""
        if self._file_view is None or self.file is None:
            return
        before, now = self._file_view.entry, find_file(self.logs.listing, self.file)
        if now is None:
            self.file = None
        elif now is not before and (now.size, now.modified_ms) != (before.size, before.modified_ms):
            self._read_file()

    def _first_choice(self) -> dict[str, Any]:
        """Choose what to show first: the largest partition of a user's topic."""
        partitions = self.logs.listing.partitions
        if not partitions:
            return dict(NOTHING)
        names = list(partitions)[:MOST_LOOKED_INTO]
        return {"partition": max(names, key=lambda n: (not n.startswith("__"), partitions[n].size))}

    def _read_strip(self, name: str) -> dict[str, Any] | None:
        partition = self.logs.listing.partitions[name]
        counts: dict[str, int] = {}
        for finding in self._findings:
            if finding["partition"] == name and finding["segment"] is not None:
                counts[finding["segment"]] = counts.get(finding["segment"], 0) + 1
        try:
            return strip_columns(name, partition, counts)
        except OSError as error:  # see `_read_segment`
            self.show_error(error)
            return None

    def _read_segment(self, name: str | None, base: int | None) -> None:
        self.shown, sent = None, None
        if name is not None and base is not None:
            partition = self.logs.listing.partitions[name]
            segment = segment_with_base(partition, base)
            try:
                if segment is not None:
                    view = SegmentView(partition, segment, self._meanings)
                    self.shown, sent = view, self.columns_of(name, view)
            except OSError as error:  # a broker deleted it since it was listed, for one
                self.show_error(error)
        self._segment = sent

    def _queries(self) -> dict[str, str]:
        chosen, view = self.selected, self.shown
        paths = [str(root.path) for root in self.logs.listing.roots]
        name, tier = chosen["partition"], self.logs.tier
        partition = None if name is None else self.logs.listing.partitions[name]
        segments = [] if partition is None else self._segments(partition)
        if partition is None or view is None or view.segment.path not in segments:
            return view_queries(paths, tier=tier, partition=name, file=self.file)
        batch = view.row_of(chosen["position"])
        return view_queries(
            paths,
            tier=tier,
            partition=name,
            topic=(partition.topic, partition.partition),
            segment=segments.index(view.segment.path),
            batch=batch,
            offsets=view.offsets(batch, chosen["offset"]),
            file=self.file,
        )

    def _segments(self, partition: DiskPartition) -> list[str]:
        """Return the paths of the segments in the order of `query`."""
        every = partition.segments_of_log if self.logs.tier else partition.segments
        return [each.path for each in every]

    # Methods for Python.

    def inputs(self) -> list[str]:
        """Return the paths of the log directories."""
        return [root.path for root in self.logs.roots]

    def refresh(self) -> None:
        """List the log directories again, because a broker may have written since.

        What was verified is kept; partitions that changed since are marked.
        """
        self.logs = self.logs.listed_again()
        self._meanings.relist(self.logs.listing)
        wanted, file = self.selected, self.file
        self._place = (None, None)
        with self.hold_sync():
            self.verifier.relist(self.logs.listing)
            self.send_tree()
            self.set_trait("selected", dict(NOTHING))
            self.selected = self._as_far_as_there(wanted)
            self.file = None
            if file is not None and find_file(self.logs.listing, file):
                self.file = file
        if self.follow:
            self.start_following()

    def _as_far_as_there(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """Return what of a selection still exists."""
        partitions = self.logs.listing.partitions
        if wanted["partition"] not in partitions:
            return {}
        try:
            return complete(wanted, partitions)
        except ValueError:  # the segment, or the batch in it, is not there any more
            return {"partition": wanted["partition"]}

    def verify(self, partition: str | None = None) -> list[Any]:
        """Verify a partition (default: the selected one), mark its findings, and return them."""
        name = partition or self.selected["partition"]
        if name is None:
            raise ValueError("no partition is selected")
        return self.verifier.verify(name)

    def show_marks(self) -> None:
        """Send the strip of the shown partition again if its findings changed."""
        name = self._place[0]
        if name not in self.logs.listing.partitions:
            return
        strip = self._read_strip(name)
        if strip != self._strip:
            self._strip = strip

    def show(self, finding: Finding) -> None:
        """Select the partition, segment and batch of a finding, as far as it names them.

        Raises:
            ValueError: the finding is about a file outside every partition.
        """
        (row,) = rows_by_place([finding], self.logs.listing.partitions)
        if row["partition"] is None:
            raise ValueError(f"{finding.path} is not in any partition")
        segment = None if row["segment"] is None else int(row["segment"])
        chosen = {"segment": segment, "position": row["batch_position"]}
        self.selected = {"partition": row["partition"]} | chosen

    def selected_batch(self) -> Any:
        """Return the selected batch as an object; None without one."""
        self._catch_up()
        row = self.shown.row_of(self.selected["position"]) if self.shown else None
        return None if row is None or self.shown is None else self.shown.segment.batches[row]

    def selected_records(self) -> list[Any]:
        """Return the records of the selected batch, or the selected record, whole and unmasked."""
        self._catch_up()
        row = self.shown.row_of(self.selected["position"]) if self.shown else None
        if row is None or self.shown is None:
            return []
        window, offset = self.shown.records, self.selected["offset"]
        records = window.read(window.first_row(row), window.first_row(row + 1))
        return [each for each in records if offset is None or each.offset == offset]

    def send_tree(self) -> None:
        """Send the tree of the directories."""
        listing = self.logs.listing
        partitions = listing.partitions.values()
        topics = {each.topic for each in partitions}
        summary = f"{plural(len(topics), 'topic')} · {plural(len(listing.partitions), 'partition')}"
        if len(listing.partitions) <= MOST_LOOKED_INTO:
            summary += f" · {size_text(listing.occupied)} on the disk"
        paths = [str(root.path) for root in listing.roots]
        self._directory = {
            **title_of(paths),
            "summary": summary,
            "nodes": tree_nodes(listing),
        }

    # Without a browser.

    def describe(self) -> str:
        """Describe the widget in one line, where no picture can be shown."""
        self._catch_up()
        name, base = self._place
        rest = "" if self.shown is None else f", {plural(len(self.shown.rows), 'batch', 'batches')}"
        place = f", {name}, segment {base}{rest}" if name else ""
        return f"LogExplorer({self._directory['title']}: {self._directory['summary']}{place})"

    def to_png(self) -> bytes:
        """The tree, the segments and the segment map as a PNG file. Imports matplotlib."""
        self._catch_up()
        if self._picture is None:
            from widgets.explorer.explorer_picture import explorer_picture

            self._picture = explorer_picture(self._directory, self._strip, self._segment)
        return self._picture


def _warn_of_old_spelling() -> None:
    warnings.warn("colour_by is now color_by", DeprecationWarning, stacklevel=3)
