import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import CorruptRecordError
from workbench.record import varint

INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (-64, "7f"), (64, "8001"), (-65, "8101"),
        (8191, "fe7f"), (-8192, "ff7f"), (8192, "808001"), (-8193, "818001"),
        (1048575, "feff7f"), (1048576, "80808001"), (134217727, "feffff7f"),
        (134217728, "8080808001"), (2147483647, "feffffff0f"), (-2147483648, "ffffffff0f"),
    ],
)  # fmt: skip
def test_a_varint_has_the_bytes_that_kafka_s_test_lists(value: int, encoded: str) -> None:
    """BU-1."""
    assert varint.encode(value).hex() == encoded
    assert varint.encode_long(value).hex() == encoded
    assert varint.decode(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)
    assert varint.decode_long(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        ((1 << 63) - 1, "feffffffffffffffff01"),
        (-(1 << 63), "ffffffffffffffffff01"),
        (17179869183, "feffffff7f"),
        (17179869184, "808080808001"),
    ],
)
def test_a_varlong_has_the_bytes_that_kafka_s_test_lists(value: int, encoded: str) -> None:
    """BU-2."""
    assert varint.encode_long(value).hex() == encoded
    assert varint.decode_long(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)


@given(value=INT32, before=st.binary(max_size=3), after=st.binary(max_size=3))
def test_an_int32_comes_back_from_between_other_bytes(
    value: int, before: bytes, after: bytes
) -> None:
    encoded = varint.encode(value)
    end = len(before) + len(encoded)
    assert varint.decode(before + encoded + after, len(before)) == (value, end)
    assert varint.size_of(value) == len(encoded)


@given(value=INT64)
def test_an_int64_comes_back(value: int) -> None:
    encoded = varint.encode_long(value)
    assert varint.decode_long(memoryview(encoded), 0) == (value, len(encoded))
    assert varint.size_of(value) == len(encoded)


@given(value=st.integers(0, (1 << 32) - 1))
def test_an_unsigned_value_comes_back(value: int) -> None:
    encoded = varint.encode_unsigned(value)
    assert varint.decode_unsigned(encoded, 0) == (value, len(encoded))
    assert varint.size_of_unsigned(value) == len(encoded)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0xFFFFFFFF, "ffffffff0f"), (8192, "8040"), (0x80000000, "8080808008"), (0, "00")],
)
def test_an_unsigned_varint_has_the_bytes_that_kafka_s_test_lists(value: int, encoded: str) -> None:
    """BU-3: Java's ints -1 and Integer.MIN_VALUE stand for 2**32 - 1 and 2**31."""
    assert varint.encode_unsigned(value).hex() == encoded
    assert varint.decode_unsigned(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)


def test_more_bytes_than_needed_are_accepted() -> None:
    assert varint.decode(bytes.fromhex("8200"), 0) == (1, 2)
    assert varint.decode(bytes.fromhex("8280808000"), 0) == (1, 5)
    assert varint.decode_long(bytes.fromhex("82808080808080808000"), 0) == (1, 10)


def test_bits_beyond_the_width_are_dropped_as_in_java() -> None:
    assert varint.decode_unsigned(bytes.fromhex("8080808070"), 0) == (0, 5)
    assert varint.decode_unsigned(bytes.fromhex("ffffffff7f"), 0) == ((1 << 32) - 1, 5)
    assert varint.decode_long(bytes.fromhex("8080808080808080807e"), 0) == (0, 10)


@pytest.mark.parametrize(
    ("encoded", "long"),
    [
        ("8080808080", False),
        ("ffffffffff01", False),
        ("80808080808080808080", True),
        ("8080808080808080808001", True),
    ],
)
def test_a_last_byte_that_says_more_follow_is_too_long(encoded: str, *, long: bool) -> None:
    """BU-4."""
    with pytest.raises(CorruptRecordError, match="longer than"):
        (varint.decode_long if long else varint.decode)(bytes.fromhex(encoded), 0)


@given(value=INT64)
def test_every_cut_is_an_error_that_names_the_start(value: int) -> None:
    encoded = b"\0" + varint.encode_long(value)
    for size in range(1, len(encoded)):
        with pytest.raises(CorruptRecordError, match="truncated") as caught:
            varint.decode_long(encoded[:size], 1)
        assert caught.value.position == 1
