"""Hold the states that crashes leave of a log against what must be there."""

import shutil
from pathlib import Path
from random import Random

from tests.engine.crash_states import CrashState, crash_states
from tests.engine.life import Life, expected_after, open_log
from tests.engine.soundness import (
    assert_epochs_sound,
    assert_producers_sound,
    assert_snapshots_sound,
    assert_sound,
    lasting_files,
    producers,
)
from workbench.errors import CorruptRecordError


def sample(life: Life, count: int, seed: int) -> list[CrashState]:
    """Return states that crashes may leave, at most that many of them."""
    states = list(crash_states(life.fs, seed=seed))
    assert len(states) > count // 2
    return states if len(states) <= count else Random(seed).sample(states, count)


def check(state: CrashState, life: Life, root: Path, *, again: bool) -> bool:
    """Load a state and hold what is there against what must be; False if Kafka refuses it.

    Args:
        state: to be loaded.
        life: that led to it.
        root: to write it to.
        again: load twice more.
    """
    state.write_to(root)
    expected = expected_after(state)
    try:
        log = open_log(root, life.config)
    except CorruptRecordError as error:
        if not is_refused_by_kafka(error, state):
            raise
        return False
    found = assert_sound(log)
    by_offset = {batch.first_offset: batch for batch in found}
    for offset, batch in expected.durable.items():
        assert by_offset.get(offset) == batch, f"{offset} was flushed"
    for batch in found:
        assert batch in life.written.get(batch.first_offset, ()), "it was never written"
    assert_epochs_sound(log, expected.log_start)
    assert_producers_sound(log)
    assert_snapshots_sound(log)
    log.close_handlers()
    log.context.scheduler.shutdown()
    if again:
        check_again(root, life, {batch.first_offset: batch.data for batch in found})
    return True


def check_again(root: Path, life: Life, found: dict[int, bytes]) -> None:
    """Load what was loaded before: from the second time on nothing changes.

    (The first time segments may be left over that the second one removes, and producers of batches
    that are gone may be known for the last time.)
    """
    before = None
    for _ in range(2):
        log = open_log(root, life.config)
        assert {batch.first_offset: batch.data for batch in assert_sound(log)} == found
        assert_producers_sound(log)
        state = (log.log_start_offset, log.log_end_offset, producers(log), lasting_files(log))
        log.close_handlers()
        assert before is None or before == state
        before = state


def is_refused_by_kafka(error: CorruptRecordError, state: CrashState) -> bool:
    """Return whether a broker would not start either, though nothing that was flushed is lost.

    A roll makes the new segment's `.log` first, and the indexes when it is appended to. If a crash
    comes between, and has torn the segment before, that one is read to rebuild the new one's index
    before recovery comes to it.
    """
    torn = Path(str(error.path)).name
    return any(
        path.endswith(".log")
        and Path(path).name > torn
        and path.removesuffix(".log") + ".index" not in state.tree
        for path in state.tree
    )


def check_all(life: Life, states: list[CrashState], root: Path) -> None:
    """Check states one after the other; few of them may be refused."""
    refused = 0
    for number, state in enumerate(states):
        folder = root / f"{number}"
        try:
            refused += not check(state, life, folder, again=number % 3 == 0)
        except BaseException as error:
            error.add_note(f"state {number}: {state.at}, {state.choice}, {life.fs.operations[-1]}")
            raise
        shutil.rmtree(folder)
    assert refused <= len(states) // 10
