"""A disk that fails at any operation: the log is offline from then on; nothing flushed is lost."""

import errno
import shutil
from pathlib import Path
from random import Random

import pytest

from tests.engine.crash_states import CrashState
from tests.engine.failing_disk import (
    FailingRecording,
    error_for,
    errors_for,
    fail_and_check,
    live,
)
from tests.engine.file_systems import Operation, tree
from tests.engine.life import Life
from tests.engine.lives import Script, compactions, recoveries, stops
from tests.engine.manager_checks import check_manager
from tests.engine.manager_life import ManagerLife, live_briefly
from workbench.errors import StorageError
from workbench.files.names import CLEAN_SHUTDOWN, TopicPartition

POWER_CUTS = 40  # of the failures after which also the power fails
FAILURES_OF_A_MANAGER = 25


def test_whatever_fails_the_log_is_offline_and_loses_nothing_that_was_flushed(
    memory_path: Path,
) -> None:
    reference = Life(memory_path / "reference" / "log")
    live(reference)
    operations = reference.fs.operations
    assert len(operations) > 150
    cuts = set(Random(2).sample(range(len(operations)), POWER_CUTS))
    for number, operation in enumerate(operations):
        error = error_for(operation, number)
        fail_and_check(live, reference, number, error, memory_path, cuts_power=number in cuts)


@pytest.mark.parametrize("script", [recoveries, compactions, stops])
def test_recovering_cleaning_and_closing_may_fail_at_any_operation(
    memory_path: Path, script: Script
) -> None:
    reference = Life(memory_path / "reference" / "log")
    script(reference)
    operations = reference.fs.operations
    for number in range(0, len(operations), 5):
        for error in errors_for(operations[number]):
            where = memory_path / f"{number}-{error}"
            fail_and_check(script, reference, number, error, where, cuts_power=False)


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
    for partition in in_b:  # made again in the other directory, or moved there
        shutil.rmtree(life.root / "a" / str(partition), ignore_errors=True)
    before = [what for done, what in reference.fs.marks if done <= number]
    marks = [{**(before[-1] if before else {}), **in_b}]
    for partition, known in reference.written.items():  # what failed may be in the file, whole
        for offset, batches in known.items():
            life.written.setdefault(partition, {}).setdefault(offset, set()).update(batches)
    state = CrashState(number, "process killed", tree(str(life.root)), marks)
    assert check_manager(state, life, life.root.parent / "again")
