"""`kafka-workbench to-table` loads what is new, and says what became of every offset."""

from pathlib import Path

import pytest

from tests.cli.program import run
from tests.naive import Record, batch
from tests.pipelines.planted import Disk, orders, rows_of


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    made = Disk(tmp_path / "broker")
    made.append("orders-0", orders(0, 20))
    return made


def test_a_second_run_loads_what_is_new(disk: Disk, tmp_path: Path) -> None:
    arguments = ("to-table", disk.path, "--to", tmp_path / "t", "--value-format", "json")
    first = run(*arguments)
    assert first.code == 0
    assert first.out == (
        "topic   partition  before  records  log end offset\n"
        "orders          0       0       20              20\n"
    )
    assert first.err == f"kafka-workbench: 20 records loaded into {tmp_path / 't'}\n"
    disk.append("orders-0", orders(20, 23))
    (row,) = run(*arguments, "--json").json
    assert (row["before"], row["records"], row["log_end_offset"]) == (20, 3, 23)
    assert [number for (number,) in rows_of(tmp_path / "t", "number")] == list(range(23))


def test_an_upsert(disk: Disk, tmp_path: Path) -> None:
    disk.append("orders-0", [Record(20, 1, b"k0", None)])
    (row,) = run("to-table", disk.path, "--to", tmp_path / "t", "--upsert", "--json").json
    assert (row["records"], row["superseded"], row["tombstones"]) == (6, 14, 1)
    assert len(rows_of(tmp_path / "t")) == 6


def test_topics_that_are_left_out_are_told_where_there_are_no_others(tmp_path: Path) -> None:
    log = tmp_path / "broker" / "__consumer_offsets-0"
    log.mkdir(parents=True)
    (log / f"{0:020d}.log").write_bytes(batch([Record(0)]))
    outcome = run("to-table", tmp_path / "broker", "--to", tmp_path / "t")
    assert "--topic NAME loads one" in outcome.err


def test_a_mistake_is_told(disk: Disk, tmp_path: Path) -> None:
    outcome = run("to-table", disk.path, "--to", tmp_path / "t", "-X", "nothing")
    assert outcome.code == 3
    assert "-X 'nothing' is not NAME=VALUE" in outcome.err
    assert run("to-table", disk.path, "--to", disk.path / "t").code == 3
