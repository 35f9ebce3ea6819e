"""The Spark data source on a local session: the same rows as a scan, in Spark's own columns."""

import gc
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import workbench as wb
from tests.golden.cases import CASES, Case, open_case
from tests.spark.tasks import Load, rows
from workbench.inspection.listing import list_log_directories
from workbench.loaders.scan.scan import Scan
from workbench.loaders.scan.splits import pack

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_case("4.2.0-plain-java", tmp_path_factory.mktemp("spark")).path / "data"


@pytest.fixture(scope="module")
def transactions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_case("4.2.0-txn", tmp_path_factory.mktemp("spark")).path / "data"


COLUMNS = ["topic", "partition", "offset", "timestamp", "key", "value", "headers"]


def _rows(table: Any) -> list[Any]:
    keys = [(c, "ascending") for c in ("topic", "partition", "offset")]
    return table.select(COLUMNS).sort_by(keys).to_pylist()  # type: ignore[no-any-return]


def test_every_record_of_a_log_directory_is_there_once(spark: Any, logs: Path) -> None:
    frame = spark.read.format("kafka-log").option("includeHeaders", "true").load(str(logs))
    expected = _rows(wb.open_log_directory(logs).scan().to_arrow())
    for row in expected:  # Spark's source gives null for a record without headers
        row["headers"] = row["headers"] or None
    found = _rows(frame.toArrow())
    assert found == expected


def test_the_columns_are_those_of_sparks_kafka_source(spark: Any, logs: Path) -> None:
    frame = spark.read.format("kafka-log").option("subscribe", "java-none").load(str(logs))
    assert frame.dtypes == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
    ]
    assert {row.topic for row in frame.select("topic").distinct().collect()} == {"java-none"}


def test_read_committed_leaves_out_what_a_scan_leaves_out(spark: Any, transactions: Path) -> None:
    given = spark.read.format("kafka-log").option("includeInternal", "true")
    reader = given.option("kafka.isolation.level", "read_committed")
    logs = wb.open_log_directory(transactions)
    scan = logs.scan(isolation_level="read_committed", include_internal=True)
    assert reader.load(str(transactions)).count() == scan.count()
    everything = spark.read.format("kafka-log").option("includeInternal", "true")
    assert everything.load(str(transactions)).count() > scan.count()


def test_a_topic_may_be_chosen_by_pattern(spark: Any, logs: Path) -> None:
    frame = (
        spark.read.format("kafka-log").option("subscribePattern", "java-topic-.*").load(str(logs))
    )
    topics = {row.topic for row in frame.select("topic").distinct().collect()}
    assert len(topics) > 1
    assert all(topic.startswith("java-topic-") for topic in topics)


def test_one_frame_with_two_filters_answers_both(spark: Any, logs: Path) -> None:
    """Spark 4.1 to 4.3 get this wrong for sources that take filters: ours must never."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        frame = spark.read.format("kafka-log").option("subscribe", "java-none").load(str(logs))
        everything = frame.count()
        assert 0 < frame.where("offset < 5").count() < everything
        assert frame.count() == everything
        both = frame.where("offset < 5").union(frame.where("offset >= 5"))
        assert both.count() == everything
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_an_active_session_is_taken(spark: Any) -> None:
    assert wb.spark.session().sparkContext is spark.sparkContext


def test_spark_finds_the_format_without_registration(spark: Any, logs: Path) -> None:
    other = spark.newSession()
    assert other.read.format("kafka-log").option("subscribe", "java-none").load(str(logs)).count()


def test_a_schema_of_the_users_chooses_columns(spark: Any, logs: Path) -> None:
    frame = spark.read.format("kafka-log").schema("value binary, offset bigint").load(str(logs))
    assert frame.columns == ["value", "offset"]
    assert frame.toArrow().num_rows == wb.open_log_directory(logs).scan().count()
    wrong = spark.read.format("kafka-log").schema("value string")
    with pytest.raises(Exception, match="the schema asks for value string"):
        wrong.load(str(logs)).collect()


def test_sql_reads_a_view_of_a_log_directory(spark: Any, logs: Path) -> None:
    spark.sql(
        "CREATE TEMPORARY VIEW records USING `kafka-log` "
        f"OPTIONS (path '{logs}', subscribe 'java-none', includeMetadata 'true')"
    )
    (row,) = spark.sql("SELECT count(*), min(codec), max(segment) FROM records").collect()
    spark.catalog.dropTempView("records")
    scan = wb.open_log_directory(logs).scan(topics="java-none")
    assert row[0] == scan.count()
    assert (row[1], row[2]) == (
        "none",
        max(s.base_offset for p in scan.partitions for s in p.segments),
    )


def test_a_task_that_dies_is_tried_again_and_gives_each_record_once(
    spark: Any, logs: Path, tmp_path: Path
) -> None:
    died = str(tmp_path / "died")

    def die_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if not os.path.exists(died):
                Path(died).touch()
                os.kill(os.getpid(), signal.SIGKILL)

    frame = spark.read.format("kafka-log").option("maxPartitionBytes", "1k").load(str(logs))
    kept = frame.select("topic", "partition", "offset")
    found = kept.mapInArrow(die_once, kept.schema).toArrow()
    assert os.path.exists(died)
    assert rows(found) == rows(wb.open_log_directory(logs).scan().to_arrow())


def test_a_task_does_not_import_numba(spark: Any, logs: Path) -> None:
    path = str(logs)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import sys

        import pyarrow as pa

        from workbench.kernels.dispatch import is_compiled
        from workbench.spark_source.source import KafkaLogSource

        assert is_compiled()
        source = KafkaLogSource({"path": path})
        reader = source.reader(source.schema())
        count = sum(batch.num_rows for task in reader.partitions() for batch in reader.read(task))
        for _ in batches:
            found = sorted({"numba", "llvmlite"} & set(sys.modules))
            yield pa.RecordBatch.from_pydict({"count": [count], "imported": [found]})

    one = spark.range(1, numPartitions=1)
    (row,) = one.mapInArrow(read, "count bigint, imported array<string>").toArrow().to_pylist()
    assert row == {"count": wb.open_log_directory(logs).scan().count(), "imported": []}


def test_every_golden_case_gives_the_rows_of_a_scan(
    spark: Any, golden: Callable[[str], Case], tmp_path: Path
) -> None:
    """One log directory of links to the partitions of all cases, the sound and the damaged ones."""
    for number, case in enumerate(CASES):
        opened = golden(case.name)
        for partition in wb.open_log_directory(opened.directory(opened.labels[-1])).values():
            if partition.kind == "log":
                name = f"{number}.{partition.topic}-{partition.partition}"
                (tmp_path / name).symlink_to(partition.path)
    columns = ("key", "value", "timestamp", "headers")
    reader = spark.read.format("kafka-log").option("includeHeaders", "true")
    reader = reader.option("failOnDataLoss", "false").option("maxPartitionBytes", "1g")
    logs = wb.open_log_directory(tmp_path)
    for level in ("read_uncommitted", "read_committed"):
        frame = reader.option("kafka.isolation.level", level).load(str(tmp_path))
        found = rows(frame.toArrow(), *columns)
        with warnings.catch_warnings(action="ignore", category=wb.CorruptDataWarning):
            expected = to_spark(logs.scan(isolation_level=level).to_arrow(), *columns)
        assert found == expected


def test_a_worker_that_has_read_spares_its_modules_the_collection_after_each_task(
    spark: Any, logs: Path
) -> None:
    def spared(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        yield pa.record_batch({"spared": [gc.get_freeze_count()]})

    # Each task tells what the tasks before it in its worker have done.
    mapped = wb.spark.map_batches(spark, logs, spared, "spared long", maxPartitionBytes="1")
    workers = mapped.collect() + mapped.collect()
    assert max(row["spared"] for row in workers) > 50_000
    Load(logs).table()
    assert gc.get_freeze_count() == 0  # this process is no worker


def to_spark(table: pa.Table, *columns: str) -> list[dict[str, Any]]:
    """Return the rows of a scan as Spark has them: times in us where they fit, no empty headers."""
    kept = table.column("timestamp").cast(pa.int64()).to_pylist()
    times = [None if time is None or time > 2**63 // 1000 else time * 1000 for time in kept]
    stamps = pa.array(times, pa.timestamp("us", tz="UTC"))
    place = table.schema.get_field_index("timestamp")
    found = rows(table.set_column(place, "timestamp", stamps), *columns)
    return [{**row, "headers": row["headers"] or None} for row in found]


def test_a_segment_is_a_task_of_its_own_when_tasks_are_small(spark: Any, logs: Path) -> None:
    scan = Scan(list_log_directories(logs), topics="java-none")
    segments = sum(len(partition.segments) for partition in scan.partitions)
    assert len(pack(scan.plan(), 1024)) == segments > 1
    reader = spark.read.format("kafka-log").option("maxPartitionBytes", "1k")
    assert reader.option("subscribe", "java-none").load(str(logs)).count() == scan.count()
