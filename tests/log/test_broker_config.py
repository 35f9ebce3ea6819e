"""Configurations of brokers: what server.properties sets for all topics, and for the engine."""

import dataclasses
import pickle

import pytest

from tests.kafka_broker import compile_java, run_java
from workbench.config.broker_config import BROKER_DEFINITIONS, BROKER_NAMES, BrokerConfig
from workbench.config.definitions import TOPIC_DEFINITIONS
from workbench.config.log_config import DEFAULTS
from workbench.errors import ConfigError

HOUR = 3_600_000

# What server.properties may say; Kafka is asked what its topics have then.
PROPERTIES: list[dict[str, str]] = [
    {},
    {"log.roll.hours": "2", "log.roll.jitter.hours": "2", "log.retention.hours": "2"},
    {"log.roll.hours": "2", "log.roll.ms": "90"},
    {"log.roll.ms": "0"},
    {"log.roll.hours": "0"},
    {"log.roll.hours": "0", "log.roll.ms": "5"},
    {"log.roll.jitter.ms": "7", "log.roll.jitter.hours": "1"},
    {"log.roll.jitter.hours": "-1"},
    {"log.retention.ms": "1", "log.retention.minutes": "2", "log.retention.hours": "3"},
    {"log.retention.minutes": "2", "log.retention.hours": "3"},
    {"log.retention.ms": "-1", "log.retention.minutes": "2"},
    {"log.retention.ms": "-20"},
    {"log.retention.minutes": "-1"},
    {"log.retention.hours": "-3"},
    {"log.retention.ms": "0"},
    {"log.retention.hours": "0"},
    {"log.flush.interval.ms": "5", "log.flush.scheduler.interval.ms": "6"},
    {"log.flush.scheduler.interval.ms": "6"},
    {"log.segment.bytes": "1048575"},
    {"log.segment.bytes": "1048576", "message.max.bytes": "100"},
    {"log.index.size.max.bytes": "3"},
    {"log.cleaner.min.cleanable.ratio": "0.9", "log.cleaner.delete.retention.ms": "4"},
    {"log.cleaner.min.cleanable.ratio": "1.1"},
    {"log.cleaner.min.compaction.lag.ms": "10", "log.cleaner.max.compaction.lag.ms": "9"},
    {"log.cleanup.policy": "compact,delete", "compression.type": "zstd"},
    {"log.cleanup.policy": "compress"},
    {"log.preallocate": "true", "log.message.timestamp.type": "LogAppendTime"},
    {"log.message.timestamp.before.max.ms": "1", "log.message.timestamp.after.max.ms": "2"},
    {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"},
    {"log.cleaner.threads": "0"},
    {"log.cleaner.threads": "128"},
    {"log.cleaner.dedupe.buffer.size": "1048577"},
    {"log.cleaner.dedupe.buffer.size": "1048576"},
    {"log.dirs": "/a,/b"},
    {"log.dirs": "/a,/a"},
    {"log.dirs": "", "log.dir": "/c"},
    {"log.dir": "/c"},
    {"num.recovery.threads.per.data.dir": "0"},
    {"log.retention.check.interval.ms": "0"},
    {"producer.id.expiration.ms": "0"},
    {"log.segment.delete.delay.ms": "0"},
]

PROGRAM = """
import java.nio.file.*;
import java.util.*;
import kafka.server.KafkaConfig;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.storage.internals.log.LogConfig;

public class Brokers {
    static String text(Object value) {
        return value == null ? "null" : value.toString();
    }

    public static void main(String[] arguments) throws Exception {
        AbstractKafkaConfig.CONFIG_DEF.configKeys().forEach((name, key) -> System.out.println(
            "default\\t" + name + "\\t" + key.type + "\\t" + text(key.defaultValue)));
        int number = 0;
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            Properties properties = new Properties();
            properties.put("process.roles", "broker,controller");
            properties.put("node.id", "1");
            properties.put("controller.quorum.voters", "1@localhost:9093");
            properties.put("listeners", "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093");
            properties.put("controller.listener.names", "CONTROLLER");
            for (String pair : line.isEmpty() ? new String[0] : line.split("\\t")) {
                properties.put(pair.substring(0, pair.indexOf('=')),
                    pair.substring(pair.indexOf('=') + 1));
            }
            try {
                KafkaConfig config = new KafkaConfig(properties, false);
                Map<String, Object> topic = config.extractLogConfigMap();
                LogConfig.validateBrokerLogConfigValues(topic, false);
                Map<String, ?> values = new LogConfig(topic).values();
                for (String name : new TreeSet<>(topic.keySet())) {
                    System.out.println(number + "\\t" + name + "\\t" + text(values.get(name)));
                }
                System.out.println(number + "\\tlog.dirs\\t" + text(config.logDirs()));
            } catch (Exception error) {
                System.out.println(number + "\\trefused\\t");
            }
            number++;
        }
    }
}
"""


def told(value: object) -> str:
    """Return a value as Java prints it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, tuple | frozenset):
        return f"[{', '.join(sorted(value))}]"
    return "1.7976931348623157E308" if value == 1.7976931348623157e308 else str(value)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """What Kafka 4.2 says of its names, and of `PROPERTIES`."""
    script = tmp_path_factory.mktemp("brokers") / "properties"
    lines = ("\t".join(f"{name}={value}" for name, value in one.items()) for one in PROPERTIES)
    script.write_text("".join(f"{line}\n" for line in lines))
    classes = compile_java("4.2.0", PROGRAM, "Brokers")
    done = run_java("4.2.0", "Brokers", str(script), classes=classes)
    assert done.returncode == 0, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.mark.broker
def test_every_name_of_kafka_is_known_and_no_other(kafka: list[list[str]]) -> None:
    assert {row[1] for row in kafka if row[0] == "default"} == BROKER_NAMES


@pytest.mark.broker
def test_kinds_and_defaults_are_kafkas(kafka: list[list[str]]) -> None:
    theirs = {row[1]: (row[2].lower(), row[3]) for row in kafka if row[0] == "default"}
    ours = {one.name: (one.kind, told(one.default)) for one in BROKER_DEFINITIONS}
    assert ours == {name: theirs[name] for name in ours}
    for one in TOPIC_DEFINITIONS:
        kinds = {synonym.name: synonym.kind or one.kind for synonym in one.synonyms}
        assert kinds == {name: theirs[name][0] for name in kinds}


@pytest.mark.broker
@pytest.mark.parametrize("number", range(len(PROPERTIES)))
def test_topics_have_what_kafka_gives_them(kafka: list[list[str]], number: int) -> None:
    """CF-1: except segments below 1 MiB, which this engine takes from brokers, too."""
    theirs = {row[1]: row[2] for row in kafka if row[0] == str(number)}
    properties = PROPERTIES[number]
    if properties == {"log.segment.bytes": "1048575"}:
        assert theirs == {"refused": ""}
        assert BrokerConfig.of(properties).topic_defaults().segment_bytes == 1_048_575
        return
    if theirs == {"refused": ""}:
        with pytest.raises(ConfigError):
            BrokerConfig.of(properties)
        return
    config = BrokerConfig.of(properties)
    ours = {row.name: told(row.value) for row in config.topic_defaults().describe()}
    assert told(config.log_dirs) == theirs.pop("log.dirs")
    assert {name: ours[name] for name in theirs} == theirs


def test_hours_and_minutes_become_milliseconds() -> None:
    """CF-1."""
    settings = {"log.roll.hours": 2, "log.roll.jitter.hours": 2, "log.retention.hours": 2}
    topic = BrokerConfig.of(settings).topic_defaults()
    assert topic.segment_ms == topic.segment_jitter_ms == topic.retention_ms == 2 * HOUR
    assert BrokerConfig.of({"log.retention.minutes": 3}).topic_defaults().retention_ms == 180_000


def test_the_finer_unit_counts_whatever_the_order() -> None:
    """CF-1."""
    coarse, fine = {"log.retention.hours": "1"}, {"log.retention.ms": "5"}
    for settings in (coarse | fine, fine | coarse):
        topic = BrokerConfig.of(settings).topic_defaults()
        assert topic.retention_ms == 5
        assert topic.origins == {"retention.ms": "log.retention.ms"}


def test_a_topic_goes_before_its_broker() -> None:
    defaults = BrokerConfig.of({"log.retention.hours": 1, "log.segment.bytes": 5000})
    topic = defaults.topic_defaults().with_({"retention.ms": 7})
    rows = {row.name: row for row in topic.describe()}
    assert rows["retention.ms"][1:4] == (7, 604_800_000, "topic")
    assert rows["segment.bytes"][1:4] == (5000, 1 << 30, "log.segment.bytes")
    assert topic.overridden == {"retention.ms"}


def test_the_defaults_are_those_of_4_2() -> None:
    config = BrokerConfig.of()
    assert config.log_dirs == ("/tmp/kafka-logs",)  # noqa: S108
    assert config.num_recovery_threads_per_data_dir == 2
    assert config.log_initial_task_delay_ms == 30_000
    assert config.log_retention_check_interval_ms == 300_000
    assert config.topic_defaults() == DEFAULTS
    assert config.producer_config.producer_id_expiration_ms == 86_400_000
    assert config.producer_config.max_transaction_timeout_ms == 900_000


def test_every_attribute_is_defined_and_every_definition_an_attribute() -> None:
    attributes = [one.name for one in dataclasses.fields(BrokerConfig)]
    defined = [one.attribute for one in BROKER_DEFINITIONS if one.name != "log.dir"]
    assert attributes == [*defined, "topic", "origins"]
    assert all(one.doc.endswith(".") for one in BROKER_DEFINITIONS)


def test_names_that_the_engine_does_not_use_are_passed_over() -> None:
    settings = {
        "listeners": "PLAINTEXT://:9092",
        "listener.name.internal.ssl.keystore.location": "somewhere",
        "rsm.config.bucket": "b",
    }
    assert BrokerConfig.of(settings) == BrokerConfig.of()


def test_a_name_that_kafka_does_not_know_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"did you mean log\.retention\.minutes\?"):
        BrokerConfig.of({"log.retention.minute": 1})


def test_the_table_tells_what_was_set() -> None:
    rows = {row.name: row for row in BrokerConfig.of({"log.cleaner.threads": "3"}).describe()}
    assert rows["log.cleaner.threads"][1:4] == (3, 1, "broker")
    assert rows["background.threads"][1:4] == (10, 10, "default")
    assert "log.dir" not in rows


def test_a_configuration_is_a_value() -> None:
    config = BrokerConfig.of({"log.dirs": "/a,/b", "log.roll.ms": 6})
    assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301
    assert hash(config) == hash(BrokerConfig.of({"log.dirs": ["/a", "/b"], "log.roll.ms": 6}))
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.background_threads = 5  # type: ignore[misc]
