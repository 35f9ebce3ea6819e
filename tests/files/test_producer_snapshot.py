from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import corrupt
from workbench.errors import CorruptSnapshotError, UnsupportedFormatError
from workbench.files.producer_snapshot import ProducerEntry, ProducerSnapshot

INT32 = st.integers(0, 2**31 - 1)
INT64 = st.integers(0, 2**63 - 1)
ENTRIES = st.lists(
    st.builds(
        ProducerEntry,
        producer_id=INT64,
        producer_epoch=st.integers(0, 2**15 - 1),
        last_sequence=st.none() | INT32,
        last_offset=st.none() | INT64,
        offset_delta=INT32,
        timestamp=st.integers(-1, 2**63 - 1),
        coordinator_epoch=st.none() | INT32,
        current_transaction_first_offset=st.none() | INT64,
    ),
    max_size=5,
).map(tuple)

ENTRY = ProducerEntry(7, 1, 2, 130, 2, 1_700_000_000_000, None, 128)
SOUND = ProducerSnapshot((ENTRY, ENTRY._replace(producer_id=8))).encode()

# Written by Kafka 4.2.0: a producer whose last transaction was decided, one with an open one.
DECIDED = bytes.fromhex(
    "0001 586f0367 00000001"
    "0000000000000002 0024 ffffffff ffffffffffffffff 00000000"
    "000001a1fe0fb690 00000000 ffffffffffffffff"
)  # fmt: skip
OPEN = bytes.fromhex(
    "0001 c273aaad 00000001"
    "0000000000000002 0015 00000001 000000000000002e 00000001"
    "0000018bcfe56c9c 00000000 000000000000002d"
)  # fmt: skip


@given(ENTRIES)
def test_entries_round_trip(entries: tuple[ProducerEntry, ...]) -> None:
    data = ProducerSnapshot(entries).encode()
    snapshot = ProducerSnapshot.decode(data)
    assert snapshot.entries == entries
    assert snapshot.problems == ()
    assert snapshot.encode() == data


def test_what_is_minus_one_in_the_file_is_none() -> None:
    snapshot = ProducerSnapshot.decode(SOUND)
    assert snapshot.entries[0].coordinator_epoch is None
    assert snapshot.entries[0].current_transaction_first_offset == 128
    assert SOUND[10 + 38 - 4 : 10 + 38] == b"\xff\xff\xff\xff"


def test_snapshots_of_a_broker_are_read() -> None:
    decided = ProducerEntry(2, 36, None, None, 0, 1795263805072, 0, None)
    assert ProducerSnapshot.decode(DECIDED).entries == (decided,)
    assert ProducerSnapshot((decided,)).encode() == DECIDED
    opened = ProducerEntry(2, 21, 1, 46, 1, 1700000001180, 0, 45)
    assert ProducerSnapshot.decode(OPEN).entries == (opened,)
    assert (opened.first_sequence, opened.first_offset) == (0, 45)


def test_the_first_sequence_goes_round_below_zero() -> None:
    assert ENTRY.first_sequence == 0
    assert ENTRY._replace(last_sequence=1, offset_delta=3).first_sequence == 2**31 - 2
    assert ENTRY._replace(last_sequence=None).first_sequence is None
    assert ENTRY.first_offset == 128
    assert ENTRY._replace(last_offset=None).first_offset is None


def test_a_wrong_crc_is_corrupt_and_still_readable() -> None:
    data = corrupt.flip(SOUND, 20)
    with pytest.raises(CorruptSnapshotError, match=r"a\.snapshot at byte 2: wrong crc"):
        ProducerSnapshot.decode(data, "a.snapshot")
    snapshot = ProducerSnapshot.decode(data, strict=False)
    assert len(snapshot.entries) == 2
    assert [problem.kind for problem in snapshot.problems] == ["wrong crc"]


def test_a_version_that_is_not_known_is_said_to_be_so() -> None:
    with pytest.raises(UnsupportedFormatError, match="at byte 0: unknown version: found version 2"):
        ProducerSnapshot.decode(corrupt.overwrite(SOUND, 0, b"\x00\x02"))


@pytest.mark.parametrize("count", [b"\x00\x00\x00\x03", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff"])
def test_a_count_that_does_not_fit_takes_no_memory(count: bytes) -> None:
    snapshot = ProducerSnapshot.decode(corrupt.overwrite(SOUND, 6, count), strict=False)
    assert len(snapshot.entries) <= 2
    assert {problem.kind for problem in snapshot.problems} == {"wrong crc", "wrong count"}


def test_bytes_behind_the_entries_are_reported() -> None:
    snapshot = ProducerSnapshot.decode(SOUND + b"abc", strict=False)
    assert len(snapshot.entries) == 2
    assert [(problem.kind, problem.position) for problem in snapshot.problems] == [
        ("wrong crc", 2),
        ("left over bytes", len(SOUND)),
    ]


def test_every_cut_is_an_error() -> None:
    for data in corrupt.every_cut(SOUND):
        with pytest.raises(CorruptSnapshotError):
            ProducerSnapshot.decode(data)
        ProducerSnapshot.decode(data, strict=False)


def test_every_flipped_bit_is_an_error() -> None:
    for _, data in corrupt.every_flip(SOUND):
        with pytest.raises((CorruptSnapshotError, UnsupportedFormatError)):
            ProducerSnapshot.decode(data)


def test_an_empty_file_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "a.snapshot"
    path.write_bytes(b"")
    with pytest.raises(CorruptSnapshotError, match="at byte 0: missing: found 0 bytes"):
        ProducerSnapshot.read(str(path))


@given(st.binary(max_size=120))
def test_any_bytes_give_a_snapshot_or_the_right_error(data: bytes) -> None:
    if ProducerSnapshot.decode(data, strict=False).problems:
        with pytest.raises((CorruptSnapshotError, UnsupportedFormatError)):
            ProducerSnapshot.decode(data)
