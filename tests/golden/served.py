"""What a Kafka client consumes from log directories that the server serves."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition as AioPartition

import workbench
from tests.golden.cases import Isolation
from tests.golden.reading import Row, TopicPartition
from workbench.server.server import Server

FETCH_BYTES: Final = 100_000  # less than many logs have: a fetch begins where the one before ended
_TYPES: Final = {0: "CreateTime", 1: "LogAppendTime"}
_TOGETHER: Final = 8

Records = dict[TopicPartition, list[Row]]


class Wanted(NamedTuple):
    """What one consumer reads: log directories of one broker, and some topics of them."""

    paths: tuple[Path, ...]
    isolation: Isolation
    topics: frozenset[str]


def consume_served(wanted: Sequence[Wanted]) -> list[Records]:
    """Return all records that aiokafka gets of each, every one from a server of its own."""
    return asyncio.run(_consume_all(wanted))


async def _consume_all(wanted: Sequence[Wanted]) -> list[Records]:
    together = asyncio.Semaphore(_TOGETHER)

    async def one(each: Wanted) -> Records:
        async with together:
            with ExitStack() as stack:
                server = await asyncio.to_thread(_started, each.paths)
                stack.callback(server.stop)
                return await _consume(server, each.isolation, each.topics)

    return await asyncio.gather(*map(one, wanted))


def _started(paths: Iterable[Path]) -> Server:
    server = workbench.serve(paths)
    server.start()
    return server


async def _consume(server: Server, isolation: Isolation, topics: frozenset[str]) -> Records:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=server.bootstrap_servers,
        auto_offset_reset="earliest",
        isolation_level=isolation,
        max_partition_fetch_bytes=FETCH_BYTES,
        fetch_max_wait_ms=50,
        enable_auto_commit=False,
    )
    await consumer.start()
    try:
        where = [
            AioPartition(topic, number)
            for topic, logs in server.catalog.topics.items()
            for number in logs
            if topic in topics
        ]
        if not where:
            return {}
        consumer.assign(where)
        ends = await consumer.end_offsets(where)
        found: Records = defaultdict(list)
        left = set(where)
        while left:
            for partition, records in (await consumer.getmany(timeout_ms=100)).items():
                found[partition.topic, partition.partition] += map(_row, records)
            left = {each for each in left if await consumer.position(each) < ends[each]}
        return dict(found)
    finally:
        await consumer.stop()


def _row(record: Any) -> Row:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": _TYPES.get(record.timestamp_type),
        "key": record.key,
        "value": record.value,
        "headers": [{"key": name, "value": value} for name, value in record.headers],
    }
