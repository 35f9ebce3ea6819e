"""Clean a log on a dry copy, round after round, and keep the cleaner's steps: for players.

The cleaner's own code runs, but its writes are kept in memory. Between the rounds the log is read,
so that the steps of a round can be shown on the segments that it began with.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.cleaner.chunks import read_chunks
from workbench.cleaner.cleaner import Cleaning, clean_log
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.schedule.log_to_clean import LogToClean, log_to_clean, tell_choice
from workbench.errors import WorkbenchError
from workbench.files.names import CLEANER_OFFSETS
from workbench.log.log import Log
from workbench.log.offset_checkpoint_file import OffsetCheckpointFile
from workbench.log.segments.segment import LogSegment
from workbench.record.reading.batch_records import ALL_COLUMNS
from workbench.runtime.clock import ManualClock
from workbench.runtime.steps import BatchOutline, Observer, Outline, Step

Detail = Literal["records", "batches", "segments"]
"""The detail of steps: single records, single batches, or segments only."""

MOST_TOLD: Final = 10_000
"""The most records, or batches, with a step each; a larger log gets the next coarser detail."""

NO_KEY: Final = -1
NO_CONTROL: Final = -1
_READ_SIZE: Final = 1 << 20  # bytes at a time

Longs = npt.NDArray[np.int64]


class SegmentOutline(NamedTuple):
    """A segment before a round.

    Attributes:
        base_offset: the segment's base offset.
        size: size of the `.log` in bytes.
        is_active: whether it is the segment that is written to.
        rows: BATCH_ROW[m], its batches.
    """

    base_offset: int
    size: int
    is_active: bool
    rows: npt.NDArray[Any]


class RecordOutline(NamedTuple):
    """The records of all segments before a round, as columns of one length.

    Attributes:
        segments, batches: int64[n], index of the segment, and of the batch in it.
        offsets, timestamps: int64[n].
        keys: int64[n], indexes in `CleaningRehearsal.keys`; -1: none.
        is_tombstone: bool[n], whether there is a key without a value.
        controls: int64[n], type of a control record: 0 aborts, 1 commits; -1: a data record.
    """

    segments: Longs
    batches: Longs
    offsets: Longs
    timestamps: Longs
    keys: Longs
    is_tombstone: npt.NDArray[np.bool_]
    controls: Longs


class Round(NamedTuple):
    """One round of cleaning.

    Attributes:
        now: ms; the time of the round.
        first_step: index of its first step.
        to_clean: the log's dirty and clean sections.
        segments: the segments before the round, ascending.
        records: the records before the round; None where steps do not name records.
        cleaning: the decisions; None where nothing could be cleaned, or cleaning failed.
    """

    now: int
    first_step: int
    to_clean: LogToClean
    segments: tuple[SegmentOutline, ...]
    records: RecordOutline | None
    cleaning: Cleaning | None


class CleaningRehearsal(NamedTuple):
    """The steps and decisions of a cleaning, complete or failed.

    Attributes:
        topic_partition: the partition's name.
        detail: the detail of the steps.
        steps: the steps in the order they were reported.
        rounds: one for each given time.
        keys: the keys of the records that steps name.
        error: why the last round failed; None if it succeeded.
    """

    topic_partition: str
    detail: Detail
    steps: list[Step]
    rounds: list[Round]
    keys: list[bytes]
    error: Exception | None


def rehearse_cleaning(
    log: Log,
    last_clean_offset: int | None,
    times: Sequence[int],
    clock: ManualClock,
    config: CleanerConfig,
    *,
    everything: bool = False,
    detail: Detail | None = None,
) -> CleaningRehearsal:
    """Clean a dry log once for each time, even where a broker's cleaner would wait.

    Args:
        log: a log on a dry file system.
        last_clean_offset: the cleaner checkpoint's offset; None if it does not name the log.
        times: the times of the rounds, ms, ascending; lags and delete horizons depend on them.
        clock: the log's clock.
        config: memory and buffers.
        everything: begin each round at the log start offset, as if no section were clean.
        detail: the detail of the steps; None chooses by the size of the log.

    Kafka: LogCleaner.CleanerThread.cleanFilthiestLog (4.2)
    """
    start = None if everything else last_clean_offset
    found = CleaningRehearsal(str(log.topic_partition), detail or "segments", [], [], [], None)
    try:
        found = found._replace(detail=detail or _detail_of(log, start, times[0]))
    except WorkbenchError as error:
        return found._replace(error=error)
    log.context.observer = _observer(found)
    keys: dict[bytes, int] = {}
    for moment in times:
        clock.set(moment)
        try:
            last_clean_offset = _clean(log, start, moment, config, found, keys)
        except WorkbenchError as error:
            found = found._replace(error=error)
            break
        start = None if everything else last_clean_offset
    log.context.observer = None
    found.keys.extend(keys)
    return found


def _observer(found: CleaningRehearsal) -> Observer:
    """Return an observer that keeps the steps, except those of the new segments' indexes."""

    def keep(step: Step) -> None:
        if not step.kind.startswith("index entry"):
            found.steps.append(step)

    if found.detail == "records":
        return keep
    return (BatchOutline if found.detail == "batches" else Outline)(keep)


def _detail_of(log: Log, last_clean: int | None, now: int) -> Detail:
    end = log_to_clean(log, last_clean, now).first_uncleanable_offset
    records = batches = 0
    for segment in log.local.segments.values(0, end):
        rows = segment.log.batches(0, segment.size).rows
        batches += len(rows)
        records += int(rows["record_count"].sum())
        if batches > MOST_TOLD:
            return "segments"
    return "batches" if records > MOST_TOLD else "records"


def _clean(
    log: Log,
    last_clean: int | None,
    now: int,
    config: CleanerConfig,
    found: CleaningRehearsal,
    keys: dict[bytes, int],
) -> int | None:
    """Clean once; return up to where the log is clean."""
    to_clean = log_to_clean(log, last_clean, now)
    segments = tuple(_outline(segment, log) for segment in log.segments)
    records = _records_of(log.segments, keys) if found.detail == "records" else None
    before = Round(now, len(found.steps), to_clean, segments, records, None)
    found.rounds.append(before)
    tell_choice(log.context, to_clean)
    first, bound = to_clean.first_dirty_offset, to_clean.first_uncleanable_offset
    if first >= bound:
        return last_clean
    cleaning = clean_log(log, first, bound, now, config)
    found.rounds[-1] = before._replace(cleaning=cleaning)
    end = cleaning.stats.end_offset
    context = log.context
    file = OffsetCheckpointFile(
        context.log_directory, CLEANER_OFFSETS, context.fs, context.failures, context.observer
    )
    file.write({**file.read(), log.topic_partition: end})
    return end


def _outline(segment: LogSegment, log: Log) -> SegmentOutline:
    rows = segment.log.batches(0, segment.size).rows
    return SegmentOutline(segment.base_offset, segment.size, segment is log.active_segment, rows)


def _records_of(segments: Sequence[LogSegment], keys: dict[bytes, int]) -> RecordOutline:
    """Read all records; keys are numbered in order of first appearance."""
    columns: list[tuple[int, ...]] = []
    for number, segment in enumerate(segments):
        batch = 0
        for chunk in read_chunks(segment.log, 0, _READ_SIZE):
            for index in range(len(chunk.rows)):
                found = chunk.columns(index, ALL_COLUMNS)
                assert found.keys is not None
                assert found.values is not None
                control = NO_CONTROL
                if chunk.rows[index]["is_control"]:
                    kind = chunk.control_types[index]
                    control = NO_CONTROL if kind is None else kind
                nulls = found.values.is_null().tolist()
                for at in range(len(found)):
                    key = found.keys.item(at) if control == NO_CONTROL else None
                    is_tombstone = nulls[at] and key is not None
                    place = (number, batch, int(found.offsets[at]), int(found.timestamps[at]))
                    known = NO_KEY if key is None else keys.setdefault(key, len(keys))
                    columns.append((*place, known, is_tombstone, control))
                batch += 1
    table = np.array(columns, np.int64).reshape(-1, 7).T
    segment_of, batch_of, offsets, timestamps, key_of, tombstone, control_of = table
    return RecordOutline(
        segment_of, batch_of, offsets, timestamps, key_of, tombstone.astype(np.bool_), control_of
    )
