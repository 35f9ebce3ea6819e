"""What a leader's checks of one append cost, by codec: our side alone, CPU time of one thread.

python -m tests.benchmarks.bench_append_checks
"""

import tempfile
import time
from collections.abc import Callable
from random import Random
from typing import Any

from workbench.config.log_config import LogConfig
from workbench.layout.attributes import CODEC_NAMES
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.append.appending import analyze, assign_offsets
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.batch_checks import check_batches
from workbench.record.writing.builder import RecordsBuilder

CLIENT = AppendOrigin.CLIENT
NOW = int(time.time() * 1000)
ROUNDS = 5


def each(run: Callable[[], object], times: int) -> float:
    """Return the microseconds of CPU time of one call, in the best of some rounds."""
    run()
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(times):
            run()
        best = min(best, time.process_time() - start)
    return best / times * 1e6


def append(records: MemoryRecords, topic: dict[str, Any]) -> Callable[[], object]:
    """Return what checks and numbers ``records`` for a topic, again and again."""
    records = MemoryRecords.copy_of(bytes(records))
    head = records.buffer[:61].copy()
    with tempfile.TemporaryDirectory() as folder:
        log = Log.open(f"{folder}/orders-0", LogConfig.of(topic))
        context, rules = log.context, log.context.record_rules
        log.close()

    def run() -> object:
        records.buffer[:61] = head
        batches = check_batches(records, rules, NOW)
        info, batches = analyze(
            context, records, batches, CLIENT, 0, log_start_offset=0, keeps_offsets=False
        )
        info.first_offset = 1000
        return assign_offsets(context, records, batches, info, rules, origin=CLIENT, leader_epoch=0)

    return run


def main() -> None:
    """Print a table."""
    chance = Random(1)
    given = [(NOW + n, b"key%06d" % n, chance.randbytes(100)) for n in range(130)]
    print("one batch of 130 records, 16 KB, in us")
    for codec in CODEC_NAMES:
        records = MemoryRecords.of(*given, codec=codec)
        other = "zstd" if codec == "none" else "uncompressed"
        kept = each(append(records, {}), 5000)
        stamped = each(append(records, {"message.timestamp.type": "LogAppendTime"}), 5000)
        rebuilt = each(append(records, {"compression.type": other}), 500)
        print(
            f"{codec:8}in place {kept:6.1f}  its time set {stamped:6.1f}  to {other} {rebuilt:6.1f}"
        )
    one = MemoryRecords.of(*given)
    many = MemoryRecords.copy_of(bytes(one) * 64)
    print(f"headers and CRCs of 64 batches, each {each(lambda: check_batches(many), 500) / 64:.1f}")

    def build() -> MemoryRecords:
        builder = RecordsBuilder()
        for time_, key, value in given:
            builder.append(time_, key, value)
        return builder.build()

    print(f"built {each(build, 200):.0f}, read as objects {each(one.records, 200):.0f}")


if __name__ == "__main__":
    main()
