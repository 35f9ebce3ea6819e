"""Workbench: every view of log directories on one screen, with one selection."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import ipywidgets
import traitlets

import widgets  # its views, each imported when its tab is first opened
import workbench
from widgets._directory_changes import DirectoryChanges
from widgets._widget import error_text
from widgets.decisions.conditions import AS_IT_IS
from widgets.explorer.explorer import LogExplorer
from widgets.explorer.file_view import find_file
from widgets.frame.place_bar import PlaceBar
from widgets.frame.tab_state import TabState
from widgets.selection import NOTHING
from widgets.view.findings import rows_by_place
from workbench.comparison.ahead import Replicas
from workbench.errors import WorkbenchError
from workbench.inspection.brokers import listings_by_broker
from workbench.loaders.answers.report_page import Target
from workbench.loaders.answers.sections import BY_RETENTION
from workbench.loaders.answers.stuck import NOT_CONSUMED, NOT_DELETED, NOT_READABLE

if TYPE_CHECKING:
    from widgets.decisions.log_rules import LogRules

OVERVIEW: Final = "Overview"
EXPLORE: Final = "Explore"
RECORDS: Final = "Records"
CLEANING: Final = "Cleaning"
RETENTION: Final = "Retention"
WHAT_IF: Final = "What if"
GROUPS: Final = "Groups"
REPLICAS: Final = "Replicas"
TRANSACTIONS: Final = "Transactions"
DISK: Final = "Disk"
CLUSTER: Final = "Cluster"
FINDINGS: Final = "Findings"
_LEADS_TO: Final = {
    "identity": "Files", "start": EXPLORE, "sizes": DISK, "logs": CLEANING, "groups": GROUPS,
    "transactions": TRANSACTIONS, "cluster": CLUSTER, "freed": CLEANING, "expired": GROUPS,
    "loading": EXPLORE, "days": RECORDS,
}  # fmt: skip
"""Section of the overview → the tab that shows more of its rows."""
_SECTION_OF_STUCK: Final = {NOT_READABLE: "transactions", NOT_CONSUMED: "groups"}
_COSTLY: Final = frozenset({RECORDS, CLEANING, RETENTION})
"""Tabs whose views read much for each selection: they follow it while they are open."""
_ONLY_DELETED: Final = frozenset({BY_RETENTION, NOT_DELETED, "delete"})
"""What a row says about a log if Retention says why, and not Cleaning."""
_MOST_VISITED: Final = 200  # places that the way back leads through
_TIMES: Final = {RECORDS: "brush", GROUPS: "window"}
"""Tab → the trait that is [from, to) in ms, as `PlaceBar.times`; empty: all."""


class NothingSelectedError(LookupError):
    """A view needs a partition, and none is selected."""


class Workbench(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """Every view as a tab, below one line with the place that all of them show.

    Overview · Explore · Records · Disk · Cleaning · Retention · What if · Groups · Transactions ·
    Replicas · Files · Cluster · Findings.

    A view of the same directories is made when its tab is first opened. All follow the same
    selection (partition, segment, batch, record). The line above has the place (topic, partition,
    segment, offset) and a range of time as fields to choose by, the way back and forward, and the
    switch for values. Records and Groups show that time, and set it. Cleaning and Retention show
    the selected partition, What if all of them, under the same conditions. Records searches the
    selected partition's topic while its tab is open. Findings are those of the explorer.

    While the explorer follows what a broker writes (its button, or F), the open tab does, too; the
    others read what is new when they are opened. Only what is new is read where that is possible.

    Directories of several brokers, distinguished by `node.id` in `meta.properties`, have the tab
    Replicas; Groups then reads the offsets topic's replicas that are ahead.

    Attributes:
        logs: the log directories shown.
        explorer: the explorer, whose selection all views share.
        views: name of a tab → its widget, of those that were opened.
        tabs: the tabs.
        bar: the line above them.

    Args:
        logs: the result of `workbench.open_log_directory`, or a path or list of paths to open; of
            one broker or of several.
        show_values: whether to show keys, values and headers, and the metadata of commits.
        mask: a function of "key", "value", "header" or "metadata" and the bytes; it returns the
            bytes to show.
        decode: how keys and values are shown, as in `LogDirectory.scan`.
        tab: the name of the tab that is open first.
        static: whether a saved notebook gets a picture.
        options: of `ipywidgets.VBox`.

    Raises:
        LogDirectoryError: the path is not a log directory.
        LookupError: there is no such tab.
    """

    def __init__(
        self,
        logs: Any,
        *,
        show_values: bool = False,
        mask: Any = None,
        decode: Any = None,
        tab: str = OVERVIEW,
        static: bool = True,
        **options: Any,
    ) -> None:
        """Open paths, or show an opened directory; see the class."""
        if isinstance(logs, str | os.PathLike | list):
            logs = workbench.open_log_directory(logs)
        self.logs = logs
        self._static = static
        self._shown = shown = {"show_values": show_values, "mask": mask}
        self._visited: list[tuple[str, dict[str, Any], list[float]]] = []
        self._at, self._is_moving = 0, False
        self.explorer = LogExplorer(logs, decode=decode, rests=tab != EXPLORE, **shown)
        self.views: dict[str, Any] = {}
        self._links: dict[str, Any] = {}
        self._time_links: dict[str, Any] = {}
        self._conditions: dict[str, Any] = dict(AS_IT_IS)
        self._owed: dict[str, DirectoryChanges] = {}
        self._make: dict[str, Callable[[], Any]] = {
            OVERVIEW: lambda: widgets.Overview(self.explorer.logs, lead=self._lead),
            EXPLORE: lambda: self.explorer,
            RECORDS: lambda: widgets.RecordBrowser(
                self.explorer.logs, selected=self.explorer.selected, decode=decode, **shown
            ),
            DISK: lambda: widgets.DiskUsage(self.explorer.logs),
            CLEANING: lambda: self._rules_of(widgets.CleanerView),
            RETENTION: lambda: self._rules_of(widgets.RetentionView),
            WHAT_IF: self._what_if,
            GROUPS: lambda: widgets.GroupView(self._of_one_broker(), **shown),
            TRANSACTIONS: lambda: widgets.TransactionLanes(self.explorer.logs),
            REPLICAS: lambda: widgets.ReplicaLanes(self.explorer.logs, show=self._show_in_explorer),
            "Files": lambda: widgets.CheckpointTable(self.explorer.logs),
            CLUSTER: lambda: widgets.ClusterView(self.explorer.logs),
            FINDINGS: lambda: widgets.FindingView(
                self.explorer.logs, verifier=self.explorer.verifier, show=self._show_in_explorer
            ),
        }
        if len(listings_by_broker(logs.listing)) < 2:
            del self._make[REPLICAS]
        places = [ipywidgets.VBox() for _ in self._make]
        first = self._index_of(tab)
        self.tabs = ipywidgets.Tab(places, titles=self.titles, selected_index=first)
        self.bar = PlaceBar(
            self.explorer.logs, move=self._move, selected=self.explorer.selected, tab=self.tab,
            show_values=show_values, static=False,
        )  # fmt: skip
        super().__init__((self.bar, self.tabs), **options)
        self.add_class("klw-workbench")
        traitlets.dlink((self.explorer, "selected"), (self.bar, "selected"))
        self.bar.observe(self._choose, "selected")
        traitlets.link((self.explorer, "show_values"), (self.bar, "show_values"))
        self.bar.observe(self._open_by_name, "tab")
        self.bar.observe(self._show_values, "show_values")
        self.tabs.observe(self._open, "selected_index")
        self.explorer.observe(self._try_another, "selected")
        self.explorer.show_by(self._follow)
        self._open()
        self._visit()
        self.explorer.observe(self._visit, "selected")
        self.tabs.observe(self._visit, "selected_index")
        self.bar.observe(self._visit, "times")

    @property
    def tab(self) -> str:
        """The name of the open tab; set it to open another.

        Raises:
            LookupError: there is no such tab.
        """
        return self.titles[self.tabs.selected_index or 0]

    @tab.setter
    def tab(self, name: str) -> None:
        self.tabs.selected_index = self._index_of(name)

    def _index_of(self, tab: str) -> int:
        if tab not in self._make:
            raise LookupError(f"no tab {tab}; tabs: {', '.join(self._make)}")
        return self.titles.index(tab)

    @property
    def titles(self) -> tuple[str, ...]:
        """The names of the tabs."""
        return tuple(self._make)

    def _choose(self, change: Any) -> None:
        """Select what the line above names; it then shows the whole of it, or what was before."""
        try:
            self.explorer.selected = change["new"]
        finally:
            self.bar.selected = self.explorer.selected

    def _open_by_name(self, change: Any) -> None:
        if change["new"] in self._make:
            self.tab = change["new"]

    def close(self) -> None:
        """End every view, and what runs for it."""
        for each in {self.explorer, *self.views.values(), self.bar, self.tabs}:
            each.close()
        super().close()

    # Back and forward.

    def _visit(self, _change: Any = None) -> None:
        """Keep where the reader is, unless this is where the way back leads."""
        here = self.tab, dict(self.explorer.selected), list(self.bar.times)
        self.bar.tab = self.tab
        if not self._is_moving and (not self._visited or self._visited[self._at] != here):
            self._visited = [*self._visited[: self._at + 1], here][-_MOST_VISITED:]
            self._at = len(self._visited) - 1
        self.bar.show_moves(back=self._at > 0, forward=self._at < len(self._visited) - 1)

    def _move(self, by: int) -> None:
        """Go back (-1) or forward (1) to where the reader was."""
        at = self._at + by
        if not 0 <= at < len(self._visited):
            return
        self._at, self._is_moving = at, True
        tab, selected, times = self._visited[at]
        try:
            self.explorer.selected = selected
            self.bar.times = times
            self.tab = tab
        finally:
            self._is_moving = False
        self._visit()

    def _show_values(self, _change: Any = None) -> None:
        """Show values, or hide them, in every view."""
        self._shown["show_values"] = self.bar.show_values
        group = self.views.pop(GROUPS, None)  # it is made again with the metadata of commits
        if group is not None:
            self._links.pop(GROUPS).unlink()
            self._time_links.pop(GROUPS).unlink()
            if self.tab == GROUPS:
                self._open()

    def _open(self, _change: Any = None) -> None:
        """Make the view of the open tab, unless it is there; say why if it cannot be made."""
        name = self.tab
        self._unlink_all_but(name)
        self.explorer.rests = name != EXPLORE
        if name in self.views:
            self._link_selection(name)
            self._share_conditions(name)
            self._catch_up()
            return
        place = self.tabs.children[self.tabs.selected_index or 0]
        for each in place.children:
            if each is not self.explorer:
                each.close()
        place.children = [TabState("loading", "Reading…")]
        try:
            view = self._make[name]()
        except NothingSelectedError as error:
            place.children = [TabState("empty", str(error))]
            return
        except (WorkbenchError, LookupError, ValueError, OSError) as error:
            place.children = [TabState("failed", error_text(error))]
            return
        self.views[name] = view
        self._share(name)
        place.children = [view]

    def _follow(self, written: DirectoryChanges) -> None:
        """Bring the open view up to date, and the others when their tab is opened."""
        for name, view in self.views.items():
            if hasattr(view, "relist"):
                self._owed[name] = self._owed.get(name, DirectoryChanges()) | written
        self.bar.relist(self.explorer.logs)
        self._catch_up()

    def _catch_up(self) -> None:
        """Let the open view read what was written since it was last shown."""
        written, view = self._owed.pop(self.tab, None), self.views.get(self.tab)
        if written is None or view is None:  # a view that is made later reads everything
            return
        logs = self._of_one_broker() if self.tab == GROUPS else self.explorer.logs
        try:
            view.relist(logs, written)
        except FileNotFoundError:  # deleted meanwhile: the next look sees it
            self._owed[self.tab] = written
        except Exception as error:  # noqa: BLE001 - a timer has no caller to raise to
            view.show_error(error)

    def _link_selection(self, name: str) -> None:
        view = self.views[name]
        if name not in self._links and view is not self.explorer and view.has_trait("selected"):
            self._links[name] = traitlets.link((self.explorer, "selected"), (view, "selected"))

    def _unlink_all_but(self, name: str) -> None:
        """Let no hidden view read for a selection that is made in another tab."""
        for other in _COSTLY - {name}:
            if other in self._links:
                self._links.pop(other).unlink()

    def _share(self, name: str) -> None:
        self._link_selection(name)
        if self.views[name].has_trait("conditions"):
            self.views[name].observe(self._keep_conditions, "conditions")
        if name == RECORDS:
            traitlets.link((self.bar, "show_values"), (self.views[name], "show_values"))
        if name in _TIMES:
            self.views[name].keeps_times = True
            times = (self.bar, "times"), (self.views[name], _TIMES[name])
            self._time_links[name] = traitlets.link(*times)

    def _show_in_explorer(self, place: Mapping[str, Any], path: str) -> None:
        """Open the explorer where a finding is: at its batch, its file, or its partition."""
        listed = find_file(self.explorer.logs.listing, path) is not None
        if place["partition"] is not None:
            self.explorer.selected = dict(place)
        self.explorer.file = path if listed and place["segment"] is None else None
        self.tab = EXPLORE

    def _lead(self, section: str, target: Target) -> None:
        """Open the view that shows more of a row of the overview."""
        topic = target.topic
        if topic is not None:
            found = (n for n, each in self.explorer.logs.items() if each.topic == topic)
            target = target._replace(partition=next(found, None))
        if section == "findings":
            self._show_finding(target)
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
        view = self.views.get(self.tab)
        if target.group is not None and isinstance(view, widgets.GroupView):
            view.group = target.group
        elif target.partition is not None and isinstance(view, widgets.TransactionLanes):
            view.partition = target.partition
        elif target.times is not None and isinstance(view, widgets.RecordBrowser):
            view.topic = ""
            self.bar.times = [*map(float, target.times)]
        elif (
            isinstance(view, widgets.DiskUsage)
            and topic is not None
            and target.partition is not None
        ):
            view.at = view.path_of(target.partition)[:-1]

    def _show_finding(self, target: Target) -> None:
        """Open the explorer where a finding of the overview is."""
        assert target.finding is not None
        (row,) = rows_by_place([target.finding], self.explorer.logs.listing.partitions)
        segment = None if row["segment"] is None else int(row["segment"])
        place = {"partition": row["partition"], "segment": segment,
                 "position": row["batch_position"]}  # fmt: skip
        self._show_in_explorer(NOTHING | place, row["path"])

    def _of_one_broker(self) -> workbench.LogDirectory:
        """Return the directories with the replicas of Kafka's own topics that are ahead."""
        chosen = Replicas(self.explorer.logs.listing, lambda _text: None)
        return workbench.LogDirectory(chosen.listing) if chosen.brokers else self.explorer.logs

    def _rules_of(self, view: "type[LogRules]") -> "LogRules":
        name = self.explorer.selected["partition"]
        if name is None:
            raise NothingSelectedError("Select a partition above, or in Explore.")
        selected = self.explorer.selected
        return view(self.explorer.logs[name], **self._conditions, selected=selected)

    def _what_if(self) -> widgets.WhatIfView:
        return widgets.WhatIfView(self.explorer.logs, **self._conditions, lead=self._lead)

    def _share_conditions(self, name: str) -> None:
        """Decide under the conditions that were typed in another tab."""
        view = self.views[name]
        if view.has_trait("conditions"):
            view.conditions = self._conditions

    def _keep_conditions(self, change: Any) -> None:
        self._conditions = change["new"]

    def _try_another(self, _change: Any) -> None:
        """Make the open view, if it could not be made of the partition before."""
        if self.tab not in self.views:
            self._open()

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget's bundle with the explorer's picture for saved notebooks."""
        data = super()._repr_mimebundle_(**options)
        data["text/plain"] = self.explorer.describe()
        if self._static:
            data["image/png"] = self.explorer.to_png()
        return data
