import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import corrupt
from workbench.errors import CorruptCheckpointError, UnsupportedFormatError
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import TopicPartition

OFFSETS = st.dictionaries(
    st.builds(
        TopicPartition,
        st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True),
        st.integers(0, 2**31 - 1),
    ),
    st.integers(0, 2**63 - 1),
    max_size=8,
)


@given(OFFSETS)
def test_offsets_round_trip(offsets: dict[TopicPartition, int]) -> None:
    """CK-1."""
    data = OffsetCheckpoint(offsets).encode()
    assert OffsetCheckpoint.decode(data) == OffsetCheckpoint(offsets)
    assert list(OffsetCheckpoint.decode(data).offsets) == list(offsets)


def test_the_file_is_that_of_a_broker() -> None:
    offsets = {TopicPartition("orders", 0): 64, TopicPartition("a-b", 12): 0}
    assert OffsetCheckpoint(offsets).encode() == b"0\n2\norders 0 64\na-b 12 0\n"


@pytest.mark.parametrize("data", [b"", b"0\n", b"0\n0\n"])
def test_a_file_without_entries_is_sound(data: bytes) -> None:
    """CK-2."""
    assert OffsetCheckpoint.decode(data).offsets == {}


def test_the_last_of_a_partition_s_lines_counts() -> None:
    assert OffsetCheckpoint.decode(b"0\n2\na 0 1\na 0 2\n").offsets == {("a", 0): 2}


@pytest.mark.parametrize(
    ("data", "kind", "position"),
    [
        (b"0\n2\na 0 1\n", "wrong count", 2),
        (b"0\n1\na 0\n", "malformed", 4),
        (b"0\n1\na x 1\n", "malformed", 4),
        (b"0\n1\na 0 9223372036854775808\n", "malformed", 4),
        (b"0\n2\na 0 1\nfoo bar baz qux\n", "malformed", 10),
        (b"garbage", "malformed", 0),
    ],
)
def test_an_unsound_file_is_corrupt(data: bytes, kind: str, position: int) -> None:
    with pytest.raises(CorruptCheckpointError, match=f"at byte {position}: {kind}"):
        OffsetCheckpoint.decode(data)
    assert OffsetCheckpoint.decode(data, strict=False).problems


def test_another_version_is_said_to_be_unknown() -> None:
    """CK-2."""
    with pytest.raises(UnsupportedFormatError):
        OffsetCheckpoint.decode(b"2\n0\n")


def test_what_can_be_read_of_a_damaged_file_is_kept() -> None:
    found = OffsetCheckpoint.decode(b"0\n9\na 0 1\n?\nb 1 2\n", strict=False)
    assert found.offsets == {("a", 0): 1, ("b", 1): 2}
    assert [problem.kind for problem in found.problems] == ["malformed", "wrong count"]


def test_every_cut_gives_fewer_entries_or_the_right_error() -> None:
    sound = OffsetCheckpoint({TopicPartition("orders", n): 1000 * n for n in range(3)}).encode()
    for data in corrupt.every_cut(sound):
        found = OffsetCheckpoint.decode(data, strict=False)
        assert len(found.offsets) <= 3
        if found.problems:
            with pytest.raises(CorruptCheckpointError):
                OffsetCheckpoint.decode(data)


@given(st.binary(max_size=60))
def test_any_bytes_give_offsets_or_the_right_error(data: bytes) -> None:
    if OffsetCheckpoint.decode(data, strict=False).problems:
        with pytest.raises((CorruptCheckpointError, UnsupportedFormatError)):
            OffsetCheckpoint.decode(data)
