"""The states of a round's batches and records at the step shown, for the static picture.

``static/compaction/compaction_data.js`` keeps the same for the page, for every step at once.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from widgets.view.players.compaction import ROLES, Layout, Touched
from workbench.cleaner.decisions import Reason, Verdict
from workbench.runtime.steps import Step

_BETWEEN_BATCHES, _BETWEEN_SEGMENTS, _EMPTY = 0.16, 0.9, 0.7
_MOST_CELLS = 34

Floats = npt.NDArray[np.float64]


class CompactionStates:
    """The state after one step.

    Attributes:
        layout: the layout of the step's round.
        starts, ends: float64[b], each batch's begin and end, in cells of one record.
        bounds: each segment's begin and end, in cells.
        view: the cells drawn: [from, to).
        records: number of a record → "mapped", "kept" or "dropped".
        verdicts: number of a batch → its verdict.
        fates: segment → "deleted" or "removed".
        groups: for each group of segments: its first, its last, and its file's suffix.
        touched: the cells that the step is about; None if there are none.
    """

    def __init__(
        self, layout: Layout, steps: Sequence[Step], touches: Sequence[Touched], at: int
    ) -> None:
        """Go through the round's steps up to ``at``."""
        self.layout = layout
        self._lay_out()
        self.records: dict[int, str] = {}
        self.verdicts: dict[int, Verdict] = {}
        self.fates: dict[int, str] = {}
        self.groups: list[tuple[int, int, str]] = []
        for number in range(layout.round.first_step, at + 1):
            self._take(ROLES.get(steps[number].kind, ""), steps[number], touches[number])
        self.touched = self._touched(touches[at]) if at >= 0 else None
        self.view = self._view()

    def _lay_out(self) -> None:
        layout, at = self.layout, 0.0
        count = len(layout.columns)
        self.starts, self.ends = np.zeros(count), np.zeros(count)
        self.bounds: list[tuple[float, float]] = []
        sizes = np.diff(layout.first_records)
        for segment in range(len(layout.bases)):
            begin = at
            first, end = layout.first_batches[segment : segment + 2].tolist()
            for batch in range(first, end):
                wide = float(sizes[batch]) or (_EMPTY if layout.round.records is not None else 1.0)
                self.starts[batch], self.ends[batch] = at, at + wide
                at += wide + _BETWEEN_BATCHES
            at += _EMPTY if first == end else 0.0
            self.bounds.append((begin, at - _BETWEEN_BATCHES))
            at += _BETWEEN_SEGMENTS
        self.wide = max(1.0, at - _BETWEEN_SEGMENTS)

    def _take(self, role: str, step: Step, touch: Touched) -> None:
        if role in {"mapped", "kept", "dropped"} and touch.record >= 0:
            self.records[touch.record] = role
        elif role in {"copied", "rebuilt", "emptied", "gone"}:
            self._judge(touch.batch)
        elif role == "cleaned":
            first, end = self.layout.first_batches[touch.segment : touch.segment + 2].tolist()
            for batch in range(first, end):
                self._judge(batch)
        elif role in {"deleted", "removed"}:
            self.fates[touch.segment] = role
        elif role == "grouped":
            bases = step.numbers["base_offsets"]
            last = self.layout.bases.index(bases[-1])
            self.groups.append((touch.segment, last, ".cleaned"))
        elif role in {"ready", "swapped"}:
            name = ".swap" if role == "ready" else ""
            self.groups = [
                (first, last, name if first == touch.segment else before)
                for first, last, before in self.groups
            ]

    def _judge(self, batch: int) -> None:
        cleaning = self.layout.round.cleaning
        if cleaning is not None and batch < len(cleaning.decisions.batches):
            self.verdicts[batch] = Verdict(int(cleaning.decisions.batches["verdict"][batch]))

    def place_of(self, record: int) -> float:
        """Where a record begins, in cells."""
        batch = int(np.searchsorted(self.layout.first_records, record, "right")) - 1
        return float(self.starts[batch] + record - self.layout.first_records[batch])

    def newer_of(self, record: int) -> int:
        """Return the record that supersedes this record; -1 if none does."""
        found, records = self.layout.round, self.layout.round.records
        if found.cleaning is None or records is None or record >= len(found.cleaning.decisions):
            return -1
        decisions = found.cleaning.decisions
        if decisions.reasons[record] != Reason.SUPERSEDED:
            return -1
        return int(np.searchsorted(records.offsets, decisions.newer_offsets[record]))

    def share_of(self, batch: int) -> float:
        """Return the share of a batch's bytes that is kept, 0 to 1."""
        cleaning = self.layout.round.cleaning
        if cleaning is None or batch >= len(cleaning.decisions.batches):
            return 1.0
        row = cleaning.decisions.batches[batch]
        return float(row["new_size"]) / max(1, int(row["size"]))

    def _touched(self, touch: Touched) -> tuple[float, float] | None:
        if touch.record >= 0:
            return self.place_of(touch.record), self.place_of(touch.record) + 1
        if touch.batch >= 0:
            return float(self.starts[touch.batch]), float(self.ends[touch.batch])
        return self.bounds[touch.segment] if touch.segment >= 0 else None

    def _view(self) -> tuple[float, float]:
        if self.wide <= _MOST_CELLS:
            return 0.0, max(self.wide, 16.0)
        middle = self.touched[0] if self.touched else 0.0
        start = max(0.0, min(self.wide - _MOST_CELLS, middle - _MOST_CELLS * 0.3))
        return start, start + _MOST_CELLS
