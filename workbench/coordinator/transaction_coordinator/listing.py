"""Choose transactional ids as an admin client asks for them.

Kafka: TransactionStateManager.listTransactionStates (4.2)
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from workbench.coordinator.runtime.id_pattern import IdPattern
from workbench.coordinator.transactions.states import TransactionState
from workbench.coordinator.transactions.transaction_metadata import TransactionMetadata
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.several import several

_STATES: Final = {str(state): state for state in TransactionState}


class ListedTransactions(NamedTuple):
    """The answer to a request for all transactional ids.

    Attributes:
        error: NONE, or why there is no list.
        transactions: (transactional id, producer id, state).
        unknown_states: the filters that name no state.
    """

    error: ErrorCode
    transactions: list[tuple[str, int, TransactionState]]
    unknown_states: list[str]


class TransactionFilter(NamedTuple):
    """Which transactional ids are listed.

    Attributes:
        producer_ids: only those of these producers; empty: of all.
        states: only those in these states, by name; empty: in all.
        longer_than_ms: only those whose transaction began longer ago; negative: all.
        pattern: a regular expression that the whole id matches; None or empty: any id.
    """

    producer_ids: frozenset[int] = frozenset()
    states: frozenset[str] = frozenset()
    longer_than_ms: int = -1
    pattern: str | None = None

    def choose(self, transactions: Iterable[TransactionMetadata], now: int) -> ListedTransactions:
        """Return the transactional ids that the filter lets pass.

        Args:
            transactions: the states.
            now: ms.
        """
        producers, states = several(self.producer_ids), several(self.states)
        wanted = {_STATES[name] for name in states if name in _STATES}
        unknown = sorted(name for name in states if name not in _STATES)
        every = list(transactions)
        try:
            matching = self._matching(each.transactional_id for each in every)
        except ValueError:
            return ListedTransactions(ErrorCode.INVALID_REGULAR_EXPRESSION, [], [])
        found = [
            (each.transactional_id, each.producer_id, each.state)
            for each in every
            if (not producers or each.producer_id in producers)
            and (not states or each.state in wanted)
            and (self.longer_than_ms < 0 or now - each.start_timestamp > self.longer_than_ms)
            and (matching is None or each.transactional_id in matching)
        ]
        return ListedTransactions(ErrorCode.NONE, found, unknown)

    def _matching(self, ids: Iterable[str]) -> set[str] | None:
        """Return the ids that the pattern matches; None: there is no pattern.

        Raises:
            ValueError: it is not a pattern, or takes too long.
        """
        return set(IdPattern(self.pattern).matching(ids)) if self.pattern else None


EVERY_TRANSACTION: Final = TransactionFilter()
"""Lets all of them pass."""
