"""What aiokafka's integration tests ask of a broker, asked of a writable server.

aiokafka's source distribution has no tests, and its own start a broker in a container. These are
ours, on the same ground: static members, patterns, fenced producers, offsets, administrators.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator
from typing import Any

import pytest
from aiokafka import (
    AIOKafkaConsumer,
    AIOKafkaProducer,
    ConsumerRebalanceListener,
    TopicPartition,
)
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import OffsetOutOfRangeError, ProducerFenced
from aiokafka.structs import OffsetAndMetadata

from tests.peers.served import writable_server
from tests.waiting import HANGS_AFTER_S


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a writable server."""
    with writable_server(tmp_path_factory.mktemp("aiokafka") / "data") as server:
        yield server.where


class Listener(ConsumerRebalanceListener):  # type: ignore[misc] # it has no types
    """Notes what its consumer is assigned."""

    def __init__(self) -> None:
        self.assigned: list[set[TopicPartition]] = []

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        self.assigned.append(set(assigned))

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        pass


async def _produce(where: str, topic: str, count: int, **options: Any) -> None:
    async with AIOKafkaProducer(bootstrap_servers=where, **options) as producer:
        for number in range(count):
            at = {"partition": 0, "timestamp_ms": 1_000 + number}
            await producer.send_and_wait(topic, b"%d" % number, **at)


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANGS_AFTER_S):
        while not condition():  # noqa: ASYNC110 - a client has no event for it
            await asyncio.sleep(0.05)


def _with_admin(where: str, use: Callable[[Any], Awaitable[None]]) -> None:
    async def run() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=where)
        await admin.start()
        try:
            await use(admin)
        finally:
            await admin.close()

    asyncio.run(run())


def test_a_static_member_comes_back_without_a_rebalance(where: str) -> None:
    async def run() -> None:
        def member(name: str, listener: Listener) -> AIOKafkaConsumer:
            consumer = AIOKafkaConsumer(
                bootstrap_servers=where, group_id="static", group_instance_id=name,
                session_timeout_ms=20_000, heartbeat_interval_ms=200,
            )  # fmt: skip
            consumer.subscribe(["static-topic"], listener=listener)
            return consumer

        await _produce(where, "static-topic", 1)
        heard, first, second = Listener(), Listener(), Listener()
        async with member("stays", heard):
            async with member("returns", first):
                await _until(lambda: len(heard.assigned) == 2 and len(first.assigned) == 1)
            async with member("returns", second):
                await _until(lambda: len(second.assigned) == 1)
            assert second.assigned == first.assigned
            assert len(heard.assigned) == 2
            assert heard.assigned[-1] | first.assigned[0] == heard.assigned[0]

    asyncio.run(run())


def test_a_pattern_gets_topics_that_are_made_later(where: str) -> None:
    async def run() -> None:
        await _produce(where, "pattern-1", 1)
        consumer = AIOKafkaConsumer(
            bootstrap_servers=where, group_id="patterns", auto_offset_reset="earliest",
            metadata_max_age_ms=300, heartbeat_interval_ms=200,
        )  # fmt: skip
        consumer.subscribe(pattern="^pattern-[0-9]$")
        async with consumer:
            async with asyncio.timeout(HANGS_AFTER_S):
                assert (await consumer.getone()).topic == "pattern-1"
                await _produce(where, "pattern-x", 1)
                await _produce(where, "pattern-2", 1)
                assert (await consumer.getone()).topic == "pattern-2"

    asyncio.run(run())


def test_a_second_producer_fences_the_first(where: str) -> None:
    async def run() -> None:
        options = {"bootstrap_servers": where, "transactional_id": "fenced"}
        async with AIOKafkaProducer(**options) as first:
            await first.begin_transaction()
            await first.send_and_wait("fenced-topic", b"lost")
            async with AIOKafkaProducer(**options) as second, second.transaction():
                await second.send_and_wait("fenced-topic", b"kept")
            with pytest.raises(ProducerFenced):
                await first.commit_transaction()
        consumer = AIOKafkaConsumer(
            "fenced-topic", bootstrap_servers=where, isolation_level="read_committed",
            auto_offset_reset="earliest",
        )  # fmt: skip
        async with consumer, asyncio.timeout(HANGS_AFTER_S):
            assert (await consumer.getone()).value == b"kept"
            assert await consumer.getmany(timeout_ms=300) == {}

    asyncio.run(run())


def test_offsets_are_found_by_time_and_reset(where: str) -> None:
    async def run() -> None:
        await _produce(where, "offsets", 10)
        at = TopicPartition("offsets", 0)
        admin = AIOKafkaAdminClient(bootstrap_servers=where)
        await admin.start()
        consumer = AIOKafkaConsumer(
            bootstrap_servers=where, group_id="offsets", auto_offset_reset="none"
        )
        consumer.assign([at])
        async with consumer, asyncio.timeout(HANGS_AFTER_S):
            found = await consumer.offsets_for_times({at: 1_004})
            assert (found[at].offset, found[at].timestamp) == (4, 1_004)
            assert await consumer.offsets_for_times({at: 2_000}) == {at: None}
            await consumer.commit({at: OffsetAndMetadata(7, "seven")})
            committed = await admin.list_consumer_group_offsets("offsets")
            assert committed == {at: OffsetAndMetadata(7, "seven")}
            await consumer.seek_to_beginning(at)
            assert (await consumer.getone()).value == b"0"
            consumer.seek(at, 11)
            with pytest.raises(OffsetOutOfRangeError):
                await consumer.getone()
            assert await consumer.end_offsets([at]) == {at: 10}
        await admin.close()

    asyncio.run(run())


def test_administrators_make_and_change_topics(where: str) -> None:
    async def use(admin: Any) -> None:
        await admin.create_topics([NewTopic("made", 2, 1)])
        await admin.create_partitions({"made": NewPartitions(3)})
        (topic,) = await admin.describe_topics(["made"])
        assert sorted(each["partition"] for each in topic["partitions"]) == [0, 1, 2]
        resource = ConfigResource(ConfigResourceType.TOPIC, "made", {"retention.ms": "5000"})
        await admin.alter_configs([resource])
        (configs,) = await admin.describe_configs([resource])
        entries = configs.resources[0][4]
        assert ("retention.ms", "5000") in [(name, value) for name, value, *_ in entries]
        assert "made" in await admin.list_topics()
        await admin.delete_topics(["made"])
        assert "made" not in await admin.list_topics()

    _with_admin(where, use)


def test_administrators_see_members_of_groups(where: str) -> None:
    async def use(admin: Any) -> None:
        await _produce(where, "seen", 1)
        consumer = AIOKafkaConsumer("seen", bootstrap_servers=where, group_id="seen-by-admin")
        async with consumer:
            assert ("seen-by-admin", "consumer") in await admin.list_consumer_groups()
            (group,) = (await admin.describe_consumer_groups(["seen-by-admin"]))[0].groups
            assert "Stable" in group
        assert await admin.find_coordinator("seen-by-admin") == 0

    _with_admin(where, use)
