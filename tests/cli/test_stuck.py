import json
from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.program import run
from tests.coordinator.writing import TIME, CoordinatorLog, commit, group
from tests.golden.cases import Case
from workbench.coordinator.groups.group_explanation import STARTS_OVER
from workbench.log_manager.manager import LogManager
from workbench.runtime.clock import ManualClock

SHOP = Path("sample_data/shop-4.3.1")
HOUR = 3_600_000
Golden = Callable[[str], Case]


@pytest.fixture(name="held")
def held_(tmp_path: Path) -> Path:
    """Return a log of four segments, of which the first has a record of the year 2099."""
    topics = {"orders": {"internal.segment.bytes": 300}}
    config = {"log.message.timestamp.after.max.ms": 1 << 62}
    clock = ManualClock(0)
    with LogManager([tmp_path / "data"], config, topic_configs=topics, clock=clock) as manager:
        log = manager.get_or_create_log("orders-0")
        for at in (4_070_908_800_000, 1_000, 2_000, 3_000):
            log.append([(at, b"k", bytes(200))])
    return tmp_path / "data"


def test_a_record_of_the_future_keeps_retention_from_deleting(held: Path) -> None:
    options = ("--set", f"orders:retention.ms={HOUR}", "--now", str(10 * HOUR))
    outcome = run("stuck", held, *options, "--json")
    assert outcome.code == 1
    (row,) = outcome.json["stuck"]
    assert (row["what"], row["offset"], row["time"]) == ("not deleted", 0, 4_070_908_800_000)
    sizes = [path.stat().st_size for path in sorted(held.glob("orders-0/*.log"))]
    assert row["bytes"] == sum(sizes[:-1])  # the active segment is not held
    assert "kafka-delete-records.sh with the offset" in row["action"]
    assert "not deleted" in run("stuck", held, *options).out


def test_a_record_of_the_future_alone_keeps_its_log(tmp_path: Path) -> None:
    """There is no later segment: nothing of the log is deleted before that time, all the same."""
    clock = ManualClock(0)
    config = {"log.message.timestamp.after.max.ms": 1 << 62}
    with LogManager([tmp_path / "data"], config, clock=clock) as manager:
        log = manager.get_or_create_log("orders-0")
        log.append([(1_000, b"k", b"v"), (4_070_908_800_000, b"k", b"v"), (2_000, b"k", b"v")])
    options = ("--set", f"orders:retention.ms={HOUR}", "--now", str(10 * HOUR))
    (row,) = run("stuck", tmp_path / "data", *options, "--json").json["stuck"]
    assert (row["what"], row["offset"], row["time"]) == ("not deleted", 2, 4_070_908_800_000)
    assert "kafka-delete-records.sh with the offset 3 of orders-0" in row["action"]
    late = ("--set", f"orders:retention.ms={HOUR}", "--now", "4070908800000")
    assert run("stuck", tmp_path / "data", *late).code == 0


def test_one_record_of_the_future_does_not_make_a_group_fine(tmp_path: Path) -> None:
    """Where the log ended at a commit is unknown, so no commit left nothing."""
    now = 1_700_000_000_000
    config = {"log.message.timestamp.after.max.ms": 1 << 62}
    with LogManager([tmp_path / "data"], config, clock=ManualClock(now)) as manager:
        log = manager.get_or_create_log("f-0")
        log.append([(now + (10 * HOUR if at == 10 else 0), b"k", b"v") for at in range(100)])
    written = CoordinatorLog(tmp_path / "data")
    written.append(commit("g", "f", 0, 50))
    logs = wb.open_log_directory(written.write())
    (row,) = logs.inspect.group_lags().to_pylist()
    assert (row["verdict"], row["lag"]) == ("unknown", 50)


def test_nothing_is_stuck_where_retention_goes_on(held: Path) -> None:
    options = ("--set", f"orders:retention.ms={HOUR}", "--now", "4070912400001")
    outcome = run("stuck", held, *options)
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1] == "nothing is stuck"


def test_what_holds_read_committed_and_compaction_is_named(golden: Golden) -> None:
    path = golden("4.2.0-groups").directory("before")
    found = {row["what"]: row for row in wb.open_log_directory(path).stuck().to_pylist()}
    row = found["not readable"]
    assert (row["topic"], row["partition"], row["holder"], row["offset"]) == (
        "__consumer_offsets", 0, "g-tx", 56,
    )  # fmt: skip
    logs = wb.open_log_directory(path)
    story = logs["__consumer_offsets-0"].explain_cleaning()
    assert "the cleaner stops at offset 56, where a transaction is open" in story.conclusion
    assert found["not compacted"]["offset"] == 56
    assert row["action"] == f"kafka-workbench transaction g-tx {path} says what ends it"


def test_the_bytes_behind_an_open_transaction_are_those_of_its_batches() -> None:
    logs = wb.open_log_directory(SHOP)
    (row,) = (r for r in logs.stuck().to_pylist() if r["what"] == "not readable")
    batches = logs.inspect.batches("payments", [row["partition"]]).to_pylist()
    behind = [batch["size"] for batch in batches if batch["last_offset"] >= row["offset"]]
    assert row["bytes"] == sum(behind)


def test_groups_have_the_lag_that_the_offsets_have() -> None:
    logs = wb.open_log_directory(SHOP)
    every = logs.inspect.group_lags().to_pylist()
    lags = {(row["group"], row["topic"], row["partition"]): row for row in every}
    for row in logs.inspect.group_offsets().to_pylist():
        if row["unserved"] is not None or row["offset"] is None:
            continue
        lag = lags[row["group"], row["topic"], row["partition"]]
        assert (lag["lag"], lag["offset"]) == (row["lag"], row["offset"])
        log = logs.scan(row["topic"], partitions=[row["partition"]], offsets=(row["offset"], None))
        if row["lag"]:
            oldest = log.to_arrow().slice(0, 1).to_pylist()[0]["timestamp"]
            newest = max(each["commit_time"] for each in lags.values() if each["commit_time"])
            assert lag["lag_ms"] == (newest - oldest).total_seconds() * 1000


def test_json_has_the_rows_of_the_library() -> None:
    outcome = run("stuck", SHOP, "--now", "1732924800000", "--json")
    logs = wb.open_log_directory(SHOP)
    assert sorted(row["what"] for row in outcome.json["stuck"]) == sorted(
        logs.stuck(now=1732924800000)["what"].to_pylist()
    )
    assert len(outcome.json["groups"]) == logs.inspect.group_lags().num_rows
    assert json.dumps(outcome.json)


def test_groups_that_consumed_all_and_start_over_are_named(golden: Golden) -> None:
    data = golden("4.2.0-streams-group").directory("data")
    outcome = run("stuck", data, "--now", "2026-11-29")
    assert outcome.code == 0
    said = "nothing is stuck; app-closed consumed every record, and nevertheless may start over"
    assert outcome.out.splitlines()[-1] == said


@pytest.mark.parametrize(
    ("kafka", "days", "starts_over"),
    [("1.1", 2, True), ("2.0", 2, False), ("2.2", 8, False), ("2.4", 8, True), ("2.8", 8, False)],
)
def test_the_named_version_decides_what_has_expired(
    tmp_path: Path, kafka: str, days: int, *, starts_over: bool
) -> None:
    """1.1 keeps offsets for a day; 2.4 counts from the commit, not since the group is empty."""
    now = TIME + days * 24 * HOUR
    with LogManager([tmp_path / "data"], clock=ManualClock(TIME)) as manager:
        manager.get_or_create_log("f-0").append([(TIME, b"k", b"v")] * 100)
    written = CoordinatorLog(tmp_path / "data")
    emptied = now if days > 2 else TIME
    written.append(commit("g", "f", 0, 50), group("g", currentStateTimestamp=emptied))
    written.write()
    given = ("--now", str(now), "--kafka", kafka, "--json")
    (row,) = run("stuck", tmp_path / "data", *given).json["groups"]
    assert (row["verdict"] == STARTS_OVER) is starts_over


def test_without_a_cleaner_nothing_deletes_of_a_compacted_log(held: Path) -> None:
    options = ("--set", f"orders:retention.ms={HOUR}", "--now", str(10 * HOUR), "--set")
    policy = ("orders:cleanup.policy=compact,delete", "--set", "log.cleaner.enable=false")
    rows = run("stuck", held, *options, *policy, "--json").json["stuck"]
    assert "not deleted" not in {row["what"] for row in rows}
