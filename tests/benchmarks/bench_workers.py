"""One worker against all: scans, verify and Parquet, elapsed time in turn within one run.

The machine must do nothing else: then as many cores as workers are free. Prints for each codec the
elapsed time of one worker divided by that of all, and the CPU time of all divided by that of one.
"""

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.benchmarks.measure import best_of, generated, table
from workbench.inspection.listing import Listing, list_log_directories
from workbench.inspection.verify.verify import verify_partitions
from workbench.loaders.scan.scan import Scan
from workbench.loaders.tables import segment_tables
from workbench.runtime.workers import worker_count

SIZE = 96 << 20
COLUMNS = ("offset", "timestamp", "key", "value")
TURNS = 10


def scanned(listing: Listing, workers: int) -> int:
    """Read every record and drop it."""
    scan = Scan(listing, columns=COLUMNS, workers=workers)
    return sum(batch.num_rows for batch in scan.batches())


def verified(listing: Listing, workers: int) -> int:
    """Check every batch and record."""
    return sum(len(found) for _, found in verify_partitions(listing, workers=workers))


def listed(listing: Listing, workers: int) -> int:
    """Make the table of batches of eight segments."""
    segments = [(p, s) for p in listing.partitions.values() for s in p.segments]
    return len(segment_tables.batches(segments * 8, workers))


def exported(target: str, listing: Listing, workers: int) -> int:
    """Write every record to Parquet."""
    return Scan(listing, columns=COLUMNS, workers=workers).to_parquet(target)


def compared(run: Callable[[Listing, int], int], file: Path, workers: int) -> str:
    """Return how many times as fast all workers are, and what CPU time they take more."""
    listing = list_log_directories(file)

    walls, times = ([float("inf")] * 2 for _ in range(2))
    for _ in range(TURNS):
        for at, count in enumerate((1, workers)):
            found = best_of(partial(run, listing, count), 1)
            walls[at], times[at] = min(walls[at], found.wall), min(times[at], found.cpu)
    return f"{walls[0] / walls[1]:.2f}x ({times[1] / times[0]:.2f})"


def main() -> None:
    """Print the table."""
    workers = worker_count(None)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write = partial(exported, os.path.join(folder, "records.parquet"))
        for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
            for value_size in (100, 1000):
                file = generated(codec, value_size, SIZE)
                runs = (scanned, verified, listed, write)
                rows.append(
                    [codec, f"{value_size} B", *(compared(run, file, workers) for run in runs)]
                )
    columns = ["codec", "values", "scan", "verify", "inspect.batches", "Parquet"]
    table(f"{workers} workers: times as fast as one (CPU time of one)", columns, rows)


if __name__ == "__main__":
    main()
