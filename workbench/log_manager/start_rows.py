"""What became of the folders of a log directory at a start, as rows: predicted, or done.

Kafka: LogManager.loadLogs (4.2)
"""

import os
from collections.abc import Sequence

from workbench.errors import CorruptFileError, StorageError
from workbench.files.names import parse_directory_name
from workbench.log.log import Log
from workbench.log.steps import Step
from workbench.log_manager.consumer import ConsumerView
from workbench.log_manager.describe_steps import bytes_cut, changes_in, recovered_from
from workbench.log_manager.kafka_errors import kafka_exception
from workbench.log_manager.loading import Outcome
from workbench.log_manager.opening import SET_ASIDE
from workbench.log_manager.prediction import PartitionStart, Verdict


class StepsByFolder:
    """An observer that keeps steps by the partition's folder that they concern. For threads.

    A step that names only the partition counts for the folder of that name.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, list[Step]] = {}

    def take(self, step: Step) -> None:
        """Keep a step."""
        where = step.where
        name = os.path.basename(os.path.dirname(where)) if os.path.isabs(where) else where
        self._by_name.setdefault(name, []).append(step)

    def of(self, folder: str) -> tuple[Step, ...]:
        """Return the steps of a folder, in the order they were told."""
        return tuple(self._by_name.get(os.path.basename(folder), ()))


def partition_start(
    outcome: Outcome,
    steps: Sequence[Step],
    unnoticed: tuple[str, ...] = (),
    consumers: tuple[ConsumerView, ...] = (),
) -> PartitionStart:
    """Return the row of one folder."""
    first, cut = recovered_from(steps), bytes_cut(steps)
    log, error = outcome.log, outcome.error
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
        changes=changes_in(steps, outcome.path),
        unnoticed=unnoticed,
        consumers=consumers,
        steps=tuple(steps),
    )


def _failure(outcome: Outcome, error: Exception) -> tuple[Verdict, str, str]:
    if outcome.stops_a_broker:
        return "refuses", kafka_exception(error), str(error)
    problem = error.problem if isinstance(error, StorageError | CorruptFileError) else str(error)
    return "offline", kafka_exception(error), problem


def _success(log: Log, steps: Sequence[Step], first: int | None, cut: int) -> tuple[Verdict, str]:
    name = parse_directory_name(os.path.basename(log.directory))
    kind = "log" if name is None else name.kind
    if kind == "stray":
        aside = (step.reason for step in steps if step.kind == SET_ASIDE)
        return "stray", next(aside, "it was set aside before")
    if kind == "delete":
        return "deleted", "it is marked for deletion"
    if kind == "future":
        return "future", "a copy that was moving in from another directory"
    if first is None:
        return "loads", ""
    lost = f"{cut} bytes are cut" if cut else "nothing is cut"
    return "recovers", f"read again from offset {first}: {lost}"
