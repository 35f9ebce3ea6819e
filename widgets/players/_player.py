"""The base of the players: steps, the current step, a title, and the result."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, Final

import traitlets

import workbench
from widgets._assets import style
from widgets._widget import KafkaWidget
from workbench.errors import LogDirectoryError, PlayerError
from workbench.loaders.partition import Partition
from workbench.runtime.steps import Step
from workbench.runtime.words import plural

Place = Partition | str | os.PathLike[str]
"""A partition: as `workbench.open_log_directory` lists it, or the path of its directory."""


POSTERS: Final = {
    "segment cleaned": 0,  # the first: kept and dropped records are above what is kept of them
    "invalid batch found": -1,
    "segment recovered": -1,
    "segment deletable": -1,
    "records sliced": -1,
    "batch found": -1,
    "offset loaded": -1,
    "partition answered": -1,
}
"""Kinds of steps that show what a story is about, the best first; which of several: 0 or -1."""


def poster_of(steps: Sequence[Step]) -> int:
    """Return the step that a player opens on: the one that shows the most; -1 without steps."""
    for kind, which in POSTERS.items():
        found = [at for at, step in enumerate(steps) if step.kind == kind]
        if found:
            return found[which]
    return len(steps) - 1


def steps_in(what: Any, hint: str) -> tuple[Step, ...]:
    """Return the steps that a player was given.

    Raises:
        PlayerError: they are not steps; ``hint`` says what plays something else.
    """
    steps = tuple(what) if isinstance(what, Iterable) else (what,)
    if not all(isinstance(step, Step) for step in steps):
        name = type(what).__name__
        raise PlayerError(f"{name}: expected the steps that an observer received; {hint}")
    return steps


class Player(KafkaWidget):
    """The base of the players.

    Attributes:
        at: the index of the step shown; -1 without steps.
        steps: the steps to play.
    """

    _css = style("players/player.css")

    at = traitlets.Int(-1).tag(sync=True)
    _title = traitlets.Unicode().tag(sync=True)
    _about = traitlets.Unicode().tag(sync=True)
    _played: Any = traitlets.Dict().tag(sync=True)

    def __init__(self, **options: Any) -> None:
        """Begin without steps."""
        self.steps: tuple[Step, ...] = ()
        super().__init__(**options)

    @traitlets.validate("at")
    def _within(self, proposal: Any) -> int:
        """Keep `at` on a step."""
        last = len(self.steps) - 1
        return max(min(0, last), min(last, int(proposal["value"])))

    @traitlets.observe("at")
    def _forget_picture(self, _change: Any) -> None:
        self._picture = None

    @property
    def step(self) -> Step | None:
        """The step shown; None without steps."""
        return self.steps[self.at] if self.steps else None

    @property
    def title(self) -> str:
        """What the steps do."""
        return str(self._title)

    @property
    def about(self) -> str:
        """The result, in a few words."""
        return str(self._about)

    def describe(self) -> str:
        """Return the title, the result, and the step shown."""
        name = f"{type(self).__name__}: {self.title}, {plural(len(self.steps), 'step')}"
        name += f", {self.about}" if self.about else ""
        return name if self.step is None else f"{name}\n{self.at + 1}. {self.step}"


def find_partition(place: Place) -> Partition:
    """Return the partition itself, or the partition at a path.

    Raises:
        LogDirectoryError: the path is not a partition directory.
    """
    if isinstance(place, Partition):
        return place
    path = os.fspath(place)
    opened = workbench.open_log_directory(path if "://" in path else os.path.abspath(path))
    (root,) = opened.roots
    if root.is_log_directory or opened[root.partitions[0].name].only is not None:
        raise LogDirectoryError(root.path, "not a partition directory")
    return opened[root.partitions[0].name]


def directories_of(partition: Partition) -> tuple[str, ...]:
    """Return the log directories a partition was opened with; by default its parent directory."""
    path = partition.path
    path = path if "://" in path else os.path.abspath(path)
    return partition.log_directories or (os.path.dirname(path),)
