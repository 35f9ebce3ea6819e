"""Directories as no broker leaves them: everything sound is served, and nothing hangs."""

import errno
import os
import shutil
import warnings
from pathlib import Path

import pytest
from kafka import TopicPartition

import workbench
from tests.naive import Record, message, wrapper
from tests.server.asking import Asker
from tests.server.conftest import SHOP
from tests.server.consumers import consuming, poll_until
from tests.trees import snapshot
from workbench.errors import CorruptDataWarning, ServerError
from workbench.file_system.source import THIS_MACHINE, RemoteEntry, with_mount
from workbench.inspection.findings import Finding
from workbench.inspection.listing import list_log_directories
from workbench.inspection.remote_tier.aiven_files import BytesFile
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.error_codes import ErrorCode
from workbench.server.events import Event
from workbench.server.logs.log_read import StorageUnavailableError
from workbench.server.logs.served_log import ServedLog
from workbench.server.protocol.api_keys import FETCH

DAMAGED = SHOP.parent / "damaged"


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """Return a copy of two topics with damage, a FIFO, a link and a name that no topic has."""
    for name in ("orders-0", "orders-1", "returns-0"):
        shutil.copytree(SHOP / name, tmp_path / name)
    os.rename(tmp_path / "returns-0", os.fsencode(tmp_path) + b"/r\xe9turns-0")
    (tmp_path / "fifo-0").mkdir()
    os.mkfifo(tmp_path / "fifo-0" / f"{0:020}.log")
    (tmp_path / "empty-0").mkdir()
    (tmp_path / "link-0").symlink_to("/etc")
    last = max((tmp_path / "orders-0").glob("*.log"))
    size = last.stat().st_size
    with last.open("r+b") as file:
        file.seek(size // 2)
        file.write(bytes(size // 4))
    with max((tmp_path / "orders-1").glob("*.log")).open("r+b") as file:
        file.seek(-3, os.SEEK_END)
        file.write(b"\xff\xff\xff")
    return tmp_path


def test_what_is_sound_is_served_and_the_rest_is_told(odd: Path) -> None:
    before = {name: snapshot(odd / name) for name in ("orders-0", "orders-1")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorruptDataWarning)
        scanned = workbench.open_log_directory(odd).scan(topics="orders").to_arrow()
    where = [TopicPartition("orders", 0), TopicPartition("orders", 1)]
    others = [TopicPartition(topic, 0) for topic in ("fifo", "empty", "link")]
    events: list[Event] = []
    with workbench.serve(odd, observe=events.append) as server, consuming(server) as consumer:
        assert consumer.topics() == {"orders", "fifo", "empty", "link"}
        consumer.assign(where + others)
        ends = consumer.end_offsets(where + others)
        assert all(ends[each] == 0 for each in others)
        found = poll_until(consumer, len(scanned))
        assert {each: consumer.position(each) for each in where} == {
            each: ends[each] for each in where
        }
        findings = {(finding.kind, Path(finding.path).parent.name) for finding in server.findings}
    offsets = sorted(
        zip(scanned["partition"].to_pylist(), scanned["offset"].to_pylist(), strict=True)
    )
    assert sorted((record.partition, record.offset) for record in found) == offsets
    assert findings >= {("batch-size", "orders-0"), ("crc", "orders-1")}
    notes = [event for event in events if isinstance(event, str)]
    assert any("turns-0: not served" in note for note in notes)
    assert before == {name: snapshot(odd / name) for name in ("orders-0", "orders-1")}


def test_old_messages_with_any_timestamp_and_any_gap_are_served(tmp_path: Path) -> None:
    least, most = -(2**63), 2**63 - 1
    offsets = {0: 5, 1: -5, 2: most, 3: least, 2**31: 7, 2**31 + 1: -1, 2**32: least}
    records = [Record(offset, stamp, b"k", b"v") for offset, stamp in offsets.items()]
    later = [Record(2**33 + at, 5) for at in range(2)]
    append_time = wrapper(1, later, 1, timestamp=-7, attributes=8)
    folder = tmp_path / "old-0"
    folder.mkdir()
    messages = b"".join(message(1, record) for record in records)
    (folder / f"{0:020}.log").write_bytes(messages + append_time)
    partition = workbench.open_log_directory(tmp_path)["old-0"]
    with warnings.catch_warnings():  # no index reaches so far
        warnings.simplefilter("ignore", CorruptDataWarning)
        table = workbench.open_log_directory(tmp_path).scan().to_arrow()
    log, at, given = ServedLog(partition, lambda _: None), 0, []
    while at < log.high_watermark:
        part = log.read(at, 2**62, 1 << 20, committed=False, first=True, zstd=True)
        for records_of in part.parts:
            given += MemoryRecords.copy_of(records_of).records()
        assert part.next_offset > at
        at = part.next_offset
    wanted = offsets | {2**31 + 1: None} | dict.fromkeys((record.offset for record in later), -7)
    assert {each.offset: each.timestamp for each in given} == wanted
    assert table["offset"].to_pylist() == list(wanted)


def test_a_server_of_a_relative_path_reads_it_after_a_change_of_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(SHOP.parent)
    with workbench.serve(SHOP.name) as server, consuming(server, "orders") as consumer:
        monkeypatch.chdir("/")
        assert poll_until(consumer, 1)


def read_on(asker: Asker, topic: str, offset: int, end: int) -> tuple[int, int]:
    """Fetch from an offset to the end; return where it ended, and the error."""
    code = ErrorCode.NONE
    while offset < end:
        partition = {"partition": 0, "fetchOffset": offset, "partitionMaxBytes": 700}
        asked = {"sessionEpoch": -1, "topics": [{"topic": topic, "partitions": [partition]}]}
        (found,) = asker.ask(FETCH, 11, asked)["responses"][0]["partitions"]
        code = ErrorCode(found["errorCode"])
        if code is not ErrorCode.NONE:
            break
        data = found["records"]
        assert data
        while data:  # whole batches
            offset = int.from_bytes(data[:8]) + int.from_bytes(data[23:27]) + 1
            data = data[12 + int.from_bytes(data[8:12]) :]
    return offset, code


def test_a_strict_server_stops_at_damage() -> None:
    """It tells the error where the damaged batch is, and serves what is behind it."""
    logs = workbench.open_log_directory(DAMAGED)
    (segment,) = (s for s in logs["healthy-0"].segments if s.base_offset == 18)
    rows = next(segment.batch_parts()).rows
    places = {}
    for line in (DAMAGED.parent / "damaged.tsv").read_text().splitlines()[1:]:
        topic, file, position, _ = line.split("\t")
        if topic in {"flipped-byte", "huge-length", "wrong-magic"}:
            assert file == f"{18:020}.log"
            is_there = (rows["position"] <= int(position)) & (
                rows["position"] + rows["size"] > int(position)
            )
            (row,) = rows[is_there]
            places[topic] = (int(row["base_offset"]), int(row["last_offset"]) + 1)
    assert len(places) == 3
    with (
        workbench.serve(DAMAGED, strict=True) as strict,
        workbench.serve(DAMAGED) as lenient,
        Asker(strict.bootstrap_servers) as asker,
        Asker(lenient.bootstrap_servers) as other,
    ):
        healthy = strict.catalog.topics["healthy"][0].high_watermark
        assert read_on(asker, "healthy", 0, healthy) == (healthy, ErrorCode.NONE)
        for topic, (damaged, following) in places.items():
            end = strict.catalog.topics[topic][0].high_watermark
            assert read_on(asker, topic, 0, end) == (damaged, ErrorCode.CORRUPT_MESSAGE), topic
            assert read_on(asker, topic, following - 1, end)[0] == following - 1, topic
            assert read_on(other, topic, 0, end) == (end, ErrorCode.NONE), topic
        assert read_on(asker, "flipped-byte", places["flipped-byte"][1], healthy) == (
            healthy,
            ErrorCode.NONE,
        )


@pytest.mark.parametrize("strict", [False, True])
def test_a_batch_cut_at_the_end_of_a_segment_is_reported(strict: bool, tmp_path: Path) -> None:  # noqa: FBT001
    shutil.copytree(DAMAGED / "healthy-0", tmp_path / "healthy-0")
    cut = tmp_path / "healthy-0" / f"{18:020}.log"
    os.truncate(cut, cut.stat().st_size - 10)
    with (
        workbench.serve(tmp_path, strict=strict) as server,
        Asker(server.bootstrap_servers) as asker,
    ):
        log = server.catalog.topics["healthy"][0]
        (row,) = workbench.open_log_directory(DAMAGED)["healthy-0"].segments[1].batches.rows[-1:]
        lost = int(row["base_offset"])
        wanted = (lost, ErrorCode.CORRUPT_MESSAGE) if strict else (72, ErrorCode.NONE)
        assert read_on(asker, "healthy", 0, log.high_watermark) == wanted
        assert [(each.kind, each.position) for each in server.findings] == [
            ("torn-tail", int(row["position"]))
        ]


def test_a_log_that_could_not_be_read_for_a_moment_is_read_when_it_can(tmp_path: Path) -> None:
    shutil.copytree(DAMAGED / "healthy-0", tmp_path / "healthy-0")
    last = max((tmp_path / "healthy-0").glob("*.log"))
    (log,) = workbench.open_log_directory(tmp_path).values()
    assert len(log.segments) == 4
    told: list[Finding | str] = []
    served = ServedLog(log, told.append)
    last.rename(last.with_suffix(".away"))
    os.mkfifo(last)
    assert served.high_watermark == int(last.stem)
    assert served.last_stable_offset <= int(last.stem)
    assert len(told) > 0
    last.unlink()
    last.with_suffix(".away").rename(last)
    assert served.high_watermark == served.last_stable_offset == 72


class FailingFiles:
    """A folder of this machine, read as if a server held it that may fail."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fails = False

    def path(self, path: str) -> Path:
        return self.folder / path.removeprefix("failing://logs").lstrip("/")

    def open(self, path: str) -> BytesFile:
        if self.fails:
            raise OSError(errno.EIO, "the server does not answer", path)
        return BytesFile(self.path(path).read_bytes())

    def entry(self, path: str) -> RemoteEntry | None:
        there = self.path(path)
        if not there.exists():
            return None
        return RemoteEntry(there.name, there.is_dir(), there.stat().st_size, 0)

    def entries(self, path: str) -> list[RemoteEntry]:
        found = (self.entry(f"{path}/{each.name}") for each in self.path(path).iterdir())
        return [each for each in found if each is not None]

    def tree(self, path: str) -> dict[str, list[RemoteEntry]]:
        folders = [each for each in self.path(path).rglob("*") if each.is_dir()]
        names = [path, *(f"{path}/{each.relative_to(self.path(path))}" for each in folders)]
        return {name: self.entries(name) for name in names}


def test_a_client_waits_for_a_server_that_fails_instead_of_skipping_records() -> None:
    files = FailingFiles(DAMAGED)
    fs = with_mount(THIS_MACHINE, "failing://logs", files)
    listing = list_log_directories("failing://logs", fs=fs)
    told: list[Finding | str] = []
    served = ServedLog(listing.partitions["healthy-0"], told.append)
    assert served.high_watermark == 72
    files.fails = True
    options = {"committed": False, "first": True, "zstd": True}
    with pytest.raises(StorageUnavailableError):
        served.read(0, 72, 1 << 20, **options)
    files.fails = False
    offset = 0
    while offset < 72:
        records = served.read(offset, 72, 1 << 20, **options)
        assert records.next_offset > offset
        offset = records.next_offset
    assert [each.kind for each in told if isinstance(each, Finding)] == ["unreadable"]


def test_a_writable_server_is_not_strict() -> None:
    with pytest.raises(ServerError, match="expected no strict"):
        workbench.serve(SHOP, strict=True, writable=True)
