"""The option `--set`: a broker's or topic's configuration, by Kafka's names."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from workbench.log.broker_config import BrokerConfig
from workbench.log_manager.settings import Settings

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
    """Return what the values of `--set` mean for the broker, and for topics by themselves.

    A name of topics counts for every topic, as the broker's name for it does. Of names that both
    have, that of topics counts.

    Raises:
        BadParameter: a value is not of the form name=value.
        ConfigError: a name that Kafka does not know, or a value that it does not allow.
    """
    found = Settings.of(named_values(settings))
    return found.broker, {topic: dict(own) for topic, own in found.topics.items()}


def named_values(settings: tuple[str, ...]) -> dict[str, str]:
    """Return the values of `--set` by their names; of one name the last.

    Raises:
        BadParameter: a value is not of the form name=value.
    """
    found = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise click.BadParameter(f"{setting!r} is not of the form NAME=VALUE")
        found[name] = value
    return found
