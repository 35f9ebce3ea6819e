import shutil
from collections.abc import Callable
from pathlib import Path

from tests.cli.program import run
from tests.golden.cases import Case
from workbench.log_directory import open_log_directory

Golden = Callable[[str], Case]
KEYS = {
    "name",
    "remote_segments",
    "remote_size",
    "topic",
    "partition",
    "kind",
    "segments",
    "size",
    "other_size",
    "occupied",
    "log_start_offset",
    "log_end_offset",
    "offset_count",
    "leftovers",
    "unknown",
    "modified",
    "path",
    "not_read",
    "records",
    "records_read_committed",
}


def test_every_partition_is_listed_with_what_the_library_says(golden: Golden) -> None:
    directory = golden("4.2.0-retention").directory("after")
    listed = run("ls", directory, "--json").json
    logs = open_log_directory(directory)
    assert [each["name"] for each in listed["partitions"]] == list(logs)
    for row in listed["partitions"]:
        assert set(row) == KEYS
        partition = logs[row["name"]]
        assert row["segments"] == len(partition.segments)
        assert row["size"] == partition.size
        assert row["log_start_offset"] == partition.log_start_offset
        assert row["log_end_offset"] == partition.log_end_offset
        assert row["leftovers"] == len(partition.leftovers)
    assert listed["totals"]["partitions"] == len(logs)
    assert listed["totals"]["size"] == sum(p.size for p in logs.values())
    assert listed["unknown_files"] == []


def test_topics_are_added_up_and_sorted_by_size(golden: Golden) -> None:
    directory = golden("4.2.0-plain-java").directory("data")
    listed = run("ls", directory, "--topics", "--sort", "size", "--json").json
    sizes = [each["size"] for each in listed["topics"]]
    assert sizes == sorted(sizes, reverse=True)
    logs = open_log_directory(directory)
    assert sorted(each["name"] for each in listed["topics"]) == logs.topics
    assert sum(sizes) == sum(partition.size for partition in logs.values())
    turned = run("ls", directory, "--topics", "--sort", "size", "-r", "--json").json
    assert [each["size"] for each in turned["topics"]] == sizes[::-1]


def test_folders_that_are_no_logs_are_listed_with_their_kind(golden: Golden) -> None:
    case = golden("4.2.0-dirs")
    kinds = {
        each["kind"]
        for label in case.labels
        for each in run("ls", case.directory(label), "--json").json["partitions"]
    }
    assert kinds >= {"log", "future"}


def test_text_has_a_row_a_partition_and_a_line_of_totals(golden: Golden) -> None:
    directory = golden("4.2.0-txn").directory("data")
    lines = run("ls", directory).out.splitlines()
    names = list(open_log_directory(directory))
    assert [line.split()[0] for line in lines[1:-1]] == names
    assert lines[-1].startswith(f"{len(names)} partitions")


def test_unknown_files_are_told(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("remember")
    (tmp_path / "photos").mkdir()
    (tmp_path / "meta.properties").write_text("version=1\n")
    listed = run("ls", tmp_path, "--json").json
    assert listed["unknown_files"] == [str(tmp_path / "notes.txt")]
    assert listed["unknown_folders"] == [str(tmp_path / "photos")]
    told = run("ls", tmp_path)
    assert told.out == "no partitions\n"
    assert "notes.txt" in told.err


def test_segments_in_a_remote_tier_are_counted_beside_the_local_ones(golden: Golden) -> None:
    case = golden("4.2.0-tiered")
    directory, tier = case.directory("data"), case.path / "tier"
    listed = run("ls", directory, "--remote", tier, "-p", "tier-expire-0", "--json").json
    (row,) = listed["partitions"]
    assert (row["segments"], row["remote_segments"], row["remote_size"]) == (3, 3, 7182)
    assert (row["log_start_offset"], row["log_end_offset"]) == (48, 200)
    assert listed["totals"]["remote_segments"] == 3
    text = run("ls", directory, "--remote", tier).out
    assert "remote size" in text
    assert "only the remote tier" not in text
    assert listed["only_remote"] == []
    assert "remote" not in run("ls", directory, "-t", "tier-txn").out


def test_what_only_the_remote_tier_has_is_named(golden: Golden, tmp_path: Path) -> None:
    """A partition whose folder is gone, and a topic that was made again with another id."""
    case = golden("4.2.0-tiered")
    data, tier = tmp_path / "data", case.path / "tier"
    shutil.copytree(case.directory("data"), data)
    shutil.rmtree(data / "tier-local-0")
    path = data / "tier-txn-0" / "partition.metadata"
    text = path.read_text()
    path.write_text(text.partition("topic_id: ")[0] + "topic_id: AAAAAAAAAAAAAAAAAAAAZw\n")
    missing = ["tier-local-0", "tier-txn-0"]
    assert run("ls", data, "--remote", tier, "--json").json["only_remote"] == missing
    assert "of 2 partitions: tier-local-0, tier-txn-0" in run("ls", data, "--remote", tier).out
    one = run("ls", data, "--remote", tier, "-t", "tier-txn", "--json").json
    assert one["only_remote"] == ["tier-txn-0"]
    assert run("ls", "--remote", tier, "--json").json["only_remote"] == []


def test_a_wrong_tier_or_key_is_a_mistake_of_the_caller(golden: Golden, tmp_path: Path) -> None:
    directory = golden("4.2.0-tiered").directory("data")
    done = run("ls", directory, "--remote", tmp_path / "none")
    assert (done.code, "no such folder of a remote tier" in done.err) == (3, True)
    done = run("ls", directory, "--remote", tmp_path, "--remote-key", "k")
    assert (done.code, "is not an id, '=' and a file" in done.err) == (3, True)
