"""`logs.inspect.disk_usage`, `keys` and `cleaning`, and `wb.what_if`."""

import gc
import shutil
from collections.abc import Callable
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import workbench
from tests import mutations
from tests.corrupt import edit, flip
from tests.field.cases import open_field_case
from tests.golden.cases import Case
from tests.trees import snapshot
from workbench.loaders.answers.facts import Facts
from workbench.loaders.answers.preflight import preflight_of
from workbench.loaders.answers.stuck import stuck_rows
from workbench.loaders.schemas import schema_of
from workbench.tables.cleaning import CleaningRow, KeyRow
from workbench.tables.directories import DiskUsageRow
from workbench.tables.foresight import WhatIfRow

Golden = Callable[[str], Case]

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHOP = SAMPLES / "shop-4.3.1"
NOW = 1_767_225_600_000  # 2026
DAY = 86_400_000  # ms


@pytest.mark.parametrize(
    "name", ["shop-4.3.1", "damaged", "era-0.8.2.2", "era-0.10.2.2", "era-2.8.2"]
)
def test_every_byte_on_the_disk_is_accounted_for_once(name: str) -> None:
    folder = SAMPLES / name
    table = workbench.open_log_directory(folder).inspect.disk_usage()
    assert table.schema == schema_of(DiskUsageRow)
    on_disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert pc.sum(table["bytes"]).as_py() == on_disk
    by_partition = table.group_by(["topic", "partition"]).aggregate([("bytes", "sum")])
    for row in by_partition.to_pylist():
        if row["topic"] is not None:
            files = (folder / f"{row['topic']}-{row['partition']}").iterdir()
            assert row["bytes_sum"] == sum(path.stat().st_size for path in files)


def test_directories_that_wait_for_their_end_are_accounted_for(tmp_path: Path) -> None:
    case = open_field_case("deleted-topic", tmp_path)
    waiting = f"orders-9.{'a' * 32}"
    for kind in ("stray", "future"):
        shutil.copytree(next(case.data.glob("*-delete")), case.data / f"{waiting}-{kind}")
    assert len([*case.data.glob("*-delete")]) > 0
    logs = workbench.open_log_directory(case.data)
    usage = logs.inspect.disk_usage()
    on_disk = sum(path.stat().st_size for path in case.data.rglob("*") if path.is_file())
    assert pc.sum(usage["bytes"]).as_py() == on_disk


@pytest.mark.parametrize(("name", "label"), [("4.2.0-crash-produce-1", "kill")])
def test_what_indexes_were_given_ahead_is_told(name: str, label: str, golden: Golden) -> None:
    case = golden(name)
    labels = [each for each in case.labels if label in each or "before" in each]
    folder = case.directory(labels[0])
    table = workbench.open_log_directory(folder).inspect.disk_usage()
    on_disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert pc.sum(table["bytes"]).as_py() == on_disk
    ahead = table.filter(pc.equal(table["part"], "preallocated"))
    assert set(ahead["kind"].to_pylist()) == {"index", "timeindex"}
    assert min(ahead["bytes"].to_pylist()) > 0


def test_uncompressed_keys_and_values_take_their_own_bytes() -> None:
    logs = workbench.open_log_directory(SHOP)
    usage = logs.inspect.disk_usage(topics="customers", partitions=0)
    parts = {
        part: sum(usage.filter(pc.equal(usage["part"], part))["bytes"].to_pylist())
        for part in ("keys", "values", "headers")
    }
    records = logs.scan(topics=["customers"], partitions=[0]).to_arrow()
    assert parts["keys"] == pc.sum(pc.binary_length(records["key"])).as_py()
    assert parts["values"] == pc.sum(pc.binary_length(records["value"])).as_py()
    assert pc.all(pc.less_equal(usage["bytes"], usage["uncompressed_bytes"])).as_py()


def test_keys_are_those_of_a_scan_and_the_costly_ones_come_first() -> None:
    logs = workbench.open_log_directory(SHOP)
    table = logs.inspect.keys(topics="customers", limit=None)
    assert table.schema == schema_of(KeyRow)
    records = logs.scan(topics=["customers"]).to_arrow()
    assert pc.sum(table["records"]).as_py() == len(records)
    seen: dict[tuple[int, bytes], list[dict[str, object]]] = {}
    for row in records.select(["partition", "offset", "key", "value"]).to_pylist():
        seen.setdefault((row["partition"], row["key"]), []).append(row)
    assert len(table) == len(seen)
    for row in table.to_pylist():
        mine = seen[row["partition"], row["key"]]
        assert row["records"] == len(mine) == row["superseded_records"] + 1
        assert (row["first_offset"], row["last_offset"]) == (mine[0]["offset"], mine[-1]["offset"])
        assert row["is_tombstone"] == (mine[-1]["value"] is None)
    first = table.filter(pc.equal(table["partition"], 0))["superseded_bytes"].to_pylist()
    assert first == sorted(first, reverse=True)
    top = logs.inspect.keys(topics="customers", limit=3)
    assert top["key"].to_pylist()[:3] == table["key"].to_pylist()[:3]
    assert len(top) == 6


def test_records_without_a_key_are_all_dropped_by_compaction() -> None:
    logs = workbench.open_log_directory(SAMPLES / "era-3.9.1")
    (row,) = logs.inspect.keys(topics="clicks").to_pylist()
    assert row["key"] is None
    assert row["superseded_records"] == row["records"]


def test_the_cleaning_table_tells_of_every_partition() -> None:
    before = snapshot(SHOP)
    logs = workbench.open_log_directory(SHOP)
    table = logs.inspect.cleaning(now=NOW)
    assert table.schema == schema_of(CleaningRow)
    assert len(table) == len(logs)
    rows = {f"{row['topic']}-{row['partition']}": row for row in table.to_pylist()}
    customers = rows["customers-0"]
    assert customers["is_compacted"]
    assert customers["policy_source"] == "__cluster_metadata"
    assert (customers["checkpoint"], customers["first_dirty_offset"]) == (909, 909)
    assert customers["bound"] == "active segment"
    sizes = [customers[f"{part}_bytes"] for part in ("clean", "cleanable", "uncleanable")]
    assert sum(sizes) == logs["customers-0"].size
    assert (customers["is_due"], customers["order"], customers["problem"]) == (False, None, None)
    assert not rows["orders-0"]["is_compacted"]
    assert rows["orders-0"]["ratio"] is None
    assert snapshot(SHOP) == before


def test_what_is_due_has_its_place_in_the_order() -> None:
    logs = workbench.open_log_directory(SHOP)
    table = logs.inspect.cleaning(config={"min.cleanable.dirty.ratio": 0.5}, now=NOW)
    order = {row["partition"]: row["order"] for row in table.to_pylist() if row["is_due"]}
    assert order == {0: 1, 1: 2}
    one = logs.inspect.cleaning("customers", 1, config={"min.cleanable.dirty.ratio": 0.5}, now=NOW)
    assert one["order"].to_pylist() == [2]


def _with_a_short_batch(folder: Path, number: int) -> None:
    """Let a batch of a segment's say that it is shorter than its header."""
    path = folder / f"{909:020d}.log"
    data = bytearray(path.read_bytes())
    at = 0
    for _ in range(number):
        at += 12 + int.from_bytes(data[at + 8 : at + 12])
    data[at + 8 : at + 12] = (1).to_bytes(4)
    path.write_bytes(data)


@pytest.mark.parametrize("number", [0, 5])
def test_a_log_whose_cleaning_would_fail_says_why(tmp_path: Path, number: int) -> None:
    shutil.copytree(SHOP, tmp_path / "copy")
    _with_a_short_batch(tmp_path / "copy" / "customers-0", number)
    config = {"min.cleanable.dirty.ratio": 0.5}
    logs = workbench.open_log_directory(tmp_path / "copy")
    rows = logs.inspect.cleaning("customers", config=config, now=NOW).to_pylist()
    assert [row["problem"] is None for row in rows] == [False, True]
    told = logs["customers-0"].explain_cleaning(config, now=NOW)
    assert told["uncleanable"].verdict == "blocks"
    assert told.conclusion.startswith("the log is not cleaned: uncleanable: ")
    other = logs["customers-1"].explain_cleaning(config, now=NOW)
    assert other["order"].verdict == "allows"
    fate = workbench.what_if(logs, config, now=NOW, topics=["customers"])["customers-0"]
    assert fate.compacted_bytes == 0
    assert fate.cleaning == told.conclusion
    untried = logs.inspect.cleaning("customers", config=config, now=NOW, tries=False)
    assert [row is None for row in untried["problem"].to_pylist()] == [number > 0, True]


def test_a_damaged_checkpoint_is_told_of_every_log_of_its_directory(tmp_path: Path) -> None:
    shutil.copytree(SHOP, tmp_path / "copy")
    (tmp_path / "copy" / "recovery-point-offset-checkpoint").write_text("no numbers\n")
    table = workbench.open_log_directory(tmp_path / "copy").inspect.cleaning("customers", now=NOW)
    assert all(
        "would not use the log directory" in problem for problem in table["problem"].to_pylist()
    )


def test_what_if_tells_what_goes_and_why() -> None:
    before = snapshot(SHOP)
    logs = workbench.open_log_directory(SHOP)
    config = {"retention.ms": 3 * DAY, "min.cleanable.dirty.ratio": 0.3}
    result = workbench.what_if(logs, config, now=1_732_990_000_000)
    assert len(result) == len(logs) - 1  # the cluster's own log is not asked about
    orders, customers = result["orders-1"], result["customers-0"]
    assert (orders.deleted_segments, orders.segments) == (1, 4)
    assert orders.log_start_offset == 488
    assert orders.cleaning == ""
    assert "retention.ms = 259,200,000" in orders.retention
    assert customers.deleted_bytes == 0
    assert customers.dropped_records > 0
    assert customers.cleaning == "the log is cleaned"
    plan = logs["customers-0"].plan_cleaning(config, now=1_732_990_000_000)
    assert customers.size_after == plan.size_after
    table = result.to_arrow()
    assert table.schema == schema_of(WhatIfRow)
    assert pc.sum(table["size"]).as_py() == sum(fate.size for fate in result)
    assert result.summary in result._repr_html_()
    assert customers.cleaning in str(result)
    assert result.as_dict()["config"] == config
    with pytest.raises(KeyError):
        result["nothing-0"]
    assert snapshot(SHOP) == before


def test_what_if_takes_paths_and_topics() -> None:
    result = workbench.what_if(SHOP, {"orders:retention.ms": 1}, now=NOW, topics=["orders"])
    assert [fate.size_after for fate in result] == [0, 0, 0]
    assert {fate.topic for fate in result} == {"orders"}


def open_files() -> list[tuple[str, int]]:
    return [(file.path, file.fd) for file in psutil.Process().open_files()]


def test_what_if_leaves_no_file_open() -> None:
    """Also of the segments that retention deletes, whose removal a broker puts off."""
    gc.collect()
    gc.disable()
    try:
        before = open_files()
        result = workbench.what_if(SHOP, {"retention.ms": 0}, now=NOW)
        assert sum(fate.deleted_segments for fate in result) > 10
        assert open_files() == before
    finally:
        gc.enable()


def test_keys_of_a_plan_leave_out_what_a_reader_does(tmp_path: Path) -> None:
    def flip_a_value(folder: Path) -> None:  # a cleaner does not check CRCs, a reader does
        end = mutations.batch_positions(mutations.segment(folder, 36).read_bytes())[3]
        edit(mutations.segment(folder, 36), lambda data: flip(data, end - 2))

    path = mutations.build(tmp_path / "data", flip_a_value)
    mutations.with_recovery_points(path)
    plan = workbench.open_log_directory(path)["bad-0"].plan_cleaning(everything=True)
    is_flipped = pc.is_in(plan.decisions["offset"], pa.array([42, 43, 44]))
    decisions = plan.decisions.filter(pc.invert(is_flipped))
    keys = plan.keys(1000)
    assert pc.sum(keys["records"]).as_py() == len(decisions)
    assert (
        pc.sum(keys["dropped_records"]).as_py() == pc.sum(pc.invert(decisions["is_kept"])).as_py()
    )


def test_what_is_cleaned_deleted_and_stuck_is_judged_in_one_loading(tmp_path: Path) -> None:
    copy = tmp_path / "shop"
    shutil.copytree(SHOP, copy)
    logs = workbench.open_log_directory(copy)
    stuck = {(row.topic, row.partition, row.what) for row in stuck_rows(logs.listing)}
    facts = Facts(logs.listing, None, None, logs.preflight, logs.verify, is_deep=True)
    assert {row.partition for row in facts.logs} == {*logs}
    assert facts.lags
    assert facts.opened
    shutil.rmtree(copy)
    assert {(row.topic, row.partition, row.what) for row in facts.stuck} == stuck


def test_the_judging_of_logs_ends_where_it_is_told_to() -> None:
    logs = workbench.open_log_directory(SHOP)
    told: list[None] = []

    def stop() -> None:
        told.append(None)
        if len(told) == 3:
            raise InterruptedError

    facts = Facts(logs.listing, None, None, logs.preflight, logs.verify, stop, is_deep=True)
    with pytest.raises(InterruptedError):
        _ = facts.logs
    assert len(told) == 3


@pytest.mark.parametrize("name", ["shop-4.3.1", "era-0.10.2.2", "era-2.8.2"])
def test_logs_loaded_for_the_first_minutes_are_judged_as_those_loaded_alone(name: str) -> None:
    logs = workbench.open_log_directory(SAMPLES / name)
    now = NOW + 400 * DAY  # retention deletes
    listing = logs.listing
    alone = Facts(
        listing, now, None, lambda: preflight_of(listing, now=now), logs.verify, is_deep=False
    )
    shared = Facts(
        listing, now, None, lambda: preflight_of(listing, now=now, judge=shared.judge),
        logs.verify, is_deep=False,
    )  # fmt: skip
    minutes = alone.preflight.first_minutes
    assert minutes is not None
    assert minutes.passes
    assert shared.preflight.first_minutes == minutes
    assert "_judged" in shared.__dict__
    assert shared.logs == alone.logs
    assert shared.stuck == alone.stuck
