"""The option `--set`: a broker's or topic's configuration, by Kafka's names."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from workbench.inspection.listing import Listing
from workbench.loaders.dry_listing import settings_of
from workbench.log_manager.settings import Settings

Function = TypeVar("Function", bound=Callable[..., Any])

takes_settings: Final = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="[TOPIC:]NAME=VALUE",
    help="Configure as the broker was: its names, or those of topics, for all or for one topic. "
    "What is not set is as __cluster_metadata in the same directory tells, or Kafka's default.",
)


def settings_for(listing: Listing, settings: tuple[str, ...]) -> Settings:
    """Return what `--set` means, on top of what the metadata among the partitions tell.

    A name of topics counts for every topic, as the broker's name for it does. Of names that both
    have, that of topics counts.

    Raises:
        BadParameter: a value is not of the form name=value.
        ConfigError: a name that Kafka does not know, or a value that it does not allow.
    """
    return settings_of(listing, named_values(settings))


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
