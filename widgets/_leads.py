"""Where rows, numbers and findings of one tab lead: another tab that shows more of them."""

from collections.abc import Mapping
from typing import Any, Final

from widgets.explorer.explorer import LogExplorer
from widgets.explorer.file_view import find_file
from widgets.frame.place_bar import PlaceBar
from widgets.frame.tab_names import (
    CLEANING,
    CLUSTER,
    DISK,
    EXPLORE,
    FINDINGS,
    GROUPS,
    RECORDS,
    REPLICAS,
    RETENTION,
    TRANSACTIONS,
    WHAT_IF,
)  # fmt: skip
from widgets.selection import NOTHING
from widgets.view.findings import rows_by_place
from workbench.loaders.answers.report_page import Target
from workbench.loaders.answers.sections import BY_RETENTION
from workbench.loaders.answers.stuck import NOT_CONSUMED, NOT_DELETED, NOT_READABLE

_LEADS_TO: Final = {
    "identity": "Files", "start": EXPLORE, "sizes": DISK, "logs": CLEANING, "groups": GROUPS,
    "transactions": TRANSACTIONS, "cluster": CLUSTER, "freed": CLEANING, "expired": GROUPS,
    "loading": EXPLORE, "days": RECORDS, "replicas": REPLICAS,
}  # fmt: skip
"""Section of the overview → the tab that shows more of its rows."""
_SECTION_OF_STUCK: Final = {NOT_READABLE: "transactions", NOT_CONSUMED: "groups"}
_ONLY_DELETED: Final = frozenset({BY_RETENTION, NOT_DELETED, "delete"})
"""What a row says about a log if Retention says why, and not Cleaning."""


class Leads:
    """The part of `Workbench` that leads from one tab to another."""

    explorer: LogExplorer
    views: dict[str, Any]
    bar: PlaceBar
    tab: str
    broker: str
    _is_moving: bool

    def _visit(self, change: Any = None) -> None:
        raise NotImplementedError

    def _unlink_all_but(self, name: str) -> None:
        raise NotImplementedError

    def _show_in_explorer(self, place: Mapping[str, Any], path: str) -> None:
        """Open the explorer where a finding is: at its batch, its file, or its partition."""
        listed = find_file(self.explorer.logs.listing, path) is not None
        if place["partition"] is not None:
            self.explorer.selected = dict(place)
        self.explorer.file = path if listed and place["segment"] is None else None
        self.tab = EXPLORE

    def _show_replica(self, place: Mapping[str, Any], path: str) -> None:
        """Open the explorer where a replica is, which may be another broker's than is shown."""
        self._is_moving = True  # one step of the way back
        try:
            self.broker = ""
            self._show_in_explorer(place, path)
        finally:
            self._is_moving = False
        self._visit()

    def _lead(self, section: str, target: Target) -> None:
        """Open the view that shows more of a row of the overview."""
        if section == "broker":
            self.broker = target.what or ""
            return
        topic = target.topic
        if topic is not None:
            found = (n for n, each in self.explorer.logs.items() if each.topic == topic)
            target = target._replace(partition=next(found, None))
        if section == "findings":
            self._show_finding(target)
            return
        if section == "tile":
            self._show_counted(target.what or "")
            return
        if section == "stuck":
            section = _SECTION_OF_STUCK.get(target.what or "", "logs")
        tab = _LEADS_TO[section]
        if tab == CLEANING and target.what in _ONLY_DELETED:
            tab = RETENTION
        self._unlink_all_but(tab)
        if target.partition in self.explorer.logs:
            self.explorer.selected = NOTHING | {"partition": target.partition}
        self.tab = tab
        self._show_target(target)

    def _show_target(self, target: Target) -> None:
        """Show in the open view what a row is about, beyond the selection."""
        view = self.views.get(self.tab)
        if view is None:
            return
        if target.group is not None and self.tab == GROUPS:
            view.group = target.group
        elif target.partition is not None and self.tab in {TRANSACTIONS, REPLICAS}:
            view.partition = target.partition
        elif target.times is not None and self.tab == RECORDS:
            view.topic = ""
            self.bar.times = [*map(float, target.times)]
        elif target.topic is not None and target.partition is not None and self.tab == DISK:
            view.at = view.path_of(target.partition)[:-1]

    def _show_counted(self, what: str) -> None:
        """Open the view that lists what a number of the overview counts."""
        self.tab = WHAT_IF if what == "loss" else FINDINGS
        view = self.views.get(self.tab)
        if view is not None and self.tab == FINDINGS:
            view.severity, view.kind, view.topic = what, "", ""

    def _show_finding(self, target: Target) -> None:
        """Open the explorer where a finding of the overview is."""
        assert target.finding is not None
        (row,) = rows_by_place([target.finding], self.explorer.logs.listing.partitions)
        segment = None if row["segment"] is None else int(row["segment"])
        place = {"partition": row["partition"], "segment": segment,
                 "position": row["batch_position"]}  # fmt: skip
        self._show_in_explorer(NOTHING | place, row["path"])
