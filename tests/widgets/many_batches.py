"""A segment of very many batches, put together from batches that real brokers wrote.

Only base offsets are changed, which no CRC covers, so every batch is still sound.
"""

import struct
from pathlib import Path

from tests.golden.cases import Case
from workbench.inspection.listing import list_log_directories

_INDEX_INTERVAL = 4096
_LARGEST = 2048  # bytes of a batch: larger ones would make the file larger, not the test better


def pool_of(cases: list[Case]) -> list[tuple[bytes, int]]:
    """Return batches of magic 2 with their last offset delta."""
    pool = []
    for case in cases:
        for partition in list_log_directories(case.directory("data")).partitions.values():
            for segment in partition.segments:
                raw = Path(segment.path).read_bytes()
                for row in segment.batches.rows:
                    if row["magic"] == 2 and row["size"] <= _LARGEST:
                        start, size = int(row["position"]), int(row["size"])
                        delta = int(row["last_offset"] - row["base_offset"])
                        pool.append((raw[start : start + size], delta))
    return pool


def write_segment(folder: Path, pool: list[tuple[bytes, int]], count: int) -> Path:
    """Write ``count`` batches as the only segment of partition ``many-0`` below ``folder``."""
    partition = folder / "many-0"
    partition.mkdir(parents=True)
    offset, position, indexed = 0, 0, 0
    parts, index = [], []
    for number in range(count):
        data, delta = pool[(number // 300 * 7 + number % 5) % len(pool)]
        if position - indexed > _INDEX_INTERVAL:
            index.append(struct.pack(">ii", offset + delta, position))
            indexed = position
        parts.append(struct.pack(">q", offset) + data[8:])
        offset += delta + 1
        position += len(data)
    (partition / f"{0:020d}.log").write_bytes(b"".join(parts))
    (partition / f"{0:020d}.index").write_bytes(b"".join(index))
    return folder
