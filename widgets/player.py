"""Players: what the engine told while it did something, one step after the other.

The engine tells each step to an observer, with the numbers that led to it. A player shows the
segment's bytes with the step's place in them, the reason, and the way so far.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from widgets._link import link
from widgets._player import Place, Player, find_partition
from widgets.view.steps import (
    MOST_STEPS,
    Scene,
    Touch,
    kind_rows,
    place,
    scene_of,
    segment_columns,
    step_rows,
)
from widgets.view.text import plural, time_text
from workbench.inspection.segment import Segment
from workbench.loaders.partition import Partition
from workbench.log.config import LogConfig
from workbench.log.rehearsal import (
    Rehearsal,
    SegmentPicture,
    rehearse_lookup,
    rehearse_recovery,
)
from workbench.log.steps import Step

Segments = Place | Iterable[Segment | SegmentPicture] | Mapping[int, SegmentPicture] | None
"""Where a player finds the segments that the steps name."""


class StepPlayer(Player):
    """Go through steps of the engine, forwards and back.

    Attributes:
        at: index of the step that is shown; -1 where there is none.
        steps: what is played.

    Args:
        steps: what an observer was told, in that order.
        segments: those that the steps touch, as they are now: a partition, a path, or segments.
        title: what the steps do.
        about: how it ended, in a few words.
        at: the first step to show; the last where None.

    Raises:
        LogDirectoryError: the path is no partition's folder.
        OSError: a segment cannot be read.
        TypeError: an option nobody knows.
    """

    _esm = link("player.js")

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
        self.show(steps, segments, about=about, at=at)

    def show(
        self,
        steps: Iterable[Step],
        segments: Segments = None,
        *,
        about: str | None = None,
        at: int | None = None,
    ) -> None:
        """Play other steps, or the same and those that came since.

        Args:
            steps: instead of those so far.
            segments: as they are now; None keeps those so far.
            about: how it ended; None keeps what was said.
            at: the step to show; the last where None.
        """
        told = tuple(steps)
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
        """The step that is shown, and the way so far, as a PNG file. Imports matplotlib."""
        if self._picture is None:
            from widgets.player_picture import player_picture

            self._picture = player_picture(self)
        return self._picture


class LookupPlayer(StepPlayer):
    """Look an offset or a time up in a partition, through its sparse indexes.

    Attributes:
        rehearsal: what the engine did, on a copy that is never written.

    Args:
        partition: or the path of its folder.
        offset: to be read from.
        timestamp: ms; the first record that is not older is looked for.
        config: of the topic; Kafka's defaults when None.

    Raises:
        LogDirectoryError: the path is no partition's folder.
        ValueError: not exactly one of offset and timestamp is given.

    Kafka: UnifiedLog.read, fetchOffsetByTimestamp (4.2)
    """

    def __init__(
        self,
        partition: Place,
        *,
        offset: int | None = None,
        timestamp: int | None = None,
        config: LogConfig | None = None,
        **options: Any,
    ) -> None:
        """Let the engine look it up; see the class."""
        found = find_partition(partition)
        self.rehearsal = rehearse_lookup(
            found.path, offset=offset, timestamp=timestamp, config=config
        )
        wanted = f"offset {offset:,}" if offset is not None else time_text(timestamp)
        options.setdefault("at", 0)
        super().__init__(
            self.rehearsal.steps,
            found,
            title=f"Look up {wanted} in {found.name}",
            about=_lookup_result(self.rehearsal),
            **options,
        )


class RecoveryPlayer(StepPlayer):
    """Recover a partition as a broker does after a crash.

    Attributes:
        rehearsal: what the engine did, on a copy: the folder is as before.

    Args:
        partition: or the path of its folder.
        recovery_point: offset; what comes before had reached the disk and is not looked at.
        config: of the topic; Kafka's defaults when None.

    Raises:
        LogDirectoryError: the path is no partition's folder.

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
        """Let the engine recover it; see the class."""
        found = find_partition(partition)
        self.rehearsal = rehearse_recovery(found.path, recovery_point=recovery_point, config=config)
        options.setdefault("at", 0)
        super().__init__(
            self.rehearsal.steps,
            found,
            title=f"Recover {found.name} after a crash",
            about=_recovery_result(self.rehearsal),
            **options,
        )


def _lookup_result(rehearsal: Rehearsal) -> str:
    if rehearsal.error is not None:
        return str(rehearsal.error)
    result = rehearsal.result
    if result is None:
        return "no record is that late"
    if hasattr(result, "timestamp"):
        return f"found: offset {result.offset:,} of {time_text(result.timestamp)}"
    position = result.position
    return f"found: the batch of offset {result.offset:,} at byte {position:,}"


def _recovery_result(rehearsal: Rehearsal) -> str:
    if rehearsal.error is not None:
        return str(rehearsal.error)
    cut = sum(step.numbers.get("cut", 0) for step in rehearsal.steps)
    lost = sum(step.kind == "segment marked deleted" for step in rehearsal.steps)
    parts = [f"{plural(cut, 'byte')} cut" if cut else "nothing cut"]
    parts += [f"{plural(lost, 'segment')} removed"] if lost else []
    return f"{' and '.join(parts)}; the log ends at offset {rehearsal.result:,}"


def _scenes(segments: Segments) -> tuple[Scene, ...]:
    """Read the segments, ascending."""
    found: Iterable[Segment | SegmentPicture]
    if isinstance(segments, Partition | str | os.PathLike):
        path = segments.path if isinstance(segments, Partition) else segments
        found = find_partition(path).segments  # anew: it may have grown since it was opened
    elif isinstance(segments, Mapping):
        found = segments.values()
    else:
        found = segments or ()
    return tuple(sorted((scene_of(each) for each in found), key=lambda scene: scene.base_offset))
