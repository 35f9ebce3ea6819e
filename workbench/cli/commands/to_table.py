"""`kafka-workbench to-table`: load the records that a table does not have yet."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from workbench.cli.command import (
    Command,
    Function,
    as_json,
    chooses_partitions,
    chosen_tier,
    name_and_value,
    numbers_of,
    read_size,
    reads_remote_tier,
    takes_mask,
    takes_workers,
)
from workbench.cli.output import note, print_json, print_table
from workbench.cli.show.decoded_text import DECODED_KEYS, asked_formats, key_format, value_format
from workbench.cli.show.value_text import Formats
from workbench.runtime.words import plural
from workbench.tables.lake import LoadedRow

if TYPE_CHECKING:  # Arrow is imported when it is asked for
    from workbench.pipelines.lake.to_table import TableFormat

_DAMAGED: Final = 2
_FAILED: Final = 3
_ALWAYS: Final = ("topic", "partition", "before", "records", "log_end_offset")


_TABLE: Final = (
    click.option("--to", "to", required=True, metavar="TABLE",
        help="A folder or a URI such as s3://bucket/lake/orders, of Iceberg an identifier such as "
        "lake.orders; with {topic} in it, each topic has its own table.",
    ),
    click.option("--table-format", type=click.Choice(["parquet", "delta", "iceberg"]),
        default="parquet", show_default=True, help="Of the table.",
    ),
    click.option("-X", "settings", multiple=True, metavar="NAME=VALUE",
        help="delta: a storage option of deltalake; iceberg: a property of the catalog of "
        "pyiceberg, such as uri=…, or name=… of Spark's catalog; repeatable.",
    ),
    click.option("--columns", metavar="A,B,…",
        help="Columns of a scan; default: those of a record.",
    ),
    key_format(DECODED_KEYS),
    value_format("Decode values; fields of JSON, Avro and Protobuf become columns."),
    click.option("--types", "types", multiple=True, metavar="TOPIC=FILE",
        help="Declare the types of fields of a topic's values by an Avro or JSON Schema; the table "
        "keeps them. Default: the first records decide. Repeatable.",
    ),
    takes_mask,
    click.option("--read-uncommitted", is_flag=True,
        help="Also load aborted records, and those of transactions that have not ended.",
    ),
    click.option("--upsert", is_flag=True,
        help="For compacted topics: keep the newest record of each key; tombstones delete its row.",
    ),
    click.option("--partition-by", metavar="A,B,…",
        help="Divide the files by these columns, too, such as a field of values that has few "
        "values; the table keeps them. Default: topic and day.",
    ),
    click.option("--target-file-size", callback=read_size, metavar="SIZE",
        help="Write files of about this size, as 128MiB or 100MB; default: as a commit makes them.",
    ),
    click.option("--optimize", is_flag=True,
        help="Then join small files of the table, and delete what is old.",
    ),
    click.option("--strict", is_flag=True,
        help="Exit with 2 if damaged data was left out, or something is in the column _rescued.",
    ),
)  # fmt: skip


def chooses_table(function: Function) -> Function:
    """Add PATH, the table, what is loaded into it, and --json: the arguments of `load`."""
    function = reads_remote_tier(as_json(function))
    for option in reversed(_TABLE):
        function = option(function)
    return chooses_partitions(function)


@click.command("to-table", cls=Command, short_help="Load what is new into a table, once.",
    fields={"--json": LoadedRow},
)  # fmt: skip
@chooses_table
@takes_workers
@click.option("--dry-run", is_flag=True,
    help="Read, decode and count; show the columns; write nothing.",
)  # fmt: skip
def command(**given: Any) -> int:
    """Load the records of log directories into a table, each once.

    Up to where each partition was loaded is kept with the table: the same command later takes only
    what is new, even after it was killed. Several PATHs are the log.dirs of one broker, or of
    several of one cluster: then the replica that is ahead is read. Topics that brokers make for
    themselves are loaded only if they are named. The numbers add up to each log end offset.

    Example: to-table broker-1 broker-2 --to lake/shop -t orders --value-format json

    Exit codes: 0 done, 2 with --strict: damaged data was left out, or does not fit its type, 3 a
    log or topic could not be loaded; the others were.
    """
    return load(**given)


def load(
    *,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    to: str,
    table_format: "TableFormat",
    settings: tuple[str, ...],
    columns: str | None,
    partition_by: str | None,
    key_format: Formats,
    value_format: Formats,
    types: tuple[str, ...],
    mask: str | None,
    read_uncommitted: bool,
    upsert: bool,
    strict: bool,
    as_json: bool,
    **more: Any,
) -> int:
    """Load records into a table, print what became of every offset, and return the exit code.

    Args:
        more: other arguments of `workbench.pipelines.to_table`, as it takes them.
        others: of the options that `chooses_table` adds.
    """
    from workbench.pipelines import to_table

    failed: dict[str, Exception] = {}
    done: list[dict[str, Any]] = to_table(
        paths,
        to,
        table_format=table_format,
        options=dict(map(name_and_value, settings)),
        topics=topics or None,
        partitions=numbers_of(partitions) or None,
        columns=[name.strip() for name in columns.split(",")] if columns else None,
        partition_by=partition_by.split(",") if partition_by else None,
        decode=asked_formats({"key": key_format, "value": value_format}),
        types=dict(map(name_and_value, types)),
        mask=() if mask is None else Path(mask),
        isolation_level="read_uncommitted" if read_uncommitted else "read_committed",
        mode="upsert" if upsert else "append",
        tell=note,
        on_failure=failed.__setitem__,
        **chosen_tier(),
        **more,
    ).to_pylist()
    if as_json:
        print_json(done)
    else:
        sums = {name: sum(row[name] for row in done) for name in LoadedRow._fields[2:-2]}
        shown = [name for name in LoadedRow._fields[:-2] if name in _ALWAYS or sums[name]]
        print_table(
            [name.replace("_", " ") for name in shown],
            [[row[name] for name in shown] for row in done],
        )
        is_dry = more.get("dry_run", False)
        what = "would be loaded" if is_dry else "loaded"
        note(f"{plural(sums['records'], 'record')} {what} into {to}")
    if not done and not failed:
        note("there is no topic but those that brokers make for themselves: --topic NAME loads one")
    for name, error in failed.items():
        note(f"{name} is not loaded: {error}")
    if failed:
        return _FAILED
    is_whole = not any(row["damaged"] + row["undecoded"] + row["rescued"] for row in done)
    return _DAMAGED if strict and not is_whole else 0
