"""What clients may do, as the bits of a response: everything, or with stored data only to read.

Kafka: AuthHelper.authorizedOperations, AclEntry.supportedOperations (4.2)
"""

from enum import IntEnum
from typing import Final

from workbench.server.serving import Call


class Operation(IntEnum):
    """An operation by its bit.

    Kafka: AclOperation (4.2)
    """

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


_O = Operation
TOPIC: Final = (
    _O.READ, _O.WRITE, _O.CREATE, _O.DESCRIBE, _O.DELETE, _O.ALTER, _O.DESCRIBE_CONFIGS,
    _O.ALTER_CONFIGS,
)  # fmt: skip
GROUP: Final = (_O.READ, _O.DESCRIBE, _O.DELETE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS)
CLUSTER: Final = (
    _O.CREATE, _O.CLUSTER_ACTION, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS, _O.IDEMPOTENT_WRITE,
    _O.ALTER, _O.DESCRIBE,
)  # fmt: skip
UNKNOWN_OPERATIONS: Final = -(1 << 31)
"""Where they are not asked for, or there is an error."""
_READ_ONLY: Final = frozenset({_O.READ, _O.DESCRIBE, _O.DESCRIBE_CONFIGS})


def operations(call: Call, of: tuple[Operation, ...]) -> int:
    """Return the operations on a kind of resource that this server performs, one bit each."""
    is_writable = call.serving.broker is not None
    return sum(1 << each for each in of if is_writable or each in _READ_ONLY)
