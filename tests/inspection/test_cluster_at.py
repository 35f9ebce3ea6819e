"""The state of a cluster at an offset or a time, its history, and what cannot be known: planted."""

import random
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.naive import Record, batch
from workbench.config.internal_topics import METADATA_LOG
from workbench.decoders.api_records import FRAME_VERSION
from workbench.decoders.cluster_metadata import MESSAGES
from workbench.errors import StateUnknownError
from workbench.inspection.cluster import loading
from workbench.inspection.cluster.history import ClusterHistory, RowChange
from workbench.inspection.cluster.loading import cluster_at, offset_or_time
from workbench.inspection.partition import DiskPartition
from workbench.record.control import encode_control_key, encode_control_value

TYPES = {message.name: number for number, message in MESSAGES.items()}
CONTROL = 0x20
T0 = 1_795_000_000_000  # ms
OTHER_ID = "Bm0MB3deToqjvj5emAxIrA"
TOPIC_ID = "sI74rvvXTSakE2vjA5NFBA"


def value(kind: str, version: int = 0, **fields: Any) -> bytes:
    """Return the value of a record of a metadata log."""
    head = bytes([FRAME_VERSION, TYPES[kind], version])
    return head + MESSAGES[TYPES[kind]].encode(fields, version)


def config(setting: str | None, *, topic: str = "orders") -> bytes:
    return value(
        "ConfigRecord", resourceType=2, resourceName=topic, name="retention.ms", value=setting
    )


def one(offset: int, content: bytes) -> bytes:
    """Return a batch of one record, written one second per offset after `T0`."""
    return batch([Record(offset, T0 + 1000 * offset, None, content)], leader_epoch=1)


def control(offset: int, kind: int, **fields: Any) -> bytes:
    record = Record(offset, T0, encode_control_key(kind), encode_control_value(kind, fields))
    return batch([record], attributes=CONTROL)


def snapshot(end: int, *contents: bytes, footer: bool = True) -> bytes:
    """Return the bytes of a `.checkpoint` that ends before an offset."""
    written = T0 + 1000 * (end - 1)
    parts = [control(0, 3, version=0, lastContainedLogTimestamp=written)]
    records = [Record(at, T0, None, content) for at, content in enumerate(contents, 1)]
    parts += [batch(records)] if records else []
    parts += [control(len(contents) + 1, 4, version=0)] if footer else []
    return b"".join(parts)


def topic(name: str = "orders", topic_id: str = TOPIC_ID) -> bytes:
    return value("TopicRecord", name=name, topicId=topic_id)


class Folder:
    """A metadata log on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path / METADATA_LOG
        self.path.mkdir()

    def write(self, base: int, data: bytes) -> "Folder":
        (self.path / f"{base:020}.log").write_bytes(data)
        return self

    def write_snapshot(self, end: int, data: bytes) -> "Folder":
        (self.path / f"{end:020}-{1:010}.checkpoint").write_bytes(data)
        return self

    def partition(self) -> DiskPartition:
        return workbench.open_log_directory(self.path.parent)[METADATA_LOG]


@pytest.fixture(name="folder")
def folder_(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


CHANGES = (topic(), config("1"), config("2"), config(None), config("4"))


def changes() -> bytes:
    return b"".join(one(offset, content) for offset, content in enumerate(CHANGES))


def retention(partition: DiskPartition, at: Any = None) -> str | None:
    topics = cluster_at(partition, at).cluster.configs.topics
    return topics.get("orders", {}).get("retention.ms")


def test_a_state_at_an_offset_includes_its_record(folder: Folder) -> None:
    partition = folder.write(0, changes()).partition()
    assert [retention(partition, at) for at in range(5)] == [None, "1", "2", None, "4"]
    assert retention(partition) == "4"
    with pytest.raises(StateUnknownError, match="the state at offset 5 is not there"):
        cluster_at(partition, 5)


def test_a_log_that_has_grown_since_its_end_was_asked_for(folder: Folder) -> None:
    partition = folder.write(0, changes()[: 3 * len(one(0, config("1")))]).partition()
    end = partition.log_end_offset
    folder.write(0, changes())
    assert end < 5
    assert retention(partition, 4) == "4"


def test_a_state_at_a_time_excludes_what_is_later(folder: Folder) -> None:
    partition = folder.write(0, changes()).partition()
    assert retention(partition, T0 + 1999) == "1"
    assert retention(partition, T0 + 2000) == "2"
    assert retention(partition, str(T0 + 3500)) is None
    assert retention(partition, "2099-01-01") == "4"
    with pytest.raises(StateUnknownError, match=r"the state at .* is not there \(found the oldest"):
        cluster_at(partition, T0 - 1)


def test_a_number_is_an_offset_unless_it_can_only_be_a_time() -> None:
    assert offset_or_time(12) == offset_or_time(" 12 ") == (12, None)
    assert offset_or_time(T0) == offset_or_time(str(T0)) == (None, T0)
    assert offset_or_time("2026-11-18T09:46:40Z") == (None, 1_794_995_200_000)
    for wrong in (-1, True, "yesteryear", 1.5):
        with pytest.raises(ValueError, match="time"):
            offset_or_time(wrong)  # type: ignore[arg-type]


def test_a_state_begins_with_the_newest_snapshot_below_it(folder: Folder) -> None:
    later = one(3, config(None)) + one(4, config("4"))
    folder.write(3, later).write_snapshot(3, snapshot(3, topic(), config("from the snapshot")))
    partition = folder.partition()
    assert retention(partition, 2) == "from the snapshot"
    assert retention(partition, T0 + 2000) == "from the snapshot"
    assert retention(partition, 3) is None
    for early in (1, T0 + 1999):
        with pytest.raises(StateUnknownError, match="is not there"):
            cluster_at(partition, early)


def test_a_damaged_snapshot_is_replaced_by_an_older_state(folder: Folder) -> None:
    folder.write(0, changes()).write_snapshot(2, snapshot(2, topic(), config("1")))
    folder.write_snapshot(4, snapshot(4, topic(), footer=False))
    found = cluster_at(folder.partition())
    assert found.cluster.configs.topics == {"orders": {"retention.ms": "4"}}
    assert str(found.snapshot).endswith(f"{2:020}-{1:010}.checkpoint")
    assert [finding.kind for finding in found.findings] == ["metadata-snapshot-damaged"]


def test_a_missing_snapshot_and_missing_records_are_findings(folder: Folder) -> None:
    folder.write(1, one(1, config("1")) + one(4, config("4")))
    found = cluster_at(folder.partition())
    assert [finding.kind for finding in found.findings] == [
        "metadata-snapshot-missing", "missing-offsets",
    ]  # fmt: skip
    assert "offsets 2 to 3 are not there" in found.findings[1].found
    assert found.cluster.configs.topics == {"orders": {"retention.ms": "4"}}


def test_the_history_says_when_and_from_which_value(folder: Folder) -> None:
    history = ClusterHistory(folder.write(0, changes()).partition())
    key = ("topic", "orders", "retention.ms")
    moments = [(at, T0 + 1000 * at, True) for at in range(5)]
    assert list(history) == [
        RowChange(*moments[0], "topic", "orders", None, TOPIC_ID),
        RowChange(*moments[1], "config", key, None, "1"),
        RowChange(*moments[2], "config", key, "1", "2"),
        RowChange(*moments[3], "config", key, "2", None),
        RowChange(*moments[4], "config", key, None, "4"),
    ]
    assert (history.first_offset, history.findings) == (0, [])


def test_after_missing_records_the_next_snapshot_says_what_is_different(folder: Folder) -> None:
    folder.write(0, one(0, topic()) + one(1, config("1")))
    folder.write_snapshot(5, snapshot(5, topic(), config("4")))
    folder.write(6, one(6, config("6")))  # 2 to 5 are missing, and the snapshot has 2 to 4
    history = ClusterHistory(folder.partition())
    found = [change for change in history if change.kind == "config"]
    assert [(c.offset, c.is_exact, c.before, c.after) for c in found] == [
        (1, True, None, "1"),
        (4, False, "1", "4"),
        (6, True, "4", "6"),
    ]
    assert {finding.kind for finding in history.findings} == {"missing-offsets"}


def test_what_a_newer_kafka_wrote_is_a_finding(folder: Folder) -> None:
    strange = (
        bytes([FRAME_VERSION, 99, 0, 1, 2]),
        bytes([FRAME_VERSION, TYPES["TopicRecord"], 7, 1, 2]),
        bytes([FRAME_VERSION + 1, 2, 0]),
        topic() + b"more",
        value("RemoveTopicRecord", topicId="C" * 22),
        value("FenceBrokerRecord", id=7, epoch=1),
        bytes(loading._LONGEST_VALUE + 1),  # noqa: SLF001 - the limit is not of the interface
    )
    data = b"".join(one(at, each) for at, each in enumerate((topic(), *strange, config("8"))))
    found = cluster_at(folder.write(0, data).partition())
    assert found.cluster.configs.topics == {"orders": {"retention.ms": "8"}}
    assert [(f.kind, f.offset) for f in found.findings] == [
        ("metadata-record", at) for at in (1, 2, 3, 4, 5, 7)  # of contradictions, the first
    ]  # fmt: skip
    words = " ".join(str(finding.found) for finding in found.findings)
    for word in (
        "unknown (99)",
        "version 7",
        "frame",
        "bytes after a TopicRecord",
        "unknown",
        "1,",
    ):
        assert word in words


def test_a_state_has_a_size_at_most(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MOST_ROWS", 100)
    huge = [
        value("PartitionRecord", topicId=TOPIC_ID, partitionId=2**31 - 1 - n, replicas=[1], isr=[1])
        for n in range(5000)
    ]
    records = [Record(at, T0, None, content) for at, content in enumerate([topic(), *huge])]
    parts = [batch(records[at : at + 50]) for at in range(0, len(records), 50)]
    found = cluster_at(folder.write(0, b"".join(parts)).partition())
    assert found.findings[-1].expected.startswith("100 rows")
    assert 100 < found.cluster.partition_counts["orders"] <= 5000


@pytest.mark.parametrize("seed", range(40))
def test_bytes_of_any_kind_raise_nothing(folder: Folder, seed: int) -> None:
    rng = random.Random(seed)
    log, image = bytearray(changes()), bytearray(snapshot(3, topic(), config("3")))
    for data in (log, image):
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(data))
            if rng.random() < 0.3:
                del data[at : at + rng.randrange(40)]
            else:
                data[at] = rng.randrange(256)
    partition = folder.write(0, bytes(log)).write_snapshot(3, bytes(image)).partition()
    moments: tuple[Any, ...] = (None, 3, T0 + 2500)
    for moment in moments:
        try:
            state, history = cluster_at(partition, moment), ClusterHistory(partition, moment)
        except StateUnknownError:
            continue
        planted = {None, "1", "2", "3", "4"}  # every record is in a batch with a CRC
        assert {own.get("retention.ms") for own in state.cluster.configs.topics.values()} <= planted
        assert {change.after for change in history if change.kind == "config"} <= planted


@pytest.mark.parametrize("seed", range(60))
def test_records_of_any_content_raise_nothing(folder: Folder, seed: int) -> None:
    rng = random.Random(seed)
    written = []
    for at in range(60):
        content = bytearray(rng.choice(CHANGES))
        if rng.random() < 0.7:
            content[1] = rng.choice(list(MESSAGES))
            content[2] = rng.randrange(5)
            content[3:] = rng.randbytes(rng.randrange(60)) if rng.random() < 0.5 else content[3:]
            content += bytes(rng.randrange(80))
        written.append(one(at, bytes(content)))
    partition = folder.write(0, b"".join(written)).partition()
    history = ClusterHistory(partition)
    list(history)
    assert history.cluster.tables == cluster_at(partition).cluster.tables
