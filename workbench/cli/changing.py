"""Options and steps shared by the commands that change a log directory, or a copy of it."""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import click

from workbench.cli.command import numbers_of
from workbench.cli.output import note, print_table, say
from workbench.cli.progress import progress
from workbench.cli.settings import named_values
from workbench.file_system.source import Files
from workbench.files.names import TopicPartition
from workbench.foresight.copies.copying import SkippedFile
from workbench.foresight.startup.prediction import PartitionStart
from workbench.loaders.changes import DirectoryChange, chosen_target
from workbench.loaders.remote import opened
from workbench.log_manager.loading import LoadProgress, Progress
from workbench.runtime.words import plural

Function = TypeVar("Function", bound=Callable[..., Any])

_SHORT: Final = 20  # rows of a list that is shown whole


def takes_target(function: Function) -> Function:
    """Add --to and --in-place."""
    function = click.option(
        "--in-place", is_flag=True, help="Change DIR itself; this cannot be undone."
    )(function)
    return click.option(
        "--to",
        "-o",
        "target",
        metavar="OUT",
        type=click.Path(),
        help="Change a copy of DIR, made in OUT.",
    )(function)


def chosen_change(
    *,
    path: str,
    target: str | None,
    in_place: bool,
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    settings: tuple[str, ...],
    kafka: str | None,
    is_dry: bool = False,
) -> DirectoryChange:
    """Return what a command changes: of DIR, `takes_target`, `chooses_rows` and `takes_settings`.

    Args:
        path, target, in_place: DIR, --to and --in-place.
        topics, partitions, settings, kafka: what these options give.
        is_dry: whether nothing is changed, so that neither --to nor --in-place is needed.

    Raises:
        UsageError: neither --to nor --in-place is given, or both are.
        OutputError: the copy would be inside the directory, or ``path`` is not on this machine.
        ConfigError, LogDirectoryError, LookupError, OSError: see `DirectoryChange.of`.
    """
    path, fs = opened(path)
    if not is_dry and (target is None) != in_place:
        raise click.UsageError("give either --to OUT or --in-place, to say what to change")
    return DirectoryChange.of(
        path,
        fs,
        path if is_dry else chosen_target(path, target),
        topics=topics or None,
        partitions=numbers_of(partitions) or None,
        config=named_values(settings),
        kafka=kafka,
    )


@contextmanager
def changing(
    change: DirectoryChange, title: str, only: Collection[TopicPartition] | None = None
) -> Iterator[tuple[list[SkippedFile], Progress]]:
    """Copy, and show the progress of loading; yield what was left out, and the callback.

    Args:
        change: what is changed.
        title: of the progress.
        only: the logs that are copied; None: all.
    """
    count = _folder_count(change.path, change.fs) if only is None else len(only)
    with (
        change.copied(lambda each: note(str(each)), only) as left_out,
        loading(title, count) as advance,
    ):
        yield left_out, advance


def _folder_count(path: str, fs: Files) -> int:
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


def shows_all(what: str) -> Callable[[Function], Function]:
    """Return the option ``--all``, for a command that shows what changes first.

    Args:
        what: the rows that a long list leaves out without it.
    """
    return click.option("--all", "show_all", is_flag=True, help=f"Also show {what}.")


def first_to_see(rows: Sequence[PartitionStart], *, show_all: bool) -> list[PartitionStart]:
    """Return what changes first, then the others: all of them, or none if the list is long."""
    others = [row for row in rows if row.keeps_all]
    changed = [row for row in rows if not row.keeps_all]
    return [*changed, *others] if show_all or len(rows) <= _SHORT else changed


def tell_left(count: int, what: str) -> None:
    """Say how many rows a list leaves out."""
    if count:
        say(f"{count:,} others {what}; --all shows them")


def print_starts(
    shown: Sequence[PartitionStart], every: Sequence[PartitionStart], left_out: str
) -> None:
    """Print what a start makes of logs, predicted or done: a row per partition, and their sum.

    Args:
        shown: the rows of the table.
        every: the rows that the sum is of.
        left_out: what those that are not shown do.
    """
    print_table(
        ["partition", "verdict", "log start", "log end now", "after", "records lost", "bytes cut",
         "recovered from"],
        [
            [row.name, row.verdict, row.log_start_offset, row.log_end_before, row.log_end_offset,
             row.records_lost, row.bytes_cut, row.recovered_from]
            for row in shown
        ],
        footer=[
            f"all {plural(len(every), 'partition')}", *[None] * 4,
            sum(row.records_lost or 0 for row in every), sum(row.bytes_cut for row in every), None,
        ],
        spare=["recovered from", "log start"],
    )  # fmt: skip
    tell_left(len(every) - len(shown), left_out)
