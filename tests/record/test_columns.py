"""Columns of records: nulls, growing, and memory that is used again."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import Record, batch
from tests.record.reading import read
from workbench.record.buffers import BufferPool
from workbench.record.columns import BinaryColumn


def column(items: list[bytes | None]) -> BinaryColumn:
    sizes = [len(item or b"") for item in items]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    data = np.frombuffer(b"".join(item or b"" for item in items), np.uint8)
    bits = np.packbits([item is not None for item in items], bitorder="little")
    return BinaryColumn(offsets, data, bits, items.count(None))


@given(items=st.lists(st.none() | st.binary(max_size=9), min_size=1))
def test_items_are_bytes_or_null_and_empty_is_not_null(items: list[bytes | None]) -> None:
    found = column(items)
    assert [found.item(at) for at in range(len(found))] == items
    assert found.items() == items
    for first in range(len(items)):
        for last in (first, len(items)):
            part = found.cut(first, last)
            assert part.items() == items[first:last]
            assert part.null_count == part.items().count(None)
    assert found.sizes().tolist() == [len(item or b"") for item in items]
    assert found.is_null().tolist() == [item is None for item in items]


def test_outputs_grow_without_losing_nulls_and_headers(tmp_path: Path) -> None:
    """Uncompressed, compressed and old batches in turn make the outputs move several times."""
    records = [
        Record(
            at,
            at,
            None if at % 3 else b"k" * (at % 50),
            None if at % 4 == 1 else b"v" * (at % 300),
            tuple((b"h%d" % n, None if n % 2 else b"x" * n) for n in range(at % 5)),
        )
        for at in range(4000)
    ]
    data = b"".join(batch(records[at : at + 40], at // 40 % 5) for at in range(0, 4000, 40))
    assert read(tmp_path, data).records == records


def test_a_slab_goes_out_again_only_when_nobody_holds_it() -> None:
    pool = BufferPool()
    first = pool.take(np.uint8, 1000)
    first[:] = 1
    part = first[10:20]
    del first
    second = pool.take(np.uint8, 1000)
    second[:] = 2
    assert (part == 1).all()
    address = second.ctypes.data
    del second
    assert pool.take(np.int64, 100).ctypes.data == address
    assert pool.size == 2 * 1024
