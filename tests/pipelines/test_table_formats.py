"""Delta and Iceberg tables, and upserts in every format: exact, whatever happens in between."""

import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import duckdb
import pyarrow as pa
import pytest
from pyarrow.fs import PyFileSystem

from tests.naive import Record
from tests.pipelines.planted import (
    AGAIN,
    COLUMNS,
    IDS,
    Death,
    DiedError,
    Disk,
    DyingFiles,
    Place,
    Row,
    dies_at_each_change,
    orders,
    rows_of,
)
from workbench.errors import OutputError, SchemaError
from workbench.pipelines import to_table
from workbench.pipelines.lake.delta_table import DeltaTable
from workbench.pipelines.lake.iceberg_table import IcebergTable
from workbench.pipelines.lake.table import LoadedUpTo, Positions, Table


@pytest.fixture(params=["delta", "iceberg"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(request.param, tmp_path / "lake")


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


def test_only_what_is_new_is_loaded_and_new_fields_become_columns(disk: Disk, lake: Place) -> None:
    to_table(disk.path, **lake.arguments, decode="json", commit_bytes=1200)
    assert lake.rows() == wanted(orders=20, people=9)
    assert to_table(disk.path, **lake.arguments, decode="json")["records"].to_pylist() == [0, 0]
    disk.append("orders-0", orders(20, 24, paid=2.5))
    to_table(disk.path, **lake.arguments, decode="json")
    assert lake.rows() == wanted(orders=24, people=9)
    found = {row["offset"]: row for row in lake.table().to_pylist() if row["topic"] == "orders"}
    assert [found[at]["number"] for at in range(24)] == list(range(24))
    assert [found[at]["paid"] for at in (19, 20)] == [None, 2.5]
    assert found[7]["day"] == found[7]["timestamp"].date()
    disk.append("orders-0", [Record(24, 1, b"k3", b'{"number": "many"}')])
    told: list[str] = []
    to_table(disk.path, **lake.arguments, decode="json", tell=told.append)
    assert lake.rows() == wanted(orders=25, people=9)
    (rescued,) = [row for row in lake.table().to_pylist() if row["_rescued"] is not None]
    assert (rescued["offset"], rescued["number"]) == (24, None)
    assert rescued["_rescued"] == '{"value.number": "many"}'
    assert len(told) == 1


def test_a_topic_that_was_made_again_goes_on_beside_the_one_before(
    disk: Disk, lake: Place, tmp_path: Path
) -> None:
    to_table(disk.path, **lake.arguments)
    stale = shutil.copytree(disk.path, tmp_path / "stale")
    shutil.rmtree(disk.path / "people-0")
    disk.append("people-0", orders(0, 12), topic_id=AGAIN)
    for logs, count in (disk.path, 12), (stale, 0), (disk.path, 0):
        rows = to_table(logs, **lake.arguments, topics="people", tell=print)
        assert rows["records"].to_pylist() == [count]
    found = [row[1:] for row in lake.rows(("topic", "topic_id", "offset")) if row[0] == "people"]
    both = [(IDS["people"], at) for at in range(9)] + [(AGAIN, at) for at in range(12)]
    assert found == sorted(both)


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_a_day_that_not_every_format_can_write_is_null(
    disk: Disk, place: Place, mode: Literal["append", "upsert"]
) -> None:
    microseconds = 1_700_000_000_000_000  # where Kafka has milliseconds
    times = enumerate((-1, 2**62, microseconds), 9)
    disk.append("people-0", [Record(at, time, b"k%d" % at, b"{}") for at, time in times])
    told: list[str] = []
    to_table(disk.path, **place.arguments, topics="people", mode=mode, tell=told.append)
    assert told[-1].startswith("people-0: the timestamp of 1 record is null in the table")
    days = place.rows(("offset", "day"))
    assert [at for at, day in days if day is None] == [9, 10, 11]
    assert len(days) == (12 if mode == "append" else 10)


@pytest.mark.parametrize(("mode", "first"), [("append", 0), ("upsert", 4)])
def test_a_list_that_a_record_does_not_have_is_null(
    disk: Disk, lake: Place, mode: Literal["append", "upsert"], first: int
) -> None:
    disk.append("people-0", orders(9, 11, tags=[1]))
    to_table(disk.path, **lake.arguments, topics="people", decode="json", mode=mode)
    files = [str(path) for path in lake.folder.rglob("*.parquet")]
    with duckdb.connect() as connection:  # pyiceberg reads null lists as empty ones
        found = connection.read_parquet(files).select('"offset", tags').order("all").fetchall()
    assert found == [*((at, None) for at in range(first, 9)), (9, [1]), (10, [1])]


@pytest.mark.parametrize("there", ["nothing", "a table", "a table without a column"])
@pytest.mark.parametrize("by_tasks", [False, True])
def test_of_two_writers_at_a_time_one_is_refused(
    disk: Disk, lake: Place, there: str, *, by_tasks: bool
) -> None:
    if there != "nothing":
        to_table(disk.path, **lake.arguments, topics="people")
    late = opened(lake)
    to_table(disk.path, **lake.arguments)
    schema = opened(lake).schema
    assert schema is not None
    if there == "a table without a column":
        schema = schema.append(pa.field("new", pa.string()))
    with pytest.raises(OutputError, match="another process has written to it meanwhile"):
        put(
            late, _nothing(schema), schema, {("orders", 0): LoadedUpTo(20, None)}, by_tasks=by_tasks
        )
    assert lake.rows() == wanted(orders=20, people=9)
    to_table(disk.path, **lake.arguments)
    assert lake.rows() == wanted(orders=20, people=9)


def opened(lake: Place) -> Table:
    kind = DeltaTable if lake.form == "delta" else IcebergTable
    return kind(lake.arguments["to"], lake.arguments.get("options", {}))


def put(
    table: Table,
    batches: Iterator[pa.RecordBatch],
    schema: pa.Schema,
    moved: Positions,
    *,
    by_tasks: bool,
) -> None:
    """Commit rows as one process does, or as tasks and their driver do."""
    if by_tasks:
        staging = pickle.loads(pickle.dumps(table.staging(schema)))  # noqa: S301 - our own
        table.publish(staging, staging.write(batches), moved)
    else:
        table.commit(batches, schema, moved, upsert=False)


def _nothing(schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    row = {"topic": "orders", "partition": 0, "offset": 1, "timestamp": None}
    yield pa.RecordBatch.from_pylist([row], schema)


@pytest.mark.parametrize("by_tasks", [False, True])
def test_a_commit_that_fails_before_its_end_changes_nothing(
    disk: Disk, lake: Place, *, by_tasks: bool
) -> None:
    to_table(disk.path, **lake.arguments, topics="people")
    table = opened(lake)
    schema = table.schema
    assert schema is not None

    def dying() -> Iterator[pa.RecordBatch]:
        yield from _nothing(schema)
        raise DiedError

    moved = {("orders", 0): LoadedUpTo(20, None)}
    with pytest.raises(Exception, match=r".*"):  # deltalake wraps it
        put(table, dying(), schema, moved, by_tasks=by_tasks)
    to_table(disk.path, **lake.arguments)
    assert lake.rows() == wanted(orders=20, people=9)


def test_a_run_into_iceberg_that_dies_at_any_file_leaves_an_exact_table(
    disk: Disk, tmp_path: Path
) -> None:
    def load(arguments: dict[str, Any]) -> None:
        to_table(disk.path, topics="people", **arguments)

    assert dies_at_each_change(load, tmp_path).rows() == wanted(people=9)


def test_an_upsert_keeps_the_newest_of_each_key_and_tombstones_delete(
    disk: Disk, place: Place
) -> None:
    options: dict[str, Any] = {"topics": "people", "mode": "upsert"}
    (row,) = to_table(disk.path, **place.arguments, **options).to_pylist()
    assert (row["records"], row["superseded"], row["tombstones"]) == (7, 2, 0)
    newest = {at % 7: at for at in range(9)}
    assert place.rows(("offset", "key")) == sorted(
        (at, f"k{k}".encode()) for k, at in newest.items()
    )
    # k0 is replaced on another day, k1 and an unknown key are deleted, no key is left out.
    more: list[tuple[int, bytes | None, bytes | None]]
    more = [(9, b"k0", b"{}"), (10, b"k1", None), (11, b"new", b"1"), (12, b"new", None)]
    more += [(13, b"other", b"2"), (14, None, b"3")]
    disk.append("people-0", [Record(at, 1, key, value) for at, key, value in more])
    (row,) = to_table(disk.path, **place.arguments, **options).to_pylist()
    assert (row["records"], row["superseded"], row["tombstones"]) == (2, 2, 2)
    left = {f"k{k}".encode(): at for k, at in newest.items() if k > 1}
    left |= {b"k0": 9, b"other": 13}
    assert place.rows(("offset", "key")) == sorted((at, key) for key, at in left.items())


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


def test_a_file_system_of_fsspec(disk: Disk, tmp_path: Path) -> None:
    import fsspec

    to_table(disk.path, str(tmp_path / "t"), filesystem=fsspec.filesystem("file"))
    assert rows_of(tmp_path / "t", 'topic, partition, "offset", key') == wanted(orders=20, people=9)


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
