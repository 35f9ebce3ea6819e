"""Groups and transactions of a real broker: one stalls, one falls behind, one advances."""

import re
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

import workbench as wb
from tests.kafka_broker import Broker, dump_log_segments

COMMITS = {"stalls": [10, 10, 10], "lags": [5, 10, 12], "keeps-up": [20, 40, 60]}
"""The offset that each group commits after each 20 records."""


@pytest.mark.broker
@pytest.mark.slow
def test_groups_and_a_transaction_have_the_verdicts_that_were_planted(tmp_path: Path) -> None:
    broker = Broker("4.3.1", tmp_path, {"offsets.topic.num.partitions": "1"})
    with broker:
        servers: dict[str, str | int | float | bool] = {"bootstrap.servers": broker.bootstrap}
        admin = AdminClient(servers)
        admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result()
        producer = Producer(servers)
        for turn in range(3):
            for number in range(20):
                producer.produce("orders", b"%d" % number, partition=0)
            assert producer.flush(60) == 0
            for group, offsets in COMMITS.items():
                consumer = Consumer(servers | {"group.id": group})
                at = TopicPartition("orders", 0, offsets[turn])
                consumer.commit(offsets=[at], asynchronous=False)
                consumer.close()
        opened = Producer(servers | {"transactional.id": "left-open"})
        opened.init_transactions(60)
        opened.begin_transaction()
        opened.produce("orders", b"never ended", partition=0)
        assert opened.flush(60) == 0
        broker.kill()

    logs = wb.open_log_directory(broker.data)
    groups = {row["group"]: row for row in logs.inspect.group_lags().to_pylist()}
    assert {name: row["verdict"] for name, row in groups.items()} == {
        "stalls": "stalled", "lags": "falling behind", "keeps-up": "advancing",
    }  # fmt: skip
    assert {name: row["lag"] for name, row in groups.items()} == {
        "stalls": 51, "lags": 49, "keeps-up": 1,
    }  # fmt: skip
    dump = dump_log_segments("4.3.1", sorted(broker.data.glob("orders-0/*.log")))
    found = re.findall(r"lastOffset: (\d+) .*? size: (\d+)|lastOffset: (\d+) .*?sizeInBytes", dump)
    sizes = {int(last): int(size) for last, size, _ in found}
    behind = {name: sum(size for last, size in sizes.items() if last >= row["offset"])
              for name, row in groups.items()}  # fmt: skip
    assert {name: row["lag_bytes"] for name, row in groups.items()} == behind
    stuck = {(row["what"], row["holder"]): row for row in logs.stuck().to_pylist()}
    row = stuck["not readable", "left-open"]
    assert (row["offset"], row["bytes"]) == (60, sizes[60])
    assert ("not consumed", "group stalls") in stuck
    assert ("not consumed", "group keeps-up") not in stuck
