"""Every kind of request that the server answers, by its key: name, key, lowest and highest version.

Kafka: ApiKeys (4.3)
"""

from collections.abc import Mapping
from typing import Final

from workbench.server.protocol.api import Api

# About the cluster
API_VERSIONS: Final = Api("ApiVersions", 18, 0, 4)
METADATA: Final = Api("Metadata", 3, 0, 13)
DESCRIBE_TOPIC_PARTITIONS: Final = Api("DescribeTopicPartitions", 75, 0, 0)
DESCRIBE_CLUSTER: Final = Api("DescribeCluster", 60, 0, 2)
DESCRIBE_CONFIGS: Final = Api("DescribeConfigs", 32, 0, 4)
ALTER_REPLICA_LOG_DIRS: Final = Api("AlterReplicaLogDirs", 34, 1, 2)
DESCRIBE_LOG_DIRS: Final = Api("DescribeLogDirs", 35, 0, 4)

# About the records of partitions
FETCH: Final = Api("Fetch", 1, 4, 18)
LIST_OFFSETS: Final = Api("ListOffsets", 2, 1, 11)
OFFSET_FOR_LEADER_EPOCH: Final = Api("OffsetForLeaderEpoch", 23, 0, 4)

# About groups
FIND_COORDINATOR: Final = Api("FindCoordinator", 10, 0, 6)
JOIN_GROUP: Final = Api("JoinGroup", 11, 0, 9)
SYNC_GROUP: Final = Api("SyncGroup", 14, 0, 5)
HEARTBEAT: Final = Api("Heartbeat", 12, 0, 4)
LEAVE_GROUP: Final = Api("LeaveGroup", 13, 0, 5)
OFFSET_COMMIT: Final = Api("OffsetCommit", 8, 2, 10)
OFFSET_FETCH: Final = Api("OffsetFetch", 9, 1, 10)
DESCRIBE_GROUPS: Final = Api("DescribeGroups", 15, 0, 6)
LIST_GROUPS: Final = Api("ListGroups", 16, 0, 5)
CONSUMER_GROUP_DESCRIBE: Final = Api("ConsumerGroupDescribe", 69, 0, 1)
CONSUMER_GROUP_HEARTBEAT: Final = Api("ConsumerGroupHeartbeat", 68, 0, 1)

# About producers and their transactions
INIT_PRODUCER_ID: Final = Api("InitProducerId", 22, 0, 5)
ADD_PARTITIONS_TO_TXN: Final = Api("AddPartitionsToTxn", 24, 0, 5)
ADD_OFFSETS_TO_TXN: Final = Api("AddOffsetsToTxn", 25, 0, 4)
END_TXN: Final = Api("EndTxn", 26, 0, 5)
TXN_OFFSET_COMMIT: Final = Api("TxnOffsetCommit", 28, 0, 5)
WRITE_TXN_MARKERS: Final = Api("WriteTxnMarkers", 27, 1, 2)
DESCRIBE_PRODUCERS: Final = Api("DescribeProducers", 61, 0, 0)
DESCRIBE_TRANSACTIONS: Final = Api("DescribeTransactions", 65, 0, 0)
LIST_TRANSACTIONS: Final = Api("ListTransactions", 66, 0, 2)

# Topics, configurations and groups: what changes them
PRODUCE: Final = Api("Produce", 0, 0, 13)
CREATE_TOPICS: Final = Api("CreateTopics", 19, 0, 7)
DELETE_TOPICS: Final = Api("DeleteTopics", 20, 0, 6)
DELETE_RECORDS: Final = Api("DeleteRecords", 21, 0, 2)
ALTER_CONFIGS: Final = Api("AlterConfigs", 33, 0, 2)
CREATE_PARTITIONS: Final = Api("CreatePartitions", 37, 0, 3)
DELETE_GROUPS: Final = Api("DeleteGroups", 42, 0, 2)
INCREMENTAL_ALTER_CONFIGS: Final = Api("IncrementalAlterConfigs", 44, 0, 1)
OFFSET_DELETE: Final = Api("OffsetDelete", 47, 0, 0)

# What administrators ask beside topics
DESCRIBE_QUORUM: Final = Api("DescribeQuorum", 55, 0, 2)
LIST_CONFIG_RESOURCES: Final = Api("ListConfigResources", 74, 0, 1)
ELECT_LEADERS: Final = Api("ElectLeaders", 43, 0, 2)
ALTER_PARTITION_REASSIGNMENTS: Final = Api("AlterPartitionReassignments", 45, 0, 1)
LIST_PARTITION_REASSIGNMENTS: Final = Api("ListPartitionReassignments", 46, 0, 0)
DESCRIBE_ACLS: Final = Api("DescribeAcls", 29, 1, 3)
CREATE_ACLS: Final = Api("CreateAcls", 30, 1, 3)
DELETE_ACLS: Final = Api("DeleteAcls", 31, 1, 3)
UPDATE_FEATURES: Final = Api("UpdateFeatures", 57, 0, 2)
DESCRIBE_CLIENT_QUOTAS: Final = Api("DescribeClientQuotas", 48, 0, 1)
DESCRIBE_USER_SCRAM_CREDENTIALS: Final = Api("DescribeUserScramCredentials", 50, 0, 0)
UNREGISTER_BROKER: Final = Api("UnregisterBroker", 64, 0, 0)
DESCRIBE_DELEGATION_TOKEN: Final = Api("DescribeDelegationToken", 41, 1, 3)
CREATE_DELEGATION_TOKEN: Final = Api("CreateDelegationToken", 38, 1, 3)
RENEW_DELEGATION_TOKEN: Final = Api("RenewDelegationToken", 39, 1, 2)
EXPIRE_DELEGATION_TOKEN: Final = Api("ExpireDelegationToken", 40, 1, 2)
ADD_RAFT_VOTER: Final = Api("AddRaftVoter", 80, 0, 1)
REMOVE_RAFT_VOTER: Final = Api("RemoveRaftVoter", 81, 0, 0)

# Requests of a client that says who it is
SASL_HANDSHAKE: Final = Api("SaslHandshake", 17, 0, 1)
SASL_AUTHENTICATE: Final = Api("SaslAuthenticate", 36, 0, 2)

API_KEYS: Final[Mapping[int, Api]] = {
    each.key: each for each in list(globals().values()) if isinstance(each, Api)
}
