import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random

from tests.log_manager.managers import FailingDirectories, Managed, records
from workbench.errors import StorageError
from workbench.log_manager.manager import LogManager

TOPICS = 6
ROUNDS = 12
BUSY = {
    "log.initial.task.delay.ms": 0,
    "log.retention.check.interval.ms": 1,
    "log.flush.scheduler.interval.ms": 1,
    "log.flush.offset.checkpoint.interval.ms": 1,
    "log.flush.start.offset.checkpoint.interval.ms": 1,
    "log.segment.delete.delay.ms": 1,
    "log.segment.bytes": 2000,
    "log.retention.ms": 1,
}


def _in_threads(*works: Callable[[], object]) -> list[BaseException]:
    errors: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - told by the test
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_logs_are_made_written_and_deleted_while_the_tasks_run(tmp_path: Path) -> None:
    with LogManager([tmp_path / "a", tmp_path / "b"], BUSY) as manager:

        def work(topic: int) -> None:
            for number in range(ROUNDS):
                log = manager.get_or_create_log(f"t{topic}-{number}")
                for _ in range(5):
                    log.append(records(5))
                log.update_high_watermark(log.log_end_offset)
                if number % 3 == 0:
                    manager.async_delete(f"t{topic}-{number}")
                assert len(manager.logs) <= TOPICS * ROUNDS

        errors = _in_threads(*(partial(work, topic) for topic in range(TOPICS)))
        assert errors == []
        ends = {str(partition): log.log_end_offset for partition, log in manager.logs.items()}
    assert set(ends.values()) == {25}
    assert len(ends) == TOPICS * ROUNDS * 2 // 3
    with Managed(tmp_path / "a", tmp_path / "b").manager as manager:
        found = {str(partition): log.log_end_offset for partition, log in manager.logs.items()}
        assert found == ends


def test_a_directory_that_fails_under_load_is_left_by_all_threads(tmp_path: Path) -> None:
    fs = FailingDirectories()
    with LogManager([tmp_path / "a", tmp_path / "b"], BUSY, fs=fs) as manager:
        logs = [manager.get_or_create_log(f"orders-{number}") for number in range(8)]

        def write(number: int) -> None:
            log = logs[number]
            for turn in range(40):
                if turn == 20:
                    fs.failing.add(str(tmp_path / "a"))
                log.append(records(3))

        errors = _in_threads(*(partial(write, number) for number in range(8)))
        assert len(errors) == 4
        assert all(isinstance(error, StorageError) for error in errors)
        assert manager.offline_directories == [str(tmp_path / "a")]
        assert len(manager.logs) == 4
        assert {log.log_end_offset for log in manager.logs.values()} == {120}


def test_logs_are_loaded_by_several_threads(tmp_path: Path) -> None:
    with Managed(tmp_path / "a", tmp_path / "b").manager as manager:
        for number in range(40):
            manager.get_or_create_log(f"orders-{number}").append(records(number + 1))
    seen: list[tuple[str, int, int]] = []
    managed = Managed(
        tmp_path / "a",
        tmp_path / "b",
        config={"num.recovery.threads.per.data.dir": 3},
        progress=lambda each: seen.append((each.directory, each.loaded, each.total)),
    )
    with managed.manager as manager:
        assert len(manager.logs) == 40
        assert all(
            log.log_end_offset == partition.partition + 1 for partition, log in manager.logs.items()
        )
    for path in (tmp_path / "a", tmp_path / "b"):
        counts = [(loaded, total) for directory, loaded, total in seen if directory == str(path)]
        assert sorted(counts) == [(number + 1, 20) for number in range(20)]


class _MeetingRandom(Random):
    """Two threads that both ask for a number at once get different ones; a lone one goes on."""

    meeting: threading.Barrier | None = None

    def getrandbits(self, k: int) -> int:
        if self.meeting is not None:
            with suppress(threading.BrokenBarrierError):
                self.meeting.wait(timeout=0.3)
        return super().getrandbits(k)


def test_two_logs_whose_creation_was_interrupted_get_one_topic_id(tmp_path: Path) -> None:
    """Each thread finds no partition with an id."""
    names = ["orders-0", "orders-1"]
    with Managed(tmp_path).manager as manager:
        for name in names:
            manager.get_or_create_log(name)
    for name in names:
        (tmp_path / name / "partition.metadata").unlink()
    rng = _MeetingRandom(1)
    with Managed(tmp_path, rng=rng).manager as manager:
        rng.meeting = threading.Barrier(2)
        works = [partial(manager.get_or_create_log, name) for name in names]
        assert _in_threads(*works) == []
        rng.meeting = None
        assert {log.topic_id for log in manager.logs.values()} != {None}
        assert len({log.topic_id for log in manager.logs.values()}) == 1
