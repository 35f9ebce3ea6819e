"""The Spark data source on a local session: the same rows as a scan, in Spark's own columns."""

from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.golden.cases import open_case
from workbench.inspection.listing import list_log_directories
from workbench.loaders.scan import Scan
from workbench.loaders.splits import pack

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
    reader = spark.read.format("kafka-log").option("kafka.isolation.level", "read_committed")
    scan = wb.open_log_directory(transactions).scan(isolation_level="read_committed")
    assert reader.load(str(transactions)).count() == scan.count()
    assert spark.read.format("kafka-log").load(str(transactions)).count() > scan.count()


def test_a_topic_may_be_chosen_by_pattern(spark: Any, logs: Path) -> None:
    frame = (
        spark.read.format("kafka-log").option("subscribePattern", "java-topic-.*").load(str(logs))
    )
    topics = {row.topic for row in frame.select("topic").distinct().collect()}
    assert len(topics) > 1
    assert all(topic.startswith("java-topic-") for topic in topics)


def test_one_frame_with_two_filters_answers_both(spark: Any, logs: Path) -> None:
    """Spark 4.1 to 4.3 get this wrong for sources that take filters: ours must never."""
    frame = spark.read.format("kafka-log").load(str(logs))
    everything = frame.count()
    assert 0 < frame.where("offset < 5").count() < everything
    assert frame.count() == everything


def test_a_segment_is_a_task_of_its_own_when_tasks_are_small(spark: Any, logs: Path) -> None:
    scan = Scan(list_log_directories(logs), topics="java-none")
    segments = sum(len(partition.segments) for partition in scan.partitions)
    assert len(pack(scan.plan(), 1024)) == segments > 1
    reader = spark.read.format("kafka-log").option("maxPartitionBytes", "1k")
    assert reader.option("subscribe", "java-none").load(str(logs)).count() == scan.count()
