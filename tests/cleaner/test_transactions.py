"""What a round keeps of producers and transactions."""

from pathlib import Path

import pytest

from tests.cleaner.cleaning import LATER, Cleanable, map_of
from tests.log.logs import NOW
from workbench.cleaner.decisions import Reason
from workbench.record.control import encode_control_key
from workbench.record.memory_records import MemoryRecords


@pytest.fixture
def log(tmp_path: Path) -> Cleanable:
    return Cleanable(tmp_path)


def test_the_last_batch_of_a_producer_stays_even_if_it_is_empty(log: Cleanable) -> None:
    """CL-26."""
    log.append(1)
    log.produce(1, 2)
    log.produce(2, 3)
    log.produce(3, 3)
    log.produce(2, 2)
    log.roll()
    log.clean()
    # Kafka's test cleans records that are superseded; so is offset 1, the last batch of producer 1.
    assert (log.last_offsets, log.offsets) == ([0, 1, 3, 4], [0, 3, 4])


def test_the_last_sequence_stays_though_the_transaction_was_aborted(log: Cleanable) -> None:
    """CL-27."""
    log.within(1, 1)
    log.within(1, 2, 3)
    log.abort(1)
    log.roll()
    log.clean()
    assert (log.last_offsets, log.offsets) == ([2, 3], [3])
    log.within(1, 4)
    log.commit(1)
    log.roll()
    log.clean()
    assert log.last_offsets[0] == 3


def test_committed_records_stay_and_aborted_ones_go(log: Cleanable) -> None:
    """CL-29."""
    log.within(1, 1, 2)
    log.within(2, 2, 3)
    log.within(1, 3, 4)
    log.abort(1)
    log.commit(2)
    log.within(1, 2)
    log.commit(1)
    aborted = log.aborted
    log.roll()
    cleaning = log.clean()
    assert (log.keys, log.offsets) == ([3, 2], [3, 6, 7, 8, 9])
    assert log.aborted == aborted == [(1, 0, 6)]
    assert cleaning.decisions.reason_of(4) == Reason.ABORTED
    assert cleaning.decisions.reason_of(6) == Reason.MARKER_NEEDED


def test_a_commit_marker_goes_when_its_records_are_gone(log: Cleanable) -> None:
    """CL-31."""
    log.within(1, 1)
    log.within(1, 2, 3)
    log.commit(1)
    log.within(1, 2)
    log.commit(1)
    log.roll()
    log.clean()
    assert log.offsets == [0, 2, 3, 4, 5]
    log.within(1, 1, 3)
    log.commit(1)
    log.roll()
    log.clean(6)
    assert log.offsets == [3, 4, 5, 6, 7, 8]
    again = log.clean()
    assert log.offsets == [3, 4, 5, 6, 7, 8]
    assert again.decisions.reason_of(3) == Reason.MARKER_HORIZON_SET
    last = log.clean(now=LATER)
    assert log.offsets == [4, 5, 6, 7, 8]
    assert last.decisions.reason_of(3) == Reason.MARKER_HORIZON_PASSED


def test_an_abort_marker_goes_when_its_records_are_gone(log: Cleanable) -> None:
    """CL-32."""
    log.within(1, 1)
    log.within(1, 2, 3)
    log.abort(1)
    log.within(1, 3)
    log.commit(1)
    log.roll()
    log.clean()
    assert log.offsets == [3, 4, 5]
    log.clean_twice()
    assert log.offsets == [4, 5]


def test_an_abort_marker_stays_with_an_empty_batch_of_its_transaction(log: Cleanable) -> None:
    """CL-33."""
    log.within(1, 2, 3)
    log.abort(1)
    log.roll()
    for clean in (log.clean, log.clean_twice):
        clean()
        assert (log.offsets, log.last_offsets) == ([2], [1, 2])
        assert log.aborted == [(1, 0, 2)]
    log.within(1, 1)
    log.commit(1)
    log.roll()
    log.clean()
    assert log.last_offsets == [2, 3, 4]
    assert log.aborted == [(1, 0, 2)]
    log.clean_twice()
    assert log.offsets == [3, 4]
    assert log.aborted == []


def test_records_and_markers_in_other_segments_belong_together(log: Cleanable) -> None:
    """CL-36: so the marker is kept as long as its batch."""
    log.within(1, 0)
    log.roll()
    log.commit(1)
    log.roll()
    log.clean_twice()
    assert log.offsets == [0, 1]
    log.within(2, 5)
    log.roll()
    log.abort(2)
    log.roll()
    log.clean()
    log.clean(now=2**62)
    assert log.offsets == [0, 1, 3]
    assert log.last_offsets == [0, 1, 2, 3]


def test_a_key_like_that_of_a_marker_does_not_remove_the_marker(log: Cleanable) -> None:
    """CL-38."""
    log.within(1, 1)
    log.abort(1)
    for _ in range(2):
        log.log.append_as_leader(MemoryRecords.of((NOW, encode_control_key(0), b"v")))
    log.append(5)
    log.roll()
    cleaning = log.clean()
    assert 1 in log.offsets
    assert cleaning.decisions.reason_of(1) == Reason.MARKER_NEEDED


def test_rounds_with_a_small_map_come_to_the_end_of_aborted_transactions(log: Cleanable) -> None:
    """CL-18: a chunk that is dropped whole does not end the cleaning."""
    log.within(1, 1)
    log.abort(1)
    log.within(1, 2)
    log.within(1, 2)
    log.commit(1)
    log.roll()
    start = 0
    while start < log.log.active_segment.base_offset:
        start = log.clean(start, offset_map=map_of(4)).stats.end_offset
    assert log.offsets == [1, 3, 4]
    log.clean_twice()
    assert log.offsets == [3, 4]


def test_a_commit_marker_stays_with_an_empty_batch_of_its_transaction(log: Cleanable) -> None:
    """CL-34."""
    log.within(1, 2, 3)
    log.roll()
    log.within(2, 2, 3)
    log.commit(2)
    log.roll()
    log.append_each(2, 3)
    log.commit(1)
    log.roll()
    for now in (NOW, LATER):
        log.clean(now=now)
        assert (log.keys, log.last_offsets) == ([2, 3], [1, 3, 4, 5, 6, 7])
    log.within(2, 1)
    log.commit(2)
    log.roll()
    log.clean()
    assert log.last_offsets == [1, 4, 5, 6, 7, 8, 9]
    log.clean_twice()
    assert (log.keys, log.last_offsets) == ([2, 3, 1], [1, 5, 6, 7, 8, 9])


def test_a_marker_that_is_all_of_a_producer_becomes_an_empty_batch(log: Cleanable) -> None:
    """CL-35: and remains one."""
    log.commit(1)
    log.append_each(2, 3)
    log.roll()
    for _ in range(3):
        log.clean_twice()
        assert (log.keys, log.offsets, log.last_offsets) == ([2, 3], [1, 2], [0, 1, 2])


def test_batches_that_are_sent_again_are_known_after_cleaning(log: Cleanable) -> None:
    """CL-25: though some have lost their records."""
    sent = [(1, (1, 2, 3)), (2, (3, 1, 4)), (3, (1, 4))]
    for producer, keys in sent:
        log.produce(producer, *keys)
    log.roll()
    log.clean()
    assert (log.last_offsets, log.offsets, log.keys) == ([2, 5, 7], [1, 3, 6, 7], [2, 3, 1, 4])
    log.produce(4, 2)
    log.roll()
    log.clean()
    assert (log.last_offsets, log.offsets) == ([2, 5, 7, 8], [3, 6, 7, 8])
    for path in log.home.path.glob("*.snapshot"):
        path.unlink()
    log.log = log.home.reopen(log.log, clean=False)
    for producer, keys in sent:
        records = MemoryRecords.of(
            *[(NOW, b"%d" % key, b"v") for key in keys],
            producer_id=producer, producer_epoch=0, base_sequence=0,
        )  # fmt: skip
        log.log.append_as_leader(records)
    assert log.log.log_end_offset == 9
