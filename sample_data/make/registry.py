"""Values as the serializers of schema registries write them, and the schemas in `_schemas`."""

from pathlib import Path

from client import Client
from eras import BROKER_SETTINGS

from tests.kafka_broker import Broker
from tests.values.registry_shop import TOPICS, write_registry_shop

VERSION = "4.3.1"


def make_registry(working: Path) -> Path:
    """Let confluent-kafka's serializers write to a broker; return the log directory."""
    broker = Broker(VERSION, working, BROKER_SETTINGS | {"metadata.max.idle.interval.ms": "0"})
    with broker:
        with Client(broker) as client:
            for topic in TOPICS:
                client.call("topic", topic, 1, settings={})
        write_registry_shop(broker.bootstrap)
    return broker.data
