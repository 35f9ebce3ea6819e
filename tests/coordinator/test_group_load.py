"""Loads of `__consumer_offsets`, rule by rule, by the old coordinator and by the new one."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.coordinator.writing import (
    CONTROL,
    TIME,
    TRANSACTIONAL,
    CoordinatorLog,
    commit,
    group,
    group_tombstone,
    member,
    record,
    table_of,
)
from tests.naive import batch
from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.group_load import load_group_partition
from workbench.coordinator.groups.groups import ModernGroup
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.coordinator.steps import LOAD_KINDS
from workbench.inspection.listing import list_log_directories
from workbench.runtime.gc_pause import gc_paused
from workbench.runtime.steps import Step

ERAS = list(CoordinatorEra)
OLD = [CoordinatorEra.BEFORE_2_1, CoordinatorEra.CLASSIC]


@pytest.fixture
def log(tmp_path: Path) -> CoordinatorLog:
    return CoordinatorLog(tmp_path)


@pytest.mark.parametrize("era", ERAS)
def test_commits_alone_make_an_empty_group(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """GO-1, GO-52: three commits, no group record."""
    log.append(commit("g", "foo", 0, 23), commit("g", "foo", 1, 455), commit("g", "bar", 0, 8992))
    load = log.load(era)
    assert table_of(load) == {"g": {"foo-0": 23, "foo-1": 455, "bar-0": 8992}}
    found = load.groups["g"]
    assert (found.kind, found.state, found.generation) == ("simple", "Empty", 0)


@pytest.mark.parametrize("era", ERAS)
def test_an_empty_group_keeps_its_generation(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """GO-2."""
    log.append(commit("g", "foo", 0, 23), group("g", generation=15))
    load = log.load(era)
    found = load.groups["g"]
    assert isinstance(found, ClassicGroup)
    assert (found.state, found.generation, found.leader, found.protocol) == (
        "Empty",
        15,
        None,
        None,
    )
    assert table_of(load) == {"g": {"foo-0": 23}}


@pytest.mark.parametrize("era", ERAS)
def test_a_transaction_that_commits_counts(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """GO-3, GO-30."""
    log.append(commit("g", "foo", 0, 23), commit("g", "foo", 1, 455), producer=1000)
    log.marker(1000, commit=True)
    load = log.load(era)
    assert table_of(load) == {"g": {"foo-0": 23, "foo-1": 455}}
    assert load.table.pending == {}


@pytest.mark.parametrize("era", ERAS)
def test_a_transaction_that_aborts_leaves_nothing(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """GO-4: the old coordinator then knows no such group, the new one made it on the way."""
    log.append(commit("g", "foo", 0, 23), producer=1000)
    log.marker(1000, commit=False)
    load = log.load(era)
    assert table_of(load) == {}
    assert list(load.groups) == (["g"] if era is CoordinatorEra.KIP_848 else [])


@pytest.mark.parametrize("era", ERAS)
def test_without_a_marker_commits_are_pending(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """GO-5: the group is there, without offsets."""
    log.append(commit("g", "foo", 0, 23), commit("g", "bar", 0, 24), producer=1000)
    load = log.load(era)
    assert table_of(load) == {}
    assert [(p, str(w), v.offset) for p, w, v in load.table.pending_of("g")] == [
        (1000, "foo-0", 23),
        (1000, "bar-0", 24),
    ]
    assert list(load.groups) == ["g"]


@pytest.mark.parametrize("era", ERAS)
def test_one_producer_aborts_commits_and_leaves_open(
    log: CoordinatorLog, era: CoordinatorEra
) -> None:
    """GO-6."""
    log.append(commit("g", "foo", 0, 1), producer=1000)
    log.marker(1000, commit=False)
    log.append(commit("g", "foo", 1, 2), producer=1000)
    log.marker(1000, commit=True)
    log.append(commit("g", "foo", 2, 3), producer=1000)
    load = log.load(era)
    assert table_of(load) == {"g": {"foo-1": 2}}
    assert [str(where) for _, where, _ in load.table.pending_of("g")] == ["foo-2"]


@pytest.mark.parametrize("era", ERAS)
def test_two_producers_in_turn(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """GO-7, GO-44: each marker ends the commits of its producer, in whatever groups."""
    log.append(commit("g", "foo", 0, 1), commit("h", "foo", 0, 5), producer=1000)
    log.append(commit("g", "bar", 0, 2), producer=1001)
    log.marker(1000, commit=True)
    first = table_of(log.load(era))
    log.marker(1001, commit=True)
    load = log.load(era)
    assert first == {"g": {"foo-0": 1}, "h": {"foo-0": 5}}
    assert table_of(load) == {"g": {"foo-0": 1, "bar-0": 2}, "h": {"foo-0": 5}}
    assert [value.record_offset for value in load.table.offsets["g"].values()] == [0, 2]


@pytest.mark.parametrize("era", ERAS)
def test_the_later_record_of_a_plain_and_a_transactional_commit_wins(
    log: CoordinatorLog, era: CoordinatorEra
) -> None:
    """GO-8, GO-9, GO-39, GO-63: the position of the records decides, not when the marker comes."""
    log.append(commit("wins", "foo", 0, 23), producer=1000)
    log.append(commit("wins", "foo", 0, 24))
    log.append(commit("loses", "foo", 0, 24))
    log.append(commit("loses", "foo", 0, 23), producer=1000)
    log.marker(1000, commit=True)
    assert table_of(log.load(era)) == {"wins": {"foo-0": 24}, "loses": {"foo-0": 23}}


@pytest.mark.parametrize("era", ERAS)
def test_a_tombstone_removes_one_offset(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """GO-10."""
    log.append(commit("g", "foo", 0, 1), commit("g", "foo", 1, 2))
    log.append(commit("g", "foo", 0, None))
    assert table_of(log.load(era)) == {"g": {"foo-1": 2}}


@pytest.mark.parametrize("era", ERAS)
def test_a_tombstone_removes_a_group(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """GO-11."""
    log.append(group("g", members=[member("m", "foo")]))
    log.append(group_tombstone("g"))
    assert log.load(era).groups == {}


@pytest.mark.parametrize("era", ERAS)
def test_commits_after_the_tombstone_make_the_group_anew(
    log: CoordinatorLog, era: CoordinatorEra
) -> None:
    """GO-12."""
    log.append(group("g", members=[member("m", "foo")]), group_tombstone("g"))
    log.append(commit("g", "foo", 0, 9))
    load = log.load(era)
    assert load.groups["g"].kind == "simple"
    assert table_of(load) == {"g": {"foo-0": 9}}


@pytest.mark.parametrize("era", ERAS)
def test_live_commits_before_a_groups_tombstone(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """The old coordinator brings the group back; the new one serves nothing of it."""
    log.append(commit("g", "foo", 0, 9), group("g"), group_tombstone("g"))
    coordinator = log.coordinator(era=era)
    served = [each.committed.offset for each in coordinator.offsets() if each.unserved is None]
    if era is CoordinatorEra.KIP_848:
        assert (list(coordinator.groups), served) == ([], [])
        (hidden,) = coordinator.offsets()
        assert hidden.unserved == "a tombstone removed the group after the commit"
    else:
        assert (list(coordinator.groups), served) == (["g"], [9])


@pytest.mark.parametrize("era", ERAS)
def test_the_last_record_counts_whatever_its_time(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """GO-15: log order, over batches; neither offsets nor times are compared."""
    log.append(commit("g", "foo", 0, 100, commitTimestamp=TIME + 5))
    log.append(commit("g", "foo", 0, 1, commitTimestamp=TIME - 5))
    assert table_of(log.load(era)) == {"g": {"foo-0": 1}}


@pytest.mark.parametrize("era", ERAS)
def test_unknown_types_are_passed_over(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """GO-17."""
    log.append(commit("g", "foo", 0, 1), (b"\x04\xd2whatever", b"x"), commit("g", "foo", 1, 2))
    load = log.load(era)
    assert table_of(load) == {"g": {"foo-0": 1, "foo-1": 2}}
    assert (load.failure, load.findings) == (None, [])


def test_an_old_coordinator_does_not_know_modern_groups(log: CoordinatorLog) -> None:
    log.append(record(3, {"groupId": "m"}, {"epoch": 4}), commit("g", "foo", 0, 1))
    assert list(log.load(CoordinatorEra.CLASSIC).groups) == ["g"]
    assert list(log.load(CoordinatorEra.KIP_848).groups) == ["m", "g"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("version", range(5))
def test_every_version_of_a_commit(log: CoordinatorLog, era: CoordinatorEra, version: int) -> None:
    """GO-20, GO-22: the leader epoch from version 3 on, the expire time in version 1 alone."""
    fields: dict[str, Any] = {"leaderEpoch": 7, "expireTimestamp": TIME + 1}
    log.append(commit("g", "foo", 0, 5, version, metadata="hé", **fields))
    (value,) = log.load(era).table.offsets["g"].values()
    assert value.leader_epoch == (7 if version >= 3 else None)
    assert value.expire_timestamp == (TIME + 1 if version == 1 else None)
    assert (value.metadata, value.commit_timestamp, value.version) == ("hé", TIME, version)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("version", range(5))
def test_every_version_of_a_group(log: CoordinatorLog, era: CoordinatorEra, version: int) -> None:
    """GO-23, GO-24, GC-10: times from version 2 on; version 0 has no rebalance timeout.

    2.3 to 2.5 read the time in version 2 only.
    """
    log.append(group("g", version, protocol="range", leader="m", members=[member("m", "foo")]))
    found = log.load(era).groups["g"]
    assert isinstance(found, ClassicGroup)
    is_read = version == 2 or (version > 2 and era is not CoordinatorEra.UNSTAMPED)
    assert found.state_timestamp == (TIME if is_read else None)
    assert next(iter(found.members.values())).rebalance_timeout_ms == (
        300_000 if version else 45_000
    )
    assert (found.state, found.kind, found.protocol) == ("Stable", "classic", "range")
    assert found.subscribed_topics == frozenset({"foo"})


@pytest.mark.parametrize("era", ERAS)
def test_the_key_of_kafka_0_8_is_another_key_of_the_same_offset(
    log: CoordinatorLog, era: CoordinatorEra
) -> None:
    """Type 0 and type 1: the later record counts, and a tombstone of one hides the other."""
    log.append(commit("g", "foo", 0, 5, 0, type_id=0), commit("g", "bar", 0, 6, 0, type_id=0))
    log.append(commit("g", "foo", 0, None))
    assert table_of(log.load(era)) == {"g": {"bar-0": 6}}


@pytest.mark.parametrize("era", ERAS)
def test_a_tombstone_and_pending_commits(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """GO-62: the new coordinator takes every producer's pending commit back, the old one none."""
    log.append(commit("g", "foo", 0, 1), producer=1000)
    log.append(commit("g", "foo", 0, 2), producer=1001)
    log.append(commit("g", "foo", 0, None))
    log.marker(1000, commit=True)
    found = table_of(log.load(era))
    assert found == ({} if era is CoordinatorEra.KIP_848 else {"g": {"foo-0": 1}})


@pytest.mark.parametrize("era", OLD)
def test_a_tombstone_within_a_transaction(log: CoordinatorLog, era: CoordinatorEra) -> None:
    log.append(commit("g", "foo", 0, 9))
    log.append(commit("g", "foo", 0, 1), commit("g", "foo", 0, None), producer=1000)
    log.marker(1000, commit=True)
    assert table_of(log.load(era)) == {"g": {"foo-0": 9}}


@pytest.mark.parametrize("era", ERAS)
def test_a_stray_marker_changes_nothing(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """GO-43, GO-63."""
    log.append(commit("g", "foo", 0, 1), producer=1000)
    log.marker(1000, commit=False)
    log.marker(1000, commit=True)
    log.marker(4711, commit=True)
    assert table_of(log.load(era)) == {}


UNREADABLE = {
    "null key": (None, b"x"),
    "short key": (b"\x00", b"x"),
    "cut key": (b"\x00\x01\x00\x05ab", b"x"),
    "value version": (commit("g", "foo", 0, 1)[0], b"\x00\x63"),
    "cut value": (commit("g", "foo", 0, 1)[0], commit("g", "foo", 0, 1)[1][:9]),  # type: ignore[index]
    "empty value": (commit("g", "foo", 0, 1)[0], b""),
    "group version": (group("g")[0], b"\x00\x09" + b"\x00" * 20),
}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_record_fails_a_brokers_load_but_not_ours(
    log: CoordinatorLog, era: CoordinatorEra, name: str
) -> None:
    """GO-23: a finding that says what the broker does; the other records are loaded."""
    log.append(commit("h", "foo", 0, 1))
    at = log.append(UNREADABLE[name])
    log.append(commit("h", "foo", 1, 2))
    coordinator = log.coordinator(era=era)
    (load,) = coordinator.loads
    assert table_of(load) == {"h": {"foo-0": 1, "foo-1": 2}}
    (finding,) = load.findings
    assert (finding.kind, finding.offset, finding.severity) == ("group-record", at, "error")
    assert ("NOT_COORDINATOR" in finding.broker) == (era is CoordinatorEra.KIP_848)
    assert load.failure is not None
    assert load.failure.startswith(f"offset {at}: ")
    assert all("load" in (each.unserved or "") for each in coordinator.offsets())
    assert [*coordinator.served_groups()] == []


def test_a_damaged_batch_is_left_out_and_told(log: CoordinatorLog) -> None:
    log.append(commit("g", "foo", 0, 1))
    damaged = len(log.content) + 70
    log.append(commit("g", "foo", 1, 2))
    log.append(commit("g", "foo", 2, 3))
    log.content = log.content[:damaged] + b"\xff" + log.content[damaged + 1 :]
    load = log.load(CoordinatorEra.CLASSIC)
    assert table_of(load) == {"g": {"foo-0": 1, "foo-2": 3}}
    assert [finding.kind for finding in load.findings] == ["crc"]
    assert "does not check CRCs" in load.findings[0].broker


@pytest.mark.parametrize("era", ERAS)
def test_a_load_ends_at_the_given_offset(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """Up to 2.0 a load ended at the high watermark."""
    log.append(commit("g", "foo", 0, 1))
    log.append(commit("g", "foo", 0, 2))
    partition = list_log_directories(log.write()).partitions[log.name]
    load = load_group_partition(partition, era, end=1)
    assert table_of(load) == {"g": {"foo-0": 1}}
    assert load.end_offset == 1


def test_the_era_is_that_of_the_newest_records(log: CoordinatorLog) -> None:
    log.append(commit("g", "foo", 0, 1, 1))
    assert log.coordinator().era is CoordinatorEra.BEFORE_2_1
    log.append(commit("g", "foo", 0, 1, 3))
    assert log.coordinator().era is CoordinatorEra.CLASSIC
    log.append(record(3, {"groupId": "m"}, {"epoch": 4}))
    coordinator = log.coordinator()
    assert coordinator.era is CoordinatorEra.KIP_848
    assert list(coordinator.groups) == ["g", "m"]


def test_a_load_says_what_it_does_with_each_record(log: CoordinatorLog) -> None:
    """Every record has a step, with the reason and the record's place."""
    log.append(commit("g", "foo", 0, 1), commit("g", "foo", 0, 2), group("g"))
    log.append(commit("g", "foo", 0, 3), producer=7)
    log.marker(7, commit=True)
    log.append(commit("g", "foo", 0, None), (b"\x00\x63", b""), (None, None), group_tombstone("g"))
    steps: list[Step] = []
    log.load(CoordinatorEra.CLASSIC, steps.append)
    assert [(step.numbers.get("at"), step.kind, step.reason) for step in steps[1:-1]] == [
        (0, "offset loaded", "the commit is the first for this partition"),
        (1, "offset loaded", "the commit replaces the one at offset 0"),
        (2, "group loaded", "Empty, generation 1, 0 members"),
        (3, "offset pending", "the transaction of producer 7 is open"),
        (4, "transaction committed", "commits in force: 1, dropped: 0"),
        (4, "pending offset loaded", "the transaction committed"),
        (5, "offset removed", "a tombstone removes the commit at offset 3"),
        (6, "record ignored", "this coordinator does not know record type 99"),
        (7, "record unreadable", "the key is null"),
        (8, "group removed", "a tombstone removes the group"),
    ]
    assert {step.kind for step in steps} <= set(LOAD_KINDS)


MODERN_MEMBER = {
    "instanceId": None, "rackId": None, "clientId": "c", "clientHost": "/h",
    "subscribedTopicNames": ["foo"], "subscribedTopicRegex": None, "serverAssignor": None,
}  # fmt: skip
CURRENT = {"memberEpoch": 1, "previousMemberEpoch": 0, "state": 0, "assignedPartitions": [],
           "partitionsPendingRevocation": []}  # fmt: skip
MEMBER = {"groupId": "m", "memberId": "a"}


def _modern(log: CoordinatorLog) -> ModernGroup:
    found = log.load(CoordinatorEra.KIP_848).groups["m"]
    assert isinstance(found, ModernGroup)
    return found


def test_the_state_of_a_consumer_group_follows_from_its_epochs(log: CoordinatorLog) -> None:
    """CG-1, CG-2, CG-3: the records of a join, in order."""
    log.append(record(3, {"groupId": "m"}, {"epoch": 1}))
    assert _modern(log).state == "Empty"
    log.append(record(5, MEMBER, MODERN_MEMBER))
    assert _modern(log).state == "Assigning"
    log.append(
        record(7, MEMBER, {"topicPartitions": []}),
        record(6, {"groupId": "m"}, {"assignmentEpoch": 1}),
    )
    assert _modern(log).state == "Reconciling"
    log.append(record(8, MEMBER, {**CURRENT, "state": 1}))
    assert _modern(log).state == "Reconciling"
    log.append(record(8, MEMBER, CURRENT))
    assert _modern(log).state == "Stable"
    log.append(record(8, MEMBER, None), record(7, MEMBER, None), record(5, MEMBER, None))
    found = _modern(log)
    assert (found.state, found.targets, found.epoch) == ("Empty", {}, 1)
    log.append(record(6, {"groupId": "m"}, None), record(3, {"groupId": "m"}, None))
    assert log.load(CoordinatorEra.KIP_848).groups == {}


def test_tombstones_of_what_is_not_there_change_nothing(log: CoordinatorLog) -> None:
    """CG-7."""
    for type_id in (3, 4, 6):
        log.append(record(type_id, {"groupId": "m"}, None))
    for type_id in (5, 7, 8):
        log.append(record(type_id, MEMBER, None))
    load = log.load(CoordinatorEra.KIP_848)
    assert (load.groups, load.failure) == ({}, None)


def test_a_simple_group_becomes_a_consumer_group(log: CoordinatorLog) -> None:
    """CG-8, backwards: a real classic group of the same name fails the load."""
    log.append(commit("m", "foo", 0, 1), record(3, {"groupId": "m"}, {"epoch": 1}))
    assert _modern(log).kind == "consumer"
    log.append(group_tombstone("m"), group("m", members=[member("a", "foo")]))
    log.append(record(3, {"groupId": "m"}, {"epoch": 1}))
    load = log.load(CoordinatorEra.KIP_848)
    assert load.groups["m"].kind == "classic"
    assert load.failure is not None
    assert "is a classic group" in load.failure


def test_a_regular_expression_subscribes_to_what_it_resolves_to(log: CoordinatorLog) -> None:
    log.append(
        record(
            5, MEMBER, {**MODERN_MEMBER, "subscribedTopicNames": [], "subscribedTopicRegex": "b.*"}
        ),
        record(
            16,
            {"groupId": "m", "regularExpression": "b.*"},
            {"topics": ["bar"], "version": 1, "timestamp": TIME},
        ),
    )
    assert _modern(log).subscribed_topics == frozenset({"bar"})


@pytest.mark.parametrize("era", ERAS)
def test_a_group_record_of_many_megabytes(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """GO-13."""
    large = {**member("m", "foo"), "assignment": b"\x00" * (7 << 20)}
    log.append(group("g", members=[large]), commit("g", "foo", 0, 1))
    load = log.load(era)
    assert load.groups["g"].state == "Stable"
    assert table_of(load) == {"g": {"foo-0": 1}}


@pytest.mark.parametrize("era", ERAS)
def test_a_log_without_records_and_one_that_ends_early(
    log: CoordinatorLog, era: CoordinatorEra
) -> None:
    """GO-14: the load ends there, without an error."""
    load = log.load(era)
    assert (load.groups, load.failure, load.findings) == ({}, None, [])
    log.append(commit("g", "foo", 0, 1))
    whole = len(log.content)
    log.append(commit("g", "foo", 0, 2))
    log.content = log.content[: whole + 30]
    load = log.load(era)
    assert table_of(load) == {"g": {"foo-0": 1}}
    assert (load.failure, load.findings) == (None, [])


@pytest.mark.parametrize("era", ERAS)
def test_a_control_batch_without_records(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """GO-16: compaction leaves such batches behind."""
    log.content = batch(
        [], attributes=TRANSACTIONAL | CONTROL, producer_id=7, producer_epoch=0, base_offset=0,
        last_offset=0,
    )  # fmt: skip
    log.next_offset = 1
    log.append(commit("g", "foo", 0, 1))
    load = log.load(era)
    assert table_of(load) == {"g": {"foo-0": 1}}
    assert load.findings == []


@pytest.mark.parametrize("era", ERAS)
def test_the_empty_group_id_is_a_name(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """GO-42."""
    log.append(commit("", "foo", 0, 1))
    coordinator = log.coordinator(era=era)
    assert [each.committed.offset for each in coordinator.offsets("")] == [1]
    assert coordinator.groups[""].unserved is None


@pytest.mark.parametrize("era", ERAS)
def test_an_unknown_group_has_no_offsets(log: CoordinatorLog, era: CoordinatorEra) -> None:
    """GO-57."""
    log.append(commit("g", "foo", 0, 1))
    assert list(log.coordinator(era=era).offsets("nosuch")) == []


def test_the_topics_that_members_subscribe_to(log: CoordinatorLog) -> None:
    """GC-3: those of all members; none are known of another type, or of bytes that do not fit."""
    bad = {**member("c"), "subscription": b"\x00\x00\x00\x00\x00\x09"}
    log.append(
        group("empty"),
        group("both", protocol="range", members=[member("a", "foo"), member("b", "bar")]),
        group("connect", protocolType="connect", members=[member("a", "foo")]),
        group("bad", protocol="range", members=[member("a", "foo"), bad]),
    )
    found = {
        name: g.subscribed_topics for name, g in log.load(CoordinatorEra.CLASSIC).groups.items()
    }
    assert found == {
        "empty": frozenset(),
        "both": frozenset({"foo", "bar"}),
        "connect": None,
        "bad": None,
    }


def test_a_static_member_that_left_for_a_while_is_still_one(log: CoordinatorLog) -> None:
    """CG-4: its epoch is -2, so the group waits for it."""
    log.append(record(3, {"groupId": "m"}, {"epoch": 1}), record(5, MEMBER, MODERN_MEMBER))
    log.append(record(6, {"groupId": "m"}, {"assignmentEpoch": 1}))
    log.append(record(8, MEMBER, {**CURRENT, "memberEpoch": -2}))
    assert (_modern(log).state, _modern(log).members["a"].epoch) == ("Reconciling", -2)


def test_preallocated_bytes_are_no_finding(log: CoordinatorLog) -> None:
    log.append(commit("g", "foo", 0, 1))
    log.content += b"\x00" * 4096
    load = log.load(CoordinatorEra.CLASSIC)
    assert (table_of(load), load.findings) == ({"g": {"foo-0": 1}}, [])


def test_many_unreadable_records_are_counted(log: CoordinatorLog) -> None:
    """A hundred findings of one partition say it; memory does not grow with the damage."""
    log.append(*[(None, b"x")] * 250)
    load = log.load(CoordinatorEra.CLASSIC)
    assert (len(load.findings), load.unreadable) == (100, 250)


@pytest.mark.parametrize(
    ("era", "expected"), [(CoordinatorEra.BEFORE_2_1, 1), (CoordinatorEra.CLASSIC, 2)]
)
def test_up_to_2_0_a_load_ends_at_the_checkpointed_high_watermark(
    tmp_path: Path, era: CoordinatorEra, expected: int
) -> None:
    log = CoordinatorLog(tmp_path)
    for offset in (1, 2):
        log.append(commit("g", "t", 0, offset, version=1))
    root = log.write()
    path = root / "replication-offset-checkpoint"
    path.write_text("0\n1\n__consumer_offsets 0 1\n")
    coordinator = StoredGroups(list_log_directories(root), era=era)
    [found] = coordinator.offsets("g")
    assert found.committed.offset == expected
    steps: list[Step] = []
    coordinator.observe(steps.append)
    assert ("up to offset 1" in steps[0].reason) == (era is CoordinatorEra.BEFORE_2_1)
    path.write_text("0\n0\n")  # the log end offset is assumed
    [found] = StoredGroups(list_log_directories(root), era=era).offsets("g")
    assert found.committed.offset == 2


def test_only_a_consumer_group_replaces_a_simple_one(log: CoordinatorLog) -> None:
    """A record of a share group fails a broker's load where commits have made a simple group."""
    log.append(commit("c", "t", 0, 1, version=4), commit("s", "t", 0, 1, version=4))
    log.append(record(3, {"groupId": "c"}, {"epoch": 1, "metadataHash": 0}))
    load = log.load(CoordinatorEra.KIP_848)
    assert load.failure is None
    assert load.groups["c"].kind == "consumer"
    log.append(record(11, {"groupId": "s"}, {"epoch": 1, "metadataHash": 0}))
    load = log.load(CoordinatorEra.KIP_848)
    assert load.failure is not None
    assert "'s' is a simple group, the record is of a share group" in load.failure


@pytest.mark.parametrize("setup", [gc.enable, gc.disable])
def test_a_load_leaves_the_collector_as_it_was(
    setup: Callable[[], None], log: CoordinatorLog
) -> None:
    log.append(commit("g", "foo", 0, 5))
    try:
        setup()
        before = gc.isenabled()
        log.load(CoordinatorEra.KIP_848)
        assert gc.isenabled() == before
        with pytest.raises(OSError, match="gone"), gc_paused():
            raise OSError("gone")
        assert gc.isenabled() == before
    finally:
        gc.enable()


@pytest.mark.parametrize("era", list(CoordinatorEra))
def test_a_group_whose_members_contradict_each_other_ends_a_load(
    log: CoordinatorLog, era: CoordinatorEra
) -> None:
    """Two members have one instance id, which the group of a broker cannot hold."""
    twice = [member(name, "t", groupInstanceId="i") for name in ("m", "n")]
    log.append(group("g", protocol="range", leader="m", members=twice))
    load = log.load(era)
    assert load.failure == "offset 0: group g: instance id i is taken"
    (finding,) = load.findings
    assert (finding.kind, finding.severity) == ("group-record", "error")
