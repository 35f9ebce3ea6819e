"""A program: read a log directory, and its table of segments, through Spark Connect.

Argument: the log directory. Prints, as JSON, the records of each partition and how many segments
there are; the session knows the format by `wb.spark.register` alone.
"""

import json
import sys

from pyspark.sql import SparkSession

import workbench as wb
from workbench.spark import prepare_environment


def main(logs: str) -> None:
    """Read it, print the counts."""
    prepare_environment()
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    wb.spark.register(spark)
    frame = spark.read.format("kafka-log").option("subscribe", "orders").load(logs)
    counts = {
        row["partition"]: row["count"] for row in frame.groupBy("partition").count().collect()
    }
    segments = spark.read.format("kafka-log-segments").load(logs).count()
    sys.stdout.write(json.dumps({"records": sorted(counts.items()), "segments": segments}))
    sys.stdout.flush()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
