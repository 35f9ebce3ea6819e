"""What every player has: steps, the one that is shown, a title, and how it ended."""

import os
from typing import Any

import traitlets

import workbench
from widgets._link import STATIC
from widgets._widget import KafkaWidget
from widgets.view.text import plural
from workbench.errors import LogDirectoryError
from workbench.loaders.partition import Partition
from workbench.log.steps import Step

Place = Partition | str | os.PathLike[str]
"""A partition: as `workbench.open_log_directory` lists it, or the path of its folder."""


class Player(KafkaWidget):
    """The base of the players.

    Attributes:
        at: index of the step that is shown; -1 where there is none.
        steps: what is played.
    """

    _css = "\n".join(
        (STATIC / name).read_text(encoding="utf-8") for name in ("explorer.css", "player.css")
    )

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
        """The step that is shown; None where there is none."""
        return self.steps[self.at] if self.steps else None

    @property
    def title(self) -> str:
        """What the steps do."""
        return str(self._title)

    @property
    def about(self) -> str:
        """How it ended, in a few words."""
        return str(self._about)

    def describe(self) -> str:
        """The title, how it ended, and the step that is shown."""
        name = f"{type(self).__name__}: {self.title}, {plural(len(self.steps), 'step')}"
        name += f", {self.about}" if self.about else ""
        return name if self.step is None else f"{name}\n{self.at + 1}. {self.step}"


def find_partition(place: Place) -> Partition:
    """Return the partition itself, or the one whose folder a path names.

    Raises:
        LogDirectoryError: the path is no partition's folder.
    """
    if isinstance(place, Partition):
        return place
    path = os.path.abspath(place)
    opened = workbench.open_log_directory(path).partitions
    found = next((each for each in opened.values() if each.path == path), None)
    if found is None:
        raise LogDirectoryError(path, "it is no partition's folder")
    return found


def directories_of(partition: Partition) -> tuple[str, ...]:
    """Return the log directories that a partition was opened with; that it lies in, by itself."""
    return partition.log_directories or (os.path.dirname(os.path.abspath(partition.path)),)
