"""Whenever the offset manager is killed, all that it acknowledged is there, and nothing appears."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.engine.crash_states import CrashState, crash_states
from tests.engine.file_systems import RecordingFileSystem
from workbench.coordinator.group_coordinator.offset_manager import OffsetManager
from workbench.coordinator.groups.group_load import GROUPS_TOPIC, GroupState
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.errors import CoordinatorError
from workbench.file_system.local import LOCAL, FileSystem
from workbench.log_manager.manager import LogManager
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler

NOW = 1_700_000_000_000
OPERATIONS = 60
STATES = 100
TOPIC = {"cleanup.policy": "compact", "segment.bytes": 3000, "index.interval.bytes": 300}
GROUPS = ("a", "b", "c")

Contents = dict[Any, Any]


class OffsetLife:
    """An offset manager over a directory, with what it holds after each acknowledged operation.

    Attributes:
        history: the contents after each operation that wrote a batch; the first: none.
    """

    def __init__(self, root: Path, fs: FileSystem = LOCAL) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.clock = ManualClock(NOW)
        self.manager = LogManager(
            [root / "data"],
            fs=fs,
            clock=self.clock,
            scheduler=ManualScheduler(self.clock),
            rng=Random(1),
            topic_configs={GROUPS_TOPIC: TOPIC},
            node_id=1,
            cluster_id="workbench",
        )
        self.manager.startup(with_tasks=False)
        config = OffsetConfig(topic_num_partitions=1)
        self.offsets = OffsetManager(self.manager, config=config)
        self.offsets.startup(with_tasks=False)
        self.history: list[Contents] = [{}]

    def contents(self) -> Contents:
        """Return all groups, their offsets, and what is pending."""
        shard = self.offsets.runtime.shard(0)
        if shard is None:
            return {}
        state: GroupState = shard.state
        found: Contents = {("group", name): group.state for name, group in state.groups.items()}
        for name, offsets in state.table.offsets.items():
            found |= {("offset", name, where): value for where, value in offsets.items()}
        for producer, groups in state.table.pending.items():
            for name, offsets in groups.items():
                pending = {(producer, name, where): value for where, value in offsets.items()}
                found |= pending
        return found

    def live(self, fs: RecordingFileSystem, rng: Random) -> None:
        """Commit, begin and end transactions, delete and expire; flush now and then."""
        for number in range(OPERATIONS):
            self.clock.advance(rng.choice([1, 1000, 3_600_000]))
            try:
                self._operate(rng, number)
            except CoordinatorError as error:
                assert error.error == "GROUP_ID_NOT_FOUND"  # noqa: PT017  # the group has gone
            if self.contents() != self.history[-1]:
                self.history.append(self.contents())
            fs.mark(("acknowledged", len(self.history) - 1))
            log = self.manager.get_log(GROUPS_TOPIC, 0)
            if log is not None and rng.random() < 0.3:
                log.flush()
                fs.mark(("flushed", len(self.history) - 1))

    def _operate(self, rng: Random, number: int) -> None:
        group, producer = rng.choice(GROUPS), rng.randrange(2)
        values = {f"t-{partition}": number for partition in rng.sample(range(4), 2)}
        kind = rng.choices(["commit", "transact", "end", "delete", "remove", "expire"],
            [8, 4, 4, 2, 1, 1])[0]  # fmt: skip
        match kind:
            case "commit":
                self.offsets.commit(group, values)
            case "transact":
                self.offsets.commit_transactional(
                    group, values, producer_id=producer, producer_epoch=0
                )
            case "end" if self.offsets.runtime.owned_partitions:
                is_commit = rng.random() < 0.5
                self.offsets.complete_transaction(0, producer, 0, 0, is_commit=is_commit)
            case "delete":
                self.offsets.delete_offsets(group, values)
            case "remove":
                self.offsets.delete_groups([group])
            case _:
                self.offsets.cleanup_group_metadata()


def loaded(state: CrashState, root: Path) -> Contents:
    """Return what an offset manager holds that starts on what a crash left."""
    state.write_to(root)
    life = OffsetLife(root)
    found = life.contents()
    life.offsets.shutdown()
    life.manager.shutdown()
    return found


def last(state: CrashState, kind: str) -> int:
    """Return the number of the last operation that is marked so."""
    return max((number for mark, number in state.marks if mark == kind), default=0)


@pytest.mark.parametrize("seed", range(2))
def test_every_state_after_a_crash_has_what_was_acknowledged(workplace: Path, seed: int) -> None:
    """A killed process leaves every write; a machine that stops only what was flushed.

    What is loaded is always what was there after one of the operations: each is one batch.
    """
    fs = RecordingFileSystem(workplace / "life")
    life = OffsetLife(workplace / "life", fs)
    life.live(fs, Random(seed))
    killed = 0
    states = Random(seed).sample(list(crash_states(fs, seed=seed)), STATES)
    for number, state in enumerate(states):
        found = loaded(state, workplace / f"{number}")
        is_killed = state.choice == "all is there" or state.choice.startswith("torn")
        low, high = last(state, "flushed"), last(state, "acknowledged")
        allowed = life.history[high if is_killed else low : high + 2]
        assert found in allowed, (state.at, state.choice, low, high)
        killed += is_killed
    assert killed > STATES // 4
