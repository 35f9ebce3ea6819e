"""A consumer of kafka-python at a server."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka import KafkaConsumer

from workbench.server.server import Server


@contextmanager
def consuming(server: Server, *topics: str, **options: Any) -> Iterator[KafkaConsumer]:
    settings = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 50, **options}
    consumer = KafkaConsumer(*topics, bootstrap_servers=server.bootstrap_servers, **settings)
    try:
        yield consumer
    finally:
        consumer.close()


def poll_until(consumer: KafkaConsumer, count: int) -> list[Any]:
    """Return at least ``count`` records."""
    found: list[Any] = []
    deadline = time.monotonic() + 30
    while len(found) < count and time.monotonic() < deadline:
        for records in consumer.poll(timeout_ms=200).values():
            found += records
    assert len(found) >= count
    return found
