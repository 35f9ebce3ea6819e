"""What administrators ask beside topics and groups, answered as by a broker that is alone.

It is the only voter of the quorum and the only replica of every partition: there is nothing to
elect and nowhere to move a replica. ACLs, quotas and SCRAM users are those that the cluster's
metadata has; they do not apply to the clients of this server.

Kafka: KafkaApis, ControllerApis, KafkaRaftClient.handleDescribeQuorumRequest, ConfigHelper,
ReplicationControlManager.electLeaders, alterPartitionReassignments, FeatureControlManager,
ClientQuotaCache, ScramImage (4.2)
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NoReturn

from workbench.config.internal_topics import METADATA_TOPIC
from workbench.errors import CoordinatorError
from workbench.runtime.clock import SystemClock
from workbench.runtime.error_codes import ErrorCode
from workbench.server.handlers.config_requests import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
)
from workbench.server.handlers.error_responses import error_response
from workbench.server.handlers.metadata_requests import FEATURES
from workbench.server.handlers.stored_access import (
    DEFAULT,
    EXACT,
    SPECIFIED,
    acl_resources,
    quota_entries,
    scram_credentials,
)
from workbench.server.protocol import api_keys as apis
from workbench.server.protocol import requests, responses
from workbench.server.serving import NOT_HERE, Call, Served, Values

_METRICS_ALONE: Final = 0  # version of ListConfigResources that knows client metrics alone
_NO_NAMES: Final[Mapping[str, object]] = {}


# the quorum


def describe_quorum(
    call: Call, request: requests.DescribeQuorumRequestData
) -> responses.DescribeQuorumResponseData:
    """Return the quorum of the cluster's metadata: this node is its only voter.

    Raises:
        CoordinatorError: UNSUPPORTED_VERSION: there is no metadata log.
    """
    asked = [
        (topic["topicName"], each["partitionIndex"])
        for topic in request["topics"]
        for each in topic["partitions"]
    ]
    call.budget.charge(1 + len(asked))
    catalog = call.serving.catalog
    if catalog.metadata_offset < 0:  # clients would retry an unknown partition for a minute
        raise ErrorCode.UNSUPPORTED_VERSION.error()
    is_known = asked == [(METADATA_TOPIC, 0)]
    node, now, end = catalog.node_id, SystemClock().now(), catalog.metadata_offset + 1
    voter: responses.DescribeQuorumResponseReplicaState = {
        "replicaId": node,
        "logEndOffset": end,
        "lastFetchTimestamp": now,
        "lastCaughtUpTimestamp": now,
    }
    quorum: responses.DescribeQuorumResponsePartitionData = {
        "errorCode": ErrorCode.NONE,
        "errorMessage": "",
        "leaderId": node,
        "leaderEpoch": catalog.metadata_epoch,
        "highWatermark": end,
        "currentVoters": [voter],
    }
    unknown: responses.DescribeQuorumResponsePartitionData = {
        "errorCode": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "errorMessage": NOT_HERE,
    }
    host, port = call.address
    listener: responses.DescribeQuorumResponseListener = {
        "name": "CONTROLLER", "host": host, "port": port
    }  # fmt: skip
    return {
        "errorMessage": "",
        "topics": [
            {
                "topicName": topic["topicName"],
                "partitions": [
                    {
                        **(quorum if is_known else unknown),
                        "partitionIndex": each["partitionIndex"],
                    }
                    for each in topic["partitions"]
                ],
            }
            for topic in request["topics"]
        ],
        "nodes": [{"nodeId": node, "listeners": [listener]}] if is_known else [],
    }


def change_voters(
    call: Call,
    _request: requests.AddRaftVoterRequestData | requests.RemoveRaftVoterRequestData,
) -> responses.AddRaftVoterResponseData | responses.RemoveRaftVoterResponseData:
    """Refuse another voter: the voters of the quorum are static.

    Kafka: KafkaRaftClient.handleAddVoterRequest, handleRemoveVoterRequest (4.2)
    """
    verb = "removing" if call.request.api is apis.REMOVE_RAFT_VOTER else "adding"
    level = call.serving.catalog.features.get("kraft.version", 0)
    return {
        "errorCode": ErrorCode.UNSUPPORTED_VERSION,
        "errorMessage": f"Cluster doesn't support {verb} voter because the kraft.version feature "
        f"is {level}"
        if not level
        else "this node is the only voter",
    }


def unregister_broker(
    call: Call, request: requests.UnregisterBrokerRequestData
) -> responses.UnregisterBrokerResponseData:
    """Refuse: there is no other broker, and this one stays."""
    broker = request["brokerId"]
    if broker == call.serving.catalog.node_id:
        return {
            "errorCode": ErrorCode.INVALID_REQUEST,
            "errorMessage": f"broker {broker} is the only broker",
        }
    return {
        "errorCode": ErrorCode.BROKER_ID_NOT_REGISTERED,
        "errorMessage": f"Broker ID {broker} is not currently registered",
    }


# leaders and replicas


def elect_leaders(
    call: Call, request: requests.ElectLeadersRequestData
) -> responses.ElectLeadersResponseData:
    """Return that no partition needs another leader."""
    asked, catalog = request["topicPartitions"], call.serving.catalog
    if request.get("electionType", 0) not in {0, 1}:  # preferred, unclean
        raise ErrorCode.INVALID_REQUEST.error()
    if asked is None:
        topics = catalog.topics
        call.budget.charge(len(topics), sum(map(len, topics)))
        return {
            "replicaElectionResults": [{"topic": name, "partitionResult": []} for name in topics]
        }
    call.budget.charge(sum(1 + len(topic["partitions"]) for topic in asked))

    def result(topic: str, number: int) -> responses.ElectLeadersResponsePartitionResult:
        logs = catalog.logs_of(topic)
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if logs is None:
            problem = f"No such topic as {topic}"
        elif number not in logs:
            problem = f"No such partition as {topic}-{number}"
        else:
            code = ErrorCode.ELECTION_NOT_NEEDED
            problem = "Leader election not needed for topic partition."
        return {"partitionId": number, "errorCode": code, "errorMessage": problem}

    return {
        "replicaElectionResults": [
            {
                "topic": topic["topic"],
                "partitionResult": [result(topic["topic"], each) for each in topic["partitions"]],
            }
            for topic in asked
        ]
    }


def alter_partition_reassignments(
    call: Call, request: requests.AlterPartitionReassignmentsRequestData
) -> responses.AlterPartitionReassignmentsResponseData:
    """Return that partitions are where they can be: on this broker."""
    asked = request["topics"]
    call.budget.charge(sum(1 + len(topic["partitions"]) for topic in asked))
    answered: responses.AlterPartitionReassignmentsResponseData = {
        "errorMessage": None if asked else "",
        "allowReplicationFactorChange": request.get("allowReplicationFactorChange", True),
    }

    def result(
        topic: str, number: int, replicas: list[int] | None
    ) -> responses.AlterPartitionReassignmentsResponseReassignablePartition:
        try:
            _check_reassignment(call, topic, number, replicas)
        except CoordinatorError as refused:
            problem = refused.problem or None
            return {
                "partitionIndex": number, "errorCode": refused.code, "errorMessage": problem
            }  # fmt: skip
        return {"partitionIndex": number, "errorCode": ErrorCode.NONE}

    answered["responses"] = [
        {
            "name": topic["name"],
            "partitions": [
                result(topic["name"], each["partitionIndex"], each["replicas"])
                for each in topic["partitions"]
            ],
        }
        for topic in asked
    ]
    return answered


def _check_reassignment(call: Call, topic: str, number: int, replicas: list[int] | None) -> None:
    """Check that a partition is to be on this broker alone.

    Raises:
        CoordinatorError: it is not, or nothing is in progress that could be canceled.

    Kafka: ReplicationControlManager.alterPartitionReassignment (4.2)
    """
    catalog = call.serving.catalog
    logs = catalog.logs_of(topic)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if logs is None:
        raise unknown.error(f"Unable to find a topic named {topic}.")
    if number not in logs:
        raise unknown.error(f"Unable to find partition {topic}:{number}.")
    if replicas is None:
        raise ErrorCode.NO_REASSIGNMENT_IN_PROGRESS.error("")
    invalid = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    if not replicas:
        raise invalid.error("The manual partition assignment includes an empty replica list.")
    ordered = sorted(replicas)
    for at, broker in enumerate(ordered):
        if at and ordered[at - 1] == broker:
            raise invalid.error(
                f"The manual partition assignment includes the broker {broker} more than once."
            )
        if broker != catalog.node_id:
            raise invalid.error(
                f"The manual partition assignment includes broker {broker}, but no such broker is "
                "registered."
            )


def list_partition_reassignments(
    call: Call, _request: requests.ListPartitionReassignmentsRequestData
) -> responses.ListPartitionReassignmentsResponseData:
    """Return nothing: no replica moves."""
    del call
    return {"topics": []}


# configurations and features


def list_config_resources(
    call: Call, request: requests.ListConfigResourcesRequestData
) -> responses.ListConfigResourcesResponseData:
    """Return what has a configuration.

    Kafka: ConfigHelper.handleListConfigResourcesRequest (4.2)
    """
    catalog = call.serving.catalog
    kinds = (CLIENT_METRICS, TOPIC, BROKER, BROKER_LOGGER, GROUP)
    asked = request.get("resourceTypes") or kinds
    if call.request.version == _METRICS_ALONE:
        asked = [CLIENT_METRICS]
    if not set(asked) <= set(kinds):
        raise ErrorCode.UNSUPPORTED_VERSION.error()
    stored, node = catalog.stored_configs, {str(catalog.node_id): None}
    names = {
        TOPIC: catalog.topics if TOPIC in asked else _NO_NAMES,
        BROKER: node,
        BROKER_LOGGER: node,
        CLIENT_METRICS: stored.client_metrics,
        GROUP: stored.groups,
    }
    found = [(kind, name) for kind in dict.fromkeys(asked) for name in names[kind]]
    call.budget.charge(len(found), sum(len(name) for _, name in found))
    return {
        "configResources": [{"resourceName": name, "resourceType": kind} for kind, name in found]
    }


_UPGRADE, _SAFE, _UNSAFE = 1, 2, 3  # types of an update


def update_features(
    call: Call, request: requests.UpdateFeaturesRequestData
) -> responses.UpdateFeaturesResponseData:
    """Check the levels that features are to get; one that would change is refused.

    Kafka: FeatureControlManager.updateFeatures (4.2)
    """
    updates = request["featureUpdates"]
    call.budget.charge(len(updates))
    for each in updates:
        problem = _feature_problem(call, each, validates=request.get("validateOnly", False))
        if problem:
            name, level = each["feature"], each["maxVersionLevel"]
            return {
                "errorCode": ErrorCode.INVALID_UPDATE_VERSION,
                "errorMessage": "The update failed for all features since the following feature "
                f"had an error: Invalid update version {level} for feature {name}. {problem}",
            }
    # A broker gives each result the name of its error as the message.
    return {"results": [{"feature": each["feature"], "errorMessage": "NONE"} for each in updates]}


def _feature_problem(
    call: Call, update: requests.UpdateFeaturesRequestFeatureUpdateKey, *, validates: bool
) -> str:
    name, level = update["feature"], update["maxVersionLevel"]
    node, current = call.serving.catalog.node_id, call.serving.catalog.features.get(name, 0)
    kind = _SAFE if update.get("allowDowngrade") else update.get("upgradeType", _UPGRADE)
    if kind not in {_UPGRADE, _SAFE, _UNSAFE}:
        return "The controller does not support the given upgrade type."
    if level < 0:
        return "A feature version cannot be less than 0."
    if name not in FEATURES:
        return f"Local controller {node} does not support this feature."
    low, high = FEATURES[name]
    if level and not low <= level <= high:
        return f"Local controller {node} only supports versions {low}-{high}"
    if level < current and kind == _UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to "
            "either safe or unsafe downgrade."
        )
    if level > current and kind != _UPGRADE:
        return "Can't downgrade to a newer version."
    if level != current and not validates:
        return f"This server does not change it (level {current})."
    return ""


# access


def describe_acls(
    call: Call, request: requests.DescribeAclsRequestData
) -> responses.DescribeAclsResponseData:
    """Return the stored ACLs; without any, refuse as a broker that has no authorizer.

    Kafka: AclApis.handleDescribeAcls (4.2)
    """
    cluster = call.serving.catalog.stored_cluster
    if not cluster.acls:
        problem = "No Authorizer is configured on the broker"
        return {"errorCode": ErrorCode.SECURITY_DISABLED, "errorMessage": problem}
    call.budget.charge(len(cluster.acls))
    return {"errorMessage": None, "resources": acl_resources(cluster, request)}


def change_acls(call: Call, request: Values) -> Values:
    """Refuse: there is no authorizer. Kafka: AclApis.handleCreateAcls, handleDeleteAcls (4.2)."""
    items = request.get("creations") or request.get("filters") or ()
    call.budget.charge(len(items))
    return error_response(call.request, ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")


def describe_client_quotas(
    call: Call, request: requests.DescribeClientQuotasRequestData
) -> responses.DescribeClientQuotasResponseData:
    """Return the stored quotas, once the question is checked.

    Kafka: ClientQuotaCache.describeClientQuotas (4.2)
    """
    kinds: Counter[str] = Counter()
    for each in request["components"]:
        code, problem = _component_problem(each)
        kinds[each["entityType"]] += 1
        if not problem and kinds[each["entityType"]] > 1:
            code = ErrorCode.INVALID_REQUEST
            problem = f"Entity type {each['entityType']} cannot appear more than once in the filter"
            problem += "."
        if problem:
            return {"errorCode": code, "errorMessage": problem, "entries": None}
    if kinds["ip"] and (kinds["user"] or kinds["client-id"]):
        problem = (
            "Invalid entity filter component combination. IP filter component should not be used "
            "with user or clientId filter component."
        )
        code = ErrorCode.INVALID_REQUEST
        return {"errorCode": code, "errorMessage": problem, "entries": None}
    cluster = call.serving.catalog.stored_cluster
    call.budget.charge(len(cluster.quotas))
    components, strict = request["components"], request["strict"]
    return {"errorMessage": "", "entries": quota_entries(cluster, components, strict=strict)}


_ENTITIES: Final = ("user", "client-id", "ip")


def _component_problem(
    component: requests.DescribeClientQuotasRequestComponentData,
) -> tuple[ErrorCode, str]:
    kind, match = component["matchType"], component["match"]
    invalid = ErrorCode.INVALID_REQUEST
    if not component["entityType"]:
        return invalid, "Invalid empty entity type."
    if kind == EXACT and match is None:
        return invalid, "Request specified MATCH_TYPE_EXACT, but set match string to null."
    if kind in {DEFAULT, SPECIFIED} and match is not None:
        name = "MATCH_TYPE_DEFAULT" if kind == DEFAULT else "MATCH_TYPE_SPECIFIED"
        return invalid, f"Request specified {name}, but also specified a match string."
    if kind not in {EXACT, DEFAULT, SPECIFIED}:
        return invalid, f"Unknown match type {kind}"
    if component["entityType"] not in _ENTITIES:
        problem = f"Unsupported entity type {component['entityType']}"
        return ErrorCode.UNSUPPORTED_VERSION, problem
    return ErrorCode.NONE, ""


def describe_user_scram_credentials(
    call: Call, request: requests.DescribeUserScramCredentialsRequestData
) -> responses.DescribeUserScramCredentialsResponseData:
    """Return the users that have a SCRAM credential; without keys and salts.

    Kafka: ScramImage.describe (4.2)
    """
    stored = scram_credentials(call.serving.catalog.stored_cluster)
    named = [each["name"] for each in request["users"] or ()]
    asked = Counter(named or list(stored))
    call.budget.charge(len(asked), sum(map(len, asked)))

    def result(
        name: str,
    ) -> responses.DescribeUserScramCredentialsResponseResult:
        code = ErrorCode.RESOURCE_NOT_FOUND
        problem = f"Attempt to describe a user credential that does not exist: {name}"
        if asked[name] > 1:
            code = ErrorCode.DUPLICATE_RESOURCE
            problem = (
                "Cannot describe SCRAM credentials for the same user twice in a single request: "
                f"{name}"
            )
        elif name in stored:
            return {"user": name, "errorMessage": None, "credentialInfos": stored[name]}
        return {"user": name, "errorCode": code, "errorMessage": problem}

    return {"errorMessage": "", "results": [result(name) for name in asked]}


def refuse_expiry(
    call: Call,
    _request: requests.RenewDelegationTokenRequestData | requests.ExpireDelegationTokenRequestData,
) -> responses.RenewDelegationTokenResponseData | responses.ExpireDelegationTokenResponseData:
    """Refuse to change when a delegation token expires: there is none.

    Kafka: DelegationTokenManager.renewToken, expireToken (4.2)
    """
    return {"errorCode": _token_error(call), "expiryTimestampMs": -1}


def refuse_tokens(call: Call, _request: object) -> NoReturn:
    """Refuse: there is no secret key for delegation tokens.

    Kafka: KafkaApis.allowTokenRequests, DelegationTokenManager (4.2)
    """
    raise _token_error(call).error()


def _token_error(call: Call) -> ErrorCode:
    if call.serving.has_users:
        return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


HANDLERS: Final[Mapping[int, Served]] = {
    apis.DESCRIBE_QUORUM.key: Served(describe_quorum),
    apis.ADD_RAFT_VOTER.key: Served(change_voters),
    apis.REMOVE_RAFT_VOTER.key: Served(change_voters),
    apis.UNREGISTER_BROKER.key: Served(unregister_broker),
    apis.ELECT_LEADERS.key: Served(elect_leaders),
    apis.ALTER_PARTITION_REASSIGNMENTS.key: Served(alter_partition_reassignments),
    apis.LIST_PARTITION_REASSIGNMENTS.key: Served(list_partition_reassignments),
    apis.LIST_CONFIG_RESOURCES.key: Served(list_config_resources),
    apis.UPDATE_FEATURES.key: Served(update_features),
    apis.DESCRIBE_ACLS.key: Served(describe_acls),
    apis.CREATE_ACLS.key: Served(change_acls),
    apis.DELETE_ACLS.key: Served(change_acls),
    apis.DESCRIBE_CLIENT_QUOTAS.key: Served(describe_client_quotas),
    apis.DESCRIBE_USER_SCRAM_CREDENTIALS.key: Served(describe_user_scram_credentials),
    apis.DESCRIBE_DELEGATION_TOKEN.key: Served(refuse_tokens),
    apis.CREATE_DELEGATION_TOKEN.key: Served(refuse_tokens),
    apis.RENEW_DELEGATION_TOKEN.key: Served(refuse_expiry),
    apis.EXPIRE_DELEGATION_TOKEN.key: Served(refuse_expiry),
}
