"""A program for spark-submit: read a log directory on two executors while things go wrong.

Arguments: the log directory; another copy of it; a folder for what the program writes. Writes, as
JSON to `found` there, topic, partition and offset of each record that Spark got, that
`map_batches` got, and that is in the files that a rescue names; what the jobs say; and the records
that a stream wrote.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext

import workbench as wb
from tests.spark.jobs import answers
from workbench.pipelines.rescue_to_parquet import Rescuing, folder_of

Batches = Iterator[pa.RecordBatch]

ORDER = ["topic", "partition", "offset"]
SIZE = {"maxPartitionBytes": "128k"}
WAITS_S = 180.0


def parent(process: int) -> int:
    """Return the process that started another."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def rows_of(table: pa.Table) -> list[Any]:
    """Return topic, partition and offset of each record, sorted."""
    return sorted(zip(*table.select(ORDER).to_pydict().values(), strict=True))


def die_once(path: str, generations: int, batches: Batches) -> Batches:
    """Yield batches; after the first, kill what stands so far above Spark's daemon, but only once.

    The parent of the daemon, which forks Python workers, is an executor, and its parent a worker.
    """
    for batch in batches:
        yield batch
        if not os.path.exists(path):
            process = os.getppid()
            for _ in range(generations):
                process = parent(process)
            Path(path).write_text(str(process))
            os.kill(process, signal.SIGKILL)


def hang_once(path: str, batches: Batches) -> Batches:
    """Yield batches, in the first attempt of one task only when a copy of it has been ended."""
    context = TaskContext.get()
    assert context is not None
    if context.partitionId() == 0 and context.attemptNumber() == 0:
        deadline = time.monotonic() + WAITS_S
        while time.monotonic() < deadline:  # Spark ends it, once the copy is done
            time.sleep(0.05)
    yield from (batch.select(ORDER) for batch in batches)
    if context.partitionId() == 0:
        Path(path).write_text(str(context.attemptNumber()))


def read_while_it_dies(spark: Any, logs: str, died: str) -> Iterator[tuple[str, pa.Table]]:
    """Read once beside a task that hangs, and once while an executor dies."""
    frame = spark.read.format("kafka-log").options(**SIZE).load(logs).select(*ORDER)
    hang = partial(hang_once, os.path.join(died, "copied"))
    yield "copied", wb.spark.map_batches(spark, logs, hang, frame.schema, **SIZE).toArrow()
    die = partial(die_once, os.path.join(died, "source"), 1)
    yield "source", frame.mapInArrow(die, frame.schema).toArrow()


def rescue_while_a_worker_dies(spark: Any, logs: str, died: str, out: str) -> pa.Table:
    """Return what is in the files that the tasks of a rescue name."""
    for log in ("orders-0", "orders-1"):
        os.makedirs(os.path.join(out, "topic=orders", log.replace("orders-", "partition=")))

    def rescued(batches: Batches) -> Batches:
        for row in die_once(os.path.join(died, "rescued"), 2, Rescuing(out)(batches)):
            yield row.select(["topic", "partition", "file"])

    options = {"onCorrupt": "rows", "includeHeaders": "true", "includeMetadata": "true"}
    schema = "topic string, partition int, file string"
    rows = wb.spark.map_batches(spark, logs, rescued, schema, **options, **SIZE).collect()
    tables = []
    for topic, partition, file in sorted({tuple(row) for row in rows}):
        path = os.path.join(out, folder_of((topic, partition)), file)
        offsets = pq.read_table(path, columns=["offset"], partitioning=None)["offset"]
        where = ([topic] * len(offsets), pa.array([partition] * len(offsets), pa.int32()))
        tables.append(pa.table([*where, offsets], names=ORDER))
    return pa.concat_tables(tables)


def stream(spark: Any, logs: str, home: str) -> Iterator[tuple[str, pa.Table]]:
    """Write what a directory has to a table, and then what it has more, from the checkpoint."""
    table = os.path.join(home, "table")
    for name in ("streamed", "streamed on"):
        source = spark.readStream.format("kafka-log").option("startingOffsets", "earliest")
        frame = source.options(**SIZE).load(logs).select(*ORDER)
        writer = frame.writeStream.format("parquet").option("path", table)
        query = writer.option("checkpointLocation", os.path.join(home, "checkpoint")).start()
        query.processAllAvailable()
        query.stop()
        yield name, spark.read.parquet(table).toArrow()
        if name == "streamed":
            with wb.LogManager([Path(logs)]) as manager:
                manager.get_or_create_log("orders", 0).append([(b"key", b"value")] * 10)


def main(logs: str, other: str, home: str) -> None:
    """Read it, write what came."""
    spark = wb.spark.session(
        spark__sql__shuffle__partitions="2",
        spark__speculation="true",
        spark__speculation__quantile="0.5",
        spark__executor__memory="700m",
    )
    spark.sparkContext.setLogLevel("OFF")
    died, out = os.path.join(home, "died"), os.path.join(home, "out")
    os.mkdir(died)
    found: dict[str, Any] = {"master": spark.sparkContext.master}
    found |= {name: rows_of(table) for name, table in read_while_it_dies(spark, logs, died)}
    found["rescued"] = rows_of(rescue_while_a_worker_dies(spark, logs, died, out))
    found["jobs"] = answers(spark, logs, other, os.path.join(home, "jobs"))
    found |= {name: rows_of(table) for name, table in stream(spark, logs, home)}
    Path(home, "found").write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
