"""Make the rows of a start, one per partition: predicted, or done.

Kafka: LogManager.loadLogs (4.2)
"""

import os
from collections.abc import Sequence

from workbench.errors import CorruptFileError, LinkError, NotRegularFileError, StorageError
from workbench.files.names import parse_directory_name
from workbench.foresight.startup.consumer import ConsumerView
from workbench.foresight.startup.describe_steps import bytes_cut, changes_in, recovered_from
from workbench.foresight.startup.kafka_errors import kafka_exception
from workbench.foresight.startup.prediction import PartitionStart, Verdict
from workbench.log.log import Log
from workbench.log_manager.loading import Outcome
from workbench.log_manager.opening import SET_ASIDE
from workbench.runtime.steps import Step


class StepsByFolder:
    """An observer that keeps steps by the partition directory that they concern. Thread-safe.

    A step that names only the partition belongs to the directory of that name.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, list[Step]] = {}

    def take(self, step: Step) -> None:
        """Keep a step."""
        where = step.where
        name = os.path.basename(os.path.dirname(where)) if os.path.isabs(where) else where
        self._by_name.setdefault(name, []).append(step)

    def of(self, folder: str) -> tuple[Step, ...]:
        """Return the steps of a folder, in the order they were reported."""
        return tuple(self._by_name.get(os.path.basename(folder), ()))


def partition_start(
    outcome: Outcome,
    steps: Sequence[Step],
    unnoticed: tuple[str, ...] = (),
    consumers: tuple[ConsumerView, ...] = (),
) -> PartitionStart:
    """Return the row of one partition."""
    first, cut = recovered_from(steps), bytes_cut(steps)
    log, error = outcome.log, outcome.error
    epochs = () if log is None else log.leader_epochs.entries
    exception = ""
    verdict: Verdict
    if log is None:
        assert error is not None
        verdict, exception, reason = _failure(outcome, error)
    else:
        verdict, reason = _success(log, steps, first, cut)
    return PartitionStart(
        directory=outcome.directory,
        name=os.path.basename(outcome.path),
        verdict=verdict,
        reason=reason,
        exception=exception,
        recovered_from=first,
        bytes_cut=cut,
        log_start_offset=None if log is None else log.log_start_offset,
        log_end_offset=None if log is None else log.log_end_offset,
        first_epoch=epochs[0].epoch if epochs else None,
        changes=changes_in(steps, outcome.path),
        unnoticed=unnoticed,
        consumers=consumers,
        steps=tuple(steps),
    )


def reading_problem(error: BaseException) -> str | None:
    """Return which file could not be read, if that is the only problem; None otherwise.

    A broker may be allowed to read the file, and follows links: its start cannot be predicted.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, PermissionError):
            return f"could not be read here: {cause.filename}: {cause.strerror}"
        if isinstance(cause, LinkError | NotRegularFileError):
            return f"could not be read here: {cause}"
        cause = cause.__cause__
    return None


def _failure(outcome: Outcome, error: Exception) -> tuple[Verdict, str, str]:
    unread = reading_problem(error)
    if unread is not None:
        return "unread", "", unread
    if outcome.stops_a_broker:
        return "refuses", kafka_exception(error), str(error)
    problem = error.problem if isinstance(error, StorageError | CorruptFileError) else str(error)
    return "offline", kafka_exception(error), problem


def _success(log: Log, steps: Sequence[Step], first: int | None, cut: int) -> tuple[Verdict, str]:
    name = parse_directory_name(os.path.basename(log.directory))
    kind = "log" if name is None else name.kind
    aside = [step.reason for step in steps if step.kind == SET_ASIDE]
    if aside or kind == "stray":
        return "stray", aside[0] if aside else "the log was renamed as stray before"
    if kind == "delete":
        return "deleted", "the log is marked for deletion"
    if kind == "future":
        return "future", "the log is a copy that was moving in from another log directory"
    if first is None:
        return "loads", ""
    lost = f"{cut} bytes are truncated" if cut else "nothing is truncated"
    return "recovers", f"recovery reads from offset {first}: {lost}"
