"""OffsetsPlayer: how a coordinator commits, loads and expires offsets, step by step."""

import json
from collections.abc import Iterable
from typing import Any, Self

import traitlets

import workbench
from widgets._assets import script, style
from widgets.coordinators.offset_steps import MEANINGS, Effect, logs_of, step_rows
from widgets.players._player import Player, made_by, poster_of, steps_in
from widgets.selection import NOTHING
from widgets.view.players.steps import MOST_STEPS, kind_rows
from widgets.view.records import AnyMask, Lens
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.runtime.era import era_of
from workbench.runtime.steps import Step
from workbench.runtime.words import plural


class OffsetsPlayer(Player):
    """Step through the work of a coordinator of groups, forward and back.

    A commit is checked, appended to the coordinator's log, then put into memory; a load reads the
    log from its beginning; an expiry appends tombstones. The player shows the log's records and
    the offsets in memory after each step.

    Attributes:
        at: the index of the step shown; -1 without steps.
        steps: the steps to play.
        selected: the record of the coordinator's log that the step concerns, see
            `LogExplorer.selected`; with ``traitlets.link((player, "selected"), (explorer,
            "selected"))`` both follow each other. A record that is selected shows its first step.

    Args:
        steps: the steps that an observer of an `OffsetManager`, or of a load, received.
        title: what the steps do.
        about: the result, in a few words.
        at: the first step to show; by default the last at which an offset is loaded.
        show_values: whether to show the commits' metadata, which is the consumers' own text.
        mask: a function of "metadata" and the bytes; it returns the bytes to show. Or rules, as
            `LogDirectory.scan` takes them.

    Raises:
        PlayerError: ``steps`` are not steps.

    Kafka: OffsetMetadataManager, CoordinatorRuntime (4.2); OffsetManager (0.8.2)
    """

    _esm = script("coordinators/offsets_player.js")
    _css = style("players/player.css", "coordinators/offsets.css")

    selected: Any = traitlets.Dict(NOTHING)

    def __init__(
        self,
        steps: Iterable[Step] = (),
        *,
        title: str = "What the coordinator did",
        about: str = "",
        at: int | None = None,
        show_values: bool = False,
        mask: AnyMask = None,
        **options: Any,
    ) -> None:
        """Show steps; see the class."""
        self._effects: list[Effect] = []
        self.lens = Lens(show_values=show_values or mask is not None, mask=mask)
        super().__init__(_title=title, **options)
        self.show(steps, about=about, at=at)

    @classmethod
    def of_load(
        cls, logs: Any, group: str | None = None, *, version: str | None = None, **options: Any
    ) -> Self:
        """Return a player of the load that a broker does when it becomes the coordinator.

        Args:
            logs: the result of `workbench.open_log_directory`, or what it opens.
            group: load only the partition that holds this group; None: all of
                `__consumer_offsets`.
            version: the version of the loading broker, such as "2.8"; None: as the directories say.
            options: see the class.

        Raises:
            LogDirectoryError: the path is not a log directory.
            ValueError: the version is not a version.
        """
        logs = workbench.open_log_directory(logs)
        era = None if version is None else era_of(version)
        steps: list[Step] = []
        StoredGroups(logs.listing, era=era).observe(steps.append, group)
        names = [name for name in logs_of(steps) if name]
        title = f"Load {', '.join(names) or 'nothing'}"
        records = sum(step.numbers.get("records", 0) for step in steps if "finished" in step.kind)
        options = {"title": title, "about": f"{plural(records, 'record')} read"} | options
        made = cls(steps, **options)
        paths = [root.path for root in logs.listing.roots]
        given = {"group": group, "version": version}
        named = [f"{name}={value!r}" for name, value in given.items() if value is not None]
        path = json.dumps(paths[0] if len(paths) == 1 else paths)
        made._code = made_by("OffsetsPlayer.of_load", path, *named)
        return made

    def show(
        self, steps: Iterable[Step], *, about: str | None = None, at: int | None = None
    ) -> None:
        """Play other steps, or the same steps and later ones.

        Args:
            steps: the steps that replace the current ones.
            about: the result; None keeps the current text.
            at: the step to show; by default as in the class.
        """
        told = steps_in(steps, "OffsetsPlayer.of_load makes them of log directories")
        self.steps = told[:MOST_STEPS]
        self._effects = [Effect(step) for step in self.steps]
        self._picture = None
        with self.hold_sync():
            if about is not None:
                self._about = about
            self._played = {
                "left_out": len(told) - len(self.steps),
                "kinds": kind_rows(self.steps, MEANINGS),
                "steps": step_rows(self.steps, self.lens),
                "logs": list(logs_of(self.steps)),
            }
            self.at = poster_of(self.steps) if at is None else at
        self._select(None)

    @traitlets.observe("at")
    def _select(self, _change: Any) -> None:
        """Select the record that the step concerns."""
        effect = self._effects[self.at] if self.steps else None
        if effect is not None and effect.at >= 0 and not self._concerns(effect):
            self.selected = NOTHING | {"partition": effect.log, "offset": effect.at}

    @traitlets.observe("selected")
    def _follow(self, _change: Any) -> None:
        """Show the first step about the selected record, unless the step shown is about it."""
        if self.steps and not self._concerns(self._effects[self.at]):
            found = (n for n, effect in enumerate(self._effects) if self._concerns(effect))
            self.at = next(found, self.at)

    def _concerns(self, effect: Effect) -> bool:
        offset = self.selected.get("offset")
        is_here = effect.log == self.selected.get("partition") and effect.at >= 0
        return is_here and offset is not None and effect.at <= offset < effect.at + effect.count

    def describe(self) -> str:
        """Return the title, the result, and the step shown, without the commit's metadata."""
        name, *_ = super().describe().split("\n")
        if self.step is None:
            return name
        parts = (f"{self.step.kind}: {self.step.where}", self.step.reason)
        return f"{name}\n{self.at + 1}. {'; '.join(part for part in parts if part)}"

    def to_png(self) -> bytes:
        """Draw the step shown, the log and the offsets in memory. Imports matplotlib."""
        if self._picture is None:
            from widgets.coordinators.offsets_picture import offsets_picture

            self._picture = offsets_picture(self.steps, self.at, self.title, self.about)
        return self._picture
