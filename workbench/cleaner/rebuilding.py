"""Rebuild batches that are old, or have content that no builder writes today, and empty them.

Kafka: MemoryRecords.buildRetainedRecordsInto, DefaultRecordBatch.writeEmptyHeader (4.2)
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.cleaner.rules import ABSENT
from workbench.errors import CorruptRecordError, UnsupportedFormatError
from workbench.layout.attributes import LOG_APPEND_TIME, TIMESTAMP_TYPE_NAMES, codec_name
from workbench.record.columns import RecordColumns
from workbench.record.compaction.locating import SurveyedBatches
from workbench.record.writing.builder import RecordsBuilder, empty_batch_header

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]

_CREATE_TIME: Final = "CreateTime"


def unusual_batch(
    chunk: SurveyedBatches,
    row: Any,
    columns: RecordColumns | None,
    picks: Longs,
    delete_horizon: int,
) -> Bytes:
    """Return what is kept of a batch that cannot be written together with others.

    Args:
        chunk: the chunk that holds the batch, named in errors.
        row: the batch's BATCH_ROW.
        columns: its records; None: only its header is kept.
        picks: int64[k], ascending, the indexes of the records to keep.
        delete_horizon: ms; -1: none.

    Raises:
        CorruptRecordError: the batch cannot be written without its dropped records.
        UnsupportedFormatError: a batch of magic 0 or 1 is to be kept without records.
    """
    if columns is None:
        return _emptied(row, chunk)
    try:
        return rebuilt_batch(row, columns, picks, delete_horizon)
    except ValueError as error:
        position = chunk.position + int(row["position"])
        problem = f"the batch cannot be written without its dropped records: {error}"
        raise CorruptRecordError(chunk.path, position, problem) from error


def rebuilt_batch(row: Any, columns: RecordColumns, picks: Longs, delete_horizon: int) -> Bytes:
    """Return a batch with some of its records, in magic 2.

    Its base and last offset are kept, and so its sequence numbers; a batch of magic 0 or 1 begins
    and ends with its records.

    Kafka: MemoryRecords.buildRetainedRecordsInto (4.2)
    """
    is_new = row["magic"] == 2
    timestamp_type = int(row["timestamp_type"])
    is_append_time = timestamp_type == LOG_APPEND_TIME
    builder = RecordsBuilder(
        codec=codec_name(int(row["codec"])),
        timestamp_type=TIMESTAMP_TYPE_NAMES[timestamp_type] if is_append_time else _CREATE_TIME,
        base_offset=int(row["base_offset"] if is_new else columns.offsets[picks[0]]),
        log_append_time=int(row["max_timestamp"]) if is_append_time else None,
        producer_id=int(row["producer_id"]),
        producer_epoch=int(row["producer_epoch"]),
        base_sequence=int(row["base_sequence"]),
        is_transactional=bool(row["is_transactional"]),
        is_control=bool(row["is_control"]),
        partition_leader_epoch=int(row["partition_leader_epoch"]),
        delete_horizon=None if delete_horizon == ABSENT else delete_horizon,
    )
    builder.append_columns(columns, picks)
    if is_new:
        builder.override_last_offset(int(row["last_offset"]))
    return builder.finish()


def _emptied(row: Any, chunk: SurveyedBatches) -> Bytes:
    """Return the header of a batch without records.

    Kafka: DefaultRecordBatch.writeEmptyHeader as in MemoryRecords.filterTo (4.2)
    """
    if row["magic"] < 2:
        position = chunk.position + int(row["position"])
        problem = (
            f"a batch of magic {row['magic']} that ends the round cannot be kept without records"
        )
        raise UnsupportedFormatError(chunk.path, position, problem)
    return empty_batch_header(
        base_offset=int(row["base_offset"]),
        last_offset=int(row["last_offset"]),
        max_timestamp=int(row["max_timestamp"]),
        producer_id=int(row["producer_id"]),
        producer_epoch=int(row["producer_epoch"]),
        base_sequence=int(row["base_sequence"]),
        partition_leader_epoch=int(row["partition_leader_epoch"]),
        timestamp_type=int(row["timestamp_type"]),
        is_transactional=bool(row["is_transactional"]),
        is_control=bool(row["is_control"]),
    )
