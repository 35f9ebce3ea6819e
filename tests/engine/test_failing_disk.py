"""A disk that fails at any operation: the log is offline from then on; nothing flushed is lost."""

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest

from tests.engine.crash_checks import check
from tests.engine.crash_states import CrashState, crash_states
from tests.engine.file_systems import Operation, RecordingFileSystem, tree
from tests.engine.life import Life
from tests.engine.manager_checks import check_manager
from tests.engine.manager_life import ManagerLife, live_briefly
from workbench.errors import StorageError
from workbench.files.names import CLEAN_SHUTDOWN, TopicPartition
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords

Error = int | Literal["short"]

POWER_CUTS = 40  # of the failures after which also the power fails
FAILURES_OF_A_MANAGER = 25


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
    if operation.kind in {"write", "create", "truncate", "make_directory"} and number % 3 == 0:
        return errno.ENOSPC
    return errno.EIO


def test_whatever_fails_the_log_is_offline_and_loses_nothing_that_was_flushed(
    memory_path: Path,
) -> None:
    reference = Life(memory_path / "reference" / "log")
    live(reference)
    operations = reference.fs.operations
    assert len(operations) > 150
    cuts = set(Random(2).sample(range(len(operations)), POWER_CUTS))
    for number, operation in enumerate(operations):
        root = memory_path / f"{number}" / "log"
        root.mkdir(parents=True)
        error = error_for(operation, number)
        fs = FailingRecording(root, operation, number, error)
        life: Life | None = None
        try:
            try:
                life = Life(root, fs=fs)
                live(life)
            except OSError as refused:
                assert_says(refused, error)
            assert fs.failed is not None
            assert fs.attempts == 0
            if life is not None and operation.path.startswith(f"{reference.root}/orders-0"):
                assert_stays_offline(life.log, fs)
            marks = [what for done, what in reference.fs.marks if done <= number]
            left = [CrashState(number, "process killed", tree(str(root)), marks)]
            if number in cuts:
                ends = [state for state in crash_states(fs, seed=number) if state.at >= number]
                left += [state._replace(marks=marks) for state in ends[:6]]
            for at, state in enumerate(left):
                check(state, reference, memory_path / f"{number}-{at}", again=False)
        except BaseException as failure:
            failure.add_note(f"operation {number}, {operation[:3]}, failed with {error}")
            raise


def assert_says(refused: OSError, error: Error) -> None:
    """The error tells what the operating system said."""
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


def test_a_failed_sync_does_not_count_as_flushed(memory_path: Path) -> None:
    sync = Operation("sync", "00000000000000000000.log")
    reference = Life(memory_path / "reference" / "log")
    append_flush_append(reference)
    fs = FailingRecording(memory_path / "log", sync, len(reference.fs.operations), errno.EIO)
    life = Life(memory_path / "log", fs=fs)
    append_flush_append(life)
    with pytest.raises(StorageError, match="could not flush"):
        life.log.flush()
    assert life.log.recovery_point == 3
    with pytest.raises(StorageError, match="already offline"):
        life.log.flush()
    assert fs.attempts == 0
    assert life.log.recovery_point == 3


def append_flush_append(life: Life) -> None:
    life.append(3)
    life.flush()
    life.append(3)


def test_when_one_directory_fails_the_other_goes_on_and_neither_loses_what_was_flushed(
    memory_path: Path,
) -> None:
    reference = ManagerLife(memory_path / "reference" / "logs")
    live_briefly(reference)
    of_a = [
        number
        for number, operation in enumerate(reference.fs.operations)
        if operation.path.startswith(str(reference.root / "a"))
    ]
    assert len(of_a) > 100
    for number in sorted(Random(4).sample(of_a, FAILURES_OF_A_MANAGER)):
        root = memory_path / f"{number}" / "logs"
        operation = reference.fs.operations[number]
        fs = FailingRecording(root, operation, number, error_for(operation, number))
        life = ManagerLife(root, fs=fs)
        try:
            fail_one_directory(life, reference, number)
        except BaseException as failure:
            failure.add_note(f"operation {number}, {operation[:3]}")
            raise


def fail_one_directory(life: ManagerLife, reference: ManagerLife, number: int) -> None:
    """Live with a directory that fails, stop, and start again on what is there."""
    live_briefly(life)
    a, b = str(life.root / "a"), str(life.root / "b")
    manager = life.manager
    assert manager.offline_directories == [a]
    assert all(log.parent_directory == b for log in manager.logs.values())
    later = life.fs.operations[number + 1 :]
    assert not any(operation.path.startswith(a) for operation in later)
    life.create("orders-9")
    life.append("orders-9")
    assert manager.logs[TopicPartition("orders", 9)].log_end_offset == 2
    life.stop()
    assert not (life.root / "a" / CLEAN_SHUTDOWN).exists()
    assert (life.root / "b" / CLEAN_SHUTDOWN).exists()
    in_b = life.durable()
    assert TopicPartition("orders", 9) in in_b
    for partition in in_b:  # made anew in the other directory, or moved there
        shutil.rmtree(life.root / "a" / str(partition), ignore_errors=True)
    before = [what for done, what in reference.fs.marks if done <= number]
    marks = [{**(before[-1] if before else {}), **in_b}]
    life.written = {**reference.written, **life.written}
    state = CrashState(number, "process killed", tree(str(life.root)), marks)
    assert check_manager(state, life, life.root.parent / "again")
