"""Requests of administrators, some of them wrong; "TOPIC" is a topic with one partition."""

from collections.abc import Sequence
from typing import Any, Final

from tests.server.asking import Values
from workbench.server.protocol import api_keys as apis
from workbench.server.protocol.api import Api
from workbench.server.protocol.api_keys import ALTER_REPLICA_LOG_DIRS

METADATA_LOG: Final = "__cluster_metadata"
SOME_ID: Final = "x" * 21 + "A"


def quorum(*partitions: tuple[str, int]) -> Values:
    return {
        "topics": [
            {"topicName": topic, "partitions": [{"partitionIndex": number}]}
            for topic, number in partitions
        ]
    }


def election(kind: int, topics: Any) -> Values:
    return {"electionType": kind, "topicPartitions": topics, "timeoutMs": 5_000}


def reassignment(topic: str, number: int, replicas: list[int] | None) -> Values:
    each = {"partitionIndex": number, "replicas": replicas}
    return {"topics": [{"name": topic, "partitions": [each]}]}


def update(feature: str, level: int, kind: int = 1) -> Values:
    each = {"feature": feature, "maxVersionLevel": level, "upgradeType": kind}
    return {"featureUpdates": [each], "validateOnly": True}


def quotas(*components: tuple[str, int, str | None], strict: bool = False) -> Values:
    names = ("entityType", "matchType", "match")
    found = [dict(zip(names, each, strict=True)) for each in components]
    return {"components": found, "strict": strict}


ACL: Final = {
    "resourceType": 2, "resourceName": "TOPIC", "principal": "User:a", "host": "*", "operation": 3,
    "permissionType": 3,
}  # fmt: skip
EVERY_ACL: Final = {
    "resourceTypeFilter": 1, "patternTypeFilter": 1, "operation": 1, "permissionType": 1
}  # fmt: skip
VOTER: Final = {"clusterId": None, "voterId": 5, "voterDirectoryId": SOME_ID}
LISTENER: Final = {"name": "CONTROLLER", "host": "127.0.0.1", "port": 9}

ADMIN_REQUESTS: Final[Sequence[tuple[Api, list[Values]]]] = (
    (apis.DESCRIBE_QUORUM, [
        quorum((METADATA_LOG, 0)), quorum((METADATA_LOG, 1)), quorum(("TOPIC", 0)), quorum(),
        quorum((METADATA_LOG, 0), ("TOPIC", 0)),
    ]),
    (apis.LIST_CONFIG_RESOURCES, [
        {"resourceTypes": each} for each in ([], [2], [4, 8], [16, 32], [99], [2, 0])
    ]),
    (apis.ELECT_LEADERS, [
        election(0, []), election(0, [{"topic": "TOPIC", "partitions": [0, 7, 0]}]),
        election(1, [{"topic": "TOPIC", "partitions": []}, {"topic": "no", "partitions": [0]}]),
    ]),
    (ALTER_REPLICA_LOG_DIRS, [
        {"dirs": []}, {"dirs": [{"path": "/nowhere", "topics": [
            {"name": "TOPIC", "partitions": [0, 7]}, {"name": "no", "partitions": [0]}
        ]}]},
    ]),
    (apis.ALTER_PARTITION_REASSIGNMENTS, [
        reassignment("TOPIC", 0, [1]), reassignment("TOPIC", 0, None), reassignment("no", 0, [1]),
        reassignment("TOPIC", 9, [1]), reassignment("TOPIC", 0, [2]),
        reassignment("TOPIC", 0, [2, 1]), reassignment("TOPIC", 0, [1, 1]),
        reassignment("TOPIC", 0, []), reassignment("TOPIC", 9, None), {"topics": []},
    ]),
    (apis.LIST_PARTITION_REASSIGNMENTS, [
        {"topics": each} for each in (None, [], [{"name": "TOPIC", "partitionIndexes": [0]}])
    ]),
    (apis.UPDATE_FEATURES, [
        {"featureUpdates": []}, update("nonsense", 1), update("transaction.version", 9),
        update("metadata.version", 6), update("metadata.version", 99),
        update("group.version", 0, 7), update("group.version", -1), update("share.version", 1, 2),
    ]),
    (apis.DESCRIBE_ACLS, [EVERY_ACL]),
    (apis.CREATE_ACLS, [{"creations": [ACL] * each} for each in range(3)]),
    (apis.DELETE_ACLS, [{"filters": [EVERY_ACL] * each} for each in range(3)]),
    (apis.DESCRIBE_CLIENT_QUOTAS, [
        quotas(), quotas(strict=True), quotas(("user", 0, "a")), quotas(("user", 1, None)),
        quotas(("nonsense", 2, None)), quotas(("user", 9, None)), quotas(("", 2, None)),
        quotas(("user", 2, None), ("user", 2, None)), quotas(("ip", 2, None), ("user", 2, None)),
        quotas(("user", 0, None)), quotas(("user", 1, "a")), quotas(("user", 2, "a")),
        quotas(("user", 0, "a"), ("client-id", 2, None)),
    ]),
    (apis.DESCRIBE_USER_SCRAM_CREDENTIALS, [
        {"users": each}
        for each in (None, [], [{"name": "a"}, {"name": "b"}], [{"name": "a"}] * 2, [{"name": ""}])
    ]),
    (apis.UNREGISTER_BROKER, [{"brokerId": each} for each in (2, -1)]),
    (apis.DESCRIBE_DELEGATION_TOKEN, [{"owners": None}, {"owners": []}]),
    (apis.CREATE_DELEGATION_TOKEN, [{"renewers": [], "maxLifetimeMs": 1_000}]),
    (apis.RENEW_DELEGATION_TOKEN, [{"hmac": b"x", "renewPeriodMs": 1_000}]),
    (apis.EXPIRE_DELEGATION_TOKEN, [{"hmac": b"x", "expiryTimePeriodMs": 1_000}]),
    (apis.ADD_RAFT_VOTER, [{**VOTER, "timeoutMs": 1_000, "listeners": [LISTENER]}]),
    (apis.REMOVE_RAFT_VOTER, [VOTER]),
)  # fmt: skip
