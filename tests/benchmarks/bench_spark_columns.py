"""Spark on segments in columns: our source in Java and in Python, Parquet, Kafka, one process.

CPU time of all processes that take part; the best of some rounds taken in turn.
"""

import time
from pathlib import Path
from typing import Any

import workbench as wb
from tests.benchmarks.bench_spark import (
    FASTEST,
    KAFKA_COLUMNS,
    QUERIES,
    ROUNDS,
    TOPIC,
    Query,
    Seconds,
    best_of,
    broker_with,
    ours,
    run,
    session,
)
from tests.benchmarks.measure import generated, table

DATA = (("none", 100, 118 << 20), ("none", 1000, 96 << 20), ("lz4", 100, 24 << 20))
"""Codec, bytes of a value and of a segment: 4 million records, 0.4 million of 1 KB, and lz4."""


def by_hour(frame: Any) -> Any:
    """Return how many records there are by hour."""
    from pyspark.sql import functions

    return frame.groupBy(functions.window("timestamp", "1 hour")).count()


MORE = (
    *QUERIES,
    Query("count", "offset", lambda frame: frame.groupBy().count()),
    Query("window of an hour", "timestamp", by_hour),
)


def in_java(spark: Any, data: Path) -> Any:
    """Return the frame of our source in Java."""
    return spark.read.format("kafka-log").option("subscribe", TOPIC).load(str(data))


def one_process(query: Query, data: Path) -> Seconds:
    """Return the seconds of a scan that does without Spark what a query needs of the records."""
    columns = query.columns.split(",") if query.columns else KAFKA_COLUMNS
    start, start_cpu = time.perf_counter(), time.process_time()
    for batch in wb.open_log_directory(data).scan(topics=TOPIC, columns=columns).batches():
        del batch
    return Seconds(time.perf_counter() - start, time.process_time() - start_cpu)


def in_columns(spark: Any, codec: str, size: int, total: int) -> None:
    """Print the CPU seconds of each reader for each query."""
    broker = broker_with(generated(codec, size, total))
    parquet = str(broker.folder / "parquet")
    with broker:
        if not Path(parquet).exists():
            in_java(spark, broker.data).write.parquet(parquet)
        count = in_java(spark, broker.data).count()
        kafka = spark.read.format("kafka").option("subscribe", TOPIC)
        kafka = kafka.option("kafka.bootstrap.servers", broker.bootstrap).options(**FASTEST)
        rows = []
        for query in MORE:
            sources = {
                "Python": lambda: ours(spark, broker.data, query.columns),  # noqa: B023 - used at once
                "Java": lambda: in_java(spark, broker.data),
                "Parquet": lambda: spark.read.parquet(parquet),
                "Kafka": kafka.load,
            }
            times: dict[str, list[Seconds]] = {name: [] for name in [*sources, "process"]}
            for _ in range(ROUNDS):
                for name, load in sources.items():
                    times[name].append(run(query.of(load())))
                times["process"].append(one_process(query, broker.data))
            first = times["Java"][0].cpu
            best = {name: best_of(found).cpu for name, found in times.items()}
            ratios = [f"{best[name] / best['Java']:.1f}x" for name in best if name != "Java"]
            rows.append([query.name, f"{best['Java']:.2f} s ({first:.2f} s)", *ratios])
    title = f"CPU, {count / 1e6:.1f} million records, {codec}, {size} bytes, local[2]"
    others = ("in Python", "Parquet", "Spark's Kafka source", "one process, a scan alone")
    table(title, ["query", "in Java (first)", *others], rows)


def main() -> None:
    """Print the tables."""
    spark = session(2)
    for codec, size, total in DATA:
        in_columns(spark, codec, size, total)
    spark.stop()


if __name__ == "__main__":
    main()
