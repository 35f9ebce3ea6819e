"""What a log of unknown origin makes the engine raise says where, and is an error of ours."""

import struct
from pathlib import Path

import pytest

import workbench as wb
from tests import mutations
from workbench.errors import CorruptLogError, CorruptRecordError, OffsetOutOfRangeError
from workbench.log.damage import raise_as_corrupt
from workbench.log_manager.manager import LogManager

NOW = 1_800_000_000_000
COMPACT = {"cleanup.policy": "compact"}


@pytest.mark.parametrize("error", [
    ValueError("too far"), OverflowError("too far"), IndexError("too far"), struct.error("too far"),
])  # fmt: skip
def test_low_level_errors_say_where(error: Exception) -> None:
    with (
        pytest.raises(CorruptLogError, match="orders-0: cannot be loaded: too far") as caught,
        raise_as_corrupt("orders-0", "loaded"),
    ):
        raise error
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [
    OffsetOutOfRangeError(1, 2, 3, "orders-0"), OSError(5, "broken"), TypeError("ours"),
])  # fmt: skip
def test_other_errors_pass(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, raise_as_corrupt("orders-0", "loaded"):
        raise error
    assert caught.value is error


def test_a_file_without_an_offset_keeps_a_log_manager_from_starting(tmp_path: Path) -> None:
    path = mutations.build(tmp_path / "data", lambda folder: (folder / "x.log").touch())
    with pytest.raises(wb.WorkbenchError, match=r"x\.log: the name begins with 'x', expected"):
        LogManager([path]).startup()


def test_offsets_below_their_segment_keep_a_log_manager_from_starting(tmp_path: Path) -> None:
    path = mutations.build(tmp_path / "data", mutations.field(54, -1, "base_offset", 0))
    with pytest.raises(CorruptLogError, match=r"54\.log: no offset is too far above"):
        LogManager([path]).startup()


def test_a_producer_id_below_none_is_none(tmp_path: Path) -> None:
    path = mutations.build(tmp_path / "data", mutations.field(54, -1, "producer_id", -5))
    row = wb.open_log_directory(path).predict_startup()["bad-0"]
    assert (row.verdict, row.bytes_cut, row.log_end_offset) == ("recovers", 0, 72)


def test_a_batch_that_cannot_be_written_anew_is_named(tmp_path: Path) -> None:
    path = mutations.build(tmp_path / "data", mutations.field(36, 0, "producer_id", 5))
    mutations.with_recovery_points(path)
    partition = wb.open_log_directory(path)["bad-0"]
    with pytest.raises(CorruptRecordError, match=r"36\.log at byte 0: .* epoch"):
        partition.plan_cleaning(COMPACT, now=NOW, everything=True)
    fates = wb.what_if(path, COMPACT, now=NOW)
    assert "36.log at byte 0" in fates["bad-0"].cleaning
    assert fates["good-0"].dropped_records > 0


def test_a_timestamp_at_the_end_of_time_is_never_due(tmp_path: Path) -> None:
    change = mutations.field(54, -1, "max_timestamp", 2**63 - 1)
    path = mutations.build(tmp_path / "data", change)
    explanation = wb.open_log_directory(path)["bad-0"].explain_retention(now=NOW)
    due = explanation.to_arrow()["due"].to_pylist()
    assert due[-1] is None


def test_a_partition_that_waits_for_its_end_can_be_scanned_by_its_name(tmp_path: Path) -> None:
    name = f"t-0.{'0' * 32}-delete"
    path = mutations.build(tmp_path / "data", lambda folder: folder.rename(folder.parent / name))
    logs = wb.open_log_directory(path)
    assert name in logs
    assert logs.scan(partitions=name).count() == logs.scan(partitions="good-0").count() > 0
    assert logs.scan().count() == logs.scan(partitions="good-0").count()
