"""PlaceBar: directory, topic, partition, segment and offset in one line, each a picker."""

from collections.abc import Callable
from typing import Any, Final

import traitlets

import workbench
from widgets._assets import script, style
from widgets._file import Answer
from widgets._widget import KafkaWidget
from widgets.selection import NOTHING, from_front, segment_with_base, to_front
from workbench.runtime.times import LONGEST_TIME, milliseconds, time_text

MOST_PICKED: Final = 20_000
"""Names that a picker lists; others can be typed."""


class PlaceBar(KafkaWidget):
    """Show what is selected in one line: topic, partition, segment, offset; each can be picked.

    Attributes:
        selected: see `LogExplorer.selected`, to which it is linked.
        tab: the name of the open view.
        times: [from, to) in ms: what views that filter by time show; empty: all.
        show_values: whether views show keys, values and headers.
        logs: the log directories shown.

    Args:
        logs: the result of `workbench.open_log_directory`.
        move: called with -1 for back and 1 for forward.

    Raises:
        TypeError: an unknown option.
    """

    _esm = script("frame/place_bar.js")
    _css = style("frame/place_bar.css")

    selected: Any = traitlets.Dict(NOTHING).tag(sync=True, to_json=to_front, from_json=from_front)
    tab = traitlets.Unicode().tag(sync=True)
    show_values = traitlets.Bool(default_value=False).tag(sync=True)
    times = traitlets.List(traitlets.Float()).tag(sync=True)
    _title: Any = traitlets.Dict().tag(sync=True)
    _topics: Any = traitlets.List().tag(sync=True)
    _topic = traitlets.Unicode().tag(sync=True)
    _partitions: Any = traitlets.List().tag(sync=True)
    _segments: Any = traitlets.List().tag(sync=True)
    _moves: Any = traitlets.Dict({"back": False, "forward": False}).tag(sync=True)

    def __init__(
        self, logs: workbench.LogDirectory, *, move: Callable[[int], None], **options: Any
    ) -> None:
        """Show an opened directory; see the class."""
        self._move = move
        self.logs = logs
        super().__init__(**options)
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
        self._picture = None
        partition = self.logs.listing.partitions.get(self.selected["partition"] or "")
        if partition is None:
            self._topic, self._partitions, self._segments = "", [], []
            return
        self._topic = partition.topic
        names = (n for n, each in self.logs.items() if each.topic == partition.topic)
        self._partitions = [*names][:MOST_PICKED]
        self._segments = [str(each.base_offset) for each in partition.segments_of_log][:MOST_PICKED]

    @traitlets.observe("times")
    def _forget_picture(self, _change: Any) -> None:
        self._picture = None

    def show_moves(self, *, back: bool, forward: bool) -> None:
        """Show whether there is something to go back to, and forward."""
        self._moves = {"back": back, "forward": forward}

    def answer_move(self, by: int) -> Answer:
        """Go back or forward."""
        self._move(-1 if by < 0 else 1)
        return {}, []

    def answer_times(self, start: str, stop: str) -> Answer:
        """Show a range of time; an empty text is an open end.

        Args:
            start, stop: times, as `workbench.runtime.times.milliseconds` reads them; [start, stop).

        Raises:
            ValueError: a text is not a time, or the range is empty.
        """
        first = milliseconds(start) if start.strip() else 0
        last = milliseconds(stop) if stop.strip() else LONGEST_TIME
        if not first < last:
            raise ValueError(
                f"the range from {time_text(first)} to {time_text(last)} is empty (expected a "
                "start before the end)"
            )
        is_open = not start.strip() and not stop.strip()
        self.times = [] if is_open else [float(first), float(last)]
        return {}, []

    def answer_pick(self, part: str, text: str) -> Answer:
        """Select a topic, partition, segment or offset.

        Raises:
            LookupError: there is none of that name.
            ValueError: the offset is not a number, or not in the log.
        """
        self.selected = self._picked(part, text.strip())
        return {}, []

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

    def to_png(self) -> bytes:
        """Draw the line. Imports matplotlib."""
        if self._picture is None:
            from widgets.pictures import text_picture

            self._picture = text_picture(self.describe())
        return self._picture
