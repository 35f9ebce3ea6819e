"""Schedules that real clusters played, played by simulated brokers: the same after every step.

Time, sessions and the order of rounds are those of the recorded clusters only where it matters: a
broker that died is noticed when a step waits for that, and followers fetch until nothing changes.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.golden.replication_cases import NAMES, ReplicationCase, open_replication_case
from tests.replication_clusters.schedules import PARTITION
from workbench.replication.rules import Rules
from workbench.replication.simulation.cluster import Cluster
from workbench.runtime.error_codes import ErrorCode

PATIENCE = 90  # seconds of the cluster's time that a step may wait

STEPS = {"4.2.0-late-high-watermark": 10}
"""Fewer steps than were recorded: later ones wait for fetches that end after 15 s of real time."""


def rules_of(case: ReplicationCase) -> Rules:
    """Return the rules of the brokers: those of the protocol that they speak to each other."""
    version = case.truth["versions"]["broker"]
    rules = Rules.of(case.truth["settings"].get("inter.broker.protocol.version", version))
    return rules._replace(has_elr=False) if case.name.endswith("no-elr") else rules


class Replay:
    """A simulated cluster that plays a recorded case.

    Attributes:
        paused: brokers whose process is stopped where it is.
        numbers: value → number of the record that a client sent.
    """

    def __init__(self, case: ReplicationCase) -> None:
        topic, settings = case.truth["topic"], case.truth["settings"]
        unclean = topic["configs"].get("unclean.leader.election.enable")
        self.cluster = Cluster(
            4,
            rules=rules_of(case),
            partition=PARTITION,
            replicas=topic["replicas"],
            min_insync_replicas=int(topic["configs"].get("min.insync.replicas", 1)),
            unclean_leader_election=None if unclean is None else unclean == "true",
            lag_time_max_ms=int(settings["replica.lag.time.max.ms"]),
            fetch_max_bytes=1,
        )
        session = settings.get("broker.session.timeout.ms") or settings.get(
            "zookeeper.session.timeout.ms", "3000"
        )
        self.notices_pauses = int(session) < int(settings["replica.lag.time.max.ms"])
        self.waits_are_short = int(settings.get("replica.fetch.wait.max.ms", 500)) < 900
        self.paused: set[int] = set()
        self.numbers: dict[str, int] = {}
        self.settle()

    def settle(self) -> None:
        """Let followers fetch until nothing changes; their last fetches wait at the leader."""
        cluster, before = self.cluster, None
        for _ in range(50):
            for broker in cluster.brokers:
                self._round(broker)
            if self.waits_are_short:
                for broker in cluster.brokers:
                    if broker not in self.paused and cluster.expire(broker):
                        self._round(broker)
            state = cluster.fingerprint()
            if state == before:
                break
            before = state
        for broker in cluster.brokers:
            self._round(broker)
            if broker not in self.paused:
                cluster.checkpoint(broker)

    def _round(self, broker: int) -> None:
        if broker in self.paused:
            return
        self.cluster.answer(broker)
        states = self.cluster.brokers[broker].manager
        if states is not None and not self.paused & states.fetchers.keys():
            self.cluster.fetch(broker)

    def do(self, step: dict[str, Any], result: Any) -> None:
        """Do a step; hold its result against what was recorded."""
        getattr(self, "do_" + step["do"])(step, result)
        if not step.get("at_once"):
            self.settle()
        if step["do"] == "produce" and step.get("answer") != "later" and result is not None:
            self.do_answer(step, result)

    def do_produce(self, step: dict[str, Any], _: Any) -> None:
        """Send a record."""
        number = self.cluster.produce(step["value"], acks=step["acks"], to=step["to"])
        self.numbers[step["value"]] = number

    def do_answer(self, step: dict[str, Any], result: Any) -> None:
        """Hold an answer against the recorded one."""
        sent = self.cluster.produced[self.numbers[step["value"]]]
        if sent.acks == 0:
            return
        for _ in range(PATIENCE):
            if sent.answer is not None:
                break
            self.cluster.advance(1000)
            self.settle()
            sent = self.cluster.produced[self.numbers[step["value"]]]
        if result["error"] is None:
            assert (sent.answer, sent.offset) == (ErrorCode.NONE, result["offset"])
        else:
            assert sent.answer is not None
            assert sent.answer.name == result["error"]

    def do_kill(self, step: dict[str, Any], _: Any) -> None:
        """Kill."""
        self.paused.discard(step["broker"])
        self.cluster.kill(step["broker"], lose=step["lose"])

    def do_stop(self, step: dict[str, Any], _: Any) -> None:
        """Stop."""
        self.cluster.stop(step["broker"])

    def do_start(self, step: dict[str, Any], _: Any) -> None:
        """Start."""
        self.cluster.start(step["broker"])

    def do_pause(self, step: dict[str, Any], _: Any) -> None:
        """Stop a process where it is."""
        self.paused.add(step["broker"])

    def do_resume(self, step: dict[str, Any], _: Any) -> None:
        """Let it go on."""
        self.paused.discard(step["broker"])
        self.cluster.heal(step["broker"])

    def do_keep(self, step: dict[str, Any], _: Any) -> None:
        """Do nothing."""

    def do_elect(self, step: dict[str, Any], _: Any) -> None:
        """Ask for an election."""
        if step["how"] == "unclean":
            self.cluster.elect_unclean()
        else:
            self.cluster.elect(self.cluster.state.replicas[0])

    def do_delete(self, step: dict[str, Any], _: Any) -> None:
        """Raise the log start offset."""
        self.cluster.log(step["from"]).maybe_increment_log_start_offset(step["before"], "asked")

    def do_consume(self, step: dict[str, Any], result: Any) -> None:
        """Hold what a consumer gets against what was recorded."""
        high = self.cluster.log(step["from"]).high_watermark
        found = [
            {"offset": record.offset, "value": record.value}
            for record in self.cluster.records(step["from"])
            if record.offset < high
        ]
        assert found == result

    def do_wait(self, step: dict[str, Any], _: Any) -> None:
        """Let the controller notice who died, then time pass, until it is so."""
        is_so = self.condition(step)
        if not is_so():
            for broker in self.cluster.brokers.values():
                if not broker.is_alive:
                    self.cluster.notice(broker.id)
            self.settle()
        if not is_so() and self.notices_pauses:
            for paused in self.paused:
                self.cluster.brokers[paused].is_isolated = True
                self.cluster.notice(paused)
            self.settle()
        for _ in range(PATIENCE):
            if is_so():
                return
            self.cluster.advance(1000)
            self.settle()
        assert is_so(), f"{step}\n{self.cluster.table()}"

    def condition(self, step: dict[str, Any]) -> Callable[[], bool]:
        """Return what a step waits for."""
        cluster, wanted = self.cluster, step["is"]
        if step["for"] == "isr":
            return lambda: sorted(cluster.state.isr) == wanted
        if step["for"] == "leader":
            return lambda: cluster.leader == wanted
        if step["for"] == "alive":
            known = cluster.controller.brokers
            return lambda: [b for b in known if b > 0 and not known[b].is_fenced] == wanted
        return lambda: bool(getattr(cluster.log(step["broker"]), step["for"]) == wanted)

    def stored(self, broker: int) -> tuple[list[Any], list[Any]]:
        """Return the records and the leader epochs of a log."""
        epochs = self.cluster.log(broker).leader_epochs.entries
        records = [(record.offset, record.value) for record in self.cluster.records(broker)]
        return records, [tuple(e) for e in epochs] if self.cluster.rules.uses_epochs else []

    def state(self, recorded: dict[str, Any]) -> dict[str, Any]:
        """Return the state in the form in which it was recorded, of the replicas that told it."""
        state = self.cluster.state
        replicas: dict[str, dict[str, int] | None] = {}
        for name, told in recorded["replicas"].items():
            if told is None:
                replicas[name] = None
                continue
            log = self.cluster.log(int(name))
            replicas[name] = {part: getattr(log, part) for part in told}
        return {
            "leader": state.leader,
            "leader_epoch": state.leader_epoch,
            "isr": sorted(state.isr),
            "elr": sorted(state.elr),
            "last_known_elr": sorted(state.last_known_elr),
            "replicas": replicas,
        }


def on_disk(
    case: ReplicationCase, label: str, broker: int, start: int
) -> tuple[list[Any], list[Any]]:
    """Return the records from an offset on and the leader epochs that a real broker left."""
    logs = wb.open_log_directory(case.directory(label, broker))
    rows = logs.scan(columns=("offset", "value")).to_arrow().to_pylist()
    epochs = logs[PARTITION].leader_epochs
    entries = [] if epochs is None else [tuple(entry) for entry in epochs.entries]
    values = [(row["offset"], row["value"].decode()) for row in rows if row["offset"] >= start]
    return values, entries


@pytest.mark.parametrize("name", NAMES)
def test_simulated_brokers_do_what_real_ones_did(name: str, tmp_path: Path) -> None:
    case = open_replication_case(name, tmp_path)
    replay = Replay(case)
    with replay.cluster:
        for number, recorded in enumerate(case.steps[: STEPS.get(name)]):
            replay.do(recorded["step"], recorded["result"])
            if recorded["state"] is not None:
                found = replay.state(recorded["state"])
                wanted = {part: recorded["state"][part] or [] for part in found}
                for part in ("leader", "leader_epoch"):
                    wanted[part] = recorded["state"][part]
                wanted["isr"] = sorted(wanted["isr"])
                if recorded["step"]["do"] == "start":  # it joins a moment sooner or later
                    wanted["isr"] = found["isr"]
                assert found == wanted, f"step {number}: {recorded['step']}"
            if recorded["step"]["do"] == "keep":
                label = recorded["step"]["as"]
                for broker in case.brokers:
                    if case.is_running(label, broker):
                        start = replay.cluster.log(broker).log_start_offset
                        wanted_log = on_disk(case, label, broker, start)
                        assert replay.stored(broker) == wanted_log, f"{label} {broker}"
