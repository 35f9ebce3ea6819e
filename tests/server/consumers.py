"""Consumers and producers of kafka-python at a server, ours or a broker."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka import KafkaConsumer, KafkaProducer

from tests.waiting import HANGS_AFTER_S
from workbench.server.server import Server


@contextmanager
def consuming(server: Server | str, *topics: str, **options: Any) -> Iterator[KafkaConsumer]:
    """Yield a consumer of a server, or of the broker at an address."""
    settings = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 50, **options}
    consumer = KafkaConsumer(*topics, bootstrap_servers=_address(server), **settings)
    try:
        yield consumer
    finally:
        consumer.close()


@contextmanager
def producing(server: Server | str, **options: Any) -> Iterator[KafkaProducer]:
    """Yield a producer at a server, or at the broker at an address."""
    producer = KafkaProducer(bootstrap_servers=_address(server), **options)
    try:
        yield producer
    finally:
        producer.close()


def _address(server: Server | str) -> str:
    return server if isinstance(server, str) else server.bootstrap_servers


def poll_until(consumer: KafkaConsumer, count: int) -> list[Any]:
    """Return at least ``count`` records."""
    found: list[Any] = []
    deadline = time.monotonic() + HANGS_AFTER_S
    while len(found) < count:
        for records in consumer.poll(timeout_ms=200).values():
            found += records
        assert time.monotonic() < deadline, f"{len(found)} of {count} records"
    return found
