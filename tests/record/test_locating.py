"""Which batches are looked into when their records are located."""

import numpy as np
import pytest

from tests.naive import Record, batch
from workbench.errors import CorruptRecordError
from workbench.layout.attributes import CODEC_NAMES
from workbench.record.compaction.key_table import Marks
from workbench.record.compaction.locating import BatchSurveyor, RecordLocator

CODECS = range(len(CODEC_NAMES))
SUPERSEDED = np.array([0b00_00_10_10], np.uint8)  # offsets 10 and 11


def located(data: bytes, marks: Marks) -> tuple[list[int], int]:
    """Return the offsets of the records that were located, and how many were skipped."""
    chunk = BatchSurveyor().survey(np.frombuffer(bytearray(data), np.uint8), "a.log", 0)
    runs = list(RecordLocator(marks).locate(chunk))
    offsets = [int(offset) for run in runs for offset in run.places["offset"]]
    return offsets, sum(run.passed for run in runs)


def damaged(data: bytes) -> bytes:
    """Return a batch whose records cannot be read."""
    return data[:61] + b"\xff" * (len(data) - 61)


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_of_superseded_records_is_not_looked_into(codec: int) -> None:
    """The second pass of a cleaning; the first has read every batch."""
    old = damaged(batch([Record(10, 1, b"a", b"1"), Record(11, 1, b"b", b"1")], codec))
    new = batch([Record(12, 1, b"a", b"2"), Record(13, 1, b"b", b"2")], codec)
    assert located(old + new, Marks(SUPERSEDED, 10)) == ([12, 13], 2)
    with pytest.raises(CorruptRecordError):
        located(old + new, Marks(SUPERSEDED[:0], 10))
    with pytest.raises(CorruptRecordError):
        located(old + new, Marks(SUPERSEDED, 11))


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_with_a_gap_is_looked_into(codec: int) -> None:
    """An offset with no record says nothing about the records after it."""
    gap = batch([Record(10, 1, b"a", b"1"), Record(12, 1, b"b", b"1")], codec)
    assert located(gap, Marks(SUPERSEDED, 10)) == ([12], 1)
