"""Plays the schedules that real clusters played on a simulated cluster.

The steps are those of `tests.replication_clusters.schedules`. A real cluster works on between two
steps; here `Cluster.run` lets the same time pass.
"""

from pathlib import Path
from typing import Any

from tests.golden.replication_cases import ReplicationCase
from workbench.files.leader_epochs import EpochEntry, LeaderEpochs
from workbench.record.memory_records import MemoryRecords
from workbench.replication.rules import Rules, TruncationRule
from workbench.replication.simulation.cluster import Cluster
from workbench.replication.simulation.coordinator import Commit
from workbench.replication.simulation.storage import StoredRecord
from workbench.runtime.error_codes import ErrorCode

REST_MS = 900
LONGEST_MS = 120_000
STEP_MS = 100

State = dict[str, Any]


def rules_of(case: ReplicationCase) -> Rules:
    """Return the rules of the brokers of a case, with the protocol that they were told to use."""
    rules = Rules.of(case.truth["versions"]["broker"])
    protocol = case.truth["settings"].get("inter.broker.protocol.version")
    if protocol is not None and Rules.of(protocol).truncation is not TruncationRule.ON_FETCH:
        rules = rules._replace(truncation=Rules.of(protocol).truncation)
    if case.truth["features"].get("eligible.leader.replicas.version") == 0:
        rules = rules._replace(has_elr=False)
    return rules


def cluster_of(case: ReplicationCase, **options: Any) -> Cluster:
    """Return a cluster with the brokers, topic and settings of a case."""
    topic, settings = case.truth["topic"], case.truth["settings"]
    unclean = topic["configs"].get("unclean.leader.election.enable")
    return Cluster(
        max(topic["replicas"]) + 1,
        rules=rules_of(case),
        partition=f"{topic['name']}-0",
        replicas=topic["replicas"],
        min_insync_replicas=int(topic["configs"]["min.insync.replicas"]),
        unclean_leader_election=None if unclean is None else unclean == "true",
        lag_time_max_ms=int(settings["replica.lag.time.max.ms"]),
        fetch_max_wait_ms=int(settings.get("replica.fetch.wait.max.ms", 500)),
        fetch_max_bytes=1,
        session_timeout_ms=_sessions(case),
        **options,
    )


def _sessions(case: ReplicationCase) -> dict[int, int]:
    def told(settings: dict[str, str], usual: int) -> int:
        name = "broker" if case.truth["metadata"] == "KRaft" else "zookeeper"
        return int(settings.get(f"{name}.session.timeout.ms", usual))

    every = told(case.truth["settings"], 9_000)
    own = case.truth["settings_of"]
    return {b: told(own.get(str(b), {}), every) for b in range(max(case.brokers) + 1)}


class Player:
    """Plays a case step by step.

    Attributes:
        cluster: the cluster.
        numbers: value → number of the record in `Cluster.produced`.
    """

    def __init__(self, case: ReplicationCase, **options: Any) -> None:
        self.case = case
        self.cluster = cluster_of(case, **options)
        self.numbers: dict[str, int] = {}
        self.cluster.run(REST_MS, every_ms=STEP_MS)

    def play(self, step: dict[str, Any]) -> Any:
        """Do one step and return its result: what a client was told, or what was consumed."""
        result = getattr(self, "_" + step["do"])(step)
        if not step.get("at_once"):
            self._rest()
        return result

    def _rest(self) -> None:
        """Let time pass until nothing has changed for `REST_MS`."""
        state, since = self.state(), 0
        while since < REST_MS:
            self.cluster.run(STEP_MS, every_ms=STEP_MS)
            since += STEP_MS
            if self.state() != state:
                state, since = self.state(), 0

    def state(self) -> State:
        """Return what the recorded state of a step says."""
        cluster = self.cluster
        known, fenced = cluster.state, cluster.controller.brokers
        tells_elr = self.case.tells_elr
        replicas: dict[str, Any] = {}
        for broker in known.replicas:
            one = cluster.brokers[broker]
            log = None if one.is_paused else one.log
            replicas[str(broker)] = log and {
                "log_start_offset": log.log_start_offset,
                "log_end_offset": log.log_end_offset,
                "high_watermark": log.high_watermark,
            }
        return {
            "leader": known.leader,
            "leader_epoch": known.leader_epoch,
            "isr": sorted(known.isr),
            "elr": sorted(known.elr) if tells_elr else None,
            "last_known_elr": sorted(known.last_known_elr) if tells_elr else None,
            "alive": [b for b in sorted(known.replicas) if not fenced[b].is_fenced],
            "replicas": replicas,
        }

    def _produce(self, step: dict[str, Any]) -> Any:
        number = self.cluster.produce(
            step["value"], acks=step["acks"], to=step["to"],
            timeout_ms=step.get("timeout_ms", 10_000),
        )  # fmt: skip
        self.numbers[step["value"]] = number
        return None if step.get("answer") == "later" else self._answer(step)

    def _commit(self, step: dict[str, Any]) -> Any:
        commit = Commit.of(step["value"])
        self.numbers[step["value"]] = self.cluster.commit(
            commit.group, str(commit.partition), commit.offset, to=step["to"]
        )
        return None if step.get("answer") == "later" else self._answer(step)

    def _resumes(self, step: dict[str, Any]) -> Any:
        found = self.cluster.committed_offset(step["group"], "orders-0", of=step["at"])
        return found.name if isinstance(found, ErrorCode) else found

    def _answer(self, step: dict[str, Any]) -> Any:
        number = self.numbers[step["value"]]
        self._until(lambda: self.cluster.produced[number].answer is not None)
        sent = self.cluster.produced[number]
        assert sent.answer is not None
        return {
            "error": None if sent.is_acked else sent.answer.name,
            "offset": sent.offset if sent.is_acked and sent.acks and not sent.is_commit else None,
        }

    def _stop(self, step: dict[str, Any]) -> None:
        self.cluster.stop(step["broker"])

    def _kill(self, step: dict[str, Any]) -> None:
        self.cluster.kill(step["broker"], lose=step["lose"])

    def _start(self, step: dict[str, Any]) -> None:
        if self.case.truth["metadata"] == "KRaft":  # it fetches before its heartbeat unfences it
            self.cluster.start(step["broker"], stays_fenced=True)
            self.cluster.run(STEP_MS)
            self.cluster.unfence(step["broker"])
        else:
            self.cluster.start(step["broker"])

    def _pause(self, step: dict[str, Any]) -> None:
        self.cluster.pause(step["broker"])

    def _resume(self, step: dict[str, Any]) -> None:
        self.cluster.resume(step["broker"])

    def _wait(self, step: dict[str, Any]) -> None:
        wanted = step["is"]

        def is_so() -> bool:
            state = self.cluster.state
            if step["for"] == "isr":
                return bool(sorted(state.isr) == sorted(wanted))
            if step["for"] == "leader":
                return bool(state.leader == wanted)
            if step["for"] == "alive":
                return bool(self.state()["alive"] == wanted)
            log = self.cluster.log(step["broker"])
            return bool(getattr(log, step["for"]) == wanted)

        self._until(is_so)

    def _elect(self, step: dict[str, Any]) -> None:
        if step["how"] == "unclean":
            self.cluster.elect_unclean()
        else:
            self.cluster.elect(self.cluster.state.replicas[0])

    def _configure(self, step: dict[str, Any]) -> None:
        self.cluster.configure(step["name"], step["value"] == "true")

    def _delete(self, step: dict[str, Any]) -> None:
        self.cluster.delete_records(step["before"])

    def _consume(self, step: dict[str, Any]) -> Any:
        chosen = step["from"]
        high = self.cluster.log(chosen).high_watermark
        return [
            {"offset": record.offset, "value": record.value}
            for record in self.cluster.records(chosen)
            if record.offset < high
        ]

    def _keep(self, step: dict[str, Any]) -> None:
        """The test compares what is kept."""

    def _until(self, is_so: Any) -> None:
        passed = 0
        while not is_so():
            assert passed < LONGEST_MS, f"{self.case}: not so after {passed} ms"
            self.cluster.run(STEP_MS, every_ms=STEP_MS)
            passed += STEP_MS


def records_on_disk(directory: Path) -> list[StoredRecord]:
    """Return the records of the topic's log in a broker's log directory."""
    found = []
    for path in sorted(directory.glob("ledger-0/*.log")):
        batches = MemoryRecords.copy_of(path.read_bytes())
        rows = batches.batches().rows
        epochs = {int(row["base_offset"]): int(row["partition_leader_epoch"]) for row in rows}
        found += [
            StoredRecord(record.offset, epochs[record.offset], (record.value or b"").decode())
            for record in batches.records()
        ]
    return found


def epochs_on_disk(directory: Path) -> list[EpochEntry]:
    """Return the leader epochs of the topic's log; none if there is no file, as before 0.11."""
    path = directory / "ledger-0" / "leader-epoch-checkpoint"
    return list(LeaderEpochs.decode(path.read_bytes()).entries) if path.exists() else []
