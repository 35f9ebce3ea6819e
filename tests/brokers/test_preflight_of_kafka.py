"""A preflight before the start of a real broker: what it recovers, and which topics it serves."""

import re
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

import workbench as wb
from tests.kafka_broker import Broker
from tests.waiting import HANGS_AFTER_S


@pytest.mark.broker
@pytest.mark.slow
def test_a_killed_broker_recovers_the_bytes_that_are_foretold(tmp_path: Path) -> None:
    broker = Broker("4.3.1", tmp_path, {"log.segment.bytes": "4194304"})
    with broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        wanted = [NewTopic("orders", 2, 1), NewTopic("stock", 1, 1)]
        for made in admin.create_topics(wanted).values():
            made.result()
        producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
        for number in range(12_000):
            producer.produce("orders", bytes(1000), partition=number % 2)
            producer.poll(0)
        producer.produce("stock", b"1", partition=0)
        assert producer.flush(60) == 0
        broker.kill()
    (stray,) = (tmp_path / "data").glob("stock-0/partition.metadata")
    stray.write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAHkQ\n")

    found = wb.open_log_directory(broker.data).preflight()
    seen = broker.log.stat().st_size
    with broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        served = set(admin.list_topics(timeout=HANGS_AFTER_S).topics)
        stray_folders = list(broker.data.glob("stock-0.*-stray"))
    log = broker.log.read_bytes()[seen:].decode()
    recovered = re.findall(r"partition=([\w-]+), .*Recovering unflushed segment (\d+)", log)
    files = [broker.data / name / f"{int(base):020d}.log" for name, base in recovered]
    orders = [path for path in files if path.parent.name.startswith("orders-")]
    assert len(orders) >= 3
    assert found["orders"].recovery_bytes == sum(path.stat().st_size for path in orders)
    assert found["orders"].verdict == "served"
    assert "orders" in served
    assert found["stock"].verdict == "empty"  # a topic id that the cluster does not know
    assert "stray" in {each.kind for each in found.concerns}
    assert stray_folders
    assert (broker.data / "stock-0").is_dir()
