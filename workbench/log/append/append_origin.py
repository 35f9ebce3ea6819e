"""The sender of an append, which decides what is checked.

Kafka: AppendOrigin (4.2)
"""

from enum import Enum


class AppendOrigin(Enum):
    """The source of records."""

    REPLICATION = "replication"
    """A follower's fetch, or the log itself while loading: problems are only reported."""

    COORDINATOR = "coordinator"
    """The group or transaction coordinator: epochs are checked, sequences not."""

    CLIENT = "client"
    """A producer: everything is checked."""

    RAFT_LEADER = "raft leader"
    """The controller's leader, which assigns offsets and epochs itself."""
