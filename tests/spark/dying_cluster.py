"""A program: read a log directory on a cluster of two executors while some of them die.

Arguments: the log directory; a directory for files that name the processes of executors that died;
a directory to rescue to. Prints, as JSON, topic, partition and offset of each record that Spark
got, that `map_batches` got, and that is in the files that a rescue names.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import workbench as wb
from workbench.pipelines.rescue_to_parquet import Rescuing, folder_of

ORDER = ["topic", "partition", "offset"]


def parent(process: int) -> int:
    """Return the process that started another."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def main(logs: str, died: str, out: str) -> None:
    """Read it three ways, kill an executor after the first records of each, print what came."""
    spark = wb.spark.session(spark__master="local-cluster[2,1,1024]")
    spark.sparkContext.setLogLevel("OFF")

    def die_once(name: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            path = os.path.join(died, name)
            if not os.path.exists(path):
                executor = parent(os.getppid())  # of the daemon that this worker was forked from
                Path(path).write_text(str(executor))
                os.kill(executor, signal.SIGKILL)

    size = {"maxPartitionBytes": "64k"}
    frame = spark.read.format("kafka-log").options(**size).load(logs)
    kept = frame.select(*ORDER)
    found = {"source": kept.mapInArrow(partial(die_once, "source"), kept.schema).toArrow()}

    def chosen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from die_once("mapped", (batch.select(ORDER) for batch in batches))

    found["mapped"] = wb.spark.map_batches(spark, logs, chosen, kept.schema, **size).toArrow()

    def rescued(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from die_once("rescued", Rescuing(out)(batches))

    options = {"onCorrupt": "rows", "includeHeaders": "true", "includeMetadata": "true"}
    for log in ("orders-0", "orders-1"):
        os.makedirs(os.path.join(out, "topic=orders", log.replace("orders-", "partition=")))
    schema = "topic string, partition int, file string"

    def named(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for row in rescued(batches):
            yield row.select(["topic", "partition", "file"])

    rows = wb.spark.map_batches(spark, logs, named, schema, **options, **size).collect()
    files = {(row.topic, row.partition, row.file) for row in rows}
    tables = []
    for topic, partition, file in sorted(files):
        path = os.path.join(out, folder_of((topic, partition)), file)
        offsets = pq.read_table(path, columns=["offset"], partitioning=None)["offset"]
        where = ([topic] * len(offsets), pa.array([partition] * len(offsets), pa.int32()))
        tables.append(pa.table([*where, offsets], names=ORDER))
    found["rescued"] = pa.concat_tables(tables)
    told = {
        name: sorted(zip(*table.to_pydict().values(), strict=True)) for name, table in found.items()
    }
    sys.stdout.write(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
