"""What the commands that change a log directory, or a copy of it, have in common."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from workbench.cli.progress import progress
from workbench.log_manager.loading import LoadProgress, Progress

Function = TypeVar("Function", bound=Callable[..., Any])


def takes_target(function: Function) -> Function:
    """Add --to and --in-place."""
    function = click.option(
        "--in-place", is_flag=True, help="Change DIR itself; there is no way back."
    )(function)
    return click.option(
        "--to", "target", metavar="OUT", type=click.Path(), help="Where the copy goes."
    )(function)


def chosen_target(path: str, target: str | None, *, in_place: bool) -> str:
    """Return the path of the directory to be changed.

    Raises:
        UsageError: neither a copy nor the directory itself was asked for, or both.
    """
    if (target is None) != in_place:
        raise click.UsageError("either --to OUT or --in-place, to say what is to be changed")
    return path if target is None else target


def folder_count(path: str) -> int:
    """Return how many folders a directory has, to show how far loading is.

    Raises:
        OSError: it cannot be listed.
    """
    with os.scandir(path) as entries:
        return sum(entry.is_dir() for entry in entries)


@contextmanager
def loading(title: str, total: int) -> Iterator[Progress]:
    """Show how many logs of so many are loaded; give who is to be told of each."""
    with progress(title, total, unit="logs") as meter:

        def advance(_: LoadProgress) -> None:
            meter.advance(1)

        yield advance
