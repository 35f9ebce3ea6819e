"""Up to where consumers may read: high watermark, last stable offset, first unstable offset."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.log.logs import LogHome, end_transaction, in_transaction, sent_by, values
from workbench.errors import OffsetOutOfRangeError
from workbench.files.indexes.transaction_index import AbortedTxn
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords


def fill(log: Log, count: int) -> None:
    for _ in range(count):
        log.append_as_leader(values(1))


def unstable(log: Log) -> int | None:
    return log.first_unstable_offset


def test_appends_do_not_move_the_high_watermark(tmp_path: Path) -> None:
    """UL-1."""
    log = LogHome(tmp_path).open()
    assert log.high_watermark == 0
    log.append_as_leader(values(3))
    assert log.high_watermark == 0
    assert log.update_high_watermark(2) == 2
    assert log.update_high_watermark(50) == 3
    log.append_as_leader(values(3))
    assert log.high_watermark == 3
    log.update_high_watermark(6)
    log.truncate_to(3)
    assert log.high_watermark == 3
    log.truncate_fully_and_start_at(4)
    assert log.high_watermark == 4


def test_a_leader_raises_the_high_watermark_within_its_log(tmp_path: Path) -> None:
    """UL-1."""
    log = LogHome(tmp_path).open()
    log.append_as_leader(values(3))
    log.append_as_leader(values(3))
    assert log.watermarks.increase(LogOffsetMetadata(3)) == LogOffsetMetadata(0, 0, 0)
    assert log.high_watermark == 3
    assert log.watermarks.increase(LogOffsetMetadata(2)) is None
    assert log.watermarks.increase(LogOffsetMetadata(3)) is None
    with pytest.raises(ValueError, match="7 is above the log end offset 6"):
        log.watermarks.increase(LogOffsetMetadata(7))
    assert log.high_watermark == 3


def test_the_same_offset_on_a_newer_segment_is_higher(tmp_path: Path) -> None:
    """UL-1: a roll moves the place of the high watermark."""
    log = LogHome(tmp_path).open()
    log.append_as_leader(values(3))
    log.watermarks.increase(log.local.end)
    log.roll()
    assert log.watermarks.high_metadata() == LogOffsetMetadata(3, 3, 0)
    log.watermarks.update(LogOffsetMetadata(2, 0, 0))  # of another thread, from before the roll
    assert log.watermarks.increase(log.local.end) == LogOffsetMetadata(2, 0, 0)
    assert log.watermarks.high_metadata() == LogOffsetMetadata(3, 3, 0)


def test_a_high_watermark_is_told_when_it_changes(tmp_path: Path) -> None:
    """UL-2: as a follower hears of it; it remains within the log."""
    log = LogHome(tmp_path).open()
    fill(log, 100)

    def changed(offset: int) -> int | None:
        before = log.high_watermark
        now = log.update_high_watermark(offset)
        return None if now == before else now

    assert [changed(offset) for offset in (99, 99, 100, 100, 101)] == [99, None, 100, None, None]


def test_producers_are_listed_with_their_transactions(tmp_path: Path) -> None:
    """UL-6."""
    log = LogHome(tmp_path).open()
    log.append_as_leader(sent_by(1, 0, 3, epoch=15))
    log.append_as_leader(in_transaction(2, 0, 2, epoch=5))
    end_transaction(log, 2, commit=True, epoch=5, coordinator_epoch=8)
    log.append_as_leader(in_transaction(2, 2, epoch=5))
    first, second = (log.producer_state.last_entry(producer) for producer in (1, 2))
    assert first is not None
    assert second is not None
    assert (first.producer_epoch, first.last_sequence) == (15, 2)
    assert (first.current_transaction_first_offset, first.coordinator_epoch) == (None, None)
    assert (second.producer_epoch, second.last_sequence) == (5, 2)
    assert (second.current_transaction_first_offset, second.coordinator_epoch) == (6, 8)


def test_the_first_unstable_offset_waits_for_the_high_watermark(tmp_path: Path) -> None:
    """UL-42."""
    log = LogHome(tmp_path).open()
    assert unstable(log) is None
    log.append_as_leader(in_transaction(1, 0, 3))
    assert unstable(log) == 0
    log.append_as_leader(in_transaction(1, 3, 2))
    assert unstable(log) == 0
    end_transaction(log, 1, commit=True)
    assert unstable(log) == 0
    log.update_high_watermark(5)  # the marker is at 5, so this is not past it
    assert unstable(log) == 0
    log.update_high_watermark(6)
    assert unstable(log) is None


def test_the_first_unstable_offset_moves_to_the_next_transaction(tmp_path: Path) -> None:
    """UL-42."""
    log = LogHome(tmp_path).open()
    log.append_as_leader(in_transaction(1, 0, 3))
    log.append_as_leader(in_transaction(2, 0, 2))
    end_transaction(log, 1, commit=False)
    assert unstable(log) == 0
    log.update_high_watermark(log.log_end_offset)
    assert unstable(log) == 3
    end_transaction(log, 2, commit=True)
    assert unstable(log) == 3
    log.update_high_watermark(log.log_end_offset)
    assert unstable(log) is None


def as_stored(log: Log) -> MemoryRecords:
    """Return all that a log holds, as a follower fetches it."""
    stored = [segment.log.read(0, segment.size) for segment in log.segments]
    return MemoryRecords.copy_of(b"".join(map(bytes, stored)))


def test_a_mixture_of_transactions_fills_the_index(tmp_path: Path) -> None:
    """UL-43: on the leader and on a follower, in appends of one batch or of all."""
    log = LogHome(tmp_path).open()
    log.append_as_leader(in_transaction(1, 0, 5))  # 0-4
    log.append_as_leader(values(3))  # 5-7
    log.append_as_leader(in_transaction(2, 0, 5))  # 8-12
    log.append_as_leader(in_transaction(1, 5, 10))  # 13-22
    log.append_as_leader(values(7))  # 23-29 but for the marker
    end_transaction(log, 1, commit=False)  # 30
    log.append_as_leader(in_transaction(3, 0, 5))  # 31-35
    end_transaction(log, 3, commit=True)  # 36
    log.append_as_leader(in_transaction(4, 0, 30))  # 37-66
    end_transaction(log, 2, commit=False)  # 67
    end_transaction(log, 4, commit=True)  # 68
    expected = [AbortedTxn(1, 0, 30, 8), AbortedTxn(2, 8, 67, 37)]
    assert log.collect_aborted_transactions(0, 69) == expected
    stable = []
    for high in (30, 31, 67, 68, 69):
        log.update_high_watermark(high)
        stable.append(unstable(log))
    assert stable == [0, 8, 8, 37, None]
    follower = LogHome(tmp_path, name="orders-1").open()
    follower.append_as_follower(as_stored(log))
    assert follower.log_end_offset == 69
    assert follower.collect_aborted_transactions(0, 69) == expected
    assert unstable(follower) == 0
    follower.update_high_watermark(69)
    assert unstable(follower) is None
    one_by_one = LogHome(tmp_path, name="orders-2").open()
    fetched = as_stored(log)
    for row in fetched.batches().rows:
        start = int(row["position"])
        one_by_one.append_as_follower(
            MemoryRecords.copy_of(fetched.buffer[start : start + int(row["size"])])
        )
    assert one_by_one.collect_aborted_transactions(0, 69) == expected


def test_the_first_unstable_offset_is_not_before_the_log_start(tmp_path: Path) -> None:
    """UL-44: even in the middle of the transaction's segment, and when that is deleted."""
    log = LogHome(tmp_path).open()
    for sequence in range(8):
        log.append_as_leader(in_transaction(1, sequence))
    log.roll()
    fill(log, 2)
    log.update_high_watermark(log.log_end_offset)
    assert unstable(log) == 0
    log.delete_records(5)
    assert unstable(log) == log.last_stable_offset == 5
    log.delete_records(8)
    log.delete_old_segments()
    assert unstable(log) == log.last_stable_offset == 8
    assert [segment.base_offset for segment in log.segments] == [8]
    end_transaction(log, 1, commit=False)
    log.update_high_watermark(log.log_end_offset)
    assert unstable(log) is None


def test_the_log_start_is_not_above_the_high_watermark(tmp_path: Path) -> None:
    """UL-53."""
    log = LogHome(tmp_path).open()
    fill(log, 10)
    log.update_high_watermark(5)
    with pytest.raises(OffsetOutOfRangeError, match="6"):
        log.delete_records(6)
    assert log.log_start_offset == 0
    assert log.delete_records(5) == 5
    assert log.delete_records(3) == 5


def test_empty_transactions_end_nothing(tmp_path: Path) -> None:
    log = LogHome(tmp_path).open()
    log.append_as_leader(in_transaction(1, 0))
    end_transaction(log, 2, commit=False)
    assert unstable(log) == 0
    assert log.collect_aborted_transactions(0, 10) == []


class Told:
    """What the watermarks should be, found by walking over a plain list of events."""

    def __init__(self) -> None:
        self.events: list[tuple[str, int]] = []

    def first_unstable(self, high: int) -> int | None:
        """Return the start of the first transaction whose end is not below the high watermark."""
        begun: dict[int, int] = {}
        ended: list[tuple[int, int]] = []
        for offset, (kind, producer) in enumerate(self.events):
            if kind == "data":
                begun.setdefault(producer, offset)
            elif kind in ("commit", "abort") and producer in begun:
                ended.append((begun.pop(producer), offset))
        waiting = [first for first, last in ended if last >= high]
        return min([*waiting, *begun.values()], default=None)


@examples(30)
@given(
    events=st.lists(
        st.tuples(st.sampled_from(["data", "data", "commit", "abort", "plain"]), st.integers(1, 3)),
        max_size=25,
    ),
    data=st.data(),
)
def test_the_last_stable_offset_is_that_of_a_plain_walk(
    events: list[tuple[str, int]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """UL-42: over rolls and reopening."""
    home = LogHome(tmp_path_factory.mktemp("log"))
    log = home.open()
    told = Told()
    sequences: dict[int, int] = {}
    for kind, producer in events:
        if kind == "data":
            log.append_as_leader(in_transaction(producer, sequences.get(producer, 0)))
            sequences[producer] = sequences.get(producer, 0) + 1
        elif kind == "plain":
            log.append_as_leader(values(1))
        else:
            end_transaction(log, producer, commit=kind == "commit")
        told.events.append((kind, producer))
        if data.draw(st.booleans()):
            log.roll()
        if data.draw(st.booleans()):
            log.update_high_watermark(data.draw(st.integers(log.high_watermark, len(told.events))))
        assert unstable(log) == told.first_unstable(log.high_watermark)
        first = unstable(log)
        bound = log.high_watermark if first is None else min(first, log.high_watermark)
        assert log.last_stable_offset == bound
    again = home.reopen(log, clean=data.draw(st.booleans()))
    again.update_high_watermark(len(told.events))
    assert unstable(again) == told.first_unstable(len(told.events))
