"""The option `--set`: a broker's or topic's configuration, by Kafka's names."""

import dataclasses
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from workbench.log.broker_config import BROKER_NAMES, BrokerConfig
from workbench.log.broker_names import PLUGIN_PREFIXES
from workbench.log.config_definitions import TOPIC_NAMES
from workbench.log.config_values import refuse_unknown

Function = TypeVar("Function", bound=Callable[..., Any])
TopicConfigs = dict[str, dict[str, Any]]

takes_settings: Final = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="[TOPIC:]NAME=VALUE",
    help="Configure as the broker was: its names, or those of topics, for all or for one topic.",
)


def read_settings(settings: tuple[str, ...]) -> tuple[BrokerConfig, TopicConfigs]:
    """Return what the values of `--set` mean.

    A name of topics counts for every topic, as the broker's name for it does. Of names that both
    have, that of topics counts.

    Raises:
        BadParameter: a value is not of the form name=value.
        ConfigError: a name that Kafka does not know, or a value that it does not allow.
    """
    broker: dict[str, str] = {}
    defaults: dict[str, str] = {}
    topics: TopicConfigs = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise click.BadParameter(f"{setting!r} is not of the form NAME=VALUE")
        topic, colon, topic_name = name.rpartition(":")
        if colon:
            topics.setdefault(topic, {})[topic_name] = value
        elif name in BROKER_NAMES or name.startswith(PLUGIN_PREFIXES):
            broker[name] = value
        elif name in TOPIC_NAMES:
            defaults[name] = value
        else:
            raise refuse_unknown(name, {*BROKER_NAMES, *TOPIC_NAMES}, "broker or topic")
    config = BrokerConfig.of(broker)
    if defaults:
        config = dataclasses.replace(config, topic=config.topic.with_(defaults))
    for own in topics.values():
        config.topic_defaults().with_(own)
    return config, topics
