"""Topics in requests: by name, since some version by id.

Kafka: TopicIdPartition, MetadataCache.getTopicName (4.2)
"""

from typing import NotRequired, TypedDict

from workbench.record.message_schema import NULL_UUID
from workbench.server.logs.catalog import TopicCatalog


class NamedTopic(TypedDict):
    """What names a topic in a request, and in its response."""

    name: NotRequired[str]
    topicId: NotRequired[str]


def name_of(catalog: TopicCatalog, topic: NamedTopic) -> str | None:
    """Return the name of a topic in a request; None if no topic has its id."""
    return name_by_id(catalog, topic["topicId"]) if "topicId" in topic else topic["name"]


def name_by_id(catalog: TopicCatalog, topic_id: str) -> str | None:
    """Return the name of the topic that has an id."""
    return None if topic_id == NULL_UUID else catalog.names_by_id.get(topic_id)


def key_of(topic: NamedTopic) -> NamedTopic:
    """Return what names a topic of a request in the response."""
    return {"topicId": topic["topicId"]} if "topicId" in topic else {"name": topic["name"]}
