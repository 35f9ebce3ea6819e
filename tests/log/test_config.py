"""Configurations of topics: names, defaults, what is allowed, equal to Kafka's own."""

import dataclasses
import json
import pickle
from random import Random
from typing import Any

import pytest

from tests.kafka_broker import compile_java, run_java
from workbench.config.broker_config import BROKER_NAMES, BrokerConfig
from workbench.config.definitions import LEAST_SEGMENT, TOPIC_DEFINITIONS, TOPIC_NAMES
from workbench.config.log_config import DEFAULTS, LogConfig
from workbench.config.removed_configs import REMOVED
from workbench.config.settings import Settings
from workbench.errors import ConfigError

MAX_LONG = 2**63 - 1

# Values as a user would write them; what Kafka says of each is asked of Kafka.
VALUES = [
    ("segment.bytes", "1048576"), ("segment.bytes", "2147483648"), ("segment.bytes", "1.5"),
    ("segment.bytes", " 2000000 "), ("segment.bytes", "+2000000"), ("segment.bytes", ""),
    ("segment.ms", "0"), ("segment.ms", "1"), ("segment.ms", "9223372036854775807"),
    ("segment.ms", "9223372036854775808"), ("segment.jitter.ms", "-1"), ("segment.jitter.ms", "0"),
    ("segment.index.bytes", "3"), ("segment.index.bytes", "4"), ("flush.messages", "0"),
    ("flush.messages", "1"), ("flush.ms", "-1"), ("flush.ms", "0"), ("retention.bytes", "-1"),
    ("retention.bytes", "-100"), ("retention.bytes", "x"), ("retention.ms", "-1"),
    ("retention.ms", "-2"), ("retention.ms", "1_000"), ("max.message.bytes", "-1"),
    ("max.message.bytes", "0"), ("index.interval.bytes", "-1"), ("index.interval.bytes", "0"),
    ("file.delete.delay.ms", "-1"), ("file.delete.delay.ms", "0"), ("delete.retention.ms", "-1"),
    ("delete.retention.ms", "0"), ("min.compaction.lag.ms", "-1"), ("min.compaction.lag.ms", "5"),
    ("max.compaction.lag.ms", "0"), ("max.compaction.lag.ms", "1"),
    ("min.cleanable.dirty.ratio", "-0.1"), ("min.cleanable.dirty.ratio", "1.2"),
    ("min.cleanable.dirty.ratio", "1"), ("min.cleanable.dirty.ratio", "5e-1"),
    ("min.cleanable.dirty.ratio", ".25f"), ("min.cleanable.dirty.ratio", "half"),
    ("cleanup.policy", ""), ("cleanup.policy", "compact"), ("cleanup.policy", "delete , compact"),
    ("cleanup.policy", "true"), ("cleanup.policy", "foobar"), ("cleanup.policy", "Compact"),
    ("cleanup.policy", "delete,delete"), ("cleanup.policy", "delete,"),
    ("compression.type", "gzip"), ("compression.type", "none"), ("compression.type", "GZIP"),
    ("compression.type", "uncompressed"), ("compression.gzip.level", "-2"),
    ("compression.gzip.level", "-1"), ("compression.gzip.level", "0"),
    ("compression.gzip.level", "9"), ("compression.gzip.level", "10"),
    ("compression.lz4.level", "-1"), ("compression.lz4.level", "17"),
    ("compression.lz4.level", "18"), ("compression.zstd.level", "-131072"),
    ("compression.zstd.level", "23"), ("preallocate", "TRUE"), ("preallocate", "yes"),
    ("preallocate", "0"), ("message.timestamp.type", "LogAppendTime"),
    ("message.timestamp.type", "logappendtime"), ("message.timestamp.before.max.ms", "-1"),
    ("message.timestamp.after.max.ms", "-1"), ("message.timestamp.after.max.ms", "0"),
    ("min.insync.replicas", "0"), ("min.insync.replicas", "-1"), ("min.insync.replicas", "3"),
    ("unclean.leader.election.enable", "maybe"), ("remote.storage.enable", "true"),
    ("local.retention.ms", "-3"), ("local.retention.ms", "-2"), ("local.retention.bytes", "-3"),
    ("remote.log.copy.disable", "true"), ("remote.log.delete.on.disable", "x"),
    ("leader.replication.throttled.replicas", "*"), ("leader.replication.throttled.replicas", ""),
    ("leader.replication.throttled.replicas", "100:10,12:10"),
    ("leader.replication.throttled.replicas", "100"),
    ("leader.replication.throttled.replicas", "100:"),
    ("leader.replication.throttled.replicas", "*,100:10"),
    ("follower.replication.throttled.replicas", "100:0,10   :   "),
    ("follower.replication.throttled.replicas", "100:0, 10:0"),
    ("internal.segment.bytes", "10"), ("internal.segment.bytes", "ten"),
    ("message.format.version", "2.8"), ("message.downconversion.enable", "true"),
    ("segement.bytes", "1048576"),
]  # fmt: skip

PROGRAM = """
import java.nio.file.*;
import java.util.*;
import org.apache.kafka.storage.internals.log.LogConfig;

public class Configs {
    static String text(Object value) {
        return value == null ? "null" : value.toString();
    }

    public static void main(String[] arguments) throws Exception {
        LogConfig.configKeys().forEach((name, key) -> System.out.println("default\\t" + name + "\\t"
            + key.type + "\\t" + text(key.defaultValue)));
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] parts = line.split("\\t", -1);
            Properties properties = new Properties();
            properties.put(parts[0], parts[1]);
            String said;
            try {
                LogConfig.validate(properties);
                said = "ok\\t" + text(new LogConfig(properties).values().get(parts[0]));
            } catch (Exception error) {
                said = "refused\\t";
            }
            System.out.println("value\\t" + line + "\\t" + said);
        }
    }
}
"""


def told(value: Any) -> str:
    """Return a value as Java prints it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, tuple):
        return f"[{', '.join(value)}]"
    return str(value)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """What Kafka 4.2 says of its configurations: defaults, and whether it takes `VALUES`."""
    script = tmp_path_factory.mktemp("configs") / "values"
    script.write_text("".join(f"{name}\t{value}\n" for name, value in VALUES))
    classes = compile_java("4.2.0", PROGRAM, "Configs")
    done = run_java("4.2.0", "Configs", str(script), classes=classes)
    assert done.returncode == 0, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.mark.broker
def test_names_kinds_and_defaults_are_kafkas(kafka: list[list[str]]) -> None:
    theirs = {row[1]: (row[2].lower(), row[3]) for row in kafka if row[0] == "default"}
    ours = {one.name: (one.kind, told(one.default)) for one in TOPIC_DEFINITIONS}
    assert ours == theirs


@pytest.mark.broker
def test_values_are_taken_and_refused_as_kafka_does(kafka: list[list[str]]) -> None:
    """CF-2: except `segment.bytes` below 1 MiB, which brokers refuse from users."""
    rows = [row[1:] for row in kafka if row[0] == "value"]
    assert len(rows) == len(VALUES)
    different = []
    for name, value, verdict, parsed in rows:
        try:
            config = LogConfig.of({name: value})
        except ConfigError:
            ours = ("refused", "")
        else:
            found = {row.name: row.value for row in config.describe()}[name]
            ours = ("ok", told(found))
        if name == "cleanup.policy" and verdict == "ok":  # ours has no order
            ours = (ours[0], parsed) if sorted(ours[1]) == sorted(parsed) else ours
        if ours != (verdict, parsed):
            different.append((name, value, ours, (verdict, parsed)))
    assert different == []


def test_the_defaults_are_those_of_4_2() -> None:
    config = LogConfig.of()
    assert config == DEFAULTS
    assert config.segment_bytes == 1 << 30
    assert config.segment_ms == config.retention_ms == 604_800_000
    assert config.max_message_bytes == 1_048_588
    assert config.message_timestamp_after_max_ms == 3_600_000
    assert config.message_timestamp_before_max_ms == MAX_LONG
    assert config.cleanup_policy == ("delete",)
    assert (config.compact, config.delete) == (False, True)
    assert config.overridden == frozenset()


def test_every_attribute_is_defined_and_every_definition_an_attribute() -> None:
    attributes = [one.name for one in dataclasses.fields(LogConfig)]
    defined = [one.attribute for one in TOPIC_DEFINITIONS]
    assert attributes == [*defined, "origins", "compact", "delete", "max_segment_ms"]
    assert all(one.doc.endswith(".") for one in TOPIC_DEFINITIONS)


def test_what_a_topic_sets_is_overridden_and_the_rest_stays() -> None:
    config = LogConfig.of({"segment.bytes": "2048", "cleanup.policy": "compact"})
    assert config.segment_bytes == 2048
    assert (config.compact, config.delete) == (True, False)
    assert config.overridden == {"segment.bytes", "cleanup.policy"}
    more = config.with_({"cleanup.policy": ["delete", "compact"], "retention.ms": -1})
    assert (more.compact, more.delete, more.retention_ms) == (True, True, -1)
    assert more.segment_bytes == 2048
    assert more.overridden == {"segment.bytes", "cleanup.policy", "retention.ms"}
    assert config.retention_ms == 604_800_000


def test_a_topic_takes_the_rest_from_given_defaults() -> None:
    defaults = LogConfig.of({"segment.ms": 5})
    config = LogConfig.of({"retention.ms": 7}, defaults)
    assert (config.segment_ms, config.retention_ms) == (5, 7)


def test_a_name_that_is_not_known_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"segement\.bytes: .* did you mean segment\.bytes\?"):
        LogConfig.of({"segement.bytes": 1})
    with pytest.raises(ConfigError, match=r"no such configuration of a topic$") as error:
        LogConfig.of({"zzz": 1})
    assert error.value.name == "zzz"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("segment.bytes", 1.5),
        ("segment.bytes", True),
        ("segment.bytes", None),
        ("segment.bytes", 2**31),
        ("segment.ms", 2**63),
        ("preallocate", 1),
        ("compression.type", 5),
        ("cleanup.policy", 5),
        ("cleanup.policy", [5]),
        ("min.cleanable.dirty.ratio", True),
    ],
)
def test_values_of_another_kind_are_refused(name: str, value: object) -> None:
    """CF-2."""
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
        LogConfig.of({name: value})


def test_a_refusal_says_what_is_allowed() -> None:
    with pytest.raises(
        ConfigError, match=r"segment\.bytes: 13 is not allowed \(expected at least 14\)"
    ):
        LogConfig.of({"segment.bytes": 13})
    with pytest.raises(
        ConfigError, match=r"'none' is not allowed \(expected uncompressed, zstd, lz4"
    ):
        LogConfig.of({"compression.type": "none"})


def test_a_segment_may_be_smaller_than_brokers_let_users_make_it() -> None:
    assert LogConfig.of({"segment.bytes": LEAST_SEGMENT}).segment_bytes == LEAST_SEGMENT
    config = LogConfig.of({"segment.bytes": 1 << 20, "internal.segment.bytes": 1})
    assert config.segment_bytes == 1
    assert config.with_({"segment.bytes": 1 << 21}).segment_bytes == 1


def test_the_compaction_lags_may_not_contradict_each_other() -> None:
    """CF-3."""
    with pytest.raises(ConfigError, match=r"100 is more than max\.compaction\.lag\.ms = 50"):
        LogConfig.of({"min.compaction.lag.ms": 100, "max.compaction.lag.ms": 50})
    LogConfig.of({"min.compaction.lag.ms": 50, "max.compaction.lag.ms": 50})


@pytest.mark.parametrize(
    ("unit", "whole", "local"),
    [("ms", 1000, 1001), ("ms", 1000, -1), ("bytes", 1000, 1001), ("bytes", 1000, -1)],
)
def test_local_retention_may_not_be_longer_than_retention(
    unit: str, whole: int, local: int
) -> None:
    """CF-4: which counts only with remote storage."""
    values = {f"retention.{unit}": whole, f"local.retention.{unit}": local}
    LogConfig.of(values)
    with pytest.raises(ConfigError, match=rf"local\.retention\.{unit}"):
        LogConfig.of(values | {"remote.storage.enable": True})


@pytest.mark.parametrize(("whole", "local"), [(1000, -2), (1000, 1000), (-1, -1), (-1, 50)])
def test_local_retention_up_to_retention_is_taken(whole: int, local: int) -> None:
    """CF-4."""
    values = {"retention.ms": whole, "local.retention.ms": local, "remote.storage.enable": True}
    assert LogConfig.of(values).local_retention_ms == local


def test_without_copies_local_retention_is_retention() -> None:
    values = {"remote.storage.enable": True, "remote.log.copy.disable": True}
    LogConfig.of(values | {"local.retention.ms": 604_800_000})
    with pytest.raises(ConfigError, match=r"remote\.log\.copy\.disable is set"):
        LogConfig.of(values | {"local.retention.ms": 5})


@pytest.mark.parametrize("value", ["*", "", "100:10", "100:10,12:10", "100:10, 12:10"])
def test_throttled_replicas_are_all_or_pairs(value: str) -> None:
    """CF-5."""
    name = "leader.replication.throttled.replicas"
    rows = {row.name: row for row in LogConfig.of({name: value}).describe()}
    stored = tuple(each.strip() for each in value.split(",")) if value else ()
    assert rows[name][:4] == (name, stored, (), "topic")


@pytest.mark.parametrize("value", ["100", "100:", ":10", "*,100:10", "100:0,10   :   ", "100 :10"])
def test_throttled_replicas_are_nothing_else(value: str) -> None:
    """CF-5."""
    with pytest.raises(ConfigError, match="partition:broker"):
        LogConfig.of({"follower.replication.throttled.replicas": value})


def test_the_table_tells_where_each_value_is_from() -> None:
    """CF-6: as `overriddenConfigsAsLoggableString`; there is nothing secret among them."""
    rows = {row.name: row for row in LogConfig.of({"segment.ms": 5}).describe()}
    assert rows["segment.ms"][:4] == ("segment.ms", 5, 604_800_000, "topic")
    assert rows["retention.ms"][:4] == ("retention.ms", 604_800_000, 604_800_000, "default")
    assert rows["cleanup.policy"].value == ("delete",)
    assert list(rows) == [one.name for one in TOPIC_DEFINITIONS]
    assert json.dumps([row.value for row in rows.values()])


def test_compacted_topics_have_no_remote_storage() -> None:
    """CF-7."""
    with pytest.raises(ConfigError, match=r"remote\.storage\.enable: .*compacted"):
        LogConfig.of({"remote.storage.enable": True, "cleanup.policy": "compact,delete"})
    LogConfig.of({"remote.storage.enable": True, "cleanup.policy": ""})


def test_a_segment_lasts_as_long_as_compaction_may_wait() -> None:
    lags = {"max.compaction.lag.ms": 100, "segment.ms": 500}
    assert LogConfig.of(lags).max_segment_ms == 500
    assert LogConfig.of(lags | {"cleanup.policy": "compact"}).max_segment_ms == 100
    assert LogConfig.of({"cleanup.policy": "compact"}).max_segment_ms == 604_800_000


def test_a_preallocated_segment_has_its_full_size() -> None:
    assert LogConfig.of({"segment.bytes": 500}).init_file_size == 0
    assert LogConfig.of({"segment.bytes": 500, "preallocate": "true"}).init_file_size == 500


def test_jitter_is_less_than_the_segments_time() -> None:
    assert LogConfig.of().random_segment_jitter(Random(1)) == 0
    rng = Random(1)
    config = LogConfig.of({"segment.jitter.ms": 1000, "segment.ms": 10})
    drawn = {config.random_segment_jitter(rng) for _ in range(300)}
    assert drawn == set(range(10))


@pytest.mark.parametrize(
    ("kind", "codec", "level"),
    [
        ("producer", None, None),
        ("uncompressed", "none", None),
        ("gzip", "gzip", 6),
        ("snappy", "snappy", None),
        ("lz4", "lz4", 9),
        ("zstd", "zstd", 3),
    ],
)
def test_the_codec_that_batches_are_stored_with(
    kind: str, codec: str | None, level: int | None
) -> None:
    config = LogConfig.of({"compression.type": kind, "compression.gzip.level": 6})
    assert (config.target_codec, config.compression_level) == (codec, level)


def test_a_configuration_is_a_value() -> None:
    config = LogConfig.of({"segment.bytes": 1024})
    assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301
    assert pickle.loads(pickle.dumps(config)).overridden == {"segment.bytes"}  # noqa: S301
    assert len({config, LogConfig.of({"segment.bytes": "1024"}), DEFAULTS}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.segment_bytes = 5  # type: ignore[misc]


@pytest.mark.parametrize("name", [*REMOVED, "zookeeper.connect", "password.encoder.secret"])
def test_a_removed_configuration_is_refused_with_its_version_and_what_to_use(name: str) -> None:
    for refused in (LogConfig.of, BrokerConfig.of, Settings.of):
        with pytest.raises(ConfigError, match=r"removed in \d\.\d.*(use|set|leave)") as caught:
            refused({name: "1"})
        assert "did you mean" not in str(caught.value)
    assert name not in {*TOPIC_NAMES, *BROKER_NAMES}


def test_a_split_configuration_names_its_parts() -> None:
    with pytest.raises(ConfigError, match=r"\.before\.max\.ms and message\.timestamp\.after\."):
        LogConfig.of({"message.timestamp.difference.max.ms": "1000"})
    with pytest.raises(ConfigError, match=r"since 3\.0 ignored where inter\.broker\.protocol"):
        LogConfig.of({"message.format.version": "2.8"})
