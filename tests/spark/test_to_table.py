"""`to_table` in tasks of Spark: the table and the counts of one process, each record once."""

import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyarrow.fs import PyFileSystem

from tests.naive import batch, marker
from tests.pipelines.planted import AGAIN, Disk, KillingFiles, orders, rows_of
from workbench.errors import LogDirectoryError, SchemaError
from workbench.pipelines import to_table

pytestmark = pytest.mark.spark
OPTIONS: dict[str, Any] = {"decode": {"key": "utf8", "value": "json"}, "tell": print}


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    """Logs in days, one of two segments with an aborted transaction across them."""
    made = Disk(tmp_path / "broker")
    made.append("orders-0", orders(0, 20))
    made.append("orders-1", orders(0, 13, late={"deep": 1.5}))
    made.append("people-0", orders(0, 9))
    aborted = {"attributes": 0x10, "producer_id": 7, "producer_epoch": 0}
    made.append_bytes("orders-0", batch(orders(20, 23), **aborted))
    second = made.path / "orders-0" / f"{23:020d}.log"
    second.write_bytes(batch(orders(23, 25), **aborted) + marker(25, 7, commit=False))
    return made


def everything(table: Path) -> list[dict[str, Any]]:
    """Return the rows of a table, with all columns."""
    found = ds.dataset(str(table), partitioning="hive", exclude_invalid_files=True).to_table()
    order = [(name, "ascending") for name in ("topic", "partition", "offset")]
    return found.select(sorted(found.column_names)).sort_by(order).to_pylist()  # type: ignore[no-any-return]


def test_tasks_load_what_one_process_loads(spark: Any, disk: Disk, tmp_path: Path) -> None:
    one, many = tmp_path / "one", tmp_path / "many"
    for change in range(3):
        rows = to_table(disk.path, one, **OPTIONS)
        found = to_table(disk.path, many, spark=spark, **OPTIONS)
        assert found.drop_columns("table").to_pylist() == rows.drop_columns("table").to_pylist()
        assert everything(many) == everything(one)
        if change == 0:
            assert rows["aborted"].to_pylist() == [5, 0, 0]
            disk.append("people-0", orders(9, 12, paid=2.5))
        else:
            shutil.rmtree(disk.path / "people-0")
            disk.append("people-0", orders(0, 4), topic_id=AGAIN)
    assert len(rows_of(many)) == 20 + 13 + 12 + 4


def test_a_task_that_is_killed_while_it_writes_gives_each_record_once(
    spark: Any, disk: Disk, tmp_path: Path
) -> None:
    killed = tmp_path / "killed"
    files = PyFileSystem(KillingFiles(str(killed)))
    table = tmp_path / "t"
    to_table(disk.path, str(table), spark=spark, filesystem=files, **OPTIONS)
    assert os.path.exists(killed)
    to_table(disk.path, tmp_path / "one", **OPTIONS)
    assert everything(table) == everything(tmp_path / "one")
    assert not list(table.joinpath("_unfinished").iterdir())


def test_errors_of_tasks_are_those_of_one_process(spark: Any, disk: Disk, tmp_path: Path) -> None:
    to_table(disk.path, tmp_path / "t", spark=spark, **OPTIONS)
    before = rows_of(tmp_path / "t")
    disk.append("orders-1", orders(13, 14, number="many"))
    with pytest.raises(SchemaError, match=r"number is string in these records and int64 in"):
        to_table(disk.path, tmp_path / "t", spark=spark, **OPTIONS)
    shutil.rmtree(disk.path / "people-0")
    disk.append("people-0", orders(0, 4))
    with pytest.raises(LogDirectoryError, match="people-0 ends at offset 4, and the table has it"):
        to_table(disk.path, tmp_path / "t", spark=spark, **OPTIONS)
    assert rows_of(tmp_path / "t") == before
    with pytest.raises(ValueError, match="spark loads with mode append"):
        to_table(disk.path, tmp_path / "t", spark=spark, mode="upsert")
