"""Segments of Redpanda, so that they are named and not taken for damaged ones of Kafka.

A segment is ``NAMESPACE/TOPIC/PARTITION_REVISION/BASE-TERM-v1.log``. A batch has the fields of
Kafka's magic 2 in little-endian order, 61 bytes, and begins with a CRC-32C of the other 57. The
records in it are laid out as Kafka's.

Redpanda: model::record_batch_header, storage::segment_reader (24.3)
"""

import os
import re
from typing import Final

import numpy as np

from workbench.file_system.source import open_regular
from workbench.record.crc import crc32c

HEADER: Final = np.dtype([
    ("header_crc", "<u4"),  # CRC-32C of what follows, to the end of the header
    ("size_bytes", "<i4"),  # of the batch, with its header
    ("base_offset", "<i8"),
    ("type", "i1"),  # 1: data of a client; others are Redpanda's own
    ("crc", "<u4"),  # as Kafka's
    ("attributes", "<i2"),
    ("last_offset_delta", "<i4"),
    ("first_timestamp", "<i8"),  # ms
    ("max_timestamp", "<i8"),
    ("producer_id", "<i8"),
    ("producer_epoch", "<i2"),
    ("base_sequence", "<i4"),
    ("record_count", "<i4"),
])  # fmt: skip

_CRC_FROM: Final = 4
_NAME: Final = re.compile(r"\d+-\d+-v\d+\.log")
_DEEPEST: Final = 4  # folders: data, namespace, topic, partition
_MOST_ENTRIES: Final = 2000  # that are looked at

WHAT: Final = (
    "a segment of Redpanda, not of Kafka: its batches begin with a header CRC, in little-endian "
    "order; the records in them are laid out as Kafka's"
)


def is_redpanda_segment(path: str) -> bool:
    """Return whether a file begins with a batch of Redpanda; False if it cannot be read."""
    if not _NAME.fullmatch(os.path.basename(path)):
        return False
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            data = file.read(HEADER.itemsize)
    except OSError:
        return False
    if len(data) < HEADER.itemsize:
        return False
    header = np.frombuffer(data, HEADER)[0]
    return int(header["header_crc"]) == crc32c(data[_CRC_FROM:])


def redpanda_segment_below(folder: str) -> str | None:
    """Return the path of a segment of Redpanda in a folder or below; links are skipped."""
    folders, left = [(folder, 0)], _MOST_ENTRIES
    while folders and left > 0:
        at, depth = folders.pop()
        try:
            entries = sorted(os.scandir(at), key=lambda entry: entry.name)
        except OSError:
            continue
        left -= len(entries)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and depth < _DEEPEST:
                folders.append((entry.path, depth + 1))
            elif is_redpanda_segment(entry.path):
                return entry.path
    return None
