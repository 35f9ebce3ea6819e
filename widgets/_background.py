"""Work in a thread, on partitions or sections: its progress, and a way to keep what was done."""

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import traitlets

import workbench
from widgets._file import Answer
from widgets._widget import KafkaWidget, error_text
from workbench.inspection.brokers import listings_by_broker
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition
from workbench.loaders.answers.report_page import Badge, Bar, Cell, Section, Target, Tile
from workbench.runtime.job import Job

TOLD_EVERY: Final = 0.25
"""Seconds between two messages about progress."""

LARGEST_AT_ONCE: Final = 4 << 30
"""Bytes of `.log` files up to which the headers of logs are read without being asked to."""

MOST_AT_ONCE: Final = 1000
"""Partitions up to which they are."""


def are_quickly_read(partitions: Collection[DiskPartition]) -> bool:
    """Return whether the headers of logs are read at once, not only when a button is pressed."""
    return (
        len(partitions) <= MOST_AT_ONCE and sum(each.size for each in partitions) <= LARGEST_AT_ONCE
    )


class Background(Job):
    """Work on partitions, one after the other. Canceled, it ends after a part of a file.

    Args:
        name: of the thread.
        tell: called in the thread when there is progress, and at the end.
    """

    def __init__(self, name: str, tell: Callable[[Any], None]) -> None:
        super().__init__(name)
        self._tell = tell
        self._checked = self._total = 0  # partitions
        self._done = self._inside = self._size = 0  # bytes
        self._told = 0.0

    def progress(self) -> dict[str, Any]:
        """Return how far it is: partitions and bytes, done and in total."""
        return {
            "state": self.status,
            "checked": self._checked,
            "partitions": self._total,
            "bytes": min(self._done + self._inside, self._size),
            "size": self._size,
        }

    def _end(self) -> None:
        self._tell(self)

    def _finish_one(self, size: int) -> None:
        """Count a partition of so many bytes."""
        self._done, self._inside = self._done + size, 0
        self._checked += 1
        self._advance(0)

    def _advance(self, size: int) -> None:
        """Count bytes of the partition that is being read; end if it was canceled."""
        self._inside += size
        self._go_on()
        if time.monotonic() - self._told >= TOLD_EVERY:
            self._told = time.monotonic()
            self._tell(self)


Lead = Callable[[str, Target], None]
"""Called with the name of a section and a row's target, to show more of it."""


class Making(Background):
    """Make sections in a thread, one after the other."""

    def __init__(
        self, names: Sequence[str], make: Callable[[str], None], tell: Callable[[Any], None]
    ) -> None:
        super().__init__("sections", tell)
        self._names, self._make = deque(names), make
        self._total = len(names)
        self._adding = threading.Lock()
        self._has_ended = False

    def add(self, names: Sequence[str]) -> bool:
        """Make more sections after these; return False where the last one is made."""
        with self._adding:
            if not self._has_ended:
                self._names += names
                self._total += len(names)
            return not self._has_ended

    def check(self, *_progress: Any) -> None:
        """End if it was canceled; called from inside a section."""
        self._advance(0)

    def _work(self) -> None:
        while (name := self._next()) is not None:
            self.check()
            self._make(name)
            self._finish_one(0)

    def _next(self) -> str | None:
        with self._adding:
            self._has_ended = not self._names
            return self._names.popleft() if self._names else None


class Sectioned(KafkaWidget):
    """The base of widgets that show sections, each as soon as it is made.

    Args:
        lead: see `Lead`; None: rows lead nowhere.
    """

    _sections: Any = traitlets.Dict().tag(sync=True)
    _tiles: Any = traitlets.Dict().tag(sync=True)
    _progress: Any = traitlets.Dict().tag(sync=True)
    _ids: Any = traitlets.List().tag(sync=True)
    _can_lead = traitlets.Bool(default_value=False).tag(sync=True)
    order: Sequence[str] = ()
    _making: Making | None = None

    def __init__(self, *, lead: Lead | None = None, **options: Any) -> None:
        """Make nothing yet."""
        self._lead = lead
        self._made: dict[str, Section] = {}
        self._lock = threading.Lock()
        super().__init__(**options)
        self._can_lead = lead is not None

    def begin(self, states: Mapping[str, str]) -> None:
        """Forget what was made, and make the sections that are to wait for nothing.

        Args:
            states: section → "waits"; "asks": it waits for a button.
        """
        if self._making is not None:
            self._making.cancel()
        self._picture = None
        with self._lock:
            self._making = None
            self._made = {}
            self._tiles = {}
            self._sections = {name: {"state": state} for name, state in states.items()}
        self._start([name for name in self.order if states.get(name) == "waits"])

    def _start(self, names: Sequence[str]) -> None:
        making = Making(names, lambda name: self._make(name, making), self._tell)
        self._making = making
        self.prepare(making)
        making.start()
        self._tell(making)

    def tell_brokers(self, listing: Listing) -> None:
        """Name the brokers, where there are several: what one does is answered for it alone."""
        brokers = listings_by_broker(listing)
        self._ids = [*map(str, brokers)] if len(brokers) > 1 else []

    def answer_broker(self, node_id: str) -> Answer:
        """Show the directories of one broker alone."""
        if self._lead is not None:
            self._lead("broker", Target(what=node_id))
        return {}, []

    def prepare(self, making: Making) -> None:
        """Get ready to make sections, before the thread starts."""

    def section(self, name: str) -> tuple[Section, Iterable[Tile]]:
        """Make a section, and the numbers that sum it up.

        Raises:
            WorkbenchError, LookupError, ValueError, OSError: it cannot be made; the front end shows
                why in its place.
        """
        raise NotImplementedError

    def _make(self, name: str, making: Making) -> None:
        """Make one section and show it; what goes wrong in it is shown in its place."""
        self._show(making, name, {"state": "running"})
        try:
            section, numbers = self.section(name)
            told = [tile._asdict() for tile in numbers]
        except (workbench.WorkbenchError, LookupError, ValueError, OSError) as error:
            self._show(making, name, {"state": "failed", "error": error_text(error)})
            return
        if making is self._making:
            self._made[name] = section
        self._show(making, name, {"state": "done", **_sent(section)}, told)

    def _show(
        self, making: Making, name: str, content: dict[str, Any], told: Sequence[Any] = ()
    ) -> None:
        with self._lock:
            if making is not self._making or making.is_canceled:
                return
            self._picture = None
            self._sections = self._sections | {name: content}
            if told:
                self._tiles = self._tiles | {name: [*told]}

    def _tell(self, making: Making) -> None:
        if making is not self._making:
            return
        if making.error is not None:
            self.show_error(making.error)
        if making.is_over or making.is_canceled:
            with self._lock:
                self._sections = {
                    name: {"state": "asks"} if each["state"] in {"waits", "running"} else each
                    for name, each in self._sections.items()
                }
        told = making.progress()
        self._progress = told | {"state": "canceled"} if making.is_canceled else told

    def wait(self, seconds: float | None = None) -> None:
        """Wait until all sections that are being made are there."""
        if self._making is not None:
            self._making.wait(seconds)

    def answer_make(self) -> Answer:
        """Make the sections that wait for a button, after those that are being made."""
        with self._lock:
            asked = [name for name in self.order if self._sections[name]["state"] == "asks"]
            self._sections = self._sections | {name: {"state": "waits"} for name in asked}
        making = self._making
        if making is None or making.is_canceled or not making.add(asked):
            self._start(asked)
        return {}, []

    def answer_cancel(self) -> Answer:
        """Stop; keep the sections that are there.

        The others wait for their button at once; the thread ends at the next log or segment.
        """
        if self._making is not None and not self._making.is_over:
            self._making.cancel()
            self._tell(self._making)
        return {}, []

    def close(self) -> None:
        """Stop, and take the widget off the page."""
        self.answer_cancel()
        super().close()

    def answer_lead(self, section: str, row: int) -> Answer:
        """Show more of a row, where the target of the row is.

        Raises:
            LookupError: there is no such row.
        """
        targets = self._made[section].targets if section in self._made else ()
        if not 0 <= row < len(targets):
            raise LookupError(f"no row {row} of {section}")
        if self._lead is not None:
            self._lead(section, targets[row])
        return {}, []

    @property
    def numbers(self) -> list[dict[str, Any]]:
        """The numbers that sum up the sections that are made, in order: value, label, tone."""
        return [tile for name in self._sections for tile in self._tiles.get(name, [])]

    @property
    def made(self) -> list[Section]:
        """The sections that are made, in order."""
        return [self._made[name] for name in self._sections if name in self._made]

    def told_numbers(self) -> str:
        """Return the numbers in one line."""
        told = [f"{tile['label']} {tile['value']}" for tile in self.numbers]
        return ", ".join(told) or "nothing read yet"


def _sent(section: Section) -> dict[str, Any]:
    """Return a section as the front end gets it."""
    return {
        "title": section.title,
        "command": section.command,
        "notes": list(section.notes),
        "headings": list(section.headings),
        "rows": [[_cell(cell) for cell in row] for row in section.rows],
        "left": section.left,
        "concerns": [[_cell(badge), text] for badge, text in section.concerns],
        "steps": list(section.steps),
        "leads": bool(section.targets),
        "verdict": section.verdict,
    }


def _cell(cell: Cell) -> Any:
    if isinstance(cell, Badge):
        return {"text": cell.text, "tone": cell.tone}
    return {"share": cell.share} if isinstance(cell, Bar) else cell
