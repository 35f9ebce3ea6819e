"""Records by row number: what a table of millions of rows asks for."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden.cases import Case
from tests.golden.reading import open_segment
from tests.naive import Record, batch, wrapper
from tests.naive import read as read_plainly
from workbench.inspection.lookups.record_window import RecordWindow

Golden = Callable[[str], Case]


@pytest.mark.parametrize(
    "name", ["4.2.0-plain-java", "k0.9-formats", "k2.3-message-format", "4.2.0-txn"]
)
def test_every_window_is_a_piece_of_the_whole(name: str, golden: Golden) -> None:
    randomly = random.Random(name)
    paths = sorted(p for p in Path(golden(name).path).rglob("*.log") if p.stat().st_size)
    for path in randomly.sample(paths, 12):
        expected = read_plainly(path.read_bytes())
        window = RecordWindow(open_segment(path))
        assert len(window) == len(expected)
        for _ in range(8):
            start = randomly.randint(-3, len(expected) + 3)
            stop = start + randomly.randint(0, 9)
            found = window.read(start, stop)
            wanted = expected[max(start, 0) : max(stop, 0)]
            assert [(r.offset, r.key, r.value, tuple(r.headers)) for r in found] == [
                (r.offset, r.key, r.value, r.headers) for r in wanted
            ]
            for record in found:
                row = window.row_of_offset(record.offset)
                assert expected[row].offset == record.offset
                assert window.first_row(record.batch) <= row
                assert window.batch_of(row) == record.batch


def test_offsets_in_gaps_and_behind_the_end_give_the_next_row(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch([Record(2), Record(5)]) + batch([Record(9)]))
    window = RecordWindow(open_segment(path))
    assert [window.row_of_offset(o) for o in (0, 2, 3, 5, 6, 9, 10)] == [0, 0, 1, 1, 2, 2, 3]


def test_damaged_batches_have_no_rows_or_empty_ones(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    sound = batch([Record(0), Record(1)])
    path.write_bytes(batch([Record(7)], magic=9) + sound + batch([Record(3)], crc=5) + sound)
    window = RecordWindow(open_segment(path))
    assert [record.offset for record in window.read(0, 99)] == [0, 1, 0, 1]
    assert window.read(2, 3) == []


def test_an_unreadable_wrapper_has_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    two = [Record(0, 1, b"a"), Record(1, 2, b"b")]
    path.write_bytes(wrapper(1, two, 1) + wrapper(1, two, 1, value=b"no gzip") + wrapper(1, two, 2))
    window = RecordWindow(open_segment(path))
    assert [record.key for record in window.read(0, 9)] == [b"a", b"b", b"a", b"b"]


def test_times_and_types_are_as_stored(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(
        batch([Record(0, 5)], attributes=8) + batch([Record(1, -1)]) + wrapper(0, [Record(2)], 1)
    )
    records = RecordWindow(open_segment(path)).read(0, 3)
    assert [(r.timestamp, r.timestamp_type) for r in records] == [
        (5, "LogAppendTime"),
        (None, "CreateTime"),
        (None, None),
    ]
