"""The jobs say what plain Python and the engine say, and a rescue is whole or not there."""

import shutil
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.corrupt import edit, flip
from tests.golden.cases import Case
from workbench.cleaner.decisions import Reason
from workbench.comparison.records import Effort
from workbench.errors import CorruptDataWarning, OutputError
from workbench.pipelines import compaction_savings as savings
from workbench.pipelines import rescue_to_parquet as rescue
from workbench.pipelines.cluster_verify import cluster_verify
from workbench.pipelines.replica_diff import diff_tasks, replica_diff, summarize
from workbench.pipelines.topic_profile import topic_profile

pytestmark = pytest.mark.spark
Golden = Callable[[str], Case]

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHOP = SAMPLES / "shop-4.3.1"
HOUR = 3_600_000  # ms
NOW = 1_767_225_600_000  # 2026: some delete horizons of the shop's customers have passed

FATES = {
    Reason.NEWEST: savings.NEWEST,
    Reason.TOMBSTONE_HORIZON_SET: savings.TOMBSTONE,
    Reason.TOMBSTONE_HORIZON_AHEAD: savings.TOMBSTONE,
    Reason.TOMBSTONE_IN_NEW_FILE: savings.TOMBSTONE,
    Reason.SUPERSEDED: savings.SUPERSEDED,
    Reason.NO_KEY: savings.NO_KEY,
    Reason.TOMBSTONE_HORIZON_PASSED: savings.EXPIRED,
    Reason.ABORTED: savings.ABORTED,
}


def dicts(frame: Any) -> list[dict[str, Any]]:
    """Return a frame's rows."""
    rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return rows


def size(record: dict[str, Any]) -> int:
    """Return bytes of key, value and headers."""
    parts = [record["key"], record["value"]]
    for header in record["headers"]:
        parts += [header["key"].encode(), header["value"]]
    return sum(len(part) for part in parts if part is not None)


def profile_of(records: list[dict[str, Any]], late_ms: int) -> dict[int, dict[str, int]]:
    """Return by hour what `topic_profile` counts, of one log's records, markers among them."""
    hours: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    keys: dict[int, set[bytes]] = defaultdict(set)
    before, newest = None, None
    for record in records:
        skipped = 0 if before is None else record["offset"] - before - 1
        before = record["offset"]
        if record["is_control"]:
            continue
        time = int(record["timestamp"].timestamp() * 1000 + 0.5)
        found = hours[time // HOUR]
        found["records"] += 1
        found["bytes"] += size(record)
        found["null_keys"] += record["key"] is None
        found["tombstones"] += record["value"] is None
        found["gaps"] += skipped > 0
        found["missing_offsets"] += skipped
        behind = 0 if newest is None else newest - time
        found["late"] += behind > late_ms
        found["latest_by_ms"] = max(found["latest_by_ms"], behind)
        newest = time if newest is None else max(newest, time)
        keys[time // HOUR].add(record["key"])
        found["keys"] = len(keys[time // HOUR] - {None})
    return hours


def test_a_profile_counts_what_plain_python_counts(spark: Any) -> None:
    topics = ["orders", "customers", "payments"]
    rows = dicts(topic_profile(spark, SHOP, topics, late_ms=600_000))
    logs = wb.open_log_directory(SHOP)
    columns = ["topic", "partition", "offset", "timestamp", "key", "value", "headers", "is_control"]
    compared = 0
    for partition in logs.values():
        if partition.topic not in topics:
            continue
        where = (partition.topic, partition.partition)
        mine = [row for row in rows if (row["topic"], row["partition"]) == where]
        scan = logs.scan(partitions=partition.name, columns=columns, include_control=True)
        expected = profile_of(scan.to_arrow().to_pylist(), 600_000)
        assert len(mine) == len(expected)
        for row in mine:
            counts = expected[int(row["hour"].timestamp() * 1000) // HOUR]
            assert {name: row[name] or 0 for name in counts} == dict(counts)
        compared += len(mine)
    assert compared == len(rows) > 100
    for name in ("late", "gaps", "tombstones"):
        assert sum(row[name] for row in rows) > 0


def planned(logs: Any, name: str, now: int) -> dict[str, tuple[int, int]]:
    """Return records and bytes by fate, of the records that are no control records."""
    reasons = logs[name].plan_cleaning(now=now, everything=True).reasons().to_pylist()
    texts = {reason.text: fate for reason, fate in FATES.items()}
    found: dict[str, tuple[int, int]] = {}
    for row in reasons:
        if row["reason"] in texts:
            fate = texts[row["reason"]]
            records, size = found.get(fate, (0, 0))
            found[fate] = (records + row["records"], size + row["bytes"])
    return found


def compare_savings(spark: Any, directory: Path, names: list[str], now: int) -> set[str]:
    """Hold the job to the plans of some logs; return which fates there are."""
    logs = wb.open_log_directory(directory)
    topics = sorted({logs[name].topic for name in names})
    found: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    for row in dicts(savings.compaction_savings(spark, directory, topics, now=now)):
        assert row["is_kept"] == (row["fate"] in savings.KEPT)
        log = f"{row['topic']}-{row['partition']}"
        found[log][row["fate"]] = (row["records"], row["bytes"])
    for name in names:
        assert found[name] == planned(logs, name, now), name
    return {fate for name in names for fate in found[name]}


def test_savings_are_those_of_a_plan(spark: Any) -> None:
    names = ["customers-0", "customers-1", "payments-0", "payments-1", "orders-0", "clicks-0"]
    found = compare_savings(spark, SHOP, names, NOW)
    assert {savings.NEWEST, savings.TOMBSTONE, savings.SUPERSEDED, savings.ABORTED} <= found


@pytest.mark.parametrize(
    ("name", "label", "fates"),
    [
        ("4.2.0-compact-txn", "before3", {savings.TOMBSTONE, savings.EXPIRED, savings.ABORTED}),
        ("4.2.0-compact-tombstones", "after2", {savings.NEWEST, savings.EXPIRED}),
        ("4.2.0-compact-nullkeys", "before1", {savings.NO_KEY, savings.SUPERSEDED}),
        ("k0.10.2-compaction", None, {savings.SUPERSEDED}),
    ],
)
def test_savings_are_those_of_a_plan_of_golden_logs(
    spark: Any, golden: Golden, name: str, label: str | None, fates: set[str]
) -> None:
    case = golden(name)
    directory = case.directory(label or case.labels[0])
    logs = wb.open_log_directory(directory)
    names = [each for each, log in logs.items() if not log.topic.startswith("__")]
    assert fates <= compare_savings(spark, directory, names, 4 * NOW)


def test_findings_of_two_brokers_are_those_of_verify(spark: Any) -> None:
    found = cluster_verify(spark, [SAMPLES / "damaged", SHOP])
    expected = wb.open_log_directory(SAMPLES / "damaged").verify()
    expected += wb.open_log_directory(SHOP).verify()
    rows = dicts(found.findings)
    found.findings.unpersist()
    in_order = [dict(sorted(each.as_dict().items())) for each in expected]
    assert sorted((dict(sorted(row.items())) for row in rows), key=repr) == sorted(
        in_order, key=repr
    )
    assert sum(count for _, _, count in found.summary) == len(expected)
    assert found.worst == "error"
    healthy = cluster_verify(spark, [SAMPLES / "damaged"], ["healthy"], deep=False)
    assert (healthy.summary, healthy.worst) == ((), "info")


def rows_of(directory: Path, topic: str) -> list[tuple[Any, ...]]:
    """Return what a scan gives of a topic."""
    with warnings.catch_warnings(action="ignore", category=CorruptDataWarning):
        table = wb.open_log_directory(directory).scan(topics=topic).to_arrow()
    return [tuple(row[name] for name in ("offset", "key", "value")) for row in table.to_pylist()]


def test_a_rescue_has_every_record_that_can_be_read(spark: Any, tmp_path: Path) -> None:
    topics = ["healthy", "flipped-byte", "cut-middle", "missing-segment"]
    done = list(rescue.rescue_to_parquet(spark, SAMPLES / "damaged", tmp_path / "out", topics))
    assert [each.topic for each in done] == sorted(topics)
    told = {each.topic: each for each in done}
    assert [place["kind"] for place in told["flipped-byte"].damage] == ["crc"]
    assert told["flipped-byte"].missing == 3
    assert told["healthy"].damage == ()
    saved = spark.read.parquet(str(tmp_path / "out"))
    assert {"headers", "producerId", "segment", "batchPosition"} <= set(saved.columns)
    for topic in topics:
        rows = dicts(saved.where(saved["topic"] == topic).orderBy("offset"))
        assert len(rows) == told[topic].records
        found = [(row["offset"], row["key"], row["value"]) for row in rows]
        assert found == rows_of(SAMPLES / "damaged", topic)


def test_a_rescue_that_was_stopped_goes_on(spark: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    begun: Iterator[Any] = rescue.rescue_to_parquet(spark, SHOP, out, ["customers"])
    first = next(begun)
    del begun
    half = out / "_unfinished" / "topic=customers" / "partition=1"
    half.mkdir(parents=True)
    (half / "part-0.parquet").write_bytes(b"half written")
    written = {path: path.stat().st_mtime_ns for path in out.glob("topic=*/*/*")}
    assert spark.read.parquet(str(out)).count() == first.records

    again = list(rescue.rescue_to_parquet(spark, SHOP, out, ["customers"]))
    assert [each.was_done for each in again] == [True, False]
    assert again[0].records == first.records
    assert {path: path.stat().st_mtime_ns for path in written} == written
    assert not (out / "_unfinished").exists()
    assert spark.read.parquet(str(out)).count() == len(rows_of(SHOP, "customers"))


def test_a_rescue_writes_nothing_among_the_logs_nor_through_links(
    spark: Any, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(SAMPLES / "damaged" / "healthy-0", logs / "healthy-0")
    before = {path: path.read_bytes() for path in logs.rglob("*") if path.is_file()}
    (tmp_path / "link").symlink_to(logs)
    for out in (logs, logs / "out", tmp_path / "link" / "out", logs / "healthy-0" / "out"):
        with pytest.raises(OutputError, match="must not be inside the input"):
            list(rescue.rescue_to_parquet(spark, logs, out))
    for name in ("_unfinished", "topic=healthy"):
        out = tmp_path / f"out{name}"
        out.mkdir()
        (out / name).symlink_to(logs)
        with pytest.raises(OutputError, match="is a link"):
            list(rescue.rescue_to_parquet(spark, logs, out))
    assert {path: path.read_bytes() for path in logs.rglob("*") if path.is_file()} == before


def test_a_bucket_is_no_place_for_a_rescue(spark: Any) -> None:
    with pytest.raises(OutputError, match="is a URI"):
        next(rescue.rescue_to_parquet(spark, SHOP, "s3://bucket/out"))


def test_records_are_counted_against_the_headers_of_their_batches(spark: Any) -> None:
    reader = spark.read.format("kafka-log").option("subscribe", "healthy")
    records = reader.option("includeMetadata", "true").load(str(SAMPLES / "damaged"))
    batches = spark.read.format("kafka-log-batches").option("subscribe", "healthy")
    promised = batches.load(str(SAMPLES / "damaged")).toArrow()

    def count(frame: Any, start: int) -> tuple[int, int, int]:
        written = frame.selectExpr("segment", "batchPosition as position", "1L as count")
        return rescue.count_against_batches(written.toArrow(), promised, start)

    assert count(records, 0) == (72, 0, 0)
    assert count(records.where("offset not in (5, 40)"), 0) == (70, 2, 0)
    assert count(records.union(records.where("offset = 5")), 0) == (73, 0, 1)
    assert count(records.where("offset > 10"), 10) == (61, 0, 0)


def test_replicas_are_equal_however_their_records_are_put_into_batches(
    spark: Any, golden: Golden, tmp_path: Path
) -> None:
    case = golden("4.2.0-replicas")
    brokers = [case.directory(f"after/broker{number}") for number in (1, 2)]
    assert dicts(replica_diff(spark, brokers[0], brokers[1], ["rep3"])) == []

    records = spark.read.format("kafka-log").option("includeHeaders", "true")
    again = records.option("subscribe", "customers").load(str(SHOP)).coalesce(1)
    writer = again.write.format("kafka-log").option("keepOffsets", "true")
    writer.option("kafka.compression.type", "zstd").mode("append").save(str(tmp_path))
    found = replica_diff(spark, SHOP / "customers-0", tmp_path / "customers-0")
    assert dicts(found) == []


def test_a_diff_never_decodes_batches_that_are_equal(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(SHOP, copy)
    effort = Effort()
    tasks = diff_tasks(SHOP, copy)
    assert not [row for task in tasks for row in task.rows(effort)]
    assert effort.decoded_batches == 0
    assert effort.equal_batches > 100
    # Damage makes one pair of batches unequal, and that pair is decoded.
    log = max((copy / "orders-0").glob("*.log"), key=lambda path: path.stat().st_size)
    edit(log, lambda data: flip(data, len(data) // 2))
    assert sum(row.num_rows for task in diff_tasks(SHOP, copy) for row in task.rows(effort))
    assert effort.decoded_batches == 2


def test_a_diff_tells_what_is_missing_extra_and_different(spark: Any, tmp_path: Path) -> None:
    records = spark.createDataFrame(
        [("t", 0, offset, f"k{offset}".encode(), b"v") for offset in (3, 4, 5, 7, 8, 9)]
        + [("gone", 1, 0, None, None)],
        "topic string, partition int, offset bigint, key binary, value binary",
    ).selectExpr("*", "timestamp_millis(offset) as timestamp")
    changed = records.where("topic = 't' and offset not in (4, 9)").selectExpr(
        "topic", "partition", "offset", "key", "if(offset = 7, binary(''), value) as value",
        "timestamp",
    )  # fmt: skip
    other = changed.unionByName(changed.where("offset = 8").selectExpr(
        "topic", "partition", "6L as offset", "key", "cast(null as binary) as value", "timestamp",
    ))  # fmt: skip
    for frame, name in ((records, "left"), (other, "right")):
        in_order = frame.coalesce(1).sortWithinPartitions("topic", "partition", "offset")
        writer = in_order.write.format("kafka-log").option("keepOffsets", "true")
        writer.mode("append").save(str(tmp_path / name))
    left, right = tmp_path / "left", tmp_path / "right"
    found = [tuple(row.values()) for row in dicts(replica_diff(spark, left, right))]
    assert found == [
        ("gone", 1, 0, "missing"),
        ("t", 0, 4, "missing"),
        ("t", 0, 6, "extra"),
        ("t", 0, 7, "different"),
    ]
    whole = dicts(summarize(replica_diff(spark, left, right, everywhere=True)))
    assert [tuple(row.values()) for row in whole] == [
        ("gone", 1, "missing", 1, 0, 0),
        ("t", 0, "different", 1, 7, 7),
        ("t", 0, "extra", 1, 6, 6),
        ("t", 0, "missing", 2, 4, 9),
    ]


def test_damage_in_one_replica_is_told_by_the_records_that_are_missing(
    spark: Any, tmp_path: Path
) -> None:
    copy = tmp_path / "orders-0"
    shutil.copytree(SHOP / "orders-0", copy)
    log = max(copy.glob("*.log"), key=lambda path: path.stat().st_size)
    edit(log, lambda data: flip(data, len(data) // 2))
    rows = dicts(summarize(replica_diff(spark, SHOP / "orders-0", copy)))
    assert [row["difference"] for row in rows] == ["missing"]
