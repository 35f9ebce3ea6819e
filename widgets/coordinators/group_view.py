"""GroupView: where a consumer group stands, and how it got there."""

from collections.abc import Mapping
from typing import Any

import pyarrow.compute as pc
import traitlets

import workbench
from widgets._assets import script, style
from widgets._conditions import Conditioned, conditions
from widgets.coordinators.group_lines import (
    NO_LOG,
    CommitLine,
    EndLine,
    commit_lines,
    end_line,
    latest_timestamp,
)
from widgets.coordinators.group_rows import partition_rows, rebalance_rows, summary, why_rows
from widgets.live.directory_changes import DirectoryChanges
from widgets.queries import group_query
from widgets.selection import NOTHING, from_front, to_front
from widgets.view.records import AnyMask, Lens
from workbench.coordinator.groups.commit_history import CommitHistory
from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.coordinator.groups.rebalance_history import RebalanceHistory
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.runtime.era import era_of
from workbench.foresight.dry_listing import meant_settings
from workbench.loaders.explanations.coordinator_explanation import explained
from workbench.loaders.explanations.explanation import Explanation
from workbench.loaders.explanations.offset_fates import retention_ms_of
from workbench.loaders.in_hand import surroundings_of
from workbench.loaders.tables import coordinator_rows
from workbench.loaders.tables.rows import table_of
from workbench.runtime.steps import Step
from workbench.runtime.times import Time, time_or_now, time_text
from workbench.tables.groups import CommitRow, CommittedOffsetRow, GroupRow, RebalanceRow

MOST_LANES = 40
"""Partitions that have a lane: those with the largest lag. The table has all."""

NO_GROUPS = "no partition of __consumer_offsets in these directories names a group"


class GroupView(Conditioned):
    """Show where a group stands in each partition, and how it got there.

    Each partition has a lane over time: the committed offset, the log end offset, and the lag
    between them.

    Attributes:
        group: the group's id; set it to show another.
        groups: the ids of all groups in the directories.
        selected: the partition and the record at the committed offset, see
            `LogExplorer.selected`; with ``traitlets.link((view, "selected"), (explorer,
            "selected"))`` both follow each other.
        window: the time shown, [from, to) in epoch ms; empty: all.
        keeps_times: whether the window is kept when another group is shown.
        conditions, query: see `Conditioned`; of configurations, `offsets.retention.minutes` counts.
        offsets, commits, rebalances: the group's rows of `inspect.group_offsets`, `commits` and
            `rebalances`.
        explanation: each rule's verdict; see `LogDirectory.explain_group`.

    Args:
        logs: the result of `workbench.open_log_directory`, or what it opens.
        group: by default the one with the most commits in force, by name.
        now: a time; what has expired then is not served. None: expiry removes nothing, as in a
            broker that has just started, or `just_started` says otherwise.
        just_started: whether nothing has expired where no time is given; otherwise, the machine's
            time is taken.
        retention_ms: `offsets.retention.minutes` in ms; None: the default of the version.
        version: the version of the loading broker, such as "2.8"; None: as the directories say.
        show_values: whether to show the commits' metadata, which is the consumers' own text.
        mask: a function of "metadata" and the bytes; it returns the bytes to show. Or rules, as
            `LogDirectory.scan` takes them.

    Raises:
        LogDirectoryError: the path is not a log directory.
        LookupError: the directories do not name the group.
        ConfigError: a configuration is wrong, or the version is unknown.

    Kafka: ConsumerGroupCommand.describeGroups, OffsetMetadataManager (4.2)
    """

    _esm = script("coordinators/group_view.js")
    _css = style(
        "decisions/log_rules.css", "decisions/conditions.css", "coordinators/coordinators.css"
    )

    keeps_times = False
    in_address = ("conditions", "group")
    group = traitlets.Unicode().tag(sync=True)
    selected: Any = traitlets.Dict(NOTHING).tag(sync=True, to_json=to_front, from_json=from_front)
    window = traitlets.List(traitlets.Float()).tag(sync=True)
    _groups: Any = traitlets.List().tag(sync=True)
    _story: Any = traitlets.Dict().tag(sync=True)
    _lanes: Any = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        logs: Any,
        group: str | None = None,
        *,
        config: Mapping[str, Any] | None = None,
        now: Time | None = None,
        just_started: bool = True,
        retention_ms: int | None = None,
        version: str | None = None,
        show_values: bool = False,
        mask: AnyMask = None,
        **options: Any,
    ) -> None:
        """Open a path, or take an opened directory; see the class."""
        place, _ = surroundings_of(logs)  # groups are in a log beside what is given
        self.logs = logs = workbench.open_log_directory(place)
        self.lens = Lens(show_values=show_values or mask is not None, mask=mask)
        self._just_started = just_started
        self._own_retention_ms = retention_ms
        given = conditions(config, now, version)
        self._take(given)
        self._ends: dict[str, EndLine] = {}
        self.lines: dict[str, CommitLine] = {}
        self._load(logs, None)
        window = options.pop("window", [])
        super().__init__(**options)
        self._groups = self.groups
        self._tell(given)
        self._decided = self.conditions = given
        wanted = self._first() if group is None else group
        if wanted:
            self.group = wanted
        else:
            self._read("")
        self.window = window

    def decide(self, given: Mapping[str, Any]) -> None:
        """Show what a broker serves under these conditions."""
        self._take(given)
        self._load(self.logs, None)
        self._tell(given)
        self._read(self.group)
        if self.window:
            self._zoom()

    def _take(self, given: Mapping[str, Any]) -> None:
        """Take over conditions, before anything is loaded under them."""
        now, version = given["now"], given["kafka"]
        era = None if version is None else era_of(version)
        retention_ms = retention_ms_of(given["config"])
        is_open = now is None and self._just_started
        self.now = None if is_open else time_or_now(now)
        self._era = era
        self._retention_ms = self._own_retention_ms if retention_ms is None else retention_ms
        options = {"version": version, "now": self.now, "retention_ms": self._retention_ms}
        self._given = {name: each for name, each in options.items() if each is not None}

    def _tell(self, given: Mapping[str, Any]) -> None:
        """Send what can be typed, and what time holds."""
        meant, settings = meant_settings(self.logs.listing, given["config"], given["kafka"])
        with self.hold_sync():
            self.tell_conditions(meant, settings)
            told = "As in a broker that has just started: no offset has expired yet."
            if self.now is not None:
                moment = time_text(self.now, "seconds")
                told = (
                    f"As of {moment}, once a broker has checked offsets: at most 10 minutes after "
                    "its start."
                )
            self._about_conditions = {**self._about_conditions, "stored": told}

    def _load(self, logs: workbench.LogDirectory, earlier: StoredGroups | None) -> None:
        """Load the groups; partitions that did not change since are not read again."""
        self.logs = logs
        self._coordinator = StoredGroups(
            logs.listing,
            era=self._era,
            now=self.now,
            retention_ms=self._retention_ms,
            earlier=earlier,
        )
        self._logs_by_name = {
            f"{each.topic}-{each.partition}": (key, each)
            for key, each in reversed(logs.listing.partitions.items())  # of several, the first
            if each.kind == "log"
        }
        self._table = table_of(GroupRow, coordinator_rows.group_rows(self._coordinator))
        offsets = coordinator_rows.offset_rows(self._coordinator.offsets())
        self._all_offsets = table_of(CommittedOffsetRow, offsets)
        self.groups: list[str] = sorted(
            {*self._table["group"].to_pylist(), *self._all_offsets["group"].to_pylist()}
        )

    def relist(self, logs: workbench.LogDirectory, written: DirectoryChanges) -> None:
        """Take over the directories as they are listed now; keep the group and the window.

        The partitions of `__consumer_offsets` that changed are loaded again.
        """
        mine = {name.rpartition("-")[0] for name in self.lines} | {GROUPS_TOPIC}
        if not mine & written.topics:
            self.logs = logs
            return
        self._load(logs, self._coordinator)
        self._groups = self.groups
        if self.group:
            self._read(self.group)
            if self.window:
                self._zoom()  # after the lanes of all time, from which the overview is drawn
        elif self._first():
            self.group = self._first()

    def _first(self) -> str:
        counts = self._all_offsets["group"].to_pylist()
        return max(self.groups, key=lambda name: (counts.count(name), name), default="")

    def address(self) -> dict[str, str]:
        """Return the conditions, and the group."""
        return {**super().address(), "group": self.group}

    def show_address(self, parts: Mapping[str, str]) -> None:
        """Show a group under conditions; without one, the group stays."""
        super().show_address(parts)
        self.group = parts.get("group", self.group)

    @traitlets.validate("group")
    def _known(self, proposal: Any) -> str:
        name = str(proposal["value"])
        # A group that only tombstones and replaced commits name has no row, but a story.
        if name not in self.groups and name and not self._observed(name)[0].commits:
            raise LookupError(f"no record of group {name!r}{self._coordinator.other_names(name)}")
        return name

    def _observed(self, name: str) -> tuple[CommitHistory, RebalanceHistory]:
        """Load the group's partition again, with its commits and rebalances one by one."""
        history = CommitHistory(name)
        rebalances = RebalanceHistory(self._coordinator.logs.topic_names, name)

        def both(step: Step) -> None:
            history(step)
            rebalances(step)

        self._coordinator.observe(both, name)
        return history, rebalances

    @traitlets.observe("group")
    def _follow(self, _change: Any) -> None:
        self._read(self.group)
        if not self.keeps_times:
            self.window = []
        elif self.window:
            self._zoom()

    def _read(self, name: str) -> None:
        """Read the group and send everything about it."""
        history, rebalances = self._observed(name)
        self.commits = table_of(CommitRow, coordinator_rows.commit_rows(history.commits))
        self.rebalances = table_of(RebalanceRow, rebalances.finish())
        self.offsets = self._all_offsets.filter(pc.equal(self._all_offsets["group"], name))
        self.explanation: Explanation = explained(self._coordinator, name, history)
        self.lines = {f"{topic}-{n}": line for (topic, n), line in commit_lines(self.commits)}
        rows = partition_rows(_plain_rows(self.offsets), self.lens)
        marks = [row for row in rebalance_rows(_plain_rows(self.rebalances)) if row["time"]]
        lags = [each for each in self.offsets["lag"].to_pylist() if each is not None]
        group = next((each for each in _plain_rows(self._table) if each["group"] == name), None)
        lag = sum(lags, 0) if lags else None
        self._lane_names = self._chosen_lanes()
        self._picture = None
        span = self._span([mark["time"] for mark in marks])
        self._read_ends(span)
        paths = [str(root.path) for root in self.logs.listing.roots]
        with self.hold_sync():
            self.set_trait("query", group_query(paths, name, self._given))
            self._lanes = self._sent_lanes(None)
            self._story = {
                "group": name,
                "summary": summary(group, rows, lag) if name else "no groups",
                "conclusion": self.explanation.conclusion if name else NO_GROUPS,
                "rows": rows,
                "why": why_rows(self.explanation),
                "span": span,
                "marks": marks,
                "lanes_with_notes": sum(bool(lane["note"]) for lane in self._lanes["lanes"]),
                "left_out": len(self.lines) - len(self._lane_names),
            }

    @traitlets.observe("window")
    def _zoom(self, _change: Any = None) -> None:
        """Send the points of the window, which may be closer than those of all time."""
        self._picture = None
        window = (int(self.window[0]), int(self.window[1])) if len(self.window) == 2 else None
        self._lanes = self._sent_lanes(window)

    def _chosen_lanes(self) -> list[str]:
        lags = {
            f"{row['topic']}-{row['partition']}": row["lag"] or 0
            for row in self.offsets.select(["topic", "partition", "lag"]).to_pylist()
        }
        names = sorted(self.lines, key=lambda name: -lags.get(name, 0))[:MOST_LANES]
        return [name for name in self.lines if name in set(names)]

    def _sent_lanes(self, window: tuple[int, int] | None) -> dict[str, Any]:
        lanes = [self._lane(name, self.lines[name], window) for name in self._lane_names]
        return {"group": self.group, "lanes": lanes}

    def _lane(self, name: str, line: CommitLine, window: tuple[int, int] | None) -> dict[str, Any]:
        key, partition = self._logs_by_name.get(name, (None, None))
        ends = self._ends[name]
        return {
            "name": name,
            "partition": key,
            "log_start": None if partition is None else str(partition.log_start_offset),
            "log_end": None if partition is None else str(partition.log_end_offset),
            "commits": line.packed(window),
            "ends": ends.packed(window),
            "note": _clock_note(line, ends),
        }

    def _read_ends(self, span: list[int]) -> None:
        """Look up how far the logs of the lanes went."""
        self._ends = {}
        for name in self._lane_names:
            _, partition = self._logs_by_name.get(name, (None, None))
            found = NO_LOG
            if partition is not None and span:
                found = end_line(partition, self.lines[name].times, (span[0], span[1]))
            self._ends[name] = found

    def _span(self, marks: list[int]) -> list[int]:
        """The time that the lanes span: from the first event to the last event or record."""
        events = [int(time) for line in self.lines.values() for time in line.times[[0, -1]]] + marks
        if not events:
            return []
        known = [
            self._logs_by_name[each][1] for each in self._lane_names if each in self._logs_by_name
        ]
        latest = [time for time in map(latest_timestamp, known) if time is not None]
        return [min(events), max([min(events) + 1, *latest, *events])]

    def _window_shown(self) -> list[float]:
        """Return the part of the window that the lanes span; empty: all."""
        span = self._story["span"]
        if len(self.window) != 2 or not span:
            return []
        first, last = max(self.window[0], span[0]), min(self.window[1], span[1])
        return [first, last] if first < last else []

    def describe(self) -> str:
        """Return the group, where it stands, and the rules' conclusion."""
        story = self._story
        about = f"{story['group']}: {story['summary']}" if story["group"] else story["summary"]
        return f"GroupView: {about}: {story['conclusion']}"

    def to_png(self) -> bytes:
        """Draw the lanes and the table of partitions. Imports matplotlib."""
        if self._picture is None:
            from widgets.coordinators.group_picture import group_picture

            self._picture = group_picture(self._story, self._lanes["lanes"], self._window_shown())
        return self._picture


def _clock_note(line: CommitLine, ends: EndLine) -> str:
    """Say why a log end offset is unknown, or does not move beside the commits."""
    if not len(line.times) or not len(ends.offsets):
        return ""
    if ends.offsets.max() < 0:
        return f"The log end offset over time is unknown: {ends.reason}."
    if ends.latest is not None and ends.latest < line.times[0]:
        return (
            "By their timestamps, all records of this log were there before the first commit: "
            f"the latest has {time_text(ends.latest, 'seconds')}."
        )
    return ""


def _plain_rows(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a table with times in epoch ms."""
    columns = {
        name: (column.cast("int64") if str(column.type).startswith("timestamp") else column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    lists = {name: column.to_pylist() for name, column in columns.items()}
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]
