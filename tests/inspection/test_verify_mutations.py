"""Damage that nobody documented: every byte of small files, thousands of changes of larger ones.

Each change gives a finding, or is shown to change nothing that a broker or a reader would notice.
"""

import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import corrupt
from tests.examples import every_byte
from tests.golden.cases import Case
from workbench.file_system.source import FileSource
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.indexes.offset_index import OffsetIndex
from workbench.files.indexes.time_index import TimeIndex
from workbench.files.indexes.transaction_index import TransactionIndex
from workbench.files.leader_epochs import LeaderEpochs
from workbench.files.meta_properties import MetaProperties
from workbench.files.partition_metadata import PartitionMetadata
from workbench.inspection.entries import FileEntry
from workbench.inspection.findings import Finding
from workbench.inspection.verify.segments.batches import verify_log
from workbench.inspection.verify.segments.indexes import OffsetIndexCheck, TimeIndexCheck
from workbench.inspection.verify.segments.log_pass import read_log
from workbench.inspection.verify.segments.trusted_batches import TrustedBatches
from workbench.inspection.verify.shutdown_state import PartitionShutdownState, SegmentContext
from workbench.inspection.verify.verify import verify
from workbench.record.reading.batch_table import scan_batches
from workbench.record.reading.reader import ALL_COLUMNS, RecordReader

Golden = Callable[[str], Case]

TOPIC = "dmg-t-none-0"
BASE = 38  # of the segment that is damaged, the last one
HEADER = 61  # bytes of a batch before its records


@pytest.fixture
def directory(golden: Golden, tmp_path: Path) -> Path:
    """Return a healthy directory with one partition of transactions: four segments, 64 offsets."""
    source = golden("4.2.0-damage-directory").directory("top-stray-file/before")
    copy = tmp_path / "data"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("dmg-none-0", "notes.txt"))
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        (copy / name).write_text("0\n1\ndmg-t-none 0 64\n")
    assert verify(copy) == []
    return copy


def place_of(path: Path, base_offset: int = BASE) -> SegmentContext:
    return SegmentContext(
        FileEntry(path.name, str(path)), base_offset, None, 0, PartitionShutdownState("clean", 64)
    )


def of_log(path: Path, base_offset: int = BASE) -> list[Finding]:
    """Return what is said of a log alone."""
    return verify_log(place_of(path, base_offset), deep=True)[0]


def log_of(directory: Path) -> Path:
    return directory / TOPIC / f"{BASE:020d}.log"


def rows_of(path: Path) -> Any:
    """Return BATCH_ROW[n], the batches of a sound log."""
    with FileSource(str(path)) as source:
        return scan_batches(source).rows


def header_bytes(path: Path) -> set[int]:
    return {
        position
        for start in rows_of(path)["position"][:2].tolist()
        for position in range(start, start + HEADER)
    }


@every_byte
def test_every_flipped_byte_of_a_log_is_found(directory: Path, step: int) -> None:
    """Every bit of two headers and a bit of every other byte; those outside the CRC, too."""
    path = log_of(directory)
    whole = path.read_bytes()
    headers = header_bytes(path)
    for position in sorted({*range(0, len(whole), step), *headers}):
        for bit in range(8) if position in headers else [position % 8]:
            path.write_bytes(corrupt.flip(whole, position, bit))
            # Leader epochs and the very last offset are compared with other files.
            assert of_log(path) or verify(directory), (position, bit)
    path.write_bytes(whole)


@every_byte
def test_every_cut_of_a_log_is_found(directory: Path, step: int) -> None:
    path = log_of(directory)
    whole = path.read_bytes()
    starts = {0, *rows_of(path)["position"].tolist()}
    for size in sorted({*range(0, len(whole), step), *starts}):
        path.write_bytes(whole[:size])
        if size in starts:  # the log itself is sound: the checkpoints know better
            assert "checkpoint-beyond-end" in {f.kind for f in verify(directory)}
        else:
            assert {f.kind for f in of_log(path)} == {"torn-tail"}, size


def test_zeros_and_garbage_of_any_length_behind_a_log_are_found(directory: Path) -> None:
    path = log_of(directory)
    whole = path.read_bytes()
    garbage = random.Random(5).randbytes(200)
    for size in range(1, 200):
        path.write_bytes(whole + bytes(size))
        # Fewer than eight may as well be the next batch's offset, which begins with zeros.
        assert {f.kind for f in of_log(path)} == {"torn-tail" if size < 8 else "zero-tail"}
        path.write_bytes(whole + garbage[:size])
        assert {f.kind for f in of_log(path)} <= {"garbage-tail", "torn-tail"}
        assert [f.position for f in of_log(path)] == [len(whole)]


def test_every_flipped_bit_of_an_offset_index_is_found_or_leads_to_the_same_batches(
    directory: Path,
) -> None:
    log, path = log_of(directory), log_of(directory).with_suffix(".index")
    rows = rows_of(log)
    whole = path.read_bytes()
    harmless = 0
    for position, data in corrupt.every_flip(whole):
        index = OffsetIndex.decode(data, BASE, strict=False)
        check = OffsetIndexCheck(index)
        reading = read_log(FileEntry(log.name, str(log)), BASE, checks=[check])
        if list(check.findings(str(path), reading, place_of(log), is_complete=True)):
            continue
        harmless += 1
        assert looked_up(index, rows) == looked_up(OffsetIndex.decode(whole, BASE), rows), position
    assert harmless < len(whole)


def looked_up(index: OffsetIndex, rows: Any) -> list[int]:
    """Return the position of the batch that a broker finds for each offset of the segment."""
    found = []
    for offset in range(BASE, int(rows["last_offset"][-1]) + 1):
        entries = [entry for entry in index if entry.offset <= offset]
        start = entries[-1].position if entries else 0
        behind = rows[rows["position"] >= start]
        found.append(int(behind["position"][behind["last_offset"] >= offset][0]))
    return found


def test_every_flipped_bit_of_a_time_index_is_found_or_leads_to_the_same_batches(
    directory: Path,
) -> None:
    log, path = log_of(directory), log_of(directory).with_suffix(".timeindex")
    whole = path.read_bytes()
    rows = rows_of(log)

    def batch_of(offset: int) -> int:
        return int(rows["position"][rows["last_offset"] >= offset][0])

    sound = TimeIndex.decode(whole, BASE)
    for position, data in corrupt.every_flip(whole):
        index = TimeIndex.decode(data, BASE, strict=False)
        check, trusted = TimeIndexCheck(index), TrustedBatches(BASE, np.zeros(0, np.int64))
        _, reading, _ = verify_log(place_of(log), deep=True, checks=[check], trusted=trusted.add)
        if list(check.findings(str(path), reading, place_of(log), trusted, is_complete=True)):
            continue
        assert index.timestamps.tolist() == sound.timestamps.tolist(), position
        assert [batch_of(o) for o in index.offsets] == [batch_of(o) for o in sound.offsets]


def delivered(index: TransactionIndex, rows: Any, start: int) -> list[int]:
    """Return the data batches that a read_committed consumer is given from ``start`` on."""
    aborted = sorted(index.collect_aborted(start, 64).transactions, key=lambda each: each[1])
    filtering: set[int] = set()
    given = []
    for row in rows[rows["last_offset"] >= start]:
        while aborted and aborted[0].first_offset <= row["last_offset"]:
            filtering.add(aborted.pop(0).producer_id)
        producer = int(row["producer_id"])
        if row["is_control"]:
            filtering.discard(producer)  # a commit marker ends nothing that was filtered
        elif not (row["is_transactional"] and producer in filtering):
            given.append(int(row["base_offset"]))
    return given


@every_byte
def test_every_flipped_byte_of_a_transaction_index_is_found_or_hides_the_same_records(
    directory: Path, step: int
) -> None:
    log, path = log_of(directory), log_of(directory).with_suffix(".txnindex")
    rows = rows_of(log)
    whole = path.read_bytes()
    sound = TransactionIndex.decode(whole, BASE)
    for position in range(0, len(whole), step):
        data = corrupt.flip(whole, position, position % 8)
        path.write_bytes(data)
        if verify(directory):
            continue
        index = TransactionIndex.decode(data, BASE)
        for start in range(BASE, 64):
            assert delivered(index, rows, start) == delivered(sound, rows, start), position


SMALL_FILES = [
    f"{TOPIC}/00000000000000000064.snapshot",
    f"{TOPIC}/leader-epoch-checkpoint",
    f"{TOPIC}/partition.metadata",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "meta.properties",
    ".kafka_cleanshutdown",
]


def is_harmless(name: str, data: bytes, whole: bytes) -> bool:
    """Return whether nothing in the directory can show that a small file is not what it was."""
    if name.endswith("partition.metadata"):  # another id, or another version: the cluster knows
        return not PartitionMetadata.decode(data, strict=False).problems
    if name.endswith("leader-epoch-checkpoint"):
        # Offsets below the first entry are not reported, which is what a lost file leaves.
        was, now = LeaderEpochs.decode(whole), LeaderEpochs.decode(data, strict=False)
        return not now.problems and (not now.entries or now.entries[0] >= was.entries[0])
    if name.startswith("replication"):  # a high watermark below the log end is an ordinary one
        marks = OffsetCheckpoint.decode(data, strict=False)
        return not marks.problems and all(mark <= 64 for mark in marks.offsets.values())
    if name.startswith("log-start"):  # it names no partition: that is, or might be, so
        return not OffsetCheckpoint.decode(data, strict=False).problems
    if name == "meta.properties":  # comments, and ids that only the cluster knows
        meta = MetaProperties.decode(data, strict=False)
        return not meta.problems and meta.node_id is not None
    if name == ".kafka_cleanshutdown":  # the broker's epoch; and an empty file, as before 3.7
        return not data or re.search(rb'"brokerEpoch":-?\d+', data) is not None
    return OffsetCheckpoint.decode(data, strict=False) == OffsetCheckpoint.decode(whole)


@pytest.mark.parametrize("name", SMALL_FILES)
def test_every_byte_and_cut_of_a_small_file_is_found_or_harmless(
    name: str, directory: Path
) -> None:
    path = directory / name
    whole = path.read_bytes()
    flips = [corrupt.flip(whole, at, at % 7) for at in range(len(whole))]
    found = 0
    for data in [*flips, *corrupt.every_cut(whole), b"\xff" * 9, whole + b"x", whole * 2]:
        path.write_bytes(data)
        if verify(directory):
            found += 1
        elif name.endswith(".snapshot"):
            pytest.fail(f"{name} of {len(data)} bytes: nothing found, yet a CRC covers all of it")
        else:
            assert is_harmless(name, data, whole), data
    assert found


def values_of(path: Path) -> list[tuple[int, bytes | None]]:
    """Return timestamp and value of every record that can be read."""
    records = []
    with FileSource(str(path)) as source:
        for chunk in RecordReader(source, options=ALL_COLUMNS):
            columns = chunk.columns
            assert columns.values is not None
            for at in range(len(columns)):
                records.append((int(columns.timestamps[at]), columns.values.item(at)))  # noqa: PERF401
    return records


def is_subsequence(
    few: list[tuple[int, bytes | None]], many: list[tuple[int, bytes | None]]
) -> bool:
    rest = iter(many)
    return all(each in rest for each in few)


def damaged(data: bytes, dice: random.Random) -> bytes:
    """Return the bytes with one to three random changes of any kind."""
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(data))
        size = dice.randint(1, 64)
        match dice.randrange(7):
            case 0 | 1:
                data = corrupt.flip(data, at, dice.randrange(8))
            case 2:
                data = corrupt.overwrite(data, at, dice.randbytes(min(size, len(data) - at)))
            case 3:
                data = corrupt.cut(data, max(at, 1))
            case 4:
                data = corrupt.zero(data, at, min(at + size * 8, len(data)))
            case 5:
                data = corrupt.insert(data, at, dice.randbytes(size))
            case _:
                data = data[:at] + data[at + size :] or b"\0"
    return data


LARGER = [
    ("4.2.0-plain-java", "data"),  # magic 2, every codec
    ("4.2.0-txn", "data"),
    ("k0.10.2-formats", "data"),  # magic 1
    ("k0.9-formats", "data"),  # magic 0
    ("k1.1-message-format", "after"),  # all three, cleaned
]


@pytest.mark.parametrize(("name", "label"), LARGER)
def test_random_damage_of_larger_logs_never_passes_for_other_records(
    name: str, label: str, golden: Golden, tmp_path: Path
) -> None:
    dice = random.Random(name)
    logs = sorted(golden(name).directory(label).glob("*-0/*.log"))
    logs = [log for log in logs if 2000 < log.stat().st_size < 20_000]
    path = tmp_path / "00000000000000000000.log"
    unfound = 0
    for _ in range(400):
        log = dice.choice(logs)
        whole = log.read_bytes()
        data = damaged(whole, dice)
        path.write_bytes(data)
        if not of_log(path, int(log.stem)) and data != whole:
            unfound += 1
            assert is_subsequence(values_of(path), values_of(log)), log
    assert unfound < 40


def test_files_of_other_segments_are_found(directory: Path) -> None:
    folder = directory / TOPIC
    for suffix in ("index", "timeindex", "txnindex"):
        mine, other = folder / f"{BASE:020d}.{suffix}", folder / f"{6:020d}.{suffix}"
        kept = mine.read_bytes(), other.read_bytes()
        mine.write_bytes(kept[1])
        other.write_bytes(kept[0])
        found = verify(directory)
        assert {f.path for f in found} >= {str(mine), str(other)}, suffix
        mine.write_bytes(kept[0])
        other.write_bytes(kept[1])
    assert verify(directory) == []


@pytest.mark.parametrize("size", [4096, 64])
def test_zeroed_pages_of_a_log_are_found(size: int, golden: Golden, tmp_path: Path) -> None:
    log = max(
        golden("4.2.0-plain-java").directory("data").glob("*-0/*.log"),
        key=lambda p: p.stat().st_size,
    )
    whole = log.read_bytes()
    path = tmp_path / log.name
    for at in range(0, min(len(whole), 60 * size), size):
        path.write_bytes(corrupt.zero(whole, at, min(at + size, len(whole))))
        if path.read_bytes() != whole:
            assert of_log(path, int(log.stem)), at


def test_an_index_of_garbage_gives_a_handful_of_findings(directory: Path) -> None:
    path = log_of(directory).with_suffix(".index")
    path.write_bytes(random.Random(1).randbytes(80_000))
    assert 1 <= len(verify(directory)) <= 4


def test_a_log_of_garbage_gives_few_findings_in_bounded_time(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(random.Random(2).randbytes(8_000_000))
    assert 1 <= len(of_log(path, 0)) <= 200


def test_one_bad_batch_in_every_two_is_counted_not_listed(golden: Golden, tmp_path: Path) -> None:
    log = max(golden("4.2.0-plain-java").directory("data").glob("*-0/00000000000000000000.log"))
    one = log.read_bytes()[: 12 + int.from_bytes(log.read_bytes()[8:12])]
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(corrupt.flip(one, len(one) - 1) * 500)
    found = of_log(path, 0)
    assert len(found) == 100
    assert "400 more" in found[-1].found
