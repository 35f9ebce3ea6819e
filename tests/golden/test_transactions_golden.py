"""Transactions of the golden cases: markers, fates, last stable offsets and aborted transactions.

Against the dumps, the producers' own account of what they committed, and what brokers answered.
"""

from collections.abc import Callable
from typing import Any

import pytest

import workbench
from tests.golden.cases import Case, names
from tests.golden.dump_text import parse_log
from workbench.inspection.transaction_markers import read_markers
from workbench.inspection.transactions import (
    ABORTED,
    COMMITTED,
    OPEN,
    aborted_transactions,
    read_transactions,
)

Golden = Callable[[str], Case]

CASES = [
    *names("txn"),
    *names("transactions"),
    *names("compact-txn"),
    *names("crash-produce"),
    *names("damage-directory"),
    *names("tiered"),
]


@pytest.mark.parametrize("name", CASES)
def test_markers_are_those_that_the_dump_prints(name: str, golden: Golden) -> None:
    """CR-1 CR-4 DB-10: every end of a transaction, its producer, and which end it is."""
    case = golden(name)
    compared = 0
    for label in case.labels:
        told: dict[str, list[tuple[int, int, bool]]] = {}
        for version in case.dump_versions(label)[-1:]:
            dump = case.dump(label, version)
            for section in dump.sections:
                if section.file.endswith(".log") and "decoder" not in section.options:
                    producer = -1
                    for kind, fields in parse_log(section):
                        if kind == "batch":
                            producer = fields["producerId"]
                        elif "endTxnMarker" in fields:
                            owner = fields.get("producerId", producer)
                            marker = (fields["offset"], owner, fields["endTxnMarker"] == "ABORT")
                            told.setdefault(section.file.split("/")[0], []).append(marker)
        logs = workbench.open_log_directory(case.directory(label))
        for folder, markers in told.items():
            found = read_markers(logs[folder])
            rows = zip(
                found.offsets.tolist(),
                found.producer_ids.tolist(),
                found.is_abort.tolist(),
                strict=True,
            )
            assert list(rows) == markers
            compared += len(markers)
    assert compared


@pytest.mark.parametrize("name", [*names("txn"), *names("transactions"), *names("compact-txn")])
def test_every_batch_has_the_fate_its_producer_tells(name: str, golden: Golden) -> None:
    case = golden(name)
    fates: dict[tuple[str, int, int], str] = {}
    for row in case.truth():
        if "offset" in row:
            fate = str(row.get("txn") or row.get("tag") or "")
            fates[row["topic"], row["partition"], row["offset"]] = fate
    wrong: list[Any] = []
    seen = set()
    for label in case.labels[-1:]:
        for partition in workbench.open_log_directory(case.directory(label)).values():
            transactions = read_transactions(partition)
            for segment in partition.segments:
                rows = segment.batches.rows
                for row, fate in zip(rows, transactions.fates(rows).tolist(), strict=True):
                    where = (partition.topic, partition.partition, int(row["last_offset"]))
                    told = fates.get(where, "")
                    wanted = {"commit": COMMITTED, "abort": ABORTED, "open": OPEN}.get(
                        told.split()[0] if told else ""
                    )
                    if told.startswith(("commit failed", "?")) or wanted is None:
                        continue
                    seen.add(fate)
                    # A transaction left open is aborted by the coordinator sooner or later.
                    late = wanted == OPEN and fate == ABORTED
                    if fate != wanted and not late:
                        wrong.append((label, where, told, fate))
    assert wrong == []
    assert seen >= {COMMITTED, ABORTED}


@pytest.mark.parametrize("name", [name for name in CASES if "tiered" not in name])
def test_aborted_transactions_are_those_of_the_indexes(name: str, golden: Golden) -> None:
    """TX-4: what the log says is what the `.txnindex` files say."""
    case = golden(name)
    compared = 0
    wrong: list[Any] = []
    for label in case.labels:
        # Cleaned logs: aborted data is dropped, entries of the index are kept, and the reverse.
        if case.kind == "compact-txn" and label != "before1":
            continue
        for partition in workbench.open_log_directory(case.directory(label)).values():
            if partition.topic == "__transaction_state" or not partition.segments:
                continue
            transactions = read_transactions(partition)
            told = {
                (entry.producer_id, entry.last_offset)
                for segment in partition.segments
                for entry in segment.transaction_index or ()
                # The coordinator of 2.4 wrote a marker again, and its broker indexed that, too.
                if not (case.version.startswith("2.4") and entry.first_offset == entry.last_offset)
            }
            start = partition.segments[0].base_offset
            found = {
                (entry.producer_id, entry.last_offset)
                for entry in aborted_transactions(partition.segments, transactions)
                if entry.last_offset >= start
            }
            told = {end for end in told if end[1] >= start}
            if label == "torn-before":  # the marker may be what was cut off by hand
                told = {end for end in told if end[1] < partition.log_end_offset}
            wrong += [(label, partition.name, found ^ told)] if found != told else []
            compared += len(found)
    assert wrong == []
    assert compared or case.kind not in {"txn", "transactions"}


@pytest.mark.parametrize("name", names("damage-(clean|unclean)"))
def test_log_end_and_last_stable_offset_are_what_the_broker_answered(
    name: str, golden: Golden
) -> None:
    """ListOffsets of the broker that stood on the directory, for every topic nobody damaged."""
    case = golden(name)
    outcome = case.info["headline"]["outcome"]
    edits = {step["topic"]: step["edit"] for step in case.info["steps"] if step.get("do") == "edit"}
    logs = workbench.open_log_directory(case.directory("after"))
    compared = 0
    for topic, answer in outcome.items():
        if edits.get(topic, "nothing") != "nothing":
            continue
        partition = logs[f"{topic}-0"]
        stable = read_transactions(partition).last_stable_offset
        offsets = answer["listOffsets"]
        assert offsets["read_uncommitted"] == [partition.log_start_offset, partition.log_end_offset]
        assert offsets["read_committed"] == [partition.log_start_offset, stable]
        compared += 1
    assert compared
