"""The configurations of a broker that classic groups obey.

Kafka: GroupCoordinatorConfig (4.2)
"""

from dataclasses import dataclass
from typing import Self

from workbench.config.broker_config import BrokerConfig
from workbench.coordinator.groups.classic.messages import JoinGroupRequest
from workbench.layout.integers import INT32_MAX
from workbench.runtime.error_codes import ErrorCode


@dataclass(frozen=True, slots=True)
class ClassicGroupConfig:
    """Limits and delays; times in ms.

    Attributes:
        min_session_timeout_ms, max_session_timeout_ms: `group.min.session.timeout.ms` and
            `group.max.session.timeout.ms`.
        initial_rebalance_delay_ms: `group.initial.rebalance.delay.ms`.
        max_size: `group.max.size`.
        new_member_join_timeout_ms: how long a new member waits for the end of a join phase; not
            configurable in Kafka.
    """

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = INT32_MAX
    new_member_join_timeout_ms: int = 300_000

    @classmethod
    def of(cls, config: BrokerConfig) -> Self:
        """Return what a broker's configuration says."""
        return cls(
            config.group_min_session_timeout_ms,
            config.group_max_session_timeout_ms,
            config.group_initial_rebalance_delay_ms,
            config.group_max_size,
        )

    def error_in(self, request: JoinGroupRequest) -> ErrorCode:
        """Return why a join is refused before its group is looked at; `NONE`: it is not.

        Kafka: GroupCoordinatorService.joinGroup (4.2)
        """
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        lowest, highest = self.min_session_timeout_ms, self.max_session_timeout_ms
        if not lowest <= request.session_timeout_ms <= highest:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        return ErrorCode.NONE
