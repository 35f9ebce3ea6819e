"""Loading that fails: what a broker does then, and that the next start is not a clean one."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.log_manager.managers import Managed, records
from workbench.config.broker_rules import MODELED_RULES
from workbench.errors import CorruptRecordError, StorageError
from workbench.file_system.local import LOCAL
from workbench.files.names import CLEAN_SHUTDOWN
from workbench.log.log import Log
from workbench.log_manager.directory import ManagedDirectory
from workbench.log_manager.loading import FolderToLoad, Outcome, load_logs
from workbench.runtime.failures import LogDirFailures


class Crash(BaseException):
    """The process ends."""


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """Return a log directory with two logs that was shut down cleanly."""
    with Managed(tmp_path).manager as manager:
        for number in range(2):
            manager.get_or_create_log(f"orders-{number}").append(records(3))
    assert (tmp_path / CLEAN_SHUTDOWN).exists()
    return tmp_path


def load(path: Path, open_log: Callable[[FolderToLoad], Log]) -> tuple[list[Outcome], list[str]]:
    """Return the outcome of the folders, and which directories are offline then."""
    failures = LogDirFailures()
    directory = ManagedDirectory(str(path), LOCAL, failures, None)
    outcomes = load_logs([directory], open_log, failures, rules=MODELED_RULES, threads=1)
    return outcomes, list(failures.offline)


def test_a_crash_while_loading_leaves_no_marker(stopped: Path) -> None:
    """LO-1."""
    met: list[bool] = []

    def crash(folder: FolderToLoad) -> Log:
        met.append(folder.had_clean_shutdown)
        raise Crash

    with pytest.raises(Crash):
        load(stopped, crash)
    assert not (stopped / CLEAN_SHUTDOWN).exists()
    with pytest.raises(Crash):
        load(stopped, crash)
    assert met == [True, False]


def test_an_error_of_the_program_stops_a_broker_and_blames_no_disk(stopped: Path) -> None:
    """LO-1."""
    outcomes, offline = load(stopped, failing(CorruptRecordError("0.log", 0, "no batch")))
    assert [outcome.stops_a_broker for outcome in outcomes] == [True, True]
    assert offline == []
    assert not (stopped / CLEAN_SHUTDOWN).exists()


def failing(error: Exception) -> Callable[[FolderToLoad], Log]:
    def fail(_folder: FolderToLoad) -> Log:
        raise error

    return fail


def test_an_error_of_the_disk_takes_the_directory_offline(stopped: Path) -> None:
    """LO-1."""
    outcomes, offline = load(stopped, failing(OSError(errno.EIO, os.strerror(errno.EIO))))
    assert offline == [str(stopped)]
    assert [outcome.stops_a_broker for outcome in outcomes] == [False, False]


def test_an_error_of_the_disk_that_was_told_already_is_passed_over(stopped: Path) -> None:
    """LO-1: it took the directory offline where it was met."""
    outcomes, offline = load(stopped, failing(StorageError(str(stopped), "it failed")))
    assert offline == []
    assert [outcome.stops_a_broker for outcome in outcomes] == [False, False]


def test_after_a_start_that_failed_logs_are_recovered(stopped: Path) -> None:
    """LO-1: the next start looks at every batch."""
    load(stopped, failing(RuntimeError("a mistake")))
    log = stopped / "orders-0" / "00000000000000000000.log"
    whole = log.read_bytes()
    log.write_bytes(whole + b"\0" * 30)
    with Managed(stopped).manager as manager:
        found = manager.get_log("orders-0")
        assert found is not None
        assert found.log_end_offset == 3
    assert log.read_bytes() == whole
