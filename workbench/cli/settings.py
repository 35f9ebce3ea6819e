"""The option `--set`: a broker's or topic's configuration, by Kafka's names."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from workbench.config.settings import Settings
from workbench.foresight.dry_listing import settings_of
from workbench.inspection.listing import Listing

Function = TypeVar("Function", bound=Callable[..., Any])

takes_settings: Final = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="[TOPIC:]NAME=VALUE",
    help="Set a configuration of the broker, of all topics, or of TOPIC. Default: the value in "
    "__cluster_metadata in the same directory, otherwise Kafka's default.",
)


def settings_for(listing: Listing, settings: tuple[str, ...]) -> Settings:
    """Return the settings of `--set`, on top of those in the listing's metadata log.

    A topic's configuration applies to every topic, as the broker's synonym does. A name that both
    have is the topic's.

    Raises:
        BadParameter: a value is not of the form name=value.
        ConfigError: a name that Kafka does not know, or a value that it does not allow.
    """
    return settings_of(listing, named_values(settings))


def named_values(settings: tuple[str, ...]) -> dict[str, str]:
    """Return the values of `--set` by their names; the last value of a name applies.

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
