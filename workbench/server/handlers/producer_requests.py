"""Producers and their transactions, as admin clients ask for them.

Kafka: KafkaApis.handleDescribeProducersRequest, handleDescribeTransactionsRequest,
handleListTransactionsRequest (4.2)
"""

from collections.abc import Mapping
from typing import Final

from workbench.coordinator.transaction_coordinator.listing import TransactionFilter
from workbench.files.names import topic_name_problem
from workbench.files.producer_snapshot import ProducerEntry
from workbench.runtime.error_codes import ErrorCode
from workbench.server.protocol import api_keys as apis
from workbench.server.protocol import requests, responses
from workbench.server.serving import NOT_HERE, Call, Served

_NONE: Final = -1


def describe_producers(
    call: Call, request: requests.DescribeProducersRequestData
) -> responses.DescribeProducersResponseData:
    """Return the producers that partitions know, with their open transactions."""
    asked: dict[str, dict[int, None]] = {}
    for topic in request["topics"]:
        asked.setdefault(topic["name"], {}).update(dict.fromkeys(topic["partitionIndexes"]))
    return {
        "topics": [
            {
                "name": name,
                "partitions": [_producers(call, name, number) for number in numbers],
            }
            for name, numbers in asked.items()
        ]
    }


def _producers(call: Call, topic: str, number: int) -> responses.DescribeProducersResponsePartition:
    result: responses.DescribeProducersResponsePartition = {
        "partitionIndex": number,
        "errorCode": ErrorCode.NONE,
        "activeProducers": [],
    }
    problem = topic_name_problem(topic)
    if problem is not None:
        code = ErrorCode.INVALID_TOPIC_EXCEPTION
        return {**result, "errorCode": code, "errorMessage": f"Topic name is invalid: {problem}"}
    catalog = call.serving.catalog
    log = catalog.log(topic, number)
    if log is None:
        problem = NOT_HERE if catalog.logs_of(topic) is None else None
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return {**result, "errorCode": code, "errorMessage": problem}
    producers = log.producers()
    call.budget.charge(1 + len(producers))
    return {**result, "activeProducers": [_producer(each) for each in producers]}


def _producer(entry: ProducerEntry) -> responses.DescribeProducersResponseProducerState:
    return {
        "producerId": entry.producer_id,
        "producerEpoch": entry.producer_epoch,
        "lastSequence": _or(entry.last_sequence),
        "lastTimestamp": entry.timestamp,
        "coordinatorEpoch": _or(entry.coordinator_epoch),
        "currentTxnStartOffset": _or(entry.current_transaction_first_offset),
    }


def _or(number: int | None) -> int:
    return _NONE if number is None else number


def describe_transactions(
    call: Call, request: requests.DescribeTransactionsRequestData
) -> responses.DescribeTransactionsResponseData:
    """Return the states of transactional ids."""
    return {
        "transactionStates": [
            _transaction(call, name) for name in dict.fromkeys(request["transactionalIds"])
        ]
    }


def _transaction(
    call: Call, transactional_id: str
) -> responses.DescribeTransactionsResponseTransactionState:
    code, found = call.serving.transactions.describe_transactions(transactional_id)
    result: responses.DescribeTransactionsResponseTransactionState = {
        "errorCode": code, "transactionalId": transactional_id, "topics": []
    }  # fmt: skip
    if found is None:
        return result
    call.budget.charge(1 + len(found.partitions))
    topics: dict[str, list[int]] = {}
    for where in sorted(found.partitions):
        topics.setdefault(where.topic, []).append(where.partition)
    return {
        **result,
        "transactionState": str(found.state),
        "transactionTimeoutMs": found.timeout_ms,
        "transactionStartTimeMs": found.start_timestamp,
        "producerId": found.producer_id,
        "producerEpoch": found.producer_epoch,
        "topics": [{"topic": name, "partitions": each} for name, each in topics.items()],
    }


def list_transactions(
    call: Call, request: requests.ListTransactionsRequestData
) -> responses.ListTransactionsResponseData:
    """Return the transactional ids, those that the filters let pass."""
    values = request
    chosen = TransactionFilter(
        frozenset(values["producerIdFilters"]),
        frozenset(values["stateFilters"]),
        values.get("durationFilter", -1),
        values.get("transactionalIdPattern"),
    )
    code, found, unknown = call.serving.transactions.list_transactions(chosen)
    call.budget.charge(len(found))
    return {
        "errorCode": code,
        "unknownStateFilters": unknown,
        "transactionStates": [
            {"transactionalId": name, "producerId": producer, "transactionState": str(state)}
            for name, producer, state in found
        ],
    }


HANDLERS: Final[Mapping[int, Served]] = {
    apis.DESCRIBE_PRODUCERS.key: Served(describe_producers),
    apis.DESCRIBE_TRANSACTIONS.key: Served(describe_transactions),
    apis.LIST_TRANSACTIONS.key: Served(list_transactions),
}
