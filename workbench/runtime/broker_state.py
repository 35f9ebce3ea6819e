"""The state of a broker, as its metric `BrokerState` and its registration tell it.

Kafka: BrokerState (4.2); BrokerStates (up to 2.7), where RECOVERY was RecoveringFromUncleanShutdown
"""

from enum import IntEnum


class BrokerState(IntEnum):
    """A state by Kafka's name and number, in the order in which a broker passes through them."""

    NOT_RUNNING = 0
    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7
    UNKNOWN = 127
