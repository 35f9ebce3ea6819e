"""Each compiled kernel does what its plain twin does: same values, same code, same position.

On generated and on real bytes, whole, at every cut, and with thousands of changes.
"""

import os
import random
import zlib
from collections.abc import Callable
from types import ModuleType

import crc32c
import crcmod.predefined
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden.cases import Case
from tests.kernels.real_files import real_files
from tests.kernels.twins import (
    ALL,
    Bytes,
    as_array,
    check_both,
    decode_both,
    scan_both,
    sound_runs,
    spans_of,
)
from tests.naive import Record, batch, message
from tests.naive import read as read_plainly
from tests.strategies import batches, logs, messages
from workbench.kernels import dispatch
from workbench.kernels.plain import checksum as plain_checksum
from workbench.kernels.plain.reading import scan as plain_scan
from workbench.kernels.plain.reading import search as plain_search
from workbench.kernels.reading.outputs import CHECK_CRC, HEADERS, KEYS, SEARCHED_FIELDS, VALUES
from workbench.layout import problems
from workbench.layout.batch_row import BATCH_ROW
from workbench.record.codecs.compression import DecompressionError, decompress
from workbench.record.reading.wrapper import WrapperError, wrapper_value

Golden = Callable[[str], Case]


Found = tuple[tuple[int, ...], list[list[int]], list[int], list[int]]


def found_by(module: ModuleType, data: Bytes, wanted: tuple[int, int, int], room: int = 8) -> Found:
    """Return what the searches of a twin say, the headers that they note, and the records read.

    Args:
        module: the twin.
        data: a window at position 100 of a file.
        wanted: the file's end, an offset and a timestamp.
        room: records of a batch.
    """
    rows, headers = np.zeros(1, BATCH_ROW), np.zeros((2, len(SEARCHED_FIELDS)), np.int64)
    offsets, timestamps = np.zeros(room, np.int64), np.zeros(room, np.int64)
    batch_rows = np.zeros(room, np.int32)
    batch_found = module.find_batch(data, 100, *wanted, rows, headers)
    noted = headers.tolist()
    headers[:] = 0
    columns = (offsets, timestamps, batch_rows)
    position, code, slot = module.find_record(data, 100, *wanted, rows, headers, *columns)
    kept = int(rows["record_count"][0]) if slot >= 0 else 0
    return (
        tuple(map(int, (*batch_found, position, code, slot))),
        [*noted, *headers.tolist()],
        offsets[:kept].tolist(),
        timestamps[:kept].tolist(),
    )


def decode_everything(data: bytes) -> int:
    """Scan and decode bytes with both twins, compressed batches too; return how many records."""
    array = as_array(data)
    rows, _, _ = scan_both(array, 0, len(data), 4096)
    whole = rows["position"] + rows["size"] <= len(data)
    rows = rows[whole]
    check_both(array, 0, rows)
    records = 0
    for run in sound_runs(rows):
        for options in (0, KEYS, VALUES | CHECK_CRC, HEADERS, ALL | CHECK_CRC):
            decode_both(array, spans_of(rows), rows, options, run)
        _, found = decode_both(array, spans_of(rows), rows, ALL, run)
        records += found["used"][0]
    for row in rows[(rows["codec"] != 0) & (rows["problem"] == problems.OK)]:
        entry = data[int(row["position"]) : int(row["position"] + row["size"])]
        try:
            start, end = (61, len(entry))
            if row["magic"] < 2:
                start, end = wrapper_value(memoryview(entry))
            inner = decompress(int(row["codec"]), entry[start:end], int(row["magic"]), 1 << 20)
        except (DecompressionError, WrapperError):
            continue
        spans = np.array([[0, len(inner)]])
        _, found = decode_both(as_array(inner), spans, np.array([row]))
        records += found["used"][0]
    return records


@given(data=logs)
def test_generated_logs_decode_alike(data: bytes) -> None:
    assert decode_everything(data) == len(read_plainly(data))


def test_real_files_decode_alike(golden: Golden) -> None:
    assert sum(decode_everything(data) for data in real_files(golden, 20_000, 6)) > 500


@given(data=logs, start=st.integers(0, 2**40), cut=st.integers(0, 200), room=st.integers(1, 6))
def test_a_walk_stops_alike_wherever_the_window_and_the_file_end(
    data: bytes, start: int, cut: int, room: int
) -> None:
    window = as_array(data[: len(data) - cut])
    scan_both(window, start, start + len(data), room)
    scan_both(window, start, start + len(window), room)
    scan_both(window, start, start + len(data) + 7, room)


def test_every_cut_of_small_real_files_is_walked_alike(golden: Golden) -> None:
    """FR-4 FR-15: what is cut off ends the walk at the last whole batch."""
    for data in real_files(golden, 1200, 3):
        whole, _, _ = scan_both(as_array(data), 0, len(data))
        for cut in range(len(data)):
            rows, position, code = scan_both(as_array(data[:cut]), 0, cut)
            ends = whole["position"] + whole["size"]
            assert len(rows) == int((ends <= cut).sum())
            assert position == (int(ends[len(rows) - 1]) if len(rows) else 0)
            assert code == (problems.END if position == cut else problems.UNFINISHED)
            scan_both(as_array(data[:cut]), 0, len(data))  # more of the file is to come


def test_every_cut_inside_the_records_of_a_batch_is_refused_alike(golden: Golden) -> None:
    """DB-6 DR-3: too few bytes for the declared records."""
    for data in real_files(golden, 1200, 3):
        array = as_array(data)
        rows, _, _ = scan_both(array, 0, len(data))
        spans = spans_of(rows)
        for first, last in sound_runs(rows):
            for row in range(first, last):
                least = 26 if rows[row]["magic"] < 2 else 0  # checked by the walk
                begin, end = int(spans[row, 0]), int(spans[row, 1])
                for cut in range(begin + least, end):
                    shorter = spans.copy()
                    shorter[row, 1] = cut
                    result, found = decode_both(array, shorter, rows, ALL, (row, row + 1))
                    assert rows[row]["record_count"] == 0 or result[1] != problems.OK
                    assert found["used"][0] == 0


@pytest.mark.parametrize("seed", range(2))
def test_thousands_of_changed_bytes_are_read_alike(seed: int, golden: Golden) -> None:
    randomly = random.Random(seed)
    for data in real_files(golden, 2500, 4):
        for _ in range(40):
            changed = bytearray(data)
            for _ in range(randomly.randint(1, 4)):
                changed[randomly.randrange(len(changed))] = randomly.choice(
                    [0, 1, 0x7F, 0x80, 0xFF, randomly.randrange(256)]
                )
            decode_everything(bytes(changed))


@pytest.mark.parametrize("seed", range(2))
def test_changed_records_are_refused_alike(seed: int) -> None:
    """DR-1 DR-2 DR-3: lengths and counts anywhere in a record, with a CRC that nobody checks."""
    randomly = random.Random(seed)
    headers = ((b"h", b"1"), (b"h", None), (b"", b""))
    records = [
        Record(100, 1_700_000_000_000, b"key", b"value", headers),
        Record(101, 1_700_000_000_007, None, None),
        Record(104, 1_699_999_999_000, b"", b"x" * 200, headers[:1]),
    ]
    sound = batch(records)
    codes = set()
    for _ in range(2000):
        changed = bytearray(sound)
        for _ in range(randomly.randint(1, 3)):
            changed[randomly.randrange(57, len(changed))] = randomly.choice(
                [0, 1, 2, 3, 6, 0x0E, 0x7F, 0x80, 0xFE, 0xFF, randomly.randrange(256)]
            )
        array = as_array(bytes(changed))
        rows, _, _ = scan_both(array, 0, len(array))
        if rows[0]["problem"] == problems.OK:
            (_, code, _), found = decode_both(array, spans_of(rows), rows)
            assert found["used"][0] == (rows[0]["record_count"] if code == problems.OK else 0)
            codes.add(code)
    assert codes >= {
        problems.OK,
        problems.BAD_VARINT,
        problems.BAD_RECORD_LENGTH,
        problems.BAD_KEY,
        problems.BAD_VALUE,
        problems.BAD_HEADERS,
        problems.RECORD_NOT_FILLED,
        problems.BYTES_AFTER_RECORDS,
    }


@pytest.mark.parametrize("magic", [0, 1])
def test_changed_messages_are_refused_alike(magic: int) -> None:
    """LR-2 LR-3 for every byte of a message, plain and inside a wrapper."""
    sound = message(magic, Record(3, 1_700_000_000_000, b"key", b"value"))
    codes = set()
    for at in range(12, len(sound)):
        for value in (0, 1, 0x7F, 0x80, 0xFE, 0xFF, sound[at] ^ 1):
            changed = sound[:at] + bytes([value]) + sound[at + 1 :]
            array = as_array(changed)
            rows, _, _ = scan_both(array, 0, len(array))
            if rows[0]["problem"] == problems.OK and not rows[0]["codec"]:
                codes.add(decode_both(array, spans_of(rows), rows)[0][1])
                result, _ = decode_both(array, spans_of(rows), rows, ALL | CHECK_CRC)
                assert (changed == sound) == (result[1] == problems.OK)
            outer = np.zeros(1, BATCH_ROW)
            outer["codec"], outer["magic"], outer["last_offset"] = 1, magic, 3
            inner = as_array(sound + changed)
            codes.add(decode_both(inner, np.array([[0, len(inner)]]), outer)[0][1])
    assert codes >= {
        problems.OK,
        problems.BAD_KEY,
        problems.BAD_VALUE,
        problems.RECORD_NOT_FILLED,
        problems.BAD_INNER_MESSAGE,
        problems.NESTED_COMPRESSION,
    }


@given(first=batches(codec=0), second=batches(codec=0), third=messages())
def test_outputs_are_appended_to(first: bytes, second: bytes, third: bytes) -> None:
    data = as_array(first + second + third)
    rows, _, _ = scan_both(data, 0, len(data))
    if (rows["problem"][:2] == problems.OK).all():
        _, together = decode_both(data, spans_of(rows), rows, ALL, (0, 2))
        _, alone = decode_both(data, spans_of(rows), rows, ALL, (1, 2))
        count = int(rows[0]["record_count"])
        assert together["offsets"][count:] == alone["offsets"]
        assert together["value_data"].endswith(alone["value_data"])


@given(data=logs, window=st.integers(4096, 9000), room=st.integers(1, 9))
def test_a_file_is_walked_like_its_bytes(
    data: bytes, window: int, room: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"walked-{os.getpid()}.log"
    path.write_bytes(data)
    expected, position, code = scan_both(as_array(data), 0, len(data), room)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        for module in (dispatch, plain_scan):
            rows = np.zeros(room, BATCH_ROW)
            got = module.scan_file(descriptor, 0, len(data), np.empty(window, np.uint8), rows)
            assert tuple(map(int, got)) == (len(expected), position, code)
            assert rows[: len(expected)].tolist() == expected.tolist()
    finally:
        os.close(descriptor)


def test_checksums_are_those_of_three_other_libraries() -> None:
    """CRC-32C by crc32c and crcmod, CRC-32 by zlib: small sizes, edges of runs, any address."""
    by_crcmod = crcmod.predefined.mkCrcFun("crc-32c")
    memory = np.random.default_rng(1).integers(0, 256, 70_000, np.uint8)
    edges = [n + d for n in (768, 1536, 6144, 12288, 61440) for d in (-9, -1, 0, 1, 7, 255)]
    for size in [*range(300), *edges]:
        for start in (0, 1, 3, 7):
            data = memory[start : start + size]
            expected = crc32c.crc32c(data.tobytes())
            assert int(dispatch.crc32c(data)) == plain_checksum.crc32c(data) == expected
            assert by_crcmod(data.tobytes()) == expected
            assert (
                int(dispatch.crc32(data))
                == plain_checksum.crc32(data)
                == zlib.crc32(data.tobytes())
            )


@given(logs, st.integers(0, 9), st.integers(-2, 2), st.integers(0, 500), st.integers(0, 255))
def test_searches_find_what_those_of_the_twin_find(
    data: bytes, pick: int, off: int, at: int, byte: int
) -> None:
    """FR-8 FR-13: in sound bytes, cut ones and changed ones, in windows shorter than the file."""
    rows, _, _ = scan_both(as_array(data), 0, len(data))
    row = rows[pick % len(rows)] if len(rows) else np.zeros(1, BATCH_ROW)[0]
    offset, timestamp = int(row["last_offset"]) + off, int(row["max_timestamp"]) + off
    for changed in (data, data[:at], data[:at] + bytes([byte]) + data[at + 1 :]):
        for end in (100 + len(changed), 100 + len(data) + 7):
            wanted = (end, offset, timestamp)
            both = [
                found_by(module, as_array(changed), wanted) for module in (dispatch, plain_search)
            ]
            assert both[0] == both[1]


def test_a_search_by_time_reads_uncompressed_batches_with_room_for_them() -> None:
    two = batch([Record(3, 5), Record(4, 6)])
    for module in (dispatch, plain_search):

        def slot_in(data: bytes, offset: int, module: ModuleType = module) -> int:
            return found_by(module, as_array(data), (1 << 20, offset, 5))[0][-1]

        assert slot_in(two, 0) == 0
        assert slot_in(two, 4) == 1
        assert slot_in(batch([Record(1, 4)]) + two, 4) == 1
        assert slot_in(two[:-1], 0) == -1
        assert slot_in(batch([Record(n, 5) for n in range(8)]), 7) == 7
        assert slot_in(batch([Record(n, 5) for n in range(9)]), 7) == -1
        assert slot_in(batch([Record(3, 5)], 1), 0) == -1
        assert slot_in(message(1, Record(3, 5)), 0) == -1
