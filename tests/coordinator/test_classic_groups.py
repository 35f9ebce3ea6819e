"""Classic groups over the engine's log: every behavior that Kafka's tests hold, by its number."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.coordinator import writing
from tests.coordinator.group_house import GROUP, NOW, REBALANCE, SESSION, GroupHouse
from tests.coordinator.writing import CoordinatorLog, subscription
from tests.waiting import HANGS_AFTER_S, wait_until
from workbench.coordinator.group_coordinator.group_coordinator_service import (
    GroupCoordinatorService,
)
from workbench.coordinator.groups.classic.config import ClassicGroupConfig
from workbench.coordinator.groups.classic.group import GROUP_METADATA, ClassicGroup
from workbench.coordinator.groups.classic.member import ClassicGroupMember
from workbench.coordinator.groups.classic.messages import (
    DescribedGroup,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    MemberIdentity,
    Protocol,
    RequestContext,
    SyncGroupRequest,
    SyncGroupResponse,
)
from workbench.coordinator.groups.classic.records import group_of_record
from workbench.coordinator.groups.classic.state import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    ClassicGroupState,
)
from workbench.coordinator.groups.classic.steps import KINDS
from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.decoders.consumer_offsets import TYPES
from workbench.decoders.typed_records import read_value
from workbench.errors import (
    CoordinatorError,
    CorruptRecordError,
    GroupStateError,
    InvalidTransitionError,
    UnsupportedFormatError,
)
from workbench.inspection.listing import list_log_directories
from workbench.log_manager.manager import LogManager
from workbench.runtime.error_codes import ErrorCode

NONE = ErrorCode.NONE
Make = Callable[..., GroupHouse]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[GroupHouse] = []

    def build(**config: Any) -> GroupHouse:
        made.append(GroupHouse(tmp_path, **config))
        return made[-1]

    yield build
    for house in made:
        house.close()


@pytest.fixture
def house(make: Make) -> GroupHouse:
    return make()


def member(
    name: str, *protocols: str, instance: str | None = None, metadata: bytes = b""
) -> ClassicGroupMember:
    offered = tuple(Protocol(each, metadata) for each in protocols)
    return ClassicGroupMember(name, instance, "c", "/h", REBALANCE, SESSION, "consumer", offered)


def group_of(*members: ClassicGroupMember) -> ClassicGroup:
    group = ClassicGroup(GROUP, NOW)
    for each in members:
        group.add(each)
    return group


ALLOWED = {
    (PREPARING_REBALANCE, EMPTY), (STABLE, PREPARING_REBALANCE), (EMPTY, PREPARING_REBALANCE),
    (COMPLETING_REBALANCE, PREPARING_REBALANCE), (PREPARING_REBALANCE, COMPLETING_REBALANCE),
    (COMPLETING_REBALANCE, STABLE), *((state, DEAD) for state in ClassicGroupState),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), list(product(ClassicGroupState, repeat=2)))
def test_changes_of_state(before: ClassicGroupState, after: ClassicGroupState) -> None:
    """GC-1."""
    group = ClassicGroup(GROUP, NOW, before)
    if (before, after) in ALLOWED:
        group.transition_to(after, NOW)
        assert (group.previous_state, group.state) == (before, after)
    else:
        with pytest.raises(InvalidTransitionError, match=f"{after} must not follow {before}"):
            group.transition_to(after, NOW)


def test_the_protocol_with_most_votes_is_chosen_among_those_of_all() -> None:
    """GC-2."""
    assert group_of(member("1", "a", "b"), member("2", "b", "c")).select_protocol() == "b"
    votes = group_of(member("1", "a", "b"), member("2", "b", "a"), member("3", "b", "a"))
    assert votes.select_protocol() == "b"
    with pytest.raises(GroupStateError, match="no protocol to choose"):
        group_of().select_protocol()


def test_a_member_without_a_protocol_of_the_group_is_no_member() -> None:
    group = group_of(member("1", "a"))
    group.transition_to(PREPARING_REBALANCE, NOW)
    with pytest.raises(GroupStateError, match="supports no protocol"):
        group.add(member("2", "b"))
    with pytest.raises(GroupStateError, match="instance id i is taken"):
        group_of(member("1", "a", instance="i"), member("2", "a", instance="i"))


def test_subscribed_topics_of_a_generation() -> None:
    """GC-3: the union; None where one cannot be read; nothing without members."""
    both = group_of(
        member("1", "a", metadata=subscription("t", "u")),
        member("2", "a", metadata=subscription("v")),
    )
    both.transition_to(PREPARING_REBALANCE, NOW)
    both.init_next_generation(NOW)
    assert both.subscribed_topics == frozenset("tuv")
    for bad in (b"", b"\0", b"\xff\xff", b"\0\0\0\0\0\1"):
        group = group_of(member("1", "a", metadata=bad))
        group.transition_to(PREPARING_REBALANCE, NOW)
        group.init_next_generation(NOW)
        assert group.subscribed_topics is None, bad


def test_the_next_generation() -> None:
    """GC-4."""
    group = group_of(member("1", "a"))
    group.transition_to(PREPARING_REBALANCE, NOW)
    group.init_next_generation(NOW)
    assert (group.generation, group.protocol) == (1, "a")
    assert group.state is COMPLETING_REBALANCE
    group.remove("1")
    group.transition_to(PREPARING_REBALANCE, NOW)
    group.init_next_generation(NOW)
    assert (group.generation, group.protocol, group.state) == (2, None, EMPTY)


def test_replacing_a_static_member_fences_what_waits_under_the_old_id() -> None:
    """GC-5: the lead moves, too."""
    group = group_of(member("old", "a", instance="i"))
    joining: Future[JoinGroupResponse] = Future()
    syncing: Future[SyncGroupResponse] = Future()
    group.update(group.members["old"], (), 1, 1, joining)
    group.members["old"].awaiting_sync = syncing
    group.replace_static_member("i", "old", "new")
    assert group.leader == "new"
    assert (list(group.members), group.static_members) == (["new"], {"i": "new"})
    assert joining.result(0).error is ErrorCode.FENCED_INSTANCE_ID
    assert syncing.result(0).error is ErrorCode.FENCED_INSTANCE_ID
    assert group.awaiting_join == 0
    with pytest.raises(ValueError, match="no member nobody"):
        group.replace_static_member("i", "nobody", "newer")


def test_commits_during_a_rebalance(house: GroupHouse) -> None:
    """GC-6, GO-47: 27 for a member, 25 for an unknown one, 22 for another generation."""
    (leader,) = house.joined(None)

    def error(name: str, generation: int) -> str:
        with pytest.raises(CoordinatorError) as refused:
            house.service.commit(GROUP, {"t-0": 5}, member_id=name, generation=generation)
        return refused.value.error

    assert error(leader.member_id, 1) == "REBALANCE_IN_PROGRESS"
    assert error("nobody", 1) == "UNKNOWN_MEMBER_ID"
    assert error(leader.member_id, 2) == "ILLEGAL_GENERATION"
    assert error("", -1) == "UNKNOWN_MEMBER_ID"
    answer = house.service.commit_transactional(
        GROUP, {"t-0": 5}, producer_id=1, producer_epoch=0, member_id=leader.member_id, generation=1
    )
    assert answer["t-0"] is NONE


def test_only_empty_groups_are_deleted(house: GroupHouse) -> None:
    """GC-7, GC-32: the tombstone of the group follows those of its offsets."""
    waiting = house.join()
    assert house.service.delete_groups([GROUP])[GROUP] is ErrorCode.NON_EMPTY_GROUP
    house.clock.advance(3_000)
    name = waiting.result(0).member_id
    assert house.service.delete_groups([GROUP])[GROUP] is ErrorCode.NON_EMPTY_GROUP
    house.sync(name)
    assert house.service.commit(GROUP, {"t-0": 5}, member_id=name, generation=1)["t-0"] is NONE
    assert house.service.delete_groups([GROUP])[GROUP] is ErrorCode.NON_EMPTY_GROUP
    subscribed = house.service.delete_offsets(GROUP, ["t-0"])["t-0"]
    assert subscribed is ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    house.leave(name)
    assert house.service.delete_groups([GROUP, "nobody"]) == {
        GROUP: NONE, "nobody": ErrorCode.GROUP_ID_NOT_FOUND,
    }  # fmt: skip
    offset, group = house.records()[-2:]
    assert (offset[0]["topic"], offset[1]) == ("t", None)
    assert group == ({"group": GROUP}, None)
    assert not list(house.shard.groups.groups)
    house.reopen()
    assert house.service.list_groups() == []


def test_offsets_of_workers_that_rebalance_are_not_deleted(house: GroupHouse) -> None:
    """GC-7."""
    house.join(kind="connect")
    with pytest.raises(CoordinatorError, match="NON_EMPTY_GROUP"):
        house.service.delete_offsets(GROUP, ["t-0"])


def test_a_first_join_writes_an_empty_group_and_gives_an_id(
    house: GroupHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GC-9: if it cannot be written, the client asks another coordinator, and there is no group."""
    assert house.join(version=4).result(0).error is ErrorCode.MEMBER_ID_REQUIRED
    assert house.stored() == [
        {
            "protocolType": "", "generation": 0, "protocol": None, "leader": None,
            "currentStateTimestamp": NOW, "members": [],
        }
    ]  # fmt: skip
    house.fail_appends(monkeypatch)
    answer = house.join(group="other").result(0)
    assert answer.error is ErrorCode.NOT_COORDINATOR
    assert [each.group_id for each in house.shard.groups.groups] == [GROUP]


def test_a_loaded_group_goes_on_where_it_was(house: GroupHouse) -> None:
    """GC-10."""
    answers = house.stable(None, "i")
    before = house.group
    house.reopen()
    after = house.group
    assert (after.state, after.generation) == (STABLE, before.generation)
    assert (after.leader, after.protocol) == (before.leader, before.protocol)
    assert list(after.members) == list(before.members)
    assert after.static_members == before.static_members
    assert after.subscribed_topics == frozenset("t")
    for answer in answers:
        assert house.heartbeat(answer.member_id) is NONE
        got = house.sync(answer.member_id).result(0)
        assert (got.error, got.assignment) == (NONE, answer.member_id.encode())


def test_a_loaded_group_that_is_too_large_rebalances(house: GroupHouse) -> None:
    """GC-11, GC-12: those that join last are sent away."""
    answers = house.stable(None, None, None)
    house.reopen(max_size=2)
    assert house.state() is PREPARING_REBALANCE
    waiting = [house.join(answer.member_id) for answer in answers]
    assert waiting[-1].result(0).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    house.clock.advance(REBALANCE)  # a refused member does not end the join phase
    assert [each.result(0).error for each in waiting[:2]] == [NONE, NONE]
    assert house.group.generation == 2


def test_a_full_group_takes_no_more_members(make: Make) -> None:
    """GC-12: nor static ones; those that it knows may join again."""
    house = make(max_size=2)
    answers = house.stable(None, "i")
    full = ErrorCode.GROUP_MAX_SIZE_REACHED
    assert house.join().result(0).error is full
    assert house.join("", "j").result(0).error is full
    waiting = [house.join(a.member_id, house.group.members[a.member_id].group_instance_id)
               for a in answers]  # fmt: skip
    assert [each.result(0).error for each in waiting] == [NONE, NONE]


def test_joins_that_are_refused(house: GroupHouse) -> None:
    """GC-13."""
    assert house.join(session=5_999).result(0).error is ErrorCode.INVALID_SESSION_TIMEOUT
    assert house.join(session=1_800_001).result(0).error is ErrorCode.INVALID_SESSION_TIMEOUT
    assert house.join(group="").result(0).error is ErrorCode.INVALID_GROUP_ID
    assert house.join("known").result(0).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert house.service.list_groups() == []
    assert house.join(protocols=()).result(0).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert house.join(kind="").result(0).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    house.join()
    assert house.join(kind="connect").result(0).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    other = house.join(protocols=("sticky",)).result(0)
    assert other.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_late_members_extend_the_first_rebalance_up_to_its_timeout(house: GroupHouse) -> None:
    """GC-14."""
    first = house.join(rebalance=7_000)
    house.clock.advance(2_999)
    second = house.join(rebalance=7_000)
    house.clock.advance(1)  # 3 s: a member came, so up to 3 s more
    house.clock.advance(2_999)
    third = house.join(rebalance=7_000)
    house.clock.advance(1)  # 6 s: only 1 s is left of the rebalance timeout
    assert not first.done()
    house.clock.advance(999)
    assert not first.done()
    house.clock.advance(1)
    assert {each.result(0).generation_id for each in (first, second, third)} == {1}
    assert len(house.group.members) == 3


def test_without_delay_the_first_member_is_answered_at_once(make: Make) -> None:
    house = make(delay=0)
    answer = house.join().result(0)
    assert (answer.error, answer.generation_id) == (NONE, 1)
    assert answer.leader == answer.member_id


def test_a_new_member_that_waits_too_long_is_removed(house: GroupHouse) -> None:
    """GC-15: after 5 minutes, while a member hangs."""
    house.stable(None, session=1_800_000, rebalance=1_000_000)
    waiting = house.join()
    house.clock.advance(300_000)
    assert waiting.result(0).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert len(house.group.members) == 1


def test_members_that_join_again_unchanged(house: GroupHouse) -> None:
    """GC-16: a follower is answered at once; the leader begins a rebalance."""
    leader, follower = house.stable(None, None)
    answer = house.join(follower.member_id).result(0)
    assert (answer.error, answer.generation_id, answer.members) == (NONE, 1, ())
    assert house.state() is STABLE
    again = house.join(leader.member_id)
    assert house.state() is PREPARING_REBALANCE
    other = house.join(follower.member_id)
    assert (again.result(0).generation_id, other.result(0).generation_id) == (2, 2)
    assert {each.member_id for each in again.result(0).members} == set(house.group.members)


def test_a_follower_with_other_metadata_begins_a_rebalance(house: GroupHouse) -> None:
    """GC-16."""
    _, follower = house.stable(None, None)
    assert not house.join(follower.member_id, topics=("u",)).done()
    assert house.state() is PREPARING_REBALANCE


def test_members_that_do_not_join_again(house: GroupHouse) -> None:
    """GC-17: dynamic ones are removed, static ones stay; if nobody joins, the phase is extended."""
    _ = house.stable(None, "i", None, session=1_000_000)
    new = house.join(session=1_000_000)
    house.clock.advance(REBALANCE)
    assert new.result(0).generation_id == 2
    assert len(house.group.members) == 2
    assert "i" in house.group.static_members
    house.leave(new.result(0).member_id)
    assert house.state() is PREPARING_REBALANCE
    house.clock.advance(REBALANCE)
    assert house.state() is PREPARING_REBALANCE
    assert list(house.group.static_members) == ["i"]


@pytest.mark.parametrize("missing", ["leader", "follower"])
def test_static_members_that_miss_a_rebalance_stay(house: GroupHouse, missing: str) -> None:
    """GC-18: another member leads."""
    leader, follower = house.stable("i", "j", session=1_000_000)
    late, present = (leader, follower) if missing == "leader" else (follower, leader)
    instance = house.group.members[present.member_id].group_instance_id
    answer = house.join(present.member_id, instance, topics=("u",), session=1_000_000)
    house.clock.advance(REBALANCE)
    assert (answer.result(0).generation_id, answer.result(0).leader) == (2, present.member_id)
    assert late.member_id in house.group.members


def test_a_static_member_that_comes_back_keeps_its_assignment(house: GroupHouse) -> None:
    """GC-19: the group is stored with the new id, and does not rebalance."""
    _, follower = house.stable("i", "j")
    instance = house.group.members[follower.member_id].group_instance_id
    answer = house.join("", instance).result(0)
    assert (answer.error, answer.generation_id) == (NONE, 1)
    assert answer.member_id not in ("", follower.member_id)
    stored = house.stored()[-1]
    assert answer.member_id in [each["memberId"] for each in stored["members"]]
    got = house.sync(answer.member_id, instance).result(0)
    assert (got.error, got.assignment) == (NONE, follower.member_id.encode())
    old = house.heartbeat(follower.member_id, instance=instance)
    assert old is ErrorCode.FENCED_INSTANCE_ID


def test_a_static_member_keeps_its_old_id_if_the_group_cannot_be_stored(
    house: GroupHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GC-19."""
    _, follower = house.stable("i", "j")
    instance = house.group.members[follower.member_id].group_instance_id
    house.fail_appends(monkeypatch)
    answer = house.join("", instance).result(0)
    assert (answer.error, answer.member_id) == (ErrorCode.NOT_COORDINATOR, "")
    assert follower.member_id in house.group.members
    assert house.heartbeat(follower.member_id, instance=instance) is NONE


def test_a_static_member_that_changes_the_protocol_begins_a_rebalance(house: GroupHouse) -> None:
    """GC-19."""
    house.stable("i", protocols=("range", "sticky"))
    waiting = house.join("", "i", protocols=("sticky", "range"))
    assert waiting.result(0).generation_id == 2
    assert house.group.protocol == "sticky"


@pytest.mark.parametrize("version", [8, 9])
def test_a_static_leader_that_comes_back(house: GroupHouse, version: int) -> None:
    """GC-20: a new client need not assign; an old one believes that the old id leads."""
    (leader,) = house.stable("i")
    answer = house.join("", "i", version=version).result(0)
    if version == 9:
        assert (answer.leader, answer.skip_assignment) == (answer.member_id, True)
        assert [each.member_id for each in answer.members] == [answer.member_id]
    else:
        assert (answer.leader, answer.skip_assignment) == (leader.member_id, False)
        assert answer.members == ()
    assert house.group.leader == answer.member_id


def test_member_ids_and_instance_ids_that_do_not_fit(house: GroupHouse) -> None:
    """GC-21."""
    first, second = house.stable("i", "j")
    other = house.group.members[second.member_id].group_instance_id
    fenced, unknown = ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID
    for instance, error in ((other, fenced), ("nobody", unknown)):
        assert house.join(first.member_id, instance).result(0).error is error
        assert house.sync(first.member_id, instance).result(0).error is error
        assert house.heartbeat(first.member_id, instance=instance) is error
        (left,) = house.leave(MemberIdentity(first.member_id, instance))
        assert left.error is error


def test_a_pending_member_that_joins_with_an_instance_id(house: GroupHouse) -> None:
    pending = house.join(version=4).result(0).member_id
    assert house.join(pending, "i").result(0).error is ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("how", ["joins", "leaves", "times out"])
def test_a_pending_member_blocks_the_join_phase(house: GroupHouse, how: str) -> None:
    """GC-22."""
    (leader,) = house.stable(None)
    pending = house.join(version=4).result(0).member_id
    waiting = house.join(leader.member_id)
    assert not waiting.done()
    if how == "joins":
        house.join(pending, version=4)
    elif how == "leaves":
        assert house.leave(pending)[0].error is NONE
    else:
        house.clock.advance(SESSION)
    assert waiting.result(0).generation_id == 2
    assert len(house.group.members) == (2 if how == "joins" else 1)


def test_syncs_that_are_refused(house: GroupHouse) -> None:
    """GC-23."""
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert house.sync("m", generation=1, group="nobody").result(0).error is unknown
    assert house.sync("m", generation=1, group="").result(0).error is ErrorCode.INVALID_GROUP_ID
    (leader,) = house.joined(None)
    name = leader.member_id

    def error(**how: Any) -> ErrorCode:
        return house.sync(how.pop("member", name), **how).result(0).error

    assert error(generation=2) is ErrorCode.ILLEGAL_GENERATION
    assert error(member="nobody") is unknown
    assert error(protocol_type="connect") is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert error(protocol_name="sticky") is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert error(protocol_type="consumer", protocol_name="range") is NONE
    assert error() is NONE
    house.join()
    assert error() is ErrorCode.REBALANCE_IN_PROGRESS
    house.leave(name)
    house.clock.advance(REBALANCE)


def test_a_group_that_cannot_be_stored_rebalances(
    house: GroupHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GC-24, GO-31: a failed disk is another coordinator; the members must join again."""
    leader, follower = house.joined(None, None)
    waits = house.sync(follower.member_id)
    house.fail_appends(monkeypatch)
    leads = house.sync(leader.member_id, assignments={leader.member_id: b"x"})
    assert leads.result(0).error is waits.result(0).error is ErrorCode.NOT_COORDINATOR
    assert house.state() is PREPARING_REBALANCE
    assert {each.assignment for each in house.group.members.values()} == {b""}
    assert [step.kind for step in house.steps].count("append failed") == 1


def test_a_member_that_the_leader_forgot_gets_an_empty_assignment(house: GroupHouse) -> None:
    """GC-25."""
    leader, follower = house.joined(None, None)
    waits = house.sync(follower.member_id)
    house.sync(leader.member_id, assignments={leader.member_id: b"x", "nobody": b"y"})
    assert waits.result(0) == SyncGroupResponse(NONE, "consumer", "range", b"")


def test_members_that_do_not_sync_are_removed(house: GroupHouse) -> None:
    """GC-26: a static one, too; if all have synced, nothing happens."""
    leader, late = house.joined("i", "j", session=1_000_000)
    instance = house.group.members[leader.member_id].group_instance_id
    house.sync(leader.member_id, instance)
    assert house.state() is STABLE
    house.clock.advance(REBALANCE)
    assert house.state() is PREPARING_REBALANCE
    assert list(house.group.members) == [leader.member_id]
    assert late.member_id not in house.group.members


def test_members_that_have_synced_stay(house: GroupHouse) -> None:
    """GC-26."""
    house.stable(None, None, session=1_000_000)
    house.clock.advance(REBALANCE)
    assert house.state() is STABLE


def test_a_leader_that_dies_before_its_sync(house: GroupHouse) -> None:
    """GC-27."""
    leader, follower = house.joined(None, None)
    waits = house.sync(follower.member_id)
    house.clock.advance(SESSION - 1)
    assert not waits.done()
    house.clock.advance(1)
    assert waits.result(0).error is ErrorCode.REBALANCE_IN_PROGRESS
    answer = house.join(follower.member_id).result(0)
    assert (answer.generation_id, answer.leader) == (2, follower.member_id)
    assert leader.member_id not in house.group.members


def test_heartbeats(house: GroupHouse) -> None:
    """GC-28."""
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert house.heartbeat("m") is unknown
    (leader,) = house.joined(None)
    name = leader.member_id
    assert house.heartbeat("nobody") is unknown
    assert house.heartbeat(name) is NONE
    assert house.heartbeat(name, generation=7) is ErrorCode.ILLEGAL_GENERATION
    house.sync(name)
    assert house.heartbeat(name) is NONE
    house.join()
    assert house.heartbeat(name) is ErrorCode.REBALANCE_IN_PROGRESS
    house.group.transition_to(DEAD, NOW)
    assert house.heartbeat(name) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    house.group.state = EMPTY
    house.group.remove(name)
    assert house.heartbeat(name) is unknown


@pytest.mark.parametrize("how", ["heartbeat", "commit", "nothing"])
def test_a_session_ends_without_a_sign_of_life(house: GroupHouse, how: str) -> None:
    """GC-29, GO-54."""
    (leader,) = house.stable(None)
    name = leader.member_id
    house.clock.advance(SESSION // 2)
    if how == "heartbeat":
        assert house.heartbeat(name) is NONE
    elif how == "commit":
        codes = house.service.commit(GROUP, {"t-0": 5}, member_id=name, generation=1)
        assert codes["t-0"] is NONE
    house.clock.advance(SESSION // 2)
    assert (house.state() is EMPTY) == (how == "nothing")
    house.clock.advance(SESSION // 2)
    assert house.state() is EMPTY
    empty = house.stored()[-1]
    assert (empty["generation"], empty["protocolType"], empty["members"]) == (2, "consumer", [])


def test_leaving(house: GroupHouse) -> None:
    """GC-30: one answer per member."""
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert [each.error for each in house.leave("a", "b")] == [unknown, unknown]
    assert house.service.leave_group("", []).error is ErrorCode.INVALID_GROUP_ID
    answers = house.stable("i", None, None)
    named = {house.group.members[a.member_id].group_instance_id: a.member_id for a in answers}
    dynamic = [a.member_id for a in answers if a.member_id != named["i"]]
    left = house.leave(
        MemberIdentity("", "i"), MemberIdentity("", "j"), "nobody", dynamic[0],
        MemberIdentity(dynamic[1], "i"),
    )  # fmt: skip
    assert [each.error for each in left] == [NONE, unknown, unknown, NONE, unknown]
    assert list(house.group.members) == [dynamic[1]]
    assert house.state() is PREPARING_REBALANCE
    house.group.transition_to(DEAD, NOW)
    dead = house.service.leave_group(GROUP, [MemberIdentity(dynamic[1])])
    assert dead.error is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_describing_and_listing(house: GroupHouse) -> None:
    """GC-31: metadata only when stable; a group that does not exist is Dead."""
    (leader,) = house.joined(None)
    (during,) = house.service.describe_groups([GROUP])
    assert (during.state, during.protocol) == ("CompletingRebalance", "")
    assert during.members[0].metadata == b""
    house.sync(leader.member_id, assignments={leader.member_id: b"x"})
    (stable,) = house.service.describe_groups([GROUP])
    assert (stable.state, stable.protocol_type, stable.protocol) == ("Stable", "consumer", "range")
    (only,) = stable.members
    assert (only.metadata, only.assignment) == (subscription("t"), b"x")
    new, old = (house.service.describe_groups(["nobody"], version)[0] for version in (6, 5))
    assert (new.state, new.error) == ("Dead", ErrorCode.GROUP_ID_NOT_FOUND)
    assert (old.state, old.error) == ("Dead", NONE)
    house.service.commit("simple", {"t-0": 5})
    listed = {each.group_id: each.state for each in house.service.list_groups()}
    assert listed == {GROUP: "Stable", "simple": "Empty"}
    assert [each.group_id for each in house.service.list_groups(["EMPTY"])] == ["simple"]


def test_a_group_that_has_expired_is_deleted_only_when_empty(house: GroupHouse) -> None:
    """GC-32."""
    (leader,) = house.stable(None)
    name = leader.member_id
    house.service.commit(GROUP, {"other-0": 5, "t-0": 5}, member_id=name, generation=1)
    week = 7 * 24 * 3_600_000
    house.scheduler.shutdown()  # no session ends
    house.clock.advance(week)
    assert house.service.cleanup_group_metadata() == 1  # no member subscribes to the other topic
    assert house.state() is STABLE
    house.leave(name)
    assert house.service.cleanup_group_metadata() == 0
    house.clock.advance(week)
    assert house.service.cleanup_group_metadata() == 1
    assert house.stored()[-1] is None
    assert not list(house.shard.groups.groups)


@pytest.mark.parametrize("phase", ["join", "sync"])
def test_who_waits_is_answered_when_the_partition_goes(house: GroupHouse, phase: str) -> None:
    """GC-33."""
    waiting: Future[Any] = house.join()
    if phase == "sync":
        house.joined(None)
        members = house.group.members
        waiting = house.sync(next(name for name in members if not house.group.is_leader(name)))
    assert not waiting.done()
    assert house.service.unload(0)
    assert waiting.result(0).error is ErrorCode.NOT_COORDINATOR
    assert house.join().result(0).error is ErrorCode.NOT_COORDINATOR
    beat = house.service.heartbeat(HeartbeatRequest(GROUP, 1, "m"))
    assert beat is ErrorCode.NOT_COORDINATOR
    assert [task.name for task in house.scheduler.pending if "heartbeat" in task.name] == []


def test_a_group_whose_members_contradict_each_other_is_not_served(tmp_path: Path) -> None:
    """As at a broker: the load fails, and nobody is served from the partition."""
    log = CoordinatorLog(tmp_path)
    twice = [writing.member(name, "t", groupInstanceId="i") for name in ("m", "n")]
    log.append(writing.group(GROUP, protocol="range", leader="m", members=twice))
    log.write()
    house = GroupHouse(tmp_path)
    assert house.join().result(0).error is ErrorCode.NOT_COORDINATOR
    (why,) = [step.reason for step in house.steps if step.kind == "load failed"]
    assert why == "__consumer_offsets-0: offset 0: group g: instance id i is taken"
    house.close()


@pytest.mark.parametrize("version", range(5))
def test_mutated_records_are_refused_with_a_reason(version: int) -> None:
    """Flipped and cut bytes: a group, or an error that says what is wrong."""
    members = [writing.member("m", "t"), writing.member("n", "t")]
    _, value = writing.group(GROUP, version, protocol="range", leader="m", members=members)
    assert value is not None
    rng, refused = Random(version), 0
    cut = [value[:at] for at in range(len(value))]
    flipped = [bytearray(value) for _ in range(1_000)]
    for data in flipped:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    for mutated in [*cut, *map(bytes, flipped)]:
        try:
            fields = read_value(TYPES[GROUP_METADATA], mutated, refines=False).fields
            group_of_record(GROUP, fields, 0, NOW)
        except (CorruptRecordError, UnsupportedFormatError, GroupStateError):
            refused += 1
    assert len(cut) <= refused < len(cut) + len(flipped)


def test_threads_share_a_group(tmp_path: Path) -> None:
    """Twelve clients on threads, with the machine's clock: they join, sync, and one dies."""
    config = ClassicGroupConfig(initial_rebalance_delay_ms=500, min_session_timeout_ms=1)
    count = 12

    def client(service: GroupCoordinatorService, number: int) -> str:
        session = 4_000 if number == 0 else 600_000
        offered = (Protocol("range", subscription("t")),)
        context = RequestContext(f"c{number}", "/127.0.0.1", 4)
        name = ""
        while True:
            request = JoinGroupRequest(GROUP, session, 600_000, name, None, "consumer", offered)
            joined = service.join_group(context, request).result(HANGS_AFTER_S)
            name = joined.member_id
            if joined.error is NONE:
                given = tuple((each.member_id, b"x") for each in joined.members)
                request_ = SyncGroupRequest(GROUP, joined.generation_id, name, assignments=given)
                if service.sync_group(request_).result(HANGS_AFTER_S).error is NONE:
                    return name

    def state(service: GroupCoordinatorService) -> DescribedGroup:
        return service.describe_groups([GROUP])[0]

    with (
        LogManager([tmp_path]) as manager,
        GroupCoordinatorService(
            manager, groups=config, config=OffsetConfig(topic_num_partitions=1)
        ) as service,
        ThreadPoolExecutor(count) as threads,
    ):
        state(service)  # creates the partition
        clients = [threads.submit(client, service, number) for number in range(count)]
        wait(clients, HANGS_AFTER_S)
        assert len({each.result(0) for each in clients}) == count
        wait_until(lambda: state(service).state != "Stable")
        assert state(service).state == "PreparingRebalance"  # the first client's session ended
        assert len(state(service).members) == count - 1


def test_an_empty_consumer_group_becomes_a_classic_one(tmp_path: Path) -> None:
    """Its tombstones come first; one with members takes no classic ones here."""
    log = CoordinatorLog(tmp_path)
    for name in (GROUP, "served"):
        log.append(writing.record(3, {"groupId": name}, {"epoch": 4}))
        log.append(writing.record(6, {"groupId": name}, {"assignmentEpoch": 4}))
    key = {"groupId": "served", "memberId": "m"}
    log.append(writing.record(5, key, {"clientId": "c", "clientHost": "/h"}))
    log.write()
    house = GroupHouse(tmp_path)
    answer = house.join(version=4).result(0)
    assert answer.error is ErrorCode.MEMBER_ID_REQUIRED
    removed = [key for key, value in house.records() if value is None]
    assert removed == [{"groupId": GROUP}] * len(removed)
    assert len(removed) >= 2
    assert house.stored()[-1]["protocolType"] == ""
    refused = house.join(group="served").result(0)
    assert refused.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    step = house.steps[-1]
    assert (step.kind, step.numbers["error"]) == ("request refused", "INCONSISTENT_GROUP_PROTOCOL")
    assert "a consumer group with 1 member takes no classic members here" in step.reason
    house.reopen()
    listed = {each.group_id: each.kind for each in house.service.list_groups()}
    assert listed == {GROUP: "classic", "served": "consumer"}
    assert house.service.list_groups(["Empty"])[0].group_id == GROUP
    house.close()


def test_a_reader_sees_the_groups_that_were_stored(make: Make, tmp_path: Path) -> None:
    """Replaying a log that was written gives what was served, but for rebalances under way."""
    house = make()
    house.stable(None, "i")
    house.join(group="other", version=4)
    served = {group.group_id: group for group in house.shard.groups.groups}
    house.manager.get_log(GROUPS_TOPIC, 0).flush()  # type: ignore[union-attr]
    reader = StoredGroups(list_log_directories(tmp_path))
    loaded = {name: found.group for name, found in reader.groups.items()}
    assert loaded.keys() == served.keys() == {GROUP, "other"}
    for name, group in loaded.items():
        assert isinstance(group, ClassicGroup)
        assert (group.state, group.generation) == (served[name].state, served[name].generation)
        assert (group.leader, group.protocol) == (served[name].leader, served[name].protocol)
        assert group.fields()["members"] == served[name].fields()["members"]
        assert group.kind == served[name].kind


def test_a_group_exists_once_a_member_came(house: GroupHouse) -> None:
    assert house.service.group_not_exists(GROUP)
    house.join()
    assert not house.service.group_not_exists(GROUP)


def test_a_simple_group_takes_members(house: GroupHouse) -> None:
    house.service.commit(GROUP, {"t-0": 5})
    house.stable(None)
    assert house.stored()[0]["generation"] == 1  # it exists, so no empty group is written first
    assert house.service.fetch(GROUP, ["t-0"])["t-0"].offset == 5


def test_every_step_is_of_a_known_kind_and_tells_why(house: GroupHouse) -> None:
    house.stable("i", None)
    house.join("", "i")
    house.leave("nobody")
    house.clock.advance(1_000_000)
    told = [step for step in house.steps if step.where == GROUP]
    assert {step.kind for step in told} <= set(KINDS)
    assert {"rebalance prepared", "generation formed", "group stable", "member removed"} <= {
        step.kind for step in told
    }
    assert all(step.reason for step in told)


def test_it_obeys_the_configuration_of_the_broker(tmp_path: Path) -> None:
    config = {
        "group.min.session.timeout.ms": 10,
        "group.max.session.timeout.ms": 20,
        "group.initial.rebalance.delay.ms": 0,
        "group.max.size": 5,
    }
    with LogManager([tmp_path], config) as manager:
        found = GroupCoordinatorService(manager)._groups  # noqa: SLF001
    assert found == ClassicGroupConfig(10, 20, 0, 5)
