"""A function in the tasks that read gets what the source gives, and its results are rows."""

import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import TaskContext

import workbench as wb

pytestmark = pytest.mark.spark

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHOP = SAMPLES / "shop-4.3.1"
Batches = Iterator[pa.RecordBatch]


def same(batches: Batches) -> Batches:
    yield from batches


@pytest.mark.parametrize(
    "options",
    [
        {"subscribe": "orders", "maxPartitionBytes": "16k"},
        {"subscribe": "payments", "kafka.isolation.level": "read_committed"},
        {
            "assign": '{"orders": [1]}',
            "includeHeaders": "true",
            "includeMetadata": "true",
            "startingOffsets": '{"orders": {"1": 100}}',
            "endingTimestamp": "1732874400000",
        },
        {
            "subscribe": "orders",
            "columns": "offset,value",
            "decode": '{"value": "json"}',
            "mask": "orders value.customer_id drop",
        },
    ],
)
def test_a_function_gets_the_records_that_the_source_gives(
    spark: Any, options: dict[str, str]
) -> None:
    frame = spark.read.format("kafka-log").options(**options).load(str(SHOP))
    mapped = wb.spark.map_batches(spark, SHOP, same, frame.schema, **options)
    assert mapped.schema == frame.schema
    expected = sorted(map(repr, frame.collect()))
    assert sorted(map(repr, mapped.collect())) == expected
    assert expected


def test_damage_is_a_row_for_a_function_too(spark: Any) -> None:
    options = {"subscribe": "flipped-byte", "onCorrupt": "rows", "columns": "offset,damage"}
    frame = spark.read.format("kafka-log").options(**options).load(str(SAMPLES / "damaged"))
    mapped = wb.spark.map_batches(spark, SAMPLES / "damaged", same, frame.schema, **options)
    found = mapped.where("damage is not null").collect()
    assert found == frame.where("damage is not null").collect()
    assert [row["damage"]["kind"] for row in found] == ["crc"]


def test_the_examples_run_and_give_what_a_scan_gives(spark: Any) -> None:
    blocks = re.findall(
        r"```python\n(.*?)```", inspect.getdoc(wb.spark.map_batches) or "", re.DOTALL
    )
    names: dict[str, Any] = {"wb": wb, "spark": spark, "pa": pa, "pc": pc, "DIR": str(SHOP)}
    assert len(blocks) == 2
    for block in blocks:
        exec(block, names)  # noqa: S102 - our own documentation
    logs = wb.open_log_directory(SHOP)
    own = [name for name in logs.topics if not name.startswith("__")]  # as Spark reads them
    table = logs.scan(own, columns=["topic", "timestamp", "value"]).to_arrow()
    hours = pc.floor_temporal(table["timestamp"].cast(pa.timestamp("us", "UTC")), unit="hour")
    counts = pc.value_counts(hours.combine_chunks())
    expected = {row["values"]: row["counts"] for row in counts.to_pylist()}
    found = names["hours"].toArrow().to_pylist()
    assert {row["hour"]: row["sum(records)"] for row in found} == expected
    orders = table.filter(pc.equal(table["topic"], "orders"))
    sizes = sorted(pc.binary_length(orders["value"]).drop_null().to_pylist())
    assert [row["size"] for row in names["top"].collect()] == sizes[:-4:-1]


def test_columns_are_matched_by_name_and_cast(spark: Any) -> None:
    def counted(batches: Batches) -> Batches:
        count = pa.array([sum(batch.num_rows for batch in batches)], pa.int16())
        yield pa.RecordBatch.from_arrays(
            [count, pa.array(["one"], pa.large_string())], ["n", "task"]
        )

    schema = pa.schema([("task", pa.string()), ("n", pa.int64())])
    options: dict[str, Any] = {"assign": {"orders": [0]}, "includeHeaders": True, "columns": None}
    rows = wb.spark.map_batches(spark, [SHOP], counted, schema, **options).collect()
    assert [tuple(row) for row in rows] == [
        ("one", wb.open_log_directory(SHOP).scan(partitions="orders-0").count())
    ]


def test_a_function_that_yields_something_else_is_told_what_was_wanted(spark: Any) -> None:
    def fails(schema: str, give: Any) -> str:
        def function(batches: Batches) -> Any:
            for batch in batches:
                yield give(batch)

        frame = wb.spark.map_batches(spark, SHOP / "orders-0", function, schema)
        with pytest.raises(Exception, match="map_batches") as found:
            frame.collect()
        return str(found.value)

    assert "columns key; the schema has a" in fails("a int", lambda batch: batch.select(["key"]))
    assert "yielded a int, not a pyarrow.RecordBatch" in fails("a int", len)
    text = fails("value int", lambda batch: batch.select(["value"]))
    assert "column value is binary, the schema has int32" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"colums": "key"}, "unknown option 'colums' of kafka-log"),
        ({"columns": "kye"}, "unknown column kye"),
        ({"subscribe": "oders"}, "unknown topic oders"),
        ({"startingOffsets": "latest"}, "can't be latest for batch queries"),
    ],
)
def test_options_are_refused_in_the_words_of_the_source(
    spark: Any, options: dict[str, str], words: str
) -> None:
    mapped = wb.spark.map_batches(spark, SHOP, same, "offset bigint", **options)
    with pytest.raises(Exception, match=re.escape(words)):
        mapped.collect()


def test_the_format_alone_says_which_function_to_call(spark: Any) -> None:
    reader = spark.read.format("kafka-log-map")
    for each in (reader, reader.schema("offset bigint")):
        with pytest.raises(Exception, match=re.escape("call wb.spark.map_batches")):
            each.load(str(SHOP)).collect()


def test_a_task_that_fails_once_gives_its_results_once(spark: Any, tmp_path: Path) -> None:
    def counted(batches: Batches) -> Batches:
        for number, batch in enumerate(batches):
            yield batch.select(["partition", "offset"])
            context = TaskContext.get()
            assert context is not None
            failed = tmp_path / f"{context.partitionId()}"
            if number == 0 and not failed.exists():
                failed.write_text(str(os.getpid()))
                raise RuntimeError("once")

    options = {"subscribe": "orders", "maxPartitionBytes": "400k"}
    schema = "partition int, offset bigint"
    rows = wb.spark.map_batches(spark, SHOP, counted, schema, **options).collect()
    assert len(list(tmp_path.iterdir())) > 2
    table = wb.open_log_directory(SHOP).scan(topics="orders").to_arrow()
    expected = zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True)
    assert sorted(map(tuple, rows)) == sorted(expected)
