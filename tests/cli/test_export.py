import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.cli.program import run
from tests.golden.cases import Case
from workbench.log_directory import open_log_directory

Golden = Callable[[str], Case]


@pytest.fixture
def directory(golden: Golden) -> Any:
    return golden("4.2.0-plain-java").directory("data")


def test_parquet_holds_what_a_scan_gives(directory: Path, tmp_path: Path) -> None:
    target = tmp_path / "records.parquet"
    outcome = run("export", directory, "--to", target, "--json")
    expected = open_log_directory(directory).scan().to_arrow()
    assert pq.read_table(target).equals(expected)
    assert outcome.json["records"] == expected.num_rows
    assert outcome.json["size"] == target.stat().st_size
    assert outcome.json["findings"] == []


def test_json_lines_are_those_of_dump(directory: Path, tmp_path: Path) -> None:
    target = tmp_path / "records.jsonl"
    assert run("export", directory, "--to", target).code == 0
    assert target.read_text() == run("dump", directory, "--json").out
    assert run("export", directory, "--to", "-", "--format", "jsonl").out == target.read_text()
    run("export", directory, "--to", target, "--overwrite", "--limit", "5")
    assert len(target.read_text().splitlines()) == 5


@pytest.mark.parametrize("text", ["utf8", "hex"])
def test_csv_keeps_null_apart_from_empty(text: str, directory: Path, tmp_path: Path) -> None:
    target = tmp_path / "records.csv"
    assert run("export", directory, "--to", target, "--text", text).code == 0
    records = run("dump", directory, "--json").lines
    content = target.read_text(encoding="utf-8")
    with target.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(records)
    for row, record in zip(rows, records, strict=True):
        assert row["offset"] == str(record["offset"])
        value = record["value"] or ""
        shown = (
            bytes.fromhex(value).decode("utf-8", "backslashreplace") if text == "utf8" else value
        )
        assert row["value"] == shown
        assert len(json.loads(row["headers"])) == len(record["headers"])
    nulls = sum(record["key"] is None for record in records)
    assert nulls
    assert content.count('"CreateTime",,') == nulls


def test_columns_ranges_and_isolation_are_those_of_a_scan(golden: Golden, tmp_path: Path) -> None:
    directory = golden("4.2.0-txn").directory("data")
    target = tmp_path / "records.parquet"
    run(
        "export", directory, "--to", target, "-t", "txn-a", "--offsets", "2:40",
        "--isolation-level", "read_committed", "--columns", "partition,offset,producer_id",
    )  # fmt: skip
    expected = open_log_directory(directory).scan(
        topics="txn-a",
        offsets=(2, 40),
        isolation_level="read_committed",
        columns=["partition", "offset", "producer_id"],
    )
    assert pq.read_table(target).equals(expected.to_arrow())


def test_a_file_that_is_there_is_not_replaced_unless_told(directory: Path, tmp_path: Path) -> None:
    target = tmp_path / "records.csv"
    target.write_text("precious")
    refused = run("export", directory, "--to", target)
    assert refused.code == 3
    assert target.read_text() == "precious"
    assert run("export", directory, "--to", target, "--overwrite").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["records.csv"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--to", "records.xlsx"),
        ("--to", "-", "--format", "parquet"),
        ("--to", "r.csv", "--columns", "offset,no_such"),
        ("--to", "r.jsonl", "--columns", "offset"),
        ("--to", "no/such/folder/r.csv"),
    ],
)
def test_what_cannot_be_written_is_refused(
    arguments: tuple[str, ...], directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("export", directory, *arguments)
    assert outcome.code == 3
    assert outcome.err
    assert list(tmp_path.iterdir()) == []
