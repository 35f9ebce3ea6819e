"""`kafka-workbench compare-replicas`: the disks of several brokers of one cluster, compared."""

from collections.abc import Sequence
from typing import Any, Final

import click

from workbench.cli.command import Command, as_json, chooses_rows, numbers_of, open_logs
from workbench.cli.output import SEVERITY_COLORS, console, print_json, print_table, rich_text, say
from workbench.cli.progress import progress
from workbench.comparison.advice import advice
from workbench.comparison.replica import Replica
from workbench.comparison.results import PartitionComparison, Verdict
from workbench.inspection.findings import Finding, without_info
from workbench.loaders.tables.replica_comparison import ReplicaComparison
from workbench.log_directory import compare_replicas
from workbench.runtime.words import plural

CODES: Final = {None: 0, "info": 0, "warning": 1, "error": 2}
"""Exit code by the worst severity."""

_COLORS: Final[dict[Verdict, str]] = {
    "alike": "green", "lag": "yellow", "damage": "red", "divergence": "red", "loss": "red",
}  # fmt: skip


@click.command("compare-replicas", cls=Command)
@click.argument("brokers", metavar="BROKER=DIR...", nargs=-1, required=True)
@chooses_rows
@click.option(
    "--quick", is_flag=True, help="Compare headers and stored CRCs; check no CRC of a batch."
)
@click.option(
    "--kafka", "version", metavar="VERSION", help="Truncate by the rules of this version, as 2.4."
)
@click.option("--all", "everything", is_flag=True, help="Also show details of equal replicas.")
@as_json
def command(
    *,
    brokers: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    quick: bool,
    version: str | None,
    everything: bool,
    as_json: bool,
) -> int:
    """Show for each partition who is ahead, where replicas differ, and what would be lost.

    BROKER is the broker's id or any name, DIR one of its log directories; a broker with several is
    given several times. The brokers must be stopped, or their directories copied at one time.
    Nothing is written.

    Example: 1=/disks/b1 2=/disks/b2 3=/disks/b3

    Exit codes: 0 the replicas are alike, 1 one lags or something is odd, 2 they diverge, committed
    records are lost, or a log is damaged, 3 there is nothing to compare.

    With --json: a list of objects, one per partition, with topic, partition, verdict (alike, lag,
    damage, divergence, loss), ahead, divergence_offset (first offset at which two replicas hold
    different records; null if none do), committed_at_least, committed_at_most, leader and isr (from
    the cluster's metadata, or null), replicas, pairs and verdicts (findings as of verify --json).
    A replica has broker, path, topic_id, stop, log_start_offset, log_end_offset, last_epoch,
    epochs, high_watermark (of the checkpoint), recovered_end_offset, restart_high_watermark,
    would_truncate_to (leader to offset), lost_as_leader (committed offsets, first and end; or null)
    and damage.
    """
    chosen = numbers_of(partitions)
    disks = {broker: open_logs(tuple(paths)) for broker, paths in _by_broker(brokers).items()}
    size = sum(
        each.size
        for logs in disks.values()
        for each in logs.values()
        if not topics or each.topic in topics
    )
    with progress("comparing", size) as meter:
        result = compare_replicas(
            disks,
            topics=topics or None,
            partitions=chosen or None,
            deep=not quick,
            version=version,
            progress=lambda done: meter.advance(sum(r.partition.size for r in done.replicas)),
        )
    if as_json:
        print_json([each.as_dict() for each in result])
    else:
        _print(result, everything=everything)
    return CODES[result.worst]


def _by_broker(given: Sequence[str]) -> dict[str, list[str]]:
    """Return broker → its directories.

    Raises:
        UsageError: an argument is not BROKER=DIR.
    """
    found: dict[str, list[str]] = {}
    for each in given:
        broker, equals, path = each.partition("=")
        if not broker or not equals or not path:
            raise click.UsageError(f"{each!r} is not BROKER=DIR, such as 1=/var/lib/kafka")
        found.setdefault(broker, []).append(path)
    return found


def _print(result: ReplicaComparison, *, everything: bool) -> None:
    out = console()
    print_table(
        ["partition", "verdict", "ahead", "replicas", "differ from", "committed", "log ends"],
        [
            [
                each.name,
                each.verdict,
                ", ".join(_ahead(each)),
                len(each.replicas),
                each.divergence_offset,
                _committed(each),
                ", ".join(f"{r.broker}: {r.log_end_offset:,}" for r in each.replicas),
            ]
            for each in result
        ],
        spare=["replicas", "log ends"],
    )
    for finding in result.directory_findings:
        _print_finding(out, finding)
    for each in result:
        if everything or each.verdict != "alike" or without_info(list(each.findings)):
            click.echo()
            out.print(rich_text(f"{each.name}: {each.verdict}", f"bold {_COLORS[each.verdict]}"))
            say(each.summary)
            say(advice(each))
            _print_replicas(each)
            for finding in each.findings if everything else without_info(list(each.findings)):
                _print_finding(out, finding)
            for line in _if_leader(each):
                say(f"  {line}")
    click.echo()
    out.print(rich_text(result.summary, f"bold {_COLORS[result.verdict]}"))


def _ahead(compared: PartitionComparison) -> list[str]:
    best = compared.replica(compared.ahead).rank
    return [each.broker for each in compared.replicas if each.rank == best]


def _committed(compared: PartitionComparison) -> str:
    low, high = compared.committed_at_least, compared.committed_at_most
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _print_replicas(compared: PartitionComparison) -> None:
    print_table(
        [
            "  broker", "stop", "log start", "log end", "last epoch", "high watermark",
            "after a start", "shares up to", f"follows {compared.ahead}",
        ],
        [_replica_cells(compared, each) for each in compared.replicas],
        spare=["stop", "log start", "after a start"],
    )  # fmt: skip


def _replica_cells(compared: PartitionComparison, replica: Replica) -> list[Any]:
    broker = replica.broker
    follows = "is ahead"
    if broker != compared.ahead:
        truncation = compared.truncation(broker, compared.ahead)
        removes = truncation.removes
        follows = f"truncates to {truncation.offset:,}" if removes else "truncates nothing"
    return [
        f"  {broker}",
        replica.stop,
        replica.log_start_offset,
        replica.log_end_offset,
        replica.last_epoch,
        replica.high_watermark,
        replica.restart_high_watermark,
        compared.common_end(broker),
        follows,
    ]


def _print_finding(out: Any, finding: Finding) -> None:
    color = SEVERITY_COLORS[finding.severity]
    out.print(rich_text(f"  {finding.severity}  {finding.kind}: {finding.found}", color))
    if finding.broker:
        out.print(rich_text(f"    → {finding.broker}", "dim"))


def _if_leader(compared: PartitionComparison) -> list[str]:
    """Return a sentence for each broker: what would be lost if it became the leader."""
    if len(compared.replicas) < 2:
        return []
    lines = []
    for leader, found in compared.leaderships.items():
        parts = [
            f"broker {name} truncates to {each.offset:,} ({plural(each.removes, 'offset')} lost)"
            for name, each in found.truncations.items()
            if each.removes
        ]
        if found.lost is not None:
            first, end = found.lost
            parts.append(
                f"committed offsets {first:,} to {end - 1:,} are lost "
                f"({plural(end - first, 'offset')})"
            )
        if found.uncommitted:
            parts.append(f"{plural(found.uncommitted, 'other offset')} lost, perhaps not committed")
        lines.append(f"if broker {leader} led: {'; '.join(parts) or 'nothing is lost'}")
    return lines
