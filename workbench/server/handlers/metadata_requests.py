"""About the cluster: its only broker is the server, which leads every partition.

Kafka: KafkaApis.handleApiVersionsRequest, handleTopicMetadataRequest,
handleDescribeTopicPartitionsRequest, handleDescribeCluster, handleDescribeLogDirsRequest (4.2)
"""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, NoReturn

from workbench.files.names import topic_name_problem
from workbench.inspection.cluster.image import METADATA_VERSION
from workbench.record.message_schema import NULL_UUID
from workbench.runtime.error_codes import ErrorCode
from workbench.server.broker.broker import WritableBroker
from workbench.server.handlers.authorized_operations import CLUSTER, TOPIC, operations
from workbench.server.logs.catalog import PartitionLog
from workbench.server.protocol import api_keys as apis
from workbench.server.protocol import requests, responses
from workbench.server.protocol.api_keys import API_KEYS
from workbench.server.serving import Call, Served

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")
_ZERO_SINCE: Final = 4  # version of ApiVersions in which the lowest level of a feature can be 0
FEATURES: Final = {
    "eligible.leader.replicas.version": (0, 1),
    "group.version": (0, 1),
    "kraft.version": (0, 1),
    METADATA_VERSION: (7, 29),
    "share.version": (0, 1),
    "streams.version": (0, 1),
    "transaction.version": (0, 2),
}
"""The levels of each feature that 4.2 supports."""
_MOST_PARTITIONS: Final = 2000  # `max.request.partition.size.limit`


def api_versions(
    call: Call, request: requests.ApiVersionsRequestData
) -> responses.ApiVersionsResponseData:
    """Return the kinds of request that are answered, and their versions."""
    if call.request.version >= 3:
        names = (request["clientSoftwareName"], request["clientSoftwareVersion"])
        if not all(map(_SOFTWARE.fullmatch, names)):
            return {"errorCode": ErrorCode.INVALID_REQUEST, "apiKeys": []}
    answered = supported_versions(ErrorCode.NONE)
    if call.serving.catalog.metadata_offset < 0:  # as a broker with ZooKeeper
        answered["apiKeys"] = [
            each for each in answered["apiKeys"] if each["apiKey"] != apis.DESCRIBE_QUORUM.key
        ]
    return {**answered, **_features(call)}


def _features(call: Call) -> responses.ApiVersionsResponseData:
    """Return the features that 4.2 knows, and the levels that the cluster's metadata sets.

    Kafka: BrokerFeatures.createDefaultFeatureMap, ApiVersionsResponse.Builder (4.2)
    """
    catalog = call.serving.catalog
    return {
        "supportedFeatures": [
            {"name": name, "minVersion": low, "maxVersion": high}
            for name, (low, high) in FEATURES.items()
            if low or call.request.version >= _ZERO_SINCE
        ],
        "finalizedFeaturesEpoch": catalog.metadata_offset,
        "finalizedFeatures": [
            {"name": name, "minVersionLevel": level, "maxVersionLevel": level}
            for name, level in catalog.features.items()
            if level
        ],
    }


def supported_versions(code: ErrorCode) -> responses.ApiVersionsResponseData:
    """Return the response of ApiVersions, which every client understands in version 0."""
    keys: list[responses.ApiVersionsResponseApiVersion] = [
        {"apiKey": api.key, "minVersion": api.lowest, "maxVersion": api.highest}
        for api in sorted(API_KEYS.values(), key=lambda api: api.key)
    ]
    return {"errorCode": code, "apiKeys": keys}


def _broker(call: Call) -> responses.MetadataResponseBroker:
    host, port = call.address
    return {"nodeId": call.serving.catalog.node_id, "host": host, "port": port}


def metadata(call: Call, request: requests.MetadataRequestData) -> responses.MetadataResponseData:
    """Return topics and their partitions, those that are on the disk."""
    catalog = call.serving.catalog
    asked = request["topics"]
    if asked is None or (call.request.version == 0 and not asked):
        topics = [_topic(call, name, catalog.topic_id(name)) for name in catalog.topics]
    else:
        distinct = {(each["name"], each.get("topicId", NULL_UUID)): each for each in asked}
        if call.serving.broker is not None and request.get("allowAutoTopicCreation", True):
            _create(call.serving.broker, distinct.values())
        topics = [_asked(call, each) for each in distinct.values()]
    if request.get("includeTopicAuthorizedOperations"):
        for topic in topics:
            if topic["errorCode"] != ErrorCode.UNKNOWN_TOPIC_ID:
                topic["topicAuthorizedOperations"] = operations(call, TOPIC)
    result: responses.MetadataResponseData = {
        "brokers": [_broker(call)],
        "clusterId": catalog.cluster_id,
        "controllerId": catalog.node_id,
        "topics": topics,
    }
    if request.get("includeClusterAuthorizedOperations"):
        result["clusterAuthorizedOperations"] = operations(call, CLUSTER)
    return result


def _create(broker: WritableBroker, asked: Iterable[requests.MetadataRequestTopic]) -> None:
    """Begin to make the topics that are asked for and missing, if the configuration says so."""
    if broker.creates_topics:
        for each in asked:
            if each["name"] is not None:
                broker.create_automatically(each["name"])


def _asked(call: Call, asked: requests.MetadataRequestTopic) -> responses.MetadataResponseTopic:
    catalog = call.serving.catalog
    topic_id = asked.get("topicId", NULL_UUID)
    if asked["name"] is not None:
        return _topic(call, asked["name"], catalog.topic_id(asked["name"]))
    name = catalog.names_by_id.get(topic_id)
    if name is not None:
        return _topic(call, name, topic_id)
    call.budget.charge(1)
    code = ErrorCode.UNKNOWN_TOPIC_ID
    return {"errorCode": code, "name": None, "topicId": topic_id, "partitions": []}


def _topic(call: Call, name: str, topic_id: str) -> responses.MetadataResponseTopic:
    catalog = call.serving.catalog
    logs = catalog.logs_of(name)
    call.budget.charge(1 + len(logs or ()), len(name))
    if logs is None:
        is_invalid = topic_name_problem(name) is not None
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        code = ErrorCode.INVALID_TOPIC_EXCEPTION if is_invalid else code
        return {"errorCode": code, "name": name, "partitions": []}
    node = catalog.node_id
    nodes, nobody = [node], list[int]()
    return {
        "errorCode": ErrorCode.NONE,
        "name": name,
        "topicId": topic_id,
        "isInternal": catalog.is_internal(name),
        "partitions": [
            {
                "errorCode": ErrorCode.NONE,
                "partitionIndex": number,
                "leaderId": node,
                "leaderEpoch": log.leader_epoch,
                "replicaNodes": nodes,
                "isrNodes": nodes,
                "offlineReplicas": nobody,
            }
            for number, log in logs.items()
        ],
    }


def describe_topic_partitions(
    call: Call, request: requests.DescribeTopicPartitionsRequestData
) -> responses.DescribeTopicPartitionsResponseData:
    """Return topics and their partitions by name, a limited number at a time.

    Kafka: DescribeTopicPartitionsRequestHandler, KRaftMetadataCache.describeTopicResponse (4.2)
    """
    values, catalog = request, call.serving.catalog
    cursor = values["cursor"]
    first = "" if cursor is None else cursor["topicName"]
    is_all = not values["topics"]
    asked = catalog.topics if is_all else {each["name"] for each in values["topics"]}
    names = sorted(name for name in asked if name >= first)
    if cursor is not None:
        is_missing = not is_all and first not in names
        if is_missing or cursor["partitionIndex"] < 0:
            raise ErrorCode.INVALID_REQUEST.error()
    left = max(min(values["responsePartitionLimit"], _MOST_PARTITIONS), 1)
    topics: list[responses.DescribeTopicPartitionsResponseTopic] = []
    following: responses.DescribeTopicPartitionsResponseCursor | None = None
    nobody = list[int]()
    for name in names:
        if not left:
            following = {"topicName": name, "partitionIndex": 0}
            break
        found = _topic(call, name, catalog.topic_id(name))
        start = cursor["partitionIndex"] if cursor is not None and name == first else 0
        rest = [each for each in found["partitions"] if each["partitionIndex"] >= start]
        topics.append(
            {
                "errorCode": found["errorCode"],
                "name": name,
                "topicId": found.get("topicId", NULL_UUID),
                "isInternal": found.get("isInternal", False),
                "partitions": [
                    {**each, "eligibleLeaderReplicas": nobody, "lastKnownElr": nobody}
                    for each in rest[:left]
                ],
                "topicAuthorizedOperations": operations(call, TOPIC),
            }
        )
        if len(rest) > left:
            following = {"topicName": name, "partitionIndex": rest[left]["partitionIndex"]}
            break
        left -= len(rest)
    return {"topics": topics, "nextCursor": following}


def describe_cluster(
    call: Call, request: requests.DescribeClusterRequestData
) -> responses.DescribeClusterResponseData:
    """Return the only broker."""
    catalog = call.serving.catalog
    broker = _broker(call)
    result: responses.DescribeClusterResponseData = {
        "clusterId": catalog.cluster_id or "",
        "controllerId": catalog.node_id,
        "brokers": [{"brokerId": broker["nodeId"], "host": broker["host"], "port": broker["port"]}],
    }
    if request["includeClusterAuthorizedOperations"]:
        result["clusterAuthorizedOperations"] = operations(call, CLUSTER)
    return result


def describe_log_dirs(
    call: Call, request: requests.DescribeLogDirsRequestData
) -> responses.DescribeLogDirsResponseData:
    """Return the log directories, and the sizes of the logs in them."""
    catalog = call.serving.catalog
    asked = request["topics"]
    wanted = None if asked is None else {each["topic"]: set(each["partitions"]) for each in asked}
    logs = [
        (topic, number, log)
        for topic, numbers in catalog.topics.items()
        for number, log in numbers.items()
        if wanted is None or number in wanted.get(topic, ())
    ]
    call.budget.charge(2 * len(logs))
    return {"results": [_log_dir(path, logs) for path in catalog.directories]}


def _log_dir(
    path: str, logs: list[tuple[str, int, PartitionLog]]
) -> responses.DescribeLogDirsResponseResult:
    topics: dict[str, list[responses.DescribeLogDirsResponsePartition]] = {}
    for topic, number, log in logs:
        if log.directory in {path, ""}:
            topics.setdefault(topic, []).append(
                {
                    "partitionIndex": number,
                    "partitionSize": log.size,
                    "offsetLag": 0,
                    "isFutureKey": False,
                }
            )
    total = usable = -1
    with suppress(OSError):
        disk = os.statvfs(path)
        total, usable = disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize
    return {
        "errorCode": ErrorCode.NONE,
        "totalBytes": total,
        "usableBytes": usable,
        "logDir": _text_of(path),
        "topics": [{"name": name, "partitions": found} for name, found in topics.items()],
    }


def alter_replica_log_dirs(
    call: Call, request: requests.AlterReplicaLogDirsRequestData
) -> responses.AlterReplicaLogDirsResponseData:
    """Return that logs are where they are asked to be; they do not move to another directory.

    Kafka: ReplicaManager.alterReplicaLogDirs (4.2)
    """
    asked = {
        (topic["name"], number): directory["path"]
        for directory in request["dirs"]
        for topic in directory["topics"]
        for number in topic["partitions"]
    }
    call.budget.charge(len(asked))
    results: dict[
        str, list[responses.AlterReplicaLogDirsResponseAlterReplicaLogDirPartitionResult]
    ] = {}
    for (topic, number), path in asked.items():
        code = _replica_log_dir_error(call, topic, number, path)
        results.setdefault(topic, []).append({"partitionIndex": number, "errorCode": code})
    return {
        "results": [
            {"topicName": topic, "partitions": partitions} for topic, partitions in results.items()
        ]
    }


def _replica_log_dir_error(call: Call, topic: str, number: int, path: str) -> ErrorCode:
    catalog = call.serving.catalog
    if path not in map(_text_of, catalog.directories):
        return ErrorCode.LOG_DIR_NOT_FOUND
    log = (catalog.logs_of(topic) or {}).get(number)
    if log is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    is_there = _text_of(log.directory) in {path, ""}
    return ErrorCode.NONE if is_there else ErrorCode.KAFKA_STORAGE_ERROR


def _text_of(path: str) -> str:
    """Return a path as clients get it."""
    return os.fsencode(path).decode("utf-8", "replace")


def sasl(call: Call, request: object) -> NoReturn:
    """Reject SASL here: the client is already authenticated, or the server uses no SASL.

    Kafka: KafkaApis.handleSaslHandshakeRequest, handleSaslAuthenticateRequest (4.2)
    """
    del call, request
    raise ErrorCode.ILLEGAL_SASL_STATE.error()


HANDLERS: Final[Mapping[int, Served]] = {
    apis.SASL_HANDSHAKE.key: Served(sasl),
    apis.SASL_AUTHENTICATE.key: Served(sasl),
    apis.API_VERSIONS.key: Served(api_versions),
    apis.METADATA.key: Served(metadata),
    apis.DESCRIBE_TOPIC_PARTITIONS.key: Served(describe_topic_partitions),
    apis.DESCRIBE_CLUSTER.key: Served(describe_cluster),
    apis.ALTER_REPLICA_LOG_DIRS.key: Served(alter_replica_log_dirs),
    apis.DESCRIBE_LOG_DIRS.key: Served(describe_log_dirs),
}
