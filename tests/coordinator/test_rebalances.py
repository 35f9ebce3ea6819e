"""Rebalances that the log shows: generations, epochs, who came and went, and what is unknown."""

from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.coordinator.writing import (
    TIME,
    CoordinatorLog,
    Pair,
    commit,
    group,
    group_tombstone,
    member,
    record,
)
from workbench.coordinator.groups.rebalance_history import EVENTS, RebalanceHistory
from workbench.coordinator.steps import LOAD_KINDS
from workbench.loaders.schemas import schema_of
from workbench.runtime.steps import Step
from workbench.tables.groups import RebalanceRow

FOO, BAR = "q2itc_CbSySKWltU1niWnw", "ieoyKSJYTY2cEnlgEekSDw"


@pytest.fixture
def log(tmp_path: Path) -> CoordinatorLog:
    return CoordinatorLog(tmp_path)


def _rows(log: CoordinatorLog, version: str | None = None) -> list[dict[str, Any]]:
    logs = workbench.open_log_directory(log.write())
    table = logs.inspect.rebalances("g", version=version)
    assert table.schema == schema_of(RebalanceRow)
    rows: list[dict[str, Any]] = table.to_pylist()
    assert {row["event"] for row in rows} <= set(EVENTS)
    return rows


def _short(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    names = ("log_offset", "event", "state", "generation", "joined", "left")
    return [tuple(row[name] for name in names) for row in rows]


def _classic(generation: int, *members: dict[str, Any], **fields: Any) -> Pair:
    names = {"protocol": "range", "leader": members[0]["memberId"]} if members else {}
    return group("g", generation=generation, members=list(members), **names, **fields)


def test_a_classic_group_from_its_first_member_to_its_end(log: CoordinatorLog) -> None:
    a, b = member("a", "foo"), member("b", "foo")
    for pair in (
        _classic(0, protocolType=""),
        _classic(1, a),
        _classic(2, a, b),
        _classic(3, b),
        _classic(4),
        group_tombstone("g"),
        _classic(1, a),
    ):
        log.append(pair)
    log.append(commit("g", "foo", 0, 1), group("other"))
    rows = _rows(log)
    assert _short(rows) == [
        (0, "created", "Empty", 0, [], []),
        (1, "rebalanced", "Stable", 1, ["a"], []),
        (2, "rebalanced", "Stable", 2, ["b"], []),
        (3, "rebalanced", "Stable", 3, [], ["a"]),
        (4, "emptied", "Empty", 4, [], ["b"]),
        (5, "removed", "Dead", None, [], []),
        (6, "rebalanced", "Stable", 1, ["a"], []),
    ]
    assert [row["previous_generation"] for row in rows] == [None, 0, 1, 2, 3, 4, None]
    assert [row["members"] for row in rows] == [0, 1, 2, 1, 0, 0, 1]
    assert [row["leader"] for row in rows[:4]] == [None, "a", "a", "b"]


def test_what_a_classic_groups_records_tell_of_the_reason(log: CoordinatorLog) -> None:
    static = {"groupInstanceId": "i"}
    log.append(_classic(1, member("a", "foo", **static)))
    log.append(_classic(1, member("b", "foo", **static)))
    log.append(_classic(2, member("b", "bar", **static)))
    log.append(_classic(3, member("b", "bar", **static)))
    log.append(_classic(6, member("b", "bar", **static)))
    rows = _rows(log)
    assert [(row["event"], row["reason"]) for row in rows] == [
        ("rebalanced", "joined: a"),
        ("changed", "static members came back with a new member id: i"),
        ("rebalanced", "changed their subscription: b"),
        ("rebalanced", None),
        ("rebalanced", "2 generations between are not in the log"),
    ]
    assert rows[1]["joined"] == rows[1]["left"] == []
    assert [change["member_id"] for change in rows[1]["changes"]] == ["b"]
    assert rows[2]["changes"] == []  # the assignment is the same


def test_of_what_compaction_removed_nothing_is_said(log: CoordinatorLog) -> None:
    log.append(_classic(7, member("a", "foo")), at=40)
    log.append(_classic(8, member("b", "foo")))
    first, second = _rows(log)
    assert (first["joined"], first["left"], first["reason"]) == (None, None, None)
    assert (first["state"], first["generation"]) == ("Stable", 7)
    assert first["previous_generation"] is None
    assert (second["joined"], second["left"]) == (["b"], ["a"])


def _member(name: str, *topics: str) -> Pair:
    value = {
        "instanceId": None, "rackId": None, "clientId": "c", "clientHost": "/h",
        "subscribedTopicNames": list(topics), "subscribedTopicRegex": None,
        "rebalanceTimeoutMs": 300_000, "serverAssignor": None,
    }  # fmt: skip
    return record(5, {"groupId": "g", "memberId": name}, value)


def _epoch(number: int) -> Pair:
    return record(3, {"groupId": "g"}, {"epoch": number})


def _target(name: str, *partitions: int) -> Pair:
    listed = [{"topicId": FOO, "partitions": list(partitions)}]
    return record(7, {"groupId": "g", "memberId": name}, {"topicPartitions": listed})


def _target_epoch(number: int) -> Pair:
    return record(6, {"groupId": "g"}, {"assignmentEpoch": number})


def _current(
    name: str, epoch: int, *partitions: int, state: int = 0, revoking: tuple[int, ...] = ()
) -> Pair:
    value = {
        "memberEpoch": epoch, "previousMemberEpoch": epoch - 1, "state": state,
        "assignedPartitions": [{"topicId": FOO, "partitions": list(partitions)}],
        "partitionsPendingRevocation": [{"topicId": FOO, "partitions": list(revoking)}],
    }  # fmt: skip
    return record(8, {"groupId": "g", "memberId": name}, value)


def _gone(name: str) -> list[Pair]:
    key = {"groupId": "g", "memberId": name}
    return [record(each, key, None) for each in (8, 7, 5)]


JOIN = [
    _member("a", "foo"),
    _epoch(1),
    _target("a", 0, 1),
    _target_epoch(1),
    _current("a", 1, 0, 1),
]
SECOND = [
    _member("b", "foo"), _epoch(2), _target("b", 1), _target("a", 0), _target_epoch(2),
    _current("b", 2, state=2),
]  # fmt: skip


def test_a_group_of_kip_848_and_its_reconciliation(log: CoordinatorLog) -> None:
    """CG-1, CG-2, CG-3: one batch may hold several heartbeats, of one time."""
    log.append(*JOIN, *SECOND)
    log.append(_current("a", 1, 0, state=1, revoking=(1,)), time=TIME + 1)
    log.append(_current("a", 2, 0), time=TIME + 1)
    log.append(_current("b", 2, 1), time=TIME + 2)
    log.append(*_gone("a"), _epoch(3), time=TIME + 2)
    log.append(_target("b", 0, 1), _target_epoch(3), time=TIME + 3)
    log.append(*_gone("b"), _epoch(4), time=TIME + 3)
    rows = _rows(log)
    assert _short(rows) == [
        (0, "rebalanced", "Stable", 1, ["a"], []),
        (5, "rebalanced", "Reconciling", 2, ["b"], []),
        (11, "reconciled", "Reconciling", 2, [], []),
        (12, "reconciled", "Reconciling", 2, [], []),
        (13, "reconciled", "Stable", 2, [], []),
        (14, "rebalanced", "Assigning", 3, [], ["a"]),
        (18, "assigned", "Reconciling", 3, [], []),
        (20, "emptied", "Empty", 4, [], ["b"]),
    ]
    reasons = [row["reason"] for row in rows]
    waits = f"b: at epoch 2, it waits for {FOO}-1, which a still has"
    assert reasons[1] == f"joined: b; {waits}"
    must = f"a: at epoch 1, it must give up {FOO}-1 before it can reach epoch 2"
    assert reasons[2] == must
    assert reasons[3] == "a: at epoch 2, it has its target assignment: 1 partition"
    assert reasons[6] is None
    (change,) = rows[2]["changes"]
    assert change == {
        "member_id": "a", "epoch": 1, "state": "UnrevokedPartitions", "assignment": [f"{FOO}-0"],
        "target": [f"{FOO}-0"], "revoking": [f"{FOO}-1"],
    }  # fmt: skip
    assert [row["assignment_epoch"] for row in rows] == [1, 2, 2, 2, 2, 2, 3, 3]


def test_metadata_alone_is_no_rebalance(log: CoordinatorLog) -> None:
    topics = [{"topicId": FOO, "topicName": "foo", "numPartitions": 2, "partitionMetadata": []}]
    log.append(*JOIN)
    log.append(record(4, {"groupId": "g"}, {"topics": topics}))
    log.append(record(4, {"groupId": "g"}, {"topics": topics}), _epoch(2))
    first, second = _rows(log)
    assert first["event"] == "rebalanced"
    assert (second["generation"], second["reason"]) == (2, "the metadata of the topics changed")


def test_between_the_protocols(log: CoordinatorLog) -> None:
    """CG-8: the tombstone and the records of the other protocol are one event."""
    log.append(_classic(3, member("a", "foo")))
    log.append(group_tombstone("g"), _member("a", "foo"), _epoch(3), _target("a", 0),
               _target_epoch(3), _current("a", 3, 0))  # fmt: skip
    log.append(
        *_gone("a"), record(6, {"groupId": "g"}, None), record(3, {"groupId": "g"}, None),
        _classic(3, member("a", "foo")),
    )  # fmt: skip
    rows = _rows(log)
    assert [(row["kind"], row["event"], row["joined"], row["left"]) for row in rows] == [
        ("classic", "rebalanced", ["a"], []),
        ("consumer", "upgraded", [], []),
        ("classic", "downgraded", [], []),
    ]


def test_a_compacted_group_of_kip_848(log: CoordinatorLog) -> None:
    """State and members are unknown until every record is read."""
    log.append(JOIN[0], at=30)
    log.append(*SECOND[1:], at=40)
    log.append(_current("a", 2, 0), at=50)
    log.append(_current("b", 2, 1))
    rows = _rows(log)
    assert [(row["state"], row["members"], row["joined"]) for row in rows[:-1]] == [
        (None, None, None)
    ] * (len(rows) - 1)
    assert (rows[-1]["state"], rows[-1]["members"]) == ("Stable", 2)
    assert rows[0]["generation"] == 2


def test_times_are_those_of_the_records(log: CoordinatorLog) -> None:
    log.append(*JOIN)
    (row,) = _rows(log)
    assert row["time"].timestamp() * 1000 == TIME
    assert (row["log"], row["log_offset"], row["last_offset"]) == ("__consumer_offsets-0", 0, 4)


def test_the_explanation_of_an_unfinished_reconciliation(log: CoordinatorLog) -> None:
    log.append(*JOIN, *SECOND, _current("a", 1, 0, state=1, revoking=(1,)))
    logs = workbench.open_log_directory(log.write())
    rows = [row for row in logs.explain_group("g") if row.rule == "reconciliation"]
    assert [(row.verdict, row.value, row.threshold) for row in rows] == [
        ("limits", 1, 2),
        ("limits", 2, 2),
    ]
    assert "must give up" in rows[0].reason
    assert "which a still has" in rows[1].reason
    found = {row["member_id"]: row["revoking"] for row in logs.inspect.group_members().to_pylist()}
    assert found == {"a": [f"{FOO}-1"], "b": []}


@pytest.mark.parametrize("gap", [0, 7])
def test_runs_of_commits_are_passed_over(log: CoordinatorLog, gap: int) -> None:
    """And whether compaction removed one of them is still known."""
    log.append(*(commit("other", "foo", at, at) for at in range(40)))
    log.append(*(commit("other", "foo", at, at) for at in range(40)), at=log.next_offset + gap)
    log.append(_classic(2, member("a", "foo")))
    log.append(*(commit("other", "foo", at, at) for at in range(40)))
    coordinator = log.coordinator()
    seen: list[Step] = []
    found = []
    for each_commit in (True, False):
        seen.clear()
        history = RebalanceHistory(coordinator.logs.topic_names)
        coordinator.observe(history, each_commit=each_commit)
        coordinator.observe(seen.append, each_commit=each_commit)
        assert {step.kind for step in seen} <= set(LOAD_KINDS)
        found.append(history.finish())
    assert found[0] == found[1]
    assert len(seen) == 5  # load started, a run, the group, a run, load finished
    (row,) = found[0]
    assert row.joined == (None if gap else ["a"])
