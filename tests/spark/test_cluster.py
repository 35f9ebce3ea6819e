"""The source on a cluster: executors are processes of their own, in folders of their own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PROJECT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="who started a process is read from /proc")
def test_an_executor_that_dies_takes_no_record_away_and_gives_none_twice(tmp_path: Path) -> None:
    """The log directory is named by a path that only the driver's folder makes sense of."""
    for name in ("orders-0", "orders-1"):
        shutil.copytree(PROJECT / "sample_data" / "shop-4.3.1" / name, tmp_path / "logs" / name)
    died = tmp_path / "died"
    program = [sys.executable, "-m", "tests.spark.dying_cluster", "logs", str(died)]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(
        program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(died.read_text()) > 0
    table = wb.open_log_directory(tmp_path / "logs").scan().to_arrow()
    names = ("topic", "partition", "offset")
    expected = zip(*(table[name].to_pylist() for name in names), strict=True)
    assert json.loads(done.stdout) == sorted(map(list, expected))
