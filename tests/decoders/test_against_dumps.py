"""Every record of Kafka's own topics decodes to what the broker's DumpLogSegments printed of it."""

import base64
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.golden.cases import Case, names
from tests.golden.dump_text import DumpSection
from workbench.decoders import (
    cluster_metadata,
    consumer_offsets,
    share_group_state,
    transaction_state,
)
from workbench.decoders.registry import decoder_for
from workbench.file_system.source import FileSource
from workbench.layout.control_records import CONTROL_TYPE_NAMES
from workbench.record.control import MESSAGES as CONTROL_MESSAGES
from workbench.record.control import decode_control_record
from workbench.record.message_schema import Field, Message, Struct
from workbench.record.reading.reader import RecordReader

CASES = names(r"groups|txn|transactions|raft|offsets|streams|tiered")
COORDINATOR_TYPES = {
    "__consumer_offsets": consumer_offsets.TYPES,
    "__share_group_state": share_group_state.TYPES,
    "__transaction_state": transaction_state.TYPES,
}


class Raw(NamedTuple):
    key: bytes | None
    value: bytes | None
    is_control: bool


def read_records(path: Path) -> dict[int, Raw]:
    records: dict[int, Raw] = {}
    with FileSource(str(path)) as source:
        for chunk in RecordReader(source):
            columns = chunk.columns
            assert columns.keys is not None
            assert columns.values is not None
            for row, offset in enumerate(columns.offsets.tolist()):
                is_control = bool(chunk.rows["is_control"][columns.batch[row]])
                raw = Raw(columns.keys.item(row), columns.values.item(row), is_control)
                records[offset] = raw
    return records


def filled(of: Struct, printed: dict[str, Any]) -> dict[str, Any]:
    """Return what the tool printed with the defaults it leaves out, and bytes as hex."""
    values = {}
    for field in of.fields:
        if field.name not in printed:
            assert field.tag is not None, f"the tool prints no {field.name}"
            values[field.name] = field.default
            continue
        values[field.name] = _filled_value(field, printed[field.name])
    assert printed.keys() <= values.keys(), f"we know no {printed.keys() - values.keys()}"
    return values


def _filled_value(field: Field, printed: Any) -> Any:
    if printed is None:
        return None
    if field.is_array:
        item = replace(field, is_array=False, is_nullable=True)
        return [_filled_value(item, one) for one in printed]
    if isinstance(field.type, Struct):
        return filled(field.type, printed)
    if field.type == "bytes" and isinstance(printed, str):
        return base64.b64decode(printed).hex()
    if field.type == "bytes" and printed["userData"] is not None:  # a subscription or assignment
        return {**printed, "userData": base64.b64decode(printed["userData"]).hex()}
    return printed


def message_equal(ours: dict[str, Any], message: Message, printed: dict[str, Any]) -> None:
    assert ours["version"] == int(printed["version"])
    data = dict(printed["data"])
    status = data.get("transactionStatus", 0)
    if isinstance(status, str) and not status.isdigit():  # the tool of 4.4 prints the name
        assert ours["status"] == status
        data["transactionStatus"] = ours["data"]["transactionStatus"]
    wanted = filled(message.struct(ours["version"]), data)
    assert ours["data"] == wanted


def upper_name(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()


class Check:
    """Compares one printed line with our reading; `kinds` counts what was compared."""

    def __init__(self, topic: str, kinds: Counter[str]) -> None:
        decoder = decoder_for(topic)
        assert decoder is not None
        self.topic, self.decoder, self.kinds = topic, decoder, kinds

    def line(self, raw: Raw, text: str) -> None:
        for pattern, check in self.forms():
            found = pattern.search(text)
            if found is not None:
                check(raw, found)
                self.kinds[f"{self.topic} {check.__name__}"] += 1
                return
        raise AssertionError(f"not understood: {text}")

    def forms(self) -> Iterator[tuple[re.Pattern[str], Callable[[Raw, re.Match[str]], None]]]:
        yield re.compile(r"endTxnMarker: (\w+) coordinatorEpoch: (-?\d+)"), self.marker
        yield re.compile(r"controlType: (\w+)\((\d+)\)"), self.control_type
        yield re.compile(r"headerKeys: \[\] (LeaderChange|Snap\w+|KRaft\w+):? (\{.*)"), self.quorum
        yield re.compile(r'payload: (\{"type":"[A-Z_]+_RECORD".*)'), self.metadata
        yield re.compile(r"key: (\{.*?\}\}) payload: (.*)"), self.coordinator
        yield re.compile(r"key: offset_commit::(.*) payload: (.*)"), self.old_offset
        yield re.compile(r"key: group_metadata::(.*) payload: (.*)"), self.old_group
        yield re.compile(r"key: transaction_metadata::(.*) payload: (.*)"), self.old_transaction
        yield re.compile(r"payload: (RemoteLogSegmentMetadata\w*)\{(.*)\}$"), self.remote

    def marker(self, raw: Raw, found: re.Match[str]) -> None:
        record = decode_control_record(raw.key, raw.value)
        assert raw.is_control
        assert record.name == found[1].lower()
        assert record.value is not None
        assert record.value == (0, int(found[2]))

    def control_type(self, raw: Raw, found: re.Match[str]) -> None:
        record = decode_control_record(raw.key, raw.value)
        assert raw.is_control
        assert (record.name, record.type) == (found[1].lower(), int(found[2]))
        assert isinstance(record.value, dict)

    def quorum(self, raw: Raw, found: re.Match[str]) -> None:
        assert raw.is_control
        number = next(
            number
            for number, name in CONTROL_TYPE_NAMES.items()
            if name.replace("_", "") == found[1].lower()
        )
        printed = json.loads(found[2])
        wanted = filled(CONTROL_MESSAGES[number].struct(printed["version"]), printed)
        assert self.decoder.key(raw.key) == {"type": CONTROL_TYPE_NAMES[number], "type_id": number}
        assert self.decoder.value(raw.key, raw.value)["data"] == wanted

    def metadata(self, raw: Raw, found: re.Match[str]) -> None:
        assert not raw.is_control
        assert self.decoder.key(raw.key) is None
        printed = json.loads(found[1])
        ours = self.decoder.value(raw.key, raw.value)
        assert upper_name(ours["type"]) == printed["type"]
        message_equal(ours, cluster_metadata.MESSAGES[ours["type_id"]], printed)
        self.kinds[ours["type"]] += 1

    def coordinator(self, raw: Raw, found: re.Match[str]) -> None:
        key = json.loads(found[1])
        ours = self.decoder.key(raw.key)
        assert ours["data"] == key["data"]
        assert ours["type_id"] == int(key["type"])
        known = COORDINATOR_TYPES[self.topic][ours["type_id"]]
        assert ours["type"] == known.name
        value = self.decoder.value(raw.key, raw.value)
        self.kinds[f"{self.topic} {known.name}"] += 1
        if found[2] == "<DELETE>":
            assert value is None
            return
        assert value["type"] == known.name
        message_equal(value, known.value, json.loads(found[2]))

    def old_offset(self, raw: Raw, found: re.Match[str]) -> None:
        key = self.decoder.key(raw.key)["data"]
        assert f"group={key['group']},partition={key['topic']}-{key['partition']}" == found[1]
        value = self.decoder.value(raw.key, raw.value)
        if value is None:
            assert found[2] == "<DELETE>"
            return
        metadata = f",metadata={value['data']['metadata']}" if value["data"]["metadata"] else ""
        assert f"offset={value['data']['offset']}{metadata}" == found[2]

    def old_group(self, raw: Raw, found: re.Match[str]) -> None:
        assert f"group={self.decoder.key(raw.key)['data']['group']}" == found[1]
        value = self.decoder.value(raw.key, raw.value)
        if value is None:
            assert found[2] == "<DELETE>"
            return
        group = value["data"]
        printed = json.loads(found[2])
        assert group["protocolType"] == printed["protocolType"]
        assert group["protocol"] == printed["protocol"]
        assert group["generation"] == int(printed["generationId"])
        assignment = {
            member["memberId"]: [
                f"{topic['topic']}-{number}"
                for topic in member["assignment"]["assignedPartitions"]
                for number in topic["partitions"]
            ]
            for member in group["members"]
        }
        by_member = re.findall(r"([^=,{}\[\]]+)=\[(.*?)\]", printed["assignment"])
        assert assignment == {
            member: list(filter(None, partitions.split(", "))) for member, partitions in by_member
        }

    def old_transaction(self, raw: Raw, found: re.Match[str]) -> None:
        key = self.decoder.key(raw.key)["data"]
        assert f"transactionalId={key['transactionalId']}" == found[1]
        value = self.decoder.value(raw.key, raw.value)
        assert value["version"] == 0
        data = value["data"]
        partitions = [
            f"{topic['topic']}-{number}"
            for topic in data["transactionPartitions"] or ()
            for number in topic["partitionIds"]
        ]
        printed = re.fullmatch(r"(.*),partitions=\[(.*)\],(.*)", found[2])
        assert printed is not None
        assert printed[1] == (
            f"producerId:{data['producerId']},producerEpoch:{data['producerEpoch']},"
            f"state={value['status']}"
        )
        assert sorted(partitions) == sorted(filter(None, printed[2].split(",")))
        assert printed[3] == (
            f"txnLastUpdateTimestamp={data['transactionLastUpdateTimestampMs']},"
            f"txnTimeoutMs={data['transactionTimeoutMs']}"
        )

    def remote(self, raw: Raw, found: re.Match[str]) -> None:
        assert raw.key is None
        value = self.decoder.value(raw.key, raw.value)
        assert value["type"] == f"{found[1]}Record"
        data = value["data"]
        segment = data["remoteLogSegmentId"]
        partition = segment["topicIdPartition"]
        wanted = {
            "topicIdPartition": f"{partition['id']}:{partition['name']}-{partition['partition']}",
            "id": segment["id"],
            "brokerId": str(data["brokerId"]),
            "eventTimestampMs": str(data["eventTimestampMs"]),
            "state": value["state"],
        }
        if "startOffset" in data:
            epochs = (f"{e['leaderEpoch']}={e['offset']}" for e in data["segmentLeaderEpochs"])
            wanted |= {
                "startOffset": str(data["startOffset"]),
                "endOffset": str(data["endOffset"]),
                "maxTimestampMs": str(data["maxTimestampMs"]),
                "segmentLeaderEpochs": "{" + ", ".join(epochs) + "}",
                "segmentSizeInBytes": str(data["segmentSizeInBytes"]),
            }
            if "txnIdxEmpty" in found[2]:
                wanted["txnIdxEmpty"] = str(data["txnIndexEmpty"]).lower()
        printed = dict(re.findall(r"(\w+)=(\{[^}]*\}|[^,{}]+)", found[2].split("{", 1)[1]))
        printed |= dict(re.findall(r"(\w+)=([^,{}=]+)", found[2]))
        assert {name: printed.get(name) for name in wanted} == wanted


def topic_of(section: DumpSection) -> str | None:
    folder = section.file.split("/")[0]
    if folder == "bootstrap.checkpoint":
        return "__cluster_metadata"
    topic = folder.rpartition("-")[0]
    return topic if decoder_for(topic) is not None else None


def record_lines(section: DumpSection) -> Iterator[tuple[int, str]]:
    for line in section.lines:
        found = re.match(r"\| offset: (\d+) ", line)
        if found is not None:
            yield int(found[1]), line


def decoded_sections(case: Case, label: str) -> Iterator[DumpSection]:
    """Yield the sections that the tool printed through a decoder we can follow."""
    for version in case.dump_versions(label):
        is_old_case = case.name.startswith(("k", "upgrade"))
        if is_old_case and version != "3.9.1":
            continue  # the old tools print a subset, in other words
        for section in case.dump(label, version).sections:
            if section.file.endswith((".log", ".checkpoint")) and (
                "decoder" in section.options or is_old_case
            ):
                yield section


@pytest.mark.parametrize("name", CASES)
def test_internal_topics_decode_as_the_broker_s_tool_printed_them(
    name: str, golden: Callable[[str], Case]
) -> None:
    """DU-6, DU-7, DU-9 to DU-12."""
    case = golden(name)
    kinds: Counter[str] = Counter()
    for label in case.labels:
        for section in decoded_sections(case, label):
            topic = topic_of(section)
            if topic is None:
                continue
            records = read_records(case.directory(label) / section.file)
            check = Check(topic, kinds)
            printed = dict(record_lines(section))
            assert printed.keys() == records.keys(), section.file
            for offset, line in printed.items():
                check.line(records[offset], line)
    assert kinds, f"{name} has nothing to compare"
