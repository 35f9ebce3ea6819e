"""Replicas as clusters of real brokers left them, read by us and held against what clients saw."""

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import pytest

import workbench as wb
from tests.golden.replication_cases import (
    ARCHIVES,
    END,
    NAMES,
    ReplicationCase,
    open_replication_case,
)
from tests.golden.served import JavaConsumers, Wanted
from tests.replication_clusters.schedules import PARTITION, SCHEDULES, TOPIC
from workbench.decoders.cluster_metadata import decode_value
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import TopicPartition

Replication = Callable[[str], ReplicationCase]

NO_CHANGE = -2  # a leader in PartitionChangeRecord

# Where replicas differ below the high watermarks of both: case, label, two brokers, first offset.
COMMITTED_AND_DIFFERENT = {
    ("0.10.2.2-high-watermark-truncation", "old-leader-back", 1, 3): 1,
    ("0.10.2.2-high-watermark-truncation", END, 1, 2): 1,
    ("0.10.2.2-high-watermark-truncation", END, 1, 3): 1,
    ("0.10.2.2-unclean-election", "apart", 1, 2): 1,
    ("0.10.2.2-unclean-election", END, 1, 2): 1,
    ("1.1.1-two-unclean-elections", "apart", 1, 2): 1,
    ("1.1.1-two-unclean-elections", END, 1, 2): 1,
    ("2.8.2-two-unclean-elections", "apart", 1, 2): 1,
    ("2.8.2-unclean-election", "apart", 1, 2): 1,
    ("3.3.2-unclean-ignored", "apart", 1, 2): 1,
    ("3.6.2-unclean-ignored", "apart", 1, 2): 1,
    ("3.7.2-unclean-ignored", "apart", 1, 2): 1,
    ("3.8.1-unclean-ignored", "apart", 1, 2): 1,
    ("3.9.1-unclean-election", "apart", 1, 2): 1,
    ("4.2.0-last-leader-loses-power", "apart", 1, 2): 3,
    ("4.2.0-last-leader-loses-power-no-elr", "apart", 1, 2): 3,
    ("4.2.0-two-unclean-elections", "apart", 1, 2): 1,
    ("4.2.0-unclean-by-hand", "apart", 1, 2): 1,
    ("4.2.0-unclean-election", "apart", 1, 2): 1,
    ("4.2.0-unclean-election-no-elr", "apart", 1, 2): 1,
}
# By case and broker, the first offset at which its log differs from that of the last broker.
DIFFERENT_AT_THE_END = {
    ("0.10.2.2-high-watermark-truncation", 1): 1,
    ("0.10.2.2-old-leader-halts", 1): 1,
    ("0.10.2.2-old-leader-halts", 2): 1,
    ("0.10.2.2-unclean-election", 1): 1,
    ("1.1.1-two-unclean-elections", 1): 1,
}
# Acknowledged records that consumers do not get at the end.
LOST = {
    "0.10.2.2-high-watermark-truncation": ["m1 acks=-1"],
    "0.10.2.2-leader-killed": ["m3 acks=1", "m4 acks=1"],
    "0.10.2.2-old-leader-halts": ["m1 acks=-1"],
    "0.10.2.2-unclean-election": ["m1 acks=-1", "m2 acks=-1"],
    "1.1.1-leader-killed": ["m3 acks=1", "m4 acks=1"],
    "1.1.1-two-unclean-elections": ["b1 acks=-1", "b2 acks=-1", "b3 acks=-1"],
    "1.1.1-zombie-leader": ["z acks=1"],
    "2.8.2-leader-killed": ["m3 acks=1", "m4 acks=1"],
    "2.8.2-two-unclean-elections": ["b1 acks=-1", "b2 acks=-1", "b3 acks=-1"],
    "2.8.2-unclean-election": ["m1 acks=-1", "m2 acks=-1"],
    "2.8.2-zombie-leader": ["z acks=1"],
    "3.3.2-leader-killed": ["m3 acks=1", "m4 acks=1"],
    "3.3.2-unclean-ignored": ["m1 acks=-1"],
    "3.6.2-unclean-ignored": ["m1 acks=-1"],
    "3.7.2-leader-killed": ["m3 acks=1", "m4 acks=1"],
    "3.7.2-unclean-ignored": ["m1 acks=-1"],
    "3.8.1-unclean-ignored": ["m1 acks=-1"],
    "3.9.1-leader-killed": ["m3 acks=1", "m4 acks=1"],
    "3.9.1-unclean-election": ["m1 acks=-1", "m2 acks=-1"],
    "4.2.0-eligible-leader": ["x acks=1"],
    "4.2.0-last-leader-loses-power": ["m3 acks=-1", "m4 acks=-1"],
    "4.2.0-last-leader-loses-power-no-elr": ["m3 acks=-1", "m4 acks=-1"],
    "4.2.0-leader-killed": ["m3 acks=1", "m4 acks=1"],
    "4.2.0-two-unclean-elections": ["b1 acks=-1", "b2 acks=-1", "b3 acks=-1"],
    "4.2.0-unclean-by-hand": ["m1 acks=-1"],
    "4.2.0-unclean-election": ["m1 acks=-1", "m2 acks=-1"],
    "4.2.0-unclean-election-no-elr": ["m1 acks=-1", "m2 acks=-1"],
    "4.2.0-zombie-leader": ["z acks=1"],
}
# Broker and offset of each truncation. 0.10.2 also logs those that change nothing.
TRUNCATED = {
    "0.10.2.2-high-watermark-truncation": [(2, 0), (3, 0), (3, 1), (1, 2), (2, 1)],
    "0.10.2.2-leader-killed": [(2, 0), (3, 0), (3, 2), (1, 2)],
    "0.10.2.2-old-leader-halts": [(2, 0), (3, 0), (3, 1), (1, 2)],
    "0.10.2.2-unclean-election": [(2, 0), (1, 3), (1, 2)],
    "1.1.1-leader-killed": [(1, 3)],
    "1.1.1-two-unclean-elections": [(2, 3)],
    "1.1.1-zombie-leader": [(1, 1)],
    "2.8.2-leader-killed": [(1, 3)],
    "2.8.2-two-unclean-elections": [(2, 1)],
    "2.8.2-unclean-election": [(1, 1)],
    "2.8.2-zombie-leader": [(1, 1)],
    "3.3.2-leader-killed": [(1, 3)],
    "3.3.2-unclean-ignored": [(1, 1)],
    "3.6.2-unclean-ignored": [(1, 1)],
    "3.7.2-leader-killed": [(1, 3)],
    "3.7.2-unclean-ignored": [(1, 1)],
    "3.8.1-unclean-ignored": [(1, 1)],
    "3.9.1-leader-killed": [(1, 3)],
    "3.9.1-unclean-election": [(1, 1)],
    "4.2.0-last-leader-loses-power": [(1, 3)],
    "4.2.0-last-leader-loses-power-no-elr": [(1, 3)],
    "4.2.0-leader-killed": [(1, 3)],
    "4.2.0-two-unclean-elections": [(2, 1)],
    "4.2.0-unclean-by-hand": [(1, 1)],
    "4.2.0-unclean-election": [(1, 1)],
    "4.2.0-unclean-election-no-elr": [(1, 1)],
    "4.2.0-zombie-leader": [(1, 1)],
}
# What verify reports: brokers know more than is left of their logs.
FOUND = {
    ("4.2.0-eligible-leader", "down", 1): ["checkpoint-beyond-end"],
    ("4.2.0-follower-loses-power", "apart", 2): ["checkpoint-beyond-end"],
    ("4.2.0-last-leader-loses-power", "down", 2): [
        "checkpoint-beyond-end",
        "leader-epochs-mismatch",
    ],
    ("4.2.0-last-leader-loses-power-no-elr", "down", 2): [
        "checkpoint-beyond-end",
        "leader-epochs-mismatch",
    ],
}


class Batch(NamedTuple):
    """What must be the same on every replica. The records are in batches of their own."""

    offset: int
    epoch: int
    crc: int


@pytest.fixture(scope="module")
def replication(tmp_path_factory: pytest.TempPathFactory) -> Replication:
    """Return a function from a case's name to the extracted case, shared by the module."""
    into = tmp_path_factory.mktemp("replication")

    @cache
    def case(name: str) -> ReplicationCase:
        return open_replication_case(name, into)

    return case


def partition_of(case: ReplicationCase, label: str, broker: int) -> wb.Partition:
    return wb.open_log_directory(case.directory(label, broker))[PARTITION]


def batches_of(case: ReplicationCase, label: str, broker: int) -> list[Batch]:
    """Return the batches from the log start offset on."""
    partition = partition_of(case, label, broker)
    names = ["base_offset", "partition_leader_epoch", "crc"]
    rows = [row for s in partition.segments for row in s.batches.rows[names].tolist()]
    return [Batch(*row) for row in rows if row[0] >= partition.log_start_offset]


def high_watermark_of(case: ReplicationCase, label: str, broker: int) -> int | None:
    """Return the checkpointed high watermark."""
    path = case.directory(label, broker) / "replication-offset-checkpoint"
    return OffsetCheckpoint.read(str(path)).offsets.get(TopicPartition(TOPIC, 0))


def committed_end(case: ReplicationCase, label: str, broker: int) -> int:
    """Return the offset below which a replica knows its records to be committed.

    A replica that lost power has a checkpointed high watermark past its log end offset.
    """
    log_end_offset = partition_of(case, label, broker).log_end_offset
    return min(high_watermark_of(case, label, broker) or 0, log_end_offset)


def values_of(case: ReplicationCase, label: str, broker: int) -> list[tuple[int, str]]:
    logs = wb.open_log_directory(case.directory(label, broker))
    table = logs.scan(columns=("offset", "value")).to_arrow()
    return [(row["offset"], row["value"].decode()) for row in table.to_pylist()]


def test_every_archive_has_the_checksum_it_was_packed_with() -> None:
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in ARCHIVES.glob("*.tar.xz")
    }
    lines = [line.split("  ") for line in (ARCHIVES / "SHA256SUMS").read_text().splitlines()]
    assert found == {name: checksum for checksum, name in lines}
    assert sum(path.stat().st_size for path in ARCHIVES.iterdir()) <= 3_000_000


def test_each_schedule_was_recorded_as_it_is() -> None:
    assert set(NAMES) == set(SCHEDULES)


@pytest.mark.parametrize("name", NAMES)
def test_a_case_is_its_schedule_s(name: str, replication: Replication) -> None:
    case, schedule = replication(name), SCHEDULES[name]
    assert [one["step"] for one in case.steps] == schedule.steps
    assert json.loads(json.dumps(schedule.steps)) == schedule.steps
    assert case.truth["topic"]["replicas"] == schedule.replicas
    assert case.truth["topic"]["configs"] == schedule.topic


@pytest.mark.parametrize("name", NAMES)
def test_log_ends_and_high_watermarks_are_those_that_brokers_told(
    name: str, replication: Replication
) -> None:
    case = replication(name)
    compared = 0
    for label in case.labels:
        for broker in case.brokers:
            log_end_offset = partition_of(case, label, broker).log_end_offset
            high_watermark = high_watermark_of(case, label, broker) or 0
            told = case.offsets(label, broker)
            if told is None:
                continue
            assert high_watermark <= log_end_offset
            assert log_end_offset == told.log_end_offset, (label, broker)
            if case.is_running(label, broker):
                assert high_watermark == told.high_watermark, (label, broker)
            if label == END:  # its checkpoint is written once a minute
                log_start_offset = partition_of(case, label, broker).log_start_offset
                assert log_start_offset == told.log_start_offset
            compared += 1
    assert compared >= 3


@pytest.mark.parametrize("name", NAMES)
def test_no_high_watermark_is_past_a_log_end_in_the_isr_or_past_the_leader_s(
    name: str, replication: Replication
) -> None:
    compared = 0
    for one in replication(name).steps:
        replicas = {int(b): at for b, at in (one["state"] or {"replicas": {}})["replicas"].items()}
        leader = replicas.get(one["state"]["leader"]) if replicas else None
        if leader is None:
            continue
        for broker, at in replicas.items():
            if at is not None:
                assert at["high_watermark"] <= leader["high_watermark"], one["step"]
                assert at["high_watermark"] <= at["log_end_offset"]
                if broker in one["state"]["isr"]:
                    assert leader["high_watermark"] <= at["log_end_offset"], one["step"]
                compared += 1
    assert compared >= 10


@pytest.mark.parametrize("name", NAMES)
def test_leader_epochs_agree_with_the_batches(name: str, replication: Replication) -> None:
    case = replication(name)
    for label in case.labels:
        for broker in case.brokers:
            partition = partition_of(case, label, broker)
            told = case.offsets(label, broker)  # the epochs are trimmed before the checkpoint is
            start = told.log_start_offset if told is not None else 0
            batches = [b for b in batches_of(case, label, broker) if b.offset >= start]
            epochs = partition.leader_epochs
            entries = epochs.entries if epochs is not None else ()
            if name.startswith("0.10"):  # there are no leader epochs yet
                assert entries == ()
                continue
            assert [batch.epoch for batch in batches] == [
                max(entry.epoch for entry in entries if entry.start_offset <= batch.offset)
                for batch in batches
            ]
            assert list(entries) == sorted(set(entries))
            assert [entry.start_offset for entry in entries] == sorted(
                entry.start_offset for entry in entries
            )
            first = {batch.epoch: batch.offset for batch in reversed(batches)}
            starts = {entry.epoch: entry.start_offset for entry in entries}
            assert {epoch: starts[epoch] for epoch in first} == first, (label, broker)


def first_difference(one: list[Batch], other: list[Batch], below: int) -> int | None:
    """Return the first offset below a limit at which two logs do not hold the same batch."""
    ours, theirs = ({b.offset: b for b in log if b.offset < below} for log in (one, other))
    differing = [at for at in ours.keys() | theirs.keys() if ours.get(at) != theirs.get(at)]
    return min(differing, default=None)


def test_replicas_are_equal_below_their_high_watermarks_but_where_records_were_lost(
    replication: Replication,
) -> None:
    found = {}
    for name in NAMES:
        case = replication(name)
        for label in case.labels:
            logs = {broker: batches_of(case, label, broker) for broker in case.brokers}
            marks = {b: committed_end(case, label, b) for b in case.brokers}
            for one in case.brokers:
                for other in range(one + 1, case.brokers[-1] + 1):
                    below = min(marks[one], marks[other])
                    at = first_difference(logs[one], logs[other], below)
                    if at is not None:
                        found[name, label, one, other] = at
    assert found == COMMITTED_AND_DIFFERENT


def test_replicas_are_equal_at_the_end_but_where_nothing_compares_them(
    replication: Replication,
) -> None:
    found = {}
    for name in NAMES:
        case = replication(name)
        logs = [batches_of(case, END, broker) for broker in case.brokers]
        for broker, log in zip(case.brokers, logs, strict=True):
            at = first_difference(log, logs[-1], 1 << 62)
            if at is not None:
                found[name, broker] = at
    assert found == DIFFERENT_AT_THE_END


@pytest.mark.parametrize("name", NAMES)
def test_the_last_leader_has_what_consumers_got(name: str, replication: Replication) -> None:
    case = replication(name)
    leader = case.steps[-1]["state"]["leader"]
    assert values_of(case, END, leader) == case.consumed


def test_acknowledged_records_are_consumed_at_their_offsets_but_those_known_to_be_lost(
    replication: Replication,
) -> None:
    lost: dict[str, list[str]] = {}
    for name in NAMES:
        case = replication(name)
        consumed = {value: offset for offset, value in case.consumed}
        first = case.consumed[0][0]
        for record in case.acknowledged:
            if record.offset is not None and record.offset < first:
                continue  # deleted
            if record.value not in consumed:
                lost.setdefault(name, []).append(f"{record.value} acks={record.acks}")
            elif record.offset is not None:
                assert consumed[record.value] == record.offset
    assert lost == LOST


def test_brokers_truncated_where_the_logs_say(replication: Replication) -> None:
    found = {
        name: [
            (truncation.broker, truncation.offset) for truncation in replication(name).truncations
        ]
        for name in NAMES
    }
    assert {name: told for name, told in found.items() if told} == TRUNCATED
    for name in NAMES:
        if name.startswith(
            ("3.", "4.")
        ):  # the fetcher says what it decided, and the log what it did
            decisions = [
                (broker, offset)
                for broker, offset, is_complete, why in replication(name).decisions
                if is_complete and "leader epoch" in why
            ]
            assert decisions == TRUNCATED.get(name, [])


@pytest.mark.parametrize("name", TRUNCATED)
def test_what_is_below_a_truncation_stays_and_what_is_above_goes(
    name: str, replication: Replication
) -> None:
    case = replication(name)
    for broker in case.brokers:
        moments = list(case.labels.items())
        for (before, first), (after, last) in pairwise(moments):
            old, new = (batches_of(case, label, broker) for label in (before, after))
            cuts = [
                cut.offset
                for cut in case.truncations
                if cut.broker == broker and first < cut.step <= last
            ]
            stays = [batch for batch in old if batch.offset < min(cuts, default=1 << 62)]
            lost = lost_power(case, broker, first, last)
            stays = [batch for batch in stays if batch.offset not in lost]
            assert new[: len(stays)] == stays, (broker, before, after)
            # Up to 0.10.2 a follower also removes what it then fetches again.
            if cuts and len(old) > len(stays) and not name.startswith("0.10"):
                assert old[len(stays)] not in new


def lost_power(case: ReplicationCase, broker: int, first: int, last: int) -> set[int]:
    """Return the offsets that a broker lost by a kill between two steps."""
    return {
        offset
        for one in case.steps[first + 1 : last + 1]
        if one["step"]["do"] == "kill" and one["step"]["broker"] == broker
        for offset in one["result"]["lost_offsets"]
    }


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(("3.", "4."))])
def test_the_controller_s_log_tells_each_leader_and_isr_that_clients_saw(
    name: str, replication: Replication
) -> None:
    case = replication(name)
    told = [one["state"] for one in case.steps if one["state"]]
    seen = [
        (
            state["leader"],
            state["leader_epoch"],
            state["isr"],
            state["elr"] if case.tells_elr else [],
            state["last_known_elr"] if case.tells_elr else [],
        )
        for state in told
    ]
    history, at = list(leaderships(case)), 0
    for number, state in enumerate(seen):
        assert state in history[at:], f"state {number} of {len(seen)}"
        at = history.index(state, at)


def leaderships(
    case: ReplicationCase,
) -> Iterator[tuple[int, int, list[int], list[int], list[int]]]:
    """Yield leader, epoch, ISR, ELR and last known ELR after each change in the metadata log."""
    logs = wb.open_log_directory(case.path / END / "controller")
    leader, epoch = -1, -1
    isr: list[int] = []
    elr: list[int] = []
    last_known: list[int] = []
    for row in logs.scan(columns=("key", "value")).to_arrow().to_pylist():
        decoded = decode_value(row["key"], row["value"])
        if decoded.get("type") not in {"PartitionRecord", "PartitionChangeRecord"}:
            continue
        data = decoded["data"]
        if data["leader"] != NO_CHANGE:
            leader, epoch = data["leader"], epoch + 1
        isr = isr if data["isr"] is None else sorted(data["isr"])
        # Version 0 of the records, that of 3.3 to 3.9, has no ELR.
        elr = elr if data.get("eligibleLeaderReplicas") is None else data["eligibleLeaderReplicas"]
        last_known = last_known if data.get("lastKnownElr") is None else data["lastKnownElr"]
        yield leader, epoch, isr, sorted(elr), last_known


def test_verify_finds_the_losses_of_power_and_nothing_else(replication: Replication) -> None:
    found = {}
    for name in NAMES:
        case = replication(name)
        for label in case.labels:
            for broker in case.brokers:
                findings = wb.open_log_directory(case.directory(label, broker)).verify()
                if findings:
                    found[name, label, broker] = sorted({finding.kind for finding in findings})
    assert found == FOUND


@pytest.mark.broker
def test_a_client_reads_each_cluster_from_the_replica_that_is_ahead(
    replication: Replication, consumers: JavaConsumers
) -> None:
    places = [(replication(name), label) for name in NAMES for label in replication(name).labels]
    wanted = [
        Wanted(
            tuple(case.directory(label, broker) for broker in case.brokers),
            "read_uncommitted",
            {(TOPIC, 0): [0]},
        )
        for case, label in places
    ]
    unequal = {name for name, _ in DIFFERENT_AT_THE_END}
    for (case, label), served in zip(places, consumers.consume(wanted), strict=True):
        compared = wb.compare_replicas(
            {broker: case.directory(label, broker) for broker in case.brokers}
        )
        ahead = compared[PARTITION].ahead
        found = [(row["offset"], row["value"].decode()) for row in served.records[TOPIC, 0]]
        assert found == values_of(case, label, int(ahead)), (case, label)
        if label == END and case.name not in unequal:
            assert found == case.consumed, case
