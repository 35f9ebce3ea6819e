"""What the record reader makes of sound and unsound batches: Kafka's own tests of its formats."""

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from tests.naive import Record, batch, message, record_bytes, varint, wrapper
from tests.naive import read as read_plainly
from tests.record.reading import read, records_of, table
from tests.strategies import logs
from workbench.file_system.source import FileSource
from workbench.layout import problems
from workbench.record.buffers import BufferPool
from workbench.record.reading.reader import HEADERS, KEYS, VALUES, Problem, RecordReader

TWO = [Record(0, 283843, b"key1", b"value1"), Record(1, 1234, b"key2", b"value2")]
CODECS = range(5)


def codes(found: list[Problem]) -> list[int]:
    return [problem.code for problem in found]


@given(data=logs)
def test_any_log_reads_as_the_plain_reader_reads_it(
    data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """MR-2 LR-1 DR-4: every format, codec, timestamp type and kind of null."""
    outcome = read(tmp_path_factory.getbasetemp(), data)
    assert outcome.records == read_plainly(data)
    assert outcome.problems == []


@pytest.mark.parametrize(
    ("data", "crc"),
    [
        (message(0, TWO[0]), 1978725405),
        (message(1, TWO[0]), 109425508),
        (batch(TWO, leader_epoch=-1, max_timestamp=283843), 3851219455),
    ],
)
def test_the_crcs_are_those_of_kafka_s_own_test(data: bytes, crc: int, tmp_path: Path) -> None:
    """MR-1 without a codec; those of lz4 are with the compressors."""
    assert table(tmp_path, data).rows["crc"][0] == crc
    assert read(tmp_path, data).problems == []


@pytest.mark.parametrize("codec", CODECS)
def test_an_empty_batch_has_no_records_and_is_sound(codec: int, tmp_path: Path) -> None:
    """DB-1 MR-5: kept by the cleaner for its producer's sake, baseTimestamp -1."""
    fields = {"base_offset": 3, "last_offset": 4, "producer_id": 9, "producer_epoch": 2}
    data = batch([], codec, **fields, base_sequence=10, max_timestamp=12, payload=b"")
    assert read(tmp_path, data) == ([], [], problems.END)
    (found,) = [table(tmp_path, data)[0]]
    assert (found.base_offset, found.last_offset, found.record_count) == (3, 4, 0)
    assert (found.base_sequence, found.last_sequence) == (10, 11)
    assert (found.base_timestamp, found.max_timestamp) == (None, 12)


def test_sequences_wrap_behind_the_largest_int(tmp_path: Path) -> None:
    """DB-3 DR-4."""
    most = 2**31 - 1
    records = [Record(at, 5, b"k", b"v") for at in range(3)]
    data = batch(records, producer_id=1, producer_epoch=0, base_sequence=most - 1)
    data += batch(records, producer_id=1, producer_epoch=0, base_sequence=most)
    data += batch(records)
    assert table(tmp_path, data).column("last_sequence").tolist() == [0, 1, -1]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    ("count", "code"),
    [
        (0, None),  # what is after the header is not looked at
        (1, problems.BYTES_AFTER_RECORDS),
        (2, problems.BYTES_AFTER_RECORDS),
        (4, problems.BAD_VARINT),
        (2**31 - 1, problems.BAD_COUNT),
    ],
)
def test_a_wrong_record_count_is_refused(
    codec: int, count: int, code: int | None, tmp_path: Path
) -> None:
    """DB-6: fewer leave bytes over, more run out of them."""
    records = [Record(at, 5, b"k", b"v" * 20) for at in range(3)]
    outcome = read(tmp_path, batch(records, codec, count=count))
    assert outcome.records == []
    assert codes(outcome.problems) == ([] if code is None else [code])


@pytest.mark.parametrize("codec", CODECS)
def test_bytes_behind_the_last_record_are_refused(codec: int, tmp_path: Path) -> None:
    """DB-6: raw and compressed."""
    outcome = read(tmp_path, batch(TWO, codec, tail=b"\0"))
    assert codes(outcome.problems) == [problems.BYTES_AFTER_RECORDS]


def test_a_negative_record_count_is_refused(tmp_path: Path) -> None:
    outcome = read(tmp_path, batch(TWO, count=-1))
    assert codes(outcome.problems) == [problems.BAD_COUNT]


@pytest.mark.parametrize("size", [14, 20, 48])
def test_a_size_below_the_header_is_refused_and_reading_goes_on(size: int, tmp_path: Path) -> None:
    """DB-5: 14 is the smallest that leads to a next batch at all."""
    data = struct.pack(">qi", 0, size) + batch(TWO)[12 : size + 12]
    outcome = read(tmp_path, data + batch([Record(5)]))
    assert codes(outcome.problems) == [problems.SHORT_BATCH]
    assert outcome.records == [Record(5)]


@pytest.mark.parametrize("size", [-1, 0, 9, 13])
def test_a_size_that_leads_nowhere_is_jumped_over(size: int, tmp_path: Path) -> None:
    """FR-16 MR-13: Kafka stops there; we look for the next batch."""
    data = batch(TWO[:1]) + struct.pack(">qi", 1, size) + bytes(30) + batch([Record(5)])
    outcome = read(tmp_path, data)
    assert outcome.records == [*TWO[:1], Record(5)]
    (problem,) = outcome.problems
    assert (problem.code, problem.size) == (problems.BAD_SIZE, 42)
    assert problem.found == f"{size} bytes"


@pytest.mark.parametrize("magic", [3, 10, 37, 127, -1])
def test_an_unknown_magic_is_passed_over(magic: int, tmp_path: Path) -> None:
    """FR-16 MR-13: magic 37, 10."""
    outcome = read(tmp_path, batch(TWO, magic=magic) + batch([Record(5)]))
    assert codes(outcome.problems) == [problems.UNKNOWN_MAGIC]
    assert outcome.records == [Record(5)]


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_codec_is_passed_over(codec: int, tmp_path: Path) -> None:
    data = batch(TWO, attributes=codec) + wrapper(1, TWO, 1, attributes=codec - 1)
    outcome = read(tmp_path, data + batch([Record(5)]))
    assert codes(outcome.problems) == [problems.UNKNOWN_CODEC] * 2
    assert outcome.records == [Record(5)]


@pytest.mark.parametrize("magic", [0, 1])
def test_zstd_is_refused_in_the_old_formats(magic: int, tmp_path: Path) -> None:
    """LR-10."""
    outcome = read(tmp_path, wrapper(magic, TWO, 4, value=b"(\xb5/\xfd"))
    assert codes(outcome.problems) == [problems.ZSTD_IN_OLD_FORMAT]


def test_offset_and_leader_epoch_stand_outside_the_crc(tmp_path: Path) -> None:
    """DB-8: a broker sets both in place; the records move along."""
    data = bytearray(batch([Record(0, 7, b"k", b"v"), Record(2, 8)]))
    data[0:8] = (500).to_bytes(8)
    data[12:16] = (77).to_bytes(4)
    outcome = read(tmp_path, bytes(data))
    assert [record.offset for record in outcome.records] == [500, 502]
    assert outcome.problems == []
    assert table(tmp_path, bytes(data))[0].partition_leader_epoch == 77


def test_the_time_of_appending_is_every_record_s(tmp_path: Path) -> None:
    """DB-9 LR-9 MR-12: the batch's largest timestamp, the wrapper's own."""
    records = [Record(at, 100 + at, b"k", b"v") for at in range(3)]
    data = batch(records, attributes=8, max_timestamp=900)
    data += wrapper(1, records, 1, attributes=8, timestamp=901)
    data += wrapper(1, records, 2, timestamp=902)
    data += message(1, records[0], 8)
    stamps = [record.timestamp for record in read(tmp_path, data).records]
    assert stamps == [900] * 3 + [901] * 3 + [100, 101, 102] + [100]
    kinds = table(tmp_path, data).column("timestamp_type").tolist()
    assert kinds == [1, 1, 0, 1]


def test_a_delete_horizon_takes_the_place_of_the_base_timestamp(tmp_path: Path) -> None:
    """MB-8 MR-6: the records' times count from it all the same."""
    records = [Record(0, 50, b"a", None), Record(1, 100, b"b", None), Record(2, 150, b"c", None)]
    data = batch(records, attributes=0x40, base_timestamp=5000, max_timestamp=150)
    assert [record.timestamp for record in read(tmp_path, data).records] == [50, 100, 150]
    found = table(tmp_path, data)[0]
    assert (found.delete_horizon, found.base_timestamp) == (5000, None)


def test_a_batch_that_was_cleaned_keeps_its_offsets(tmp_path: Path) -> None:
    """MR-8 MR-9 MR-3: base and last offset, sequences and leader epoch are the original batch's."""
    kept = [Record(8, 5, b"k", b"v")]
    data = batch(
        kept, base_offset=0, last_offset=10, base_timestamp=1, leader_epoch=6, base_sequence=100,
        producer_id=4, producer_epoch=1, attributes=16,
    )  # fmt: skip
    found = table(tmp_path, data)[0]
    assert (found.base_offset, found.last_offset, found.record_count) == (0, 10, 1)
    assert (found.base_sequence, found.last_sequence, found.is_transactional) == (100, 110, True)
    assert (found.producer_id, found.partition_leader_epoch) == (4, 6)
    assert read(tmp_path, data).records == kept


def record_with(**parts: bytes) -> bytes:
    """Return a record with some parts given as bytes."""
    fields = {
        "attributes": b"\0",
        "timestamp": varint(0),
        "offset": varint(0),
        "key": varint(3) + b"key",
        "value": varint(5) + b"value",
        "headers": varint(1) + varint(1) + b"h" + varint(2) + b"hv",
    }
    body = b"".join((fields | parts).values())
    return varint(len(body)) + body


HEADER_CASES = {
    "count too high": varint(2) + varint(1) + b"h" + varint(2) + b"hv",
    "count too low": varint(0) + varint(1) + b"h" + varint(2) + b"hv",
    "count below zero": varint(-1) + varint(1) + b"h" + varint(2) + b"hv",
    "count above the bytes": varint(1000) + varint(1) + b"h",
    "key is null": varint(1) + varint(-1) + varint(2) + b"hv",
    "key below null": varint(1) + varint(-5) + varint(2) + b"hv",
    "key beyond the record": varint(1) + varint(90) + b"h" + varint(2) + b"hv",
    "value beyond the record": varint(1) + varint(1) + b"h" + varint(90) + b"hv",
    "value cut short": varint(1) + varint(1) + b"h" + varint(3) + b"hv",
}


@pytest.mark.parametrize("name", HEADER_CASES)
@pytest.mark.parametrize("options", [0, HEADERS, KEYS | VALUES | HEADERS])
def test_bad_headers_are_refused_whether_wanted_or_not(
    name: str, options: int, tmp_path: Path
) -> None:
    """DR-1 DR-2 DB-11: even if the reader only skips them."""
    path = tmp_path / "headers.log"
    record = record_with(headers=HEADER_CASES[name])
    path.write_bytes(batch([Record(0)], payload=record) + batch([Record(9)]))
    with FileSource(str(path)) as source:
        chunks = list(RecordReader(source, options=options))
    (problem,) = [problem for chunk in chunks for problem in chunk.problems]
    assert problem.code in {problems.BAD_HEADERS, problems.BAD_VARINT, problems.RECORD_NOT_FILLED}
    assert [int(offset) for chunk in chunks for offset in chunk.columns.offsets] == [9]


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ({"key": varint(100) + b"key"}, problems.BAD_KEY),
        ({"value": varint(100) + b"value"}, problems.BAD_VALUE),
        ({"timestamp": b"\xff" * 10 + b"\x01"}, problems.BAD_VARINT),
        ({"offset": b"\xff" * 5 + b"\x01"}, problems.BAD_VARINT),
        ({"headers": varint(0) + b"more"}, problems.RECORD_NOT_FILLED),
    ],
)
def test_a_field_beyond_its_record_is_refused(
    parts: dict[str, bytes], code: int, tmp_path: Path
) -> None:
    """DR-2 DR-3."""
    outcome = read(tmp_path, batch([Record(0)], payload=record_with(**parts)))
    assert codes(outcome.problems) == [code]


@pytest.mark.parametrize(
    "payload",
    [
        varint(1) + b"\0" + bytes(8),  # no room for a timestamp
        varint(100) + bytes(9),
        varint(-1) + bytes(9),
        b"\xff" * 9,
        varint(7) + b"\0" + b"\x80" * 7,
    ],
)
def test_a_record_that_is_cut_short_is_refused(payload: bytes, tmp_path: Path) -> None:
    """DR-1 DR-3."""
    outcome = read(tmp_path, batch([Record(0)], payload=payload))
    assert len(outcome.problems) == 1
    assert outcome.records == []


def test_any_negative_size_is_null(tmp_path: Path) -> None:
    """DR-2: a header's value may be null too."""
    record = record_with(
        key=varint(-7), value=varint(-2), headers=varint(1) + varint(1) + b"h" + varint(-3)
    )
    outcome = read(tmp_path, batch([Record(0, 3)], payload=record))
    assert outcome.records == [Record(0, 3, None, None, ((b"h", None),))]


@pytest.mark.parametrize("magic", [0, 1])
def test_a_bad_wrapper_is_refused(magic: int, tmp_path: Path) -> None:
    """LR-4: null or empty value, a compressed message inside, an inner size that is too small."""
    inner = message(magic, TWO[0])
    nested = wrapper(magic, TWO, 1)
    bad = {
        problems.NULL_WRAPPER: message(magic, Record(1, 5, None, None), 1),
        problems.EMPTY_WRAPPER: wrapper(magic, [], 1),
        problems.NESTED_COMPRESSION: wrapper(magic, TWO, 1, payload=nested),
        problems.BAD_INNER_MESSAGE: wrapper(magic, TWO, 2, payload=inner + bytes(20)),
        problems.BAD_COMPRESSION: wrapper(magic, TWO, 3, value=b"no lz4"),
    }
    for code, entry in bad.items():
        outcome = read(tmp_path, entry + message(magic, Record(9, 1)))
        assert codes(outcome.problems) == [code]
        assert [record.offset for record in outcome.records] == [9]


@pytest.mark.parametrize("left", [1, 11, 12, 30])
def test_an_inner_message_that_is_cut_short_ends_its_wrapper_and_is_told(
    left: int, tmp_path: Path
) -> None:
    """Kafka: AbstractLegacyRecordBatch.DeepRecordsIterator stops there without an error."""
    inner = message(0, TWO[0]) + message(0, TWO[1])[:left]
    last = Record(TWO[-1].offset + 1, 5, b"key3", None)
    entries = wrapper(0, TWO, 1, payload=inner) + wrapper(0, [last], 1)
    outcome = read(tmp_path, entries)
    assert [record.key for record in outcome.records] == [b"key1", b"key3"]
    assert codes(outcome.problems) == [problems.CUT_WRAPPER]


@pytest.mark.parametrize("codec", [1, 2, 3])
def test_offsets_in_a_wrapper_of_magic_1_count_back_from_its_own(
    codec: int, tmp_path: Path
) -> None:
    """LR-5: a broker sets the wrapper's offset alone."""
    records = [Record(at, 5, b"k", b"v") for at in (0, 1, 4)]
    outcome = read(tmp_path, wrapper(1, records, codec, offset=1004))
    assert [record.offset for record in outcome.records] == [1000, 1001, 1004]


def test_a_wrapper_of_magic_1_with_offset_0_leaves_the_inner_offsets_as_they_are(
    tmp_path: Path,
) -> None:
    """LR-6: some versions of librdkafka send it."""
    outcome = read(tmp_path, wrapper(1, [Record(at, 5) for at in range(3)], 1, offset=0))
    assert [record.offset for record in outcome.records] == [0, 1, 2]


def test_a_wrapper_offset_below_the_last_inner_one_is_refused(tmp_path: Path) -> None:
    """LR-7."""
    outcome = read(tmp_path, wrapper(1, [Record(at, 5) for at in range(3)], 1, offset=1))
    assert codes(outcome.problems) == [problems.BAD_WRAPPER_OFFSET]


def test_a_wrapper_may_hold_messages_of_another_magic(tmp_path: Path) -> None:
    """KAFKA-4298: the wrapper's magic decides what the offsets mean; magic 0 has no time."""
    records = [Record(at, 50 + at, b"k", b"v") for at in range(3)]
    stamped = wrapper(1, records, 1, offset=12, inner_magic=0, attributes=8, timestamp=99)
    absolute = wrapper(0, records, 1, inner_magic=1)
    outcome = read(tmp_path, stamped + absolute)
    assert [record.offset for record in outcome.records] == [10, 11, 12, 0, 1, 2]
    assert [record.timestamp for record in outcome.records] == [-1, -1, -1, 50, 51, 52]


@pytest.mark.parametrize("size", [13, 21])
def test_a_message_without_room_for_its_fields_is_refused(size: int, tmp_path: Path) -> None:
    """LR-3: 14 bytes are needed, 22 in magic 1."""
    entry = struct.pack(">qi", 0, size) + bytes(4) + bytes([size > 14]) + bytes(size - 5)
    outcome = read(tmp_path, entry + batch([Record(9)]))
    assert codes(outcome.problems) == [problems.SHORT_BATCH if size == 21 else problems.BAD_SIZE]
    assert outcome.records == [Record(9)]


@pytest.mark.parametrize("options", [0, KEYS, VALUES, HEADERS, KEYS | HEADERS])
def test_columns_that_are_not_wanted_change_nothing_else(options: int, tmp_path: Path) -> None:
    """DB-11: offsets, times and the wanted columns are those of reading everything."""
    records = [Record(at, at, b"k%d" % at, b"v" * at, ((b"h", None),)) for at in range(5)]
    path = tmp_path / "some.log"
    path.write_bytes(batch(records) + batch(records, 1) + message(1, records[0]))
    with FileSource(str(path)) as source:
        some = list(RecordReader(source, options=options))
        everything = list(RecordReader(source))
    for a, b in zip(some, everything, strict=True):
        assert a.columns.offsets.tolist() == b.columns.offsets.tolist()
        assert a.columns.timestamps.tolist() == b.columns.timestamps.tolist()
        for wanted, name in ((KEYS, "keys"), (VALUES, "values"), (HEADERS, "headers")):
            column, full = getattr(a.columns, name), getattr(b.columns, name)
            assert (column is None) == (not options & wanted)
            if column is not None:
                items = [column.item(at) for at in range(len(column))]
                assert items == [full.item(at) for at in range(len(full))]


def test_a_range_of_the_file_is_read_alone(tmp_path: Path) -> None:
    """FR-3 FR-5 FR-7: what is outside, or is added meanwhile, is not looked at."""
    first, second, third = (batch([Record(at, 1, b"k", b"v")]) for at in range(3))
    path = tmp_path / "range.log"
    path.write_bytes(first + second)
    with FileSource(str(path)) as source:
        reader = RecordReader(source, len(first))
        with path.open("ab") as file:
            file.write(third)
        assert [r.offset for chunk in reader for r in records_of(chunk.columns)] == [1]
        for start, stop in ((0, len(first)), (0, len(first) + 5)):
            offsets = [
                int(offset)
                for chunk in RecordReader(source, start, stop)
                for offset in chunk.columns.offsets
            ]
            assert offsets == [0]
        behind = RecordReader(source, 10_000_000)
        assert sum(len(chunk.columns) for chunk in behind) == 0


def test_only_selected_batches_are_decoded(tmp_path: Path) -> None:
    path = tmp_path / "selected.log"
    bad = batch([Record(1)], crc=0)
    path.write_bytes(batch([Record(0)]) + bad + batch([Record(2)]) + batch([Record(3)], 1))
    with FileSource(str(path)) as source:
        chunks = list(RecordReader(source, select=lambda rows: rows["base_offset"] >= 2))
    assert [int(o) for chunk in chunks for o in chunk.columns.offsets] == [2, 3]
    assert [problem for chunk in chunks for problem in chunk.problems] == []


def test_results_stay_as_they_are_while_reading_goes_on(tmp_path: Path) -> None:
    """Memory is used again only for what nobody holds any more."""
    path = tmp_path / "kept.log"
    path.write_bytes(
        b"".join(batch([Record(at, at, b"%d" % at, bytes(90_000))]) for at in range(400))
    )
    pool = BufferPool()
    with FileSource(str(path)) as source:
        kept = [chunk.columns for chunk in RecordReader(source, pool=pool)]
        for _ in range(3):
            for chunk in RecordReader(source, pool=pool):
                assert len(chunk.columns)
    assert len(kept) > 5
    numbers = [
        columns.keys.item(at) for columns in kept if columns.keys for at in range(len(columns))
    ]
    assert numbers == [b"%d" % at for at in range(400)]


def test_a_batch_larger_than_the_window_is_read_whole(tmp_path: Path) -> None:
    """And one that the limit of Kafka's tools, 5 MiB, would not let through."""
    value = np.random.default_rng(3).bytes(9 << 20)
    records = [Record(0, 1, b"large", value), Record(1, 2, b"small", b"")]
    for codec in (0, 2):
        outcome = read(tmp_path, batch(records[1:]) + batch(records, codec) + batch(records[1:]))
        assert outcome.records == [records[1], *records, records[1]]


def test_a_stream_of_many_chunks_keeps_its_order(tmp_path: Path) -> None:
    data = b"".join(batch([Record(at, at, b"k", bytes(700))], at % 5) for at in range(9000))
    outcome = read(tmp_path, data)
    assert [record.offset for record in outcome.records] == list(range(9000))


def test_a_record_written_by_hand_is_that_of_the_writer() -> None:
    plain = Record(0, 0, b"key", b"value", ((b"h", b"hv"),))
    assert record_with() == record_bytes(plain, 0, 0)
