"""`kafka-workbench doctor`: whether this installation is sound, and what to do if it is not."""

from dataclasses import asdict
from typing import Final

import click

from workbench.cli.checks import DoctorCheck, all_checks
from workbench.cli.command import Command, as_json
from workbench.cli.output import console, is_terminal, print_json, rich_text
from workbench.cli.progress import progress

CODES: Final = {"ok": 0, "absent": 0, "warning": 1, "error": 2}
"""Exit code by the worst status; most users do not need what is absent."""

_COLORS: Final = {"ok": "green", "absent": "dim", "warning": "yellow", "error": "red"}


@click.command("doctor", cls=Command)
@click.option(
    "--warm", is_flag=True, help="First compile what reads and writes batches, for later runs."
)
@as_json
def command(*, warm: bool, as_json: bool) -> int:
    """Check Python, the libraries, compiled code, codecs, Java, Jupyter and the browser.

    A new installation compiles in the background at its first use, for about a minute. --warm does
    it now. For an image or many machines of one kind of processor, set NUMBA_CACHE_DIR to a folder
    of the image, here and where it runs.

    Exit codes: 0 sound, 1 something is slow or does not work, 2 nothing can be read. Extras that
    are not installed make no difference.

    With --json: a list of objects with name, status (ok, absent, warning, error), found, advice.
    """
    if warm:
        from workbench.kernels.warm_up import compile_kernels

        with progress("compiling", 1, unit="times") as meter:
            compile_kernels()
            meter.advance(1)
    checks: list[DoctorCheck] = []
    functions = all_checks()
    with progress("checking", len(functions), unit="checks") as meter:
        for function in functions:
            checks.append(function())
            meter.advance(1)
    if as_json:
        print_json([asdict(check) for check in checks])
    else:
        _print(checks)
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
