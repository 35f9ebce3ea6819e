"""CPU time of the offset manager: commits, fetches, and the load of a partition beside Kafka's.

python -m tests.benchmarks.bench_coordinator
"""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.measure import KAFKA
from tests.kafka_broker import compile_java, java_command
from workbench.coordinator.group_coordinator.offset_manager import OffsetManager
from workbench.coordinator.groups.commit_records import commit_key, commit_value
from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.coordinator.groups.offset_metadata import OffsetAndMetadata
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.files.names import TopicPartition
from workbench.log_manager.manager import LogManager
from workbench.record.memory_records import MemoryRecords

ROUNDS = 5
RECORDS = 1_000_000
GROUPS, PARTITIONS, BATCH = 100, 20, 20


def best(run: Callable[[], object], times: int) -> float:
    """Return the CPU seconds of one call: the best of several rounds."""
    found = []
    for _ in range(ROUNDS):
        started = time.process_time()
        for _ in range(times):
            run()
        found.append((time.process_time() - started) / times)
    return min(found)


def commits(offsets: OffsetManager) -> None:
    """Print what a commit and a fetch take."""
    for count in (1, 10, 100):
        values = {TopicPartition("t", number): number for number in range(count)}
        seconds = best(lambda values=values: offsets.commit("g", values), 2000 // count)  # type: ignore[misc]
        print(f"commit of {count} partitions: {seconds * 1e6:.0f} us")
    print(f"fetch: {best(lambda: offsets.fetch('g', ['t-0']), 5000) * 1e6:.0f} us")


def loads(manager: LogManager, offsets: OffsetManager) -> None:
    """Print the rate of a load."""
    offsets.commit("g", {"t-0": 0})
    log = manager.get_log(GROUPS_TOPIC, 0)
    assert log is not None
    now = manager.clock.now()
    keys = [
        commit_key(f"group-{group}", TopicPartition("orders", number))
        for group in range(GROUPS)
        for number in range(PARTITIONS)
    ]
    for first in range(0, RECORDS, BATCH):
        values = [
            OffsetAndMetadata(offset, None, "", now, None, None, -1, 4)
            for offset in range(first, first + BATCH)
        ]
        pairs = [(now, keys[each.offset % len(keys)], commit_value(each)) for each in values]
        log.append_as_leader(MemoryRecords.of(*pairs))

    def load() -> None:
        offsets.unload(0)
        offsets.load(0)

    seconds, mib = best(load, 1), log.size / 2**20
    rates = f"{RECORDS / seconds / 1e6:.1f}m records/s, {mib / seconds:.0f} MiB/s"
    print(f"load of {mib:.0f} MiB: {rates}")


def kafkas_loads(directory: Path) -> None:
    """Print the rate of Kafka's own loader in a warm JVM, on what `loads` has written."""
    source = Path(__file__).with_name("OffsetLoadPeer.java").read_text()
    classes = compile_java(KAFKA, source, "OffsetLoadPeer")
    partition = str(directory / f"{GROUPS_TOPIC}-0")
    command = java_command(
        KAFKA, "OffsetLoadPeer", partition, str(2 * ROUNDS), heap="1g", classes=classes
    )
    command.insert(1, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = min(float(line.split()[1]) for line in done.stdout.splitlines())
    print(f"load by Kafka {KAFKA}: {RECORDS / seconds / 1e6:.1f}m records/s")


def main() -> None:
    """Run in folders of its own."""
    config = OffsetConfig(topic_num_partitions=1)
    with TemporaryDirectory() as folder:
        for name in ("commits", "loads"):
            with (
                LogManager([Path(folder) / name]) as manager,
                OffsetManager(manager, config=config) as offsets,
            ):
                commits(offsets) if name == "commits" else loads(manager, offsets)
        kafkas_loads(Path(folder) / "loads")


if __name__ == "__main__":
    main()
