"""Our cleaner against Kafka's on the same log: throughput by codec, memory, the time of a plan.

The log: records of 107 bytes in batches of 16 KB, keys at random out of a fifth as many as there
are records, segments of 128 MiB. Ratios are Kafka's time over ours. The argument is the size of the
log before compression in MiB; 1024 is what the goals are for.
"""

import hashlib
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from tests.benchmarks.bench_engine import COLUMNS, row
from tests.benchmarks.measure import FOLDER, Timing, in_turn, peer, table
from workbench.cleaner.cleaner import clean_log, plan_cleaning
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.map_building import MapBuilder
from workbench.cleaner.offset_map import OffsetMap
from workbench.cleaner.statistics import CleanerStats
from workbench.cleaner.transactions import CleanedTransactions
from workbench.config.log_config import LogConfig
from workbench.log.log import Log
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler

RECORD: Final = 107  # bytes
RECORDS_A_KEY: Final = 5
NOW: Final = 1_800_000_000_000
USUAL_SIZE: Final = 256  # MiB
SETTINGS: Final = {"segment.bytes": 128 << 20, "cleanup.policy": "compact"}
GOALS: Final = {"none": 8, "lz4": 4, "zstd": 3, "snappy": 1.5, "gzip": 1.5}

kafka = partial(peer, program="CleanerPeer")


def generated(codec: str, size: int) -> Path:
    """Return the folder of a log that Kafka wrote; kept between runs."""
    records = (size << 20) // RECORD
    folder = FOLDER / "cleaner" / f"{codec}-{size}m" / "log-0"
    if not folder.exists():
        unfinished = folder.with_name("unfinished-0")
        shutil.rmtree(unfinished, ignore_errors=True)
        kafka("generate", str(unfinished), codec, str(records), str(records // RECORDS_A_KEY))
        unfinished.rename(folder)
    return folder


def view(folder: Path, name: str) -> Path:
    """Return a folder with links to the `.log` files, which cleaning only renames and removes."""
    target = FOLDER / "cleaner" / f"{name}-0"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for file in folder.iterdir():
        if file.suffix == ".log":
            (target / file.name).hardlink_to(file)
        else:
            shutil.copy(file, target)
    return target


def open_log(folder: Path) -> Log:
    """Return a log that was shut down cleanly; replaced files are kept for a while."""
    clock = ManualClock(NOW)
    return Log.open(
        str(folder),
        LogConfig.of(SETTINGS),
        recovery_point=2**62,
        clock=clock,
        scheduler=ManualScheduler(clock),
        rng=Random(1),
    )


def clean(folder: Path) -> None:
    """Clean a log once, as a broker does."""
    log = open_log(folder)
    clean_log(log, 0, log.active_segment.base_offset, NOW, collects=False)
    log.close()


def _go_on(_size: int = 0) -> None:
    """Let the cleaning continue, as fast as it can."""


def timed(folder: Path, what: str) -> Timing:
    """Time cleaning a log, planning that, or building the map; what is counted are bytes."""
    timings, config = [], CleanerConfig()
    offset_map = OffsetMap(config.map_memory)  # kept from round to round, as by a cleaner's thread
    for _ in range(3):
        log = open_log(view(folder, "ours"))
        end = log.active_segment.base_offset
        builder = MapBuilder(
            offset_map,
            CleanedTransactions(),
            config.buffer_size,
            CleanerStats(),
            _go_on,
            _go_on,
        )
        runs: dict[str, Callable[[], object]] = {
            "clean": partial(clean_log, log, 0, end, NOW, collects=False, offset_map=offset_map),
            "plan": partial(plan_cleaning, log, 0, end, NOW, offset_map=offset_map),
            "plan on all cores": partial(
                plan_cleaning, log, 0, end, NOW, offset_map=offset_map, workers=None
            ),
            "map": partial(builder.build, log, 0, end),
        }
        size = sum(segment.size for segment in log.segments)
        cpu, wall = time.process_time(), time.perf_counter()
        runs[what]()
        timings.append(Timing(time.process_time() - cpu, time.perf_counter() - wall, size))
        log.close()
    return min(timings)


def megabytes_per_second(timing: Timing) -> str:
    """Return megabytes of the file a second of CPU."""
    return f"{timing.records / timing.cpu / 1e6:.0f} MB/s"


def contents(folder: Path) -> dict[str, str]:
    """Return a sum of each `.log`."""
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.glob("*.log"))
    }


def cleaning(size: int) -> None:
    """Print the table of codecs."""
    rows = []
    target = FOLDER / "cleaner" / "theirs-0"
    for codec, goal in GOALS.items():
        folder = generated(codec, size)
        theirs, ours = in_turn(
            partial(kafka, "clean", str(folder), str(target), str(NOW)),
            partial(timed, folder, "clean"),
            turns=1 if size >= 1024 else 2,
        )
        rows.append(row(codec, theirs, ours, megabytes_per_second, goal))
        if codec == "none":
            assert contents(target) == contents(FOLDER / "cleaner" / "ours-0"), "other bytes"
            theirs, ours = in_turn(
                partial(kafka, "map", str(folder), str(target), str(NOW)),
                partial(timed, folder, "map"),
                turns=1,
            )
            rows.append(row("none, the map alone", theirs, ours, megabytes_per_second, 0))
    table(f"cleaning a log of {size} MiB; file bytes a second of CPU", COLUMNS, rows)


MEMORY: Final = """
import sys
from pathlib import Path
from tests.benchmarks import bench_cleaner
def peak():  # kB; of this program alone, where getrusage begins with what its parent had
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])
small, large = map(Path, sys.argv[1:])
bench_cleaner.clean(small)
before = peak()
bench_cleaner.clean(large)
print(peak() - before)
"""


def memory(codec: str, size: int) -> int:
    """Return by how many bytes the peak grows when a large log follows a small one."""
    small = view(generated(codec, 16), "small")
    large = view(generated(codec, size), "ours")
    command = [sys.executable, "-c", MEMORY, str(small), str(large)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) << 10


def planning(size: int) -> None:
    """Print how long a plan takes, and how much memory cleaning."""
    records = (size << 20) // RECORD
    plan = timed(generated("none", size), "plan")
    print(f"\nA plan of {records / 1e6:.1f} million records: {plan.cpu:.2f} s of CPU; goal 3 s.")
    for codec in GOALS:
        folder = generated(codec, min(size, USUAL_SIZE))
        one, every = in_turn(
            partial(timed, folder, "plan"), partial(timed, folder, "plan on all cores")
        )
        print(
            f"The plan on all cores, {codec}: {one.wall / every.wall:.2f} times as fast as on one, "
            f"{every.cpu / one.cpu:.2f} of its CPU time."
        )
    for codec in ("none", "zstd"):
        grown = memory(codec, size) / 1e6
        print(f"Memory, {codec}: {size} MiB take {grown:.0f} MB more than 16 MiB do.")


if __name__ == "__main__":
    mebibytes = int(sys.argv[1]) if len(sys.argv) > 1 else USUAL_SIZE
    cleaning(mebibytes)
    planning(mebibytes)
