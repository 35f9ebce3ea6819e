"""Find what a start does to single logs: truncated, emptied, moved, deleted, following others."""

import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from workbench.files.names import (
    HIGH_WATERMARKS,
    TopicPartition,
    directory_name,
    parse_directory_name,
)
from workbench.foresight.preflight.concern import Concern
from workbench.foresight.startup.losses import how_to_save
from workbench.foresight.startup.prediction import PartitionStart, StartupPrediction
from workbench.inspection.listing import Listing
from workbench.inspection.node_start.known_topics import KnownTopics
from workbench.inspection.unreadable import if_readable
from workbench.runtime.words import named_or_more, plural

TO_READ: Final = "Run it as a user that can read the files, with real files instead of links"


def concerns_of_logs(
    listing: Listing, prediction: StartupPrediction, node: KnownTopics, shorter: Mapping[str, str]
) -> Iterator[Concern]:
    """Yield what to know about single logs.

    Args:
        listing: the log directories.
        prediction: the prediction of a start on them.
        node: what its metadata say of the node.
        shorter: `shorter_logs`, by name.
    """
    yield from _of_logs(prediction)
    yield from _of_shorter_logs(shorter)
    yield from _of_followers(listing, prediction, node)


def shorter_logs(listing: Listing, prediction: StartupPrediction) -> Iterator[tuple[str, str]]:
    """Yield the logs that end below their checkpointed high watermark, whatever the start does.

    Each with its ends, as text.
    """
    for row, _, high in _with_high_watermarks(listing, prediction):
        end = row.log_end_offset
        if not row.bytes_cut and high is not None and end is not None and end < high:
            yield row.name, f"{row.name} (ends at {end}, high watermark {high})"


def _of_logs(prediction: StartupPrediction) -> Iterator[Concern]:
    shortened = [
        row
        for row in prediction
        if row.bytes_cut or (row.removed_from is not None and row.records_lost)
    ]
    if shortened:
        cut = sum(row.bytes_cut for row in shortened)
        each = [f"{row.name} ({row.loss or f'{row.bytes_cut:,} bytes'})" for row in shortened]
        verb = f"truncates {cut:,} bytes" if cut else "removes records"
        what = f"the start {verb}: {named_or_more(each)}"
        readable = [row for row in shortened if row.records_lost != 0]
        yield Concern("truncated", "warning", what, how_to_save(readable) if readable else "")
    later = [row.name for row in prediction if row.has_later_format]
    if later:
        version = prediction.broker.version
        what = (
            f"Kafka {version} does not read the batches of {named_or_more(later)}: it takes a "
            "batch for one message, so a log ends after the first offset of its last batch, and "
            "the next records get offsets that are taken; committed offsets are not loaded, and "
            "the cleaner ends"
        )
        yield Concern("unread-format", "error", what, "Start no version that is so old on them")
    unread = [
        f"{row.name}: {row.reason}"
        for row in prediction
        if row.verdict == "unread" and not row.has_later_format
    ]
    if unread:
        yield Concern("unreadable", "warning", named_or_more(unread, "; "), TO_READ)
    unnoticed = [row for row in prediction if row.unnoticed]
    if unnoticed:
        names = named_or_more([row.name for row in unnoticed])
        what = f"damage that the broker does not detect: {names}"
        action = "Replace these logs by those of another replica, or see kafka-workbench verify"
        yield Concern("undetected", "warning", what, action)
    emptied = [row for row in prediction if row.is_emptied and row.records_lost != 0]
    if emptied:
        what = (
            f"the broker makes empty logs, and truncates their only copies to offset 0: "
            f"{named_or_more([_emptied(row) for row in emptied])}"
        )
        action = (
            "Rename these folders before the start to the names of their logs, as "
            f"{emptied[0].name} to {_log_of(emptied[0])}"
        )
        yield Concern("copy-alone", "warning", what, action)
    moves = list(_moves(prediction))
    if moves:
        what = (
            f"the broker continues to move logs to other log directories: {named_or_more(moves)}. "
            "When a copy has caught up, it becomes the log, and the broker deletes the old one"
        )
        yield Concern("moves", "info", what)
    deleted = [row.name for row in prediction if row.verdict == "deleted"]
    if deleted:
        what = f"the broker deletes {named_or_more(deleted)}"
        action = (
            "Copy what is still needed of them before the start: kafka-workbench undelete DIR -t "
            "TOPIC --to OUT"
        )
        yield Concern("deleted", "warning", what, action)


def _moves(prediction: StartupPrediction) -> Iterator[str]:
    """Yield the logs whose copy in another log directory the broker continues to fill.

    Kafka: ReplicaManager.maybeAddLogDirFetchers (4.2)
    """
    logs = {row.name: row for row in prediction if row.verdict in {"loads", "recovers"}}
    for row in prediction:
        log = logs.get(_log_of(row))
        is_copy = row.verdict == "future" and not row.becomes_log
        if is_copy and log is not None and not log.unserved and log.directory != row.directory:
            yield (
                f"{log.name} from {log.directory} to {row.directory}, whose copy ends at offset "
                f"{row.log_end_offset} of {log.log_end_offset}"
            )


def _log_of(row: PartitionStart) -> str:
    name = parse_directory_name(row.name)
    return row.name if name is None else directory_name(name.topic, name.partition)


def _emptied(row: PartitionStart) -> str:
    lost = "" if row.records_lost is None else f" ({plural(row.records_lost, 'record')})"
    return f"{row.name}{lost}"


def _with_high_watermarks(
    listing: Listing, prediction: StartupPrediction
) -> Iterator[tuple[PartitionStart, TopicPartition, int | None]]:
    """Yield the logs with their partitions and checkpointed high watermarks."""
    known = {}
    for root in listing.roots:
        checkpoint = if_readable(partial(root.checkpoint, HIGH_WATERMARKS))
        known[os.path.abspath(root.path)] = {} if checkpoint is None else checkpoint.offsets
    for row in prediction:
        name = parse_directory_name(row.name)
        if name is not None and name.kind == "log" and row.directory in known:
            where = TopicPartition(name.topic, name.partition)
            yield row, where, known[row.directory].get(where)


def _of_shorter_logs(shorter: Mapping[str, str]) -> Iterator[Concern]:
    if shorter:
        what = (
            "logs end below their checkpointed high watermark, so committed records are missing "
            f"already, and the next ones get their offsets: {named_or_more([*shorter.values()])}"
        )
        action = "Replace these logs by those of another replica, or of a backup"
        yield Concern("shorter", "warning", what, action)


def _of_followers(
    listing: Listing, prediction: StartupPrediction, node: KnownTopics
) -> Iterator[Concern]:
    """Yield the logs that follow another node, which leads or may have been elected meanwhile.

    Kafka: AbstractFetcherThread.truncateToEpochEndOffsets (4.2)
    """
    cluster, follows, above = node.cluster, [], []
    for row, where, high in _with_high_watermarks(listing, prediction):
        key = cluster.topic_ids.get(where.topic, ""), where.partition
        known = cluster.partitions.get(key)
        if known is None or row.verdict not in {"loads", "recovers"} or row.unserved:
            continue
        others = {known.leader, *known.isr, *known.elr} & {*known.replicas} - {node.node_id}
        if not others:
            continue
        follows.append(row.name)
        end = row.log_end_offset
        if high is not None and end is not None and high < end:
            above.append(f"{row.name} ({plural(end - high, 'offset')} from {high})")
    if follows:
        what = (
            f"other nodes lead {named_or_more(follows)}, or may have been elected meanwhile: then "
            "each of these logs is truncated to where the leader's log ends, and fetches from it"
        )
        if above:
            what += f". Above their checkpointed high watermarks are {named_or_more(above)}"
        action = (
            "Compare these logs with those of the other nodes: kafka-workbench compare-replicas "
            "NODE=DIR NODE=DIR"
        )
        yield Concern("follows", "info", what, action)
