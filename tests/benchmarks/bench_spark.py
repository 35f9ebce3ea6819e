"""Spark on segments: our source in Python, Parquet, and Spark's own Kafka source.

Wall time, and CPU time of all processes that take part: the JVM, its Python workers, the broker.
Best of some rounds taken in turn. Where other work runs only the CPU time says something.
"""

import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

import workbench as wb
from tests.benchmarks.measure import FOLDER, KAFKA, generated, table
from tests.kafka_broker import Broker
from tests.spark import connector

TOPIC = "bench"
PARTITIONS = 4
ROUNDS = 4  # the first are slow: the JVM compiles as it goes
DATA = (
    ("none", 100, 296 << 20),  # 10 million records
    ("lz4", 100, 24 << 20),
    ("zstd", 100, 24 << 20),
    ("none", 1000, 96 << 20),
)
"""Codec, bytes of a value, and bytes of each partition's segment."""

KAFKA_COLUMNS = (
    "key", "value", "topic", "partition", "offset", "timestamp", "timestamp_type",
)  # fmt: skip

FASTEST = {
    "kafka.max.poll.records": "10000",
    "kafka.max.partition.fetch.bytes": str(8 << 20),
    "kafka.fetch.max.bytes": str(64 << 20),
}
"""The settings of a consumer with which Spark's own source was seen to be fastest."""


class Query(NamedTuple):
    """What is asked: its name, the columns it wants (None: all), how it is made of a frame."""

    name: str
    columns: str | None
    of: Callable[[Any], Any]


QUERIES = (
    Query("all columns", None, lambda frame: frame),
    Query("group by key", "key", lambda frame: frame.groupBy("key").count()),
    Query("one column", "value", lambda frame: frame.selectExpr("sum(length(value))")),
)


class Seconds(NamedTuple):
    """How long something took."""

    wall: float
    cpu: float


def cpu() -> float:
    """Return the CPU seconds of all processes that this one started, and of those they did."""
    return sum(
        sum(process.cpu_times()[:4]) for process in psutil.Process().children(recursive=True)
    )


def run(frame: Any) -> Seconds:
    """Return the seconds that it takes to compute every row of a frame."""
    start, start_cpu = time.perf_counter(), cpu()
    frame.write.format("noop").mode("overwrite").save()
    return Seconds(time.perf_counter() - start, cpu() - start_cpu)


def best_of(times: list[Seconds]) -> Seconds:
    """Return the best of each."""
    known = [each.cpu for each in times if each.cpu > 0]  # less than nothing: a process has ended
    return Seconds(min(each.wall for each in times), min(known))


def session(cores: int) -> Any:
    """Return a session on this machine."""
    spark = wb.spark.session(
        cores,
        reader_in_java=True,
        spark__jars=",".join(connector.jars()),
        spark__sql__shuffle__partitions=str(cores),
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


async def make_topic(bootstrap: str) -> None:
    """Make the topic."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
    await admin.close()


def broker_with(segment: Path) -> Broker:
    """Return a broker, not started, whose partitions hold a segment each; it makes the indexes."""
    folder = FOLDER / f"spark-{segment.parent.name}"
    broker = Broker(
        KAFKA, folder, {"log.retention.ms": "-1", "log.cleaner.enable": "false"}, heap="1g"
    )
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with broker:
            asyncio.run(make_topic(broker.bootstrap))
        for number in range(PARTITIONS):
            partition = broker.data / f"{TOPIC}-{number}"
            for index in partition.glob("*index"):
                index.unlink()
            shutil.copy(segment, partition / segment.name)
        (folder / "ready").touch()
    return broker


def ours(spark: Any, data: Path, columns: str | None) -> Any:
    """Return the frame of our source in Python."""
    reader = spark.read.format("kafka-log").option("subscribe", TOPIC).option("reader", "python")
    return (reader.option("columns", columns) if columns else reader).load(str(data))


def compare(spark: Any, codec: str, size: int, total: int) -> None:
    """Print how fast each source answers each query."""
    broker = broker_with(generated(codec, size, total))
    parquet = str(broker.folder / "parquet")
    with broker:
        if not Path(parquet).exists():
            ours(spark, broker.data, None).write.parquet(parquet)
        theirs = spark.read.format("kafka").option("subscribe", TOPIC)
        theirs = theirs.option("kafka.bootstrap.servers", broker.bootstrap)
        fastest = theirs.options(**FASTEST)
        count = spark.read.parquet(parquet).count()
        rows = []
        for query in QUERIES:
            sources = {
                "ours": lambda: ours(spark, broker.data, query.columns),  # noqa: B023 - used at once
                "kafka": theirs.load,
                "kafka at its fastest": fastest.load,
                "parquet": lambda: spark.read.parquet(parquet),
            }
            times: dict[str, list[Seconds]] = {name: [] for name in sources}
            for _ in range(ROUNDS):
                for name, load in sources.items():
                    times[name].append(run(query.of(load())))
            own = best_of(times.pop("ours"))
            rows.append([query.name, f"{count / own.wall / 1e6:.2f} M/s", f"{own.cpu:.1f} s"])
            for found in map(best_of, times.values()):
                rows[-1].append(f"{found.wall / own.wall:.2f}x, {found.cpu / own.cpu:.2f}x")
    title = f"{count / 1e6:.1f} million records, {codec}, {size} bytes, local[2]"
    others = ("Spark's Kafka source", "… at its fastest", "Parquet")
    columns = ["query", "ours", "CPU", *(f"{name}: time, CPU over ours" for name in others)]
    table(title, columns, rows)


def measure_cores(cores: int, data: str) -> None:
    """Print, as JSON, the seconds of a scan and of a group by key on that many cores."""
    spark = session(cores)
    found = {}
    for query in QUERIES[:2]:
        times = [run(query.of(ours(spark, Path(data), query.columns))) for _ in range(ROUNDS + 1)]
        found[query.name] = best_of(times).wall
    print(json.dumps(found))
    spark.stop()


def compare_cores() -> None:
    """Print how much faster two cores are than one."""
    broker = broker_with(generated(*DATA[0]))
    found = []
    for cores in (1, 2):
        words = [sys.executable, "-m", __spec__.name, "cores", str(cores), str(broker.data)]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    rows = [[name, f"{one:.2f} s", f"{found[1][name]:.2f} s", f"{found[1][name] / one:.2f}"]
            for name, one in found[0].items()]  # fmt: skip
    table("more cores", ["query", "local[1]", "local[2]", "ratio"], rows)


MEMORY = """
import resource, sys
from workbench.spark_source.source import KafkaLogSource
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
source = KafkaLogSource({{"path": {data!r}, "subscribe": {topic!r}}})
reader = source.reader(source.schema())
tasks = reader.partitions()
before = peak()
for task in tasks:
    for batch in reader.read(task):
        del batch
print(before, peak(), len(tasks))
"""


def memory() -> None:
    """Print how much more memory a worker needs for reading its tasks."""
    broker = broker_with(generated(*DATA[0]))
    program = MEMORY.format(data=str(broker.data), topic=TOPIC)
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    before, after, tasks = map(int, done.stdout.split())
    table(
        "memory of a worker",
        ["before", "at its peak", "tasks"],
        [[f"{before} MB", f"{after} MB", tasks]],
    )


def main() -> None:
    """Print the tables."""
    spark = session(2)
    for codec, size, total in DATA:
        compare(spark, codec, size, total)
    spark.stop()
    compare_cores()
    memory()


if __name__ == "__main__":
    if sys.argv[1:2] == ["cores"]:
        measure_cores(int(sys.argv[2]), sys.argv[3])
    else:
        main()
