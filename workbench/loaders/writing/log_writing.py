"""Write columns of records to the log of a partition, in batches of similar size.

The records need no validation because this process made them, so they are appended as a follower's.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.config.log_config import LogConfig
from workbench.layout.integers import INT32_MAX, INT64_MAX
from workbench.log.log import Log
from workbench.record.columns import RecordColumns
from workbench.record.writing.builder import RecordsBuilder

LEADER_EPOCH: Final = 0
_FRAMING: Final = 12  # approximate bytes of a record besides key, value and headers


@dataclass(frozen=True)
class BatchStyle:
    """The style of batches and segments.

    Attributes:
        codec: "none", "gzip", "snappy", "lz4" or "zstd".
        level: the codec's level; None: its default.
        batch_size: bytes of records, before compression, at which a batch is full.
        segment_size: bytes at which a segment is full.
    """

    codec: str = "none"
    level: int | None = None
    batch_size: int = 64 << 10
    segment_size: int = 1 << 30

    @property
    def topic_config(self) -> dict[str, int]:
        """The configuration of a topic of records of any size; its segments roll by size alone."""
        return {
            "internal.segment.bytes": self.segment_size,
            "segment.ms": INT64_MAX,
            "retention.ms": -1,
            "retention.bytes": -1,
            "max.message.bytes": INT32_MAX,
            "message.timestamp.after.max.ms": INT64_MAX,
        }


def create_log(directory: str, style: BatchStyle) -> Log:
    """Return a new log in a directory that is named after its partition.

    Raises:
        OSError, StorageError: the log cannot be created.
    """
    return Log.open(directory, LogConfig.of(style.topic_config))


def append_columns(log: Log, columns: RecordColumns, style: BatchStyle) -> None:
    """Append records, in their order.

    Args:
        log: the log to append to.
        columns: the records, whose offsets ascend from the log end offset.
        style: the style of the batches.

    Raises:
        ValueError: offsets do not ascend, or a timestamp is negative.
        OffsetsOutOfOrderError, UnexpectedAppendOffsetError: the first offset is below the log end
            offset.
        StorageError: writing failed.
    """
    for picks in _in_batches(columns, style.batch_size):
        builder = RecordsBuilder(
            codec=style.codec,
            level=style.level,
            base_offset=int(columns.offsets[picks[0]]),
            partition_leader_epoch=LEADER_EPOCH,
        )
        builder.append_columns(columns, picks)
        log.append_as_follower(builder.build(), LEADER_EPOCH)


def _in_batches(columns: RecordColumns, batch_size: int) -> list[npt.NDArray[np.int64]]:
    """Return int64[k] each: which records share a batch."""
    sizes = np.full(len(columns), _FRAMING, np.int64)
    for column in (columns.keys, columns.values):
        if column is not None:
            sizes += column.sizes()
    if columns.headers is not None:
        headers = columns.headers
        items = headers.keys.sizes() + headers.values.sizes() + 2
        totals = np.concatenate([[0], np.cumsum(items)])
        sizes += np.diff(totals[headers.offsets])
    ends = np.cumsum(sizes)
    cuts = np.flatnonzero(np.diff(ends // batch_size)) + 1
    return [each for each in np.split(np.arange(len(columns)), cuts) if len(each)]
