"""The offset manager on what real brokers wrote: it loads the same, and writes the same bytes."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.golden.cases import CASES, Case, names
from workbench.coordinator.group_coordinator.offset_manager import OffsetManager
from workbench.coordinator.groups.commit_records import commit_key, commit_value, read_commit
from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.offsets.offset_metadata_manager import OffsetMetadataManager
from workbench.coordinator.runtime.coordinator_runtime import CoordinatorRuntime
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.coordinator.runtime.log_records import LogRecord, read_log_records
from workbench.coordinator.runtime.records import CoordinatorRecord, CoordinatorResult
from workbench.decoders.consumer_offsets import TYPES
from workbench.decoders.typed_records import read_key
from workbench.files.names import TopicPartition
from workbench.inspection.listing import list_log_directories
from workbench.log_manager.manager import LogManager
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler

Golden = Callable[[str], Case]

MAGIC_AT = 16  # before it are offset, size and leader epoch, which the log sets
HAS_DELETE_HORIZON = 0x40  # of a batch's attributes
COMMITTING = "groups|streams-group|offsets|old-groups|txn|share"


def _logs(case: Case, labels: Sequence[str]) -> Any:
    """Yield the partitions of `__consumer_offsets` in directories of a case."""
    for label in labels:
        for partition in list_log_directories(case.directory(label)).partitions.values():
            if partition.topic == GROUPS_TOPIC and partition.segments:
                yield partition


def test_every_commit_of_a_broker_is_written_byte_for_byte(golden: Golden) -> None:
    """GO-21: keys of type 1 and values of the versions 1 to 4, of brokers of every era."""
    seen: dict[int, int] = {}
    for name in names(COMMITTING):
        case = golden(name)
        for partition in _logs(case, case.labels):
            for record in read_log_records(partition, []):
                if not isinstance(record, LogRecord) or record.key is None:
                    continue
                key = read_key(TYPES, record.key)
                if key.type_id != 1:
                    continue
                where = TopicPartition(key.fields["topic"], key.fields["partition"])
                assert commit_key(key.fields["group"], where) == record.key
                if record.value is not None:
                    value = read_commit(record.value, record.offset)
                    assert commit_value(value) == record.value
                    seen[value.version] = seen.get(value.version, 0) + 1
    assert min(seen.get(version, 0) for version in (1, 3, 4)) >= 10, seen


@pytest.mark.parametrize("name", names("groups", version="4.2"))
def test_the_runtime_writes_the_batches_of_a_broker(
    name: str, golden: Golden, workplace: Path
) -> None:
    """From magic to the last byte: attributes, timestamps, producer, base sequence, CRC."""
    clock = ManualClock(0)
    manager = LogManager([workplace], clock=clock, scheduler=ManualScheduler(clock))
    manager.startup(with_tasks=False)
    runtime = CoordinatorRuntime(
        GROUPS_TOPIC,
        manager.get_log,
        lambda where: OffsetMetadataManager(where, clock, OffsetConfig()),
    )
    kinds: dict[tuple[bool, bool], int] = {}
    for number, batch in _batches(golden(name)):
        log = manager.get_or_create_log(GROUPS_TOPIC, number)
        if runtime.state_of(number) is None:
            runtime.load(number)
        [row] = batch.batches().rows
        before = log.log_end_offset
        clock.set(int(row["max_timestamp"]))
        producer = int(row["producer_id"]), int(row["producer_epoch"])
        if row["is_control"]:
            _end(runtime, number, batch, producer)
        else:
            pairs = [CoordinatorRecord(each.key or b"", each.value) for each in batch.records()]
            _write(runtime, number, producer, CoordinatorResult(pairs, None))
        mine = log.read(before, 1 << 20).records
        assert bytes(mine)[MAGIC_AT:] == bytes(batch)[MAGIC_AT:]
        kind = bool(row["is_transactional"]), bool(row["is_control"])
        kinds[kind] = kinds.get(kind, 0) + 1
    manager.shutdown()
    assert kinds[False, False] > 150
    assert kinds[True, False] > 1
    assert kinds[True, True] > 1


def _write(
    runtime: CoordinatorRuntime[OffsetMetadataManager],
    number: int,
    producer: tuple[int, int],
    result: CoordinatorResult[None],
) -> None:
    if producer[0] == -1:
        runtime.write(number, lambda _: result)
    else:
        runtime.schedule_write(number, lambda _: result, *producer).result()


def _end(
    runtime: CoordinatorRuntime[OffsetMetadataManager],
    number: int,
    batch: MemoryRecords,
    producer: tuple[int, int],
) -> None:
    [marker] = batch.records()
    assert marker.key is not None
    assert marker.value is not None
    epoch = int.from_bytes(marker.value[2:])
    is_commit = marker.key[3] == 1
    runtime.complete_transaction(number, *producer, epoch, is_commit=is_commit)


def _batches(case: Case) -> Any:
    """Yield partition and bytes of each batch in the last directory that no cleaning changed."""
    for partition in _logs(case, case.labels[-1:]):
        for segment in partition.segments:
            rows = segment.batches.rows
            for row in rows:
                count = row["last_offset"] - row["base_offset"] + 1
                if row["record_count"] == count and not row["attributes"] & HAS_DELETE_HORIZON:
                    data = segment.read_bytes(int(row["position"]), int(row["size"]))
                    yield partition.partition, MemoryRecords.copy_of(data)


@pytest.mark.parametrize("name", names("groups"))
def test_the_offset_manager_answers_as_the_broker_answered(
    name: str, golden: Golden, workplace: Path
) -> None:
    """It loads the broker's directory through the engine; see `test_coordinators_golden`."""
    case = golden(name)
    told = json.loads((case.path / "groups.json").read_text())
    told = {"data": told} if "groupOffsets" in told else told
    era = CoordinatorEra.CLASSIC if case.version.startswith("2.8") else CoordinatorEra.KIP_848
    label = "data" if "data" in told else "after"
    directory = workplace / "data"
    shutil.copytree(case.directory(label), directory)
    checked = 0
    with LogManager([directory]) as manager:
        offsets = OffsetManager(manager, era=era, creates_topic=False)
        offsets.startup(with_tasks=False)
        for group, wanted in told[label]["groupOffsets"].items():
            found = offsets.fetch(group)
            assert {str(where): value.offset for where, value in found.items()} == {
                where: each["offset"] for where, each in wanted.items()
            }
            checked += len(found)
    assert checked > 10


def test_the_cases_that_commit_are_among_those_above() -> None:
    assert len(names(COMMITTING)) > 5
    assert len(CASES) > len(names(COMMITTING))
