"""The jobs of `workbench.pipelines` over generated records: `python -m … [records] [cores]`.

The records are made by Spark's `range` and written by our writer: 4 partitions, keys of which each
comes about ten times, values of 100 bytes, one record in a hundred a tombstone, some late.
"""

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import workbench as wb
from tests.benchmarks.bench_spark import cpu
from tests.benchmarks.measure import FOLDER, table
from workbench.pipelines.cluster_verify import cluster_verify
from workbench.pipelines.compaction_savings import compaction_savings
from workbench.pipelines.replica_diff import replica_diff
from workbench.pipelines.rescue_to_parquet import rescue_to_parquet
from workbench.pipelines.topic_profile import topic_profile

RECORDS: Final = 10_000_000
PARTITIONS: Final = 4
START: Final = 1_700_000_000_000  # ms


def generated(spark: Any, records: int, codec: str) -> Path:
    """Return a log directory of that many records; kept between runs."""
    folder = FOLDER / f"pipelines-{records}-{codec}"
    if not folder.exists():
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        rows = spark.range(0, records, numPartitions=PARTITIONS).selectExpr(
            "'events' as topic",
            f"cast(id % {PARTITIONS} as int) as partition",
            f"concat('key-', pmod(xxhash64(id), {max(1, records // 10)})) as key",
            "if(id % 100 = 7, null, rpad(concat('value ', id), 100, sha1(string(id)))) as value",
            f"timestamp_millis({START} + id - if(id % 50 = 3, 100000, 0)) as timestamp",
        )
        writer = rows.write.format("kafka-log").option("kafka.compression.type", codec)
        writer.option("segmentBytes", "64m").mode("append").save(str(unfinished))
        unfinished.rename(folder)
    return folder


def rescued(spark: Any, data: Path) -> int:
    """Rescue to a folder that is thrown away; return how many records."""
    out = FOLDER / "pipelines-rescued"
    shutil.rmtree(out, ignore_errors=True)
    count = sum(each.records for each in rescue_to_parquet(spark, data, out))
    shutil.rmtree(out)
    return count


def verified(spark: Any, data: Path) -> int:
    """Return how many kinds of finding there are."""
    found = cluster_verify(spark, [data])
    found.findings.unpersist()
    return len(found.summary)


def main(records: int, cores: int) -> None:
    """Print how long each job takes."""
    spark = wb.spark.session(cores, spark__sql__shuffle__partitions=str(2 * cores))
    spark.sparkContext.setLogLevel("ERROR")
    data, copy = (generated(spark, records, codec) for codec in ("none", "lz4"))
    jobs: dict[str, Callable[[], object]] = {
        "topic_profile": lambda: topic_profile(spark, data).count(),
        "compaction_savings": lambda: compaction_savings(spark, data).count(),
        "cluster_verify": lambda: verified(spark, data),
        "rescue_to_parquet": lambda: rescued(spark, data),
        "replica_diff": lambda: replica_diff(spark, data, copy).count(),
    }
    spark.range(1000).count()  # the first job of a session starts what the others use
    rows = []
    for name, run in jobs.items():
        start, start_cpu = time.perf_counter(), cpu()
        run()
        wall, used = time.perf_counter() - start, cpu() - start_cpu
        rows.append([name, f"{wall:.1f} s", f"{used:.1f} s", f"{used / records * 1e6:.2f} s"])
    spark.stop()
    title = f"{records:,} records of 100 bytes, local[{cores}]"
    table(title, ["job", "time", "CPU", "CPU of a million"], rows)


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*(given + [RECORDS, 2][len(given) :]))
