"""The result of an operation that writes nothing.

Kafka: GroupMetadataManager.EMPTY_RESULT (4.2)
"""

from workbench.coordinator.runtime.records import CoordinatorResult


def nothing_to_write() -> CoordinatorResult[None]:
    """Return a result without records."""
    return CoordinatorResult([], None)
