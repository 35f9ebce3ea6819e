"""The options that show keys, values and headers, or only their sizes."""

from typing import Final

import click

from workbench.values.hiding import VALUES, shown_by_default


def _chosen(_context: click.Context, _option: click.Parameter, given: bool | None) -> bool:
    """Return whether values are shown: as the options say, otherwise as the environment does.

    Raises:
        BadParameter: the environment has another word.
    """
    if given is not None:
        return given
    try:
        return shown_by_default()
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


takes_values: Final = click.option(
    "--show-values/--hide-values",
    default=None,
    callback=_chosen,
    help=f"Show keys, values and headers (the default), or only their sizes; {VALUES}=hidden hides "
    "them unless --show-values is given.",
)
