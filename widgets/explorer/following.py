"""The part of `LogExplorer` that follows live directories: what changed is read and marked."""

import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import traitlets

from widgets.explorer.answers import ExplorerAnswers
from widgets.explorer.segment_view import SegmentView
from widgets.live.directory_changes import DirectoryChanges
from widgets.live.follower import Changes
from widgets.live.follows_directories import FollowsDirectories
from widgets.selection import segment_with_base
from widgets.verification.verifier import ShowsFindings
from widgets.view.meanings import Meanings
from widgets.view.tree import MOST_LOOKED_INTO
from workbench.inspection.partition import DiskPartition
from workbench.log_directory import later

BYTES_PER_BATCH: Final = 17
"""About what a batch costs on its way to the front end."""

MOST_BYTES_PER_S: Final = 1 << 18
"""A segment with very many batches is sent less often, so that no more than this is sent."""

MOST_MARKED: Final = 1000
"""New partitions and segments that are marked."""


class Following(FollowsDirectories, ExplorerAnswers, ShowsFindings):
    """Shows new batches, segments and partitions as they appear, as long as `follow` is true."""

    _fresh: Any = traitlets.Dict().tag(sync=True)

    _meanings: Meanings
    _sent_at = 0.0
    _is_owed = False

    def __init__(self, **options: Any) -> None:
        """Begin with nothing that is new."""
        self._new_from: dict[str, dict[int, int]] = {}
        self._shown_by: list[Callable[[DirectoryChanges], None]] = []
        super().__init__(**options)

    def begin_following(self) -> None:
        """Mark what is new from now on, and go to the segment that is written."""
        self._new_from = {}
        self._show_fresh()
        name = self._place[0]
        if name is None or self.rests or self.selected["position"] is not None:
            return
        segments = self.logs.listing.partitions[name].segments_of_log
        if segments and segments[-1].base_offset != self._place[1]:
            self.selected = {"partition": name, "segment": segments[-1].base_offset}

    def show_by(self, show: Callable[[DirectoryChanges], None]) -> None:
        """Call a function with what was written, once `logs` are the directories as they are then.

        It is called in the thread of the kernel.
        """
        self._shown_by.append(show)

    def looked_at_first(self) -> str | None:
        """Return the partition that is shown."""
        return self._place[0]

    def is_owed(self) -> bool:
        """Return whether a large segment is still to be sent."""
        return self._is_owed

    def show_changes(self, changes: Changes) -> None:
        """Show what a look saw."""
        listing = changes.listing
        if changes:
            again = changes.has_other_tier
            self.logs = later(self.logs, listing, is_tier_read_again=again)
            self._meanings.relist(listing)
            self._picture = None
        self._mark(changes)
        name, base = self._place
        with self.hold_sync():
            if changes:
                self.verifier.relist(listing, changes.changed | changes.removed)
            is_small = len(listing.partitions) <= MOST_LOOKED_INTO
            if (
                changes.added
                or changes.removed
                or changes.has_other_files
                or (is_small and changes.changed)
            ):
                self.send_tree()
            if name in changes.removed:
                self.selected = {}
            elif name in changes.changed:
                self._read_on(name, base, changes.replaced.get(name, set()))
            elif self._is_owed:
                self._send_segment(name)
            self._show_fresh()
        self.show_file_again()
        if changes:
            for show in self._shown_by:
                show(changes.written)

    def _mark(self, changes: Changes) -> None:
        for name in changes.removed:
            self._new_from.pop(name, None)
        for name in changes.added:
            self._new_from.setdefault(name, {})
        for name, bases in changes.new_from.items():
            mine = self._new_from.setdefault(name, {})
            for base, position in bases.items():
                mine[base] = min(position, mine.get(base, position))
            for base in changes.replaced.get(name, ()):
                mine[base] = 0

    def _show_fresh(self) -> None:
        """Send what is new since following began, and of the shown partition from which byte on."""
        if not self._since:
            return
        mine = self._new_from.get(self._place[0] or "", {})
        there = set(self._strip["base_offset"]) if self._strip else set()
        self._fresh = {
            "since": self._since,
            "partitions": list(self._new_from)[:MOST_MARKED],
            "segments": {
                str(base): position
                for base, position in sorted(mine.items())[-MOST_MARKED:]
                if str(base) in there
            },
        }

    def _read_on(self, name: str, base: int | None, replaced: set[int]) -> None:
        """Read what is new in the shown partition; keep the selection."""
        partition = self.logs.listing.partitions[name]
        segment = None if base is None else segment_with_base(partition, base)
        self.show_marks()
        if segment is None:
            every = (each.base_offset for each in partition.segments_of_log)
            later = [each for each in every if base is None or each > base]
            self._place = (name, None)
            self.selected = {"partition": name} | ({"segment": later[0]} if later else {})
            return
        if self.rests:
            self.shown = self._segment = None  # it is read again when somebody sees it
            return
        earlier, chosen = self.shown, dict(self.selected)
        self.shown = SegmentView(
            partition, segment, self._meanings, earlier=None if base in replaced else earlier
        )
        if base in replaced:
            self._find_again(earlier, chosen, partition)
        self._send_segment(name, at_once=base in replaced)

    def _find_again(
        self, earlier: SegmentView | None, chosen: dict[str, Any], partition: DiskPartition
    ) -> None:
        """Select the batch and record of before in a segment that took another's place."""
        row = earlier.row_of(chosen["position"]) if earlier is not None else None
        if row is None or earlier is None or self.shown is None:
            return
        wanted = chosen["offset"]
        first = int(earlier.rows["base_offset"][row]) if wanted is None else wanted
        rows = self.shown.rows
        at = np.flatnonzero((rows["base_offset"] <= first) & (rows["last_offset"] >= first))
        place = {"partition": partition.name, "segment": chosen["segment"]}
        if not len(at):
            self.selected = chosen | {"position": None, "offset": None}
        else:
            position = int(rows["position"][at[0]])
            self.selected = chosen | place | {"position": position}

    def _send_segment(self, name: str | None, *, at_once: bool = False) -> None:
        """Send the shown segment's columns; those of a large one not at every look."""
        if self.shown is None or name is None:
            return
        pause = len(self.shown.rows) * BYTES_PER_BATCH / MOST_BYTES_PER_S
        self._is_owed = not at_once and time.monotonic() - self._sent_at < pause
        if not self._is_owed:
            self._sent_at = time.monotonic()
            self._segment = self.columns_of(name, self.shown)

    rests: bool
    _strip: Any
    _segment: Any

    def show_file_again(self) -> None:
        """Read the file that is shown again if it was written since."""
        raise NotImplementedError

    def send_tree(self) -> None:
        """Send the tree of the directories."""
        raise NotImplementedError
