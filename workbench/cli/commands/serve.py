"""`kafka-workbench serve`: let any Kafka client read a directory that no broker opens."""

import os
import queue
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import click

from workbench.cli.command import (
    PATHS,
    Command,
    as_json,
    complete_topics,
    open_logs,
    reads_remote_tier,
)
from workbench.cli.output import console, is_terminal, note, rich_text, say
from workbench.cli.settings import named_values, takes_settings, values_of_file
from workbench.inspection.findings import Finding
from workbench.log_directory import serve
from workbench.runtime.words import first_few, json_text, plural, size_text

if TYPE_CHECKING:
    from rich.text import Text

    from workbench.server.events import Event, RequestDone
    from workbench.server.server import Server

_MOST_WAITING: Final = 10_000  # events that wait to be printed; further ones are only counted
_WAIT_S: Final = 0.5


@click.command("serve", cls=Command, serves=True)
@PATHS
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Listen at this port; default any free one.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    metavar="HOST",
    help="Listen at this host; default 127.0.0.1.",
)
@click.option(
    "--insecure",
    is_flag=True,
    help="Allow a HOST that other machines can reach, without a certificate or without passwords.",
)
@click.option(
    "--certificate",
    type=click.Path(),
    metavar="FILE",
    help="Use TLS with this certificate (PEM).",
)
@click.option(
    "--key",
    type=click.Path(),
    metavar="FILE",
    help="The certificate's private key (PEM); default: it is in the same file.",
)
@click.option(
    "--passwords",
    type=click.Path(),
    metavar="FILE",
    help="Let only users connect that FILE names, by SASL/PLAIN; a line name:password for each.",
)
@click.option(
    "--advertised",
    metavar="HOST:PORT",
    help="Let clients connect here, as through a tunnel; default: where they have connected.",
)
@click.option(
    "--topic",
    "-t",
    "--topics",
    "topics",
    multiple=True,
    metavar="NAME",
    help="Serve only this topic; repeatable.",
    shell_complete=complete_topics,
)
@click.option(
    "--strict",
    is_flag=True,
    help="Answer with CORRUPT_MESSAGE where a batch is damaged; default: leave the batch out.",
)
@click.option(
    "--writable",
    is_flag=True,
    help="Let clients write: the engine leads the partitions as the only broker. Work on a copy.",
)
@click.option(
    "--recover",
    is_flag=True,
    help="With --writable: take directories that were not stopped cleanly, and recover their logs.",
)
@takes_settings
@click.option(
    "--config",
    "config_file",
    type=click.Path(),
    metavar="FILE",
    help="With --writable: lines [TOPIC:]NAME=VALUE, as a server.properties has them; "
    "--set takes precedence.",
)
@click.option(
    "--defaults",
    is_flag=True,
    help="With --writable: where the configuration of the directory's broker is unknown, take "
    "Kafka's defaults, which delete records after 7 days.",
)
@reads_remote_tier
@as_json
def command(
    *,
    paths: tuple[str, ...],
    port: int,
    host: str,
    insecure: bool,
    certificate: str | None,
    key: str | None,
    passwords: str | None,
    advertised: str | None,
    topics: tuple[str, ...],
    strict: bool,
    writable: bool,
    recover: bool,
    settings: tuple[str, ...],
    config_file: str | None,
    defaults: bool,
    as_json: bool,
) -> int:
    """Serve the logs to any Kafka client, until SIGINT or SIGTERM.

    Without --writable, nothing on the disk is written or locked. Offsets and members of groups are
    kept in memory, and begin with the committed offsets on the disk; requests that would write are
    refused. Damaged batches are left out, unless --strict is given. Messages of magic 0 and 1 are
    served as batches of magic 2. Of several brokers' directories, clients read each partition from
    the replica that is ahead.

    With --writable, the directories are locked, recovered, retained and cleaned as a broker does
    it, and stopped cleanly at the end. Clients produce, with transactions too, and make topics,
    groups and configurations; a KRaft broker that is the only controller serves on what is left.
    An empty PATH is formatted as Kafka 4.2 does it, and keeps topics and configurations. --set and
    --config give the configuration. Of a directory that a broker wrote, its server.properties is
    not known, nor, before KRaft, are the topics' configurations: retention deletes nothing then
    that is not configured, unless --defaults is given.

    Exit codes: 0 ended by a signal, 3 with --writable when every log directory has failed. A second
    signal ends it at once, without a clean stop.

    With --json: one object per line. The first, printed when clients can connect, has bootstrap
    ("127.0.0.1:PORT"), topics and partitions. Then one per request: client, client_id, api,
    version, request_bytes, response_bytes, request_queue_time_ms, local_time_ms, remote_time_ms,
    response_send_time_ms, total_time_ms, problem (why it was not answered); one with finding per
    thing left out; one with note for what clients get otherwise than it is stored.
    """
    if not writable and (recover or settings or config_file or defaults):
        raise click.UsageError("--recover, --set, --config and --defaults need --writable")
    if writable and strict:
        raise click.UsageError("--strict and --writable exclude each other")
    from workbench.server.security import ServerSecurity

    events = _Events()
    of_file, unused = ({}, []) if config_file is None else values_of_file(config_file)
    if unused:
        note(f"{config_file}: not used here: {first_few(unused)}")
    server = serve(
        open_logs(paths, may_be_empty=writable),
        host=host,
        port=port,
        topics=topics or None,
        insecure=insecure,
        security=ServerSecurity(certificate, key, passwords),
        advertised=advertised,
        observe=events.add,
        writable=writable,
        recover=recover,
        config={**of_file, **named_values(settings)},
        defaults=defaults,
        strict=strict,
    )
    with _ended_by_signals(events), server:
        served = server.catalog.topics
        partitions = sum(map(len, served.values()))
        if as_json:
            first = {"topics": len(served), "partitions": partitions}
            _print_line({"bootstrap": server.bootstrap_servers, **first})
        else:
            count = f"{len(served)} topics, {partitions} partitions"
            how = "writable" if writable else "read-only"
            say(f"serving {count} at {server.bootstrap_servers}, {how}; Ctrl-C ends it")
        with _status(server, quiet=as_json) as status:
            events.count = None if as_json else status.count
            for event in events:
                status.show(event, as_json=as_json)
                if server.failure is not None:
                    break
            server.stop()
            events.end()
            for event in events:  # what was answered or found until the server had stopped
                status.show(event, as_json=as_json)
    if server.failure is not None:
        raise server.failure
    return 0


class _Status:
    """What clients do now, as one line at the end of a terminal.

    Attributes:
        note: prints a line above that line.
    """

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._requests = self._bytes = 0
        self._last = ""
        self.note: Callable[[str], None] = note

    def count(self, request: "RequestDone") -> None:
        """Count a request."""
        self._requests += 1
        self._bytes += request.response_bytes
        who = request.client if request.client_id is None else request.client_id
        self._last = f" · last: {request.api} of {who}"

    def show(self, event: "Event", *, as_json: bool) -> None:
        """Print an event; without JSON, requests are only counted."""
        if as_json:
            _print_line(_fields(event))
        elif isinstance(event, Finding):
            self.note(f"left out: {event}")
        elif isinstance(event, str) and event != str(self._server.failure):  # that is the error
            self.note(event)

    def __rich__(self) -> "Text":
        clients = plural(self._server.connection_count, "connection")
        requests = plural(self._requests, "request")
        return rich_text(
            f"{clients} · {requests} · {size_text(self._bytes)} sent{self._last}", "dim"
        )


@contextmanager
def _status(server: "Server", *, quiet: bool) -> Iterator[_Status]:
    """Yield what counts requests; on a terminal, a line shows it, and notes go above that line."""
    status = _Status(server)
    if quiet or not (is_terminal() and sys.stderr.isatty()):
        yield status
        return
    from rich.live import Live

    with Live(status, console=console(), refresh_per_second=4, transient=True) as live:
        status.note = lambda text: live.console.print(rich_text(f"kafka-workbench: {text}"))
        yield status


def _fields(event: "Event") -> dict[str, Any]:
    if isinstance(event, str):
        return {"note": event}
    if isinstance(event, Finding):
        return {"finding": event.as_dict()}
    return asdict(event)


def _print_line(fields: dict[str, Any]) -> None:
    click.echo(json_text(fields))  # which also flushes


class _Events:
    """What the server reports, to be printed by the main thread; ends when `end` was called.

    A reader of stdout that stops reading does not stop the server, nor keep it from its end.

    Attributes:
        count: receives requests instead, in the server's thread: a printer that wakes up for each
            takes longer than some of them; None: they are printed, too.
    """

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._dropped = 0
        self._is_over = False
        self.count: Callable[[RequestDone], None] | None = None

    def add(self, event: "Event") -> None:
        """Take an event, in the server's thread."""
        if self.count is not None and not isinstance(event, Finding | str):
            self.count(event)
        elif self._queue.qsize() < _MOST_WAITING:
            self._queue.put(event)
        else:
            self._dropped += 1

    def end(self) -> None:
        """End the iteration; a handler of signals may call it."""
        self._is_over = True
        self._queue.put(None)
        _leave_unread()

    def __iter__(self) -> "Iterator[Event]":
        while (event := self._next()) is not None:
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                yield f"{dropped} events were not printed: no process read them"
            if self._is_over:
                _leave_unread()
            yield event

    def _next(self) -> "Event | None":
        """Return the next event; waits are short, as a signal right before one does not end it."""
        while True:
            with suppress(queue.Empty):
                return self._queue.get(timeout=_WAIT_S)


def _leave_unread() -> None:
    """Write to nowhere from now on if no process reads stdout: a waiting write continues there."""
    with suppress(OSError, ValueError):  # not a file of the system
        stdout = sys.stdout.fileno()
        if not select.select([], [stdout], [], 0)[1]:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stdout)
            os.close(nowhere)


@contextmanager
def _ended_by_signals(events: _Events) -> Iterator[None]:
    """Let SIGINT and SIGTERM end the server; a second one does so at once, whatever it does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kinds = (signal.SIGINT, signal.SIGTERM)
    first = threading.Event()

    def end(number: int, _frame: Any) -> None:
        if first.is_set():
            os.write(2, b"kafka-workbench: a second signal: ended without a clean stop\n")
            os._exit(128 + number)
        first.set()
        events.end()

    before = [signal.signal(kind, end) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
