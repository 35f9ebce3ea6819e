"""The configurations of a Kafka consumer by name, which Spark's Kafka source takes as ``kafka.*``.

They are without effect here but for the isolation level. A name that nearly is one is a slip.

Kafka: ConsumerConfig, SecurityConfig, SaslConfigs, SslConfigs (4.2)
"""

from collections.abc import Iterable
from typing import Final

from workbench.config.broker_config import BROKER_NAMES
from workbench.config.broker_names import OTHER_BROKER_NAMES
from workbench.runtime.words import did_you_mean

PREFIX: Final = "kafka."
_NEAR: Final = 0.85
_NAMES: Final = """
    allow.auto.create.topics auto.commit.interval.ms auto.include.jmx.reporter auto.offset.reset
    bootstrap.servers check.crcs client.dns.lookup client.id client.rack config.providers
    connections.max.idle.ms default.api.timeout.ms enable.auto.commit enable.metrics.push
    exclude.internal.topics fetch.max.bytes fetch.max.wait.ms fetch.min.bytes group.id
    group.instance.id group.protocol group.remote.assignor heartbeat.interval.ms
    interceptor.classes isolation.level key.deserializer max.partition.fetch.bytes
    max.poll.interval.ms max.poll.records metadata.max.age.ms
    metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy metric.reporters
    metrics.num.samples metrics.recording.level metrics.sample.window.ms
    partition.assignment.strategy receive.buffer.bytes reconnect.backoff.max.ms
    reconnect.backoff.ms request.timeout.ms retry.backoff.max.ms retry.backoff.ms
    sasl.jaas.config sasl.mechanism security.protocol security.providers send.buffer.bytes
    session.timeout.ms socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
    value.deserializer
"""

_SECURITY: Final = ("ssl.", "sasl.")
CONSUMER_NAMES: Final = frozenset(_NAMES.split()) | {
    name for name in {*BROKER_NAMES, *OTHER_BROKER_NAMES} if name.startswith(_SECURITY)
}


def refuse_slips(options: Iterable[str]) -> None:
    """Refuse options that nearly have the name of a consumer's configuration.

    Args:
        options: names in small letters. Other names are those of plugins.

    Raises:
        ValueError: one of them does.
    """
    for option in options:
        name = option.removeprefix(PREFIX)
        if not option.startswith(PREFIX) or name in CONSUMER_NAMES:
            continue
        hint = did_you_mean(option, (PREFIX + known for known in CONSUMER_NAMES), _NEAR)
        if hint:
            raise ValueError(f"unknown option {option!r} of kafka-log{hint}")
