"""WhatIfView: what a broker of a version and a configuration would do with all of it."""

import shlex
from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from typing import Any, Final

import traitlets

import workbench
from widgets._assets import script, style
from widgets._background import Lead, Making, Sectioned, are_quickly_read
from widgets._conditions import Conditioned, arguments, call_on, conditions
from widgets.live.directory_changes import DirectoryChanges
from widgets.view.text import title_of
from workbench.foresight.dry_listing import meant_settings
from workbench.inspection.listing import opened_paths
from workbench.loaders.answers.condition_sections import OF_WHAT_IF, loading
from workbench.loaders.answers.facts import Facts
from workbench.loaders.answers.report_page import Section, Tile
from workbench.loaders.answers.sections import SECTIONS, tiles
from workbench.loaders.explanations.what_if import WhatIf, what_would_be
from workbench.loaders.partition import Config
from workbench.runtime.times import Time, time_or_now, time_text
from workbench.runtime.words import plural

ORDER: Final = ("freed", "expired", "start", "loading")


class _Answers:
    """What is known under some conditions, each part computed when it is first asked for."""

    def __init__(self, logs: workbench.LogDirectory, given: Mapping[str, Any], making: Making
                 ) -> None:  # fmt: skip
        self._logs, self._given, self._making = logs, given, making
        self.now = time_or_now(given["now"])

    @cached_property
    def facts(self) -> Facts:
        given = self._given
        predict = partial(self._logs.preflight, given["config"], now=self.now, kafka=given["kafka"],
                          progress=self._making.check)  # fmt: skip
        return Facts(
            self._logs.listing, self.now, given["kafka"], predict, self._logs.verify, is_deep=True
        )

    @cached_property
    def what_if(self) -> WhatIf:
        given = self._given
        return what_would_be(
            self._logs.listing,
            given["config"],
            self.now,
            None,
            kafka=given["kafka"],
            progress=self._making.check,
        )


class WhatIfView(Conditioned, Sectioned):
    """Show what a broker would do with log directories, of a version and under a configuration.

    Which topics it serves after a start and what the start does to each log; what retention deletes
    and cleaning drops, beside what they do as it is configured; which committed offsets expire.
    Each part appears when it is made, in a thread. Nothing is written.

    Attributes:
        conditions, query: see `Conditioned`.
        logs: the log directories.

    Args:
        logs: the result of `workbench.open_log_directory`, or what it opens.
        config, now, kafka: see `workbench.what_if`.
        lead: called with the name of a section and a row's target, to show more of it.

    Raises:
        ConfigError: a configuration's name or value is wrong, or the version is unknown.
        LogDirectoryError: the path is not a log directory.
        LookupError: a configuration is of a topic that is not there.
    """

    _esm = script("decisions/what_if.js")
    _css = style("overview/overview.css", "decisions/conditions.css")
    _directory: Any = traitlets.Dict().tag(sync=True)
    order = ORDER

    def __init__(
        self,
        logs: Any,
        config: Config = None,
        *,
        now: Time | None = None,
        kafka: str | None = None,
        lead: Lead | None = None,
        **options: Any,
    ) -> None:
        """Open a path, or show an opened directory; see the class."""
        logs = workbench.open_log_directory(logs)
        self.logs: workbench.LogDirectory = logs
        super().__init__(lead=lead, **options)
        self.under(conditions(config, now, kafka))

    def decide(self, given: Mapping[str, Any]) -> None:
        """Begin to find out what a broker does under these conditions."""
        listing = self.logs.listing
        meant, settings = meant_settings(listing, given["config"], given["kafka"])
        now = time_or_now(given["now"])
        self._given = given
        paths = opened_paths(listing)
        served = [each for each in listing.partitions.values() if each.kind == "log"]
        with self.hold_sync():
            self.tell_conditions(meant, settings)
            first = "logs" if given["config"] else "logs, {}"
            call = f"wb.what_if({arguments(given, first=first)})"
            self.set_trait("query", call_on([*paths], self.logs.tier, call))
            self._directory = {
                **title_of(paths),
                "about": f"{plural(len(served), 'log')} · as of {time_text(now)}",
            }
        state = "waits" if are_quickly_read(served) else "asks"
        self.tell_brokers(listing)
        self.begin(dict.fromkeys(ORDER, "left out" if self._ids else state))

    def prepare(self, making: Making) -> None:
        """Forget what other conditions gave."""
        self._answers = _Answers(self.logs, self._given, making)

    def section(self, name: str) -> tuple[Section, Iterable[Tile]]:
        """Make one part of the answer."""
        answers = self._answers
        if name in OF_WHAT_IF:
            make, sum_up = OF_WHAT_IF[name]
            result = answers.what_if
            return make(result, self._command("what-if")), sum_up(result)
        if name == "loading":
            return loading(answers.facts.preflight, self._command("predict")), ()
        section = SECTIONS[name](answers.facts, "")
        return section._replace(command=self._command("preflight")), tiles(name, answers.facts)

    def _command(self, name: str) -> str:
        given = self._given
        parts = ["kafka-workbench", name, *opened_paths(self.logs.listing)]
        for setting, value in given["config"].items():
            parts += ["--set", f"{setting}={value}"]
        for option in ("now", "kafka"):
            parts += [] if given[option] is None else [f"--{option}", str(given[option])]
        return shlex.join(parts)

    def relist(self, logs: workbench.LogDirectory, _written: DirectoryChanges) -> None:
        """Decide again with the directories as they are listed now."""
        self.logs = logs
        self.under(self.conditions)

    def inputs(self) -> list[str]:
        """Return the paths of the log directories."""
        return [root.path for root in self.logs.roots]

    def describe(self) -> str:
        """Describe the widget in one line, where no picture can be shown."""
        return f"WhatIfView: {self._directory['title']}: {self.told_numbers()}"
