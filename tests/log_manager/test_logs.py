import re
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest

from tests.log_manager.managers import FailingDirectories, Managed, files_of, records
from workbench.errors import InconsistentTopicIdError, StorageError
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import TopicPartition, parse_directory_name
from workbench.foresight.startup.predict import predict_startup
from workbench.log_directory import verify
from workbench.log_manager.registry import DuplicateLogError

ORDERS = TopicPartition("orders", 0)
TOPIC_ID = UUID("01234567-89ab-4cde-8f01-23456789abcd")
DELAY = 60_000  # ms; file.delete.delay.ms


def test_a_log_is_made_in_a_folder_of_its_name(tmp_path: Path) -> None:
    """LM-1."""
    with Managed(tmp_path).manager as manager:
        assert manager.get_log("orders-0") is None
        assert "orders-0" not in files_of(tmp_path)
        log = manager.get_or_create_log("orders-0", topic_id=TOPIC_ID)
        assert log.directory == str(tmp_path / "orders-0")
        assert manager.get_or_create_log(ORDERS) is log
        assert manager.get_log(ORDERS) is log
        assert log.topic_id == TOPIC_ID
        with pytest.raises(InconsistentTopicIdError):
            manager.get_or_create_log("orders-0", topic_id=UUID(int=5000))
    with Managed(tmp_path).manager as manager:
        assert manager.logs[ORDERS].topic_id == TOPIC_ID


def test_a_new_topic_has_an_id_of_its_own_that_its_partitions_share(tmp_path: Path) -> None:
    """A KRaft broker sets a log without a topic id aside."""
    directories = [tmp_path / "a", tmp_path / "b"]
    with Managed(*directories, rng=Random(1)).manager as manager:
        for number in range(3):
            manager.get_or_create_log("orders", number).append([(b"key", b"value")])
        manager.get_or_create_log("users-0")
        orders = {
            log.topic_id for log in manager.logs.values() if log.topic_partition.topic == "orders"
        }
        users = manager.logs[TopicPartition("users", 0)].topic_id
    assert None not in orders
    assert len(orders) == 1
    assert users not in {*orders, None}
    assert verify(directories) == []
    assert {row.verdict for row in predict_startup(directories).partitions} == {"loads"}
    with Managed(*directories, rng=Random(2)).manager as manager:
        assert {manager.get_or_create_log("orders-7").topic_id} == orders


def test_a_log_whose_creation_a_crash_interrupted_gets_its_id_before_its_first_record(
    tmp_path: Path,
) -> None:
    with Managed(tmp_path).manager as manager:
        topic_id = manager.get_or_create_log("orders-1").topic_id
        manager.get_or_create_log("orders-0")
        manager.get_or_create_log("users-0").append([(b"key", b"value")])
    for name in ("orders-0", "users-0"):
        (tmp_path / name / "partition.metadata").unlink()
    with Managed(tmp_path).manager as manager:
        manager.get_or_create_log("orders-0").append([(b"key", b"value")])
        assert manager.logs[ORDERS].topic_id == topic_id
        assert manager.get_or_create_log("users-0").topic_id is None  # as its broker wrote it
        assert manager.get_or_create_log("users-0", topic_id=TOPIC_ID).topic_id == TOPIC_ID
    assert verify(tmp_path) == []


def test_with_zookeeper_a_new_topic_has_no_id_but_that_of_its_partitions(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=1\ncluster.id=c\n")
    with Managed(tmp_path).manager as manager:
        assert manager.get_or_create_log("orders-0").topic_id is None
        manager.get_or_create_log("users-0", topic_id=TOPIC_ID)
        assert manager.get_or_create_log("users-1").topic_id == TOPIC_ID


def test_new_logs_go_to_the_directory_with_the_fewest(tmp_path: Path) -> None:
    """LM-1."""
    directories = [tmp_path / name for name in "abc"]
    with Managed(*directories).manager as manager:
        for number in range(20):
            manager.get_or_create_log(f"orders-{number}")
            counts = [len([n for n in files_of(each) if n.startswith("o")]) for each in directories]
            assert max(counts) - min(counts) <= 1


def test_a_log_goes_where_its_directory_id_says_if_that_is_known(tmp_path: Path) -> None:
    """LM-1."""
    with Managed(tmp_path / "a", tmp_path / "b").manager as manager:
        ids = manager.identity.directory_ids
        for number in range(3):
            directory_id = ids[str(tmp_path / "b")]
            log = manager.get_or_create_log(f"orders-{number}", directory_id=directory_id)
            assert log.parent_directory == str(tmp_path / "b")
        for directory_id in (UUID(int=0), UUID(int=5000)):
            log = manager.get_or_create_log(f"other-{directory_id.int}", directory_id=directory_id)
            assert log.parent_directory == str(tmp_path / "a")


def test_a_directory_where_a_log_cannot_be_made_is_passed_over(tmp_path: Path) -> None:
    """LM-2."""
    directories = [tmp_path / name for name in "abcd"]
    fs = FailingDirectories()
    with Managed(*directories, fs=fs).manager as manager:
        fs.failing = {str(tmp_path / "a"), str(tmp_path / "b")}
        log = manager.get_or_create_log("orders-0")
        assert log.parent_directory == str(tmp_path / "c")
        assert manager.offline_directories == sorted(fs.failing)
        assert [name for each in directories for name in files_of(each) if "orders" in name] == [
            "orders-0"
        ]
        fs.failing |= {str(tmp_path / "c"), str(tmp_path / "d")}
        with pytest.raises(StorageError):
            manager.get_or_create_log("new-0")


def test_a_deleted_log_is_renamed_and_goes_after_a_delay(tmp_path: Path) -> None:
    """LM-11."""
    managed = Managed(tmp_path, config={"log.initial.task.delay.ms": 0})
    with managed.manager as manager:
        log = manager.get_or_create_log("orders-0")
        log.append(records(1))
        log.roll()
        managed.clock.advance(1)
        deleted = manager.async_delete("orders-0")
        assert deleted is log
        assert manager.get_log("orders-0") is None
        folder = Path(log.directory)
        name = parse_directory_name(folder.name)
        assert name is not None
        assert (name.kind, name.topic) == ("delete", "orders")
        assert all(segment.log.path.startswith(f"{folder}/") for segment in log.segments)
        assert not (tmp_path / "orders-0").exists()
        points = OffsetCheckpoint.read(str(tmp_path / "recovery-point-offset-checkpoint"))
        assert points.offsets == {}
        managed.clock.advance(DELAY - 1)
        assert folder.exists()
        managed.clock.advance(DELAY)
        assert not folder.exists()
        assert manager.logs_to_be_deleted == ()


def test_a_log_with_the_longest_name_can_be_deleted(tmp_path: Path) -> None:
    """LM-11."""
    with Managed(tmp_path).manager as manager:
        manager.get_or_create_log(f"{'t' * 249}-0")
        log = manager.async_delete(f"{'t' * 249}-0")
        assert log is not None
        assert len(Path(log.directory).name) == 255


def test_logs_marked_for_deletion_before_a_stop_go_after_the_next_start(tmp_path: Path) -> None:
    """LM-11."""
    with Managed(tmp_path).manager as manager:
        manager.get_or_create_log("orders-0")
        manager.async_delete("orders-0")
    managed = Managed(tmp_path)
    with managed.manager as manager:
        assert len(manager.logs_to_be_deleted) == 1
        assert manager.logs == {}
        managed.clock.advance(30_000 + DELAY)
        managed.clock.advance(DELAY)
        assert [name for name in files_of(tmp_path) if "orders" in name] == []


def test_a_shutdown_comes_to_an_end_also_without_a_delay_of_deletion(tmp_path: Path) -> None:
    """LM-17."""
    config = {"log.segment.delete.delay.ms": 0, "log.initial.task.delay.ms": 0}
    managed = Managed(tmp_path, config=config)
    with managed.manager as manager:
        manager.get_or_create_log("orders-0")
        manager.async_delete("orders-0")
        managed.clock.advance(10)
        assert [name for name in files_of(tmp_path) if "orders" in name] == []
    assert managed.clock.now()


def test_several_logs_are_deleted_and_each_error_is_told(tmp_path: Path) -> None:
    fs = FailingDirectories()
    with Managed(tmp_path / "a", tmp_path / "b", fs=fs).manager as manager:
        for number in range(2):
            manager.get_or_create_log(f"orders-{number}")
        fs.failing.add(str(tmp_path / "a"))
        errors: list[TopicPartition] = []
        names = ["orders-0", "orders-1", "unknown-0"]
        manager.async_delete_all(names, lambda partition, _: errors.append(partition))
        assert errors == [ORDERS]
        assert manager.logs == {}
        assert any(name.endswith("-delete") for name in files_of(tmp_path / "b"))


def test_a_log_moves_to_another_directory(tmp_path: Path) -> None:
    managed = Managed(tmp_path / "a", tmp_path / "b")
    with managed.manager as manager:
        current = manager.get_or_create_log("orders-0")
        current.append(records(3))
        current.update_high_watermark(2)
        with pytest.raises(ValueError, match="no directory to move it to was named"):
            manager.get_or_create_log("orders-0", is_future=True)
        manager.prefer_directory("orders-0", tmp_path / "a")  # it is there already: not noted
        manager.prefer_directory("orders-0", tmp_path / "b")
        future = manager.get_or_create_log("orders-0", is_future=True)
        assert future.directory.endswith("-future")
        assert manager.future_logs == {ORDERS: future}
        future.append_as_follower(current.read(0).records)
        manager.replace_current_with_future_log("orders-0")
        assert manager.logs == {ORDERS: future}
        assert manager.future_logs == {}
        assert future.directory == str(tmp_path / "b" / "orders-0")
        assert future.high_watermark == 2
        assert manager.logs_to_be_deleted == (current,)
        assert current.directory.endswith("-delete")
        with pytest.raises(StorageError, match="future log"):
            manager.replace_current_with_future_log("orders-0")
    assert "log moved" in managed.kinds()


def test_a_future_log_is_one_again_after_a_restart(tmp_path: Path) -> None:
    with Managed(tmp_path / "a", tmp_path / "b").manager as manager:
        manager.get_or_create_log("orders-0")
        manager.prefer_directory("orders-0", tmp_path / "b")
        manager.get_or_create_log("orders-0", is_future=True)
    with Managed(tmp_path / "a", tmp_path / "b").manager as manager:
        assert list(manager.future_logs) == [ORDERS]
        assert list(manager.logs) == [ORDERS]
        manager.replace_current_with_future_log("orders-0")
        assert manager.logs[ORDERS].parent_directory == str(tmp_path / "b")


def test_two_directories_with_one_partition_do_not_start(tmp_path: Path) -> None:
    for name in "ab":
        with Managed(tmp_path / name, cluster_id="shop").manager as manager:
            manager.get_or_create_log("orders-0")
    with pytest.raises(DuplicateLogError, match="duplicate log directories"):
        Managed(tmp_path / "a", tmp_path / "b").manager.startup()


def test_folders_that_are_no_logs_are_passed_over(tmp_path: Path) -> None:
    """LM-13."""
    (tmp_path / "remote-log-index-cache").mkdir()
    (tmp_path / "__cluster_metadata-0").mkdir()
    (tmp_path / "notes.txt").write_text("remember")
    with Managed(tmp_path).manager as manager:
        assert manager.logs == {}


def test_a_log_that_belongs_to_nothing_is_set_aside(tmp_path: Path) -> None:
    """LM-14."""
    with Managed(tmp_path).manager as manager:
        manager.get_or_create_log("known-0", topic_id=TOPIC_ID)
        manager.get_or_create_log("orders-0")
    (tmp_path / "orders-0" / "partition.metadata").unlink()
    managed = Managed(tmp_path, is_stray=lambda log: None if log.topic_id else "it has no topic id")
    with managed.manager as manager:
        assert [str(partition) for partition in manager.logs] == ["known-0"]
        stray = manager.stray_logs[ORDERS]
        assert stray.directory.endswith("-stray")
        assert not (tmp_path / "orders-0").exists()
    with Managed(tmp_path).manager as manager:
        assert list(manager.stray_logs) == [ORDERS]
        manager.get_or_create_log("orders-0")
        assert len(manager.logs) == 2


def test_a_served_log_can_be_set_aside(tmp_path: Path) -> None:
    """LM-14."""
    managed = Managed(tmp_path)
    with managed.manager as manager:
        manager.get_or_create_log("orders-0").append(records(2))
        log = manager.async_delete("orders-0", is_stray=True)
        assert log is not None
        managed.clock.advance(10 * DELAY)
        assert (Path(log.directory) / f"{0:020d}.log").exists()


def test_a_config_that_changes_reaches_the_logs_of_its_topic(tmp_path: Path) -> None:
    """LM-16."""
    managed = Managed(tmp_path, topic_configs={"orders": {"retention.ms": 1000}})
    with managed.manager as manager:
        orders = manager.get_or_create_log("orders-0")
        other = manager.get_or_create_log("other-0")
        assert (orders.config.retention_ms, other.config.retention_ms) == (1000, 604_800_000)
        manager.update_topic_config("orders", {"retention.bytes": 7})
        assert (orders.config.retention_ms, orders.config.retention_bytes) == (604_800_000, 7)
        manager.update_defaults(other.config.with_({"retention.ms": 5}))
        assert (orders.config.retention_ms, orders.config.retention_bytes) == (5, 7)
        assert other.config.retention_ms == 5
        assert manager.get_or_create_log("orders-1").config.retention_bytes == 7


def test_a_config_that_changes_while_a_log_is_loaded_counts_for_it(tmp_path: Path) -> None:
    """LM-16."""
    with Managed(tmp_path).manager as manager:
        for number in range(3):
            manager.get_or_create_log(f"orders-{number}")

    def change(_: object) -> None:
        managed.manager.update_topic_config("orders", {"retention.ms": 5})

    managed = Managed(tmp_path, progress=change)
    with managed.manager as manager:
        assert {log.config.retention_ms for log in manager.logs.values()} == {5}


def test_logs_are_truncated_and_the_recovery_points_written(tmp_path: Path) -> None:
    with Managed(tmp_path).manager as manager:
        for number in range(2):
            log = manager.get_or_create_log(f"orders-{number}")
            for _ in range(5):
                log.append(records(2))
            log.flush()
        manager.checkpoint_recovery_points()
        manager.truncate_to({ORDERS: 4, TopicPartition("unknown", 0): 4})
        assert manager.logs[ORDERS].log_end_offset == 4
        assert _points(tmp_path) == {"orders-0": 4, "orders-1": 10}
        manager.truncate_fully_and_start_at("orders-1", 100, log_start_offset=90)
        log = manager.logs[TopicPartition("orders", 1)]
        assert (log.log_start_offset, log.log_end_offset) == (90, 100)
        assert _points(tmp_path) == {"orders-0": 4, "orders-1": 10}  # never raised by this
        manager.truncate_fully_and_start_at("unknown-0", 5)


def _points(path: Path) -> dict[str, int]:
    found = OffsetCheckpoint.read(str(path / "recovery-point-offset-checkpoint"))
    return {str(partition): offset for partition, offset in found.offsets.items()}


@pytest.mark.parametrize(
    ("topic", "number", "problem"),
    [
        ("../outside", 0, "contains one or more characters other than ASCII"),
        ("a/b", 0, "contains one or more characters other than ASCII"),
        ("", 0, "the empty string is not allowed"),
        (".", 0, "'.' or '..' is not allowed"),
        ("..", 0, "'.' or '..' is not allowed"),
        ("t" * 250, 0, "longer than the max allowed length 249"),
        ("naïve", 0, "contains one or more characters other than ASCII"),
        ("orders", -1, "partition -1 of orders is invalid"),
        ("orders", 2**31, "partition 2147483648 of orders is invalid"),
        ("orders", "0", "partition '0' of orders is invalid"),
        ("orders", True, "partition True of orders is invalid"),
        (5, 0, "a topic's name is a text"),
    ],
)
def test_no_log_is_made_of_a_topic_that_could_not_be_created(
    tmp_path: Path, topic: Any, number: Any, problem: str
) -> None:
    """Topic.validate; a partition's number is an int32 from 0 on."""
    data = tmp_path / "data"
    with Managed(data).manager as manager:
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(ValueError, match=re.escape(problem)):
            manager.get_or_create_log(topic, number)
        assert sorted(tmp_path.rglob("*")) == before
        assert manager.offline_directories == []
        assert manager.get_or_create_log("t" * 249, 0).log_end_offset == 0


def test_logs_are_truncated_by_their_names_as_by_their_partitions(tmp_path: Path) -> None:
    with Managed(tmp_path).manager as manager:
        for name in ("orders-0", "orders-1"):
            log = manager.get_or_create_log(name)
            for _ in range(20):
                log.append(records(1))
        manager.truncate_to({"orders-0": 10, TopicPartition("orders", 1): 5, "gone-0": 1})
        ends = {str(name): log.log_end_offset for name, log in manager.logs.items()}
        assert ends == {"orders-0": 10, "orders-1": 5}
        with pytest.raises(ValueError, match="not of the form topic-partition"):
            manager.truncate_to({"orders": 10})
