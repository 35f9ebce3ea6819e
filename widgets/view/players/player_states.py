"""The states of a player's segments at the step shown, for its static picture.

``static/players/player_data.js`` keeps the same for the page, for every step at once.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from widgets.view.players.steps import NOWHERE, Scene, Touch, role_of
from workbench.runtime.steps import Step

_ON_BATCHES: Final = frozenset({"passed", "found", "valid", "invalid", "appended"})
_FATES: Final = frozenset({"kept", "deletable", "gone", "removed", "recovered", "cut"})
_PROBES: Final = frozenset({"probe", "time probe"})
_ALL_FIT, _WINDOW = 80, 48


class PlayerStates:
    """The state after one step.

    Attributes:
        scenes: the segments, ascending.
        stage: the segment drawn; -1 if no step has a segment.
        touch, role: the step's touch and role.
        view: the range of the segment's bytes drawn: [from, to).
        shown: bool[n], whether each batch of that segment exists yet.
        entries: int64[n], positions of the index entries that exist.
        probes: positions compared in the last search, each with whether the step compares it.
        is_in_times: whether that search is in the time index.
        cut_from: the position at which the segment was truncated; None if it was not.
        fates: segment → the last decision on it.
        progress: segment → bytes that were validated, or written.
        unborn: segments that a later step begins.
    """

    def __init__(
        self, scenes: Sequence[Scene], steps: Sequence[Step], touches: Sequence[Touch], at: int
    ) -> None:
        """Go through the steps up to ``at``."""
        roles = [role_of(step, touch) for step, touch in zip(steps, touches, strict=True)]
        self.scenes = scenes
        self.touch, self.role = (touches[at], roles[at]) if at >= 0 else (NOWHERE, "")
        self.stage = _stage(touches, at)
        self.fates: dict[int, str] = {}
        self.progress: dict[int, int] = {}
        self.probes: list[tuple[int, bool]] = []
        self.is_in_times = False
        self.cut_from: int | None = None
        self._states: dict[int, str] = {}
        self._added: list[int] = []
        grows = "appended" in roles
        told = list(zip(roles, touches, strict=True))
        self.unborn = {
            touch.segment for number, (role, touch) in enumerate(told)
            if role == "rolled" and number > at
        }  # fmt: skip
        for number, (role, touch) in enumerate(told[: at + 1]):
            self._take(role, touch, is_now=number == at)
        self.shown = self._shown(told, at) if grows else np.ones(self._count, bool)
        self.entries = self._entries(told)
        self.view = self._view()

    def _take(self, role: str, touch: Touch, *, is_now: bool) -> None:
        if role in _FATES:
            self.fates[touch.segment] = role
        if role in {"valid", "appended"}:
            end = touch.position + touch.size
            self.progress[touch.segment] = max(self.progress.get(touch.segment, 0), end)
        if touch.segment != self.stage:
            return
        if role in _ON_BATCHES:
            self._states[touch.position] = role
        if role == "added":
            self._added.append(touch.position)
        if role in _PROBES:
            in_times = role == "time probe"
            if in_times != self.is_in_times:
                self.probes, self.is_in_times = [], in_times
            self.probes.append((touch.position, is_now))
        if role == "cut":
            self.cut_from = touch.position
        if role == "gone":
            self.cut_from = 0

    def state_of(self, row: int) -> str:
        """Return the state of a batch of the segment drawn: a role, or ""."""
        return self._states.get(int(self.scenes[self.stage].rows["position"][row]), "")

    @property
    def _count(self) -> int:
        return len(self.scenes[self.stage].rows) if self.stage >= 0 else 0

    def _shown(self, told: list[tuple[str, Touch]], at: int) -> npt.NDArray[np.bool_]:
        """Return the batches up to the last one written so far."""
        places = [
            (number, touch.position)
            for number, (_, touch) in enumerate(told)
            if touch.segment == self.stage and touch.position >= 0
        ]
        shown = np.ones(self._count, bool)
        later = [position for number, position in places if number > at]
        seen = {position for number, position in places if number <= at}
        later = [position for position in later if position not in seen]
        if later:
            shown &= self.scenes[self.stage].rows["position"] < min(later)
        return shown

    def _entries(self, told: list[tuple[str, Touch]]) -> npt.NDArray[np.int64]:
        if self.stage < 0:
            return np.zeros(0, np.int64)
        scene = self.scenes[self.stage]
        if self.is_in_times:
            return scene.time_entries
        mine = [(role, touch) for role, touch in told if touch.segment == self.stage]
        if not any(role in {"added", "skipped"} for role, _ in mine):
            return scene.entries
        first = next((touch.position for role, touch in mine if role == "added"), None)
        kept = scene.entries if first is None else scene.entries[scene.entries < first]
        if not any(role == "appended" for role, _ in mine):
            kept = kept[:0]
        return np.concatenate([kept, np.array(self._added, np.int64)])

    def _view(self) -> tuple[float, float]:
        """Return the bytes around the step's touch; all bytes of a segment of few batches."""
        if self.stage < 0:
            return (0.0, 1.0)
        size = max(1, self.scenes[self.stage].size)
        window = size / max(1, self._count) * _WINDOW
        if self._count <= _ALL_FIT or self.role.endswith("probe") or self.touch.position < 0:
            return (0.0, float(size))
        window = min(size, max(window, self.touch.size * 1.2))
        first = max(0.0, min(size - window, self.touch.position - window / 2))
        return (first, first + window)


def _stage(touches: Sequence[Touch], at: int) -> int:
    """Return the segment of the step ``at``, or of the nearest step before or after it."""
    before = [touch.segment for touch in touches[: at + 1] if touch.segment >= 0]
    after = [touch.segment for touch in touches[at + 1 :] if touch.segment >= 0]
    return before[-1] if before else (after[0] if after else -1)
