"""Check the transaction indexes of a partition against the transaction markers in its log.

The log is the truth. An entry must match an ABORT marker of its producer, and its range must
include all of the transaction's batches and none of an earlier one. Every aborted transaction that
still has batches in the log must have an entry, otherwise read_committed consumers get them.

Kafka: TransactionIndex, ProducerStateManager.completeTxn, CleanedTransactionMetadata (4.2)
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.files.indexes.transaction_index import TransactionIndex
from workbench.files.reading import FileProblem
from workbench.inspection.findings import Finding
from workbench.inspection.transactions import (
    NO_BATCH,
    Aborts,
    Transactions,
    first_aborted,
    open_transactions,
    transactions_of,
)
from workbench.inspection.verify.segments.indexes import HALF_ENTRY, index_too_large
from workbench.inspection.verify.segments.segment import SegmentSummary
from workbench.inspection.verify.shutdown_state import SegmentContext

Offsets = npt.NDArray[np.int64]

_ENTRY_SIZE: Final = 34
_MOST_ENTRIES: Final = 100  # findings per index; more say nothing new
HANGING_AFTER_MS: Final = (
    1_200_000  # transaction.max.timeout.ms and five minutes, as Kafka's tool has it
)
_UNSEEN: Final = "After a clean shutdown, a broker does not detect it: read_committed consumers "


def verify_transactions(logs: Sequence[SegmentSummary], *, is_joined: bool) -> Iterator[Finding]:
    """Yield what is wrong with a partition's transaction indexes.

    Args:
        logs: all segments, ascending.
        is_joined: whether no segment is missing between them: its markers would be, too.
    """
    for log in logs:
        if log.transaction_index is not None:
            yield from _of_problems(log, log.transaction_index)
    touched = [log for log in logs if log.is_transactional]
    if not touched and not any(log.transaction_index for log in logs):
        return
    is_whole = is_joined and all(log.is_whole for log in logs)
    segments = [log.segment for log in touched]
    transactions = transactions_of(segments, logs[-1].next_offset)
    aborts, first = transactions.aborts, first_aborted(segments, transactions)
    for log in logs:
        index = log.transaction_index
        if index is not None and len(index) and not _is_garbage(index):
            found = _entries(log, index, aborts, first, is_whole=is_whole)
            yield from _first_ones(found)
    if is_whole:
        yield from _missing(logs, aborts, first)
    latest = max(log.latest_time for log in logs)
    yield from _open_transactions(touched, transactions, latest)


def _first_ones(findings: Iterator[Finding]) -> Iterator[Finding]:
    """Yield the first findings of a file; the last one counts those that are left out."""
    yield from islice(findings, _MOST_ENTRIES - 1)
    last = next(findings, None)
    if last is not None:
        more = sum(1 for _ in findings)
        yield replace(last, found=f"{last.found} (and {more} more)") if more else last


def _is_garbage(index: TransactionIndex) -> bool:
    return any(problem.kind not in {"unfinished entry", "too large"} for problem in index.problems)


def _is_cut(index: TransactionIndex) -> bool:
    """Return whether only the first entries were read."""
    return any(problem.kind == "too large" for problem in index.problems)


def _of_problems(log: SegmentSummary, index: TransactionIndex) -> Iterator[Finding]:
    path = log.segment.files["txnindex"].path
    seen: set[str] = set()
    for problem in index.problems:
        if problem.kind == "too large":
            yield index_too_large(path, problem)
            continue
        kind, broker, severity = _problem_kind(problem, log.place)
        if kind in seen:
            continue
        seen.add(kind)
        found, wanted = problem.found, problem.expected
        yield Finding(kind, severity, path, problem.position, None, found, wanted, broker)  # type: ignore[arg-type]


def _problem_kind(problem: FileProblem, place: SegmentContext) -> tuple[str, str, str]:
    if problem.kind == "unfinished entry":
        broker = HALF_ENTRY
        if place.is_recovered:
            broker = place.index("")
        return "transaction-index-size", broker, "warning"
    if problem.kind == "unknown version":
        broker = (
            "A broker does not start, even after a clean shutdown: it reads every entry, and does "
            "not treat an unknown version as damage that it repairs."
        )
        return "transaction-index-version", broker, "error"
    if problem.kind == "below base offset":
        broker = (
            "A broker detects the damage when it starts (CorruptIndexException), reads the whole "
            "segment and rebuilds its indexes."
        )
        return "transaction-index-entry", broker, "warning"
    if place.is_recovered:
        return "transaction-index-entry", place.index(""), "warning"
    broker = f"{_UNSEEN}leave out the wrong records."
    return "transaction-index-entry", broker, "error"


def _entries(
    log: SegmentSummary,
    index: TransactionIndex,
    aborts: Aborts,
    first_offsets: Offsets,
    *,
    is_whole: bool,
) -> Iterator[Finding]:
    """Yield a finding for each entry that contradicts the transaction markers.

    Args:
        log: the segment.
        index: its transaction index.
        aborts: the ABORT markers of the log.
        first_offsets: see `first_aborted`.
        is_whole: whether all of the log could be read.
    """
    slots = aborts.at(index.producer_ids, index.last_offsets).tolist()
    for slot, (producer, first, last, stable) in enumerate(index):
        found = f"producer {producer}, offsets {first} to {last}, last stable offset {stable}"
        abort = slots[slot]
        if abort < 0:
            is_behind = log.is_end_sure and last >= log.next_offset
            if not log.is_whole and not is_behind:  # it may be among what could not be read
                continue
            yield _entry(
                log, slot, last, found, f"an ABORT marker of the producer at offset {last}"
            )
            continue
        next_base = log.place.next_base
        if next_base is not None and last >= next_base:
            wanted = f"a transaction that ended below {next_base}, the next segment's base offset"
            yield _entry(log, slot, last, found, wanted)
            continue
        before = max(int(aborts.after[abort]), -1)
        known = int(first_offsets[abort])
        if is_whole and known != NO_BATCH and first > known:
            wanted = f"the transaction's first offset, {known}"
            yield _entry(log, slot, last, found, wanted)
        elif is_whole and first <= before:
            wanted = f"an offset after {before}, the end of the producer's previous transaction"
            yield _entry(log, slot, last, found, wanted)
        elif stable > last + 1 or stable < 0:
            wanted = f"a last stable offset up to {last + 1}"
            yield _entry(log, slot, last, found, wanted)


def _entry(log: SegmentSummary, slot: int, offset: int, found: str, wanted: str) -> Finding:
    path = log.segment.files["txnindex"].path
    if log.place.is_recovered:
        broker = log.place.index("")
    else:
        broker = f"{_UNSEEN}do not get records that they should get, or get aborted ones."
    severity = "warning" if log.place.is_recovered else "error"
    kind = "transaction-index-entry"
    return Finding(kind, severity, path, slot * _ENTRY_SIZE, offset, found, wanted, broker)  # type: ignore[arg-type]


def _missing(
    logs: Sequence[SegmentSummary], aborts: Aborts, first_offsets: Offsets
) -> Iterator[Finding]:
    """Yield a finding for each segment whose index lacks aborted transactions that ended in it."""
    is_lacking = first_offsets != NO_BATCH
    for log in logs:
        if log.transaction_index is not None:
            index = log.transaction_index
            slots = aborts.at(index.producer_ids, index.last_offsets)
            is_lacking[slots[slots >= 0]] = False
    lacking = np.flatnonzero(is_lacking)
    lacking = lacking[np.lexsort((aborts.producer_ids[lacking], aborts.offsets[lacking]))]
    starts = np.array([log.place.base_offset for log in logs], np.int64)
    ends = np.searchsorted(starts, aborts.offsets[lacking], "right") - 1
    places, firsts, counts = np.unique(ends, return_index=True, return_counts=True)
    for at, slot, count in zip(
        places.tolist(), lacking[firsts].tolist(), counts.tolist(), strict=True
    ):
        log = logs[at]
        index = log.transaction_index
        if index is not None and (_is_garbage(index) or _is_cut(index)):
            continue
        is_there = "txnindex" in log.segment.files.keys() | log.place.unread
        if log.transaction_index is None and is_there:
            continue  # it could not be read, which has a finding of its own
        file = log.segment.files.get("txnindex")
        path = log.place.path if file is None else file.path
        holds = "no .txnindex" if file is None else f"{len(log.transaction_index or ())} entries"
        more = f" (and {count - 1} more)" if count > 1 else ""
        first = int(first_offsets[slot])
        wanted = (
            f"the aborted transaction of producer {aborts.producer_ids[slot]}, offsets "
            f"{first} to {aborts.offsets[slot]}{more}"
        )
        if log.place.is_recovered:
            broker = f"{log.place.situation.recovers} rebuilds the index."
        else:
            broker = f"{_UNSEEN}get the aborted records."
        kind = "transaction-index-incomplete"
        severity = "warning" if log.place.is_recovered else "error"
        yield Finding(kind, severity, path, None, first, holds, wanted, broker)  # type: ignore[arg-type]


def _open_transactions(
    logs: Sequence[SegmentSummary], transactions: Transactions, latest: int
) -> Iterator[Finding]:
    """Yield a finding for each open transaction that its coordinator should have ended long ago.

    Only times of data batches are compared: markers have the broker's time, data the producer's.
    """
    opened = open_transactions([log.segment for log in logs], transactions)
    for each in sorted(opened):
        time = each.last_timestamp
        if 0 <= time < latest - HANGING_AFTER_MS:
            broker = (
                "The last stable offset remains here: read_committed consumers get no later record "
                "until the transaction coordinator ends the transaction."
            )
            open_for = (latest - time) // 1000
            found = f"a transaction of producer {each.producer_id}, open for {open_for} s"
            wanted, kind, at = "a transaction marker", "open-transaction", each.first_offset
            yield Finding(kind, "info", each.path, each.position, at, found, wanted, broker)
