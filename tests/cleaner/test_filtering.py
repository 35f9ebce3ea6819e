"""The outcome for the bytes of a batch."""

from pathlib import Path
from typing import Any

import pytest

from tests import naive
from tests.cleaner.cleaning import Cleanable
from tests.log.logs import NOW
from workbench.cleaner.decisions import Reason
from workbench.errors import CleaningAbortedError, CorruptRecordError
from workbench.layout.attributes import CODEC_NAMES
from workbench.record.memory_records import MemoryRecords


def rows(log: Cleanable) -> Any:
    segment = log.log.segments[0]
    return segment.log.read(0, segment.size).batches().rows


@pytest.fixture
def log(tmp_path: Path) -> Cleanable:
    return Cleanable(tmp_path)


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_an_emptied_batch_keeps_producer_sequences_and_times(codec: str, log: Cleanable) -> None:
    """MR-4."""
    log.append(7, 8, 9)
    records = MemoryRecords.of(
        (NOW + 11, b"1", b"v"), (NOW + 12, b"2", b"v"), codec=codec,
        producer_id=23, producer_epoch=5, base_sequence=10, is_transactional=True,
    )  # fmt: skip
    log.log.append_as_leader(records, leader_epoch=2)
    log.log.append_as_leader(MemoryRecords.of((NOW, b"9", b"v")), leader_epoch=2)
    log.log.append_as_leader(MemoryRecords.of((NOW, b"1", b"v"), (NOW, b"2", b"v")), leader_epoch=2)
    log.log.update_high_watermark(log.log.log_end_offset)
    log.roll()
    log.clean(upper=log.log.active_segment.base_offset)
    batch = rows(log)[1]
    names = ["size", "base_offset", "last_offset", "record_count", "max_timestamp", "producer_id"]
    assert batch[names].item() == (61, 3, 4, 0, NOW + 12, 23)
    names = ["base_sequence", "last_sequence", "producer_epoch", "partition_leader_epoch", "codec"]
    assert batch[names].item() == (10, 11, 5, 2, 0)
    assert batch["is_transactional"]
    assert not batch["is_control"]


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_what_stays_of_batches_stays_in_their_codec(codec: str, tmp_path: Path) -> None:
    """MR-11: with base and last offsets as they were, and the largest time of what is left."""
    log = Cleanable(tmp_path, cleanup_policy="delete")
    batches = (
        [(NOW + 10, None)],
        [(NOW + 11, b"1"), (NOW + 12, None)],
        [(NOW + 20, None), (NOW + 15, b"4"), (NOW + 14, b"5")],
        [(NOW + 16, b"6")],
    )
    for batch in batches:
        records = [(time, key, b"v") for time, key in batch]
        log.log.append_as_leader(MemoryRecords.of(*records, codec=codec))
    log.roll()
    stats = log.clean(upper=7).stats
    assert (stats.messages_read, stats.messages_written) == (7, 4)
    left = rows(log)
    assert left["base_offset"].tolist() == [1, 3, 6]
    assert left["last_offset"].tolist() == [2, 5, 6]
    assert left["max_timestamp"].tolist() == [NOW + 11, NOW + 15, NOW + 16]
    assert {CODEC_NAMES[number] for number in left["codec"]} == {codec}


def test_a_batch_that_goes_whole_is_not_read(log: Cleanable) -> None:
    """MR-7 CL-17: so its damage does no harm; elsewhere damage ends the cleaning."""
    log.within(1, 1, 2)
    log.within(1, 3)
    log.abort(1)
    log.append(4)
    log.roll()
    segment = log.log.segments[0]
    segment.log.file.write(b"\x01" * 9, 61)  # within the records of the first batch
    log.clean()
    assert log.offsets == [3, 4]
    log.append(5)
    log.roll()
    damaged = log.log.segments[-2]
    damaged.log.file.write(b"\x01" * 9, 61)
    with pytest.raises(CorruptRecordError, match=f"{damaged.base_offset:020}"):
        log.clean(upper=log.log.active_segment.base_offset)


def test_a_size_that_cannot_be_right_ends_the_cleaning(log: Cleanable) -> None:
    """CL-17."""
    log.append_each(1, 2)
    log.roll()
    segment = log.log.segments[0]
    for size, problem in ((2**30, "only"), (3, "size")):
        segment.log.file.write(size.to_bytes(4), 8)
        with pytest.raises(CorruptRecordError, match=problem):
            log.clean()


def test_messages_of_another_magic_than_their_wrapper_are_put_right(log: Cleanable) -> None:
    """CL-19: 4.2 makes batches of magic 2 of all old ones."""
    records = [
        naive.Record(offset, NOW if offset else -1, b"%d" % (offset % 3), b"v")
        for offset in range(5)
    ]
    segment = log.log.active_segment
    segment.log.append(naive.wrapper(1, records, 1, inner_magic=0))
    tombstone = naive.Record(5, NOW, b"7", None)
    segment.log.append(naive.message(1, tombstone) + naive.message(1, naive.Record(6, NOW, b"8")))
    log.log.roll(20)
    cleaning = log.clean(upper=20)
    assert log.offsets == [2, 3, 4, 5, 6]
    assert rows(log)["magic"].tolist() == [2, 2, 2]
    assert rows(log)["codec"].tolist() == [1, 0, 0]
    assert cleaning.decisions.reason_of(5) == Reason.TOMBSTONE_IN_NEW_FILE


def test_a_segment_whose_offsets_lie_too_far_is_split_and_cleaning_begins_anew(
    log: Cleanable,
) -> None:
    """CL-24."""
    log.append_each(1, 2)
    segment, far = log.log.active_segment, 2**31 + 5
    for offset in (far, far + 1):
        batch = MemoryRecords.of((NOW, b"1", b"v"), base_offset=offset)
        segment.log.append(batch)
    log.log.roll(far + 10)
    with pytest.raises(CleaningAbortedError, match="starts again"):
        log.clean(upper=far + 10)
    assert [one.base_offset for one in log.log.segments] == [0, far, far + 10]
    assert log.offsets == [0, 1, far, far + 1]
    log.clean(upper=far + 10)
    assert log.offsets == [1, far + 1]
