"""Columns on their way to the browser: small, and exact to the last of 64 bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.view.packing import pack, unpack

INT64 = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(INT64))
def test_every_column_comes_back_as_it_was(values: list[int]) -> None:
    column = np.array(values, np.int64)
    assert unpack(pack(column)).tolist() == values


def test_one_value_for_all_rows_needs_no_bytes() -> None:
    packed = pack(np.full(100_000, -1))
    assert packed == {"base": "-1", "dtype": "same", "length": 100_000, "data": None}


@pytest.mark.parametrize(
    ("span", "dtype"), [(255, "u1"), (256, "u2"), (65_535, "u2"), (65_536, "u4"), (2**32, "u8")]
)
def test_the_narrowest_width_that_holds_the_span_is_taken(span: int, dtype: str) -> None:
    base = 2**60
    packed = pack(np.array([base, base + span]))
    assert packed["dtype"] == dtype
    assert packed["base"] == str(base)


def test_the_whole_range_of_64_bits_fits() -> None:
    values = [-(2**63), 2**63 - 1, 0]
    assert unpack(pack(np.array(values))).tolist() == values
