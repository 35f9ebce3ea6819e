"""Times of values beyond those that tables, Python or Arrow's text have: the same on every road.

What no table holds is null alone, and told; what Arrow writes as another year is written right.
"""

import io
import json
import re
import warnings
from pathlib import Path
from typing import Any, Final

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import workbench as wb
from tests.cli.program import run
from tests.naive import Record
from tests.pipelines.planted import Disk, Place
from workbench.errors import CorruptDataWarning
from workbench.pipelines import to_table
from workbench.values.far_times import texts_of
from workbench.values.registry import Decoding

_LAST: Final = (2**63 - 1) // 1000
_FAR: Final = 1_200_000_000_000_000  # ms
_FAR_TEXT: Final = "39996-06-26T21:20:00.000Z"
_DAY: Final = 12_000_000  # since 1970
_TIME: Final = {"type": "long", "logicalType": "timestamp-millis"}
_FIELDS: Final = {
    "at": ["null", _TIME],
    "born": {"type": "int", "logicalType": "date"},
    "deep": {"type": "array", "items": {"type": "long", "logicalType": "local-timestamp-millis"}},
}
_SCHEMA: Final = {
    "type": "record",
    "name": "R",
    "fields": [{"name": name, "type": kind} for name, kind in _FIELDS.items()],
}
_VALUES: Final = (
    {"at": 0, "born": 0, "deep": [-_LAST]},
    {"at": _LAST + 1, "born": _DAY, "deep": [_FAR, 2**63 - 1, -_LAST - 1]},
    {"at": _FAR, "born": -_DAY, "deep": []},
    {"at": None, "born": 1, "deep": [-(2**63)]},
)
_HELD: Final = [
    (0, 0, [-_LAST]), (None, _DAY, [_FAR, None, None]), (_FAR, -_DAY, []), (None, 1, [None])
]  # fmt: skip
_RESCUED: Final = [
    {},
    {
        "at": "294247-01-10T04:00:54.776Z",
        "deep[]": "292278994-08-17T07:12:55.807, -290308-12-21T19:59:05.224",
    },
    {},
    {"deep[]": "-9223372036854775808"},
]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the values, the first at a far time itself, beside the schema."""
    folder = tmp_path_factory.mktemp("far")
    folder.joinpath("r.avsc").write_text(json.dumps(_SCHEMA))
    numbers = re.sub('"logicalType": "[a-z-]+"', '"is": "a number"', json.dumps(_SCHEMA))
    disk, bare = Disk(folder / "logs"), fastavro.parse_schema(json.loads(numbers))
    for at, value in enumerate(_VALUES):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, bare, value)
        disk.append("orders-0", [Record(at, 1 if at else _FAR, b"k", out.getvalue())])
    return disk.path


def _decode(logs: Path) -> dict[str, Any]:
    return {"value": Decoding("avro", str(logs.parent / "r.avsc"))}


def _scan(logs: Path) -> wb.Scan:
    return wb.open_log_directory(logs).scan(decode=_decode(logs), columns=("offset", "value"))


def _fields(column: Any) -> list[tuple[Any, ...]]:
    """Return the fields of values, times in ms or us as numbers of ms."""
    array = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
    at, day, deep = array.flatten()

    def ms(kind: Any, number: int | None) -> int | None:
        return None if number is None else number // (1000 if kind.unit == "us" else 1)

    numbers = deep.cast(pa.list_(pa.int64())).to_pylist()
    times = [ms(at.type, each) for each in at.cast(pa.int64()).to_pylist()]
    lists = [[ms(deep.type.value_type, each) for each in some] for some in numbers]
    return list(zip(times, day.cast(pa.int32()).to_pylist(), lists, strict=True))


def by_scan(logs: Path, _folder: Path) -> Any:
    return _scan(logs).to_arrow()["value"]


def by_pandas(logs: Path, _folder: Path) -> Any:
    return pa.table(_scan(logs).to_pandas())["value"]


def by_polars(logs: Path, _folder: Path) -> Any:
    return _scan(logs).to_polars().to_arrow()["value"]


def by_lazy_frame(logs: Path, _folder: Path) -> Any:
    lazy: Any = _scan(logs).to_polars(lazy=True)
    return lazy.collect().to_arrow()["value"]


def by_duckdb(logs: Path, _folder: Path) -> Any:
    found = _scan(logs).to_duckdb().sql('select value from records order by "offset"')
    return found.to_arrow_table()["value"]


def by_sql(logs: Path, _folder: Path) -> Any:
    query = 'select value from orders order by "offset"'
    found = wb.open_log_directory(logs).sql(query, decode=_decode(logs))
    return found.to_arrow()["value"]


def by_parquet(logs: Path, folder: Path) -> Any:
    _scan(logs).to_parquet(folder / "x.parquet")
    return pq.read_table(folder / "x.parquet")["value"]


def by_spark(logs: Path, _folder: Path) -> Any:
    from workbench.spark_source.source import KafkaLogSource

    decode = json.dumps({"value": f"avro:{logs.parent / 'r.avsc'}"})
    source = KafkaLogSource({"path": str(logs), "decode": decode, "includeInternal": "true"})
    reader = source.reader(source.schema())
    tables = [pa.Table.from_batches(reader.read(each)) for each in reader.partitions()]
    return pa.concat_tables(tables).sort_by("offset")["value"]


@pytest.mark.parametrize(
    "road",
    [
        by_scan, by_pandas, by_polars, by_lazy_frame, by_duckdb, by_sql, by_parquet, by_spark,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_a_time_that_no_table_holds_is_null_alone_and_told(
    road: Any, logs: Path, tmp_path: Path
) -> None:
    with pytest.warns(CorruptDataWarning, match="2 keys and values null or incomplete"):
        found = road(logs, tmp_path)
    assert _fields(found) == _HELD


@pytest.mark.parametrize("command", ["export parquet", "export csv", "export jsonl", "dump", "sql"])
def test_a_command_tells_of_a_time_that_no_table_holds(
    command: str, logs: Path, tmp_path: Path
) -> None:
    """JSON lines have its text beside the value; the others say how many there are."""
    verb, _, ending = command.partition(" ")
    last = "--json" if verb == "dump" else "select value from orders"
    given = tmp_path / f"x.{ending}" if ending else last
    done = run(verb, logs, given, "--value-format", f"avro:{logs.parent / 'r.avsc'}")
    assert done.code == 0, done.err
    if command in {"export jsonl", "dump"}:
        text = done.out if verb == "dump" else (tmp_path / "x.jsonl").read_text()
        values = [json.loads(line)["value"] for line in text.splitlines()]
        assert [each.get("_rescued", {}) for each in values] == _RESCUED
        assert values[2] == {"at": _FAR_TEXT.replace("T", " "), "born": "-30885-02-13", "deep": []}
        assert values[1]["deep"] == ["39996-06-26 21:20:00.000", None, None]
    else:
        assert "2 keys and values null or incomplete" in done.err


def test_times_beyond_those_of_python_are_numbers_in_rows(logs: Path) -> None:
    with pytest.warns(CorruptDataWarning):
        rows = [each["value"] for each in _scan(logs)]
    assert rows[1] == {"at": None, "born": _DAY * 86_400_000, "deep": [_FAR, None, None]}
    assert rows[2]["at"] == _FAR


def test_csv_has_the_year_of_any_time(logs: Path, tmp_path: Path) -> None:
    assert run("export", logs, tmp_path / "x.csv").code == 0
    assert f'"{_FAR_TEXT}"' in (tmp_path / "x.csv").read_text().splitlines()[1]


def test_the_text_of_a_rescued_time_has_its_year(logs: Path, tmp_path: Path) -> None:
    """The fields are of other types in the table, or name folders."""
    lake = Place("parquet", tmp_path)
    types = {"orders": pa.schema([("at", pa.int32()), ("deep", pa.string())])}
    to_table(
        logs, **lake.arguments, decode=_decode(logs), types=types, partition_by=["born"], tell=print
    )
    table = lake.table().sort_by("offset")
    assert json.loads(table["_rescued"][2].as_py()) == {
        "value.at": "39996-06-26 21:20:00.000000Z",
        "value.born": "-30885-02-13",
    }
    assert json.loads(table["deep"][1].as_py())[0] == "39996-06-26 21:20:00.000000"


@pytest.mark.long
@pytest.mark.librdkafka  # replay writes by it
def test_a_replay_writes_times_of_any_year(logs: Path, tmp_path: Path) -> None:
    tmp_path.joinpath("cluster").mkdir()
    with wb.serve(tmp_path / "cluster", writable=True) as cluster:
        with pytest.warns(CorruptDataWarning):
            wb.open_log_directory(logs).replay(
                cluster.bootstrap_servers,
                decode=_decode(logs),
                offsets=(1, None),  # the broker refuses the time of the first record
                create_topics=True,
            )
        there = wb.open_log_directory(tmp_path / "cluster").scan("orders").to_arrow()
    assert there["timestamp"].cast(pa.int64()).to_pylist() == [1, 1, 1]
    assert json.loads(there["value"][1].as_py()) == {
        "at": _FAR_TEXT.replace("T", " "),
        "born": "-30885-02-13",
        "deep": [],
    }


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize("year", [-32767, 32768])
def test_the_text_of_a_time_is_right_on_both_sides_of_those_that_arrow_writes(
    year: int, unit: str
) -> None:
    edge = np.array(f"{year}-01-01", f"M8[{unit}]").astype(np.int64)
    numbers = [int(edge) + more for more in (-1, 0, 1)]
    times = pa.array([*numbers, None], pa.timestamp(unit, "UTC"))
    found = [f"{np.array(each, f'M8[{unit}]')}Z".replace("T", " ") for each in numbers]
    assert texts_of(times).to_pylist() == [*found, None]


def test_json_lines_keep_the_bytes_of_a_list_of_which_an_item_does_not_fit(tmp_path: Path) -> None:
    """It has no place for a rescued text."""
    schema = json.dumps({"type": "array", "items": _TIME})
    disk, out = Disk(tmp_path / "logs"), io.BytesIO()
    bare = fastavro.parse_schema({"type": "array", "items": "long"})
    fastavro.schemaless_writer(out, bare, [1, 2**62])
    disk.append("orders-0", [Record(0, 1, b"k", out.getvalue())])
    tmp_path.joinpath("r.avsc").write_text(schema)
    [row] = run("dump", disk.path, "--json", "--value-format", f"avro:{tmp_path}/r.avsc").lines
    assert row["value"]["bytes"] == out.getvalue().hex()
    assert "field [] is beyond the times" in row["value"]["error"]


@pytest.mark.parametrize("how", ["hash", "first 4"])
def test_a_mask_of_values_with_far_times_gives_text(how: str, logs: Path) -> None:
    scan = wb.open_log_directory(logs).scan(
        decode=_decode(logs), mask=[f"orders value {how}"], columns="value"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorruptDataWarning)
        assert len(set(scan.to_arrow()["value"].to_pylist())) == (4 if how == "hash" else 1)
