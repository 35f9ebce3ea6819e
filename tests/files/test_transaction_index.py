from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import corrupt
from workbench.errors import CorruptIndexError, UnsupportedFormatError
from workbench.files.indexes.transaction_index import (
    AbortedTransactions,
    AbortedTxn,
    TransactionIndex,
    encode_entry,
)

FOUR = [
    AbortedTxn(0, 0, 10, 11),
    AbortedTxn(1, 5, 15, 13),
    AbortedTxn(2, 18, 35, 25),
    AbortedTxn(3, 32, 50, 40),
]

OFFSETS = st.integers(0, 60)
TRANSACTIONS = st.lists(
    st.tuples(st.integers(0, 9), OFFSETS, st.integers(1, 9), OFFSETS), max_size=8
).map(
    lambda rows: [
        AbortedTxn(producer_id, first, first + length, stable)
        for producer_id, first, length, stable in rows
    ]
)


def encoded(transactions: list[AbortedTxn]) -> bytes:
    return b"".join(map(encode_entry, transactions))


@pytest.mark.parametrize(
    ("fetch_offset", "upper_bound", "expected", "is_complete"),
    [
        (0, 100, FOUR, False),
        (0, 32, FOUR[:3], True),
        (0, 35, FOUR, True),
        (10, 35, FOUR, True),
        (11, 35, FOUR[1:], True),
        (20, 41, FOUR[2:], False),
    ],
)
def test_aborted_transactions_of_a_range(
    fetch_offset: int, upper_bound: int, expected: list[AbortedTxn], *, is_complete: bool
) -> None:
    """TX-4."""
    found = TransactionIndex.decode(encoded(FOUR), 0).collect_aborted(fetch_offset, upper_bound)
    assert found == AbortedTransactions(tuple(expected), is_complete)


@given(TRANSACTIONS, OFFSETS, OFFSETS)
def test_aborted_transactions_are_what_a_linear_scan_finds(
    transactions: list[AbortedTxn], fetch_offset: int, upper_bound: int
) -> None:
    index = TransactionIndex.decode(encoded(transactions), 0, strict=False)
    wanted, is_complete = [], False
    for transaction in transactions:
        if transaction.last_offset >= fetch_offset and transaction.first_offset < upper_bound:
            wanted.append(transaction)
        if transaction.last_stable_offset >= upper_bound:
            is_complete = True
            break
    found = index.collect_aborted(fetch_offset, upper_bound)
    assert found == AbortedTransactions(tuple(wanted), is_complete)


@given(TRANSACTIONS)
def test_entries_round_trip(transactions: list[AbortedTxn]) -> None:
    """TX-1: what was written before the file is opened again is there."""
    index = TransactionIndex.decode(encoded(transactions), 0, strict=False)
    assert list(index) == transactions
    assert [index[slot] for slot in range(len(index))] == transactions
    assert index.encode() == encoded(transactions)


def test_a_marker_before_the_segment_is_corrupt() -> None:
    """TX-2."""
    with pytest.raises(CorruptIndexError, match="at byte 0: below base offset") as raised:
        TransactionIndex.decode(encoded(FOUR), 100, "a.txnindex")
    assert "(and 3 more)" in raised.value.problem
    assert TransactionIndex.decode(encoded(FOUR), 10).problems == ()
    assert TransactionIndex.decode(encoded(FOUR), 11, strict=False).problems[0].position == 0


def test_markers_that_do_not_ascend_are_corrupt() -> None:
    """TX-3: no broker appends a marker at or before the last one."""
    for follower in (FOUR[1], FOUR[0]):
        with pytest.raises(CorruptIndexError, match="at byte 68: wrong order"):
            TransactionIndex.decode(encoded([*FOUR[:2], follower]), 0)


def test_a_version_whose_first_byte_is_above_zero_stops_a_broker() -> None:
    data = corrupt.overwrite(encoded(FOUR), 34, b"\x0f\x39")
    with pytest.raises(UnsupportedFormatError, match="at byte 34: unknown version"):
        TransactionIndex.decode(data, 0)
    index = TransactionIndex.decode(data, 0, strict=False)
    assert index.versions.tolist() == [0, 0x0F39, 0, 0]
    assert list(index) == FOUR


@pytest.mark.parametrize("version", [b"\x00\x01", b"\xee\x00", b"\xff\xff"])
def test_other_odd_versions_pass_a_broker_and_are_reported(version: bytes) -> None:
    data = corrupt.overwrite(encoded(FOUR), 34, version)
    index = TransactionIndex.decode(data, 0, strict=False)
    assert [(problem.kind, problem.position) for problem in index.problems] == [("bad value", 34)]


def test_bytes_behind_the_last_entry_are_reported_and_left_out() -> None:
    index = TransactionIndex.decode(encoded(FOUR) + b"abc", 0, strict=False)
    assert len(index) == 4
    assert [problem.kind for problem in index.problems] == ["unfinished entry"]
    assert index.problems[0].position == 4 * 34


def test_zeros_are_entries_of_a_file_that_is_never_allocated_ahead(tmp_path: Path) -> None:
    path = tmp_path / "a.txnindex"
    path.write_bytes(encoded(FOUR) + bytes(34))
    index = TransactionIndex.read(str(path), 0, strict=False)
    assert list(index) == [*FOUR, AbortedTxn(0, 0, 0, 0)]
    assert {problem.kind for problem in index.problems} == {"bad value", "wrong order"}


def test_an_empty_file_has_no_transactions() -> None:
    index = TransactionIndex.decode(b"", 7)
    assert index.collect_aborted(0, 100) == AbortedTransactions((), is_complete=False)


@given(st.binary(max_size=140), st.integers(0, 2**63 - 1))
def test_any_bytes_give_an_index_or_the_right_error(data: bytes, base_offset: int) -> None:
    index = TransactionIndex.decode(data, base_offset, strict=False)
    assert index.encode() == data[: 34 * (len(data) // 34)]
    if index.problems:
        with pytest.raises((CorruptIndexError, UnsupportedFormatError)):
            TransactionIndex.decode(data, base_offset)
    index.collect_aborted(0, 10)
