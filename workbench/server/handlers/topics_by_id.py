"""Topics in requests: by name, since some version by id.

Kafka: TopicIdPartition, MetadataCache.getTopicName (4.2)
"""

from collections.abc import Iterable

from workbench.record.message_schema import NULL_UUID
from workbench.server.logs.catalog import TopicCatalog
from workbench.server.serving import Values


def name_of(catalog: TopicCatalog, topic: Values) -> str | None:
    """Return the name of a topic in a request; None if no topic has its id."""
    if "topicId" not in topic:
        name: str = topic["topic"] if "topic" in topic else topic["name"]
        return name
    if topic["topicId"] == NULL_UUID:
        return None
    return catalog.names_by_id.get(topic["topicId"])


def key_of(topic: Values) -> Values:
    """Return what names a topic of a request in the response."""
    return {field: topic[field] for field in ("topicId", "topic", "name") if field in topic}


def distinct_partitions(topics: Iterable[Values], field: str) -> list[Values]:
    """Return topics with the numbers of their partitions, each topic and each number once.

    Args:
        topics: of a request.
        field: of a topic, with the numbers.
    """
    found: dict[str, dict[int, None]] = {}
    for topic in topics:
        found.setdefault(topic["name"], {}).update(dict.fromkeys(topic[field]))
    return [{"name": name, field: list(numbers)} for name, numbers in found.items()]
