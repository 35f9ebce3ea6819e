"""Transactions that are being verified with their coordinator before a batch of them is taken.

Without it a batch that comes late, after its transaction was ended, would begin one that nobody
ends (KIP-890).

Kafka: VerificationStateEntry, and the part of ProducerStateManager that keeps them (4.2)
"""

from workbench.log.clock import Clock


class VerificationStateEntry:
    """That a producer's transaction is being verified with its coordinator, until it writes.

    The lowest sequence seen blocks higher ones, so that a batch that waits for its verification is
    not overtaken by a later one.

    Attributes:
        timestamp: ms; when it was made.
        lowest_sequence: the smallest that asked for verification in `epoch`.
        epoch: of the producer.
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
        """Note another batch that asks: a lower sequence counts, or any of a higher epoch.

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
        clock: tells when each began.
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
        """Return the verification of a producer, made if there is none, with this batch noted.

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
        """Forget the verification of a producer, if there is one.

        Kafka: ProducerStateManager.clearVerificationStateEntry (4.2)
        """
        self._entries.pop(producer_id, None)

    def forget_until(self, timestamp: int) -> None:
        """Forget the verifications that began at ``timestamp``, ms, or before."""
        for producer_id, entry in tuple(self._entries.items()):
            if entry.timestamp <= timestamp:
                del self._entries[producer_id]
