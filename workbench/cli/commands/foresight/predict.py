"""`kafka-workbench predict`: what a broker will do with log directories when it starts."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import click

from workbench.cli.changing import first_to_see, loading, print_starts, shows_all
from workbench.cli.command import Command, as_json, chooses_rows, chosen_rows, open_logs
from workbench.cli.output import console, print_json, rich_text
from workbench.cli.settings import meant_for, say_meant, takes_start
from workbench.config.internal_topics import METADATA_LOG
from workbench.files.names import DirectoryName, parse_directory_name
from workbench.foresight.startup.prediction import (
    MetadataStart,
    PartitionStart,
    StartupPrediction,
)
from workbench.inspection.listing import Listing
from workbench.log_directory import LogDirectory

_LOADS: Final = 0
_CHANGES: Final = 1
_FAILS: Final = 2
_FAILURES: Final = frozenset({"offline", "refuses"})
_COLORS: Final = {_LOADS: "green", _CHANGES: "yellow", _FAILS: "red"}


@click.command("predict", cls=Command)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@chooses_rows
@takes_start
@shows_all("logs that load as they are")
@click.option("--quick", is_flag=True, help="Do not predict what consumers will read.")
@as_json
def command(
    *,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    settings: tuple[str, ...],
    kafka: str | None,
    node_id: int | None,
    now: int | None,
    show_all: bool,
    quick: bool,
    as_json: bool,
) -> int:
    """Predict what a broker will do with log directories when it starts.

    Give them in the order of log.dirs: the first has the metadata log, unless --set
    metadata.log.dir names another. The engine recovers the metadata log, and then loads the logs of
    the topics that are known, with every change kept in memory: nothing is written. For each
    partition directory, the prediction says whether the broker loads it as it is, recovers it, sets
    it aside as stray, takes its log directory offline, or stops, and with which exception. It also
    names damage that the broker will not detect, the records that can be read now and that the
    start removes, and what consumers will then read. It says nothing about what cannot be read
    here, nor about the minutes after the start: preflight does. With --topic or --partition,
    the whole start is predicted, and the logs of these are shown and judged.

    Exit codes: 0 all logs load as they are, 1 something is changed, made empty, not detected or
    cannot be read here, as newer metadata that only the controllers have, 2 the broker does not
    start, or not with all directories.

    With --json: an object with broker, starts, problem, exception, metadata, directories and
    partitions.
    """
    logs = open_logs(paths, of_a_start=True)
    whole = predict(logs, settings, node_id, kafka=kafka, now=now, consumers=not quick)
    prediction = _chosen(whole, logs.listing, topics, partitions)
    if as_json:
        print_json(prediction.as_dict())
    else:
        say_meant(prediction.broker, "start")
        _print(prediction, show_all=show_all)
    return _code(prediction)


def predict(
    logs: LogDirectory,
    settings: tuple[str, ...],
    node_id: int | None,
    *,
    kafka: str | None,
    now: int | None,
    consumers: bool,
) -> StartupPrediction:
    """Return the prediction for what was opened.

    Raises:
        LogDirectoryError: a single file was opened.
        ConfigError: a setting is wrong, or the version is unknown.
    """
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


def _chosen(
    whole: StartupPrediction, listing: Listing, topics: tuple[str, ...], partitions: tuple[str, ...]
) -> StartupPrediction:
    """Return the prediction with the logs that the options name, there or created.

    Raises:
        LookupError: there is no such topic or partition.
    """
    metadata = whole.metadata
    created = () if metadata is None else metadata.created
    rows: list[PartitionStart | str] = [*whole, *created]
    chosen = chosen_rows(rows, listing, topics, partitions, of=_places)
    if metadata is not None and len(chosen) < len(rows):
        kept = {row for row in chosen if isinstance(row, str)}
        metadata = replace(
            metadata,
            created=tuple(filter(kept.__contains__, created)),
            leaderless=tuple(filter(kept.__contains__, metadata.leaderless)),
        )
    found = tuple(row for row in chosen if isinstance(row, PartitionStart))
    return replace(whole, partitions=found, metadata=metadata)


def _places(row: PartitionStart | str) -> Iterator[DirectoryName]:
    name = parse_directory_name(row if isinstance(row, str) else row.name)
    if name is not None:
        yield name


def _code(prediction: StartupPrediction) -> int:
    verdicts = {each.verdict for each in prediction.directories}
    if not prediction.starts or not verdicts <= {"online", "unread"}:
        return _FAILS
    metadata = prediction.metadata
    is_changed = any(each.problem for each in prediction.directories)
    if metadata is not None:
        is_changed = is_changed or bool(metadata.created) or bool(metadata.later)
    return max([_CHANGES if is_changed else _LOADS, *map(_severity, prediction)])


def _severity(row: PartitionStart) -> int:
    if row.verdict in _FAILURES:
        return _FAILS
    if row.verdict == "unread":
        return _CHANGES
    is_as_it_was = row.verdict in {"loads", "future", "deleted"} and not row.changes
    is_as_it_was = is_as_it_was and (row.verdict == "deleted" or not row.records_lost)
    return _LOADS if is_as_it_was and not (row.unnoticed or row.unserved) else _CHANGES


def _print(prediction: StartupPrediction, *, show_all: bool) -> None:
    out = console()
    rows = first_to_see(list(prediction), show_all=show_all)
    print_starts(rows, prediction.partitions, "load or recover with all that they have")
    for row in rows:
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
        elif directory.problem and directory.verdict != "refuses":
            out.print(rich_text(f"{directory.path} {directory.problem}", "yellow"))
    out.print(rich_text(prediction.summary, f"bold {_COLORS[_code(prediction)]}"))


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
    if metadata.leaderless:
        text = "of these may remain without a leader, because their log directory is not given"
        found.append((f"{text}: {', '.join(metadata.leaderless)}", "yellow"))
    found += [(note, "yellow") for note in (metadata.later, metadata.note) if note]
    return found


def _lines(row: PartitionStart) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if row.reason and (row.verdict != "recovers" or row.bytes_cut):
        text = f"{row.verdict}: {row.reason}"
        found.append((text, _COLORS[_FAILS] if row.verdict in _FAILURES else ""))
    if row.loss:
        found.append((row.loss, _COLORS[_CHANGES]))
    if row.unserved:
        found.append((f"not served: {row.unserved}", _COLORS[_FAILS]))
    if row.exception:
        found.append((f"throws {row.exception}", _COLORS[_FAILS]))
    if row.verdict != "recovers" or row.bytes_cut or len(row.changes) > 1:
        found += [(change, "") for change in row.changes]
    found += [(f"not detected: {damage}", "yellow") for damage in row.unnoticed]
    return found
