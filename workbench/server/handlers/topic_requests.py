"""Topics that clients create, enlarge, configure and delete.

Kafka: ControllerApis, KafkaApis.handleDeleteRecordsRequest, ConfigAdminManager (4.2)
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypedDict

from workbench.config.definitions import TOPIC_NAMES
from workbench.config.internal_topics import HIDDEN_TOPICS
from workbench.config.values import text_of
from workbench.errors import CoordinatorError, OffsetOutOfRangeError
from workbench.record.message_schema import NULL_UUID
from workbench.runtime.error_codes import ErrorCode
from workbench.server.broker.topics import MOST_PARTITIONS
from workbench.server.handlers.config_requests import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DEFAULT,
    GROUP,
    INTERNAL,
    OF_TOPIC,
    TOPIC,
)
from workbench.server.protocol import api_keys as apis
from workbench.server.protocol import requests, responses
from workbench.server.serving import Call, Served

_SET, _DELETE, _APPEND, _SUBTRACT = range(4)
_HIGH_WATERMARK: Final = -1
_RESOURCES: Final = {
    TOPIC: "A topic",
    BROKER: "A broker",
    BROKER_LOGGER: "A logger",
    CLIENT_METRICS: "A metrics subscription",
    GROUP: "A group",
}
"""Types of resources that have configurations."""


class _Outcome(TypedDict, total=False):
    """What a response says of each item of a request."""

    errorCode: int
    errorMessage: str | None


def _outcome(work: Callable[..., object], *arguments: object) -> _Outcome:
    """Do some work, and return the error if it is refused."""
    try:
        work(*arguments)
    except CoordinatorError as refused:
        return {"errorCode": refused.code, "errorMessage": refused.problem or None}
    return {"errorCode": ErrorCode.NONE}


def create_topics(
    call: Call, request: requests.CreateTopicsRequestData
) -> responses.CreateTopicsResponseData:
    """Create topics."""
    asked_topics = request["topics"]
    counts = Counter(each["name"] for each in asked_topics)
    call.budget.charge(len(counts) * (1 + len(TOPIC_NAMES)))  # before anything is made
    validate_only = request.get("validateOnly", False)

    def created(
        asked: requests.CreateTopicsRequestCreatableTopic,
    ) -> responses.CreateTopicsResponseCreatableTopicResult:
        if counts[asked["name"]] > 1:
            raise ErrorCode.INVALID_REQUEST.error("Duplicate topic name.")
        count = _partition_count(call, asked)
        topics = call.broker.topics
        configs = {each["name"]: each["value"] for each in asked["configs"]}
        topic = topics.create(asked["name"], count, configs, validate_only=validate_only)
        rows = topics.settings.broker.topic_defaults().with_(topic.configs).describe()
        return {
            "name": asked["name"],
            "errorCode": ErrorCode.NONE,
            "topicId": NULL_UUID if validate_only else topic.topic_id,
            "numPartitions": count if count > 0 else call.broker.manager.config.num_partitions,
            "replicationFactor": 1,
            "configs": [
                {
                    "name": row.name,
                    "value": text_of(row.value),
                    "configSource": OF_TOPIC if row.name in topic.configs else DEFAULT,
                }
                for row in rows
                if not row.name.startswith(INTERNAL)
            ],
        }

    is_too_large = _partitions_of_all(call, asked_topics) > MOST_PARTITIONS

    def result(
        asked: requests.CreateTopicsRequestCreatableTopic,
    ) -> responses.CreateTopicsResponseCreatableTopicResult:
        try:
            if is_too_large:
                raise ErrorCode.POLICY_VIOLATION.error(
                    "Excessively large number of partitions per request."
                )
            return created(asked)
        except CoordinatorError as refused:
            code, problem = refused.code, refused.problem or None
        return {"name": asked["name"], "configs": [], "errorCode": code, "errorMessage": problem}

    return {"topics": [result(each) for each in asked_topics]}


def _partitions_of_all(call: Call, asked: list[requests.CreateTopicsRequestCreatableTopic]) -> int:
    """Return how many partitions all topics of a request would have.

    Kafka: ReplicationControlManager.validateTotalNumberOfPartitions (4.2)
    """
    default = call.broker.manager.config.num_partitions
    return sum(
        len(each["assignments"])
        or (default if each["numPartitions"] == -1 else max(each["numPartitions"], 0))
        for each in asked
    )


def _partition_count(call: Call, asked: requests.CreateTopicsRequestCreatableTopic) -> int:
    """Return how many partitions a topic gets: the only broker has each of them.

    Kafka: ReplicationControlManager.createTopic (4.2)
    """
    count, replicas = asked["numPartitions"], asked["replicationFactor"]
    if not asked["assignments"]:
        if replicas not in {-1, 1}:
            problem = f"Replication factor: {replicas} (expected 1: there is one broker)"
            raise ErrorCode.INVALID_REPLICATION_FACTOR.error(problem)
        return int(count)
    if count != -1 or replicas != -1:
        raise ErrorCode.INVALID_REQUEST.error(
            "A manual partition assignment was specified, but the number of partitions or the "
            "replication factor was not set to -1."
        )
    numbers = sorted(each["partitionIndex"] for each in asked["assignments"])
    brokers = [each["brokerIds"] for each in asked["assignments"]]
    node = call.broker.topics.node_id
    if numbers != list(range(len(numbers))) or any(each != [node] for each in brokers):
        raise ErrorCode.INVALID_REPLICA_ASSIGNMENT.error(
            f"partitions {numbers} on brokers {brokers} (expected 0 and following, each on {node})"
        )
    return len(numbers)


def delete_topics(
    call: Call, request: requests.DeleteTopicsRequestData
) -> responses.DeleteTopicsResponseData:
    """Delete topics, by name or by id."""
    asked: list[requests.DeleteTopicsRequestDeleteTopicState] = request.get("topics") or [
        {"name": name, "topicId": NULL_UUID} for name in request.get("topicNames", ())
    ]
    return {"responses": [_deleted(call, each) for each in asked]}


def _deleted(
    call: Call, asked: requests.DeleteTopicsRequestDeleteTopicState
) -> responses.DeleteTopicsResponseDeletableTopicResult:
    broker = call.broker
    name, topic_id = asked["name"], asked["topicId"]
    if name is None:
        name = broker.topics.names_by_id.get(topic_id)
        if name is None or topic_id == NULL_UUID:
            return {"name": None, "topicId": topic_id, "errorCode": ErrorCode.UNKNOWN_TOPIC_ID}
    topic_id = broker.topics.topic_id(name)  # gone afterwards
    return {"name": name, "topicId": topic_id, **_outcome(broker.delete_topic, name)}


def create_partitions(
    call: Call, request: requests.CreatePartitionsRequestData
) -> responses.CreatePartitionsResponseData:
    """Raise numbers of partitions."""
    topics = call.broker.topics
    node = topics.node_id

    def enlarge(asked: requests.CreatePartitionsRequestTopic) -> None:
        assignments = asked["assignments"]
        if assignments is not None and any(each["brokerIds"] != [node] for each in assignments):
            raise ErrorCode.INVALID_REPLICA_ASSIGNMENT.error(f"expected broker {node} alone")
        topics.create_partitions(
            asked["name"], asked["count"], validate_only=request["validateOnly"]
        )

    return {
        "results": [{"name": each["name"], **_outcome(enlarge, each)} for each in request["topics"]]
    }


def delete_records(
    call: Call, request: requests.DeleteRecordsRequestData
) -> responses.DeleteRecordsResponseData:
    """Raise log start offsets; retention deletes the files.

    Kafka: ReplicaManager.deleteRecordsOnLocalLog, Partition.deleteRecordsOnLeader (4.2)
    """
    return {
        "topics": [
            {
                "name": topic["name"],
                "partitions": [
                    _delete_records(call, topic["name"], each["partitionIndex"], each["offset"])
                    for each in topic["partitions"]
                ],
            }
            for topic in request["topics"]
        ]
    }


def _delete_records(
    call: Call, topic: str, number: int, offset: int
) -> responses.DeleteRecordsResponsePartitionResult:
    live = call.broker.topics.log(topic, number)
    answered: responses.DeleteRecordsResponsePartitionResult = {
        "partitionIndex": number, "lowWatermark": -1
    }  # fmt: skip
    if live is None:
        return {**answered, "errorCode": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    if topic in HIDDEN_TOPICS:
        return {**answered, "errorCode": ErrorCode.INVALID_TOPIC_EXCEPTION}
    if live.log.config.compact and not live.log.config.delete:
        return {**answered, "errorCode": ErrorCode.POLICY_VIOLATION}
    wanted = live.high_watermark if offset == _HIGH_WATERMARK else offset
    if wanted < 0:
        return {**answered, "errorCode": ErrorCode.OFFSET_OUT_OF_RANGE}
    try:
        low = live.log.delete_records(wanted)
    except OffsetOutOfRangeError:
        return {**answered, "errorCode": ErrorCode.OFFSET_OUT_OF_RANGE}
    return {**answered, "lowWatermark": low, "errorCode": ErrorCode.NONE}


def alter_configs(
    call: Call, request: requests.AlterConfigsRequestData
) -> responses.AlterConfigsResponseData:
    """Replace the configurations of topics: those that are not named return to their defaults."""
    topics = call.broker.topics

    def altered(asked: requests.AlterConfigsRequestResource) -> dict[str, str | None]:
        before = dict.fromkeys(topics.configs_of(asked["resourceName"]))
        return {**before, **{each["name"]: each["value"] for each in asked["configs"]}}

    return {
        "responses": [
            _altered(call, each, partial(altered, each), validate_only=request["validateOnly"])
            for each in request["resources"]
        ]
    }


def incremental_alter_configs(
    call: Call, request: requests.IncrementalAlterConfigsRequestData
) -> responses.IncrementalAlterConfigsResponseData:
    """Set, remove, append to and subtract from the configurations of topics.

    Kafka: ConfigurationControlManager.incrementalAlterConfigs (4.2)
    """
    topics = call.broker.topics

    def altered(
        asked: requests.IncrementalAlterConfigsRequestAlterConfigsResource,
    ) -> dict[str, str | None]:
        name = asked["resourceName"]
        own = topics.configs_of(name)
        changes: dict[str, str | None] = {}
        for each in asked["configs"]:
            key, operation, value = each["name"], each["configOperation"], each["value"]
            if key in changes:
                raise ErrorCode.INVALID_REQUEST.error(f"Error due to duplicate config keys: {key}")
            if operation not in {_SET, _DELETE, _APPEND, _SUBTRACT}:
                raise ErrorCode.INVALID_REQUEST.error(f"Unknown operation {operation}")
            if operation == _DELETE:
                changes[key] = None
            elif value is None:
                raise ErrorCode.INVALID_REQUEST.error(f"Null value not supported for : {key}")
            elif operation == _SET:
                changes[key] = value
            else:
                rows = topics.settings.config_of(name).describe()
                default = next((text_of(row.value) for row in rows if row.name == key), None)
                changes[key] = _changed_list(key, operation, own.get(key, default), value)
        return changes

    return {
        "responses": [
            _altered(call, each, partial(altered, each), validate_only=request["validateOnly"])
            for each in request["resources"]
        ]
    }


def _changed_list(key: str, operation: int, before: str | None, value: str) -> str:
    """Return a list with elements that are added at its end, or removed.

    Kafka: ConfigurationControlManager.incrementalAlterConfigResource (4.2)
    """
    if key not in TOPIC_NAMES or TOPIC_NAMES[key].kind != "list":
        verb = "APPEND" if operation == _APPEND else "SUBTRACT"
        raise ErrorCode.INVALID_CONFIG.error(
            f"Can't {verb} to key {key} because its type is not LIST."
        )
    items = [item for item in (before or "").split(",") if item]
    for item in value.split(","):
        if operation == _APPEND and item not in items:
            items.append(item)
        elif operation == _SUBTRACT and item in items:
            items.remove(item)
    return ",".join(items)


class _Resource(TypedDict):
    resourceType: int
    resourceName: str


def _altered(
    call: Call,
    resource: _Resource,
    changes: Callable[[], dict[str, str | None]],
    *,
    validate_only: bool,
) -> responses.AlterConfigsResponseResource:
    kind, name = resource["resourceType"], resource["resourceName"]

    def alter() -> None:
        if kind not in _RESOURCES:
            raise ErrorCode.INVALID_REQUEST.error(f"Unknown resource type {kind}")
        if kind != TOPIC:
            raise ErrorCode.INVALID_REQUEST.error(
                f"{_RESOURCES[kind]} cannot be configured here (expected a topic)"
            )
        call.broker.topics.alter_configs(name, changes(), validate_only=validate_only)

    return {"resourceType": kind, "resourceName": name, **_outcome(alter)}


HANDLERS: Final[Mapping[int, Served]] = {
    apis.CREATE_TOPICS.key: Served(
        create_topics, refusal=ErrorCode.TOPIC_AUTHORIZATION_FAILED, is_change=True
    ),
    apis.DELETE_TOPICS.key: Served(
        delete_topics, refusal=ErrorCode.TOPIC_AUTHORIZATION_FAILED, is_change=True
    ),
    apis.CREATE_PARTITIONS.key: Served(
        create_partitions, refusal=ErrorCode.TOPIC_AUTHORIZATION_FAILED, is_change=True
    ),
    apis.DELETE_RECORDS.key: Served(delete_records, refusal=ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    apis.ALTER_CONFIGS.key: Served(
        alter_configs, refusal=ErrorCode.TOPIC_AUTHORIZATION_FAILED, is_change=True
    ),
    apis.INCREMENTAL_ALTER_CONFIGS.key: Served(
        incremental_alter_configs, refusal=ErrorCode.TOPIC_AUTHORIZATION_FAILED, is_change=True
    ),
}
