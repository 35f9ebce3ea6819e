"""Who appends: it decides what is checked.

Kafka: AppendOrigin (4.2)
"""

from enum import Enum


class AppendOrigin(Enum):
    """Where records come from."""

    REPLICATION = "replication"
    """A follower's fetch, or the log itself while it is loaded: only warnings."""

    COORDINATOR = "coordinator"
    """The group or transaction coordinator: epochs are checked, sequences not."""

    CLIENT = "client"
    """A producer: everything is checked."""

    RAFT_LEADER = "raft leader"
    """The controller's leader, which numbers offsets and epochs itself."""
