"""Large values move together within the window that was read: the same as if copied out of it."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.kernels.twins import ALL, guarded_outputs, spans_of
from tests.naive import Record, batch
from tests.record.reading import read, records_of
from workbench.file_system.source import FileSource
from workbench.kernels import dispatch
from workbench.kernels.plain.reading import decode as plain_decode
from workbench.kernels.reading.outputs import CHECK_CRC, VALUE_BYTES
from workbench.layout import problems
from workbench.layout.batch_row import BATCH_ROW
from workbench.record.buffers import BufferPool
from workbench.record.reading.reader import RecordReader

_RANDOM = np.random.default_rng(7)


def large_records(first: int, count: int, most: int = 3000) -> list[Record]:
    """Return records with values of 0 to ``most`` bytes, nulls, and headers after the values."""
    return [
        Record(
            at,
            1000 + at,
            None if at % 5 == 0 else b"key %d" % at,
            None if at % 7 == 3 else _RANDOM.bytes(int(_RANDOM.integers(0, most))),
            tuple((b"name", _RANDOM.bytes(at % 60)) for _ in range(at % 3)),
        )
        for at in range(first, first + count)
    ]


@pytest.mark.parametrize("module", [dispatch, plain_decode])
def test_values_move_within_the_bytes_that_are_decoded(module: ModuleType) -> None:
    records = large_records(0, 90)
    whole = b"".join(batch(records[at : at + 9]) for at in range(0, 90, 9))
    data = np.frombuffer(whole, np.uint8).copy()
    rows = np.zeros(64, BATCH_ROW)
    count, _, _ = dispatch.scan_window(data, 0, len(data), rows)
    rows = rows[:count]
    outputs = guarded_outputs(len(records), len(data), ALL).outputs._replace(value_data=data)
    result = module.decode_records(data, spans_of(rows), rows, 0, count, ALL | CHECK_CRC, outputs)
    assert tuple(map(int, result)) == (count, problems.OK, 0)
    values = b"".join(record.value or b"" for record in records)
    assert data[: outputs.used[VALUE_BYTES]].tobytes() == values
    names = b"".join(name for record in records for name, _ in record.headers)
    assert outputs.header_key_data[: len(names)].tobytes() == names


def test_bad_batches_between_large_values_are_left_out(tmp_path: Path) -> None:
    records = large_records(0, 400)
    sound = [batch(records[at : at + 10]) for at in range(0, 400, 10)]
    broken = bytearray(sound[3])
    broken[200] ^= 1
    cut_short = batch(large_records(130, 10), count=11)
    parts = [*sound[:3], bytes(broken), *sound[4:13], cut_short, *sound[14:]]
    outcome = read(tmp_path, b"".join(parts))
    assert outcome.records == records[:30] + records[40:130] + records[140:]
    assert [problem.code for problem in outcome.problems] == [
        problems.CRC_MISMATCH,
        problems.BAD_VARINT,
    ]
    assert outcome.problems[0].expected != outcome.problems[0].found


def test_windows_of_large_values_stay_as_they_are_while_reading_goes_on(tmp_path: Path) -> None:
    """Across windows, with batches of small values and compressed ones among them."""
    records = large_records(0, 9000, 5000) + large_records(9000, 6000, 9)
    records += large_records(15000, 2000, 9000)
    path = tmp_path / "kept.log"
    path.write_bytes(
        b"".join(
            batch(records[at : at + 20], 2 if at % 1500 == 0 else 0)
            for at in range(0, len(records), 20)
        )
    )
    pool = BufferPool()
    with FileSource(str(path)) as source:
        kept = [chunk.columns for chunk in RecordReader(source, pool=pool)]
        for _ in range(2):
            assert sum(len(chunk.columns) for chunk in RecordReader(source, pool=pool)) == 17000
    assert len(kept) > 5
    assert [record for columns in kept for record in records_of(columns)] == records
