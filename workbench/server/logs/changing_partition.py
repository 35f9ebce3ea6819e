"""A partition whose directory a broker may be changing while clients read it.

A cleaning merges segments and gives one of them to another file; retention deletes them. What was
read of segments that are not there any more is read again, in the directory as it is then.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeVar

from workbench.inspection.findings import Finding
from workbench.inspection.log_parts import LogPart
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment

T = TypeVar("T")

_MOST_HINTS: Final = 64
_TRIES: Final = 10


class Listed:
    """A partition as it was listed once. Threads may share it.

    Args:
        partition: the partition.
    """

    def __init__(self, partition: DiskPartition) -> None:
        self.partition = partition
        self._hints: OrderedDict[int, tuple[str, int]] = OrderedDict()
        self._lock = threading.Lock()

    @cached_property
    def parts(self) -> tuple[LogPart, ...]:
        """What a reader reads of each segment."""
        return self.partition.parts

    def hint(self, offset: int) -> tuple[str, int] | None:
        """Return the file, and the position in it, where an earlier read came to an offset."""
        with self._lock:
            return self._hints.get(offset)

    def keep_hint(self, offset: int, where: tuple[str, int]) -> None:
        """Keep where a read came to an offset, at which its reader continues."""
        with self._lock:
            self._hints[offset] = where
            self._hints.move_to_end(offset)
            while len(self._hints) > _MOST_HINTS:
                self._hints.popitem(last=False)


@dataclass(slots=True)
class Attempt:
    """One attempt to read.

    Attributes:
        listed: the partition.
        segments: those that were read; None: all.
        findings: what was found in them.
    """

    listed: Listed
    segments: list[Segment] | None = None
    findings: list[Finding] = field(default_factory=list)


class ChangingPartition:
    """A partition, listed again when segments of it are not there. Threads may share it.

    Args:
        partition: the partition.
        note: receives what was found, once it is certain.
    """

    def __init__(self, partition: DiskPartition, note: Callable[[list[Finding]], None]) -> None:
        self._note = note
        self._lock = threading.Lock()
        self._is_local = partition.is_here and partition.only is None
        self.now = Listed(partition)
        self._know(self.now)

    def _know(self, listed: Listed) -> None:
        """Ask which files the segments are."""
        if self._is_local:
            for segment in listed.partition.segments:
                _ = segment.files["log"].inode

    def read(self, act: Callable[[Attempt], T]) -> T:
        """Return what an act reads of segments that are still there afterwards.

        Args:
            act: reads; what it raises is raised.
        """
        tries = 0
        while True:
            tries += 1
            attempt = Attempt(self.now)
            try:
                found = act(attempt)
            except Exception:
                if tries < _TRIES and self._list_if_changed(attempt):
                    continue
                self._note(attempt.findings)
                raise
            if tries == _TRIES or not self._list_if_changed(attempt):
                self._note(attempt.findings)
                return found

    def _list_if_changed(self, attempt: Attempt) -> bool:
        """List the directory again if segments that were read are not there any more."""
        listed, segments = attempt.listed, attempt.segments
        if segments is None:
            segments = list(listed.partition.segments)
        if not self._is_local or all(map(_is_there, segments)):
            return False
        with self._lock:
            if self.now is listed:
                now = listed.partition.listed_again()
                if _is_unread(now):
                    return False
                again = Listed(now)
                self._know(again)
                self.now = again
        return True


def _is_unread(partition: DiskPartition) -> bool:
    """Whether segments cannot be read now: those known before say why, and may be read later."""
    return any(not each.name or each.name.endswith(".log") for each in partition.unread)


def _is_there(segment: Segment) -> bool:
    return segment.files["log"].is_there
