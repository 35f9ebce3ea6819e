"""`kafka-workbench plan`: which records a cleaning would drop, and why."""

from typing import Any

import click

from workbench.cli.command import (
    Command,
    as_json,
    chooses_partitions,
    open_logs,
    takes_workers,
)
from workbench.cli.explain_options import FAILURES, chosen_logs, chosen_times, takes_rounds
from workbench.cli.output import console, print_json, print_table, rich_text
from workbench.cli.progress import progress
from workbench.cli.settings import named_values, say_meant, takes_kafka, takes_settings
from workbench.cli.show.value_text import plain_text
from workbench.errors import WorkbenchError
from workbench.files.names import TopicPartition
from workbench.foresight.dry_listing import open_dry
from workbench.foresight.dry_logs import DryLogs
from workbench.inspection.partition import DiskPartition
from workbench.loaders.explanations.cleaning_plan import CleaningPlan
from workbench.loaders.explanations.explain_partition import plan_partition


@click.command("plan", cls=Command)
@chooses_partitions
@takes_rounds
@click.option("--why", "offsets", type=int, multiple=True, metavar="OFFSET",
    help="Show the outcome for the record at this offset; repeatable.",
)  # fmt: skip
@click.option("--keys", type=click.IntRange(min=0), metavar="N",
    help="Show the N keys that lose the most bytes, with their text.",
)  # fmt: skip
@click.option("--batches", is_flag=True, help="Show the outcome for each batch.")
@click.option("--records", is_flag=True, help="Show the outcome for each record.")
@takes_settings
@takes_kafka
@takes_workers
@as_json
def command(
    *,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    times: list[int],
    passes: int,
    everything: bool,
    offsets: tuple[int, ...],
    keys: int | None,
    batches: bool,
    records: bool,
    settings: tuple[str, ...],
    kafka: str | None,
    workers: int | None,
    as_json: bool,
) -> int:
    """Show what a cleaning would do to compacted logs, record by record; nothing is written.

    The cleaner decides as if it cleaned the logs now, even if a broker's would still wait;
    `explain` shows that. Without --topic and --partition, the plan covers all logs that are known
    to be compacted from __cluster_metadata, --set or the cleaner's checkpoint.

    Two rounds show how tombstones are dropped: --everything --now T --now T+86400001

    Exit codes: 0 done, 1 a log cannot be loaded or cleaned; the others are shown.

    With --json: a list of objects with broker, partition, size, size_after, problem,
    high_watermark, rounds and reasons, and with why, keys, batches and records if requested. Keys
    are hex.
    """
    logs = open_logs(paths)
    chosen = chosen_logs(logs.listing, topics, partitions)
    moments = chosen_times(times, passes)
    parts = {"why": list(offsets), "keys": keys, "batches": batches, "records": records}
    told: list[dict[str, Any]] = []
    code = 0
    with (
        open_dry(
            logs.listing.log_directories, named_values(settings), moments[0], kafka, logs.listing.fs
        ) as dry,
        progress("planning", len(chosen), unit="logs") as meter,
    ):
        if not as_json:
            say_meant(dry.meant, "cleaning")
        for partition in chosen:
            if topics or partitions or _is_compacted(dry, partition):
                try:
                    plan = plan_partition(
                        dry, partition, moments, everything=everything, workers=workers
                    )
                except (WorkbenchError, OSError) as error:
                    code = FAILURES
                    told.append({"partition": partition.name, "problem": str(error)})
                    if not as_json:
                        console().print(rich_text(f"{partition.name}: {error}", "red"), "")
                else:
                    told.append(_as_dict(plan, parts))
                    if not as_json:
                        _print(plan, told[-1])
            meter.advance(1)
    if as_json:
        print_json([{"broker": dry.meant._asdict(), **each} for each in told])
    elif not told:
        click.echo(
            "no log is known to be compacted; --topic plans any log, explain shows the reason"
        )
    return code


def _is_compacted(dry: DryLogs, partition: DiskPartition) -> bool:
    return dry.is_compacted(TopicPartition(partition.topic, partition.partition))


def _as_dict(plan: CleaningPlan, parts: dict[str, Any]) -> dict[str, Any]:
    found = {**plan.as_dict(), "reasons": plan.reasons().to_pylist()}
    if parts["why"]:
        found["why"] = {str(offset): _why(plan, offset) for offset in parts["why"]}
    if parts["keys"] is not None:
        rows = plan.keys(parts["keys"]).to_pylist()
        found["keys"] = [
            {**row, "key": None if row["key"] is None else row["key"].hex()} for row in rows
        ]
    if parts["batches"]:
        table = plan.batches
        horizons = table["delete_horizon"].cast("int64").to_pylist()
        found["batches"] = [
            {**row, "delete_horizon": horizon}
            for row, horizon in zip(table.to_pylist(), horizons, strict=True)
        ]
    if parts["records"]:
        found["records"] = plan.decisions.to_pylist()
    return found


def _why(plan: CleaningPlan, offset: int) -> list[str]:
    try:
        return plan.why(offset)
    except LookupError:
        return ["no record at this offset is cleaned"]


def _print(plan: CleaningPlan, told: dict[str, Any]) -> None:
    out = console()
    out.print(rich_text(plan.summary, "bold"))
    for text in [*plan.round_texts(), plan.high_watermark]:
        out.print(rich_text(text))
    if told["reasons"]:
        print_table(
            ["round", "fate", "records", "bytes", "why"],
            [[row["round"], _fate(row), row["records"], row["bytes"], row["reason"]]
             for row in told["reasons"]],
            spare=["bytes"],
        )  # fmt: skip
    for offset, sentences in told.get("why", {}).items():
        for sentence in sentences:
            out.print(rich_text(f"offset {offset}: {sentence}"))
    if told.get("keys"):
        columns = ["key", "records", "bytes", "dropped_records", "dropped_bytes"]
        rows = [
            [_key_text(row["key"]), *(row[name] for name in columns[1:])] for row in told["keys"]
        ]
        print_table([name.replace("_", " ") for name in columns], rows)
    for name in ("batches", "records"):
        if told.get(name):
            columns = list(told[name][0])
            rows = [list(row.values()) for row in told[name]]
            print_table([each.replace("_", " ") for each in columns], rows)
    out.print()


def _fate(row: dict[str, Any]) -> str:
    return "kept" if row["is_kept"] else "dropped"


def _key_text(key: str | None) -> str:
    return plain_text(None if key is None else bytes.fromhex(key))
