"""`kafka-workbench what-if`: what would be deleted and compacted under another configuration."""

import click

from workbench.cli.command import Command, as_json, chooses_rows, numbers_of, open_logs
from workbench.cli.explain_options import FAILURES, takes_now
from workbench.cli.output import console, print_json, print_table, rich_text, say
from workbench.cli.settings import named_values, say_meant, takes_kafka, takes_settings
from workbench.loaders.explanations.what_if import COLUMNS, WhatIf
from workbench.log_directory import what_if
from workbench.tables.foresight import WhatIfRow
from workbench.tables.groups import OffsetFateRow


@click.command(
    "what-if",
    cls=Command,
    fields={"--json, in partitions": WhatIfRow, "--json, in offsets": OffsetFateRow},
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@chooses_rows
@takes_now
@click.option("--why", is_flag=True, help="Also show the reasons for each log.")
@takes_settings
@takes_kafka
@as_json
def command(
    *,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    now: int | None,
    why: bool,
    settings: tuple[str, ...],
    kafka: str | None,
    as_json: bool,
) -> int:
    """Show what a broker would delete and compact if it were configured as --set says.

    Retention runs once on every log, and then the cleaner once on every log that is due; both on a
    copy in memory: nothing is written. Other configurations come from __cluster_metadata in the
    same directories, or are Kafka's defaults; where they are unknown, the output says so.

    The bytes of each log "with the change" are beside those "as configured" and the difference.

    Committed offsets expire by offsets.retention.minutes; the default is that of the version that
    wrote them.

    Example: --set retention.ms=3600000 --set orders:retention.bytes=1000000

    Exit codes: 0 done, 1 a log could not be loaded.

    With --json: an object with broker, config, now, partitions and offsets: lists of objects with
    the fields below. A partition also has high_watermark: why it is assumed, or empty.
    """
    result = what_if(
        open_logs(paths),
        named_values(settings),
        now=now,
        topics=topics or None,
        partitions=numbers_of(partitions) or None,
        kafka=kafka,
    )
    if as_json:
        print_json(result.as_dict())
    else:
        say_meant(result.broker, "cleaning")
        _print(result, why=why)
    return FAILURES if any(fate.problem for fate in result) else 0


def _print(result: WhatIf, *, why: bool) -> None:
    out = console()
    print_table(
        [*COLUMNS, "segments deleted"],
        [[*fate.totals(), f"{fate.deleted_segments} of {fate.segments}"] for fate in result],
        spare=["segments deleted", "policy", "compacted", "deleted"],
    )
    for fate in result:
        told = fate.reasons if why else [fate.problem] if fate.problem else []
        if told:
            out.print("", rich_text(fate.name, "bold"), sep="\n")
        for text in told:
            out.print(rich_text(f"  {text}", "red" if text == fate.problem else ""))
    gone = [fate for fate in result.offsets if fate.is_gone or why]
    if gone:
        click.echo()
        print_table(
            ["group", "partition", "offset", "removed", "why"],
            [[fate.group, fate.name, fate.offset, _word(fate), fate.reason] for fate in gone],
        )
    if result.about_configs:
        say(result.about_configs)
    say(result.summary)


def _word(fate: OffsetFateRow) -> str:
    if not fate.is_gone:
        return "no"
    return "with its group" if fate.removes_group else "yes"
