"""Players: the steps the engine reported, one after the other.

The engine reports each step to an observer, with the numbers that led to it. A player shows the
segment's bytes with the bytes the step touched, the reason, and the steps so far.
"""

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from widgets._assets import script
from widgets.players._player import (
    Place,
    Player,
    find_partition,
    made_by,
    poster_of,
    steps_in,
)
from widgets.view.players.steps import (
    MOST_STEPS,
    Scene,
    Touch,
    kind_rows,
    place,
    scene_of,
    segment_columns,
    step_rows,
)
from widgets.view.text import offset_or_time
from workbench.config.log_config import LogConfig
from workbench.foresight.rehearse.log import (
    Rehearsal,
    SegmentPicture,
    rehearse_lookup,
    rehearse_recovery,
)
from workbench.inspection.segment import Segment
from workbench.loaders.directory import ListedDirectory
from workbench.loaders.partition import Partition
from workbench.loaders.topic import Topic
from workbench.runtime.steps import Step
from workbench.runtime.times import time_text
from workbench.runtime.words import plural

Segments = Place | Iterable[Segment | SegmentPicture] | Mapping[int, SegmentPicture] | None
"""Where a player finds the segments that the steps name."""

_MADE_BY: Final = "LookupPlayer and RecoveryPlayer make them of a partition"


class StepPlayer(Player):
    """Step through the engine's work, forward and back.

    Attributes:
        at: the index of the step shown; -1 without steps.
        steps: the steps to play.

    Args:
        steps: the steps an observer received, in that order.
        segments: the segments the steps touch, as they are now: a partition, a path, or segments.
        title: what the steps do.
        about: the result, in a few words.
        at: the first step to show; by default the one that shows the most, such as the batch that a
            lookup finds.

    Raises:
        LogDirectoryError: the path is not a partition directory.
        OSError: a segment cannot be read.
        PlayerError: ``steps`` are not steps.
        TypeError: an unknown option.
    """

    _esm = script("players/player.js")

    def __init__(
        self,
        steps: Iterable[Step] = (),
        segments: Segments = None,
        *,
        title: str = "What the engine did",
        about: str = "",
        at: int | None = None,
        **options: Any,
    ) -> None:
        """Show steps; see the class."""
        self.scenes: tuple[Scene, ...] = ()
        self.touches: tuple[Touch, ...] = ()
        super().__init__(_title=title, **options)
        told = steps_in(steps, _MADE_BY)
        first = poster_of(told) if at is None else at
        self.show(told, segments, about=about, at=first)

    def show(
        self,
        steps: Iterable[Step],
        segments: Segments = None,
        *,
        about: str | None = None,
        at: int | None = None,
    ) -> None:
        """Play other steps, or the same steps and later ones.

        Args:
            steps: the steps that replace the current ones.
            segments: the segments as they are now; None keeps the current ones.
            about: the result; None keeps the current text.
            at: the step to show; by default the last.
        """
        told = steps_in(steps, _MADE_BY)
        self.steps = told[:MOST_STEPS]
        if segments is not None:
            self.scenes = _scenes(segments)
        self.touches = tuple(place(step, self.scenes) for step in self.steps)
        self._picture = None
        with self.hold_sync():
            if about is not None:
                self._about = about
            self._played = {
                "left_out": len(told) - len(self.steps),
                "kinds": kind_rows(self.steps),
                "steps": step_rows(self.steps, self.touches),
                "segments": segment_columns(
                    self.scenes, {touch.segment for touch in self.touches if touch.position >= 0}
                ),
            }
            self.at = len(self.steps) - 1 if at is None else at

    def to_png(self) -> bytes:
        """Draw the step shown and the steps so far as a PNG. Imports matplotlib."""
        if self._picture is None:
            from widgets.players.player_picture import player_picture

            self._picture = player_picture(self)
        return self._picture


class LookupPlayer(StepPlayer):
    """Look up an offset or a time in a partition, through its indexes.

    Attributes:
        partition: the partition.
        rehearsal: the lookup, done on a copy that is never written.
        wanted: the offset, or the time in ISO 8601.

    Args:
        partition: the partition, or the path of its directory.
        offset: the offset to read from.
        timestamp: the time in epoch ms; the result is the first record at or after it.
        config: the topic's configuration; Kafka's defaults if None.

    Raises:
        LogDirectoryError: the path is not a partition directory.
        ValueError: not exactly one of offset and timestamp is given.

    Kafka: UnifiedLog.read, fetchOffsetByTimestamp (4.2)
    """

    _esm = script("players/lookup_player.js")

    def __init__(
        self,
        partition: Place,
        offset: int | None = None,
        *,
        timestamp: int | None = None,
        config: LogConfig | None = None,
        **options: Any,
    ) -> None:
        """Let the engine look up the offset or time; see the class."""
        self.partition = find_partition(partition, type(self).__name__)
        self._config = config
        self.rehearsal, self.wanted = self._rehearse(offset, timestamp), ""
        super().__init__(
            self.rehearsal.steps,
            self.partition,
            title=self._words(offset, timestamp),
            about=_lookup_result(self.rehearsal),
            **options,
        )
        self._want(offset, timestamp)

    def look_up(self, *, offset: int | None = None, timestamp: int | None = None) -> None:
        """Look up another offset or time (epoch ms).

        Raises:
            ValueError: not exactly one of offset and timestamp is given.
        """
        self.rehearsal = self._rehearse(offset, timestamp)
        with self.hold_sync():
            self._want(offset, timestamp)
            self._title = self._words(offset, timestamp)
            about = _lookup_result(self.rehearsal)
            steps = self.rehearsal.steps
            self.show(steps, self.partition, about=about, at=poster_of(steps))

    def answer_look_up(self, text: str) -> tuple[dict[str, Any], list[bytes]]:
        """Look up the offset, or the UTC time in any ISO form, that the text names."""
        offset, timestamp = offset_or_time(text)
        self.look_up(offset=offset, timestamp=timestamp)
        return {"text": self.about}, []

    def _rehearse(self, offset: int | None, timestamp: int | None) -> Rehearsal:
        return rehearse_lookup(
            self.partition.path,
            offset=offset,
            timestamp=timestamp,
            config=self._config,
            fs=self.partition.fs,
        )

    def _want(self, offset: int | None, timestamp: int | None) -> None:
        self.wanted = time_text(timestamp) if offset is None else str(offset)
        given = f"timestamp={timestamp}" if offset is None else f"offset={offset}"
        if self._config is None:
            self._code = made_by("LookupPlayer", json.dumps(self.partition.path), given)

    def _words(self, offset: int | None, timestamp: int | None) -> str:
        wanted = f"offset {offset:,}" if offset is not None else time_text(timestamp)
        return f"Look up {wanted} in {self.partition.name}"


class RecoveryPlayer(StepPlayer):
    """Recover a partition as a broker does after a crash.

    Attributes:
        rehearsal: the recovery, done on a copy: the directory is unchanged.

    Args:
        partition: the partition, or the path of its directory.
        recovery_point: an offset; earlier records were flushed and are not checked.
        config: the topic's configuration; Kafka's defaults if None.

    Raises:
        LogDirectoryError: the path is not a partition directory.

    Kafka: LogLoader.load (4.2)
    """

    def __init__(
        self,
        partition: Place,
        recovery_point: int = 0,
        *,
        config: LogConfig | None = None,
        **options: Any,
    ) -> None:
        """Let the engine recover the partition; see the class."""
        found = find_partition(partition, type(self).__name__)
        self.rehearsal = rehearse_recovery(
            found.path, recovery_point=recovery_point, config=config, fs=found.fs
        )
        super().__init__(
            self.rehearsal.steps,
            found,
            title=f"Recover {found.name} after a crash",
            about=_recovery_result(self.rehearsal),
            **options,
        )
        if config is None:
            point = [f"recovery_point={recovery_point}"] if recovery_point else []
            self._code = made_by("RecoveryPlayer", json.dumps(found.path), *point)


def _lookup_result(rehearsal: Rehearsal) -> str:
    if rehearsal.error is not None:
        return str(rehearsal.error)
    result = rehearsal.result
    if result is None:
        return "no record at or after that time"
    if hasattr(result, "timestamp"):
        return f"found: offset {result.offset:,} of {time_text(result.timestamp)}"
    position = result.position
    return f"found: the batch of offset {result.offset:,} at byte {position:,}"


def _recovery_result(rehearsal: Rehearsal) -> str:
    if rehearsal.error is not None:
        return str(rehearsal.error)
    cut = sum(step.numbers.get("cut", 0) for step in rehearsal.steps)
    lost = sum(step.kind == "segment marked deleted" for step in rehearsal.steps)
    parts = [f"{plural(cut, 'byte')} truncated" if cut else "nothing truncated"]
    parts += [f"{plural(lost, 'segment')} removed"] if lost else []
    return f"{' and '.join(parts)}; log end offset {rehearsal.result:,}"


def _scenes(segments: Segments) -> tuple[Scene, ...]:
    """Read the segments, ascending."""
    found: Iterable[Segment | SegmentPicture]
    if isinstance(segments, ListedDirectory | Topic | Partition | Segment | str | os.PathLike):
        partition = find_partition(segments, "StepPlayer")
        found = partition.listed_again().segments  # it may have grown since it was opened
    elif isinstance(segments, Mapping):
        found = cast(Mapping[int, SegmentPicture], segments).values()
    else:
        found = segments or ()
    return tuple(sorted((scene_of(each) for each in found), key=lambda scene: scene.base_offset))
