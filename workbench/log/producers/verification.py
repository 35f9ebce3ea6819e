"""Transactions that are verified with their coordinator before one of their batches is appended.

Without it, a batch that arrives after the end of its transaction would begin one that never ends
(KIP-890).

Kafka: VerificationStateEntry, and the part of ProducerStateManager that keeps them (4.2)
"""

from workbench.runtime.clock import Clock


class VerificationStateEntry:
    """The verification of a producer's transaction with its coordinator, until the producer writes.

    The lowest sequence seen blocks higher ones, so no later batch overtakes one that waits for its
    verification.

    Attributes:
        timestamp: ms; time when it began.
        lowest_sequence: the smallest sequence to verify in `epoch`.
        epoch: the producer's epoch.
        supports_epoch_bump: whether its transactions end with a new epoch (transactions v2).

    Kafka: VerificationStateEntry (4.2)
    """

    __slots__ = ("epoch", "lowest_sequence", "supports_epoch_bump", "timestamp")

    def __init__(
        self, timestamp: int, sequence: int, epoch: int, *, supports_epoch_bump: bool
    ) -> None:
        self.timestamp = timestamp
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.supports_epoch_bump = supports_epoch_bump

    def update(self, sequence: int, epoch: int) -> None:
        """Add another batch to verify: a lower sequence is kept, or any of a higher epoch.

        Kafka: VerificationStateEntry.maybeUpdateLowestSequenceAndEpoch (4.2)
        """
        if epoch > self.epoch:
            self.epoch = epoch
            self.lowest_sequence = sequence
        elif epoch == self.epoch and sequence < self.lowest_sequence:
            self.lowest_sequence = sequence


class Verifications:
    """The verifications of one partition by producer id. Not thread-safe.

    Args:
        clock: the time, for the start of each.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[int, VerificationStateEntry] = {}

    def get(self, producer_id: int) -> VerificationStateEntry | None:
        """Return the verification of a producer; None if there is none."""
        return self._entries.get(producer_id)

    def begin(
        self, producer_id: int, sequence: int, epoch: int, *, supports_epoch_bump: bool = False
    ) -> VerificationStateEntry:
        """Return the verification of a producer, created if there is none, with this batch added.

        Kafka: ProducerStateManager.maybeCreateVerificationStateEntry (4.2)
        """
        found = self._entries.get(producer_id)
        if found is None:
            found = VerificationStateEntry(
                self._clock.now(), sequence, epoch, supports_epoch_bump=supports_epoch_bump
            )
            self._entries[producer_id] = found
        found.update(sequence, epoch)
        return found

    def end(self, producer_id: int) -> None:
        """Remove the verification of a producer, if there is one.

        Kafka: ProducerStateManager.clearVerificationStateEntry (4.2)
        """
        self._entries.pop(producer_id, None)

    def forget_until(self, timestamp: int) -> None:
        """Remove the verifications that began at or before ``timestamp``, ms."""
        for producer_id, entry in tuple(self._entries.items()):
            if entry.timestamp <= timestamp:
                del self._entries[producer_id]
