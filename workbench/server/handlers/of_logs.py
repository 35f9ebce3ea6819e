"""The records of partitions, and where they are.

Kafka: KafkaApis.handleFetchRequest, handleListOffsetRequest, handleOffsetForLeaderEpochRequest
(4.0)
"""

import time
from collections.abc import Mapping
from typing import Final

from workbench.files.names import TopicPartition
from workbench.record.message_schema import NULL_UUID
from workbench.runtime.error_codes import ErrorCode
from workbench.server.handlers.error_responses import (
    failed_epoch,
    failed_fetch,
    failed_offset,
)
from workbench.server.logs.catalog import PartitionLog, TopicCatalog
from workbench.server.logs.served_log import (
    NO_EPOCH,
    TimestampAndOffset,
    UnsupportedCompressionError,
)
from workbench.server.protocol import log_messages as messages
from workbench.server.serving import BlockingHandler, Call, InThread, Values, WaitingHandler

_READ_COMMITTED: Final = 1
_ZSTD_SINCE: Final = 10  # version of Fetch
_IDS_SINCE: Final = 13
_NEW_SESSION: Final = 0  # epoch of a fetch that asks for a session
_NO_SESSION: Final = -1

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
_NOTHING: Final = TimestampAndOffset(-1, -1)


def check_epoch(log: PartitionLog, epoch: int) -> ErrorCode:
    """Return whether the leader epoch that a client believes in is that of the log.

    Kafka: Partition.checkCurrentLeaderEpoch (4.2)
    """
    if NO_EPOCH in (epoch, log.leader_epoch) or epoch == log.leader_epoch:
        return ErrorCode.NONE
    is_old = epoch < log.leader_epoch
    return ErrorCode.FENCED_LEADER_EPOCH if is_old else ErrorCode.UNKNOWN_LEADER_EPOCH


# Fetch


async def fetch(call: Call, in_thread: InThread) -> Values:
    """Return records; without enough of them after the time that the client waits.

    No session is kept: the answer to a client that asks for one is always a full one.
    """
    values = call.values
    if values.get("sessionId", 0) != 0 or values.get("sessionEpoch", -1) > _NEW_SESSION:
        return {"errorCode": ErrorCode.FETCH_SESSION_ID_NOT_FOUND, "responses": []}
    changes, partitions = call.serving.changes, _partitions(call)
    wait = min(max(values["maxWaitMs"], 0), call.serving.limits.max_wait_ms)
    deadline = time.monotonic() + wait / 1000
    while True:
        seen = changes.seen(partitions)
        responses, size, is_final = await in_thread(_fetch_now, call)
        if size >= values["minBytes"] or is_final:
            break
        # A dead log gets no records: there, waiting changes nothing but the rate of requests.
        if not await call.times.remote(changes.wait(seen, deadline - time.monotonic())):
            break
    return {"errorCode": ErrorCode.NONE, "sessionId": 0, "responses": responses}


def _partitions(call: Call) -> list[TopicPartition]:
    """Return the partitions that a fetch asks for."""
    found = []
    for topic in call.values["topics"]:
        name, _ = _topic_of(call.serving.catalog, topic)
        if name is not None:
            found += [TopicPartition(name, each["partition"]) for each in topic["partitions"]]
    return found


def _fetch_now(call: Call) -> tuple[list[Values], int, bool]:
    """Return the responses, their bytes, and whether an error must be told at once."""
    values, serving = call.values, call.serving
    left = min(
        max(values.get("maxBytes", 0), 0),
        serving.limits.max_fetch_bytes,
        serving.response_bytes.left,
    )
    size, is_final = 0, False
    responses = []
    for topic in values["topics"]:
        name, code = _topic_of(serving.catalog, topic)
        partitions = []
        for asked in topic["partitions"]:
            found = (
                failed_fetch(asked["partition"], code)
                if name is None
                else _fetch_partition(call, name, asked, left - size, is_first=size == 0)
            )
            size += len(found["records"])
            is_final |= found["errorCode"] != ErrorCode.NONE
            partitions.append(found)
        key = {"topicId": topic["topicId"]} if "topicId" in topic else {"topic": topic["topic"]}
        responses.append({**key, "partitions": partitions})
    return responses, size, is_final


def _topic_of(catalog: TopicCatalog, topic: Values) -> tuple[str | None, ErrorCode]:
    if "topicId" not in topic:
        return topic["topic"], ErrorCode.NONE
    name = catalog.names_by_id.get(topic["topicId"])
    is_known = name is not None and topic["topicId"] != NULL_UUID
    return (name if is_known else None), ErrorCode.UNKNOWN_TOPIC_ID


def _fetch_partition(call: Call, topic: str, asked: Values, left: int, *, is_first: bool) -> Values:
    number, offset = asked["partition"], asked["fetchOffset"]
    log = call.serving.catalog.log(topic, number)
    if log is None:
        return failed_fetch(number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    code = check_epoch(log, asked.get("currentLeaderEpoch", NO_EPOCH))
    if code is not ErrorCode.NONE:
        return failed_fetch(number, code)
    is_committed = call.values["isolationLevel"] == _READ_COMMITTED
    high = log.high_watermark
    stable = log.last_stable_offset if is_committed else high
    result: Values = {
        "partitionIndex": number,
        "errorCode": ErrorCode.NONE,
        "highWatermark": high,
        "lastStableOffset": stable,
        "logStartOffset": log.log_start_offset,
        "abortedTransactions": [] if is_committed else None,
        "records": b"",
    }
    if not log.log_start_offset <= offset <= high:
        return {**result, "errorCode": ErrorCode.OFFSET_OUT_OF_RANGE}
    most = min(max(asked["partitionMaxBytes"], 0), max(left, 0))
    if offset >= stable or not (most or is_first):
        return result
    zstd = call.version >= _ZSTD_SINCE
    try:
        records = log.read(offset, stable, most, committed=is_committed, first=is_first, zstd=zstd)
    except UnsupportedCompressionError:
        return failed_fetch(number, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    result["records"] = b"".join(records.parts) if len(records.parts) != 1 else records.parts[0]
    if is_committed and records.size:
        result["abortedTransactions"] = [
            {"producerId": each.producer_id, "firstOffset": each.first_offset}
            for each in log.aborted_in(offset, records.next_offset)
        ]
    return result


# ListOffsets


def list_offsets(call: Call) -> Values:
    """Return the offset of each time, or of an end of the log."""
    is_committed = call.values.get("isolationLevel") == _READ_COMMITTED
    return {
        "topics": [
            {
                "name": topic["name"],
                "partitions": [
                    _offset(call, topic["name"], asked, is_committed=is_committed)
                    for asked in topic["partitions"]
                ],
            }
            for topic in call.values["topics"]
        ]
    }


def _offset(call: Call, topic: str, asked: Values, *, is_committed: bool) -> Values:
    number = asked["partitionIndex"]
    log = call.serving.catalog.log(topic, number)
    if log is None:
        return failed_offset(number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    code = check_epoch(log, asked.get("currentLeaderEpoch", NO_EPOCH))
    if code is not ErrorCode.NONE:
        return failed_offset(number, code)
    timestamp = asked["timestamp"]
    if timestamp < LATEST_TIERED:
        return failed_offset(number, ErrorCode.UNSUPPORTED_VERSION)
    found = _lookup(log, timestamp, is_committed=is_committed)
    return {
        "partitionIndex": number,
        "errorCode": ErrorCode.NONE,
        "timestamp": found.timestamp,
        "offset": found.offset,
        "leaderEpoch": log.epoch_of(found.offset) if found.offset >= 0 else NO_EPOCH,
    }


def _lookup(log: PartitionLog, timestamp: int, *, is_committed: bool) -> TimestampAndOffset:
    """Kafka: Partition.fetchOffsetForTimestamp, UnifiedLog.fetchOffsetByTimestamp (4.2)."""
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return TimestampAndOffset(-1, log.log_start_offset)
    if timestamp == LATEST_TIERED:
        return _NOTHING  # nothing of this directory is in remote storage
    end = log.last_stable_offset if is_committed else log.high_watermark
    if timestamp == LATEST:
        return TimestampAndOffset(-1, end)
    if timestamp == MAX_TIMESTAMP:
        return log.max_timestamp() or _NOTHING
    return log.offset_for_timestamp(timestamp, end) or _NOTHING


# OffsetForLeaderEpoch


def offset_for_leader_epoch(call: Call) -> Values:
    """Return where leader epochs end."""
    return {
        "topics": [
            {
                "topic": topic["topic"],
                "partitions": [
                    _end_of_epoch(call, topic["topic"], asked) for asked in topic["partitions"]
                ],
            }
            for topic in call.values["topics"]
        ]
    }


def _end_of_epoch(call: Call, topic: str, asked: Values) -> Values:
    number = asked["partition"]
    log = call.serving.catalog.log(topic, number)
    if log is None:
        return failed_epoch(number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    code = check_epoch(log, asked.get("currentLeaderEpoch", NO_EPOCH))
    if code is not ErrorCode.NONE:
        return failed_epoch(number, code)
    found = log.leader_epochs.end_offset_for(asked["leaderEpoch"], log.high_watermark)
    epoch, end = (NO_EPOCH, -1) if found is None else found
    return {
        "errorCode": ErrorCode.NONE,
        "partition": number,
        "leaderEpoch": epoch,
        "endOffset": end,
    }


HANDLERS: Final[Mapping[int, BlockingHandler]] = {
    messages.LIST_OFFSETS.key: list_offsets,
    messages.OFFSET_FOR_LEADER_EPOCH.key: offset_for_leader_epoch,
}
WAITING: Final[Mapping[int, WaitingHandler]] = {messages.FETCH.key: fetch}
