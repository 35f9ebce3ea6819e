"""The commits of a log one by one, and the outcome of each."""

from pathlib import Path

import pytest

import workbench
from tests.coordinator.writing import CoordinatorLog, commit, group_tombstone
from workbench.coordinator.groups.commit_history import FATES
from workbench.coordinator.runtime.partitioning import partition_for
from workbench.loaders.schemas import schema_of
from workbench.runtime.steps import Step
from workbench.tables.groups import CommitRow


@pytest.fixture
def log(tmp_path: Path) -> CoordinatorLog:
    return CoordinatorLog(tmp_path)


def _fates(
    log: CoordinatorLog, version: str = "2.8"
) -> list[tuple[int, int | None, str, int | None]]:
    table = workbench.open_log_directory(log.write()).inspect.commits("g", version=version)
    assert table.schema == schema_of(CommitRow)
    rows = [
        (row["log_offset"], row["offset"], row["fate"], row["ended_at"])
        for row in table.drop_columns(["time", "commit_time", "expire_time"]).to_pylist()
    ]
    assert {row[2] for row in rows} <= set(FATES)
    return rows


def test_plain_commits(log: CoordinatorLog) -> None:
    log.append(commit("g", "foo", 0, 1), commit("h", "foo", 0, 9), commit("g", "foo", 0, 2))
    log.append(commit("g", "bar", 0, 3), commit("g", "bar", 0, None), commit("g", "bar", 0, None))
    assert _fates(log) == [
        (0, 1, "superseded", 2),
        (2, 2, "in force", None),
        (3, 3, "removed", 4),
        (4, None, "tombstone", None),
        (5, None, "tombstone", None),
    ]


def test_commits_within_transactions(log: CoordinatorLog) -> None:
    log.append(commit("g", "foo", 0, 1))
    log.append(commit("g", "foo", 0, 2), commit("g", "foo", 0, 3), producer=7)
    log.marker(7, commit=True)  # 3
    log.append(commit("g", "foo", 0, 4), producer=7)
    log.marker(7, commit=False)  # 5
    log.append(commit("g", "foo", 0, 5), producer=7)
    log.append(commit("g", "foo", 0, 6))
    log.marker(7, commit=True)  # 8
    log.append(commit("g", "foo", 0, 7), producer=7)
    assert _fates(log) == [
        (0, 1, "superseded", 3),
        (1, 2, "superseded", 2),
        (2, 3, "superseded", 7),
        (4, 4, "aborted", 5),
        (6, 5, "overtaken", 8),
        (7, 6, "in force", None),
        (9, 7, "pending", None),
    ]


@pytest.mark.parametrize(
    ("version", "fates"),
    [
        ("4.2", ["removed", "tombstone"]),
        ("2.8", ["in force", "tombstone"]),
    ],
)
def test_a_tombstone_of_a_pending_commit(
    log: CoordinatorLog, version: str, fates: list[str]
) -> None:
    log.append(commit("g", "foo", 0, 1), producer=7)
    log.append(commit("g", "foo", 0, None))
    log.marker(7, commit=True)
    assert [row[2] for row in _fates(log, version)] == fates


def test_one_tombstone_of_a_commit_and_a_pending_one_is_one_row(log: CoordinatorLog) -> None:
    log.append(commit("g", "foo", 0, 1))
    log.append(commit("g", "foo", 0, 2), producer=7)
    log.append(commit("g", "foo", 0, None), group_tombstone("g"))
    rows = _fates(log, "4.2")
    assert [row[2] for row in rows] == ["removed", "removed", "tombstone"]
    assert [row[3] for row in rows] == [2, 2, None]


def test_only_partitions_that_may_hold_the_group_are_observed(tmp_path: Path) -> None:
    """Steps cost much more than a load; of 50 partitions one or two matter."""
    logs = [CoordinatorLog(tmp_path, partition=number) for number in range(3)]
    for number, log in enumerate(logs):
        names = [f"g{n}" for n in range(9) if partition_for(f"g{n}", 3) == number]
        log.append(*(commit(name, "foo", 0, 1) for name in names))
    wrong = logs[(partition_for("g0", 3) + 1) % 3]
    wrong.append(commit("g0", "bar", 0, 1))
    for log in logs[1:]:
        log.write()
    coordinator = logs[0].coordinator()
    seen: list[Step] = []
    coordinator.observe(seen.append, "g0")
    assert {step.where for step in seen} == {wrong.name, logs[partition_for("g0", 3)].name}
    seen.clear()
    coordinator.observe(seen.append)
    assert len({step.where for step in seen}) == 3
