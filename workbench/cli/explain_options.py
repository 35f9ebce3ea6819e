"""Options shared by `explain`, `plan`, `compact` and `what-if`."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from workbench.cli.command import pick_partitions, read_time
from workbench.config.internal_topics import METADATA_LOG
from workbench.foresight.dry_listing import round_times
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition

Function = TypeVar("Function", bound=Callable[..., Any])

FAILURES: Final = 1
"""Exit code if a log cannot be loaded or cleaned."""

takes_now: Final = click.option(
    "--now", metavar="TIME", callback=read_time,
    help="Measure ages from this time: ISO 8601, or ms since the epoch; default: this machine's.",
)  # fmt: skip


def _read_times(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[int]:
    times = (read_time(ctx, param, value) for value in values)
    return [time for time in times if time is not None]


_ROUNDS: Final = (
    click.option(
        "--now", "times", metavar="TIME", multiple=True, callback=_read_times,
        help="Begin a round of cleaning at this time: ISO 8601, or ms since the epoch. Give it "
        "once, or once per round.",
    ),
    click.option(
        "--passes", type=click.IntRange(min=1), default=1, metavar="N",
        help="Run N rounds; each cleans what the round before it left.",
    ),
    click.option(
        "--everything", is_flag=True,
        help="Begin each round at the start of the log, as if nothing were clean yet.",
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
        UsageError: several times are given, and not one for each round.
        ValueError: a round would begin before the previous one.
    """
    if len(times) > 1 and passes not in {1, len(times)}:
        raise click.UsageError(
            f"--now was given {len(times)} times for {passes} rounds; "
            "give it once, or once per round"
        )
    if len(times) > 1:
        return round_times(times, passes)
    return round_times(times[0] if times else None, passes)


def chosen_logs(
    listing: Listing, topics: tuple[str, ...], partitions: tuple[str, ...]
) -> list[DiskPartition]:
    """Return the partitions that the options name; by default, those that a log manager loads.

    Raises:
        LookupError: a topic or partition is not there.
    """
    chosen = pick_partitions(listing, topics, partitions)
    if topics or partitions:
        return chosen
    return [partition for partition in chosen if partition.name != METADATA_LOG]
