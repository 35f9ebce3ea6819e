"""The options `--set`, a configuration by Kafka's names, and `--kafka`, the broker's version."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from workbench.cli.command import read_time
from workbench.cli.output import say
from workbench.config.broker_config import BROKER_NAMES
from workbench.config.broker_rules import About, limits
from workbench.config.definitions import TOPIC_NAMES
from workbench.config.settings import Settings, parse_values
from workbench.errors import ConfigError, NotRegularFileError
from workbench.file_system.source import read_small
from workbench.foresight.dry_listing import meant_settings
from workbench.inspection.broker_version import MeantBroker
from workbench.inspection.listing import Listing

_LONGEST_FILE: Final = 1 << 20  # bytes

Function = TypeVar("Function", bound=Callable[..., Any])

takes_settings: Final = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="[TOPIC:]NAME=VALUE",
    help="Set a configuration of the broker, of all topics, or of TOPIC; a duration may be 7d or "
    "12h. Default: the value in __cluster_metadata in the same directory, otherwise Kafka's "
    "default.",
)


takes_kafka: Final = click.option(
    "--kafka",
    metavar="VERSION",
    help="What a broker of this version would do: 0.8.2 to 4.4. Default: the newest version that "
    "the directory shows; the first line says which, and why.",
)


_START: Final = (
    click.option("--node-id", type=int, help="The node's id; default: that of meta.properties."),
    click.option(
        "--now", metavar="TIME", callback=read_time,
        help="A start at this time: ISO 8601, or ms since the epoch; default: this machine's. "
        "Producers expire by it.",
    ),
)  # fmt: skip


def takes_start(function: Function) -> Function:
    """Add what says which broker starts, with which configuration, and when."""
    for option in reversed((takes_settings, takes_kafka, *_START)):
        function = option(function)
    return function


def settings_for(listing: Listing, settings: tuple[str, ...]) -> Settings:
    """Return the settings of `--set`, for the broker that the listing shows; see `meant_for`."""
    return meant_for(listing, settings)[1]


def meant_for(
    listing: Listing, settings: tuple[str, ...], kafka: str | None = None
) -> tuple[MeantBroker, Settings]:
    """Return the broker of `--kafka`, and the settings of `--set` on top of the metadata log's.

    A topic's configuration applies to every topic, as the broker's synonym does. A name that both
    have is the topic's.

    Raises:
        BadParameter: a value is not of the form name=value.
        ConfigError: a name that Kafka does not know, or a value that it does not allow; or the
            version is unknown.
    """
    return meant_settings(listing, named_values(settings), kafka)


def say_meant(meant: MeantBroker, *about: About) -> None:
    """Print which broker is assumed and why, and what of it is not modeled, where it matters."""
    say(str(meant))
    for sentence in limits(meant.rules, *about) if about else ():
        say(f"Not modeled: {sentence}.")


def named_values(settings: tuple[str, ...]) -> dict[str, str]:
    """Return the values of `--set` by their names; the last value of a name applies.

    Raises:
        BadParameter: a value is not of the form name=value.
    """
    try:
        return parse_values(settings)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from None


def values_of_file(path: str) -> tuple[dict[str, str], list[str]]:
    """Return the values of a file by their names, and the names that are not used here.

    Args:
        path: lines ``[TOPIC:]NAME=VALUE``, as `--set` takes them; `server.properties` is such a
            file. Blank lines, and those that begin with # or !, are comments.

    Raises:
        BadParameter: the file cannot be read, is longer than 1 MiB, or has another line.
    """
    try:
        data = read_small(path, _LONGEST_FILE)
    except NotRegularFileError as error:
        raise click.BadParameter(str(error)) from None
    except OSError as error:
        raise click.BadParameter(f"{path}: {error.strerror}") from None
    lines = map(str.strip, data.decode("latin-1").splitlines())
    values = named_values(tuple(each for each in lines if each and each[0] not in "#!"))
    known = {*BROKER_NAMES, *TOPIC_NAMES}
    unused = [name for name in values if ":" not in name and name not in known]
    return {name: value for name, value in values.items() if name not in unused}, unused
