"""Batches in memory: what is found in them, and what is set in place."""

import numpy as np
import pytest

from tests.naive import Record, batch, message, wrapper
from workbench.errors import CorruptRecordError
from workbench.layout import problems
from workbench.record.memory_records import EMPTY, MemoryRecords
from workbench.record.reading.batch_records import (
    add_to_sequence,
    columns_of,
    plain_columns,
)
from workbench.record.writing.batch_checks import (
    check_batches,
    set_last_offset,
    set_max_timestamp,
    set_offset_and_epoch,
)

THREE = [Record(0, 10, b"a", b"1"), Record(1, 30, b"b", b"2"), Record(2, 20, None, None)]
CREATE_TIME, LOG_APPEND_TIME = 0, 1


def records(data: bytes) -> MemoryRecords:
    return MemoryRecords.copy_of(data)


def test_batches_of_all_formats_lie_end_to_end() -> None:
    data = batch(THREE) + message(0, THREE[0]) + wrapper(1, THREE, 1) + batch(THREE, 4)
    found = records(data)
    table = found.batches()
    assert table.column("magic").tolist() == [2, 0, 1, 2]
    assert (table.valid_size, table.stop.is_end) == (len(data), True)
    assert len(found.records()) == 10
    assert bytes(found.part(0, table[0].size)) == batch(THREE)
    assert [len(many.batches()) for many in (EMPTY, records(batch(THREE) * 200))] == [0, 200]


def test_an_unfinished_batch_does_not_count() -> None:
    """FR-15, MR-13: at every cut, and nothing is said of it before its magic can be seen."""
    data = batch(THREE)
    for size in range(len(data)):
        table = records(data + data[:size]).batches()
        assert len(table) == 1
        assert table.stop == (problems.UNFINISHED if size else problems.END, len(data))


@pytest.mark.parametrize("size", [0, 13, -1])
def test_a_size_that_cannot_be_is_an_error(size: int) -> None:
    """FR-16, MR-13: as soon as it can be seen, however few bytes follow."""
    data = bytearray(batch(THREE))
    data[8:12] = size.to_bytes(4, signed=True)
    for cut in (12, 16, 17, len(data)):
        with pytest.raises(CorruptRecordError, match=rf"is {size} bytes \(expected at least 14\)"):
            records(bytes(data[:cut])).batches()
        with pytest.raises(CorruptRecordError, match=rf"is {size} bytes \(expected at least 14\)"):
            check_batches(records(bytes(data[:cut])))
    assert len(records(bytes(data[:11])).batches()) == 0


@pytest.mark.parametrize("magic", [-1, 3, 10])
def test_a_magic_that_is_not_known_is_an_error(magic: int) -> None:
    """FR-16, MR-13: other than in a file, where only the record reader refuses it."""
    first, data = batch(THREE), bytearray(batch(THREE))
    data[16:17] = magic.to_bytes(1, signed=True)
    for whole in (bytes(data), first + bytes(data), first + bytes(data[:17])):
        with pytest.raises(CorruptRecordError, match=f"magic {magic} is not known"):
            records(whole).batches()
        with pytest.raises(CorruptRecordError, match=f"magic {magic} is not known"):
            check_batches(records(whole))
    assert len(records(first + bytes(data[:16])).batches()) == 1


def test_records_that_cannot_be_read_are_an_error() -> None:
    """DB-6, LR-4, LR-7: the error says which batch."""
    good = batch(THREE)
    for bad in (
        batch(THREE, count=2),
        batch(THREE, 1, count=4),
        batch(THREE, 3, payload=b"\x04\x22\x4d\x18no lz4"),
        wrapper(1, THREE, 1, payload=b""),
        wrapper(1, THREE, 1, offset=1),
        message(1, Record(0, 5, b"k", None), 1),
    ):
        with pytest.raises(CorruptRecordError) as caught:
            records(good + bad).records()
        assert caught.value.position == len(good)
    assert records(batch(THREE, count=0)).records() == []


def test_setting_the_last_offset_moves_the_first() -> None:
    """DB-8: and leaves the CRC as it is."""
    for data in (batch(THREE), batch(THREE, 1)):
        changed = records(data)
        set_last_offset(changed.buffer, 0, 102)
        other = records(data)
        set_offset_and_epoch(other.buffer, 0, len(data), 100, 7)
        (before,) = check_batches(records(data))
        for each, epoch in ((changed, before.partition_leader_epoch), (other, 7)):
            (row,) = check_batches(each)
            assert (row.base_offset, row.last_offset) == (100, 102)
            assert row.partition_leader_epoch == epoch
            assert row.is_valid
            assert [record.offset for record in each.records()] == [100, 101, 102]


def test_setting_the_offset_of_a_wrapper_moves_what_is_in_it() -> None:
    """LR-5."""
    changed = records(wrapper(1, THREE, 1))
    set_last_offset(changed.buffer, 0, 102)
    assert [record.offset for record in changed.records()] == [100, 101, 102]
    assert check_batches(changed)[0].is_valid


@pytest.mark.parametrize(
    "data", [batch(THREE), batch(THREE, 2), wrapper(1, THREE, 1)], ids=["2", "2 snappy", "1 gzip"]
)
def test_with_the_time_of_appending_every_record_has_it(data: bytes) -> None:
    """DB-9, LR-9: what the records say is kept, and is read again when the type is set back."""
    changed = records(data)
    set_max_timestamp(changed.buffer, 0, LOG_APPEND_TIME, 777)
    (row,) = check_batches(changed)
    assert (row.is_valid, row.max_timestamp, row.timestamp_type) == (True, 777, LOG_APPEND_TIME)
    assert {r.timestamp for r in changed.records()} == {777}
    set_max_timestamp(changed.buffer, 0, CREATE_TIME, 30)
    assert bytes(changed) == data


def test_the_bits_that_kafka_knows_stay_when_the_time_is_set() -> None:
    changed = records(batch(THREE, 3, attributes=0x70 | 0x0380))
    bits, crc = set_max_timestamp(changed.buffer, 0, LOG_APPEND_TIME, 777)
    (row,) = check_batches(changed)
    assert row.attributes == bits == 3 | 0x78
    assert row.crc == row.computed_crc == crc


def test_nothing_changes_when_the_time_is_as_it_should_be() -> None:
    changed = records(batch(THREE, attributes=0x80))
    before = bytes(changed)
    bits, crc = set_max_timestamp(changed.buffer, 0, CREATE_TIME, 30)
    assert bytes(changed) == before
    assert (bits, crc) == (0x80, check_batches(changed)[0].crc)


def test_old_formats_refuse_what_they_do_not_have() -> None:
    """LR-8."""
    old, older = records(message(1, THREE[0])), records(message(0, THREE[0]))
    for kind in (CREATE_TIME, LOG_APPEND_TIME):
        with pytest.raises(ValueError, match="no timestamps"):
            set_max_timestamp(older.buffer, 0, kind, 3)
    for one in (old, records(batch(THREE))):
        with pytest.raises(ValueError, match="not a type"):
            set_max_timestamp(one.buffer, 0, -1, 3)


def test_sequences_wrap_at_their_largest() -> None:
    """DB-3."""
    most = 2**31 - 1
    assert [add_to_sequence(5, 5), add_to_sequence(most, 1), add_to_sequence(most - 5, 10)] == [
        10, 0, 4,
    ]  # fmt: skip


def test_records_are_built_of_pairs_triples_and_records() -> None:
    first = MemoryRecords.of((b"k", b"v"), (5, b"l", None), timestamp=9, base_offset=3)
    assert [(r.offset, r.timestamp, r.key, r.value) for r in first.records()] == [
        (3, 9, b"k", b"v"), (4, 5, b"l", None),
    ]  # fmt: skip
    again = MemoryRecords.of(*first.records(), base_offset=3)
    assert bytes(again) == bytes(first)
    assert repr(first) == f"MemoryRecords({first.size} bytes)"
    assert np.shares_memory(first.buffer, first.part(0, 10).buffer)
    assert first.view[0] == 0


@pytest.mark.parametrize("damaged", [None, 0, 1, 2])
def test_many_batches_are_read_at_once_up_to_the_first_that_cannot_be(damaged: int | None) -> None:
    parts = [bytearray(batch(THREE[first:])) for first in range(3)]
    if damaged is not None:
        parts[damaged][61] = 0x7F  # the length of the first record
    found = records(b"".join(parts))
    rows = found.batches().rows
    count, columns, starts = plain_columns(found.buffer, rows)
    assert count == (3 if damaged is None else damaged)
    keys = columns.keys
    assert keys is not None
    for at in range(count):
        alone = columns_of(found.buffer, rows[at : at + 1])
        assert alone.keys is not None
        part = slice(starts[at], starts[at + 1])
        assert columns.offsets[part].tolist() == alone.offsets.tolist()
        assert keys.items()[part] == alone.keys.items()
    if damaged is not None:
        with pytest.raises(CorruptRecordError):
            columns_of(found.buffer, rows[damaged : damaged + 1])
