import csv
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.cli.program import run
from tests.golden.cases import Case
from tests.naive import Record, batch
from workbench.errors import OutputError
from workbench.log_directory import open_log_directory
from workbench.log_manager.manager import LogManager

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
    options = ("--text", text, "--no-escape-formulas")
    assert run("export", directory, "--to", target, *options).code == 0
    records = run("dump", directory, "--json", "--key-format", "hex", "--value-format", "hex").lines
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


def test_the_last_path_is_the_file_when_none_is_named(directory: Path, tmp_path: Path) -> None:
    named, last = tmp_path / "named.jsonl", tmp_path / "last.jsonl"
    assert run("export", directory, "--to", named).code == 0
    assert run("export", directory, last).code == 0
    assert last.read_bytes() == named.read_bytes()
    assert "FILE is missing" in run("export", directory).err


def test_nothing_is_written_among_the_logs_that_are_read(directory: Path, tmp_path: Path) -> None:
    copy = tmp_path / "data"
    shutil.copytree(directory, copy)
    log = next(copy.glob("*/*.log"))
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    (tmp_path / "link").symlink_to(copy)
    os.link(log, tmp_path / "same.csv")
    for source, target in (
        (copy, copy / "new.csv"),
        (copy, tmp_path / "link" / "new.csv"),
        (copy, log),
        (log, log),
        (log.parent, tmp_path / "same.csv"),
    ):
        outcome = run("export", source, "--to", target, "--overwrite", "--format", "csv")
        assert outcome.code == 3
        assert "must not be inside the input" in outcome.err
    with pytest.raises(OutputError, match="must not be inside the input"):
        open_log_directory(copy).scan().to_parquet(copy / "new.parquet")
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before
    assert run("export", log, "--to", log.parent / "beside.csv").code == 0


def test_an_export_does_not_write_through_a_link(directory: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    for name in ("records.csv", "records.parquet"):
        (tmp_path / f"{name}.unfinished").symlink_to(precious)
        assert run("export", directory, "--to", tmp_path / name).code == 0
    open_log_directory(directory).scan().to_parquet(tmp_path / "records.parquet")
    assert precious.read_text() == "precious"


def test_a_failed_export_leaves_no_file(tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "sample_data" / "damaged" / "flipped-byte-0"
    target = tmp_path / "records.parquet"
    outcome = run("export", folder, "--to", target, "--compression", "no-such")
    assert outcome.code == 3
    assert list(tmp_path.iterdir()) == []


FORMULAS = (b"=1+1", b"+cmd|' /C calc'!A0", b"-2+3", b"@SUM(A1)", b"\t=1", b"\r=1")
PLAIN = (b"-5", b"+49", b"-1.5e3", b"orders", b"", b"a=b", b"'=1")


def test_text_is_no_formula_in_a_spreadsheet(tmp_path: Path) -> None:
    values = [*FORMULAS, *PLAIN, None]
    with LogManager([str(tmp_path / "logs")]) as manager:
        log = manager.get_or_create_log("-orders-0")
        log.append([(b"=key", value) for value in values])
    for options, keys in (((), "'=key"), (("--no-escape-formulas",), "=key")):
        target = tmp_path / f"records{len(options)}.csv"
        assert run("export", tmp_path / "logs", "--to", target, *options).code == 0
        with target.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        escaped = [value.decode() if options else f"'{value.decode()}" for value in FORMULAS]
        assert [row["value"] for row in rows] == [*escaped, *(v.decode() for v in PLAIN), ""]
        assert {row["key"] for row in rows} == {keys}
        assert {row["topic"] for row in rows} == {"-orders" if options else "'-orders"}
    target = tmp_path / "numbers.csv"
    columns = ("--columns", "offset,partition_leader_epoch,value")
    assert run("export", tmp_path / "logs", "--to", target, *columns).code == 0
    assert target.read_text().splitlines()[1].startswith("0,")
    assert "spreadsheet" in run("export", "--help").out


def test_a_time_has_one_form_in_text_json_csv_and_sql(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    stored = [Record(0, 1_732_494_011_411, b"k", b"v"), Record(1, 300_000_000_000_000, b"k", b"v")]
    (tmp_path / "orders-0" / f"{0:020}.log").write_bytes(batch(stored))
    time = "2024-11-25T00:20:11.411Z"
    text = run("dump", tmp_path, "--format", "text", "--no-batches").out.splitlines()
    assert time in text[-2]
    assert [
        (each["timestamp"], each["time"]) for each in run("dump", tmp_path, "--json").lines
    ] == [
        (1_732_494_011_411, time),
        (300_000_000_000_000, None),
    ]
    written = run("export", tmp_path, "-", "--format", "csv", "--columns", "timestamp").out
    assert written.splitlines()[1].strip('"') == time
    query = 'select timestamp from orders where "offset" = 0'
    assert run("sql", tmp_path, query, "--json").json == [{"timestamp": time}]
    assert run("sql", tmp_path, query, "--format", "csv").out.splitlines() == ["timestamp", time]
