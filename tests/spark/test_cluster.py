"""The source away from the driver: on a cluster of processes, and through Spark Connect."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import workbench as wb

pytestmark = [pytest.mark.slow, pytest.mark.spark]

PROJECT = Path(__file__).parents[2]
SHOP = PROJECT / "sample_data" / "shop-4.3.1"


def run(program: str, folder: Path, *arguments: str) -> Any:
    """Return what a program prints, as JSON; a process has one Spark session only."""
    command = [sys.executable, "-m", f"tests.spark.{program}", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="who started a process is read from /proc")
def test_an_executor_that_dies_takes_no_record_away_and_gives_none_twice(tmp_path: Path) -> None:
    """The log directory is named by a path that only the driver's folder makes sense of."""
    for name in ("orders-0", "orders-1"):
        shutil.copytree(SHOP / name, tmp_path / "logs" / name)
    died = tmp_path / "died"
    died.mkdir()
    found = run("dying_cluster", tmp_path, "logs", str(died), str(tmp_path / "out"))
    assert {path.name for path in died.iterdir()} == {"source", "mapped", "rescued"}
    table = wb.open_log_directory(tmp_path / "logs").scan().to_arrow()
    names = ("topic", "partition", "offset")
    columns = (table[name].to_pylist() for name in names)
    expected = sorted(map(list, zip(*columns, strict=True)))
    for name, rows in found.items():
        assert rows == expected, name


def test_a_session_of_spark_connect_learns_the_format_and_runs_jobs(tmp_path: Path) -> None:
    found = run("through_connect", tmp_path, str(SHOP), str(tmp_path / "out"))
    logs = wb.open_log_directory(SHOP)
    counts = [[number, logs.scan(partitions=f"orders-{number}").count()] for number in range(3)]
    total = sum(count for _, count in counts)
    assert found == {
        "records": counts,
        "mapped": counts,
        "segments": logs.inspect.segments().num_rows,
        "profiled": total,
        "rescued": total,
        "kept or dropped": sum(
            logs[f"orders-{number}"].segments[-1].base_offset for number in range(3)
        ),
    }
