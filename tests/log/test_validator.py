"""What a leader checks and sets before it appends; `test_validator_kafka` asks Kafka the same."""

from pathlib import Path
from typing import Any

import pytest

from tests.log.logs import LogHome
from tests.naive import Record, batch, message, wrapper
from workbench.config.log_config import LogConfig
from workbench.errors import (
    CorruptRecordError,
    InvalidRecordError,
    InvalidTimestampError,
    UnsupportedForMessageFormatError,
)
from workbench.layout.attributes import CODEC_NAMES
from workbench.layout.control_records import COMMIT
from workbench.log.append.append_info import ValidationResult
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.append.validation import LogValidator
from workbench.log.context import record_rules
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.batch_checks import CheckedBatch, check_batches
from workbench.record.writing.builder import RecordsBuilder
from workbench.runtime.clock import ManualClock

NOW = 1_700_000_000_000
OFFSET = 1234567
THREE = [Record(0, NOW, b"a", b"1"), Record(1, NOW + 1, b"b", b"2"), Record(2, NOW - 1, b"c", b"3")]
BARE = [Record(n, -1, b"k", b"v") for n in range(3)]


def append(
    records: bytes | MemoryRecords,
    topic: dict[str, Any] | None = None,
    *,
    origin: AppendOrigin = AppendOrigin.CLIENT,
    magic: int = 2,
) -> ValidationResult:
    """Check and number records for a topic, as an append does."""
    config = LogConfig.of(topic or {})
    given = MemoryRecords.copy_of(bytes(records))
    batches = check_batches(given, record_rules(config), NOW)
    validator = LogValidator("orders-0", record_rules(config), origin, 7, NOW, magic)
    return validator.validate_and_assign(given, batches, OFFSET)


def batches_of(found: ValidationResult) -> list[CheckedBatch]:
    """Return what the headers of the result say, with what was found in the records."""
    facts = ("record_problem", "record_problem_at", "checked_count", "largest_timestamp")
    more = ("refused_count", "is_in_order", "is_ready")
    return [
        stored._replace(**{name: getattr(told, name) for name in (*facts, *more)})
        for told, stored in zip(found.batches, check_batches(found.records), strict=True)
    ]


def codec(name: str, **more: Any) -> dict[str, Any]:
    return {"compression.type": name, **more}


@pytest.mark.parametrize("name", CODEC_NAMES)
def test_a_sound_batch_is_numbered_in_place(name: str) -> None:
    """LV-7, LV-10: offset and epoch are outside the CRC, so nothing else changes."""
    data = batch(THREE, CODEC_NAMES.index(name), leader_epoch=-1)
    found = append(data)
    assert (found.next_offset, found.max_timestamp) == (OFFSET + 3, NOW + 1)
    assert (found.offset_of_max_timestamp, found.log_append_time) == (OFFSET + 2, NOW)
    assert found.message_size_maybe_changed is False
    assert bytes(found.records)[16:] == data[16:]
    (row,) = found.batches
    assert (row.base_offset, row.last_offset) == (OFFSET, OFFSET + 2)
    assert (row.partition_leader_epoch, row.max_timestamp) == (7, NOW + 1)
    assert found.batches == batches_of(found)
    assert [record.offset for record in found.records.records()] == [OFFSET + n for n in range(3)]


@pytest.mark.parametrize("name", CODEC_NAMES)
def test_a_log_numbers_a_sound_batch_as_the_validator_does(name: str, tmp_path: Path) -> None:
    """LV-7: an append needs no validator if only offset and epoch change; the bytes are equal."""
    data = batch(THREE, CODEC_NAMES.index(name), leader_epoch=-1)
    log = Log.open(str(tmp_path / "orders-0"), clock=ManualClock(NOW))
    before = MemoryRecords.of((b"k", b"v"), base_offset=OFFSET - 1, partition_leader_epoch=6)
    log.append_as_follower(before)
    info = log.append_as_leader(MemoryRecords.copy_of(data), 7)
    wanted = append(data)
    assert (info.first_offset, info.last_offset) == (OFFSET, wanted.next_offset - 1)
    assert (info.max_timestamp, info.log_append_time) == (wanted.max_timestamp, -1)
    assert bytes(log.read(OFFSET).records) == bytes(wanted.records)
    log.close()


@pytest.mark.parametrize("name", CODEC_NAMES)
def test_the_time_of_appending_is_set_in_the_header_alone(name: str) -> None:
    """LV-6: the base timestamp and what the records say are kept."""
    data = batch(THREE, CODEC_NAMES.index(name))
    found = append(data, {"message.timestamp.type": "LogAppendTime"})
    batch_now = found.records.batches()[0]
    assert (found.max_timestamp, found.offset_of_max_timestamp) == (NOW, OFFSET + 2)
    assert (batch_now.timestamp_type, batch_now.max_timestamp) == ("LogAppendTime", NOW)
    assert batch_now.base_timestamp == NOW
    assert check_batches(found.records)[0].is_valid
    assert {record.timestamp for record in found.records.records()} == {NOW}
    assert bytes(found.records)[61:] == data[61:]
    assert found.batches[0].max_timestamp == NOW
    assert found.batches == batches_of(found)


def test_a_largest_time_that_is_not_the_largest_is_corrected() -> None:
    """LV-7."""
    found = append(batch(THREE, max_timestamp=NOW + 99))
    assert found.records.batches()[0].max_timestamp == found.max_timestamp == NOW + 1
    assert check_batches(found.records)[0].is_valid


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_old_formats_are_numbered_one_by_one(magic: int) -> None:
    """LV-1, LV-6, LV-7, LV-10."""
    data = b"".join(message(magic, record) for record in THREE)
    found = append(data, magic=magic)
    largest = (-1, -1) if magic == 0 else (NOW + 1, OFFSET + 1)
    assert (found.max_timestamp, found.offset_of_max_timestamp) == largest
    assert [r.offset for r in found.records.records()] == [OFFSET + n for n in range(3)]
    stamped = append(data, {"message.timestamp.type": "LogAppendTime"}, magic=magic)
    largest = (-1, -1) if magic == 0 else (NOW, OFFSET)
    assert (stamped.max_timestamp, stamped.offset_of_max_timestamp) == largest


def test_more_than_one_batch_is_refused() -> None:
    """LV-1: of magic 2 or compressed; several messages of an old format make one batch."""
    for many in (batch(THREE) * 2, wrapper(1, THREE, 1) * 2, batch(THREE, 1) * 2):
        with pytest.raises(InvalidRecordError, match="2 batches, but only one is allowed"):
            append(many)
    with pytest.raises(InvalidRecordError, match="no batch"):
        append(b"")
    many = b"".join(message(1, record) for record in THREE)
    found = append(many, codec("gzip"))
    (row,) = check_batches(found.records)
    assert (row.record_count, row.codec, row.magic, found.next_offset) == (3, 1, 2, OFFSET + 3)


@pytest.mark.parametrize(("name", "topic"), [("none", "producer"), ("gzip", "producer")])
def test_batches_whose_numbers_do_not_fit_are_refused(name: str, topic: str) -> None:
    """LV-2, LV-3, LV-5, LV-9, LV-14."""
    number = CODEC_NAMES.index(name)
    for fields in (
        {"count": 0},
        {"count": -1},
        {"last_offset": 0},
        {"last_offset": 15},
        {"last_offset": -3},
        {"last_offset": 5, "count": 6},
        {"last_offset": 1, "count": 2},
        {"producer_id": 1, "base_sequence": -1},
        {"producer_id": 1, "base_sequence": -2},
    ):
        with pytest.raises(InvalidRecordError):
            append(batch(THREE, number, **fields), codec(topic))
    gap = [THREE[0], Record(2, NOW, b"k"), Record(1, NOW, b"k")]
    data = batch(gap, 1, last_offset=2)
    with pytest.raises(InvalidRecordError, match="0, 1, 2"):
        append(data)


def test_a_wrapper_that_is_numbered_badly_is_built_anew() -> None:
    """LV-3, LV-10: some old producers do so; the offsets inside are relative again."""
    odd = [Record(0, NOW, b"a"), Record(5, NOW, b"b")]
    for magic in (0, 1):
        found = append(wrapper(magic, odd, 1), magic=magic)
        assert found.message_size_maybe_changed
        assert [record.offset for record in found.records.records()] == [OFFSET, OFFSET + 1]
    good = append(wrapper(1, THREE, 1), magic=1)
    assert not good.message_size_maybe_changed
    assert [record.offset for record in good.records.records()] == [OFFSET + n for n in range(3)]


def test_messages_of_another_magic_inside_are_refused_one_by_one() -> None:
    """LV-4."""
    many = [Record(n, NOW, b"k", b"v") for n in range(20)]
    with pytest.raises(InvalidRecordError, match="magic 0 is not the outer message's 1") as caught:
        append(wrapper(1, many, 1, inner_magic=0))
    assert list(caught.value.record_errors) == list(range(20))
    with pytest.raises(InvalidRecordError, match="inside a compressed message is compressed"):
        append(wrapper(1, THREE, 1, payload=message(1, THREE[0], 1)))


def test_crcs_inside_a_wrapper_are_checked() -> None:
    """LV-9."""
    bad = message(1, THREE[0])[:-1] + b"\xff"
    with pytest.raises(CorruptRecordError, match="CRC of message 0"):
        append(wrapper(1, THREE, 1, payload=bad))


@pytest.mark.parametrize("name", ["none", "lz4"])
@pytest.mark.parametrize("topic", ["producer", "zstd"])
def test_times_too_far_from_now_are_refused_one_by_one(name: str, topic: str) -> None:
    """LV-8."""
    data = batch(THREE, CODEC_NAMES.index(name))
    bounds = {
        "message.timestamp.before.max.ms": 0,
        "message.timestamp.after.max.ms": 0,
    }
    with pytest.raises(InvalidTimestampError, match="is not within") as caught:
        append(data, codec(topic, **bounds))
    assert list(caught.value.record_errors) == [1, 2]
    append(data, codec(topic, **dict.fromkeys(bounds, 1)))


def test_a_wrong_time_wins_over_other_errors_and_all_are_told() -> None:
    """LV-8: with the index of each record in its batch."""
    mixed = [Record(n, NOW - n % 2 * 10, None if n > 2 else b"k") for n in range(6)]
    topic = {"cleanup.policy": "compact", "message.timestamp.before.max.ms": 5}
    with pytest.raises(InvalidTimestampError, match="and 1 more") as caught:
        append(batch(mixed), topic)
    assert list(caught.value.record_errors) == [1, 3, 4, 5]
    assert "no key" in caught.value.record_errors[3]


@pytest.mark.parametrize("name", CODEC_NAMES)
def test_a_compacted_topic_needs_keys(name: str) -> None:
    """LV-9."""
    data = batch([Record(0, NOW, None, b"v")], CODEC_NAMES.index(name))
    append(data)
    with pytest.raises(InvalidRecordError, match="no key") as caught:
        append(data, {"cleanup.policy": "compact"})
    assert not isinstance(caught.value, InvalidTimestampError)


def test_producers_may_not_send_times_of_appending() -> None:
    """LV-8."""
    for topic in ({"message.timestamp.type": "LogAppendTime"}, {}):
        with pytest.raises(InvalidTimestampError, match="timestamp type LogAppendTime"):
            append(batch(BARE, attributes=8), topic)


@pytest.mark.parametrize(("magic", "name"), [(0, "none"), (1, "none"), (0, "gzip"), (1, "lz4")])
def test_old_formats_are_converted_upwards(magic: int, name: str) -> None:
    """LV-11."""
    number = CODEC_NAMES.index(name)
    old = [message(magic, record) for record in THREE]
    found = append(wrapper(magic, THREE, number) if number else b"".join(old))
    batch_now = found.records.batches()[0]
    assert (batch_now.magic, batch_now.codec, batch_now.record_count) == (2, name, 3)
    assert (batch_now.producer_id, batch_now.base_sequence) == (None, None)
    largest = (-1, -1) if magic == 0 else (NOW + 1, OFFSET + 2)
    assert (found.max_timestamp, found.offset_of_max_timestamp) == largest
    assert found.message_size_maybe_changed
    assert [(r.key, r.value) for r in found.records.records()] == [(r.key, r.value) for r in THREE]


def test_what_old_formats_lack_cannot_be_converted_to_them() -> None:
    """LV-12."""
    producer = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0}
    for fields in (producer, {**producer, "attributes": 0x10}):
        for number in (0, 1):
            with pytest.raises(UnsupportedForMessageFormatError):
                append(batch(THREE, number, **fields), codec("gzip"), magic=1)
    with pytest.raises(InvalidRecordError, match="headers"):
        append(batch([Record(0, NOW, b"k", b"v", ((b"h", b""),))]), magic=1)


def test_control_batches_come_from_coordinators_and_are_not_compressed() -> None:
    """LV-13."""
    builder = RecordsBuilder(
        producer_id=1, producer_epoch=0, is_transactional=True, is_control=True
    )
    builder.append_control(NOW, COMMIT, bytes(6))
    marker = builder.build()
    with pytest.raises(InvalidRecordError, match="control records"):
        append(marker)
    for topic in ("gzip", "producer"):
        found = append(marker, codec(topic), origin=AppendOrigin.COORDINATOR)
        assert not found.message_size_maybe_changed
        assert found.records.batches()[0].is_control
        assert found.next_offset == OFFSET + 1


@pytest.mark.parametrize("source", CODEC_NAMES)
@pytest.mark.parametrize("target", CODEC_NAMES)
def test_another_codec_compresses_anew_and_another_level_does_not(source: str, target: str) -> None:
    """LV-15."""
    producer = {"producer_id": 5, "producer_epoch": 1, "base_sequence": 9, "attributes": 0x10}
    data = batch(THREE, CODEC_NAMES.index(source), **producer)
    levels = {"compression.gzip.level": 9, "compression.lz4.level": 1, "compression.zstd.level": 1}
    found = append(data, codec(target.replace("none", "uncompressed"), **levels))
    assert found.message_size_maybe_changed == (source != target)
    batch_now = found.records.batches()[0]
    assert (batch_now.codec, batch_now.record_count, batch_now.base_offset) == (target, 3, OFFSET)
    assert (batch_now.producer_id, batch_now.producer_epoch) == (5, 1)
    assert (batch_now.base_sequence, batch_now.is_transactional) == (9, True)
    assert batch_now.partition_leader_epoch == 7
    read = found.records.records()
    assert [(r.timestamp, r.key, r.value) for r in read] == [
        (r.timestamp, r.key, r.value) for r in THREE
    ]
    if source == target:
        assert bytes(found.records)[16:] == data[16:]


def test_records_that_must_be_encoded_anew_are() -> None:
    """The base timestamp is another one, so the bytes of the records cannot be kept."""
    found = append(batch(THREE, 1, base_timestamp=NOW - 50), codec("uncompressed"))
    batch_now = found.records.batches()[0]
    assert (batch_now.base_timestamp, batch_now.codec) == (NOW, "none")
    assert [r.timestamp for r in found.records.records()] == [NOW, NOW + 1, NOW - 1]


def test_a_codec_without_a_name_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="codec 7"):
        append(batch(THREE, attributes=7))


def test_what_cannot_be_decompressed_is_corrupt() -> None:
    for data in (batch(THREE, 3, payload=b"no"), wrapper(1, THREE, 1, value=b"no")):
        with pytest.raises(CorruptRecordError, match="cannot be read"):
            append(data)


def test_a_log_has_the_rules_of_its_configuration(tmp_path: Path) -> None:
    log = LogHome(tmp_path, {}).open()
    before = log.context.record_rules
    log.update_config(LogConfig.of({"cleanup.policy": "compact", **codec("zstd")}))
    after = log.context.record_rules
    assert (before.needs_keys, before.codec) == (False, None)
    assert (after.needs_keys, after.codec) == (True, 4)
    assert log.context.record_rules is after
    log.close()
