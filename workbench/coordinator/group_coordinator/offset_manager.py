"""The offset manager: a group coordinator for callers that commit offsets and have no members.

    from workbench.log_manager.manager import LogManager

    with LogManager(["data"]) as manager, OffsetManager(manager) as offsets:
        offsets.commit("billing", {"orders-0": 42})
        assert offsets.fetch("billing", ["orders-0"])["orders-0"].offset == 42

Kafka: OffsetManager (0.8.2), GroupMetadataManager (0.9 to 3.9), OffsetMetadataManager (4.2)
"""

from workbench.coordinator.group_coordinator.group_coordinator_service import (
    GroupCoordinatorService,
)


class OffsetManager(GroupCoordinatorService):
    """A group coordinator that begins no sessions: members that a log names stay in their groups.

    `GroupCoordinatorService` removes those that send no heartbeats, as a broker does, and writes
    that. Everything else is the same.
    """

    _has_sessions = False
