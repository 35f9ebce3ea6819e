"""The kernels of appending and their plain twins: the same rows, codes and bytes."""

import random
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden.cases import Case
from tests.kernels.real_files import real_files
from tests.kernels.twins import as_array
from tests.naive import Record, batch, message, record_bytes
from tests.strategies import batches, logs
from workbench.kernels import dispatch
from workbench.kernels.plain.writing import canonical as plain_canonical
from workbench.kernels.plain.writing import encode as plain_encode
from workbench.kernels.plain.writing import validate as plain_validate
from workbench.kernels.plain.writing import validate_records as plain_validate_records
from workbench.kernels.reading.outputs import HEADERS, KEYS, VALUES
from workbench.kernels.writing import checks
from workbench.kernels.writing.checks import AT
from workbench.layout import problems
from workbench.record.columns import RecordColumns
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.batch_records import ALL_COLUMNS, columns_of
from workbench.record.writing.builder import RecordsBuilder, encode_columns, kernel_inputs

Golden = Callable[[str], Case]
Rows = npt.NDArray[np.int64]

NOW = 1_700_000_000_000
RULES = (
    (0, 0, 0, 0),
    (checks.CHECK_RECORDS, NOW, 2**63 - 1, 3_600_000),
    (checks.CHECK_RECORDS | checks.NEEDS_KEYS, 20, 8, 5),
    (checks.CHECK_RECORDS | checks.APPEND_TIME | checks.NEEDS_KEYS, NOW, 0, 0),
    (checks.CHECK_RECORDS, -(2**63), 2**63 - 1, 0),
)
THREE = [
    Record(0, 12, b"key", b"value", ((b"h", b"1"), (b"i", None))),
    Record(1, 25, None, b""),
    Record(2, -1, b"", None),
]


def check_both(data: bytes, rules: tuple[int, int, int, int], room: int = 16) -> tuple[Rows, int]:
    """Check with both twins; return the rows and the code."""
    found = []
    for twin in (dispatch, plain_validate):
        rows = np.full((room, checks.COLUMNS), 77, np.int64)
        count, position, code = twin.check_batches(as_array(data).copy(), 0, rows, *rules)
        found.append((rows, int(count), int(position), int(code)))
    (compiled, *ends), (plain, *plain_ends) = found
    assert ends == plain_ends
    np.testing.assert_array_equal(compiled, plain)
    return compiled[: ends[0]], ends[2]


def check_records_both(data: bytes, row: Rows, rules: tuple[int, int, int, int]) -> Rows:
    """Check decompressed records with both twins; return the row."""
    found = []
    for twin in (dispatch, plain_validate_records):
        filled = row.copy()
        twin.check_records(as_array(data).copy(), 0, len(data), filled, *rules)
        found.append(filled)
    np.testing.assert_array_equal(found[0], found[1])
    return found[0]


@given(data=logs, rules=st.sampled_from(RULES))
def test_whole_appends_are_checked_alike(data: bytes, rules: tuple[int, int, int, int]) -> None:
    rows, code = check_both(data, rules, room=64)
    assert code == problems.END
    assert (rows[:, AT.problem] == problems.OK).all()
    assert rows[:, AT.size].sum() == len(data)


def test_an_append_cut_at_every_byte_is_checked_alike() -> None:
    data = batch(THREE) + message(1, THREE[0]) + message(0, THREE[0]) + batch(THREE[:1], codec=3)
    for size in range(len(data)):
        for rules in RULES[:3]:
            _, code = check_both(data[:size], rules)
            assert code in {problems.END, problems.UNFINISHED}


def test_records_that_end_early_or_late_are_told_alike() -> None:
    """DB-6, DR-1, DR-2, DR-3: even where the lengths of records are not trusted."""
    parts = [record_bytes(record, 0, 10) for record in THREE]
    records, ends = b"".join(parts), [0, *accumulate(map(len, parts))]
    rows, _ = check_both(batch(THREE), RULES[1])
    for count in (-1, 0, 1, 2, 3, 4, 2**31 - 1):
        row = rows[0].copy()
        row[AT.record_count] = count
        for size in range(len(records) + 1):
            for option in (0, checks.HEADS_ONLY):
                filled = check_records_both(records[:size], row, (option, NOW, 2**63 - 1, 5))
                is_sound = filled[AT.record_problem] == problems.OK
                assert is_sound == (count == 0 or (0 < count < 4 and size == ends[count]))


@pytest.mark.parametrize("seed", range(4))
def test_thousands_of_changed_bytes_are_told_alike(seed: int) -> None:
    chance = random.Random(seed)
    records = b"".join(record_bytes(record, 0, 10) for record in THREE)
    whole = batch(THREE) + message(1, THREE[0]) + message(0, THREE[1])
    rows, _ = check_both(batch(THREE), RULES[1])
    for _ in range(1000):
        changed = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            changed[chance.randrange(len(changed))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, 14))
        check_both(bytes(changed), chance.choice(RULES))
        body = bytearray(records)
        for _ in range(chance.randint(1, 2)):
            body[chance.randrange(len(body))] = chance.choice((0, 1, 2, 0x7F, 0x80, 0xFF))
        for option in (0, checks.HEADS_ONLY, checks.NEEDS_KEYS):
            check_records_both(bytes(body), rows[0], (option, 20, 8, 5))


def test_a_table_that_is_full_goes_on_at_the_next_call() -> None:
    data = batch(THREE) * 5
    rows, code = check_both(data, RULES[0], room=2)
    assert (len(rows), code) == (2, problems.ROWS_FULL)


def test_files_of_real_brokers_are_checked_alike(golden: Golden) -> None:
    for data in real_files(golden, 200_000, 2):
        check_both(data, RULES[1], room=4096)


def columns_in(data: bytes) -> tuple[RecordColumns, Any]:
    records = MemoryRecords.copy_of(data)
    rows = records.batches().rows
    return columns_of(records.buffer, rows[:1], ALL_COLUMNS), rows[0]


def encode_both(
    columns: RecordColumns, picks: npt.NDArray[np.int64], bases: tuple[int, int], options: int
) -> bytes:
    """Encode with both twins; return the bytes."""
    inputs, _ = kernel_inputs(columns)
    sizes = [
        int(twin.measure_records(inputs, picks, *bases, options))
        for twin in (dispatch, plain_encode)
    ]
    assert sizes[0] == sizes[1]
    found = []
    for twin in (dispatch, plain_encode):
        out = np.full(3 + sizes[0], 0xA5, np.uint8)
        if sizes[0]:
            assert twin.encode_records(inputs, picks, *bases, options, out[:-1].copy(), 3) == -1
        assert twin.encode_records(inputs, picks, *bases, options, out, 3) == len(out)
        assert (out[:3] == 0xA5).all()
        found.append(out[3:].tobytes())
    assert found[0] == found[1]
    return found[0]


@given(data=batches(), seed=st.integers(0, 2**32))
def test_columns_are_encoded_alike(data: bytes, seed: int) -> None:
    columns, row = columns_in(data)
    bases = (int(row["base_offset"]), max(int(row["base_timestamp"]), -1))
    everything = np.arange(len(columns), dtype=np.int64)
    some = everything[np.random.default_rng(seed).random(len(columns)) < 0.5]
    for options in (0, KEYS, VALUES, HEADERS, ALL_COLUMNS):
        encode_both(columns, some, bases, options)
    whole = encode_both(columns, everything, bases, ALL_COLUMNS)
    builder = RecordsBuilder(base_offset=bases[0])
    if len(columns) and columns.timestamps.min() >= -1 and (np.diff(columns.offsets) > 0).all():
        builder.append_columns(columns)
        again, _ = columns_in(bytes(builder.build()))
        assert again.offsets.tolist() == columns.offsets.tolist()
        assert again.timestamps.tolist() == columns.timestamps.tolist()
    assert whole == encode_columns(columns, *bases).tobytes()


def canonical_both(records: bytes, count: int, base_timestamp: int) -> bool:
    """Ask both twins whether a builder would write records so."""
    data = as_array(b"\xa5" + records + b"\xa5").copy()
    found = [
        bool(twin.are_canonical(data, 1, 1 + len(records), count, base_timestamp))
        for twin in (dispatch, plain_canonical)
    ]
    assert found[0] == found[1]
    return found[0]


def test_records_are_canonical_exactly_when_encoding_them_gives_the_same() -> None:
    base = b"".join(record_bytes(record, 0, 12) for record in THREE)
    assert canonical_both(base, 3, 12)
    assert not canonical_both(base, 2, 12)
    assert not canonical_both(base, 3, 11 - 25)  # a timestamp below -1
    assert not canonical_both(b"".join(record_bytes(r, 0, 10) for r in THREE), 3, 10)
    for size in range(len(base)):
        assert not canonical_both(base[:size], 3, 12)
    longer = (b"\x0c\x00\x00\x00\x01\x01\x00", b"\x0e\x00\x00\x00\x81\x00\x01\x00")
    assert [canonical_both(record, 1, 0) for record in longer] == [True, False]


@pytest.mark.parametrize("seed", range(2))
def test_changed_records_are_canonical_for_both_or_none(seed: int) -> None:
    chance = random.Random(seed)
    base = b"".join(record_bytes(record, 0, 12) for record in THREE)
    said = set()
    for _ in range(3000):
        changed = bytearray(base)
        changed[chance.randrange(len(base))] = chance.randrange(256)
        if chance.random() < 0.5:
            changed.insert(chance.randrange(len(base)), chance.choice((0, 0x80, 1)))
        said.add(is_canonical := canonical_both(bytes(changed), 3, 12))
        if is_canonical:
            row = np.zeros(checks.COLUMNS, np.int64)
            row[[AT.record_count, AT.base_timestamp]] = 3, 12
            filled = check_records_both(bytes(changed), row, (0, 0, 0, 0))
            assert filled[AT.record_problem] == problems.OK
    assert said == {True, False}
