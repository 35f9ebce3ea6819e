"""Say what a start removes of logs, and how much of that can be read now.

Kafka: LogLoader.load, ReplicaAlterLogDirsThread.truncate, ReplicaManager.maybeAddLogDirFetchers
(4.2)
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from workbench.file_system.source import absolute
from workbench.files.names import (
    LOG_START_OFFSETS,
    TopicPartition,
    directory_name,
    parse_directory_name,
)
from workbench.foresight.startup.consumer import consume
from workbench.foresight.startup.describe_steps import first_removed
from workbench.foresight.startup.node import NodeStart, becomes_log
from workbench.foresight.startup.prediction import EMPTIED, PartitionStart, StartupPrediction
from workbench.inspection.lookups.record_counts import readable_records
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import if_readable
from workbench.log.log import Log
from workbench.log_manager.context import ManagerContext
from workbench.runtime.steps import Step
from workbench.runtime.words import named_or_more, plural


class Replaced(NamedTuple):
    """What is left of a log of which the start removes or replaces segments.

    Attributes:
        first: the lowest base offset of those segments.
        records: that a consumer gets then; None: not known.
    """

    first: int
    records: int | None


def what_is_left(log: Log, steps: Sequence[Step], *, is_compacted: bool) -> Replaced | None:
    """Return what is left of a loaded log; None if only its end may have been truncated.

    Args:
        log: the log, whose files are open.
        steps: the steps of loading it.
        is_compacted: whether the log is compacted.

    Raises:
        OSError: a file cannot be read.
    """
    first = first_removed(steps, is_compacted=is_compacted)
    if first is None or first >= log.log_end_offset:
        return None
    view = consume(log)
    is_whole = view.position == view.end and not view.error
    return Replaced(first, view.records if is_whole else None)


def with_losses(
    rows: Iterable[PartitionStart],
    before: Iterable[DiskPartition],
    replaced: Mapping[str, Replaced],
) -> Iterator[PartitionStart]:
    """Yield the rows with what the start removes of each log.

    Args:
        rows: what becomes of the logs.
        before: the partition directories as they were before the start.
        replaced: partition directory → what is left, where more than the end is removed.
    """
    by_path = {absolute(each.path): each for each in before}
    for row in rows:
        path = os.path.join(row.directory, row.name)
        partition = by_path.get(path)
        if partition is None:
            yield row
        elif row.log_end_offset is not None and (row.bytes_cut or path in replaced):
            yield _with_loss(row, partition, replaced.get(path))
        elif row.verdict == "deleted" or (row.verdict == "future" and not row.becomes_log):
            lost = None
            if row.verdict == "deleted" or row.log_end_offset == 0:
                lost = if_readable(partial(readable_records, partition))
            yield replace(row, records_lost=lost)
        else:
            lost = None if row.log_end_offset is None else 0
            yield replace(row, log_end_before=row.log_end_offset, records_lost=lost)


def _with_loss(
    row: PartitionStart, before: DiskPartition, replaced: Replaced | None
) -> PartitionStart:
    """Return the row of a log that the start shortens with what that removes."""
    end = row.log_end_offset
    assert end is not None

    def lost() -> int | None:
        if replaced is None:
            return readable_records(before, end)
        start = before.log_start_offset
        if start > before.log_end_offset:  # the checkpoint says so, not the files
            start = 0
        if replaced.records is None:
            return None
        return max(readable_records(before, start) - replaced.records, 0)

    return replace(
        row,
        log_end_before=if_readable(lambda: max(before.log_end_offset, end)),
        records_lost=if_readable(lost),
        removed_from=end if replaced is None else replaced.first,
    )


def how_to_save(rows: Sequence[PartitionStart], where: str = "DIR") -> str:
    """Return how to keep the records that a start removes.

    Args:
        rows: of the logs that lose them, at least one.
        where: the log directories, as a shell takes them.
    """
    beyond = [row for row in rows if (row.removed_from or 0) < (row.log_start_offset or 0)]
    if beyond:
        names = named_or_more([row.name for row in beyond])
        step = (
            f"Take the lines of {names} out of {LOG_START_OFFSETS} before the start, and correct "
            "the count in its second line: the log start offset is beyond the log end offset, so "
            "the start removes every record"
        )
        others = [row for row in rows if row not in beyond]
        return f"{step}. {how_to_save(others, where)}" if others else step
    row = rows[0]
    name = parse_directory_name(row.name)
    topic = row.name if name is None else name.topic
    number = "" if name is None else f" -p {name.partition}"
    offsets = "" if row.removed_from is None else f" --offsets {row.removed_from}:"
    return (
        "Save the records that the start removes, if no other replica has them: kafka-workbench "
        f"export {where} {row.name}.parquet -t {topic}{number}{offsets}"
        + (f"; also of {named_or_more([each.name for each in rows[1:]])}" if rows[1:] else "")
    )


def removal_text(prediction: StartupPrediction, where: str) -> str:
    """Return which records a start removes that can be read now; empty if none.

    Args:
        prediction: the prediction.
        where: as in `how_to_save`.
    """
    rows = [row for row in prediction if row.records_lost]
    if not prediction.starts or not rows:
        return ""
    count = sum(row.records_lost or 0 for row in rows)
    each = [f"{row.name} ({row.loss or plural(row.records_lost or 0, 'record')})" for row in rows]
    return (
        f"If a broker starts now, it removes {plural(count, 'record')} that can be read: "
        f"{named_or_more(each)}. {how_to_save(rows, where)}"
    )


def abandoned_copies(
    rows: Iterable[PartitionStart],
    context: ManagerContext,
    assigned: Collection[TopicPartition] | None,
) -> Iterator[PartitionStart]:
    """Yield the rows, with copies that were moving in and whose log is in no directory.

    The broker makes an empty log elsewhere, and the copy follows it: it is truncated to offset 0.

    Args:
        rows: what becomes of the logs.
        context: the loaded logs.
        assigned: the partitions of this node; None: not known.
    """
    copies = {log.directory: (where, log) for where, log in context.registry.future.items()}
    for row in rows:
        found = copies.get(os.path.join(row.directory, row.name))
        if found is None or row.becomes_log or found[0] in context.registry.current:
            yield row
            continue
        where, _ = found
        if assigned is not None and where not in assigned:
            yield row
            continue
        reason = (
            f"{EMPTIED} to offset 0. Renamed to {directory_name(*where)} before the start, it is "
            "the log"
        )
        yield replace(row, reason=reason, log_end_offset=0, log_start_offset=0)


def copies_beside_logs(context: ManagerContext, node: NodeStart) -> Iterator[tuple[str, str, bool]]:
    """Yield log directory, problem, and whether the broker ends, of copies beside their own logs.

    A copy that is to become the log is renamed at the start, and the broker ends because the log
    has the name. Any other is renamed once it has caught up: then the directory goes offline.

    Kafka: LogManager.recoverAbandonedFutureLogs, replaceCurrentWithFutureLog (4.2)
    """
    for where, copy in sorted(context.registry.future.items()):
        log: Log | None = context.registry.current.get(where)
        if log is None or log.parent_directory != copy.parent_directory:
            continue
        is_at_once = becomes_log(copy, node)
        when = "at its start" if is_at_once else "once it has caught up"
        problem = (
            f"{copy.directory} is a copy beside its own log {directory_name(*where)}: {when}, the "
            "broker cannot rename it, because the log has the name"
        )
        yield copy.parent_directory, problem, is_at_once
