"""Records that clients append.

Kafka: KafkaApis.handleProduceRequest, ProduceRequest.validateRecords, ReplicaManager.appendRecords
(4.2)
"""

import struct
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.config.internal_topics import HIDDEN_TOPICS
from workbench.coordinator.transactions.states import TransactionVersion
from workbench.errors import AppendError, CorruptRecordError, InvalidRecordError, WorkbenchError
from workbench.files.names import TopicPartition
from workbench.layout.attributes import CODEC_MASK, TRANSACTIONAL_BIT, ZSTD
from workbench.layout.batch_header import (
    ATTRIBUTES_AT,
    BATCH_HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    LENGTH_END,
)
from workbench.layout.integers import INT64_MAX
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.error_codes import ErrorCode, code_of, short
from workbench.server.broker.broker import as_leaders_see
from workbench.server.broker.live_log import LiveLog
from workbench.server.handlers.topics_by_id import key_of, name_of
from workbench.server.protocol import api_keys as apis
from workbench.server.protocol import requests, responses
from workbench.server.serving import Call, Served

_MOST_RECORD_ERRORS: Final = 1000  # that are reported of one batch
_QUICK_BATCHES: Final = 10
_QUICK_BYTES: Final = 1 << 16
_NEVER: Final = INT64_MAX
_HEADER: Final = struct.Struct(">8xi4xb4xh")  # length, magic and attributes of a batch
_ACKS: Final = {-1, 0, 1}
_ZSTD_SINCE: Final = 7  # version of Produce
_ONE_BATCH_SINCE: Final = 3
_ABORTABLE_SINCE: Final = 11  # knows TRANSACTION_ABORTABLE
_ADDS_SINCE: Final = 12  # of transaction version 2


def produce(call: Call, request: requests.ProduceRequestData) -> responses.ProduceResponseData:
    """Append records to partitions; one replica commits what it appends, whatever acks says."""
    if call.request.version < _ONE_BATCH_SINCE:  # 4.0 lists these versions for old librdkafka only
        raise ErrorCode.UNSUPPORTED_VERSION.error()
    if request["acks"] not in _ACKS:
        raise ErrorCode.INVALID_REQUIRED_ACKS.error()
    return {
        "responses": [
            {
                **key_of(topic),
                "partitionResponses": [
                    _append(call, name_of(call.serving.catalog, topic), each, request)
                    for each in topic["partitionData"]
                ],
            }
            for topic in request["topicData"]
        ]
    }


def _append(
    call: Call,
    topic: str | None,
    asked: requests.ProduceRequestPartitionProduceData,
    request: requests.ProduceRequestData,
) -> responses.ProduceResponsePartitionProduce:
    if topic is None:
        return _refused(asked["index"], ErrorCode.UNKNOWN_TOPIC_ID)
    where = TopicPartition(topic, asked["index"])
    live = call.broker.topics.log(where.topic, where.partition)
    if live is None:
        return _refused(where.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if where.topic in HIDDEN_TOPICS:
        return _refused(where.partition, ErrorCode.INVALID_TOPIC_EXCEPTION)
    try:
        records = MemoryRecords.copy_of(asked["records"] or b"")
        if _check(records, call.request.version) & TRANSACTIONAL_BIT:
            _check_transaction(call, live, records, (where, request.get("transactionalId")))
        info = live.log.append_as_leader(records, live.leader_epoch)
    except WorkbenchError as error:
        return _failed(where, live, error)
    return {
        "index": where.partition,
        "errorCode": ErrorCode.NONE,
        "baseOffset": info.first_offset,
        "logAppendTimeMs": info.log_append_time,
        "logStartOffset": live.log_start_offset,
        "recordErrors": [],
    }


def _check(records: MemoryRecords, version: int) -> int:
    """Check that there is one batch, and return its attributes.

    Kafka: ProduceRequest.validateRecords (4.2)
    """
    attributes = _attributes(records.buffer)
    if attributes is None:
        rows = records.batches().rows
        if len(rows) != 1 or rows["magic"][0] != 2:
            raise InvalidRecordError(
                f"Produce requests with version {version} must have exactly one batch of magic 2 "
                f"per partition (found {len(rows)} batches)"
            )
        attributes = int.from_bytes(records.view[ATTRIBUTES_AT:LAST_OFFSET_DELTA_AT])
    if version < _ZSTD_SINCE and attributes & CODEC_MASK == ZSTD:
        raise ErrorCode.UNSUPPORTED_COMPRESSION_TYPE.error(
            f"Produce requests with version {version} do not know zstd"
        )
    return attributes


def _attributes(records: bytes | npt.NDArray[np.uint8]) -> int | None:
    """Return the attributes of a batch of magic 2, if the bytes are nothing but one."""
    size = len(records)
    if size < BATCH_HEADER_SIZE:
        return None
    length, magic, attributes = _HEADER.unpack_from(records)
    return int(attributes) if magic == 2 and LENGTH_END + length == size else None


def _check_transaction(
    call: Call,
    live: LiveLog,
    records: MemoryRecords,
    named: tuple[TopicPartition, str | None],
) -> None:
    """Refuse a producer's first batch of a transaction unless the transaction has the partition.

    Since version 12 the partition is added to the transaction. Each transaction of version 2 has
    an epoch of its own; while the transaction marker of the one before is not written yet, the
    coordinator answers CONCURRENT_TRANSACTIONS.

    Kafka: AddPartitionsToTxnManager,
    ReplicaManager.maybeSendPartitionsToTransactionCoordinator (4.2)
    """
    row = records.batches().rows[0]
    broker, (where, name) = call.broker, named
    adds = call.request.version >= _ADDS_SINCE
    if not (adds or broker.verifies_transactions):
        return
    if name is None:
        raise ErrorCode.INVALID_REQUEST.error("transactional records have no transactional id")
    producer_id, epoch = int(row["producer_id"]), int(row["producer_epoch"])
    with live.log.lock:
        if not live.log.producer_state.begin_verification(
            producer_id, int(row["base_sequence"]), epoch, supports_epoch_bump=adds
        ):
            return  # the transaction has records here already
    coordinator, asked = broker.transactions, (name, producer_id, epoch, [where])
    if adds:
        code = coordinator.add_partitions_to_transaction(*asked, TransactionVersion.TV_2)
    else:
        code = coordinator.verify_partitions_in_transaction(*asked)[where]
        if code is ErrorCode.TRANSACTION_ABORTABLE and call.request.version < _ABORTABLE_SINCE:
            code = ErrorCode.INVALID_TXN_STATE
        if code is ErrorCode.CONCURRENT_TRANSACTIONS:
            code = ErrorCode.NOT_ENOUGH_REPLICAS  # which older clients retry, too
    if code is not ErrorCode.NONE:
        code = as_leaders_see(code)
        raise code.error(f"{where} is not in the transaction of {name!r}")


def _refused(number: int, code: ErrorCode) -> responses.ProduceResponsePartitionProduce:
    return {"index": number, "errorCode": code, "baseOffset": -1, "recordErrors": []}


def _failed(
    where: TopicPartition, live: LiveLog, error: WorkbenchError
) -> responses.ProduceResponsePartitionProduce:
    """Kafka: ReplicaManager.appendToLocalLog, processFailedRecord (4.2)."""
    is_known = isinstance(error, AppendError | CorruptRecordError | OSError) or hasattr(
        error, "code"
    )
    code = code_of(error) if is_known else ErrorCode.UNKNOWN_SERVER_ERROR
    result = _refused(where.partition, code)
    result["errorMessage"] = short(str(error))
    if isinstance(error, InvalidRecordError):
        result["logStartOffset"] = live.log_start_offset
        result["recordErrors"] = [
            {"batchIndex": index, "batchIndexErrorMessage": short(problem)}
            for index, problem in sorted(error.record_errors.items())[:_MOST_RECORD_ERRORS]
        ]
    return result


def is_quick(call: Call, request: requests.ProduceRequestData) -> bool:
    """Return whether an append waits for nothing and is done in less time than a hop to a thread.

    Its batches are few, small and not compressed, no transaction has to be asked for, and no
    thread holds their logs.
    """
    if call.request.version < _ONE_BATCH_SINCE:
        return False
    size = count = 0
    for topic in request["topicData"]:
        name = name_of(call.serving.catalog, topic)
        for each in topic["partitionData"]:
            records = each["records"] or b""
            size, count = size + len(records), count + 1
            attributes = _attributes(records)
            if size > _QUICK_BYTES or count > _QUICK_BATCHES or attributes is None:
                return False
            if attributes & (CODEC_MASK | TRANSACTIONAL_BIT):
                return False
            live = None if name is None else call.broker.topics.log(name, each["index"])
            if live is not None and not _is_free(live.log):
                return False
    return True


def _is_free(log: Log) -> bool:
    """Return whether a log is held by no thread, and neither compresses nor syncs what it gets."""
    config = log.context.config
    if config.compression_type != "producer" or config.flush_messages < _NEVER:
        return False
    is_free: bool = log.lock.acquire(blocking=False)
    if is_free:
        log.lock.release()
    return is_free


HANDLERS: Final[Mapping[int, Served]] = {
    apis.PRODUCE.key: Served(
        produce, refusal=ErrorCode.TOPIC_AUTHORIZATION_FAILED, is_quick=is_quick
    ),
}
