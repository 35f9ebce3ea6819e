"""A process that is killed while it cleans: of each key the newest value is there, and no older."""

from pathlib import Path

import pytest

from tests.engine.cleaning_kills import kill_cleaners

KILLS = 12


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_cleans_loses_no_newest_value(memory_path: Path) -> None:
    interrupted, cleaned = kill_cleaners(memory_path, KILLS, seed=7)
    assert interrupted > 1
    assert cleaned > 1
