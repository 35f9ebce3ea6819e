"""Where a reader of the workbench was: the way back and forward, and the address of each place."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from widgets.explorer.explorer import LogExplorer
from widgets.frame.place_bar import PlaceBar
from widgets.selection import from_front, to_front

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
