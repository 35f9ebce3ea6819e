"""Start a log manager on what a crash left, and hold its logs against what must be there."""

from pathlib import Path

from tests.engine.crash_checks import is_refused_by_kafka
from tests.engine.crash_states import CrashState, Tree
from tests.engine.manager_life import NOW, Durable, ManagerLife, manager_of
from tests.engine.soundness import assert_producers_sound, assert_sound
from workbench.errors import CorruptRecordError
from workbench.files.names import TopicPartition
from workbench.log_manager.registry import DuplicateLogError

LATER = NOW + 1_000_000


def check_manager(state: CrashState, life: ManagerLife, root: Path) -> bool:
    """Start on a state twice, then after a clean shutdown; False if Kafka would not start.

    Every log must have what was flushed, and nothing that was not written to it.
    """
    state.write_to(root)
    manager = manager_of(root, now=LATER)
    try:
        manager.startup(with_tasks=False)
    except (CorruptRecordError, DuplicateLogError) as error:
        if not is_refusal_of_kafka(error, state):
            raise
        return False
    assert manager.offline_directories == []
    durable: Durable = state.marks[-1] if state.marks else {}
    ends: dict[TopicPartition, tuple[int, int]] = {}
    for partition, log in manager.logs.items():
        found = assert_sound(log)
        assert_producers_sound(log)
        by_offset = {batch.first_offset: batch for batch in found}
        for offset, batch in durable.get(partition, {}).items():
            assert by_offset.get(offset) == batch, f"{partition} {offset} was flushed"
        written = life.written.get(partition, {})
        assert all(batch in written.get(batch.first_offset, ()) for batch in found)
        ends[partition] = (log.log_start_offset, log.log_end_offset)
    assert all(partition in ends for partition, batches in durable.items() if batches)
    manager.shutdown()
    again = manager_of(root, now=LATER)
    outcomes = again.startup(with_tasks=False)
    assert all(outcome.error is None for outcome in outcomes)
    found_ends = {p: (log.log_start_offset, log.log_end_offset) for p, log in again.logs.items()}
    assert found_ends == ends
    again.shutdown()
    return True


def is_refusal_of_kafka(error: Exception, state: CrashState) -> bool:
    """Return whether a broker would not start either.

    A torn segment before one whose index was not made yet (`is_refused_by_kafka`), or a log that
    was moving: the copy has its name already, and the one it replaces still has it.
    """
    if isinstance(error, DuplicateLogError):
        folders = [path for path, data in state.tree.items() if data is None and "/" in path]
        names = [Path(path).name for path in folders]
        return any(names.count(name) > 1 and name in str(error) for name in names)
    assert isinstance(error, CorruptRecordError)
    folder = "/".join(Path(str(error.path)).parts[-3:-1])
    within: Tree = {
        path: data for path, data in state.tree.items() if path.startswith(f"{folder}/")
    }
    return is_refused_by_kafka(error, state._replace(tree=within))
