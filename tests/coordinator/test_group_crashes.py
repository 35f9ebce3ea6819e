"""Whenever the group coordinator is killed, each group that it acknowledged is there again."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.coordinator.group_house import GroupHouse
from tests.engine.crash_states import CrashState, crash_states
from tests.engine.file_systems import RecordingFileSystem
from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.classic.messages import (
    JoinGroupRequest,
    MemberIdentity,
    Protocol,
    RequestContext,
    SyncGroupRequest,
)
from workbench.coordinator.groups.group_load import GROUPS_TOPIC

OPERATIONS = 120
STATES = 60
GROUPS = ("a", "b", "c")
RANGE = (Protocol("range", b""),)

Contents = dict[str, Any]


class GroupLife:
    """Members that join, sync and leave; marks tell how many records are acknowledged."""

    def __init__(self, house: GroupHouse, fs: RecordingFileSystem, rng: Random) -> None:
        self._house, self._fs, self._rng = house, fs, rng

    def live(self) -> None:
        """Operate; note what is acknowledged, and flush now and then."""
        for _ in range(OPERATIONS):
            self._operate(self._rng.choice(GROUPS))
            log = self._house.manager.get_log(GROUPS_TOPIC, 0)
            assert log is not None
            self._fs.mark(("acknowledged", log.log_end_offset))
            if self._rng.random() < 0.3:
                log.flush()
                self._fs.mark(("flushed", log.log_end_offset))

    def _operate(self, name: str) -> None:
        rng, house = self._rng, self._house
        group = house.shard.groups.groups.get(name)
        what = rng.random()
        if group is None or what < 0.15:
            self._join(name, "")
        elif what < 0.25:
            house.service.delete_groups([name])
        elif what < 0.35 and group.members:
            leaving = MemberIdentity(rng.choice(list(group.members)))
            house.service.leave_group(name, [leaving])
        elif what < 0.5:
            house.clock.advance(rng.choice([3_000, 9_000]))
        else:
            self._go_on(name, group)

    def _go_on(self, name: str, group: ClassicGroup) -> None:
        """Let every member do what its client would: join the rebalance, or sync."""
        for member in list(group.members.values()):
            if group.state == "PreparingRebalance" and member.awaiting_join is None:
                self._join(name, member.member_id)
            elif group.state == "CompletingRebalance":
                given = tuple((each, self._rng.randbytes(3)) for each in group.members)
                request = SyncGroupRequest(
                    name, group.generation, member.member_id, assignments=given
                )
                self._house.service.sync_group(request)

    def _join(self, name: str, member: str) -> None:
        request = JoinGroupRequest(name, 10_000, 60_000, member, None, "consumer", RANGE)
        self._house.service.join_group(RequestContext("c", "/127.0.0.1", 3), request)


def histories(house: GroupHouse) -> list[Contents]:
    """Return the newest record of each group after 0, 1, 2 and more records of the log."""
    found: list[Contents] = [{}]
    for key, value in house.records():
        groups = {name: each for name, each in found[-1].items() if name != key["group"]}
        found.append(groups if value is None else {**groups, key["group"]: value["data"]})
    return found


def loaded(state: CrashState, root: Path) -> Contents:
    """Return the groups that a coordinator serves that starts on what a crash left."""
    root.mkdir()
    state.write_to(root)
    house = GroupHouse(root / "data")
    served = {group.group_id: group for group in house.shard.groups.groups}
    stored = histories(house)[-1]
    for name, group in served.items():
        assert group.generation == stored[name]["generation"]
        assert group.state == ("Stable" if stored[name]["members"] else "Empty")
        assert {each.member_id: each.assignment for each in group.members.values()} == {
            each["memberId"]: _bytes(each["assignment"]) for each in stored[name]["members"]
        }
    assert served.keys() == stored.keys()
    house.close()
    return stored


def _bytes(shown: Any) -> bytes:
    return bytes.fromhex(shown) if isinstance(shown, str) else bytes(shown)


def last(state: CrashState, kind: str) -> int:
    """Return the number of the last operation that is marked so."""
    return max((number for mark, number in state.marks if mark == kind), default=0)


@pytest.mark.parametrize("seed", range(2))
def test_every_state_after_a_crash_has_the_groups_that_were_acknowledged(
    workplace: Path, seed: int
) -> None:
    """A killed process leaves every write; a machine that stops only what was flushed."""
    (workplace / "life").mkdir()
    fs = RecordingFileSystem(workplace / "life")
    house = GroupHouse(workplace / "life" / "data", fs=fs)
    GroupLife(house, fs, Random(seed)).live()
    history = histories(house)
    assert {bool(group["members"]) for groups in history for group in groups.values()} == {
        True, False,
    }  # fmt: skip
    killed = 0
    states = Random(seed).sample(list(crash_states(fs, seed=seed)), STATES)
    for number, state in enumerate(states):
        found = loaded(state, workplace / f"{number}")
        is_killed = state.choice == "all is there" or state.choice.startswith("torn")
        low, high = last(state, "flushed"), last(state, "acknowledged")
        allowed = history[high if is_killed else low : high + 6]
        assert found in allowed, (state.at, state.choice, low, high)
        killed += is_killed
    assert killed > STATES // 4
