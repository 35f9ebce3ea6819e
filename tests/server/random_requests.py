"""Random requests about the logs of a server, some of them wrong."""

import random
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tests.server.asking import Asker, Values
from workbench.server.protocol import api_keys as apis
from workbench.server.protocol.api import Api

STRANGER: Final = "x" * 21 + "A"  # a topic id that no topic has
SOFTWARE: Final = {"clientSoftwareName": "test", "clientSoftwareVersion": "1"}


class Log(NamedTuple):
    """A log, with its offsets and the least and largest time of its batches."""

    topic: str
    topic_id: str
    partition: int
    start: int
    end: int
    epoch: int
    times: tuple[int, int]


class Sides:
    """The broker and the server, asked the same."""

    def __init__(self, broker: Asker, server: Asker, logs: list[Log]) -> None:
        self.broker = broker
        self.server = server
        self.logs = logs
        self.names = sorted({log.topic for log in logs})
        found = broker.ask(apis.API_VERSIONS, 3, SOFTWARE)
        self.versions = {
            each["apiKey"]: (each["minVersion"], each["maxVersion"]) for each in found["apiKeys"]
        }
        listed = server.ask(apis.LIST_GROUPS, 5, {})["groups"]
        self.groups = [*sorted(each["groupId"] for each in listed), "no-such-group"]
        listed = server.ask(apis.LIST_TRANSACTIONS, 0, {})["transactionStates"]
        self.transactional_ids = [*(each["transactionalId"] for each in listed), "no-such-id", ""]
        self.producer_ids = [each["producerId"] for each in listed]

    def version(self, api: Api, chance: random.Random) -> int:
        """Return a version that both answer."""
        low, high = self.versions[api.key]
        return chance.randint(max(low, api.lowest), min(high, api.highest))


Asked = tuple[Api, int, Values]


def some(chance: random.Random, of: list[Any], most: int = 3) -> list[Any]:
    """Return a few of a list."""
    return chance.sample(of, min(len(of), chance.randint(0 if most > 1 else 1, most)))


def topics_of(sides: Sides, chance: random.Random, version: int, ids_since: int) -> list[Values]:
    """Return some topics, by name or id, each with some partitions; a few do not exist."""
    found: dict[str, Values] = {}
    for log in some(chance, sides.logs, 5):
        entry = found.setdefault(
            log.topic, {"name": log.topic, "topic": log.topic, "topicId": log.topic_id, "logs": []}
        )
        entry["logs"].append(log)
    for entry in found.values():
        if chance.random() < 0.1:
            entry["logs"].append(entry["logs"][0]._replace(partition=77))
    if chance.random() < 0.1:
        log = sides.logs[0]._replace(topic="nothing", topic_id=STRANGER)
        found["nothing"] = {
            "name": "nothing", "topic": "nothing", "topicId": STRANGER, "logs": [log]
        }  # fmt: skip
    for each in found.values():
        if version < ids_since:
            del each["topicId"]
    return list(found.values())


def an_offset(chance: random.Random, log: Log) -> int:
    inside = chance.randint(log.start, max(log.end, log.start))
    return chance.choice([inside] * 6 + [log.start, log.end, log.end + 1, log.start - 1, 0])


def an_epoch(chance: random.Random, log: Log) -> int:
    return chance.choice([-1] * 5 + [log.epoch] * 3 + [log.epoch + 1, log.epoch - 1])


def a_time(chance: random.Random, log: Log) -> int:
    first, last = log.times
    inside = chance.randint(min(first, last), last)
    beyond = min(last, 1 << 62) + 1
    return chance.choice([inside] * 6 + [-1, -2, -3, -4, -5, -6, -7, 0, 1 << 60, last, beyond])


def fetch(sides: Sides, chance: random.Random) -> Asked:
    api = apis.FETCH
    version = sides.version(api, chance)
    topics = topics_of(sides, chance, version, 13)
    for topic in topics:
        topic["partitions"] = [
            {
                "partition": log.partition,
                "currentLeaderEpoch": an_epoch(chance, log),
                "fetchOffset": an_offset(chance, log),
                "partitionMaxBytes": chance.choice([0, 1, 100, 5000, 1 << 20]),
            }
            for log in topic["logs"]
        ]
    return api, version, {
        "replicaId": -1,
        "minBytes": chance.choice([0, 1]),
        "maxBytes": chance.choice([0, 1, 3000, 1 << 20, 1 << 30]),
        "isolationLevel": chance.randint(0, 1),
        "sessionEpoch": -1,
        "topics": topics,
    }  # fmt: skip


def list_offsets(sides: Sides, chance: random.Random) -> Asked:
    api = apis.LIST_OFFSETS
    version = sides.version(api, chance)
    topics = topics_of(sides, chance, version, 99)
    for topic in topics:
        topic["partitions"] = [
            {
                "partitionIndex": log.partition,
                "currentLeaderEpoch": an_epoch(chance, log),
                "timestamp": chance.choice(
                    [chance.randint(*log.times) if log.times[1] >= log.times[0] else 0] * 6
                    + [
                        -1,
                        -2,
                        -3,
                        -4,
                        -5,
                        -6,
                        -7,
                        0,
                        1 << 60,
                        log.times[1],
                        min(log.times[1], 1 << 62) + 1,
                    ]
                ),
            }
            for log in topic["logs"]
        ]
    level = chance.randint(0, 1)
    return api, version, {"replicaId": -1, "isolationLevel": level, "topics": topics}


def epochs(sides: Sides, chance: random.Random) -> Asked:
    api = apis.OFFSET_FOR_LEADER_EPOCH
    version = sides.version(api, chance)
    topics = topics_of(sides, chance, version, 99)
    for topic in topics:
        topic["partitions"] = [
            {
                "partition": log.partition,
                "currentLeaderEpoch": an_epoch(chance, log),
                "leaderEpoch": chance.choice([-1, 0, 1, log.epoch, log.epoch + 1, 99]),
            }
            for log in topic["logs"]
        ]
    return api, version, {"topics": topics}


def metadata(sides: Sides, chance: random.Random) -> Asked:
    api = apis.METADATA
    version = sides.version(api, chance)
    names = [*some(chance, sides.names), *some(chance, ["nothing", "a b"], 1)]
    topics: list[Values] | None = [{"name": name} for name in names]
    if version >= 12 and chance.random() < 0.4:
        ids = [log.topic_id for log in some(chance, sides.logs)] + [STRANGER]
        topics = [{"name": None, "topicId": each} for each in dict.fromkeys(ids)]
    if version >= 1 and chance.random() < 0.2:
        topics = None
    return api, version, {
        "topics": topics,
        "allowAutoTopicCreation": False,
        "includeTopicAuthorizedOperations": chance.random() < 0.5,
        "includeClusterAuthorizedOperations": chance.random() < 0.5,
    }  # fmt: skip


def topic_partitions(sides: Sides, chance: random.Random) -> Asked:
    names = [*some(chance, sides.names), *some(chance, ["nothing", "a b"], 1)]
    cursor = None
    if chance.random() < 0.4:
        name = chance.choice([*names, *sides.names])
        cursor = {"topicName": name, "partitionIndex": chance.choice([0, 1, 2, 9, -1])}
    return apis.DESCRIBE_TOPIC_PARTITIONS, 0, {
        "topics": [{"name": name} for name in names],
        "responsePartitionLimit": chance.choice([0, 1, 2, 5, 5000]),
        "cursor": cursor,
    }  # fmt: skip


def cluster(sides: Sides, chance: random.Random) -> Asked:
    api = apis.DESCRIBE_CLUSTER
    return api, sides.version(api, chance), {
        "includeClusterAuthorizedOperations": chance.random() < 0.5
    }  # fmt: skip


def coordinator(sides: Sides, chance: random.Random) -> Asked:
    api = apis.FIND_COORDINATOR
    version = sides.version(api, chance)
    names = some(chance, ["a", "g-one", "tx-a"])
    kind = chance.choice([0, 0, 1, 1, 7])
    return api, version, {"key": "a", "keyType": kind, "coordinatorKeys": names}


def offset_fetch(sides: Sides, chance: random.Random) -> Asked:
    """Not of stable offsets alone: of stored data, nobody waits for transactions without an end."""
    api = apis.OFFSET_FETCH
    version = sides.version(api, chance)

    def topics() -> list[Values] | None:
        if version >= 2 and chance.random() < 0.4:
            return None
        found = topics_of(sides, chance, version, 10)
        for topic in found:
            topic["partitionIndexes"] = [log.partition for log in topic["logs"]]
        return found

    groups = some(chance, sides.groups)
    return api, version, {
        "groupId": chance.choice(sides.groups),
        "topics": topics(),
        "groups": [{"groupId": name, "topics": topics()} for name in groups],
    }  # fmt: skip


def groups(sides: Sides, chance: random.Random) -> Asked:
    api = chance.choice([apis.DESCRIBE_GROUPS, apis.CONSUMER_GROUP_DESCRIBE])
    names = some(chance, sides.groups)
    return api, sides.version(api, chance), {
        "groups": names,
        "groupIds": names,
        "includeAuthorizedOperations": chance.random() < 0.5,
    }  # fmt: skip


def list_groups(sides: Sides, chance: random.Random) -> Asked:
    api = apis.LIST_GROUPS
    return api, sides.version(api, chance), {
        "statesFilter": some(chance, ["Stable", "empty", "Assigning", "Nonsense"], 2),
        "typesFilter": some(chance, ["classic", "Consumer", "share"], 2),
    }  # fmt: skip


def configs(sides: Sides, chance: random.Random) -> Asked:
    api = apis.DESCRIBE_CONFIGS
    resources = [(2, name) for name in (*sides.names, "nothing", "a b", "x" * 250)]
    resources += [(4, name) for name in ("1", "", "7", "word")]
    resources += [(8, name) for name in ("7", "word", "")]  # the loggers of "1" are a broker's
    resources += [(16, "some"), (16, ""), (32, "g-one"), (32, ""), (0, "x"), (99, "x")]
    keys = chance.choice([None, ["retention.ms", "segment.bytes", "log.roll.ms", "nonsense"], []])
    return api, sides.version(api, chance), {
        "resources": [
            {"resourceType": kind, "resourceName": name, "configurationKeys": keys}
            for kind, name in some(chance, resources)
        ],
        "includeSynonyms": chance.random() < 0.5,
        "includeDocumentation": False,
    }  # fmt: skip


def log_dirs(sides: Sides, chance: random.Random) -> Asked:
    api = apis.DESCRIBE_LOG_DIRS
    topics: list[Values] | None = None
    if chance.random() < 0.7:
        topics = topics_of(sides, chance, 0, 99)
        for topic in topics:
            topic["partitions"] = [log.partition for log in topic["logs"]]
    return api, sides.version(api, chance), {"topics": topics}


def producers(sides: Sides, chance: random.Random) -> Asked:
    topics = topics_of(sides, chance, 0, 99)
    for topic in topics:
        topic["partitionIndexes"] = [log.partition for log in topic["logs"]]
    return apis.DESCRIBE_PRODUCERS, 0, {"topics": topics}


def transactions(sides: Sides, chance: random.Random) -> Asked:
    if chance.random() < 0.5:
        asked = {"transactionalIds": some(chance, sides.transactional_ids)}
        return apis.DESCRIBE_TRANSACTIONS, 0, asked
    api = apis.LIST_TRANSACTIONS
    version = sides.version(api, chance)
    return api, version, {
        "stateFilters": some(chance, ["Ongoing", "Empty", "CompleteCommit", "Nonsense"], 2),
        "producerIdFilters": some(chance, sides.producer_ids, 2),
        "durationFilter": chance.choice([-1, -1, 0, 1 << 50]),
        "transactionalIdPattern": chance.choice([None, "", "tx-[ab]", ".*-b", "(", "t.*"]),
    }  # fmt: skip


def versions(sides: Sides, chance: random.Random) -> Asked:
    api = apis.API_VERSIONS
    return api, sides.version(api, chance), SOFTWARE


Make = Callable[[Sides, random.Random], Asked]
KINDS: Final[dict[Make, int]] = {
    fetch: 10, list_offsets: 6, epochs: 3, metadata: 3, topic_partitions: 2, cluster: 1,
    coordinator: 1, offset_fetch: 3, groups: 3, list_groups: 1, configs: 2, log_dirs: 2,
    producers: 2, transactions: 2, versions: 1,
}  # fmt: skip
