"""The base of the views of one log's rules: a log and conditions are chosen, the rules answer."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import traitlets

import workbench
from widgets._assets import script, style
from widgets._conditions import Conditioned, arguments, call_on, conditions
from widgets.live.directory_changes import DirectoryChanges
from widgets.players._player import Place, directories_of, find_partition
from widgets.selection import NOTHING, from_front, to_front
from workbench.config.settings import Settings
from workbench.errors import WorkbenchError
from workbench.foresight.dry_listing import open_dry
from workbench.foresight.dry_logs import DryLogs
from workbench.inspection.broker_version import MeantBroker
from workbench.inspection.listing import Listing
from workbench.loaders.explanations.explain_partition import Explainer
from workbench.loaders.explanations.explanation import Explanation
from workbench.loaders.partition import Config, Partition
from workbench.runtime.times import time_or_now, time_text

MOST_PICKED: Final = 20_000
"""Logs that the picker lists."""


class Judged(NamedTuple):
    """What the rules say of a log.

    Attributes:
        explanation: each rule's verdict.
        sent: what the front end gets beside the verdicts.
    """

    explanation: Explanation
    sent: dict[str, Any]


class LogRules(Conditioned):
    """The base of the views of one log's rules.

    Attributes:
        selected: the partition and segment, see `LogExplorer.selected`; with
            ``traitlets.link((view, "selected"), (explorer, "selected"))`` both follow each other.
            Another partition of the same directories is shown instead of the first.
        partition: the partition shown.
        explanation: each rule's verdict.
    """

    _esm = script("decisions/log_rules.js")
    _css = style("decisions/log_rules.css", "decisions/conditions.css")

    selected: Any = traitlets.Dict(NOTHING).tag(sync=True, to_json=to_front, from_json=from_front)
    _decision: Any = traitlets.Dict().tag(sync=True)
    _logs: Any = traitlets.List().tag(sync=True)
    explanation: Explanation
    _is_of_compacted = False
    _call: str  # the method of a partition that gives the explanation

    def __init__(
        self,
        partition: Place,
        config: Config = None,
        *,
        now: int | None = None,
        kafka: str | None = None,
        **options: Any,
    ) -> None:
        """Apply the rules to the partition; see the class."""
        self.partition = find_partition(
            partition, type(self).__name__, is_compacted=self._is_of_compacted, config=config
        )
        self._listing = listing = self.partition.listing
        super().__init__(**options)
        self._logs = [self.partition.name] if listing is None else _names_beside(listing)
        self.show(config, now=now, kafka=kafka)

    def show(
        self, config: Config = None, *, now: int | None = None, kafka: str | None = None
    ) -> None:
        """Apply the rules again: at another time, or under another configuration."""
        self.under(conditions(config, now, kafka))

    def judge(self, dry: DryLogs, explainer: Explainer, now: int) -> Judged:
        """Apply the rules to the partition.

        Raises:
            WorkbenchError, OSError: its log cannot be loaded.
        """
        raise NotImplementedError

    def decide(self, given: Mapping[str, Any]) -> None:
        """Show what the rules say under these conditions."""
        partition, now = self.partition, time_or_now(given["now"])
        config, kafka = given["config"] or None, given["kafka"]
        with open_dry(directories_of(partition), config, now, kafka, partition.fs) as dry:
            judged = self.judge(dry, Explainer(dry, now), now)
            meant, settings = dry.meant, dry.settings
        self.explanation = judged.explanation
        self._show(given, meant, settings, {
            "now": time_text(now),
            "conclusion": judged.explanation.conclusion,
            "high_watermark": judged.explanation.high_watermark,
            **judged.sent,
        })  # fmt: skip

    def _show(
        self,
        given: Mapping[str, Any],
        meant: MeantBroker,
        settings: Settings,
        sent: Mapping[str, Any],
    ) -> None:
        partition = self.partition
        call = f"logs[{partition.name!r}].{self._call}({arguments(given)})"
        paths = [*directories_of(partition)]
        self._picture = None
        with self.hold_sync():
            self.tell_conditions(meant, settings, partition.topic)
            self.set_trait("query", call_on(paths, {}, call))
            self._decision = {"partition": partition.name, **sent}

    @traitlets.observe("selected")
    def _show_selected(self, change: Any) -> None:
        """Show another partition, if one is selected; what goes wrong with it is shown."""
        name, listing = change["new"]["partition"], self._listing
        found = None if listing is None else listing.partitions.get(name)
        if self._decided is None or found is None or found.path == self.partition.path:
            return
        assert isinstance(found, Partition)
        self.partition = found
        self._try()

    def _try(self) -> None:
        """Apply the rules under the same conditions; show why that fails."""
        try:
            self.under(self.conditions)
        except (WorkbenchError, LookupError, ValueError, OSError) as error:
            self._picture = None
            self._decision = {"partition": self.partition.name, "problem": str(error)}

    def relist(self, logs: workbench.LogDirectory, written: DirectoryChanges) -> None:
        """Apply the rules again, under the same conditions, if the partition has changed."""
        self._listing = logs.listing
        self._logs = _names_beside(logs.listing)
        key = next((key for key, each in logs.items() if each.path == self.partition.path), None)
        if key is not None and key in written.changed:
            self.partition = logs[key]
            self.under(self.conditions)

    def answer_pick(self, name: str) -> tuple[dict[str, Any], list[bytes]]:
        """Show another log of the same directories.

        Raises:
            LookupError: there is none of that name.
        """
        if self._listing is None or name not in self._listing.partitions:
            raise LookupError(f"no log {name}")
        self.selected = NOTHING | {"partition": name}
        return {}, []

    def inputs(self) -> list[str]:
        """Return the path of the partition's directory."""
        return [self.partition.path]

    def describe(self) -> str:
        """Return the partition and the rules' conclusion."""
        said = self._decision.get("problem") or self._decision["conclusion"]
        return f"{type(self).__name__}: {self.partition.name}: {said}"

    def to_png(self) -> bytes:
        """Draw the segments in their regions and the rules' verdicts. Imports matplotlib."""
        if self._picture is None:
            from widgets.decisions.log_picture import log_picture

            self._picture = log_picture(self._decision)
        return self._picture


def _names_beside(listing: Listing) -> list[str]:
    """Return the logs of the same directories."""
    found = (name for name, each in listing.partitions.items() if each.kind == "log")
    return sorted(found)[:MOST_PICKED]
