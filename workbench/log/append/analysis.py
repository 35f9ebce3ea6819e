"""Sum up the batches of an append, and refuse those that the log cannot take.

Kafka: UnifiedLog.analyzeAndValidateRecords (4.2)
"""

from workbench.config.changed_defaults import told
from workbench.errors import (
    CorruptRecordError,
    InvalidRecordError,
    OffsetsOutOfOrderError,
    RecordTooLargeError,
)
from workbench.layout import problems
from workbench.layout.attributes import NO_PARTITION_LEADER_EPOCH, NO_TIMESTAMP, NONE
from workbench.log.append.append_info import UNKNOWN_OFFSET, LogAppendInfo
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.context import LogContext
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.batch_checks import CheckedBatch


def analyze(
    context: LogContext,
    records: MemoryRecords,
    batches: list[CheckedBatch],
    origin: AppendOrigin,
    leader_epoch: int,
    *,
    log_start_offset: int,
    keeps_offsets: bool,
) -> tuple[LogAppendInfo, list[CheckedBatch]]:
    """Check the batches of an append, and sum them up.

    Rules that the records of a leader's append break are noted in the batches, not raised.

    Args:
        context: the log's context.
        records: the records that the batches are from.
        batches: the result of `check_batches`.
        origin: the source of the records.
        leader_epoch: the partition's current leader epoch.
        log_start_offset: the log's log start offset.
        keeps_offsets: whether they have their offsets, which must ascend; from a leader sizes are
            not checked, and batches of a later leader epoch are left for the next fetch.

    Returns:
        The summary, and the batches to append.

    Raises:
        CorruptRecordError: a CRC is invalid.
        InvalidRecordError: a client's batch has a base offset, or a controller's the wrong epoch.
        RecordTooLargeError: a batch is larger than `max.message.bytes`.
        OffsetsOutOfOrderError: given offsets do not ascend.

    Kafka: UnifiedLog.analyzeAndValidateRecords (4.2)
    """
    where = context.topic_partition
    is_client, is_controller = origin is AppendOrigin.CLIENT, origin is AppendOrigin.RAFT_LEADER
    is_follower = keeps_offsets and origin is AppendOrigin.REPLICATION
    largest_batch = context.config.max_message_bytes
    first_offset, last_offset, last_of_first = UNKNOWN_OFFSET, -1, -1
    last_epoch, max_timestamp, source_codec, valid_bytes = -1, NO_TIMESTAMP, NONE, 0
    has_producers = False
    taken = 0
    for batch in batches:
        epoch = batch.partition_leader_epoch
        if (is_client and batch.base_offset != 0 and batch.magic >= 2) or (
            is_controller and epoch != leader_epoch
        ):
            raise _refused(where, batch, origin, leader_epoch)
        if is_follower and epoch > leader_epoch and epoch != NO_PARTITION_LEADER_EPOCH:
            break
        if not taken:
            first_offset = batch.base_offset if batch.magic >= 2 else UNKNOWN_OFFSET
            last_of_first = batch.last_offset
        elif keeps_offsets and last_offset >= batch.last_offset:
            raise OffsetsOutOfOrderError(
                f"{where}: offset {batch.last_offset} follows {last_offset}, "
                "but offsets must ascend"
            )
        last_offset, last_epoch = batch.last_offset, epoch
        if not is_follower and batch.size > largest_batch:
            context.metrics.reject(where.topic, records.size)
            raise RecordTooLargeError(
                f"{where}: the batch has {batch.size} bytes, "
                f"more than max.message.bytes = {told('max.message.bytes', largest_batch)}"
            )
        if batch.problem != problems.OK and not batch.is_valid:
            raise CorruptRecordError(
                str(where),
                batch.position,
                f"the CRC of the batch does not match the stored {batch.crc:08x}",
            )
        if batch.max_timestamp > max_timestamp:  # noqa: PLR1730  # a third of the time of `max`
            max_timestamp = batch.max_timestamp
        valid_bytes += batch.size
        source_codec = batch.codec or source_codec
        has_producers = has_producers or batch.producer_id >= 0
        taken += 1
    info = LogAppendInfo(
        first_offset,
        last_offset,
        last_epoch if last_epoch >= 0 else None,
        max_timestamp,
        NO_TIMESTAMP,
        log_start_offset,
        source_codec,
        valid_bytes,
        last_of_first,
        has_producers,
    )
    return info, batches if taken == len(batches) else batches[:taken]


def _refused(
    where: object, batch: CheckedBatch, origin: AppendOrigin, leader_epoch: int
) -> InvalidRecordError:
    """Return the error of a batch that its sender must not send so."""
    if origin is AppendOrigin.CLIENT:
        return InvalidRecordError(
            f"{where}: the base offset of a batch from a client is wrong "
            f"(found {batch.base_offset}, expected 0)"
        )
    return InvalidRecordError(
        f"{where}: the epoch of a batch from the controller's leader is wrong (found "
        f"{batch.partition_leader_epoch}, expected {leader_epoch})"
    )
