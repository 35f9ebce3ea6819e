"""`kafka-workbench`: what is in Kafka's log directories, from the command line, without a broker.

Data go to stdout, everything else to stderr. Exit codes, of every command:

    0    done; `verify`: nothing wrong; `search`: found
    1    `verify`: warnings; `search`: nothing found; `doctor`: something is slow or missing;
         `predict`: a log is changed, or damage goes unnoticed; `explain`, `plan`, `what-if`: a log
         cannot be loaded, or cleaning it fails; `spark`: replicas differ, damage was left out
    2    `verify`: errors; `doctor`: the installation does not work; --strict: data were left out;
         `predict`: the broker does not start, or not with all directories
    3    not done: an argument makes no sense, or a path, topic or file cannot be read
    130  interrupted
    141  whoever read the output stopped reading it

Nothing that is looked at is ever written to or locked; `recover`, `retention` and `compact` change
a copy, or what `--in-place` is given for.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

import click

PROGRAM: Final = "kafka-workbench"

FAILED: Final = 3
"""Exit code of a command that could not do what it was asked to."""
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141

COMMANDS: Final = {
    "ls": "list_partitions",
    "describe": "describe",
    "dump": "dump",
    "search": "search",
    "export": "export",
    "verify": "verify",
    "predict": "predict",
    "explain": "explain",
    "plan": "plan",
    "what-if": "what_if",
    "recover": "recover",
    "retention": "retention",
    "compact": "compact",
    "spark": "spark_jobs",
    "lab": "open_lab",
    "doctor": "doctor",
}
"""Names of the commands, in the order of the help, and the modules here that hold them."""

_EPILOG: Final = """\b
Exit codes:
  0    done (verify: nothing wrong; search: found)
  1    verify: warnings; search: nothing found; doctor: something is slow or missing;
       predict: a log is changed, or damage goes unnoticed; explain, plan, what-if: a log
       cannot be loaded, or cleaning it fails; spark: replicas differ, damage was left out
  2    verify: errors; doctor: the installation does not work; --strict: data were left out;
       predict: the broker does not start, or not with all directories
  3    not done: an argument makes no sense, or a path, topic or file cannot be read
  130  interrupted
  141  whoever read the output stopped reading it"""


class Program(click.Group):
    """The group of commands. A command's module is imported when it is called, or for the help."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command; None when there is no such."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"workbench.cli.{COMMANDS[cmd_name]}")
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a closed pipe is no error, and not click's to treat as one."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _silence_stdout()
            return PIPE_CLOSED
        return code

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT002 - click's signature
        **extra: Any,
    ) -> Any:
        """Run a command and exit with its code: errors are one line on stderr."""
        given = list(sys.argv[1:] if args is None else args)
        if not standalone_mode:
            return super().main(given, prog_name, complete_var, standalone_mode=False, **extra)
        sys.exit(self._run(given, complete_var, extra))

    def _run(self, args: list[str], complete_var: str | None, extra: dict[str, Any]) -> int:
        try:
            code = super().main(args, PROGRAM, complete_var, standalone_mode=False, **extra)
        except (KeyboardInterrupt, click.Abort):
            click.echo("interrupted", err=True)
            return INTERRUPTED
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            return FAILED
        except Exception as error:
            if "--debug" in args:
                raise
            click.echo(f"{PROGRAM}: {one_line(error)}", err=True)
            return FAILED
        return code if isinstance(code, int) else 0


def one_line(error: Exception) -> str:
    """Return what an error says, on one line; for errors that nobody foresaw with their kind."""
    from workbench.errors import WorkbenchError

    if isinstance(error, click.ClickException):
        text = error.format_message()
        if isinstance(error, click.UsageError) and error.ctx is not None:
            text = f"{text.rstrip('.')} ({error.ctx.command_path} --help tells more)"
    elif isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    else:
        text = str(error)
    expected = (click.ClickException, WorkbenchError, OSError, ValueError)
    if not isinstance(error, expected) and type(error) is not LookupError:
        name = type(error).__name__
        text = f"{name}: {text} (a fault of this program; --debug shows where)"
    return " ".join(text.split())


def _silence_stdout() -> None:
    """Give stdout another end, or Python complains when it flushes it at exit."""
    try:
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)
    except (OSError, ValueError):  # not a real file: a test's
        return


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("kafka-log-workbench")
    except PackageNotFoundError:
        return "0"


@click.group(cls=Program, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
@click.version_option(_version(), prog_name=PROGRAM)
def main() -> None:
    """Look into Kafka's log directories without a broker.

    A PATH is a log directory (an entry of log.dirs), several of one broker, the folder of one
    partition, or a single file. Nothing is written to or locked, but by recover, retention and
    compact, and those work on copies unless --in-place is given.
    """


if __name__ == "__main__":
    main()
