"""FindingView: every finding of log directories, by severity, kind and topic."""

from collections.abc import Callable, Mapping
from typing import Any

import traitlets

import workbench
from widgets._assets import script, style
from widgets._file import Answer
from widgets.queries import finding_query
from widgets.selection import NOTHING, from_front, to_front
from widgets.verification.verifier import ShowsFindings, Verifier
from widgets.view.text import title_of
from workbench.runtime.words import plural


class FindingView(ShowsFindings):
    """Show what is wrong in log directories, and what a broker would do about it.

    Attributes:
        selected: the partition, segment and batch of the selected finding, as
            `LogExplorer.selected`, to which it can be linked.
        severity: "error" or "warning": only such findings are listed; empty: all.
        kind: only findings of this kind (`workbench.inspection.findings.KINDS`); empty: all.
        topic: only findings about this topic; empty: all, also those about other files.
        query: Python code that gives the listed findings. Read-only.
        logs: the log directories shown.

    Args:
        logs: the result of `workbench.open_log_directory`, or what it opens.
        verifier: what verifies the directories, if several widgets show its findings.
        show: called with a selection and a path, to show where a finding is.

    Raises:
        LogDirectoryError: the path is not a log directory.
        TypeError: an unknown option.
    """

    _esm = script("verification/findings.js")
    _css = style()

    selected = traitlets.Dict(NOTHING).tag(sync=True, to_json=to_front, from_json=from_front)
    severity = traitlets.Enum(("", "error", "warning"), "").tag(sync=True)
    kind = traitlets.Unicode().tag(sync=True)
    topic = traitlets.Unicode().tag(sync=True)
    query = traitlets.Unicode(read_only=True).tag(sync=True)
    _directory: Any = traitlets.Dict().tag(sync=True)
    _can_show = traitlets.Bool(default_value=False).tag(sync=True)

    def __init__(
        self,
        logs: Any,
        *,
        verifier: Verifier | None = None,
        show: Callable[[Mapping[str, Any], str], None] | None = None,
        **options: Any,
    ) -> None:
        """Open a path, or show an opened directory; see the class."""
        logs = workbench.open_log_directory(logs)
        self.logs = logs
        self._show = show
        super().__init__(**options)
        self._can_show = show is not None
        self.follow_verifier(verifier or Verifier(logs.listing))
        self._ask()

    def show_marks(self) -> None:
        """Send what is verified: the directories may have been listed again."""
        listing = self.verifier.listing
        paths = [str(root.path) for root in listing.roots]
        self._picture = None
        self._directory = {
            **title_of(paths),
            "partitions": sum(each.kind != "delete" for each in listing.partitions.values()),
        }

    @traitlets.observe("severity", "kind", "topic")
    def _ask(self, _change: Any = None) -> None:
        asked = {"severity": self.severity, "kind": self.kind}
        self._picture = None
        self.set_trait("query", finding_query(self.inputs(), self.topic, asked))

    def answer_show(
        self, partition: str | None, segment: str | None, position: int | None, path: str
    ) -> Answer:
        """Show where a finding is."""
        base = None if segment is None else int(segment)
        if self._show is not None:
            self._show({"partition": partition, "segment": base, "position": position}, path)
        return {}, []

    def listed(self) -> list[dict[str, Any]]:
        """Return the listed findings: those that meet severity, kind and topic."""
        asked = {"severity": self.severity, "kind": self.kind, "topic": self.topic}
        return [
            dict(row)
            for row in self._findings
            if all(not value or row[name] == value for name, value in asked.items())
        ]

    def inputs(self) -> list[str]:
        """Return the paths of the log directories."""
        return [str(root.path) for root in self.logs.roots]

    def describe(self) -> str:
        """Describe the widget in one line, where no picture can be shown."""
        found = sum(sum(each.values()) for each in self._counts.values())
        if not self._verified:
            return f"FindingView({self._directory['title']}: not verified)"
        return f"FindingView({self._directory['title']}: {plural(found, 'finding')})"

    def to_png(self) -> bytes:
        """The first findings as a PNG file. Imports matplotlib."""
        if self._picture is None:
            from widgets.verification.finding_picture import finding_picture

            self._picture = finding_picture(self.describe(), self.listed())
        return self._picture
