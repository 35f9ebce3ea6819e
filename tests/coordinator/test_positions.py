"""Committed offsets beside the logs that they are about, and what cannot be known."""

from pathlib import Path

import pyarrow as pa
import pytest

import workbench
from tests.coordinator.writing import TIME, CoordinatorLog, commit, group
from tests.naive import Record, batch
from workbench.coordinator.groups import expiry
from workbench.coordinator.offsets import positions
from workbench.coordinator.runtime.partitioning import partition_for
from workbench.files.leader_epochs import LeaderEpochs
from workbench.files.names import TopicPartition
from workbench.loaders.schemas import schema_of
from workbench.tables.groups import CommittedOffsetRow

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1


@pytest.fixture
def log(tmp_path: Path) -> CoordinatorLog:
    return CoordinatorLog(tmp_path)


def _topic(root: Path, name: str = "foo-0", base: int = 10, count: int = 5) -> Path:
    folder = root / name
    folder.mkdir()
    records = [Record(base + at, TIME, None, b"v") for at in range(count)]
    (folder / f"{base:020}.log").write_bytes(batch(records))
    return folder


def _states(log: CoordinatorLog) -> dict[int, tuple[str | None, int | None]]:
    return {
        each.committed.offset: (each.position.state, each.position.lag)
        for each in log.coordinator().offsets()
    }


@pytest.mark.parametrize(
    ("offset", "state", "lag"),
    [
        (10, positions.IN_THE_LOG, 5),
        (15, positions.IN_THE_LOG, 0),
        (16, positions.BEYOND_END, -1),
        (9, positions.BELOW_START, 6),
        (-1, positions.BELOW_START, 16),
        (LOWEST, positions.BELOW_START, None),
        (HIGHEST, positions.BEYOND_END, 15 - HIGHEST),
    ],
)
def test_an_offset_beside_its_log(
    log: CoordinatorLog, tmp_path: Path, offset: int, state: str, lag: int | None
) -> None:
    _topic(tmp_path)
    log.append(commit("g", "foo", 0, offset))
    assert _states(log) == {offset: (state, lag)}
    table = workbench.open_log_directory(tmp_path).inspect.group_offsets()
    assert table.schema == schema_of(CommittedOffsetRow)
    assert table["lag"].to_pylist() == [lag]
    assert table["log_start_offset"].to_pylist() == [10]


def test_what_is_not_here_is_unknown(log: CoordinatorLog) -> None:
    log.append(commit("g", "foo", 0, 1))
    (found,) = log.coordinator().offsets()
    position = found.position
    assert (position.log_end_offset, position.lag, position.state) == (None, None, None)
    assert position.reason == "the partition is not in these directories"


def test_a_folder_that_waits_for_its_removal_is_gone(log: CoordinatorLog, tmp_path: Path) -> None:
    _topic(tmp_path, f"foo-0.{'0' * 32}-delete")
    log.append(commit("g", "foo", 0, 1))
    assert _states(log) == {1: (positions.TOPIC_GONE, None)}


def test_a_topic_with_another_id_was_recreated(log: CoordinatorLog, tmp_path: Path) -> None:
    folder = _topic(tmp_path)
    (folder / "partition.metadata").write_text("version: 0\ntopic_id: q2itc_CbSySKWltU1niWnw\n")
    log.append(commit("g", "foo", 0, 11, 4, topicId="ieoyKSJYTY2cEnlgEekSDw"))
    assert _states(log) == {11: (positions.RECREATED, 4)}
    log.append(commit("g", "foo", 0, 12, 4, topicId="q2itc_CbSySKWltU1niWnw"))
    assert _states(log) == {12: (positions.IN_THE_LOG, 3)}


def test_a_leader_epoch_above_the_logs_is_of_another_log(
    log: CoordinatorLog, tmp_path: Path
) -> None:
    folder = _topic(tmp_path)
    (folder / "leader-epoch-checkpoint").write_text("0\n1\n3 10\n")
    assert LeaderEpochs.read(str(folder / "leader-epoch-checkpoint")).entries[-1].epoch == 3
    log.append(commit("g", "foo", 0, 11, leaderEpoch=3))
    assert _states(log) == {11: (positions.IN_THE_LOG, 4)}
    log.append(commit("g", "foo", 0, 11, leaderEpoch=4))
    assert _states(log) == {11: (positions.RECREATED, 4)}


def test_the_clusters_metadata_know_which_topics_are_gone() -> None:
    sample = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
    logs = positions.LogPositions(workbench.open_log_directory(sample).listing)
    assert logs.cluster is not None
    assert logs.cluster.partition_counts["orders"] == 3
    assert logs.cluster.partition_counts["__consumer_offsets"] == 3
    assert logs.cluster.features["group.version"] == 1
    assert logs.absence(TopicPartition("orders", 7)) == (
        positions.TOPIC_GONE,
        "the topic has 3 partitions in __cluster_metadata",
    )
    assert logs.absence(TopicPartition("nosuch", 0))[0] == positions.TOPIC_GONE


def test_a_time_that_no_clock_reaches_never_comes(log: CoordinatorLog, tmp_path: Path) -> None:
    """Arrow has no number for it."""
    log.append(commit("g", "foo", 0, 1, commitTimestamp=HIGHEST))
    (found,) = log.coordinator().offsets()
    assert found.expiry == (None, expiry.SINCE_COMMIT)
    table = workbench.open_log_directory(tmp_path).inspect.group_offsets()
    assert table["expires_at"].cast(pa.int64()).to_pylist() == [None]


def test_a_group_in_a_wrong_partition_is_a_finding(tmp_path: Path) -> None:
    """A broker looks in the other partition, and finds nothing."""
    logs = [CoordinatorLog(tmp_path, partition=number) for number in range(3)]
    for number, log in enumerate(logs):
        log.append(*(group(f"g{n}") for n in range(9) if partition_for(f"g{n}", 3) == number))
        if number == (partition_for("lost", 3) + 1) % 3:
            log.append(commit("lost", "foo", 0, 1))
        log.write()
    coordinator = logs[0].coordinator()
    assert coordinator.partition_count == 3
    (finding,) = coordinator.findings()
    assert (finding.kind, finding.severity) == ("group-partition", "warning")
    assert finding.expected.endswith("the topic has 3 partitions")
    assert coordinator.groups["lost"].unserved is not None
    assert [each.unserved is None for each in coordinator.offsets("lost")] == [False]
    assert coordinator.groups["g0"].unserved is None
