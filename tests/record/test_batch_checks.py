"""One pass over an append: what it finds in headers, CRCs and records."""

import random
import threading

import pytest

from tests.naive import Record, batch, message, wrapper
from workbench.layout import problems
from workbench.record.memory_records import EMPTY, MemoryRecords
from workbench.record.writing.batch_checks import (
    CheckedBatch,
    RecordRules,
    canonical_records,
    check_batches,
)

NOW = 1_000_000
ALL_CODECS = range(5)
FIVE = [Record(n, NOW + n, b"k%d" % n, b"value" * 9) for n in range(5)]


def check(data: bytes, rules: RecordRules | None = None) -> list[CheckedBatch]:
    return check_batches(MemoryRecords.copy_of(data), rules, NOW)


def one(data: bytes, rules: RecordRules | None = None) -> CheckedBatch:
    (found,) = check(data, rules)
    return found


@pytest.mark.parametrize("codec", ALL_CODECS)
def test_all_of_a_header_is_told(codec: int) -> None:
    """DB-3: also that sequences wrap."""
    data = batch(
        FIVE, codec, base_offset=0, leader_epoch=3, producer_id=9, producer_epoch=2,
        base_sequence=2**31 - 2, attributes=0x30,
    )  # fmt: skip
    found = one(data)
    assert found[:10] == (0, len(data), 0, 4, NOW, NOW + 4, 3, 2, 0x30 | codec, codec)
    assert found[10:18] == (0, 1, 1, 9, 2, 2**31 - 2, 2, 5)
    assert (found.is_valid, found.crc, found.problem) == (True, found.computed_crc, problems.OK)
    assert (found.checked_count, found.is_ready) == (-1, 0)


@pytest.mark.parametrize("codec", ALL_CODECS)
def test_the_records_of_a_sound_batch_need_nothing(codec: int) -> None:
    found = one(batch(FIVE, codec), RecordRules())
    assert (found.record_problem, found.refused_count) == (problems.OK, 0)
    assert (found.checked_count, found.largest_timestamp) == (5, NOW + 4)
    assert (found.is_in_order, found.is_ready) == (1, 1)


@pytest.mark.parametrize("codec", ALL_CODECS)
@pytest.mark.parametrize(
    ("fields", "rules"),
    [
        ({"max_timestamp": NOW}, RecordRules()),
        ({"last_offset": 5}, RecordRules()),
        ({"base_offset": 1, "last_offset": 5}, RecordRules()),
        ({"attributes": 0x08}, RecordRules()),
        ({"attributes": 0x20}, RecordRules()),
        ({"producer_id": 1}, RecordRules()),
        ({}, RecordRules(has_append_time=True)),
        ({}, RecordRules(after_ms=3)),
    ],
)
def test_a_batch_that_a_leader_must_look_at_or_change_is_not_ready(
    codec: int, fields: dict[str, int], rules: RecordRules
) -> None:
    assert one(batch(FIVE, codec, **fields), rules).is_ready == 0


def test_records_that_break_a_rule_are_counted() -> None:
    """LV-8, LV-9: times outside the bounds, keys that are missing."""
    records = [Record(0, NOW - 10, b"k"), Record(1, NOW + 5), Record(2, -1), Record(3, NOW, b"")]
    for codec in ALL_CODECS:
        data = batch(records, codec)
        counts = [
            one(data, rules).refused_count
            for rules in (
                RecordRules(),
                RecordRules(needs_keys=True),
                RecordRules(before_ms=9),
                RecordRules(before_ms=10, after_ms=4),
                RecordRules(needs_keys=True, before_ms=9, after_ms=4),
                RecordRules(has_append_time=True, before_ms=0, after_ms=0),
            )
        ]
        assert counts == [0, 2, 1, 1, 3, 0]


@pytest.mark.parametrize("codec", ALL_CODECS)
def test_wrong_counts_are_told(codec: int) -> None:
    """DB-6, LV-5."""
    for count in (-1, 1, 4, 6):
        found = one(batch(FIVE, codec, count=count), RecordRules())
        assert found.is_valid
        assert found.record_problem != problems.OK
        assert found.is_ready == 0
    empty = one(batch(FIVE, codec, count=0), RecordRules())
    assert (empty.record_problem, empty.checked_count, empty.is_ready) == (problems.OK, 0, 0)


def test_lengths_of_records_are_believed_only_where_kafka_reads_them() -> None:
    """A compressed batch that stays compressed is skipped through, one that changes is read."""
    records = bytearray(batch(FIVE)[61:])
    records[0] -= 2  # the length of the first record
    for codec in ALL_CODECS:
        data = batch(FIVE, codec, payload=compressed(codec, bytes(records)))
        kept = one(data, RecordRules())
        same = one(data, RecordRules(codec=codec))
        changed = one(data, RecordRules(codec=(codec + 1) % 5))
        assert kept.record_problem == same.record_problem
        assert (kept.record_problem == problems.OK) == (codec != 0)
        assert changed.record_problem != problems.OK


def compressed(codec: int, records: bytes) -> bytes:
    return batch([], codec, tail=records)[61:]


@pytest.mark.parametrize("codec", ALL_CODECS[1:])
def test_what_cannot_be_decompressed_is_told(codec: int) -> None:
    found = one(batch(FIVE, codec, payload=b"\xff" * 40), RecordRules())
    assert (found.is_valid, found.record_problem) == (True, problems.BAD_COMPRESSION)


def test_whole_batches_that_are_wrong_are_told() -> None:
    """DB-5, DB-7: too short for their header, an invalid CRC, a codec without a name."""
    short = bytes(11) + b"\x10" + bytes(4) + b"\x02" + bytes(11)
    for data, problem, is_valid in (
        (short, problems.SHORT_BATCH, False),
        (batch(FIVE, crc=1), problems.CRC_MISMATCH, False),
        (batch(FIVE, attributes=7), problems.UNKNOWN_CODEC, True),
        (message(1, FIVE[0])[:-1] + b"x", problems.CRC_MISMATCH, False),
    ):
        found = one(data, RecordRules())
        assert (found.problem, found.is_valid, found.checked_count) == (problem, is_valid, -1)


def test_messages_of_old_formats_are_looked_at_unless_they_are_compressed() -> None:
    """LR-2, LV-9."""
    data = message(0, FIVE[0]) + message(1, Record(1, NOW + 9)) + wrapper(1, FIVE, 1)
    first, second, third = check(data, RecordRules(needs_keys=True, after_ms=8))
    assert (first.checked_count, first.refused_count, first.largest_timestamp) == (1, 0, -1)
    assert (second.checked_count, second.refused_count) == (1, 1)
    assert (second.largest_timestamp, second.base_offset) == (NOW + 9, 1)
    assert (third.checked_count, third.base_offset, third.record_count) == (-1, -1, -1)
    stamped = one(message(1, FIVE[0], 8), RecordRules(has_append_time=True))
    assert stamped.refused_count == 1


def test_more_batches_than_a_table_holds_are_checked() -> None:
    chance = random.Random(3)
    parts = [batch(FIVE[: chance.randint(1, 5)], chance.randint(0, 4)) for _ in range(300)]
    found = check(b"".join(parts) + parts[0][:-1], RecordRules())
    assert [row.size for row in found] == [len(part) for part in parts]
    assert all(row.is_ready for row in found)
    assert check_batches(EMPTY) == []


def test_threads_check_into_memory_of_their_own() -> None:
    data = b"".join(batch(FIVE, codec) for codec in ALL_CODECS) * 20
    wanted = check(data, RecordRules())
    said: list[bool] = []

    def run() -> None:
        said.extend(check(data, RecordRules()) == wanted for _ in range(30))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == [True] * 120


@pytest.mark.parametrize("codec", ALL_CODECS)
def test_records_are_handed_on_as_they_stand_if_they_would_be_written_so(codec: int) -> None:
    def encoded(data: bytes) -> bytes | None:
        found = canonical_records(MemoryRecords.copy_of(data).buffer, one(data))
        return None if found is None else bytes(found)

    assert encoded(batch(FIVE, codec)) == batch(FIVE)[61:]
    assert encoded(batch(FIVE, codec, base_timestamp=NOW - 1)) is None
    assert encoded(batch([FIVE[0], FIVE[2]], codec)) is None
    assert encoded(batch(FIVE, codec, count=0)) is None
