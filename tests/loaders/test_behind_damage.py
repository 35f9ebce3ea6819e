"""Records that follow damage: every answer counts those that a scan reads, with the same end."""

from pathlib import Path
from typing import Final

import pytest

import workbench as wb
from tests import naive
from tests.cli.program import run
from tests.naive import Record
from widgets.view.segments import strip_columns
from workbench.pipelines import to_table

RECORDS: Final = 100
LOST: Final = 10  # its batch is zeros
PLACES: Final = (100, 50)  # how many records the first segment has


@pytest.fixture(name="log", params=PLACES)
def log_(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A log directory in which the batch at offset 10 was overwritten by zeros."""
    batches = [
        naive.batch([Record(at, 1_700_000_000_000 + at, b"k%d" % at, b"v%d" % at)])
        for at in range(RECORDS)
    ]
    batches[LOST] = bytes(len(batches[LOST]))
    folder = tmp_path / "logs" / "u-0"
    folder.mkdir(parents=True)
    for base in range(0, RECORDS, request.param):
        data = b"".join(batches[base : base + request.param])
        (folder / f"{base:020}.log").write_bytes(data)
    return folder.parent


@pytest.mark.filterwarnings("ignore::workbench.CorruptDataWarning")
def test_every_count_is_that_of_the_records_that_are_read(log: Path, tmp_path: Path) -> None:
    left = RECORDS - 1
    logs = wb.open_log_directory(log)
    assert logs.scan().count() == left
    assert logs.scan(isolation_level="read_committed").count() == left
    (row,) = logs.inspect.record_counts().to_pylist()
    assert logs.sql("select count(*) from u").fetchall() == [(left,)]
    (loaded,) = to_table(log, tmp_path / "lake").to_pylist()
    assert (row["records"], row["records_read_committed"]) == (left, left)
    assert (row["log_start_offset"], row["log_end_offset"]) == (0, RECORDS)
    assert (loaded["records"], loaded["damaged"], loaded["log_end_offset"]) == (left, 1, RECORDS)
    (partition,) = run("ls", log, "--records", "--json").json["partitions"]
    assert (partition["records"], partition["log_end_offset"]) == (left, RECORDS)
    told = run("describe", log, "-p", "u-0", "--json").json
    assert (told["records"], told["records_read_committed"]) == (left, left)
    assert sum(each["records"] for each in told["segments"]) == left
    assert len(run("dump", log, "--json").lines) == left
    assert f"{left} records" in strip_columns("u-0", logs["u-0"], {})["about"]


def test_an_answer_says_where_a_broker_stops(log: Path) -> None:
    partition = wb.open_log_directory(log)["u-0"]
    is_one_segment = len(partition.segments) == 1
    stops = LOST if is_one_segment else RECORDS
    assert (partition.broker_log_end_offset, partition.log_end_offset) == (stops, RECORDS)
    told = run("describe", log, "-p", "u-0", "--json").json
    assert (told["broker_log_end_offset"], told["log_end_offset"]) == (stops, RECORDS)


def test_the_fate_of_an_offset_behind_damage_is_a_record(log: Path) -> None:
    partition = wb.open_log_directory(log)["u-0"]
    assert partition.fate(30).fate == "record"
    assert partition.fate(LOST).fate == "damaged"
    assert partition.fate(RECORDS).fate == "end"
    fates = run("offset", log, "u-0", "30", "--json").json
    assert fates["fate"] == "record"
    (record,) = run("dump", log, "--offsets", "30", "--json").lines
    assert record["offset"] == 30
