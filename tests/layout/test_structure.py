from typing import Any

import numpy as np
import pytest

from workbench.layout.index_entries import ABORTED_TRANSACTION, OFFSET_ENTRY, TIME_ENTRY
from workbench.layout.producer_snapshot import CRC_FROM, PRODUCER_ENTRY, SNAPSHOT_HEADER
from workbench.layout.structure import as_struct, place, width

LAYOUTS = [OFFSET_ENTRY, TIME_ENTRY, ABORTED_TRANSACTION, SNAPSHOT_HEADER, PRODUCER_ENTRY]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_struct_reads_the_same_as_the_dtype_it_was_made_from(layout: np.dtype[Any]) -> None:
    data = np.random.default_rng(7).bytes(layout.itemsize)
    assert as_struct(layout).size == layout.itemsize
    assert as_struct(layout).unpack(data) == np.frombuffer(data, layout)[0].item()


def test_places_follow_one_another_without_padding() -> None:
    at = 0
    for name in PRODUCER_ENTRY.names or ():
        assert place(PRODUCER_ENTRY, name) == at
        at += width(PRODUCER_ENTRY, name)
    assert at == 46


def test_the_crc_of_a_snapshot_covers_all_behind_it() -> None:
    assert CRC_FROM == 6


def test_entries_have_the_sizes_that_kafka_gives_them() -> None:
    """TI-5."""
    sizes = OFFSET_ENTRY.itemsize, TIME_ENTRY.itemsize, ABORTED_TRANSACTION.itemsize
    assert sizes == (8, 12, 34)
