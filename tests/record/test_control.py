import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import CorruptRecordError, UnsupportedFormatError
from workbench.layout.control_records import (
    ABORT,
    COMMIT,
    CONTROL_TYPE_NAMES,
    KRAFT_VERSION,
    KRAFT_VOTERS,
    LEADER_CHANGE,
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
)
from workbench.record.control import (
    EndTransactionMarker,
    decode_control_record,
    decode_control_type,
    decode_end_transaction,
    encode_control_key,
    encode_control_value,
    encode_end_transaction,
)

DIRECTORY_ID = "EFBJF4AoR1yPbJ1Nv3ZQfA"


@pytest.mark.parametrize("control_type", CONTROL_TYPE_NAMES)
def test_every_known_type_comes_back(control_type: int) -> None:
    """CR-1."""
    assert decode_control_type(encode_control_key(control_type)) == control_type


@pytest.mark.parametrize(
    ("control_type", "value", "text"),
    [
        (COMMIT, encode_end_transaction(3), "commit marker, coordinator epoch 3"),
        (KRAFT_VERSION, bytes.fromhex("0000000100"), "kraft version, kraft version 1"),
        (337, b"whatever", "control record, type unknown (337)"),
    ],
)
def test_a_control_record_says_what_it_is(control_type: int, value: bytes, text: str) -> None:
    assert str(decode_control_record(encode_control_key(control_type), value)) == text


def test_an_unknown_type_is_no_error() -> None:
    """CR-1."""
    record = decode_control_record(bytes.fromhex("00000151"), b"whatever")
    assert record == (337, "unknown (337)", None)


def test_a_newer_key_version_with_more_bytes_is_read_by_its_first_four() -> None:
    """CR-1."""
    assert decode_control_type(bytes.fromhex("0005000100000007")) == COMMIT


@pytest.mark.parametrize("key", [None, b"", bytes(3), bytes.fromhex("ffff0001")])
def test_a_short_key_or_a_negative_version_is_an_error(key: bytes | None) -> None:
    with pytest.raises(CorruptRecordError, match="key of a control record"):
        decode_control_type(key)


@given(epoch=st.integers(-(1 << 31), (1 << 31) - 1), commit=st.booleans())
def test_a_marker_comes_back(epoch: int, *, commit: bool) -> None:
    """CR-2: only the two types of marker are read as one."""
    control_type = COMMIT if commit else ABORT
    record = decode_control_record(encode_control_key(control_type), encode_end_transaction(epoch))
    assert record.name == ("commit" if commit else "abort")
    assert record.value == EndTransactionMarker(0, epoch)


@pytest.mark.parametrize(
    ("value", "problem"),
    [(None, "no bytes"), (bytes(5), "5 bytes"), (bytes.fromhex("ffff00000001"), "version -1")],
)
def test_a_short_marker_or_a_negative_version_is_an_error(
    value: bytes | None, problem: str
) -> None:
    """CR-3."""
    with pytest.raises(CorruptRecordError, match=problem):
        decode_end_transaction(value)


def test_a_newer_marker_is_read_by_its_first_six_bytes() -> None:
    """CR-3."""
    assert decode_end_transaction(bytes.fromhex("000500000007aabb")) == (5, 7)


@pytest.mark.parametrize(
    ("control_type", "values"),
    [
        (
            LEADER_CHANGE,
            {
                "version": 0,
                "leaderId": 1,
                "voters": [{"voterId": 1}, {"voterId": 2}],
                "grantingVoters": [{"voterId": 1}],
            },
        ),
        (
            LEADER_CHANGE,
            {
                "version": 1,
                "leaderId": 1,
                "voters": [{"voterId": 1, "voterDirectoryId": DIRECTORY_ID}],
                "grantingVoters": [],
            },
        ),
        (SNAPSHOT_HEADER, {"version": 0, "lastContainedLogTimestamp": 10_000}),
        (SNAPSHOT_FOOTER, {"version": 0}),
        (KRAFT_VERSION, {"version": 0, "kRaftVersion": 1}),
        (
            KRAFT_VOTERS,
            {
                "version": 0,
                "voters": [
                    {
                        "voterId": 1,
                        "voterDirectoryId": DIRECTORY_ID,
                        "endpoints": [{"name": "CONTROLLER", "host": "::1", "port": 65535}],
                        "kRaftVersionFeature": {
                            "minSupportedVersion": 0,
                            "maxSupportedVersion": 1,
                        },
                    }
                ],
            },
        ),
    ],
)
def test_what_a_quorum_notes_comes_back(control_type: int, values: dict[str, object]) -> None:
    """CR-5."""
    encoded = encode_control_value(control_type, values)
    record = decode_control_record(encode_control_key(control_type), encoded)
    assert (record.type, record.name) == (control_type, CONTROL_TYPE_NAMES[control_type])
    assert record.value == values
    for size in range(len(encoded)):
        with pytest.raises(CorruptRecordError):
            decode_control_record(encode_control_key(control_type), encoded[:size])


def test_a_newer_value_is_read_as_the_newest_known_version() -> None:
    values = {"version": 0, "kRaftVersion": 1}
    encoded = bytes.fromhex("0003") + encode_control_value(KRAFT_VERSION, values)[2:]
    record = decode_control_record(encode_control_key(KRAFT_VERSION), encoded)
    assert record.value == {"version": 3, "kRaftVersion": 1}


def test_a_newer_value_is_not_written() -> None:
    with pytest.raises(UnsupportedFormatError, match="version 9"):
        encode_control_value(LEADER_CHANGE, {"version": 9})


def test_a_negative_value_version_is_an_error() -> None:
    with pytest.raises(CorruptRecordError, match="version -1"):
        decode_control_record(encode_control_key(SNAPSHOT_FOOTER), bytes.fromhex("ffff00"))


def test_a_record_without_a_value_has_none() -> None:
    assert decode_control_record(encode_control_key(LEADER_CHANGE), None).value is None
