"""The jobs of `workbench.pipelines` over generated records: `python -m … [records] [cores] [old]`.

The records are made by Spark's `range` and written by our writer: 4 partitions, keys of which each
comes about ten times, values of 100 bytes, one record in a hundred a tombstone, some late.

The same over many partitions of four records each tells what a partition costs, whatever is in it.

If the folder of an older checkout is given, its jobs run in the same minutes on the same data, and
the table shows both.
"""

import json
import os
import shutil
import subprocess
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
from workbench.record.writing.batch_writer import BatchWriter

DATA: Final = Path(os.environ.get("BENCH_PIPELINES_DATA", FOLDER))
RECORDS: Final = 10_000_000
PARTITIONS: Final = 4
MANY: Final = 4000
"""Partitions of `tiny`."""
START: Final = 1_700_000_000_000  # ms


def generated(spark: Any, records: int, codec: str) -> Path:
    """Return a log directory of that many records; kept between runs."""
    folder = DATA / f"pipelines-{records}-{codec}"
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


def tiny(count: int) -> Path:
    """Return a log directory of partitions of four records, links to one; kept between runs."""
    folder = DATA / f"pipelines-tiny-{count}"
    if not folder.exists():
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        batch = BatchWriter()
        for at in range(4):
            batch.append(START + at, b"key-%d" % at, b"value %d" % at)
        first = unfinished / "tiny-0" / f"{0:020d}.log"
        for number in range(count):
            log = unfinished / f"tiny-{number}" / first.name
            log.parent.mkdir(parents=True)
            if number:
                os.link(first, log)
            else:
                log.write_bytes(batch.finish())
        unfinished.rename(folder)
    return folder


def rescued(spark: Any, data: Path) -> int:
    """Rescue to a folder that is thrown away; return how many records."""
    out = DATA / "pipelines-rescued"
    shutil.rmtree(out, ignore_errors=True)
    count = sum(each.records for each in rescue_to_parquet(spark, data, out))
    shutil.rmtree(out)
    return count


def verified(spark: Any, data: Path) -> int:
    """Return how many kinds of finding there are."""
    found = cluster_verify(spark, [data])
    found.findings.unpersist()
    return len(found.summary)


def measured(records: int, cores: int) -> dict[str, tuple[float, float]]:
    """Return the seconds of time and of CPU that each job takes."""
    spark = wb.spark.session(cores, spark__sql__shuffle__partitions=str(2 * cores))
    spark.sparkContext.setLogLevel("ERROR")
    data, other = (generated(spark, records, codec) for codec in ("none", "lz4"))
    copy = data.with_name(f"{data.name}-copy")
    if not copy.exists():
        shutil.copytree(data, copy)
    jobs: dict[str, Callable[[], object]] = {
        "topic_profile": lambda: topic_profile(spark, data).count(),
        "compaction_savings": lambda: compaction_savings(spark, data).count(),
        "cluster_verify": lambda: verified(spark, data),
        "rescue_to_parquet": lambda: rescued(spark, data),
        "replica_diff, equal": lambda: replica_diff(spark, data, copy).collect(),
        "replica_diff, other batches": lambda: replica_diff(spark, data, other).collect(),
    }
    many = tiny(MANY)
    of_many: dict[str, Callable[[], object]] = {
        "topic_profile": lambda: topic_profile(spark, many).count(),
        "compaction_savings": lambda: compaction_savings(spark, many).count(),
        "cluster_verify": lambda: verified(spark, many),
        "rescue_to_parquet": lambda: rescued(spark, many),
        "replica_diff, equal": lambda: replica_diff(spark, many, many).collect(),
    }
    jobs |= {f"{name}, {MANY:,} partitions": run for name, run in of_many.items()}
    small = generated(spark, records // 20, "none")
    topic_profile(spark, small).count()  # starts the workers, and lets Java compile
    rescued(spark, small)
    found = {}
    for name, run in jobs.items():
        start, start_cpu = time.perf_counter(), cpu()
        run()
        found[name] = time.perf_counter() - start, cpu() - start_cpu
    spark.stop()
    return found


def of_checkout(folder: str, records: int, cores: int) -> dict[str, tuple[float, float]]:
    """Return what `measured` returns, of the jobs of another checkout."""
    environment = {**os.environ, "PYTHONPATH": folder, "BENCH_PIPELINES_DATA": str(DATA)}
    command = [sys.executable, __file__, "--json", str(records), str(cores)]
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True)
    return {name: (wall, used) for name, (wall, used) in json.loads(done.stdout).items()}


def main(records: int, cores: int, old: str | None) -> None:
    """Print how long each job takes."""
    before = {} if old is None else of_checkout(old, records, cores)
    rows = []
    times = measured(records, cores)
    size = sum(log.stat().st_size for log in generated(None, records, "none").glob("*/*.log"))
    for name, (wall, used) in times.items():
        is_of_many = name.endswith("partitions")
        each = (
            f"{used / MANY * 1e3:.1f} ms a partition"
            if is_of_many
            else f"{used / size * 1e9:.1f} s a GB"
        )
        known = used > 0  # less than nothing: a process has ended
        row = [name, f"{wall:.1f} s", *([f"{used:.1f} s", each] if known else ["not known", ""])]
        if name in before:
            was, was_used = before[name]
            row += [f"{was:.1f} s", f"{was_used:.1f} s", f"{was_used / used:.1f}x"]
        rows.append(row)
    title = f"{records:,} records of 100 bytes, local[{cores}]"
    columns = [
        "job",
        "time",
        "CPU",
        "CPU of each",
        *(["time before", "CPU before", "ratio of CPU"] if old else []),
    ]
    table(title, columns, rows)


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["--json"]:
        sys.stdout.write(json.dumps(measured(int(given[1]), int(given[2]))))
    else:
        records, cores, *folder = [*given, *[str(RECORDS), "2"][len(given) :]]
        main(int(records), int(cores), folder[0] if folder else None)
