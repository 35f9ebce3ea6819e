"""Committed offsets of groups; with stored data new ones are kept in memory alone.

Kafka: KafkaApis.handleOffsetCommitRequest, handleOffsetFetchRequest, handleOffsetDeleteRequest
(4.2)
"""

from collections.abc import Mapping
from typing import Final

from workbench.coordinator.offsets.offset_metadata_manager import (
    UNKNOWN_OFFSET,
    FetchedOffset,
    OffsetCommit,
)
from workbench.errors import CoordinatorError
from workbench.files.names import TopicPartition
from workbench.record.message_schema import NULL_UUID
from workbench.runtime.error_codes import ErrorCode
from workbench.server.handlers.topics_by_id import key_of, name_of
from workbench.server.protocol import api_keys as apis
from workbench.server.protocol import requests, responses
from workbench.server.serving import Call, Served

_NO_EPOCH: Final = -1
_REQUEST_GROUPS_SINCE: Final = 8  # version of OffsetFetch
_IDS_SINCE: Final = 10


def offset_commit(
    call: Call, request: requests.OffsetCommitRequestData
) -> responses.OffsetCommitResponseData:
    """Commit offsets for this session."""
    values = request
    topics = [(topic, name_of(call.serving.catalog, topic)) for topic in values["topics"]]
    commits = {
        TopicPartition(name, each["partitionIndex"]): OffsetCommit(
            each["committedOffset"],
            _epoch(each.get("committedLeaderEpoch", _NO_EPOCH)),
            each["committedMetadata"],
            topic_id=topic_id
            if (topic_id := topic.get("topicId", NULL_UUID)) != NULL_UUID
            else None,
        )
        for topic, name in topics
        if name is not None
        for each in topic["partitions"]
    }
    codes = call.serving.groups.commit(
        values["groupId"],
        commits,
        member_id=values["memberId"],
        generation=values["generationIdOrMemberEpoch"],
        group_instance_id=values.get("groupInstanceId"),
        api_version=call.request.version,
    )

    def code_of(name: str | None, number: int) -> ErrorCode:
        if name is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        return codes[TopicPartition(name, number)]

    return {
        "topics": [
            {
                **key_of(topic),
                "partitions": [
                    {
                        "partitionIndex": each["partitionIndex"],
                        "errorCode": code_of(name, each["partitionIndex"]),
                    }
                    for each in topic["partitions"]
                ],
            }
            for topic, name in topics
        ]
    }


def _epoch(number: int) -> int | None:
    return None if number < 0 else number


def offset_fetch(
    call: Call, request: requests.OffsetFetchRequestData
) -> responses.OffsetFetchResponseData:
    """Return committed offsets of this session, or those on the disk."""
    values = request
    is_stable = values.get("requireStable", False)
    if call.request.version < _REQUEST_GROUPS_SINCE:
        named: list[requests.OffsetFetchRequestTopics] | None = None
        if values["topics"] is not None:
            named = [
                {"name": each["name"], "partitionIndexes": each["partitionIndexes"]}
                for each in values["topics"]
            ]
        topics, code = _fetch_group(call, values["groupId"], named, is_stable)
        return {"topics": topics, "errorCode": code}
    groups: list[responses.OffsetFetchResponseGroup] = []
    for asked in {each["groupId"]: each for each in values["groups"]}.values():
        member = (asked.get("memberId"), asked.get("memberEpoch", _NO_EPOCH))
        topics, code = _fetch_group(call, asked["groupId"], asked["topics"], is_stable, member)
        groups.append({"groupId": asked["groupId"], "topics": topics, "errorCode": code})
    return {"groups": groups}


def _fetch_group(
    call: Call,
    group_id: str,
    asked: list[requests.OffsetFetchRequestTopics] | None,
    require_stable: bool,  # noqa: FBT001 - private
    member: tuple[str | None, int] = (None, _NO_EPOCH),
) -> tuple[list[responses.OffsetFetchResponseTopics], ErrorCode]:
    catalog = call.serving.catalog
    wanted, unknown = None, []
    if asked is not None:
        named = [(name_of(catalog, topic), topic) for topic in asked]
        unknown = [topic for name, topic in named if name is None]
        wanted = [
            TopicPartition(name, number)
            for name, topic in named
            if name is not None
            for number in topic["partitionIndexes"]
        ]
        call.budget.charge(len(wanted))
    try:
        found = call.serving.groups.fetch(
            group_id,
            wanted,
            require_stable=require_stable,
            member_id=member[0],
            member_epoch=member[1],
        )
    except CoordinatorError as error:
        return [], ErrorCode(error.code)
    call.budget.charge(len(found), sum(len(each.metadata) for each in found.values()))
    topics: dict[str, list[responses.OffsetFetchResponsePartitions]] = {}
    for where, each in found.items():
        topics.setdefault(where.topic, []).append(_offset(where.partition, each))
    result: list[responses.OffsetFetchResponseTopics] = [
        {"name": name, "topicId": catalog.topic_id(name), "partitions": each}
        for name, each in topics.items()
        if call.request.version < _IDS_SINCE or catalog.topic_id(name) != NULL_UUID
    ]
    result += [
        {
            "topicId": topic["topicId"],
            "partitions": [
                {**_offset(number, UNKNOWN_OFFSET), "errorCode": ErrorCode.UNKNOWN_TOPIC_ID}
                for number in topic["partitionIndexes"]
            ],
        }
        for topic in unknown
    ]
    return result, ErrorCode.NONE


def _offset(number: int, fetched: FetchedOffset) -> responses.OffsetFetchResponsePartitions:
    return {
        "partitionIndex": number,
        "committedOffset": fetched.offset,
        "committedLeaderEpoch": (
            _NO_EPOCH if fetched.leader_epoch is None else fetched.leader_epoch
        ),
        "metadata": fetched.metadata,
        "errorCode": fetched.error,
    }


def offset_delete(
    call: Call, request: requests.OffsetDeleteRequestData
) -> responses.OffsetDeleteResponseData:
    """Delete offsets of a group."""
    topics = request["topics"]
    wanted = [
        TopicPartition(topic["name"], each["partitionIndex"])
        for topic in topics
        for each in topic["partitions"]
    ]
    codes = call.broker.groups.delete_offsets(request["groupId"], wanted)
    return {
        "errorCode": ErrorCode.NONE,
        "topics": [
            {
                "name": topic["name"],
                "partitions": [
                    {
                        "partitionIndex": each["partitionIndex"],
                        "errorCode": codes[TopicPartition(topic["name"], each["partitionIndex"])],
                    }
                    for each in topic["partitions"]
                ],
            }
            for topic in topics
        ],
    }


HANDLERS: Final[Mapping[int, Served]] = {
    apis.OFFSET_COMMIT.key: Served(offset_commit),
    apis.OFFSET_FETCH.key: Served(offset_fetch),
    apis.OFFSET_DELETE.key: Served(offset_delete, refusal=ErrorCode.GROUP_AUTHORIZATION_FAILED),
}
