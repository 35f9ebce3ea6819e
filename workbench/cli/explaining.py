"""What `explain`, `plan`, `compact` and `what-if` have in common."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from workbench.cli.command import pick_partitions, read_time
from workbench.inspection.listing import Listing
from workbench.inspection.partition import Partition
from workbench.inspection.stored_configs import METADATA_LOG
from workbench.loaders.dry_listing import round_times

Function = TypeVar("Function", bound=Callable[..., Any])

FAILURES: Final = 1
"""Exit code where a log cannot be loaded, or cannot be cleaned."""

takes_now: Final = click.option(
    "--now", metavar="TIME", callback=read_time,
    help="The time that ages are measured by: ISO 8601, or ms; default: this machine's.",
)  # fmt: skip


def _read_times(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[int]:
    times = (read_time(ctx, param, value) for value in values)
    return [time for time in times if time is not None]


_ROUNDS: Final = (
    click.option(
        "--now", "times", metavar="TIME", multiple=True, callback=_read_times,
        help="When a round of cleaning begins: ISO 8601, or ms; once for each, or one for all.",
    ),
    click.option(
        "--passes", type=click.IntRange(min=1), default=1, metavar="N",
        help="Rounds, each of what the one before left.",
    ),
    click.option(
        "--everything", is_flag=True,
        help="Begin each round where the log does, as if nothing were clean yet.",
    ),
)  # fmt: skip


def takes_rounds(function: Function) -> Function:
    """Add --now, --passes and --everything."""
    for option in reversed(_ROUNDS):
        function = option(function)
    return function


def chosen_times(times: list[int], passes: int) -> list[int]:
    """Return when the rounds of cleaning begin.

    Raises:
        UsageError: several times and another number of passes.
        ValueError: a round would come before the one before it.
    """
    if len(times) > 1 and passes not in {1, len(times)}:
        raise click.UsageError(f"{len(times)} times for {passes} passes")
    if len(times) > 1:
        return round_times(times, passes)
    return round_times(times[0] if times else None, passes)


def chosen_logs(
    listing: Listing, topics: tuple[str, ...], partitions: tuple[str, ...]
) -> list[Partition]:
    """Return the partitions that options name; without any those that a log manager keeps.

    Raises:
        LookupError: a topic or partition is not there.
    """
    chosen = pick_partitions(listing, topics, partitions)
    if topics or partitions:
        return chosen
    return [partition for partition in chosen if partition.name != METADATA_LOG]
