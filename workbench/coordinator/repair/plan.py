"""Plan a repair of the coordinators' logs; nothing is written.

A repair may uncover what damage has hidden: a load of transactional ids ends at the first damaged
record, and only with all ids is it known whether a transaction hangs. So a repaired copy is planned
for once more, until nothing is left.
"""

from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.repair.damaged_records import (
    mend_group_partition,
    mend_transaction_partition,
)
from workbench.coordinator.repair.misplaced_records import move_groups, move_transactional_ids
from workbench.coordinator.repair.repair import Repair
from workbench.coordinator.repair.transaction_ends import end_transactions
from workbench.coordinator.transactions.stored_transactions import StoredTransactions
from workbench.inspection.listing import Listing


def plan_repairs(listing: Listing) -> list[Repair]:
    """Return what must be written so that a broker's coordinators serve on, in this order.

    Args:
        listing: the opened listing.

    Raises:
        OSError: a file cannot be read.
    """
    groups, transactions = StoredGroups(listing), StoredTransactions(listing)
    found: list[Repair] = []
    if transactions.loads:
        logs = [each for each in listing.partitions.values() if each.kind == "log"]
        found += end_transactions(transactions, logs)
        found += move_transactional_ids(transactions)
    found += move_groups(groups)
    for load in transactions.loads:
        found += mend_transaction_partition(load)
    for each in groups.loads:
        found += mend_group_partition(each)
    return found
