"""Let real brokers start on the damaged directories, and write down what they did.

    python -m tests.startup.make 4.2.0 [DAMAGE ...]
    python -m tests.startup.make base 3.6.2 d1 d2

Without names, the damages whose base the version can read, as far as they are not done yet. Needs
java and mvn, as `kafka_broker`. `base` makes the small sound directories of a version. The outcomes
are added to `outcomes/VERSION.json`: whether the broker started, the exception that ended it,
the folders that it left, and the log end offsets that a client was told.
"""

import json
import re
import shutil
import signal
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any, Final

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from tests.golden.archive import pack
from tests.kafka_broker import KRAFT_SINCE, Broker, parse_version
from tests.startup.damages import DAMAGES, METADATA, Damage, open_base

BASES_FOLDER: Final = Path(__file__).parent / "bases"
OUTCOMES: Final = Path(__file__).parent / "outcomes"
SECONDS: Final = 120  # by then a broker that waits for a controller has ended
WAITS_MS: Final = 20_000  # for a controller
SETTLED: Final = 2.0  # seconds in which a started broker makes the folders of its partitions
BASES: Final = {
    "4.4": ("4.4",),
    "4": ("plain", "disks", "raft", "dynamic", "zookeeper", "3.7", "3.9"),
    "3.9": ("3.9", "3.7"),
    "3.7": ("3.7",),
    "3.6": ("3.6",),
    "3.3": ("3.3",),
    "3.0": ("3.0",),
}
ASKED: Final = ("4.4", "3.6", "3.3", "3.0", "disks")
"""Bases of whose logs a client asks the ends."""
STARTED: Final = re.compile(rb"Kafka Server started|started \(kafka\.server\.Kafka")
TOLD: Final = 10.0  # seconds in which a started broker elects leaders
FATAL: Final = re.compile(
    r"(?:Exiting Kafka due to fatal exception|Fatal error during .* startup|"
    r"Encountered fatal fault: .*|Error while starting.*)"
)
THROWN: Final = re.compile(r"^(?:Caused by: )?([a-z][\w.]*\.[A-Z][\w$]*)(?:: (.*))?$", re.MULTILINE)


class Trial(Broker):
    """A broker on a directory that is as it is: nothing is formatted."""

    def try_to_start(self) -> str:
        """Return "started" or "ended".

        Raises:
            RuntimeError: neither happened; a broker that waits for a controller ends in time.
        """
        self.log.unlink(missing_ok=True)
        properties = self.folder / "server.properties"
        settings = self._default_settings() | self.settings
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        if parse_version(self.version) < KRAFT_SINCE:
            self._start_zookeeper()
        self._process = self._launch("kafka.Kafka", properties, self.heap)
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            if not self.is_running:
                return "ended"
            if STARTED.search(self.log.read_bytes()):
                time.sleep(SETTLED)
                return "started"
            time.sleep(0.2)
        raise RuntimeError("the broker neither started nor ended: the machine is too slow for it")


def outcome_of(version: str, damage: Damage, folder: Path) -> dict[str, Any]:
    """Start a broker on a damaged copy, and return what it did."""
    root = open_base(damage.base, folder / "base")
    damage.change(root)
    ports = {"node.id": str(damage.node_id)}
    directories = [root / name for name in damage.log_dirs]
    trial = Trial(version, folder / "broker", ports)
    if parse_version(version) < KRAFT_SINCE:
        (root / "zookeeper").rename(trial.folder / "zookeeper")
        ports = {"broker.id": str(damage.node_id)}
        trial.settings = ports
    controller = f"127.0.0.1:{trial._second_port}"  # noqa: SLF001
    is_dynamic = damage.base == "dynamic"
    trial.settings |= {
        "controller.quorum.voters": "" if is_dynamic else f"{damage.node_id}@{controller}",
        "log.dirs": ",".join(map(str, directories)),
        "initial.broker.registration.timeout.ms": str(WAITS_MS),
    }
    if is_dynamic:
        trial.settings["controller.quorum.bootstrap.servers"] = controller
    how = trial.try_to_start()
    ends = log_ends(trial.bootstrap) if how == "started" and damage.base in ASKED else None
    how = how if trial.is_running else "ended"  # since 3.7 it ends once it has started
    trial._end(signal.SIGKILL)  # noqa: SLF001
    text = trial.log.read_text(errors="replace").replace(str(root), "")
    found: dict[str, Any] = {"how": how}
    if how != "started":
        found["exception"], found["message"] = _thrown(text)
    found["folders"] = {
        name: sorted(
            re.sub(r"\.[0-9a-f]{32}-", ".*-", path.name)
            for path in (root / name).iterdir()
            if path.is_dir()
        )
        for name in damage.log_dirs
        if (root / name).is_dir()
    }
    if ends is not None and how == "started":
        found["ends"] = ends
    metadata = root / damage.log_dirs[0] / METADATA
    if metadata.exists():
        found["snapshots"] = sorted(path.name for path in metadata.glob("*.checkpoint*"))
    return found


def _thrown(text: str) -> tuple[str, str]:
    """Return class and message of the exception that ended the broker; else the last error."""
    halts = re.search(r".*because (?:all log dirs|the metadata log dir).*", text)
    if halts is not None:  # the process exits, whatever else is thrown meanwhile
        return "", halts[0][:300]
    at = FATAL.search(text)
    first = THROWN.search(text, at.end() if at else 0)
    if first is None:
        lines = [line for line in text.splitlines() if re.search(r"ERROR|FATAL", line)]
        return "", (lines or [""])[-1][:300]
    cause = [m for m in THROWN.finditer(text, first.end()) if m[0].startswith("Caused by")][:1]
    message = (first[2] or "")[:300]
    if cause:
        message += f" | {cause[0][1]}: {(cause[0][2] or '')[:200]}"
    return first[1], message


def log_ends(bootstrap: str) -> dict[str, int | None]:
    """Return the log end offset of each partition; None for one without a leader."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    deadline = time.monotonic() + TOLD
    while True:
        leaders = {
            TopicPartition(topic["name"], each["partition_index"]): each["leader_id"]
            for topic in admin.describe_topics()
            for each in topic["partitions"]
        }
        if all(leader >= 0 for leader in leaders.values()) or time.monotonic() > deadline:
            break
        time.sleep(0.5)
    admin.close()
    consumer = KafkaConsumer(bootstrap_servers=bootstrap)
    found: dict[str, int | None] = {}
    for partition, leader in sorted(leaders.items()):
        end = None
        if leader >= 0:
            try:
                end = consumer.end_offsets([partition], timeout_ms=5_000)[partition]
            except KafkaError:
                end = None
        found[f"{partition.topic}-{partition.partition}"] = end
    consumer.close()
    return found


def make_base(version: str, log_dirs: list[str]) -> None:
    """Write `bases/MAJOR.MINOR.tar.xz`: topics orders and stock of 2 partitions, a clean stop."""
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole"
        settings = {"log.dirs": ",".join(str(whole / name) for name in log_dirs)}
        with Broker(version, Path(folder) / "broker", settings) as broker:
            admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
            admin.create_topics(
                {
                    topic: {"num_partitions": 2, "replication_factor": 1}
                    for topic in ("orders", "stock")
                }
            )
            admin.close()
            producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
            for topic, number, count in product(("orders", "stock"), (0, 1), range(10)):
                producer.send(topic, f"{topic} {count}".encode(), partition=number).get(10)
            producer.close()
        if (broker.folder / "zookeeper").exists():
            (broker.folder / "zookeeper").rename(whole / "zookeeper")
        BASES_FOLDER.mkdir(exist_ok=True)
        pack(whole, BASES_FOLDER / f"{version[:3]}.tar.xz")


def main(version: str, names: list[str]) -> None:
    """Add outcomes to the version's file."""
    OUTCOMES.mkdir(exist_ok=True)
    file = OUTCOMES / f"{version}.json"
    outcomes = json.loads(file.read_text()) if file.exists() else {}
    bases = next(bases for prefix, bases in BASES.items() if version.startswith(prefix))
    for name, damage in DAMAGES.items():
        if name not in names if names else name in outcomes or damage.base not in bases:
            continue
        folder = Path(tempfile.mkdtemp(prefix="start-"))
        try:
            outcomes[name] = outcome_of(version, damage, folder)
        finally:
            shutil.rmtree(folder)
        print(name, json.dumps(outcomes[name])[:200], flush=True)  # noqa: T201
        known = {each: outcomes[each] for each in DAMAGES if each in outcomes}
        file.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "base":
        make_base(sys.argv[2], sys.argv[3:])
    else:
        main(sys.argv[1], sys.argv[2:])
