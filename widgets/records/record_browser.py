"""RecordBrowser: search records of any place, see when they were, take them along.

A thread searches and the page asks how far it is. What is shown is read again, page by page.
"""

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, get_args

import traitlets

import workbench
from widgets._assets import script, style
from widgets.live.directory_changes import DirectoryChanges
from widgets.live.follower import Changes, is_written
from widgets.live.follows_directories import FollowsDirectories
from widgets.queries import opening
from widgets.records.answers import RecordAnswers
from widgets.records.column_order import check_order, is_of_values, sort_key
from widgets.records.field_columns import MOST_COLUMNS, PLAIN_COLUMNS, field_of
from widgets.records.profiles import ValueCount
from widgets.records.record_code import record_code
from widgets.records.shown_search import PATIENCE, ShownSearch, read_record
from widgets.selection import NOTHING, from_front, to_front
from widgets.view.meanings import Meanings
from widgets.view.record_cells import MOST_IN_CELL
from widgets.view.records import AnyMask, Lens
from workbench.errors import QueryError
from workbench.inspection.brokers import brokers_by_name
from workbench.inspection.transactions import IsolationLevel
from workbench.loaders.exports.export import Export
from workbench.loaders.queries.language import FORMS
from workbench.loaders.queries.query import Query, parse
from workbench.loaders.scan.scan import Scan
from workbench.loaders.search.search import Search
from workbench.loaders.search.time_histogram import Bins
from workbench.log_directory import later
from workbench.runtime.words import plural

if TYPE_CHECKING:
    from workbench.values.registry import AnyDecoding

MOST_NAMES: Final = 2000
"""Topics, and partitions of a topic, that can be chosen from."""

_EVERY_TOPIC: Final = "*"
_USUAL: Final = {
    "query": "", "sort": "time", "columns": ",".join(PLAIN_COLUMNS), "level": "read_uncommitted",
}  # fmt: skip
"""What an address does not name."""

_NEXT_COLUMN: Final = re.compile(r',(?=(?:[^"]*"[^"]*")*[^"]*$)')  # a comma that is not quoted


class RecordBrowser(FollowsDirectories, RecordAnswers):
    """Search the records of all topics, of one, or of one partition.

    Attributes:
        query: what is searched for, as `workbench.loaders.queries.language` lists it.
        topic: the topic whose partitions are searched, merged by time; empty: all topics. By
            default that of the largest partition.
        partition: the name of the only partition that is searched, as "orders-0"; empty: all.
        brush: [from, to) in ms: only matches of that time are listed; empty: all.
        keeps_times: whether the brush is kept when another topic or partition is searched.
        order: the column that all listed records are sorted by. "partition" and "offset" are by
            partition, then offset; "key" by the first 64 bytes of the key; "value", "headers" and
            fields by what is shown of them, numbers before texts, so only while values are shown.
            Records without a value come last. For all but time and place the search is run again.
        newest_first: whether the order is turned round: the latest, highest or largest first. By
            default if `follow` is given; in `Workbench`, if a log was written in the last minute.
        follow: whether what a broker writes is listed as it appears on the disk.
        columns: what is shown of each record, in this order: "time", "partition", "offset", "key",
            "value", "headers", "size", and fields of JSON or of decoded values: ``$.customer.id``,
            ``key$.id``.
        column_widths: name of a column → its width in px, of those that were made wider or
            narrower.
        isolation_level: "read_uncommitted" or "read_committed", as of a consumer: without aborted
            records, and up to the last stable offset.
        show_values: whether keys, values and headers are shown; the eye button switches it.
            Otherwise their bytes do not leave the kernel.
        selected: the record shown in full: ``partition`` and ``offset``, as `LogExplorer.selected`,
            to which it can be linked. The records of its partition's topic are searched.
        code: "python" and "sql" → code that gives the listed records. Read-only.
        logs: the log directories searched.
        shown: the search as it is listed; None if there are no partitions.
        export: the last export, see `Export`.

    Args:
        logs: the result of `workbench.open_log_directory`, or what it opens.
        show_values: None: values are shown, and are not in saved notebooks nor in pages of
            `to_html`; True: they are there, too.
        mask: a function of "key", "value" or "header" and the bytes; it returns the bytes to show.
            Or rules, as `LogDirectory.scan` takes them.
            A query searches what is stored, not what is shown.
        decode: how key and value are shown, as in `LogDirectory.scan`; by default as people read
            them, see `workbench.values.readable`.

    Raises:
        LogDirectoryError: the path is not a log directory.
        LookupError: there is no such topic or partition.
        SchemaError: a column other than key and value is to be decoded.
        TypeError: an unknown option.
    """

    _esm = script("records/record_browser.js")
    _css = style("records/records.css")

    keeps_times = False
    in_address = (
        "topic", "partition", "query", "newest_first", "columns", "order", "isolation_level",
    )  # fmt: skip
    shown: ShownSearch | None = None
    query = traitlets.Unicode().tag(sync=True)
    topic = traitlets.Unicode().tag(sync=True)
    partition = traitlets.Unicode().tag(sync=True)
    brush = traitlets.List(traitlets.Float()).tag(sync=True)
    order = traitlets.Unicode("time").tag(sync=True)
    columns = traitlets.List(traitlets.Unicode(), list(PLAIN_COLUMNS)).tag(sync=True)
    column_widths = traitlets.Dict().tag(sync=True)
    isolation_level = traitlets.Enum(get_args(IsolationLevel), "read_uncommitted").tag(sync=True)
    newest_first = traitlets.Bool(default_value=False).tag(sync=True)
    selected = traitlets.Dict(NOTHING).tag(sync=True, to_json=to_front, from_json=from_front)
    code = traitlets.Dict(read_only=True).tag(sync=True)
    _live: Any = traitlets.Dict().tag(sync=True)
    _choices: Any = traitlets.Dict().tag(sync=True)
    _forms: Any = traitlets.List([[*form] for form in FORMS]).tag(sync=True)
    _result: Any = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        logs: Any,
        *,
        show_values: bool | None = None,
        mask: AnyMask = None,
        decode: "Mapping[str, AnyDecoding] | None" = None,
        **options: Any,
    ) -> None:
        """Open a path, or search an opened directory; see the class."""
        logs = workbench.open_log_directory(logs)
        self.logs = logs
        self._meanings = Meanings(logs.listing, decode)
        self._brokers = brokers_by_name(logs.listing)
        self.export: Export | None = None
        self._run = 0
        self._seen: tuple[tuple[str, str, str] | None, Bins | None] = None, None
        self._problem = ""
        self._count: ValueCount | None = None
        self._owed = DirectoryChanges()
        self._is_ready = False
        selected = options.get("selected", NOTHING)["partition"]
        if options.get("partition"):
            options["topic"] = self._topic_of(options["partition"])
        elif "topic" not in options:
            options["topic"] = self._topic_of(selected) if selected else self._first_topic()
        follow = options.pop("follow", False)
        is_down = options.setdefault("newest_first", follow)
        self._usual = _USUAL | {"sort": "-time" if is_down else "time"}
        super().__init__(show_values=show_values, mask=mask, **options)
        self._live = {"is_written": is_written(logs.listing), "since": ""}
        self._is_ready = True
        self._list()
        self._restart()
        self.follow = follow

    @property
    def search(self) -> Search | None:
        """The search that is shown; None if there are no partitions."""
        return None if self.shown is None else self.shown.search

    def lens_for(self, show_values: bool) -> Lens:  # noqa: FBT001 - what it is for
        """Return the lens that shows values, or hides them."""
        hint = "Hidden: the eye button shows keys, values and headers."
        return Lens(show_values=show_values, mask=self.mask, most=MOST_IN_CELL, hint=hint)

    # What is searched.

    @traitlets.validate("topic")
    def _known_topic(self, proposal: Any) -> str:
        name: str = proposal["value"]
        if name and name not in self.logs.topics:
            raise traitlets.TraitError(f"unknown topic {name!r}")
        return name

    @traitlets.validate("partition")
    def _known_partition(self, proposal: Any) -> str:
        name: str = proposal["value"]
        if name and name not in self.logs:
            raise traitlets.TraitError(f"unknown partition {name!r}")
        return name

    @traitlets.validate("columns")
    def _known_columns(self, proposal: Any) -> list[str]:
        names: list[str] = list(dict.fromkeys(proposal["value"]))
        for name in names:
            if name not in PLAIN_COLUMNS:
                try:
                    field_of(name)
                except QueryError as error:
                    raise traitlets.TraitError(str(error)) from None
        return names[:MOST_COLUMNS] or list(PLAIN_COLUMNS)

    @traitlets.validate("order")
    def _known_order(self, proposal: Any) -> str:
        order: str = proposal["value"]
        try:
            check_order(order)
        except QueryError as error:
            raise traitlets.TraitError(str(error)) from None
        if is_of_values(order) and not self.show_values:
            raise traitlets.TraitError(f"records are sorted by {order} only while values are shown")
        return order

    def _topic_of(self, partition: str) -> str:
        if partition not in self.logs:
            raise LookupError(f"unknown partition {partition!r}")
        return str(self.logs[partition].topic)

    def _first_topic(self) -> str:
        """Choose the topic of the largest partition of a user."""
        names = list(self.logs)[:MOST_NAMES]
        if not names:
            return ""
        largest = max(names, key=lambda name: (not name.startswith("__"), self.logs[name].size))
        return str(self.logs[largest].topic)

    def scan(self) -> Scan:
        """Return a scan of the records that are listed: by place, query and brushed time.

        Raises:
            QueryError: the query cannot be read.
        """
        return self._scan(parse(self.query), **self._time_option())

    def _listed_scan(self) -> Scan:
        """Return the scan of `scan` with the mask, by the last query that could be read."""
        return self._scan(self._where(), mask=self.mask, **self._time_option())

    def _where(self) -> Query:
        """Return the last query that could be read."""
        return Query() if self.search is None else self.search.scan.where

    def _scan(self, where: Query, **options: Any) -> Scan:
        chosen = {"isolation_level": self.isolation_level, **self._place()}
        return Scan(self.logs.listing, where=where, workers=1, **chosen, **options)

    def _place(self) -> dict[str, Any]:
        """Return the options of a scan that say where to search; by default everywhere."""
        if self.partition:
            path = self.logs[self.partition].path
            return {"partitions": path if self._brokers else self.partition}
        return {"topics": self.topic} if self.topic else {"include_internal": True}

    def _time_option(self) -> dict[str, tuple[int, int]]:
        times = self._times
        return {} if times is None else {"timestamps": times}

    @property
    def _times(self) -> tuple[int, int] | None:
        """The brushed time, [from, to) in ms; None without one."""
        if len(self.brush) != 2 or not self.brush[0] < self.brush[1]:
            return None
        return int(self.brush[0]), int(self.brush[1])

    # Its address.

    def address(self) -> dict[str, str]:
        """Return what is searched for and where, the order, and the columns."""
        order, level = self.order, self.isolation_level
        parts = {
            "topic": self.topic or _EVERY_TOPIC,
            "in": self.partition,
            "query": self.query,
            "sort": f"-{order}" if self.newest_first else order,
            "columns": ",".join(self.columns),
            "level": level,
        }
        return {name: text for name, text in parts.items() if text != self._usual.get(name)}

    def show_address(self, parts: Mapping[str, str]) -> None:
        """Search for what an address says; without a topic, where the search is now."""
        texts = {**self._usual, **parts}
        topic = texts.get("topic", self.topic or _EVERY_TOPIC)
        wanted = {
            "topic": "" if topic == _EVERY_TOPIC else topic,
            "partition": texts.get("in", ""),
            "query": texts["query"],
            "newest_first": texts["sort"].startswith("-"),
            "columns": _NEXT_COLUMN.split(texts["columns"]),
            "order": texts["sort"].removeprefix("-"),
            "isolation_level": texts["level"],
        }
        before = {name: getattr(self, name) for name in wanted}
        if wanted == before:
            return
        self._is_ready = False
        try:
            with self.hold_sync():
                for name, value in wanted.items():
                    self.set_trait(name, value)
        except traitlets.TraitError:
            for name, value in before.items():
                self.set_trait(name, value)
            raise
        finally:
            self._is_ready = True
        with self.hold_sync():
            self._list()
            self._restart()

    # The search.

    @traitlets.observe("query", "topic", "partition", "newest_first", "isolation_level")
    def _search_again(self, change: Any) -> None:
        if not self._is_ready:
            return
        with self.hold_sync():
            if change["name"] in {"topic", "partition"}:
                self._follow_place(change["name"])
            self._restart()

    def _follow_place(self, changed: str) -> None:
        """Keep topic and partition together."""
        self._is_ready = False
        if changed == "partition" and self.partition:
            self.topic = self._topic_of(self.partition)
        elif self.partition and self._topic_of(self.partition) != self.topic:
            self.partition = ""
        if not self.keeps_times:
            self.brush = []
        self._list()
        selected = self.selected["partition"]
        if selected is not None and not self._is_searched(selected):
            found = next((name for name in self.logs if self._is_searched(name)), None)
            self.selected = NOTHING | {"partition": found}
        self._is_ready = True

    def _is_searched(self, name: str) -> bool:
        """Return whether a partition is among those that are searched."""
        if self.partition or name not in self.logs:
            return name == self.partition
        return not self.topic or self.logs[name].topic == self.topic

    @traitlets.observe("selected")
    def _search_selected(self, _change: Any) -> None:
        """Search where the record is that another view has selected."""
        name = self.selected["partition"]
        if not self._is_ready or name not in self.logs:
            return
        if self.partition and self.partition != name:
            self.partition = name
        elif not self._is_searched(name):
            self.topic = self._topic_of(name)

    @traitlets.observe("brush", "order", "show_values", "columns")
    def _show_again(self, change: Any) -> None:
        if not self._is_ready:
            return
        with self.hold_sync():
            if change["name"] == "show_values" and is_of_values(self.order):
                self.order = "time"  # its values are hidden now
                return
            is_known = self.shown is None or self.shown.can_sort_by(self.order)
            if change["name"] == "order" and not is_known:
                self._restart()
            else:
                self._show()

    def _restart(self) -> None:
        """Search again; a query that cannot be read leaves the last result."""
        try:
            scan = self._scan(parse(self.query)) if len(self.logs) else None
        except (QueryError, LookupError) as error:
            self._problem = str(error.args[0])
            self._show()
            return
        self._problem = ""
        if self.search is not None:
            self.search.cancel()
        if self.shown is not None:
            self._seen = self._seen[0], self.shown.whole
        self._run += 1
        self.shown, self._owed = None, DirectoryChanges()
        if scan is not None:
            place = self.topic, self.partition, self.isolation_level
            whole = self._seen[1] if self._seen[0] == place else None
            kept = sort_key(self.order, self.lens, self._meanings.apart())
            self.shown = ShownSearch(
                scan,
                self._meanings,
                self.order,
                listing=self.logs.listing,
                brokers=self._brokers,
                descending=self.newest_first,
                sort_key=kept,
                whole=whole,
            )
            self._seen = place, None
        self._show()

    def begin_following(self) -> None:
        """Say since when records are followed."""
        self._live = {"is_written": True, "since": self._since}

    def show_changes(self, changes: Changes) -> None:
        """Take over what a look saw."""
        if changes:
            again = changes.has_other_tier
            self.relist(
                later(self.logs, changes.listing, is_tier_read_again=again), changes.written
            )

    def looked_at_first(self) -> str | None:
        """Return the partition that is searched, if it is one."""
        return self.partition or None

    def relist(self, logs: workbench.LogDirectory, written: DirectoryChanges) -> None:
        """Take over the directories as they are listed now, and search what is new in them.

        A search that runs continues, and what is new is searched after it. One that was stopped
        stays as it is. Where records are gone, the search starts over.
        """
        self.logs = logs
        self._meanings.relist(logs.listing)
        self._brokers = brokers_by_name(logs.listing)
        if self.shown is not None:
            self.shown.listing, self.shown.brokers = logs.listing, self._brokers
        with self.hold_sync():
            self._list()
            is_gone = self.topic and self.topic not in logs.topics
            if is_gone or (self.partition and self.partition not in logs):
                self.topic, self.partition = self._first_topic(), ""
                return
            if written.changed & self._searched_names():
                self._owed |= written
                self._search_on()

    def _searched_names(self) -> frozenset[str]:
        """Return the names of the partitions that are searched, and of those that were."""
        known = {} if self.search is None else {each.path for each in self.search.scan.partitions}
        searched = frozenset(name for name in self.logs if self._is_searched(name))
        return searched | {os.path.basename(path) for path in known}

    def _search_on(self) -> None:
        """Search what was written since the search was done; if it runs, that is done later."""
        search, owed = self.search, self._owed
        if search is None or not search.is_over:
            if search is None:
                self._restart()
            return
        self._owed = DirectoryChanges()
        if search.status != "done" or not owed.changed:
            return
        places = [each for each in self.logs.values() if each.path in search.reached]
        ends = {each.name: (search.reached[each.path], None) for each in places}
        if owed.rewritten & self._searched_names() or len(ends) < len(search.reached):
            self._restart()
            return
        if self.shown is not None:
            self.shown.is_extended = True
        search.extend(self._scan(self._where(), offsets=ends))
        search.wait(seconds=PATIENCE)
        self._show()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the search is over, and show all that it found."""
        if self.search is not None:
            self.search.wait(seconds=seconds)
        self._show()

    def cancel(self) -> None:
        """Stop the search; what was found remains."""
        if self.search is not None:
            self.search.cancel()
            self.search.wait(seconds=PATIENCE)
        self._show()

    def close(self) -> None:
        """Stop the search and take the widget off the page."""
        if self.search is not None:
            self.search.cancel()
        super().close()

    def _show(self) -> None:
        """Send the state of the search and its first rows."""
        self._picture = None
        order = f"{self.order} desc" if self.newest_first else self.order
        opened = opening(self._paths(), self.logs.tier)
        self.set_trait("code", record_code(opened, self._options(), order))
        shown = self.shown
        if shown is None:
            self._result = {"run": self._run, "status": "none", "problem": self._problem}
            return
        if shown.can_sort_by(self.order):  # not if the query of a new order cannot be read
            shown.order = self.order
        shown.descending, shown.times = self.newest_first, self._times
        if shown.search.status == "done" and self._owed.changed:
            self._search_on()  # which shows it
            return
        state = shown.state(self.saved_lens, self.columns)
        told = {"run": self._run, "shows_values": self.show_values}
        self._result = state | told | {"problem": self._problem or state["problem"]}

    def _list(self) -> None:
        """Send the topics and partitions that can be chosen."""
        names = [
            name for name, each in self.logs.items() if not self.topic or each.topic == self.topic
        ]
        topics = self.logs.topics
        self._choices = {
            "has_brokers": bool(self._brokers),
            "title": os.path.basename(os.path.abspath(self._paths()[0])) if self._paths() else "",
            "topics": topics[:MOST_NAMES],
            "topic_count": len(topics),
            "partition_count": len(names),
            "partitions": names[:MOST_NAMES],
            "left_out": max(0, len(topics) - MOST_NAMES) + max(0, len(names) - MOST_NAMES),
        }

    def _paths(self) -> list[str]:
        return [str(root.path) for root in self.logs.listing.roots]

    def _options(self) -> dict[str, Any]:
        """Return the options of `scan`, without those that have their default."""
        asked, level = self._where().text, self.isolation_level
        query = {"where": asked} if asked else {}
        isolation = {} if level == "read_uncommitted" else {"isolation_level": level}
        return self._place() | query | isolation | self._time_option()

    def inputs(self) -> list[str]:
        """Return the paths of the directories that the widget reads."""
        return self._paths()

    # For Python, and without a browser.

    @property
    def result(self) -> dict[str, Any]:
        """What the page shows: status, counts, bins of the histogram, first rows."""
        return dict(self._result)

    def selected_record(self) -> dict[str, Any] | None:
        """Return the selected record, unmasked, by `schemas.SCAN_FIELDS`; None without one."""
        name, offset = self.selected.get("partition"), self.selected.get("offset")
        if name is None or offset is None:
            return None
        return read_record(self.logs.listing, name, offset)

    def _place_text(self) -> str:
        return self.partition or self.topic or ("all topics" if len(self.logs) else "no topic")

    def describe(self) -> str:
        """Describe the widget in one line, where no picture can be shown."""
        place = self._place_text()
        asked = f" with {self.query}" if self.query else ""
        found = plural(self._result.get("found", 0), "record")
        return f"RecordBrowser({place}{asked}: {found})"

    def to_png(self) -> bytes:
        """The histogram and the first rows as a PNG file. Imports matplotlib."""
        if self._picture is None:
            from widgets.records.records_picture import records_picture

            if self._result.get("status") == "running":
                self._show()
            self._picture = records_picture(self._place_text(), self.query, self._result)
        return self._picture
