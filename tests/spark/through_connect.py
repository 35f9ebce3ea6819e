"""A program: read a log directory, and its table of segments, through Spark Connect.

Arguments: the log directory; a directory to rescue to. Prints, as JSON, the records of each
partition by the source and by `map_batches`, how many segments there are, and what jobs count; the
session knows the format by `wb.spark.register` alone.
"""

import json
import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

import workbench as wb
from workbench.pipelines.compaction_savings import compaction_savings
from workbench.pipelines.rescue_to_parquet import rescue_to_parquet
from workbench.pipelines.topic_profile import topic_profile
from workbench.spark import prepare_environment
from workbench.spark_source.executors import executors


def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the records of each batch, by partition."""
    for batch in batches:
        rows = {"p": batch.column("partition")[:1], "n": [batch.num_rows]}
        yield pa.RecordBatch.from_pydict(rows)


def main(logs: str, out: str) -> None:
    """Read it, print the counts."""
    prepare_environment()
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    wb.spark.register(spark)
    frame = spark.read.format("kafka-log").option("subscribe", "orders").load(logs)
    counts = {
        row["partition"]: row["count"] for row in frame.groupBy("partition").count().collect()
    }
    segments = spark.read.format("kafka-log-segments").load(logs).count()
    mapped = wb.spark.map_batches(spark, logs, counted, "p int, n bigint", subscribe="orders")
    sums = mapped.groupBy("p").sum("n").collect()
    profile = topic_profile(spark, logs, ["orders"]).toArrow()
    has = [[*each.versions, each.partitions] for each in executors(spark, logs)]
    savings = compaction_savings(spark, logs, ["orders"]).toArrow()
    found = {
        "records": sorted(counts.items()),
        "mapped": sorted(map(list, sums)),
        "segments": segments,
        "executors have": has,
        "profiled": sum(profile["records"].to_pylist()),
        "rescued": sum(one.records for one in rescue_to_parquet(spark, logs, out, ["orders"])),
        "kept or dropped": sum(savings["records"].to_pylist()),
    }
    sys.stdout.write(json.dumps(found))
    sys.stdout.flush()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
