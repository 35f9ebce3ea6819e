"""Configurations given in one mapping: names of brokers and of topics, for all topics or for one.

`{"log.cleaner.threads": 2, "retention.ms": 1000, "orders:cleanup.policy": "compact"}` sets a name
of brokers, one of topics for all of them, and one for a single topic. Kafka keeps these apart; who
asks what would be, or tells what was, gives them together.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from workbench.errors import ConfigError
from workbench.files.names import TopicPartition
from workbench.log.broker_config import BROKER_NAMES, BrokerConfig
from workbench.log.broker_names import PLUGIN_PREFIXES
from workbench.log.config import LogConfig
from workbench.log.config_definitions import TOPIC_NAMES
from workbench.log.config_values import refuse_unknown
from workbench.log_manager.internal_topics import INTERNAL_TOPICS

GIVEN: Final = "given"
STORED: Final = "__cluster_metadata"
INTERNAL: Final = "as brokers keep this topic"
DEFAULT: Final = "Kafka's default"

Configs = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration of a broker and of its topics.

    Of one name that a topic has from several sides, what was given for the topic counts; then how
    brokers keep the topics that are their own; then what was given for all topics; then what was
    stored in the cluster's metadata; then the broker's default.

    Attributes:
        broker: what counts for all topics.
        topics: topic → what was given for it.
        everywhere: names of topics that were given for all of them.
        stored: topic → what the cluster's metadata tell.
    """

    broker: BrokerConfig
    topics: Configs = field(default_factory=dict)
    everywhere: Mapping[str, Any] = field(default_factory=dict)
    stored: Configs = field(default_factory=dict)

    @classmethod
    def of(cls, values: "Mapping[str, Any] | Settings | None") -> "Settings":
        """Return what a mapping of names to values means.

        Args:
            values: by Kafka's names; one of topics may have a topic and a colon before it.

        Raises:
            ConfigError: a name that Kafka does not know, or a value that it does not allow.
        """
        if isinstance(values, Settings):
            return values
        broker: dict[str, Any] = {}
        everywhere: dict[str, Any] = {}
        topics: dict[str, dict[str, Any]] = {}
        for name, value in (values or {}).items():
            topic, colon, topic_name = name.rpartition(":")
            if colon:
                topics.setdefault(topic, {})[topic_name] = value
            elif name in BROKER_NAMES or name.startswith(PLUGIN_PREFIXES):
                broker[name] = value
            elif name in TOPIC_NAMES:
                everywhere[name] = value
            else:
                raise refuse_unknown(name, {*BROKER_NAMES, *TOPIC_NAMES}, "broker or topic")
        config = BrokerConfig.of(broker)
        if everywhere:
            config = replace(config, topic=config.topic.with_(everywhere))
        for own in topics.values():
            config.topic_defaults().with_(own)
        return cls(config, topics, everywhere)

    def with_stored(self, topics: Configs) -> "Settings":
        """Return the same with what the cluster's metadata tell; what 4.2 does not know, aside."""
        known = {
            topic: {name: value for name, value in own.items() if _is_known(name, value)}
            for topic, own in topics.items()
        }
        return replace(self, stored=known)

    @property
    def topic_configs(self) -> dict[str, Mapping[str, Any]]:
        """What topics have of their own, as a log manager is given it."""
        names = {*INTERNAL_TOPICS, *self.stored, *self.topics}
        return {topic: self.own(topic) for topic in sorted(names)}

    def own(self, topic: str) -> dict[str, Any]:
        """Return what a topic sets that its broker does not."""
        found = dict(self.stored.get(topic, {}))
        for name, value in self.everywhere.items():
            if name in found:
                found[name] = value
        return {**found, **INTERNAL_TOPICS.get(topic, {}), **self.topics.get(topic, {})}

    def config_of(self, topic: str) -> LogConfig:
        """Return the configuration of a topic."""
        return self.broker.topic_defaults().with_(self.own(topic))

    def knows(self, topic: str, name: str) -> bool:
        """Whether a topic's configuration is told, be it only by the metadata not naming it."""
        return topic in self.stored or self.source(topic, name) != DEFAULT

    def is_compacted(
        self, topic_partition: TopicPartition, cleaner_offsets: Container[TopicPartition]
    ) -> bool:
        """Whether the cleaner works on a log, as far as is known.

        Args:
            topic_partition: whose log it is.
            cleaner_offsets: the cleaner's checkpoint. Where no configuration tells, it does: only
                compacted logs are in it.
        """
        if self.knows(topic_partition.topic, "cleanup.policy"):
            return self.config_of(topic_partition.topic).compact
        return topic_partition in cleaner_offsets

    def source(self, topic: str, name: str) -> str:
        """Return where the value of a topic's configuration is from, in words."""
        if name in self.topics.get(topic, {}):
            return GIVEN
        if name in INTERNAL_TOPICS.get(topic, {}):
            return INTERNAL
        if name in self.everywhere:
            return GIVEN
        if name in self.stored.get(topic, {}):
            return STORED
        return self.broker.topic.origins.get(name, DEFAULT)


def _is_known(name: str, value: Any) -> bool:
    try:
        LogConfig.of({name: value})
    except ConfigError:
        return False
    return True
