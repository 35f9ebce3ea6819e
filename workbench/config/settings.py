"""Configurations in one mapping: names of brokers and of topics, for all topics or for one.

`{"log.cleaner.threads": 2, "retention.ms": 1000, "orders:cleanup.policy": "compact"}` sets a
broker's configuration, one of all topics, and one of a single topic. Kafka keeps these apart;
callers that predict or explain give them together.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from workbench.config.broker_config import BROKER_NAMES, BrokerConfig
from workbench.config.broker_names import PLUGIN_PREFIXES
from workbench.config.definitions import TOPIC_NAMES
from workbench.config.internal_topics import INTERNAL_TOPICS
from workbench.config.log_config import LogConfig
from workbench.config.values import refuse_unknown
from workbench.errors import ConfigError
from workbench.files.names import TopicPartition

GIVEN: Final = "given"
STORED: Final = "__cluster_metadata"
INTERNAL: Final = "a broker's configuration of this internal topic"
DEFAULT: Final = "Kafka's default"

Configs = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration of a broker and of its topics.

    If a topic gets one name from several sources, the value given for the topic takes precedence;
    then a broker's configuration of its internal topics; then the value given for all topics; then
    the one stored in the cluster's metadata; then the broker's default.

    Attributes:
        broker: the configuration for all topics.
        topics: topic → configuration given for it.
        everywhere: topic configuration given for all topics.
        stored: topic → configuration in the cluster's metadata.
    """

    broker: BrokerConfig
    topics: Configs = field(default_factory=dict)
    everywhere: Mapping[str, Any] = field(default_factory=dict)
    stored: Configs = field(default_factory=dict)

    @classmethod
    def of(cls, values: "Mapping[str, Any] | Settings | None") -> "Settings":
        """Return the settings that a mapping of names to values means.

        Args:
            values: values by Kafka's names; a topic's may have the topic and a colon before it.

        Raises:
            ConfigError: a name is unknown to Kafka, or a value is not allowed.
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
        """Return a copy with the cluster metadata's configurations that 4.2 accepts."""
        known = {
            topic: {name: value for name, value in own.items() if _is_known(name, value)}
            for topic, own in topics.items()
        }
        return replace(self, stored=known)

    @property
    def topic_configs(self) -> dict[str, Mapping[str, Any]]:
        """The topics' own configurations, in the form that a log manager takes."""
        names = {*INTERNAL_TOPICS, *self.stored, *self.topics}
        return {topic: self.own(topic) for topic in sorted(names)}

    def own(self, topic: str) -> dict[str, Any]:
        """Return the values that a topic sets itself."""
        found = dict(self.stored.get(topic, {}))
        for name, value in self.everywhere.items():
            if name in found:
                found[name] = value
        return {**found, **INTERNAL_TOPICS.get(topic, {}), **self.topics.get(topic, {})}

    def config_of(self, topic: str) -> LogConfig:
        """Return the configuration of a topic."""
        return self.broker.topic_defaults().with_(self.own(topic))

    def knows(self, topic: str, name: str) -> bool:
        """Whether a topic's configuration is known, even if only because the metadata omit it."""
        return topic in self.stored or self.source(topic, name) != DEFAULT

    def is_compacted(
        self, topic_partition: TopicPartition, cleaner_offsets: Container[TopicPartition]
    ) -> bool:
        """Whether the cleaner works on a log, as far as is known.

        Args:
            topic_partition: the log's partition.
            cleaner_offsets: the cleaner's checkpoint. It decides if no configuration is known: only
                compacted logs are in it.
        """
        if self.knows(topic_partition.topic, "cleanup.policy"):
            return self.config_of(topic_partition.topic).compact
        return topic_partition in cleaner_offsets

    def source(self, topic: str, name: str) -> str:
        """Return the origin of the value of a topic's configuration, in words."""
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
