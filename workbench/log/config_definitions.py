"""Every configuration of a topic: name, default, what is allowed, and where a broker sets it.

A topic's own value counts first, then the broker's, under a name of its own and often in another
unit, then the default.

Kafka: LogConfig, TopicConfig, ServerTopicConfigSynonyms, ServerLogConfigs (4.2)
"""

from dataclasses import dataclass
from typing import Final

from workbench.files.text import INT64_MAX
from workbench.log.config_values import (
    ANY,
    THROTTLED_REPLICAS,
    Kind,
    Rule,
    Value,
    at_least,
    between,
    one_of,
    some_of,
)

MINUTE: Final = 60_000  # ms
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
MIB: Final = 1 << 20
LOG_OVERHEAD: Final = 12  # bytes of a batch before what its length counts
LEAST_SEGMENT: Final = 14  # bytes; the smallest message. A broker takes 1 MiB from a user.

COMPACT: Final = "compact"
DELETE: Final = "delete"
INHERITED: Final = -2  # of local.retention.*: that of retention.*


@dataclass(frozen=True, slots=True)
class Synonym:
    """A broker's name for what a topic sets.

    Attributes:
        name: in server.properties.
        unit: what one of it counts in the topic's unit: 3600000 for hours.
        kind: of the value; None for that of the topic's.
        rule: which values are allowed; None for what the topic allows.
    """

    name: str
    unit: int = 1
    kind: Kind | None = None
    rule: Rule | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """One configuration.

    Attributes:
        name: with dots.
        kind: of the value.
        default: of the kind, or None.
        rule: which values are allowed.
        doc: one sentence.
        synonyms: a broker's names for it, the one that counts first at the front.
        is_used: whether the engine goes by it; the others are known and kept.
    """

    name: str
    kind: Kind
    default: Value
    rule: Rule
    doc: str
    synonyms: tuple[Synonym, ...] = ()
    is_used: bool = True

    @property
    def attribute(self) -> str:
        """The name with underscores, as Python writes it."""
        return self.name.replace(".", "_")


def _broker(name: str) -> tuple[Synonym, ...]:
    return (Synonym(name),)


_TIME_OR_NONE: Final = Rule("at least 1, or negative for no limit", lambda value: value != 0)

TOPIC_DEFINITIONS: Final[tuple[Definition, ...]] = (
    Definition(
        "segment.bytes", "int", 1024 * MIB, at_least(LEAST_SEGMENT),
        "Size of a segment in bytes: an append that would pass it begins the next one.",
        _broker("log.segment.bytes"),
    ),
    Definition(
        "segment.ms", "long", 7 * DAY, at_least(1),
        "Time after which a segment is full whatever its size.",
        (Synonym("log.roll.ms"), Synonym("log.roll.hours", HOUR, "int", at_least(1))),
    ),
    Definition(
        "segment.jitter.ms", "long", 0, at_least(0),
        "At most this is taken off segment.ms, at random, so that not all logs roll at once.",
        (Synonym("log.roll.jitter.ms"), Synonym("log.roll.jitter.hours", HOUR, "int")),
    ),
    Definition(
        "segment.index.bytes", "int", 10 * MIB, at_least(4),
        "Size in bytes that an index file is made with; a segment whose index is full, is full.",
        _broker("log.index.size.max.bytes"),
    ),
    Definition(
        "flush.messages", "long", INT64_MAX, at_least(1),
        "Number of records after which the log is flushed to the disk.",
        _broker("log.flush.interval.messages"),
    ),
    Definition(
        "flush.ms", "long", INT64_MAX, at_least(0),
        "Time after which the log is flushed to the disk.",
        (Synonym("log.flush.interval.ms"), Synonym("log.flush.scheduler.interval.ms")),
    ),
    Definition(
        "retention.bytes", "long", -1, ANY,
        "Size in bytes above which the oldest segments are deleted; -1 for no limit.",
        _broker("log.retention.bytes"),
    ),
    Definition(
        "retention.ms", "long", 7 * DAY, at_least(-1),
        "Time after which segments are deleted; -1 for no limit.",
        (
            Synonym("log.retention.ms", 1, "long", _TIME_OR_NONE),
            Synonym("log.retention.minutes", MINUTE, "int", _TIME_OR_NONE),
            Synonym("log.retention.hours", HOUR, "int", _TIME_OR_NONE),
        ),
    ),
    Definition(
        "max.message.bytes", "int", MIB + LOG_OVERHEAD, at_least(0),
        "Largest batch in bytes that may be appended.",
        _broker("message.max.bytes"),
    ),
    Definition(
        "index.interval.bytes", "int", 4096, at_least(0),
        "An entry is added to the indexes after this many bytes of log.",
        _broker("log.index.interval.bytes"),
    ),
    Definition(
        "file.delete.delay.ms", "long", MINUTE, at_least(0),
        "Time between a file's getting the suffix .deleted and its removal.",
        _broker("log.segment.delete.delay.ms"),
    ),
    Definition(
        "delete.retention.ms", "long", DAY, at_least(0),
        "Time that compaction keeps tombstones and transaction markers.",
        _broker("log.cleaner.delete.retention.ms"),
    ),
    Definition(
        "min.compaction.lag.ms", "long", 0, at_least(0),
        "Time that a record is not compacted.",
        _broker("log.cleaner.min.compaction.lag.ms"),
    ),
    Definition(
        "max.compaction.lag.ms", "long", INT64_MAX, at_least(1),
        "Time after which a record is compacted however little of the log is dirty.",
        _broker("log.cleaner.max.compaction.lag.ms"),
    ),
    Definition(
        "min.cleanable.dirty.ratio", "double", 0.5, between(0, 1),
        "A log is compacted once this part of it has not been compacted yet.",
        _broker("log.cleaner.min.cleanable.ratio"),
    ),
    Definition(
        "cleanup.policy", "list", (DELETE,), some_of(COMPACT, DELETE),
        "What is done with old records: delete segments, keep the last of each key, both, nothing.",
        _broker("log.cleanup.policy"),
    ),
    Definition(
        "compression.type", "string", "producer",
        one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        "How batches are compressed in the log; producer keeps what the producer chose.",
        _broker("compression.type"),
    ),
    Definition(
        "compression.gzip.level", "int", -1, between(1, 9, -1),
        "Effort when compression.type is gzip; -1 for the library's own choice.",
        _broker("compression.gzip.level"),
    ),
    Definition(
        "compression.lz4.level", "int", 9, between(1, 17),
        "Effort when compression.type is lz4.",
        _broker("compression.lz4.level"),
    ),
    Definition(
        "compression.zstd.level", "int", 3, between(-131072, 22),
        "Effort when compression.type is zstd.",
        _broker("compression.zstd.level"),
    ),
    Definition(
        "preallocate", "boolean", default=False, rule=ANY,
        doc="Whether a segment's file is made in its full size.",
        synonyms=_broker("log.preallocate"),
    ),
    Definition(
        "message.timestamp.type", "string", "CreateTime", one_of("CreateTime", "LogAppendTime"),
        "Whether records keep the producer's time or get that of the append.",
        _broker("log.message.timestamp.type"),
    ),
    Definition(
        "message.timestamp.before.max.ms", "long", INT64_MAX, at_least(0),
        "A record whose time is further in the past is refused.",
        _broker("log.message.timestamp.before.max.ms"),
    ),
    Definition(
        "message.timestamp.after.max.ms", "long", HOUR, at_least(0),
        "A record whose time is further in the future is refused.",
        _broker("log.message.timestamp.after.max.ms"),
    ),
    Definition(
        "internal.segment.bytes", "int", None, ANY,
        "Size of a segment in bytes, before segment.bytes; brokers have it for tests.",
    ),
    Definition(
        "min.insync.replicas", "int", 1, at_least(1),
        "Replicas that must have a batch before a producer that asks for all is answered.",
        _broker("min.insync.replicas"), is_used=False,
    ),
    Definition(
        "unclean.leader.election.enable", "boolean", default=False, rule=ANY,
        doc="Whether a replica that has not all records may become the leader.",
        synonyms=_broker("unclean.leader.election.enable"), is_used=False,
    ),
    Definition(
        "leader.replication.throttled.replicas", "list", (), THROTTLED_REPLICAS,
        "Replicas whose leaders send slowly.", is_used=False,
    ),
    Definition(
        "follower.replication.throttled.replicas", "list", (), THROTTLED_REPLICAS,
        "Replicas whose followers fetch slowly.", is_used=False,
    ),
    Definition(
        "remote.storage.enable", "boolean", default=False, rule=ANY,
        doc="Whether segments are copied to remote storage.", is_used=False,
    ),
    Definition(
        "local.retention.ms", "long", INHERITED, at_least(INHERITED),
        "retention.ms for segments that are in remote storage, too; -2 for the same.",
        _broker("log.local.retention.ms"), is_used=False,
    ),
    Definition(
        "local.retention.bytes", "long", INHERITED, at_least(INHERITED),
        "retention.bytes for segments that are in remote storage, too; -2 for the same.",
        _broker("log.local.retention.bytes"), is_used=False,
    ),
    Definition(
        "remote.log.copy.disable", "boolean", default=False, rule=ANY,
        doc="Whether no more segments are copied to remote storage.", is_used=False,
    ),
    Definition(
        "remote.log.delete.on.disable", "boolean", default=False, rule=ANY,
        doc="Whether what is in remote storage is deleted when remote storage is disabled.",
        is_used=False,
    ),
)  # fmt: skip

TOPIC_NAMES: Final[dict[str, Definition]] = {one.name: one for one in TOPIC_DEFINITIONS}
