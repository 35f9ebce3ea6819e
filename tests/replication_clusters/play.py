"""Plays a schedule on a cluster of real brokers and writes down what it did and was told."""

import re
import shutil
import signal
import struct
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.replication_clusters.cluster import Cluster
from tests.replication_clusters.schedules import (
    FIRST_TIMESTAMP,
    PARTITION,
    REST_MS,
    TOPIC,
    Schedule,
    Step,
)
from tests.replication_clusters.wire import Sent

WAIT_SECONDS = 60
OVERHEAD = struct.Struct(">qi")  # of each batch or message: its first offset, the bytes that follow
# What of a broker's log is kept with a step, when it names the partition.
TELLING = re.compile(
    "(?i)truncat|shrinking isr|expanding isr|isr updated|leader epoch|unclean|recover|"
    "out of range|diverg|elect"
)
NOT_TELLING = re.compile("Skipped the become-|roducer s")
BROKER_FILES = re.compile(r"meta\.properties|.*-checkpoint|\.kafka_cleanshutdown")


class Player:
    """Plays schedules on a cluster that runs. Not thread-safe.

    Args:
        cluster: started.
        into: where ``keep`` copies directories to: ``LABEL/brokerN``.
        topic: of the schedule.
    """

    def __init__(self, cluster: Cluster, into: Path, topic: str = TOPIC) -> None:
        self.cluster = cluster
        self.topic = topic
        self._partition = f"{topic}-0"
        self.into = into
        self._started = time.monotonic()
        self._sent = 0
        self._waiting: dict[str, Future[Sent]] = {}
        self._pool = ThreadPoolExecutor()
        self._seen = dict.fromkeys(cluster.nodes, 0)

    def play(self, schedule: Schedule) -> list[dict[str, Any]]:
        """Make the topic and play all steps.

        Returns:
            For each step: ``step``, ``at_ms`` since the beginning, ``result`` (what the step
            returned), ``state`` (None if the next one follows at once) and ``log``: what brokers
            wrote about the partition, by broker.
        """
        self.cluster.create_topic(
            self.topic, schedule.replicas, {"retention.ms": "-1"} | schedule.topic
        )
        return [self._play(step) for step in schedule.steps]

    def _play(self, step: Step) -> dict[str, Any]:
        at_ms = round((time.monotonic() - self._started) * 1000)
        perform: Callable[[Step], Any] = getattr(self, f"_{step['do']}")
        result = perform(step)
        state = None if step.get("at_once") else self._rest()
        return {
            "step": step,
            "at_ms": at_ms,
            "result": result,
            "state": state,
            "log": self._new_lines(),
        }

    def state(self) -> dict[str, Any]:
        """Return who leads, and the offsets of each replica whose broker answers."""
        led = self.cluster.leadership(self.topic)
        offsets = {number: self._offsets(number) for number in self.cluster.nodes}
        return {
            **({} if led is None else led._asdict()),
            "alive": self.cluster.live_brokers(),
            "replicas": {
                str(number): at and at._asdict() for number, at in sorted(offsets.items())
            },
        }

    def _offsets(self, number: int) -> Any:
        try:
            return self.cluster.offsets(self.topic, number)
        except OSError:  # it is about to end
            return None

    def _rest(self) -> dict[str, Any]:
        """Wait until nothing has changed for a while; return the state."""
        deadline = time.monotonic() + WAIT_SECONDS
        seen = self.state()
        since = time.monotonic()
        while time.monotonic() - since < REST_MS / 1000:
            assert time.monotonic() < deadline, f"no rest: {seen}"
            time.sleep(0.1)
            now = self.state()
            if now != seen:
                seen, since = now, time.monotonic()
        return seen

    def _new_lines(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for number, node in self.cluster.nodes.items():
            content = node.log.read_bytes()
            whole = content[: content.rfind(b"\n") + 1]
            lines = whole[self._seen[number] :].decode(errors="replace").splitlines()
            self._seen[number] = len(whole)
            told = [
                line.replace(f"{node.folder}/", "")
                for line in lines
                if (self._partition in line or f"[{self.topic},0]" in line)
                and TELLING.search(line)
                and not NOT_TELLING.search(line)
            ]
            if told:
                found[str(number)] = told
        return found

    def _produce(self, step: Step) -> dict[str, Any] | None:
        timestamp = FIRST_TIMESTAMP + 1000 * self._sent
        self._sent += 1
        port = self.cluster.nodes[step["to"]].port
        timeout_ms = step.get("timeout_ms", 10_000)
        waiting = self._pool.submit(
            self.cluster.wire.produce,
            port,
            self.topic,
            step["value"],
            step["acks"],
            timeout_ms,
            timestamp,
        )
        if step.get("answer") == "later":
            self._waiting[step["value"]] = waiting
            return None
        return waiting.result()._asdict()

    def _answer(self, step: Step) -> dict[str, Any]:
        return self._waiting.pop(step["value"]).result()._asdict()

    def _commit(self, step: Step) -> dict[str, Any] | None:
        group, _, rest = step["value"].partition(" orders-0=")
        port = self.cluster.nodes[step["to"]].port
        waiting = self._pool.submit(self.cluster.wire.commit, port, group, int(rest))
        if step.get("answer") == "later":
            self._waiting[step["value"]] = waiting
            return None
        return waiting.result()._asdict()

    def _resumes(self, step: Step) -> int | str:
        return self.cluster.wire.committed(self.cluster.nodes[step["at"]].port, step["group"])

    def _stop(self, step: Step) -> None:
        self.cluster.nodes[step["broker"]].end(signal.SIGTERM)

    def _kill(self, step: Step) -> dict[str, Any]:
        node = self.cluster.nodes[step["broker"]]
        node.end(signal.SIGKILL)
        (node.data / ".kafka_cleanshutdown").unlink(missing_ok=True)
        *_, log = sorted((node.data / self._partition).glob("*.log"))
        return {"lost_offsets": remove_last_batches(log, step["lose"])}

    def _start(self, step: Step) -> None:
        self.cluster.start_broker(step["broker"])

    def _pause(self, step: Step) -> None:
        self.cluster.nodes[step["broker"]].pause()

    def _resume(self, step: Step) -> None:
        self.cluster.nodes[step["broker"]].resume()

    def _elect(self, step: Step) -> dict[str, str | None]:
        return {"error": self.cluster.elect(self.topic, step["how"])}

    def _delete(self, step: Step) -> dict[str, str | None]:
        port = self.cluster.nodes[step["from"]].port
        return {"error": self.cluster.wire.delete_records(port, self.topic, step["before"])}

    def _consume(self, step: Step) -> list[dict[str, Any]]:
        port = self.cluster.nodes[step["from"]].port
        return [record._asdict() for record in self.cluster.wire.consume(port, self.topic)]

    def _wait(self, step: Step) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            state = self.state()
            of = state["replicas"].get(str(step["broker"])) or {} if "broker" in step else state
            if of.get(step["for"]) == step["is"]:
                return
            assert time.monotonic() < deadline, f"{step} did not come: {state}"
            time.sleep(0.1)

    def _keep(self, step: Step) -> dict[str, str]:
        found = {}
        for number, node in self.cluster.nodes.items():
            copy_directory(node.data, self.into / step["as"] / f"broker{number}")
            is_up = "paused" if node.is_paused else "running"
            found[str(number)] = is_up if node.is_running else "down"
        return found


def copy_directory(data: Path, into: Path) -> None:
    """Copy the partition and the broker's own files of a log directory, with their times."""
    shutil.copytree(data / PARTITION, into / PARTITION)
    for file in data.iterdir():
        if BROKER_FILES.fullmatch(file.name):
            shutil.copy2(file, into / file.name)


def remove_last_batches(log: Path, count: int) -> list[int]:
    """Cut batches off the end of a log file; return the first offset of each.

    Raises:
        ValueError: the file has fewer.
    """
    content = log.read_bytes()
    batches = []
    position = 0
    while position < len(content):
        offset, size = OVERHEAD.unpack_from(content, position)
        batches.append((position, offset))
        position += OVERHEAD.size + size
    if count > len(batches):
        raise ValueError(f"{log}: {len(batches)} batches, not {count}")
    lost = batches[len(batches) - count :]
    if lost:
        with log.open("r+b") as file:
            file.truncate(lost[0][0])
    return [offset for _, offset in lost]
