"""Reading a log: up to where, from where, how much, and which transactions to leave out."""

from pathlib import Path

import pytest

from tests.log.folder import batch
from tests.log.logs import (
    NOW,
    LogHome,
    bases,
    end_transaction,
    every_offset,
    in_transaction,
    offsets,
    values,
)
from workbench.errors import OffsetOutOfRangeError
from workbench.files.indexes.transaction_index import AbortedTxn
from workbench.log.fetch import LogOffsetMetadata
from workbench.record.memory_records import MemoryRecords

ONE = values(1).size


def test_each_isolation_reads_up_to_its_bound(tmp_path: Path) -> None:
    """UL-4."""
    log = LogHome(tmp_path).open()
    log.append_as_leader(values(3))
    log.append_as_leader(in_transaction(1, 0, 2))
    log.append_as_leader(values(2))
    log.update_high_watermark(5)
    assert (log.last_stable_offset, log.high_watermark, log.log_end_offset) == (3, 5, 7)
    assert offsets(log.read(0)) == list(range(7))
    assert offsets(log.read(0, isolation="high_watermark")) == list(range(5))
    assert offsets(log.read(0, isolation="read_committed")) == list(range(3))
    at_bound = {"log_end": 7, "high_watermark": 5, "read_committed": 3}
    for isolation, bound in at_bound.items():
        found = log.read(bound, isolation=isolation)  # type: ignore[arg-type]
        assert found.size == 0
        assert found.offset_metadata.offset == bound
        assert found.offset_metadata.segment_base_offset == 0
        expected = log.segments[0].translate_offset(bound)
        position = log.size if expected is None else expected.position
        assert found.offset_metadata.position == position


def test_behind_a_bound_there_is_nothing_but_the_place(tmp_path: Path) -> None:
    """UL-4, LL-8."""
    log = LogHome(tmp_path).open()
    for _ in range(5):
        log.append_as_leader(values(1))
    log.update_high_watermark(2)
    found = log.read(4, isolation="high_watermark")
    assert found.size == 0
    assert found.offset_metadata == LogOffsetMetadata(4, 0, 4 * ONE)
    assert found.aborted_transactions is None
    committed = log.read(4, isolation="read_committed")
    assert committed.size == 0
    assert committed.aborted_transactions == ()


def test_the_end_of_a_log_can_be_read_and_nothing_beyond(tmp_path: Path) -> None:
    """UL-7."""
    home = LogHome(tmp_path)
    log = home.open(log_start_offset=1024)
    log.append_as_leader(values(1))
    assert log.read(1025).size == 0
    for offset in (0, 1023, 1026):
        with pytest.raises(OffsetOutOfRangeError) as caught:
            log.read(offset)
        assert str(offset) in str(caught.value)


def test_a_read_from_a_gap_begins_behind_it(tmp_path: Path) -> None:
    """UL-8: in a segment and over its end."""
    log = LogHome(tmp_path).open()
    for number in (0, 1, 5):
        log.append_as_follower(batch(number))
    log.roll()
    for number in (20, 30):
        log.append_as_follower(batch(number))
    assert bases(log) == [0, 6]
    for start, first in ((0, 0), (2, 5), (5, 5), (6, 20), (19, 20), (21, 30)):
        assert offsets(log.read(start))[0] == first
    assert every_offset(log) == [0, 1, 5, 20, 30]


def test_one_batch_is_given_whole_when_asked_for(tmp_path: Path) -> None:
    """UL-9."""
    log = LogHome(tmp_path).open()
    for _ in range(10):
        log.append_as_leader(values(2))
    for start in range(20):
        whole = log.read(start, 1)
        assert offsets(whole) == [start // 2 * 2, start // 2 * 2 + 1]
        assert not whole.first_entry_incomplete
        cut = log.read(start, 1, min_one_message=False)
        assert (cut.size, cut.first_entry_incomplete) == (1, True)
        nothing = log.read(start, 0, min_one_message=False)
        assert (nothing.size, nothing.records.size) == (0, 0)


def test_a_compressed_batch_is_given_whole(tmp_path: Path) -> None:
    """UL-10."""
    log = LogHome(tmp_path).open()
    for number in (0, 2, 4):
        records = [(NOW, b"k%d" % each, b"v") for each in (number, number + 1)]
        log.append_as_leader(MemoryRecords.of(*records, codec="gzip"))
    assert [offsets(log.read(start))[0] for start in range(6)] == [0, 0, 2, 2, 4, 4]


def test_nothing_is_read_past_the_high_watermark_after_a_roll(tmp_path: Path) -> None:
    """UL-3."""
    log = LogHome(tmp_path).open()

    def read(start: int) -> list[int]:
        return offsets(log.read(start, isolation="high_watermark"))

    log.append_as_leader(values(1))
    log.update_high_watermark(0)
    assert read(0) == []
    for _ in range(2):
        log.append_as_leader(values(1))
    log.update_high_watermark(3)
    assert read(0) == [0, 1, 2]
    log.roll()
    assert read(0) == [0, 1, 2]
    assert read(3) == []
    assert log.watermarks.high_metadata() == LogOffsetMetadata(3, 3, 0)
    log.append_as_leader(values(1))
    assert read(3) == []


def test_the_last_stable_offset_bounds_what_is_committed(tmp_path: Path) -> None:
    """UL-5."""
    log = LogHome(tmp_path).open()
    log.append_as_leader(in_transaction(1, 0, 5))
    log.append_as_leader(values(3))
    log.append_as_leader(in_transaction(2, 0, 2))
    log.append_as_leader(in_transaction(1, 5, 3))

    def stable() -> int:
        (last,) = offsets(log.read(0, isolation="read_committed"))[-1:] or [-1]
        assert log.last_stable_offset == last + 1
        return log.last_stable_offset

    log.update_high_watermark(log.log_end_offset)
    assert stable() == 0
    end_transaction(log, 1, commit=True)
    assert stable() == 0
    log.update_high_watermark(log.log_end_offset)
    assert stable() == 8
    end_transaction(log, 2, commit=False)
    assert stable() == 8
    log.update_high_watermark(log.log_end_offset)
    assert stable() == log.log_end_offset == 15


def test_an_aborted_transaction_over_segments_is_told(tmp_path: Path) -> None:
    """UL-11."""
    size = in_transaction(1, 0).size
    log = LogHome(tmp_path, {"segment.bytes": 5 * size}).open()
    for sequence in range(10):
        log.append_as_leader(in_transaction(1, sequence))
    end_transaction(log, 1, commit=False)
    assert bases(log) == [0, 5, 10]
    log.update_high_watermark(11)
    found = log.read(0, 1000, isolation="read_committed")
    assert found.aborted_transactions == (AbortedTxn(1, 0, 10, 11),)
    assert offsets(found) == [0, 1, 2, 3, 4]
    later = log.read(5, 1000, isolation="read_committed")
    assert [each.first_offset for each in later.aborted_transactions or ()] == [0]


def test_aborted_transactions_of_a_part_come_from_its_index_bound(tmp_path: Path) -> None:
    """TX-4: those that begin after what was read are not reported."""
    log = LogHome(tmp_path, {"index.interval.bytes": 1}).open()
    for producer in (1, 2, 3):
        log.append_as_leader(in_transaction(producer, 0))
        end_transaction(log, producer, commit=False)
    log.update_high_watermark(6)
    first = log.read(0, 1, isolation="read_committed")
    assert [each.producer_id for each in first.aborted_transactions or ()] == [1]
    everything = log.read(0, isolation="read_committed")
    assert [each.producer_id for each in everything.aborted_transactions or ()] == [1, 2, 3]
    whole_segment = log.collect_aborted_transactions(2, 4)
    assert whole_segment == [AbortedTxn(1, 0, 1, 2), AbortedTxn(2, 2, 3, 4)]


def test_an_offset_beyond_the_log_has_no_place(tmp_path: Path) -> None:
    """UL-58."""
    log = LogHome(tmp_path).open()
    for _ in range(3):
        log.append_as_leader(values(1))
    assert log.watermarks.locate(1) == LogOffsetMetadata(1, 0, ONE)
    for offset in (4, 1000):
        assert log.watermarks.locate(offset) == LogOffsetMetadata(offset, -1, -1)
    log.truncate_fully_and_start_at(10)
    assert log.watermarks.locate(5) == LogOffsetMetadata(5, -1, -1)


def test_what_is_deleted_while_it_is_read_can_be_read_to_its_end(tmp_path: Path) -> None:
    home = LogHome(tmp_path)
    log = home.open()
    log.append_as_leader(values(3))
    log.roll()
    found = log.read(0)
    log.update_high_watermark(3)
    log.delete_records(3)
    log.delete_old_segments()
    assert offsets(found) == [0, 1, 2]
    with pytest.raises(OffsetOutOfRangeError):
        log.read(0)
