"""The known scenarios of replication: the normal path, and how records are lost or logs diverge.

    import workbench as wb

    played = wb.scenarios.play("G-1", rules="0.10")
    print(played)                          # the table, and the promise that is broken
    wb.scenarios.play("G-1", rules="4.2")  # the same events under other rules

Each step says why it happens. What a later version does differently appears by itself: the events
are the same, the rules are not. `play` takes other rules, acks and configurations.

Kafka: KIP-101, KIP-279, KIP-320, KIP-497, KIP-966; KAFKA-7415
"""

from textwrap import dedent
from typing import Any, Final, NamedTuple

from workbench.errors import ReplicationError
from workbench.replication.simulation.events import Event, event_of
from workbench.replication.simulation.playback import Playback
from workbench.replication.simulation.playback import play as play_events


class Scenario(NamedTuple):
    """Events on a cluster, each with its reason.

    Attributes:
        name: such as "G-1".
        title: what it is, in a few words.
        about: what it shows, in sentences.
        rules: the version that shows it.
        also: other versions that are worth a comparison.
        options: of the `Cluster`.
        script: the events as texts, each with why it happens.
    """

    name: str
    title: str
    about: str
    rules: str
    also: tuple[str, ...]
    options: dict[str, Any]
    script: tuple[tuple[str, str], ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """The events."""
        return tuple(event_of(text) for text, _ in self.script)


def _script(text: str) -> tuple[tuple[str, str], ...]:
    """Return the events of a text, each with the indented reason below it."""
    pairs: list[list[str]] = []
    for line in dedent(text).strip().splitlines():
        if line.startswith(" "):
            pairs[-1].append(line.strip())
        else:
            pairs.append([line])
    return tuple((event, " ".join(why)) for event, *why in pairs)


_ALL: Final = (
    Scenario(
        name="G-0",
        title="The high watermark needs a second round",
        about=(
            "One record, two replicas. The first fetch brings the record to the follower, the "
            "second tells the leader that the follower has it, and only then the high watermark "
            "rises. The follower learns the new high watermark with a later answer."
        ),
        rules="4.2",
        also=("0.10",),
        options={"brokers": 2},
        script=_script("""
            fetch 1
                There is nothing to fetch, so the request waits in the leader's purgatory for up
                to replica.fetch.wait.max.ms = 500 ms.
            produce m0
                The leader appends m0, so its LEO is 1. The remote LEO is still 0: the follower
                has asked for offset 0, so it does not have the record. The high watermark stays
                min(1, 0) = 0 and the producer waits. The record wakes the waiting fetch.
            answer 1
                The follower appends m0, so its LEO is 1. Its high watermark is min(1, 0) = 0: its
                own LEO, and the leader's high watermark in the answer.
            fetch 1
                The second round asks for offset 1, which tells the leader that the follower has
                offset 0. The remote LEO is 1, so the high watermark rises to min(1, 1) = 1, and
                the producer gets its answer. There is nothing more to fetch: the request waits.
            expire 1
                500 ms pass. The leader reads its high watermark again and answers without
                records.
            answer 1
                The follower's high watermark is min(1, 1) = 1: its own LEO, and the leader's high
                watermark. Consumers of either replica can read m0.
        """),
    ),
    Scenario(
        name="G-0b",
        title="A second record comes before the second round",
        about=(
            "The answer to a fetch carries the high watermark from before this fetch raised it. "
            "As long as records come, a follower's high watermark lags by one more round."
        ),
        rules="4.2",
        also=("2.8",),
        options={"brokers": 2},
        script=_script("""
            fetch 1
                The request waits for records.
            produce m0
                The record wakes the fetch.
            answer 1
                The follower has m0.
            produce m1
                The next record comes before the follower asks again.
            fetch 1
                The leader reads its high watermark, 0, and the records, and only then learns that
                the follower has m0. Its high watermark is 1 now, but the answer says 0.
            answer 1
                The follower has m1, too. Its high watermark is still 0, although m0 is committed.
            fetch 1
                The leader learns that the follower has m1: its high watermark is 2.
            expire 1
                An answer that has waited is read again, so it has the newest high watermark.
            answer 1
                The follower's high watermark jumps from 0 to 2.
        """),
    ),
    Scenario(
        name="G-0c",
        title="Three replicas: the slower follower decides",
        about="With acks=all the producer waits for every in-sync replica, not for a majority.",
        rules="4.2",
        also=("2.8",),
        options={"brokers": 3},
        script=_script("""
            fetch 1
                Both followers wait for records.
            fetch 2
                Both followers wait for records.
            produce m0
                The record wakes both fetches.
            answer 1
                Follower 1 has m0.
            fetch 1
                The leader knows that follower 1 has m0. That is a majority, but the remote LEO of
                follower 2 is 0, so the high watermark stays 0.
            answer 2
                Follower 2 has m0.
            fetch 2
                The last in-sync replica confirms: the high watermark is 1, and the producer gets
                its answer.
        """),
    ),
    Scenario(
        name="G-1",
        title="A restart and a failover lose an acknowledged record",
        about=(
            "Up to 0.10, a follower that starts truncates its log at its own high watermark. "
            "That lags, so the follower may remove a committed record; if the leader dies then, "
            "the record is lost. Leader epochs (KIP-101, 0.11) end that: the follower asks the "
            "leader where to truncate."
        ),
        rules="0.10",
        also=("0.11", "4.2"),
        options={"brokers": 2, "unclean_leader_election": False},
        script=_script("""
            produce m0
                The first record; both replicas will have it.
            rest
                The follower fetches until both logs and both high watermarks are equal.
            checkpoint 1
                The follower writes its high watermark of 1 to its checkpoint.
            produce m1
                A second record. The follower's fetch has waited for it.
            answer 1
                The follower has m1. Its high watermark is still 1.
            fetch 1
                The leader learns that both replicas have m1: its high watermark is 2, and the
                producer gets its answer. The follower does not know yet.
            checkpoint 0
                The leader writes its high watermark of 2 to its checkpoint.
            restart 1
                The follower restarts. Before 0.11 it truncates its log at its high watermark of
                1, and m1 is gone there. With leader epochs it asks the leader first.
            fetch 1
                The follower asks the leader: for records, or since 0.11 first for the end of its
                last leader epoch.
            crash 0
                The leader dies before its answer arrives; the follower is in sync and becomes the
                leader.
            produce m2
                The new leader takes a record: at offset 1 if it has lost m1.
            start 0
                The old leader comes back with m0 and m1.
            rest
                It fetches from the new leader. Under the old rules it does not see that its m1 is
                another record than the leader's m2.
        """),
    ),
    Scenario(
        name="G-2",
        title="A power failure makes replicas diverge",
        about=(
            "Both replicas lose power; one of them loses its last record with the page cache "
            "and becomes the leader. Up to 0.10 the logs differ from then on, silently. With "
            "leader epochs (KIP-101) they become equal. The lost record stays lost in every "
            "version: leader epochs give agreement, not durability."
        ),
        rules="0.10",
        also=("0.11", "2.8", "4.2"),
        options={"brokers": 2, "unclean_leader_election": False},
        script=_script("""
            produce m0
                The first record.
            produce m1
                The second record.
            rest
                Both replicas have both records, and both high watermarks are 2.
            checkpoint 0
                Broker 0 writes its high watermark to its checkpoint.
            crash 0
                Broker 0 loses power; its records were flushed.
            crash 1, 1 record lost
                Broker 1 loses power, too. m1 was only in its page cache, so it is not on the
                disk.
            start 1
                Broker 1 starts first and leads, with m0 alone.
            produce m2
                It takes m2 at offset 1, where m1 was.
            start 0
                Broker 0 starts with m0 and m1; its checkpoint says that both are committed.
            rest
                It fetches. Up to 0.10 it asks for offset 2, gets what comes after, and keeps m1
                at offset 1. With leader epochs the leader says that epoch 0 ends at offset 1, so
                the follower truncates m1, below its own high watermark, and fetches m2.
        """),
    ),
    Scenario(
        name="G-3",
        title="A fast failover back and forth",
        about=(
            "Leadership moves twice before a follower can truncate. Up to 1.1 a leader answers "
            "only where the next epoch starts, and that is too late: the logs diverge. "
            "Since 2.0 (KIP-279) it answers with its own largest epoch, too, and both go back "
            "to the last one that they share."
        ),
        rules="1.1",
        also=("2.0", "4.2"),
        options={"brokers": 2, "unclean_leader_election": False},
        script=_script("""
            produce m0
                The first record; both replicas will have it.
            rest
                The follower fetches until both logs and both high watermarks are equal.
            produce m1
                The leader appends m1; the follower does not fetch it.
            elect 1
                Leadership moves to broker 1, which has m0 alone. Its epoch is 1.
            produce m2
                It appends m2 at offset 1.
            elect 0
                Leadership moves back to broker 0 before that has fetched anything: it still has
                m1 at offset 1. Its epoch is 2, and it has no record of epoch 1.
            produce m3
                It appends m3 at offset 2.
            rest
                Broker 1 asks where epoch 1 ends. Up to 1.1 the answer is 2, the start of the next
                larger epoch: it keeps m2 at offset 1. Later versions answer that the largest
                epoch up to 1 is epoch 0, so broker 1 truncates m2.
        """),
    ),
    Scenario(
        name="G-4",
        title="Two unclean elections",
        about=(
            "Each broker leads alone for a while. Unclean elections lose records in every "
            "version; but up to 1.1 the logs are not even equal afterwards."
        ),
        rules="1.1",
        also=("2.0", "4.2"),
        options={"brokers": 2, "unclean_leader_election": True},
        script=_script("""
            produce a0
                The first record; both replicas get it.
            rest
                Both replicas have a0.
            crash 1
                Broker 1 dies; the ISR is broker 0.
            produce a1
                Broker 0 continues alone.
            produce a2
                It has three records.
            crash 0
                Broker 0 dies, too.
            start 1
                Broker 1 comes back with a0 alone. Unclean elections are allowed: it leads.
            produce b1
                It appends another record at offset 1.
            produce b2
                And another at offset 2.
            produce b3
                And one more at offset 3.
            crash 1
                Broker 1 dies again.
            start 0
                Broker 0 comes back with a0, a1, a2 and leads: the second unclean election.
            produce a3
                It appends at offset 3.
            produce a4
                And at offset 4.
            start 1
                Broker 1 comes back as a follower, with a0, b1, b2, b3.
            rest
                Up to 1.1 it truncates only at offset 3 and keeps b1 and b2. Since 2.0 it
                truncates everything after a0.
        """),
    ),
    Scenario(
        name="G-4b",
        title="More than one question until the logs agree",
        about=(
            "Two brokers have led by turns, so their epochs alternate. Since 2.0 a follower "
            "goes back epoch by epoch: each answer removes at least one that the leader does "
            "not have. Since 2.8 the answers come with the fetch itself."
        ),
        rules="2.8",
        also=("2.0", "1.1"),
        options={"brokers": 2, "unclean_leader_election": True},
        script=_script("""
            produce a0
                Broker 0 leads, and appends; broker 1 does not fetch.
            crash 0
                Broker 0 dies: broker 1 leads with an empty log.
            produce b0
                Broker 1 appends at offset 0.
            crash 1
                Broker 1 dies.
            start 0
                Broker 0 leads again.
            produce a1
                It appends at offset 1.
            crash 0
                Broker 0 dies.
            start 1
                Broker 1 leads again.
            produce b1
                It appends at offset 1.
            crash 1
                Broker 1 dies.
            start 0
                Broker 0 leads again.
            produce a2
                It appends at offset 2.
            start 1
                Broker 1 is a follower. No record of it is one of the leader's.
            fetch 1
                The first question, about its last epoch.
            answer 1
                The leader does not have that epoch: broker 1 removes it.
            fetch 1
                The second question, about the epoch before.
            answer 1
                The leader does not have that one either.
            rest
                From here on it fetches; both logs are equal.
        """),
    ),
    Scenario(
        name="G-5",
        title="A leader without a record of its epoch",
        about=(
            "Up to 2.0.0 a new leader stores its epoch with its first record. Until then it "
            "cannot answer a follower with a later epoch than its last one, so the follower "
            "truncates at its high watermark and removes a committed record (KAFKA-7415). Since "
            "2.0.1 a leader stores its epoch at once."
        ),
        rules="2.0.0",
        also=("2.0.1", "4.2"),
        options={"brokers": 2, "unclean_leader_election": False},
        script=_script("""
            produce m0
                The first record; both replicas will have it.
            rest
                The follower fetches until both logs and both high watermarks are equal.
            produce m1
                A second record. The follower's fetch has waited for it.
            answer 1
                The follower has m1; its high watermark is 1.
            fetch 1
                m1 is committed and acknowledged.
            elect 1
                Leadership moves to broker 1. Its high watermark is still 1.
            produce m2
                It appends m2 in epoch 1; nobody fetches it.
            elect 0
                Leadership moves back to broker 0, in epoch 2. It appends nothing.
            fetch 1
                Broker 1 asks where epoch 1 ends.
            answer 1
                Up to 2.0.0 broker 0 knows epoch 0 only, so it cannot answer, and broker 1
                truncates at its high watermark: m1 is gone there, though it is in sync. Since
                2.0.1 the answer is that epoch 0 ends at 2: m1 stays.
            crash 0
                The leader dies now. Broker 1 is in sync and leads.
        """),
    ),
    Scenario(
        name="G-6",
        title="A leader that was replaced and does not know it",
        about=(
            "Broker 0 is cut off from the controller and the other brokers, but not from its "
            "clients. It still takes records with acks=1, and loses them. Leader epochs in "
            "requests (KIP-320, 2.1) keep replicas from asking the wrong leader."
        ),
        rules="4.2",
        also=("2.0", "2.8"),
        options={"brokers": 3, "min_insync_replicas": 2},
        script=_script("""
            produce m0
                All three replicas get the first record.
            rest
                They are equal.
            isolate 0
                The leader is cut off. Neither it nor its clients notice.
            9000 ms pass
                The controller has not heard of broker 0 for the session timeout of 9,000 ms: it
                fences it and elects broker 1.
            produce z to 0 with acks=1
                A client that still knows broker 0 as leader writes there. With acks=1 broker 0
                says that the record is stored.
            produce y to 0
                With acks=all the producer waits: the high watermark of broker 0 cannot rise
                without its followers.
            produce n
                Another client writes to broker 1.
            rest
                Broker 2 follows broker 1: n is committed by the two of them. Broker 0 is not
                reached.
            30000 ms pass
                The producer of y gets REQUEST_TIMED_OUT. Broker 0 wants to shrink its ISR, but no
                controller answers.
            heal 0
                The network is whole again: broker 0 learns that broker 1 leads.
            rest
                Broker 0 truncates z and y, and fetches n. The client of z was told that it is
                stored.
        """),
    ),
    Scenario(
        name="G-6b",
        title="A consumer notices that its position was truncated",
        about=(
            "After an unclean election the log is shorter than what a consumer has read. Since "
            "2.1 (KIP-320) it asks the new leader where the epoch of its last record ends, and "
            "continues there. Without that it would skip records, or start over."
        ),
        rules="4.2",
        also=("3.9",),
        options={"brokers": 2, "unclean_leader_election": True},
        script=_script("""
            produce m0
                The first record; both replicas will have it.
            rest
                Both replicas have m0.
            crash 1
                The follower dies; the ISR is broker 0.
            produce m1
                Committed by the only in-sync replica.
            produce m2
                Committed, too. A consumer reads all three: its position is 3, its epoch 0.
            validate 3 of epoch 0
                The consumer asks broker 0: everything is in place.
            crash 0
                The leader dies, too.
            start 1
                Broker 1 comes back with m0 alone and leads: an unclean election.
            produce n1
                It appends at offset 1.
            validate 3 of epoch 0
                The consumer learns of the new leader epoch and asks where epoch 0 ends: at
                offset 1. Its position of 3 was truncated, so it continues at 1 and reads n1. With
                auto.offset.reset=none it gets a LogTruncationException instead.
        """),
    ),
    Scenario(
        name="G-7",
        title="An unclean election",
        about=(
            "The only in-sync replica dies. With unclean.leader.election.enable=false the "
            "partition has no leader until it comes back, and nothing is lost. With true "
            "another replica leads at once, and what it does not have is lost."
        ),
        rules="4.2",
        also=("0.10", "2.8"),
        options={"brokers": 2, "unclean_leader_election": True},
        script=_script("""
            produce m0
                The first record; both replicas will have it.
            rest
                The follower fetches until both logs and both high watermarks are equal.
            crash 1
                The follower dies; the ISR is broker 0.
            produce m1
                m1 is committed by the only in-sync replica, and acknowledged.
            crash 0
                The leader dies, too.
            start 1
                Broker 1 comes back. It is not in the ISR.
            produce m2
                If broker 1 leads, m2 takes the offset of m1; otherwise nobody takes it.
            start 0
                Broker 0 comes back with m1.
            rest
                If broker 1 leads, broker 0 removes m1.
        """),
    ),
    Scenario(
        name="G-8",
        title="The last replica standing",
        about=(
            "Followers leave, and the last leader then loses records that two others still "
            "have. With eligible leader replicas (KIP-966, 4.0) one of those is elected, "
            "because the high watermark did not move while the ISR was below its minimum."
        ),
        rules="3.9",
        also=("3.6", "4.2"),
        options={
            "brokers": 3,
            "replicas": (2, 0, 1),
            "min_insync_replicas": 2,
            "unclean_leader_election": False,
        },
        script=_script("""
            produce c0
                The first record.
            produce c1
                The second record.
            rest
                All three replicas have both.
            stop 0
                Broker 0 shuts down cleanly: the ISR is 2 and 1.
            produce c2
                The third record.
            rest
                Brokers 2 and 1 have it: it is committed.
            stop 1
                Broker 1 shuts down cleanly: the ISR is broker 2 alone, below min.insync.replicas
                = 2.
            produce x
                acks=all is refused: NOT_ENOUGH_REPLICAS.
            produce w with acks=1
                acks=1 is accepted. Up to 3.6 the high watermark rises over w; later it does not
                move while the ISR is below its minimum.
            crash 2, 3 records lost
                The last leader dies and loses all that it had not flushed.
            start 1
                Broker 1 comes back with c0, c1, c2. Without eligible leader replicas it must not
                lead: it is not in the ISR.
            start 2
                Broker 2 comes back with c0 alone. Without eligible leader replicas it leads.
            start 0
                Broker 0 comes back with c0 and c1.
            rest
                The followers agree with the leader, whoever it is.
        """),
    ),
    Scenario(
        name="G-9",
        title="A slow follower",
        about=(
            "A follower stops fetching, but lives. Producers with acks=all wait until it leaves "
            "the ISR, replica.lag.time.max.ms to one and a half of it later."
        ),
        rules="4.2",
        also=("2.0",),
        options={"brokers": 3, "lag_time_max_ms": 10000},
        script=_script("""
            produce m0
                All three replicas get the first record.
            rest
                They are equal.
            produce m1
                From now on broker 2 does not fetch.
            2000 ms pass, followers fetch, 2 does not
                Broker 1 has m1, broker 2 does not: the high watermark stays 1, and the producer
                waits.
            14000 ms pass, followers fetch, 2 does not
                The leader removes broker 2 from the ISR. The high watermark does not have to wait
                for it any more, and the producer gets its answer.
            produce m2
                The next record waits for broker 1 only.
            2000 ms pass, followers fetch, 2 does not
                m2 is committed by brokers 0 and 1.
            2000 ms pass, followers fetch
                Broker 2 fetches again. When it has all records up to the high watermark, it joins
                the ISR.
        """),
    ),
    Scenario(
        name="G-10",
        title="Below the minimum of in-sync replicas",
        about=(
            "min.insync.replicas=2 and an ISR of one: acks=all is refused before anything is "
            "written, acks=1 is not."
        ),
        rules="4.2",
        also=("3.6",),
        options={"brokers": 3, "min_insync_replicas": 2, "lag_time_max_ms": 10000},
        script=_script("""
            produce m0
                All replicas get the first record.
            rest
                They are equal.
            crash 1
                Broker 1 dies.
            produce m1
                The ISR has two members, the minimum: the record is taken and waits.
            crash 2
                Broker 2 dies before it has m1: the ISR is broker 0 alone. Up to 3.6 the high
                watermark rises to 2, and the producer gets NOT_ENOUGH_REPLICAS_AFTER_APPEND.
                Since 3.7 the high watermark does not move, and the producer waits.
            produce m2
                Refused: NOT_ENOUGH_REPLICAS. Nothing is written.
            produce m3 with acks=1
                Taken, and answered at once.
            30000 ms pass
                A producer that still waits gets REQUEST_TIMED_OUT; its record stays in the log.
            start 1
                Broker 1 comes back.
            rest
                It fetches and joins the ISR: everything in the log is committed, also the record
                whose producer got an error.
        """),
    ),
    Scenario(
        name="G-11",
        title="A follower whose log ends before the leader's starts",
        about=(
            "While a follower is away, records are deleted from the leader's log, further than "
            "the follower has come. It empties its log and starts where the leader's log "
            "starts."
        ),
        rules="4.2",
        also=("1.1",),
        options={"brokers": 2},
        script=_script("""
            produce m0
                The first record; both replicas will have it.
            rest
                The follower fetches until both logs and both high watermarks are equal.
            crash 1
                The follower dies.
            produce m1
                The leader continues.
            produce m2
                It has three records.
            delete records before 2
                A client deletes the records before offset 2.
            start 1
                The follower comes back; its log ends at offset 1.
            fetch 1
                Offset 1 is below the leader's log start offset.
            answer 1
                The answer is OFFSET_OUT_OF_RANGE.
            rest
                The follower asks where the leader's log starts, empties its own, and fetches from
                offset 2.
        """),
    ),
    Scenario(
        name="G-12",
        title="Committed records are hidden after a failover",
        about=(
            "A new leader begins with the high watermark that it had as a follower, which lags. "
            "Committed records above it stay hidden until the other in-sync replicas have "
            "fetched."
        ),
        rules="4.2",
        also=("2.0",),
        options={"brokers": 3},
        script=_script("""
            produce m0
                The first record.
            rest
                All replicas have it, and all high watermarks are 1.
            produce m1
                The second record. The fetches of both followers have waited for it.
            answer 1
                Follower 1 has m1; its high watermark is 1.
            answer 2
                Follower 2 has m1; its high watermark is 1.
            fetch 1
                The leader knows that follower 1 has m1.
            fetch 2
                And follower 2: m1 is committed, and consumers can read it.
            crash 0
                The leader dies. Broker 1 leads with its own high watermark of 1: m1 is hidden
                from consumers for now.
            fetch 2
                Follower 2 asks for offset 2: the new leader's high watermark rises to 2, and m1
                can be read again.
        """),
    ),
    Scenario(
        name="G-13",
        title="KRaft's own log: a majority commits, and votes",
        about=(
            "The log of the cluster metadata has no in-sync replicas. A record is committed when a "
            "majority of the voters has it, and a voter leads only if a majority votes for it: "
            "nobody votes for a log that is behind. With the rules of other partitions the same "
            "events wait for the slowest replica."
        ),
        rules="kraft",
        also=("4.2",),
        options={"brokers": 3},
        script=_script("""
            fetch 1
                Both followers wait for records.
            fetch 2
                Both followers wait for records.
            produce m0
                The leader appends m0, and both fetches get it.
            answer 1
                Follower 1 has m0.
            fetch 1
                The leader knows of two voters of three that have m0, itself among them. That is a
                majority: the high watermark rises although follower 2 has nothing yet.
            kill 0
                The leader dies. The answer with m0 is still on its way to follower 2.
            lose 2
                It is lost: only broker 1 has m0.
            notice 0
                Broker 1 gets the vote of broker 2, whose log is behind; broker 2 would not get
                that of broker 1. So no committed record can be lost by an election. Broker 1
                begins its epoch with a record of its own.
            fetch 2
                Follower 2 asks for offset 0 and gets both records.
            answer 2
                It has m0 and the first record of the new epoch.
            fetch 2
                A record of the leader's own epoch has reached a majority: only now it is committed,
                and with it all records before.
        """),
    ),
    Scenario(
        name="G-14",
        title="A committed offset waits for the replicas, and moves with the leader",
        about=(
            "The partition is of `__consumer_offsets`, and its leader is the group coordinator. A "
            "commit is a record like any other: it is answered, and a consumer sees it, when the "
            "high watermark has passed it. The next leader loads the log and is the coordinator "
            "then. Up to 3.9 it shows a record above the high watermark, too."
        ),
        rules="4.2",
        also=("3.9",),
        options={"brokers": 3, "partition": "__consumer_offsets-0"},
        script=_script("""
            fetch 1
                Both followers wait for records.
            fetch 2
                Both followers wait for records.
            commit billing orders-0=42
                The coordinator appends the commit. The high watermark is 0, so it does not answer
                yet.
            ask offset billing orders-0
                A consumer that starts now gets no offset: the commit does not count before all
                in-sync replicas have it.
            answer 1
                Follower 1 has the commit.
            answer 2
                Follower 2 has it, too.
            fetch 1
                Follower 1 asks for offset 1. The leader still waits for follower 2.
            fetch 2
                The high watermark rises to 1: the coordinator puts 42 into its table and answers.
            ask offset billing orders-0
                The group resumes at 42.
            commit billing orders-0=50
                The next commit goes to both followers.
            answer 1
                Follower 1 has it, and knows the high watermark 1.
            answer 2
                Follower 2 has it, too.
            crash 0
                The coordinator dies before it has answered. Broker 1 leads, loads the partition and
                is the coordinator; its high watermark is still 1.
            ask offset billing orders-0
                Since 4.0 the group resumes at 42: the commit of 50 is in the log, but above the
                high watermark. From 2.1 to 3.9 it is 50, because a load ends at the log end offset
                and shows everything.
            fetch 2
                Follower 2 asks for offset 2, so the high watermark rises to 2.
            ask offset billing orders-0
                The group resumes at 50: nothing is lost, although no client got an answer. Up to
                2.0 a load ends at the high watermark, and the commit comes back with the next load
                only.
            start 0
                The old coordinator starts as a follower and loads nothing.
            ask offset billing orders-0 to 0
                It answers NOT_COORDINATOR; a client looks for the coordinator again.
        """),
    ),
)

SCENARIOS: Final = {scenario.name: scenario for scenario in _ALL}
"""Every scenario by its name."""


def scenario_of(name: str) -> Scenario:
    """Return a scenario.

    Raises:
        ReplicationError: there is none of that name.
    """
    found = SCENARIOS.get(name)
    if found is None:
        raise ReplicationError(f"scenario {name!r}: expected one of {', '.join(SCENARIOS)}")
    return found


def play(
    scenario: str | Scenario,
    *,
    rules: str | None = None,
    acks: int | None = None,
    **options: Any,
) -> Playback:
    """Play a scenario.

    Args:
        scenario: its name, or a scenario.
        rules: the version whose rules hold; None takes the scenario's.
        acks: of every produce, in place of the scenario's: -1 (all), 0 or 1.
        options: of the `Cluster`, in place of the scenario's, such as ``min_insync_replicas``.

    Raises:
        ReplicationError: there is no such scenario.
        ConfigError: the rules are no version.
    """
    chosen = scenario_of(scenario) if isinstance(scenario, str) else scenario
    script = [
        (event._replace(acks=acks) if acks is not None and event.do == "produce" else event, why)
        for event, (_, why) in zip(chosen.events, chosen.script, strict=True)
    ]
    return play_events(
        script,
        title=f"{chosen.name} {chosen.title}",
        about=chosen.about,
        **{**chosen.options, "rules": rules or chosen.rules, **options},
    )
