"""The topics of a server as its group coordinator shares them out.

Kafka: CoordinatorMetadataImage (4.2)
"""

from collections.abc import Collection

from workbench.server.logs.catalog import TopicCatalog


class AssignedTopics:
    """A catalog's topics; see `TopicImage`.

    Args:
        catalog: the topics.
    """

    def __init__(self, catalog: TopicCatalog) -> None:
        self._catalog = catalog
        self._seen: frozenset[str] = frozenset()
        self._changes = 0

    @property
    def version(self) -> int:
        """The offset of the cluster's metadata; without it, how often topics have changed."""
        offset = self._catalog.metadata_offset
        if offset >= 0:
            return offset
        names = frozenset(self.names)
        self._changes += names != self._seen
        self._seen = names
        return self._changes

    @property
    def names(self) -> Collection[str]:
        """The topics."""
        return self._catalog.topics

    def topic_id(self, topic: str) -> str:
        """Return the id of a topic; zeros if there is none."""
        return self._catalog.topic_id(topic)

    def partition_count(self, topic: str) -> int:
        """Return how many partitions a topic has; 0 if there is none."""
        return len(self._catalog.logs_of(topic) or ())
