"""The configuration of a broker's log directories: the storage part of server.properties.

Kafka: KafkaConfig, ServerLogConfigs, CleanerConfig, TransactionLogConfig (4.2)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from workbench.config.broker_names import OTHER_BROKER_NAMES, PLUGIN_PREFIXES
from workbench.config.definitions import MIB, TOPIC_DEFINITIONS, Definition, Synonym
from workbench.config.log_config import DEFAULTS, DescribedConfig, LogConfig, check
from workbench.config.producer_state_config import ProducerStateConfig
from workbench.config.values import (
    ANY,
    Value,
    at_least,
    between,
    parse_value,
    refuse_unknown,
    words,
)
from workbench.errors import ConfigError
from workbench.layout.integers import INT32_MAX, INT64_MAX
from workbench.runtime.times import DAY, MINUTE

_DIRECTORIES: Final = ("/tmp/kafka-logs",)  # noqa: S108 - Kafka's own default
_SECOND: Final = 1000  # ms

BROKER_DEFINITIONS: Final[tuple[Definition, ...]] = (
    Definition(
        "log.dir", "list", _DIRECTORIES, words(),
        "The log directories if log.dirs is not set.",
    ),
    Definition(
        "log.dirs", "list", None, words(),
        "The log directories.",
    ),
    Definition(
        "metadata.log.dir", "string", None, words(),
        "The log directory of the metadata log. Default: the first of log.dirs.",
    ),
    Definition(
        "num.recovery.threads.per.data.dir", "int", 2, at_least(1),
        "Threads per log directory that load logs at startup and flush them at shutdown.",
    ),
    Definition(
        "log.retention.check.interval.ms", "long", 5 * MINUTE, at_least(1),
        "Time between two checks for segments to delete.",
    ),
    Definition(
        "log.flush.scheduler.interval.ms", "long", INT64_MAX, ANY,
        "Time between two checks for logs to flush.",
    ),
    Definition(
        "log.flush.offset.checkpoint.interval.ms", "int", MINUTE, at_least(0),
        "Time between two writes of the recovery points.",
    ),
    Definition(
        "log.flush.start.offset.checkpoint.interval.ms", "int", MINUTE, at_least(0),
        "Time between two writes of the log start offsets.",
    ),
    Definition(
        "log.initial.task.delay.ms", "long", 30 * _SECOND, at_least(0),
        "Time from startup to the first run of periodic log tasks; meant for a broker's tests.",
    ),
    Definition(
        "log.dir.failure.timeout.ms", "long", 30 * _SECOND, at_least(1),
        "Time after which a broker shuts down that cannot report a failed directory.",
    ),
    Definition(
        "replica.high.watermark.checkpoint.interval.ms", "long", 5 * _SECOND, ANY,
        "Time between two writes of the high watermarks.",
    ),
    Definition(
        "background.threads", "int", 10, at_least(1),
        "Number of scheduler threads.",
    ),
    Definition(
        "log.cleaner.enable", "boolean", default=True, rule=ANY,
        doc="Whether the cleaner compacts topics with cleanup.policy=compact.",
    ),
    Definition(
        "log.cleaner.threads", "int", 1, at_least(0),
        "Number of cleaner threads.",
    ),
    Definition(
        "log.cleaner.dedupe.buffer.size", "long", 128 * MIB, ANY,
        "Total bytes of all cleaner threads' offset maps.",
    ),
    Definition(
        "log.cleaner.io.buffer.size", "int", 512 * 1024, at_least(0),
        "Total bytes of all cleaner threads' buffers.",
    ),
    Definition(
        "log.cleaner.io.buffer.load.factor", "double", 0.9, ANY,
        "Share of an offset map that may be filled, 0 to 1.",
    ),
    Definition(
        "log.cleaner.io.max.bytes.per.second", "double", 1.7976931348623157e308, ANY,
        "Bytes that all cleaner threads may read and write per second.",
    ),
    Definition(
        "log.cleaner.backoff.ms", "long", 15 * _SECOND, at_least(0),
        "Time that a cleaner thread sleeps when there is nothing to clean.",
    ),
    Definition(
        "producer.id.expiration.ms", "int", DAY, at_least(1),
        "Time after which the producer state of a producer that writes nothing is removed.",
    ),
    Definition(
        "producer.id.expiration.check.interval.ms", "int", 10 * MINUTE, at_least(1),
        "Time between two checks for producers whose state is to be removed.",
    ),
    Definition(
        "transaction.max.timeout.ms", "int", 15 * MINUTE, at_least(1),
        "Longest transaction timeout that a producer may ask for.",
    ),
    Definition(
        "transaction.partition.verification.enable", "boolean", default=True, rule=ANY,
        doc="Whether a transaction is verified with its coordinator before a batch is appended.",
    ),
    Definition(
        "auto.create.topics.enable", "boolean", default=True, rule=ANY,
        doc="Whether a topic is created when a client asks for it.",
    ),
    Definition(
        "num.partitions", "int", 1, at_least(1),
        "Number of partitions of a topic that is created without one.",
    ),
    Definition(
        "offset.metadata.max.bytes", "int", 4096, ANY,
        "Longest metadata of a committed offset, in UTF-16 units.",
    ),
    Definition(
        "offsets.retention.minutes", "int", 7 * DAY // MINUTE, at_least(1),
        "Time after which offsets of an empty group or an unsubscribed topic expire, minutes.",
    ),
    Definition(
        "offsets.retention.check.interval.ms", "long", 10 * MINUTE, at_least(1),
        "Time between two checks for expired offsets.",
    ),
    Definition(
        "offsets.topic.num.partitions", "int", 50, at_least(1),
        "Number of partitions of __consumer_offsets when it is created.",
    ),
    Definition(
        "offsets.topic.segment.bytes", "int", 100 * MIB, at_least(1),
        "Size of the segments of __consumer_offsets when it is created.",
    ),
    Definition(
        "offsets.topic.compression.codec", "int", 0, between(0, 4),
        "Codec of the batches of __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
    ),
    Definition(
        "group.min.session.timeout.ms", "int", 6 * _SECOND, ANY,
        "Shortest session timeout that a member of a classic group may ask for.",
    ),
    Definition(
        "group.max.session.timeout.ms", "int", 30 * MINUTE, ANY,
        "Longest session timeout that a member of a classic group may ask for.",
    ),
    Definition(
        "group.initial.rebalance.delay.ms", "int", 3 * _SECOND, ANY,
        "Time for which the first rebalance of an empty classic group waits for more members.",
    ),
    Definition(
        "group.consumer.session.timeout.ms", "int", 45 * _SECOND, at_least(1),
        "Time after which a member of a consumer group is removed that sends no heartbeat.",
    ),
    Definition(
        "group.consumer.heartbeat.interval.ms", "int", 5 * _SECOND, at_least(1),
        "Time between two heartbeats of a member of a consumer group.",
    ),
    Definition(
        "group.consumer.max.size", "int", INT32_MAX, at_least(1),
        "Largest number of members of a consumer group.",
    ),
    Definition(
        "group.max.size", "int", INT32_MAX, at_least(1),
        "Largest number of members of a classic group.",
    ),
    Definition(
        "transactional.id.expiration.ms", "int", 7 * DAY, at_least(1),
        "Time after which a transactional id without a transaction expires.",
    ),
    Definition(
        "transaction.state.log.num.partitions", "int", 50, at_least(1),
        "Number of partitions of __transaction_state when it is created.",
    ),
    Definition(
        "transaction.state.log.segment.bytes", "int", 100 * MIB, at_least(1),
        "Size of the segments of __transaction_state when it is created.",
    ),
    Definition(
        "transaction.state.log.load.buffer.size", "int", 5 * MIB, at_least(1),
        "Bytes that are read at a time when a partition of __transaction_state is loaded.",
    ),
    Definition(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms", "int", 10 * _SECOND,
        at_least(1), "Time between two checks for transactions that are over their time.",
    ),
    Definition(
        "transaction.remove.expired.transaction.cleanup.interval.ms", "int", 60 * MINUTE,
        at_least(1), "Time between two checks for transactional ids that have expired.",
    ),
    Definition(
        "transaction.two.phase.commit.enable", "boolean", default=False, rule=ANY,
        doc="Whether transactions of a two-phase commit may take longer than any timeout.",
    ),
    Definition(
        "remote.log.storage.system.enable", "boolean", default=False, rule=ANY,
        doc="Whether the broker has a remote tier.",
    ),
)  # fmt: skip

DEFINITIONS: Final[dict[str, Definition]] = {one.name: one for one in BROKER_DEFINITIONS}
_SYNONYMS: Final[dict[str, tuple[Definition, Synonym]]] = {
    synonym.name: (one, synonym) for one in TOPIC_DEFINITIONS for synonym in one.synonyms
}

BROKER_NAMES: Final = frozenset({*DEFINITIONS, *_SYNONYMS, *OTHER_BROKER_NAMES})
"""Every name that Kafka 4.2 knows in server.properties."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    """The configuration of a broker. Names are Kafka's with underscores; times ms, sizes bytes.

    Configurations that topics may set are in `topic_defaults`. Make a config with `of`.

    Attributes:
        log_dirs: `log.dirs`, or `log.dir` if that is not set.
        origins: name → where its value was set: "broker".
    """

    log_dirs: tuple[str, ...]
    metadata_log_dir: str | None
    num_recovery_threads_per_data_dir: int
    log_retention_check_interval_ms: int
    log_flush_scheduler_interval_ms: int
    log_flush_offset_checkpoint_interval_ms: int
    log_flush_start_offset_checkpoint_interval_ms: int
    log_initial_task_delay_ms: int
    log_dir_failure_timeout_ms: int
    replica_high_watermark_checkpoint_interval_ms: int
    background_threads: int
    log_cleaner_enable: bool
    log_cleaner_threads: int
    log_cleaner_dedupe_buffer_size: int
    log_cleaner_io_buffer_size: int
    log_cleaner_io_buffer_load_factor: float
    log_cleaner_io_max_bytes_per_second: float
    log_cleaner_backoff_ms: int
    producer_id_expiration_ms: int
    producer_id_expiration_check_interval_ms: int
    transaction_max_timeout_ms: int
    transaction_partition_verification_enable: bool
    auto_create_topics_enable: bool
    num_partitions: int
    offset_metadata_max_bytes: int
    offsets_retention_minutes: int
    offsets_retention_check_interval_ms: int
    offsets_topic_num_partitions: int
    offsets_topic_segment_bytes: int
    offsets_topic_compression_codec: int
    group_min_session_timeout_ms: int
    group_max_session_timeout_ms: int
    group_initial_rebalance_delay_ms: int
    group_consumer_session_timeout_ms: int
    group_consumer_heartbeat_interval_ms: int
    group_consumer_max_size: int
    group_max_size: int
    transactional_id_expiration_ms: int
    transaction_state_log_num_partitions: int
    transaction_state_log_segment_bytes: int
    transaction_state_log_load_buffer_size: int
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int
    transaction_remove_expired_transaction_cleanup_interval_ms: int
    transaction_two_phase_commit_enable: bool
    remote_log_storage_system_enable: bool
    topic: LogConfig
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, values: Mapping[str, Any] | None = None) -> "BrokerConfig":
        """Return the configuration of a broker.

        Args:
            values: values or texts by name, as in server.properties. Names that Kafka knows and
                this engine does not use are ignored.

        Raises:
            ConfigError: a name is unknown to Kafka, a value is not allowed, or values
                contradict each other.
        """
        given = dict(values or {})
        found: dict[str, Any] = {one.name: one.default for one in BROKER_DEFINITIONS}
        origins = {}
        for name, value in given.items():
            if name in DEFINITIONS:
                found[name] = check(DEFINITIONS[name], value)
                origins[name] = "broker"
            elif name not in BROKER_NAMES and not name.startswith(PLUGIN_PREFIXES):
                raise refuse_unknown(name, BROKER_NAMES, "broker")
        _check_together(found)
        directories = found.pop("log.dir")
        if found["log.dirs"] is None:
            found["log.dirs"] = directories
        attributes = {DEFINITIONS[name].attribute: value for name, value in found.items()}
        return cls(**attributes, topic=_topic_defaults(given), origins=origins)

    def with_(self, values: Mapping[str, Any]) -> "BrokerConfig":
        """Return a copy with other values.

        Args:
            values: values by names of server.properties that topics do not have.

        Raises:
            ConfigError: see `of`.
        """
        found = {
            name: getattr(self, one.attribute)
            for name, one in DEFINITIONS.items()
            if name != "log.dir"
        }
        for name, value in values.items():
            if name not in found:
                raise refuse_unknown(name, found, "broker")
            found[name] = check(DEFINITIONS[name], value)
        _check_together(found)
        attributes = {DEFINITIONS[name].attribute: value for name, value in found.items()}
        return replace(
            self, **attributes, origins={**self.origins, **dict.fromkeys(values, "broker")}
        )

    def topic_defaults(self) -> LogConfig:
        """Return the configuration of a topic that sets nothing itself.

        Kafka: KafkaConfig.extractLogConfigMap (4.2)
        """
        return self.topic

    @property
    def producer_config(self) -> ProducerStateConfig:
        """The configuration of all logs' producer states: a new object each time."""
        return ProducerStateConfig(
            self.transaction_max_timeout_ms,
            self.producer_id_expiration_ms,
            self.transaction_partition_verification_enable,
        )

    def describe(self) -> list[DescribedConfig]:
        """Return a row for each configuration that topics do not have."""
        return [
            DescribedConfig.of(one, getattr(self, one.attribute), self.origins)
            for one in BROKER_DEFINITIONS
            if one.name != "log.dir"
        ]


def _topic_defaults(given: Mapping[str, Any]) -> LogConfig:
    chosen: dict[str, tuple[int, Value, str]] = {}
    for name in given:
        if name not in _SYNONYMS:
            continue
        definition, synonym = _SYNONYMS[name]
        value = _synonym_value(definition, synonym, given[name])
        rank = definition.synonyms.index(synonym)
        if value is not None and (
            definition.name not in chosen or rank < chosen[definition.name][0]
        ):
            chosen[definition.name] = (rank, value, name)
    return DEFAULTS.replaced({name: (value, source) for name, (_, value, source) in chosen.items()})


def _synonym_value(definition: Definition, synonym: Synonym, given: Any) -> Value:
    """Return a broker's value for its topics, in the topics' unit; None if it sets none."""
    value = parse_value(synonym.name, given, synonym.kind or definition.kind)
    if value is None:
        return None
    rule = synonym.rule or definition.rule
    if not rule.holds(value):
        raise ConfigError(synonym.name, f"{given!r} is not allowed (expected {rule.words})")
    if isinstance(value, int) and definition.name == "retention.ms" and value < 0:
        return -1
    return value * synonym.unit if isinstance(value, int) and synonym.unit != 1 else value


def _check_together(values: Mapping[str, Any]) -> None:
    threads, memory = values["log.cleaner.threads"], values["log.cleaner.dedupe.buffer.size"]
    if not threads or memory // threads <= MIB:
        problem = f"{memory} is too little (expected more than 1 MiB for each of {threads} threads)"
        raise ConfigError("log.cleaner.dedupe.buffer.size", problem)
