"""A writable server formats an empty directory as Kafka 4.2 does, and deletes nothing unasked."""

import shutil
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import InvalidConfigurationError

import workbench
from tests.golden.archive import extract
from tests.kafka_broker import Broker, run_java
from tests.server.conftest import ARCHIVES, SHOP
from tests.server.consumers import consuming, poll_until, producing
from workbench.cli.settings import values_of_file
from workbench.errors import ConfigError
from workbench.server.broker.formatting import FORMATTED_FEATURES, bootstrap_checkpoint
from workbench.server.broker.topics import _config_records
from workbench.server.server import Server

FEW = {"offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1}
WEEK = 7 * 86_400_000  # ms
LONG_AGO = 1_600_000_000_000  # 2020
OLD = SHOP.parent / "era-2.8.2"


def _retain(server: Server) -> int:
    """Let retention delete what is due, as the broker's task does every five minutes."""
    broker = server._broker  # noqa: SLF001 - its task would begin after 30 seconds
    assert broker is not None
    return broker.manager.delete_old_segments()


def _without_times(data: bytes) -> bytes:
    """Return batches without their timestamps, and so without their CRCs."""
    left, at = bytearray(data), 0
    while at < len(left):
        left[at + 17 : at + 21] = bytes(4)
        left[at + 27 : at + 43] = bytes(16)
        at += 12 + int.from_bytes(left[at + 8 : at + 12])
    return bytes(left)


def test_bootstrap_checkpoint_has_the_bytes_that_kafka_4_2_writes(tmp_path: Path) -> None:
    extract(ARCHIVES / "4.2.0-plain-java.tar.xz", tmp_path)
    written = next(tmp_path.rglob("bootstrap.checkpoint")).read_bytes()
    ours = bootstrap_checkpoint(FORMATTED_FEATURES, 1_790_000_000_000)
    assert _without_times(ours) == _without_times(written)


def _topics_of_long_ago(server: Server) -> None:
    """Make topics that must keep what is old, and send them records of 2020."""
    own = {"compacted": {"cleanup.policy": "compact"}, "forever": {"retention.ms": "-1"}}
    admin = KafkaAdminClient(bootstrap_servers=server.bootstrap_servers)
    admin.create_topics([NewTopic(name, 1, 1, topic_configs=each) for name, each in own.items()])
    admin.create_topics([NewTopic("a-week", 1, 1)])
    admin.close()
    with producing(server) as producer:
        for number in range(50):
            for name in (*own, "a-week"):
                producer.send(name, b"value", b"%d" % number, timestamp_ms=LONG_AGO)


def test_configurations_are_there_after_a_restart(tmp_path: Path) -> None:
    with workbench.serve(tmp_path, writable=True, config=FEW) as server:
        _topics_of_long_ago(server)
    with workbench.serve(tmp_path, writable=True, config=FEW) as server:
        assert server.catalog.features == FORMATTED_FEATURES
        assert _retain(server) == 1  # of a-week: a new cluster has Kafka's defaults
    logs = workbench.open_log_directory(tmp_path)
    counts = {name: logs.scan(topics=name).count() for name in ("compacted", "forever", "a-week")}
    assert counts == {"compacted": 50, "forever": 50, "a-week": 0}
    assert workbench.verify(tmp_path) == []
    assert logs.predict_startup().starts


def test_a_directory_that_kafkas_tool_formatted_keeps_its_ids_and_features(tmp_path: Path) -> None:
    extract(ARCHIVES / "4.2.0-plain-java.tar.xz", tmp_path)
    written = next(tmp_path.rglob("bootstrap.checkpoint")).parent
    formatted = tmp_path / "formatted"
    formatted.mkdir()
    for name in ("bootstrap.checkpoint", "meta.properties"):
        shutil.copy(written / name, formatted)
    before = {each.name: each.read_bytes() for each in formatted.iterdir()}
    with workbench.serve(formatted, writable=True) as server:
        assert server.catalog.features == FORMATTED_FEATURES
    assert {name: (formatted / name).read_bytes() for name in before} == before
    assert workbench.verify(formatted) == []


def test_nothing_is_deleted_where_configurations_are_unknown(tmp_path: Path) -> None:
    """A broker with ZooKeeper has its topics' configurations there, and its own in a file."""
    copy = tmp_path / "old"
    shutil.copytree(OLD, copy)
    before = _counts(copy)
    told: list[object] = []
    with workbench.serve(copy, writable=True, recover=True, observe=told.append) as server:
        assert _retain(server) == 0
    assert _counts(copy) == before
    said = [each for each in told if isinstance(each, str)]
    assert "no __cluster_metadata" in said[0]
    assert "customers was compacted" in said[1]
    given = {"retention.ms": "1"}  # yet the checkpoint shows that customers was compacted
    with workbench.serve(copy, writable=True, config=given) as server:
        assert _retain(server) > 0
    after = _counts(copy)
    assert after["customers-0"] == before["customers-0"]
    assert after["clicks-0"] == 0
    with workbench.serve(copy, writable=True, defaults=True) as server:
        assert server.catalog.settings.config_of("customers").retention_ms == WEEK


def _counts(path: Path) -> dict[str, int]:
    logs = workbench.open_log_directory(path)
    return {name: logs.scan(partitions=name).count() for name in logs if name[0] != "_"}


def test_a_brokers_directory_is_kept_until_its_configuration_is_given(tmp_path: Path) -> None:
    copy = tmp_path / "shop"
    shutil.copytree(SHOP, copy)
    before = _counts(copy)
    told: list[object] = []
    with workbench.serve(copy, writable=True, observe=told.append) as server:
        assert _retain(server) == 0
    assert "server.properties is not here" in str(told[0])
    assert _counts(copy) == before
    file = tmp_path / "server.properties"
    file.write_text("# a broker's\nlog.retention.ms=1\nzookeeper.connect=a:2181\n")
    values, unused = values_of_file(str(file))
    assert unused == ["zookeeper.connect"]
    with workbench.serve(copy, writable=True, config=values) as server:
        assert _retain(server) > 0
    assert _counts(copy)["clicks-0"] == 0


@pytest.mark.broker
def test_a_broker_serves_a_directory_that_was_made_here(tmp_path: Path) -> None:
    broker = Broker("4.2.0", tmp_path)
    broker.data.mkdir()
    with workbench.serve(broker.data, writable=True, config=FEW) as server:
        _topics_of_long_ago(server)
    with broker:
        admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
        names = ("compacted", "forever")
        asked = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        described = str(admin.describe_configs(asked))
        admin.close()
        features = run_java(
            "4.2.0", "org.apache.kafka.tools.FeatureCommand",
            "--bootstrap-server", broker.bootstrap, "describe",
        ).stdout  # fmt: skip
        with consuming(broker.bootstrap, *names) as consumer:
            assert len(poll_until(consumer, 100)) == 100
    assert described.count("DYNAMIC_TOPIC_CONFIG") == 2
    for name, level in FORMATTED_FEATURES.items():
        line = next(each for each in features.splitlines() if f"Feature: {name}\t" in each)
        assert f"FinalizedVersionLevel: {level if level < 20 else '4.2-IV1'}" in line
    log = broker.log.read_text()
    assert "Encountered fatal fault" not in log
    assert "stray" not in "".join(path.name for path in broker.data.iterdir())


REFUSED = {
    "segment.bytes": ("1048575", "at least 1048576"),
    "cleanup.policy": ("compress", "any of compact, delete"),
    "remote.storage.enable": ("true", "Tiered Storage functionality is disabled"),
}


def test_configurations_are_held_to_the_rules_of_4_2_at_every_door(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="at least 1048576"):
        workbench.serve(tmp_path, writable=True, config={"t:segment.bytes": 1 << 10}).start()
    with workbench.serve(tmp_path, writable=True) as server:
        admin = KafkaAdminClient(bootstrap_servers=server.bootstrap_servers)
        admin.create_topics([NewTopic("t", 1, 1)])
        for name, (value, words) in REFUSED.items():
            with pytest.raises(InvalidConfigurationError, match=words):
                admin.create_topics([NewTopic("other", 1, 1, topic_configs={name: value})])
            asked = ConfigResource(ConfigResourceType.TOPIC, "t", {name: value})
            assert words in str(admin.alter_configs([asked]))
        ratio = {"min.cleanable.dirty.ratio": "NaN"}
        admin.create_topics([NewTopic("never", 1, 1, topic_configs=ratio)])
        admin.close()
        assert server.catalog.settings.own("never") == ratio


@pytest.fixture
def refused(tmp_path: Path) -> Path:
    """Return the folder of a broker whose metadata have a value that 4.2 refuses."""
    data = tmp_path / "data"
    data.mkdir()
    with workbench.serve(data, writable=True) as server:
        admin = KafkaAdminClient(bootstrap_servers=server.bootstrap_servers)
        admin.create_topics([NewTopic("t", 1, 1)])
        admin.close()
        broker = server._broker  # noqa: SLF001 - no client can store it
        assert broker is not None
        broker.topics._write(_config_records("t", {"segment.bytes": "200"}))  # noqa: SLF001
    return tmp_path


def test_a_stored_configuration_that_the_version_refuses_is_found(refused: Path) -> None:
    logs = workbench.open_log_directory(refused / "data")
    prediction = logs.predict_startup()
    assert not prediction.starts
    assert prediction.exception == "org.apache.kafka.common.config.ConfigException"
    assert "segment.bytes: 200 is not allowed in Kafka 4.2" in prediction.problem
    assert [each.kind for each in logs.verify()] == ["topic-config"]
    assert logs.predict_startup(kafka="3.9").starts is False  # metadata.version 4.2
    with workbench.serve(refused / "data", writable=True) as server:  # which is a way out
        admin = KafkaAdminClient(bootstrap_servers=server.bootstrap_servers)
        kept = {"segment.bytes": "2000000"}
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, "t", kept)])
        admin.close()
    assert workbench.verify(refused / "data") == []


@pytest.mark.broker
def test_a_broker_does_not_start_with_a_stored_configuration_that_it_refuses(
    refused: Path,
) -> None:
    with pytest.raises(RuntimeError, match=r"segment\.bytes: Value must be at least 1048576"):
        Broker("4.2.0", refused).start()
