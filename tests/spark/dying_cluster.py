"""A program: read a log directory on a cluster of two executors while one of them dies.

Arguments: the log directory; a file, not there yet, that names the executor's process when it died.
Prints topic, partition and offset of each record that Spark got, as JSON.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import workbench as wb


def parent(process: int) -> int:
    """Return the process that started another."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def main(logs: str, died: str) -> None:
    """Read it, kill an executor after its first records, print what came."""
    spark = wb.spark.session(spark__master="local-cluster[2,1,1024]")
    spark.sparkContext.setLogLevel("OFF")

    def die_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if not os.path.exists(died):
                executor = parent(os.getppid())  # of the daemon that this worker was forked from
                Path(died).write_text(str(executor))
                os.kill(executor, signal.SIGKILL)

    frame = spark.read.format("kafka-log").option("maxPartitionBytes", "64k").load(logs)
    kept = frame.select("topic", "partition", "offset")
    found = kept.mapInArrow(die_once, kept.schema).toArrow()
    sys.stdout.write(json.dumps(sorted(zip(*found.to_pydict().values(), strict=True))))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
