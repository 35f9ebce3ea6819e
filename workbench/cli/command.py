"""What the commands have in common: the options that choose data, and how they are understood."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import click

from workbench.inspection.listing import Listing
from workbench.inspection.partition import Partition
from workbench.loaders.plan import (
    HIGHEST,
    LOWEST,
    IsolationLevel,
    SegmentRead,
    choose_partitions,
    offset_range,
    plan_partition,
)
from workbench.log_directory import LogDirectory, open_log_directory

Function = TypeVar("Function", bound=Callable[..., Any])


class Command(click.Command):
    """A command that also takes ``--debug`` itself, not only before its name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        help_text = "Show the traceback of an error."
        self.params.append(
            click.Option(["--debug"], is_flag=True, expose_value=False, help=help_text)
        )


def _offsets(
    _ctx: click.Context, _param: click.Parameter, value: str | None
) -> tuple[int | None, int | None]:
    """Return (first, end) of ``A:B``, ``A:``, ``:B`` or one offset; None where open."""
    first, colon, end = (value or ":").partition(":")
    try:
        low = int(first) if first else None
        high = int(end) if end else None
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a range of offsets such as 100:200") from None
    if not colon:
        high = None if low is None else low + 1
    return low, high


def read_time(_ctx: click.Context, _param: click.Parameter, value: str | None) -> int | None:
    """Return ISO 8601 (UTC when it names no zone) or a number of milliseconds as ms since 1970."""
    if value is None:
        return None
    try:
        return int(value)
    except ValueError:
        pass
    try:
        time = dt.datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is neither a time such as 2026-03-01T12:00:00Z nor milliseconds"
        ) from None
    aware = time if time.tzinfo else time.replace(tzinfo=dt.UTC)
    since = aware - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return since // dt.timedelta(milliseconds=1)


_PATHS: Final = click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=click.Path()
)
_TOPICS: Final = click.option(
    "--topic", "-t", "topics", multiple=True, metavar="NAME", help="Only this topic; repeatable."
)
_PARTITIONS: Final = click.option(
    "--partition",
    "-p",
    "partitions",
    multiple=True,
    metavar="NUMBER|NAME",
    help="Only this partition, as 0 or orders-0; repeatable.",
)
_READING: Final = (
    click.option(
        "--offsets",
        metavar="A:B",
        callback=_offsets,
        help="Only offsets A to B, B excluded; either may be missing.",
    ),
    click.option(
        "--since", metavar="TIME", callback=read_time,
        help="Only from this time on: ISO 8601, or ms.",
    ),
    click.option("--until", metavar="TIME", callback=read_time, help="Only before this time."),
    click.option(
        "--isolation-level",
        type=click.Choice(["read_uncommitted", "read_committed"]),
        default="read_uncommitted",
        help="read_committed leaves out aborted records and stops where a consumer would.",
    ),
    click.option("--limit", "-n", type=click.IntRange(min=0), help="At most so many records."),
    click.option(
        "--no-crc", "check_crc", is_flag=True, default=True, flag_value=False,
        help="Take batches whose CRC is wrong, too.",
    ),
)  # fmt: skip


def chooses_partitions(function: Function) -> Function:
    """Add PATH, --topic and --partition."""
    return _PATHS(_TOPICS(_PARTITIONS(function)))


def chooses_records(function: Function) -> Function:
    """Add what `chooses_partitions` does, and ranges, isolation and limit."""
    for option in reversed(_READING):
        function = option(function)
    return chooses_partitions(function)


as_json: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@dataclass(frozen=True)
class Selection:
    """The records that the options choose.

    Attributes:
        partitions: sorted by topic and number.
        offsets: (first, end), None where open.
        times: [first, end) in ms; (LOWEST, HIGHEST) also takes records without a time.
        limit: records at most; None: all.
        check_crc: leave out batches whose CRC is wrong.
    """

    partitions: list[Partition]
    offsets: tuple[int | None, int | None] = (None, None)
    times: tuple[int, int] = (LOWEST, HIGHEST)
    isolation_level: IsolationLevel = "read_uncommitted"
    limit: int | None = None
    check_crc: bool = True

    def plan(self, partition: Partition, *, below_start: bool = False) -> list[SegmentRead]:
        """Return what of a partition's segments will be read, in order.

        Args:
            partition: one of `partitions`.
            below_start: read also what is still there below the log start offset.
        """
        low, high = offset_range(self.offsets, partition)
        if below_start:
            low = LOWEST if self.offsets[0] is None else self.offsets[0]
        return plan_partition(partition, low, high, self.isolation_level)


def open_logs(paths: tuple[str, ...]) -> LogDirectory:
    """Open what the arguments name.

    Raises:
        LogDirectoryError: a path does not exist.
        OSError: a folder may not be listed.
    """
    return open_log_directory(paths)


def pick_partitions(
    listing: Listing, topics: tuple[str, ...] = (), partitions: tuple[str, ...] = ()
) -> list[Partition]:
    """Return the partitions that options name.

    Raises:
        LookupError: a topic or partition is not there; the message names the nearest.
    """
    numbers = [int(each) if each.isdecimal() else each for each in partitions]
    return choose_partitions(listing, topics or None, numbers or None)


def select_records(
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    *,
    offsets: tuple[int | None, int | None],
    since: int | None,
    until: int | None,
    isolation_level: IsolationLevel,
    limit: int | None,
    check_crc: bool,
) -> Selection:
    """Return what the options of `chooses_records` mean.

    Raises:
        LogDirectoryError: a path does not exist.
        LookupError: a topic or partition is not there.
        UsageError: a file holds no records.
    """
    logs = open_logs(paths)
    chosen = pick_partitions(logs.listing, topics, partitions)
    for partition in chosen:
        if partition.only is not None and not partition.segments:
            raise click.UsageError(
                f"{partition.path}/{partition.only} holds no records; describe shows what it holds"
            )
    return Selection(
        chosen,
        offsets,
        (LOWEST if since is None else since, HIGHEST if until is None else until),
        isolation_level,
        limit,
        check_crc,
    )
