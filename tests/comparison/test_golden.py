"""What is said of the disks of real clusters, against what their brokers and clients saw."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

import workbench as wb
from tests.golden.cases import Case, names
from workbench.comparison.results import PartitionComparison
from workbench.inspection.cluster.loading import read_stored_cluster
from workbench.loaders.tables.replica_comparison import ReplicaComparison

Golden = Callable[[str], Case]

TRUNCATED_TO: Final = {"2.8.2": 21, "3.9.1": 21, "4.2.0": 30}
"""As the log of broker 1 says: "Truncating partition unclean-0 with TruncationState(offset=..."."""
UNCLEAN: Final = ("unclean-0", "unclean-gzip-0", "unclean-txn-0")
ELECTED: Final = ("rep2-0", "rep3-0", "rep3-1")


def compare(case: Case, when: str) -> ReplicaComparison:
    return wb.compare_replicas(
        {number: case.directory(f"{when}/broker{number}") for number in (1, 2, 3)}
    )


def served(case: Case) -> dict[str, int]:
    """Return partition → the log end offset that a client was told, after all had started."""
    offsets = case.info["headline"]["listOffsets"]["read_uncommitted"]
    return {name: ends[1] for name, ends in offsets.items()}


@pytest.mark.parametrize("name", names("replicas"))
def test_replicas_that_were_in_sync_are_alike(name: str, golden: Golden) -> None:
    case = golden(name)
    found = compare(case, "after")
    assert found.verdict == "alike"
    assert not found.findings
    for each in found:
        assert each.committed_at_least == each.committed_at_most == served(case)[each.name]
        assert {pair.decoded_batches for pair in each.pairs} == {0}
        assert all(replica.high_watermark == each.committed_at_most for replica in each.replicas)


@pytest.mark.parametrize("name", names("replicas"))
def test_diverged_logs_are_told_as_the_brokers_then_found(name: str, golden: Golden) -> None:
    case = golden(name)
    found = compare(case, "before")
    offset = TRUNCATED_TO[case.version]
    for partition in ELECTED:
        assert found[partition].verdict == "alike"
    for partition in UNCLEAN:
        each = found[partition]
        assert (each.ahead, each.divergence_offset) == ("2", offset)
        assert each.verdict in {"divergence", "loss"}
        # What broker 1 did when it started again, and what was served then.
        assert each.would_truncate_to("1") == {"2": offset}
        assert each.truncation("1", "2").rounds[0].diverging_epoch == (0, offset)
        assert each.committed_at_least == served(case)[partition]
        assert each.pairs[0].epoch_divergence == offset


@pytest.mark.parametrize("name", names("replicas"))
def test_acknowledged_records_that_were_lost_are_where_the_logs_differ(
    name: str, golden: Golden
) -> None:
    case = golden(name)
    found = compare(case, "before")
    consumed = {(r["topic"], r["partition"], r["offset"], r["value"]) for r in case.consumed()}
    lost: dict[str, set[int]] = {}
    for row in case.truth():
        if "error" in row:
            continue
        if (row["topic"], row["partition"], row["offset"], row["value"]) not in consumed:
            lost.setdefault(f"{row['topic']}-{row['partition']}", set()).add(row["offset"])
    counted = case.info["read_back"]["of_these_lost_by_unclean_election"]
    assert sum(map(len, lost.values())) == counted
    assert set(lost) == set(UNCLEAN)
    for partition, offsets in lost.items():
        each = found[partition]
        assert offsets == set(range(each.divergence_offset or 0, each.replica("1").log_end_offset))
        for known in each.committed.lost:  # by a high watermark that lags
            assert set(range(known.start, known.end)) <= offsets
        assert each.truncation("1", "2").removes == len(offsets)


def test_an_election_below_a_high_watermark_leaves_a_trace(golden: Golden) -> None:
    found = compare(golden("4.2.0-replicas"), "before")
    traces = {
        each.name: [f.offset for f in each.findings if f.kind == "unclean-election"]
        for each in found
    }
    assert traces["unclean-0"] == traces["unclean-gzip-0"] == [30]
    # Broker 1 was killed before it had written a higher watermark than 30.
    assert traces["unclean-txn-0"] == []
    assert found["unclean-0"].verdict == "loss"
    assert found["unclean-txn-0"].verdict == "divergence"


@pytest.mark.parametrize("name", names("raft"))
def test_one_broker_at_three_times_is_a_log_that_grows(name: str, golden: Golden) -> None:
    case = golden(name)
    found = wb.compare_replicas(
        {when: case.directory(when) for when in ("clean", "before", "after")}
    )
    metadata = found["__cluster_metadata-0"]
    assert (metadata.ahead, metadata.divergence_offset) == ("after", None)
    assert metadata.verdict == "lag"
    ends = [replica.log_end_offset for replica in metadata.replicas]
    assert ends == sorted(ends)
    assert not [each for each in found if each.divergence_offset is not None]


@pytest.mark.parametrize("name", names("raft$"))
def test_the_metadata_log_tells_leader_and_in_sync_replicas(name: str, golden: Golden) -> None:
    case = golden(name)
    found = wb.compare_replicas({1: case.directory("after")})
    known = {each.name: each.registration for each in found if each.registration is not None}
    assert known
    for partition, registration in known.items():
        assert registration.replicas == (1,), partition
        # A controlled shutdown leaves no leader; ELR (4.0) keeps who may lead again.
        assert registration.leader in {1, -1}
        assert {*registration.isr, *registration.elr} <= {1}


@pytest.mark.parametrize("name", names("raft$"))
def test_leaders_and_in_sync_replicas_are_those_that_a_client_was_told(
    name: str, golden: Golden
) -> None:
    """Between the start of the third run and its kill, no more than the metadata log says."""
    case = golden(name)
    cluster = read_stored_cluster(
        wb.open_log_directory(case.directory("before"))["__cluster_metadata-0"]
    )
    told = case.info["headline"]["state_2"]["topics"]
    for topic, state in told.items():
        for each in state["partitions"]:
            found = cluster.partitions[state["id"], each["partition"]]
            assert (found.leader, list(found.isr)) == (each["leader"], each["isr"]), topic
            assert list(found.replicas) == each["replicas"]
    assert {topic_id for topic_id, _ in cluster.partitions} == set(cluster.topic_ids.values())


def test_an_unclean_election_is_told_by_the_metadata_log(golden: Golden) -> None:
    """The broker was killed, so the controller emptied the ELR, then elected the last leader."""
    case = golden("4.2.0-raft")
    traces = {}
    for when in ("clean", "after"):
        found = wb.compare_replicas({1: case.directory(when)})
        traces[when] = {
            each.name for each in found for f in each.findings if f.kind == "unclean-election"
        }
    assert traces["clean"] == set()
    assert "meta-0-0-0" in traces["after"]


def test_assignments_are_compared_with_the_metadata_log(golden: Golden, tmp_path: Path) -> None:
    """Both copies are of broker 1; the second says that it is broker 2's."""
    case = golden("3.9.1-raft")
    for number in (1, 2):
        shutil.copytree(case.directory("after"), tmp_path / str(number))
    shutil.rmtree(tmp_path / "1" / "meta-0-2-0")
    properties = tmp_path / "2" / "meta.properties"
    properties.write_text(properties.read_text().replace("node.id=1", "node.id=2"))
    found = wb.compare_replicas({"one": tmp_path / "1", "two": tmp_path / "2"})
    told = {each.name: {f.kind for f in each.findings} for each in found}
    assert {"replica-missing", "replica-unassigned"} <= told["meta-0-2-0"]
    assert "replica-unassigned" in told["meta-0-2-1"]
    assert "replica-missing" not in told["meta-0-2-1"]
    assert found["meta-0-2-0"].verdict == "lag"


def test_json_has_the_promised_names(golden: Golden) -> None:
    each: PartitionComparison = compare(golden("4.2.0-replicas"), "before")["unclean-0"]
    told = each.as_dict()
    assert (told["divergence_offset"], told["committed_at_least"], told["committed_at_most"]) == (
        30, 48, 48,
    )  # fmt: skip
    first, second = told["replicas"]
    assert (first["broker"], first["log_end_offset"], first["last_epoch"]) == ("1", 55, 2)
    assert (first["high_watermark"], first["would_truncate_to"]) == (55, {"2": 30})
    assert (second["high_watermark"], second["would_truncate_to"]) == (48, {"1": 30})
    assert second["lost_as_leader"] == [30, 55]
    assert [verdict["kind"] for verdict in told["verdicts"]] == [
        "replica-divergence", "committed-lost", "unclean-election",
    ]  # fmt: skip


def test_the_table_has_a_row_for_each_replica(golden: Golden) -> None:
    found = compare(golden("4.2.0-replicas"), "before")
    frame = found.to_pandas()
    assert len(frame) == 2 + 3 + 3 + 2 * 3
    row = frame[(frame.topic == "unclean") & (frame.broker == "1")].iloc[0]
    assert (row.log_end_offset, row.common_end, row.truncates_to) == (55, 30, 30)
    assert (row.is_ahead, row.lost_as_leader, row.stop) == (False, 18, "unclean")
    assert found.findings_to_arrow().num_rows == len(found.findings)
    assert "unclean-0: loss" in str(found)
    assert "differ from" in found._repr_html_()


def before_and_after(case: Case) -> Iterator[tuple[str, str]]:
    """Yield the labels of a directory before and after a start, or a round of the cleaner."""
    for label in case.labels:
        after = label.replace("before", "after")
        if "before" in label and after in case.labels and not label.startswith("fatal"):
            yield label, after


COMPACTED: Final = (
    *names("compact-", version="4.2"),
    *(f"k{version}-compaction" for version in ("0.8.2", "0.10.0", "0.11", "2.3")),
    "k0.10.2-message-format",
)


@pytest.mark.parametrize("name", COMPACTED)
def test_a_cleaned_log_is_alike_the_log_before(name: str, golden: Golden) -> None:
    """Magic 0 to 2, every codec, tombstones, transactions, aborted ones: nothing else changes."""
    case = golden(name)
    apart = 0
    for before, after in before_and_after(case):
        found = wb.compare_replicas(
            {"before": case.directory(before), "after": case.directory(after)}
        )
        for each in found:
            assert each.divergence_offset is None, (before, each.name)
            apart += sum(pair.only_left for pair in each.pairs)
            assert not any(pair.only_right for pair in each.pairs)
    assert apart > 0 or name == "k0.10.2-message-format"


STRAY: Final = "dmg-metadata-rm-0"  # the broker set this directory aside, and made another


@pytest.mark.parametrize("name", names("crash-produce|damage-unclean|damage$", version="4.2"))
def test_the_log_end_offset_after_recovery_is_the_brokers(name: str, golden: Golden) -> None:
    case = golden(name)
    checked = 0
    for before, after in before_and_after(case):
        found = wb.compare_replicas(
            {"before": case.directory(before), "after": case.directory(after)}
        )
        for each in found:
            if len(each.replicas) == 2 and each.name != STRAY:
                broken, started = each.replicas
                assert broken.recovered_end_offset == started.log_end_offset, each.name
                checked += 1
    assert checked
