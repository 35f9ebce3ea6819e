"""Memory and CPU time of loading a large `__consumer_offsets`, each in a process of its own.

python -m tests.benchmarks.bench_coordinator_size [COMMITS]

The peak is that of the process beyond what it had after the same call on a small log. Linux only.
On two cores that were shared with other work, Python 3.11, November 2026:

13,000,000 commits of 2,000 keys, 1040 MiB: 4.5 s and 33 MiB for each of the calls.
13,000,000 commits of 1,000,000 keys in turn, 1076 MiB: load 68 s, 447 MiB; `group_offsets` 75 s,
669 MiB. Before the collector paused and keys were read by structs, the load took 175 s.
"""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import workbench
from tests.memory import in_memory, start_over
from workbench.coordinator.groups.commit_records import commit_key, commit_value
from workbench.coordinator.groups.group_load import load_group_partition
from workbench.coordinator.groups.offset_metadata import OffsetAndMetadata
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.files.names import TopicPartition
from workbench.record.memory_records import MemoryRecords

COMMITS = 10_000_000
BATCH, PART = 20, 1_000_000
SEGMENT = 100 << 20  # bytes, as a broker configures the topic
PARTITIONS = 20  # of a topic, which each group commits
NOW = 1_700_000_000_000
CALLS = ("load_group_partition", "groups", "group_offsets")
HISTORY = 1_000_000  # commits, each of which is a row


def write(root: Path, commits: int, keys: int) -> int:
    """Write a partition with commits of so many keys; return its size in bytes."""
    folder = root / "__consumer_offsets-0"
    folder.mkdir(parents=True)
    batches = [_batch(first, keys) for first in range(0, min(commits, max(keys, PART)), BATCH)]
    sizes = np.array([len(each) for each in batches])
    content = np.frombuffer(b"".join(batches), np.uint8).copy()
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    offset, total, file, left = 0, 0, None, 0
    while offset < commits:
        bases = (offset + np.arange(len(batches)) * BATCH).astype(">i8").view(np.uint8)
        content[starts[:, None] + np.arange(8)] = bases.reshape(-1, 8)  # the CRC does not cover it
        for number, start in enumerate(starts.tolist()):
            size = int(sizes[number])
            if file is None or left < size:
                if file is not None:
                    file.close()
                file = (folder / f"{offset + number * BATCH:020}.log").open("wb")
                left = SEGMENT
            file.write(content[start : start + size].tobytes())
            left -= size
            total += size
        offset += len(batches) * BATCH
    assert file is not None
    file.close()
    return total


def _batch(first: int, keys: int) -> bytes:
    """Return a batch of commits, each of the next key."""
    pairs = []
    for number in range(first, first + BATCH):
        group, partition = divmod(number % keys, PARTITIONS)
        value = OffsetAndMetadata(number, None, "", NOW, None, None, -1, 4)
        where = TopicPartition("orders-of-the-shop", partition)
        pairs.append((NOW, commit_key(f"group-of-consumers-{group}", where), commit_value(value)))
    return bytes(MemoryRecords.of(*pairs).buffer)


def _call(name: str, root: str) -> int:
    """Do one of `CALLS`; return its number of rows."""
    logs = workbench.open_log_directory(root)
    if name == "load_group_partition":
        partition = logs.listing.partitions["__consumer_offsets-0"]
        return sum(
            map(len, load_group_partition(partition, CoordinatorEra.KIP_848).table.offsets.values())
        )
    options = {"lag": False} if name == "commits" else {}
    return int(getattr(logs.inspect, name)(**options).num_rows)


def child(name: str, small: str, large: str) -> None:
    """Do the call on the small log, then on the large one; print what the second took."""
    _call(name, small)
    start_over()
    before = in_memory("VmRSS")
    started = time.process_time()
    rows = _call(name, large)
    seconds = time.process_time() - started
    peak = in_memory("VmHWM") - before
    print(json.dumps({"rows": rows, "seconds": seconds, "peak": peak}))


def main() -> None:
    """Run in folders of its own."""
    commits = int(sys.argv[1]) if len(sys.argv) > 1 else COMMITS
    with TemporaryDirectory() as folder:
        small = Path(folder) / "small"
        write(small, 1000, 1000)
        for count, keys, calls in (
            (commits, 2000, CALLS),
            (commits, 1_000_000, CALLS),
            (HISTORY, 2000, ("commits",)),
        ):
            large = Path(folder) / f"{count}-{keys}"
            size = write(large, count, keys)
            print(f"{count:,} commits of {keys:,} keys, {size >> 20} MiB", flush=True)
            for name in calls:
                command = [sys.executable, "-m", __spec__.name, name, str(small), str(large)]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                took = json.loads(done.stdout)
                print(
                    f"  {name}: {took['seconds']:.1f} s CPU, {took['peak'] >> 20} MiB more, "
                    f"{took['rows']:,} rows",
                    flush=True,
                )
            shutil.rmtree(large)


if __name__ == "__main__":
    child(*sys.argv[1:]) if len(sys.argv) == 4 else main()
