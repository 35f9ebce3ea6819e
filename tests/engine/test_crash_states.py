"""Every state that a crash may leave of a log can be loaded, and what was flushed is there."""

import shutil
from pathlib import Path
from random import Random

import pytest

from tests.engine.crash_checks import check_all, is_refused_by_kafka, sample
from tests.engine.crash_states import crash_states
from tests.engine.life import Life
from tests.engine.lives import SCRIPTS, Script, by_chance, producers_truncated, rolls, truncations
from tests.engine.manager_checks import check_manager
from tests.engine.manager_life import ManagerLife, live
from workbench.errors import CorruptRecordError

STATES_OF_A_SCRIPT = 60
STATES_OF_A_LIFE = 25
CRASHES = 6
STATES_OF_A_CRASH = 8
STATES_OF_A_MANAGER = 150


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_every_state_after_a_crash_loads_with_all_that_was_flushed(
    memory_path: Path, script: Script
) -> None:
    life = Life(memory_path / "log")
    script(life)
    check_all(life, sample(life, STATES_OF_A_SCRIPT, seed=1), memory_path)


@pytest.mark.parametrize("seed", range(10))
def test_lives_by_chance_lose_nothing_that_was_flushed(memory_path: Path, seed: int) -> None:
    life = Life(memory_path / "log")
    by_chance(life, Random(seed), 40)
    check_all(life, sample(life, STATES_OF_A_LIFE, seed), memory_path)


@pytest.mark.parametrize("script", [rolls, truncations, producers_truncated])
def test_a_crash_after_the_recovery_from_a_crash_loses_nothing_that_was_flushed(
    memory_path: Path, script: Script
) -> None:
    first = Life(memory_path / "first")
    script(first)
    for number, state in enumerate(sample(first, CRASHES, seed=3)):
        root = memory_path / f"then-{number}"
        state.write_to(root)
        try:
            life = Life(root)
        except CorruptRecordError as error:
            if not is_refused_by_kafka(error, state):
                raise
            continue
        life.written = {offset: set(batches) for offset, batches in first.written.items()}
        by_chance(life, Random(number), 8)
        life.flush()
        check_all(life, sample(life, STATES_OF_A_CRASH, seed=number), memory_path)


def test_a_log_manager_starts_on_every_state_after_a_crash(memory_path: Path) -> None:
    life = ManagerLife(memory_path / "logs")
    live(life)
    states = Random(7).sample(list(crash_states(life.fs, seed=7)), STATES_OF_A_MANAGER)
    refused = 0
    for number, state in enumerate(states):
        root = memory_path / f"{number}"
        try:
            refused += not check_manager(state, life, root)
        except BaseException as error:
            operation = life.fs.operations[state.at - 1]
            error.add_note(f"state {number}: {state.at}, {state.choice}, after {operation[:3]}")
            raise
        shutil.rmtree(root)
    assert refused <= len(states) // 10
