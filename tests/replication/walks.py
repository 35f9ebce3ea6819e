"""Random schedules: what can happen to a cluster, chosen by chance."""

from random import Random
from typing import Any, Final, NamedTuple

from workbench.replication.rules import Rules
from workbench.replication.simulation.cluster import Cluster
from workbench.replication.simulation.events import Bounds, Event, Spent, do, possible_events
from workbench.replication.simulation.invariants import Violation, violations

_EVERYTHING: Final = Bounds(records=1 << 30, crashes=1 << 30, elections=1 << 30, losses=1 << 30)
_WEIGHTS: Final = {
    "produce": 6.0, "fetch": 12.0, "answer": 14.0, "expire": 2.0, "lose": 0.5, "crash": 0.25,
    "restart": 0.3, "start": 3.0, "elect": 0.5,
}  # fmt: skip
_PASSING: Final = (100, 600, 5_000, 9_100, 16_000, 31_000)


class Walk(NamedTuple):
    """How a random schedule is made.

    Attributes:
        seed: of the choices.
        rules: the version whose rules hold.
        brokers: how many brokers.
        min_isr: `min.insync.replicas`.
        steps: how many events.
    """

    seed: int
    rules: str | Rules
    brokers: int = 3
    min_isr: int = 1
    steps: int = 200

    def cluster(self, **options: Any) -> Cluster:
        """Return the cluster that it begins with; unclean elections are off."""
        return Cluster(
            self.brokers,
            rules=self.rules,
            min_insync_replicas=self.min_isr,
            unclean_leader_election=False,
            fetch_max_bytes=1 if self.seed % 2 else 1 << 20,
            **options,
        )


def next_event(cluster: Cluster, rng: Random, *, deletes: bool = True) -> Event:
    """Return an event that can happen now; clients delete records only if ``deletes``."""
    found: list[Event] = []
    weights: list[float] = []
    for event in possible_events(cluster, _EVERYTHING, Spent()):
        found.append(event)
        weights.append(_WEIGHTS[event.do])
    for broker in cluster.brokers.values():
        found.append(Event("heal" if broker.is_isolated else "isolate", broker.id))
        weights.append(1.0 if broker.is_isolated else 0.1)
        if broker.is_alive:
            found.append(Event("resume" if broker.is_paused else "pause", broker.id))
            weights.append(1.0 if broker.is_paused else 0.1)
            found += [Event("checkpoint", broker.id), Event("stop", broker.id)]
            weights += [0.3, 0.05]
            if broker.partition is not None and broker.partition.is_leader:
                value = f"m{len(cluster.produced)}"
                found.append(Event("produce", broker.id, value, acks=rng.choice((1, -1))))
                weights.append(2.0)
        else:
            found.append(Event("notice", broker.id))
            weights.append(1.0)
    leader = cluster.brokers[cluster.leader].partition if cluster.leader >= 0 else None
    if deletes and leader is not None and leader.log.high_watermark:
        found.append(Event("delete records", offset=leader.log.high_watermark - rng.randrange(2)))
        weights.append(0.1)
    found += [Event("check ISR"), Event("advance", ms=rng.choice(_PASSING))]
    weights += [0.3, 1.0]
    return rng.choices(found, weights)[0]


def play(walk: Walk) -> tuple[int, Cluster, list[Event], list[Violation]]:
    """Play a walk on light logs up to the first broken promise; return steps and what broke."""
    rng = Random(f"{walk}")
    cluster = walk.cluster(storage="light")
    events: list[Event] = []
    for step in range(walk.steps):
        event = next_event(cluster, rng)
        events.append(event)
        do(cluster, event)
        found = violations(cluster)
        if found:
            return step + 1, cluster, events, found
    return walk.steps, cluster, events, []


def seen(cluster: Cluster) -> tuple[Any, ...]:
    """Return what a cluster shows, whichever logs it runs on."""
    brokers: list[tuple[Any, ...]] = []
    for broker in cluster.brokers.values():
        log, partition = broker.log, broker.partition
        if log is None or partition is None:
            brokers.append((broker.id, broker.is_alive))
            continue
        epochs = [tuple(entry) for entry in log.leader_epochs.entries]
        brokers.append(
            (
                broker.id,
                cluster.records(broker.id),
                (log.log_start_offset, log.log_end_offset, log.high_watermark),
                epochs if cluster.rules.uses_epochs else (),
                (partition.leader, partition.leader_epoch, partition.isr_state),
            )
        )
    return tuple(brokers), cluster.state, tuple(cluster.produced)
