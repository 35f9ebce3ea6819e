"""What masks mean for the tables of inspection, of which some show what records hold.

A rule is about records. A table that shows keys of any topic, or what an internal topic holds, is
refused where a rule is about that: its columns are not those of records, so a rule cannot be
applied to them. The metadata of commits are hidden as in widgets: unless a rule shows them.
"""

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from workbench.config.internal_topics import (
    METADATA_TOPIC,
    OFFSETS_TOPIC,
    SHARE_STATE_TOPIC,
    TRANSACTIONS_TOPIC,
)
from workbench.errors import SchemaError
from workbench.values.masking import Masks

_GROUPS: Final = (OFFSETS_TOPIC, SHARE_STATE_TOPIC)
_TRANSACTIONS: Final = (TRANSACTIONS_TOPIC,)

SHOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "commits": _GROUPS,
    "coordinator_repairs": (*_GROUPS, *_TRANSACTIONS),
    "deliveries": _GROUPS,
    "findings": (*_GROUPS, *_TRANSACTIONS),
    "group_lags": _GROUPS,
    "group_members": _GROUPS,
    "group_offsets": _GROUPS,
    "groups": _GROUPS,
    "open_producers": _TRANSACTIONS,
    "rebalances": _GROUPS,
    "transaction_markers": _TRANSACTIONS,
    "transactions": _TRANSACTIONS,
    **dict.fromkeys(
        (
            "acls", "brokers", "cluster_changes", "configs", "delegation_tokens", "features",
            "quorum", "quotas", "scram_users", "topic_partitions", "topics",
        ),
        (METADATA_TOPIC,),
    ),
}  # fmt: skip
"""Tables that show what internal topics hold, and those topics."""

NOTHING_SHOWN: Final = frozenset({
    "aborted_transactions", "batches", "checkpoints", "cleaning", "damaged_ranges", "disk_usage",
    "files", "gaps", "leader_epochs", "offset_index", "producers", "record_counts",
    "remote_segments", "segments", "time_index",
})  # fmt: skip
"""Tables of names of topics, numbers and times alone."""


def require_covered(table: str, masks: Masks) -> None:
    """Refuse a table that would show what a rule hides.

    Raises:
        SchemaError: it would.
    """
    if table == "keys":
        hidden = [rule for rule in masks.rules if rule.path.split(".")[0] == "key"]
    else:
        hidden = [
            rule
            for topic in SHOWN.get(table, ())
            for rule in masks.for_topic(topic).rules
            if rule.path.split(".")[0] != "metadata"
        ]
    if hidden:
        rule = hidden[0]
        raise SchemaError(
            f"mask {rule.topic} {rule.path}: the table {table} would show what this rule hides "
            "(expected a query of topics, or a mask whose rules name the topics of that query)"
        )


def masked_table(table: Any, masks: Masks) -> Any:
    """Return a table of inspection with the metadata of commits masked."""
    if not masks.rules or "metadata" not in table.schema.names:
        return table
    texts = [
        None if text is None else masks("metadata", text.encode("utf-8", "surrogatepass"))
        for text in table["metadata"].to_pylist()
    ]
    shown = [None if text is None else text.decode("utf-8", "replace") for text in texts]
    at = table.schema.get_field_index("metadata")
    given = table.schema.field(at)
    return table.set_column(at, given, pa.array(shown, given.type))
