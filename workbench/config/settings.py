"""Configurations in one mapping: names of brokers and of topics, for all topics or for one.

`{"log.cleaner.threads": 2, "retention.ms": 1000, "orders:cleanup.policy": "compact"}` sets a
broker's configuration, one of all topics, and one of a single topic. Kafka keeps these apart;
callers that predict or explain give them together.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from workbench.config.broker_config import BROKER_NAMES, BrokerConfig
from workbench.config.broker_names import PLUGIN_PREFIXES
from workbench.config.broker_rules import MODELED_RULES, BrokerRules
from workbench.config.changed_defaults import defaults_before, has_config, introduced_in
from workbench.config.definitions import TOPIC_NAMES
from workbench.config.internal_topics import INTERNAL_TOPICS, METADATA_TOPIC
from workbench.config.kafka_versions import first_of, number_of
from workbench.config.log_config import LogConfig, check, too_small
from workbench.config.removed_configs import removed_in
from workbench.config.values import refuse_unknown
from workbench.errors import ConfigError
from workbench.files.names import TopicPartition
from workbench.runtime.times import duration

GIVEN: Final = "given"
STORED: Final = METADATA_TOPIC
INTERNAL: Final = "a broker's configuration of this internal topic"
DEFAULT: Final = "Kafka's default"
_TIERED: Final = "remote.storage.enable"
INTERNAL_SIZE: Final = "internal.segment.bytes"

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
        rules: how brokers of the version that is assumed behave.
    """

    broker: BrokerConfig
    topics: Configs = field(default_factory=dict)
    everywhere: Mapping[str, Any] = field(default_factory=dict)
    stored: Configs = field(default_factory=dict)
    rules: BrokerRules = MODELED_RULES
    _made: dict[str, LogConfig] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(
        cls, values: "Mapping[str, Any] | Settings | None", rules: BrokerRules | None = None
    ) -> "Settings":
        """Return the settings that a mapping of names to values means.

        Args:
            values: values by Kafka's names; a topic's may have the topic and a colon before it.
                A duration may have a unit: ``7d``, ``12h``, ``30m``, ``10s``, ``500ms``.
            rules: of the version that is assumed: other values have its defaults, and names and
                values that it does not have are refused; what a later one removed is ignored.
                None: those of `MODELED_RULES`, with every value that the engine can take.

        Raises:
            ConfigError: a name is unknown to Kafka, or a value is not allowed.
        """
        if isinstance(values, Settings):
            return values
        broker: dict[str, Any] = {}
        everywhere: dict[str, Any] = {}
        topics: dict[str, dict[str, Any]] = {}
        for name, given in (values or {}).items():
            topic, colon, topic_name = name.rpartition(":")
            value = duration(topic_name, given)
            is_known = name in BROKER_NAMES or topic_name in TOPIC_NAMES
            if not is_known and rules is not None and _had(rules, topic_name):
                continue  # the engine does not use it
            if colon:
                topics.setdefault(topic, {})[topic_name] = value
            elif name in BROKER_NAMES or name.startswith(PLUGIN_PREFIXES):
                broker[name] = value
            elif name in TOPIC_NAMES:
                everywhere[name] = value
            else:
                raise refuse_unknown(name, {*BROKER_NAMES, *TOPIC_NAMES}, "broker or topic")
        if rules is not None:
            refuse_later(rules, [broker, everywhere, *topics.values()])
        config = broker_config_of(broker, rules or MODELED_RULES)
        if everywhere:
            config = replace(config, topic=config.topic.with_(everywhere))
        for own in topics.values():
            config.topic_defaults().with_(own)
        return cls(config, topics, everywhere, rules=rules or MODELED_RULES)

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
        """Return the values that a topic sets itself; not of a tier that the broker has not."""
        found = self._own(topic)
        if _TIERED in found and self.has_lost_tier(topic):
            del found[_TIERED]
        return found

    def _own(self, topic: str) -> dict[str, Any]:
        found = dict(self.stored.get(topic, {}))
        for name, value in self.everywhere.items():
            if name in found:
                found[name] = value
        return {**found, **INTERNAL_TOPICS.get(topic, {}), **self.topics.get(topic, {})}

    @property
    def is_tier_given(self) -> bool:
        """Whether it was said if the broker has a remote tier; if not, topics that have one do."""
        return "remote.log.storage.system.enable" in self.broker.origins

    def has_lost_tier(self, topic: str) -> bool:
        """Whether a topic has a remote tier, and the broker was said to have none.

        Such a broker treats the topic as one that is only on its disks.
        """
        if not self.is_tier_given or self.broker.remote_log_storage_system_enable:
            return False
        return check(TOPIC_NAMES[_TIERED], self._own(topic).get(_TIERED, False)) is True

    def config_of(self, topic: str) -> LogConfig:
        """Return the configuration of a topic."""
        made = self._made.get(topic)
        if made is None:
            made = self._made[topic] = self.broker.topic_defaults().with_(self.own(topic))
        return made

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
        """Return the origin of the value of a topic's configuration, as text."""
        if name in self.topics.get(topic, {}):
            return GIVEN
        if name in INTERNAL_TOPICS.get(topic, {}):
            return INTERNAL
        if name in self.everywhere:
            return GIVEN
        if name in self.stored.get(topic, {}):
            return STORED
        return self.broker.topic.origins.get(name, DEFAULT)


def parse_values(texts: Iterable[str]) -> dict[str, str]:
    """Return values by their names from texts ``NAME=VALUE``; the last value of a name applies.

    Raises:
        ConfigError: a text is not of this form.
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(text.strip(), "it is not of the form NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def broker_config_of(values: BrokerConfig | Mapping[str, Any], rules: BrokerRules) -> BrokerConfig:
    """Return a broker's configuration, with the defaults of its version.

    Args:
        values: values by the names of server.properties; a complete configuration is kept.
        rules: those of the version.

    Raises:
        ConfigError: see `BrokerConfig.of`.
    """
    if isinstance(values, BrokerConfig):
        return values
    old = {name: value for name, value in defaults_before(rules.version).items()
           if name in BROKER_NAMES and not _is_set(name, values)}  # fmt: skip
    config = BrokerConfig.of({**old, **values})
    topic = config.topic
    origins = {name: origin for name, origin in topic.origins.items() if origin not in old}
    own = {name: origin for name, origin in config.origins.items() if name not in old}
    return replace(config, topic=replace(topic, origins=origins), origins=own)


def _is_set(name: str, values: Mapping[str, Any]) -> bool:
    return values.get(name) is not None


def refuse_later(rules: BrokerRules, given: Iterable[Mapping[str, Any]]) -> None:
    """Refuse what a version does not have: configurations that came later, and too small segments.

    Raises:
        ConfigError: a name or value is not one of the version.
    """
    for name, value in (item for values in given for item in values.items()):
        problem = not_in_version(name, value, rules)
        if problem:
            raise ConfigError(name, problem)


def not_in_version(name: str, value: Any, rules: BrokerRules) -> str:
    """Return why a version does not have a configuration, or does not allow its value; or ""."""
    version = rules.version
    if not has_config(name, version):
        first = introduced_in(name)
        return f"Kafka {version} does not have it; {first} introduced it (--kafka, kafka= name it)"
    problem = too_small(name, value, rules)
    if problem and name in TOPIC_NAMES and has_config(INTERNAL_SIZE, version):
        problem += f"; set {INTERNAL_SIZE}"
    return problem


def _had(rules: BrokerRules, name: str) -> bool:
    """Whether a configuration was removed after a version."""
    removed = removed_in(name)
    return removed is not None and number_of(rules.version) < first_of(removed)


def _is_known(name: str, value: Any) -> bool:
    try:
        check(TOPIC_NAMES[name], value)
    except (KeyError, ConfigError):
        return False
    return True
