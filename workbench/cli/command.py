"""What the commands share: the options that choose data, and what these options mean."""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar, get_args

import click
from click.shell_completion import CompletionItem

from workbench.cli.output import DEBUG_HELP, note
from workbench.cli.words import path_last
from workbench.errors import WorkbenchError
from workbench.inspection.listing import Listing, require_logs
from workbench.inspection.partition import DiskPartition
from workbench.inspection.transactions import IsolationLevel
from workbench.loaders.queries.ranges import HIGHEST, LOWEST
from workbench.loaders.scan.not_searched import NotSearched, left_out
from workbench.loaders.scan.plan import (
    SegmentRead,
    are_named,
    choose_partitions,
    offset_range,
    offsets_of,
    plan_partition,
    without_internal,
)
from workbench.log_directory import LogDirectory, open_log_directory
from workbench.runtime.gc_pause import gc_seldom
from workbench.runtime.times import given_ms
from workbench.runtime.words import bytes_of, did_you_mean, safe
from workbench.tables.columns import columns_of

Function = TypeVar("Function", bound=Callable[..., Any])
Row = TypeVar("Row")


_EPILOG: Final = (
    "Every command exits with 3 if there is nothing to look at or an argument is invalid, with 130 "
    "if it is interrupted, and with 141 if the reader of its output stops reading."
)


class Command(click.Command):
    """A command that also takes ``--debug`` itself, not only before its name.

    Its help ends with the exit codes that all commands share.

    Args:
        fields: the options that print objects, such as ``--json``, with the class of the rows that
            become these objects (`workbench.tables`): the help lists their fields.
        serves: whether the command runs until it is stopped.
    """

    def __init__(
        self,
        *args: Any,
        fields: Mapping[str, type] | None = None,
        serves: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **{"epilog": _EPILOG, **kwargs})
        self._fields = fields or {}
        self._serves = serves
        help_text = DEBUG_HELP
        self.params.append(
            click.Option(["--debug"], is_flag=True, expose_value=False, help=help_text)
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with nullcontext() if self._serves else gc_seldom():
            return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; a path may stand before or after the names beside it."""
        rest = super().parse_args(ctx, args)
        places = [each.name for each in self.params if isinstance(each, click.Argument)]
        if "paths" in places and len(places) > 1 and not ctx.resilient_parsing:
            *names, paths = (ctx.params[each] for each in places)
            given = path_last([*names, *paths])
            placed = [*given[: len(names)], tuple(given[len(names) :])]
            ctx.params.update(zip(places, placed, strict=True))
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, and the fields of what they print."""
        super().format_options(ctx, formatter)
        for options, row_class in self._fields.items():
            columns = columns_of(row_class)
            with formatter.section(f"Fields with {options}"):
                formatter.write_dl([(c.name, f"{c.type_text}: {c.meaning}") for c in columns])


overwrites = click.option("--overwrite", is_flag=True, help="Replace a file that already exists.")
"""The option ``--overwrite``."""

is_strict = click.option("--strict", is_flag=True, help="Exit with 2 if damaged data was left out.")
"""The option ``--strict`` of commands that write records as they are."""

is_strict_with_values = click.option(
    "--strict",
    is_flag=True,
    help="Exit with 2 if damaged data was left out, or values are null or incomplete.",
)
"""The option ``--strict`` of commands that decode values."""

is_quick = click.option(
    "--quick", is_flag=True, help="Look at headers, indexes and checkpoints; decode no records."
)
"""The option ``--quick`` of commands that verify."""

takes_mask = click.option(
    "--mask", type=click.Path(), metavar="FILE", help="Keep private data out; see export --help."
)
"""The option ``--mask``."""

opens_no_browser = click.option(
    "--no-browser", is_flag=True, help="Print the address; do not open a browser."
)
"""The option ``--no-browser``."""

opens_nothing = click.option(
    "--json", "as_json", is_flag=True, help="Open nothing; print as JSON what would be opened."
)
"""The option ``--json`` of commands that open something."""


def _offsets(
    _ctx: click.Context, _param: click.Parameter, value: str | None
) -> tuple[int | None, int | None]:
    """Return (first, end) of what `offsets_of` takes."""
    try:
        return offsets_of(value or ":")
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def read_time(_ctx: click.Context, _param: click.Parameter, value: str | None) -> int | None:
    """Return a time as people write it, see `milliseconds`, as ms since the epoch."""
    if value is None:
        return None
    try:
        return given_ms(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def read_size(_ctx: click.Context, _param: click.Parameter, value: str | None) -> int | None:
    """Return a size as people write it, see `bytes_of`, in bytes."""
    if value is None:
        return None
    try:
        return bytes_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Keep an option's value in the context, under the option's name."""
    context.meta[f"{__name__}.{parameter.name}"] = value


def _paths_or_tier(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the paths; none are needed where --remote names a tier, which is read alone then."""
    if not value and not ctx.meta.get(f"{__name__}.remote"):
        raise click.MissingParameter(ctx=ctx, param=param)
    return value


PATHS: Final = click.argument(
    "paths", metavar="PATH...", nargs=-1, type=click.Path(), callback=_paths_or_tier
)


def complete_topics(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the topics of the paths before the option, for the shell's completion."""
    return _complete(ctx, incomplete, lambda partition: partition.topic)


def _complete_partitions(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return _complete(ctx, incomplete, lambda partition: partition.name)


def complete_groups(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the groups of the paths that stand before; paths, if there are none."""
    given = [ctx.params.get("name"), *(ctx.params.get("paths") or ()), *ctx.args]
    paths = [each for each in given if each and os.path.exists(each)]
    if not paths and isinstance(param, click.Argument):
        return param.type.shell_complete(ctx, param, incomplete)
    with suppress(WorkbenchError, OSError):
        names = open_log_directory(paths).inspect.groups()["group"].unique().to_pylist()
        return [
            CompletionItem(name)
            for name in sorted(names)
            if name.startswith(incomplete) and safe(name) == name
        ]
    return []


def _complete(
    ctx: click.Context, incomplete: str, name_of: Callable[[DiskPartition], str]
) -> list[CompletionItem]:
    with suppress(WorkbenchError, OSError):  # completion is silent where there is nothing
        paths = ctx.params.get("paths") or ctx.args  # in args if the last option lacks its value
        listing = open_log_directory([each for each in paths if os.path.exists(each)]).listing
        names = {name_of(partition) for partition in listing.partitions.values()}
        return [
            CompletionItem(name)
            for name in sorted(names)
            if name.startswith(incomplete) and safe(name) == name
        ]
    return []


_TOPICS: Final = click.option(
    "--topic", "-t", "topics", multiple=True, metavar="NAME", help="Only this topic; repeatable.",
    shell_complete=complete_topics,
)  # fmt: skip
_PARTITIONS: Final = click.option(
    "--partition", "-p", "partitions", multiple=True, metavar="NUMBER|NAME",
    help="Only this partition, as 0 or orders-0; repeatable.",
    shell_complete=_complete_partitions,
)  # fmt: skip


def _times_of(what: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return --since and --until."""
    return (
        click.option(
            "--since", metavar="TIME", callback=read_time,
            help=f"Only {what} at or after this time: ISO 8601, ms, -1h, yesterday.",
        ),
        click.option(
            "--until", metavar="TIME", callback=read_time, help=f"Only {what} before this time."
        ),
    )  # fmt: skip


def chooses_times(what: str) -> Callable[[Function], Function]:
    """Return what adds --since and --until, for `rows_between`.

    Args:
        what: is chosen by its time, as the help says it.
    """

    def add(function: Function) -> Function:
        for option in reversed(_times_of(what)):
            function = option(function)
        return function

    return add


def rows_between(
    rows: Iterable[Row], since: int | None, until: int | None, time_of: Callable[[Row], int | None]
) -> list[Row]:
    """Return the rows with a time from ``since`` up to, but not including, ``until``.

    Without both, every row; otherwise none of those without a time.
    """
    return [row for row in rows if is_between(time_of(row), since, until)]


def is_between(time: int | None, since: int | None, until: int | None) -> bool:
    """Return whether --since and --until choose what has a time in ms, or none."""
    if time is None:
        return since is None and until is None
    return (since is None or time >= since) and (until is None or time < until)


_READING: Final = (
    click.option(
        "--offsets",
        metavar="A:B",
        callback=_offsets,
        help="Only offsets from A up to, but not including, B; either can be omitted. -5: is the "
        "last 5.",
    ),
    *_times_of("records"),
    click.option(
        "--isolation-level",
        type=click.Choice(get_args(IsolationLevel)),
        default="read_uncommitted",
        help="read_committed omits aborted records and stops at the last stable offset.",
    ),
    click.option(
        "--limit", "-n", type=click.IntRange(min=0), metavar="N", help="Stop after N records."
    ),
    click.option(
        "--everything", is_flag=True,
        help="Also read what is still on the disk and no consumer gets: records below the log "
        "start offset, .deleted, .cleaned and .swap files, -delete, -stray and -future folders, "
        "and what --rescue reads.",
    ),
    click.option(
        "--rescue", is_flag=True,
        help="Also read the records of batches with an invalid CRC, and those beside a record "
        "whose lengths are wrong. Each may have changed bytes.",
    ),
)  # fmt: skip


def takes_workers(function: Function) -> Function:
    """Add --workers."""
    return click.option(
        "--workers", type=click.IntRange(min=1), metavar="N",
        help="Decode with N threads. Default: one per core, at most 8.",
    )(function)  # fmt: skip


_REMOTE_TIER: Final = (
    click.option(
        "--remote", metavar="PATH|URL", expose_value=False, callback=_keep, is_eager=True,
        help="The remote tier (KIP-405): read its segments and the local ones as one log.",
    ),
    click.option(
        "--remote-key", metavar="ID=FILE", multiple=True, expose_value=False, callback=_keep,
        is_eager=True,
        help="The RSA private key (PEM) of an encrypted tier, by its key id; repeatable.",
    ),
)  # fmt: skip


def reads_remote_tier(function: Function) -> Function:
    """Add --remote and --remote-key, which `open_logs` takes from the context."""
    for option in reversed(_REMOTE_TIER):
        function = option(function)
    return function


def chosen_tier() -> dict[str, Any]:
    """Return what --remote and --remote-key mean for `open_log_directory`.

    Raises:
        UsageError: a key is not an id and a file.
    """
    context = click.get_current_context(silent=True)
    meta = {} if context is None else context.meta
    keys = {}
    for text in meta.get(f"{__name__}.remote_key") or ():
        key_id, equals, path = text.partition("=")
        if not key_id or not equals or not path:
            raise click.UsageError(f"--remote-key {text!r} is not an id, '=' and a file")
        keys[key_id] = path
    return {"remote": meta.get(f"{__name__}.remote"), "remote_keys": keys}


def chooses_partitions(function: Function) -> Function:
    """Add PATH, --topic and --partition."""
    return PATHS(_TOPICS(_PARTITIONS(function)))


def chooses_rows(function: Function) -> Function:
    """Add --topic and --partition, for `chosen_rows`."""
    return _TOPICS(_PARTITIONS(function))


def chooses_topics(function: Function) -> Function:
    """Add --topic, where a row is about a topic as a whole."""
    return _TOPICS(function)


def chooses_numbers(function: Function) -> Function:
    """Add --partition, where the topic is one that is named anyway."""
    return _PARTITIONS(function)


class RowOfPartition(Protocol):
    """A row about one partition."""

    @property
    def topic(self) -> str:
        """The topic."""

    @property
    def partition(self) -> int:
        """The number of the partition."""


def _own(row: Any) -> tuple[RowOfPartition, ...]:
    return (row,)


def chosen_rows(
    rows: Iterable[Row],
    listing: Listing,
    topics: tuple[str, ...],
    partitions: tuple[str, ...] = (),
    of: Callable[[Row], Iterable[RowOfPartition]] = _own,
) -> list[Row]:
    """Return the rows about what --topic and --partition name.

    Args:
        rows: all rows.
        listing: what was opened; names that it knows are allowed, even without a row.
        topics, partitions: the options.
        of: the partitions that a row is about; a row is chosen by one of them. A row that is about
            a topic as a whole has the topic with any number.

    Raises:
        LookupError: neither a row nor a directory has such a name; the message has the nearest.
    """
    every = [(row, [*of(row)]) for row in rows]
    there = [*listing.partitions.values(), *(each for _, places in every for each in places)]
    known = {
        "topic": {each.topic for each in there},
        "partition": {name for each in there for name in _partition_names(each)},
    }
    for what, names in (("topic", topics), ("partition", partitions)):
        for name in names:
            if name not in known[what]:
                near = did_you_mean(name, sorted(known[what]))
                raise LookupError(f"unknown {what} {name}{near}")

    def is_chosen(each: RowOfPartition) -> bool:
        return (not topics or each.topic in topics) and (
            not partitions or not {*partitions}.isdisjoint(_partition_names(each))
        )

    if not topics and not partitions:
        return [row for row, _ in every]
    return [row for row, places in every if any(map(is_chosen, places))]


def _partition_names(row: RowOfPartition) -> tuple[str, str]:
    return str(row.partition), f"{row.topic}-{row.partition}"


def chooses_records(function: Function) -> Function:
    """Add what `chooses_partitions` adds, and ranges, isolation and limit."""
    for option in reversed(_READING):
        function = option(function)
    return chooses_partitions(reads_remote_tier(function))


includes_internal: Final = click.option(
    "--include-internal", is_flag=True,
    help="Also read Kafka's own topics, such as __consumer_offsets, which are otherwise read only "
    "if -t or -p names them, or nothing else is there.",
)  # fmt: skip


def name_and_value(text: str) -> tuple[str, str]:
    """Return the two parts of an argument of -X.

    Raises:
        UsageError: they are not.
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"-X {text!r} is not NAME=VALUE")
    return name, value


as_json: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _read_conf(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    """Return the settings that --conf gives."""
    for each in given:
        if "=" not in each:
            raise click.BadParameter(f"{each!r} is not KEY=VALUE")
    return dict(each.split("=", 1) for each in given)


spark_conf: Final = click.option(
    "--conf", multiple=True, metavar="KEY=VALUE", callback=_read_conf,
    help="A setting of Spark, as in spark-submit; repeatable.",
)  # fmt: skip


@dataclass(frozen=True)
class Selection:
    """The records that the options choose.

    Attributes:
        partitions: the partitions, sorted by topic and number.
        offsets: (first, end), None where open.
        times: [first, end) in ms; (LOWEST, HIGHEST) includes records without a timestamp.
        limit: the most records; None: all.
        rescue: whether to read what damaged batches still give.
        listing: everything that was opened, chosen or not.
        everything: whether what is out of use is read, too.
        meant: the partitions that are chosen if it is.
    """

    partitions: list[DiskPartition]
    offsets: tuple[int | None, int | None] = (None, None)
    times: tuple[int, int] = (LOWEST, HIGHEST)
    isolation_level: IsolationLevel = "read_uncommitted"
    limit: int | None = None
    rescue: bool = False
    listing: Listing = field(default_factory=lambda: Listing((), {}))
    everything: bool = False
    meant: tuple[DiskPartition, ...] = ()

    def plan(self, partition: DiskPartition, *, below_start: bool = False) -> list[SegmentRead]:
        """Return the parts of a partition's segments to read, in order.

        Args:
            partition: one of `partitions`.
            below_start: also read what is left below the log start offset.
        """
        low, high = offset_range(self.offsets, partition, everything=self.everything or below_start)
        return plan_partition(
            partition, low, high, self.isolation_level, everything=self.everything
        )

    @property
    def left_out(self) -> list[NotSearched]:
        """What is in the directories and is not read, by names and sizes."""
        return left_out(self.listing, self.partitions, self.meant, everything=self.everything)


def open_logs(
    paths: tuple[str, ...], *, may_be_empty: bool = False, of_a_start: bool = False
) -> LogDirectory:
    """Open what the arguments name, with the remote tier that the command's options name.

    Args:
        paths: the arguments.
        may_be_empty: whether nothing there has to look like Kafka's.
        of_a_start: whether a start is asked about: a directory may be empty.

    Raises:
        ConfigError: a file holds no RSA private key.
        LogDirectoryError: a path does not exist, or nothing there looks like Kafka's.
        OSError: a folder cannot be listed.
    """
    logs = open_log_directory(paths, **chosen_tier())
    if not may_be_empty:
        require_logs(logs.listing, of_a_start=of_a_start)
    return logs


def pick_partitions(
    listing: Listing,
    topics: tuple[str, ...] = (),
    partitions: tuple[str, ...] = (),
    *,
    everything: bool = False,
) -> list[DiskPartition]:
    """Return the partitions that the options name; with ``everything``, those out of use, too.

    Raises:
        LookupError: a topic or partition is not there; the message names the nearest.
    """
    return choose_partitions(
        listing, topics or None, numbers_of(partitions) or None, everything=everything
    )


def numbers_of(partitions: tuple[str, ...]) -> list[int | str]:
    """Return what --partition names: numbers, and names such as orders-0."""
    return [int(each) if each.isdecimal() else each for each in partitions]


def _tell_of_deleted(partition: DiskPartition, first: int | None) -> None:
    """Say on stderr which records in a named file, or a named range, were deleted."""
    start = partition.log_start_offset
    is_named = partition.only is not None or (first is not None and first < start)
    if is_named and partition.segments and partition.segments[0].base_offset < start:
        note(
            f"{partition.path}: what is below the log start offset {start} was deleted and is left "
            "out"
        )


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
    rescue: bool,
    everything: bool,
    include_internal: bool = False,
) -> Selection:
    """Return what the options of `chooses_records` mean.

    Kafka's own topics are left out as `Scan` does, unless ``include_internal`` is set.

    Raises:
        LogDirectoryError: a path does not exist.
        LookupError: a topic or partition is not there.
        UsageError: a file holds no records.
    """
    logs = open_logs(paths)
    meant = pick_partitions(logs.listing, topics, partitions, everything=True)
    chosen = meant if everything else pick_partitions(logs.listing, topics, partitions)
    if not (everything or include_internal or are_named(topics or None, numbers_of(partitions))):
        chosen = without_internal(chosen) or chosen
    for partition in chosen:
        if partition.only is not None and not partition.segments:
            raise click.UsageError(
                f"{partition.path}/{partition.only} holds no records; describe shows what it holds"
            )
        _tell_of_deleted(partition, offsets[0])
    return Selection(
        chosen,
        offsets,
        (LOWEST if since is None else since, HIGHEST if until is None else until),
        isolation_level,
        limit,
        rescue or everything,
        logs.listing,
        everything,
        tuple(meant),
    )
