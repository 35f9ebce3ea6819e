"""Waiting for what a broker does on its own: cleaning compacted logs."""

import time

from tests.kafka_broker import Broker

CLEANING_SECONDS = 60


def first_dirty_offsets(broker: Broker, topic: str) -> dict[int, int]:
    """Return partition → first dirty offset, from the checkpoint of the broker's log directory."""
    path = broker.data / "cleaner-offset-checkpoint"
    lines = path.read_text().splitlines()[2:] if path.exists() else []
    found = [line.split() for line in lines]
    return {int(partition): int(offset) for name, partition, offset in found if name == topic}


def wait_for_cleaning(broker: Broker, topic: str, partitions: int, before: dict[int, int]) -> None:
    """Wait until every partition was cleaned further than ``before``.

    Raises:
        RuntimeError: that did not happen within `CLEANING_SECONDS`.
    """
    deadline = time.monotonic() + CLEANING_SECONDS
    while True:
        now = first_dirty_offsets(broker, topic)
        if len(now) == partitions and all(now[p] > before.get(p, 0) for p in now):
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"{topic} was cleaned to {now} only")
        time.sleep(0.2)
