"""The source away from the driver: on a standalone cluster, and through Spark Connect.

The cluster's workers have only what docs/spark-cluster.md says, by the commands of that page.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import workbench as wb
from tests.spark.cluster import driver_environment, standalone_cluster
from tests.spark.jobs import answers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # several programs of Spark, one after the other
    pytest.mark.spark,
    pytest.mark.skipif(sys.platform != "linux", reason="loopback has one address elsewhere"),
]

PROJECT = Path(__file__).parents[2]
SHOP = PROJECT / "sample_data" / "shop-4.3.1"
PAGE = (PROJECT / "docs" / "spark-cluster.md").read_text()
MASTER = "spark://master:7077"


def command_of_page(name: str) -> list[str]:
    """Return the words of the command that begins so."""
    (text,) = re.findall(rf"^```sh\n({name}.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return shlex.split(text)


class Cluster(NamedTuple):
    """A cluster, and the folder where commands run: the archive that executors get is there."""

    url: str
    folder: Path

    def run(self, name: str, replaced: dict[str, str], *more: str) -> str:
        """Run a command of the page, with other words for some of its words; return its output."""
        words = [
            word for each in command_of_page(name) for word in replaced.get(each, each).split()
        ]
        assert {MASTER, *replaced} <= {*command_of_page(name), MASTER}
        return self.printed([*(self.url if word == MASTER else word for word in words), *more])

    def printed(self, words: list[str], code: int = 0) -> str:
        """Return what a command prints, which must end with a code."""
        done = subprocess.run(
            words, cwd=self.folder, env={**driver_environment(), "PYTHONPATH": str(PROJECT)},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("driver")
    cluster_folder = tmp_path_factory.mktemp("cluster")
    with standalone_cluster(cluster_folder) as url:
        made = Cluster(url, folder)
        made.run("kafka-workbench spark pack", {})
        yield made
        shutil.rmtree(cluster_folder)  # each application's unpacked archive


def test_a_job_runs_on_workers_that_have_what_the_page_says(cluster: Cluster) -> None:
    printed = cluster.run(
        "kafka-workbench spark topic-profile",
        {"/shared/broker-1": str(SHOP)},
        "-t",
        "orders",
        "--json",
    )
    assert sum(row["records"] for row in json.loads(printed)) == 5200


WAITS = (
    "--conf", "spark.cores.max=2",
    "--conf", "spark.scheduler.maxRegisteredResourcesWaitingTime=300s",
)  # fmt: skip
"""Settings with which tasks wait until both workers have an executor."""


def statuses(printed: str) -> dict[str, dict[str, str]]:
    """Return executor → check → status of what `doctor --json` prints."""
    found: dict[str, dict[str, str]] = {}
    for each in json.loads(printed):
        found.setdefault(each["executor"], {})[each["name"]] = each["status"]
    return found


@pytest.mark.long
def test_doctor_says_what_executors_have_and_lack(cluster: Cluster) -> None:
    jar = wb.spark.reader_jar()
    assert jar is not None, "make jar"
    printed = cluster.run(
        "kafka-workbench doctor --spark",
        {"/shared/broker-1": str(SHOP)},
        *WAITS,
        "--conf",
        f"spark.jars={jar}",
        "--json",
    )
    sound = ["Python", "workbench", "numpy", "pyarrow", "compiled code", "reader in Java"]
    found = statuses(printed)
    assert len(found) == 2
    assert list(found.values()) == [dict.fromkeys([*sound, "directory"], "ok")] * 2

    bare = ["kafka-workbench", "doctor", "--spark", cluster.url, *WAITS, "--json"]
    printed = cluster.printed(bare, code=2)
    found = statuses(printed)
    assert len(found) == 2
    for checks in found.values():
        assert checks.pop("Python") == "ok"
        assert checks.pop("reader in Java") == "absent"
        assert checks == dict.fromkeys(["workbench", "numpy", "pyarrow"], "error")
    for each in json.loads(printed):
        if each["name"] == "workbench":
            assert each["found"] == "No module named 'workbench'"
            assert each["advice"].startswith("kafka-workbench spark pack executors.tar.gz, then")


@pytest.mark.long
def test_what_dies_hangs_or_is_lost_takes_no_record_away_and_gives_none_twice(
    cluster: Cluster, spark: Any, tmp_path: Path
) -> None:
    """The log directory is named by a path that only the driver's folder makes sense of."""
    home = cluster.folder / "home"
    home.mkdir()
    logs, other = cluster.folder / "logs", cluster.folder / "other"
    for name in ("orders-0", "orders-1"):
        shutil.copytree(SHOP / name, logs / name)
    shutil.copytree(logs / "orders-1", other / "orders-1")
    expected = answers(spark, str(logs), str(other), str(tmp_path / "out"))
    program = str(PROJECT / "tests" / "spark" / "on_a_cluster.py")
    replaced = {"job.py": program, "/shared/broker-1": f"logs {other} {home}"}
    before = wb.open_log_directory(logs).scan().to_arrow()
    cluster.run("spark-submit", replaced)
    found = json.loads((home / "found").read_text())
    assert {path.name for path in (home / "died").iterdir()} == {"copied", "source", "rescued"}
    assert (home / "died" / "copied").read_text() == "1"  # the copy was done first
    assert found.pop("master") == cluster.url
    assert found.pop("jobs") == expected
    assert found.pop("streamed on") == records(wb.open_log_directory(logs).scan().to_arrow())
    for name, rows in found.items():
        assert rows == records(before), name


def records(table: Any) -> list[list[Any]]:
    """Return topic, partition and offset of each record, sorted."""
    columns = (table[name].to_pylist() for name in ("topic", "partition", "offset"))
    return sorted(map(list, zip(*columns, strict=True)))


def test_a_session_of_spark_connect_learns_the_format_and_runs_jobs(
    cluster: Cluster, tmp_path: Path
) -> None:
    program = [sys.executable, "-m", "tests.spark.through_connect"]
    found = json.loads(cluster.printed([*program, str(SHOP), str(tmp_path / "out")]))
    logs = wb.open_log_directory(SHOP)
    counts = [[number, logs.scan(partitions=f"orders-{number}").count()] for number in range(3)]
    total = sum(count for _, count in counts)
    assert found == {
        "records": counts,
        "mapped": counts,
        "segments": logs.inspect.segments().num_rows,
        "executors have": [["workbench", "numpy", "pyarrow", len(logs)]],
        "profiled": total,
        "rescued": total,
        "kept or dropped": sum(
            logs[f"orders-{number}"].segments[-1].base_offset for number in range(3)
        ),
    }
