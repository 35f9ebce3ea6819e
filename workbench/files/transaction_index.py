"""Transaction index: the aborted transactions that ended in a segment.

A run of 34-byte entries (`ABORTED_TRANSACTION`) in the order of their ABORT markers, with whole
offsets. Written only when a transaction with records aborts, so most segments have none. No
checksum, never allocated ahead; can be rebuilt from the log.

A broker looks only at the first byte of an entry's two-byte version, and does not start when that
is above 0.

Kafka: TransactionIndex, AbortedTxn (4.0); since 0.11
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from workbench.files.entry_run import EntryProblems, EntryRun, IndexFile, falls
from workbench.files.reading import MIB, Problem
from workbench.layout.index_entries import ABORTED_TRANSACTION, ABORTED_TRANSACTION_VERSION
from workbench.layout.structure import as_struct

_ENTRY: Final = as_struct(ABORTED_TRANSACTION)
_MOST_ZEROS: Final = MIB // ABORTED_TRANSACTION.itemsize * ABORTED_TRANSACTION.itemsize


class AbortedTransaction(NamedTuple):
    """A transaction whose records a read_committed reader leaves out.

    Attributes:
        producer_id: whose transaction it was.
        first_offset: of its first record in the partition.
        last_offset: of its ABORT marker.
        last_stable_offset: of the partition, once this transaction was decided.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class AbortedTransactions(NamedTuple):
    """What one segment's index says about a range of offsets.

    Attributes:
        transactions: in the order of their markers.
        is_complete: False when the indexes of later segments must be asked too.
    """

    transactions: tuple[AbortedTransaction, ...]
    is_complete: bool


@dataclass(frozen=True, slots=True, eq=False)
class TransactionIndex(IndexFile):
    """The entries of one .txnindex file; `len()` is their number.

    Attributes:
        base_offset: of the segment.
        versions: int16[n]; 0.
        producer_ids: int64[n].
        first_offsets: int64[n].
        last_offsets: int64[n]; ascending in a sound index.
        last_stable_offsets: int64[n].
        file_size: in bytes.
        problems: see `reading`. An "unknown version" stops a broker; "below base offset" makes it
            rebuild the segment's indexes; it looks for none of the others.
    """

    base_offset: int
    versions: npt.NDArray[np.int16]
    producer_ids: npt.NDArray[np.int64]
    first_offsets: npt.NDArray[np.int64]
    last_offsets: npt.NDArray[np.int64]
    last_stable_offsets: npt.NDArray[np.int64]
    file_size: int
    problems: tuple[Problem, ...] = ()

    entry = ABORTED_TRANSACTION

    @classmethod
    def _of_run(cls, run: EntryRun, base_offset: int) -> Self:
        # Nothing is allocated ahead of use here, so zeros at the end are entries too.
        zeros = min(run.slack, _MOST_ZEROS)
        entries = np.frombuffer(run.data + bytes(zeros), ABORTED_TRANSACTION)
        index = cls(
            base_offset=base_offset,
            versions=entries["version"].astype(np.int16),
            producer_ids=entries["producer_id"].astype(np.int64),
            first_offsets=entries["first_offset"].astype(np.int64),
            last_offsets=entries["last_offset"].astype(np.int64),
            last_stable_offsets=entries["last_stable_offset"].astype(np.int64),
            file_size=run.file_size,
        )
        return replace(index, problems=_problems(index, run))

    def encode(self) -> bytes:
        """Return the bytes of all entries."""
        entries = np.empty(len(self), ABORTED_TRANSACTION)
        entries["version"] = self.versions
        entries["producer_id"] = self.producer_ids
        entries["first_offset"] = self.first_offsets
        entries["last_offset"] = self.last_offsets
        entries["last_stable_offset"] = self.last_stable_offsets
        return entries.tobytes()

    def __len__(self) -> int:
        return len(self.producer_ids)

    def __getitem__(self, slot: int) -> AbortedTransaction:
        return AbortedTransaction(
            int(self.producer_ids[slot]),
            int(self.first_offsets[slot]),
            int(self.last_offsets[slot]),
            int(self.last_stable_offsets[slot]),
        )

    def __iter__(self) -> Iterator[AbortedTransaction]:
        return map(
            AbortedTransaction,
            self.producer_ids.tolist(),
            self.first_offsets.tolist(),
            self.last_offsets.tolist(),
            self.last_stable_offsets.tolist(),
        )

    def collect_aborted(self, fetch_offset: int, upper_bound: int) -> AbortedTransactions:
        """Return the aborted transactions with records in a range.

        Args:
            fetch_offset: first offset of the range, inclusive.
            upper_bound: end of the range, exclusive.

        Returns:
            Those of this segment; complete once an entry's last stable offset reaches
            ``upper_bound``: no later marker can then speak of the range.

        Kafka: TransactionIndex.collectAbortedTxns (4.0)
        """
        beyond = np.flatnonzero(self.last_stable_offsets >= upper_bound)
        end = int(beyond[0]) + 1 if len(beyond) else len(self)
        wanted = (self.last_offsets[:end] >= fetch_offset) & (
            self.first_offsets[:end] < upper_bound
        )
        slots = np.flatnonzero(wanted).tolist()
        return AbortedTransactions(tuple(self[slot] for slot in slots), bool(len(beyond)))


def encode_entry(transaction: AbortedTransaction) -> bytes:
    """Return the bytes of one entry."""
    return _ENTRY.pack(ABORTED_TRANSACTION_VERSION, *transaction)


def _problems(index: TransactionIndex, run: EntryRun) -> tuple[Problem, ...]:
    def describe(slot: int) -> str:
        transaction = index[slot]
        return (
            f"version {index.versions[slot]}, producer id {transaction.producer_id}, "
            f"offsets {transaction.first_offset} to {transaction.last_offset}"
        )

    problems = EntryProblems(run, ABORTED_TRANSACTION.itemsize, describe)
    refused = index.versions >> 8 > 0
    problems.add_where("unknown version", refused, "version 0")
    below = index.last_offsets < index.base_offset
    problems.add_where("below base offset", below, f"to end at {index.base_offset} or above")
    odd = (index.versions != ABORTED_TRANSACTION_VERSION) & ~refused
    # Up to 2.3, a marker whose records are not in the log any more begins its own transaction;
    # a marker at offset 0 has none to lose.
    no_range = (index.first_offsets < 0) | (index.first_offsets > index.last_offsets)
    no_range |= index.last_offsets == 0
    problems.add_where("bad value", odd | no_range, "version 0 and a range of offsets")
    falling = falls(index.last_offsets, or_stays=True)
    problems.add_where("wrong order", falling, "to end behind the entry before")
    return problems.found()
