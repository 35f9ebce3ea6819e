"""What came to live log directories since somebody looked: records, segments, damage."""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from widgets.live.follower import Changes, Follower
from workbench.inspection.listing import Listing
from workbench.inspection.new_bytes import NewBytes, read_new_bytes
from workbench.inspection.segment import Segment
from workbench.runtime.clock import SystemClock
from workbench.runtime.times import time_text
from workbench.runtime.words import plural

RECORDS: Final = "records"
SEGMENTS: Final = "segments"
DAMAGE: Final = "damage"
"""What can be shown of what came."""


class Arrivals:
    """Counts what a broker writes to log directories, in a thread, since a time.

    Only what is new is read, with its CRCs. The counting slows down so that it takes no more than
    a twentieth of one core.

    Attributes:
        damaged: names of the partitions whose new bytes are damaged.

    Args:
        listing: the directories as they were listed; they must be local.
        show: called, in the thread, with what came, see `told`.

    Raises:
        ValueError: a path is not a local folder.
    """

    def __init__(self, listing: Listing, show: Callable[[dict[str, Any]], None]) -> None:
        self._show, self._listing = show, listing
        self._ends: dict[tuple[str, int], int] = {}
        self._lock = threading.Lock()
        self.follower = Follower(listing, self._take)
        self.dismiss()

    def dismiss(self) -> None:
        """Count from now on."""
        with self._lock:
            self._since = SystemClock().now()
            self._records = self._rolled = self._deleted = self._made = self._batches = 0
            self.damaged: set[str] = set()
        self._show(self.told())

    def told(self) -> dict[str, Any]:
        """Return what came: ``since`` as text; ``parts``: what, its text, and its tone."""
        texts = (
            (RECORDS, self._records, "record", "", "calm"),
            (SEGMENTS, self._rolled, "segment", " rolled", "calm"),
            (SEGMENTS, self._deleted, "segment", " deleted", "warn"),
            (SEGMENTS, self._made, "new partition", "", "calm"),
            (DAMAGE, self._batches, "damaged batch", "", "bad"),
        )
        return {
            "since": f"{time_text(self._since)[11:19]} UTC",
            "parts": [
                [what, f"{plural(count, one)}{rest}", tone]
                for what, count, one, rest, tone in texts
                if count
            ],
        }

    def look(self) -> None:
        """Look now, without waiting for the timer."""
        self._take(self.follower.look())

    def _take(self, changes: Changes) -> bool:
        before, self._listing = self._listing.partitions, changes.listing
        rolled = deleted = 0
        for name in changes.changed & before.keys():
            known = {each.base_offset for each in before[name].segments}
            now = {each.base_offset for each in changes.listing.partitions[name].segments}
            rolled += len(now - known)
            deleted += len(known - now)
        read = self._read(changes)  # without the lock: it may take long
        with self._lock:
            self._rolled += rolled
            self._deleted += deleted
            self._made += len(changes.added)
            self._records += sum(each.records for _name, each in read)
            self._batches += sum(each.damaged for _name, each in read)
            self.damaged |= {name for name, each in read if each.damaged}
        if changes:
            self._show(self.told())
        return False

    def _read(self, changes: Changes) -> list[tuple[str, NewBytes]]:
        """Read the new bytes of each segment: partition, and what they are."""
        self._ends = {at: end for at, end in self._ends.items() if at[0] not in changes.removed}
        for name, bases in changes.replaced.items():
            for base in bases:
                self._ends.pop((name, base), None)
        found = []
        for name, segment, start in _new_bytes(changes):
            place = name, segment.base_offset
            begin, is_known = self._ends.get(place, start), place in self._ends
            with suppress(OSError):  # deleted meanwhile: the next look sees it
                read = read_new_bytes(segment, begin, from_batch=is_known)
                self._ends[place] = read.end
                found.append((name, read))
        return found


def _new_bytes(changes: Changes) -> Iterator[tuple[str, Segment, int]]:
    """Yield the segments with new bytes that no cleaning wrote: partition, segment, from where."""
    for name, starts in changes.new_from.items():
        segments = {each.base_offset: each for each in changes.listing.partitions[name].segments}
        for base, start in starts.items():
            if base in segments and base not in changes.replaced.get(name, ()):
                yield name, segments[base], start
