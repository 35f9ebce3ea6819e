"""Overview: what log directories are, what is wrong, what fills the disk, and where to go on."""

import os
import shlex
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

import traitlets

import workbench
from widgets._background import Background, are_quickly_read
from widgets._file import Answer
from widgets._link import link, style
from widgets._widget import KafkaWidget, error_text
from widgets._written import Written
from widgets.disk.usage_nodes import directory_nodes
from widgets.queries import HEAD, opening
from workbench.comparison.ahead import Replicas
from workbench.inspection.brokers import listings_by_broker
from workbench.inspection.listing import Listing, opened_paths
from workbench.loaders.answers.facts import Facts
from workbench.loaders.answers.report_page import Badge, Bar, Cell, Section, Target
from workbench.loaders.answers.sections import SECTIONS, tiles
from workbench.runtime.words import plural

ORDER: Final = ("sizes", "groups", "transactions", "cluster", "identity", "start", "logs", "stuck",
                "findings")  # fmt: skip
"""The sections in the order in which they are made: the quick ones first."""

_OF_CONTENTS: Final = frozenset({"identity", "start", "logs", "stuck", "findings"})
"""Those that read the headers of all logs."""

_OF_ONE_BROKER: Final = frozenset({"identity", "start", "logs", "stuck"})
"""Those that start a broker dry; a start is of one."""

Lead = Callable[[str, Target], None]


class _Making(Background):
    """Make sections in a thread, one after the other."""

    def __init__(
        self, names: Sequence[str], make: Callable[[str], None], tell: Callable[[Any], None]
    ) -> None:
        super().__init__("overview", tell)
        self._names, self._make = names, make
        self._total = len(names)

    def check(self, *_progress: Any) -> None:
        """End if it was canceled; called from inside a section."""
        self._advance(0)

    def _work(self) -> None:
        for name in self._names:
            self.check()
            self._make(name)
            self._finish_one(0)


class Overview(KafkaWidget):
    """Show what log directories are, what is wrong, and what fills the disk, in sections.

    A section appears when it is made, in a thread; the quick ones come first. Those that read the
    headers of all logs wait for a button if there is much to read. A row leads to the view that
    shows more of it, where there is one.

    Attributes:
        query: Python code that writes the same as a page. Read-only.
        logs: the log directories shown.

    Args:
        logs: the result of `workbench.open_log_directory`, or a path to open.
        lead: called with the name of a section and a row's target, to show more of it.

    Raises:
        LogDirectoryError: the path is not a log directory.
        TypeError: an unknown option.
    """

    _esm = link("overview/overview.js")
    _css = style("disk/disk_usage.css", "overview/overview.css")

    query = traitlets.Unicode(read_only=True).tag(sync=True)
    _directory: Any = traitlets.Dict().tag(sync=True)
    _usage: Any = traitlets.Dict().tag(sync=True)
    _sections: Any = traitlets.Dict().tag(sync=True)
    _tiles: Any = traitlets.Dict().tag(sync=True)
    _progress: Any = traitlets.Dict().tag(sync=True)
    _is_old = traitlets.Bool(default_value=False).tag(sync=True)
    _can_lead = traitlets.Bool(default_value=False).tag(sync=True)

    def __init__(self, logs: Any, *, lead: Lead | None = None, **options: Any) -> None:
        """Open a path, or show an opened directory; see the class."""
        if isinstance(logs, str | os.PathLike):
            logs = workbench.open_log_directory(logs)
        self.logs: workbench.LogDirectory = logs
        self._lead = lead
        self._made: dict[str, Section] = {}
        self._lock = threading.Lock()
        self._making: _Making | None = None
        super().__init__(**options)
        self._can_lead = lead is not None
        self._begin()

    def _begin(self) -> None:
        """Show what names and sizes say, and make the sections again."""
        if self._making is not None:
            self._making.cancel()
        listing: Listing = self.logs.listing
        paths = [str(root.path) for root in listing.roots]
        title = os.path.basename(os.path.abspath(paths[0]))
        partitions = [each for each in listing.partitions.values() if each.kind == "log"]
        is_quick = are_quickly_read(partitions)
        self._picture = None
        self._made = {}
        self._brokers = len(listings_by_broker(listing))
        with self.hold_sync():
            self._directory = {
                "title": title if len(paths) == 1 else f"{title} and {len(paths) - 1} more",
                "path": "\n".join(paths),
                "about": f"{plural(len(self.logs.topics), 'topic')}, "
                f"{plural(len(partitions), 'log')}",
            }
            self._usage = {"title": title, "nodes": directory_nodes(listing)}
            self._is_old = False
            self._tiles = {}
            self._sections = {
                name: {"state": "waits" if is_quick or name not in _OF_CONTENTS else "asks"}
                for name in SECTIONS
            }
            code = f"{HEAD}\n\nlogs = {opening(paths, self.logs.tier)}\n"
            self.set_trait(
                "query", f'{code}html = logs.report()\nopen("report.html", "w").write(html)'
            )
        self._start([name for name in ORDER if self._sections[name]["state"] == "waits"])

    def _start(self, names: Sequence[str]) -> None:
        """Make sections in a thread."""
        making = _Making(names, lambda name: self._make(name, making), self._tell)
        self._making = making
        self._facts = self._facts_of(making)
        making.start()
        self._tell(making)

    def _facts_of(self, making: _Making) -> Facts:
        logs = self._ahead()
        predict = partial(self.logs.preflight, progress=making.check)
        return Facts(logs.listing, None, None, predict, self.logs.verify)

    def _ahead(self) -> workbench.LogDirectory:
        """Return the directories, of several brokers those of the replicas that are ahead."""
        if self._brokers < 2:
            return self.logs
        chosen = Replicas(self.logs.listing, lambda _text: None)
        return workbench.LogDirectory(chosen.listing)

    def _make(self, name: str, making: _Making) -> None:
        """Make one section and show it; what goes wrong in it is shown in its place."""
        self._show(making, name, {"state": "running"})
        if self._brokers > 1 and name in _OF_ONE_BROKER:
            count = f"{self._brokers} brokers"
            note = f"These are directories of {count}; open those of one for this answer."
            self._show(making, name, {"state": "failed", "error": note})
            return
        where = " ".join(map(shlex.quote, opened_paths(self.logs.listing)))
        try:
            section = SECTIONS[name](self._facts, where)
            numbers = [tile._asdict() for tile in tiles(name, self._facts)]
        except (workbench.WorkbenchError, LookupError, ValueError, OSError) as error:
            self._show(making, name, {"state": "failed", "error": error_text(error)})
            return
        self._made[name] = section
        self._show(making, name, {"state": "done", **_sent(section)}, numbers)

    def _show(
        self,
        making: _Making,
        name: str,
        content: dict[str, Any],
        numbers: Iterable[dict[str, Any]] = (),
    ) -> None:
        with self._lock:
            if making is not self._making:
                return
            self._picture = None
            self._sections = self._sections | {name: content}
            if found := list(numbers):
                self._tiles = self._tiles | {name: found}

    def _tell(self, making: _Making) -> None:
        if making is not self._making:
            return
        if making.error is not None:
            self.show_error(making.error)
        if making.is_over:
            with self._lock:
                self._sections = {
                    name: {"state": "asks"} if each["state"] in {"waits", "running"} else each
                    for name, each in self._sections.items()
                }
        self._progress = making.progress()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until all sections that are being made are there."""
        if self._making is not None:
            self._making.wait(seconds)

    # What the front end asks for.

    def answer_make(self, section: str) -> Answer:
        """Make a section that waits for a button, and those that read the same."""
        if section not in SECTIONS:
            raise LookupError(f"no section {section}")
        if self._making is None or self._making.is_over:
            asked = [name for name in ORDER if self._sections[name]["state"] == "asks"]
            self._sections = self._sections | {name: {"state": "waits"} for name in asked}
            self._start(asked)
        return {}, []

    def answer_cancel(self) -> Answer:
        """Stop; the sections that are there stay."""
        if self._making is not None:
            self._making.cancel()
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

    def answer_topic(self, topic: str) -> Answer:
        """Show more of what a topic takes of the disk."""
        if self._lead is not None:
            self._lead("sizes", Target(topic=topic))
        return {}, []

    def answer_refresh(self) -> Answer:
        """List the directory again, and make everything again."""
        self.refresh()
        return {}, []

    def refresh(self) -> None:
        """List the log directories again, because a broker may have written since."""
        self.logs = self.logs.listed_again()
        self._begin()

    def relist(self, logs: workbench.LogDirectory, _written: Written) -> None:
        """Take over the directories as they are listed now; sections are made again if asked."""
        self.logs = logs
        self._picture = None
        self._usage = {**self._usage, "nodes": directory_nodes(logs.listing)}
        self._is_old = True

    # Without a kernel, and without a browser.

    def inputs(self) -> list[str]:
        """Return the paths of the log directories."""
        return [root.path for root in self.logs.roots]

    def describe(self) -> str:
        """Describe the widget in one line, where no picture can be shown."""
        numbers = [f"{tile['label']} {tile['value']}" for name in SECTIONS
                   for tile in self._tiles.get(name, [])]  # fmt: skip
        return f"Overview: {self._directory['title']}: {', '.join(numbers) or 'nothing read yet'}"

    def to_png(self) -> bytes:
        """Draw the numbers and what fills the disk. Imports matplotlib."""
        if self._picture is None:
            from widgets.overview.overview_picture import overview_picture

            numbers = [tile for name in SECTIONS for tile in self._tiles.get(name, [])]
            title = str(self._directory["title"])
            self._picture = overview_picture(title, numbers, self._usage["nodes"])
        return self._picture


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
    }


def _cell(cell: Cell) -> Any:
    if isinstance(cell, Badge):
        return {"text": cell.text, "tone": cell.tone}
    return {"share": cell.share} if isinstance(cell, Bar) else cell
