"""`kafka-workbench verify`: what is damaged, and what a broker would do about it."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import click

from workbench.cli.command import (
    Command,
    as_json,
    chooses_partitions,
    is_quick,
    numbers_of,
    open_logs,
    pick_partitions,
    reads_remote_tier,
    takes_workers,
)
from workbench.cli.output import SEVERITY_COLORS, cell, console, print_json, rich_text
from workbench.cli.progress import progress
from workbench.cli.settings import say_meant, takes_kafka
from workbench.coordinator.verify import verify_coordinators
from workbench.file_system.source import absolute
from workbench.foresight.startup.removal import removal_sentence, removals_at_start, removed_records
from workbench.inspection.broker_version import MeantBroker, meant_broker
from workbench.inspection.findings import Finding, without_info
from workbench.inspection.partition import DiskPartition
from workbench.inspection.verify.verify import verify_partitions
from workbench.loaders.offsets.damage import (
    Place,
    loss_text,
    losses_by_place,
    losses_of_damaged,
    summary,
)
from workbench.loaders.scan.plan import chosen_names
from workbench.log_directory import LogDirectory
from workbench.runtime.words import plural, safe
from workbench.runtime.workers import worker_count
from workbench.tables.directories import FindingRow
from workbench.tables.offsets import DamagedRangeRow

CODES: Final = {"info": 0, "warning": 1, "error": 2}
"""Exit code by the worst severity."""

_Lost = Mapping[Place, DamagedRangeRow]
"""File and byte → the lost range."""


@click.command("verify", cls=Command, fields={"--json": FindingRow})
@chooses_partitions
@reads_remote_tier
@is_quick
@click.option("--info", is_flag=True, help="Also show findings that are only information.")
@takes_workers
@takes_kafka
@as_json
def command(
    *,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    quick: bool,
    info: bool,
    workers: int | None,
    kafka: str | None,
    as_json: bool,
) -> int:
    """Check segments, indexes, snapshots and checkpoints, alone and against each other.

    The command repairs and writes nothing. Each finding says what a broker would do about it.

    Exit codes: 0 nothing wrong, 1 warnings, 2 errors, 3 there is nothing to check.

    Where damage has taken records, the line "Lost" says which offsets, and where a consumer goes
    on; a line at the end says how many records of the damaged logs are readable. Another says how
    many of them a broker removes if it starts now, and how to save them first.

    With --json: a list of objects with the fields below, and kafka: the version of that broker; of
    damage that has taken records also lost, an object with first_offset, last_offset (included),
    offsets, records (null: unknown), next_offset (where a consumer can continue) and stops (whether
    it fails there until it seeks), otherwise null; and removed_at_start: how many records of the
    finding's log can be read now and are removed if a broker starts (null: unknown, or no log's).
    """
    logs = open_logs(paths)
    meant, findings, checked = _find(
        logs, topics, partitions, deep=not quick, workers=workers, kafka=kafka
    )
    shown = findings if info else without_info(findings)
    losses = [] if quick or not shown else losses_of_damaged(logs.values(), shown)
    lost = losses_by_place(losses)
    only = chosen_names(logs.listing, topics or None, numbers_of(partitions) or None)
    starts = [] if quick else removals_at_start(logs.listing, shown, kafka, only)
    if as_json:
        removed = removed_records(starts)
        print_json([
            {**finding.as_dict(), "kafka": meant.version, "lost": _lost(finding, lost),
             "removed_at_start": _removed(finding, removed)}
            for finding in shown
        ])  # fmt: skip
    else:
        say_meant(meant)
        sentence = removal_sentence(logs.listing, starts)
        _print(shown, len(findings) - len(shown), [checked, summary(losses)], lost, sentence)
    return max((CODES[finding.severity] for finding in findings), default=0)


def _lost(finding: Finding, lost: _Lost) -> dict[str, Any] | None:
    """Return what the damage of a finding has taken, for JSON."""
    row = lost.get((finding.path, finding.position))
    names = (
        "first_offset",
        "last_offset",
        "offsets",
        "records",
        "next_offset",
        "stops",
        "rescuable",
    )
    return None if row is None else {name: getattr(row, name) for name in names}


def _removed(finding: Finding, removed: Mapping[str, int | None]) -> int | None:
    """Return how many readable records a start removes of a finding's log, for JSON."""
    path = absolute(finding.path)
    return removed.get(path, removed.get(os.path.dirname(path)))


def _find(
    logs: LogDirectory,
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    *,
    deep: bool,
    workers: int | None = None,
    kafka: str | None = None,
) -> tuple[MeantBroker, list[Finding], str]:
    """Return the broker that is assumed, the findings, and a text that says what was checked.

    With topics or partitions, only the findings in files of the chosen partitions.

    Raises:
        ConfigError: the version is unknown.
        LookupError: a topic or partition is not there.
    """
    meant = meant_broker(logs.listing, kafka)
    everything = not topics and not partitions
    chosen: list[DiskPartition] = list(logs.values())
    if not everything:
        chosen = pick_partitions(logs.listing, topics, partitions)
    wanted = None if everything else {partition.topic for partition in chosen}
    folders = {partition.path for partition in chosen}
    found: list[Finding] = []
    of_others: list[Finding] = []
    looked_at: list[DiskPartition] = []
    with progress("verifying", sum(partition.size for partition in chosen)) as meter:
        for checked, findings in verify_partitions(
            logs.listing, topics=wanted, deep=deep, workers=worker_count(workers), rules=meant.rules
        ):
            is_chosen = isinstance(checked, DiskPartition) and checked.path in folders
            (found if is_chosen else of_others).extend(findings)
            if isinstance(checked, DiskPartition) and is_chosen:
                looked_at.append(checked)
                meter.advance(checked.size)
    of_others += verify_coordinators(logs.listing, topics=wanted, deep=deep)
    if not everything:
        of_others = [finding for finding in of_others if _is_in(finding.path, folders)]
    return meant, [*found, *of_others], _in_words(looked_at)


def _in_words(checked: Sequence[DiskPartition]) -> str:
    """Return a text of how much was checked; a partition that waits for its deletion never is."""
    files = [f"{each.path}/{each.only}" for each in checked if each.only and not each.segments]
    if files:
        return f"checked {', '.join(files)}"
    segments = sum(len(partition.segments) for partition in checked)
    size = sum(partition.size for partition in checked)
    return (
        f"checked {plural(len(checked), 'partition')}, {plural(segments, 'segment')}, "
        f"{plural(size, 'byte')}"
    )


def _is_in(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _print(
    findings: list[Finding], hidden: int, checked: Sequence[str], lost: _Lost, removed: str
) -> None:
    """Print findings by file, worst first, a line that counts them, and what was checked."""
    from rich.padding import Padding

    out = console()
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    order = sorted(by_path.items(), key=lambda item: -max(CODES[f.severity] for f in item[1]))
    for path, mine in order:
        out.print(rich_text(path, "bold"))
        for finding in mine:
            out.print(Padding(_heading(finding), (0, 0, 0, 2), expand=False))
            if finding.broker:
                line = rich_text(f"→ {finding.broker}", "dim")
                out.print(Padding(line, (0, 0, 0, 4), expand=False))
            row = lost.get((finding.path, finding.position))
            if row is not None:
                line = rich_text(f"→ {loss_text(row)}", "dim")
                out.print(Padding(line, (0, 0, 0, 4), expand=False))
    counts = {name: sum(f.severity == name for f in findings) for name in reversed(CODES)}
    words = [
        plural(count, name) if name != "info" else f"{count} for information"
        for name, count in counts.items()
        if count
    ]
    style = next((SEVERITY_COLORS[name] for name, count in counts.items() if count), "green")
    out.print(rich_text(", ".join(words) or "nothing wrong", f"bold {style}"))
    for text in filter(None, checked):
        out.print(rich_text(text, "dim"))
    if removed:
        out.print(rich_text(removed, SEVERITY_COLORS["warning"]))
    if hidden:
        text = f"{plural(hidden, 'finding')} for information: --info shows them"
        out.print(rich_text(text, "dim"))


def _heading(finding: Finding) -> Any:
    text = rich_text(f"{finding.severity}  ", SEVERITY_COLORS[finding.severity])
    if finding.position is not None:
        text.append(f"byte {cell(finding.position)}  ")
    if finding.offset is not None:
        text.append(f"offset {cell(finding.offset)}  ")
    text.append(safe(f"{finding.kind}: {finding.found}"))
    if finding.expected:
        text.append(safe(f", expected {finding.expected}"))
    return text
