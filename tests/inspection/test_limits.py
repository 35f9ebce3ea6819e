"""What any input may take of memory and time: readers stay within it, and report the rest."""

import os
import struct
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.memory import MIB, MOST, MOST_OF_WORKERS, Meter
from tests.naive import Record, batch, marker, record_bytes, wrapper
from workbench.layout.attributes import GZIP, LZ4, SNAPPY, ZSTD
from workbench.layout.index_entries import ABORTED_TRANSACTION
from workbench.record.codecs.compression import compress
from workbench.record.limits import MOST_RECORDS

BASE = f"{0:020}"
CODECS = (GZIP, SNAPPY, LZ4, ZSTD)
SMALL = batch([Record(0, 5, b"k", b"v"), Record(1, 6, None, b"w")])
LARGE = bytes(160 * MIB)
LINEAR = 10.0  # seconds; what was quadratic took several times as long


def partition(folder: Path, log: bytes = SMALL, **files: bytes) -> Path:
    """Make a partition with one segment; ``files`` by the ends of their names."""
    path = folder / "orders-0"
    path.mkdir()
    (path / f"{BASE}.log").write_bytes(log)
    for ending, content in files.items():
        (path / f"{BASE}.{ending}").write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def meter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Meter]:
    with Meter(partition(tmp_path_factory.mktemp("small"))) as found:
        yield found


def sound_behind(log: bytes) -> bytes:
    """Return a log with one more batch, which must still be read."""
    return log + batch([Record(7, 5, b"k", b"v")])


def many_large(codec: int) -> bytes:
    """Return batches that are just not too large."""
    value = bytes(30 * MIB)
    return b"".join(batch([Record(at, 5, None, value)], codec) for at in range(3))


@pytest.mark.parametrize("call", ["scan", "verify"])
@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_that_expands_without_end_is_left_out(
    tmp_path: Path, meter: Meter, codec: int, call: str
) -> None:
    log = sound_behind(batch([Record(0, 5, None, LARGE)], codec))
    cost = meter.cost(call, partition(tmp_path, log))
    assert "batch-too-large" in cost.result
    assert call == "verify" or cost.result[0] == 1
    assert cost.grown < MOST


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4])
def test_a_wrapper_that_expands_without_end_is_left_out(
    tmp_path: Path, meter: Meter, magic: int, codec: int
) -> None:
    log = sound_behind(wrapper(magic, [Record(0, 5, None, LARGE)], codec))
    cost = meter.cost("scan", partition(tmp_path, log))
    assert cost.result == [1, "batch-too-large"]
    assert cost.grown < MOST


@pytest.mark.parametrize("call", ["scan", "dump"])
@pytest.mark.parametrize("codec", [GZIP, ZSTD])
def test_batches_below_the_limit_are_read_one_at_a_time(
    tmp_path: Path, meter: Meter, codec: int, call: str
) -> None:
    cost = meter.cost(call, partition(tmp_path, many_large(codec)))
    assert cost.result == ([3] if call == "scan" else 0)
    assert cost.grown < MOST


@pytest.mark.parametrize("part", ["key", "value", "header name", "header value"])
def test_a_huge_record_is_dumped_in_pieces(tmp_path: Path, meter: Meter, part: str) -> None:
    """As one line it took up to 14 times its size."""
    parts = dict.fromkeys(("key", "value", "header name", "header value"), b"v")
    parts[part] = os.urandom(MIB) * 60
    headers = ((parts["header name"], parts["header value"]),)
    log = batch([Record(0, 5, parts["key"], parts["value"], headers)])
    cost = meter.cost("dump", partition(tmp_path, log))
    assert cost.result == 0
    assert cost.grown < MOST


@pytest.mark.parametrize("codec", [0, ZSTD])
def test_a_batch_of_too_many_records_is_left_out(tmp_path: Path, meter: Meter, codec: int) -> None:
    count = MOST_RECORDS + 1
    many = batch([Record(at) for at in range(count)], codec)
    log = many + batch([Record(count, 5, b"k", b"v")])
    cost = meter.cost("scan", partition(tmp_path, log))
    assert cost.result == [1, "batch-too-large"]
    assert cost.grown < MOST


def test_garbage_behind_a_gzip_member_takes_linear_time(tmp_path: Path, meter: Meter) -> None:
    member = compress(GZIP, record_bytes(Record(0, 5, None, os.urandom(4 * MIB)), 0, 5), 2)
    payload = member + b"\xff" * (24 * MIB)
    log = batch([Record(0, 5)], GZIP, payload=payload)
    cost = meter.cost("scan", partition(tmp_path, log))
    assert cost.result == [1]
    assert cost.seconds < LINEAR / 5
    assert cost.grown < MOST


def empty_batches(count: int) -> "np.ndarray[Any, np.dtype[np.uint8]]":
    """Return uint8[count, n]: batches of one record each, with offsets 0, 1, 2 and so on."""
    one = np.frombuffer(batch([Record(0, 5)]), np.uint8)
    batches = np.tile(one, count).reshape(count, len(one))
    batches[:, :8] = np.arange(count, dtype=">i8").view(np.uint8).reshape(count, 8)
    return batches


def test_verify_holds_nothing_for_each_batch(tmp_path: Path, meter: Meter) -> None:
    """It held a hundred bytes: these took 200 MiB."""
    count = 2_000_000
    cost = meter.cost("verify", partition(tmp_path, empty_batches(count).tobytes()))
    assert "leader-epochs-missing" in cost.result
    assert cost.grown < MOST / 2


def test_verify_holds_each_change_of_the_leader_epoch_once(tmp_path: Path, meter: Meter) -> None:
    """It held four copies: these took 260 MiB."""
    count = 3_000_000
    batches = empty_batches(count)
    batches[:, 12:16] = np.arange(count, dtype=">i4").view(np.uint8).reshape(count, 4)
    cost = meter.cost("verify", partition(tmp_path, batches.tobytes()))
    assert "leader-epochs-missing" in cost.result
    assert cost.grown < MOST + MOST_OF_WORKERS


def test_epochs_that_fall_again_and_again_give_a_hundred_findings(
    tmp_path: Path, meter: Meter
) -> None:
    batches = empty_batches(400_000)
    batches[::2, 15] = 1
    cost = meter.cost("verify", partition(tmp_path, batches.tobytes()))
    assert cost.result.count("batch-epoch") == 100
    assert cost.grown < MOST / 2 + MOST_OF_WORKERS


def test_verify_of_transactions_holds_nothing_for_each_batch(tmp_path: Path, meter: Meter) -> None:
    """It held a hundred bytes, and all markers."""
    count, run = 1_500_000, 100
    batches = empty_batches(count)
    one = batch([Record(0, 5)], attributes=0x10, producer_id=7, producer_epoch=0)
    batches[:, 8:] = np.frombuffer(one, np.uint8)[8:]
    log = bytearray()
    for number, transaction in enumerate(batches.reshape(count // run, run, -1)):
        log += transaction[:-1].tobytes()
        log += marker(number * run + run - 1, 7, commit=number % 10 > 0)
    cost = meter.cost("verify", partition(tmp_path, bytes(log)))
    assert "transaction-index-incomplete" in cost.result
    assert cost.grown < MOST / 2


def test_a_table_of_batches_takes_little_more_than_its_rows(tmp_path: Path, meter: Meter) -> None:
    """A row has about 140 bytes in Arrow; it took 340."""
    count = 500_000
    cost = meter.cost("batches", partition(tmp_path, empty_batches(count).tobytes()))
    assert cost.result == count
    assert cost.grown < 200 * count


@pytest.mark.parametrize("ending", ["index", "timeindex", "txnindex"])
def test_a_huge_index_of_garbage_is_read_in_part(tmp_path: Path, meter: Meter, ending: str) -> None:
    garbage = os.urandom(MIB + 24) * 160
    cost = meter.cost("verify", partition(tmp_path, **{ending: garbage}))
    assert "index-too-large" in cost.result
    assert cost.grown < MOST


def test_a_huge_sparse_index_is_read_in_part(tmp_path: Path, meter: Meter) -> None:
    path = partition(tmp_path, index=b"\1" * 4096) / "orders-0" / f"{BASE}.index"
    with path.open("r+b") as file:
        file.seek(1 << 40)
        file.write(struct.pack(">ii", 1, 1))
    cost = meter.cost("verify", tmp_path)
    assert "index-too-large" in cost.result
    assert cost.grown < MOST


def test_entries_that_no_marker_bears_out_are_counted(tmp_path: Path, meter: Meter) -> None:
    entries = np.zeros(1_000_000, ABORTED_TRANSACTION)
    ends = np.arange(1, len(entries) + 1) * 3
    entries["producer_id"] = ends % 1000
    entries["first_offset"], entries["last_offset"] = ends - 1, ends
    entries["last_stable_offset"] = ends + 1
    cost = meter.cost("verify", partition(tmp_path, txnindex=entries.tobytes()))
    assert cost.result.count("transaction-index-entry") == 100
    assert "index-too-large" in cost.result
    assert cost.seconds < LINEAR
    assert cost.grown < MOST


@pytest.mark.parametrize("call", ["verify", "predict"])
def test_a_huge_snapshot_is_read_in_part(tmp_path: Path, meter: Meter, call: str) -> None:
    path = partition(tmp_path) / "orders-0" / f"{2:020}.snapshot"
    count = 12 * MIB
    with path.open("wb") as file:
        file.write(struct.pack(">hIi", 1, 0, count))
        file.truncate(10 + count * 46)
    cost = meter.cost(call, tmp_path)
    if call == "predict":  # a broker of 4.2 does not start without meta.properties
        assert cost.result is False
    else:
        assert "snapshot-damaged" in cost.result
    assert cost.grown < MOST


@pytest.mark.parametrize("call", ["verify", "scan", "batches"])
@pytest.mark.parametrize("filler", [b"", b"\xff" * 200])
def test_holes_of_a_sparse_log_are_skipped(
    tmp_path: Path, meter: Meter, filler: bytes, call: str
) -> None:
    path = partition(tmp_path, SMALL + filler) / "orders-0" / f"{BASE}.log"
    with path.open("r+b") as file:
        file.seek(1 << 42)
        file.write(batch([Record(9, 5, b"far", b"away")]))
        file.truncate(1 << 43)
    cost = meter.cost(call, tmp_path)
    if call == "verify":
        assert "batch-size" in cost.result
    elif call == "scan":
        assert cost.result[0] == 3
    else:
        assert cost.result == 2
    assert cost.seconds < LINEAR
    assert cost.grown < MOST


def test_looking_for_the_next_batch_takes_linear_time(tmp_path: Path, meter: Meter) -> None:
    """At every 61st byte a batch of 3 MiB seems to start; a real one comes after them all."""
    seeming = struct.pack(">qiiBI", 5, 3 * MIB, 0, 2, 0) + bytes(40)
    log = sound_behind(SMALL + b"\xff" * 20 + seeming * (8 * MIB // len(seeming)))
    cost = meter.cost("scan", partition(tmp_path, log))
    assert cost.result == [3, "batch-size"]
    assert cost.seconds < LINEAR
    assert cost.grown < MOST


@pytest.mark.parametrize("call", ["verify", "batches"])
def test_very_many_empty_segments_take_linear_time_and_no_tables(
    tmp_path: Path, meter: Meter, call: str
) -> None:
    path = tmp_path / "orders-0"
    path.mkdir()
    for base in range(20_000 if call == "verify" else 4000):
        (path / f"{base:020}.log").touch()
    cost = meter.cost(call, tmp_path)
    assert not isinstance(cost.result, str), cost.result
    assert cost.seconds < LINEAR
    assert cost.grown < MOST


HOSTILE: dict[str, Callable[[], bytes]] = {
    "deep": lambda: b"[" * 60_000,
    "a long number": lambda: b'{"leaderId":1,"data_version":0,"leaderEpoch":%s}' % (b"9" * 22_000),
    "many voters": lambda: b'{"currentVoters":[%s{}],"data_version":0}' % (b"{}," * 20_000),
    "long text": lambda: b'{"clusterId":"%s","data_version":0}' % (b"\\u0000" * 10_000),
}


@pytest.mark.parametrize("contents", HOSTILE)
def test_a_hostile_quorum_state_takes_no_time(tmp_path: Path, meter: Meter, contents: str) -> None:
    path = tmp_path / "__cluster_metadata-0"
    path.mkdir()
    (path / f"{BASE}.log").write_bytes(SMALL)
    (path / "quorum-state").write_bytes(HOSTILE[contents]())
    cost = meter.cost("verify", tmp_path)
    assert "quorum-state-damaged" in cost.result
    assert cost.seconds < 1
    assert cost.grown < MOST


def test_an_archive_of_more_members_than_fit_is_refused(tmp_path: Path, meter: Meter) -> None:
    folders = "/".join("abcdefghijklm")
    headers = b"".join(tarfile.TarInfo(f"{at}/{folders}").tobuf() for at in range(20_000))
    (tmp_path / "many.tar").write_bytes(headers + bytes(1024))
    cost = meter.cost("verify", tmp_path / "many.tar")
    assert "more than 250,000 members; unpack it yourself: tar -xf" in cost.result
    assert cost.grown < MOST
