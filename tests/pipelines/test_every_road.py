"""One planted directory is the same, cell by cell, on every road that reads it."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.cli.program import run
from tests.every_road import (
    COLUMNS,
    EVERYTHING,
    FIELDS,
    OBJECTS,
    TYPED,
    Row,
    as_rows,
    milliseconds,
    plant,
    require_same,
    rows_of,
    wanted,
)
from tests.pipelines.planted import Place
from workbench.errors import CorruptDataWarning
from workbench.pipelines import to_table

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{CorruptDataWarning.__module__}.CorruptDataWarning"
)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("every") / "logs")


def by_scan(logs: Path, _folder: Path) -> list[Row]:
    scan = wb.open_log_directory(logs).scan(isolation_level="read_committed", columns=COLUMNS)
    return rows_of(scan.to_arrow())


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
    lines = exported(logs, folder / "x.jsonl", *options).read_text().splitlines()
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
    [by_scan, by_polars, by_duckdb, by_sql, by_parquet, by_csv, by_json_lines],
    ids=lambda f: f.__name__,
)
def test_a_road_gives_what_a_consumer_gets(road: Any, logs: Path, tmp_path: Path) -> None:
    require_same(road(logs, tmp_path), wanted(EVERYTHING))


@pytest.mark.parametrize("form", ["parquet", "delta", "iceberg"])
def test_a_table_has_what_a_consumer_gets(form: str, logs: Path, tmp_path: Path) -> None:
    lake = Place(form, tmp_path / "lake")
    to_table(logs, **lake.arguments, columns=COLUMNS)
    require_same(rows_of(lake.table()), wanted(EVERYTHING))


@pytest.mark.parametrize("road", ["scan", "polars", "duckdb", "sql", "parquet", "json lines"])
def test_a_road_gives_every_field_of_json(road: str, logs: Path, tmp_path: Path) -> None:
    directory = wb.open_log_directory(logs)
    scan = directory.scan("json", columns=["offset", "value"], decode="json")
    options = "-t", "json", "--value-format", "json"
    if road == "parquet":
        from pyarrow.parquet import read_table

        found = read_table(exported(logs, tmp_path / "x.parquet", *options))["value"].to_pylist()
    elif road == "json lines":
        lines = exported(logs, tmp_path / "x.jsonl", *options).read_text().splitlines()
        for line, value in zip(lines, OBJECTS, strict=True):  # as they are: JSON has no types
            assert json.loads(line)["value"] == value
        return
    elif road == "scan":
        found = scan.to_arrow()["value"].to_pylist()
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
