"""`kafka-workbench explain`: why a log is compacted or not, and why segments are deleted or not."""

from dataclasses import dataclass
from typing import Any, Final

import click

from workbench.cli.command import Command, as_json, chooses_partitions, open_logs
from workbench.cli.explain_options import FAILURES, chosen_logs, takes_now
from workbench.cli.output import console, print_json, print_table, rich_text
from workbench.cli.progress import progress
from workbench.cli.settings import named_values, say_meant, takes_kafka, takes_settings
from workbench.errors import WorkbenchError
from workbench.foresight.dry_listing import open_dry
from workbench.inspection.partition import DiskPartition
from workbench.loaders.explanations.explain_partition import Explainer
from workbench.loaders.explanations.explanation import Explanation
from workbench.runtime.times import time_or_now
from workbench.tables.foresight import RuleRow

_STYLES: Final = {
    "blocks": "bold dark_orange", "deleted": "bold dark_orange", "limits": "bold",
    "demands": "bold",
}  # fmt: skip
"""Verdict → its style on a terminal, as the app has it."""


@dataclass(frozen=True)
class PartitionExplanations:
    """What the command shows about a partition.

    Attributes:
        partition: the name of the partition, as ``orders-0``.
        cleaning, retention: None if it was not requested, or if there is a problem.
        problem: why its log cannot be loaded; None if it can.
    """

    partition: str
    cleaning: Explanation | None = None
    retention: Explanation | None = None
    problem: str | None = None

    @property
    def is_sound(self) -> bool:
        """Whether the log can be loaded, and cleaned if it is due."""
        if self.problem is not None:
            return False
        return self.cleaning is None or self.cleaning["uncleanable"].verdict != "blocks"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "partition": self.partition,
            "cleaning": None if self.cleaning is None else self.cleaning.as_dict(),
            "retention": None if self.retention is None else self.retention.as_dict(),
            "problem": self.problem,
        }


@click.command("explain", cls=Command, fields={"--json, in rules": RuleRow})
@chooses_partitions
@click.option("--cleaning", "only", flag_value="cleaning", help="Explain only compaction.")
@click.option("--retention", "only", flag_value="retention", help="Explain only deletion.")
@takes_now
@takes_settings
@takes_kafka
@as_json
def command(
    *,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    only: str | None,
    now: int | None,
    settings: tuple[str, ...],
    kafka: str | None,
    as_json: bool,
) -> int:
    """Explain why a broker compacts a log and deletes its segments, or does not.

    Each row shows one rule: the value that it checks, the threshold, and the verdict. The engine
    applies its own rules to the logs as a starting broker loads them; nothing is written.

    Topic configurations come from __cluster_metadata in the same directories; --set takes
    precedence. Without either, Kafka's defaults apply, but a log that the cleaner's checkpoint
    names is compacted. Every record is taken as committed; a line below the rows says what
    replication-offset-checkpoint has.

    Exit codes: 0 done, 1 a log cannot be loaded, or cleaning it would fail.

    With --json: a list of objects with broker, partition, cleaning, retention and problem. Of both,
    rules is a list of objects with the fields below.
    """
    logs = open_logs(paths)
    chosen = chosen_logs(logs.listing, topics, partitions)
    moment = time_or_now(now)
    answers = []
    with (
        open_dry(
            logs.listing.log_directories, named_values(settings), moment, kafka, logs.listing.fs
        ) as dry,
        progress("explaining", len(chosen), unit="logs") as meter,
    ):
        explainer = Explainer(dry, moment)
        for partition in chosen:
            answers.append(_answer(explainer, partition, only))
            meter.advance(1)
    if as_json:
        broker = dry.meant._asdict()
        print_json([{"broker": broker, **answer.as_dict()} for answer in answers])
    else:
        say_meant(dry.meant, "cleaning")
        for answer in answers:
            _print(answer)
    return 0 if all(answer.is_sound for answer in answers) else FAILURES


def _answer(
    explainer: Explainer, partition: DiskPartition, only: str | None
) -> PartitionExplanations:
    try:
        cleaning = None if only == "retention" else explainer.cleaning(partition)
        retention = None if only == "cleaning" else explainer.retention(partition)
    except (WorkbenchError, OSError) as error:
        return PartitionExplanations(partition.name, problem=str(error))
    return PartitionExplanations(partition.name, cleaning, retention)


def _print(answer: PartitionExplanations) -> None:
    out = console()
    if answer.problem is not None:
        out.print(rich_text(f"{answer.partition}: {answer.problem}", "red"), "")
        return
    for what, explanation in (("compaction", answer.cleaning), ("deletion", answer.retention)):
        if explanation is None:
            continue
        title = f"{answer.partition}, {what}: {explanation.conclusion}"
        out.print(rich_text(title, "bold"))
        spare = ["Kafka", "threshold", "value"]
        print_table(explanation.columns, explanation.cells(), spare=spare, styles=_STYLES)
        out.print(rich_text(explanation.high_watermark))
        out.print()
