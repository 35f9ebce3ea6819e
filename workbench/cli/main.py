"""`kafka-workbench`: inspect Kafka's log directories from the command line, without a broker.

Data goes to stdout, everything else to stderr. `_EPILOG` lists the exit codes of every command.

No command writes to or locks what it reads; `recover`, `retention` and `compact` change a copy, or
the directory itself with `--in-place`.
"""

import codecs
import importlib
import io
import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, TextIO

import click

import workbench
from workbench.cli.exit_codes import FAILED, INTERRUPTED, INTERRUPTED_TEXT, PIPE_CLOSED
from workbench.cli.output import DEBUG_HELP, note, say
from workbench.cli.words import advice_for, meant
from workbench.runtime.words import safe

PROGRAM: Final = "kafka-workbench"

SECTIONS: Final = {
    "What is there": {
        "ls": ("contents.list_partitions", "List topics and partitions."),
        "describe": ("contents.describe", "Show one thing in detail."),
        "dump": ("contents.dump", "Print records and batches."),
        "cluster": ("contents.cluster", "Show a KRaft cluster at a time, and its changes."),
        "offset": ("contents.offset", "Say what became of an offset."),
        "search": ("contents.search", "Find records by key, value, header, time."),
        "sql": ("contents.sql", "Query records, segments, groups and more in SQL."),
        "export": ("contents.export", "Write records to Parquet, CSV or JSON lines."),
    },
    "What is wrong": {
        "verify": ("verify", "Check everything, and report what is damaged."),
        "compare-replicas": ("compare_replicas", "Compare the disks of several brokers."),
        "preflight": ("foresight.preflight", "Check whether topics will be served."),
        "predict": ("foresight.predict", "Predict what a broker will do at its start."),
        "report": ("report", "Write one HTML file for a ticket."),
        "stuck": ("stuck", "Find what is not deleted, compacted, read."),
        "repairs": ("coordinators.list_repairs", "Plan a repair of groups and transactions."),
    },
    "Groups and transactions": {
        "groups": ("coordinators.list_groups", "List groups of every kind."),
        "group": ("coordinators.show_group", "Show one group and its story."),
        "offsets": ("coordinators.list_offsets", "List committed offsets and their lag."),
        "transactions": (
            "coordinators.list_transactions",
            "List transactions; find what hangs.",
        ),
        "transaction": ("coordinators.show_transaction", "Show one transaction and what ends it."),
    },
    "Why, and what if": {
        "explain": ("foresight.explain", "Explain why logs are compacted, or deleted."),
        "plan": ("foresight.plan", "Show what compaction would drop, and why."),
        "what-if": ("foresight.what_if", "Show what another configuration would do."),
    },
    "Do what a broker does, in a copy": {
        "recover": ("foresight.recover", "Recover a log directory, into a copy."),
        "undelete": ("foresight.undelete", "Bring a deleted topic back, in a copy."),
        "retention": ("foresight.retention", "Delete old segments, in a copy."),
        "compact": ("foresight.compact", "Compact logs, in a copy."),
    },
    "Open it in other programs": {
        "serve": ("serve", "Let Kafka's clients read the logs."),
        "app": ("open_app", "Open one screen in a browser, without code."),
        "lab": ("open_lab", "Open JupyterLab on the tour."),
        "replay": ("replay", "Write records into a running cluster."),
        "to-table": ("to_table", "Load what is new into a table, each record once."),
        "spark": ("spark_jobs", "Run a Spark job over log directories."),
    },
    "This installation": {
        "doctor": ("doctor", "Check this installation."),
    },
}
"""Sections of the help: names of commands, the modules that hold them, and a line of help."""

COMMANDS: Final = {name: module for part in SECTIONS.values() for name, (module, _) in part.items()}
"""Names of the commands, in the order of the help, and their modules."""

_EPILOG: Final = """\b
Exit codes:
  0    done (verify: nothing wrong; search: found)
  1    verify: warnings; search, offset: nothing found;
       doctor: something is slow or missing;
       compare-replicas: a replica lags, or another warning;
       predict: a log is changed, or damage is not detected;
       preflight: a warning; stuck: something is;
       explain, plan, what-if: a log cannot be loaded, or cleaning it fails;
       spark: replicas differ, damage was left out;
       cluster: metadata is damaged or missing;
       groups, group, offsets, transactions, transaction: a record could
       not be read or is in a wrong partition; no such group or
       transaction; a transaction hangs, or a marker lacks its data;
       repairs: something to repair
  2    verify: errors; doctor: the installation does not work;
       --strict: data was left out;
       compare-replicas: replicas diverge, or data are damaged or lost;
       predict: the broker does not start, or not with all directories;
       preflight: a topic is not served
  3    not done: an argument is invalid, a path, topic or file cannot be
       read, or nothing there looks like Kafka's
  130  interrupted
  141  the reader of the output stopped reading it"""


class Program(click.Group):
    """The group of commands. A command's module is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command; None if no command has this name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"workbench.cli.commands.{COMMANDS[cmd_name]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the commands by section, without their modules."""
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name, text) for name, (_, text) in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name; an unknown one gets what to type instead."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            text = f"{error.message.rstrip('.')}{advice_for(args[0], COMMANDS)}"
            raise click.UsageError(text, ctx) from None

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the arguments, which can print the help: a closed pipe is handled as in `invoke`."""
        with _closed_pipes():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a closed pipe is not an error, and must not reach click as one."""
        with _closed_pipes():
            code = super().invoke(ctx)
            sys.stdout.flush()
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
        at = next((i for i, each in enumerate(given) if not each.startswith("-")), len(given))
        given[at:] = meant(given[at:], COMMANDS)
        if not standalone_mode:
            return super().main(given, prog_name, complete_var, standalone_mode=False, **extra)
        _escape_letters_that_stdout_lacks()
        try:
            with _closed_pipes(), warnings.catch_warnings():
                warnings.showwarning = _show_warning
                code = self._run(given, complete_var, extra)
        except PipeClosedError:
            _silence_output()
            code = PIPE_CLOSED
        except OSError:  # stderr is a full disk: 1 would say something else
            code = FAILED
        sys.exit(code)

    def _run(self, args: list[str], complete_var: str | None, extra: dict[str, Any]) -> int:
        interrupted: list[int] = []
        try:
            with _interrupts(interrupted):
                code = super().main(args, PROGRAM, complete_var, standalone_mode=False, **extra)
        except PipeClosedError:
            raise
        except (KeyboardInterrupt, click.Abort):
            return _tell_interrupted()
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            return FAILED
        except Exception as error:  # noqa: BLE001 - the last resort: one line, and exit code 3
            if interrupted:  # DuckDB and Arrow turn it into an error of their own
                return _tell_interrupted()
            if "--debug" in args:
                for line in "".join(traceback.format_exception(error)).splitlines():
                    say(line, err=True)
                return FAILED
            note(one_line(error))
            return FAILED
        return code if isinstance(code, int) else 0


def one_line(error: Exception) -> str:
    """Return the message of an error on one line; an unforeseen error begins with its type."""
    from workbench.errors import WorkbenchError

    if isinstance(error, click.ClickException):
        text = error.format_message()
        if isinstance(error, click.UsageError) and error.ctx is not None:
            text = f"{text.rstrip('.')} (see {error.ctx.command_path} --help)"
    elif isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    else:
        text = str(error)
    expected = (click.ClickException, WorkbenchError, OSError, ValueError)
    if not isinstance(error, expected) and type(error) is not LookupError:
        name = type(error).__name__
        text = f"{name}: {text} (a bug in kafka-workbench; --debug shows where)"
    return safe(text.strip())


@contextmanager
def _interrupts(noted: list[int]) -> Iterator[None]:
    """Note each Ctrl-C of the block, which raises KeyboardInterrupt as before."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # a thread, or a caller with a handler of its own
        yield
        return

    def note_it(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - of a handler
        noted.append(number)
        raise CtrlCError

    try:
        signal.signal(signal.SIGINT, note_it)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _tell_interrupted() -> int:
    click.echo(INTERRUPTED_TEXT, err=True)
    return INTERRUPTED


class CtrlCError(KeyboardInterrupt):
    """Ctrl-C was pressed.

    After a plain KeyboardInterrupt within `exec` or `eval` of text, as dataclasses and named tuples
    do it where they are defined, Python dies by the signal at its end, whatever caught it.
    """


class PipeClosedError(Exception):
    """The reader of stdout or stderr stopped reading it."""


@contextmanager
def _closed_pipes() -> Iterator[None]:
    """Distinguish a closed pipe from the errors for which click exits with 1."""
    try:
        yield
    except BrokenPipeError as error:
        raise PipeClosedError from error


def _escape_letters_that_stdout_lacks() -> None:
    r"""Let stdout write ``\u6771`` for a letter that its encoding lacks, as JSON does."""
    codecs.register_error("escaped", _escaped)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="escaped")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _silence_output() -> None:
    """Redirect the closed stream, because otherwise Python complains when it flushes it at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            descriptor = os.open(os.devnull, os.O_WRONLY)
            os.dup2(descriptor, stream.fileno())
            os.close(descriptor)


def _show_warning(
    message: Warning | str,
    category: type[Warning],  # noqa: ARG001 - the signature of warnings.showwarning
    filename: str,  # noqa: ARG001
    lineno: int,  # noqa: ARG001
    file: TextIO | None = None,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> None:
    """Print a warning as one line, instead of `warnings.showwarning`."""
    note(f"warning: {message}")


def _tell_version(context: click.Context, _option: click.Parameter, is_asked: bool) -> None:
    """Print the version and end; what reads it is imported for nothing else."""
    if is_asked and not context.resilient_parsing:
        say(f"{PROGRAM}, version {workbench.__version__}")
        context.exit()


@click.group(cls=Program, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, expose_value=False, help=DEBUG_HELP)
@click.option(
    "--version", "-V", is_flag=True, is_eager=True, expose_value=False, callback=_tell_version,
    help="Show the version and exit.",
)  # fmt: skip
def main() -> None:
    """Inspect Kafka's log directories without a broker.

    A PATH is a log directory (an entry of log.dirs), a partition directory, or a single file;
    several PATHs are those of one broker. It may be a URI such as s3://bucket/broker-1, or lead
    into an archive such as logs.tar.gz. No command writes to or locks them, except recover,
    retention and compact, which work on copies unless --in-place is given.
    """


if __name__ == "__main__":
    main()
