"""The configurations of a broker that consumer groups obey.

Kafka: GroupCoordinatorConfig, GroupConfig (4.2)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Self

from workbench.config.broker_config import BrokerConfig
from workbench.coordinator.groups.consumer.messages import ConsumerGroupHeartbeatRequest
from workbench.layout.integers import INT32_MAX
from workbench.runtime.error_codes import ErrorCode

ASSIGNORS: Final = ("uniform", "range")
"""`group.consumer.assignors`; the first is the default."""


def _no_configs(_group_id: str) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class ConsumerGroupConfig:
    """Limits and intervals; times in ms.

    Attributes:
        session_timeout_ms: `group.consumer.session.timeout.ms`.
        heartbeat_interval_ms: `group.consumer.heartbeat.interval.ms`.
        max_size: `group.consumer.max.size`.
        regex_refresh_interval_ms: how often regular expressions are resolved again at least.
        of_group: returns a group's own configuration.
    """

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    max_size: int = INT32_MAX
    regex_refresh_interval_ms: int = 600_000
    of_group: Callable[[str], Mapping[str, str]] = _no_configs

    @classmethod
    def of(
        cls, config: BrokerConfig, of_group: Callable[[str], Mapping[str, str]] = _no_configs
    ) -> Self:
        """Return what a broker's configuration says."""
        return cls(
            config.group_consumer_session_timeout_ms,
            config.group_consumer_heartbeat_interval_ms,
            config.group_consumer_max_size,
            of_group=of_group,
        )

    def session_timeout_of(self, group_id: str) -> int:
        """Return how long the members of a group may be silent."""
        own = self.of_group(group_id).get("consumer.session.timeout.ms")
        return self.session_timeout_ms if own is None else int(own)

    def heartbeat_interval_of(self, group_id: str) -> int:
        """Return how often the members of a group send heartbeats."""
        own = self.of_group(group_id).get("consumer.heartbeat.interval.ms")
        return self.heartbeat_interval_ms if own is None else int(own)


_INVALID: Final = ErrorCode.INVALID_REQUEST
_CHOOSES_ID_SINCE: Final = 1  # version in which a client chooses its member id


def check_heartbeat(request: ConsumerGroupHeartbeatRequest, version: int) -> None:
    """Check a heartbeat before its group is looked at.

    Raises:
        CoordinatorError: INVALID_REQUEST or UNSUPPORTED_ASSIGNOR.

    Kafka: GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid (4.2)
    """
    epoch = request.member_epoch
    texts = {"GroupId": request.group_id, "InstanceId": request.instance_id}
    texts["RackId"] = request.rack_id
    if version >= _CHOOSES_ID_SINCE or epoch > 0 or epoch == -1:
        texts = {"MemberId": request.member_id, **texts}
    for name, text in texts.items():
        if text is not None and not text.strip():
            raise _INVALID.error(f"{name} can't be empty.")
    if epoch == 0:
        _check_joining(request)
    elif epoch == -2:
        if request.instance_id is None:
            raise _INVALID.error("InstanceId can't be null.")
    elif epoch < -2:
        raise _INVALID.error("MemberEpoch is invalid.")
    if request.assignor is not None and request.assignor not in ASSIGNORS:
        raise ErrorCode.UNSUPPORTED_ASSIGNOR.error(
            f"ServerAssignor {request.assignor} is not supported. Supported assignors: "
            f"{', '.join(ASSIGNORS)}."
        )


def _check_joining(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise _INVALID.error("RebalanceTimeoutMs must be provided in first request.")
    if request.owned is None or request.owned:
        raise _INVALID.error("TopicPartitions must be empty when (re-)joining.")
    if request.topics is None and request.regex is None:
        raise _INVALID.error(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
            "(re-)joining."
        )
