"""The response to each kind of request that fails as a whole: each item has the error.

Kafka: AbstractRequest.getErrorResponse of each request (4.0)
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from workbench.runtime.error_codes import ErrorCode
from workbench.server.handlers.topics_by_id import key_of
from workbench.server.protocol import (
    admin_messages,
    cluster_messages,
    group_messages,
    log_messages,
    sasl_messages,
    transaction_messages,
    write_messages,
)
from workbench.server.protocol.frames import Request

Values = dict[str, Any]

_TOPIC: Final = 2  # resource type


def error_response(request: Request, code: ErrorCode, problem: str = "") -> Values:
    """Return the response that says that a request failed.

    Args:
        request: the request.
        code: the error.
        problem: why, for responses that have a field for it.
    """
    values = _RESPONSES[request.api.key](request.values, request.version, code)
    if problem:
        values["errorMessage"] = problem
        for items in [each for each in values.values() if isinstance(each, list)]:
            for item in items:
                item["errorMessage"] = problem
    return values


def _whole(_values: Values, _version: int, code: ErrorCode) -> Values:
    return {"errorCode": code}


def _partitions(
    topics: Iterable[Values], inner: str, make: Callable[[Any], Values]
) -> list[Values]:
    return [
        {**key_of(topic), "partitions": [make(each) for each in topic[inner]]} for topic in topics
    ]


def _fetch(values: Values, version: int, code: ErrorCode) -> Values:
    if version >= 7:
        return {"errorCode": code, "responses": []}
    return {
        "responses": [
            {
                **key_of(topic),
                "partitions": [
                    failed_fetch(each["partition"], code) for each in topic["partitions"]
                ],
            }
            for topic in values["topics"]
        ]
    }


def failed_fetch(partition: int, code: ErrorCode) -> Values:
    """Return the response for one partition that cannot be fetched.

    Kafka: FetchResponse.partitionResponse (4.0)
    """
    return {
        "partitionIndex": partition,
        "errorCode": code,
        "highWatermark": -1,
        "records": b"",
    }


def failed_offset(partition: int, code: ErrorCode) -> Values:
    """Return the response of ListOffsets for one partition that has no answer."""
    return {"partitionIndex": partition, "errorCode": code}


def failed_epoch(partition: int, code: ErrorCode) -> Values:
    """Return the response of OffsetForLeaderEpoch for one partition that has no answer."""
    return {"errorCode": code, "partition": partition, "leaderEpoch": -1, "endOffset": -1}


def _list_offsets(values: Values, _version: int, code: ErrorCode) -> Values:
    def failed(each: Values) -> Values:
        return failed_offset(each["partitionIndex"], code)

    return {"topics": _partitions(values["topics"], "partitions", failed)}


def _epochs(values: Values, _version: int, code: ErrorCode) -> Values:
    return {
        "topics": [
            {
                **key_of(topic),
                "partitions": [
                    failed_epoch(each["partition"], code) for each in topic["partitions"]
                ],
            }
            for topic in values["topics"]
        ]
    }


def _metadata(values: Values, _version: int, code: ErrorCode) -> Values:
    named = [each for each in values["topics"] or () if each["name"] is not None]
    return {
        "brokers": [],
        "topics": [{"errorCode": code, "name": each["name"], "partitions": []} for each in named],
    }


def _api_versions(_values: Values, _version: int, code: ErrorCode) -> Values:
    return {"errorCode": code, "apiKeys": []}


def _configs(values: Values, _version: int, code: ErrorCode) -> Values:
    return {
        "results": [
            {
                "errorCode": code,
                "resourceType": each["resourceType"],
                "resourceName": each["resourceName"],
                "configs": [],
            }
            for each in values["resources"]
        ]
    }


def _replica_log_dirs(values: Values, _version: int, code: ErrorCode) -> Values:
    return {
        "results": [
            {
                "topicName": topic["name"],
                "partitions": [
                    {"partitionIndex": each, "errorCode": code} for each in topic["partitions"]
                ],
            }
            for directory in values["dirs"]
            for topic in directory["topics"]
        ]
    }


def _log_dirs(_values: Values, _version: int, code: ErrorCode) -> Values:
    return {"errorCode": code, "results": []}


def _coordinator(values: Values, version: int, code: ErrorCode) -> Values:
    nowhere = {"errorCode": code, "nodeId": -1, "host": "", "port": -1}
    if version < 4:
        return nowhere
    return {"coordinators": [{"key": key, **nowhere} for key in values["coordinatorKeys"]]}


def _join(_values: Values, version: int, code: ErrorCode) -> Values:
    name = None if version >= 7 else ""
    return {"errorCode": code, "protocolName": name, "members": []}


def _commit(values: Values, _version: int, code: ErrorCode) -> Values:
    def failed(each: Values) -> Values:
        return {"partitionIndex": each["partitionIndex"], "errorCode": code}

    return {"topics": _partitions(values["topics"], "partitions", failed)}


def _offset_fetch(values: Values, version: int, code: ErrorCode) -> Values:
    def failed(number: int) -> Values:
        return {"partitionIndex": number, "committedOffset": -1, "metadata": "", "errorCode": code}

    if version >= 8:
        groups = [{"groupId": each["groupId"], "errorCode": code} for each in values["groups"]]
        return {"groups": [{**each, "topics": []} for each in groups]}
    topics = _partitions(values["topics"] or (), "partitionIndexes", failed)
    return {"topics": topics if version < 2 else [], "errorCode": code}


def _describe_groups(values: Values, _version: int, code: ErrorCode) -> Values:
    return {
        "groups": [{"errorCode": code, "groupId": name, "members": []} for name in values["groups"]]
    }


def _list_groups(_values: Values, _version: int, code: ErrorCode) -> Values:
    return {"errorCode": code, "groups": []}


def _handshake(_values: Values, _version: int, code: ErrorCode) -> Values:
    return {"errorCode": code, "mechanisms": []}


def _authenticate(_values: Values, _version: int, code: ErrorCode) -> Values:
    return {"errorCode": code, "errorMessage": None, "authBytes": b""}


def _produce(values: Values, _version: int, code: ErrorCode) -> Values:
    return {
        "responses": [
            {
                **key_of(topic),
                "partitionResponses": [
                    {"index": each["index"], "errorCode": code, "baseOffset": -1}
                    for each in topic["partitionData"]
                ],
            }
            for topic in values["topicData"]
        ]
    }


def _create_topics(values: Values, _version: int, code: ErrorCode) -> Values:
    topics = [{"name": each["name"], "errorCode": code} for each in values["topics"]]
    return {"topics": [{**each, "configs": []} for each in topics]}


def _delete_topics(values: Values, version: int, code: ErrorCode) -> Values:
    if version < 6:
        return {"responses": [{"name": name, "errorCode": code} for name in values["topicNames"]]}
    return {"responses": [{**each, "errorCode": code} for each in values["topics"]]}


def _delete_records(values: Values, _version: int, code: ErrorCode) -> Values:
    def failed(each: Values) -> Values:
        return {"partitionIndex": each["partitionIndex"], "lowWatermark": -1, "errorCode": code}

    return {"topics": _partitions(values["topics"], "partitions", failed)}


def _add_partitions(values: Values, version: int, code: ErrorCode) -> Values:
    if version >= 4:
        return {"errorCode": code}
    return {
        "resultsByTopicV3AndBelow": [
            {
                "name": topic["name"],
                "resultsByPartition": [
                    {"partitionIndex": number, "partitionErrorCode": code}
                    for number in topic["partitions"]
                ],
            }
            for topic in values["v3AndBelowTopics"]
        ]
    }


def _alter_configs(values: Values, _version: int, code: ErrorCode) -> Values:
    is_about_topics = ErrorCode.TOPIC_AUTHORIZATION_FAILED

    def of(each: Values) -> ErrorCode:
        is_refused_of_other = code is is_about_topics and each["resourceType"] != _TOPIC
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED if is_refused_of_other else code

    return {
        "responses": [
            {
                "errorCode": of(each),
                "resourceType": each["resourceType"],
                "resourceName": each["resourceName"],
            }
            for each in values["resources"]
        ]
    }


def _create_partitions(values: Values, _version: int, code: ErrorCode) -> Values:
    return {"results": [{"name": each["name"], "errorCode": code} for each in values["topics"]]}


def _delete_groups(values: Values, _version: int, code: ErrorCode) -> Values:
    return {"results": [{"groupId": name, "errorCode": code} for name in values["groupsNames"]]}


def _describe_topics(values: Values, _version: int, code: ErrorCode) -> Values:
    return {"topics": [{"errorCode": code, "name": each["name"]} for each in values["topics"]]}


def _consumer_groups(values: Values, _version: int, code: ErrorCode) -> Values:
    return {"groups": [{"errorCode": code, "groupId": name} for name in values["groupIds"]]}


def _describe_producers(values: Values, _version: int, code: ErrorCode) -> Values:
    def failed(number: int) -> Values:
        return {"partitionIndex": number, "errorCode": code}

    return {"topics": _partitions(values["topics"], "partitionIndexes", failed)}


def _describe_transactions(values: Values, _version: int, code: ErrorCode) -> Values:
    states = [{"errorCode": code, "transactionalId": each} for each in values["transactionalIds"]]
    return {"transactionStates": states}


def _write_markers(values: Values, _version: int, code: ErrorCode) -> Values:
    def failed(number: int) -> Values:
        return {"partitionIndex": number, "errorCode": code}

    return {
        "markers": [
            {
                "producerId": each["producerId"],
                "topics": _partitions(each["topics"], "partitionIndexes", failed),
            }
            for each in values["markers"]
        ]
    }


def _elections(_values: Values, _version: int, code: ErrorCode) -> Values:
    return {"errorCode": code, "replicaElectionResults": []}


def _create_acls(values: Values, _version: int, code: ErrorCode) -> Values:
    return {"results": [{"errorCode": code} for _ in values["creations"]]}


def _delete_acls(values: Values, _version: int, code: ErrorCode) -> Values:
    return {"filterResults": [{"errorCode": code, "matchingAcls": []} for _ in values["filters"]]}


def _token(_values: Values, _version: int, code: ErrorCode) -> Values:
    user = {"principalType": "User", "principalName": "ANONYMOUS"}
    requester = {f"tokenRequesterP{key[1:]}": value for key, value in user.items()}
    times = dict.fromkeys(("issueTimestampMs", "expiryTimestampMs", "maxTimestampMs"), -1)
    return {"errorCode": code, **user, **requester, **times}


def _expiry(_values: Values, _version: int, code: ErrorCode) -> Values:
    return {"errorCode": code, "expiryTimestampMs": -1}


def _tokens(_values: Values, _version: int, code: ErrorCode) -> Values:
    return {"errorCode": code, "tokens": []}


_RESPONSES: Final[Mapping[int, Callable[[Values, int, ErrorCode], Values]]] = {
    cluster_messages.API_VERSIONS.key: _api_versions,
    cluster_messages.METADATA.key: _metadata,
    cluster_messages.DESCRIBE_TOPIC_PARTITIONS.key: _describe_topics,
    cluster_messages.DESCRIBE_CLUSTER.key: _whole,
    cluster_messages.DESCRIBE_CONFIGS.key: _configs,
    cluster_messages.ALTER_REPLICA_LOG_DIRS.key: _replica_log_dirs,
    cluster_messages.DESCRIBE_LOG_DIRS.key: _log_dirs,
    admin_messages.DESCRIBE_QUORUM.key: _whole,
    admin_messages.LIST_CONFIG_RESOURCES.key: _whole,
    admin_messages.ELECT_LEADERS.key: _elections,
    admin_messages.ALTER_PARTITION_REASSIGNMENTS.key: _whole,
    admin_messages.LIST_PARTITION_REASSIGNMENTS.key: _whole,
    admin_messages.DESCRIBE_ACLS.key: _whole,
    admin_messages.CREATE_ACLS.key: _create_acls,
    admin_messages.DELETE_ACLS.key: _delete_acls,
    admin_messages.UPDATE_FEATURES.key: _whole,
    admin_messages.DESCRIBE_CLIENT_QUOTAS.key: _whole,
    admin_messages.DESCRIBE_USER_SCRAM_CREDENTIALS.key: _whole,
    admin_messages.UNREGISTER_BROKER.key: _whole,
    admin_messages.DESCRIBE_DELEGATION_TOKEN.key: _tokens,
    admin_messages.CREATE_DELEGATION_TOKEN.key: _token,
    admin_messages.RENEW_DELEGATION_TOKEN.key: _expiry,
    admin_messages.EXPIRE_DELEGATION_TOKEN.key: _expiry,
    admin_messages.ADD_RAFT_VOTER.key: _whole,
    admin_messages.REMOVE_RAFT_VOTER.key: _whole,
    log_messages.FETCH.key: _fetch,
    log_messages.LIST_OFFSETS.key: _list_offsets,
    log_messages.OFFSET_FOR_LEADER_EPOCH.key: _epochs,
    group_messages.FIND_COORDINATOR.key: _coordinator,
    group_messages.JOIN_GROUP.key: _join,
    group_messages.SYNC_GROUP.key: _whole,
    group_messages.HEARTBEAT.key: _whole,
    group_messages.CONSUMER_GROUP_HEARTBEAT.key: _whole,
    group_messages.LEAVE_GROUP.key: _whole,
    group_messages.OFFSET_COMMIT.key: _commit,
    group_messages.OFFSET_FETCH.key: _offset_fetch,
    group_messages.DESCRIBE_GROUPS.key: _describe_groups,
    group_messages.LIST_GROUPS.key: _list_groups,
    group_messages.CONSUMER_GROUP_DESCRIBE.key: _consumer_groups,
    sasl_messages.SASL_HANDSHAKE.key: _handshake,
    sasl_messages.SASL_AUTHENTICATE.key: _authenticate,
    write_messages.PRODUCE.key: _produce,
    write_messages.CREATE_TOPICS.key: _create_topics,
    write_messages.DELETE_TOPICS.key: _delete_topics,
    write_messages.DELETE_RECORDS.key: _delete_records,
    transaction_messages.INIT_PRODUCER_ID.key: _whole,
    transaction_messages.ADD_PARTITIONS_TO_TXN.key: _add_partitions,
    transaction_messages.ADD_OFFSETS_TO_TXN.key: _whole,
    transaction_messages.END_TXN.key: _whole,
    transaction_messages.TXN_OFFSET_COMMIT.key: _commit,
    transaction_messages.WRITE_TXN_MARKERS.key: _write_markers,
    transaction_messages.DESCRIBE_PRODUCERS.key: _describe_producers,
    transaction_messages.DESCRIBE_TRANSACTIONS.key: _describe_transactions,
    transaction_messages.LIST_TRANSACTIONS.key: _whole,
    write_messages.ALTER_CONFIGS.key: _alter_configs,
    write_messages.CREATE_PARTITIONS.key: _create_partitions,
    write_messages.DELETE_GROUPS.key: _delete_groups,
    write_messages.INCREMENTAL_ALTER_CONFIGS.key: _alter_configs,
    write_messages.OFFSET_DELETE.key: _whole,
}
