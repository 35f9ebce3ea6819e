"""PlaceBar: directory, topic, partition, segment and offset in one line, each a picker."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import traitlets

import workbench
from widgets._assets import script, style
from widgets._file import Answer
from widgets._widget import KafkaWidget
from widgets.frame.ticket import SeenTable, Ticket
from widgets.selection import NOTHING, from_front, segment_with_base, to_front
from workbench.runtime.times import LONGEST_TIME, milliseconds, time_text

MOST_PICKED: Final = 20_000
"""Names that a picker lists; others can be typed."""
ALL_BROKERS: Final = "all brokers"


class PlaceBar(KafkaWidget):
    """Show what is selected in one line: topic, partition, segment, offset; each can be picked.

    Attributes:
        selected: see `LogExplorer.selected`, to which it is linked.
        tab: the name of the open view.
        zone: the name of the time zone in which times are shown, as "Europe/Berlin".
        times: [from, to) in ms: what views that filter by time show; empty: all.
        show_values: whether views show keys, values and headers.
        broker: the id of the broker whose directories are shown; empty: all.
        pins: what is pinned to the ticket, a text each.
        came: what came to live directories since they were looked at, see `Arrivals.told`.
        logs: the log directories shown.

    Args:
        logs: the result of `workbench.open_log_directory`.
        move: called with -1 for back and 1 for forward.
        open_address: called with what an address says.
        choose_broker: called with the id of a broker, or with an empty text for all of them.
        brokers: the ids of the brokers whose directories were opened.
        find: returns what a text can mean, see `Palette.find`.
        go: called with kind, name and offset of what was chosen of that.
        make_report: returns the report with what is pinned, as HTML.
        show_came: called with what of `came` is to be shown; empty: nothing, count again from now.

    Raises:
        TypeError: an unknown option.
    """

    _esm = script("frame/place_bar.js")
    _css = style("frame/place_bar.css")

    selected: Any = traitlets.Dict(NOTHING).tag(sync=True, to_json=to_front, from_json=from_front)
    tab = traitlets.Unicode().tag(sync=True)
    show_values = traitlets.Bool(default_value=True).tag(sync=True)
    zone = traitlets.Unicode("UTC").tag(sync=True)
    _machine_zone = traitlets.Unicode().tag(sync=True)
    times = traitlets.List(traitlets.Float()).tag(sync=True)
    broker = traitlets.Unicode().tag(sync=True)
    _brokers: Any = traitlets.List().tag(sync=True)
    _title: Any = traitlets.Dict().tag(sync=True)
    _topics: Any = traitlets.List().tag(sync=True)
    _topic = traitlets.Unicode().tag(sync=True)
    _partitions: Any = traitlets.List().tag(sync=True)
    _segments: Any = traitlets.List().tag(sync=True)
    _address: Any = traitlets.Dict({"number": 0, "parts": {}}).tag(sync=True)
    came: Any = traitlets.Dict().tag(sync=True)
    pins: Any = traitlets.List().tag(sync=True)
    _moves: Any = traitlets.Dict({"back": False, "forward": False}).tag(sync=True)

    def __init__(
        self,
        logs: workbench.LogDirectory,
        *,
        move: Callable[[int], None],
        open_address: Callable[[Mapping[str, str]], None] = lambda _parts: None,
        choose_broker: Callable[[str], None] = lambda _node_id: None,
        brokers: Sequence[str] = (),
        find: Callable[[str], dict[str, Any]] = lambda _text: {"found": [], "is_reading": False},
        go: Callable[[str, str, str], None] = lambda _kind, _name, _offset: None,
        show_came: Callable[[str], None] = lambda _what: None,
        make_report: Callable[[Ticket], str] = lambda _ticket: "",
        **options: Any,
    ) -> None:
        """Show an opened directory; see the class."""
        self._move, self._open_address = move, open_address
        self._choose_broker, self._ids = choose_broker, brokers
        self._find, self._go, self._show_came = find, go, show_came
        self._make_report, self.ticket = make_report, Ticket()
        self.logs = logs
        super().__init__(_machine_zone=_machine_zone(), **options)
        if len(brokers) > 1:
            self._brokers = [ALL_BROKERS, *map(_named, brokers)]
        self.relist(logs)

    def relist(self, logs: workbench.LogDirectory) -> None:
        """Take over the directories as they are listed now."""
        self.logs = logs
        paths = [str(root.path) for root in logs.roots]
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        with self.hold_sync():
            name = paths[0].rstrip("/").rpartition("/")[2] or paths[0]
            self._title = {"title": f"{name}{more}", "path": "\n".join(paths)}
            self._topics = logs.topics[:MOST_PICKED]
            self._list()

    @traitlets.observe("selected")
    def _list(self, _change: Any = None) -> None:
        """Send what can be picked beside the selection."""
        partition = self.logs.listing.partitions.get(self.selected["partition"] or "")
        if partition is None:
            self._topic, self._partitions, self._segments = "", [], []
            return
        self._topic = partition.topic
        names = (n for n, each in self.logs.items() if each.topic == partition.topic)
        self._partitions = [*names][:MOST_PICKED]
        self._segments = [str(each.base_offset) for each in partition.segments_of_log][:MOST_PICKED]

    def show_moves(self, *, back: bool, forward: bool) -> None:
        """Show whether there is something to go back to, and forward."""
        self._moves = {"back": back, "forward": forward}

    def tell_address(self, parts: Mapping[str, str], number: int) -> None:
        """Let the address of the app say what is shown.

        Args:
            parts: names and texts.
            number: grows with each place that the way back leads to.
        """
        self._address = {"number": number, "parts": dict(parts)}

    def answer_move(self, by: int) -> Answer:
        """Go back or forward."""
        self._move(-1 if by < 0 else 1)
        return {}, []

    def answer_open(self, parts: dict[str, str]) -> Answer:
        """Show what an address says: one that was pasted, or that the browser's Back leads to."""
        self._open_address({str(name): str(text) for name, text in parts.items()})
        return {}, []

    def address_of_times(self) -> dict[str, str]:
        """Return the range and the zone of time as texts of an address; UTC is not named."""
        zone = {} if self.zone == "UTC" else {"zone": self.zone}
        if not self.times:
            return zone
        first, last = map(int, self.times)
        return zone | {
            "from": _short(first) if first > 0 else "",
            "to": _short(last) if last < LONGEST_TIME else "",
        }

    @traitlets.validate("zone")
    def _known_zone(self, proposal: Any) -> str:
        name: str = proposal["value"]
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise traitlets.TraitError(
                f"unknown time zone {name!r} (expected a name such as Europe/Berlin)"
            ) from None
        return name

    def answer_times(self, start: str, stop: str) -> Answer:
        """Show a range of time; an empty text is an open end.

        Args:
            start, stop: times, as `workbench.runtime.times.milliseconds` reads them, in `zone` if
                they name none; [start, stop).

        Raises:
            ValueError: a text is not a time, or the range is empty.
        """
        zone = ZoneInfo(self.zone)
        first = milliseconds(start, zone) if start.strip() else 0
        last = milliseconds(stop, zone) if stop.strip() else LONGEST_TIME
        if not first < last:
            raise ValueError(
                f"the range from {time_text(first)} to {time_text(last)} is empty (expected a "
                "start before the end)"
            )
        is_open = not start.strip() and not stop.strip()
        self.times = [] if is_open else [float(first), float(last)]
        return {}, []

    def answer_pick(self, part: str, text: str) -> Answer:
        """Select a topic, partition, segment or offset, or show a broker's directories alone.

        Raises:
            LookupError: there is none of that name.
            ValueError: the offset is not a number, or not in the log.
        """
        if part == "broker":
            self._pick_broker(text.strip())
        else:
            self.selected = self._picked(part, text.strip())
        return {}, []

    def answer_find(self, text: str) -> Answer:
        """Return what a text that is typed in the palette can mean."""
        return self._find(text), []

    def answer_go(self, what: str, name: str, offset: str) -> Answer:
        """Go where the palette leads: to a thing of a kind, see `palette.Found`.

        Raises:
            LookupError, ValueError: it is not there any more.
        """
        self._go(what, name, offset)
        return {}, []

    def answer_came(self, what: str) -> Answer:
        """Show what came; an empty text forgets it."""
        self._show_came(what)
        return {}, []

    def answer_pin(self, note: str, told: list[str], tables: list[dict[str, Any]]) -> Answer:
        """Pin what is shown.

        Raises:
            ValueError: there are too many pins.
        """
        shown = [SeenTable(**each) for each in tables]
        paths = [str(root.path) for root in self.logs.roots]
        self.ticket.pin(self._address["parts"], paths, note, told, shown)
        self.pins = self.ticket.told()
        return {}, []

    def answer_unpin(self, number: int) -> Answer:
        """Remove a pin.

        Raises:
            LookupError: there is none of that number.
        """
        self.ticket.remove(number)
        self.pins = self.ticket.told()
        return {}, []

    def answer_report(self) -> Answer:
        """Return the report with what is pinned."""
        return {"html": self._make_report(self.ticket)}, []

    def answer_fate(self, offset: str) -> Answer:
        """Show what became of an offset of the selected partition.

        Raises:
            LookupError: no partition is selected.
            ValueError: it is not a number.
        """
        name = self.selected["partition"]
        if name is None:
            raise LookupError("choose a partition first")
        if not offset.isdecimal():
            raise ValueError(f"expected an offset, found {offset!r}")
        told = self.logs[name].fate(int(offset))
        return {"conclusion": told.conclusion, "rows": told.rows()}, []

    def _pick_broker(self, text: str) -> None:
        wanted = text.casefold()
        if ALL_BROKERS.startswith(wanted):
            self._choose_broker("")
            return
        found = next((each for each in self._ids if wanted in {each, _named(each)}), None)
        if found is None:
            raise LookupError(f"no broker {text}")
        self._choose_broker(found)

    def _picked(self, part: str, text: str) -> dict[str, Any]:
        name = self.selected["partition"]
        if part == "topic":
            found = next((n for n, each in self.logs.items() if each.topic == text), None)
            if found is None:
                raise LookupError(f"no topic {text}")
            return NOTHING | {"partition": found}
        if part == "partition":
            wanted = text
            if name is not None and text.isdecimal():  # its number is enough
                wanted = f"{self.logs[name].topic}-{text}"
            if wanted not in self.logs:
                raise LookupError(f"no partition {text}")
            return NOTHING | {"partition": wanted}
        if name is None:
            raise LookupError("choose a partition first")
        if not text.isdecimal():
            raise ValueError(f"expected a number, found {text!r}")
        if part == "segment":
            if segment_with_base(self.logs[name], int(text)) is None:
                raise LookupError(f"{name} has no segment {text}")
            return NOTHING | {"partition": name, "segment": int(text)}
        return NOTHING | {"partition": name, "offset": int(text)}

    def describe(self) -> str:
        """Describe the widget in one line, where no picture can be shown."""
        parts = [self.selected[each] for each in ("partition", "segment", "offset")]
        shown = " > ".join(str(each) for each in parts if each is not None)
        text = f"PlaceBar: {self._title['title']}{' > ' if shown else ''}{shown}"
        if not self.times:
            return text
        first, last = (time_text(int(each)) for each in self.times)
        return f"{text}, from {first} to {last}"


def _named(node_id: str) -> str:
    """Return a broker as the field shows it."""
    return f"broker {node_id}"


def _machine_zone() -> str:
    """Return the name of this machine's time zone; empty where it has none."""
    name = os.environ.get("TZ", "").removeprefix(":")
    name = name or os.path.realpath("/etc/localtime").rpartition("/zoneinfo/")[2]
    return name if name in available_timezones() else ""


def _short(time: int) -> str:
    """Return a time without ms that are none, as the fields show it."""
    return time_text(time).replace(".000Z", "Z")
