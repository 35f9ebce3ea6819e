"""A search: read what a scan would, keep what its query finds, report progress, stop on request.

search = Search(logs.scan(topics="orders", where="$.amount>100"))
search.start()                       # in a thread of its own
search.wait(matches=200, seconds=0.3)
search.matches.read(search.matches.arranged()[:200], ["offset", "value"])
"""

import copy
import dataclasses
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from workbench.inspection.findings import Finding
from workbench.inspection.unreadable import findings_about_records, removed
from workbench.layout.attributes import NO_TIMESTAMP
from workbench.loaders.scan.not_searched import NotSearched, unread_by
from workbench.loaders.scan.plan import SegmentRead
from workbench.loaders.scan.scan import Scan
from workbench.loaders.scan.segment_batches import matching_chunks
from workbench.loaders.scan.splits import size_of, split
from workbench.loaders.search.matches import MOST_LISTED, Matches
from workbench.loaders.search.sort_keys import SortKey
from workbench.loaders.search.time_histogram import TimeHistogram
from workbench.record.buffers import BufferPool
from workbench.record.reading.reader import Chunk
from workbench.record.reading.resync import batch_at
from workbench.runtime.job import Job

# A search reads pieces of segments by the time at which they begin. So the records of several
# partitions come nearly merged by time, although one piece is read after the other, and the memory
# of one is enough.
SMALLEST_PIECE: Final = 4 << 20  # bytes
MOST_PIECES: Final = 2000
"""About how many pieces a search has besides one per segment: each is looked into beforehand."""


@dataclass(frozen=True)
class SegmentPiece:
    """A part of a segment.

    Attributes:
        read: what to read.
        time: ms, from which on its records are: never before the piece before it.
        size: bytes.
    """

    read: SegmentRead
    time: int
    size: int


def pieces_by_time(scan: Scan, *, newest_first: bool = False) -> list[SegmentPiece]:
    """Return what a scan reads, by time; the pieces of a partition keep their order.

    Args:
        scan: the scan; its columns do not matter.
        newest_first: the order is turned round: the last piece is the first.
    """
    reads = scan.plan()
    size = max(SMALLEST_PIECE, sum(map(size_of, reads)) // MOST_PIECES)
    pieces = [piece for read in reads for piece in _split(read, size)]
    latest: dict[str, int] = {}
    timed = []
    for piece in pieces:
        name = piece.partition.path
        latest[name] = max(latest.get(name, NO_TIMESTAMP), _time_at(piece))
        timed.append(SegmentPiece(piece, latest[name], size_of(piece)))
    timed.sort(key=lambda piece: piece.time)
    return timed[::-1] if newest_first else timed


def _split(read: SegmentRead, size: int) -> Iterator[SegmentRead]:
    if size_of(read) <= size:
        yield read
    else:
        yield from split(read, size)


def _time_at(read: SegmentRead) -> int:
    """Return the time of the first batch that is read; -1: it has none, or cannot be read."""
    try:
        with read.segment.open() as source:
            row = batch_at(source, read.start)
    except OSError:  # reading the segment reports it
        return NO_TIMESTAMP
    return NO_TIMESTAMP if row is None else int(row["max_timestamp"])


MOST_FINDINGS: Final = 1000
"""Findings that a search keeps; further ones are counted."""


class Search(Job):
    """One search. Canceled, it ends after the chunk that is being read; what was found remains.

    `run` raises WorkbenchError or OSError if what is searched cannot be read at all.

    Attributes:
        scan: what is searched; its query says what for.
        matches: what was found so far.
        histogram: the matches over time.
        looked: the records that were looked at over time.
        bytes_read, bytes_total: how far it is; the total is known once it runs.
        records_read: how many records were looked at.
        reached: path of a partition → the offset after the last batch that was looked at.
        findings: what could not be read, at most `MOST_FINDINGS`.
        finding_count: how many findings there were.
        seconds: how long it has run.

    Args:
        scan: the scan; its columns, decodings and limit do not matter.
        newest_first: begin with the latest records.
        most: how many matches are listed; further ones are counted.
        sort_key: what is kept of each match, if they will be sorted by it.
    """

    def __init__(
        self,
        scan: Scan,
        *,
        newest_first: bool = False,
        most: int = MOST_LISTED,
        sort_key: SortKey | None = None,
    ) -> None:
        super().__init__("search")
        self._sort_key = sort_key
        self.scan = self._prepared(scan)
        self.newest_first = newest_first
        self.matches = Matches(most, sort_key)
        self.histogram, self.looked = TimeHistogram(), TimeHistogram()
        self.bytes_read = self.bytes_total = self.records_read = 0
        self.reached: dict[str, int] = {}
        self.findings: list[Finding] = []
        self.finding_count = 0
        self._begun = self._ended = 0.0
        self._unread = 0
        self._moved = threading.Condition()

    def _prepared(self, scan: Scan) -> Scan:
        mine = copy.copy(scan)
        mine.decode = {}
        columns = () if self._sort_key is None else self._sort_key.columns
        mine.options = dataclasses.replace(scan.options, columns=columns)
        return mine

    @property
    def not_searched(self) -> list[NotSearched]:
        """What of the directories was not looked at so far; see `Scan.not_searched`."""
        return [*self.scan.left_out, *unread_by(self.findings, self._unread, self.scan.where.text)]

    @property
    def seconds(self) -> float:
        """How long it has run so far, or ran."""
        return (self._ended or time.monotonic()) - self._begun if self._begun else 0.0

    def extend(self, scan: Scan) -> None:
        """Search more, in a thread of its own: what a scan of other records finds is added.

        Args:
            scan: what is searched now, such as the records after those that were `reached`.

        Raises:
            ValueError: the search is not done.
        """
        if self.status != "done":
            raise ValueError(f"only a search that is done can be extended (it is {self.status})")
        self.scan = self._prepared(scan)
        self.bytes_read = self.bytes_total = 0
        self.start()

    def wait(self, seconds: float | None = None, *, matches: int | None = None) -> bool:
        """Wait until it is over, has found so many matches, or so much time has passed.

        Returns:
            Whether it is over.
        """

        def enough() -> bool:
            return self.is_over or (matches is not None and self.matches.count >= matches)

        with self._moved:
            self._moved.wait_for(enough, seconds)
        return self.is_over

    def _work(self) -> None:
        self._begun = time.monotonic()
        try:
            pieces = pieces_by_time(self.scan, newest_first=self.newest_first)
            self.bytes_total = sum(piece.size for piece in pieces)
            for partition in self.scan.partitions:
                self._note(findings_about_records(partition))
            pool = BufferPool()
            for piece in pieces:
                self._read(piece, pool)
                self._go_on()
        finally:
            self._ended = time.monotonic()

    def _end(self) -> None:
        with self._moved:
            self._moved.notify_all()

    def _read(self, piece: SegmentPiece, pool: BufferPool) -> None:
        """Look through a piece."""
        before, start = self.bytes_read, piece.read.start
        try:
            for chunk, keep, findings, unread in matching_chunks(
                piece.read, self.scan.options, pool
            ):
                self._note(findings)
                self._unread += unread
                times = self.matches.add(piece.read, chunk, keep)
                self.records_read += len(keep)
                if len(chunk.rows):
                    self._reach(piece.read.partition.path, chunk)
                    end = int(chunk.rows["position"][-1] + chunk.rows["size"][-1])
                    self.bytes_read = min(before + max(0, end - start), before + piece.size)
                with self._moved:
                    self.looked.add(chunk.columns.timestamps)
                    self.histogram.add(times)
                    self._moved.notify_all()
                self._go_on()
        except FileNotFoundError:
            self._note([removed(piece.read.segment.path)])
        self.bytes_read = before + piece.size

    def _reach(self, path: str, chunk: Chunk) -> None:
        following = int(chunk.rows["last_offset"].max()) + 1
        self.reached[path] = max(self.reached.get(path, 0), following)

    def _note(self, findings: list[Finding]) -> None:
        self.finding_count += len(findings)
        self.findings.extend(findings[: MOST_FINDINGS - len(self.findings)])
