"""A process that is killed at any moment loses nothing that it had acknowledged."""

from pathlib import Path

import pytest

from tests.engine.kills import kill_often

KILLS = 20


@pytest.mark.slow
def test_a_killed_process_loses_nothing_that_it_acknowledged(memory_path: Path) -> None:
    steps = kill_often(memory_path, KILLS, seed=11)
    assert len(steps) > 50 * KILLS
    assert {"truncate", "truncate fully", "retain", "delete records", "roll"} <= set(steps)
    assert {"shut down", "end transaction"} <= set(steps)
