"""The configuration of one topic's logs: segments, retention, compaction, timestamps, codecs.

Kafka: LogConfig (4.2)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Literal, NamedTuple, Self

from workbench.config.broker_rules import BrokerRules
from workbench.config.definitions import (
    COMPACT,
    DELETE,
    INHERITED,
    TOPIC_DEFINITIONS,
    TOPIC_NAMES,
    Definition,
)
from workbench.config.values import Value, parse_value, refuse_unknown
from workbench.errors import ConfigError

DEFAULT: Final = "default"
TOPIC: Final = "topic"

_ATTRIBUTES: Final = {one.name: one.attribute for one in TOPIC_DEFINITIONS}


class DescribedConfig(NamedTuple):
    """One line of the table that `describe` returns.

    Attributes:
        name: Kafka's name, with dots.
        value: the effective value.
        default: Kafka's default.
        origin: "default", "topic", or the broker's name that sets it.
        doc: its meaning in one sentence.
    """

    name: str
    value: Value
    default: Value
    origin: str
    doc: str

    @classmethod
    def of(cls, one: Definition, value: Value, origins: Mapping[str, str]) -> Self:
        """Return the line of a configuration; one without an origin has its default."""
        return cls(one.name, value, one.default, origins.get(one.name, DEFAULT), one.doc)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """The configuration of a topic. Names are Kafka's with underscores; times ms, sizes bytes.

    `describe` explains each. Make a config with `of`; change it with `with_`.

    Attributes:
        segment_bytes: the effective size: `internal.segment.bytes` if that is set.
        cleanup_policy: "compact", "delete", both or none.
        origins: name → origin of a value that is not the default: "topic", or a broker's name.
        compact, delete: whether the cleanup policy names them.
        max_segment_ms: time after which a segment is full; shortened by max.compaction.lag.ms if
            compacted. Kafka: LogConfig.maxSegmentMs (4.2)
    """

    segment_bytes: int
    segment_ms: int
    segment_jitter_ms: int
    segment_index_bytes: int
    flush_messages: int
    flush_ms: int
    retention_bytes: int
    retention_ms: int
    max_message_bytes: int
    index_interval_bytes: int
    file_delete_delay_ms: int
    delete_retention_ms: int
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    min_cleanable_dirty_ratio: float
    cleanup_policy: tuple[str, ...]
    compression_type: str
    compression_gzip_level: int
    compression_lz4_level: int
    compression_zstd_level: int
    preallocate: bool
    message_timestamp_type: str
    message_timestamp_before_max_ms: int
    message_timestamp_after_max_ms: int
    internal_segment_bytes: int | None
    min_insync_replicas: int
    unclean_leader_election_enable: bool
    leader_replication_throttled_replicas: tuple[str, ...]
    follower_replication_throttled_replicas: tuple[str, ...]
    remote_storage_enable: bool
    local_retention_ms: int
    local_retention_bytes: int
    remote_log_copy_disable: bool
    remote_log_delete_on_disable: bool
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)
    compact: bool = field(init=False, repr=False, compare=False)
    delete: bool = field(init=False, repr=False, compare=False)
    max_segment_ms: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "compact", COMPACT in self.cleanup_policy)
        lag = self.max_compaction_lag_ms if self.compact else 0
        longest = min(lag, self.segment_ms) if lag > 0 else self.segment_ms
        object.__setattr__(self, "max_segment_ms", longest)
        object.__setattr__(self, "delete", DELETE in self.cleanup_policy)

    @property
    def copies_to_remote(self) -> bool:
        """Whether a broker with a remote tier copies the topic's segments there.

        Kafka: UnifiedLog.remoteLogEnabledAndRemoteCopyEnabled (4.0)
        """
        return self.remote_storage_enable and not (self.remote_log_copy_disable or self.compact)

    def local_retention(self, unit: Literal["ms", "bytes"]) -> int:
        """Return what limits the segments here, if the remote tier has them: -1 for no limit.

        Kafka: LogConfig.RemoteLogConfig.localRetentionMs, localRetentionBytes (4.2)
        """
        local, whole = self.local_retention_bytes, self.retention_bytes
        if unit == "ms":
            local, whole = self.local_retention_ms, self.retention_ms
        return whole if local == INHERITED else local

    @classmethod
    def of(
        cls, overrides: Mapping[str, Any] | None = None, defaults: "LogConfig | None" = None
    ) -> "LogConfig":
        """Return the configuration of a topic.

        Args:
            overrides: the topic's own values or texts, by Kafka's names.
            defaults: the broker's configuration; Kafka's own if None.

        Raises:
            ConfigError: a name is unknown to Kafka, a value is not allowed, or values
                contradict each other.

        Kafka: LogConfig.fromProps, LogConfig.validate (4.2)
        """
        return (DEFAULTS if defaults is None else defaults).with_(overrides or {})

    def with_(self, overrides: Mapping[str, Any]) -> "LogConfig":
        """Return a copy in which a topic sets more; for the errors see `of`."""
        return self.replaced(
            {name: (value, TOPIC) for name, value in overrides.items()},
        )

    def replaced(self, values: Mapping[str, tuple[Any, str]]) -> "LogConfig":
        """Return a copy with other values.

        Args:
            values: name → the value, and its origin.

        Raises:
            ConfigError: see `of`.
        """
        found = {name: getattr(self, attribute) for name, attribute in _ATTRIBUTES.items()}
        origins = dict(self.origins)
        for name, (value, origin) in values.items():
            definition = TOPIC_NAMES.get(name)
            if definition is None:
                raise refuse_unknown(name, TOPIC_NAMES, "topic")
            found[name] = check(definition, value)
            origins[name] = origin
        _check_together(found)
        return _make(found, origins)

    @property
    def overridden(self) -> frozenset[str]:
        """The names of the configurations that the topic sets itself.

        Kafka: LogConfig.overriddenConfigs (4.2)
        """
        return frozenset(name for name, origin in self.origins.items() if origin == TOPIC)

    @property
    def init_file_size(self) -> int:
        """Bytes that a segment's file is created with.

        Kafka: LogConfig.initFileSize (4.2)
        """
        return self.segment_bytes if self.preallocate else 0

    @property
    def target_codec(self) -> str | None:
        """Codec of stored batches, "none" for uncompressed; None to keep the producer's."""
        if self.compression_type == "producer":
            return None
        return "none" if self.compression_type == "uncompressed" else self.compression_type

    @property
    def compression_level(self) -> int | None:
        """Compression level of `target_codec`; None if it has none."""
        level: int | None = getattr(self, f"compression_{self.compression_type}_level", None)
        return level

    def random_segment_jitter(self, rng: Random) -> int:
        """Return the random jitter that shortens a new segment's time, ms.

        Kafka: LogConfig.randomSegmentJitter (4.2)
        """
        if self.segment_jitter_ms == 0:
            return 0
        return rng.randrange(1 << 31) % min(self.segment_jitter_ms, self.segment_ms)

    def describe(self) -> list[DescribedConfig]:
        """Return a row for each configuration, in the order of `TOPIC_DEFINITIONS`."""
        return [
            DescribedConfig.of(one, getattr(self, one.attribute), self.origins)
            for one in TOPIC_DEFINITIONS
        ]


def check(definition: Definition, value: Any) -> Value:
    """Parse and check a value of a configuration.

    Raises:
        ConfigError: the value is not allowed.
    """
    parsed = parse_value(definition.name, value, definition.kind)
    if parsed is None and definition.default is not None:
        raise ConfigError(definition.name, "no value")
    if definition.rule.is_set and isinstance(parsed, tuple):
        parsed = tuple(dict.fromkeys(parsed))
    if not definition.rule.holds(parsed):
        raise ConfigError(
            definition.name, f"{value!r} is not allowed (expected {definition.rule.words})"
        )
    return parsed


def refused_value(name: str, value: Any, rules: BrokerRules) -> str:
    """Return why brokers of a version refuse the value of a topic's configuration.

    A broker in KRaft mode ends at its start if such a value is stored.

    Returns:
        The reason, with the name; empty if they take the value, or do not know the name.

    Kafka: LogConfig.validateNames, ConfigDef.parse, LogManager.fetchTopicConfigOverrides (4.2)
    """
    definition = TOPIC_NAMES.get(name)
    if definition is None:
        return ""
    try:
        check(definition, value)
    except ConfigError as error:
        return str(error)
    problem = too_small(name, value, rules)
    return problem and f"{name}: {problem}"


def too_small(name: str, value: Any, rules: BrokerRules) -> str:
    """Return why a version refuses a value as size of a segment; empty for others.

    Args:
        name: the topic's name, or the broker's.
        value: the value.
        rules: those of the version.

    Kafka: LogConfig, AbstractKafkaConfig (4.0, 4.1)
    """
    least = {
        "segment.bytes": rules.least_segment_bytes,
        "log.segment.bytes": rules.least_log_segment_bytes,
    }.get(name, 0)
    text = str(value).strip()
    if not text.isdecimal() or int(text) >= least:
        return ""
    return f"{value} is not allowed in Kafka {rules.version} (expected at least {least})"


def _check_together(values: Mapping[str, Any]) -> None:
    """Raise ConfigError if values contradict each other.

    Kafka: LogConfig.validateValues, validateTopicLogConfigValues (4.2)
    """
    least, most = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    if least > most:
        problem = f"{least} is more than max.compaction.lag.ms = {most}"
        raise ConfigError("min.compaction.lag.ms", problem)
    if not values["remote.storage.enable"]:
        return
    if COMPACT in values["cleanup.policy"]:
        problem = "compacted topics cannot have remote storage"
        raise ConfigError("remote.storage.enable", problem)
    for unit in ("ms", "bytes"):
        _check_local_retention(f"local.retention.{unit}", f"retention.{unit}", values)


def _check_local_retention(local_name: str, name: str, values: Mapping[str, Any]) -> None:
    local, whole = values[local_name], values[name]
    if local != INHERITED and values["remote.log.copy.disable"] and local != whole:
        problem = f"{local} is not {name} = {whole}, and remote.log.copy.disable is set"
        raise ConfigError(local_name, problem)
    if local != INHERITED and whole > -1 and (local == -1 or local > whole):
        raise ConfigError(local_name, f"{local} is more than {name} = {whole}")


def _make(values: Mapping[str, Any], origins: Mapping[str, str]) -> LogConfig:
    found = {attribute: values[name] for name, attribute in _ATTRIBUTES.items()}
    if found["internal_segment_bytes"] is not None:
        found["segment_bytes"] = found["internal_segment_bytes"]
    return LogConfig(**found, origins=origins)


DEFAULTS: Final = _make({one.name: one.default for one in TOPIC_DEFINITIONS}, {})
"""The configuration if neither topic nor broker sets anything."""
