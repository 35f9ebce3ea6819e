"""pandas, Polars, DuckDB and Parquet: the same records from the same Arrow batches."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import workbench
from tests.golden.cases import Case
from tests.naive import Record, batch
from workbench.errors import CorruptDataWarning
from workbench.loaders.scan.column_engines import data_frame
from workbench.loaders.schemas import SCAN_FIELDS
from workbench.values.formats.json import JsonDecoder

LOG = "00000000000000000000.log"
LARGE = 2**53 + 1  # the first whole number that a float cannot hold


@pytest.fixture
def logs(tmp_path: Path) -> workbench.LogDirectory:
    """Two topics, one of two partitions; a value says its number as JSON."""
    for name, count in (("orders-0", 3), ("orders-1", 2), ("pay.ments-0", 1)):
        (tmp_path / "logs" / name).mkdir(parents=True)
        values = [b'{"n":%d,"s":"x"}' % (LARGE + at) for at in range(count)]
        records = [Record(at, 1000 + at, b"k%d" % at, value) for at, value in enumerate(values)]
        (tmp_path / "logs" / name / LOG).write_bytes(batch(records, producer=LARGE))
    return workbench.open_log_directory(tmp_path / "logs")


@pytest.mark.parametrize("backend", [None, "numpy_nullable", "pyarrow"])
def test_pandas_has_no_float_for_what_is_whole(backend: Any, logs: workbench.LogDirectory) -> None:
    scan = logs.scan(columns=list(SCAN_FIELDS), decode={"key": "utf8", "value": "json"})
    frame = scan.to_pandas(dtype_backend=backend)
    assert "float" not in " ".join(map(str, frame.dtypes))
    assert [row["n"] for row in frame["value"]][:3] == [LARGE, LARGE + 1, LARGE + 2]
    assert frame["key"].tolist()[:2] == ["k0", "k1"]


@pytest.mark.parametrize(
    ("backend", "whole", "missing", "text"),
    [
        (None, "int64", "Int64", "large_string[pyarrow]"),
        ("numpy_nullable", "Int64", "Int64", "string"),
        ("pyarrow", "int64[pyarrow]", "int64[pyarrow]", "large_string[pyarrow]"),
    ],
)
def test_pandas_has_the_types_that_were_asked_for(
    backend: Any, whole: str, missing: str, text: str
) -> None:
    columns = {
        "whole": pa.array([LARGE, 1]),
        "missing": pa.array([LARGE, None]),
        "text": pa.array(["a", None], pa.large_string()),
    }
    frame = data_frame(pa.table(columns), backend)
    assert [str(kind) for kind in frame.dtypes] == [whole, missing, text]
    assert frame["missing"][0] == LARGE
    assert frame["missing"][1] is pd.NA


def test_pandas_knows_two_backends(logs: workbench.LogDirectory) -> None:
    with pytest.raises(ValueError, match="dtype_backend is 'numpy'"):
        logs.scan().to_pandas(dtype_backend="numpy")  # type: ignore[arg-type]


def test_polars_has_structs_for_json(logs: workbench.LogDirectory) -> None:
    scan = logs.scan(columns=["offset", "value"], decode={"value": "json"}, topics="orders")
    frame = scan.to_polars()
    assert frame.schema == {
        "offset": pl.Int64,
        "value": pl.Struct({"n": pl.Int64, "s": pl.String}),
    }
    assert frame["value"].struct.field("n").max() == LARGE + 2


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_lazy_frame_of_polars_reads_what_a_query_needs(
    logs: workbench.LogDirectory, engine: Literal["in-memory", "streaming"]
) -> None:
    scan = logs.scan(decode={"value": "json"}, topics="orders")
    whole, lazy = scan.to_polars(), scan.to_polars(lazy=True)
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect(engine=engine).equals(whole)
    assert lazy.select(pl.len()).collect(engine=engine).item() == whole.height > 4
    is_large = pl.col("value").struct.field("n") > LARGE
    found = lazy.filter(is_large).select("offset", "key").collect(engine=engine)
    assert found.equals(whole.filter(is_large).select("offset", "key"))
    assert lazy.head(3).collect(engine=engine).equals(whole.head(3))
    assert 0 < found.height < whole.height
    plain = logs.scan(topics="orders").to_polars(lazy=True)
    assert plain.select("key").collect(engine=engine).equals(whole.select("key"))


def test_a_lazy_frame_decodes_no_column_that_a_query_leaves_out(
    logs: workbench.LogDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    lazy = logs.scan(decode={"value": "json"}, topics="orders").to_polars(lazy=True)
    decoded: list[int] = []
    decode = JsonDecoder.decode_spans

    def counted(decoder: JsonDecoder, *given: Any) -> Any:
        decoded.append(1)
        return decode(decoder, *given)

    monkeypatch.setattr(JsonDecoder, "decode_spans", counted)
    lazy.select("offset", "key").collect()
    assert not decoded
    lazy.select("value").collect()
    assert decoded


def test_a_view_of_duckdb_reads_anew_with_every_query(logs: workbench.LogDirectory) -> None:
    scan = logs.scan(topics="orders", decode={"value": "json"})
    connection = scan.to_duckdb("o")
    assert isinstance(connection, duckdb.DuckDBPyConnection)
    query = "select partition, count(*), max(value.n) from o group by 1 order by 1"
    for _ in range(2):
        assert connection.sql(query).fetchall() == [(0, 3, LARGE + 2), (1, 2, LARGE + 1)]
    both = 'select count(*) from o a join o b using (partition, "offset")'
    assert connection.sql(both).fetchall() == [(5,)]
    path = Path(logs["orders-1"].segments[0].path)
    path.write_bytes(path.read_bytes()[:-1] + b"\2")
    with pytest.warns(CorruptDataWarning):
        assert connection.sql("select count(*) from o").fetchall() == [(3,)]
    assert [finding.kind for finding in scan.findings] == ["crc"]


def test_every_topic_is_a_view_of_duckdb(logs: workbench.LogDirectory) -> None:
    connection = logs.to_duckdb(columns=["offset", "value"], decode={"value": "json"})
    joined = 'select count(*) from orders join "pay.ments" p on orders.value.n = p.value.n'
    assert connection.sql(joined).fetchall() == [(2,)]
    own = duckdb.connect()
    assert logs.to_duckdb(own, topics=["orders"]) is own
    assert [name for (name,) in own.sql("show tables").fetchall()] == ["orders"]


def test_tables_keep_what_may_be_missing_as_whole_numbers(
    golden: Callable[[str], Case], tmp_path: Path
) -> None:
    logs = workbench.open_log_directory(golden("4.2.0-txn").directory("data"))
    inspect = logs.inspect
    tables = [inspect.segments(), inspect.batches(), inspect.producers(), inspect.group_offsets()]
    tables.append(logs.scan(columns=["offset", "producer_id", "sequence"]).to_arrow())
    missing = 0
    for number, table in enumerate(tables):
        pq.write_table(table, tmp_path / f"{number}.parquet")
        for frame in (table.to_pandas(), pd.read_parquet(tmp_path / f"{number}.parquet")):
            for field in table.schema:
                if not pa.types.is_integer(field.type):
                    continue
                column = frame[field.name]
                assert pd.api.types.is_integer_dtype(column), field.name
                values = [None if pd.isna(value) else int(value) for value in column]
                assert values == table[field.name].to_pylist()
                missing += values.count(None)
        assert len(table.select(table.schema.names[:1]).to_pandas()) == len(table)
    assert missing > 0


def test_a_directory_without_topics_gives_a_connection_without_views(tmp_path: Path) -> None:
    connection = workbench.open_log_directory(tmp_path).to_duckdb()
    assert connection.sql("show tables").fetchall() == []
    connection.close()


def test_row_groups_of_parquet_are_as_large_as_asked(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "many-0"
    folder.mkdir(parents=True)
    for base in range(0, 40, 10):  # a segment gives a batch at least
        data = batch([Record(base + at, 1, None, b"x" * 1000) for at in range(10)])
        (folder / f"{base:020}.log").write_bytes(data)
    scan = workbench.open_log_directory(tmp_path / "logs").scan()
    for size, groups in ((1, [10] * 4), (15_000, [20] * 2), (1 << 20, [40])):
        assert scan.to_parquet(tmp_path / "x.parquet", row_group_bytes=size) == 40
        told = pq.ParquetFile(tmp_path / "x.parquet").metadata
        assert [told.row_group(at).num_rows for at in range(told.num_row_groups)] == groups
        assert pq.read_table(tmp_path / "x.parquet") == scan.to_arrow()


def test_parquet_keeps_what_was_decoded(logs: workbench.LogDirectory, tmp_path: Path) -> None:
    scan = logs.scan(decode={"key": "utf8", "value": "json"})
    scan.to_parquet(tmp_path / "x.parquet", compression="snappy")
    assert pq.read_table(tmp_path / "x.parquet") == scan.to_arrow()
    assert not list(tmp_path.glob("*.unfinished"))
