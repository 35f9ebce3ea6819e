"""Clients write through a server that may write, and a real broker serves on what it leaves."""

import asyncio
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import aiokafka
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
from kafka.errors import InvalidPartitionsError, TopicAlreadyExistsError
from kafka.structs import OffsetAndMetadata

import workbench
from tests.kafka_broker import Broker
from tests.server.asking import Asker
from tests.server.conftest import SHOP
from tests.server.consumers import consuming, poll_until, producing
from tests.waiting import HANGS_AFTER_S, wait_until
from workbench.errors import ServerError
from workbench.runtime.error_codes import ErrorCode
from workbench.server.protocol.api_keys import METADATA, WRITE_TXN_MARKERS
from workbench.server.server import Server

CODECS = (None, "gzip", "lz4", "zstd")
FEW = {"offsets.topic.num.partitions": 2, "transaction.state.log.num.partitions": 2}


@pytest.fixture(scope="module")
def shop_copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a writable server of a copy of the sample data."""
    copy = tmp_path_factory.mktemp("writable") / "shop"
    shutil.copytree(SHOP, copy)
    with workbench.serve(copy, writable=True) as server:
        yield server


@pytest.mark.parametrize("codec", CODECS)
def test_what_a_producer_sends_a_consumer_gets(shop_copy: Server, codec: str | None) -> None:
    topic = f"sent-{codec}"
    with producing(shop_copy, compression_type=codec) as producer:
        sent = [(b"key %d" % number, b"value %d" % number) for number in range(50)]
        futures = [producer.send(topic, value, key) for key, value in sent]
        producer.flush()
        assert [future.get(HANGS_AFTER_S).offset for future in futures] == list(range(50))
    with consuming(shop_copy, topic) as consumer:
        assert [(each.key, each.value) for each in poll_until(consumer, 50)] == sent


def test_what_is_sent_follows_what_is_on_the_disk(shop_copy: Server) -> None:
    where = TopicPartition("orders", 1)
    end = workbench.open_log_directory(SHOP)["orders-1"].log_end_offset
    with producing(shop_copy) as producer:
        assert producer.send("orders", b"next", partition=1).get(HANGS_AFTER_S).offset == end
    with consuming(shop_copy) as consumer:
        consumer.assign([where])
        consumer.seek(where, end - 1)
        assert [each.offset for each in poll_until(consumer, 2)] == [end - 1, end]


def test_topics_are_made_enlarged_configured_and_deleted(shop_copy: Server) -> None:
    admin = KafkaAdminClient(bootstrap_servers=shop_copy.bootstrap_servers)
    try:
        admin.create_topics([NewTopic("made", 2, 1, topic_configs={"retention.ms": "5000"})])
        with pytest.raises(TopicAlreadyExistsError):
            admin.create_topics([NewTopic("made", 2, 1)])
        admin.create_partitions({"made": NewPartitions(3)})
        with pytest.raises(InvalidPartitionsError):
            admin.create_partitions({"made": NewPartitions(3)})
        catalog = shop_copy.catalog
        assert list(catalog.topics["made"]) == [0, 1, 2]
        assert catalog.settings.config_of("made").retention_ms == 5000
        changed = {"segment.bytes": "2000000", "retention.ms": "6000"}
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, "made", changed)])
        assert catalog.settings.config_of("made").retention_ms == 6000
        admin.delete_topics(["made"])
        assert "made" not in catalog.topics
    finally:
        admin.close()


def test_a_transaction_is_seen_when_it_ends(shop_copy: Server) -> None:
    asyncio.run(_transactions(shop_copy.bootstrap_servers))
    with consuming(shop_copy, "ledger", isolation_level="read_committed") as consumer:
        assert [each.value for each in poll_until(consumer, 1)] == [b"committed"]
        assert consumer.poll(timeout_ms=500) == {}
    with consuming(shop_copy, "ledger", isolation_level="read_uncommitted") as consumer:
        assert [each.value for each in poll_until(consumer, 2)] == [b"aborted", b"committed"]
    with consuming(shop_copy, group_id="ledger-readers") as consumer:
        assert consumer.committed(TopicPartition("ledger", 0)) == 7


async def _transactions(where: str) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=where, transactional_id="payer")
    await producer.start()
    try:
        await producer.begin_transaction()
        await producer.send_and_wait("ledger", b"aborted")
        await producer.abort_transaction()
        async with producer.transaction():
            await producer.send_and_wait("ledger", b"committed")
            offsets = {aiokafka.TopicPartition("ledger", 0): 7}
            await producer.send_offsets_to_transaction(offsets, "ledger-readers")
    finally:
        await producer.stop()


def test_a_consumer_waits_for_what_comes(shop_copy: Server) -> None:
    async def wait() -> float:
        consumer = AIOKafkaConsumer(
            "waited-for",
            bootstrap_servers=shop_copy.bootstrap_servers,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=60_000,
            request_timeout_ms=180_000,
        )
        producer = AIOKafkaProducer(bootstrap_servers=shop_copy.bootstrap_servers)
        await producer.start()
        await consumer.start()
        try:
            coming = asyncio.create_task(consumer.getone())
            await asyncio.sleep(0.5)
            start = asyncio.get_running_loop().time()
            await producer.send_and_wait("waited-for", b"now")
            assert (await coming).value == b"now"
            return asyncio.get_running_loop().time() - start
        finally:
            await consumer.stop()
            await producer.stop()

    assert asyncio.run(wait()) < 45


def test_topics_that_clients_ask_for_are_made_while_others_are_answered(tmp_path: Path) -> None:
    """The controller's thread makes them, some at a time; as with a broker, clients ask again."""
    names = [f"asked-{number}" for number in range(120)]
    asked = {"topics": [{"name": name} for name in [*names, "a b"]]}
    is_over = threading.Event()
    with (
        workbench.serve(tmp_path, writable=True, config=FEW) as server,
        Asker(server.bootstrap_servers) as asker,
    ):

        def answered() -> dict[str, int]:
            topics = asker.ask(METADATA, 9, asked)["topics"]
            return {each["name"]: each["errorCode"] for each in topics}

        server._controller.submit(is_over.wait)  # noqa: SLF001 - as when it makes many logs
        unknown = dict.fromkeys(names, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        assert answered() == {**unknown, "a b": ErrorCode.INVALID_TOPIC_EXCEPTION}
        is_over.set()
        server._controller.submit(int).result()  # noqa: SLF001 - it comes after what was asked for
        assert len(server.catalog.topics) == 100
        answered()
        wait_until(lambda: set(names) <= set(server.catalog.topics))
        assert set(answered().values()) == {ErrorCode.NONE, ErrorCode.INVALID_TOPIC_EXCEPTION}


def test_a_directory_that_was_not_stopped_cleanly_is_refused(tmp_path: Path) -> None:
    copy = tmp_path / "shop"
    shutil.copytree(SHOP, copy)
    (copy / ".kafka_cleanshutdown").unlink()
    with pytest.raises(ServerError, match="not stopped cleanly"):
        workbench.serve(copy, writable=True).start()
    with workbench.serve(copy, writable=True, recover=True):
        pass
    with workbench.serve(copy, writable=True) as server:  # which stopped cleanly
        assert "orders" in server.catalog.topics
    assert workbench.verify(copy) == []


def test_an_empty_directory_becomes_a_broker(tmp_path: Path) -> None:
    with workbench.serve(tmp_path, writable=True, config=FEW) as server:
        with producing(server) as producer:
            assert producer.send("first", b"record").get(HANGS_AFTER_S).offset == 0
        with consuming(server, "first", group_id="readers") as consumer:
            assert poll_until(consumer, 1)[0].value == b"record"
            consumer.commit()
    assert workbench.verify(tmp_path) == []
    with (
        workbench.serve(tmp_path, writable=True) as server,
        consuming(server, group_id="readers") as consumer,
    ):
        assert consumer.committed(TopicPartition("first", 0)) == 1


@pytest.mark.broker
def test_a_broker_serves_on_what_was_written(tmp_path: Path) -> None:
    broker = Broker("4.2.0", tmp_path, {name: str(value) for name, value in FEW.items()})
    with broker, producing(broker.bootstrap) as producer:
        producer.send("old", b"by the broker").get(HANGS_AFTER_S)
    with workbench.serve(broker.data, writable=True, config=FEW) as server:
        admin = KafkaAdminClient(bootstrap_servers=server.bootstrap_servers)
        admin.create_topics([NewTopic("new", 2, 1, topic_configs={"retention.ms": "-1"})])
        admin.close()
        with producing(server, compression_type="zstd") as producer:
            producer.send("old", b"by the engine").get(10)
            producer.send("new", b"in a new topic", partition=1).get(10)
        asyncio.run(_transactions(server.bootstrap_servers))
        with consuming(server, group_id="readers") as consumer:
            where = TopicPartition("old", 0)
            consumer.assign([where])
            consumer.commit({where: OffsetAndMetadata(1, "", -1)})
    assert workbench.verify(broker.data) == []
    with broker:
        expected = {
            "old": [b"by the broker", b"by the engine"],
            "new": [b"in a new topic"],
            "ledger": [b"committed"],
        }
        for topic, values in expected.items():
            committed = {"isolation_level": "read_committed"}
            with consuming(broker.bootstrap, topic, **committed) as consumer:
                assert [each.value for each in poll_until(consumer, len(values))] == values
        with consuming(broker.bootstrap, group_id="readers") as consumer:
            assert consumer.committed(TopicPartition("old", 0)) == 1
        with consuming(broker.bootstrap, group_id="ledger-readers") as consumer:
            assert consumer.committed(TopicPartition("ledger", 0)) == 7
        admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
        resource = ConfigResource(ConfigResourceType.TOPIC, "new")
        described = str(admin.describe_configs([resource]))
        admin.close()
        assert "DYNAMIC_TOPIC_CONFIG" in described
        with producing(broker.bootstrap) as producer:
            assert producer.send("new", b"next", partition=1).get(HANGS_AFTER_S).offset == 1
    assert "stray" not in "".join(path.name for path in broker.data.iterdir())


@pytest.mark.parametrize(("producer", "epoch"), [(-1, 0), (3, -1), (-5, -5)])
def test_a_marker_that_no_coordinator_writes_is_refused(
    shop_copy: Server, producer: int, epoch: int
) -> None:
    marker = {
        "producerId": producer,
        "producerEpoch": epoch,
        "topics": [
            {"name": name, "partitionIndexes": [0]} for name in ("orders", "__consumer_offsets")
        ],
    }
    with Asker(shop_copy.bootstrap_servers) as asker:
        (answer,) = asker.ask(WRITE_TXN_MARKERS, 1, {"markers": [marker]})["markers"]
    codes = [each["errorCode"] for topic in answer["topics"] for each in topic["partitions"]]
    assert codes == [ErrorCode.INVALID_REQUEST] * 2
