"""`kafka-workbench explain`: why a log is compacted or not, and why segments are deleted or not."""

from dataclasses import dataclass
from typing import Any

import click

from workbench.cli.command import Command, as_json, chooses_partitions, open_logs
from workbench.cli.explaining import FAILURES, chosen_logs, takes_now
from workbench.cli.output import console, print_json, print_table
from workbench.cli.progress import progress
from workbench.cli.settings import named_values, takes_settings
from workbench.errors import WorkbenchError
from workbench.inspection.partition import Partition
from workbench.loaders.dry_listing import open_dry, time_or_now
from workbench.loaders.explaining import Explainer
from workbench.loaders.explanation import Explanation


@dataclass(frozen=True)
class Answer:
    """What is told of a partition.

    Attributes:
        partition: name of its folder.
        cleaning, retention: None where it was not asked for, or there is a problem.
        problem: why its log cannot be loaded; None if it can.
    """

    partition: str
    cleaning: Explanation | None = None
    retention: Explanation | None = None
    problem: str | None = None

    @property
    def is_sound(self) -> bool:
        """Whether the log can be loaded, and be cleaned if it is due."""
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


@click.command("explain", cls=Command, short_help="Tell why logs are compacted, or deleted.")
@chooses_partitions
@click.option("--cleaning", "only", flag_value="cleaning", help="Only about compaction.")
@click.option("--retention", "only", flag_value="retention", help="Only about deletion.")
@takes_now
@takes_settings
@as_json
def command(
    *,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    only: str | None,
    now: int | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> int:
    """Tell why a broker of Kafka 4.2 compacts a log and deletes segments of it, or does not.

    One row a rule: what it looks at, the threshold, and what follows. They are the rules that the
    engine goes by, asked of the logs as a starting broker loads them; nothing is written.

    Topics are configured as __cluster_metadata in the same directories tells; --set counts more.
    Where neither tells, Kafka's defaults count, but what the cleaner's checkpoint names is
    compacted.

    Exit codes: 0 done, 1 a log cannot be loaded, or cleaning it would fail.

    With --json: a list of objects with partition, cleaning, retention and problem.
    """
    logs = open_logs(paths)
    chosen = chosen_logs(logs.listing, topics, partitions)
    moment = time_or_now(now)
    answers = []
    with (
        open_dry(logs.listing.log_directories, named_values(settings), moment) as dry,
        progress("explaining", len(chosen), unit="logs") as meter,
    ):
        explainer = Explainer(dry, moment)
        for partition in chosen:
            answers.append(_answer(explainer, partition, only))
            meter.advance(1)
    if as_json:
        print_json([answer.as_dict() for answer in answers])
    else:
        for answer in answers:
            _print(answer)
    return 0 if all(answer.is_sound for answer in answers) else FAILURES


def _answer(explainer: Explainer, partition: Partition, only: str | None) -> Answer:
    try:
        cleaning = None if only == "retention" else explainer.cleaning(partition)
        retention = None if only == "cleaning" else explainer.retention(partition)
    except (WorkbenchError, OSError) as error:
        return Answer(partition.name, problem=str(error))
    return Answer(partition.name, cleaning, retention)


def _print(answer: Answer) -> None:
    from rich.text import Text

    out = console()
    if answer.problem is not None:
        out.print(Text(f"{answer.partition}: {answer.problem}\n", style="red"))
        return
    for what, explanation in (("compaction", answer.cleaning), ("deletion", answer.retention)):
        if explanation is None:
            continue
        title = f"{answer.partition}, {what}: {explanation.conclusion}"
        out.print(Text(title, style="bold"))
        spare = ["Kafka", "threshold", "value"]
        print_table(explanation.columns, explanation.cells(), spare=spare)
        out.print()
