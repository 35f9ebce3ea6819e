"""Planning a Spark job over 100 TB in a bucket of 1,000,000 files that is simulated."""

import pickle
import resource
import subprocess
import sys
import time

from tests.benchmarks.measure import table
from tests.spark.simulated_bucket import PREFIX, Bucket
from workbench.spark_source.source import KafkaLogSource

SIZES = ((10, 250), (100, 250), (1000, 250))  # partitions, segments of each
SEGMENT = 400_000_000
SHOWN = 10_000  # tasks whose pickled size is taken


def measure(partitions: int, segments: int, level: str) -> None:
    """Print what planning takes in this process, which has planned nothing before."""
    bucket = Bucket(partitions, segments, SEGMENT)
    source = KafkaLogSource({"path": PREFIX, "kafka.isolation.level": level})
    reader = source.reader(source.schema())
    start, start_cpu = time.perf_counter(), time.process_time()
    tasks = reader.partitions()
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    start_cpu = time.process_time()
    size = sum(len(pickle.dumps(task)) for task in tasks[:SHOWN]) // min(SHOWN, len(tasks))
    packing = (time.process_time() - start_cpu) * len(tasks) / min(SHOWN, len(tasks))
    asked = ", ".join(f"{count} {kind}" for kind, count in sorted(bucket.asked.items()))
    print(
        f"{bucket.file_count:,}|{partitions * segments * SEGMENT / 1e12:.0f} TB|{len(tasks):,}|"
        f"{seconds:.1f} s|{cpu:.1f} s|{peak:,} MB|{asked}|{size} bytes, {packing:.1f} s"
    )


def main() -> None:
    """Print the table."""
    rows = []
    for partitions, segments in SIZES:
        words = [sys.executable, "-m", __spec__.name, str(partitions), str(segments)]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        rows.append(done.stdout.splitlines()[-1].split("|"))
    columns = ("files", "bytes", "tasks", "wall", "CPU", "peak", "requests", "pickled")
    table("planning a batch query, read_uncommitted", columns, rows)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        measure(int(sys.argv[1]), int(sys.argv[2]), "read_uncommitted")
    else:
        main()
