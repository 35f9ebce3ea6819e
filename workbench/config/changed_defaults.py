"""Configurations whose default changed between versions: older brokers follow the older default.

Read from the `KafkaConfig` of 16 versions from 0.8.2.2 to 4.3.1, the last before and the first
after each change among them.
"""

from typing import Final, NamedTuple

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
    "unclean.leader.election.enable": ChangedDefault("0.11", "true", "false"),
}
"""Name → the change; the configurations of logs, and those that decide what a log loses."""


INTRODUCED: Final = {
    "compression.gzip.level": "3.8",
    "compression.lz4.level": "3.8",
    "compression.type": "0.9",
    "compression.zstd.level": "3.8",
    "local.retention.bytes": "3.0",
    "local.retention.ms": "3.0",
    "log.initial.task.delay.ms": "3.8",
    "max.compaction.lag.ms": "2.3",
    "message.timestamp.after.max.ms": "3.6",
    "message.timestamp.before.max.ms": "3.6",
    "message.timestamp.type": "0.10",
    "min.compaction.lag.ms": "0.10.1",
    "preallocate": "0.9",
    "remote.log.copy.disable": "3.9",
    "remote.log.delete.on.disable": "3.9",
    "remote.storage.enable": "3.0",
}
"""Name of a configuration, a topic's own where it has one → the version that introduced it."""


def has_config(name: str, version: str) -> bool:
    """Return whether a version has a configuration; True of those that are in no table."""
    since = INTRODUCED.get(name)
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
