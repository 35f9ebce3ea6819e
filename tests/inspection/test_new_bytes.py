"""What follows a position in a segment: counted as it is, wherever the position is in a batch."""

from pathlib import Path

import pytest

import workbench as wb
from tests.naive import Record, batch
from workbench.inspection.new_bytes import read_new_bytes
from workbench.inspection.segment import Segment

LOG = "00000000000000000000.log"
BATCHES = [batch([Record(3 * at + n, 1000, None, b"v") for n in range(3)]) for at in range(4)]


def segment_of(folder: Path, data: bytes) -> Segment:
    (folder / "orders-0").mkdir(exist_ok=True)
    (folder / "orders-0" / LOG).write_bytes(data)
    return wb.open_log_directory(folder)["orders-0"].segments[0]


@pytest.mark.parametrize("inside", [0, 1, 20, 65])
def test_the_rest_of_a_batch_is_no_damage(tmp_path: Path, inside: int) -> None:
    whole = b"".join(BATCHES)
    segment = segment_of(tmp_path, whole)
    start = len(BATCHES[0]) + inside
    records = 9 if inside == 0 else 6
    assert read_new_bytes(segment, start, from_batch=False) == (records, 0, len(whole))


def test_an_incomplete_batch_is_read_when_it_is_whole(tmp_path: Path) -> None:
    whole = b"".join(BATCHES)
    known = len(whole) - len(BATCHES[-1])
    for cut in range(1, len(BATCHES[-1])):
        segment = segment_of(tmp_path, whole[:-cut])
        assert read_new_bytes(segment, 0, from_batch=True) == (9, 0, known)
    segment = segment_of(tmp_path, whole)
    assert read_new_bytes(segment, known, from_batch=True) == (3, 0, len(whole))
    preallocated = segment_of(tmp_path, whole + bytes(500))
    assert read_new_bytes(preallocated, known, from_batch=True) == (3, 0, len(whole))


def test_damage_is_counted_wherever_it_is(tmp_path: Path) -> None:
    whole = b"".join(BATCHES)
    for at in range(4):
        hurt = bytearray(whole)
        hurt[sum(map(len, BATCHES[:at])) + 64] ^= 0x40
        segment = segment_of(tmp_path, bytes(hurt))
        assert read_new_bytes(segment, 0, from_batch=False)[:2] == (9, 1)
