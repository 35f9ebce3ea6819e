"""The ways through the workbench: where rows lead, back and forward, and the address of a place."""

from collections.abc import Callable, Mapping
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
)
from widgets.selection import NOTHING, from_front, to_front
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


_MOST_VISITED: Final = 200  # places that the way back leads through
_MORE_OF_A_PLACE: Final = frozenset(
    {"query", "newest_first", "columns", "order", "isolation_level", "zone", "step"}
)  # traits of a view that the way back does not lead through one by one


class Visits:
    """The part of `Workbench` that goes back and forward, and to an address."""

    explorer: LogExplorer
    views: dict[str, Any]
    bar: PlaceBar
    tab: str
    broker: str
    _visited: list[dict[str, str]]
    _at: int
    _visits: int
    _is_moving: bool

    def _index_of(self, tab: str) -> int:
        raise NotImplementedError

    def _here(self) -> dict[str, str]:
        """Return the address of what is shown: the tab, the place, the time, and its view's own."""
        place = to_front(self.explorer.selected, self)
        place["position"] = None if place["offset"] is not None else place["position"]
        view = self.views.get(self.tab)
        parts = {
            "tab": self.tab,
            "broker": self.broker,
            **{name: "" if part is None else str(part) for name, part in place.items()},
            **self.bar.address_of_times(),
            **({} if view is None else view.address()),
        }
        return {name: text for name, text in parts.items() if text}

    def _visit(self, change: Any = None) -> None:
        """Keep where the reader is: another place for the way back, or more about this one."""
        if self._is_moving:
            return
        here = self._here()
        self.bar.tab = self.tab
        is_more = change is not None and change["name"] in _MORE_OF_A_PLACE
        if not self._visited or (self._visited[self._at] != here and not is_more):
            self._visited = [*self._visited[: self._at + 1], here][-_MOST_VISITED:]
            self._at = len(self._visited) - 1
            self._visits += 1
        self._tell_place(here)

    def _visit_in(self, tab: str) -> Callable[[Any], None]:
        """Return what hears of changes of a tab's view: they count while the tab is open."""
        return lambda change: self._visit(change) if self.tab == tab else None

    def _tell_place(self, here: dict[str, str]) -> None:
        self._visited[self._at] = here
        self.bar.show_moves(back=self._at > 0, forward=self._at < len(self._visited) - 1)
        self.bar.tell_address(here, self._visits)

    def _move(self, by: int) -> None:
        """Go back (-1) or forward (1) to where the reader was."""
        if 0 <= self._at + by < len(self._visited):
            self._go(self._visited[self._at + by], self._at + by)

    def _open_address(self, parts: Mapping[str, str]) -> None:
        """Show what an address says, which may be where the reader was before or after."""
        near = (self._at - 1, self._at + 1)
        at = next((n for n in near if n >= 0 and self._visited[n : n + 1] == [parts]), None)
        if at is None:
            at = self._at + 1
            self._visited = [*self._visited[:at], dict(parts)]
        self._go(parts, at)

    def _go(self, parts: Mapping[str, str], at: int) -> None:
        """Show what an address says, as the place with a number; stay here if that fails.

        Raises:
            LookupError, TraitError, ValueError: the address is wrong.
        """
        self._is_moving = True
        try:
            self._index_of(parts.get("tab", self.tab))
            self.broker = parts.get("broker", "")
            self._go_to_place(parts)
            self.tab = parts.get("tab", self.tab)
            if self.tab in self.views:
                self.views[self.tab].show_address(parts)
            self._at = at
        finally:
            self._is_moving = False
            self.bar.tab = self.tab
            self._tell_place(self._here())

    def _go_to_place(self, parts: Mapping[str, str]) -> None:
        names = ("partition", "segment", "offset", "position")
        given = {name: parts.get(name) for name in names}
        for name in names[1:]:
            if given[name] is not None and not str(given[name]).isdecimal():
                raise ValueError(f"{name} is {given[name]!r} in the address (expected a number)")
        if given["position"] is not None:
            given["position"] = int(given["position"])  # type: ignore[assignment]
        if given["partition"] is not None:
            self.explorer.selected = from_front(given, self)
        self.bar.zone = parts.get("zone", "UTC")
        self.bar.answer_times(parts.get("from", ""), parts.get("to", ""))
