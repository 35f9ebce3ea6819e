"""The states of a transactional id, and what each transaction version changes.

Kafka: TransactionState, TransactionVersion (4.2)
"""

from enum import IntEnum, StrEnum
from typing import Final

from workbench.decoders.transaction_state import STATUS_NAMES


class TransactionState(StrEnum):
    """A state, by the name that admin clients show; the last two are never in a record.

    Kafka: TransactionState (4.2)
    """

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"

    @classmethod
    def of(cls, number: int) -> "TransactionState":
        """Return the state that has a number in records.

        Raises:
            KeyError: none has it.

        Kafka: TransactionState.fromId (4.2)
        """
        return cls(STATUS_NAMES[number])

    @property
    def number(self) -> int:
        """Its number in a record; Kafka: TransactionState.id (4.2)."""
        return _NUMBERS[self]

    @property
    def is_prepared(self) -> bool:
        """Whether the end is decided and transaction markers are being written."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_at_rest(self) -> bool:
        """Whether no transaction is open: only such a transactional id can expire."""
        return self in _AT_REST

    def can_follow(self, previous: "TransactionState") -> bool:
        """Return whether a transactional id may go from ``previous`` to this state."""
        return previous in _VALID_PREVIOUS[self]


MARKERS: Final[dict[str, str]] = {
    TransactionState.PREPARE_COMMIT: "COMMIT", TransactionState.PREPARE_ABORT: "ABORT"
}  # fmt: skip
"""Prepared state → the kind of transaction marker that ends it."""
_NUMBERS: Final = {name: number for number, name in STATUS_NAMES.items()}
_AT_REST: Final = frozenset(
    {TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}
)
_VALID_PREVIOUS: Final[dict[TransactionState, frozenset[TransactionState]]] = {
    TransactionState.EMPTY: _AT_REST,
    TransactionState.ONGOING: _AT_REST | {TransactionState.ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
    TransactionState.PREPARE_ABORT: _AT_REST
    | {TransactionState.ONGOING, TransactionState.PREPARE_EPOCH_FENCE},
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
    TransactionState.DEAD: _AT_REST,
    TransactionState.PREPARE_EPOCH_FENCE: frozenset({TransactionState.ONGOING}),
}


class TransactionVersion(IntEnum):
    """The feature `transaction.version`, of a cluster or as a client uses it (KIP-890).

    Kafka: TransactionVersion (4.2)
    """

    TV_0 = 0
    """The first: records of version 0."""

    TV_1 = 1
    """Records of version 1, which can have tagged fields."""

    TV_2 = 2
    """The end of every transaction bumps the producer epoch."""

    @property
    def value_version(self) -> int:
        """The version of the values that a coordinator writes."""
        return 1 if self >= TransactionVersion.TV_1 else 0

    @property
    def supports_epoch_bump(self) -> bool:
        """Whether the end of a transaction bumps the producer epoch."""
        return self >= TransactionVersion.TV_2
