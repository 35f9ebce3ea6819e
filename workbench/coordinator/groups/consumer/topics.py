"""The topics that a coordinator assigns, and the hash of what is assigned of them.

Kafka: CoordinatorMetadataImage, Utils.computeTopicHash, computeGroupHash (4.2)
"""

import base64
import struct
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from workbench.coordinator.groups.consumer.xxh3 import xxh3_64
from workbench.record.message_schema import NULL_UUID

_MOST_KEPT: Final = 10_000  # hashes


class TopicImage(Protocol):
    """What a coordinator knows of the topics; those without an id are not assigned."""

    @property
    def version(self) -> int:
        """A number that grows when topics change: the offset of the cluster's metadata."""

    @property
    def names(self) -> Iterable[str]:
        """The topics."""

    def topic_id(self, topic: str, /) -> str:
        """Return the id of a topic; zeros if there is none."""

    def partition_count(self, topic: str, /) -> int:
        """Return how many partitions a topic has; 0 if there is none."""


class NoTopics:
    """No topics: what a coordinator knows where no topics are given."""

    version = 0
    names: tuple[str, ...] = ()

    def topic_id(self, _topic: str) -> str:
        """Return zeros."""
        return NULL_UUID

    def partition_count(self, _topic: str) -> int:
        """Return 0."""
        return 0


class AssignableTopics:
    """Topics of an image, by id, and their hashes.

    Args:
        image: the topics.
    """

    def __init__(self, image: TopicImage) -> None:
        self.image = image
        self._hashes: dict[tuple[str, str, int], int] = {}
        self._seen: frozenset[str] = frozenset()
        self._version_with_new = 0

    def ids_of(self, names: Iterable[str]) -> dict[str, int]:
        """Return topic id → number of partitions, of the topics that exist."""
        found = {}
        for name in names:
            topic_id = self.image.topic_id(name)
            if topic_id != NULL_UUID:
                found[topic_id] = self.image.partition_count(name)
        return found

    @property
    def version_with_new_topics(self) -> int:
        """The version in which there were topics that had not been there before."""
        names = frozenset(self.image.names)
        if not names <= self._seen:
            self._version_with_new = self.image.version
        self._seen = names
        return self._version_with_new

    def group_hash(self, names: Iterable[str]) -> int:
        """Return the hash of the topics that a group subscribes to, with a sign as in Java."""
        hashes = [
            self._hash(name, topic_id)
            for name in sorted(names)
            if (topic_id := self.image.topic_id(name)) != NULL_UUID
        ]
        if not hashes:
            return 0
        value = xxh3_64(struct.pack(f"<{len(hashes)}Q", *hashes))
        return value - (1 << 64) if value >> 63 else value

    def _hash(self, name: str, topic_id: str) -> int:
        count = self.image.partition_count(name)
        key = (name, topic_id, count)
        found = self._hashes.get(key)
        if found is None:
            if len(self._hashes) >= _MOST_KEPT:
                self._hashes.clear()
            found = self._hashes[key] = topic_hash(name, topic_id, count)
        return found


def topic_hash(name: str, topic_id: str, partitions: int) -> int:
    """Return the hash of a topic whose replicas are in no rack, without a sign."""
    raw = base64.urlsafe_b64decode(topic_id + "==")
    units = name.encode("utf-16-le", "surrogatepass")
    data = b"".join(
        (
            b"\0",
            raw[7::-1],
            raw[:7:-1],
            units,
            struct.pack("<i", len(units) // 2),
            struct.pack(f"<{partitions + 1}i", partitions, *range(partitions)),
        )
    )
    return xxh3_64(data)


Counts = Mapping[str, int]
"""Topic id → number of partitions."""
