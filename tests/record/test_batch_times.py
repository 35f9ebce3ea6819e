import threading

import numpy as np
import pytest
from hypothesis import given

from tests import naive
from tests.naive import Record, batch, message, wrapper
from tests.strategies import batches, messages
from workbench.errors import CorruptRecordError
from workbench.record.reading.batch_times import batch_times


def times(data: bytes) -> list[tuple[int, int]]:
    found = batch_times(np.frombuffer(data, np.uint8))
    return list(zip(found.offsets.tolist(), found.timestamps.tolist(), strict=True))


@given(batches() | messages())
def test_offsets_and_times_are_those_of_the_records(data: bytes) -> None:
    """FR-13: in every format, codec and type of timestamp."""
    assert times(data) == [(record.offset, record.timestamp) for record in naive.read(data)]


def test_one_batch_after_the_other_is_read_into_the_same_memory() -> None:
    large = [Record(n, 5 * n) for n in range(5000)]
    for records in (large[:3], large, large[:1], []):
        data = batch(records, 1)
        assert times(data) == [(record.offset, record.timestamp) for record in records]
    one = batch_times(np.frombuffer(batch(large), np.uint8))
    other = batch_times(np.frombuffer(batch(large), np.uint8))
    assert np.shares_memory(one.offsets, other.offsets)


def test_threads_read_into_memory_of_their_own() -> None:
    mine = batch_times(np.frombuffer(batch([Record(1, 1)]), np.uint8))
    found: list[list[tuple[int, int]]] = []
    thread = threading.Thread(target=lambda: found.append(times(batch([Record(2, 2)]))))
    thread.start()
    thread.join()
    assert found == [[(2, 2)]]
    assert mine.offsets.tolist() == [1]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (batch([Record(1)])[:-1], "incomplete"),
        (bytes(60), "size cannot be right"),
        (batch([Record(1)], magic=9), "unknown magic"),
        (batch([Record(1)], attributes=7), "unknown codec"),
        (batch([Record(1)], payload=b"\xff" * 20), "byte 0 of the records"),
        (batch([Record(1)], 1, payload=b"\xff" * 20), "cannot be read: "),
        (message(1, Record(1))[:-1], "incomplete"),
        (wrapper(1, [Record(1)], 1, value=b"\xff" * 20), "cannot be read: "),
    ],
)
def test_a_batch_that_cannot_be_read_says_why(data: bytes, words: str) -> None:
    with pytest.raises(CorruptRecordError, match=words):
        times(data)
    assert times(batch([Record(1, 2)])) == [(1, 2)]
