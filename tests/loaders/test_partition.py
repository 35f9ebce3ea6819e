"""What a partition says becomes of it is what brokers and the engine do."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

import workbench
from tests.golden.cases import Case, names
from tests.golden.compaction import Round, compactions_of
from tests.trees import snapshot
from workbench.cleaner.decisions import Reason
from workbench.errors import ConfigError, LogDirectoryError
from workbench.inspection.partition import DiskPartition
from workbench.loaders.explanations.cleaning_plan import CleaningPlan
from workbench.loaders.schemas import schema_of
from workbench.record.memory_records import MemoryRecords
from workbench.tables.cleaning import BatchDecisionRow, PlannedKeyRow, ReasonRow, RecordDecisionRow
from workbench.tables.foresight import RuleRow

Golden = Callable[[str], Case]

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
DAY = 86_400_000  # ms
NOW = 1_767_225_600_000  # 2026: all times of the shop's customers have passed

COMPACTED = [
    name for name in names("compact-", version="4.") if name != "4.2.0-compact-delete"
]  # there retention works on the same logs


def _offsets(partition: DiskPartition) -> list[int]:
    """Return the offsets of all records, those of markers too."""
    return [
        offset
        for segment in partition.segments
        for chunk in segment.read(options=0)
        for offset in chunk.columns.offsets.tolist()
    ]


def _left(partition: DiskPartition, plan: CleaningPlan) -> list[int]:
    """Return the offsets of the records that a plan leaves."""
    table = plan.decisions
    dropped = set(table.filter(pc.invert(table["is_kept"]))["offset"].to_pylist())
    return [offset for offset in _offsets(partition) if offset not in dropped]


def _settings(broker: Any, topic: str, own: Any) -> dict[str, Any]:
    return {**broker, **{f"{topic}:{name}": value for name, value in own.items()}}


@pytest.mark.parametrize("name", COMPACTED)
def test_a_plan_drops_the_records_that_a_broker_dropped(name: str, golden: Golden) -> None:
    planned = 0
    for compaction in compactions_of(golden(name)):
        pair = compaction.pair
        before = workbench.open_log_directory(pair.before)
        after = workbench.open_log_directory(pair.after)
        for folder, rounds in compaction.rounds.items():
            topic = before[folder].topic
            plan = before[folder].plan_cleaning(
                _settings(pair.broker, topic, pair.config_of(topic)),
                now=_times(rounds),
                kafka=pair.version,
            )
            assert _left(before[folder], plan) == _offsets(after[folder]), (pair.name, folder)
            assert plan.size == before[folder].size
            assert len(plan.rounds) == len(rounds)
            assert plan.rounds[-1].end_offset == rounds[-1].end
            planned += 1
    assert planned


def _times(rounds: list[Round]) -> list[int]:
    return [each.now for each in rounds]


@pytest.fixture(name="customers")
def customers_() -> DiskPartition:
    return workbench.open_log_directory(SHOP)["customers-0"]


def test_a_plan_accounts_for_every_record_and_byte() -> None:
    before = snapshot(SHOP)
    customers = workbench.open_log_directory(SHOP)["customers-0"]
    plan = customers.plan_cleaning(now=NOW)
    assert plan.decisions.schema == schema_of(RecordDecisionRow)
    assert plan.batches.schema == schema_of(BatchDecisionRow)
    assert pc.sum(plan.batches["record_count"]).as_py() == len(plan.decisions)
    saved = pc.sum(pc.subtract(plan.batches["size"], plan.batches["new_size"])).as_py()
    assert plan.size_after == customers.size - saved
    reasons = plan.reasons()
    assert reasons.schema == schema_of(ReasonRow)
    assert pc.sum(reasons["records"]).as_py() == len(plan.decisions)
    keys = plan.keys(limit=10_000)
    assert keys.schema == schema_of(PlannedKeyRow)
    assert pc.sum(keys["records"]).as_py() == len(plan.decisions)
    gone = reasons.filter(pc.invert(reasons["is_kept"]))
    assert pc.sum(keys["dropped_records"]).as_py() == pc.sum(gone["records"]).as_py() == 612
    assert pc.sum(keys["dropped_bytes"]).as_py() == pc.sum(gone["bytes"]).as_py()
    assert snapshot(SHOP) == before


def test_why_a_record_goes_names_the_one_that_supersedes_it(customers: Any) -> None:
    plan = customers.plan_cleaning(now=NOW)
    (why,) = plan.why(1000)
    assert why == f"round 1: dropped: {Reason.SUPERSEDED.text} at offset 1505"
    with pytest.raises(LookupError, match="no round reaches offset 1526"):
        plan.why(1526)
    rows = plan.decisions
    newer = rows["newer_offset"].to_numpy(zero_copy_only=False)
    superseded = np.array(rows["reason"].to_pylist()) == Reason.SUPERSEDED.text
    assert (np.isnan(newer.astype(float)) == ~superseded).all()


def test_what_is_written_now_is_what_was_planned(tmp_path: Path, customers: Any) -> None:
    from workbench.config.settings import Settings
    from workbench.foresight.copies.compacting import compact_directory

    times = [NOW, NOW + DAY + 1]
    plan = customers.plan_cleaning(now=times, everything=True)
    shutil.copytree(SHOP, tmp_path / "copy")
    done = compact_directory(
        str(tmp_path / "copy"), times, Settings.of({}), topics=["customers"], everything=True
    )
    (mine,) = [each for each in done if each.partition == "customers-0"]
    assert mine.size_after == plan.size_after
    after = workbench.open_log_directory(tmp_path / "copy")["customers-0"]
    assert _offsets(after) == _left(customers, plan)
    assert after.size == plan.size_after


def test_two_rounds_let_tombstones_go(customers: Any) -> None:
    plan = customers.plan_cleaning(now=[NOW, NOW + DAY + 1], everything=True)
    counts = {(number, reason): count for number, reason, count in plan.counts()}
    tombstones = counts[1, Reason.TOMBSTONE_HORIZON_SET]
    assert counts[2, Reason.TOMBSTONE_HORIZON_PASSED] == tombstones == 9
    assert (2, Reason.SUPERSEDED) not in counts


def test_where_nothing_is_to_be_cleaned_a_plan_says_why(customers: Any) -> None:
    plan = customers.plan_cleaning(now=NOW, passes=2)
    assert len(plan.rounds) == 1
    assert "nothing to clean in round 2" in plan.problem
    assert "stops at offset 1521 (active segment)" in str(plan)
    empty = workbench.open_log_directory(SHOP)["returns-0"].plan_cleaning(now=NOW)
    assert (empty.rounds, empty.size_after, len(empty.decisions)) == ((), 0, 0)
    assert len(empty.batches) == len(empty.reasons()) == len(empty.keys()) == 0
    assert "nothing to clean" in empty._repr_html_()


def test_a_plan_shows_itself(customers: Any) -> None:
    plan = customers.plan_cleaning(now=NOW)
    shown = plan._repr_html_()
    assert "174,064 bytes become 44,521; 612 of 822 records are dropped" in shown
    assert Reason.SUPERSEDED.text in shown
    assert "a broker would still wait" in shown
    assert plan.summary in repr(plan)
    rounds = plan.as_dict()["rounds"]
    assert rounds[0]["records"]["superseded"] == 612
    assert sum(rounds[0]["batches"].values()) == len(plan.batches)


def test_rounds_come_one_after_the_other(customers: Any) -> None:
    with pytest.raises(ValueError, match="must ascend"):
        customers.plan_cleaning(now=[2, 1])
    with pytest.raises(ValueError, match="at least one round"):
        customers.plan_cleaning(now=[])


def test_the_metadata_of_the_cluster_tell_how_a_topic_is_kept(customers: Any) -> None:
    """The shop's brokers were configured not to clean further, by a ratio of 1."""
    told = customers.explain_cleaning(now=NOW)
    assert told["cleanup.policy"].verdict == "allows"
    assert told["cleanup.policy"].reason == "cleanup.policy = compact (__cluster_metadata)"
    ratio = told["min.cleanable.dirty.ratio"]
    assert (ratio.verdict, ratio.value, ratio.threshold) == ("blocks", 0.737742, 1.0)
    assert told["order"].verdict == "blocks"
    assert told.conclusion.startswith("the log is not cleaned: min.cleanable.dirty.ratio: ")


def test_what_is_given_counts_more(customers: Any) -> None:
    told = customers.explain_cleaning({"min.cleanable.dirty.ratio": 0.5}, now=NOW)
    assert told["min.cleanable.dirty.ratio"].verdict == "allows"
    assert told.conclusion == "the log is cleaned first of 2 logs"
    other = workbench.open_log_directory(SHOP)["customers-1"]
    told = other.explain_cleaning({"min.cleanable.dirty.ratio": 0.5}, now=NOW)
    assert told.conclusion == "the log is cleaned as number 2 of 2 logs"
    assert "customers-0" in told["order"].reason
    only = {"min.cleanable.dirty.ratio": 0.5, "customers:cleanup.policy": "delete"}
    told = customers.explain_cleaning(only, now=NOW)
    assert told["cleanup.policy"].verdict == "blocks"
    assert told.conclusion == "the log is not cleaned: cleanup.policy = delete (given)"
    with pytest.raises(ConfigError):
        customers.explain_cleaning({"min.cleanable.ratio": 0.5})


def test_equally_dirty_logs_share_their_place(tmp_path: Path) -> None:
    """A broker takes them in the order of its map; 4.3.1 and 3.6.2 took eight in two orders."""
    for name in ("a-0", "b-0", "c-0"):
        shutil.copytree(SHOP / "customers-0", tmp_path / name)
    given = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.1}
    logs = workbench.open_log_directory(tmp_path)
    tied = "2 others are equally dirty, and any of them may be cleaned before it"
    for name in ("a-0", "c-0"):
        told = logs[name].explain_cleaning(given, now=NOW)
        assert told.conclusion == f"the log is cleaned first of 3 logs: {tied}"
        assert (told["order"].value, told["order"].threshold) == (1, 3)
    orders = logs.inspect.cleaning(config=given, now=NOW)["order"].to_pylist()
    assert orders == [1, 1, 1]


def test_lags_hold_a_log_back_and_make_it_due(customers: Any) -> None:
    lag = {"min.compaction.lag.ms": 100 * DAY, "min.cleanable.dirty.ratio": 0.1}
    newest = 1_732_900_000_000
    told = customers.explain_cleaning(lag, now=newest)
    assert told["min.compaction.lag.ms"].verdict == "blocks"
    assert told["min.compaction.lag.ms"].reason == (
        "the cleaner stops at offset 909: its segment's largest timestamp is 27,516,425 ms (7.6 h) "
        "old, below min.compaction.lag.ms = 8,640,000,000 (100 days)"
    )
    due = told["order"].due
    assert due is not None
    assert customers.explain_cleaning(lag, now=due - 1)["order"].verdict == "blocks"
    assert customers.explain_cleaning(lag, now=due)["order"].verdict == "allows"
    late = customers.explain_cleaning({"max.compaction.lag.ms": DAY}, now=NOW)
    assert late["max.compaction.lag.ms"].verdict == "demands"
    assert late["min.cleanable.dirty.ratio"].verdict == "blocks"
    assert late.conclusion == "the log is cleaned first of 2 logs"


def test_without_any_configuration_the_checkpoint_tells_what_is_compacted() -> None:
    logs = workbench.open_log_directory(SHOP.parent / "era-0.8.2.2")
    told = logs["customers-0"].explain_cleaning(now=NOW)
    assert told.broker is not None
    assert told.broker.version == "0.8.2"
    assert "cleaner-offset-checkpoint shows that it had one" in told["log.cleaner.enable"].reason
    assert "known only from cleaner-offset-checkpoint" in told["cleanup.policy"].reason
    assert told.conclusion == "the log is cleaned"
    rules = [row.rule for row in told]
    assert not {"min.compaction.lag.ms", "max.compaction.lag.ms"} & set(rules)
    told = logs["orders-0"].explain_cleaning(now=NOW)
    assert told["cleanup.policy"].verdict == "unknown"
    assert "give the configuration" in told.conclusion


def test_a_folder_opened_by_itself_knows_the_directory_it_lies_in() -> None:
    alone = workbench.open_log_directory(SHOP / "customers-0")["customers-0"]
    assert alone.explain_cleaning(now=NOW)["cleaner-offset-checkpoint"].value == 909


def test_a_log_that_no_log_manager_keeps_is_refused() -> None:
    logs = workbench.open_log_directory(SHOP)
    with pytest.raises(LogDirectoryError, match="KRaft manages it"):
        logs["__cluster_metadata-0"].explain_cleaning(now=NOW)
    file = workbench.open_log_directory(SHOP / "orders-0" / f"{0:020d}.log")
    (partition,) = file.values()
    with pytest.raises(LogDirectoryError, match="a single file"):
        partition.plan_cleaning(now=NOW)


def test_a_partition_that_a_broker_has_deleted_since_is_no_longer_there(tmp_path: Path) -> None:
    shutil.copytree(SHOP / "orders-0", tmp_path / "orders-0")
    partition = workbench.open_log_directory(tmp_path)["orders-0"]
    shutil.rmtree(tmp_path / "orders-0")
    for ask in (partition.explain_cleaning, partition.explain_retention, partition.plan_cleaning):
        with pytest.raises(FileNotFoundError, match="orders-0"):
            ask()


def test_retention_is_explained_segment_by_segment() -> None:
    orders = workbench.open_log_directory(SHOP)["orders-1"]
    now = 1_732_900_000_000
    told = orders.explain_retention({"retention.ms": 2 * DAY}, now=now)
    by_time = {row.segment: row for row in told if row.rule == "retention.ms"}
    assert [by_time[one.base_offset].verdict for one in orders.segments] == [
        "deleted", "kept", "not asked", "not asked",
    ]  # fmt: skip
    kept = by_time[orders.segments[1].base_offset]
    assert kept.due is not None
    later = orders.explain_retention({"retention.ms": 2 * DAY}, now=kept.due)
    (row,) = [row for row in later if row.segment == kept.segment and row.rule == "retention.ms"]
    assert row.verdict == "deleted"
    assert told.conclusion.startswith("retention deletes 1 of 4 segments")
    assert told.to_arrow().schema == schema_of(RuleRow)
    assert "not asked" in told._repr_html_()


def test_a_timestamp_in_the_future_holds_a_log_and_what_is_behind_it() -> None:
    payments = workbench.open_log_directory(SHOP)["payments-1"]
    told = payments.explain_retention({"retention.ms": 1}, now=NOW)
    assert " days) in the future, not above retention.ms = 1;" in told.conclusion
    assert {row.verdict for row in told if row.rule == "retention.ms"} == {"kept", "not asked"}
    shown = [cells for cells in told.cells() if cells[1] == "not asked"]
    assert len(shown) == 1
    count = len(payments.segments) - 1
    assert f"does not ask about {count} segments, to {payments.segments[-1].base_offset}" in str(
        shown[0]
    )


@pytest.mark.parametrize("now", ["2021-01-01", "2040-01-01"])
def test_a_log_that_is_cut_at_a_start_is_as_old_as_that_start(tmp_path: Path, now: str) -> None:
    """Without timestamps a segment is as old as its file, which recovery changes at that time."""
    batch = bytes(MemoryRecords.of((b"k", b"v"), timestamp=-1))
    log = tmp_path / "t-0" / f"{0:020}.log"
    log.parent.mkdir()
    log.write_bytes(batch + batch[:20])
    os.utime(log, (1_600_000_000,) * 2)  # 2020
    told = workbench.open_log_directory(tmp_path)["t-0"].explain_retention(
        {"retention.ms": DAY}, now=now
    )
    assert "is 0 ms old, not above retention.ms" in told.conclusion
    assert f"({now}T00:00:00.000Z)" in told.conclusion


def test_an_explanation_is_text_html_json_and_a_table(customers: Any) -> None:
    told = customers.explain_cleaning(now=NOW)
    assert len(told) == len(list(told)) == len(told.to_arrow()) == len(told.as_dict()["rules"])
    assert told.conclusion in str(told)
    shown = told._repr_html_()
    for row in told:
        assert row.rule in shown
        assert row.kafka in shown
    with pytest.raises(KeyError):
        told["no such rule"]


def test_many_partitions_are_explained_at_once_as_one_by_one() -> None:
    logs = workbench.open_log_directory(SHOP)
    together = logs.explain_cleaning(now=NOW)
    assert list(together) == [name for name in logs if name != "__cluster_metadata-0"]
    for name in ("customers-0", "orders-0"):
        assert str(together[name]) == str(logs[name].explain_cleaning(now=NOW))
    assert list(logs.explain_cleaning(now=NOW, partitions=["customers-0"])) == ["customers-0"]


def test_a_log_that_cannot_be_loaded_does_not_keep_others_from_being_explained(
    tmp_path: Path,
) -> None:
    copy = Path(shutil.copytree(SHOP, tmp_path / "logs"))
    next((copy / "orders-0").glob("*.log")).rename(copy / "orders-0" / f"{'9' * 20}.log")
    with pytest.warns(workbench.CorruptDataWarning, match="orders-0 is left out"):
        found = workbench.open_log_directory(copy).explain_cleaning(now=NOW)
    assert "orders-0" not in found
    assert "customers-0" in found
