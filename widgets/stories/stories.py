"""Stories: the engine's work on the partition that is selected, step by step."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import ipywidgets
import traitlets

import workbench
from widgets._assets import script, style
from widgets._conditions import AS_IT_IS
from widgets._widget import KafkaWidget, error_text
from widgets.cleaning.compaction import CompactionPlayer
from widgets.coordinators.offsets_player import OffsetsPlayer
from widgets.frame.tab_state import NO_PARTITION, TabState
from widgets.live.directory_changes import DirectoryChanges
from widgets.players._player import Player, directories_of
from widgets.players.player import LookupPlayer, RecoveryPlayer, StepPlayer
from widgets.selection import NOTHING
from widgets.view.records import Mask
from widgets.view.text import offset_or_time
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.errors import WorkbenchError
from workbench.foresight.dry_listing import open_dry
from workbench.loaders.explanations.explain_partition import load_one
from workbench.loaders.partition import Partition
from workbench.runtime.steps import Step
from workbench.runtime.times import time_or_now
from workbench.runtime.words import plural


class StoryBar(KafkaWidget):
    """Choose the story that is played, and the group whose offsets are loaded.

    Attributes:
        story: the name of the story.
        group: the group of the story about offsets; empty: all.

    Args:
        stories: name of a story → what it shows, in a sentence.
    """

    _esm = script("players/story_bar.js")
    _css = style("players/player.css")

    story = traitlets.Unicode().tag(sync=True)
    group = traitlets.Unicode().tag(sync=True)
    _stories: Any = traitlets.List().tag(sync=True)
    _groups: Any = traitlets.List().tag(sync=True)

    def __init__(self, stories: Mapping[str, str], **options: Any) -> None:
        """Offer stories; see the class."""
        offered = [[name, text] for name, text in stories.items()]
        super().__init__(_stories=offered, static=False, **options)

    @property
    def has_groups(self) -> bool:
        """Whether groups are offered."""
        return bool(self._groups)

    def offer_groups(self, groups: list[str]) -> None:
        """Offer groups to choose from."""
        self._groups = groups

    @traitlets.validate("story")
    def _known(self, proposal: Any) -> str:
        name: str = proposal["value"]
        known = [each for each, _text in self._stories]
        if name not in known:
            raise traitlets.TraitError(f"no story {name!r} (expected one of {', '.join(known)})")
        return name

    def describe(self) -> str:
        """Return the name of the story."""
        return f"StoryBar: {self.story}"


LOOKUP: Final = "Lookup"
RECOVERY: Final = "Recovery"
CLEANING: Final = "Cleaning"
RETENTION: Final = "Retention"
OFFSETS: Final = "Offsets"
STORIES: Final = {
    LOOKUP: "A fetch looks up an offset or a time through the indexes.",
    RECOVERY: "A broker loads the log after an unclean shutdown: it checks every batch.",
    CLEANING: "The cleaner compacts the log and decides about each record.",
    RETENTION: "The retention rules decide about each segment, the oldest first.",
    OFFSETS: "A broker becomes the coordinator of a group and loads its committed offsets.",
}
"""Name of a story → what it shows. Nothing is written: the engine works on a copy."""
_CONDITIONAL: Final = frozenset({CLEANING, RETENTION})


class Stories(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """Play what the engine would do with the selected partition: one story at a time.

    Attributes:
        bar: chooses the story, and the group.
        player: the player of the story; None where it cannot be played.
        selected: see `LogExplorer.selected`; an offset is looked up.
        conditions: see `Conditioned`; cleaning and retention obey them.
        show_values: whether keys and the metadata of commits are shown.
        step: the number of the step shown, from 1.
        lookup: the offset or time that is looked up, as text; empty: the selected offset, or one
            in the middle of the log.
        place: story, lookup and group of what is played: another one is another place of the way
            back, and another step is not.

    Args:
        logs: the directories.
        mask: see `CompactionPlayer`.
        options: traits.
    """

    in_address = ("place", "step")

    selected: Any = traitlets.Dict(NOTHING)
    conditions: Any = traitlets.Dict(AS_IT_IS)
    show_values = traitlets.Bool(default_value=False)
    story = traitlets.Unicode(LOOKUP)
    group = traitlets.Unicode()
    lookup = traitlets.Unicode()
    step = traitlets.Int(0)
    place: Any = traitlets.Tuple()

    def __init__(
        self, logs: workbench.LogDirectory, *, mask: Mask | None = None, **options: Any
    ) -> None:
        """Play the lookup; see the class."""
        self._logs, self._mask = logs, mask
        self._is_moving = False
        self.player: Player | None = None
        stored = StoredGroups(logs.listing)
        stories = {n: text for n, text in STORIES.items() if n != OFFSETS or stored.loads}
        self.bar = StoryBar(stories, story=LOOKUP)
        self._makers: dict[str, Callable[[Partition], Player]] = {
            LOOKUP: self._lookup,
            RECOVERY: RecoveryPlayer,
            CLEANING: self._cleaning,
            RETENTION: self._retention,
        }
        super().__init__((self.bar,), **options)
        for name in ("story", "group"):
            traitlets.link((self.bar, name), (self, name))
        self.observe(self._play, ["story", "group", "show_values"])
        self.observe(self._play_selected, "selected")
        self.observe(self._play_conditional, "conditions")
        self.observe(self._go_to_step, "step")
        self._play()

    @traitlets.validate("story")
    def _known(self, proposal: Any) -> str:
        self.bar.story = proposal["value"]
        return str(self.bar.story)

    def _play(self, _change: Any = None) -> None:
        """Make the player of the story, or say why there is none."""
        if self._is_moving:
            return
        before: tuple[Any, ...] = self.trait_values()["children"]
        for each in before[1:]:
            each.close()
        self.player = None
        self.children = (self.bar, TabState("loading", "Reading…"))
        shown: Any = TabState("empty", NO_PARTITION)
        partition = self._logs.get(self.selected["partition"] or "")
        try:
            if self.story == OFFSETS:
                self.player = self._offsets()
            elif partition is not None:
                self.player = self._makers[self.story](partition)
            shown = self.player or shown
        except (WorkbenchError, LookupError, ValueError, OSError) as error:
            shown = TabState("failed", error_text(error))
        self.children[1].close()
        self.children = (self.bar, shown)
        if self.player is not None:
            self.player.observe(self._tell_step, "at")
            self.player.observe(self._tell_lookup, "_title")
        self._tell_place()

    def _play_selected(self, change: Any) -> None:
        """Play the story of another partition, or look up another offset of this one."""
        before, now = change["old"], change["new"]
        if before["partition"] != now["partition"]:
            self.lookup = ""
            if self.story != OFFSETS:
                self._play()
        elif self.story == LOOKUP and now["offset"] not in {None, before["offset"]}:
            self.lookup = ""
            self._play()

    def _play_conditional(self, _change: Any) -> None:
        if self.story in _CONDITIONAL:
            self._play()

    def _tell_place(self) -> None:
        self.place = (self.story, self.lookup, self.group)
        self._tell_step()

    def _tell_step(self, _change: Any = None) -> None:
        self.step = 0 if self.player is None else self.player.at + 1

    def _go_to_step(self, change: Any) -> None:
        if self.player is not None and change["new"] > 0:
            self.player.at = change["new"] - 1

    def _tell_lookup(self, _change: Any) -> None:
        """Keep what was typed in the player's box for the address."""
        if isinstance(self.player, LookupPlayer):
            self.lookup = self.player.wanted
            self._tell_place()

    def _lookup(self, partition: Partition) -> Player:
        text, offset = self.lookup, self.selected["offset"]
        if text:
            offset, timestamp = offset_or_time(text)
            return LookupPlayer(partition, offset=offset, timestamp=timestamp)
        if offset is None:
            offset = (partition.log_start_offset + partition.log_end_offset) // 2
        return LookupPlayer(partition, offset=offset)

    def _cleaning(self, partition: Partition) -> Player:
        return CompactionPlayer(
            partition, **self.conditions, show_values=self.show_values, mask=self._mask
        )

    def _retention(self, partition: Partition) -> Player:
        """Let the engine apply the retention rules to a copy."""
        given, steps = self.conditions, list[Step]()
        now = time_or_now(given["now"])
        paths = directories_of(partition)
        with open_dry(paths, given["config"], now, given["kafka"], partition.fs) as dry:
            log = load_one(dry, partition)
            log.context.observer = steps.append
            verdicts = log.delete_old_segments()
        deleted = sum(verdict.is_deleted for verdict in verdicts)
        about = f"{plural(deleted, 'segment')} deleted" if deleted else "nothing deleted"
        return StepPlayer(
            steps, partition, title=f"Apply retention to {partition.name}", about=about
        )

    def _offsets(self) -> Player:
        if not self.bar.has_groups:
            self.bar.offer_groups(sorted(self._logs.inspect.groups()["group"].to_pylist()))
        return OffsetsPlayer.of_load(
            self._logs, self.group or None, show_values=self.show_values, mask=self._mask
        )

    def address(self) -> dict[str, str]:
        """Return the story, its group or lookup, and the step as texts of an address."""
        own = {LOOKUP: {"lookup": self.lookup}, OFFSETS: {"group": self.group}}
        return {"story": self.story, **own.get(self.story, {}), "step": str(self.step or "")}

    def show_address(self, parts: Mapping[str, str]) -> None:
        """Play what an address says.

        Raises:
            TraitError, ValueError: a text is not what its name needs.
        """
        step = parts.get("step", "")
        if step and not step.isdecimal():
            raise ValueError(f"step is {step!r} in the address (expected a number)")
        wanted = (parts.get("story", LOOKUP), parts.get("lookup", ""), parts.get("group", ""))
        if wanted != (self.story, self.lookup, self.group):
            self._is_moving = True
            try:
                self.story, self.lookup, self.group = wanted
            finally:
                self._is_moving = False
            self._play()
        if step:
            self.step = int(step)

    def describe(self) -> str:
        """Return the title, the result, and the step shown; the story without a player."""
        return self.bar.describe() if self.player is None else self.player.describe()

    def relist(self, logs: workbench.LogDirectory, _written: DirectoryChanges) -> None:
        """Take over the directories as they are listed now; a story that is shown stays."""
        self._logs = logs

    def close(self) -> None:
        """End the bar and the player."""
        for each in self.children:
            each.close()
        super().close()
