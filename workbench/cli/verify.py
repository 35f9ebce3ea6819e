"""`kafka-workbench verify`: what is damaged, and what a broker would do about it."""

from collections.abc import Sequence
from typing import Any, Final

import click

from workbench.cli.command import Command, as_json, open_logs, pick_partitions
from workbench.cli.output import cell, console, plural, print_json
from workbench.cli.progress import progress
from workbench.inspection.findings import Finding, without_info
from workbench.inspection.partition import Partition
from workbench.inspection.verify import verify_partitions

CODES: Final = {"info": 0, "warning": 1, "error": 2}
"""Exit code by the worst severity."""

_COLORS: Final = {"info": "blue", "warning": "yellow", "error": "red"}


@click.command("verify", cls=Command, short_help="Check everything, and say what is damaged.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option("--topic", "-t", "topics", multiple=True, metavar="NAME", help="Only this topic.")
@click.option(
    "--partition", "-p", "partitions", multiple=True, metavar="NUMBER|NAME",
    help="Only this partition, as 0 or orders-0; repeatable.",
)  # fmt: skip
@click.option(
    "--quick", is_flag=True, help="Look at headers, indexes and checkpoints; decode no records."
)
@click.option("--info", is_flag=True, help="Tell also what is only worth knowing.")
@as_json
def command(
    *,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    quick: bool,
    info: bool,
    as_json: bool,
) -> int:
    """Check segments, indexes, snapshots and checkpoints, alone and against each other.

    Nothing is repaired or written. Each finding says what a broker would do about it.

    Exit codes: 0 nothing wrong, 1 warnings, 2 errors.

    With --json: a list of objects with kind, severity (info, warning, error), path, position
    (byte), offset, found, expected and broker.
    """
    findings = find(paths, topics, partitions, deep=not quick)
    shown = findings if info else without_info(findings)
    if as_json:
        print_json([finding.as_dict() for finding in shown])
    else:
        _print(shown, len(findings) - len(shown))
    return max((CODES[finding.severity] for finding in findings), default=0)


def find(
    paths: tuple[str, ...], topics: tuple[str, ...], partitions: tuple[str, ...], *, deep: bool
) -> list[Finding]:
    """Return the findings of what the arguments name.

    With topics or partitions only those in files of the chosen partitions.

    Raises:
        LogDirectoryError: a path does not exist.
        LookupError: a topic or partition is not there.
    """
    logs = open_logs(paths)
    everything = not topics and not partitions
    chosen: list[Partition] = list(logs.values())
    if not everything:
        chosen = pick_partitions(logs.listing, topics, partitions)
    wanted = None if everything else {partition.topic for partition in chosen}
    found: list[Finding] = []
    with progress("verifying", sum(partition.size for partition in chosen)) as meter:
        for checked, findings in verify_partitions(logs.listing, topics=wanted, deep=deep):
            found += findings
            meter.advance(checked.size if isinstance(checked, Partition) else 0)
    if everything:
        return found
    folders = [partition.path for partition in chosen]
    return [finding for finding in found if _is_in(finding.path, folders)]


def _is_in(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _print(findings: list[Finding], hidden: int) -> None:
    """Print findings by file, worst first, and a line that counts them and those hidden."""
    from rich.padding import Padding
    from rich.text import Text

    out = console()
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    order = sorted(by_path.items(), key=lambda item: -max(CODES[f.severity] for f in item[1]))
    for path, mine in order:
        out.print(Text(path, style="bold"))
        for finding in mine:
            out.print(Padding(_heading(finding), (0, 0, 0, 2), expand=False))
            if finding.broker:
                line = Text(f"→ {finding.broker}", style="dim")
                out.print(Padding(line, (0, 0, 0, 4), expand=False))
    counts = {name: sum(f.severity == name for f in findings) for name in reversed(CODES)}
    words = [
        plural(count, name) if name != "info" else f"{count} for information"
        for name, count in counts.items()
        if count
    ]
    style = next((_COLORS[name] for name, count in counts.items() if count), "green")
    out.print(Text(", ".join(words) or "nothing wrong", style=f"bold {style}"))
    if hidden:
        out.print(Text(f"{plural(hidden, 'thing')} worth knowing: --info shows", style="dim"))


def _heading(finding: Finding) -> Any:
    from rich.text import Text

    text = Text()
    text.append(f"{finding.severity}  ", style=_COLORS[finding.severity])
    if finding.position is not None:
        text.append(f"byte {cell(finding.position)}  ")
    if finding.offset is not None:
        text.append(f"offset {cell(finding.offset)}  ")
    text.append(f"{finding.kind}: {finding.found}")
    if finding.expected:
        text.append(f", expected {finding.expected}")
    return text
