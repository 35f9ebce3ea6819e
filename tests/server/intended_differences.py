"""What a server of stored data answers otherwise than a broker by intent, and why."""

import time
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np

from tests.server.asking import Values
from tests.server.golden_broker import EMPTIED, OF_FILE
from workbench.log.producers.batches import TransactionMarker
from workbench.server.protocol import api_keys as apis
from workbench.server.protocol.api import Api


def unify(api: Api, asked: Values, response: Values) -> Values:
    """Return a response without what differs by intent; each function here says why it does."""
    response.pop("throttleTimeMs", None)
    if api is apis.API_VERSIONS:
        _unify_versions(response)
    _unify_rights(response)
    _unify_addresses(response)
    for each in response.get("results", ()):
        _unify_log_dir(each)
        _unify_configs(each.get("configs", ()))
    if api is apis.DESCRIBE_PRODUCERS:
        _unify_producers(response)
    if api is apis.LIST_OFFSETS:
        _unify_offsets(response)
    response = _sorted(response)
    if api is apis.FETCH:
        response["responses"] = _merged(response["responses"])
        for topic in response["responses"]:
            for partition in topic["partitions"]:
                _unify_fetched(partition, is_committed=asked["isolationLevel"] == 1)
    return response


def unify_admin(api: Api, response: Values) -> Values:
    """Return an answer to an administrator without times, and how far a metadata log is."""
    response.pop("throttleTimeMs", None)
    if api is apis.DESCRIBE_QUORUM:
        for each in (each for topic in response["topics"] for each in topic["partitions"]):
            each |= {"leaderEpoch": 0, "highWatermark": 0}
            for voter in each["currentVoters"]:
                times = voter.keys() & {"lastFetchTimestamp", "lastCaughtUpTimestamp"}
                voter |= {"logEndOffset": 0, **dict.fromkeys(times, 0)}
        for node in response.get("nodes", ()):
            for listener in node["listeners"]:
                listener["port"] = 0
    unified: Values = _sorted(response)
    return unified


_RIGHTS: Final = {
    "topicAuthorizedOperations", "clusterAuthorizedOperations", "authorizedOperations"
}  # fmt: skip
_READ_RIGHTS: Final = -(1 << 31) | 1 << 3 | 1 << 8 | 1 << 10


def _unify_rights(response: Values) -> None:
    """Leave out the rights to write: nobody has them where data is only read."""
    for each in (response, *response.get("topics", ()), *response.get("groups", ())):
        for field in each.keys() & _RIGHTS:
            each[field] = each[field] & _READ_RIGHTS


def _unify_versions(response: Values) -> None:
    """Leave out which requests are answered, and how far a metadata log is that a broker goes on.

    The versions of requests have a test of their own.
    """
    response |= {"apiKeys": None, "finalizedFeaturesEpoch": None}


def _unify_addresses(response: Values) -> None:
    """Leave out the ports; the host is the same."""
    lists = (response.get(name, ()) for name in ("nodeEndpoints", "brokers", "coordinators"))
    for each in (response, *(each for found in lists for each in found)):
        if "port" in each:
            each["port"] = 0


def _unify_log_dir(result: Values) -> None:
    """Leave out the folder, what others write to the disk, and the log of the coordinator.

    A broker writes to that while it asks for the members of groups in vain.
    """
    if "logDir" in result:
        result |= {"logDir": "", "usableBytes": 0}
        for topic in result["topics"]:
            for partition in topic["partitions"] if topic["name"] == "__consumer_offsets" else ():
                partition["partitionSize"] = 0


def _unify_configs(configs: Iterable[Values]) -> None:
    """Leave out what comes from the broker's own file, which is not in the directory."""
    for each in configs:
        if each["name"] in OF_FILE:
            each |= {"value": None, "configSource": None, "isDefault": None, "synonyms": None}


def _unify_producers(response: Values) -> None:
    """Leave out producers that wrote nothing for 24 days: a broker forgets them when it starts."""
    for topic in response["topics"]:
        for partition in topic["partitions"]:
            partition["activeProducers"] = [
                each
                for each in partition["activeProducers"]
                if each["currentTxnStartOffset"] >= 0
                or time.time() * 1000 - each["lastTimestamp"] < (1 << 31) - 1
            ]


def _merged(topics: list[Values]) -> list[Values]:
    """Join the parts of a topic: a broker tells partitions that do not exist after all others."""
    found: dict[str, Values] = {}
    for topic in topics:
        name = topic.get("topicId") or topic["topic"]
        known = found.setdefault(name, {**topic, "partitions": []})
        known["partitions"] += topic["partitions"]
    merged: list[Values] = _sorted(list(found.values()))
    return merged


def _unify_offsets(response: Values) -> None:
    """Leave out a topic that a cleaner has emptied in part.

    A broker looks for a time in the first segment whose largest time reaches it; one without any
    has that of its file. There it finds nothing, and looks no further.
    """
    for topic in response["topics"]:
        if topic["name"] == EMPTIED:
            topic["partitions"] = []


def _unify_fetched(partition: Values, *, is_committed: bool) -> None:
    """Leave out what a broker sends beyond whole batches, and what clients do not use.

    It cuts the last batch at the limit, and clients drop the piece. Of the aborted transactions, it
    also names some that begin after the records, because it looks up the end of them in the offset
    index, and those whose records the cleaner has removed. What counts are the batches that a
    consumer skips. The last stable offset of stored data is only known after a walk through the
    whole log, which is not done for clients that do not need it.
    """
    whole = list(batches(partition["records"] or b""))
    partition["records"] = b"".join(whole)
    aborted = partition.get("abortedTransactions") or []
    partition["abortedTransactions"] = _skipped(whole, aborted)
    if not is_committed:
        partition["lastStableOffset"] = None


def batches(data: bytes) -> Iterator[bytes]:
    """Yield the whole batches of a response."""
    at = 0
    while at + 61 <= len(data):
        size = 12 + int.from_bytes(data[at + 8 : at + 12])
        if at + size > len(data):
            break
        yield data[at : at + size]
        at += size


def _skipped(whole: list[bytes], aborted: list[Values]) -> list[int]:
    """Return the base offsets of batches that a read_committed consumer skips.

    Kafka: CompletedFetch.nextFetchedRecord (4.2)
    """
    waiting = sorted(aborted, key=lambda each: each["firstOffset"], reverse=True)
    producers: set[int] = set()
    found = []
    for data in whole:
        base = int.from_bytes(data[:8])
        last = base + int.from_bytes(data[23:27])
        producer = int.from_bytes(data[43:51], signed=True)
        while waiting and waiting[-1]["firstOffset"] <= last:
            producers.add(waiting.pop()["producerId"])
        is_transactional, is_control = data[22] & 0x10, data[22] & 0x20
        if is_control and int.from_bytes(data[57:61]):
            if TransactionMarker.read(np.frombuffer(data, np.uint8)).is_abort:
                producers.discard(producer)
        elif is_transactional and producer in producers:
            found.append(base)
    return found


def _sorted(value: Any) -> Any:
    """Return a value with its lists in order: a broker's are in that of its hash maps."""
    if isinstance(value, dict):
        return {key: _sorted(each) for key, each in value.items()}
    if isinstance(value, list):
        return sorted(map(_sorted, value), key=_identity)
    return value


_NAMES: Final = (
    "topicId", "topic", "name", "topicName", "partitionIndex", "partition", "groupId", "memberId",
    "transactionalId", "producerId", "firstOffset", "key", "resourceName", "logDir",
    "resourceType",
)  # fmt: skip


def _identity(value: Any) -> str:
    if not isinstance(value, dict):
        return repr(value)
    return repr([value.get(name) for name in _NAMES])
