from pathlib import Path

from tests.log_manager.managers import Managed, records
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import CLEAN_SHUTDOWN, HIGH_WATERMARKS, TopicPartition
from workbench.foresight.copies.repair import recover_directory

ORDERS = TopicPartition("orders", 0)


def _checkpointed(directory: Path) -> dict[TopicPartition, int]:
    return OffsetCheckpoint.read(str(directory / HIGH_WATERMARKS)).offsets


def _checkpoint(directory: Path, offset: int) -> None:
    (directory / HIGH_WATERMARKS).write_bytes(OffsetCheckpoint({ORDERS: offset}).encode())


def test_a_sole_replica_commits_what_it_appends(tmp_path: Path) -> None:
    managed = Managed(tmp_path)
    with managed.manager as manager:
        log = manager.get_or_create_log("orders-0")
        for end in (3, 6):
            log.append(records(3))
            assert log.high_watermark == end
        log.roll()
        log.truncate_to(4)
        assert log.high_watermark == 4
        log.append(records(1))
        assert log.high_watermark == 5
        managed.clock.advance(5000)  # replica.high.watermark.checkpoint.interval.ms
        assert _checkpointed(tmp_path) == {ORDERS: 5}
        log.append(records(1))
        assert _checkpointed(tmp_path) == {ORDERS: 5}
    assert _checkpointed(tmp_path) == {ORDERS: 6}
    with Managed(tmp_path).manager as manager:
        assert manager.logs[ORDERS].high_watermark == 6


def test_a_high_watermark_that_others_move_is_taken_from_the_checkpoint(tmp_path: Path) -> None:
    managed = Managed(tmp_path, commits_appends=False)
    with managed.manager as manager:
        log = manager.get_or_create_log("orders-0")
        log.append(records(6))
        assert log.high_watermark == 0
        log.update_high_watermark(4)
    assert _checkpointed(tmp_path) == {ORDERS: 4}
    with Managed(tmp_path, commits_appends=False).manager as manager:
        log = manager.logs[ORDERS]
        assert log.high_watermark == 4
        log.append(records(1))
        assert log.high_watermark == 4
        log.delete_records(3)
    for checkpointed, expected in ((2, 3), (5, 5), (100, 7)):  # within log start and log end
        _checkpoint(tmp_path, checkpointed)
        with Managed(tmp_path, commits_appends=False).manager as manager:
            assert manager.logs[ORDERS].high_watermark == expected
    _checkpoint(tmp_path, 5)
    with Managed(tmp_path).manager as manager:  # a sole replica that leads has all it needs
        assert manager.logs[ORDERS].high_watermark == 7
        assert manager.starting_high_watermarks[ORDERS] == (7, 5)


def test_a_checkpoint_that_cannot_be_read_takes_its_directory_offline(tmp_path: Path) -> None:
    directories = [tmp_path / "a", tmp_path / "b"]
    with Managed(*directories, cluster_id="shop").manager as manager:
        for number in range(2):
            manager.get_or_create_log(f"orders-{number}")
    (tmp_path / "a" / HIGH_WATERMARKS).write_text("garbage")
    managed = Managed(*directories)
    with managed.manager as manager:
        assert manager.offline_directories == [str(tmp_path / "a")]
        assert list(manager.logs) == [TopicPartition("orders", 1)]


def test_recovery_leaves_the_high_watermark_to_the_broker(tmp_path: Path) -> None:
    with Managed(tmp_path).manager as manager:
        manager.get_or_create_log("orders-0").append(records(6))
    for checkpointed, expected in ((4, 4), (9, 6)):
        _checkpoint(tmp_path, checkpointed)
        (tmp_path / CLEAN_SHUTDOWN).unlink()
        recover_directory(str(tmp_path))
        assert _checkpointed(tmp_path) == {ORDERS: expected}
