"""The records of partitions, and where they are.

Kafka: KafkaApis.handleFetchRequest, handleListOffsetRequest, handleOffsetForLeaderEpochRequest
(4.0)
"""

import time
from collections import Counter
from collections.abc import Mapping
from typing import Final

from workbench.files.names import TopicPartition
from workbench.inspection.lookups.time_lookup import OffsetAtTime
from workbench.log.timestamp_search import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)
from workbench.runtime.error_codes import ErrorCode
from workbench.server.budget import ITEM, SMALL
from workbench.server.fetch_sessions import Where
from workbench.server.handlers.topics_by_id import name_by_id
from workbench.server.logs.catalog import PartitionLog
from workbench.server.logs.log_read import (
    DamagedBatchError,
    StorageUnavailableError,
    UnsupportedCompressionError,
)
from workbench.server.logs.served_log import NO_EPOCH
from workbench.server.protocol import api_keys as apis
from workbench.server.protocol import requests, responses
from workbench.server.serving import Call, InThread, Served

_READ_COMMITTED: Final = 1
_STEP_SECONDS: Final = 0.5
_MOST_SECONDS: Final = 5.0
"""Time in which one request decompresses and converts; the partitions after it are left for later:
a batch of a few KB can hold a gigabyte."""
_LATER: Final = ErrorCode.OFFSET_NOT_AVAILABLE  # clients ask again
_QUICK_PARTITIONS: Final = 20
_QUICK_BYTES: Final = 1 << 20  # what clients ask of a partition by default
_ZSTD_SINCE: Final = 10  # version of Fetch
_IDS_SINCE: Final = 13
_LEADERS_SINCE: Final = 16

_SINCE: Final = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
"""Version of ListOffsets since which it knows a special timestamp."""
_NOTHING: Final = OffsetAtTime(-1, -1)


def check_epoch(log: PartitionLog, epoch: int) -> ErrorCode:
    """Return whether the leader epoch that a client believes in is that of the log.

    Kafka: Partition.checkCurrentLeaderEpoch (4.2)
    """
    if NO_EPOCH in (epoch, log.leader_epoch) or epoch == log.leader_epoch:
        return ErrorCode.NONE
    is_old = epoch < log.leader_epoch
    return ErrorCode.FENCED_LEADER_EPOCH if is_old else ErrorCode.UNKNOWN_LEADER_EPOCH


def _failed_fetch(partition: int, code: ErrorCode) -> responses.FetchResponsePartitionData:
    """Kafka: FetchResponse.partitionResponse (4.0)."""
    return {"partitionIndex": partition, "errorCode": code, "highWatermark": -1, "records": b""}


def _failed_offset(partition: int, code: ErrorCode) -> responses.ListOffsetsResponsePartition:
    return {"partitionIndex": partition, "errorCode": code}


def _failed_epoch(
    partition: int, code: ErrorCode
) -> responses.OffsetForLeaderEpochResponseEpochEndOffset:
    return {"errorCode": code, "partition": partition}


# Fetch


async def fetch(
    call: Call, request: requests.FetchRequestData, in_thread: InThread
) -> responses.FetchResponseData:
    """Return records; without enough of them after the time that the client waits."""
    changes, catalog, version = call.serving.changes, call.serving.catalog, call.request.version

    def name_of(topic: str) -> str | None:
        return name_by_id(catalog, topic) if version >= _IDS_SINCE else topic

    def exists(where: Where) -> bool:
        name = name_of(where.topic)
        return name is not None and catalog.has(TopicPartition(name, where.partition))

    context = call.serving.fetch_sessions.context(request, version, exists)
    if context.error is not ErrorCode.NONE:
        return {"errorCode": context.error, "responses": []}
    asked = [(where, name_of(where.topic), each) for where, each in context.partitions]
    partitions = [
        TopicPartition(name, where.partition) for where, name, _ in asked if name is not None
    ]
    call.trace.asked += [
        (name, where.partition, each) for where, name, each in asked if name is not None
    ]
    wait = min(max(request["maxWaitMs"], 0), call.serving.limits.max_wait_ms)
    deadline = time.monotonic() + wait / 1000
    room, own, is_last = call.serving.room, call.taken.size, False
    while True:
        seen = changes.seen(partitions)
        async with room.working(call.request.items):
            if _is_quick(call, asked):
                found, is_final = _fetch_now(call, request, asked)
            else:
                found, is_final = await in_thread(_fetch_now, call, request, asked)
            size = sum(len(each["records"] or b"") for each in found.values())
            call.taken.set(own + len(found) * ITEM + size)
        if size >= request["minBytes"] or is_final or is_last:
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
    if version >= _LEADERS_SINCE and any("currentLeader" in each for each in found.values()):
        host, port = call.address
        result["nodeEndpoints"] = [
            {"nodeId": catalog.node_id, "host": host, "port": port, "rack": None}
        ]
    return result


async def _wait(call: Call, seen: dict[TopicPartition, int], seconds: float) -> bool:
    """Return whether a partition has changed in time; large requests stop when others want room.

    What they take is not given back while they wait.
    """
    changes, room = call.serving.changes, call.serving.room
    step = seconds if call.taken.size <= SMALL else _STEP_SECONDS
    while seconds > 0 and not room.is_wanted:
        if await changes.wait(seen, min(step, seconds)):
            return True
        seconds -= step
    return False


def _is_quick(
    call: Call, asked: list[tuple[Where, str | None, requests.FetchRequestPartition]]
) -> bool:
    """Return whether a fetch reads so little that a hop to a thread costs more.

    Only the engine's logs are read without being checked and converted, from a disk of this
    machine. A broker's network threads read them, too, when they send a response.
    """
    broker, left = call.serving.broker, _QUICK_BYTES
    if broker is None or len(asked) > _QUICK_PARTITIONS:
        return False
    for where, name, each in asked:
        live = None if name is None else broker.topics.log(name, where.partition)
        if live is not None and each["fetchOffset"] < live.high_watermark:
            left -= max(each["partitionMaxBytes"], 0)
            if left < 0 or live.has_converted:
                return False
    return True


def _fetch_now(
    call: Call,
    request: requests.FetchRequestData,
    asked: list[tuple[Where, str | None, requests.FetchRequestPartition]],
) -> tuple[dict[Where, responses.FetchResponsePartitionData], bool]:
    """Return what each partition has, and whether an error must be returned without waiting.

    A missing partition is reported together with the others.
    """
    serving = call.serving
    left = min(
        max(request["maxBytes"], 0),
        serving.limits.max_fetch_bytes,
        serving.room.left,
    )
    size, is_there, has_failed = 0, False, False
    answers = {}
    until = time.monotonic() + _MOST_SECONDS
    for where, name, each in asked:
        if time.monotonic() > until:  # others wait; the client asks again for what is left
            left = size
        log = None if name is None else serving.catalog.log(name, where.partition)
        if log is None:
            unknown = (
                ErrorCode.UNKNOWN_TOPIC_ID if name is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
            answers[where] = _failed_fetch(where.partition, unknown)
            continue
        found, cut = _fetch_partition(call, request, log, each, left - size, is_first=size == 0)
        size += len(found["records"] or b"") + cut
        is_there = True
        has_failed |= found["errorCode"] != ErrorCode.NONE
        answers[where] = found
    return answers, has_failed or not is_there


def _fetch_partition(
    call: Call,
    request: requests.FetchRequestData,
    log: PartitionLog,
    asked: requests.FetchRequestPartition,
    left: int,
    *,
    is_first: bool,
) -> tuple[responses.FetchResponsePartitionData, int]:
    """Return what a partition has, and how many bytes less than it was allowed to."""
    number, offset = asked["partition"], asked["fetchOffset"]
    code = check_epoch(log, asked.get("currentLeaderEpoch", NO_EPOCH))
    if code is ErrorCode.FENCED_LEADER_EPOCH and call.request.version >= _LEADERS_SINCE:
        failed = _failed_fetch(number, code)
        failed["currentLeader"] = {
            "leaderId": call.serving.catalog.node_id, "leaderEpoch": log.leader_epoch
        }  # fmt: skip
        return failed, 0
    if code is not ErrorCode.NONE:
        return _failed_fetch(number, code), 0
    is_committed = request["isolationLevel"] == _READ_COMMITTED
    high = log.high_watermark
    # Of stored data, it is only known after a walk through the whole log.
    is_known = is_committed or call.serving.broker is not None
    stable = log.last_stable_offset if is_known else high
    start = log.log_start_offset
    result: responses.FetchResponsePartitionData = {
        "partitionIndex": number,
        "errorCode": ErrorCode.NONE,
        "highWatermark": high,
        "lastStableOffset": stable,
        "logStartOffset": start,
        "abortedTransactions": [] if is_committed else None,
        "records": b"",
    }
    if not start <= offset <= high:
        return _failed_fetch(number, ErrorCode.OFFSET_OUT_OF_RANGE), 0
    most = min(max(asked["partitionMaxBytes"], 0), max(left, 0))
    if offset >= stable or not (most or is_first):
        return result, 0
    zstd = call.request.version >= _ZSTD_SINCE
    try:
        records = log.read(offset, stable, most, committed=is_committed, first=is_first, zstd=zstd)
    except UnsupportedCompressionError:
        return _failed_fetch(number, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE), 0
    except DamagedBatchError:
        return _failed_fetch(number, ErrorCode.CORRUPT_MESSAGE), 0
    except StorageUnavailableError:
        return _failed_fetch(number, ErrorCode.KAFKA_STORAGE_ERROR), 0  # clients ask again
    result["records"] = b"".join(records.parts) if len(records.parts) != 1 else records.parts[0]
    if is_committed:
        call.budget.charge(len(records.aborted))
        result["abortedTransactions"] = [
            {"producerId": each.producer_id, "firstOffset": each.first_offset}
            for each in records.aborted
        ]
    return result, records.cut


# ListOffsets


def list_offsets(
    call: Call, request: requests.ListOffsetsRequestData
) -> responses.ListOffsetsResponseData:
    """Return the offset of each time, or of an end of the log."""
    is_committed = request.get("isolationLevel") == _READ_COMMITTED
    topics = request["topics"]
    counts = Counter(
        (topic["name"], asked["partitionIndex"])
        for topic in topics
        for asked in topic["partitions"]
    )

    until = time.monotonic() + _MOST_SECONDS

    def offset(
        topic: str, asked: requests.ListOffsetsRequestPartition
    ) -> responses.ListOffsetsResponsePartition:
        if time.monotonic() > until:  # others wait; the client asks again for what is left
            return _failed_offset(asked["partitionIndex"], _LATER)
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


def _offset(
    call: Call, topic: str, asked: requests.ListOffsetsRequestPartition, *, is_committed: bool
) -> responses.ListOffsetsResponsePartition:
    number, timestamp = asked["partitionIndex"], asked["timestamp"]
    if timestamp < EARLIEST_PENDING_UPLOAD or call.request.version < _SINCE.get(timestamp, 1):
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


def _lookup(log: PartitionLog, timestamp: int, *, is_committed: bool) -> OffsetAtTime:
    """Kafka: Partition.fetchOffsetForTimestamp, UnifiedLog.fetchOffsetByTimestamp (4.2)."""
    if timestamp == EARLIEST:
        return OffsetAtTime(-1, log.log_start_offset)
    if timestamp == EARLIEST_LOCAL:
        return OffsetAtTime(-1, log.local_log_start_offset)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        highest = log.highest_remote_offset
        if highest is None:
            return _NOTHING  # nothing of this log is in a remote tier
        following = max(highest + 1, log.log_start_offset)
        return OffsetAtTime(-1, highest if timestamp == LATEST_TIERED else following)
    end = log.last_stable_offset if is_committed else log.high_watermark
    if timestamp == LATEST:
        return OffsetAtTime(-1, end)
    if timestamp == MAX_TIMESTAMP:
        largest = log.max_timestamp()
        return largest if largest is not None and largest.offset < end else _NOTHING
    return log.offset_for_timestamp(timestamp, end) or _NOTHING


# OffsetForLeaderEpoch


def offset_for_leader_epoch(
    call: Call, request: requests.OffsetForLeaderEpochRequestData
) -> responses.OffsetForLeaderEpochResponseData:
    """Return where leader epochs end."""
    return {
        "topics": [
            {
                "topic": topic["topic"],
                "partitions": [
                    _end_of_epoch(call, topic["topic"], asked) for asked in topic["partitions"]
                ],
            }
            for topic in request["topics"]
        ]
    }


def _end_of_epoch(
    call: Call, topic: str, asked: requests.OffsetForLeaderEpochRequestOffsetForLeaderPartition
) -> responses.OffsetForLeaderEpochResponseEpochEndOffset:
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


HANDLERS: Final[Mapping[int, Served]] = {
    apis.LIST_OFFSETS.key: Served(list_offsets),
    apis.OFFSET_FOR_LEADER_EPOCH.key: Served(offset_for_leader_epoch),
    apis.FETCH.key: Served(waits=fetch),
}
