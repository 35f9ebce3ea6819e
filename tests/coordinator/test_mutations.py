"""Records with flipped, cut and added bytes, in batches with a valid CRC: findings, never a crash.

The records are those of a real broker: groups of every kind, offsets, transactional ids.
"""

import json
from collections.abc import Callable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.coordinator.repairing import plan, repair
from tests.coordinator.writing import TIME, CoordinatorLog, Pair
from tests.examples import examples
from workbench.coordinator.groups.commit_history import CommitHistory
from workbench.coordinator.groups.commit_records import commit_key
from workbench.coordinator.groups.rebalance_history import RebalanceHistory
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.offsets.commit_lag import lags_of
from workbench.coordinator.repair.plan import plan_repairs
from workbench.coordinator.repair.repair import REPAIR
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.coordinator.runtime.log_records import LogRecord, read_log_records
from workbench.coordinator.transactions.stored_transactions import StoredTransactions
from workbench.inspection.listing import list_log_directories
from workbench.loaders.explanations.coordinator_explanation import explain_transaction, explained
from workbench.loaders.explanations.offset_fates import fates_of_offsets
from workbench.loaders.tables.coordinator_rows import (
    commit_rows,
    group_rows,
    member_rows,
    offset_rows,
    repair_rows,
    transaction_rows,
)
from workbench.loaders.tables.rows import table_of
from workbench.runtime.words import safe
from workbench.tables.columns import json_of
from workbench.tables.groups import (
    CommitRow,
    CommittedOffsetRow,
    DeliveryRow,
    GroupRow,
    MemberRow,
    OffsetFateRow,
    RebalanceRow,
)
from workbench.tables.transactions import RepairRow, TransactionRow

SAMPLES = Path(__file__).parents[2] / "sample_data"
ARCHIVES = Path(__file__).parents[1] / "golden" / "archives"


@cache
def _records(directory: Path, topic: str) -> list[Pair]:
    """Return a key and a value of every type and size there is."""
    found: dict[Any, Pair] = {}
    for partition in list_log_directories(directory).partitions.values():
        if partition.topic != topic:
            continue
        for record in read_log_records(partition, []):
            if isinstance(record, LogRecord) and record.key is not None:
                size = -1 if record.value is None else len(record.value) // 16
                found[record.key[:2], size] = (record.key, record.value)
    return list(found.values())


def _changed(data: bytes | None, draw: Callable[..., Any]) -> bytes | None:
    if data is None or draw(st.integers(0, 9)) == 0:
        return draw(st.none() | st.binary(max_size=40))  # type: ignore[no-any-return]
    how = draw(st.sampled_from(["same", "flip", "cut", "insert"]))
    at = draw(st.integers(0, max(len(data) - 1, 0)))
    if how == "flip" and data:
        return data[:at] + bytes([data[at] ^ draw(st.integers(1, 255))]) + data[at + 1 :]
    if how == "cut":
        return data[:at]
    return data[:at] + draw(st.binary(max_size=9)) + data[at:] if how == "insert" else data


@st.composite
def mutated(draw: Callable[..., Any], pairs: list[Pair]) -> list[Pair]:
    """Return records, about half of them changed."""
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=12))
    return [(_changed(key, draw), _changed(value, draw)) for key, value in chosen]


FEW = examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def groups_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.golden.cases import open_case

    return open_case("4.2.0-groups", tmp_path_factory.mktemp("groups")).directory("before")


@pytest.mark.parametrize("era", list(CoordinatorEra))
@FEW
@given(data=st.data())
def test_changed_group_records_never_stop_a_load(
    era: CoordinatorEra, groups_directory: Path, tmp_path: Path, data: st.DataObject
) -> None:
    pairs = _records(groups_directory, "__consumer_offsets")
    log = CoordinatorLog(tmp_path)
    changed = data.draw(mutated(pairs))
    log.append(*changed, producer=data.draw(st.sampled_from([None, 5])))
    log.append(*data.draw(mutated(pairs)))
    log.marker(5, commit=data.draw(st.booleans()))
    history = CommitHistory(data.draw(st.sampled_from([None, "g-txn", "g-simple", "g-new"])))
    listing = list_log_directories(log.write())
    coordinator = StoredGroups(listing, era=era)
    coordinator.observe(history)
    rebalances = RebalanceHistory(coordinator.logs.topic_names)
    coordinator.observe(rebalances)
    (load,) = coordinator.loads
    assert load.records == log.next_offset
    assert bool(load.findings) == (load.failure is not None)
    rows = [group_rows(coordinator), member_rows(coordinator), offset_rows(coordinator.offsets())]
    facts = [json_of(each) for each in chain(*rows)]
    facts += [json_of(each) for each in repair_rows(plan_repairs(listing), values=True)]
    json.dumps(facts)
    table_of(GroupRow, group_rows(coordinator))
    table_of(MemberRow, member_rows(coordinator))
    table_of(CommittedOffsetRow, offset_rows(coordinator.offsets()))
    table_of(CommitRow, commit_rows(history.commits))
    lags = lags_of(history.commits, coordinator.logs)
    table_of(CommitRow, commit_rows(history.commits, lags))
    table_of(RebalanceRow, rebalances.finish())
    table_of(DeliveryRow, coordinator.share_deliveries())
    fates = fates_of_offsets(listing, now=data.draw(st.sampled_from([0, 1 << 41, 1 << 62])))
    table_of(OffsetFateRow, fates)
    json.dumps([json_of(fate) for fate in fates])
    for name in {each.group for each in history.commits}:
        story = explained(coordinator, name)
        json.dumps(story.as_dict())
        assert story.to_arrow().num_rows == len(story)
        assert safe(name) in str(story)


@FEW
@given(data=st.data())
def test_changed_transaction_records_never_stop_a_load(tmp_path: Path, data: st.DataObject) -> None:
    pairs = _records(SAMPLES / "shop-4.3.1", "__transaction_state")
    log = CoordinatorLog(tmp_path, "__transaction_state")
    log.append(*data.draw(mutated(pairs)))
    listing = list_log_directories(log.write())
    coordinator = StoredTransactions(listing)
    table_of(TransactionRow, transaction_rows(coordinator))
    names: list[str | int] = [*coordinator.transactions, 3, "nosuch"]
    for name in names:
        story = explain_transaction(listing, name, now=data.draw(st.sampled_from([None, 1 << 62])))
        json.dumps(story.as_dict())
        assert story.to_arrow().num_rows == len(story)
        assert story.conclusion in str(story)
    json.dumps([json_of(each) for each in transaction_rows(coordinator)])
    (load,) = coordinator.loads
    assert bool(load.findings) == (load.failure is not None)
    assert load.end_offset <= log.next_offset
    planned = plan_repairs(listing)
    json.dumps([json_of(each) for each in repair_rows(planned, values=True)])
    table_of(RepairRow, repair_rows(planned, values=True))
    assert any(each.by == REPAIR for each in planned) or not load.findings


@examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_planned_repair_leaves_nothing_to_do(
    groups_directory: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Unless the key of a record is damaged, which nothing can replace."""
    root = tmp_path_factory.mktemp("logs")
    pairs = _records(groups_directory, "__consumer_offsets")
    log = CoordinatorLog(root)
    for key, value in data.draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=12)):
        log.append((key, _changed(value, data.draw)))
    log.write()
    planned = plan(root)
    assert {each.action for each in planned} <= {"append", "clean"}
    before = StoredGroups(list_log_directories(root), era=CoordinatorEra.KIP_848)
    repair(root, planned, TIME)
    after = StoredGroups(list_log_directories(root), era=CoordinatorEra.KIP_848)
    assert plan(root) == []
    assert {load.failure for load in after.loads} == {None}
    damaged = {each.key for each in planned}
    kept = {(each.group, each.where) for each in before.offsets()}
    left = {(each.group, each.where) for each in after.offsets()}
    assert left <= kept
    assert all(commit_key(*each) in damaged for each in kept - left)
