from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import corrupt
from workbench.errors import CorruptCheckpointError, UnsupportedFormatError
from workbench.files.leader_epochs import EpochEntry, LeaderEpochs

EPOCHS = st.tuples(
    st.lists(st.integers(0, 50), unique=True, max_size=8).map(sorted),
    st.lists(st.integers(0, 500), unique=True, min_size=8, max_size=8).map(sorted),
).map(lambda columns: LeaderEpochs(tuple(map(EpochEntry, *columns))))


def epochs(*entries: tuple[int, int]) -> LeaderEpochs:
    return LeaderEpochs(tuple(EpochEntry(*entry) for entry in entries))


@given(EPOCHS)
def test_epochs_round_trip(written: LeaderEpochs) -> None:
    """CK-1, LE-10."""
    assert LeaderEpochs.decode(written.encode()) == written


def test_the_file_is_that_of_a_broker() -> None:
    assert epochs((0, 0), (2, 64)).encode() == b"0\n2\n0 0\n2 64\n"


def test_an_empty_file_has_no_epochs() -> None:
    """CK-2."""
    assert LeaderEpochs.decode(b"") == LeaderEpochs.decode(b"0\n0\n") == epochs()


def test_the_latest_epoch_ends_at_the_log_s_end() -> None:
    """LE-1."""
    assert epochs((2, 10)).end_offset_for(2, 42) == (2, 42)
    assert epochs((2, 10)).latest == (2, 10)
    assert epochs((2, 10), (3, 11)).earliest == (2, 10)


def test_nothing_is_known_of_an_unknown_epoch() -> None:
    """LE-2."""
    assert epochs().end_offset_for(-1, 9) is None
    assert epochs((2, 10)).end_offset_for(-1, 9) is None
    assert epochs().end_offset_for(5, 9) is None
    assert epochs().latest is None
    assert epochs().earliest is None


@pytest.mark.parametrize(
    ("entries", "epoch", "end"),
    [
        ([(5, 11), (6, 12), (7, 13)], 8, None),
        ([(5, 11), (6, 12), (7, 13)], 4, (4, 11)),
        ([(5, 11), (6, 12), (7, 13)], 5, (5, 12)),
        ([(5, 11), (6, 12), (7, 13)], 7, (7, 99)),
        ([(0, 10), (2, 13), (4, 17)], 1, (0, 13)),
        ([(0, 10), (2, 13), (4, 17)], 2, (2, 17)),
        ([(0, 10), (2, 13), (4, 17)], 3, (2, 17)),
        ([(5, 11), (7, 12)], 6, (5, 12)),
    ],
)
def test_an_epoch_ends_where_the_next_begins(
    entries: list[tuple[int, int]], epoch: int, end: tuple[int, int] | None
) -> None:
    """LE-3, LE-5."""
    assert epochs(*entries).end_offset_for(epoch, 99) == end


def test_the_epoch_of_an_offset() -> None:
    """LE-9."""
    found = epochs((1, 20), (5, 30))
    answers = [found.epoch_for_offset(offset) for offset in (25, 20, 30, 50, 5)]
    assert answers == [1, 1, 5, 5, None]


def test_the_epochs_beside_one() -> None:
    """LE-9."""
    found = epochs((2, 10), (4, 15), (10, 20))
    assert [found.next_epoch(epoch) for epoch in (1, 2, 3, 4, 10)] == [2, 4, 4, 10, None]
    assert [found.previous_epoch(epoch) for epoch in (2, 3, 4, 10, 11)] == [None, 2, 2, 4, 10]


@given(EPOCHS, st.integers(-1, 600))
def test_the_epoch_of_an_offset_is_what_a_linear_scan_finds(
    found: LeaderEpochs, offset: int
) -> None:
    expected = None
    for epoch, start_offset in found.entries:
        if start_offset <= offset:
            expected = epoch
    assert found.epoch_for_offset(offset) == expected


@pytest.mark.parametrize(
    ("data", "kind", "position"),
    [
        (b"0\n2\n0 0\n", "wrong count", 2),
        (b"0\n1\n0 0\n1 5\n", "wrong count", 2),
        (b"0\n1\n0 0 0\n", "malformed", 4),
        (b"0\n1\n0\n", "malformed", 4),
        (b"0\n1\n0 x\n", "malformed", 4),
        (b"0\n1\n2147483648 0\n", "malformed", 4),
        (b"0\nx\n", "malformed", 2),
        (b"0\n-1\n", "malformed", 2),
        (b"garbage", "malformed", 0),
        (b"\x00\xff", "malformed", 0),
        (b"0\n2\n0 5\n1 5\n", "wrong order", 8),
        (b"0\n2\n1 5\n1 6\n", "wrong order", 8),
        (b"0\n1\n0 -1\n", "bad value", 4),
        (b"0\n1\n0 0\n\n", "malformed", 8),
    ],
)
def test_an_unsound_file_is_corrupt(data: bytes, kind: str, position: int) -> None:
    with pytest.raises(CorruptCheckpointError, match=f"a/leader-epochs at byte {position}: {kind}"):
        LeaderEpochs.decode(data, "a/leader-epochs")
    assert LeaderEpochs.decode(data, strict=False).problems[0].kind == kind


def test_another_version_is_said_to_be_unknown_and_read_all_the_same() -> None:
    """CK-2."""
    with pytest.raises(UnsupportedFormatError, match="at byte 0: unknown version: found version 1"):
        LeaderEpochs.decode(b"1\n1\n0 0\n")
    assert LeaderEpochs.decode(b"1\n1\n0 0\n", strict=False).entries == ((0, 0),)


def test_what_can_be_read_of_a_damaged_file_is_kept() -> None:
    found = LeaderEpochs.decode(b"0\n3\n0 0\nx y\n3 9\n", strict=False)
    assert found.entries == ((0, 0), (3, 9))


def test_every_cut_gives_a_value_or_the_right_error() -> None:
    for data in corrupt.every_cut(epochs((0, 0), (12, 640)).encode()):
        found = LeaderEpochs.decode(data, strict=False)
        if found.problems:
            with pytest.raises(CorruptCheckpointError):
                LeaderEpochs.decode(data)


@given(st.binary(max_size=60))
def test_any_bytes_give_epochs_or_the_right_error(data: bytes) -> None:
    if LeaderEpochs.decode(data, strict=False).problems:
        with pytest.raises((CorruptCheckpointError, UnsupportedFormatError)):
            LeaderEpochs.decode(data)


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "leader-epoch-checkpoint"
    path.write_bytes(b"0\n1\n0 0\n")
    assert LeaderEpochs.read(str(path)) == epochs((0, 0))
    path.write_bytes(b"0\n2\n0 0\n")
    with pytest.raises(CorruptCheckpointError) as raised:
        LeaderEpochs.read(str(path))
    assert raised.value.path == str(path)
    assert LeaderEpochs.read(str(path), strict=False).entries == ((0, 0),)
