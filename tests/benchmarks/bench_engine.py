"""The engine against Kafka's own classes on the same data: append, recover, read, look up, load.

Ratios are Kafka's time over ours, so that above 1 ours is the faster; Kafka's classes run warm.
Both sides take turns, and of each the best round counts.
"""

import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import numpy as np

from tests.benchmarks.measure import FOLDER, Timing, best_of, generated, in_turn, peer, table
from workbench.config.log_config import LogConfig
from workbench.config.producer_state_config import ProducerStateConfig
from workbench.file_system.local import LOCAL
from workbench.files.names import TopicPartition
from workbench.log.context import LogContext
from workbench.log.leader_epoch_cache import LeaderEpochCache
from workbench.log.loading.segment_recovery import recover_segment
from workbench.log.log import Log
from workbench.log.producers.state import ProducerStateManager
from workbench.log.segments.segment import LogSegment
from workbench.record.buffers import BufferPool
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.reader import KEYS, VALUES, RecordReader
from workbench.runtime.clock import ManualClock, SystemClock
from workbench.runtime.failures import LogDirFailures
from workbench.runtime.scheduler import ManualScheduler

BATCH_SIZE: Final = 16_384  # bytes
BATCHES: Final = 20_000
SEGMENT: Final = 1 << 30  # bytes
FETCH: Final = 50 << 20  # bytes, `fetch.max.bytes`; a slice of the file, read in windows
FIRST_TIMESTAMP: Final = 1_700_000_000_000
CONFIG: Final = LogConfig.of({"segment.bytes": 2**31 - 1})
BASE_OFFSET: Final = struct.Struct(">q")
COLUMNS: Final = ["what", "Kafka", "ours", "CPU", "wall", "goal"]

kafka = partial(peer, program="EnginePeer")


def row(
    what: str, theirs: Timing, ours: Timing, unit: Callable[[Timing], str], goal: float
) -> list[str]:
    """Return a row of a table; what is compared is the time for one of what was counted."""
    cpu = (theirs.cpu / theirs.records) / (ours.cpu / ours.records)
    wall = (theirs.wall / theirs.records) / (ours.wall / ours.records)
    return [
        what,
        unit(theirs),
        unit(ours),
        f"{cpu:.2f}x",
        f"{wall:.2f}x",
        f"{goal:g}x" if goal else "",
    ]


def per_second(timing: Timing) -> str:
    """Return how many of what was counted one second of CPU does."""
    rate = timing.records / timing.cpu
    return f"{rate / 1e6:.2f} M/s" if rate > 1e6 else f"{rate / 1e3:.1f} k/s"


def bytes_per_second(timing: Timing) -> str:
    """Return gigabytes per second of CPU; what was counted are bytes."""
    return f"{timing.records / timing.cpu / 1e9:.2f} GB/s"


def microseconds(timing: Timing) -> str:
    """Return CPU time for one of what was counted."""
    return f"{timing.cpu / timing.records * 1e6:.1f} us"


# --- append ----------------------------------------------------------------------------------


def prepared(count: int) -> tuple[MemoryRecords, list[int], list[int]]:
    """Return batches of about 16 KB as clients send them, their positions and record counts."""
    rng = np.random.default_rng(1)
    now = time.time_ns() // 1_000_000
    parts, counts = [], []
    for _ in range(count):
        size, records = 61, []
        while size < BATCH_SIZE:
            key = b"key-%09d" % rng.integers(1_000_000)
            records.append((now, key, rng.bytes(100)))
            size += 121
        parts.append(MemoryRecords.of(*records, partition_leader_epoch=0).buffer)
        counts.append(len(records))
    sizes = np.array([len(part) for part in parts])
    starts = np.cumsum(sizes) - sizes
    return MemoryRecords(np.concatenate(parts)), starts.tolist(), counts


def append(batches_a_call: int) -> Timing:
    """Time appending, as a leader one batch a call, as a follower where it is more."""
    records, starts, counts = prepared(batches_a_call)
    buffer = records.buffer
    timings = []
    for _ in range(6):
        root = Path(tempfile.mkdtemp(dir=FOLDER))
        try:
            log = Log.open(str(root / "append-0"), CONFIG)
            cpu, wall, offset = time.process_time(), time.perf_counter(), 0
            for _ in range(0, BATCHES, batches_a_call):
                if batches_a_call == 1:
                    BASE_OFFSET.pack_into(buffer, 0, 0)
                    log.append_as_leader(records, 0)
                else:
                    for start, count in zip(starts, counts, strict=True):
                        BASE_OFFSET.pack_into(buffer, start, offset)
                        offset += count
                    log.append_as_follower(records, 0)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            timings.append(Timing(cpu, wall, -(-BATCHES // batches_a_call) * batches_a_call))
            log.close()
        finally:
            shutil.rmtree(root)
    return Timing(
        min(timing.cpu for timing in timings[1:]),
        min(timing.wall for timing in timings[1:]),
        timings[0].records,
    )


def appending() -> None:
    """Print the table of appends."""
    root = str(FOLDER / "engine")
    one, our_one, many, our_many = in_turn(
        partial(kafka, "append", root, "1", str(BATCHES)),
        partial(append, 1),
        partial(kafka, "append", root, "64", str(BATCHES)),
        partial(append, 64),
    )
    rows = [
        row("one a call, as leader", one, our_one, microseconds, 1),
        row("64 a call, as follower", many, our_many, microseconds, 0),
        row("our 64 a call to Kafka's one", one, our_many, microseconds, 2),
    ]
    table("append of batches of 16 KB; CPU of one batch", COLUMNS, rows)


# --- recover ---------------------------------------------------------------------------------


def linked(name: str, file: Path) -> Path:
    """Return a partition directory with a link to a `.log` and nothing else."""
    folder = FOLDER / "engine" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / file.name).hardlink_to(file)
    return folder


def recover_one(folder: Path) -> None:
    """Recover the only segment of a folder, and close it."""
    clock = SystemClock()
    topic, _, number = folder.name.rpartition("-")
    context = LogContext(
        str(folder),
        TopicPartition(topic, int(number)),
        CONFIG,
        LOCAL,
        clock,
        ManualScheduler(ManualClock()),
        LogDirFailures(),
        None,
        Random(1),
    )
    state = ProducerStateManager(
        context.topic_partition, str(folder), LOCAL, ProducerStateConfig(), clock
    )
    segment = LogSegment.open(context, 0, file_exists=True)
    assert recover_segment(segment, state, LeaderEpochCache(context)) == 0
    segment.close()


def recover(*folders: Path) -> Timing:
    """Time recovering segments, each in a thread; what is counted are bytes."""

    def run() -> int:
        threads = [threading.Thread(target=recover_one, args=[folder]) for folder in folders]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum((folder / f"{0:020d}.log").stat().st_size for folder in folders)

    return best_of(run, 5)


MEMORY: Final = """
import sys
from pathlib import Path
from tests.benchmarks import bench_engine
def peak():  # kB; of this program alone, where getrusage begins with what its parent had
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])
small, large = map(Path, sys.argv[1:])
bench_engine.recover_one(small)
before = peak()
bench_engine.recover_one(large)
print(peak() - before)
"""


def memory(small: Path, large: Path) -> int:
    """Return by how many bytes the peak grows when a large segment follows a small one."""
    command = [sys.executable, "-c", MEMORY, str(small), str(large)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) << 10


def recovering(file: Path) -> None:
    """Print the table of recoveries."""
    one, two = linked("one-0", file), linked("two-0", file)
    rows = []
    theirs, ours = in_turn(partial(kafka, "recover", str(one)), partial(recover, one))
    rows.append(row("1 GiB, one thread", theirs, ours, bytes_per_second, 1.6))
    theirs_two, ours_two = in_turn(
        partial(kafka, "recover", str(one), str(two)), partial(recover, one, two)
    )
    rows.append(row("2 x 1 GiB, two threads", theirs_two, ours_two, bytes_per_second, 1.6))
    rows.append(row("our two threads to Kafka's one", theirs, ours_two, bytes_per_second, 2.5))
    table("LogSegment.recover; throughput of CPU", COLUMNS, rows)
    small = linked("small-0", generated("none", 100, 1 << 20))
    grown = memory(small, one) / 1e6
    print(f"\nMemory: recovering 1 GiB takes {grown:.0f} MB more than 1 MiB does; goal 200 MB.")


# --- read and look up ------------------------------------------------------------------------


def open_log(folder: Path) -> Log:
    """Return a log that was shut down cleanly, as Kafka's side opens it."""
    return Log.open(str(folder), CONFIG, recovery_point=2**62)


def read(folder: Path) -> Timing:
    """Time reading all records by fetches, CRC checked, to columns of keys and values."""
    log, pool = open_log(folder), BufferPool()

    def run() -> int:
        offset, end, count = 0, log.log_end_offset, 0
        while offset < end:
            found = log.read(offset, FETCH)
            assert found.source is not None
            stop = found.position + found.size
            for chunk in RecordReader(
                found.source.file, found.position, stop, options=KEYS | VALUES, pool=pool
            ):
                if len(chunk.rows):
                    offset = int(chunk.rows["last_offset"][-1]) + 1
                    count += len(chunk.columns)
        return count

    timing = best_of(run, 3)
    log.close()
    return timing


def offsets(log: Log, count: int) -> list[int]:
    """Return offsets of a log at random."""
    return list(map(int, np.random.default_rng(7).integers(log.log_end_offset, size=count)))


def lookup(folder: Path, count: int) -> Timing:
    """Time looking up offsets in the index, one a call."""
    log = open_log(folder)
    wanted, index = offsets(log, count), log.active_segment.offset_index

    def run() -> int:
        for offset in wanted:
            index.lookup(offset)
        return count

    timing = best_of(run, 5)
    log.close()
    return timing


def read_at_random(folder: Path, count: int) -> Timing:
    """Time finding the batch of an offset: index, then batch headers."""
    log = open_log(folder)
    wanted = offsets(log, count)

    def run() -> int:
        for offset in wanted:
            log.read(offset, 1)
        return count

    timing = best_of(run, 5)
    log.close()
    return timing


def offset_for_timestamp(folder: Path, count: int) -> Timing:
    """Time finding records by their timestamps; record n has the first one's + n."""
    log = open_log(folder)
    wanted = offsets(log, count)

    def run() -> int:
        for offset in wanted:
            found = log.offset_for_timestamp(FIRST_TIMESTAMP + offset)
            assert found is not None
            assert found.offset == offset
        return count

    timing = best_of(run, 5)
    log.close()
    return timing


def reading(file: Path) -> None:
    """Print the table of reads and look-ups."""
    folder = linked("read-0", file)
    recover_one(folder)
    place = str(folder)
    rows = []
    theirs, ours = in_turn(partial(kafka, "read", place), partial(read, folder))
    assert theirs.records == ours.records
    rows.append(row("all records, CRC checked", theirs, ours, per_second, 1.3))
    theirs, one = in_turn(
        partial(kafka, "lookup", place, "200000"), partial(lookup, folder, 20_000)
    )
    rows.append(row("OffsetIndex.lookup, one offset a call", theirs, one, per_second, 0))
    theirs, ours = in_turn(
        partial(kafka, "random", place, "50000"), partial(read_at_random, folder, 10_000)
    )
    rows.append(row("a read at a random offset", theirs, ours, per_second, 0))
    theirs, ours = in_turn(
        partial(kafka, "time", place, "20000"), partial(offset_for_timestamp, folder, 4_000)
    )
    rows.append(row("offset for a timestamp", theirs, ours, per_second, 0.5))
    table("read and look up in a segment of 1 GiB; a second of CPU", COLUMNS, rows)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    segment = generated("none", 100, SEGMENT)
    appending()
    recovering(segment)
    reading(segment)
