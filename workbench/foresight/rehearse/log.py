"""Run the engine on a dry copy of a log and keep its steps: for players and tests.

The same code runs that a broker's part is played by; only its writes are kept to itself. So a step
that is shown is a step that was taken.
"""

import os
from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.config.log_config import LogConfig
from workbench.errors import LogDirectoryError, WorkbenchError
from workbench.file_system.dry import DryFileSystem
from workbench.file_system.source import THIS_MACHINE, Files, FileSource, absolute
from workbench.files.indexes.offset_index import OffsetIndex
from workbench.files.names import file_name, parse_file_name
from workbench.log.log import Isolation, Log
from workbench.record.reading.batch_table import BatchTable, scan_batches
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler
from workbench.runtime.steps import Step
from workbench.runtime.times import time_or_now

_SEED: Final = 0


class SegmentPicture(NamedTuple):
    """A segment as it is on the disk, before the engine changes it.

    Attributes:
        base_offset: the segment's base offset.
        size: size of the `.log` in bytes.
        batches: the batches, from their headers.
        index_positions: int64[n], the positions in its offset index.
    """

    base_offset: int
    size: int
    batches: BatchTable
    index_positions: npt.NDArray[np.int64]


class Rehearsal(NamedTuple):
    """The steps and the result of the engine's work.

    Attributes:
        topic_partition: the partition's name.
        steps: the steps in the order they were reported.
        segments: the segments that the steps name, by base offset.
        result: the offset found, or the log end offset; None after a failure.
        error: why it failed; None if it succeeded.
    """

    topic_partition: str
    steps: list[Step]
    segments: dict[int, SegmentPicture]
    result: Any
    error: Exception | None


def rehearse_lookup(
    directory: str,
    *,
    offset: int | None = None,
    timestamp: int | None = None,
    config: LogConfig | None = None,
    fs: Files = THIS_MACHINE,
) -> Rehearsal:
    """Look up an offset or a time, as a fetch or ListOffsets request does.

    Args:
        directory: the partition directory.
        offset: the offset to read from.
        timestamp: the time, ms; the first record with this or a later timestamp is wanted.
        config: the topic's configuration; Kafka's defaults when None.
        fs: what reads the directory.

    Returns:
        ``result`` is the batch's base offset, or the record found with its timestamp.

    Raises:
        ValueError: not exactly one of the two is given.
        LogDirectoryError: there is no such directory.
        OSError: it cannot be read.

    Kafka: UnifiedLog.read, fetchOffsetByTimestamp (4.2)
    """
    if (offset is None) == (timestamp is None):
        raise ValueError("give either an offset or a timestamp to look up")

    def act(log: Log) -> Any:
        if timestamp is not None:
            return log.offset_for_timestamp(timestamp)
        assert offset is not None
        return log.read(offset, 1).offset_metadata

    rehearsal = _rehearse(directory, config, act, fs, is_clean=True)
    only = [step for step in rehearsal.steps if step.kind != "records sliced"]
    return rehearsal._replace(steps=only)


def rehearse_read(
    directory: str,
    offset: int,
    max_bytes: int,
    isolation: Isolation,
    *,
    min_one_message: bool,
    config: LogConfig | None = None,
    fs: Files = THIS_MACHINE,
) -> Rehearsal:
    """Read a log as a fetch does, with every record committed: no other broker replicates it.

    Args:
        directory: the partition directory.
        offset: the offset to read from.
        max_bytes: most bytes to return.
        isolation: the limit of the read; see `Log.read`.
        min_one_message: whether to return the first batch whole, even if it is larger.
        config: the topic's configuration; Kafka's defaults when None.
        fs: what reads the directory.

    Returns:
        ``result`` is the `FetchData`, whose records can no longer be read.

    Raises:
        LogDirectoryError: there is no such directory.
        OSError: it cannot be read.

    Kafka: UnifiedLog.read, FileRecords.slice (4.2)
    """

    def act(log: Log) -> Any:
        return log.read(offset, max_bytes, isolation, min_one_message=min_one_message)

    return _rehearse(directory, config, act, fs, is_clean=True)


def rehearse_recovery(
    directory: str,
    *,
    recovery_point: int = 0,
    config: LogConfig | None = None,
    fs: Files = THIS_MACHINE,
) -> Rehearsal:
    """Load a log as after a crash.

    Args:
        directory: the partition directory.
        recovery_point: the offset below which everything reached the disk and is not read.
        config: the topic's configuration; Kafka's defaults when None.
        fs: what reads the directory.

    Returns:
        ``result`` is the log end offset.

    Raises:
        LogDirectoryError: there is no such directory.
        OSError: it cannot be read.

    Kafka: LogLoader.load (4.2)
    """
    return _rehearse(directory, config, None, fs, is_clean=False, recovery_point=recovery_point)


def _rehearse(
    directory: str,
    config: LogConfig | None,
    act: Callable[[Log], Any] | None,
    files: Files,
    *,
    is_clean: bool,
    recovery_point: int = 0,
) -> Rehearsal:
    """Open a log on a dry copy and act on it; steps of loading are kept only without ``act``."""
    directory = absolute(directory)
    if files.at(directory) is None and not os.path.isdir(directory):
        raise LogDirectoryError(directory, "no such directory")
    steps: list[Step] = []
    clock = ManualClock(time_or_now(None))
    result, error = None, None
    fs = DryFileSystem(files, within=[os.path.dirname(directory)], now=clock.now)
    try:
        log = Log.open(
            directory,
            config,
            fs=fs,
            clock=clock,
            scheduler=ManualScheduler(clock),
            had_clean_shutdown=is_clean,
            recovery_point=recovery_point,
            rng=Random(_SEED),  # noqa: S311  # the same each time, and no secret
            observer=None if act else steps.append,
        )
        if act is None:
            result = log.log_end_offset
        else:
            log.commit()  # no other replica is waited for
            log.context.observer = steps.append
            result = act(log)
    except WorkbenchError as failed:
        error = failed  # its traceback keeps the log
    finally:
        fs.close_files()
    name = os.path.basename(directory)
    return Rehearsal(name, steps, _pictures(directory, steps, files), result, error)


def _pictures(directory: str, steps: list[Step], fs: Files) -> dict[int, SegmentPicture]:
    bases = set()
    for step in steps:
        name = parse_file_name(os.path.basename(step.where))
        if name is not None and os.path.dirname(step.where) == directory:
            bases.add(name.offset)
    pictures = {}
    for base in sorted(bases):
        path = os.path.join(directory, file_name("log", base))
        if fs.is_file(path):
            pictures[base] = _picture(directory, base, path, fs)
    return pictures


def _picture(directory: str, base_offset: int, path: str, fs: Files) -> SegmentPicture:
    with FileSource(path, fs) as source:
        size = source.size
        batches = scan_batches(source)
    try:
        index_path = os.path.join(directory, file_name("index", base_offset))
        positions = OffsetIndex.read(index_path, base_offset, strict=False, fs=fs).positions
    except FileNotFoundError:
        positions = np.empty(0, np.int64)
    return SegmentPicture(base_offset, size, batches, positions)
