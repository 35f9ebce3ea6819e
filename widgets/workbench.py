"""Workbench: every view of log directories on one screen, with one selection."""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import ipywidgets
import traitlets

import widgets  # its views, each imported when its tab is first opened
import workbench
from widgets._conditions import AS_IT_IS
from widgets._visits import Leads, Visits
from widgets._widget import error_text
from widgets.explorer.explorer import LogExplorer
from widgets.frame.palette import Palette, query_of
from widgets.frame.place_bar import PlaceBar
from widgets.frame.tab_names import (
    CLEANING,
    CLUSTER,
    DISK,
    EXPLORE,
    FINDINGS,
    GROUPS,
    OVERVIEW,
    RECORDS,
    REPLICAS,
    RETENTION,
    SQL,
    STEPS,
    TRANSACTIONS,
    WHAT_IF,
)  # fmt: skip
from widgets.frame.tab_state import NO_PARTITION, TabState
from widgets.frame.ticket import Ticket
from widgets.live.arrivals import DAMAGE, Arrivals
from widgets.live.arrivals import RECORDS as RECORDS_CAME
from widgets.live.directory_changes import DirectoryChanges
from widgets.live.follower import is_written
from widgets.selection import NOTHING
from workbench.comparison.ahead import Replicas
from workbench.errors import WorkbenchError
from workbench.inspection.brokers import listings_by_broker
from workbench.loaders.answers.report_page import Target

if TYPE_CHECKING:
    from widgets.decisions.log_rules import LogRules

_STORY_OF: Final = {CLEANING: "Cleaning", RETENTION: "Retention", GROUPS: "Offsets"}
"""Tab → the story that plays what it shows."""
_COSTLY: Final = frozenset({RECORDS, CLEANING, RETENTION, STEPS})
"""Tabs whose views read much for each selection: they follow it while they are open."""
_TIMES: Final = {RECORDS: "brush", GROUPS: "window"}
"""Tab → the trait that is [from, to) in ms, as `PlaceBar.times`; empty: all."""


class NothingSelectedError(LookupError):
    """A view needs a partition, and none is selected."""


class Workbench(Visits, Leads, ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """Every view as a tab, below one line with the place that all of them show.

    Overview · Explore · Records · SQL · Disk · Cleaning · Retention · What if · Groups ·
    Transactions · Replicas · Files · Cluster · Findings · Steps.

    A view of the same directories is made when its tab is first opened. All follow the same
    selection (partition, segment, batch, record). The line above has the place (topic, partition,
    segment, offset), a range and a zone of time as fields to choose by, the way back and forward,
    and the switch for values; Ctrl+K finds tabs, topics, partitions, groups, offsets and keys.
    Records and Groups show that time, and set it. Cleaning and Retention show the selected
    partition, What if all of them, under the same conditions. Records searches the selected
    partition's topic while its tab is open, the newest first where a log is being written. Findings
    are those of the explorer.

    While Explore or Records follows what a broker writes (the button, or F), the open tab does; the
    others read what is new when they are opened. Only what is new is read where that is possible.

    While a log is being written, the line above says what came since the reader looked, and leads
    to it. The pin in it puts what is in sight into a report, with a note: `Ticket`.

    Directories of several brokers, distinguished by `node.id` in `meta.properties`, have the tab
    Replicas, and a field in the line above for the broker whose directories are shown; by default,
    those of all. Groups then reads the offsets topic's replicas that are ahead.

    Attributes:
        logs: the log directories shown.
        explorer: the explorer, whose selection all views share.
        views: name of a tab → its widget, of those that were opened.
        tabs: the tabs.
        bar: the line above them.
        arrivals: counts what came to directories that were written when they were opened, or are
            followed; None: nothing does.

    Args:
        logs: the result of `workbench.open_log_directory`, or a path or list of paths to open; of
            one broker or of several.
        show_values: None: keys, values and headers are shown, and are not in saved notebooks; the
            metadata of commits, which would be, is shown with ``static=False``. True: all of them
            are shown, and are in saved notebooks, too.
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
        show_values: bool | None = None,
        mask: Any = None,
        decode: Any = None,
        tab: str = OVERVIEW,
        static: bool = True,
        **options: Any,
    ) -> None:
        """Open paths, or show an opened directory; see the class."""
        logs = workbench.open_log_directory(logs)
        self.logs = logs
        self._static, self._decode = static, decode
        self._shown = {"show_values": show_values, "mask": mask}
        self._metadata = bool(show_values) or (show_values is None and not static)  # of commits
        self._visited: list[dict[str, str]] = []
        self._at, self._visits, self._is_moving = 0, 0, False
        self._conditions: dict[str, Any] = dict(AS_IT_IS)
        self._brokers = listings_by_broker(logs.listing)
        self._broker = ""
        self._make = self._makers()
        places = [ipywidgets.VBox() for _ in self._make]
        first = self._index_of(tab)
        self.tabs = ipywidgets.Tab(places, titles=self.titles, selected_index=first)
        self._palette = Palette(lambda: self.explorer.logs, self.titles)
        self.bar = PlaceBar(
            logs, move=self._move, open_address=self._open_address, tab=self.tab, static=False,
            choose_broker=self._choose_broker, brokers=[*map(str, self._brokers)],
            find=self._find, go=self._go_to_found, show_came=self._show_came,
            make_report=self._report,
        )  # fmt: skip
        super().__init__((self.bar, self.tabs), **options)
        self.add_class("klw-workbench")
        self._explore(logs)
        self.arrivals: Arrivals | None = None
        if is_written(logs.listing):
            self._watch()
        self.bar.observe(self._choose, "selected")
        self.bar.observe(self._open_by_name, "tab")
        self.bar.observe(self._show_values, "show_values")
        self.tabs.observe(self._open, "selected_index")
        self._open()
        self._visit()
        self.tabs.observe(self._visit, "selected_index")
        self.bar.observe(self._visit, ["times", "zone"])

    def _makers(self) -> dict[str, Callable[[], Any]]:
        """Return the name of each tab, in order → what makes its view."""
        made: dict[str, Callable[[], Any]] = {
            OVERVIEW: lambda: widgets.Overview(
                self.explorer.logs, verifier=self.explorer.verifier, lead=self._lead
            ),
            EXPLORE: lambda: self.explorer,
            RECORDS: lambda: widgets.RecordBrowser(
                self.explorer.logs,
                selected=self.explorer.selected,
                decode=self._decode,
                newest_first=is_written(self.explorer.logs.listing),
                **self._shown,
            ),
            SQL: lambda: widgets.SqlBox(self.explorer.logs, **self._shown),
            DISK: lambda: widgets.DiskUsage(
                self.explorer.logs, selected=self.explorer.selected, at=()
            ),
            CLEANING: lambda: self._rules_of(widgets.CleanerView),
            RETENTION: lambda: self._rules_of(widgets.RetentionView),
            WHAT_IF: self._what_if,
            GROUPS: lambda: widgets.GroupView(
                self._of_one_broker(),
                **self._conditions_of_groups(),
                just_started=False,
                **self._shown_of_groups,
            ),
            TRANSACTIONS: lambda: widgets.TransactionLanes(self.explorer.logs),
            REPLICAS: lambda: widgets.ReplicaLanes(self._of_all_brokers(), show=self._show_replica),
            "Files": lambda: widgets.CheckpointTable(self.explorer.logs),
            CLUSTER: lambda: widgets.ClusterView(self.explorer.logs),
            FINDINGS: lambda: widgets.FindingView(
                self.explorer.logs, verifier=self.explorer.verifier, show=self._show_in_explorer
            ),
            STEPS: self._stories,
        }  # fmt: skip
        if len(self._brokers) < 2:
            del made[REPLICAS]
        return made

    def _explore(self, logs: workbench.LogDirectory, before: LogExplorer | None = None) -> None:
        """Show directories: make their explorer, and no view yet."""
        rests = self.tab != EXPLORE
        self.explorer = LogExplorer(logs, decode=self._decode, rests=rests, **self._shown)
        if before is not None:
            self.explorer.show_values, self.explorer.follow = before.show_values, before.follow
        self._shown_of_groups = {
            "show_values": self._metadata and self.explorer.show_values,
            "mask": self._shown["mask"],
        }
        self.views: dict[str, Any] = {}
        self._links: dict[str, Any] = {}
        self._time_links: dict[str, Any] = {}
        self._owed: dict[str, DirectoryChanges] = {}
        self.bar.relist(logs)
        self._of_explorer: list[Any] = [
            traitlets.dlink((self.explorer, "selected"), (self.bar, "selected")),
            traitlets.link((self.explorer, "show_values"), (self.bar, "show_values")),
        ]
        self.explorer.observe(self._watch, "follow")
        self.explorer.observe(self._try_another, "selected")
        self.explorer.observe(self._visit, "selected")
        self.explorer.show_by(self._follow)

    @property
    def broker(self) -> str:
        """The id of the broker whose directories are shown, as text; empty: those of all.

        Set it where the directories are those of several brokers: views are made again.

        Raises:
            LookupError: none of the directories is that broker's.
        """
        return self._broker

    @broker.setter
    def broker(self, node_id: str) -> None:
        own = {str(each): listing for each, listing in self._brokers.items()}
        if node_id and node_id not in own:
            raise LookupError(f"no broker {node_id}; brokers: {', '.join(own)}")
        if node_id == self._broker:
            return
        before, self._broker = self.explorer, node_id
        shown = before.logs.listing.partitions.get(before.selected["partition"])
        for each in self._of_explorer:
            each.unlink()
        for place in self.tabs.children:
            place.children = ()
        for view in {before, *self.views.values()}:
            view.close()
        paths = [root.path for root in (own[node_id] if node_id else self.logs.listing).roots]
        self._explore(workbench.open_log_directory(paths, **self.logs.tier), before)
        self.bar.broker = node_id
        replicas = self.explorer.logs.listing.partitions.items()
        place = None if shown is None else (shown.topic, shown.partition)
        same = (name for name, each in replicas if (each.topic, each.partition) == place)
        self.explorer.selected = NOTHING | {"partition": next(same, None)}
        self._open()
        self._visit()

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

    def _choose_broker(self, node_id: str) -> None:
        self.broker = node_id

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
        if "tabs" in vars(self):  # otherwise nothing could be opened
            if self.arrivals is not None:
                self.arrivals.follower.stop()
            for each in {self.explorer, *self.views.values(), self.bar, self.tabs}:
                each.close()
        super().close()

    # What came since the reader looked.

    def _watch(self, _change: Any = None) -> None:
        """Count what a broker writes from now on, unless that is done."""
        if self.arrivals is None:
            with suppress(ValueError):  # not local directories
                self.arrivals = Arrivals(self.logs.listing, self._tell_arrivals)
                self.arrivals.follower.start()

    def _tell_arrivals(self, told: dict[str, Any]) -> None:
        self.bar.came = told

    def _show_came(self, what: str) -> None:
        """Show what came, in views that follow from now on; an empty text counts again."""
        if self.arrivals is None:
            return
        if not what:
            self.arrivals.dismiss()
            return
        self.explorer.follow = True
        self.tab = {RECORDS_CAME: RECORDS, DAMAGE: FINDINGS}.get(what, EXPLORE)
        for name in self.arrivals.damaged & self.explorer.verifier.listing.partitions.keys():
            self.explorer.verifier.verify(name)

    def _report(self, ticket: Ticket) -> str:
        """Return what is pinned, with what the overview has."""
        view = self.views.get(OVERVIEW)
        paths = [str(root.path) for root in self.explorer.logs.roots]
        return ticket.html(paths, view.numbers if view else (), view.made if view else ())

    def _find(self, text: str) -> dict[str, Any]:
        return self._palette.find(text, self.explorer.selected["partition"])

    def _go_to_found(self, kind: str, name: str, offset: str) -> None:
        """Show what was chosen in the palette."""
        if kind == "tab":
            self.tab = name
        elif kind == "topic":
            self.bar.answer_pick("topic", name)
        elif kind == "partition":
            self.explorer.selected = NOTHING | {"partition": name}
        elif kind == "offset":
            self.explorer.selected = NOTHING | {"partition": name, "offset": int(offset)}
            if self.tab != RECORDS:
                self.tab = EXPLORE
        elif kind == "group":
            self.tab = GROUPS
            self._show_target(Target(group=name))
        else:
            self.tab = RECORDS
            self.views[RECORDS].query = query_of(kind, name)

    def _show_values(self, _change: Any = None) -> None:
        """Show values, or hide them, in every view."""
        self._shown_of_groups["show_values"] = self.bar.show_values
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
        if view.in_address:
            view.observe(self._visit_in(name), list(view.in_address))
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
        of = {GROUPS: self._of_one_broker, REPLICAS: self._of_all_brokers}
        try:
            logs = of[self.tab]() if self.tab in of else self.explorer.logs
            view.relist(logs, written)
        except FileNotFoundError:  # deleted meanwhile: the next look sees it
            self._owed[self.tab] = written
        except Exception as error:  # noqa: BLE001 - a timer has no caller to raise to
            view.show_error(error)

    def _link_selection(self, name: str) -> None:
        view = self.views[name]
        is_of_others = name == REPLICAS and self.broker
        if name in self._links or view is self.explorer or is_of_others:
            return
        if view.has_trait("selected"):
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
        if name in {RECORDS, SQL}:
            traitlets.link((self.bar, "show_values"), (self.views[name], "show_values"))
        if name == RECORDS:
            self.views[name].is_led = True
            traitlets.link((self.explorer, "follow"), (self.views[name], "follow"))
        if name in _STORY_OF:
            self.views[name].let_play(lambda: self._play(name))
        if name == STEPS:
            shown = (self.bar, "show_values"), (self.views[name], "show_values")
            traitlets.dlink(*shown, lambda is_shown: is_shown and self._metadata)
        if name in _TIMES:
            self.views[name].keeps_times = True
            times = (self.bar, "times"), (self.views[name], _TIMES[name])
            self._time_links[name] = traitlets.link(*times)

    def _of_all_brokers(self) -> workbench.LogDirectory:
        """Return the directories of all brokers, as they are listed now."""
        return self.logs.listed_again() if self.broker else self.explorer.logs

    def _of_one_broker(self) -> workbench.LogDirectory:
        """Return the directories with the replicas of Kafka's own topics that are ahead."""
        chosen = Replicas(self.explorer.logs.listing, lambda _text: None)
        return workbench.LogDirectory(chosen.listing) if chosen.brokers else self.explorer.logs

    def _rules_of(self, view: "type[LogRules]") -> "LogRules":
        name = self.explorer.selected["partition"]
        if name is None:
            raise NothingSelectedError(NO_PARTITION)
        selected = self.explorer.selected
        return view(self.explorer.logs[name], **self._conditions, selected=selected)

    def _conditions_of_groups(self) -> dict[str, Any]:
        given = self._conditions
        return {"config": given["config"], "now": given["now"], "version": given["kafka"]}

    def _what_if(self) -> widgets.WhatIfView:
        return widgets.WhatIfView(self.explorer.logs, **self._conditions, lead=self._lead)

    def _play(self, name: str) -> None:
        """Play what a tab shows."""
        group = self.views[GROUPS].group if name == GROUPS else ""
        self._is_moving = True  # one step of the way back
        try:
            self.tab = STEPS
            self.views[STEPS].show_address({"story": _STORY_OF[name], "group": group})
        finally:
            self._is_moving = False
        self._visit()

    def _stories(self) -> Any:
        from widgets.stories.stories import Stories  # when its tab is first opened

        given = {"selected": self.explorer.selected, "conditions": self._conditions}
        return Stories(self.explorer.logs, mask=self._shown["mask"], **given)

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
