"""The reader in Java gives the rows of a scan; `test_reader_in_java` runs these tests."""

import json
import os
import re
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import workbench as wb
from tests.golden.cases import CASES, Case, asked_again, open_case
from tests.spark.tasks import Load, rows
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


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    session = wb.spark.session(reader_in_java=True, spark__sql__shuffle__partitions="2")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_case("4.2.0-plain-java", tmp_path_factory.mktemp("java")).path / "data"


def load(spark: Any, path: object, **options: object) -> Any:
    given = {name.replace("__", "."): str(value) for name, value in options.items()}
    return spark.read.format("kafka-log").options(**given).load(str(path))


def plan_of(frame: Any) -> str:
    """Return the physical plan, as `explain` prints it."""
    return str(frame._jdf.queryExecution().executedPlan().toString())  # noqa: SLF001 - Spark has no other way


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


class Found(NamedTuple):
    """Partitions of the golden cases: what the reader in Java reads, and where it must fail."""

    sound: list[Path]
    damaged: list[Path]


@pytest.fixture(scope="module")
def partitions(golden: Callable[[str], Case], tmp_path_factory: pytest.TempPathFactory) -> Found:
    found = Found([], [])
    folder = tmp_path_factory.mktemp("partitions")
    repeated = set() if is_long() else asked_again(CASES)
    for number, case in enumerate(CASES):
        if case.name in repeated:
            continue
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
        columns = [name for name in frame.columns if name not in {"topic", "partition", "offset"}]
        require_same(frame.toArrow(), expected, *columns)
        assert frame.count() == expected.num_rows


def test_where_python_fails_at_damage_java_does(spark: Any, partitions: Found) -> None:
    assert partitions.damaged
    for path in partitions.damaged:
        with pytest.raises(Exception, match=path.name.rpartition("-")[2]) as raised:
            load(spark, path).collect()
        assert "onCorrupt=skip" in str(raised.value), path


def test_columns_are_pruned_and_filters_are_pushed(spark: Any, logs: Path) -> None:
    frame = load(spark, logs).where(
        "topic = 'java-none' and partition in (0, 1) and offset >= 5 and offset < 90"
        " and timestamp >= timestamp_millis(1700000001040)"
    )
    kept = frame.select("key", "offset")
    plan = plan_of(kept)
    assert "columns [key, offset, timestamp]" in plan
    for pushed in ("topic = 'java-none'", "offset >= 5", "offset < 90", "timestamp >= "):
        assert pushed in plan
    python = load(spark, logs, reader="python")
    same = python.where(
        "topic = 'java-none' and partition in (0, 1) and offset >= 5 and offset < 90"
        " and timestamp >= timestamp_millis(1700000001040)"
    ).select("key", "offset")
    found = sorted(map(str, kept.collect()))
    assert found == sorted(map(str, same.collect()))
    assert found


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
