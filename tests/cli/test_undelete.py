import os
import shutil
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

import workbench as wb
from tests.cli.program import run
from tests.field.cases import open_field_case
from tests.kafka_broker import Broker
from tests.trees import snapshot
from tests.waiting import HANGS_AFTER_S

OTHER_ID = "AAAAAAAAAAAAAAAAAAAHkQ"


@pytest.fixture(name="data")
def data_(tmp_path: Path) -> Path:
    """Return a directory of a real broker with the deleted topic ledger, of 300 records."""
    return open_field_case("deleted-topic", tmp_path).data


def consumed(servers: str, topic: str, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "reader"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes] = []
    while len(found) < count:
        message = consumer.poll(HANGS_AFTER_S)
        assert message is not None
        assert message.error() is None
        found.append(message.value() or b"")
    consumer.close()
    return found


def test_a_deleted_topic_is_read_by_a_client_of_serve(data: Path, tmp_path: Path) -> None:
    before = snapshot(data)
    outcome = run("undelete", data, "-t", "ledger", "--to", tmp_path / "out", "--json")
    assert outcome.code == 0
    assert snapshot(data) == before
    (row,) = outcome.json
    assert row["path"] == str(tmp_path / "out" / "ledger-0")
    assert os.path.basename(row["source"]).endswith("-delete")
    logs = wb.open_log_directory(tmp_path / "out")
    assert logs.scan("ledger").count() == 300
    assert logs["ledger-0"].topic_id == row["topic_id"]
    with wb.serve(logs) as server:
        assert len(consumed(server.bootstrap_servers, "ledger", 300)) == 300


def test_the_topic_gets_the_id_that_is_given(data: Path, tmp_path: Path) -> None:
    options = ("-t", "ledger", "--to", tmp_path / "out", "--topic-id", OTHER_ID)
    assert run("undelete", data, *options).code == 0
    assert wb.open_log_directory(tmp_path / "out")["ledger-0"].topic_id == OTHER_ID
    assert run("undelete", data, *options).code == 3  # OUT is not empty
    assert run("undelete", data, "-t", "ledger", "--to", data / "x").code == 3


def test_a_topic_that_is_not_deleted_is_named(data: Path, tmp_path: Path) -> None:
    outcome = run("undelete", data, "-t", "ledgre", "--to", tmp_path / "out")
    assert outcome.code == 3
    assert "no directory of topic ledgre is deleted or stray; did you mean ledger?" in outcome.err
    assert not (tmp_path / "out").exists()


def test_what_delete_records_deleted_comes_back(tmp_path: Path) -> None:
    """As with 4.3.1: it served 60 records, of which 7 had been deleted by request."""
    data, out = tmp_path / "data", tmp_path / "out"
    with wb.LogManager([data]) as manager:
        log = manager.get_or_create_log("ledger-0")
        log.append([(None, b"%d" % number) for number in range(60)])
        log.update_high_watermark(60)
        log.delete_records(7)
        manager.async_delete("ledger-0")
    assert run("undelete", data, "-t", "ledger", "--to", out).code == 0
    assert wb.open_log_directory(out)["ledger-0"].log_start_offset == 0
    assert wb.open_log_directory(out).scan("ledger").count() == 60
    for help_ in (run("undelete", "--help").out, wb.LogDirectory.undelete.__doc__ or ""):
        assert "log start offset" in help_
        assert "come back" in " ".join(help_.split())


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.parametrize("topic", ["ledger", "ledger-" + 30 * "2026.11"])
def test_a_real_broker_serves_what_was_brought_back(topic: str, tmp_path: Path) -> None:
    """A name that is too long for a -delete directory is shortened there, and comes back whole."""
    broker = Broker("4.3.1", tmp_path / "broker")
    with broker:
        servers = broker.bootstrap
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
        producer = Producer({"bootstrap.servers": servers})
        for number in range(50):
            producer.produce(topic, b"%d" % number, partition=0)
        assert producer.flush(60) == 0
        admin.delete_topics([topic])[topic].result()
        while not list(broker.data.glob("ledger*-0.*-delete")):
            pass
        broker.kill()
    disk = tmp_path / "disk"
    shutil.copytree(broker.data, disk)  # the next start removes what is deleted
    with broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
    topic_id = wb.open_log_directory(broker.data)[f"{topic}-0"].topic_id
    assert topic_id is not None
    options = ("-t", topic, "--to", tmp_path / "out", "--topic-id", topic_id)
    assert run("undelete", disk, *options).code == 0
    shutil.rmtree(broker.data / f"{topic}-0")
    shutil.move(tmp_path / "out" / f"{topic}-0", broker.data / f"{topic}-0")
    with broker:
        found = consumed(broker.bootstrap, topic, 50)
    assert found == [b"%d" % number for number in range(50)]
