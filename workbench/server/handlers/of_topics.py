"""Topics that clients create, enlarge, configure and delete.

Kafka: ControllerApis, KafkaApis.handleDeleteRecordsRequest, ConfigAdminManager (4.2)
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from workbench.config.definitions import TOPIC_NAMES
from workbench.config.internal_topics import HIDDEN_TOPICS
from workbench.config.values import text_of
from workbench.errors import CoordinatorError, OffsetOutOfRangeError
from workbench.record.message_schema import NULL_UUID
from workbench.runtime.error_codes import ErrorCode
from workbench.server.handlers.of_configs import (
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
from workbench.server.serving import BlockingHandler, Call, Values

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


def _answer(answered: Values, work: Callable[[Values], Values | None], asked: Values) -> Values:
    """Return the answer to one item of a request, with the error if the work is refused."""
    try:
        return {**answered, "errorCode": ErrorCode.NONE, **(work(asked) or {})}
    except CoordinatorError as refused:
        return {**answered, "errorCode": refused.code, "errorMessage": refused.problem or None}


def create_topics(call: Call) -> Values:
    """Create topics."""
    asked_topics = call.values["topics"]
    counts = Counter(each["name"] for each in asked_topics)
    call.budget.charge(len(counts) * (1 + len(TOPIC_NAMES)))  # before anything is made
    validate_only = call.values.get("validateOnly", False)

    def created(asked: Values) -> Values:
        if counts[asked["name"]] > 1:
            raise ErrorCode.INVALID_REQUEST.error("Duplicate topic name.")
        count = _partition_count(call, asked)
        topics = call.broker.topics
        configs = {each["name"]: each["value"] for each in asked["configs"]}
        topic = topics.create(asked["name"], count, configs, validate_only=validate_only)
        rows = topics.settings.broker.topic_defaults().with_(topic.configs).describe()
        return {
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

    return {
        "topics": [
            _answer({"name": each["name"], "configs": []}, created, each) for each in asked_topics
        ]
    }


def _partition_count(call: Call, asked: Values) -> int:
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


def delete_topics(call: Call) -> Values:
    """Delete topics, by name or by id."""
    asked = call.values.get("topics") or [
        {"name": name, "topicId": NULL_UUID} for name in call.values.get("topicNames", ())
    ]
    return {"responses": [_deleted(call, each) for each in asked]}


def _deleted(call: Call, asked: Values) -> Values:
    broker = call.broker
    name, topic_id = asked["name"], asked["topicId"]
    if name is None:
        name = broker.topics.names_by_id.get(topic_id)
        if name is None or topic_id == NULL_UUID:
            return {"name": None, "topicId": topic_id, "errorCode": ErrorCode.UNKNOWN_TOPIC_ID}
    answered = {"name": name, "topicId": broker.topics.topic_id(name)}
    return _answer(answered, lambda _: broker.delete_topic(name), asked)


def create_partitions(call: Call) -> Values:
    """Raise numbers of partitions."""
    topics = call.broker.topics
    node = topics.node_id

    def enlarge(asked: Values) -> None:
        assignments = asked["assignments"]
        if assignments is not None and any(each["brokerIds"] != [node] for each in assignments):
            raise ErrorCode.INVALID_REPLICA_ASSIGNMENT.error(f"expected broker {node} alone")
        topics.create_partitions(
            asked["name"], asked["count"], validate_only=call.values["validateOnly"]
        )

    return {
        "results": [
            _answer({"name": each["name"]}, enlarge, each) for each in call.values["topics"]
        ]
    }


def delete_records(call: Call) -> Values:
    """Raise log start offsets; retention deletes the files.

    Kafka: ReplicaManager.deleteRecordsOnLocalLog (4.2)
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
            for topic in call.values["topics"]
        ]
    }


def _delete_records(call: Call, topic: str, number: int, offset: int) -> Values:
    live = call.broker.topics.log(topic, number)
    answered = {"partitionIndex": number, "lowWatermark": -1}
    if live is None:
        return {**answered, "errorCode": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    if topic in HIDDEN_TOPICS:
        return {**answered, "errorCode": ErrorCode.INVALID_TOPIC_EXCEPTION}
    wanted = live.high_watermark if offset == _HIGH_WATERMARK else offset
    if wanted < 0:
        return {**answered, "errorCode": ErrorCode.OFFSET_OUT_OF_RANGE}
    try:
        low = live.log.delete_records(wanted)
    except OffsetOutOfRangeError:
        return {**answered, "errorCode": ErrorCode.OFFSET_OUT_OF_RANGE}
    return {**answered, "lowWatermark": low, "errorCode": ErrorCode.NONE}


def alter_configs(call: Call) -> Values:
    """Replace the configurations of topics: those that are not named return to their defaults."""
    topics = call.broker.topics

    def altered(asked: Values) -> dict[str, str | None]:
        before = dict.fromkeys(topics.configs_of(asked["resourceName"]))
        return {**before, **{each["name"]: each["value"] for each in asked["configs"]}}

    return _alter(call, altered)


def incremental_alter_configs(call: Call) -> Values:
    """Set, remove, append to and subtract from the configurations of topics.

    Kafka: ConfigurationControlManager.incrementalAlterConfigs (4.2)
    """
    topics = call.broker.topics

    def altered(asked: Values) -> dict[str, str | None]:
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

    return _alter(call, altered)


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


def _alter(call: Call, altered: Callable[[Values], dict[str, str | None]]) -> Values:
    topics = call.broker.topics

    def alter(asked: Values) -> None:
        kind = asked["resourceType"]
        if kind not in _RESOURCES:
            raise ErrorCode.INVALID_REQUEST.error(f"Unknown resource type {kind}")
        if kind != TOPIC:
            raise ErrorCode.INVALID_REQUEST.error(
                f"{_RESOURCES[kind]} cannot be configured here (expected a topic)"
            )
        topics.alter_configs(
            asked["resourceName"], altered(asked), validate_only=call.values["validateOnly"]
        )

    return {
        "responses": [
            _answer(
                {"resourceType": each["resourceType"], "resourceName": each["resourceName"]},
                alter,
                each,
            )
            for each in call.values["resources"]
        ]
    }


CHANGES: Final = frozenset(
    {apis.CREATE_TOPICS.key, apis.CREATE_PARTITIONS.key, apis.DELETE_TOPICS.key}
)
"""Requests that may take seconds."""
HANDLERS: Final[Mapping[int, BlockingHandler]] = {
    apis.CREATE_TOPICS.key: create_topics,
    apis.DELETE_TOPICS.key: delete_topics,
    apis.CREATE_PARTITIONS.key: create_partitions,
    apis.DELETE_RECORDS.key: delete_records,
    apis.ALTER_CONFIGS.key: alter_configs,
    apis.INCREMENTAL_ALTER_CONFIGS.key: incremental_alter_configs,
}
