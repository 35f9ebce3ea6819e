"""What is in a log directory as tables of Spark: the rows of `logs.inspect` and `logs.verify`."""

import pickle
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.golden.cases import Case
from workbench.spark_source.options import parse_options
from workbench.spark_source.tables import FindingsReader, FindingsTask

pytestmark = pytest.mark.spark
Golden = Callable[[str], Case]


def sorted_rows(table: Any, *columns: str) -> list[Any]:
    """Return rows of an Arrow table, sorted."""
    found = table.select(columns).to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


@pytest.fixture
def directory(golden: Golden, tmp_path: Path) -> Path:
    """A log directory of transactions, some bytes of a batch changed and a stray file beside."""
    copy = tmp_path / "data"
    shutil.copytree(golden("4.2.0-txn").path / "data", copy)
    log = max(copy.glob("*/*.log"), key=lambda path: path.stat().st_size)
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0xFF
    log.write_bytes(data)
    (copy / "orders").mkdir()
    return copy


@pytest.mark.parametrize("table", ["batches", "segments"])
def test_a_table_has_the_rows_that_inspect_gives(spark: Any, directory: Path, table: str) -> None:
    expected = getattr(wb.open_log_directory(directory).inspect, table)()
    reader = spark.read.format(f"kafka-log-{table}").option("maxPartitionBytes", "8m")
    found = reader.load(str(directory)).toArrow()
    assert found.column_names == expected.column_names
    names = [name for name in expected.column_names if "time" not in name and name != "modified"]
    assert sorted_rows(found, *names) == sorted_rows(expected, *names)


def test_entries_of_both_indexes_are_in_one_table(spark: Any, directory: Path) -> None:
    inspect = wb.open_log_directory(directory).inspect
    found = spark.read.format("kafka-log-indexes").load(str(directory))
    where = ["topic", "partition", "segment", "entry", "offset"]
    for name, expected in (("offset", inspect.offset_index()), ("time", inspect.time_index())):
        rows = found.where(found["index"] == name).toArrow()
        assert sorted_rows(rows, *where) == sorted_rows(expected, *where)


def test_findings_are_those_of_verify(spark: Any, directory: Path) -> None:
    logs = wb.open_log_directory(directory)
    expected = [finding.as_dict() for finding in logs.verify()]
    assert len({row["path"] for row in expected}) > 1  # in a partition, and beside partitions
    reader = spark.read.format("kafka-log-findings").option("maxPartitionBytes", "8m")
    found = reader.load(str(directory)).toArrow().to_pylist()
    assert sorted(found, key=repr) == sorted(expected, key=repr)

    topic = next(iter(logs.values())).topic
    chosen = reader.option("subscribe", topic).option("deep", "false").load(str(directory))
    shallow = [finding.as_dict() for finding in logs.verify(topics={topic}, deep=False)]
    assert sorted(chosen.toArrow().to_pylist(), key=repr) == sorted(shallow, key=repr)


def test_findings_are_those_of_verify_for_older_versions(spark: Any, golden: Golden) -> None:
    data = golden("2.4.1-txn").path / "data"
    expected = [finding.as_dict() for finding in wb.open_log_directory(data).verify()]
    found = spark.read.format("kafka-log-findings").load(str(data)).toArrow().to_pylist()
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_a_task_of_findings_lists_its_own_partitions_alone(directory: Path) -> None:
    """With 100,000 partitions, tasks that list all of them never end."""
    log = max(directory.glob("*/*.log"), key=lambda path: path.stat().st_size)
    for number in range(1, 100):
        shutil.copytree(log.parent, directory / f"copied-{number}")
    reader = FindingsReader(parse_options({"path": str(directory)}), deep=True)
    tasks = [each for each in reader.partitions() if isinstance(each, FindingsTask)]
    *checking, _outside = pickle.loads(pickle.dumps(tasks))  # noqa: S301 - as Spark does
    assert len(checking) > 3
    listed: list[str] = []
    sys.addaudithook(lambda event, _: listed.append(event) if event == "os.scandir" else None)
    for task in checking:
        listed.clear()
        assert list(reader.read(task))
        assert 0 < len(listed) <= 2 * len(task.partitions)
