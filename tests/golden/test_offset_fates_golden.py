"""What became of each offset of real brokers' logs: one fate each, and the records are the scan's.

Which records were sent, and which transactions aborted, is what the producers were acknowledged.
"""

import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import workbench as wb
from tests.golden.cases import Case
from workbench.errors import CorruptDataWarning
from workbench.loaders.offsets.runs import IN_BATCHES
from workbench.loaders.partition import Partition
from workbench.log_directory import LogDirectory

Golden = Callable[[str], Case]
NAMES = (
    "4.2.0-compact-txn", "4.2.0-txn", "4.2.0-tiered", "4.2.0-retention", "4.2.0-groups",
    "4.2.0-raft", "4.2.0-damage-clean", "4.2.0-crash-produce-1", "2.8.2-compact-txn",
    "3.9.1-compact-nullkeys", "k0.8.2-compaction", "k0.9-damage", "k0.10.0-mixed-wrapper",
    "k0.10.2-interrupted-swap", "k0.11-transactions", "upgrade-chain",
)  # fmt: skip


def _logs(case: Case) -> Iterator[LogDirectory]:
    for label in (case.labels[0], case.labels[-1]):
        yield wb.open_log_directory(case.directory(label))


def _fates(partition: Partition) -> dict[int, str]:
    """Return the fate of each offset; none has two."""
    found: dict[int, str] = {}
    for row in partition.fates().to_pylist():
        offsets = range(row["first_offset"], row["last_offset"] + 1)
        assert offsets
        assert len(found) == row["first_offset"]
        found |= dict.fromkeys(offsets, row["fate"])
    return found


def _scanned(logs: LogDirectory, name: str, **options: Any) -> list[int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorruptDataWarning)
        scan = logs.scan(partitions=name, columns=["offset"], **options)
        offsets: list[int] = scan.to_arrow()["offset"].to_pylist()
    return offsets


@pytest.mark.parametrize("name", NAMES)
def test_every_offset_has_one_fate_and_records_are_those_of_a_scan(
    name: str, golden: Golden
) -> None:
    for logs in _logs(golden(name)):
        for partition in logs.values():
            fates = _fates(partition)
            every = _scanned(logs, partition.name, include_control=True)
            assert [o for o, fate in fates.items() if fate in IN_BATCHES] == every
            served = [o for o, fate in fates.items() if fate in {"record", "open", "aborted"}]
            assert served == _scanned(logs, partition.name)
            committed = _scanned(logs, partition.name, isolation_level="read_committed")
            ours = [offset for offset, fate in fates.items() if fate == "record"]
            stable = partition.fate(len(fates)).read_committed.next_offset
            opened = [offset for offset, fate in fates.items() if fate == "open"]
            bound = min([*opened, len(fates)])
            assert committed == [offset for offset in ours if offset < bound]
            if len(fates) == partition.log_end_offset:  # no old batch was put at the end
                assert stable == len(fates)
                assert partition.fate(len(fates)).fate == "end"
                assert partition.fate(len(fates) + 1).fate == "beyond"


@pytest.mark.parametrize("name", ["4.2.0-compact-txn", "2.8.2-compact-txn", "k0.11-transactions"])
def test_a_consumer_that_asks_for_any_offset_gets_the_next_record_of_a_scan(
    name: str, golden: Golden
) -> None:
    logs = wb.open_log_directory(golden(name).directory(golden(name).labels[-1]))
    asked = 0
    for partition in logs.values():
        if partition.log_end_offset > 400:
            continue
        fates = _fates(partition)
        for level in ("read_uncommitted", "read_committed"):
            scanned = _scanned(logs, partition.name, isolation_level=level)
            for offset in range(partition.log_start_offset, partition.log_end_offset):
                told = partition.fate(offset)
                assert told.fate == fates[offset]
                answer = getattr(told, level)
                at = bisect_left(scanned, offset)
                if at < len(scanned):
                    assert (answer.outcome, answer.next_offset) == ("gets", scanned[at])
                else:
                    assert answer.outcome == "waits"
                asked += 1
    assert asked > 500


def _told(row: dict[str, Any]) -> str | None:
    """Return what a producer knew about its transaction."""
    return row["txn"] if row.get("txn") in {"commit", "abort"} else None


@pytest.mark.parametrize("name", ["4.2.0-txn", "4.2.0-compact-txn", "2.8.2-compact-txn"])
def test_what_producers_were_acknowledged_has_the_fate_that_they_know(
    name: str, golden: Golden
) -> None:
    case = golden(name)
    logs = wb.open_log_directory(case.directory(case.labels[-1]))
    fates = {p.name: _fates(p) for p in logs.values()}
    seen = set()
    for row in case.truth():
        if "offset" not in row or f"{row['topic']}-{row['partition']}" not in fates:
            continue
        known = fates[f"{row['topic']}-{row['partition']}"].get(row["offset"])
        allowed = {"commit": {"record"}, "abort": {"aborted"}}.get(_told(row) or "", {"record"})
        if "compact" in name:
            allowed = allowed | {"compacted"}
        if _told(row) is None and row.get("txn"):
            allowed = allowed | {"open", "aborted"}  # the end failed, or nobody ended it
        assert known in allowed, row
        seen.add(known)
    assert {"record", "aborted"} <= seen


def test_damage_is_met_where_it_was_planted(golden: Golden) -> None:
    """What producers sent there and no scan gives has no other reason."""
    case = golden("4.2.0-damage-clean")
    logs = wb.open_log_directory(case.directory("before"))
    for row in case.truth():
        name = f"{row['topic']}-{row['partition']}"
        if name in logs and row.get("offset", -1) >= logs[name].log_start_offset:
            fate = logs[name].fate(row["offset"]).fate
            assert fate in {"record", "aborted", "open", "damaged", "missing", "end", "beyond"}, row
