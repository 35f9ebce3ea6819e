"""Every kind of request that the server answers, by its key: name, key, lowest and highest version.

Kafka: ApiKeys (4.3)
"""

from typing import Final

from workbench.server.protocol.api import Api

API_KEYS: Final[dict[int, Api]] = {}
"""Every kind of request that is below, by its key."""


def _served(name: str, key: int, lowest: int, highest: int) -> Api:
    api = API_KEYS[key] = Api(name, key, lowest, highest)
    return api


# About the cluster
API_VERSIONS: Final = _served("ApiVersions", 18, 0, 4)
METADATA: Final = _served("Metadata", 3, 0, 13)
DESCRIBE_TOPIC_PARTITIONS: Final = _served("DescribeTopicPartitions", 75, 0, 0)
DESCRIBE_CLUSTER: Final = _served("DescribeCluster", 60, 0, 2)
DESCRIBE_CONFIGS: Final = _served("DescribeConfigs", 32, 0, 4)
ALTER_REPLICA_LOG_DIRS: Final = _served("AlterReplicaLogDirs", 34, 1, 2)
DESCRIBE_LOG_DIRS: Final = _served("DescribeLogDirs", 35, 0, 4)

# About the records of partitions
FETCH: Final = _served("Fetch", 1, 4, 18)
LIST_OFFSETS: Final = _served("ListOffsets", 2, 1, 11)
OFFSET_FOR_LEADER_EPOCH: Final = _served("OffsetForLeaderEpoch", 23, 0, 4)

# About groups
FIND_COORDINATOR: Final = _served("FindCoordinator", 10, 0, 6)
JOIN_GROUP: Final = _served("JoinGroup", 11, 0, 9)
SYNC_GROUP: Final = _served("SyncGroup", 14, 0, 5)
HEARTBEAT: Final = _served("Heartbeat", 12, 0, 4)
LEAVE_GROUP: Final = _served("LeaveGroup", 13, 0, 5)
OFFSET_COMMIT: Final = _served("OffsetCommit", 8, 2, 10)
OFFSET_FETCH: Final = _served("OffsetFetch", 9, 1, 10)
DESCRIBE_GROUPS: Final = _served("DescribeGroups", 15, 0, 6)
LIST_GROUPS: Final = _served("ListGroups", 16, 0, 5)
CONSUMER_GROUP_DESCRIBE: Final = _served("ConsumerGroupDescribe", 69, 0, 1)
CONSUMER_GROUP_HEARTBEAT: Final = _served("ConsumerGroupHeartbeat", 68, 0, 1)

# About producers and their transactions
INIT_PRODUCER_ID: Final = _served("InitProducerId", 22, 0, 5)
ADD_PARTITIONS_TO_TXN: Final = _served("AddPartitionsToTxn", 24, 0, 5)
ADD_OFFSETS_TO_TXN: Final = _served("AddOffsetsToTxn", 25, 0, 4)
END_TXN: Final = _served("EndTxn", 26, 0, 5)
TXN_OFFSET_COMMIT: Final = _served("TxnOffsetCommit", 28, 0, 5)
WRITE_TXN_MARKERS: Final = _served("WriteTxnMarkers", 27, 1, 2)
DESCRIBE_PRODUCERS: Final = _served("DescribeProducers", 61, 0, 0)
DESCRIBE_TRANSACTIONS: Final = _served("DescribeTransactions", 65, 0, 0)
LIST_TRANSACTIONS: Final = _served("ListTransactions", 66, 0, 2)

# Topics, configurations and groups: what changes them
PRODUCE: Final = _served("Produce", 0, 0, 13)
CREATE_TOPICS: Final = _served("CreateTopics", 19, 0, 7)
DELETE_TOPICS: Final = _served("DeleteTopics", 20, 0, 6)
DELETE_RECORDS: Final = _served("DeleteRecords", 21, 0, 2)
ALTER_CONFIGS: Final = _served("AlterConfigs", 33, 0, 2)
CREATE_PARTITIONS: Final = _served("CreatePartitions", 37, 0, 3)
DELETE_GROUPS: Final = _served("DeleteGroups", 42, 0, 2)
INCREMENTAL_ALTER_CONFIGS: Final = _served("IncrementalAlterConfigs", 44, 0, 1)
OFFSET_DELETE: Final = _served("OffsetDelete", 47, 0, 0)

# What administrators ask beside topics
DESCRIBE_QUORUM: Final = _served("DescribeQuorum", 55, 0, 2)
LIST_CONFIG_RESOURCES: Final = _served("ListConfigResources", 74, 0, 1)
ELECT_LEADERS: Final = _served("ElectLeaders", 43, 0, 2)
ALTER_PARTITION_REASSIGNMENTS: Final = _served("AlterPartitionReassignments", 45, 0, 1)
LIST_PARTITION_REASSIGNMENTS: Final = _served("ListPartitionReassignments", 46, 0, 0)
DESCRIBE_ACLS: Final = _served("DescribeAcls", 29, 1, 3)
CREATE_ACLS: Final = _served("CreateAcls", 30, 1, 3)
DELETE_ACLS: Final = _served("DeleteAcls", 31, 1, 3)
UPDATE_FEATURES: Final = _served("UpdateFeatures", 57, 0, 2)
DESCRIBE_CLIENT_QUOTAS: Final = _served("DescribeClientQuotas", 48, 0, 1)
DESCRIBE_USER_SCRAM_CREDENTIALS: Final = _served("DescribeUserScramCredentials", 50, 0, 0)
UNREGISTER_BROKER: Final = _served("UnregisterBroker", 64, 0, 0)
DESCRIBE_DELEGATION_TOKEN: Final = _served("DescribeDelegationToken", 41, 1, 3)
CREATE_DELEGATION_TOKEN: Final = _served("CreateDelegationToken", 38, 1, 3)
RENEW_DELEGATION_TOKEN: Final = _served("RenewDelegationToken", 39, 1, 2)
EXPIRE_DELEGATION_TOKEN: Final = _served("ExpireDelegationToken", 40, 1, 2)
ADD_RAFT_VOTER: Final = _served("AddRaftVoter", 80, 0, 1)
REMOVE_RAFT_VOTER: Final = _served("RemoveRaftVoter", 81, 0, 0)

# Requests of a client that says who it is
SASL_HANDSHAKE: Final = _served("SaslHandshake", 17, 0, 1)
SASL_AUTHENTICATE: Final = _served("SaslAuthenticate", 36, 0, 2)
