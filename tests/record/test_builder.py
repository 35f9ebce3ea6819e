"""Building batches: what is written, when a batch is full, and what is refused."""

from typing import Any

import numpy as np
import pytest

from workbench.layout.control_records import ABORT, COMMIT, LEADER_CHANGE
from workbench.record.columns import RecordColumns
from workbench.record.control import decode_control_record
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.batch_records import columns_of
from workbench.record.writing.batch_writer import BatchInfo, Header
from workbench.record.writing.builder import (
    RecordsBuilder,
    empty_batch_header,
    end_transaction_marker,
)

TWO = ((283843, b"key1", b"value1"), (1234, b"key2", b"value2"))
GOLDEN = {
    (0, "none"): 1978725405,
    (0, "lz4"): 66944826,
    (1, "none"): 109425508,
    (1, "lz4"): 1407303399,
    (2, "none"): 3851219455,
    (2, "lz4"): 2745969314,
}
ALL = [(magic, codec) for magic in (0, 1, 2) for codec in ("none", "gzip", "snappy", "lz4")]
ALL.append((2, "zstd"))


def columns_in(records: MemoryRecords) -> RecordColumns:
    return columns_of(records.buffer, records.batches().rows[:1])


@pytest.mark.parametrize(("magic", "codec"), GOLDEN)
def test_crcs_are_those_that_kafka_checks_its_own_builder_with(magic: int, codec: str) -> None:
    """MR-1."""
    records = MemoryRecords.of(*TWO, magic=magic, codec=codec)
    assert records.batches()[0].crc == GOLDEN[magic, codec]


@pytest.mark.parametrize(("magic", "codec"), ALL)
def test_nothing_is_built_of_nothing(magic: int, codec: str) -> None:
    """MB-1."""
    builder = RecordsBuilder(magic, codec)
    assert builder.build().size == 0
    assert len(builder.build().batches()) == 0
    assert builder.info == BatchInfo(None, None)


@pytest.mark.parametrize(("magic", "codec"), ALL)
def test_what_is_appended_is_read_again(magic: int, codec: str) -> None:
    """MR-2: fields, offsets and sequences of every format and codec."""
    given: dict[str, Any] = {"base_offset": 57}
    if magic == 2:
        given |= {"producer_id": 4, "producer_epoch": 1, "base_sequence": 2**31 - 1}
    builder = RecordsBuilder(magic, codec, **given)
    assert builder.append(10, b"a", None) == 57
    assert builder.append(None, None, b"") == 58
    headers: list[Header] = [("h", b"1"), (b"h", None)] if magic == 2 else []
    assert builder.append(12, b"", b"c", headers) == 59
    read = builder.build().records()
    assert [record.offset for record in read] == [57, 58, 59]
    assert [(record.key, record.value) for record in read] == [
        (b"a", None), (None, b""), (b"", b"c"),
    ]  # fmt: skip
    assert [record.timestamp for record in read] == ([None] * 3 if magic == 0 else [10, None, 12])
    assert read[2].headers == ([(b"h", b"1"), (b"h", None)] if magic == 2 else [])
    sequences = [2**31 - 1, 0, 1] if magic == 2 else [None] * 3
    assert [record.sequence for record in read] == sequences
    kind = None if magic == 0 else "CreateTime"
    assert {record.timestamp_type for record in read} == {kind}


@pytest.mark.parametrize(("magic", "codec"), ALL)
def test_the_estimate_is_the_size_unless_it_is_compressed(magic: int, codec: str) -> None:
    """DB-4: of a compressed batch it is a guess until that is built."""
    builder = RecordsBuilder(magic, codec)
    for time, key, value in TWO:
        builder.append(time, key, value * 100)
    guess = builder.size_estimate
    size = builder.build().size
    assert builder.size_estimate == size
    if codec == "none":
        assert guess == size == builder.uncompressed_size
    else:
        assert guess > size


def test_a_batch_takes_one_record_whatever_its_limit() -> None:
    """MB-5."""
    builder = RecordsBuilder(write_limit=100)
    assert builder.has_room_for(1, b"k" * 500, b"v", [(b"h", b"x")])
    before = builder.is_full
    builder.append(1, b"k" * 500, b"v")
    assert (before, builder.is_full) == (False, True)
    assert not builder.has_room_for(1, b"", b"")


@pytest.mark.parametrize(
    ("magic", "room"), [(0, 2 * 28), (1, 2 * 36), (2, 61 + 2 * 9)], ids=["0", "1", "2"]
)
def test_there_is_room_as_long_as_the_next_record_fits(magic: int, room: int) -> None:
    """MR-14: the header of a batch counts, and so do the headers of records in magic 2."""
    for short in (0, 1):
        builder = RecordsBuilder(magic, write_limit=room - short)
        builder.append(5, b"k", b"v")
        assert builder.has_room_for(5, b"k", b"v") == (short == 0)
        assert not builder.has_room_for(5, b"k", b"vw")
        is_taken = builder.has_room_for(5, b"k", b"v", [(b"h", b"v")])
        assert is_taken == (short == 0 and magic < 2)
    closed = RecordsBuilder(magic)
    closed.close_for_appends()
    assert not closed.has_room_for(5, b"k", b"v")


def test_a_guess_at_compression_counts_for_the_room() -> None:
    builder = RecordsBuilder(codec="gzip", write_limit=1100)
    builder.append(1, b"", bytes(1000))
    assert not builder.has_room_for(1, b"", b"")
    builder.estimated_ratio = 0.1
    assert builder.has_room_for(1, b"", bytes(900))
    assert not builder.has_room_for(1, b"", bytes(950))


def test_offsets_ascend() -> None:
    """MB-6."""
    builder = RecordsBuilder(base_offset=3)
    builder.append_with_offset(5, 1, b"k", b"v")
    for offset in (5, 4):
        with pytest.raises(ValueError, match=f"offset {offset} does not ascend"):
            builder.append_with_offset(offset, 1, b"k", b"v")
    assert builder.append(1, b"k", b"v") == 6
    assert [record.offset for record in builder.build().records()] == [5, 6]


def test_a_batch_that_was_given_up_or_built_takes_nothing() -> None:
    """MB-7."""
    builder = RecordsBuilder()
    builder.append(1, b"k", b"v")
    builder.abort()
    for use in (builder.build, lambda: builder.append(1, b"k", b"v")):
        with pytest.raises(RuntimeError):
            use()
    builder = RecordsBuilder()
    builder.append(1, b"k", b"v")
    builder.build()
    for change in (
        lambda: builder.append(1, b"k", b"v"),
        lambda: builder.append_columns(columns_in(MemoryRecords.of((b"k", b"v")))),
        lambda: builder.set_producer_state(1, 0, 0, is_transactional=False),
        lambda: builder.override_last_offset(9),
    ):
        with pytest.raises(RuntimeError):
            change()


@pytest.mark.parametrize(("magic", "codec"), ALL)
def test_the_largest_time_and_where_it_is(magic: int, codec: str) -> None:
    """MB-4."""
    builder = RecordsBuilder(magic, codec, base_offset=10)
    for time in (5, 9, 9, 7):
        builder.append(time, b"k", b"v")
    where = 13 if codec != "none" or magic == 2 else 11
    assert builder.info == (BatchInfo(None, None) if magic == 0 else BatchInfo(9, where))
    stamped = RecordsBuilder(magic, codec, None, "LogAppendTime", 10, 777)
    for time in (5, 9):
        stamped.append(time, b"k", b"v")
    first = 11 if codec != "none" or magic == 2 else 10
    assert stamped.info == BatchInfo(777, first)
    read = stamped.build().records()
    assert {record.timestamp for record in read} == {None if magic == 0 else 777}
    assert {record.timestamp_type for record in read} == {None if magic == 0 else "LogAppendTime"}


def test_a_delete_horizon_takes_the_place_of_the_base_timestamp() -> None:
    """MB-8, MR-6: what the records say is kept."""
    builder = RecordsBuilder(delete_horizon=100)
    for time in (50, 100, 150):
        builder.append(time, b"k", None)
    built = builder.build()
    assert built.batches()[0].delete_horizon == 100
    assert [record.timestamp for record in built.records()] == [50, 100, 150]


@pytest.mark.parametrize(
    ("codec", "wrong"),
    [
        ("gzip", (0, 10)),
        ("lz4", (0, 18)),
        ("zstd", (-131073, 23)),
        ("snappy", (1,)),
        ("none", (1,)),
    ],
)
def test_a_level_that_the_codec_lacks_is_refused(codec: str, wrong: tuple[int, ...]) -> None:
    """CO-1: before anything is appended."""
    for level in wrong:
        with pytest.raises(ValueError, match="level"):
            RecordsBuilder(codec=codec, level=level)


@pytest.mark.parametrize(
    "options", [{"magic": 3}, {"magic": -1}, {"codec": "brotli"}, {"timestamp_type": "never"}]
)
def test_what_no_format_has_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"known|timestamp type"):
        RecordsBuilder(**options)


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_marker_is_one_record_of_78_bytes(commit: bool) -> None:  # noqa: FBT001
    """CR-4, CR-2: a control batch of its transaction's producer."""
    marker = end_transaction_marker(
        17, 1000, 9, 3, commit=commit, coordinator_epoch=21, partition_leader_epoch=5
    )
    batch = marker.batches()[0]
    assert marker.size == 78
    assert (batch.is_control, batch.is_transactional, batch.record_count) == (True, True, 1)
    assert (batch.base_offset, batch.producer_id, batch.producer_epoch) == (17, 9, 3)
    assert (batch.base_sequence, batch.partition_leader_epoch) == (None, 5)
    (record,) = marker.records()
    said = decode_control_record(record.key, record.value)
    assert (said.type, said.name) == ((COMMIT, "commit") if commit else (ABORT, "abort"))
    assert said.value == (0, 21)


def test_control_records_and_others_do_not_mix() -> None:
    """MB-3."""
    with pytest.raises(ValueError, match="control batches only"):
        RecordsBuilder().append_control(1, COMMIT, b"")
    control = RecordsBuilder(is_control=True)
    with pytest.raises(ValueError, match="control records only"):
        control.append(1, b"k", b"v")
    with pytest.raises(ValueError, match="control type 337"):
        control.append_control(1, 337, b"")
    with pytest.raises(ValueError, match="leader epoch"):
        control.append_quorum_control(1, LEADER_CHANGE, {"version": 0})


def test_a_batch_without_records_keeps_its_header() -> None:
    """DB-1, MR-5."""
    header = empty_batch_header(
        base_offset=3, last_offset=9, max_timestamp=77, producer_id=5, producer_epoch=2,
        base_sequence=10, partition_leader_epoch=4, timestamp_type=1, is_transactional=True,
        is_control=True,
    )  # fmt: skip
    (batch,) = (MemoryRecords(header).batches()[at] for at in range(1))
    assert (batch.size, batch.record_count, batch.problem) == (61, 0, None)
    assert (batch.base_offset, batch.last_offset, batch.base_timestamp) == (3, 9, None)
    assert (batch.max_timestamp, batch.timestamp_type) == (77, "LogAppendTime")
    assert (batch.base_sequence, batch.last_sequence) == (10, 16)
    assert (batch.is_transactional, batch.is_control) == (True, True)
    assert MemoryRecords(header).records() == []


def test_columns_are_appended_as_their_records_would_be() -> None:
    given = RecordsBuilder(base_offset=40)
    for number in range(300):
        key = None if number % 7 == 0 else b"key%d" % number
        value = None if number % 5 == 0 else b"v" * number
        given.append(1000 + number % 11, key, value, [("h", None)] * (number % 3))
    whole = given.build()
    columns = columns_in(whole)
    for codec in ("none", "lz4"):
        copy = RecordsBuilder(codec=codec, base_offset=40)
        copy.append_columns(columns)
        assert copy.build().records() == whole.records()
        assert copy.info == given.info
    odd = np.arange(1, 300, 2)
    some = RecordsBuilder(base_offset=40)
    some.append_columns(columns, odd)
    assert [r.offset for r in some.build().records()] == [40 + int(n) for n in odd]
    none = RecordsBuilder()
    none.append_columns(columns, odd[:0])
    assert none.build().size == 0


def test_columns_that_do_not_fit_are_refused() -> None:
    columns = columns_in(MemoryRecords.of((1, b"k", b"v"), base_offset=5))
    late = RecordsBuilder(base_offset=6)
    with pytest.raises(ValueError, match="ascend"):
        late.append_columns(columns)
    with pytest.raises(ValueError, match="magic 1"):
        RecordsBuilder(1).append_columns(columns)
    far = columns_in(MemoryRecords.of((1, b"k", b"v"), base_offset=2**31))
    with pytest.raises(ValueError, match="too far"):
        RecordsBuilder().append_columns(far)
    late.append(1, b"k", b"v")
    with pytest.raises(ValueError, match="first ones"):
        late.append_encoded(memoryview(b""), 0, 0, 0)
