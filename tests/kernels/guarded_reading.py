"""A program: run every kernel on bytes that end at the edge of memory nobody may touch.

Reading one byte too far kills it. `test_bounds` starts it and looks at how it ended.
"""

import ctypes
import mmap
import random
import sys

import numpy as np

from tests.kernels.twins import (
    ALL,
    Bytes,
    Rows,
    check_both,
    decode_both,
    scan_both,
    sound_runs,
    spans_of,
)
from tests.naive import Record, batch, message
from workbench.kernels import dispatch
from workbench.kernels.reading.outputs import CHECK_CRC, SEARCHED_FIELDS
from workbench.kernels.writing import checks
from workbench.kernels.writing.checks import AT
from workbench.layout.attributes import LZ4, SNAPPY
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.compaction import RECORD_PLACE
from workbench.record.codecs.compression import Arena, Limits, compress, decompress_usual

_PAGES = 4


class EdgeOfMemory:
    """Memory whose last byte is followed by a page that cannot be read."""

    def __init__(self) -> None:
        self._mapped = mmap.mmap(-1, (_PAGES + 1) * mmap.PAGESIZE)
        self._memory = np.frombuffer(self._mapped, np.uint8)
        address = self._memory.ctypes.data + _PAGES * mmap.PAGESIZE
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), 0):
            raise OSError(ctypes.get_errno(), "mprotect")

    def put(self, data: bytes | bytearray) -> Bytes:
        """Return ``data`` as an array that ends at the edge."""
        end = _PAGES * mmap.PAGESIZE
        array = self._memory[end - len(data) : end]
        array[:] = np.frombuffer(data, np.uint8)
        return array


def sound_bytes() -> list[bytes]:
    headers = ((b"h", b"1"), (b"", None), (b"k" * 70, b"v" * 140))
    records = [
        Record(7, 1_700_000_000_000, b"key", b"value" * 30, headers),
        Record(8, 1_700_000_000_900, None, None),
        Record(11, 1_600_000_000_000, b"", b"", headers[:1]),
    ]
    old = [message(magic, record) for magic in (0, 1) for record in records]
    return [batch(records) + batch(records[:1]), b"".join(old), batch(records) + old[0] + old[4]]


def read_all(array: Bytes) -> None:
    read_append(array)
    read_searches(array)
    rows, _, _ = scan_both(array, 0, len(array))
    read_places(array, rows)
    scan_both(array, 0, len(array) + 100)
    check_both(array, 0, rows)
    for run in sound_runs(rows):
        decode_both(array, spans_of(rows), rows, ALL | CHECK_CRC, run)
        decode_both(array, spans_of(rows), rows, ALL, run)


def read_searches(array: Bytes) -> None:
    """Search for a batch and a record."""
    rows, headers = np.zeros(1, BATCH_ROW), np.zeros((2, len(SEARCHED_FIELDS)), np.int64)
    columns = (np.zeros(8, np.int64), np.zeros(8, np.int64), np.zeros(8, np.int32))
    for end in (len(array), len(array) + 100):
        dispatch.find_batch(array, 0, end, 2**62, 2**62, rows, headers)
        dispatch.find_record(array, 0, end, 11, 1_600_000_000_001, rows, headers, *columns)
        dispatch.find_record(array, 0, end, 2**62, 0, rows, headers, *columns)


def read_append(array: Bytes) -> None:
    """Check the bytes as an append, and what follows a header as decompressed records."""
    checked = np.zeros((8, checks.COLUMNS), np.int64)
    window = (0, 2**63 - 1, 2**63 - 1)
    dispatch.check_batches(array, 0, checked, checks.CHECK_RECORDS, *window)
    row = np.zeros(checks.COLUMNS, np.int64)
    for start in (0, 61):
        if start <= len(array):
            row[AT.record_count] = 3
            for options in (0, checks.HEADS_ONLY):
                dispatch.check_records(array, start, len(array), row, options, *window)
            dispatch.are_canonical(array, start, len(array), 3, 0)


def read_places(array: Bytes, rows: Rows) -> None:
    """Locate records, and hash their keys."""
    places, table = np.zeros(64, RECORD_PLACE), np.zeros(3 * 64, np.int64)
    for first, last in sound_runs(rows):
        if rows["magic"][first] == 2:
            run = rows[first:last]
            spans = spans_of(run)
            dispatch.locate_records(array, spans, run, 0, len(run), places, 0, array, 0)
            used, *_ = dispatch.locate_records(
                array, spans, run, 0, len(run), places, 0, array[:0], 0
            )
            dispatch.put_keys(array, places, used, 0, table, 64, 1, 2, array[:0], 0, -1)


def read_codecs(edge: EdgeOfMemory, size: int, randomly: random.Random) -> None:
    """Read compressed data that is whole, cut or changed, up to the edge."""
    text = b"".join(b"%d:%d " % (n, randomly.randrange(9)) for n in range(size))
    arena, spans = Arena(4096), np.zeros((1, 2), np.int64)
    for codec in (SNAPPY, LZ4):
        packed = bytearray(compress(codec, text, 2))
        while packed:
            places = np.array([[0, len(packed)]])
            arena.clear()
            limits = Limits(2, 1 << 20, 1 << 20)
            decompress_usual(codec, edge.put(packed).view(), places, arena, spans, limits)
            packed[randomly.randrange(len(packed))] ^= 1 << randomly.randrange(8)
            del packed[len(packed) - randomly.randrange(1, 9) :]


def main() -> int:
    """Read at every cut and with changed bytes; return 0."""
    edge = EdgeOfMemory()
    if "beyond" in sys.argv:  # to see that the edge is one
        dispatch.crc32c(np.lib.stride_tricks.as_strided(edge.put(b"x"), (2,)))
    randomly = random.Random(5)
    for data in sound_bytes():
        for cut in range(len(data) + 1):
            read_all(edge.put(data[:cut]))
        # The records of a batch that is cut, though its header was whole.
        whole = edge.put(data)
        rows, _, _ = scan_both(whole, 0, len(data))
        last = len(rows) - 1
        if rows[last]["magic"] == 2:
            for cut in range(int(rows[last]["size"]) - 61):
                shorter = edge.put(data[: len(data) - cut])
                spans = spans_of(rows)
                spans[last, 1] -= cut
                decode_both(shorter, spans, rows, ALL, (last, last + 1))
        for _ in range(600):
            changed = bytearray(data)
            for _ in range(randomly.randint(1, 3)):
                changed[randomly.randrange(len(changed))] = randomly.choice(
                    [0, 1, 0x7F, 0x80, 0xFF, randomly.randrange(256)]
                )
            read_all(edge.put(bytes(changed)))
    for place in range(200):
        read_codecs(edge, place, randomly)
    for size in range(300):
        dispatch.crc32c(edge.put(bytes(size)))
        dispatch.crc32(edge.put(bytes(size)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
