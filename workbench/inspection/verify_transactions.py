"""Check the transaction indexes of a partition against the markers in its log.

The log is the truth. An entry must stand for an ABORT marker of its producer, and its first offset
must take in all of the transaction's batches and none of an earlier one. Every aborted transaction
that still has batches in the log must have an entry, or read_committed consumers get them.

Kafka: TransactionIndex, ProducerStateManager.completeTxn, CleanedTransactionMetadata (4.2)
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from workbench.files.reading import Problem
from workbench.files.transaction_index import TransactionIndex
from workbench.inspection.findings import Finding
from workbench.inspection.transactions import (
    OPEN,
    AbortedTransaction,
    Markers,
    Transactions,
    aborted_transactions,
    transactions_of,
)
from workbench.inspection.verify_segment import SegmentSummary
from workbench.inspection.verify_situation import Place

_ENTRY_SIZE: Final = 34
HANGING_AFTER_MS: Final = (
    1_200_000  # transaction.max.timeout.ms and five minutes, as Kafka's tool has it
)
_UNSEEN: Final = "A broker does not notice it after a clean stop: read_committed consumers "


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
    aborted = aborted_transactions(segments, transactions)
    for log in logs:
        index = log.transaction_index
        if index is not None and len(index) and not _is_garbage(index):
            yield from _entries(log, index, transactions.markers, aborted, is_whole=is_whole)
    if is_whole:
        yield from _missing(logs, aborted)
    latest = max(log.latest_time for log in logs)
    yield from _open_transactions(touched, transactions, latest)


def _is_garbage(index: TransactionIndex) -> bool:
    return any(problem.kind != "unfinished entry" for problem in index.problems)


def _of_problems(log: SegmentSummary, index: TransactionIndex) -> Iterator[Finding]:
    path = log.segment.files["txnindex"].path
    seen: set[str] = set()
    for problem in index.problems:
        kind, broker, severity = _problem_kind(problem, log.place)
        if kind in seen:
            continue
        seen.add(kind)
        found, wanted = problem.found, problem.expected
        yield Finding(kind, severity, path, problem.position, None, found, wanted, broker)  # type: ignore[arg-type]


def _problem_kind(problem: Problem, place: Place) -> tuple[str, str, str]:
    if problem.kind == "unfinished entry":
        broker = "A broker takes no notice of bytes behind the last whole entry."
        if place.is_recovered:
            broker = place.index("")
        return "transaction-index-size", broker, "warning"
    if problem.kind == "unknown version":
        broker = (
            "A broker does not start, whether it was stopped cleanly or not: it reads every entry, "
            "and an unknown version is no damage to it that it would repair."
        )
        return "transaction-index-version", broker, "error"
    if problem.kind == "below base offset":
        broker = (
            "A broker takes it for damage when it starts (CorruptIndexException), reads the whole "
            "segment and builds its indexes anew."
        )
        return "transaction-index-entry", broker, "warning"
    if place.is_recovered:
        return "transaction-index-entry", place.index(""), "warning"
    broker = f"{_UNSEEN}leave out the wrong records."
    return "transaction-index-entry", broker, "error"


def _entries(
    log: SegmentSummary,
    index: TransactionIndex,
    markers: Markers,
    aborted: Sequence[AbortedTransaction],
    *,
    is_whole: bool,
) -> Iterator[Finding]:
    """Yield a finding for each entry that the markers do not bear out."""
    in_log = {(entry.last_offset, entry.producer_id): entry for entry in aborted}
    for slot in range(len(index)):
        producer, first, last, stable = index[slot]
        mine = markers.producer_ids == producer
        is_marker = mine & (markers.offsets == last) & markers.is_abort
        found = f"producer {producer}, offsets {first} to {last}, last stable offset {stable}"
        if not is_marker.any():
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
        earlier = markers.offsets[mine & (markers.offsets < last)]
        before = int(earlier.max()) if len(earlier) else -1
        known = in_log.get((last, producer))
        if is_whole and known is not None and first > known.first_offset:
            wanted = f"the transaction's first offset, {known.first_offset}"
            yield _entry(log, slot, last, found, wanted)
        elif is_whole and first <= before:
            wanted = f"an offset behind {before}, where the producer's transaction before ended"
            yield _entry(log, slot, last, found, wanted)
        elif stable > last + 1 or stable < 0:
            wanted = f"a last stable offset up to {last + 1}"
            yield _entry(log, slot, last, found, wanted)


def _entry(log: SegmentSummary, slot: int, offset: int, found: str, wanted: str) -> Finding:
    path = log.segment.files["txnindex"].path
    if log.place.is_recovered:
        broker = log.place.index("")
    else:
        broker = f"{_UNSEEN}leave out records by it that they should get, or get aborted ones."
    severity = "warning" if log.place.is_recovered else "error"
    kind = "transaction-index-entry"
    return Finding(kind, severity, path, slot * _ENTRY_SIZE, offset, found, wanted, broker)  # type: ignore[arg-type]


def _missing(
    logs: Sequence[SegmentSummary], aborted: Sequence[AbortedTransaction]
) -> Iterator[Finding]:
    """Yield a finding for each segment whose index lacks aborted transactions that ended in it."""
    listed = {
        (int(last), int(producer))
        for log in logs
        if log.transaction_index is not None
        for last, producer in zip(
            log.transaction_index.last_offsets, log.transaction_index.producer_ids, strict=True
        )
    }
    starts = np.array([log.place.base_offset for log in logs], np.int64)
    lacking: dict[int, list[AbortedTransaction]] = {}
    for entry in aborted:
        if (entry.last_offset, entry.producer_id) not in listed:
            at = int(np.searchsorted(starts, entry.last_offset, "right")) - 1
            lacking.setdefault(at, []).append(entry)
    for at, entries in lacking.items():
        log = logs[at]
        if log.transaction_index is not None and _is_garbage(log.transaction_index):
            continue
        first = entries[0]
        file = log.segment.files.get("txnindex")
        path = log.place.path if file is None else file.path
        holds = "no .txnindex" if file is None else f"{len(log.transaction_index or ())} entries"
        more = f" (and {len(entries) - 1} more)" if len(entries) > 1 else ""
        wanted = (
            f"the aborted transaction of producer {first.producer_id}, offsets "
            f"{first.first_offset} to {first.last_offset}{more}"
        )
        if log.place.is_recovered:
            broker = "Not stopped cleanly: recovery builds the index anew."
        else:
            broker = f"{_UNSEEN}get the aborted records."
        kind = "transaction-index-incomplete"
        severity = "warning" if log.place.is_recovered else "error"
        yield Finding(kind, severity, path, None, first.first_offset, holds, wanted, broker)  # type: ignore[arg-type]


def _open_transactions(
    logs: Sequence[SegmentSummary], transactions: Transactions, latest: int
) -> Iterator[Finding]:
    """Yield a finding for each open transaction that its coordinator should have ended long ago.

    Times of data batches are compared with one another: markers have the broker's time, and data
    whatever the producer says.
    """
    first: dict[int, tuple[int, int, int, str]] = {}
    for log in logs:
        rows = log.segment.batches.rows
        for row in rows[transactions.fates(rows) == OPEN]:
            producer = int(row["producer_id"])
            entry = (
                int(row["base_offset"]), int(row["max_timestamp"]), int(row["position"]),
                log.place.path,
            )  # fmt: skip
            known = first.get(producer)
            first[producer] = entry if known is None else (known[0], entry[1], *known[2:])
    for producer, (offset, time, position, path) in sorted(first.items()):
        if 0 <= time < latest - HANGING_AFTER_MS:
            broker = (
                "The last stable offset stays here: read_committed consumers get nothing behind it "
                "until the transaction coordinator ends the transaction."
            )
            found = f"a transaction of producer {producer}, open for {(latest - time) // 1000} s"
            wanted = "a marker"
            kind = "open-transaction"
            yield Finding(kind, "info", path, position, offset, found, wanted, broker)
