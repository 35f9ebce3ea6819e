import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.decoders import cluster_metadata, consumer_offsets, remote_log_metadata
from workbench.decoders.decoder import Decoder
from workbench.decoders.registry import DECODERS, INTERNAL_TOPICS, decoder, decoder_for
from workbench.record import varint
from workbench.record.control import encode_control_key, encode_end_transaction

OFFSETS = DECODERS["consumer_offsets"]
TRANSACTIONS = DECODERS["transaction_state"]
METADATA = DECODERS["cluster_metadata"]


def typed_key(type_id: int, values: dict[str, Any]) -> bytes:
    return type_id.to_bytes(2, "big") + consumer_offsets.TYPES[type_id].key.encode(values, 0)


def typed_value(type_id: int, values: dict[str, Any], version: int = 0) -> bytes:
    message = consumer_offsets.TYPES[type_id].value
    return version.to_bytes(2, "big") + message.encode(values, version)


GROUP_KEY = typed_key(3, {"groupId": "group"})


@given(key=st.none() | st.binary(max_size=80), value=st.none() | st.binary(max_size=80))
@pytest.mark.parametrize("name", DECODERS)
def test_no_bytes_make_a_decoder_raise_and_all_it_returns_is_json(
    name: str, key: bytes | None, value: bytes | None
) -> None:
    for decoded in (DECODERS[name].key(key), DECODERS[name].value(key, value)):
        json.dumps(decoded)


@given(
    type_id=st.sampled_from(sorted(consumer_offsets.TYPES)),
    version=st.integers(0, 4),
    junk=st.binary(max_size=80),
)
def test_junk_behind_a_known_type_and_version_gives_values_or_a_failure(
    type_id: int, version: int, junk: bytes
) -> None:
    start = type_id.to_bytes(2, "big")
    decoded = OFFSETS.value(start, version.to_bytes(2, "big") + junk)
    assert "error" in decoded or decoded["version"] == version
    json.dumps(decoded)
    json.dumps(OFFSETS.key(start + junk))


@given(
    type_id=st.sampled_from(sorted(cluster_metadata.MESSAGES)),
    version=st.integers(0, 3),
    junk=st.binary(max_size=80),
)
def test_junk_behind_a_known_metadata_type_gives_values_or_a_failure(
    type_id: int, version: int, junk: bytes
) -> None:
    head = b"\x01" + varint.encode_unsigned(type_id) + varint.encode_unsigned(version)
    json.dumps(METADATA.value(None, head + junk))


@pytest.mark.parametrize("name", DECODERS)
def test_a_decoder_can_be_sent_to_another_process(name: str) -> None:
    copy = pickle.loads(pickle.dumps(DECODERS[name]))  # noqa: S301
    assert copy == DECODERS[name]
    assert copy.key(None) is None
    assert copy.value(None, None) is None


@pytest.mark.parametrize("name", DECODERS)
def test_windows_on_a_buffer_are_read_like_bytes(name: str) -> None:
    for data in (b'{"a": 1}', GROUP_KEY, b"\xff"):
        view = memoryview(b"?" + data)[1:]
        assert DECODERS[name].key(view) == DECODERS[name].key(data)
        assert DECODERS[name].value(GROUP_KEY, view) == DECODERS[name].value(GROUP_KEY, data)


def test_the_topics_of_kafka_have_their_decoders_and_no_others_do() -> None:
    assert sorted(INTERNAL_TOPICS) == [
        "__cluster_metadata",
        "__consumer_offsets",
        "__remote_log_metadata",
        "__share_group_state",
        "__transaction_state",
    ]
    assert decoder_for("__consumer_offsets") is OFFSETS
    assert decoder_for("orders") is None
    assert decoder("json").name == "json"
    with pytest.raises(LookupError, match=r"unknown decoder 'avro' \(expected one of .*utf8"):
        decoder("avro")


# Text and JSON


def text(name: str, data: bytes | None) -> Any:
    found = DECODERS[name]
    assert found.value(b"any key", data) == found.key(data)
    return found.key(data)


def test_utf8_gives_text_and_a_failure_names_the_first_bad_byte() -> None:
    assert text("utf8", "né ✓".encode()) == "né ✓"
    assert text("utf8", b"") == ""
    assert text("utf8", None) is None
    failed = text("utf8", b"ab\xff")
    assert failed == {"error": "byte 2 is not UTF-8: invalid start byte", "bytes": "6162ff"}


def test_json_gives_what_it_says_and_a_failure_names_the_place() -> None:
    assert text("json", b'{"a": [1.50, null, "\xc3\xa9"]}') == '{"a": [1.50, null, "é"]}'
    assert text("json", b'"a"') == "a"
    assert text("json", b"12345678901234567890123") == 12345678901234567890123
    assert "line 1 column 2" in text("json", b"{a}")["error"]
    assert "error" in text("json", b"\xff\xfe\x00")
    assert "error" in text("json", b"[" * 100_000)
    assert "error" in text("json", b"")
    assert text("json", None) is None


def test_hex_gives_two_digits_a_byte() -> None:
    assert text("hex", b"\x00\xff") == "00ff"
    assert text("hex", b"") == ""


# Coordinators


def test_a_key_says_its_type_and_a_value_its_version() -> None:
    """DU-10."""
    assert OFFSETS.key(GROUP_KEY) == {
        "type": "ConsumerGroupMetadata",
        "type_id": 3,
        "data": {"groupId": "group"},
    }
    assert OFFSETS.value(GROUP_KEY, typed_value(3, {"epoch": 10})) == {
        "type": "ConsumerGroupMetadata",
        "version": 0,
        "data": {"epoch": 10, "metadataHash": 0, "creationTimeMs": -1},
    }


def test_a_tombstone_has_no_value() -> None:
    """DU-10."""
    assert OFFSETS.value(GROUP_KEY, None) is None


def test_a_value_without_its_key_cannot_be_told() -> None:
    """DU-10, DU-12."""
    for name in ("consumer_offsets", "share_group_state", "transaction_state"):
        assert "has no key" in DECODERS[name].value(None, b"\0\0")["error"]


def test_an_unknown_type_is_shown_as_bytes() -> None:
    """DU-10."""
    key = bytes.fromhex("7fffaabb")
    assert OFFSETS.key(key) == {"type": "unknown (32767)", "type_id": 32767, "bytes": "aabb"}
    assert OFFSETS.value(key, b"\x01") == {"type": "unknown (32767)", "bytes": "01"}


def test_an_unknown_version_is_a_failure_that_says_which_are_known() -> None:
    """DU-10."""
    failed = OFFSETS.value(GROUP_KEY, bytes.fromhex("00070000"))
    assert "version 7 (expected 0 to 0)" in failed["error"]
    assert failed["bytes"] == "00070000"


def test_bytes_behind_a_message_are_not_looked_at() -> None:
    value = typed_value(3, {"epoch": 10}) + b"more"
    assert OFFSETS.value(GROUP_KEY, value)["data"]["epoch"] == 10


def group_of(protocol_type: str, subscription: bytes, assignment: bytes) -> Any:
    member = {
        "memberId": "m", "clientId": "c", "clientHost": "h", "sessionTimeout": 1,
        "subscription": subscription, "assignment": assignment,
    }  # fmt: skip
    key = typed_key(2, {"group": "g"})
    value = typed_value(2, {"protocolType": protocol_type, "members": [member]}, version=3)
    return OFFSETS.value(key, value)["data"]["members"][0]


def test_what_consumers_subscribe_to_is_read_and_what_others_pack_is_left_as_bytes() -> None:
    """DU-11."""
    subscription = bytes.fromhex("000000000001000174ffffffff")
    assignment = bytes.fromhex("00090000000100017400000001000000050000000099")
    member = group_of("consumer", subscription, assignment)
    assert member["subscription"] == {"topics": ["t"], "userData": None}
    assert member["assignment"] == {
        "assignedPartitions": [{"topic": "t", "partitions": [5]}],
        "userData": "",
    }
    member = group_of("connect", subscription, assignment)
    assert member["subscription"] == subscription.hex()
    for broken in (b"", b"\0", bytes.fromhex("ffff"), subscription[:-1]):
        assert group_of("consumer", broken, b"")["subscription"] == broken.hex()


@pytest.mark.parametrize(("number", "status"), [(1, "Ongoing"), (4, "CompleteCommit"), (99, "99")])
def test_a_transaction_s_status_has_a_name(number: int, status: str) -> None:
    value = bytes.fromhex("0000" + "00" * 14 + f"{number:02x}" + "ffffffff" + "00" * 16)
    decoded = TRANSACTIONS.value(bytes.fromhex("0000000178"), value)
    assert decoded["data"]["transactionPartitions"] is None
    assert status in decoded["status"]


# KRaft and remote storage


def metadata_value(type_id: int, values: dict[str, Any], version: int = 0) -> bytes:
    message = cluster_metadata.MESSAGES[type_id]
    return bytes([1, type_id, version]) + message.encode(values, version)


def test_a_metadata_record_says_its_type_and_version() -> None:
    """DU-6."""
    value = metadata_value(2, {"name": "orders"})
    assert METADATA.value(None, value) == {
        "type": "TopicRecord",
        "type_id": 2,
        "version": 0,
        "data": {"name": "orders", "topicId": "A" * 22},
    }


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (b"", "truncated"),
        (b"\x00\x02\x00", "frame has version 0"),
        (b"\x01\x02\x05", "version 5 (expected 0 to 0)"),
        (metadata_value(2, {"name": "orders"})[:-1], "truncated"),
        (metadata_value(2, {"name": "orders"}) + b"!", "1 bytes after a TopicRecord"),
    ],
)
def test_a_bad_metadata_record_is_a_failure_that_says_what(value: bytes, problem: str) -> None:
    """DU-6."""
    failed = METADATA.value(None, value)
    assert problem in failed["error"]
    assert failed["bytes"] == value.hex()


def test_an_unknown_metadata_type_is_shown_as_bytes() -> None:
    assert METADATA.value(None, bytes.fromhex("01e70702aabb")) == {
        "type": "unknown (999)",
        "type_id": 999,
        "version": 2,
        "bytes": "aabb",
    }


def test_control_records_of_the_metadata_topic_are_read_by_their_keys() -> None:
    key = encode_control_key(3)
    assert METADATA.key(key) == {"type": "snapshot_header", "type_id": 3}
    value = bytes.fromhex("0000000000000000271000")
    assert METADATA.value(key, value)["data"] == {"version": 0, "lastContainedLogTimestamp": 10000}
    marker = METADATA.value(encode_control_key(1), encode_end_transaction(7))
    assert marker == {
        "type": "commit",
        "type_id": 1,
        "data": {"version": 0, "coordinator_epoch": 7},
    }
    assert METADATA.value(encode_control_key(77), b"\x01")["bytes"] == "01"
    assert "error" in METADATA.key(b"\0")
    assert "error" in METADATA.value(key, b"\0")


def test_a_remote_segment_s_state_has_a_name() -> None:
    remote = DECODERS["remote_log_metadata"]
    message = remote_log_metadata.MESSAGES[1]
    value = b"\x01\x01\x00" + message.encode({"remoteLogSegmentState": 1}, 0)
    assert remote.value(None, value)["state"] == "COPY_SEGMENT_FINISHED"
    assert remote.key(b"\x01") == "01"


def test_decoders_may_be_made_by_others() -> None:
    shout = Decoder("shout", lambda key: key, lambda _key, value: str(value).upper())
    assert shout.value(None, b"a") == "B'A'"
