"""Values of commits that are read quickly are those that the reader of messages reads."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.coordinator.writing import commit
from workbench.coordinator.groups import commit_records
from workbench.coordinator.groups.commit_records import (
    CommitKey,
    CommitReader,
    commit_key,
    read_commit,
)
from workbench.coordinator.groups.offset_metadata import OffsetAndMetadata
from workbench.decoders.consumer_offsets import TYPES
from workbench.decoders.typed_records import read_key, read_value
from workbench.errors import CorruptRecordError, UnsupportedFormatError
from workbench.files.names import TopicPartition
from workbench.record.message_schema import NULL_UUID

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
VALUES = st.fixed_dictionaries(
    {
        "offset": INT64 | st.just(5),
        "leaderEpoch": st.integers(-1, 9),
        "metadata": st.text(max_size=200) | st.just(""),
        "commitTimestamp": INT64,
        "expireTimestamp": st.just(-1) | INT64,
        "topicId": st.sampled_from([NULL_UUID, "q2itc_CbSySKWltU1niWnw"]),
    }
)


def _by_message(data: bytes) -> OffsetAndMetadata | str:
    try:
        version, fields = read_value(TYPES[1], data)
    except (CorruptRecordError, UnsupportedFormatError) as error:
        return str(error)
    return commit_records._of_fields(fields, version, 77)  # noqa: SLF001 - the other way to read


def _read(data: bytes) -> OffsetAndMetadata | str:
    try:
        return read_commit(data, 77)
    except (CorruptRecordError, UnsupportedFormatError) as error:
        return str(error)


@given(value=VALUES, version=st.integers(0, 4), tail=st.binary(max_size=3))
def test_values_of_every_version(value: dict[str, Any], version: int, tail: bytes) -> None:
    data = (commit("g", "t", 0, value.pop("offset"), version, **value)[1] or b"") + tail
    found = _read(data)
    assert isinstance(found, OffsetAndMetadata)
    assert found == _by_message(data)
    assert found.metadata == value["metadata"]


@given(value=VALUES, version=st.integers(0, 4), data=st.data())
def test_changed_values(value: dict[str, Any], version: int, data: st.DataObject) -> None:
    """The same value, or the same error."""
    whole = bytearray(commit("g", "t", 0, value.pop("offset"), version, **value)[1] or b"")
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    content = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    assert _read(content) == _by_message(content)
    assert _read(bytes(whole)) == _by_message(bytes(whole))


def _key_by_message(data: bytes) -> CommitKey | str:
    try:
        fields = read_key(TYPES, data).fields
    except CorruptRecordError as error:
        return str(error)
    return CommitKey(fields["group"], TopicPartition(fields["topic"], fields["partition"]))


@given(
    group=st.text(max_size=9), topic=st.text(max_size=9), number=st.integers(0, (1 << 31) - 1),
    data=st.data(),
)  # fmt: skip
def test_keys(group: str, topic: str, number: int, data: st.DataObject) -> None:
    """Whole, cut, with bytes behind, or with a changed byte: the same key, or the same error."""
    whole = bytearray(commit_key(group, TopicPartition(topic, number)))
    assert CommitReader().key(bytes(whole)) == _key_by_message(bytes(whole))
    at = data.draw(st.integers(2, len(whole) - 1))  # the type remains that of a commit
    whole[at] = data.draw(st.integers(0, 255))
    content = bytes(whole[: data.draw(st.integers(2, len(whole)))]) + data.draw(
        st.binary(max_size=2)
    )
    try:
        found: CommitKey | str = CommitReader().key(content)
    except CorruptRecordError as error:
        found = str(error)
    assert found == _key_by_message(content)


def test_most_values_are_read_quickly() -> None:
    """Otherwise all of them go the slow way, and no test would tell."""
    with_topic: dict[str, Any] = {"topicId": "q2itc_CbSySKWltU1niWnw", "metadata": "some text"}
    for version in range(5):
        for fields in ({}, with_topic):
            data = commit("g", "t", 0, 1, version, **fields)[1] or b""
            assert commit_records._read_quickly(data, 77) is not None  # noqa: SLF001
