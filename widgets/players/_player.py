"""The base of the players: steps, the current step, a title, and the result."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, Final

import traitlets

import workbench
from widgets._assets import style
from widgets._widget import KafkaWidget
from workbench.errors import LogDirectoryError, PlayerError
from workbench.foresight.dry_listing import open_dry
from workbench.loaders.explanations.explain_partition import is_compacted as is_compacted_log
from workbench.loaders.in_hand import InHand
from workbench.loaders.partition import Config, Partition
from workbench.loaders.topic import Topic
from workbench.runtime.steps import Step
from workbench.runtime.words import plural

Place = InHand
"""A partition, a segment of it, its path; or a topic or directory that has one such partition."""

_NAMED: Final = 12  # partitions that a message names


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
    _code = traitlets.Unicode().tag(sync=True)  # makes it, up to its last argument; empty: unknown

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


def made_by(call: str, *given: str) -> str:
    """Return the Python code that makes a player, up to its last argument, the step."""
    return f"import widgets\n\nwidgets.{call}({', '.join(given)}"


def find_partition(
    place: Place, shown_by: str, *, is_compacted: bool = False, config: Config = None
) -> Partition:
    """Return the partition that a place is, or the only one in it.

    Args:
        place: what a caller has in hand.
        shown_by: the name of the widget, for the message.
        is_compacted: whether the widget is about compacted logs.
        config: the configuration that says which those are; see `Partition`.

    Raises:
        LogDirectoryError: it is not a single partition; the message names those that are here.
    """
    if isinstance(place, Partition):
        return place
    if isinstance(place, Topic):
        found, where = place.partitions, place.name
    else:
        opened = workbench.open_log_directory(place)
        found, where = [opened[name] for name in opened], opened.roots[0].path
        if any(each.only is not None for each in found):
            raise LogDirectoryError(where, "not a partition directory (found a file)")
    served = [each for each in found if each.kind == "log"]
    chosen = found if len(found) == 1 else served
    verb = "here"
    if is_compacted and len(served) > 1:
        compacted = _compacted(served, config)
        chosen, verb = (compacted, "compacted here") if compacted else (served, "here")
    if len(chosen) != 1:
        chosen = sorted(chosen, key=lambda each: each.topic.startswith("__"))  # one's own first
        names = [each.name for each in chosen[:_NAMED]]
        named = ", ".join(names) + (", …" if len(chosen) > _NAMED else "")
        raise LogDirectoryError(where, f"{shown_by} shows one partition; {verb}: {named or 'none'}")
    return chosen[0]


def _compacted(partitions: Sequence[Partition], config: Config) -> list[Partition]:
    first = partitions[0]
    with open_dry(directories_of(first), config, 0, None, first.fs) as dry:
        return [each for each in partitions if is_compacted_log(dry, each)]


def directories_of(partition: Partition) -> tuple[str, ...]:
    """Return the log directories a partition was opened with; by default its parent directory."""
    path = partition.path
    path = path if "://" in path else os.path.abspath(path)
    return partition.log_directories or (os.path.dirname(path),)
