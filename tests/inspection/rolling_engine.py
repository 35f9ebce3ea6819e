"""An engine that appends, rolls, deletes, cleans and swaps as fast as it can: run as a process."""

import random
import sys
import time
from pathlib import Path
from uuid import UUID

from workbench.log_manager.manager import LogManager

BROKER = {"log.segment.bytes": 2000, "log.cleaner.backoff.ms": 20}
TOPICS: dict[str, dict[str, object]] = {
    "compacted": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.01},
    "rolled": {"retention.bytes": 8000},
}


def run(path: Path, seconds: float) -> None:
    """Work on two logs for a time; say "ready" once both have rolled."""
    randomly = random.Random(7)
    topics = {name: {**config, "file.delete.delay.ms": 50} for name, config in TOPICS.items()}
    with LogManager([path], BROKER, topic_configs=topics) as manager:
        logs = [
            manager.get_or_create_log(f"{name}-0", topic_id=UUID(int=number + 1))
            for number, name in enumerate(topics)
        ]
        end = time.monotonic() + seconds
        count = 0
        while time.monotonic() < end:
            for log in logs:
                values = [b"v" * randomly.randrange(10, 200) for _ in range(3)]
                log.append([(b"key-%d" % randomly.randrange(20), value) for value in values])
                log.update_high_watermark(log.log_end_offset)
            count += 1
            if count % 50 == 0:
                logs[1].delete_old_segments()
            if count == 100:
                print("ready", flush=True)  # noqa: T201
            time.sleep(0.002)


if __name__ == "__main__":
    run(Path(sys.argv[1]), float(sys.argv[2]))
