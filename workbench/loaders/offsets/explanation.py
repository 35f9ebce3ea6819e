"""What became of one offset, what a consumer that asks for it gets, and what to do.

Kafka: UnifiedLog.read, ReplicaManager.readFromLog, CompletedFetch (4.2)
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa

from workbench.files.indexes.offset_index import OffsetIndex
from workbench.inspection.facts.html import table_html
from workbench.inspection.partition import DiskPartition
from workbench.inspection.transactions import IsolationLevel, Transactions, read_transactions
from workbench.inspection.unreadable import if_readable
from workbench.loaders.offsets.rescued import rescued_batches, rescued_offsets
from workbench.loaders.offsets.runs import FATES, IN_BATCHES, OffsetRun, offset_runs, start_in_tier
from workbench.loaders.queries.ranges import HIGHEST
from workbench.loaders.scan.plan import offset_range, offsets_of, out_of_use, plan_partition
from workbench.loaders.scan.segment_chunks import read_wanted
from workbench.loaders.tables.rows import table_of
from workbench.record.buffers import BufferPool
from workbench.record.reading.reader import KEYS
from workbench.runtime.words import plural, safe, safe_lines
from workbench.tables.offsets import OffsetRunRow

Outcome = Literal["gets", "waits", "out-of-range", "fails", "unknown"]


@dataclass(frozen=True, slots=True)
class ConsumerAnswer:
    """What a consumer gets that asks for an offset.

    Attributes:
        outcome: "gets" a record; "waits" for one; "out-of-range": OFFSET_OUT_OF_RANGE; "fails" at
            bytes that it cannot read; "unknown": the disk does not show it.
        next_offset: of the record that it gets; where it waits; where to seek to continue.
        why: a sentence.
    """

    outcome: Outcome
    next_offset: int | None
    why: str


@dataclass(frozen=True, slots=True)
class OffsetExplanation:
    """What became of an offset.

    Attributes:
        partition: name of the partition directory.
        offset: the offset.
        run: the offsets around it with the same fate.
        read_uncommitted, read_committed: what a consumer of the isolation level gets.
        advice: what to do.
        rescuable: in a damaged range: the offsets whose records ``rescue`` still reads.
    """

    partition: str
    offset: int
    run: OffsetRun
    read_uncommitted: ConsumerAnswer
    read_committed: ConsumerAnswer
    advice: str
    rescuable: tuple[int, ...] = ()

    @property
    def fate(self) -> str:
        """One of `runs.FATES`."""
        return self.run.fate

    @property
    def conclusion(self) -> str:
        """One sentence."""
        return f"{self.partition} offset {self.offset}: {FATES[self.run.fate]}"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "partition": self.partition,
            "offset": self.offset,
            "fate": self.run.fate,
            "why": self.run.why,
            "first_offset": self.run.first,
            "last_offset": self.run.last,
            "path": self.run.path,
            "position": self.run.position,
            "read_uncommitted": asdict(self.read_uncommitted),
            "read_committed": asdict(self.read_committed),
            "advice": self.advice,
            "rescuable": list(self.rescuable),
        }

    def rows(self) -> list[tuple[str, str]]:
        """Return what a person reads: names and sentences."""
        run = self.run
        around = f"{run.first} to {run.last}" if run.first < run.last else ""
        place = "" if run.path is None else run.path
        if run.path is not None and run.position is not None:
            place += f" from byte {run.position:,}"
        rows = [
            ("fate", FATES[run.fate]),
            ("why", run.why),
            ("as are offsets", around),
            ("in", place),
            ("still readable", self._still_readable),
            ("read_uncommitted", self.read_uncommitted.why),
            ("read_committed", self.read_committed.why),
            ("what to do", self.advice),
        ]
        return [(name, text) for name, text in rows if text]

    @property
    def _still_readable(self) -> str:
        """What the disk still gives of a damaged range; empty if nothing."""
        if not self.rescuable:
            return ""
        records = "the record" if self.offset in self.rescuable else "not the record, but others"
        text = f"{records}, with --rescue, which reads offsets {_ranges_text(self.rescuable)} here"
        return f"{text}; each may have changed bytes"

    def __str__(self) -> str:
        lines = (f"  {name}: {text}" for name, text in self.rows())
        return safe_lines([f"{self.partition} offset {self.offset}", *lines])

    def __repr__(self) -> str:
        return safe(f"<OffsetExplanation {self.conclusion}>")

    def _repr_html_(self) -> str:
        title = f"{self.partition} offset {self.offset}"
        return table_html(title, ["", "what"], self.rows(), sentences=["what"])


def explain_offset(partition: DiskPartition, offset: int) -> OffsetExplanation:
    """Return what became of an offset.

    Reads the batch headers of the log for its transactions, and records from the offset on, up to
    the next one that a consumer of each isolation level gets.

    Raises:
        OSError: the log end offset cannot be read.
        ValueError: the offset is below 0.
    """
    if offset < 0:
        raise ValueError(f"offset {offset} is below 0 (expected an offset from 0 on)")
    transactions = read_transactions(partition)
    reading = _Reading(partition, offset, transactions)
    own = reading.own
    if own.fate in {"compacted", "deleted", "missing"} and own.path is None:
        own = _with_leftover(partition, own, offset)
    uncommitted = reading.answer("read_uncommitted")
    committed = reading.answer("read_committed")
    advice = _advice(partition, offset, own, uncommitted)
    left = tuple(rescued_offsets(partition, own)) if own.rescuable_at else ()
    if offset in left:
        advice += f" kafka-workbench dump --rescue --offsets {offset} prints what the disk has."
    return OffsetExplanation(partition.name, offset, own, uncommitted, committed, advice, left)


def _ranges_text(offsets: Sequence[int]) -> str:
    """Return ascending offsets as text, such as "5 to 9, 12"."""
    edges = np.flatnonzero(np.diff(offsets) != 1) + 1
    runs = [(int(run[0]), int(run[-1])) for run in np.split(np.asarray(offsets), edges)]
    return ", ".join(f"{first}" if first == last else f"{first} to {last}" for first, last in runs)


class _Reading:
    """The runs from an offset on, as far as they are needed."""

    def __init__(self, partition: DiskPartition, offset: int, transactions: Transactions) -> None:
        self._partition = partition
        self._offset = offset
        self._stable = transactions.last_stable_offset
        self.start = partition.log_start_offset
        self.end = max(partition.log_end_offset, self.start)
        self._runs: list[OffsetRun] = []
        self._cut: OffsetRun | None = None  # damage between the batch that a lookup finds and it
        self._rest: Iterator[OffsetRun] = iter(())
        if offset >= self.end:
            self.own = _at_end(partition, offset, self.end)
            return
        # A walk begins at the batch that the offset index names, as a broker's does.
        self._rest = offset_runs(partition, offset, transactions, passed=True)
        for run in self._rest:
            self.own = run
            if run.last >= offset:
                break
            self._cut = run if run.cuts else self._cut
        self._runs.append(self.own)

    def _from(self) -> Iterator[OffsetRun]:
        """Yield the runs from the offset on; each is read once."""
        yield from self._runs
        for run in self._rest:
            self._runs.append(run)
            yield run

    def answer(self, level: IsolationLevel) -> ConsumerAnswer:
        """Return what a consumer gets."""
        offset, own = self._offset, self.own
        if own.fate == "remote":
            text = "the remote tier decides: with --remote its segments are read, too"
            return ConsumerAnswer("unknown", None, text)
        if offset < self.start or offset > self.end:
            latest = self._stable if level == "read_committed" else self.end
            text = (
                f"OFFSET_OUT_OF_RANGE: the consumer continues at {_start(self._partition)} with "
                f"auto.offset.reset=earliest, at {latest} with latest, and fails with none"
            )
            return ConsumerAnswer("out-of-range", None, text)
        bound = min(self._stable, self.end) if level == "read_committed" else self.end
        if offset >= bound:
            return self._waits(offset, bound)
        return self._next(level, bound)

    def _next(self, level: IsolationLevel, bound: int) -> ConsumerAnswer:
        """Return what a consumer gets that asks for an offset between log start and end."""
        offset = self._offset
        wanted = {"record"} if level == "read_committed" else {"record", "open", "aborted"}
        segment = self._partition.segment_of(offset)
        damage: OffsetRun | None = None
        if self._cut is not None and segment is not None and self._cut.path == segment.path:
            damage = self._cut
        for run in self._from():
            first = max(run.first, offset)
            if first >= bound and damage is None:
                break
            if run.fate == "unread":
                return ConsumerAnswer(
                    "unknown", None, f"the offsets from {first} on could not be read"
                )
            if run.stops and damage is None:
                given = self._given(run, first, level)
                if given is not None:
                    return given
                damage = run
            elif run.stops:
                continue
            elif damage is not None and run.fate in IN_BATCHES:
                return self._fails(damage, first)
            elif run.fate in wanted:
                text = "the record" if first == offset else f"the record at {first} next"
                return ConsumerAnswer("gets", first, f"gets {text}")
        return self._waits(offset, bound) if damage is None else self._fails(damage, self.end)

    def _given(self, run: OffsetRun, first: int, level: IsolationLevel) -> ConsumerAnswer | None:
        """Return what a consumer gets of a batch before the record that stops it; None: nothing.

        It takes a batch whose CRC is valid, and returns its records up to the one that it cannot
        read. Of a transaction, that is not said: a read_committed consumer may skip the batch.
        """
        for batch in rescued_batches(self._partition, run)[:1]:
            is_sure = level == "read_uncommitted" or not batch.is_transactional
            for offset in batch.before:
                if batch.has_valid_crc and is_sure and offset >= first:
                    text = (
                        "the record" if offset == self._offset else f"the record at {offset} next"
                    )
                    return ConsumerAnswer("gets", offset, f"gets {text}")
        return None

    def _waits(self, offset: int, bound: int) -> ConsumerAnswer:
        at = max(offset, bound)
        if bound < self.end:
            text = (
                f"waits: the last stable offset is {bound}, because a transaction that begins "
                "there has not ended"
            )
        else:
            text = f"waits for the next record, at {self.end}"
        return ConsumerAnswer("waits", at, text)

    def _fails(self, damage: OffsetRun, following: int) -> ConsumerAnswer:
        on = goes_on(self._partition, damage, following)
        text = (
            f"fails at the damage from offset {damage.first} on (CorruptRecordException), at every "
            f"poll until it seeks to {on}"
        )
        for batch in rescued_batches(self._partition, damage)[:1]:
            if batch.has_valid_crc:
                text = (
                    "fails at a record of the batch (InvalidRecordException), at every poll until "
                    f"it seeks to {on}; to seek past the record, as the exception advises, is not "
                    "enough"
                )
            elif len(batch.before) == len(batch.offsets):
                text += "; with check.crcs=false it gets every record, changed bytes among them"
            elif batch.before:
                last = batch.before[-1]
                text += f"; with check.crcs=false it gets the records up to {last} and fails then"
        return ConsumerAnswer("fails", on, text)


def goes_on(partition: DiskPartition, damage: OffsetRun, following: int) -> int:
    """Return the first offset after a damaged range that a consumer can seek to.

    Where the size of a batch is damaged, a broker cannot step over it: it gets further only by an
    entry of the offset index, or in the next segment.

    Args:
        partition: the partition.
        damage: the damaged range.
        following: the offset of the first sound batch after it.
    """
    if not damage.cuts or damage.position is None:
        return following
    segments = partition.segments
    for at, segment in enumerate(segments):
        if segment.path != damage.path:
            continue
        index: OffsetIndex | None = if_readable(lambda: segment.offset_index)  # noqa: B023
        for entry in index or ():
            if entry.position > damage.position:
                return max(entry.offset, following)
        if at + 1 < len(segments):
            return max(segments[at + 1].base_offset, following)
        return max(partition.log_end_offset, following)
    return following


def _at_end(partition: DiskPartition, offset: int, end: int) -> OffsetRun:
    if offset == end:
        why = ""
        for segment in partition.segments[-1:]:
            table = if_readable(lambda: segment.batches)  # noqa: B023
            left = 0 if table is None else segment.size - table.valid_size
            if left > 0:
                why = (
                    f"{plural(left, 'byte')} after the last batch are not a whole batch: verify "
                    "says what a broker does with them"
                )
        return OffsetRun(offset, offset, "end", why)
    return OffsetRun(end + 1, offset, "beyond", f"the log end offset is {end}")


def _with_leftover(partition: DiskPartition, run: OffsetRun, offset: int) -> OffsetRun:
    """Return a run with the file out of use that still has the offset, if there is one."""
    for read in out_of_use(partition, offset, offset + 1):
        for chunk, keep, _ in read_wanted(read, BufferPool(), options=KEYS):
            for at in keep.nonzero()[0][:1].tolist():
                keys = chunk.columns.keys
                assert keys is not None
                why = f"{run.why}. {read.segment.path} is out of use and still has the record"
                key = keys.item(at)
                newer = None if key is None else _newer(partition, offset, key)
                if run.fate == "compacted" and newer is not None:
                    why += f"; the newest record of its key is at offset {newer}"
                return run._replace(why=why, path=read.segment.path)
    return run


def _newer(partition: DiskPartition, offset: int, key: bytes) -> int | None:
    """Return the offset of the newest record of a key after an offset."""
    newest = None
    for read in plan_partition(partition, offset + 1, partition.log_end_offset, "read_uncommitted"):
        for chunk, keep, _ in read_wanted(read, BufferPool(), options=KEYS):
            keys = chunk.columns.keys
            assert keys is not None
            for at in keep.nonzero()[0].tolist():
                if keys.item(at) == key:
                    newest = int(chunk.columns.offsets[at])
    return newest


_ADVICE: Final = {
    "record": "Nothing: kafka-workbench dump DIR -p {partition} --offsets {offset} prints it.",
    "open": (
        "kafka-workbench transactions --open says which transaction waits, and what ends it; until "
        "then read_committed consumers stop at the last stable offset."
    ),
    "aborted": (
        "Read with isolation.level=read_committed. The producer has written the record again, or "
        "gave it up."
    ),
    "control": (
        "Nothing is lost: brokers write one at the end of a transaction. A job must not take "
        "offsets for a count of records."
    ),
    "compacted": (
        "Nothing is lost by the rules of cleanup.policy=compact: a later record of the key took "
        "its place, or its tombstone was removed. A job that stops here must accept gaps."
    ),
    "deleted": (
        "Go on at the log start offset {start}: kafka-consumer-groups.sh --reset-offsets "
        "--to-offset {start}, or auto.offset.reset=earliest. Older records are in a backup only."
    ),
    "damaged": (
        "Go on at {next}: consumer.seek(), or kafka-consumer-groups.sh --reset-offsets --to-offset "
        "{next}. Another replica may have the records: kafka-workbench compare-replicas."
    ),
    "missing": (
        "Look for the records on another replica (kafka-workbench compare-replicas) or in a "
        "backup; consumers skip the gap without an error."
    ),
    "remote": "Open the remote tier beside the directory: --remote URL.",
    "unread": "Make the file readable, and ask again.",
    "end": "Nothing: a consumer that is here has read everything.",
    "beyond": (
        "A group that has committed this offset starts over by auto.offset.reset: records were "
        "lost or truncated, or the topic was created again. kafka-consumer-groups.sh "
        "--reset-offsets --to-offset {end} moves the group to the end."
    ),
}


def _start(partition: DiskPartition) -> str:
    """Return where consumers begin with auto.offset.reset=earliest, as text."""
    start, in_tier = partition.log_start_offset, start_in_tier(partition)
    return f"{start}" if in_tier is None else f"{in_tier} (without a remote tier, at {start})"


def _advice(partition: DiskPartition, offset: int, run: OffsetRun, answer: ConsumerAnswer) -> str:
    start, end = partition.log_start_offset, partition.log_end_offset
    if run.fate == "deleted" and start_in_tier(partition) is not None:
        return (
            f"Go on at {_start(partition)}; --remote URL opens the remote tier. Older records are "
            "in a backup only."
        )
    if run.fate == "deleted" and run.path is not None:
        text = (
            "kafka-workbench dump --everything --offsets {offset} prints the record as long as "
            "the file is there; consumers continue at {start}."
        )
    else:
        text = _ADVICE[run.fate]
    return text.format(
        partition=partition.name, offset=offset, start=start, end=end, next=answer.next_offset
    )


def run_table(partition: DiskPartition, offsets: Any = None) -> pa.Table:
    """Return the runs of a range of offsets (`tables.offsets.OffsetRunRow`).

    Args:
        partition: the partition.
        offsets: as `Scan` takes them.

    Raises:
        OSError: the log end offset cannot be read.
        ValueError: it is not a range.
    """
    given = (None, None) if offsets is None else offsets_of(offsets)
    low, high = offset_range(given, partition, everything=True)
    low = max(low, 0)
    return table_of(OffsetRunRow, _rows(partition, _within(partition, low, high)))


def gap_rows(partitions: Iterable[DiskPartition]) -> Iterator[OffsetRunRow]:
    """Yield the rows of the offsets without a record that a client gets.

    Control records are among them: what a consumer skips.
    """
    for partition in partitions:
        runs = (run for run in offset_runs(partition) if run.fate not in _SERVED)
        yield from _rows(partition, runs)


_SERVED: Final = frozenset({"record", "open", "aborted"})


def _within(partition: DiskPartition, low: int, high: int) -> Iterator[OffsetRun]:
    """Yield the runs of offsets in [low, high), limited to these bounds."""
    end = max(partition.log_end_offset, partition.log_start_offset)
    known = offset_runs(partition, low) if low < end else iter(())
    after = []
    if low <= end < high < HIGHEST:
        after.append(_at_end(partition, end, end))
    if max(low, end + 1) < high < HIGHEST:
        after.append(_at_end(partition, high - 1, end))
    for run in chain(known, after):
        if run.first >= high:
            return
        yield run._replace(first=max(run.first, low), last=min(run.last, high - 1))


def _rows(partition: DiskPartition, runs: Iterable[OffsetRun]) -> Iterator[OffsetRunRow]:
    where = partition.topic, partition.partition
    for run in runs:
        why = run.why or FATES[run.fate]
        bounds = run.first, run.last, run.offsets
        yield OffsetRunRow(*where, *bounds, run.fate, why, run.path, run.position)
