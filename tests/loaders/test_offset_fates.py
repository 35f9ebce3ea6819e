"""What became of an offset: planted truths, the command, and what is asked for wrongly."""

import datetime as dt
import shutil
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.cli.program import run
from tests.field.cases import open_field_case

SAMPLES = Path(__file__).parents[2] / "sample_data"
DAMAGED = SAMPLES / "damaged"


def _runs(partition: Any) -> list[tuple[int, int, str]]:
    rows = partition.fates().to_pylist()
    return [(row["first_offset"], row["last_offset"], row["fate"]) for row in rows]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("healthy-0", [(0, 71, "record")]),
        ("flipped-byte-0", [(0, 23, "record"), (24, 26, "damaged"), (27, 71, "record")]),
        ("torn-tail-0", [(0, 68, "record")]),
    ],
)
def test_planted_damage_takes_the_offsets_of_its_batch(
    name: str, expected: list[tuple[int, int, str]]
) -> None:
    assert _runs(wb.open_log_directory(DAMAGED)[name]) == expected


def test_a_removed_segment_is_missing_and_consumers_pass_it() -> None:
    partition = wb.open_log_directory(DAMAGED)["missing-segment-0"]
    bases = [segment.base_offset for segment in partition.segments]
    (gap,) = [run for run in _runs(partition) if run[2] == "missing"]
    assert gap[1] + 1 in bases
    answer = partition.fate(gap[0])
    assert answer.read_committed.outcome == "gets"
    assert answer.read_committed.next_offset == gap[1] + 1
    assert "compare-replicas" in answer.advice


def test_deleted_records_are_below_the_log_start(tmp_path: Path) -> None:
    case = open_field_case("how-many-messages", tmp_path)
    partition = wb.open_log_directory(case.data)["events-0"]
    assert _runs(partition) == [(0, 32, "deleted"), (33, 59, "record")]
    found = partition.fate(32)
    assert "DeleteRecords" in found.run.why
    assert "dump --everything --offsets 32" in found.advice
    assert found.read_committed.outcome == "out-of-range"
    assert "continues at 33 with auto.offset.reset=earliest, at 60 with latest" in (
        found.read_uncommitted.why
    )
    offset = run("dump", case.data, "-p", "events-0", "--everything", "--offsets", "32").lines
    assert [each["offset"] for each in offset] == [32]


def test_what_compaction_took_is_found_in_a_file_that_waits_for_deletion(tmp_path: Path) -> None:
    shop, cleaned = SAMPLES / "shop-4.3.1", tmp_path / "cleaned"
    before = wb.open_log_directory(shop)["customers-0"]
    outcome = run("compact", shop, "--to", cleaned, "-t", "customers", "--now", "1800000000000")
    assert outcome.code == 0, outcome.err
    first = before.segments[0]
    kept = cleaned / "customers-0" / f"{first.base_offset:020}.log.deleted"
    shutil.copy(first.path, kept)
    after = wb.open_log_directory(cleaned)
    old = wb.open_log_directory(first.path).scan(columns=["offset", "key"])
    newest = {row["key"]: row["offset"] for row in after.scan("customers", partitions=0)}
    superseded = [row for row in old if newest.get(row["key"], -1) > row["offset"]]
    assert superseded
    for row in superseded[:5]:
        told = after["customers-0"].fate(row["offset"])
        assert (told.fate, told.run.path) == ("compacted", str(kept))
        assert f"the newest record of its key is at offset {newest[row['key']]}" in told.run.why


def test_the_command_says_what_the_call_says() -> None:
    logs = wb.open_log_directory(SAMPLES / "shop-4.3.1")
    answer = logs["payments-0"].fate(4738)
    told = run("offset", "payments-0", "4738", SAMPLES / "shop-4.3.1", "--json").json
    assert told.pop("record")["offset"] == 4738
    assert told == answer.as_dict()
    assert (told["fate"], told["read_committed"]["outcome"]) == ("open", "waits")
    assert told["read_committed"]["next_offset"] == 4738
    rows = run("offset", "customers-0", ":", SAMPLES / "shop-4.3.1", "--json", "--gaps").json
    every = logs["customers-0"].fates().to_pylist()
    assert rows == [row for row in every if row["fate"] == "compacted"]
    gaps = logs.inspect.gaps(topics="customers", partitions=0).to_pylist()
    assert gaps == rows
    shown = run("offset", "payments-0", "0:10", SAMPLES / "shop-4.3.1").out
    assert "control" in shown


def test_the_command_takes_a_time_for_the_first_offset_at_or_after_it() -> None:
    shop = SAMPLES / "shop-4.3.1"
    logs = wb.open_log_directory(shop)
    rows = logs.scan(topics="orders", partitions=0, columns=["offset", "timestamp"]).to_pylist()
    day = dt.datetime(2024, 11, 28, tzinfo=dt.UTC)
    wanted = next(row["offset"] for row in rows if row["timestamp"] >= day)
    for time in ("2024-11-28", "2024-11-28T00:00", "2024-11-28T00:00:00Z"):
        told = run("offset", "orders-0", time, shop, "--json")
        fate = told.json
        assert fate.pop("record")["offset"] == wanted
        assert (told.code, fate) == (0, logs["orders-0"].fate(wanted).as_dict())
        assert f"offset {wanted:,} is the first at or after 2024-11-28T00:00" in told.err
    late = run("offset", "orders-0", "2025-01-01", shop)
    assert (late.code, late.out) == (1, "")
    assert "a broker finds no offset at or after 2025-01-01" in late.err


def test_a_number_past_the_end_that_is_a_time_in_ms_is_taken_as_one(tmp_path: Path) -> None:
    case = open_field_case("time-lookup", tmp_path)
    for time, offset in case.truth["offsets_for_times"].items():
        told = run("offset", "events-0", time, case.data, "--json")
        assert f"{time} is past the log end offset 600, and taken as a time" in told.err
        if offset < 0:
            assert (told.code, told.out) == (1, "")
            continue
        assert (told.code, told.json["record"]["offset"]) == (0, offset)
        until = told.err.split()[-1]  # records after it may be older
        older = run(
            "dump", case.data, "-p", "events-0", "--offsets", f"{offset}:", "--until", until
        )
        assert len(older.lines) == case.truth["early"][time]
    for number in ("601", "1764000100"):  # offsets that no log has yet; the second may be one
        assert run("offset", "events-0", number, case.data, "--json").json["fate"] == "beyond"


def test_what_is_no_offset_is_refused() -> None:
    shop = SAMPLES / "shop-4.3.1"
    assert "ten is not" in run("offset", "orders-0", "ten", shop).err.replace("'", "")
    assert "did you mean orders-0" in run("offset", "ordrs-0", "1", shop).err
    with pytest.raises(ValueError, match="below 0"):
        wb.open_log_directory(shop)["orders-0"].fate(-1)
