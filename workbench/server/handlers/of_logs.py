"""The records of partitions, and where they are.

Kafka: KafkaApis.handleFetchRequest, handleListOffsetRequest, handleOffsetForLeaderEpochRequest
(4.0)
"""

import time
from collections import Counter
from collections.abc import Mapping
from typing import Final

from workbench.files.names import TopicPartition
from workbench.inspection.time_lookup import TimestampAndOffset
from workbench.runtime.error_codes import ErrorCode
from workbench.server.budget import ITEM
from workbench.server.fetch_sessions import Where
from workbench.server.handlers.topics_by_id import name_of
from workbench.server.logs.catalog import PartitionLog
from workbench.server.logs.served_log import (
    NO_EPOCH,
    DamagedBatchError,
    StorageUnavailableError,
    UnsupportedCompressionError,
)
from workbench.server.protocol import api_keys as apis
from workbench.server.serving import BlockingHandler, Call, InThread, Values, WaitingHandler

_READ_COMMITTED: Final = 1
_LARGE: Final = 1 << 17  # bytes of a request
_STEP_SECONDS: Final = 0.5
_ZSTD_SINCE: Final = 10  # version of Fetch
_IDS_SINCE: Final = 13
_LEADERS_SINCE: Final = 16
_NOT_THERE: Final = frozenset(
    {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID}
)

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
EARLIEST_PENDING_UPLOAD = -6
_SINCE: Final = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
"""Version of ListOffsets since which it knows a special timestamp."""
_NOTHING: Final = TimestampAndOffset(-1, -1)


def check_epoch(log: PartitionLog, epoch: int) -> ErrorCode:
    """Return whether the leader epoch that a client believes in is that of the log.

    Kafka: Partition.checkCurrentLeaderEpoch (4.2)
    """
    if NO_EPOCH in (epoch, log.leader_epoch) or epoch == log.leader_epoch:
        return ErrorCode.NONE
    is_old = epoch < log.leader_epoch
    return ErrorCode.FENCED_LEADER_EPOCH if is_old else ErrorCode.UNKNOWN_LEADER_EPOCH


def _failed_fetch(partition: int, code: ErrorCode) -> Values:
    """Kafka: FetchResponse.partitionResponse (4.0)."""
    return {"partitionIndex": partition, "errorCode": code, "highWatermark": -1, "records": b""}


def _failed_offset(partition: int, code: ErrorCode) -> Values:
    return {"partitionIndex": partition, "errorCode": code}


def _failed_epoch(partition: int, code: ErrorCode) -> Values:
    return {"errorCode": code, "partition": partition}


# Fetch


async def fetch(call: Call, in_thread: InThread) -> Values:
    """Return records; without enough of them after the time that the client waits."""
    values, changes = call.values, call.serving.changes
    catalog = call.serving.catalog
    id_or_name = "topicId" if call.version >= _IDS_SINCE else "topic"

    def exists(where: Where) -> bool:
        name = name_of(catalog, {id_or_name: where.topic})
        return name is not None and catalog.has(TopicPartition(name, where.partition))

    context = call.serving.fetch_sessions.context(values, call.version, exists)
    if context.error is not ErrorCode.NONE:
        return {"errorCode": context.error, "responses": []}
    asked = [
        (where, name_of(catalog, context.topic(where)), each) for where, each in context.partitions
    ]
    partitions = [
        TopicPartition(name, where.partition) for where, name, _ in asked if name is not None
    ]
    call.trace.asked += [
        (name, where.partition, each) for where, name, each in asked if name is not None
    ]
    wait = min(max(values["maxWaitMs"], 0), call.serving.limits.max_wait_ms)
    deadline = time.monotonic() + wait / 1000
    room, own, is_last = call.serving.room, call.taken.size, False
    while True:
        seen = changes.seen(partitions)
        async with room.working():
            found, is_final = await in_thread(_fetch_now, call, asked)
            size = sum(len(each["records"]) for each in found.values())
            call.taken.set(own + len(found) * ITEM + size)
        if size >= values["minBytes"] or is_final or is_last:
            break
        if size:
            found = {}  # it is read again: meanwhile others have the memory
        call.taken.set(own + len(found) * ITEM)
        # A dead log gets no records: there, waiting changes nothing but the rate of requests.
        left = deadline - time.monotonic()
        is_last = not await call.trace.remote(_wait(call, seen, left))
        if is_last and found:
            break
    result = context.respond(found)
    if call.version >= _LEADERS_SINCE and any("currentLeader" in each for each in found.values()):
        host, port = call.address
        node = {"nodeId": catalog.node_id, "host": host, "port": port, "rack": None}
        result["nodeEndpoints"] = [node]
    return result


async def _wait(call: Call, seen: dict[TopicPartition, int], seconds: float) -> bool:
    """Return whether a partition has changed in time; large requests wait as long as nobody does.

    What they take is not given back while they wait.
    """
    changes, room = call.serving.changes, call.serving.room
    step = seconds if call.taken.size < _LARGE else _STEP_SECONDS
    while seconds > 0 and not room.is_wanted:
        if await changes.wait(seen, min(step, seconds)):
            return True
        seconds -= step
    return False


def _fetch_now(
    call: Call, asked: list[tuple[Where, str | None, Values]]
) -> tuple[dict[Where, Values], bool]:
    """Return what each partition has, and whether an error must be told at once.

    A partition that does not exist is told with the others, if there are any.
    """
    serving = call.serving
    left = min(
        max(call.values.get("maxBytes", 0), 0),
        serving.limits.max_fetch_bytes,
        serving.room.left,
    )
    size, is_final = 0, not any(_exists(call, where, name) for where, name, _ in asked)
    responses = {}
    for where, name, each in asked:
        found = (
            _failed_fetch(where.partition, ErrorCode.UNKNOWN_TOPIC_ID)
            if name is None
            else _fetch_partition(call, name, each, left - size, is_first=size == 0)
        )
        size += len(found["records"]) + found.pop("cut", 0)
        is_final |= found["errorCode"] not in _NOT_THERE
        responses[where] = found
    return responses, is_final


def _exists(call: Call, where: Where, name: str | None) -> bool:
    return name is not None and call.serving.catalog.has(TopicPartition(name, where.partition))


def _fetch_partition(call: Call, topic: str, asked: Values, left: int, *, is_first: bool) -> Values:
    number, offset = asked["partition"], asked["fetchOffset"]
    log = call.serving.catalog.log(topic, number)
    if log is None:
        return _failed_fetch(number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    code = check_epoch(log, asked.get("currentLeaderEpoch", NO_EPOCH))
    if code is ErrorCode.FENCED_LEADER_EPOCH and call.version >= _LEADERS_SINCE:
        leader = {"leaderId": call.serving.catalog.node_id, "leaderEpoch": log.leader_epoch}
        return {**_failed_fetch(number, code), "currentLeader": leader}
    if code is not ErrorCode.NONE:
        return _failed_fetch(number, code)
    is_committed = call.values["isolationLevel"] == _READ_COMMITTED
    high = log.high_watermark
    # Of stored data, it is only known after a walk through the whole log.
    is_known = is_committed or call.serving.broker is not None
    stable = log.last_stable_offset if is_known else high
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
        return _failed_fetch(number, ErrorCode.OFFSET_OUT_OF_RANGE)
    most = min(max(asked["partitionMaxBytes"], 0), max(left, 0))
    if offset >= stable or not (most or is_first):
        return result
    zstd = call.version >= _ZSTD_SINCE
    try:
        records = log.read(offset, stable, most, committed=is_committed, first=is_first, zstd=zstd)
    except UnsupportedCompressionError:
        return _failed_fetch(number, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    except DamagedBatchError:
        return _failed_fetch(number, ErrorCode.CORRUPT_MESSAGE)
    except StorageUnavailableError:
        return _failed_fetch(number, ErrorCode.KAFKA_STORAGE_ERROR)  # clients ask again
    result["cut"] = records.cut
    result["records"] = b"".join(records.parts) if len(records.parts) != 1 else records.parts[0]
    if is_committed:
        call.budget.charge(len(records.aborted))
        result["abortedTransactions"] = [
            {"producerId": each.producer_id, "firstOffset": each.first_offset}
            for each in records.aborted
        ]
    return result


# ListOffsets


def list_offsets(call: Call) -> Values:
    """Return the offset of each time, or of an end of the log."""
    is_committed = call.values.get("isolationLevel") == _READ_COMMITTED
    topics = call.values["topics"]
    counts = Counter(
        (topic["name"], asked["partitionIndex"])
        for topic in topics
        for asked in topic["partitions"]
    )

    def offset(topic: str, asked: Values) -> Values:
        if counts[topic, asked["partitionIndex"]] > 1:
            return _failed_offset(asked["partitionIndex"], ErrorCode.INVALID_REQUEST)
        return _offset(call, topic, asked, is_committed=is_committed)

    return {
        "topics": [
            {
                "name": topic["name"],
                "partitions": [offset(topic["name"], asked) for asked in topic["partitions"]],
            }
            for topic in topics
        ]
    }


def _offset(call: Call, topic: str, asked: Values, *, is_committed: bool) -> Values:
    number, timestamp = asked["partitionIndex"], asked["timestamp"]
    if timestamp < EARLIEST_PENDING_UPLOAD or call.version < _SINCE.get(timestamp, 1):
        return _failed_offset(number, ErrorCode.UNSUPPORTED_VERSION)
    log = call.serving.catalog.log(topic, number)
    if log is None:
        return _failed_offset(number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    code = check_epoch(log, asked.get("currentLeaderEpoch", NO_EPOCH))
    if code is not ErrorCode.NONE:
        return _failed_offset(number, code)
    found = _lookup(log, timestamp, is_committed=is_committed)
    epoch = log.leader_epoch if timestamp == LATEST else log.epoch_of(found.offset)
    return {
        "partitionIndex": number,
        "errorCode": ErrorCode.NONE,
        "timestamp": found.timestamp,
        "offset": found.offset,
        "leaderEpoch": epoch if found.offset >= 0 else NO_EPOCH,
    }


def _lookup(log: PartitionLog, timestamp: int, *, is_committed: bool) -> TimestampAndOffset:
    """Kafka: Partition.fetchOffsetForTimestamp, UnifiedLog.fetchOffsetByTimestamp (4.2)."""
    if timestamp == EARLIEST:
        return TimestampAndOffset(-1, log.log_start_offset)
    if timestamp == EARLIEST_LOCAL:
        return TimestampAndOffset(-1, log.local_log_start_offset)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        highest = log.highest_remote_offset
        if highest is None:
            return _NOTHING  # nothing of this log is in a remote tier
        following = max(highest + 1, log.log_start_offset)
        return TimestampAndOffset(-1, highest if timestamp == LATEST_TIERED else following)
    end = log.last_stable_offset if is_committed else log.high_watermark
    if timestamp == LATEST:
        return TimestampAndOffset(-1, end)
    if timestamp == MAX_TIMESTAMP:
        largest = log.max_timestamp()
        return largest if largest is not None and largest.offset < end else _NOTHING
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
        return _failed_epoch(number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    code = check_epoch(log, asked.get("currentLeaderEpoch", NO_EPOCH))
    if code is not ErrorCode.NONE:
        return _failed_epoch(number, code)
    found = log.leader_epochs.end_offset_for(asked["leaderEpoch"], log.high_watermark)
    epoch, end = (NO_EPOCH, -1) if found is None else found
    return {
        "errorCode": ErrorCode.NONE,
        "partition": number,
        "leaderEpoch": epoch,
        "endOffset": end,
    }


HANDLERS: Final[Mapping[int, BlockingHandler]] = {
    apis.LIST_OFFSETS.key: list_offsets,
    apis.OFFSET_FOR_LEADER_EPOCH.key: offset_for_leader_epoch,
}
WAITING: Final[Mapping[int, WaitingHandler]] = {apis.FETCH.key: fetch}
