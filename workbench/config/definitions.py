"""Every configuration of a topic: name, default, allowed values, and the broker's names for it.

A topic's own value takes precedence, then the broker's, which often has another name and unit,
then the default.

Kafka: LogConfig, TopicConfig, ServerTopicConfigSynonyms, ServerLogConfigs (4.2)
"""

from dataclasses import dataclass
from typing import Final

from workbench.config.values import (
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
from workbench.layout.attributes import CODEC_NAMES
from workbench.layout.integers import INT64_MAX
from workbench.record.codecs.registry import CODECS, Levels
from workbench.runtime.times import DAY, HOUR, MINUTE

MIB: Final = 1 << 20
LOG_OVERHEAD: Final = 12  # bytes of a batch that its length does not include
LEAST_SEGMENT: Final = 14  # bytes; the smallest message. Brokers require 1 MiB of a user.

COMPACT: Final = "compact"
DELETE: Final = "delete"
_FOR_DEFAULT: Final = "; -1 for the library's default"
INHERITED: Final = -2  # value of local.retention.*: same as retention.*


@dataclass(frozen=True, slots=True)
class Synonym:
    """A broker's name for a topic's configuration.

    Attributes:
        name: the name in server.properties.
        unit: one unit of it in the topic's unit: 3600000 for hours.
        kind: kind of the value; None for the topic's.
        rule: which values are allowed; None for the topic's rule.
    """

    name: str
    unit: int = 1
    kind: Kind | None = None
    rule: Rule | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """One configuration of a topic.

    Attributes:
        name: Kafka's name, with dots.
        kind: kind of the value.
        default: a value of the kind, or None.
        rule: which values are allowed.
        doc: its meaning in one sentence.
        synonyms: a broker's names for it, by precedence.
        is_used: whether the engine uses it; the others are known and stored.
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


def _level(codec: str, levels: Levels) -> Definition:
    lowest, highest, default = levels
    others = () if lowest <= default <= highest else (default,)
    return Definition(
        f"compression.{codec}.level", "int", default, between(lowest, highest, *others),
        f"Compression level if compression.type is {codec}{_FOR_DEFAULT if others else ''}.",
        _broker(f"compression.{codec}.level"),
    )  # fmt: skip


TOPIC_DEFINITIONS: Final[tuple[Definition, ...]] = (
    Definition(
        "segment.bytes", "int", 1024 * MIB, at_least(LEAST_SEGMENT),
        "Size of a segment in bytes: an append that would exceed it starts the next one.",
        _broker("log.segment.bytes"),
    ),
    Definition(
        "segment.ms", "long", 7 * DAY, at_least(1),
        "Time after which a segment is full regardless of its size.",
        (Synonym("log.roll.ms"), Synonym("log.roll.hours", HOUR, "int", at_least(1))),
    ),
    Definition(
        "segment.jitter.ms", "long", 0, at_least(0),
        "Upper limit of a random time taken off segment.ms, so that not all logs roll at once.",
        (Synonym("log.roll.jitter.ms"), Synonym("log.roll.jitter.hours", HOUR, "int")),
    ),
    Definition(
        "segment.index.bytes", "int", 10 * MIB, at_least(4),
        "Size in bytes that an index file is created with; a full index makes its segment full.",
        _broker("log.index.size.max.bytes"),
    ),
    Definition(
        "flush.messages", "long", INT64_MAX, at_least(1),
        "Number of records after which the log is flushed.",
        _broker("log.flush.interval.messages"),
    ),
    Definition(
        "flush.ms", "long", INT64_MAX, at_least(0),
        "Time after which the log is flushed.",
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
        "An entry is added to the indexes after this many bytes of the log.",
        _broker("log.index.interval.bytes"),
    ),
    Definition(
        "file.delete.delay.ms", "long", MINUTE, at_least(0),
        "Time between renaming a file to .deleted and removing it.",
        _broker("log.segment.delete.delay.ms"),
    ),
    Definition(
        "delete.retention.ms", "long", DAY, at_least(0),
        "Time for which compaction keeps tombstones and transaction markers.",
        _broker("log.cleaner.delete.retention.ms"),
    ),
    Definition(
        "min.compaction.lag.ms", "long", 0, at_least(0),
        "Time for which a record is not compacted.",
        _broker("log.cleaner.min.compaction.lag.ms"),
    ),
    Definition(
        "max.compaction.lag.ms", "long", INT64_MAX, at_least(1),
        "Time after which a record is compacted even if little of the log is dirty.",
        _broker("log.cleaner.max.compaction.lag.ms"),
    ),
    Definition(
        "min.cleanable.dirty.ratio", "double", 0.5, between(0, 1),
        "A log is compacted once this share of it is dirty, 0 to 1.",
        _broker("log.cleaner.min.cleanable.ratio"),
    ),
    Definition(
        "cleanup.policy", "list", (DELETE,), some_of(COMPACT, DELETE),
        "Removal of old records: delete segments, compact to the last of each key, both, neither.",
        _broker("log.cleanup.policy"),
    ),
    Definition(
        "compression.type", "string", "producer",
        one_of("uncompressed", *reversed(CODEC_NAMES[1:]), "producer"),
        "How batches are compressed in the log; producer keeps the producer's codec.",
        _broker("compression.type"),
    ),
    *(_level(CODEC_NAMES[each], codec.levels) for each, codec in CODECS.items() if codec.levels),
    Definition(
        "preallocate", "boolean", default=False, rule=ANY,
        doc="Whether a segment's file is preallocated in its full size.",
        synonyms=_broker("log.preallocate"),
    ),
    Definition(
        "message.timestamp.type", "string", "CreateTime", one_of("CreateTime", "LogAppendTime"),
        "Whether records keep the producer's timestamp or get that of the append.",
        _broker("log.message.timestamp.type"),
    ),
    Definition(
        "message.timestamp.before.max.ms", "long", INT64_MAX, at_least(0),
        "A record whose timestamp is further in the past is refused.",
        _broker("log.message.timestamp.before.max.ms"),
    ),
    Definition(
        "message.timestamp.after.max.ms", "long", HOUR, at_least(0),
        "A record whose timestamp is further in the future is refused.",
        _broker("log.message.timestamp.after.max.ms"),
    ),
    Definition(
        "internal.segment.bytes", "int", None, ANY,
        "Size of a segment in bytes, overrides segment.bytes; meant for a broker's tests.",
    ),
    Definition(
        "min.insync.replicas", "int", 1, at_least(1),
        "Replicas that must have a batch before a producer with acks=all gets its response.",
        _broker("min.insync.replicas"), is_used=False,
    ),
    Definition(
        "unclean.leader.election.enable", "boolean", default=False, rule=ANY,
        doc="Whether a replica that lacks records may become the leader.",
        synonyms=_broker("unclean.leader.election.enable"), is_used=False,
    ),
    Definition(
        "leader.replication.throttled.replicas", "list", (), THROTTLED_REPLICAS,
        "Replicas whose leaders are throttled.", is_used=False,
    ),
    Definition(
        "follower.replication.throttled.replicas", "list", (), THROTTLED_REPLICAS,
        "Replicas whose followers are throttled.", is_used=False,
    ),
    Definition(
        "remote.storage.enable", "boolean", default=False, rule=ANY,
        doc="Whether segments are copied to remote storage.",
    ),
    Definition(
        "local.retention.ms", "long", INHERITED, at_least(INHERITED),
        "retention.ms for local copies of segments in remote storage; -2 for the same.",
        _broker("log.local.retention.ms"),
    ),
    Definition(
        "local.retention.bytes", "long", INHERITED, at_least(INHERITED),
        "retention.bytes for local copies of segments in remote storage; -2 for the same.",
        _broker("log.local.retention.bytes"),
    ),
    Definition(
        "remote.log.copy.disable", "boolean", default=False, rule=ANY,
        doc="Whether copying segments to remote storage is stopped.",
    ),
    Definition(
        "remote.log.delete.on.disable", "boolean", default=False, rule=ANY,
        doc="Whether disabling remote storage deletes its segments.",
        is_used=False,
    ),
)  # fmt: skip

TOPIC_NAMES: Final[dict[str, Definition]] = {one.name: one for one in TOPIC_DEFINITIONS}
OWN_NAMES: Final = {synonym.name: one.name for one in TOPIC_DEFINITIONS for synonym in one.synonyms}
"""A broker's name for a topic's configuration → the topic's."""
