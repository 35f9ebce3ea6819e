"""The offset manager on damaged logs, and on disks that fail."""

import random
import shutil
from pathlib import Path

import pytest

from tests.engine.file_systems import FailingFileSystem, Operation
from workbench.coordinator.group_coordinator.offset_manager import OffsetManager
from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.runtime.coordinator_runtime import PartitionState
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.errors import CoordinatorError, CorruptFileError
from workbench.log_manager.manager import LogManager
from workbench.runtime.error_codes import ErrorCode

CONFIG = OffsetConfig(topic_num_partitions=1)
MUTATIONS = 150
PARTITION = f"{GROUPS_TOPIC}-0"
LOG = f"{0:020}.log"


def fill(root: Path) -> None:
    """Commit for several groups, in transactions too."""
    with LogManager([root]) as manager, OffsetManager(manager, config=CONFIG) as offsets:
        for number in range(12):
            offsets.commit(f"g{number % 3}", {"t-0": number, "u-1": number})
            if number % 4 == 0:
                offsets.commit_transactional(
                    "g0", {"t-0": number}, producer_id=number, producer_epoch=0
                )
                offsets.complete_transaction(0, number, 0, 0, is_commit=True)
        for number in range(20):
            offsets.commit("many", {f"t-{number}": number})


@pytest.mark.parametrize("era", list(CoordinatorEra))
def test_a_damaged_log_is_loaded_or_not_served(workplace: Path, era: CoordinatorEra) -> None:
    """Any bits flipped: nothing but the errors of a coordinator, and no commit is lost then."""
    fill(workplace / "good")
    rng = random.Random(era)
    seen: set[PartitionState | None] = set()
    for number in range(MUTATIONS // len(CoordinatorEra)):
        root = workplace / f"{number}"
        shutil.copytree(workplace / "good", root)
        path = root / PARTITION / LOG
        data = bytearray(path.read_bytes())
        for _ in range(rng.choice([1, 3, 30])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        manager = LogManager([root])
        try:
            manager.startup(with_tasks=False)
        except CorruptFileError:
            continue  # a broker would not start either
        offsets = OffsetManager(manager, config=CONFIG, era=era)
        offsets.startup(with_tasks=False)
        state = offsets.runtime.state_of(0)
        seen.add(state)
        if state is PartitionState.ACTIVE:
            try:
                offsets.commit("new", {"t-0": 1})
            except CoordinatorError:
                offsets.fetch("new")
            else:
                assert offsets.fetch("new")["t-0"].offset == 1
                offsets.cleanup_group_metadata()
        else:
            with pytest.raises(CoordinatorError, match="NOT_COORDINATOR"):
                offsets.fetch("g0")
        manager.shutdown()
    assert PartitionState.ACTIVE in seen


def test_a_disk_that_fails_takes_the_coordinator_with_it(workplace: Path) -> None:
    """GO-26: KAFKA_STORAGE_ERROR is answered as NOT_COORDINATOR, then and later."""
    is_broken = False

    def only(operation: Operation) -> bool:
        return is_broken and operation.kind == "write" and operation.path.endswith(".log")

    fs = FailingFileSystem(0, stays=True, only=only)
    root = workplace / "data"
    manager = LogManager([root, workplace / "other"], fs=fs)
    manager.startup(with_tasks=False)
    log = manager.get_or_create_log(PARTITION)
    offsets = OffsetManager(manager, config=CONFIG)
    offsets.startup(with_tasks=False)
    offsets.commit("g", {"t-0": 1})
    is_broken = True
    for _ in range(2):
        with pytest.raises(CoordinatorError) as error:
            offsets.commit("g", {"t-0": 2})
        assert error.value.code == ErrorCode.NOT_COORDINATOR
    assert manager.offline_directories == [log.parent_directory]
    assert offsets.fetch("g")["t-0"].offset == 1
    manager.shutdown()
    assert fs.failed is not None
