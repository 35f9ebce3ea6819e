"""What brokers of every era wrote reads without a problem and is written again byte for byte."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden.cases import open_case
from workbench.files import names
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.clean_shutdown import CleanShutdown
from workbench.files.indexes import offset_index, time_index
from workbench.files.indexes.entry_run import IndexFile
from workbench.files.indexes.offset_index import OffsetIndex
from workbench.files.indexes.time_index import TimeIndex
from workbench.files.indexes.transaction_index import TransactionIndex
from workbench.files.leader_epochs import LeaderEpochs
from workbench.files.meta_properties import MetaProperties
from workbench.files.partition_metadata import PartitionMetadata
from workbench.files.producer_snapshot import ProducerSnapshot
from workbench.files.quorum_state import QuorumState
from workbench.files.reading import SmallFile

SMALL: dict[str, type[SmallFile]] = {
    names.CLEAN_SHUTDOWN: CleanShutdown,
    names.LEADER_EPOCHS: LeaderEpochs,
    names.META_PROPERTIES: MetaProperties,
    names.PARTITION_METADATA: PartitionMetadata,
    names.QUORUM_STATE: QuorumState,
    **dict.fromkeys(names.OFFSET_CHECKPOINTS, OffsetCheckpoint),
}
INDEXES: dict[str, type[IndexFile]] = {
    "index": OffsetIndex,
    "timeindex": TimeIndex,
    "txnindex": TransactionIndex,
}

# Kinds of file that must be among those of the case, so that none is compared with nothing.
CASES = {
    "k0.8.2-formats": {"index", names.HIGH_WATERMARKS, names.CLEAN_SHUTDOWN},
    "k0.11-transactions": {"index", "timeindex", "txnindex", "snapshot", names.LEADER_EPOCHS},
    "k1.1-crash": {"index", "timeindex", "snapshot", names.RECOVERY_POINTS},
    "2.8.2-dirs": {"index", "timeindex", names.META_PROPERTIES},
    "3.9.1-raft-dynamic": {"index", "snapshot", names.QUORUM_STATE, names.CLEAN_SHUTDOWN},
    "4.2.0-txn": {"index", "timeindex", "txnindex", "snapshot", names.CLEANER_OFFSETS},
    "4.2.0-crash-produce-1": {"index", "timeindex", names.PARTITION_METADATA},
}


def files_of(folder: Path) -> Iterator[tuple[str, Path, int]]:
    """Yield (kind, path, offset in the name) of what a broker wrote."""
    for path in sorted(folder.rglob("*")):
        parsed = names.parse_file_name(path.name)
        if path.name in SMALL:
            yield path.name, path, 0
        elif parsed is not None:
            yield parsed.kind, path, parsed.offset


@pytest.mark.parametrize("name", CASES)
def test_files_of_a_broker_are_sound_and_written_again_the_same(name: str, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for kind, path, offset in files_of(open_case(name, tmp_path).path):
        data = path.read_bytes()
        if kind in INDEXES:
            index = INDEXES[kind].read(str(path), offset)
            assert data.startswith(index.encode()), path
            assert not any(data[len(index.encode()) :]), path
        elif kind == "snapshot":
            assert ProducerSnapshot.read(str(path)).encode() == data, path
        elif kind == names.META_PROPERTIES:
            assert data.endswith(MetaProperties.read(str(path)).encode()), path
        elif kind in SMALL and data:  # an empty checkpoint is one that was never written
            assert SMALL[kind].read(str(path)).encode() == data, path
        seen[kind] += 1
    assert CASES[name] <= set(seen)


def test_the_last_entries_are_those_of_the_whole_index(tmp_path: Path) -> None:
    allocated = 0
    for kind, path, offset in files_of(open_case("4.2.0-crash-produce-1", tmp_path).path):
        if kind == "index":
            index = OffsetIndex.read(str(path), offset)
            assert offset_index.read_last(str(path), offset) == (index[-1] if len(index) else None)
            allocated += index.slack > 0
        elif kind == "timeindex":
            times = TimeIndex.read(str(path), offset)
            assert time_index.read_last(str(path), offset) == (times[-1] if len(times) else None)
    assert allocated  # the killed broker's active segments


@pytest.mark.parametrize(
    ("damage", "file", "kind"),
    [
        ("clean-flag-garbage", names.CLEAN_SHUTDOWN, "malformed"),
        ("cleaner-checkpoint-garbage", names.CLEANER_OFFSETS, "malformed"),
        ("high-watermark-garbage", names.HIGH_WATERMARKS, None),
        ("leader-epoch-count", names.LEADER_EPOCHS, "wrong count"),
        ("leader-epoch-garbage", names.LEADER_EPOCHS, "malformed"),
        ("leader-epoch-version", names.LEADER_EPOCHS, "unknown version"),
        ("log-start-garbage", names.LOG_START_OFFSETS, "wrong count"),
        ("partition-metadata-garbage", names.PARTITION_METADATA, None),
        ("recovery-point-garbage", names.RECOVERY_POINTS, None),
    ],
)
def test_damage_that_a_broker_met_is_found(
    damaged_directories: Path, damage: str, file: str, kind: str | None
) -> None:
    problems = [
        problem
        for path in sorted((damaged_directories / damage / "before").rglob(file))
        for problem in SMALL[file].read(str(path), strict=False).problems
    ]
    assert problems
    assert kind is None or {problem.kind for problem in problems} == {kind}


@pytest.fixture(scope="module")
def damaged_directories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_case("4.2.0-damage-directory", tmp_path_factory.mktemp("damaged")).path
