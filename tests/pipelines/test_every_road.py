"""One planted directory is the same, cell by cell, on every road that reads it."""

import csv
import io
import json
import math
import re
import struct
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import workbench as wb
from tests.cli.program import run
from tests.every_road import (
    COLUMNS,
    EVERYTHING,
    FIELDS,
    OBJECTS,
    STRANGE,
    TYPED,
    Row,
    as_rows,
    milliseconds,
    plant,
    require_same,
    rows_of,
    wanted,
)
from tests.naive import Record
from tests.pipelines.planted import Disk, Place
from workbench.errors import CorruptDataWarning
from workbench.loaders.exports.export import Export
from workbench.pipelines import to_table
from workbench.values.registry import Decoding

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{CorruptDataWarning.__module__}.CorruptDataWarning"
)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("every") / "logs")


def by_scan(logs: Path, _folder: Path) -> list[Row]:
    scan = wb.open_log_directory(logs).scan(isolation_level="read_committed", columns=COLUMNS)
    return rows_of(scan.to_arrow())


def by_pandas(logs: Path, _folder: Path) -> list[Row]:
    scan = wb.open_log_directory(logs).scan(isolation_level="read_committed", columns=COLUMNS)
    frame = scan.to_pandas().astype(object).replace({pd.NA: None})
    frame["headers"] = frame["headers"].map(list)  # of numpy, whose truth is no answer
    return as_rows(frame.to_dict("records"))


def by_polars(logs: Path, _folder: Path) -> list[Row]:
    scan = wb.open_log_directory(logs).scan(isolation_level="read_committed", columns=COLUMNS)
    lazy: Any = scan.to_polars(lazy=True)
    return rows_of(lazy.collect().to_arrow())


def by_duckdb(logs: Path, _folder: Path) -> list[Row]:
    scan = wb.open_log_directory(logs).scan(isolation_level="read_committed", columns=COLUMNS)
    found = scan.to_duckdb().sql("from records").fetchall()
    return as_rows(dict(zip(COLUMNS, row, strict=True)) for row in found)


def by_sql(logs: Path, _folder: Path) -> list[Row]:
    columns = ", ".join(f'"{name}"' for name in COLUMNS)
    query = f"select {columns} from records"  # noqa: S608 - our own names
    relation = wb.open_log_directory(logs).sql(query, isolation_level="read_committed")
    return as_rows(dict(zip(COLUMNS, row, strict=True)) for row in relation.fetchall())


def exported(logs: Path, file: Path, *options: str) -> Path:
    done = run("export", logs, file, "--isolation-level", "read_committed", *options)
    assert done.code == 0, done.err
    return file


def by_parquet(logs: Path, folder: Path) -> list[Row]:
    from pyarrow.parquet import read_table

    return rows_of(read_table(exported(logs, folder / "x.parquet")))


def by_csv(logs: Path, folder: Path) -> list[Row]:
    """CSV with bytes as hex; null is nothing, and empty is quoted."""
    text = exported(logs, folder / "x.csv", "--text", "hex").read_text()
    text = re.sub('(?<=,)""(?=[,\n])', '"empty"', text)
    names, *lines = csv.reader(io.StringIO(text))
    found: list[Row] = []
    for line in lines:
        row = dict(zip(names, line, strict=True))
        headers = [(name, hexed(value)) for name, value in json.loads(row["headers"])]
        time = milliseconds(row["timestamp"] or None)
        own = row["topic"], int(row["partition"]), int(row["offset"]), time
        found.append((*own, hexed(row["key"] or None), hexed(row["value"] or None), headers))
    return sorted(found, key=lambda row: row[:3])


def by_json_lines(logs: Path, folder: Path) -> list[Row]:
    options = "--key-format", "hex", "--value-format", "hex"
    return of_json(exported(logs, folder / "x.jsonl", *options).read_text())


def by_dump(logs: Path, _folder: Path) -> list[Row]:
    options = "--key-format", "hex", "--value-format", "hex", "--isolation-level", "read_committed"
    return of_json(run("dump", logs, "--json", *options).out)


def of_json(text: str) -> list[Row]:
    """Return the rows of JSON lines with bytes as hex."""
    lines = text.splitlines()
    found: list[Row] = []
    for row in map(json.loads, lines):
        headers = [(name, hexed(value)) for name, value in row["headers"]]
        time = milliseconds(row["time"])
        assert (time, row["timestamp"]) in {(time, time), (None, -1)}
        own = row["topic"], row["partition"], row["offset"], time
        found.append((*own, hexed(row["key"]), hexed(row["value"]), headers))
    return sorted(found, key=lambda row: row[:3])


def hexed(text: Any) -> bytes | None:
    return None if text is None else b"" if text == "empty" else bytes.fromhex(text)


@pytest.mark.parametrize(
    "road",
    [
        by_scan, by_pandas, by_polars, by_duckdb, by_sql,
        by_parquet, by_csv, by_json_lines, by_dump,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_a_road_gives_what_a_consumer_gets(road: Any, logs: Path, tmp_path: Path) -> None:
    require_same(road(logs, tmp_path), wanted(EVERYTHING))


@pytest.mark.parametrize("form", ["parquet", "delta", "iceberg"])
def test_a_table_has_what_a_consumer_gets(form: str, logs: Path, tmp_path: Path) -> None:
    lake = Place(form, tmp_path / "lake")
    to_table(logs, **lake.arguments, columns=COLUMNS)
    require_same(rows_of(lake.table()), wanted(EVERYTHING))


@pytest.mark.parametrize(
    "road", ["scan", "pandas", "polars", "duckdb", "sql", "parquet", "json lines", "dump"]
)
def test_a_road_gives_every_field_of_json(road: str, logs: Path, tmp_path: Path) -> None:
    directory = wb.open_log_directory(logs)
    scan = directory.scan("json", columns=["offset", "value"], decode="json")
    options = "-t", "json", "--value-format", "json"
    if road == "parquet":
        from pyarrow.parquet import read_table

        found = read_table(exported(logs, tmp_path / "x.parquet", *options))["value"].to_pylist()
    elif road in {"json lines", "dump"}:
        if road == "dump":
            text = run("dump", logs, "--json", *options).out
        else:
            text = exported(logs, tmp_path / "x.jsonl", *options).read_text()
        lines = text.splitlines()
        for line, value in zip(lines, OBJECTS, strict=True):  # as they are: JSON has no types
            assert json.loads(line)["value"] == value
        return
    elif road == "scan":
        found = scan.to_arrow()["value"].to_pylist()
    elif road == "pandas":
        found = pa.array(scan.to_pandas()["value"], scan.schema.field("value").type).to_pylist()
    elif road == "polars":
        found = scan.to_polars(lazy=True).collect()["value"].to_list()
    else:
        query = 'select value from "json" order by "offset"'
        decode = {"value": "json"}
        of = scan.to_duckdb("json").sql(query) if road == "duckdb" else None
        relation = of or directory.sql(query, decode=decode)
        found = [row[0] for row in relation.fetchall()]
    assert found == [dict.fromkeys(FIELDS) | each for each in TYPED]


@pytest.mark.parametrize("form", ["parquet", "delta", "iceberg"])
def test_a_table_has_every_field_of_json(form: str, logs: Path, tmp_path: Path) -> None:
    lake = Place(form, tmp_path / "lake")
    to_table(logs, **lake.arguments, topics="json", decode="json")
    rows = lake.table().sort_by("offset").to_pylist()
    names = {"Topic": "value_Topic", "day": "value_day"}
    found = [{name: row[names.get(name, name)] for name in FIELDS} for row in rows]
    assert found == [dict.fromkeys(FIELDS) | each for each in TYPED]
    assert {row["_rescued"] for row in rows} == {None}


@pytest.mark.parametrize("form", ["parquet", "delta", "iceberg"])
def test_a_table_has_what_fits_of_a_value_and_the_rest_is_rescued(
    form: str, tmp_path: Path
) -> None:
    disk, lake = Disk(tmp_path / "logs"), Place(form, tmp_path / "lake")
    disk.append("orders-0", [Record(at, 1, b"k", each[0]) for at, each in enumerate(STRANGE)])
    to_table(disk.path, **lake.arguments, decode="json", tell=print)
    rows = lake.table().sort_by("offset").to_pylist()
    for row, (_, fields, rescued) in zip(rows, STRANGE, strict=True):
        assert (row["a"], row["o"], row["t"]) == fields
        assert json.loads(row["_rescued"] or "{}") == rescued


@pytest.mark.parametrize("face", ["command", "Python"])
def test_json_lines_have_json_as_it_is_stored(face: str, tmp_path: Path) -> None:
    """With every digit and every field; NaN, which is not JSON, is text."""
    disk, file = Disk(tmp_path / "logs"), tmp_path / "x.jsonl"
    given = [b'{"a": 1.50,\n "a": 1E400}', b"[12345678901234567890.0]", b"1.50", b'"x"', b"[NaN]"]
    disk.append("orders-0", [Record(at, 1, b"k", each) for at, each in enumerate(given)])
    if face == "command":
        exported(disk.path, file, "--value-format", "json")
    else:
        scan = wb.open_log_directory(disk.path).scan(decode="json")
        Export(scan, str(file)).run()
    lines = file.read_text().splitlines()
    found = [line.split('"value":')[1].split(',"headers"')[0] for line in lines]
    given[0] = given[0].replace(b"\n", b" ")
    assert found == [*(each.decode() for each in given[:-1]), '["NaN"]']


def test_objects_without_a_field_are_text_in_parquet(tmp_path: Path) -> None:
    from pyarrow.parquet import read_table

    disk = Disk(tmp_path / "logs")
    disk.append("orders-0", [Record(0, 1, b"k", b"{}"), Record(1, 1, b"k", b"[1]")])
    file = exported(disk.path, tmp_path / "x.parquet", "--value-format", "json")
    assert read_table(file)["value"].to_pylist() == ["{}", None]


def test_polars_and_duckdb_have_decimals_of_more_than_38_digits_as_text(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "logs")
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 60, "scale": 1}
    fields = [{"name": "a", "type": {"type": "array", "items": decimal}}]
    schema = {"type": "record", "name": "R", "fields": fields}
    number = -(10**49) - 5
    items = b"\x02" + b"\x2a" + number.to_bytes(21, "big", signed=True) + b"\x00"
    disk.append("orders-0", [Record(0, 1, b"k", items)])
    directory = wb.open_log_directory(disk.path)
    scan = directory.scan(decode={"value": Decoding("avro", json.dumps(schema))})
    wanted = {"a": [f"-1{'0' * 48}.5"]}
    assert scan.to_polars()["value"].to_list() == [wanted]
    assert scan.to_polars(lazy=True).collect()["value"].to_list() == [wanted]
    assert scan.to_duckdb().sql("select value from records").fetchall() == [(wanted,)]


@pytest.mark.parametrize("road", ["sql", "dump", "export csv", "sql csv"])
def test_numbers_that_json_lacks_are_text(road: str, tmp_path: Path) -> None:
    """NaN is not JSON, and a reader of JSON rounds a decimal of more digits than a double has."""
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 4}
    kinds = {"many": decimal, "few": decimal, "nan": "double", "end": "double"}
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    tmp_path.joinpath("r.avsc").write_text(
        json.dumps({"type": "record", "name": "R", "fields": fields})
    )
    many = 123_456_789_012_345_678_901_234
    value = b"\x14" + many.to_bytes(10, "big") + b"\x04" + (15_000).to_bytes(2, "big")
    value += struct.pack("<dd", math.nan, -math.inf)
    disk, file = Disk(tmp_path / "logs"), tmp_path / "x.csv"
    disk.append("orders-0", [Record(0, 1, b"k", value)])
    last = ("--value-format", f"avro:{tmp_path}/r.avsc")
    query = "select value from orders"
    if road == "sql":
        [found] = [row["value"] for row in run("sql", disk.path, query, *last).lines]
    elif road == "dump":
        [found] = [row["value"] for row in run("dump", disk.path, "--json", *last).lines]
    else:
        if road == "export csv":
            done = run("export", disk.path, file, *last)
        else:
            done = run("sql", disk.path, query, "--to", file, *last)
        assert done.code == 0, done.err
        [row] = csv.DictReader(io.StringIO(file.read_text()))
        found = json.loads(row["value"])
    few = 1.5 if road.startswith("sql") else "1.5000"
    wanted = {"many": "12345678901234567890.1234", "few": few, "nan": "NaN", "end": "-Infinity"}
    assert found == wanted
