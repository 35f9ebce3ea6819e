"""The topics that brokers create for themselves and their configurations: the one list of them.

Kafka: Topic.isInternal, GroupCoordinatorService.groupMetadataTopicConfigs,
TransactionStateManager, ShareCoordinatorService.shareGroupStateTopicConfigs (4.2)
"""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

METADATA_TOPIC: Final = "__cluster_metadata"
METADATA_LOG: Final = f"{METADATA_TOPIC}-0"
"""Name of the partition directory of the cluster's metadata log."""
METADATA_TOPIC_ID: Final = UUID(int=1)
"""The topic id of every metadata log."""
RESERVED_IDS: Final = 100
"""Ids below it are Kafka's own; those of directories mean lost, unassigned, migrating."""

OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
SHARE_STATE_TOPIC: Final = "__share_group_state"

_COMPACTED: Final = {"cleanup.policy": "compact"}
# The share coordinator itself deletes records before the oldest that it still needs.
_KEPT: Final = {"cleanup.policy": "delete", "retention.ms": -1}

INTERNAL_TOPICS: Final[Mapping[str, Mapping[str, Any]]] = {
    OFFSETS_TOPIC: _COMPACTED,
    TRANSACTIONS_TOPIC: _COMPACTED,
    SHARE_STATE_TOPIC: _KEPT,
}
COMPACTED_TOPICS: Final = frozenset(
    name for name, config in INTERNAL_TOPICS.items() if config["cleanup.policy"] == "compact"
)
HIDDEN_TOPICS: Final = frozenset({METADATA_TOPIC, *INTERNAL_TOPICS})
"""Topics that a pattern of names does not match."""


def with_internal_topics(
    topic_configs: Mapping[str, Mapping[str, Any]] | None,
) -> dict[str, Mapping[str, Any]]:
    """Return topics' configurations, adding those of the internal topics where none is given.

    Without them, retention would delete the committed offsets of groups as too old.
    """
    return {**INTERNAL_TOPICS, **(topic_configs or {})}
