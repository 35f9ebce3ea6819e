"""The partition of a key, against what Kafka's own test says of its hash."""

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.kernels import dispatch
from workbench.kernels.plain import murmur2 as plain_murmur2
from workbench.record.columns import BinaryColumn
from workbench.record.partitioner import partitions_for_keys

KAFKAS_OWN = {  # Kafka: UtilsTest.testMurmur2 (4.2)
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


def column(*keys: bytes | None) -> BinaryColumn:
    parts = [key or b"" for key in keys]
    present = np.array([key is not None for key in keys], np.bool_)
    valid = np.packbits(present, bitorder="little")
    return BinaryColumn(
        np.array([0, *accumulate(map(len, parts))], np.int64),
        np.frombuffer(b"".join(parts), np.uint8),
        valid,
        keys.count(None),
    )


@pytest.mark.parametrize("key", KAFKAS_OWN, ids=bytes.decode)
def test_the_hash_is_kafkas(key: bytes) -> None:
    hashed = plain_murmur2.murmur2(key)
    assert hashed - (hashed >> 31 << 32) == KAFKAS_OWN[key]


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_the_kernel_and_its_twin_agree(keys: list[bytes]) -> None:
    given_keys = column(*keys)
    found = [np.full(len(keys), -7, np.int64) for _ in range(2)]
    for twin, out in zip((dispatch, plain_murmur2), found, strict=True):
        twin.murmur2_many(given_keys.offsets, given_keys.data, out)
    assert found[0].tolist() == found[1].tolist() == [plain_murmur2.murmur2(key) for key in keys]


def test_a_key_goes_to_its_partition_and_null_to_none() -> None:
    found = partitions_for_keys(column(b"21", None, b"foobar", b""), 6)
    signed = [KAFKAS_OWN[b"21"], KAFKAS_OWN[b"foobar"]]
    assert found[[0, 2]].tolist() == [(each & 0x7FFFFFFF) % 6 for each in signed]
    assert found[1] == -1
    assert 0 <= found[3] < 6


def test_a_topic_without_partitions_takes_no_key() -> None:
    with pytest.raises(ValueError, match="at least one partition, not 0"):
        partitions_for_keys(column(b"k"), 0)
