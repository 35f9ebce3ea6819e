"""Python clients read the sample data through the server, alone and in groups."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.errors import KafkaError, TopicAuthorizationFailedError
from kafka.structs import OffsetAndMetadata

import workbench
from tests.server.conftest import SHOP
from tests.server.consumers import consuming, poll_until
from tests.trees import snapshot
from tests.waiting import HANGS_AFTER_S
from workbench.errors import LogDirectoryError, ServerError
from workbench.server.server import Server

ORDERS = [TopicPartition("orders", number) for number in range(3)]


def test_every_record_is_read_and_the_disk_stays_as_it_is() -> None:
    before = snapshot(SHOP)
    scan = workbench.open_log_directory(SHOP).scan(topics="orders").to_arrow()
    with (
        workbench.serve(str(SHOP), topics=["orders"]) as server,
        consuming(server, "orders", group_id="all") as consumer,
    ):
        assert consumer.topics() == {"orders"}
        found = poll_until(consumer, len(scan))
        consumer.commit()
    columns = [scan[name].to_pylist() for name in ("partition", "offset", "key", "value")]
    ours = sorted((r.partition, r.offset, r.key, r.value) for r in found)
    assert ours == sorted(zip(*columns, strict=True))
    assert snapshot(SHOP) == before


def test_offsets_are_found_by_time(shop: Server) -> None:
    logs = workbench.open_log_directory(SHOP)
    with consuming(shop) as consumer:
        consumer.assign(ORDERS)
        assert set(consumer.beginning_offsets(ORDERS).values()) == {0}
        ends = {each: logs[f"orders-{each.partition}"].log_end_offset for each in ORDERS}
        assert consumer.end_offsets(ORDERS) == ends
        for where in ORDERS:
            timestamps = logs.scan(topics="orders", partitions=where.partition).to_arrow()
            middle = timestamps["timestamp"].cast("int64").to_pylist()[len(timestamps) // 2]
            (found,) = consumer.offsets_for_times({where: middle}).values()
            assert found.offset == logs[f"orders-{where.partition}"].offset_for_timestamp(middle)
            assert found.timestamp >= middle
            nothing = consumer.offsets_for_times({where: 1 << 60})
            assert nothing == {where: None}


def test_a_fetch_outside_the_log_starts_over(shop: Server) -> None:
    with consuming(shop) as consumer:
        consumer.assign(ORDERS[:1])
        consumer.seek(ORDERS[0], 1 << 40)
        assert poll_until(consumer, 1)[0].offset == 0


def test_a_group_continues_from_the_offsets_on_the_disk() -> None:
    logs = workbench.open_log_directory(SHOP)
    stored = logs.inspect.group_offsets("order-dashboard").to_pylist()
    expected = {row["partition"]: row["offset"] for row in stored if row["topic"] == "orders"}
    assert expected
    group: dict[str, Any] = {"group_id": "order-dashboard", "enable_auto_commit": False}
    with workbench.serve(logs) as server:
        with consuming(server, "orders", **group) as consumer:
            first: dict[int, int] = {}
            for record in poll_until(consumer, 2500):
                first.setdefault(record.partition, record.offset)
            for partition, offset in first.items():
                assert offset == expected.get(partition, 0)
            consumer.commit({ORDERS[0]: OffsetAndMetadata(7, "seen", -1)})
        with consuming(server, **group) as consumer:
            assert consumer.committed(ORDERS[0]) == 7
    with workbench.serve(logs) as server, consuming(server, **group) as consumer:
        assert consumer.committed(ORDERS[0]) == expected[0]


def test_two_members_share_the_partitions(shop: Server) -> None:
    async def share() -> tuple[set[Any], set[Any], set[Any]]:
        def member() -> AIOKafkaConsumer:
            return AIOKafkaConsumer(
                "orders", bootstrap_servers=shop.bootstrap_servers, group_id="shared",
                heartbeat_interval_ms=100, fetch_max_wait_ms=50,
            )  # fmt: skip

        first, second = member(), member()
        await first.start()
        await second.start()
        try:
            async with asyncio.timeout(HANGS_AFTER_S):
                while sorted(len(each.assignment()) for each in (first, second)) != [1, 2]:
                    await asyncio.gather(*(c.getmany(timeout_ms=50) for c in (first, second)))
            both = set(first.assignment()), set(second.assignment())
        finally:
            await second.stop()
        try:
            async with asyncio.timeout(HANGS_AFTER_S):
                while len(first.assignment()) < 3:
                    await first.getmany(timeout_ms=50)
            return *both, set(first.assignment())
        finally:
            await first.stop()

    one, other, alone = asyncio.run(share())
    assert one
    assert other
    assert one | other == alone
    assert not one & other
    assert len(alone) == 3


def test_an_admin_client_sees_the_cluster(shop: Server) -> None:
    admin = KafkaAdminClient(bootstrap_servers=shop.bootstrap_servers)
    try:
        topics = {topic["name"] for topic in admin.describe_topics()}
        assert topics == set(shop.catalog.topics)
        assert {"order-dashboard", "payment-service"} <= {
            group["group_id"] for group in admin.list_groups()
        }
        (broker,) = admin.describe_cluster()["brokers"]
        assert f"{broker['host']}:{broker['port']}" == shop.bootstrap_servers
    finally:
        admin.close()


def test_writes_are_refused_as_without_permission(shop: Server) -> None:
    producer = KafkaProducer(bootstrap_servers=shop.bootstrap_servers, enable_idempotence=False)
    with pytest.raises(TopicAuthorizationFailedError):
        producer.send("orders", b"value").get(timeout=HANGS_AFTER_S)
    producer.close()
    idempotent = KafkaProducer(bootstrap_servers=shop.bootstrap_servers)
    with pytest.raises(KafkaError, match="ClusterAuthorizationFailed"):
        idempotent.send("orders", b"value").get(timeout=HANGS_AFTER_S)
    idempotent.close()


def test_only_this_machine_can_connect_unless_it_is_said() -> None:
    server = workbench.serve(SHOP, host="0.0.0.0")  # noqa: S104 - what is refused
    with pytest.raises(ServerError, match=r"0\.0\.0\.0: other machines can reach it"):
        server.start()
    server.stop()
    anywhere = workbench.serve(SHOP, host="0.0.0.0", insecure=True)  # noqa: S104
    with anywhere as server, consuming(server) as consumer:
        assert "orders" in consumer.topics()


def test_a_server_that_has_not_started_has_no_address() -> None:
    server = workbench.serve(SHOP)
    assert repr(server) == "<Server not started, 7 topics>"
    with pytest.raises(ServerError, match="has no port before it starts"):
        _ = server.bootstrap_servers
    with server:
        port = int(server.bootstrap_servers.split(":")[1])
        assert port == server.port > 0
    assert workbench.serve(SHOP, port=port).bootstrap_servers == f"127.0.0.1:{port}"


def test_a_port_in_use_is_an_error(shop: Server) -> None:
    server = workbench.serve(SHOP, port=shop.port)
    with pytest.raises(ServerError, match="cannot be listened at"):
        server.start()
    server.stop()


def test_there_must_be_something_to_serve(tmp_path: Path) -> None:
    with pytest.raises(LogDirectoryError, match="nothing here looks like Kafka's"):
        workbench.serve(tmp_path)
    with pytest.raises(LookupError, match="did you mean orders"):
        workbench.serve(SHOP, topics=["order"])
