"""Producer ids, and the transactions of producers.

Kafka: KafkaApis.handleInitProducerIdRequest, handleAddPartitionsToTxnRequest,
handleAddOffsetsToTxnRequest, handleEndTxnRequest, handleTxnOffsetCommitRequest,
handleWriteTxnMarkersRequest (4.2)
"""

from collections.abc import Mapping
from typing import Final

from workbench.coordinator.offsets.offset_metadata_manager import OffsetCommit
from workbench.coordinator.transaction_coordinator.markers import TxnMarker
from workbench.coordinator.transaction_coordinator.request_checks import ProducerIdAndEpoch
from workbench.coordinator.transactions.states import TransactionVersion
from workbench.files.names import TopicPartition
from workbench.runtime.error_codes import ErrorCode
from workbench.server.broker.broker import as_leaders_see
from workbench.server.protocol import api_keys as apis
from workbench.server.protocol import requests, responses
from workbench.server.serving import Call, Served

_NO_PRODUCER: Final = -1
_FENCED_SINCE: Final = {
    apis.INIT_PRODUCER_ID.key: 4,
    apis.ADD_PARTITIONS_TO_TXN.key: 2,
    apis.ADD_OFFSETS_TO_TXN.key: 2,
    apis.END_TXN.key: 2,
}
"""Version of each request since which a fenced producer gets PRODUCER_FENCED."""
_VERSION: Final = TransactionVersion.TV_0
"""Of clients, unless a request has a version that only those of transaction version 2 send."""
_BATCHES_SINCE: Final = 4  # version of AddPartitionsToTxn
_BUMPS_SINCE: Final = 5  # of EndTxn
_ADDS_SINCE: Final = 5  # of TxnOffsetCommit


def _told(call: Call, code: ErrorCode) -> ErrorCode:
    """Return the code that a client of this version knows."""
    if (
        code is ErrorCode.PRODUCER_FENCED
        and call.request.version < _FENCED_SINCE[call.request.api.key]
    ):
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code


def init_producer_id(
    call: Call, request: requests.InitProducerIdRequestData
) -> responses.InitProducerIdResponseData:
    """Give a producer an id and the next epoch."""
    values = request
    name = values["transactionalId"]
    known = values.get("producerId", _NO_PRODUCER), values.get("producerEpoch", -1)
    if (known[0] == _NO_PRODUCER) != (known[1] == -1):
        raise ErrorCode.INVALID_REQUEST.error("a producer id without its epoch, or the reverse")
    expected = None if known[0] == _NO_PRODUCER else ProducerIdAndEpoch(*known)
    broker = call.broker
    found = broker.transactions.init_producer_id(name, values["transactionTimeoutMs"], expected)
    return {
        "errorCode": _told(call, found.error),
        "producerId": found.producer_id,
        "producerEpoch": found.producer_epoch,
    }


def add_partitions_to_txn(
    call: Call, request: requests.AddPartitionsToTxnRequestData
) -> responses.AddPartitionsToTxnResponseData:
    """Add partitions to transactions; since version 4 a broker asks for those of its clients."""
    values = request
    if call.request.version >= _BATCHES_SINCE:
        return {
            "resultsByTransaction": [
                {
                    "transactionalId": each["transactionalId"],
                    "topicResults": _add_to_txn(call, each, TransactionVersion.TV_2),
                }
                for each in values["transactions"]
            ]
        }
    asked: requests.AddPartitionsToTxnRequestTransaction = {
        "transactionalId": values["v3AndBelowTransactionalId"],
        "producerId": values["v3AndBelowProducerId"],
        "producerEpoch": values["v3AndBelowProducerEpoch"],
        "verifyOnly": False,
        "topics": values["v3AndBelowTopics"],
    }
    return {"resultsByTopicV3AndBelow": _add_to_txn(call, asked, TransactionVersion.TV_0)}


def _add_to_txn(
    call: Call,
    transaction: requests.AddPartitionsToTxnRequestTransaction,
    version: TransactionVersion,
) -> list[responses.AddPartitionsToTxnResponseTopicResult]:
    """Add partitions, or only verify them: all, or none if one of them does not exist."""
    topics, broker = transaction["topics"], call.broker
    asked = [
        TopicPartition(topic["name"], each) for topic in topics for each in topic["partitions"]
    ]
    producer = (
        transaction["transactionalId"],
        transaction["producerId"],
        transaction["producerEpoch"],
    )
    unknown = {where for where in asked if not broker.topics.has(where)}
    if unknown:
        codes = {
            where: (
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                if where in unknown
                else ErrorCode.OPERATION_NOT_ATTEMPTED
            )
            for where in asked
        }
    elif transaction["verifyOnly"]:
        codes = broker.transactions.verify_partitions_in_transaction(*producer, asked)
    else:
        code = broker.transactions.add_partitions_to_transaction(*producer, asked, version)
        codes = dict.fromkeys(asked, _told(call, code))
    return [
        {
            "name": topic["name"],
            "resultsByPartition": [
                {
                    "partitionIndex": each,
                    "partitionErrorCode": codes[TopicPartition(topic["name"], each)],
                }
                for each in topic["partitions"]
            ],
        }
        for topic in topics
    ]


def add_offsets_to_txn(
    call: Call, request: requests.AddOffsetsToTxnRequestData
) -> responses.AddOffsetsToTxnResponseData:
    """Add the offsets of a group to a transaction."""
    values, broker = request, call.broker
    code = broker.transactions.add_offsets_to_transaction(
        values["transactionalId"],
        values["producerId"],
        values["producerEpoch"],
        values["groupId"],
        _VERSION,
        offsets_partitions=broker.groups.partitions,
    )
    return {"errorCode": _told(call, code)}


def end_txn(call: Call, request: requests.EndTxnRequestData) -> responses.EndTxnResponseData:
    """Commit or abort a transaction."""
    values = request
    ended = call.broker.transactions.end_transaction(
        values["transactionalId"],
        values["producerId"],
        values["producerEpoch"],
        commit=values["committed"],
        client_version=_VERSION if call.request.version < _BUMPS_SINCE else TransactionVersion.TV_2,
    )
    return {
        "errorCode": _told(call, ended.error),
        "producerId": ended.producer_id,
        "producerEpoch": ended.producer_epoch,
    }


def txn_offset_commit(
    call: Call, request: requests.TxnOffsetCommitRequestData
) -> responses.TxnOffsetCommitResponseData:
    """Commit offsets in a transaction."""
    values, broker = request, call.broker
    commits = {
        TopicPartition(topic["name"], each["partitionIndex"]): OffsetCommit(
            each["committedOffset"],
            None if each.get("committedLeaderEpoch", -1) < 0 else each["committedLeaderEpoch"],
            each["committedMetadata"],
        )
        for topic in values["topics"]
        for each in topic["partitions"]
    }
    if call.request.version >= _ADDS_SINCE:
        code = broker.transactions.add_offsets_to_transaction(
            values["transactionalId"],
            values["producerId"],
            values["producerEpoch"],
            values["groupId"],
            TransactionVersion.TV_2,
            offsets_partitions=broker.groups.partitions,
        )
        if code is not ErrorCode.NONE:
            raise as_leaders_see(code).error()
    codes = broker.groups.commit_transactional(
        values["groupId"],
        commits,
        producer_id=values["producerId"],
        producer_epoch=values["producerEpoch"],
        transactional_id=values["transactionalId"],
        member_id=values.get("memberId", ""),
        generation=values.get("generationId", -1),
        group_instance_id=values.get("groupInstanceId"),
    )
    return {
        "topics": [
            {
                "name": topic["name"],
                "partitions": [
                    {
                        "partitionIndex": each["partitionIndex"],
                        "errorCode": codes[TopicPartition(topic["name"], each["partitionIndex"])],
                    }
                    for each in topic["partitions"]
                ],
            }
            for topic in values["topics"]
        ]
    }


def write_txn_markers(
    call: Call, request: requests.WriteTxnMarkersRequestData
) -> responses.WriteTxnMarkersResponseData:
    """Append transaction markers, as an admin who aborts a hanging transaction wants it."""
    codes: dict[int, dict[TopicPartition, ErrorCode]] = {}
    for each in request["markers"]:
        version = each.get("transactionVersion", _VERSION)
        marker = TxnMarker(
            each["producerId"],
            each["producerEpoch"],
            each["coordinatorEpoch"],
            each["transactionResult"],
            TransactionVersion(min(max(version, _VERSION), TransactionVersion.TV_2)),
        )
        for topic in each["topics"]:
            for number in topic["partitionIndexes"]:
                where = TopicPartition(topic["name"], number)
                code, _ = call.broker.transactions.marker_writer.write(marker, where)
                codes.setdefault(marker.producer_id, {})[where] = code
    return {
        "markers": [
            {"producerId": producer, "topics": _by_topic(found)}
            for producer, found in codes.items()
        ]
    }


def _by_topic(
    codes: Mapping[TopicPartition, ErrorCode],
) -> list[responses.WriteTxnMarkersResponseWritableTxnMarkerTopicResult]:
    topics: dict[str, list[responses.WriteTxnMarkersResponseWritableTxnMarkerPartitionResult]] = {}
    for where, code in codes.items():
        topics.setdefault(where.topic, []).append(
            {"partitionIndex": where.partition, "errorCode": code}
        )
    return [{"name": name, "partitions": found} for name, found in topics.items()]


HANDLERS: Final[Mapping[int, Served]] = {
    apis.INIT_PRODUCER_ID.key: Served(
        init_producer_id, refusal=ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    ),
    apis.ADD_PARTITIONS_TO_TXN.key: Served(
        add_partitions_to_txn, refusal=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    ),
    apis.ADD_OFFSETS_TO_TXN.key: Served(
        add_offsets_to_txn, refusal=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    ),
    apis.END_TXN.key: Served(end_txn, refusal=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    apis.TXN_OFFSET_COMMIT.key: Served(
        txn_offset_commit, refusal=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    ),
    apis.WRITE_TXN_MARKERS.key: Served(
        write_txn_markers, refusal=ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    ),
}
