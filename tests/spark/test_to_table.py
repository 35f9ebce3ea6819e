"""`to_table` in tasks of Spark: the table and the counts of one process, each record once."""

import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import deltalake
import pytest
from pyarrow.fs import PyFileSystem

from tests.naive import Record, batch, marker
from tests.pipelines.planted import (
    AGAIN,
    COLUMNS,
    Disk,
    KillingFiles,
    Place,
    dies_at_each_change,
    orders,
    rows_of,
)
from workbench.errors import LogDirectoryError, OutputError, SchemaError
from workbench.pipelines import to_table
from workbench.pipelines.lake.delta_table import DeltaTable
from workbench.pipelines.lake.iceberg_table import IcebergTable
from workbench.pipelines.lake.loading import Loading
from workbench.pipelines.lake.parquet_table import ParquetTable

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


@pytest.fixture(params=["parquet", "delta", "iceberg"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Place, Place]:
    """Two tables of one format."""
    return Place(request.param, tmp_path / "one"), Place(request.param, tmp_path / "many")


def test_tasks_load_what_one_process_loads(
    spark: Any, disk: Disk, places: tuple[Place, Place]
) -> None:
    one, many = places
    options = {**OPTIONS, "partition_by": "partition", "target_file_size": 1 << 20}
    for change in range(3):
        rows = to_table(disk.path, **one.arguments, **options)
        found = to_table(disk.path, spark=spark, **many.arguments, **options)
        assert found.drop_columns("table").to_pylist() == rows.drop_columns("table").to_pylist()
        assert many.everything() == one.everything()
        if change == 0:
            assert rows["aborted"].to_pylist() == [5, 0, 0]
            disk.append("people-0", orders(9, 12, paid=2.5, late={"deep": 1.5, "deeper": "a"}))
        else:
            shutil.rmtree(disk.path / "people-0")
            disk.append("people-0", orders(0, 4), topic_id=AGAIN)
    assert len(many.everything()) == 20 + 13 + 12 + 4
    # Then one process goes on with what tasks began, and the other way round.
    disk.append("orders-1", orders(13, 16, added="a"))
    to_table(disk.path, spark=spark, **one.arguments, **OPTIONS)
    to_table(disk.path, **many.arguments, **OPTIONS)
    assert many.everything() == one.everything()
    assert len(many.everything()) == 20 + 16 + 12 + 4


@pytest.mark.parametrize(
    "places",
    ["delta", *(pytest.param(name, marks=pytest.mark.long) for name in ("parquet", "iceberg"))],
    indirect=True,
)
def test_tasks_upsert_what_one_process_upserts(
    spark: Any, disk: Disk, places: tuple[Place, Place]
) -> None:
    """Keys in several segments, days and logs of a task; tombstones; values that are refused."""
    one, many = places
    upsert = {**OPTIONS, "mode": "upsert"}

    def both() -> int:
        rows = to_table(disk.path, **one.arguments, **upsert).drop_columns("table")
        found = to_table(disk.path, spark=spark, **many.arguments, **upsert)
        assert found.drop_columns("table").to_pylist() == rows.to_pylist()
        assert many.everything() == one.everything()
        return len(many.everything())

    assert both() == 7 + 7 + 7
    second = disk.path / "people-0" / f"{9:020d}.log"
    second.write_bytes(batch([Record(9, 1, b"k0", b'{"late":2}'), Record(10, 1, b"k1", None)]))
    disk.append_bytes("orders-1", batch([Record(13, 1, b"new", b"bad"), Record(14, 1, b"k2", b"")]))
    assert both() == 7 + 7 + 6
    one.table_name = many.table_name = "t_refused"
    assert many.everything() == one.everything()
    assert len(many.everything()) == 2
    assert not list(many.folder.rglob("*upsert-*"))
    with second.open("ab") as file:
        file.write(batch([Record(11, 1, b"\xff\xfe", b'{"late":2}')]))
    with pytest.raises(SchemaError, match="offset 11 cannot be decoded"):
        to_table(disk.path, spark=spark, **many.arguments, **upsert)
    assert not list(many.folder.rglob("*upsert-*"))


def test_a_task_that_is_killed_while_it_writes_gives_each_record_once(
    spark: Any, disk: Disk, places: tuple[Place, Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, many = places
    killed = many.folder / "killed"
    kind = {"parquet": ParquetTable, "delta": DeltaTable, "iceberg": IcebergTable}[many.form]
    real: Any = vars(kind)["staging"]

    def killing(self: Any, schema: Any) -> Any:
        return replace(real(self, schema), files=PyFileSystem(KillingFiles(str(killed))))

    many.folder.mkdir(exist_ok=True)
    with monkeypatch.context() as context:
        context.setattr(kind, "staging", killing)
        to_table(disk.path, spark=spark, **many.arguments, **OPTIONS)
    assert killed.exists()
    to_table(disk.path, **one.arguments, **OPTIONS)
    assert many.everything() == one.everything()
    if many.form == "parquet":
        assert not list(many.folder.joinpath("t", "_unfinished").iterdir())


@pytest.mark.parametrize(
    ("form", "mode", "is_first"),
    [
        pytest.param(*each, marks=[] if each == ("delta", "append", True) else [pytest.mark.long])
        for each in product(("parquet", "delta", "iceberg"), ("append", "upsert"), (True, False))
    ],
)
def test_of_two_runs_the_one_whose_tasks_are_late_is_refused(
    spark: Any,
    disk: Disk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    mode: Any,
    *,
    is_first: bool,
) -> None:
    lake = Place(form, tmp_path / "lake")
    options = {**lake.arguments, **OPTIONS, "mode": mode}
    if not is_first:
        to_table(disk.path, **options)
        disk.append("people-0", orders(9, 14, late=1.5))
    written = Loading._written  # noqa: SLF001 - between the tasks and the commit

    def slow(*given: Any) -> Any:
        found = written(*given)
        to_table(disk.path, **options)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Loading, "_written", slow)
        with pytest.raises(OutputError, match=r"another process has written to .* meanwhile"):
            to_table(disk.path, spark=spark, **options)
    to_table(disk.path, tmp_path / "one", **OPTIONS, mode=mode)
    assert lake.rows() == rows_of(tmp_path / "one", ", ".join(f'"{name}"' for name in COLUMNS))
    done = to_table(disk.path, spark=spark, **options)
    assert sum(done["records"].to_pylist()) == 0


def test_a_driver_that_dies_at_any_file_of_iceberg_leaves_an_exact_table(
    spark: Any, disk: Disk, tmp_path: Path
) -> None:
    def load(arguments: dict[str, Any]) -> None:
        to_table(disk.path, spark=spark, topics="people", **arguments, **OPTIONS)

    dies_at_each_change(load, tmp_path)


class KilledError(Exception):
    """The driver is dead. It is no `OSError`, which would be reported as one of the disk."""


def test_a_driver_that_dies_before_a_commit_to_delta_leaves_an_exact_table(
    spark: Any, disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place("delta", tmp_path / "lake")

    def die_at(module: Any, name: str) -> None:
        def die(*_: Any, **__: Any) -> None:
            raise KilledError

        with monkeypatch.context() as context:
            context.setattr(module, name, die)
            with pytest.raises(KilledError):
                to_table(disk.path, spark=spark, **place.arguments, **OPTIONS)

    die_at(deltalake.transaction, "create_table_with_add_actions")
    assert list(place.folder.rglob("*.parquet"))
    to_table(disk.path, spark=spark, **place.arguments, **OPTIONS)
    assert len(place.rows()) == 20 + 13 + 9
    disk.append("people-0", orders(9, 12, new=2.5))
    die_at(deltalake, "write_deltalake")  # that adds the column
    die_at(deltalake.DeltaTable, "create_write_transaction")
    assert "new" in place.table().column_names
    assert len(place.rows()) == 20 + 13 + 9
    version = deltalake.DeltaTable(place.arguments["to"]).version()
    to_table(disk.path, spark=spark, **place.arguments, **OPTIONS)
    assert deltalake.DeltaTable(place.arguments["to"]).version() == version + 1
    to_table(disk.path, tmp_path / "one", **OPTIONS)
    assert place.rows() == rows_of(tmp_path / "one", ", ".join(f'"{name}"' for name in COLUMNS))


def test_errors_of_tasks_are_those_of_one_process(spark: Any, disk: Disk, tmp_path: Path) -> None:
    to_table(disk.path, tmp_path / "t", spark=spark, **OPTIONS)
    to_table(disk.path, tmp_path / "one", **OPTIONS)
    disk.append("orders-1", orders(13, 14, number="many"))
    found = to_table(disk.path, tmp_path / "t", spark=spark, **OPTIONS)
    wanted = to_table(disk.path, tmp_path / "one", **OPTIONS)
    for name in ("topic", "partition", "records"):
        assert found[name].to_pylist() == wanted[name].to_pylist()
    before = rows_of(tmp_path / "t")
    assert before == rows_of(tmp_path / "one")
    (rescued,) = {row for row in rows_of(tmp_path / "t", "_rescued") if row != (None,)}
    assert rescued == ('{"value.number": "many"}',)
    shutil.rmtree(disk.path / "people-0")
    disk.append("people-0", orders(0, 4))
    with pytest.raises(LogDirectoryError, match="people-0 ends at offset 4, and the table has it"):
        to_table(disk.path, tmp_path / "t", spark=spark, **OPTIONS)
    assert rows_of(tmp_path / "t") == before
