"""How the topics are kept that brokers make for themselves.

Kafka: GroupCoordinatorService.groupMetadataTopicConfigs, TransactionStateManager,
ShareCoordinatorService.shareGroupStateTopicConfigs (4.2)
"""

from collections.abc import Mapping
from typing import Any, Final

_COMPACTED: Final = {"cleanup.policy": "compact"}
_KEPT: Final = {"cleanup.policy": "delete", "retention.ms": -1}  # they delete records themselves

INTERNAL_TOPICS: Final[Mapping[str, Mapping[str, Any]]] = {
    "__consumer_offsets": _COMPACTED,
    "__transaction_state": _COMPACTED,
    "__share_group_state": _KEPT,
}


def with_internal_topics(
    topic_configs: Mapping[str, Mapping[str, Any]] | None,
) -> dict[str, Mapping[str, Any]]:
    """Return topics' configurations, with those of the brokers' own topics where none is told.

    Without, retention would take the offsets of groups for records that are too old.
    """
    return {**INTERNAL_TOPICS, **(topic_configs or {})}
