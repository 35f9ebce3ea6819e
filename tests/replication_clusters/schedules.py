"""What happens to a replicated partition, as plain data: schedules that a cluster or a model plays.

A `Schedule` is about one topic, `TOPIC`, of one partition. Its steps are dicts that JSON can hold,
played in order. ``broker`` and the like are broker ids:

- ``{"do": "produce", "to": 1, "value": "m1", "acks": -1}``: send one record, in a batch of its own,
  to that broker, whether it leads or not, and wait for the answer. ``"timeout_ms": 5000`` is the
  request's (default 10,000). With ``"answer": "later"`` the next step follows while it waits.
- ``{"do": "answer", "value": "m1"}``: wait for the answer that came later.
- ``{"do": "stop", "broker": 1}``: shut down cleanly (SIGTERM).
- ``{"do": "kill", "broker": 1, "lose": 0}``: end at once (SIGKILL). What was written stays, as
  after a crash of the process; ``lose`` is the number of batches to remove from the end of the log,
  as a loss of power does with what was not flushed.
- ``{"do": "start", "broker": 1}``: start again on what is there.
- ``{"do": "pause", "broker": 1}`` and ``"resume"``: stop the process where it is (SIGSTOP), and let
  it go on. Requests to it, and answers, wait in between.
- ``{"do": "wait", "for": "isr", "is": [1, 2]}``: let time pass until it is so. ``for`` is
  ``leader`` (-1: none), ``isr``, ``alive`` (brokers that the controller holds for alive), or, with
  ``"broker": 2``, ``log_start_offset``, ``log_end_offset`` or ``high_watermark`` of that replica.
- ``{"do": "elect", "how": "unclean"}``: ask the controller for an election, or ``preferred``.
- ``{"do": "delete", "from": 1, "before": 3}``: ask that leader to raise the log start offset.
- ``{"do": "consume", "from": 1}``: read all that a consumer gets from that leader.
- ``{"do": "commit", "to": 1, "value": "billing orders-0=42"}``: let a group commit an offset at
  that broker; with ``"answer": "later"`` as above.
- ``{"do": "resumes", "at": 1, "group": "billing"}``: ask that broker for the group's offset.
- ``{"do": "keep", "as": "apart"}``: keep what all brokers have on disk.

After each step the cluster is left alone until nothing has changed for `REST_MS`, which is longer
than a follower's fetch waits; the state that is recorded with the step is of then. With
``"at_once": true`` the next step follows without that rest, and no state is recorded.
"""

from dataclasses import dataclass, field, replace
from typing import Any

TOPIC = "ledger"
PARTITION = f"{TOPIC}-0"
REST_MS = 900
FIRST_TIMESTAMP = 1_700_000_000_000  # of the first record; each later one is 1,000 ms younger
ALL = -1

Step = dict[str, Any]


@dataclass(frozen=True)
class Schedule:
    """A schedule with the cluster that it is for.

    Attributes:
        name: of the case, after the version.
        purpose: what it shows, one sentence.
        replicas: the brokers of the partition in the order of assignment; the first leads first.
        steps: as above.
        topic: configs of the topic.
        settings: of all brokers, over those of `tests.replication_clusters.cluster`.
        settings_of: more of them, by broker.
        features: of the cluster's format, where a version's default is not wanted.
        versions: of the brokers that it is recorded with.
    """

    name: str
    purpose: str
    replicas: list[int]
    steps: list[Step]
    topic: dict[str, str]
    settings: dict[str, str] = field(default_factory=dict)
    settings_of: dict[int, dict[str, str]] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    versions: tuple[str, ...] = ("4.2.0",)


def produce(value: str, to: int, acks: int = ALL, **options: Any) -> Step:
    """Return a step that sends one record."""
    return {"do": "produce", "to": to, "value": value, "acks": acks} | options


def do(what: str, broker: int, **options: Any) -> Step:
    """Return a step about one broker: stop, kill, start, pause, resume."""
    return {"do": what, "broker": broker} | options


def until(what: str, value: int | list[int], **options: Any) -> Step:
    """Return a step that waits."""
    return {"do": "wait", "for": what, "is": value} | options


def keep(label: str) -> Step:
    """Return a step that keeps the directories."""
    return {"do": "keep", "as": label}


def answer(value: str) -> Step:
    """Return a step that waits for an answer."""
    return {"do": "answer", "value": value}


MIN_ISR_2 = {"min.insync.replicas": "2"}
MIN_ISR_1 = {"min.insync.replicas": "1"}
UNCLEAN = {**MIN_ISR_1, "unclean.leader.election.enable": "true"}
NO_ELR = {"eligible.leader.replicas.version": 0}

NORMAL_ROUNDS = Schedule(
    "normal-rounds",
    "three replicas in sync: records with each kind of acks, and one sent to a follower",
    [1, 2, 3],
    [
        until("isr", [1, 2, 3]),
        produce("m0", 1),
        produce("m1", 1, acks=1),
        produce("m2", 1, acks=0),
        produce("m3", 2),
        produce("m4", 1),
        keep("running"),
        {"do": "consume", "from": 1},
    ],
    MIN_ISR_2,
)

FOLLOWER_RESTARTED = Schedule(
    "follower-restarted",
    "a follower is killed and comes back, then another is shut down cleanly and comes back",
    [1, 2, 3],
    [
        until("isr", [1, 2, 3]),
        produce("m0", 1),
        produce("m1", 1),
        do("kill", 3, lose=0),
        until("isr", [1, 2]),
        produce("m2", 1),
        produce("m3", 1),
        keep("killed"),
        do("start", 3),
        until("isr", [1, 2, 3]),
        produce("m4", 1),
        do("stop", 2),
        until("isr", [1, 3]),
        produce("m5", 1),
        keep("stopped"),
        do("start", 2),
        until("isr", [1, 2, 3]),
        produce("m6", 1),
        {"do": "consume", "from": 1},
    ],
    MIN_ISR_2,
)

# The fetches of the followers wait at the leader, which answers them with m2: it is in the sockets
# of the paused followers when the leader dies, and they append it when they go on. They do not
# fetch m3 and m4.
LEADER_KILLED = Schedule(
    "leader-killed",
    "a leader acknowledges records with acks=1 that its followers have not fetched, and is killed",
    [1, 2, 3],
    [
        until("isr", [1, 2, 3]),
        produce("m0", 1),
        produce("m1", 1),
        do("pause", 2, at_once=True),
        do("pause", 3, at_once=True),
        produce("m2", 1, acks=1),
        produce("m3", 1, acks=1, at_once=True),
        produce("m4", 1, acks=1, at_once=True),
        do("kill", 1, lose=0, at_once=True),
        do("resume", 2, at_once=True),
        do("resume", 3),
        until("leader", 2),
        keep("elected"),
        produce("n0", 2),
        produce("n1", 2),
        keep("apart"),
        do("start", 1),
        until("isr", [1, 2, 3]),
        produce("n2", 2),
        {"do": "consume", "from": 2},
    ],
    MIN_ISR_2,
    {"broker.session.timeout.ms": "8000"},
    versions=("4.2.0", "3.9.1", "3.7.2", "3.3.2"),
)
LEADER_KILLED_ZOOKEEPER = replace(
    LEADER_KILLED,
    versions=("2.8.2",),
    settings={
        "zookeeper.session.timeout.ms": "8000",
        "inter.broker.protocol.version": "2.6",
    },
)

FOLLOWER_LOSES_POWER = Schedule(
    "follower-loses-power",
    "a follower that is in sync loses records at the end of its log which were acknowledged",
    [1, 2],
    [
        until("isr", [1, 2]),
        produce("m0", 1),
        produce("m1", 1),
        produce("m2", 1),
        produce("m3", 1),
        do("kill", 2, lose=2),
        keep("apart"),
        until("isr", [1]),
        do("start", 2),
        until("isr", [1, 2]),
        produce("m4", 1),
        {"do": "consume", "from": 1},
    ],
    MIN_ISR_1,
)
LEADER_KILLED_OLD = replace(
    LEADER_KILLED,
    versions=("1.1.1", "0.10.2.2"),
    settings={"zookeeper.session.timeout.ms": "8000"},
)

# Broker 1 leads, then broker 2 alone; 2 loses m3, which both had, and m4, which it alone had.
LAST_LEADER_LOSES_POWER = Schedule(
    "last-leader-loses-power",
    "the last replica in sync loses acknowledged records, leads again, and the other one truncates",
    [1, 2],
    [
        until("isr", [1, 2]),
        produce("m0", 1),
        produce("m1", 1),
        produce("m2", 1),
        produce("m3", 1),
        do("kill", 1, lose=0),
        until("leader", 2),
        produce("m4", 2),
        do("kill", 2, lose=2),
        until("leader", -1),
        keep("down"),
        do("start", 2),
        until("leader", 2),
        produce("n0", 2),
        keep("apart"),
        do("start", 1),
        until("isr", [1, 2]),
        produce("n1", 2),
        {"do": "consume", "from": 2},
    ],
    MIN_ISR_1,
)
LAST_LEADER_LOSES_POWER_NO_ELR = replace(
    LAST_LEADER_LOSES_POWER, name="last-leader-loses-power-no-elr", features=NO_ELR
)

UNCLEAN_ELECTION = Schedule(
    "unclean-election",
    "the last replica in sync dies, one that lacks acknowledged records leads, then both agree",
    [1, 2],
    [
        until("isr", [1, 2]),
        produce("m0", 1),
        do("stop", 2),
        until("isr", [1]),
        produce("m1", 1),
        produce("m2", 1),
        do("kill", 1, lose=0),
        until("leader", -1),
        do("start", 2),
        until("leader", 2),
        keep("elected"),
        produce("n1", 2),
        keep("apart"),
        do("start", 1),
        until("isr", [1, 2]),
        produce("n2", 2),
        {"do": "consume", "from": 2},
    ],
    UNCLEAN,
    versions=("4.2.0", "3.9.1", "2.8.2", "0.10.2.2"),
)
UNCLEAN_ELECTION_NO_ELR = replace(
    UNCLEAN_ELECTION, name="unclean-election-no-elr", features=NO_ELR, versions=("4.2.0",)
)

UNCLEAN_BY_HAND = Schedule(
    "unclean-by-hand",
    "no unclean election by itself: there is no leader until somebody asks for one",
    [1, 2],
    [
        until("isr", [1, 2]),
        produce("m0", 1),
        do("stop", 2),
        until("isr", [1]),
        produce("m1", 1),
        do("kill", 1, lose=0),
        until("leader", -1),
        do("start", 2),
        produce("n0", 2),
        keep("waiting"),
        {"do": "elect", "how": "unclean"},
        until("leader", 2),
        produce("n1", 2),
        keep("apart"),
        do("start", 1),
        until("isr", [1, 2]),
        {"do": "elect", "how": "preferred"},
        until("leader", 1),
        produce("n2", 1),
        {"do": "consume", "from": 1},
    ],
    MIN_ISR_1,
)

# KRaft's controllers ignore the topic's configuration up to 3.8.
UNCLEAN_IGNORED = replace(
    UNCLEAN_BY_HAND,
    name="unclean-ignored",
    purpose="unclean elections are allowed, and the controller makes none: up to 3.8 KRaft does "
    "not know the configuration",
    topic=UNCLEAN,
    versions=("3.8.1", "3.7.2", "3.6.2", "3.3.2"),
)

TWO_UNCLEAN_ELECTIONS = Schedule(
    "two-unclean-elections",
    "KIP-279: two replicas lead in turn without having what the other wrote",
    [1, 2],
    [
        until("isr", [1, 2]),
        produce("a0", 1),
        do("stop", 2),
        until("isr", [1]),
        produce("a1", 1),
        produce("a2", 1),
        do("kill", 1, lose=0),
        until("leader", -1),
        do("start", 2),
        until("leader", 2),
        produce("b1", 2),
        produce("b2", 2),
        produce("b3", 2),
        do("kill", 2, lose=0),
        until("leader", -1),
        do("start", 1),
        until("leader", 1),
        produce("a3", 1),
        produce("a4", 1),
        keep("apart"),
        do("start", 2),
        until("isr", [1, 2]),
        {"do": "consume", "from": 1},
    ],
    UNCLEAN,
)
TWO_UNCLEAN_ELECTIONS_2_8 = replace(
    TWO_UNCLEAN_ELECTIONS,
    versions=("2.8.2",),
    settings={"inter.broker.protocol.version": "2.6"},
)
TWO_UNCLEAN_ELECTIONS_1_1 = replace(TWO_UNCLEAN_ELECTIONS, versions=("1.1.1",))

LAG_SHRINK = Schedule(
    "lag-shrink",
    "a follower stops fetching while it is alive: it leaves the ISR by lag, and comes back",
    [1, 2, 3],
    [
        until("isr", [1, 2, 3]),
        produce("m0", 1),
        do("pause", 3),
        produce("m1", 1, answer="later", timeout_ms=30_000),
        produce("m2", 1, answer="later", timeout_ms=30_000),
        until("isr", [1, 2]),
        answer("m1"),
        answer("m2"),
        produce("m3", 1),
        keep("apart"),
        do("resume", 3),
        until("isr", [1, 2, 3]),
        produce("m4", 1),
        {"do": "consume", "from": 1},
    ],
    MIN_ISR_2,
    {"broker.session.timeout.ms": "40000"},
    versions=("4.2.0", "3.6.2", "3.3.2"),
)
LAG_SHRINK_ZOOKEEPER = replace(
    LAG_SHRINK,
    versions=("2.8.2",),
    settings={
        "zookeeper.session.timeout.ms": "40000",
        "inter.broker.protocol.version": "2.6",
    },
)

# A follower's fetch waits long, so it learns late that m1 is committed. 2 is paused when it becomes
# leader: 3 follows it, truncates to its own high watermark, and gets nothing from 2, which dies.
HIGH_WATERMARK_TRUNCATION = Schedule(
    "high-watermark-truncation",
    "KIP-101: a follower truncates to its high watermark and then leads; up to 0.10.2 a committed "
    "record is lost, and the old leader differs for ever",
    [1, 2, 3],
    [
        until("isr", [1, 2, 3]),
        produce("m0", 1),
        produce("m1", 1),
        {"do": "consume", "from": 1},
        keep("committed"),
        do("pause", 2),
        do("kill", 1, lose=0),
        until("leader", 2),
        keep("followed"),
        do("kill", 2, lose=0),
        until("leader", 3),
        keep("elected"),
        produce("n0", 3),
        {"do": "consume", "from": 3},
        do("start", 1),
        until("isr", [1, 3]),
        keep("old-leader-back"),
        do("start", 2),
        until("isr", [1, 2, 3]),
        produce("n1", 3),
        {"do": "consume", "from": 3},
    ],
    MIN_ISR_1,
    {
        "replica.fetch.wait.max.ms": "15000",
        "replica.lag.time.max.ms": "25000",
        "zookeeper.session.timeout.ms": "3000",
    },
    {2: {"zookeeper.session.timeout.ms": "12000"}},
    versions=("0.10.2.2",),
)
HIGH_WATERMARK_KEPT = replace(
    HIGH_WATERMARK_TRUNCATION,
    purpose="the schedule in which 0.10.2 loses a committed record: with epochs it is kept",
    versions=("2.8.2",),
    settings=HIGH_WATERMARK_TRUNCATION.settings | {"inter.broker.protocol.version": "2.6"},
)

# In 0.10.2 the process that ends itself hangs: its shutdown waits for the fetcher that began it.
OLD_LEADER_HALTS = replace(
    HIGH_WATERMARK_TRUNCATION,
    name="old-leader-halts",
    purpose="up to 2.0.0, a broker whose log is longer than its leader's ends itself, unless "
    "unclean elections are allowed",
    steps=[
        *HIGH_WATERMARK_TRUNCATION.steps[: HIGH_WATERMARK_TRUNCATION.steps.index(keep("elected"))],
        do("start", 1),
        do("kill", 1, lose=0),
        {"do": "consume", "from": 3},
    ],
    topic={**MIN_ISR_1, "unclean.leader.election.enable": "false"},  # true is the default there
)

# The fetches wait for 15 s, so that each state between two rounds can be seen: a follower
# has the high watermark of its last answer.
LATE_HIGH_WATERMARK = Schedule(
    "late-high-watermark",
    "followers know of a record before they know that it is committed; then the leader dies",
    [1, 2, 3],
    [
        until("isr", [1, 2, 3]),
        produce("m0", 1),
        produce("m1", 1),
        produce("m2", 1, acks=1),
        keep("late"),
        do("kill", 1, lose=0),
        until("leader", 2),
        {"do": "consume", "from": 2},
        produce("n0", 2),
        keep("apart"),
        do("start", 1),
        until("isr", [1, 2, 3]),
        {"do": "consume", "from": 2},
    ],
    MIN_ISR_1,
    {"replica.fetch.wait.max.ms": "15000", "replica.lag.time.max.ms": "25000"},
)

FOLLOWER_BEHIND_LOG_START = Schedule(
    "follower-behind-log-start",
    "records are deleted while a follower is down: its log starts again where its leader's starts",
    [1, 2],
    [
        until("isr", [1, 2]),
        produce("m0", 1),
        produce("m1", 1),
        do("kill", 2, lose=0),
        until("isr", [1]),
        produce("m2", 1),
        produce("m3", 1),
        {"do": "delete", "from": 1, "before": 3},
        keep("apart"),
        do("start", 2),
        until("isr", [1, 2]),
        produce("m4", 1),
        {"do": "consume", "from": 1},
    ],
    MIN_ISR_1,
    versions=("4.2.0", "2.8.2"),
)

MIN_ISR = Schedule(
    "min-isr",
    "fewer replicas in sync than min.insync.replicas: what is refused, and what is not committed",
    [1, 2, 3],
    [
        until("isr", [1, 2, 3]),
        produce("m0", 1),
        do("stop", 2),
        do("stop", 3),
        until("isr", [1]),
        produce("m1", 1),
        produce("m2", 1, acks=1),
        {"do": "consume", "from": 1},
        keep("alone"),
        do("start", 2),
        until("isr", [1, 2]),
        produce("m3", 1),
        {"do": "consume", "from": 1},
        do("start", 3),
        until("isr", [1, 2, 3]),
    ],
    MIN_ISR_2,
    versions=("4.2.0", "3.7.2", "3.6.2", "2.8.2"),
)

STOPPED_FOLLOWER = Schedule(
    "stopped-follower",
    "a follower is shut down: the leader epoch rises up to 3.5, the high watermark does not wait",
    [1, 2, 3],
    [
        until("isr", [1, 2, 3]),
        produce("m0", 1),
        do("stop", 3),
        until("isr", [1, 2]),
        produce("m1", 1, timeout_ms=4_000),
        keep("stopped"),
        {"do": "consume", "from": 1},
        do("start", 3),
        until("isr", [1, 2, 3]),
        produce("m2", 1),
        {"do": "consume", "from": 1},
    ],
    MIN_ISR_2,
    {"replica.lag.time.max.ms": "60000"},
    versions=("3.6.2", "3.3.2"),
)

# Up to 3.6 the minimum counts although there cannot be as many replicas.
MIN_ISR_ABOVE_REPLICAS = Schedule(
    "min-isr-above-replicas",
    "min.insync.replicas is above the number of replicas",
    [1, 2],
    [
        until("isr", [1, 2]),
        produce("m0", 1),
        produce("m1", 1, acks=1),
        keep("running"),
        {"do": "consume", "from": 1},
    ],
    {"min.insync.replicas": "3"},
    versions=("3.7.2", "3.6.2"),
)

ELIGIBLE_LEADER = Schedule(
    "eligible-leader",
    "KIP-966: the last replica standing loses power; an eligible leader replica leads instead",
    [1, 2, 3],
    [
        until("isr", [1, 2, 3]),
        produce("m0", 1),
        do("kill", 3, lose=0),
        until("isr", [1, 2]),
        produce("m1", 1),
        do("stop", 2),
        until("isr", [1]),
        produce("x", 1, acks=1),
        do("kill", 1, lose=2),
        until("leader", -1),
        keep("down"),
        do("start", 1),
        do("start", 2),
        until("leader", 2),
        until("isr", [1, 2]),
        produce("m2", 2),
        do("start", 3),
        until("isr", [1, 2, 3]),
        {"do": "consume", "from": 2},
    ],
    MIN_ISR_2,
)

# The record lies in the socket of the paused leader, which appends it when it goes on: it does not
# know yet that another one leads.
ZOMBIE_LEADER = Schedule(
    "zombie-leader",
    "KIP-320: a leader is paused until another one is elected, then appends a record as if it led",
    [1, 2, 3],
    [
        until("isr", [1, 2, 3]),
        produce("m0", 1),
        do("pause", 1),
        until("leader", 2),
        produce("n1", 2),
        produce("z", 1, acks=1, answer="later"),
        do("resume", 1, at_once=True),
        answer("z"),
        until("isr", [1, 2, 3]),
        produce("n2", 2),
        {"do": "consume", "from": 2},
    ],
    MIN_ISR_2,
)

# ZooKeeper's session is over when the leader goes on: it registers again some seconds later, and
# gets no metadata before.
ZOMBIE_LEADER_ZOOKEEPER = replace(
    ZOMBIE_LEADER,
    steps=[
        *ZOMBIE_LEADER.steps[: ZOMBIE_LEADER.steps.index(do("resume", 1, at_once=True))],
        do("resume", 1, at_once=True),
        answer("z") | {"at_once": True},
        until("alive", [1, 2, 3], at_once=True),
        *ZOMBIE_LEADER.steps[ZOMBIE_LEADER.steps.index(until("isr", [1, 2, 3]), 1) :],
    ],
    versions=("2.8.2", "1.1.1"),
)


def commit(offset: int, to: int, **options: Any) -> Step:
    """Return a step in which a group commits an offset."""
    return {"do": "commit", "to": to, "value": f"billing orders-0={offset}"} | options


def resumes(at: int) -> Step:
    """Return a step that asks a broker for the group's offset."""
    return {"do": "resumes", "at": at, "group": "billing"}


# A commit waits longer for the paused follower than `offsets.commit.timeout.ms`, 5 s.
GROUP_COORDINATOR = Schedule(
    "group-coordinator",
    "the coordinator answers a commit when the high watermark passed it, and moves with the leader",
    [1, 2, 3],
    [
        until("isr", [1, 2, 3]),
        resumes(1),
        commit(42, 1),
        resumes(1),
        resumes(2),
        commit(43, 2),
        do("pause", 3),
        commit(50, 1, answer="later"),
        resumes(1),
        answer("billing orders-0=50"),
        resumes(1),
        do("resume", 3),
        resumes(1),
        do("stop", 1),
        until("leader", 2),
        resumes(2),
        commit(60, 2),
        resumes(2),
        do("start", 1),
        until("isr", [1, 2, 3]),
        resumes(1),
        do("stop", 1),
        do("stop", 3),
        until("isr", [2]),
        commit(70, 2),
        resumes(2),
        do("start", 3),
        until("isr", [2, 3]),
        commit(80, 2),
        resumes(2),
    ],
    {**MIN_ISR_2, "cleanup.policy": "compact"},
    {
        "broker.session.timeout.ms": "40000",
        "offsets.topic.num.partitions": "1",
        "replica.lag.time.max.ms": "30000",
    },
    versions=("4.2.0", "3.9.1"),
)

ALL_SCHEDULES = (
    NORMAL_ROUNDS,
    FOLLOWER_RESTARTED,
    LEADER_KILLED,
    LEADER_KILLED_ZOOKEEPER,
    LEADER_KILLED_OLD,
    FOLLOWER_LOSES_POWER,
    LAST_LEADER_LOSES_POWER,
    LAST_LEADER_LOSES_POWER_NO_ELR,
    UNCLEAN_ELECTION,
    UNCLEAN_ELECTION_NO_ELR,
    UNCLEAN_BY_HAND,
    UNCLEAN_IGNORED,
    TWO_UNCLEAN_ELECTIONS,
    TWO_UNCLEAN_ELECTIONS_2_8,
    TWO_UNCLEAN_ELECTIONS_1_1,
    LAG_SHRINK,
    LAG_SHRINK_ZOOKEEPER,
    HIGH_WATERMARK_TRUNCATION,
    HIGH_WATERMARK_KEPT,
    OLD_LEADER_HALTS,
    LATE_HIGH_WATERMARK,
    FOLLOWER_BEHIND_LOG_START,
    MIN_ISR,
    STOPPED_FOLLOWER,
    MIN_ISR_ABOVE_REPLICAS,
    ELIGIBLE_LEADER,
    ZOMBIE_LEADER,
    ZOMBIE_LEADER_ZOOKEEPER,
)
# By the name of the case.
SCHEDULES = {f"{version}-{one.name}": one for one in ALL_SCHEDULES for version in one.versions}
