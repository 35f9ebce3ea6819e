"""Check what a broker's coordinators load: records, partitions of groups, hanging transactions.

Kafka: GroupMetadataManager, GroupCoordinatorShard, TransactionStateManager (4.2)
"""

from collections.abc import Collection
from contextlib import suppress
from typing import Final

from workbench.config.internal_topics import TRANSACTIONS_TOPIC
from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.coordinator.groups.share_state import SHARE_TOPIC
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.transactions.decided_ends import (
    markers_without_decision,
    prepared_without_markers,
)
from workbench.coordinator.transactions.marker_data import markers_without_data
from workbench.coordinator.transactions.stored_transactions import (
    HANGS,
    OpenProducer,
    StoredTransactions,
)
from workbench.inspection.confirmed_findings import confirmed
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing
from workbench.inspection.verify.shutdown_state import is_running

_OWN_KINDS: Final = frozenset(
    {
        "group-record",
        "group-partition",
        "share-record",
        "transaction-record",
        "transaction-partition",
        "hanging-transaction",
        "prepared-transaction",
        "unprepared-marker",
        "marker-without-data",
    }
)


def verify_coordinators(
    listing: Listing, *, topics: Collection[str] | None = None, deep: bool = True
) -> list[Finding]:
    """Return the findings of the loads, which `inspection.verify.verify` cannot see.

    Args:
        listing: the opened listing.
        topics: names of topics; findings are about their partitions only.
        deep: load groups and transactional ids; otherwise nothing is checked.
    """
    if not deep:
        return []
    found = _look(listing, topics)
    if any(map(is_running, listing.roots)):
        found = confirmed(found, lambda: _look(listing.listed_again(), topics))
    return found


def _look(listing: Listing, topics: Collection[str] | None) -> list[Finding]:
    found: list[Finding] = []
    with suppress(OSError):  # `inspection.verify.verify` reports files that cannot be read
        found += [
            each
            for each in StoredGroups(listing).findings()
            if topics is None
            or (SHARE_TOPIC if each.kind == "share-record" else GROUPS_TOPIC) in topics
        ]
    with suppress(OSError):
        found += _verify_transactions(listing, topics)
    return [finding for finding in found if finding.kind in _OWN_KINDS]


def _verify_transactions(listing: Listing, topics: Collection[str] | None) -> list[Finding]:
    coordinator = StoredTransactions(listing)
    if not coordinator.loads:  # the set of known transactions is unknown
        return []
    is_wanted = topics is None or TRANSACTIONS_TOPIC in topics
    found = coordinator.findings() if is_wanted else []
    chosen = [
        partition
        for partition in listing.partitions.values()
        if partition.kind == "log" and (topics is None or partition.topic in topics)
    ]
    opened = coordinator.open_producers(chosen, confirm=False)
    found += [_hanging(each) for each in opened if each.verdict == HANGS]
    found += prepared_without_markers(coordinator, opened)
    found += markers_without_decision(coordinator, chosen)
    return found + markers_without_data(coordinator, chosen)


def _hanging(each: OpenProducer) -> Finding:
    transaction = each.transaction
    return Finding(
        "hanging-transaction",
        "warning",
        transaction.path,
        transaction.position,
        transaction.first_offset,
        f"a transaction of producer {transaction.producer_id} that no transaction marker ends",
        f"a transactional id that waits for it; {each.reason}",
        f"The last stable offset remains {each.last_stable_offset}: read_committed consumers and "
        "the cleaner get no further. kafka-transactions.sh abort ends it.",
    )
