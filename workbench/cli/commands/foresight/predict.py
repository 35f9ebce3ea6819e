"""`kafka-workbench predict`: what a broker will do with log directories when it starts."""

from typing import Final

import click

from workbench.cli.changing import loading
from workbench.cli.command import Command, as_json, open_logs
from workbench.cli.output import cell, console, print_json, print_table, rich_text
from workbench.cli.settings import meant_for, say_meant, takes_start
from workbench.config.internal_topics import METADATA_LOG
from workbench.foresight.startup.prediction import (
    MetadataStart,
    PartitionStart,
    StartupPrediction,
)
from workbench.runtime.words import plural

_LOADS: Final = 0
_CHANGES: Final = 1
_FAILS: Final = 2
_FAILURES: Final = frozenset({"offline", "refuses"})
_COLORS: Final = {_LOADS: "green", _CHANGES: "yellow", _FAILS: "red"}


@click.command("predict", cls=Command)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@takes_start
@click.option("--quick", is_flag=True, help="Do not predict what consumers will read.")
@as_json
def command(
    *,
    paths: tuple[str, ...],
    settings: tuple[str, ...],
    kafka: str | None,
    node_id: int | None,
    now: int | None,
    quick: bool,
    as_json: bool,
) -> int:
    """Predict what a broker will do with log directories when it starts.

    Give them in the order of log.dirs: the first has the metadata log, unless --set
    metadata.log.dir names another. The engine recovers the metadata log, and then loads the logs of
    the topics that are known, with every change kept in memory: nothing is written. For each
    partition directory, the prediction says whether the broker loads it as it is, recovers it, sets
    it aside as stray, takes its log directory offline, or stops, and with which exception. It also
    names damage that the broker will not detect, and what consumers will then read. It says nothing
    about what cannot be read here.

    Exit codes: 0 all logs load as they are, 1 something is changed, is not detected or cannot be
    read here, 2 the broker does not start, or not with all directories.

    With --json: an object with broker, starts, problem, exception, metadata, directories and
    partitions.
    """
    prediction = predict(paths, settings, node_id, kafka=kafka, now=now, consumers=not quick)
    if as_json:
        print_json(prediction.as_dict())
    else:
        say_meant(prediction.broker, "start")
        _print(prediction)
    return _code(prediction)


def predict(
    paths: tuple[str, ...],
    settings: tuple[str, ...],
    node_id: int | None,
    *,
    kafka: str | None,
    now: int | None,
    consumers: bool,
) -> StartupPrediction:
    """Return the prediction for what the arguments name.

    Raises:
        LogDirectoryError: a path does not exist, or is not a directory.
        ConfigError: a setting is wrong, or the version is unknown.
    """
    logs = open_logs(paths)
    found = meant_for(logs.listing, settings, kafka)[1]
    with loading("loading", len(logs)) as advance:
        return logs.predict_startup(
            found.broker,
            topic_configs=found.topic_configs,
            node_id=node_id,
            kafka=kafka,
            now=now,
            consumers=consumers,
            progress=advance,
        )


def _code(prediction: StartupPrediction) -> int:
    verdicts = {each.verdict for each in prediction.directories}
    if not prediction.starts or not verdicts <= {"online", "unread"}:
        return _FAILS
    unread = _CHANGES if "unread" in verdicts else _LOADS
    return max([unread, *map(_severity, prediction)])


def _severity(row: PartitionStart) -> int:
    if row.verdict in _FAILURES:
        return _FAILS
    if row.verdict == "unread":
        return _CHANGES
    is_as_it_was = row.verdict in {"loads", "future", "deleted"} and not row.changes
    return _LOADS if is_as_it_was and not row.unnoticed else _CHANGES


def _print(prediction: StartupPrediction) -> None:
    out = console()
    print_table(
        ["partition", "verdict", "log start", "log end", "bytes cut", "recovered from"],
        [
            [
                row.name,
                row.verdict,
                row.log_start_offset,
                row.log_end_offset,
                row.bytes_cut,
                row.recovered_from,
            ]
            for row in prediction
        ],
        spare=["recovered from", "log start"],
    )
    for row in prediction:
        lines = list(_lines(row))
        if lines:
            out.print("", rich_text(row.name, "bold"), sep="\n")
        for line, style in lines:
            out.print(rich_text(f"  {line}", style))
    out.print()
    if prediction.metadata is not None:
        for line, style in _metadata_lines(prediction.metadata):
            out.print(rich_text(line, style))
    for directory in prediction.directories:
        if directory.verdict == "offline":
            out.print(rich_text(f"{directory.path} goes offline: {directory.problem}", "red"))
        elif directory.verdict == "unread":
            out.print(rich_text(f"{directory.path} {directory.problem}", "yellow"))
    out.print(rich_text(_summary(prediction), f"bold {_COLORS[_code(prediction)]}"))


def _metadata_lines(metadata: MetadataStart) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    log = metadata.log
    if log is not None and log.bytes_cut:
        text = f"{METADATA_LOG}: {log.reason}; what follows offset {metadata.known_until} is lost"
        found.append((text, "yellow"))
    if metadata.vanished:
        text = f"topics that vanish, because they are not in {METADATA_LOG}"
        found.append((f"{text}: {', '.join(metadata.vanished)}", "red"))
    if metadata.created:
        text = "partitions that the broker creates, empty"
        found.append((f"{text}: {', '.join(metadata.created)}", "yellow"))
    if metadata.note:
        found.append((metadata.note, "yellow"))
    return found


def _lines(row: PartitionStart) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if row.reason and (row.verdict != "recovers" or row.bytes_cut):
        text = f"{row.verdict}: {row.reason}"
        found.append((text, _COLORS[_FAILS] if row.verdict in _FAILURES else ""))
    if row.exception:
        found.append((f"throws {row.exception}", _COLORS[_FAILS]))
    if row.verdict != "recovers" or row.bytes_cut or len(row.changes) > 1:
        found += [(change, "") for change in row.changes]
    found += [(f"not detected: {damage}", "yellow") for damage in row.unnoticed]
    return found


def _summary(prediction: StartupPrediction) -> str:
    if not prediction.starts:
        thrown = f" ({prediction.exception})" if prediction.exception else ""
        return f"the broker does not start: {prediction.problem}{thrown}"
    counts: dict[str, int] = {}
    for row in prediction:
        counts[row.verdict] = counts.get(row.verdict, 0) + 1
    words = ", ".join(f"{cell(count)} {verdict}" for verdict, count in counts.items())
    if any(each.verdict == "unread" for each in (*prediction, *prediction.directories)):
        return f"as far as the directories can be read here: {words or 'no logs'}"
    damaged = sum(bool(row.unnoticed) for row in prediction)
    noted = f"; damage in {plural(damaged, 'log')} is not detected" if damaged else ""
    return f"the broker starts: {words or 'no logs'}{noted}"
