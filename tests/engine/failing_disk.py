"""A disk that fails at one operation, and what must be true of a log on it.

See `tests.engine.file_systems` for how operations are recorded.
"""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.engine.crash_checks import check
from tests.engine.crash_states import CrashState, crash_states
from tests.engine.file_systems import Operation, RecordingFileSystem, tree
from tests.engine.life import Life
from workbench.errors import StorageError
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords

Error = int | Literal["short"]


class FailingRecording(RecordingFileSystem):
    """Remembers changes and lets one of them fail.

    Args:
        root: the folder.
        failing: the change that fails, as another recording has it; only its kind and the name of
            its file count.
        fail_at: how many changes were made before it.
        error: with which it fails.

    Attributes:
        failed: the change that failed.
        attempts: how many changes were tried after it.
    """

    def __init__(self, root: Path, failing: Operation, fail_at: int, error: Error) -> None:
        super().__init__(root)
        self.failed: Operation | None = None
        self.attempts = 0
        self._failing = _kind_and_name(failing)
        self._fail_at = fail_at
        self._error = error

    def before(self, operation: Operation) -> bool:
        """Fail, if it is time to; the half of a write that is done is remembered."""
        self.attempts += self.failed is not None
        is_time = self.failed is None and len(self.operations) == self._fail_at
        if not is_time or _kind_and_name(operation) != self._failing:
            return False
        self.failed = operation
        if self._error == "short":
            half = operation.data[: len(operation.data) // 2]
            self.operations.append(operation._replace(data=half))
            return True
        raise OSError(self._error, os.strerror(self._error), operation.path)


def _kind_and_name(operation: Operation) -> tuple[str, str]:
    return operation.kind, os.path.basename(operation.path)


def live(life: Life) -> None:
    """Do a little of everything."""
    for _ in range(4):
        life.produce(1)
    life.flush()
    life.checkpoint()
    life.append(4)
    life.produce(2, transactional=True)
    life.roll()
    life.end_transaction(2, commit=False)
    life.append(5)
    life.truncate_to(life.log.log_end_offset - 3)
    life.append(3, epoch=1)
    life.commit()
    life.delete_records(9)
    life.retain()
    life.wait(2000)
    life.append(5, epoch=2)
    life.truncate_to(10)
    life.append(2, epoch=3)
    life.truncate_fully(40)
    life.append(2, epoch=4)
    life.close()


USES: dict[str, Callable[[Log], Any]] = {
    "append": lambda log: log.append([(b"k", b"v")]),
    "follow": lambda log: log.append_as_follower(
        MemoryRecords.of((b"k", b"v"), base_offset=log.log_end_offset, timestamp=0)
    ),
    "read": lambda log: log.read(log.log_start_offset),
    "flush": lambda log: log.flush(),
    "roll": lambda log: log.roll(),
    "truncate": lambda log: log.truncate_to(0),
    "truncate fully": lambda log: log.truncate_fully_and_start_at(0),
    "retain": lambda log: log.delete_old_segments(),
    "delete records": lambda log: log.delete_records(log.high_watermark),
    "look up": lambda log: log.offset_for_timestamp(0),
    "close": lambda log: log.close(),
    "delete": lambda log: log.delete(),
}


def error_for(operation: Operation, number: int) -> Error:
    """Return an error that this operation may meet."""
    if operation.kind == "write" and number % 2:
        return "short"
    if operation.kind in {"write", "truncate"} and number % 5 == 0:
        return errno.EFBIG
    if operation.kind in {"write", "create", "truncate", "make_directory"} and number % 3 == 0:
        return errno.ENOSPC
    return errno.EIO


def errors_for(operation: Operation) -> tuple[Error, ...]:
    """Return every error that this operation may meet."""
    if operation.kind == "write":
        return errno.EIO, errno.ENOSPC, errno.EFBIG, "short"
    if operation.kind in {"create", "truncate", "make_directory"}:
        return errno.EIO, errno.ENOSPC, errno.EFBIG
    return (errno.EIO,)


def fail_and_check(
    script: Callable[[Life], object],
    reference: Life,
    number: int,
    error: Error,
    folder: Path,
    *,
    cuts_power: bool,
) -> None:
    """Live with a disk that fails once; then hold what is left against what was flushed.

    Args:
        script: what the log lives through.
        reference: that life on a disk that does not fail.
        number: that of the operation that fails.
        error: with which it fails.
        folder: for what is written; empty or not there.
        cuts_power: whether also the power fails afterwards.
    """
    operation = reference.fs.operations[number]
    root = folder / f"{number}" / "log"
    root.mkdir(parents=True)
    fs = FailingRecording(root, operation, number, error)
    life: Life | None = None
    try:
        try:
            life = Life(root, fs=fs)
            script(life)
        except OSError as refused:
            assert_says(refused, error)
        assert fs.failed is not None
        assert fs.attempts == 0
        is_of_log = operation.path.startswith(f"{reference.root}/orders-0")
        if life is not None and life.is_open and is_of_log:
            assert_stays_offline(life.log, fs)
        marks = [what for done, what in reference.fs.marks if done <= number]
        left = [CrashState(number, "process killed", tree(str(root)), marks)]
        if cuts_power:
            ends = [state for state in crash_states(fs, seed=number) if state.at >= number]
            left += [state._replace(marks=marks) for state in ends[:6]]
        for at, state in enumerate(left):
            check(state, reference, folder / f"{number}-{at}", again=False)
    except BaseException as failure:
        failure.add_note(f"operation {number}, {operation[:3]}, failed with {error}")
        raise


def assert_says(refused: OSError, error: Error) -> None:
    """The error says what the operating system said."""
    numbers = {errno.ENOSPC, errno.EIO} if error == "short" else {error}
    assert any(os.strerror(number) in str(refused) for number in numbers)


def assert_stays_offline(log: Log, fs: FailingRecording) -> None:
    """Every use of the log is refused, and nothing more is written to its directory."""
    assert log.context.failures.is_offline(log.parent_directory)
    for name, use in USES.items():
        with pytest.raises(StorageError, match="offline"):
            use(log)
        assert fs.attempts == 0, name
    log.close_handlers()
    with suppress(StorageError):
        log.context.scheduler.shutdown()
    assert fs.attempts == 0
