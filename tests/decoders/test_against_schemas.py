"""What we declare of the messages that Kafka stores is what the classes of the newest say."""

from pathlib import Path

import pytest

from tests.decoders.schema_text import NEWEST, text_of
from tests.kafka_broker import compile_java, run_java
from workbench.decoders import (
    cluster_metadata,
    consumer_offsets,
    remote_log_metadata,
    share_group_state,
    transaction_state,
)
from workbench.record.control import MESSAGES as CONTROL_MESSAGES
from workbench.record.message_schema import Message

SOURCE = Path(__file__).with_name("Schemas.java").read_text()
COORDINATORS = (consumer_offsets, share_group_state, transaction_state)
OLDER = {  # in Kafka 4.0 to 4.3, and gone since
    "ShareGroupPartitionMetadataKey",
    "ShareGroupPartitionMetadataValue",
    "StreamsGroupPartitionMetadataKey",
    "StreamsGroupPartitionMetadataValue",
    "ZkMigrationStateRecord",
}
NEWER = {  # in Kafka's sources
    "ConsumerGroupMetadataValue": " tag 1 creationtimems:int64",
    "RemoteLogSegmentMetadataRecord": " tag 1 brokerleaderepoch:int32",
}
NEWER_VERSIONS = {"RemoteLogSegmentMetadataRecord": 1}
NOT_IN_LOGS = {
    "AbortedTxn": "of files: the transaction index, layout.index_entries",
    "ControlRecordTypeSchema": "read as the two numbers that it is: record.control",
    "DefaultPrincipalData": "of forwarded requests",
    "EndTxnMarker": "read as the two numbers that it is: record.control",
    "LegacyOffsetCommitKey": "the same as OffsetCommitKey",
    "LegacyOffsetCommitValue": "version 0 of OffsetCommitValue, a version that it lost",
    "ProducerSnapshot": "of files: layout.producer_snapshot",
    "QuorumStateData": "of files, as JSON: files.quorum_state",
}


def declared() -> dict[str, Message]:
    """Return every message of ours by its name."""
    types = [known for coordinator in COORDINATORS for known in coordinator.TYPES.values()]
    messages = (
        *cluster_metadata.MESSAGES.values(),
        *remote_log_metadata.MESSAGES.values(),
        *CONTROL_MESSAGES.values(),
        consumer_offsets.SUBSCRIPTION,
        consumer_offsets.ASSIGNMENT,
        *(message for known in types for message in (known.key, known.value)),
    )
    return {message.name: message for message in messages}


@pytest.fixture(scope="module")
def theirs() -> dict[str, dict[str, str]]:
    """Every message that Kafka stores, by its name: fields by version, defaults by field."""
    classes = compile_java(NEWEST, SOURCE, "Schemas")
    done = run_java(NEWEST, "Schemas", classes=classes)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, str]] = {}
    for line in done.stdout.splitlines():
        name, which, text = line.split(" ", 2)
        found.setdefault(name, {})[which] = text
    assert len(found) > 60
    return found


@pytest.mark.parametrize("name", sorted(declared().keys() - OLDER))
def test_each_version_has_the_fields_that_kafka_gives_it(
    name: str, theirs: dict[str, dict[str, str]]
) -> None:
    message = declared()[name]
    versions = [int(which) for which in theirs[name] if which.isdecimal()]
    assert message.highest == NEWER_VERSIONS.get(name, max(versions))
    for version in versions:
        ours = text_of(message.struct(version))
        fields = theirs[name][str(version)].replace("_", "")
        assert ours.replace(NEWER.get(name, ""), "") == fields, version


@pytest.mark.parametrize("name", sorted(declared().keys() - OLDER))
def test_tagged_fields_have_the_defaults_that_kafka_gives_them(
    name: str, theirs: dict[str, dict[str, str]]
) -> None:
    defaults = {which.lower(): text.lower() for which, text in theirs[name].items()}
    for field in declared()[name].struct(declared()[name].highest).fields:
        is_newer = field.name.lower() in NEWER.get(name, "")
        if field.tag is not None and not isinstance(field.default, dict) and not is_newer:
            ours = "null" if field.default is None else str(field.default).lower()
            assert defaults[field.name.lower()] == ours, field.name


def test_no_message_is_unknown(theirs: dict[str, dict[str, str]]) -> None:
    assert sorted(theirs.keys() - declared().keys()) == sorted(NOT_IN_LOGS)
