"""A cluster of real brokers on loopback: each can be stopped, killed, paused, started again.

Node 100 is a broker without replicas that is the controller: from 3.3 on by its role; before,
because it is started first, and a ZooKeeper is beside it. So whatever happens to the brokers that
hold replicas, the controller stays, and somebody can be asked who leads.

    with Cluster("4.2.0", folder, [1, 2, 3]) as cluster:
        cluster.create_topic("t", [1, 2, 3], {})
        cluster.leadership("t"), cluster.offsets("t", 2)

Settings are those of a recording: short times, a high watermark that is checkpointed at once, one
batch per fetch, so that each round of a follower is one step. Three brokers with their controller
take about 1.5 GB.
"""

import base64
import json
import re
import signal
import subprocess
import time
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.kafka_broker import (
    KRAFT_SINCE,
    SHORT_LIVED,
    START_SECONDS,
    STOP_SECONDS,
    class_archive,
    java_command,
    parse_version,
)
from tests.ports import free_ports
from tests.replication_clusters.wire import Leadership, Offsets, Wire
from tests.replication_clusters.zookeeper import get_data

CONTROLLER = 100
HEAP = "256m"
STARTED = re.compile(rb"Kafka Server started|started \(kafka\.server\.Kafka")
SETTINGS = {
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.retry.backoff.ms": "200",
    "log.cleaner.enable": "false",
    "log.index.size.max.bytes": "4096",
    "num.network.threads": "2",
    "num.replica.fetchers": "1",
    "replica.fetch.backoff.ms": "200",
    "replica.fetch.max.bytes": "1",
    "replica.high.watermark.checkpoint.interval.ms": "200",
    "replica.lag.time.max.ms": "4000",
}
KRAFT_SETTINGS = {"broker.heartbeat.interval.ms": "500", "broker.session.timeout.ms": "3000"}
ZOOKEEPER_SETTINGS = {"zookeeper.session.timeout.ms": "3000"}


class Node:
    """One process of the cluster, with its files below ``folder``.

    Args:
        version: Kafka's.
        folder: made; holds ``data``, ``server.log`` and ``server.properties``.
        port: on which it listens.
        main_class: what is run.
    """

    def __init__(
        self, version: str, folder: Path, port: int, main_class: str = "kafka.Kafka"
    ) -> None:
        self.version = version
        self.folder = folder
        self.main_class = main_class
        self.data = folder / "data"
        self.log = folder / "server.log"
        self.properties = folder / "server.properties"
        self.is_paused = False
        self.port = port
        self._process: subprocess.Popen[bytes] | None = None
        self._seen = 0
        folder.mkdir(parents=True)

    @property
    def is_running(self) -> bool:
        """Whether the process lives, paused or not."""
        return self._process is not None and self._process.poll() is None

    def configure(self, settings: dict[str, str]) -> None:
        """Write server.properties."""
        lines = (f"{name}={value}\n" for name, value in settings.items())
        self.properties.write_text("".join(lines))

    def launch(self) -> None:
        """Start the process; `wait_until_started` waits for it."""
        self._seen = self.log.stat().st_size if self.log.exists() else 0
        archive = class_archive(self.version, self.main_class)
        shared = [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []
        command = java_command(
            self.version, self.main_class, str(self.properties), heap=HEAP,
            flags=(*shared, *SHORT_LIVED),
        )  # fmt: skip
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                ["nice", "-n", "5", *command],  # noqa: S607 - of the system
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )

    def wait_until_started(self, words: re.Pattern[bytes] = STARTED) -> None:
        """Wait until the log since `launch` says that it is up.

        Raises:
            RuntimeError: it ended, or was not up in time; the end of its log is in the error.
        """
        deadline = time.monotonic() + START_SECONDS
        while not words.search(self.log.read_bytes()[self._seen :]):
            if not self.is_running or time.monotonic() > deadline:
                self.end(signal.SIGKILL)
                lines = self.log.read_bytes()[self._seen :].decode(errors="replace").splitlines()
                raise RuntimeError("\n".join([f"{self.folder.name} did not start:", *lines[-20:]]))
            time.sleep(0.1)

    def end(self, how: signal.Signals) -> None:
        """Send a signal and wait for the end."""
        process = self._process
        if process is not None and process.poll() is None:
            if self.is_paused and how != signal.SIGKILL:
                self.resume()
            process.send_signal(how)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.is_paused = False
        self._process = None

    def pause(self) -> None:
        """Stop the process where it is (SIGSTOP): a pause as of a garbage collector."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        self.is_paused = True

    def resume(self) -> None:
        """Let a paused process go on (SIGCONT)."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)
        self.is_paused = False


class Cluster:
    """Brokers of one version with a controller of their own. Not thread-safe.

    Args:
        version: Kafka's, any that `tests.kafka_broker` can start.
        folder: made; ``brokerN`` and ``controller`` below it hold the files of the nodes.
        brokers: ids of the brokers that hold replicas, below 100.
        settings: server.properties of all brokers by their dotted names, over the defaults here.
        settings_of: more of them for one broker.
        features: of a KRaft cluster when it is formatted, ``{"eligible.leader.replicas.version":
            0}``; what is not named has the version's default.
    """

    def __init__(
        self,
        version: str,
        folder: Path,
        brokers: Sequence[int],
        settings: dict[str, str] | None = None,
        *,
        settings_of: dict[int, dict[str, str]] | None = None,
        features: dict[str, int] | None = None,
    ) -> None:
        self.version = version
        self.wire = Wire(version)
        self.is_kraft = parse_version(version) >= KRAFT_SINCE
        self.settings = SETTINGS | (KRAFT_SETTINGS if self.is_kraft else ZOOKEEPER_SETTINGS)
        self.settings |= settings or {}
        self._settings_of = settings_of or {}
        self._features = features or {}
        folder.mkdir(parents=True, exist_ok=True)
        ports = free_ports(len(brokers) + 2)
        self._second_port = ports.pop()  # the controller's other one, or ZooKeeper's
        self.controller = Node(version, folder / "controller", ports.pop())
        self.nodes = {
            number: Node(version, folder / f"broker{number}", port)
            for number, port in zip(brokers, ports, strict=True)
        }
        self._zookeeper: Node | None = None
        if not self.is_kraft:
            main_class = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
            self._zookeeper = Node(version, folder / "zookeeper", self._second_port, main_class)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def start(self) -> None:
        """Start everything for the first time."""
        nodes = {CONTROLLER: self.controller, **self.nodes}
        for number, node in nodes.items():
            node.configure(self._properties(number, node))
        if self._zookeeper is None:
            self._format(nodes.values())
        else:
            self._start_zookeeper(self._zookeeper)
        self.controller.launch()
        if not self.is_kraft:  # the first broker is the controller
            self.controller.wait_until_started()
        for node in self.nodes.values():
            node.launch()
        for node in (self.controller, *self.nodes.values()):
            node.wait_until_started()

    def end(self) -> None:
        """End what still runs: brokers cleanly if they are not paused, then the rest."""
        for node in self.nodes.values():
            node.end(signal.SIGKILL if node.is_paused else signal.SIGTERM)
        self.controller.end(signal.SIGTERM)
        if self._zookeeper is not None:
            self._zookeeper.end(signal.SIGTERM)

    def start_broker(self, number: int) -> None:
        """Start a broker again, after the controller has seen that it was gone."""
        if not self.is_kraft:  # a broker is refused while the session of its last life goes on
            deadline = time.monotonic() + 60
            while number in self.live_brokers():
                assert time.monotonic() < deadline, f"broker {number} is still registered"
                time.sleep(0.2)
        self.nodes[number].launch()
        self.nodes[number].wait_until_started()

    def create_topic(self, topic: str, replicas: Sequence[int], configs: dict[str, str]) -> None:
        """Make a topic of one partition with its replicas on these brokers; the first leads."""
        self.wire.create_topic(self.controller.port, topic, replicas, configs)

    def live_brokers(self) -> list[int]:
        """Return the brokers with replicas that the controller holds for alive."""
        if self._zookeeper is None:
            known = self.wire.live_brokers(self.controller.port)
            return [number for number in known if number in self.nodes]
        port = self._zookeeper.port
        return [n for n in self.nodes if get_data(port, f"/brokers/ids/{n}") is not None]

    def leadership(self, topic: str) -> Leadership | None:
        """Return who leads, as the controller or ZooKeeper says; None while there is no topic."""
        if self._zookeeper is None:
            return self.wire.leadership(self.controller.port, topic)
        data = get_data(self._zookeeper.port, f"/brokers/topics/{topic}/partitions/0/state")
        if data is None:
            return None
        state = json.loads(data)
        return Leadership(state["leader"], state["leader_epoch"], sorted(state["isr"]), None, None)

    def offsets(self, topic: str, number: int) -> Offsets | None:
        """Return where a broker's replica is; None if the broker does not answer for it."""
        node = self.nodes[number]
        if not node.is_running or node.is_paused:
            return None
        return self.wire.offsets(node.port, topic)

    def elect(self, topic: str, how: str) -> str | None:
        """Ask for an election, "preferred" or "unclean"; return the name of an error."""
        return self.wire.elect(self.controller.port, topic, how)

    def _properties(self, number: int, node: Node) -> dict[str, str]:
        listener = f"PLAINTEXT://127.0.0.1:{node.port}"
        settings = {"log.dirs": str(node.data), "num.partitions": "1"} | self.settings
        if self._zookeeper is not None:
            settings |= {
                "broker.id": str(number),
                "zookeeper.connect": f"127.0.0.1:{self._zookeeper.port}",
                "listeners": listener,
            }
        else:
            controller = f"127.0.0.1:{self._second_port}"
            is_controller = node is self.controller
            settings |= {
                "node.id": str(number),
                "process.roles": "broker,controller" if is_controller else "broker",
                "controller.quorum.voters": f"{CONTROLLER}@{controller}",
                "controller.listener.names": "CONTROLLER",
                "listeners": f"{listener},CONTROLLER://{controller}" if is_controller else listener,
                "advertised.listeners": listener,
            }
        return settings | self._settings_of.get(number, {})

    def _format(self, nodes: Iterable[Node]) -> None:
        """Give all KRaft nodes the same cluster id, at the same time."""
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        features = [f"--feature={name}={level}" for name, level in self._features.items()]
        arguments = ("format", f"--cluster-id={cluster_id}", *features, "-c")
        running = [
            subprocess.Popen(
                java_command(
                    self.version, "kafka.tools.StorageTool", *arguments, str(node.properties)
                ),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            for node in nodes
        ]
        for process in running:
            said, _ = process.communicate()
            if process.returncode:
                raise RuntimeError(f"a directory was not formatted:\n{said.decode()}")

    def _start_zookeeper(self, node: Node) -> None:
        node.configure(
            {
                "dataDir": str(node.data),
                "clientPort": str(node.port),
                "clientPortAddress": "127.0.0.1",
                "maxClientCnxns": "0",
                "maxSessionTimeout": "60000",
                "admin.enableServer": "false",
                "tickTime": "500",  # a session lives for two ticks at least
            }
        )
        node.launch()
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                get_data(node.port, "/")
            except OSError as error:
                if not node.is_running or time.monotonic() > deadline:
                    raise RuntimeError(f"ZooKeeper did not start: see {node.log}") from error
                time.sleep(0.2)
            else:
                return
