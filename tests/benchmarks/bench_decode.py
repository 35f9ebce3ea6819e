"""Records of a file to Arrow batches, CRC checked, against memcpy, the JVM and Python clients."""

import mmap
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa

from tests.benchmarks import bench_codecs
from tests.benchmarks.measure import (
    Timing,
    best_of,
    dump_log_segments,
    generated,
    in_turn,
    memcpy,
    peer,
    table,
)
from workbench.file_system.source import FileSource
from workbench.inspection.listing import list_log_directories
from workbench.loaders.scan.scan import Scan
from workbench.record.buffers import BufferPool
from workbench.record.reading.windows import BatchWindows

SIZE = 96 << 20
COLUMNS = ("offset", "timestamp", "key", "value")
SLOW_PART = 16 << 20  # bytes that the pure Python clients get; their time is scaled


def ours(file: Path) -> Timing:
    """Time a streaming scan that drops each batch: the memory is used again."""
    listing = list_log_directories(file)
    return best_of(
        lambda: sum(batch.num_rows for batch in Scan(listing, columns=COLUMNS, workers=1).batches())
    )


def _batches(file: Path, limit: int) -> Iterator[bytes]:
    with file.open("rb") as opened:
        data = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    at = 0
    while at < min(limit, len(data)):
        size = 12 + int.from_bytes(data[at + 8 : at + 12])
        yield data[at : at + size]
        at += size


def _as_arrow(offsets: list[int], times: list[int], keys: list[bytes], values: list[bytes]) -> None:
    pa.record_batch(
        [pa.array(offsets), pa.array(times), pa.array(keys), pa.array(values)], list("otkv")
    )


def aiokafka(file: Path) -> Timing:
    """Time aiokafka's compiled parser with CRC, to Arrow."""
    from aiokafka.record.default_records import DefaultRecordBatch

    parts = list(_batches(file, SLOW_PART))

    def run() -> int:
        offsets, times, keys, values = [], [], [], []
        for part in parts:
            batch = DefaultRecordBatch(bytearray(part))
            assert batch.validate_crc()
            for record in batch:
                offsets.append(record.offset)
                times.append(record.timestamp)
                keys.append(record.key)
                values.append(record.value)
        _as_arrow(offsets, times, keys, values)
        return len(offsets)

    return best_of(run, 3)


def kafka_python(file: Path) -> Timing:
    """Time kafka-python's parser with CRC, to Arrow."""
    from kafka.record.default_records import DefaultRecordBatch

    parts = list(_batches(file, SLOW_PART // 4))

    def run() -> int:
        offsets, times, keys, values = [], [], [], []
        for part in parts:
            batch = DefaultRecordBatch(part)
            assert batch.validate_crc()
            for record in batch:
                offsets.append(record.offset)
                times.append(record.timestamp)
                keys.append(record.key)
                values.append(record.value)
        _as_arrow(offsets, times, keys, values)
        return len(offsets)

    return best_of(run, 2)


def codec_alone(file: Path) -> Timing:
    """Time the codec's fastest library over the batches of a file, and nothing else."""
    parts = [memoryview(part) for part in _batches(file, 1 << 40)]
    return best_of(bench_codecs.codec_alone(parts[0][22] & 7, [part[61:] for part in parts]), 5)


def uncompressed() -> None:
    """Print the table of uncompressed files."""
    rows = []
    for value_size in (100, 1000):
        file = generated("none", value_size, SIZE)
        size = file.stat().st_size
        mine, copy, jvm = in_turn(
            partial(ours, file), partial(memcpy, size), partial(peer, "records", str(file))
        )
        assert mine.records == jvm.records, (mine, jvm)
        tool = dump_log_segments(file, "--deep-iteration")
        per_record = mine.cpu / mine.records

        def ratio(other: Timing, per_record: float = per_record) -> str:
            return f"{other.cpu / other.records / per_record:.1f}x"

        rows.append([
            f"{value_size} B",
            f"{mine.records / mine.cpu / 1e6:.1f} M/s",
            f"{size / mine.cpu / 1e9:.2f} GB/s",
            f"{copy.cpu / mine.cpu:.2f}",
            f"{jvm.cpu / mine.cpu:.2f}x",
            ratio(aiokafka(file)),
            ratio(kafka_python(file)),
            f"{tool.wall / mine.wall:.0f}x",
        ])  # fmt: skip
    columns = [
        "values", "records", "file", "of memcpy", "JVM loop", "aiokafka", "kafka-python",
        "DumpLogSegments --deep-iteration (wall)",
    ]  # fmt: skip
    table("file to Arrow batches, one thread, CRC checked: times faster than", columns, rows)


def walked(file: Path) -> Timing:
    """Time reading a file in windows of whole batches, without looking into them."""
    pool = BufferPool()

    def run() -> int:
        with FileSource(str(file)) as source:
            return sum(len(w.rows) for w in BatchWindows(source, 0, source.size, pool))

    return best_of(run)


def compressed() -> None:
    """Print the table of compressed files."""
    rows = []
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        for value_size in (100, 1000):
            file = generated(codec, value_size, SIZE)
            mine, alone, jvm = in_turn(
                partial(ours, file), partial(codec_alone, file), partial(peer, "records", str(file))
            )
            assert mine.records == jvm.records
            row = [codec, f"{value_size} B", f"{mine.records / mine.cpu / 1e6:.1f} M/s"]
            rows.append([*row, f"{mine.cpu / alone.cpu:.2f}", f"{jvm.cpu / mine.cpu:.2f}x"])
    columns = ["codec", "values", "records", "time / codec's own", "JVM loop"]
    table("compressed file to Arrow batches", columns, rows)


if __name__ == "__main__":
    uncompressed()
    compressed()
