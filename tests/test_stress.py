"""Everything that works on several threads, at once, gives one thread's results, and no crash."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.campaign.worker_process import CHECKED_MEMORY
from tests.stress import make_logs

ROOT: Final = Path(__file__).parents[1]
BATCHES: Final = 24  # of each log

# What one thread frees, another gets: of all threads' memory there is one arena.
ONE_ARENA: Final = {"MALLOC_ARENA_MAX": "1", "MALLOC_PERTURB_": "165"}
CHECKED_KERNELS: Final = {"KAFKA_WORKBENCH_KERNELS": "checked"}


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("environment", "rounds"),
    [
        pytest.param(ONE_ARENA, 2, id="one-arena"),
        pytest.param(ONE_ARENA, 6, id="one-arena-longer", marks=pytest.mark.long),
        pytest.param(CHECKED_MEMORY, 1, id="checked-memory", marks=pytest.mark.long),
        pytest.param(CHECKED_KERNELS, 1, id="checked-kernels", marks=pytest.mark.long),
    ],
)
def test_all_parallel_paths_at_once_give_the_results_of_one_thread(
    environment: dict[str, str], rounds: int, tmp_path: Path
) -> None:
    make_logs(tmp_path / "logs", BATCHES)
    done = subprocess.run(
        [sys.executable, "-m", "tests.stress", str(tmp_path / "logs"), str(rounds)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
