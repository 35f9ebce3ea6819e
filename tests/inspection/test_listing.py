"""What opening lists: directories, folders and files of every kind, by their names alone."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.golden.cases import Case
from tests.naive import Record, batch
from workbench.errors import LogDirectoryError

Golden = Callable[[str], Case]
LOG = "00000000000000000000.log"


def test_a_log_directory_a_folder_and_a_file_can_be_opened(golden: Golden) -> None:
    directory = golden("4.2.0-txn").directory("data")
    whole = workbench.open_log_directory(directory)
    folder = workbench.open_log_directory(directory / "txn-a-0")
    file = workbench.open_log_directory(str(directory / "txn-a-0" / LOG))
    assert list(folder) == list(file) == ["txn-a-0"]
    assert folder["txn-a-0"].topic == "txn-a"
    assert folder["txn-a-0"].topic_id == whole["txn-a-0"].topic_id
    first = len(file["txn-a-0"].segments[0].batches)
    assert first == len(whole["txn-a-0"].segments[0].batches)
    assert folder.scan().count() == whole.scan(partitions="txn-a-0").count()
    assert len(file["txn-a-0"].files) == 1


def test_several_directories_of_one_broker_are_opened_together(golden: Golden) -> None:
    case = golden("4.2.0-dirs")
    logs = workbench.open_log_directory(
        [case.directory("after/data-a"), case.directory("after/data-b")]
    )
    assert [root.path for root in logs.roots] == [
        str(case.directory("after/data-a")),
        str(case.directory("after/data-b")),
    ]
    kinds = {partition.kind for partition in logs.values()}
    assert kinds == {"log", "future", "delete"}
    in_use = [name for name, partition in logs.items() if partition.kind == "log"]
    assert in_use == [
        "forgotten-0", "move-0", "move-1", "moved-0", "stay-0", "stay-1", "stay-2",
    ]  # fmt: skip
    assert logs["move-0"].root == str(case.directory("after/data-b"))
    gone = next(p for p in logs.values() if p.topic == "gone" and p.partition == 1)
    assert (gone.kind, gone.name.endswith("-delete")) == ("delete", True)


def test_partitions_of_the_same_name_are_all_kept(golden: Golden) -> None:
    case = golden("4.2.0-replicas")
    labels = [label for label in case.labels if label.startswith("after/")]
    logs = workbench.open_log_directory([case.directory(label) for label in labels])
    replicas = [p for p in logs.values() if p.name == "rep3-0"]
    assert len(replicas) == 3
    assert len({partition.path for partition in replicas}) == 3
    assert len(logs) == sum(len(root.partitions) for root in logs.roots)


def test_partitions_are_sorted_by_topic_and_number(tmp_path: Path) -> None:
    for name in ("b-10", "b-9", "a-b-0", "a-0"):
        (tmp_path / name).mkdir()
    logs = workbench.open_log_directory(tmp_path)
    assert list(logs) == ["a-0", "a-b-0", "b-9", "b-10"]
    assert logs.topics == ["a", "a-b", "b"]


@pytest.mark.parametrize(
    ("edit", "unknown"),
    [
        ("dir-unparsable", "folders"),
        ("dir-unparsable-number", "folders"),
        ("top-stray-file", "files"),
    ],
)
def test_what_no_broker_names_so_is_listed_as_unknown(
    edit: str, unknown: str, golden: Golden
) -> None:
    logs = workbench.open_log_directory(
        golden("4.2.0-damage-directory").directory(f"{edit}/before")
    )
    (root,) = logs.roots
    assert bool(root.unknown_folders) == (unknown == "folders")
    assert bool(root.unknown) == (unknown == "files")


def test_files_in_a_partition_folder_have_their_places(golden: Golden) -> None:
    directory = golden("4.2.0-retention").directory("after")
    for partition in workbench.open_log_directory(directory).values():
        sorted_out = [
            *(entry for segment in partition.segments for entry in segment.files.values()),
            *partition.snapshots,
            *partition.leftovers,
            *partition.orphans,
            *partition.unknown,
        ]
        others = {entry.name for entry in partition.files} - {entry.name for entry in sorted_out}
        assert others <= {"leader-epoch-checkpoint", "partition.metadata"}
        assert all(entry.name.endswith(".deleted") for entry in partition.leftovers)


def test_files_of_an_interrupted_swap_are_leftovers(golden: Golden) -> None:
    logs = workbench.open_log_directory(golden("k2.3-interrupted-swap").directory("kill3"))
    suffixes = {Path(entry.name).suffix for entry in logs["swap-0"].leftovers}
    assert suffixes & {".swap", ".cleaned", ".deleted"}


def test_a_stray_folder_inside_a_partition_is_listed(golden: Golden) -> None:
    logs = workbench.open_log_directory(golden("4.2.0-damage-clean").directory("before"))
    assert logs["dmg-stray-subdir-0"].folders == ("sub",)


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LogDirectoryError, match="no such file"):
        workbench.open_log_directory(tmp_path / "nothing")
    with pytest.raises(LogDirectoryError, match="no path"):
        workbench.open_log_directory([])


def test_an_empty_directory_opens_empty(tmp_path: Path) -> None:
    logs = workbench.open_log_directory(tmp_path)
    assert len(logs) == 0
    assert logs.scan().count() == 0
    assert logs.inspect.batches().num_rows == 0


def test_a_file_of_any_name_is_read_by_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "copied from somewhere.log"
    path.write_bytes(batch([Record(70, 5, b"k", b"v"), Record(71, 6)]))
    logs = workbench.open_log_directory(path)
    (partition,) = logs.values()
    assert partition.segments[0].base_offset == 70
    assert logs.scan().to_arrow()["offset"].to_pylist() == [70, 71]


def test_opening_lists_names_and_opens_no_log(
    golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = golden("4.2.0-txn").directory("data")
    opened: list[str] = []
    real_open = os.open

    def watched(path: Any, *arguments: Any, **options: Any) -> int:
        opened.append(os.fspath(path))
        return real_open(path, *arguments, **options)

    monkeypatch.setattr(os, "open", watched)
    logs = workbench.open_log_directory(directory)
    assert logs.inspect.segments().num_rows
    assert [path for path in opened if ".log" in path or "index" in path] == []
