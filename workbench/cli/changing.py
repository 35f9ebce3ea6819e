"""Options and steps shared by the commands that change a log directory, or a copy of it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from workbench.cli.output import note
from workbench.cli.progress import progress
from workbench.file_system.source import Files
from workbench.foresight.copies.copying import SkippedFile
from workbench.loaders import changes
from workbench.log_manager.loading import LoadProgress, Progress

Function = TypeVar("Function", bound=Callable[..., Any])


def takes_target(function: Function) -> Function:
    """Add --to and --in-place."""
    function = click.option(
        "--in-place", is_flag=True, help="Change DIR itself; this cannot be undone."
    )(function)
    return click.option(
        "--to",
        "target",
        metavar="OUT",
        type=click.Path(),
        help="Change a copy of DIR, made in OUT.",
    )(function)


def chosen_target(path: str, target: str | None, *, in_place: bool) -> str:
    """Return the path of the directory to be changed.

    Raises:
        UsageError: neither --to nor --in-place is given, or both are.
        OutputError: the copy would be inside the directory, or ``path`` is not on this machine.
    """
    if (target is None) != in_place:
        raise click.UsageError("give either --to OUT or --in-place, to say what to change")
    return changes.chosen_target(path, target)


@contextmanager
def copied(path: str, fs: Files, where: str) -> Iterator[list[SkippedFile]]:
    """Do what `changes.copied` does, and name on stderr what was left out."""
    with changes.copied(path, fs, where) as left_out:
        for each in left_out:
            note(str(each))
        yield left_out


def folder_count(path: str, fs: Files) -> int:
    """Return how many folders a directory has, to show the progress of loading.

    Raises:
        OSError: it cannot be listed.
    """
    files = fs.at(path)
    if files is not None:
        return sum(entry.is_folder for entry in files.entries(path))
    with os.scandir(path) as entries:
        return sum(entry.is_dir() for entry in entries)


@contextmanager
def loading(title: str, total: int) -> Iterator[Progress]:
    """Show how many of ``total`` logs are loaded; yield the callback for each loaded log."""
    with progress(title, total, unit="logs") as meter:

        def advance(_: LoadProgress) -> None:
            meter.advance(1)

        yield advance
