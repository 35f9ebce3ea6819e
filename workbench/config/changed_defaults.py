"""Configurations whose default changed between versions: older brokers follow the older default.

Read from the `KafkaConfig` of 16 versions from 0.8.2.2 to 4.3.1, the last before and the first
after each change among them; the names in `INTRODUCED` from all series, 0.8.2 to 4.4.
"""

from typing import Final, NamedTuple

from workbench.config.definitions import OWN_NAMES
from workbench.config.kafka_versions import first_of, number_of


class ChangedDefault(NamedTuple):
    """A default that changed once.

    Attributes:
        version: the first with the new default.
        before: the default of earlier versions, as Kafka writes it.
        since: the default from that version on.
    """

    version: str
    before: str
    since: str


_MESSAGE_SIZE: Final = ChangedDefault("2.5", "1000012", "1048588")
_TIME_AFTER: Final = ChangedDefault("4.0", "9223372036854775807", "3600000")

CHANGED_DEFAULTS: Final = {
    "delete.topic.enable": ChangedDefault("1.0", "false", "true"),
    "log.cleaner.dedupe.buffer.size": ChangedDefault("0.9", "524288000", "134217728"),
    "log.cleaner.enable": ChangedDefault("0.9", "false", "true"),
    "log.message.timestamp.after.max.ms": _TIME_AFTER,
    "max.message.bytes": _MESSAGE_SIZE,
    "message.max.bytes": _MESSAGE_SIZE,
    "message.timestamp.after.max.ms": _TIME_AFTER,
    "num.recovery.threads.per.data.dir": ChangedDefault("4.0", "1", "2"),
    "offsets.retention.minutes": ChangedDefault("2.0", "1440", "10080"),
    "replica.lag.time.max.ms": ChangedDefault("2.5", "10000", "30000"),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": ChangedDefault(
        "2.5", "60000", "10000"
    ),
    "unclean.leader.election.enable": ChangedDefault("0.11", "true", "false"),
}
"""Name → the change; the configurations of logs, and those that decide what a log loses."""


INTRODUCED: Final = {
    "compression.gzip.level": "3.8",
    "compression.lz4.level": "3.8",
    "compression.type": "0.9",
    "compression.zstd.level": "3.8",
    "follower.replication.throttled.replicas": "0.10.1",
    "group.consumer.heartbeat.interval.ms": "3.5",
    "group.consumer.max.size": "3.5",
    "group.consumer.session.timeout.ms": "3.5",
    "group.initial.rebalance.delay.ms": "0.11",
    "group.max.session.timeout.ms": "0.9",
    "group.max.size": "2.2",
    "group.min.session.timeout.ms": "0.9",
    "internal.segment.bytes": "4.1",
    "leader.replication.throttled.replicas": "0.10.1",
    "local.retention.bytes": "3.0",
    "local.retention.ms": "3.0",
    "log.dir.failure.timeout.ms": "3.8",
    "log.flush.start.offset.checkpoint.interval.ms": "0.11",
    "log.initial.task.delay.ms": "3.8",
    "log.local.retention.bytes": "3.6",
    "log.local.retention.ms": "3.6",
    "max.compaction.lag.ms": "2.3",
    "message.timestamp.after.max.ms": "3.6",
    "message.timestamp.before.max.ms": "3.6",
    "message.timestamp.type": "0.10",
    "metadata.log.dir": "2.8",
    "min.compaction.lag.ms": "0.10.1",
    "preallocate": "0.9",
    "producer.id.expiration.check.interval.ms": "3.4",
    "producer.id.expiration.ms": "3.4",
    "remote.log.copy.disable": "3.9",
    "remote.log.delete.on.disable": "3.9",
    "remote.log.storage.system.enable": "3.0",
    "remote.storage.enable": "3.0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "0.11",
    "transaction.max.timeout.ms": "0.11",
    "transaction.partition.verification.enable": "3.6",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "0.11",
    "transaction.state.log.load.buffer.size": "0.11",
    "transaction.state.log.num.partitions": "0.11",
    "transaction.state.log.segment.bytes": "0.11",
    "transaction.two.phase.commit.enable": "4.1",
    "transactional.id.expiration.ms": "0.11",
}
"""Name → the version that introduced it, of what the workbench uses and 0.8.2 does not have.

A broker's name for a topic's configuration is here if it came later than the topic's own.
"""


def introduced_in(name: str) -> str | None:
    """Return the version that introduced a configuration; None of those that are in no table."""
    return INTRODUCED.get(name) or INTRODUCED.get(OWN_NAMES.get(name, name))


def has_config(name: str, version: str) -> bool:
    """Return whether a version has a configuration; True of those that are in no table."""
    since = introduced_in(name)
    return since is None or number_of(version) >= first_of(since)


def defaults_before(version: str) -> dict[str, str]:
    """Return name → default of the configurations that had another default in a version."""
    at = number_of(version)
    return {
        name: changed.before
        for name, changed in CHANGED_DEFAULTS.items()
        if at < first_of(changed.version)
    }


def with_default_note(name: str, value: object) -> str:
    """Return ``value``, and if it is the default and was not always: since when, and what before.

    ``1048588 (the default since 2.5, before 1000012)``
    """
    changed = CHANGED_DEFAULTS.get(name)
    if changed is None or str(value) != changed.since:
        return str(value)
    return f"{value} (the default since {changed.version}, before {changed.before})"
