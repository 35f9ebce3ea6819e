"""Every configuration of a broker and of groups, as admin clients see them, and their synonyms.

Kafka: KafkaConfig, DynamicBrokerConfig.brokerConfigSynonyms, GroupConfig, ClientMetricsConfigs
(4.2)
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from workbench.config.broker_config import BROKER_DEFINITIONS
from workbench.config.broker_names import HIDDEN_NAMES, OTHER_CONFIGS
from workbench.config.definitions import TOPIC_DEFINITIONS, Definition, Synonym
from workbench.config.values import text_of

_UNUSED: Final = "A configuration of Kafka that the workbench does not use."


class ServerConfig(NamedTuple):
    """A configuration that is not a topic's.

    Attributes:
        kind: Kafka's type of its values: "int", "password", …
        default: as a broker shows it; None: it has none.
        doc: its meaning in one sentence.
    """

    kind: str
    default: str | None
    doc: str = _UNUSED


def _of_topics(one: Definition, synonym: Synonym) -> ServerConfig:
    """Return a broker's default for its topics; of several names, the last has it."""
    has_default = synonym is one.synonyms[-1]
    default = one.default
    if isinstance(default, int) and not isinstance(default, bool):
        default //= synonym.unit
    return ServerConfig(
        synonym.kind or one.kind, text_of(default) if has_default else None, one.doc
    )


BROKER_CONFIGS: Final[Mapping[str, ServerConfig]] = {
    **{
        synonym.name: _of_topics(one, synonym)
        for one in TOPIC_DEFINITIONS
        for synonym in one.synonyms
    },
    **{
        one.name: ServerConfig(one.kind, text_of(one.default), one.doc)
        for one in BROKER_DEFINITIONS
        if one.name not in HIDDEN_NAMES
    },
    **{name: ServerConfig(*other) for name, other in OTHER_CONFIGS.items()},
}
"""Name → a configuration of a broker, of those that it shows."""

_OF_GROUPS: Final = (
    "consumer.heartbeat.interval.ms", "consumer.session.timeout.ms",
    "share.heartbeat.interval.ms", "share.record.lock.duration.ms", "share.session.timeout.ms",
    "streams.heartbeat.interval.ms", "streams.initial.rebalance.delay.ms",
    "streams.num.standby.replicas", "streams.session.timeout.ms",
)  # fmt: skip
GROUP_CONFIGS: Final[Mapping[str, ServerConfig]] = {
    **{name: BROKER_CONFIGS[f"group.{name}"] for name in _OF_GROUPS},
    "share.auto.offset.reset": ServerConfig("string", "latest"),
    "share.isolation.level": ServerConfig("string", "read_uncommitted"),
}
"""Name → a configuration of a group; `_OF_GROUPS` have a broker's value after `group.`."""

METRICS_CONFIGS: Final[Mapping[str, ServerConfig]] = {
    "interval.ms": ServerConfig("int", "300000"),
    "match": ServerConfig("list", ""),
    "metrics": ServerConfig("list", ""),
}
"""Name → a configuration of a client metrics subscription."""

_SYNONYMS: Final = {
    name: names
    for names in (
        ("log.roll.ms", "log.roll.hours"),
        ("log.roll.jitter.ms", "log.roll.jitter.hours"),
        ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    )
    for name in names
} | {"log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")}


def synonyms_of(name: str) -> tuple[str, ...]:
    """Return the names of which the first that is set decides about a broker's configuration."""
    return _SYNONYMS.get(name, (name,))


def is_sensitive(name: str) -> bool:
    """Return whether a broker hides the value of its configuration from everyone.

    Passwords are, those of one listener too, and whatever Kafka does not know, such as a plugin's.

    Kafka: KafkaConfig.maybeSensitive, configType (4.2)
    """
    if name.startswith(_OF_LISTENER):  # listener.name.NAME.[MECHANISM.]NAME OF A CONFIGURATION
        parts = name.split(".")
        found = (BROKER_CONFIGS.get(".".join(parts[at:])) for at in range(3, len(parts)))
        config = next((each for each in found if each is not None), None)
    else:
        config = BROKER_CONFIGS.get(name)
    if config is None:
        return name not in _THROTTLES
    return config.kind == "password"


_OF_LISTENER: Final = "listener.name."
_THROTTLES: Final = frozenset({
    "follower.replication.throttled.rate", "leader.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
})  # fmt: skip
"""Kafka: QuotaConfig.brokerQuotaConfigs (4.2)"""
