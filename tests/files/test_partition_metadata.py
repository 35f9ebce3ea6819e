from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import corrupt
from workbench.errors import CorruptCheckpointError, UnsupportedFormatError
from workbench.files.partition_metadata import PartitionMetadata

KAFKA_4_2 = b"version: 0\ntopic_id: 9d2TTdabQBi4Q4G4UJm8Zw"


@given(st.uuids().filter(lambda uuid: uuid.int))
def test_topic_ids_round_trip(topic_id: UUID) -> None:
    """CK-3."""
    written = PartitionMetadata(topic_id)
    assert PartitionMetadata.decode(written.encode()) == written


def test_the_file_is_that_of_a_broker() -> None:
    """CK-3: exactly these two lines."""
    found = PartitionMetadata.decode(KAFKA_4_2)
    assert found.topic_id == UUID("f5dd934d-d69b-4018-b843-81b85099bc67")
    assert found.encode() == KAFKA_4_2


def test_a_broker_looks_at_nothing_but_the_values() -> None:
    data = b"v: 3\nid:   9d2TTdabQBi4Q4G4UJm8Zw\nmore\n"
    assert PartitionMetadata.decode(data).version == 3


@pytest.mark.parametrize(
    ("data", "kind", "position"),
    [
        (b"", "missing", 0),
        (b"version: 0\n", "missing", 11),
        (b"version 0\ntopic_id: 9d2TTdabQBi4Q4G4UJm8Zw", "malformed", 0),
        (b"version: x\ntopic_id: 9d2TTdabQBi4Q4G4UJm8Zw", "malformed", 0),
        (b"version: 0\ntopic_id 9d2TTdabQBi4Q4G4UJm8Zw", "malformed", 11),
        (b"version: 0\ntopic_id: 9d2TTdabQBi4Q4G4UJm8Z", "bad value", 11),
        (b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", "bad value", 11),
        (b"\x00garbage\xff", "malformed", 0),
    ],
)
def test_an_unsound_file_is_corrupt(data: bytes, kind: str, position: int) -> None:
    with pytest.raises(CorruptCheckpointError, match=f"at byte {position}: {kind}"):
        PartitionMetadata.decode(data)
    assert PartitionMetadata.decode(data, strict=False).problems


def test_a_negative_version_is_not_known() -> None:
    with pytest.raises(UnsupportedFormatError):
        PartitionMetadata.decode(KAFKA_4_2.replace(b"0", b"-1", 1))


def test_every_cut_is_an_error() -> None:
    for data in corrupt.every_cut(KAFKA_4_2):
        with pytest.raises(CorruptCheckpointError):
            PartitionMetadata.decode(data)
        PartitionMetadata.decode(data, strict=False)


@given(st.binary(max_size=60))
def test_any_bytes_give_an_id_or_the_right_error(data: bytes) -> None:
    found = PartitionMetadata.decode(data, strict=False)
    assert found.problems or found.topic_id
