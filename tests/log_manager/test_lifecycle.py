import os
from pathlib import Path
from uuid import UUID

import pytest

from tests.log_manager.managers import FailingDirectories, Managed, files_of, records
from workbench.config.broker_rules import MODELED_RULES
from workbench.errors import LogDirectoryError, StorageError
from workbench.files.clean_shutdown import CleanShutdown
from workbench.files.meta_properties import MetaProperties
from workbench.files.names import CLEAN_SHUTDOWN, META_PROPERTIES
from workbench.log_manager.directory import ManagedDirectory
from workbench.log_manager.manager import LogManager


def test_a_directory_is_made_with_what_a_broker_keeps_there(tmp_path: Path) -> None:
    with Managed(tmp_path / "a" / "data").manager as manager:
        manager.get_or_create_log("orders-0").append(records(1))
        assert not (tmp_path / "a" / "data" / CLEAN_SHUTDOWN).exists()
    assert files_of(tmp_path / "a" / "data") == [
        ".kafka_cleanshutdown",
        ".lock",
        "cleaner-offset-checkpoint",
        "log-start-offset-checkpoint",
        "meta.properties",
        "orders-0",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
    ]


def test_the_marker_tells_the_brokers_epoch(tmp_path: Path) -> None:
    """LM-3, CK-4."""
    managed = Managed(tmp_path)
    managed.manager.startup()
    managed.manager.shutdown(broker_epoch=3)
    assert (tmp_path / CLEAN_SHUTDOWN).read_bytes() == b'{"version":0,"brokerEpoch":3}'
    assert CleanShutdown.read(str(tmp_path / CLEAN_SHUTDOWN)).broker_epoch == 3


def test_the_marker_is_written_only_where_every_log_could_be_closed(tmp_path: Path) -> None:
    """LM-3."""
    good, bad = tmp_path / "good", tmp_path / "bad"
    fs = FailingDirectories()
    managed = Managed(good, bad, fs=fs)
    with managed.manager as manager:
        for number in range(2):
            manager.get_or_create_log(f"orders-{number}").append(records(1))
        fs.failing.add(str(bad))
    assert (good / CLEAN_SHUTDOWN).exists()
    assert not (bad / CLEAN_SHUTDOWN).exists()
    assert "marker not written" in managed.kinds()


def test_a_shutdown_before_the_start_writes_nothing(tmp_path: Path) -> None:
    """LM-4."""
    managed = Managed(tmp_path)
    managed.manager.shutdown()
    assert files_of(tmp_path) == []


def test_a_start_that_fails_leaves_no_marker_and_no_lock(tmp_path: Path) -> None:
    """LM-4."""
    with Managed(tmp_path).manager as manager:
        manager.get_or_create_log("orders-0")
    (tmp_path / "not_a_partition").mkdir()
    with pytest.raises(LogDirectoryError, match="not_a_partition"):
        Managed(tmp_path).manager.startup()
    assert not (tmp_path / CLEAN_SHUTDOWN).exists()
    (tmp_path / "not_a_partition").rmdir()
    with Managed(tmp_path).manager as manager:
        assert manager.get_log("orders-0") is not None


def test_two_managers_cannot_use_one_directory(tmp_path: Path) -> None:
    """LM-9."""
    with Managed(tmp_path).manager:
        other = _in_another_process(tmp_path)
        assert "locked" in other
    assert _in_another_process(tmp_path) == "started"


def _in_another_process(path: Path) -> str:
    """Start a manager in a child: the locks of one process do not keep itself out."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - the child's coverage is not collected
        try:
            Managed(path).manager.startup()
            message = "started"
        except LogDirectoryError as error:
            message = str(error)
        os.write(writing, message.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read().decode()


def test_a_directory_named_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogDirectoryError, match="more than once"):
        LogManager([tmp_path, f"{tmp_path}/"])


def test_directory_ids_are_read_and_missing_ones_stay_missing(tmp_path: Path) -> None:
    """LM-15."""
    ids = {}
    for number in range(5):
        folder = tmp_path / str(number)
        folder.mkdir()
        lines = "version=1\nnode.id=7\ncluster.id=shop\n"
        if number in {0, 3}:
            ids[str(folder)] = UUID(int=1000 + number)
            encoded = _encoded(ids[str(folder)])
            lines += f"directory.id={encoded}\n"
        (folder / META_PROPERTIES).write_text(lines)
    with Managed(*(tmp_path / str(number) for number in range(5))).manager as manager:
        assert manager.identity.directory_ids == ids
        assert manager.identity.node_id == 7
        assert manager.identity.cluster_id == "shop"


def _encoded(uuid: UUID) -> str:
    from workbench.files.text import format_uuid

    return format_uuid(uuid)


def test_a_directory_without_identity_gets_that_of_the_others(tmp_path: Path) -> None:
    """CK-6."""
    with Managed(tmp_path / "a", node_id=5, cluster_id="shop").manager:
        pass
    with Managed(tmp_path / "a", tmp_path / "b").manager as manager:
        assert len(set(manager.identity.directory_ids.values())) == 2
    made = MetaProperties.read(str(tmp_path / "b" / META_PROPERTIES))
    assert (made.node_id, made.cluster_id, made.version) == (5, "shop", 1)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("version=1\nnode.id=2\ncluster.id=shop\n", r"node.id is wrong \(found 2, expected 1\)"),
        (
            "version=1\nnode.id=1\ncluster.id=market\n",
            r"cluster.id is wrong \(found market, expected shop\)",
        ),
        ("version=2\nnode.id=1\ncluster.id=shop\n", "unknown version"),
        ("version=1\nnode.id=1\n", "no cluster.id"),
        ("garbage", "meta.properties has no broker.id"),
    ],
)
def test_directories_of_different_brokers_do_not_start(
    tmp_path: Path, lines: str, problem: str
) -> None:
    """CK-6."""
    with Managed(tmp_path / "a", node_id=1, cluster_id="shop").manager:
        pass
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / META_PROPERTIES).write_text(lines)
    with pytest.raises(LogDirectoryError, match=problem):
        Managed(tmp_path / "a", tmp_path / "b").manager.startup()


def test_a_directory_copied_with_its_id_does_not_start_beside_the_other(tmp_path: Path) -> None:
    """CK-6."""
    with Managed(tmp_path / "a").manager:
        pass
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / META_PROPERTIES).write_bytes((tmp_path / "a" / META_PROPERTIES).read_bytes())
    with pytest.raises(LogDirectoryError, match="is also the id of"):
        Managed(tmp_path / "a", tmp_path / "b").manager.startup()


def test_a_directory_that_cannot_be_used_is_left_out(tmp_path: Path) -> None:
    """LM-2."""
    bad = tmp_path / "bad"
    bad.write_text("a file, no folder")
    managed = Managed(tmp_path / "good", bad)
    with managed.manager as manager:
        assert manager.live_directories == [str(tmp_path / "good")]
        assert manager.offline_directories == [str(bad)]
        assert manager.get_or_create_log("orders-0", is_new=True).parent_directory.endswith("good")


def test_a_start_without_any_usable_directory_fails(tmp_path: Path) -> None:
    managed = Managed(tmp_path, initial_offline_directories=[tmp_path])
    with pytest.raises(StorageError, match="no directory is left"):
        managed.manager.startup()


def test_a_directory_that_fails_is_left_and_the_others_go_on(tmp_path: Path) -> None:
    fs = FailingDirectories()
    managed = Managed(tmp_path / "a", tmp_path / "b", fs=fs)
    with managed.manager as manager:
        logs = [manager.get_or_create_log(f"orders-{number}") for number in range(2)]
        fs.failing.add(logs[0].parent_directory)
        with pytest.raises(StorageError):
            logs[0].append(records(1))
        assert manager.offline_directories == [logs[0].parent_directory]
        assert manager.get_log("orders-0") is None
        assert list(manager.logs.values()) == [logs[1]]
        logs[1].append(records(3))
        with pytest.raises(StorageError, match="may hold orders-0"):
            manager.get_or_create_log("orders-0", is_new=False)
        with pytest.raises(StorageError, match="not deleted"):
            manager.async_delete("orders-0")
        assert manager.get_or_create_log("new-0").parent_directory == logs[1].parent_directory
    assert "directory left" in managed.kinds()


def test_a_checkpoint_that_cannot_be_read_takes_its_directory_offline(tmp_path: Path) -> None:
    """CK-2."""
    with Managed(tmp_path / "a", tmp_path / "b").manager as manager:
        for number in range(2):
            manager.get_or_create_log(f"orders-{number}")
    (tmp_path / "a" / "recovery-point-offset-checkpoint").write_text("1\n0\n")
    with Managed(tmp_path / "a", tmp_path / "b").manager as manager:
        assert manager.offline_directories == [str(tmp_path / "a")]
        assert len(manager.logs) == 1
    with pytest.raises(StorageError):
        Managed(tmp_path / "a").manager.startup()


@pytest.mark.parametrize("text", ["", "0\n0\n"])
def test_an_empty_checkpoint_tells_nothing(tmp_path: Path, text: str) -> None:
    """CK-2."""
    managed = Managed(tmp_path)
    directory: ManagedDirectory = managed.manager._context.directories[str(tmp_path)]  # noqa: SLF001
    (tmp_path / "recovery-point-offset-checkpoint").write_text(text)
    assert directory.read_recovery_points() == {}
    assert directory.read_log_start_offsets(MODELED_RULES) == {}
