"""An upsert keeps one row for each key; tables lie in any file system of Arrow."""

from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import PyFileSystem

from tests.naive import Record
from tests.pipelines.planted import Death, DiedError, Disk, DyingFiles, orders, rows_of
from workbench.errors import SchemaError
from workbench.pipelines import to_table

Row = tuple[Any, ...]
COLUMNS = ("topic", "partition", "offset", "key")


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    made = Disk(tmp_path / "broker")
    made.append("orders-0", orders(0, 20))
    made.append("people-0", orders(0, 9))
    return made


def wanted(**ends: int) -> list[Row]:
    """Return the rows of topics up to an offset, as they were planted."""
    return sorted(
        (topic, 0, at, f"k{at % 7}".encode()) for topic, end in ends.items() for at in range(end)
    )


def test_an_upsert_keeps_the_newest_of_each_key_and_tombstones_delete(
    disk: Disk, tmp_path: Path
) -> None:
    table = tmp_path / "t"
    options: dict[str, Any] = {"topics": "people", "mode": "upsert"}
    (row,) = to_table(disk.path, table, **options).to_pylist()
    assert (row["records"], row["superseded"], row["tombstones"]) == (7, 2, 0)
    newest = {at % 7: at for at in range(9)}
    assert rows_of(table, '"offset", key') == sorted(
        (at, f"k{k}".encode()) for k, at in newest.items()
    )
    # k0 is replaced on another day, k1 and an unknown key are deleted, no key is left out.
    more: list[tuple[int, bytes | None, bytes | None]]
    more = [(9, b"k0", b"{}"), (10, b"k1", None), (11, b"new", b"1"), (12, b"new", None)]
    more += [(13, b"other", b"2"), (14, None, b"3")]
    disk.append("people-0", [Record(at, 1, key, value) for at, key, value in more])
    (row,) = to_table(disk.path, table, **options).to_pylist()
    assert (row["records"], row["superseded"], row["tombstones"]) == (2, 2, 2)
    left = {f"k{k}".encode(): at for k, at in newest.items() if k > 1}
    left |= {b"k0": 9, b"other": 13}
    assert rows_of(table, '"offset", key') == sorted((at, key) for key, at in left.items())


def test_an_upsert_of_parquet_that_dies_at_any_change_is_exact_afterwards(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "broker")
    disk.append("people-0", orders(0, 12))

    def run(table: Path, death: Death) -> None:
        files = PyFileSystem(DyingFiles(death))
        to_table(disk.path, str(table), filesystem=files, mode="upsert", workers=1)

    for at in ("whole", *range(40)):
        run(tmp_path / f"t{at}", Death())
    disk.append("people-0", [*orders(12, 16), Record(16, 1, b"k6", None)])
    whole = Death()
    run(tmp_path / "twhole", whole)
    exact = rows_of(tmp_path / "twhole", '"offset", key')
    newest = {f"k{at % 7}".encode(): at for at in range(16) if at % 7 != 6}
    assert exact == sorted((at, key) for key, at in newest.items())
    assert 10 < whole.changes < 40
    for at in range(whole.changes):
        with pytest.raises(DiedError):
            run(tmp_path / f"t{at}", Death(at))
        run(tmp_path / f"t{at}", Death())
        assert rows_of(tmp_path / f"t{at}", '"offset", key') == exact, at


def test_an_upsert_needs_a_key_of_one_column(disk: Disk, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="needs the column key"):
        to_table(disk.path, tmp_path / "t", columns="value", mode="upsert")


def test_a_bucket(disk: Disk) -> None:
    from tests.s3_server import s3_server

    with s3_server() as server:
        server.put("lake", {"other": b""})
        where = server.uri("lake/shop")
        to_table(disk.path, where, commit_bytes=1200)
        disk.append("orders-0", orders(20, 24))
        assert to_table(disk.path, where)["records"].to_pylist() == [4, 0]
        from pyarrow.dataset import dataset

        from workbench.loaders.remote import writable_place

        files, path = writable_place(where)
        found = dataset(path, filesystem=files, format="parquet", partitioning="hive").to_table()
        rows = found.select(list(COLUMNS)).to_pylist()
        assert sorted(tuple(row.values()) for row in rows) == wanted(orders=24, people=9)
