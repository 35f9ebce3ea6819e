"""Overview: what log directories are, what is wrong, what fills the disk, and where to go next."""

import shlex
from collections.abc import Iterable
from functools import partial
from itertools import pairwise
from typing import Any, Final

import traitlets

import workbench
from widgets._assets import script, style
from widgets._background import Lead, Making, Sectioned, are_quickly_read
from widgets._file import Answer
from widgets.disk.usage_nodes import directory_nodes
from widgets.live.directory_changes import DirectoryChanges
from widgets.queries import HEAD, opening
from widgets.verification.verifier import Verifier
from widgets.view.text import title_of
from workbench.comparison.ahead import Replicas
from workbench.inspection.brokers import listings_by_broker
from workbench.inspection.listing import Listing, opened_paths
from workbench.loaders.answers.days import WrittenDays
from workbench.loaders.answers.facts import Facts
from workbench.loaders.answers.report_page import Section, Target, Tile
from workbench.loaders.answers.sections import OF_ONE_BROKER, SECTIONS, tiles
from workbench.runtime.times import duration_text
from workbench.runtime.words import plural

ORDER: Final = (
    "replicas", "sizes", "groups", "transactions", "cluster", "identity", "start", "days", "logs",
    "stuck", "findings",
)  # fmt: skip
"""The sections in the order in which they are made: the quick ones first."""

_OF_CONTENTS: Final = frozenset(
    {"replicas", "identity", "start", "days", "logs", "stuck", "findings"}
)
"""Those that read the headers of all logs."""


class Overview(Sectioned):
    """Show what log directories are, what is wrong, and what filled the disk when, in sections.

    A section appears when it is made, in a thread; the quick ones come first. Those that read the
    headers of all logs wait for a button if there is much to read. A row leads to the view that
    shows more of it, where there is one.

    Of directories of several brokers, it first says whether their replicas agree; what one broker
    does is answered where its directories are shown alone.

    Attributes:
        query: Python code that writes the same as a page. Read-only.
        logs: the log directories shown.

    Args:
        logs: the result of `workbench.open_log_directory`, or what it opens.
        verifier: what verifies the directories, if several widgets show its findings.
        lead: called with the name of a section and a row's target, to show more of it.

    Raises:
        LogDirectoryError: the path is not a log directory.
        TypeError: an unknown option.
    """

    _esm = script("overview/overview.js")
    _css = style("disk/disk_usage.css", "overview/overview.css")

    query = traitlets.Unicode(read_only=True).tag(sync=True)
    _directory: Any = traitlets.Dict().tag(sync=True)
    _usage: Any = traitlets.Dict().tag(sync=True)
    _days: Any = traitlets.Dict().tag(sync=True)
    _is_old = traitlets.Bool(default_value=False).tag(sync=True)
    order = ORDER

    def __init__(
        self,
        logs: Any,
        *,
        verifier: Verifier | None = None,
        lead: Lead | None = None,
        **options: Any,
    ) -> None:
        """Open a path, or show an opened directory; see the class."""
        logs = workbench.open_log_directory(logs)
        self.logs: workbench.LogDirectory = logs
        super().__init__(lead=lead, **options)
        self.verifier = verifier or Verifier(self.logs.listing)
        self._begin()
        self.verifier.show_by(self._show_verified)

    def _begin(self) -> None:
        """Show what names and sizes say, and make the sections again."""
        listing: Listing = self.logs.listing
        paths = [str(root.path) for root in listing.roots]
        partitions = [each for each in listing.partitions.values() if each.kind == "log"]
        is_quick = are_quickly_read(partitions)
        named = title_of(paths)
        with self.hold_sync():
            self._directory = {
                **named,
                "about": f"{plural(len(self.logs.topics), 'topic')}, "
                f"{plural(len(partitions), 'log')}",
            }
            self._usage = {"title": named["title"], "nodes": directory_nodes(listing)}
            self._days = {}
            self._is_old = False
            code = f"{HEAD}\n\nlogs = {opening(paths, self.logs.tier)}\n"
            self.set_trait(
                "query", f'{code}html = logs.report()\nopen("report.html", "w").write(html)'
            )
        asks = frozenset() if is_quick else _OF_CONTENTS
        self.tell_brokers(listing)
        left_out = OF_ONE_BROKER if self._ids else {"replicas"}
        states = {name: "asks" if name in asks else "waits" for name in SECTIONS}
        self.begin(states | dict.fromkeys(left_out, "left out"))

    def prepare(self, making: Making) -> None:
        """Ask for nothing yet, and what is asked for end when it is canceled."""
        predict = partial(self.logs.preflight, progress=making.check)
        verify = partial(self.verifier.findings, making.check)
        self._facts = Facts(
            self._ahead().listing, None, None, predict, verify, making.check, is_deep=True
        )

    def _ahead(self) -> workbench.LogDirectory:
        """Return the directories, of several brokers those of the replicas that are ahead."""
        if len(listings_by_broker(self.logs.listing)) < 2:
            return self.logs
        chosen = Replicas(self.logs.listing, lambda _text: None)
        return workbench.LogDirectory(chosen.listing)

    def section(self, name: str) -> tuple[Section, Iterable[Tile]]:
        """Make a section of the report."""
        where = shlex.join(opened_paths(self.logs.listing))
        if name == "days":
            self._days = _sent_days(self._facts.written)
        return SECTIONS[name](self._facts, where), tiles(name, self._facts)

    # What the front end asks for.

    def answer_tile(self, section: str, tile: int) -> Answer:
        """Show the rows that a number counts.

        Raises:
            LookupError: there is no such number.
        """
        found = self._tiles.get(section, [])
        if not 0 <= tile < len(found):
            raise LookupError(f"no number {tile} of {section}")
        if self._lead is not None:
            self._lead("tile", Target(what=found[tile]["leads"]))
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
        self.verifier.relist(self.logs.listing)
        self._begin()

    def _show_verified(self, _check: object = None) -> None:
        """Show what was found since, where everything was verified again."""
        found, making = self.verifier.found, self._making
        is_shown = self._sections["findings"]["state"] == "done"
        if found is None or making is None or not making.is_over or not is_shown:
            return
        if found is not self._facts.findings:
            self._start(["findings"])

    def relist(self, logs: workbench.LogDirectory, _written: DirectoryChanges) -> None:
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
        return f"Overview: {self._directory['title']}: {self.told_numbers()}"

    def to_png(self) -> bytes:
        """Draw the numbers and what fills the disk. Imports matplotlib."""
        if self._picture is None:
            from widgets.overview.overview_picture import overview_picture

            title = str(self._directory["title"])
            self._picture = overview_picture(title, self.numbers, self._usage["nodes"])
        return self._picture


def _sent_days(written: WrittenDays) -> dict[str, Any]:
    """Return when the bytes were written, as the front end draws it.

    Each span has its row in the table, where the newest comes first.
    """
    last = len(written.spans) - 1
    spans: list[dict[str, Any]] = [
        {"text": span.text, "row": last - at, "topics": [*map(list, span.topics.items())]}
        for at, span in enumerate(written.spans)
    ]
    for sent, (before, span) in zip(spans[1:], pairwise(written.spans), strict=True):
        if before.end is not None and span.start is not None and span.start > before.end:
            sent["gap"] = duration_text(span.start - before.end)
    return {"unit": written.unit, "spans": spans}
