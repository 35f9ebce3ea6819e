"""Record a broker that was down while its topics were deleted, made again and reassigned.

    python -m tests.startup.behind 4.3.1

A cluster of a controller, node 100, and brokers 1 and 2. Broker 1 is shut down cleanly; then topic
"gone" is deleted, "again" deleted and made again on broker 2, and "away" reassigned to broker 2;
"stays" stays. `behind/VERSION.tar.xz` has the log directory of broker 1 from before its next start,
as ``data``, and `truth.json`: what DumpLogSegments says of its copy of the metadata log, the
folders that the next start left, and the log end offsets that a client was told. Needs java and
mvn.
"""

import json
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kafka import KafkaAdminClient, KafkaProducer, TopicPartition

from tests.golden.archive import extract, pack
from tests.kafka_broker import dump_log_segments
from tests.replication_clusters.cluster import Cluster
from tests.startup.damages import METADATA
from tests.startup.make import log_ends

BEHIND: Final = Path(__file__).parent / "behind"
PLACES: Final = {"stays": [1], "gone": [1], "again": [1], "away": [2, 1]}
RECORDS: Final = 10  # of each topic
SETTLED: Final = 8.0  # seconds in which broker 1 fetches the metadata, and renames logs


def open_behind(version: str, into: Path) -> tuple[Path, dict[str, Any]]:
    """Write the log directory of broker 1 below ``into``; return it, and the truth."""
    extract(BEHIND / f"{version}.tar.xz", into)
    return into / "data", json.loads((into / "truth.json").read_text())


def record(version: str) -> None:
    """Play the cluster, and write the archive."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        case = folder / "case"
        with Cluster(version, folder / "cluster", [1, 2]) as cluster:
            for topic, replicas in PLACES.items():
                cluster.create_topic(topic, replicas, {})
            bootstrap = f"127.0.0.1:{cluster.controller.port}"
            producer = KafkaProducer(bootstrap_servers=bootstrap)
            for topic in PLACES:
                for count in range(RECORDS):
                    producer.send(topic, f"{topic} {count}".encode()).get(30)
            producer.close()
            node = cluster.nodes[1]
            node.end(signal.SIGTERM)
            shutil.copytree(node.data, case / "data", copy_function=shutil.copy2)
            admin = KafkaAdminClient(bootstrap_servers=bootstrap)
            admin.delete_topics(["gone", "again"])
            time.sleep(2)
            cluster.create_topic("again", [2], {})
            admin.alter_partition_reassignments({TopicPartition("away", 0): [2]})
            admin.close()
            time.sleep(2)
            cluster.start_broker(1)
            time.sleep(SETTLED)
            truth = {
                "version": version,
                "metadata": _metadata(version, case / "data"),
                "folders": sorted(_folders(node.data)),
                "ends": log_ends(bootstrap),
            }
        (case / "data" / ".lock").unlink(missing_ok=True)
        (case / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
        BEHIND.mkdir(exist_ok=True)
        pack(case, BEHIND / f"{version}.tar.xz")
        print(json.dumps(truth, indent=1))  # noqa: T201


def _metadata(version: str, data: Path) -> dict[str, int]:
    """Return the end of the metadata log and the time of its last batch, as Kafka's tool says."""
    files = sorted((data / METADATA).glob("*.log"))
    text = dump_log_segments(version, files)
    *_, last = re.finditer(r"lastOffset: (\d+) .*?CreateTime: (\d+)", text)
    return {"end": int(last[1]) + 1, "time": int(last[2])}


def _folders(data: Path) -> Iterator[str]:
    for path in data.iterdir():
        if path.is_dir() and path.name != METADATA:
            yield re.sub(r"\.[0-9a-f]{32}-", ".*-", path.name)


if __name__ == "__main__":
    record(sys.argv[1])
