"""The scenarios of Kafka's improvement proposals, as logs on disk; what is said of them.

G-2 and so on: how a cluster came to such logs is in the comments, as steps of its brokers.
"""

from pathlib import Path

import pytest

import workbench as wb
from tests.comparison.replicas import Written, compare, kinds, run, write_replica
from workbench.files import names
from workbench.files.leader_epochs import EpochEntry, LeaderEpochs


def test_equal_replicas_are_alike_and_no_batch_is_decoded(tmp_path: Path) -> None:
    brokers = {
        name: write_replica(tmp_path / name, run(0, 30, 0) + run(30, 40, 2), high_watermark=40)
        for name in "abc"
    }
    found = compare(**brokers)
    assert (found.verdict, found.divergence_offset, found.findings) == ("alike", None, ())
    assert (found.committed_at_least, found.committed_at_most) == (40, 40)
    assert [pair.decoded_batches for pair in found.pairs] == [0, 0, 0]
    # The two that equal the one ahead are not read a second time.
    assert sorted(pair.equal_batches for pair in found.pairs) == [0, 40, 40]
    assert found.would_truncate_to("a") == {"b": 40, "c": 40}
    assert {each.lost for each in found.leaderships.values()} == {None}


def test_a_replica_that_lags_has_nothing_else(tmp_path: Path) -> None:
    ahead = write_replica(tmp_path / "1", run(0, 20, 0), high_watermark=12)
    lags = write_replica(tmp_path / "2", run(0, 12, 0), high_watermark=10)
    found = compare(one=ahead, two=lags)
    assert (found.verdict, found.ahead, found.divergence_offset) == ("lag", "one", None)
    assert kinds(found) == ["replica-lag"]
    assert (found.committed_at_least, found.committed_at_most) == (12, 20)
    assert found.would_truncate_to("two") == {"one": 12}
    assert found.would_truncate_to("one") == {"two": 12}
    assert found.leaderships["two"].lost is None
    assert found.leaderships["two"].uncommitted == 8


def test_a_lagging_leader_would_lose_what_is_committed(tmp_path: Path) -> None:
    ahead = write_replica(tmp_path / "1", run(0, 20, 0), high_watermark=18)
    lags = write_replica(tmp_path / "2", run(0, 12, 0), high_watermark=10)
    found = compare(one=ahead, two=lags)
    assert found.leaderships["two"].lost == (12, 18)
    assert found.leaderships["two"].uncommitted == 2
    assert found.leaderships["one"].lost is None
    assert "As leader, it would lose committed offsets 12 to 17." in found.findings[0].broker


def test_divergence_after_power_loss_g2(tmp_path: Path) -> None:
    # Both had m0 and m1 with high watermark 2; B lost m1 in the crash, led and wrote m2.
    a = write_replica(tmp_path / "a", run(0, 2, 0), high_watermark=2)
    b = write_replica(tmp_path / "b", [*run(0, 1, 0), Written(1, 1, 1, "other")], high_watermark=2)
    found = compare(a=a, b=b)
    assert (found.verdict, found.ahead, found.divergence_offset) == ("loss", "b", 1)
    assert kinds(found) == ["committed-lost", "replica-divergence", "unclean-election"]
    (lost,) = found.committed.lost
    assert (lost.broker, lost.start, lost.end, lost.is_on_disk) == ("a", 1, 2, True)
    assert found.would_truncate_to("a") == {"b": 1}
    rounds = found.truncation("a", "b").rounds
    assert [str(each) for each in rounds] == [
        "fetch(2, epoch 0) → diverging: epoch 0 ends at 1: truncate to 1",
        "fetch(1, epoch 0) → records",
    ]


def test_fast_failover_g3(tmp_path: Path) -> None:
    # B led epoch 1 with m2, then A led epoch 2 with m3, without having truncated m1.
    a = write_replica(tmp_path / "a", [*run(0, 2, 0), *run(2, 3, 2)], high_watermark=1)
    b = write_replica(tmp_path / "b", [*run(0, 1, 0), Written(1, 1, 1, "b")], high_watermark=1)
    found = compare(a=a, b=b)
    assert (found.ahead, found.divergence_offset) == ("a", 1)
    assert found.verdict == "divergence"  # nothing that differs was committed
    assert found.would_truncate_to("b") == {"a": 1}
    assert (found.committed_at_least, found.committed_at_most) == (1, 3)


def test_two_unclean_elections_g4(tmp_path: Path) -> None:
    a = write_replica(tmp_path / "a", [*run(0, 3, 1), *run(3, 5, 3)], high_watermark=5)
    b = write_replica(tmp_path / "b", [*run(0, 1, 1), *run(1, 4, 2, "b")], high_watermark=4)
    found = compare(a=a, b=b)
    assert (found.ahead, found.divergence_offset, found.verdict) == ("a", 1, "loss")
    assert found.would_truncate_to("b") == {"a": 1}
    assert found.would_truncate_to("a") == {"b": 1}
    assert found.leaderships["a"].lost == (1, 4)
    assert found.leaderships["b"].lost == (1, 5)


def test_a_longer_log_with_an_older_epoch_is_behind_g7(tmp_path: Path) -> None:
    a = write_replica(tmp_path / "a", run(0, 9, 0), high_watermark=9)
    b = write_replica(tmp_path / "b", [*run(0, 1, 0), *run(1, 3, 4, "b")], high_watermark=3)
    found = compare(a=a, b=b)
    assert (found.ahead, found.divergence_offset, found.verdict) == ("b", 1, "loss")
    assert found.committed.lost[0].end == 9
    (unclean,) = [each for each in found.findings if each.kind == "unclean-election"]
    assert (unclean.path, unclean.offset) == (str(b / "orders-0"), 1)


def test_the_end_of_the_log_is_lost_everywhere_g8(tmp_path: Path) -> None:
    # The last replica in sync crashed and lost what it had not flushed.
    last = write_replica(tmp_path / "2", run(0, 1, 0), high_watermark=4, clean=False)
    others = {name: write_replica(tmp_path / name, run(0, 2, 0), high_watermark=2) for name in "01"}
    found = compare(two=last, **{f"b{name}": path for name, path in others.items()})
    assert (found.verdict, found.divergence_offset) == ("loss", None)
    assert {"committed-lost", "checkpoint-beyond-end"} <= set(kinds(found))
    (lost,) = found.committed.lost
    assert (lost.broker, lost.start, lost.end, lost.is_on_disk) == ("two", 2, 4, False)


def test_a_lost_end_that_another_replica_has_is_a_warning(tmp_path: Path) -> None:
    a = write_replica(tmp_path / "a", run(0, 2, 0), high_watermark=4)
    b = write_replica(tmp_path / "b", run(0, 4, 0), high_watermark=4)
    found = compare(a=a, b=b)
    assert (found.verdict, kinds(found)) == ("lag", ["checkpoint-beyond-end", "replica-lag"])


def test_a_leader_that_starts_after_the_end_of_a_follower_g11(tmp_path: Path) -> None:
    leader = write_replica(tmp_path / "l", run(0, 90, 0), start=60, high_watermark=90)
    follower = write_replica(tmp_path / "f", run(0, 10, 0), high_watermark=10)
    found = compare(l=leader, f=follower)
    assert (found.verdict, found.divergence_offset) == ("lag", None)
    truncation = found.truncation("f", "l")
    assert truncation.rounds[0].is_full
    assert truncation.offset == 60
    assert found.would_truncate_to("l") == {"f": 10}


def test_only_what_both_logs_cover_is_compared(tmp_path: Path) -> None:
    whole = write_replica(tmp_path / "a", run(0, 40, 0), high_watermark=40)
    later = write_replica(tmp_path / "b", run(0, 40, 0), start=25, high_watermark=40)
    within = write_replica(
        tmp_path / "c", [Written(0, 10, 0, "gone"), *run(10, 40, 0)], start=15, high_watermark=40
    )
    found = compare(a=whole, b=later, c=within)
    assert (found.verdict, found.divergence_offset) == ("alike", None)
    assert {(p.left, p.right): p.start for p in found.pairs} == {
        ("a", "b"): 25, ("a", "c"): 15, ("b", "c"): 25,
    }  # fmt: skip


def test_batches_split_otherwise_are_compared_record_by_record(tmp_path: Path) -> None:
    # Since the log start is inside a batch, and the records are the same, nothing differs.
    one = write_replica(tmp_path / "a", [Written(0, 10, 0), Written(10, 10, 0)])
    other = write_replica(tmp_path / "b", [Written(0, 7, 0), Written(7, 6, 0), Written(13, 7, 0)])
    found = compare(a=one, b=other)
    assert (found.verdict, found.divergence_offset) == ("alike", None)
    assert found.pairs[0].equal_batches == 0
    assert found.pairs[0].decoded_batches > 0
    changed = write_replica(
        tmp_path / "c", [Written(0, 7, 0), Written(7, 5, 0), Written(12, 8, 0, "x")]
    )
    assert compare(a=one, c=changed).divergence_offset == 12


def test_a_log_compacted_on_one_side_only_is_alike(tmp_path: Path) -> None:
    policy = {"cleanup.policy": "compact", "segment.bytes": 400, "min.cleanable.dirty.ratio": 0.0}
    dirty = write_replica(tmp_path / "a", run(0, 60, 0), settings=policy, high_watermark=60)
    cleaned = write_replica(
        tmp_path / "b",
        [each for each in run(0, 60, 0) if each.first % 3 == 0 or each.first >= 40],
        settings=policy,
        high_watermark=60,
    )
    (cleaned / names.CLEANER_OFFSETS).write_bytes(b"0\n1\norders 0 40\n")
    found = compare(a=dirty, b=cleaned)
    assert (found.verdict, found.divergence_offset) == ("alike", None)
    (pair,) = found.pairs
    assert (pair.only_left, pair.only_right) == (26, 0)
    assert [each.kind for each in found.findings] == ["compacted-apart"]
    (cleaned / names.CLEANER_OFFSETS).unlink()
    found = compare(a=dirty, b=cleaned)
    assert (found.verdict, found.divergence_offset) == ("divergence", 1)
    assert kinds(found) == ["replica-gap"]


def test_other_records_under_the_same_epoch_stay_after_truncation(tmp_path: Path) -> None:
    # As before 0.11, when followers truncated to their high watermarks (G-2 of that time).
    a = write_replica(tmp_path / "a", run(0, 6, 0), high_watermark=6)
    b = write_replica(tmp_path / "b", [*run(0, 3, 0), *run(3, 6, 0, "other")], high_watermark=6)
    found = compare(a=a, b=b)
    assert found.divergence_offset == 3
    assert kinds(found).count("silent-divergence") == 2
    assert found.would_truncate_to("a") == {"b": 6}
    assert found.pairs[0].epoch_divergence is None


def test_equal_records_of_different_epochs_differ(tmp_path: Path) -> None:
    # A producer sent its batch again, to the next leader: followers truncate it all the same.
    a = write_replica(tmp_path / "a", run(0, 4, 0))
    b = write_replica(tmp_path / "b", [*run(0, 3, 0), *run(3, 4, 1)])
    found = compare(a=a, b=b)
    assert (found.divergence_offset, found.pairs[0].epoch_divergence) == (3, 3)
    assert found.would_truncate_to("a") == {"b": 3}


def test_a_leader_that_appended_nothing_is_not_ahead(tmp_path: Path) -> None:
    a = write_replica(tmp_path / "a", run(0, 5, 0), leads=3)
    b = write_replica(tmp_path / "b", run(0, 6, 0))
    found = compare(a=a, b=b)
    assert (found.ahead, found.verdict) == ("b", "lag")
    # A broker drops the entry at the log end offset when it loads the log.
    assert found.replica("a").stored_epochs == (EpochEntry(0, 0), EpochEntry(3, 5))
    assert found.replica("a").epochs == (EpochEntry(0, 0),)


def test_damage_is_no_divergence(tmp_path: Path) -> None:
    brokers = {
        name: write_replica(tmp_path / name, run(0, 30, 0), high_watermark=30) for name in "ab"
    }
    segment = min((brokers["b"] / "orders-0").glob("*.log"))
    data = bytearray(segment.read_bytes())
    data[-3] ^= 1  # in the last record of the first segment
    segment.write_bytes(data)
    found = compare(**brokers)
    assert (found.verdict, kinds(found), found.divergence_offset) == ("damage", ["crc"], None)
    damaged = found.findings[0].offset
    assert found.replica("b").lost == ((damaged, (damaged or 0) + 1),)
    assert wb.compare_replicas(brokers, deep=False)["orders-0"].verdict == "alike"
    (brokers["b"] / names.CLEAN_SHUTDOWN).unlink()
    found = compare(**brokers)
    # After an unclean shutdown, recovery truncates the log there.
    assert found.replica("b").recovered_end_offset == damaged
    assert found.replica("b").restart_high_watermark == damaged
    assert found.leaderships["b"].lost == (damaged, 30)


def test_a_missing_segment_is_a_gap(tmp_path: Path) -> None:
    brokers = {name: write_replica(tmp_path / name, run(0, 60, 0)) for name in "ab"}
    second = sorted((brokers["a"] / "orders-0").glob("*.log"))[1]
    second.unlink()
    found = compare(**brokers)
    assert (kinds(found), found.divergence_offset) == (["replica-gap"], int(second.name[:20]))


def test_without_a_leader_epoch_file_a_follower_truncates_to_its_high_watermark(
    tmp_path: Path,
) -> None:
    a = write_replica(tmp_path / "a", run(0, 9, 0), high_watermark=7)
    b = write_replica(tmp_path / "b", run(0, 9, 0), high_watermark=9)
    (a / "orders-0" / names.LEADER_EPOCHS).unlink()
    found = compare(a=a, b=b)
    assert found.would_truncate_to("a") == {"b": 7}
    assert found.would_truncate_to("b") == {"a": 9}
    assert (found.verdict, kinds(found)) == ("alike", ["needless-truncation"])


def test_a_wrong_leader_epoch_file_is_told(tmp_path: Path) -> None:
    a = write_replica(tmp_path / "a", [*run(0, 5, 0), *run(5, 9, 2)])
    b = write_replica(tmp_path / "b", [*run(0, 5, 0), *run(5, 9, 2)])
    wrong = LeaderEpochs((EpochEntry(0, 0), EpochEntry(2, 7)))  # 2 began at 5
    (b / "orders-0" / names.LEADER_EPOCHS).write_bytes(wrong.encode())
    found = compare(a=a, b=b)
    assert "leader-epochs-mismatch" in kinds(found)
    assert found.pairs[0].epoch_divergence == 5
    assert found.divergence_offset is None


def test_epochs_below_the_log_start_offset_need_no_entry(tmp_path: Path) -> None:
    # A leader whose first records were deleted, killed before it wrote the log start offset.
    history = [*run(0, 5, 0), *run(5, 9, 2), *run(9, 12, 3)]
    a = write_replica(tmp_path / "a", history)
    b = write_replica(tmp_path / "b", history)
    cut = LeaderEpochs((EpochEntry(2, 7), EpochEntry(3, 9)))
    (b / "orders-0" / names.LEADER_EPOCHS).write_bytes(cut.encode())
    assert compare(a=a, b=b).findings == ()


def test_the_replicas_need_one_topic_and_one_cluster(tmp_path: Path) -> None:
    brokers = {name: write_replica(tmp_path / name, run(0, 5, 0)) for name in "ab"}
    for number, path in enumerate(brokers.values()):
        (path / "orders-0" / names.PARTITION_METADATA).write_text(
            f"version: 0\ntopic_id: {'AB'[number]}AAAAAAAAAAAAAAAAAAAAQ"
        )
        (path / names.META_PROPERTIES).write_text(
            f"version=1\nnode.id={number}\ncluster.id=cluster{number}\n"
        )
    found = wb.compare_replicas(brokers)
    assert [each.kind for each in found.findings] == ["cluster-id", "topic-id"]
    assert found.verdict == "divergence"


def test_a_partition_of_one_broker_is_alone(tmp_path: Path) -> None:
    a = write_replica(tmp_path / "a", run(0, 5, 0), high_watermark=3)
    b = write_replica(tmp_path / "b", run(0, 5, 0))
    (b / "orders-0").rename(b / "users-0")
    found = wb.compare_replicas({"a": a, "b": b})
    assert [each.name for each in found] == ["orders-0", "users-0"]
    assert found["orders-0"].replicas[0].broker == "a"
    assert (found["orders-0"].verdict, found["orders-0"].pairs) == ("alike", ())
    assert (found["orders-0"].committed_at_least, found["orders-0"].committed_at_most) == (3, 5)


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    a = write_replica(tmp_path / "a", run(0, 5, 0))
    with pytest.raises(wb.LogDirectoryError, match="no broker was given"):
        wb.compare_replicas({})
    with pytest.raises(wb.LogDirectoryError, match="given for broker 2 and for 1"):
        wb.compare_replicas({1: a, 2: a})
    with pytest.raises(wb.LogDirectoryError, match="no such file"):
        wb.compare_replicas({1: a, 2: tmp_path / "nowhere"})
    with pytest.raises(LookupError, match="no broker has topic 'users'"):
        wb.compare_replicas({1: a}, topics="users")
    with pytest.raises(LookupError, match="no broker has partition 7"):
        wb.compare_replicas({1: a}, partitions=7)
