"""`kafka-workbench doctor`: whether this installation is sound, and what to do if it is not."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Final

import click

from workbench.cli.checks.executors import ExecutorCheck, executor_checks
from workbench.cli.checks.installation import DoctorCheck, all_checks
from workbench.cli.command import Command, as_json, spark_conf
from workbench.cli.output import console, is_terminal, print_json, rich_text
from workbench.cli.progress import progress

CODES: Final = {"ok": 0, "absent": 0, "warning": 1, "error": 2}
"""Exit code by the worst status; most users do not need what is absent."""

_COLORS: Final = {"ok": "green", "absent": "dim", "warning": "yellow", "error": "red"}


@click.command("doctor", cls=Command)
@click.argument("directories", metavar="", nargs=-1, type=click.UNPROCESSED)
@click.option("--spark", "master", metavar="MASTER",
    help="Ask the executors of this master what they lack: spark://…, yarn, local[2], sc://…",
)  # fmt: skip
@spark_conf
@click.option("--dir", "path", metavar="DIR",
    help="With --spark: a log directory that executors should be able to read.",
)  # fmt: skip
@as_json
def command(
    *,
    directories: tuple[str, ...],
    master: str | None,
    conf: dict[str, str],
    path: str | None,
    as_json: bool,
) -> int:
    """Check Python, the libraries, compiled code, codecs, Java, Jupyter and the browser.

    With --spark, check what the executors of a cluster have, in a session with the settings of
    --conf, and say what gives them the rest.

    Exit codes: 0 sound, 1 something is slow or does not work, 2 nothing can be read. Extras that
    are not installed make no difference.

    With --json: a list of objects with name, status (ok, absent, warning, error), found, advice,
    and with --spark executor.
    """
    if directories:
        raise click.UsageError(
            f"doctor checks this installation; verify {directories[0]} checks a directory"
        )
    if master is not None:
        return _answer(_of_executors(master, conf, path), as_json=as_json)
    if conf or path is not None:
        raise click.UsageError("--conf and --dir need --spark")
    checks: list[DoctorCheck] = []
    functions = all_checks()
    with progress("checking", len(functions), unit="checks") as meter:
        for function in functions:
            checks.append(function())
            meter.advance(1)
    return _answer(checks, as_json=as_json)


def _of_executors(master: str, conf: dict[str, str], path: str | None) -> list[ExecutorCheck]:
    with progress("asking executors", 1, unit="sessions") as meter:
        checks = executor_checks(master, conf, path)
        meter.advance(1)
    return checks


def _answer(checks: Sequence[DoctorCheck], *, as_json: bool) -> int:
    """Print checks, and return the code of the worst."""
    if as_json:
        print_json([asdict(check) for check in checks])
    else:
        for executor, each in groupby(checks, lambda check: getattr(check, "executor", "")):
            if executor:
                console().print(rich_text(executor))
            _print(list(each))
    return max(CODES[check.status] for check in checks)


def _print(checks: list[DoctorCheck]) -> None:
    out = console()
    width = max(len(check.name) for check in checks) + 2
    for check in checks:
        line = rich_text(f"{check.status:<9}", _COLORS[check.status] if is_terminal() else "")
        line.append_text(rich_text(f"{check.name:<{width}}{check.found}", "default"))
        out.print(line)
        if check.advice:
            out.print(rich_text(f"{'':9}→ {check.advice}"))
