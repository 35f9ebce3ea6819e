"""The reader in Java gives the rows of a scan; `test_reader_in_java` runs these tests."""

import json
import os
import re
import shutil
import struct
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql.functions import lit

import workbench as wb
from tests.golden.cases import CASES, Case, CaseName, open_case
from tests.lying_headers import lying_logs
from tests.naive import Record, batch, marker, message
from tests.spark import connector
from tests.spark.tasks import ORDER, Load, rows
from workbench.layout.batch_header import (
    BATCH_HEADER_SIZE,
    BATCH_LENGTH_AT,
    CRC_AT,
    CRC_FROM,
    RECORD_COUNT_AT,
)
from workbench.record.crc import crc32c
from workbench.spark_source.columns import spark_schema
from workbench.spark_source.jvm.planner import Planner
from workbench.spark_source.options import parse_columns

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]  # the golden cases are unpacked

IN_JAVA = "read in Java"
EVERYTHING = {"includeHeaders": "true", "includeMetadata": "true"}
KINDS = (
    "plain-java", "plain-librdkafka", "plain-timestamps", "compact-codecs", "compact-txn",
    "idempotent", "txn", "groups", "damage", "formats", "transactions",
)  # fmt: skip
"""Kinds of golden cases whose records differ in what a reader reads."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_case("4.2.0-plain-java", tmp_path_factory.mktemp("java")).path / "data"


def load(spark: Any, path: object, **options: object) -> Any:
    given = {name.replace("__", "."): str(value) for name, value in options.items()}
    return spark.read.format("kafka-log").options(**given).load(str(path))


def plan_of(frame: Any) -> str:
    """Return the physical plan, as `explain` prints it."""
    return str(frame._jdf.queryExecution().executedPlan().toString())  # noqa: SLF001 - Spark has no other way


def stream(spark: Any, path: object, most: int, **options: object) -> pa.Table:
    """Return all rows of a stream, with every column; each micro-batch has ``most`` offsets."""
    given = {name.replace("__", "."): str(value) for name, value in options.items()}
    reader = spark.readStream.format("kafka-log").option("startingOffsets", "earliest")
    reader = reader.option("maxOffsetsPerTrigger", most).options(**EVERYTHING, **given)
    rows_of = reader.load(str(path)).writeStream.format("memory").queryName("streamed")
    query = rows_of.trigger(availableNow=True).start()
    assert query.awaitTermination(600)
    found: pa.Table = spark.table("streamed").toArrow()
    spark.catalog.dropTempView("streamed")
    return found


def require_same(found: pa.Table, expected: pa.Table, *columns: str) -> None:
    """Check that two tables have the same rows; show the first that differs, not all."""
    for left, right in zip(rows(found, *columns), rows(expected, *columns), strict=False):
        assert left == right
    assert found.num_rows == expected.num_rows > 0


def asked(path: object, **options: str) -> dict[str, Any]:
    """Return what the planner answers the reader in Java."""
    given = {"path": str(path), **options}
    schema = spark_schema(parse_columns(given)).json()
    return Planner().answer({"what": "plan", "options": given, "schema": schema})


def is_long() -> bool:
    """Return whether this is a run of `make test-long`."""
    return os.environ.get("HYPOTHESIS_PROFILE") == "long"


def chosen() -> list[CaseName]:
    """Return the cases that are read: all, or by default the newest of `KINDS`."""
    if is_long():
        return list(CASES)
    by_version = sorted(CASES, key=lambda case: [int(part) for part in case.version.split(".")])
    newest = {case.kind: case for case in by_version}
    return [newest[kind] for kind in KINDS]


class Found(NamedTuple):
    """Partitions of the golden cases: what the reader in Java reads, and where it must fail."""

    sound: list[Path]
    damaged: list[Path]


@pytest.fixture(scope="module")
def partitions(golden: Callable[[str], Case], tmp_path_factory: pytest.TempPathFactory) -> Found:
    found = Found([], [])
    folder = tmp_path_factory.mktemp("partitions")
    for number, case in enumerate(chosen()):
        opened = golden(case.name)
        for partition in wb.open_log_directory(opened.directory(opened.labels[-1])).values():
            path = folder / f"{number}.{partition.topic}-{partition.partition}"
            if partition.kind != "log" or path.exists():
                continue
            shutil.copytree(partition.path, path)
            if asked(path)["reason"] is not None:  # of an older magic
                continue
            try:
                Load(path).table()
            except wb.WorkbenchError:
                found.damaged.append(path)
            else:
                found.sound.append(path)
    return found


def test_every_sound_golden_partition_gives_the_rows_that_python_gives(
    spark: Any, partitions: Found, tmp_path: Path
) -> None:
    assert len(partitions.sound) > 100
    for path in partitions.sound:
        shutil.copytree(path, tmp_path / path.name)
    for level in ("read_uncommitted", "read_committed"):
        frame = load(spark, tmp_path, kafka__isolation__level=level, **EVERYTHING)
        assert IN_JAVA in plan_of(frame)
        expected = Load(tmp_path, kafka__isolation__level=level, **EVERYTHING).table()
        columns = [name for name in frame.columns if name not in ORDER]
        require_same(frame.toArrow(), expected, *columns)
        assert frame.count() == expected.num_rows
        streamed = stream(spark, tmp_path, expected.num_rows, kafka__isolation__level=level)
        require_same(streamed, expected, *columns)


def test_where_python_fails_at_damage_java_does(spark: Any, partitions: Found) -> None:
    assert partitions.damaged
    for path in partitions.damaged:
        with pytest.raises(Exception, match=path.name.rpartition("-")[2]) as raised:
            load(spark, path).collect()
        is_old = "dmg-magic-1" in path.name  # as if it were sound: Python reads such batches
        hint = "reader=python reads magic 1" if is_old else "onCorrupt=skip"
        assert hint in str(raised.value), path


FAR = 2**40
"""An offset beyond 32 bits."""


def records(first: int, end: int, **fields: Any) -> list[Record]:
    """Return records of a log, with their offsets as values."""
    return [
        Record(at, 1000 + at, b"k%d" % (at % 3), b"%d" % at, **fields) for at in range(first, end)
    ]


def of_producer(first: int, end: int) -> bytes:
    return batch(records(first, end), attributes=0x10, producer_id=7, producer_epoch=0)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs with what a broker leaves on a disk, by the names of their topics."""
    path = tmp_path_factory.mktemp("planted")
    for name, segments in PLANTED.items():
        path.joinpath(f"{name}-0").mkdir()
        for base, content in segments.items():
            path.joinpath(f"{name}-0", f"{base:020d}.log").write_bytes(content)
    checkpoint = "0\n2\nstarts-in-a-batch 0 7\nempty-after-deletion 0 20\n"
    path.joinpath("log-start-offset-checkpoint").write_text(checkpoint)
    return path


HEADERS = ((b"a", b"1"), (b"", None), (b"\xff\xfe", b""), (b"a", b"2"))
PLANTED: dict[str, dict[int, bytes]] = {
    "empty": {0: b""},
    "empty-after-deletion": {0: batch(records(0, 20)), 20: b""},
    "starts-in-a-batch": {0: batch(records(0, 5)) + batch(records(5, 10)) + batch(records(10, 15))},
    "begins-later": {40: batch(records(40, 45)), 45: b""},
    "far": {FAR: batch(records(FAR, FAR + 9)), FAR + 9: batch(records(FAR + 9, FAR + 12))},
    "wide-batch": {0: batch([Record(3), Record(2**31 - 2)], base_offset=0, last_offset=2**31 - 1)},
    "compacted": {
        0: batch(records(3, 4) + records(8, 9), base_offset=0, last_offset=19)
        + batch([], base_offset=20, last_offset=29, producer_id=7, producer_epoch=3)
        + batch(records(31, 33), base_offset=30, last_offset=39),
        40: batch(records(40, 43)),
    },
    "delete-horizon": {
        0: batch(
            [Record(2, 70, b"k", None)], attributes=0x40, base_timestamp=10**12, max_timestamp=70
        )
    },
    "null-and-empty": {
        0: batch([Record(0), Record(1, -1, b"", b""), Record(2, 5, None, b"v"), Record(3, 5, b"k")])
    },
    "no-time": {0: batch([Record(0, -1, b"k")], base_timestamp=-1, max_timestamp=-1)},
    "append-time": {0: batch(records(0, 5), attributes=0x08, max_timestamp=77_000)},
    "headers": {0: batch(records(0, 3, headers=HEADERS), base_sequence=2**31 - 2, producer_id=1)},
    "codecs": {0: b"".join(batch(records(9 * c, 9 * c + 9), c) for c in range(5))},
    "transactions": {
        0: of_producer(0, 3) + batch(records(3, 5)) + of_producer(5, 7),
        7: of_producer(7, 9) + marker(9, 7, commit=False) + of_producer(10, 12),
        12: batch(records(12, 13)) + marker(13, 7, commit=True) + of_producer(14, 16),
        16: of_producer(16, 17),
    },
}
"""Topic → base offset → the content of a segment."""

WANTED = {
    "empty-after-deletion": [],
    "starts-in-a-batch": range(7, 15),
    "begins-later": range(40, 45),
    "far": range(FAR, FAR + 12),
    "wide-batch": [3, 2**31 - 2],
    "compacted": [3, 8, 31, 32, 40, 41, 42],
    "codecs": range(45),
    "transactions": [3, 4, 10, 11, 12],
}
"""Topic → the offsets that a consumer gets, with read_committed."""


def offsets_of(table: pa.Table) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {name: [] for name in PLANTED}
    for row in rows(table):
        found[row["topic"]].append(row["offset"])
    return found


@pytest.mark.parametrize("task_bytes", ["1", "128m"])
@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
def test_planted_logs_give_the_rows_that_python_gives(
    spark: Any, planted: Path, level: str, task_bytes: str
) -> None:
    options = {"kafka__isolation__level": level, "maxPartitionBytes": task_bytes, **EVERYTHING}
    frame = load(spark, planted, **options)
    found, expected = frame.toArrow(), Load(planted, **options).table()
    require_same(found, expected, *(name for name in frame.columns if name not in ORDER))
    assert frame.count() == expected.num_rows
    if level == "read_committed":
        there = offsets_of(found)
        assert {name: there[name] for name in WANTED} == {n: list(w) for n, w in WANTED.items()}
    streamed = stream(spark, planted, 2**30, kafka__isolation__level=level)
    require_same(streamed, expected, *(name for name in frame.columns if name not in ORDER))


def test_a_segment_that_was_renamed_is_read_in_python(spark: Any, tmp_path: Path) -> None:
    """Its name says 7: that offsets from 5 on are its own, only the segment before it shows."""
    tmp_path.joinpath("renamed-0").mkdir()
    for name, content in (0, records(0, 5)), (7, records(5, 10)):
        tmp_path.joinpath("renamed-0", f"{name:020d}.log").write_bytes(batch(content))
    frame = load(spark, tmp_path)
    assert "begins with offset 5" in plan_of(frame)
    assert sorted(row.offset for row in frame.collect()) == list(range(10))


@pytest.mark.parametrize("topic", ["codecs", "compacted", "transactions"])
def test_a_load_may_begin_and_end_within_a_batch(spark: Any, planted: Path, topic: str) -> None:
    everything = load(spark, planted, subscribe=topic).collect()
    last = max(row.offset for row in everything)
    for low, high in ((1, 2), (4, 40), (8, 9), (5, last)):
        ends = {"startingOffsets": low, "endingOffsets": min(high, last)}
        given = {name: json.dumps({topic: {"0": offset}}) for name, offset in ends.items()}
        frame = load(spark, planted, subscribe=topic, **given)
        wanted = [row for row in everything if low <= row.offset < min(high, last)]
        assert sorted(frame.collect(), key=lambda row: row.offset) == wanted
        assert frame.count() == len(wanted)
        filtered = load(spark, planted, subscribe=topic).where(
            f"offset >= {low} and offset < {high}"
        )
        assert filtered.count() == sum(low <= row.offset < high for row in everything)


def test_a_stream_may_stop_within_a_batch(spark: Any, planted: Path) -> None:
    topics = "codecs,compacted,transactions,starts-in-a-batch"
    expected = Load(planted, subscribe=topics, **EVERYTHING).table()
    require_same(stream(spark, planted, 29, subscribe=topics), expected, "key", "value", "segment")


def test_columns_are_pruned_and_filters_are_pushed(spark: Any, logs: Path) -> None:
    frame = load(spark, logs).where(
        "topic = 'java-none' and partition in (0, 1) and offset >= 5 and offset < 90"
        " and timestamp >= timestamp_millis(1700000001040)"
    )
    kept = frame.select("key", "offset")
    plan = plan_of(kept)
    assert "columns [key, offset, timestamp]" in plan
    at = "timestamp >= 2023-11-14T22:13:21.040Z"
    for pushed in ("topic = 'java-none'", "partition IN (0, 1)", "offset >= 5", "offset < 90", at):
        assert pushed in plan
    python = load(spark, logs, reader="python")
    same = python.where(
        "topic = 'java-none' and partition in (0, 1) and offset >= 5 and offset < 90"
        " and timestamp >= timestamp_millis(1700000001040)"
    ).select("key", "offset")
    found = sorted(map(str, kept.collect()))
    assert found == sorted(map(str, same.collect()))
    assert found


FILTERS = {
    "topic like 'java%' or topic like '%codecs'": 0,
    "topic not in ('codecs', 'headers') and topic like '%s'": 0,
    "not (topic = 'transactions' or partition > 0) and offset > 3": 0,
    "(topic = 'codecs' and offset > 30) or (topic = 'compacted' and offset <= 8)": 1,
    "offset in (3, 8, 44)": 1,
    "partition <= 0 and topic = 'far'": 0,
    "topic = 'append-time' and timestamp < timestamp_millis(77000)": 1,
    "topic = 'append-time' and timestamp <= timestamp_millis(77000)": 1,
    "timestamp in (timestamp_millis(77000), timestamp_micros(70500))": 1,
    "topic = 'codecs' or key = 'k'": 1,
    "topic = concat('code', topic)": 1,
    "timestamp between timestamp_millis(3) and timestamp_millis(8) and offset <> 4": 1,
}
"""A filter → whether Spark filters rows, too."""


def test_pushed_filters_leave_the_rows_that_spark_finds(spark: Any, planted: Path) -> None:
    everything = load(spark, planted)
    plain = spark.createDataFrame(everything.collect(), everything.schema)

    def found(frame: Any) -> list[str]:
        each = [frame.where(c).withColumn("condition", lit(c)) for c in FILTERS]
        return sorted(map(str, reduce(lambda one, other: one.unionAll(other), each).collect()))

    for condition, is_filtered in FILTERS.items():
        assert ("Filter " in plan_of(everything.where(condition))) == is_filtered, condition
    assert found(everything) == found(plain)


def test_records_are_counted_by_topic_and_partition(spark: Any, planted: Path) -> None:
    for by in (["topic"], ["partition", "topic"]):
        counted = load(spark, planted).where("topic != 'far'").groupBy(*by).count()
        assert f"columns [{', '.join(by)}, count(*)]" in plan_of(counted)
        wanted = load(spark, planted, reader="python").where("topic != 'far'").groupBy(*by).count()
        assert sorted(counted.collect()) == sorted(wanted.collect())
    assert "count(*)]" not in plan_of(load(spark, planted).groupBy("key").count())


def metrics_of(frame: Any) -> dict[str, int]:
    """Run a query that needs no exchange, and return the metrics of its scan."""
    frame.collect()
    scan = frame._jdf.queryExecution().executedPlan()  # noqa: SLF001 - Spark has no other way
    while scan.children().nonEmpty():
        scan = scan.children().head()
    names = "bytesRead", "segmentsRead", "segmentsSkipped", "batchesRead", "batchesSkipped"
    return {name: scan.metrics().apply(name).value() for name in names}


def test_a_scan_says_what_it_has_read_and_left_out(spark: Any, planted: Path) -> None:
    size = (planted / "codecs-0" / f"{0:020d}.log").stat().st_size
    frame = load(spark, planted, subscribe="codecs,compacted")
    wanted = {"bytesRead": size, "segmentsRead": 1, "segmentsSkipped": 2, "batchesRead": 5}
    assert metrics_of(frame.where("topic = 'codecs'")) == wanted | {"batchesSkipped": 0}
    some = metrics_of(frame.where("topic = 'codecs' and offset >= 18"))
    assert some == wanted | {"batchesRead": 3, "batchesSkipped": 2}
    late = load(spark, planted, subscribe="append-time")
    late = late.where("timestamp < timestamp_millis(76000)")
    assert {**metrics_of(late), "bytesRead": 0} == {
        "bytesRead": 0, "segmentsRead": 1, "segmentsSkipped": 0,
        "batchesRead": 0, "batchesSkipped": 1,
    }  # fmt: skip


def test_one_frame_with_two_filters_answers_both(spark: Any, logs: Path) -> None:
    frame = load(spark, logs, subscribe="java-none")
    everything = frame.count()
    both = frame.where("offset < 5").union(frame.where("offset >= 5"))
    assert 0 < frame.where("offset < 5").count() < everything == both.count() == frame.count()


def test_records_are_counted_without_a_column(spark: Any, logs: Path) -> None:
    frame = load(spark, logs)
    counted = frame.where("partition = 0 and offset > 3").groupBy().count()
    assert "columns [count(*)]" in plan_of(counted)
    expected = load(spark, logs, reader="python").where("partition = 0 and offset > 3")
    assert counted.first()[0] == expected.count() > 0
    assert frame.where("topic = 'nothing'").count() == 0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"reader": "python"}, "reader=python"),
        ({"onCorrupt": "rows"}, "onCorrupt=rows"),
        ({"failOnDataLoss": "false"}, "onCorrupt=skip"),
        ({"decode": '{"key": "utf8"}'}, "decode"),
        ({"mask": "* value drop"}, "mask"),
        ({"includeControl": "true"}, "includeControl"),
    ],
)
def test_the_plan_says_why_python_reads(
    spark: Any, logs: Path, options: dict[str, str], reason: str
) -> None:
    frame = load(spark, logs, subscribe="java-none", **options)
    assert f"read in Python: {reason}" in plan_of(frame)
    assert frame.count() == load(spark, logs, subscribe="java-none").count() > 0


def test_older_magics_are_read_in_python(spark: Any, golden: Callable[[str], Case]) -> None:
    case = golden("k0.10.2-formats")
    path = case.directory(case.labels[-1])
    frame = load(spark, path)
    assert "begins with magic" in plan_of(frame)
    assert frame.count() == wb.open_log_directory(path).scan().count()


@pytest.mark.parametrize("index", ["with an index", "without"])
def test_an_older_magic_behind_magic_2_is_read_in_python(
    spark: Any, tmp_path: Path, index: str
) -> None:
    """As where message.format.version was lowered: the last batches of the segment are older."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    many = b"".join(batch(records(at, at + 100)) for at in range(0, 1600, 100))
    old = b"".join(message(1, each) for each in records(1600, 1610))
    (folder / f"{0:020d}.log").write_bytes(many + old)
    if index == "with an index":
        (folder / f"{0:020d}.index").write_bytes(
            struct.pack(">ii", 1599, len(many) - len(batch(records(1500, 1600)))) + bytes(80)
        )
    frame = load(spark, tmp_path)
    assert f"has magic 2, and an older one at byte {len(many)}" in plan_of(frame)
    require_same(frame.toArrow(), Load(tmp_path).table(), "value")


def test_a_limit_ends_tasks_early(spark: Any, planted: Path) -> None:
    frame = load(spark, planted)
    assert "PushedLimit: 7" in plan_of(frame.limit(7))
    assert "PushedLimit" not in plan_of(frame.where("timestamp > '2001-01-01'").limit(7))
    for most in (1, 7, 10_000_000):
        assert frame.limit(most).count() == min(most, frame.count())
    some = frame.where("offset >= 1").limit(5).toArrow().to_pylist()
    every = frame.toArrow().to_pylist()
    assert len(some) == 5
    assert all(row in every for row in some)


def test_a_table_in_sql_reads_and_leaves_the_directory_when_it_is_dropped(
    spark: Any, logs: Path
) -> None:
    spark.sql(
        f"CREATE TABLE records USING `kafka-log` OPTIONS (path '{logs}', subscribe 'java-none')"
    )
    try:
        (row,) = spark.sql("SELECT count(*), max(offset) FROM records").collect()
        assert row[0] == wb.open_log_directory(logs).scan(topics="java-none").count()
        assert IN_JAVA in plan_of(spark.table("records").select("key"))
        with pytest.raises(Exception, match="INSERT INTO a table is not possible; write records"):
            spark.sql("INSERT INTO records SELECT * FROM records")
    finally:
        spark.sql("DROP TABLE records")
    assert wb.open_log_directory(logs).scan(topics="java-none").count() == row[0]


def test_a_stream_reads_what_a_batch_reads_and_goes_on_from_its_checkpoint(
    spark: Any, logs: Path, tmp_path: Path
) -> None:
    def run(target: Path) -> int:
        stream = spark.readStream.format("kafka-log").option("startingOffsets", "earliest")
        query = (
            stream.option("maxOffsetsPerTrigger", "300").load(str(logs)).writeStream
            .format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True).start(str(target))
        )  # fmt: skip
        assert query.awaitTermination(600)
        return len(query.recentProgress)

    assert run(tmp_path / "found") > 1
    found = spark.read.parquet(str(tmp_path / "found"))
    require_same(found.toArrow(), Load(logs).table(), "key", "value")
    run(tmp_path / "found")  # from where it ended: nothing is left
    assert spark.read.parquet(str(tmp_path / "found")).count() == found.count()


def test_a_stream_reports_its_lag_as_sparks_kafka_source_does(spark: Any, tmp_path: Path) -> None:
    with wb.LogManager([tmp_path]) as manager:
        for partition, count in enumerate((100, 20)):
            manager.get_or_create_log("orders", partition).append([(b"key", b"value")] * count)

    def reported(name: str, **options: str) -> list[dict[str, str]]:
        stream = spark.readStream.format(name).option("startingOffsets", "earliest")
        stream = stream.option("maxOffsetsPerTrigger", "60").option("subscribe", "orders")
        writer = stream.options(**options).load().writeStream.format("noop")
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(300)
        progress = [each for each in query.recentProgress if each["numInputRows"]]
        return [dict(each["sources"][0]["metrics"]) for each in progress]

    names = ("avgOffsetsBehindLatest", "maxOffsetsBehindLatest", "minOffsetsBehindLatest")
    wanted = [
        dict(zip(names, each, strict=True)) for each in (("30.0", "50", "10"), ("0.0", "0", "0"))
    ]
    assert reported("kafka-log", path=str(tmp_path)) == wanted
    if connector.is_to_be_had():
        with wb.serve(tmp_path) as server:
            where = {"kafka.bootstrap.servers": server.bootstrap_servers}
            assert reported("kafka", **where) == wanted


def with_field(batch: bytes, at: int, value: int, codec: int) -> bytes:
    """Return a batch with another number in it, and a CRC that is right."""
    changed = bytearray(batch)
    struct.pack_into(">i", changed, at, value)
    changed[CRC_FROM + 1] |= codec
    struct.pack_into(">I", changed, CRC_AT, crc32c(bytes(changed[CRC_FROM:])))
    return bytes(changed)


def test_hostile_sizes_end_the_job_with_the_place(spark: Any, logs: Path, tmp_path: Path) -> None:
    content = (logs / "java-none-0" / f"{0:020d}.log").read_bytes()
    size = struct.unpack_from(">i", content, BATCH_LENGTH_AT)[0] + 12
    (tmp_path / "hostile-0").mkdir()
    file = tmp_path / "hostile-0" / f"{0:020d}.log"
    for at, value, words in (
        (BATCH_LENGTH_AT, 2**31 - 1, "the batch size cannot be right"),
        (BATCH_LENGTH_AT, -5, "the batch size cannot be right"),
        (RECORD_COUNT_AT, 2**31 - 1, "the record count cannot be right"),
        (RECORD_COUNT_AT, -1, "the record count cannot be right"),
        (BATCH_HEADER_SIZE, 2**31 - 1, "a record's length does not fit|a varint is incomplete"),
    ):
        for codec in range(5):
            file.write_bytes(with_field(content[:size], at, value, codec) + content[size:])
            with pytest.raises(Exception, match=f"{file.name}: at byte 0: ") as raised:
                load(spark, tmp_path).collect()
            assert codec or re.search(words, str(raised.value))
            with pytest.raises(wb.WorkbenchError):
                Load(tmp_path).table()


def test_scala_reads_through_the_same_jar(spark: Any, logs: Path) -> None:
    """What `spark-shell --jars` does: the JVM's own session, no call of Python's."""
    java = spark._jsparkSession  # noqa: SLF001 - Scala's session
    frame = java.read().format("kafka-log").option("subscribe", "java-none").load(str(logs))
    assert frame.count() == wb.open_log_directory(logs).scan(topics="java-none").count()
    assert json.loads(frame.schema().json())["fields"][0]["name"] == "key"


def _place(error: BaseException) -> tuple[str, int]:
    """Return the file and the byte that an error names."""
    found = re.search(r"([\w.]+-0/\d{20}\.log)\W+at byte (\d+)", str(error))
    assert found, error
    return found[1], int(found[2])


def test_headers_that_lie_give_the_rows_of_python_or_its_error(spark: Any, tmp_path: Path) -> None:
    """A lie that Python's reader takes is taken in Java; where it stops, Java stops.

    Of two batches that contradict each other, Python names the one that it leaves out; a task in
    Java, which does not look back, names the second.
    """
    sound, damaged = tmp_path / "sound", {}
    for name, content in lying_logs():
        folder = tmp_path / name / f"{name}-0"
        folder.mkdir(parents=True)
        (folder / f"{0:020d}.log").write_bytes(content)
        try:
            Load(folder, **EVERYTHING).table()
        except wb.WorkbenchError as error:
            if name.endswith("plain") and asked(folder)["reason"] is None:
                damaged[folder] = error
        else:
            shutil.copytree(folder, sound / folder.name)
    for level in ("read_uncommitted", "read_committed"):
        frame = load(spark, sound, kafka__isolation__level=level, **EVERYTHING)
        expected = Load(sound, kafka__isolation__level=level, **EVERYTHING).table()
        require_same(frame.toArrow(), expected, *(n for n in frame.columns if n not in ORDER))
    assert len(damaged) > 20
    for folder, python in damaged.items():
        with pytest.raises(Exception, match=folder.name) as raised:
            load(spark, folder).collect()
        (file, byte), found = _place(python), _place(raised.value)
        if "below those after it" in str(python):
            assert "an offset that is not in order: 10" in str(raised.value)
            assert found[1] > byte
        else:
            assert found == (file, byte)
