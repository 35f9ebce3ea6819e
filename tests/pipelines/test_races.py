"""Two runs into one table at a time: one is refused, from the first commit on, in each mode."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Thread
from typing import Any, Literal

import pyarrow as pa
import pytest

from tests.naive import Record
from tests.pipelines.planted import Disk, Place, orders
from workbench.errors import OutputError
from workbench.pipelines import to_table
from workbench.pipelines.lake import data_files
from workbench.pipelines.lake.delta_table import DeltaTable
from workbench.pipelines.lake.row_reader import Counts, RowReader
from workbench.pipelines.lake.source import NewOffsets
from workbench.pipelines.lake.table import LoadedUpTo

Mode = Literal["append", "upsert"]
FORMATS = ("parquet", "delta", "iceberg")


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    made = Disk(tmp_path / "broker")
    made.append("orders-0", orders(0, 20))
    return made


class Meanwhile:
    """Lets another run load the same records while the first one reads them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, other: Any, staged: Path) -> None:
        self._other = other
        self._staged = staged
        self._batches = RowReader.batches
        self._is_done = False
        monkeypatch.setattr(RowReader, "batches", lambda *given: self.batches(*given))  # noqa: PLW0108 - it binds

    def batches(
        self, reader: RowReader, part: list[NewOffsets], counts: Counts
    ) -> Iterator[pa.RecordBatch]:
        if self._is_done:
            yield from self._batches(reader, part, counts)
            return
        self._is_done = True
        for batch in list(self._batches(reader, part, counts)):
            yield batch.slice(0, 1)
            for _ in range(100):  # until a file of Parquet is there
                if list(self._staged.rglob("*.part")):
                    break
                time.sleep(0.002)
            thread = Thread(target=self._other)
            thread.start()
            thread.join()
            yield batch.slice(1)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("mode", ["append", "upsert"])
@pytest.mark.parametrize("is_first", [True, False])
def test_of_two_runs_one_is_refused_and_each_record_is_there_once(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, mode: Mode, *,
    is_first: bool,
) -> None:  # fmt: skip
    lake = Place(form, tmp_path / "lake")

    def load() -> pa.Table:
        return to_table(disk.path, **lake.arguments, mode=mode)

    if not is_first:
        load()
        disk.append("orders-0", orders(20, 26))
    with monkeypatch.context() as patch:
        Meanwhile(patch, load, lake.folder / "t" / "_unfinished")
        with pytest.raises(OutputError, match=r"another process has written to .* meanwhile"):
            load()
    end = 20 if is_first else 26
    wanted = range(end) if mode == "append" else range(end - 7, end)
    assert lake.rows(("offset",)) == [(at,) for at in wanted]
    assert load()["records"].to_pylist() == [0]
    assert lake.rows(("offset",)) == [(at,) for at in wanted]


def test_a_run_whose_staged_files_another_commit_removed_is_refused(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Place("parquet", tmp_path / "lake")
    sync = data_files.sync
    threads = [Thread(target=to_table, args=(disk.path,), kwargs=lake.arguments)]

    def late(path: str) -> None:
        while threads:
            thread = threads.pop()
            thread.start()
            thread.join()
        sync(path)

    monkeypatch.setattr(data_files, "sync", late)
    with pytest.raises(OutputError, match="another process has written to the table meanwhile"):
        to_table(disk.path, **lake.arguments)
    assert lake.rows(("offset",)) == [(at,) for at in range(20)]


def test_of_two_drivers_whose_tasks_write_the_first_files_one_is_refused(tmp_path: Path) -> None:
    schema = pa.schema([("topic", pa.string()), ("day", pa.date32()), ("offset", pa.int64())])
    rows = pa.RecordBatch.from_pylist([{"topic": "t", "day": None, "offset": 0}], schema)
    for number in range(8):
        tables = [DeltaTable(str(tmp_path / f"t{number}")) for _ in range(2)]
        refused: list[OutputError] = []
        barrier = Barrier(2)

        def publish(table: DeltaTable, barrier: Barrier, refused: list[OutputError]) -> None:
            staging = table.staging(schema)
            added = staging.write(iter([rows]))
            barrier.wait()
            try:
                table.publish(staging, added, {("t", 0): LoadedUpTo(1, None)})
            except OutputError as error:
                refused.append(error)

        threads = [Thread(target=publish, args=(each, barrier, refused)) for each in tables]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert len(refused) == 1
        assert DeltaTable(tables[0].name).positions({("t", 0): LoadedUpTo(0, None)})


@pytest.mark.parametrize("form", FORMATS)
def test_an_upsert_that_changes_no_row_moves_its_position(
    disk: Disk, tmp_path: Path, form: str
) -> None:
    lake = Place(form, tmp_path / "lake")
    for _ in range(2):
        to_table(disk.path, **lake.arguments, mode="upsert")
    before = lake.rows()
    disk.append("orders-0", [Record(20, 1, b"zz", None)])
    befores = [
        to_table(disk.path, **lake.arguments, mode="upsert")["before"].to_pylist() for _ in range(2)
    ]
    assert (befores, lake.rows()) == ([[20], [21]], before)


@pytest.mark.parametrize("form", ["parquet", "delta"])
@pytest.mark.parametrize("swapped", ["lake", "lake/table"])
def test_nothing_is_made_behind_a_link_that_is_put_in_the_place_of_a_table(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Any, swapped: str
) -> None:
    """The link is there from the first read of the log on, before the table is written."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (tmp_path / "lake").mkdir()
    place, read = tmp_path / swapped, os.preadv

    def meddling(*given: Any) -> int:
        if not place.is_symlink():
            if place.exists():
                place.rename(tmp_path / "moved")
            place.symlink_to(precious)
        return read(*given)

    monkeypatch.setattr(os, "preadv", meddling)
    with pytest.raises(OutputError, match="another process has put something else here"):
        to_table(disk.path, tmp_path / "lake" / "table", table_format=form)
    assert place.is_symlink()
    assert not list(precious.iterdir())
