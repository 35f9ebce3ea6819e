"""A crash or a failing disk at any moment of a cleaning: all records of before, or of after it."""

import errno
import shutil
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

import pytest

from tests.engine.cleaned_log import Cleanings, Content, known_producers, load, write
from tests.engine.crash_states import CrashState, crash_states
from tests.engine.file_systems import FailingFileSystem, RecordingFileSystem
from workbench.errors import StorageError

BY_CHANCE = 80  # states that are left to chance
GOES_ON = 20  # from every state of this distance, the cleaning is done again
ERRORS: tuple[int | Literal["short"], ...] = (errno.EIO, errno.ENOSPC, "short")
PARTS = 2


class Reference(NamedTuple):
    """A log and how it was cleaned without a crash."""

    folder: Path
    end: int
    recording: RecordingFileSystem
    contents: list[Content]
    producers: object


@pytest.fixture(scope="module")
def reference(common_workplace: Path) -> Reference:
    written = common_workplace / "written"
    end = write(written)
    cleaned = common_workplace / "cleaned"
    shutil.copytree(written, cleaned)
    fs = RecordingFileSystem(cleaned)
    cleanings = Cleanings(cleaned, end, fs)
    log = cleanings.run()
    return Reference(written, end, fs, cleanings.contents, known_producers(log))


def states_of(reference: Reference) -> list[CrashState]:
    """Return each state that is not left to chance, and some that are."""
    states = list(crash_states(reference.recording, seed=5, extra=1))
    certain = [state for state in states if state.choice != "by chance"]
    chance = [state for state in states if state.choice == "by chance"]
    return certain + Random(5).sample(chance, min(BY_CHANCE, len(chance)))


def check(reference: Reference, root: Path, possible: range, *, on: bool) -> int:
    """Load a folder; return which content it has, the last that it may have been.

    Args:
        reference: what may be there.
        root: the log directory.
        possible: numbers of the contents that it may have.
        on: whether to clean again: in the end the same is left as without a crash.
    """
    log = load(root, reference.end)
    content = Content.of(log)
    found = [number for number in possible if reference.contents[number] == content]
    assert found, "neither as before a swap nor as after it"
    assert known_producers(log) == reference.producers
    log.close()
    if on:
        again = Cleanings(root, reference.end).run()
        assert Content.of(again).values() == reference.contents[-1].values()
        again.close()
    return found[-1]


def test_the_cleaning_comes_to_everything(reference: Reference) -> None:
    operations = reference.recording.operations
    names = {operation.kind for operation in operations}
    assert {"create", "write", "sync", "rename", "remove", "set_modified"} <= names
    assert sum(operation.kind == "rename" for operation in operations) > 40
    assert any(operation.path.endswith(".txnindex.cleaned") for operation in operations)
    assert len(reference.contents) > 6  # three groups, twice
    assert len(reference.contents[-1].aborted) < len(reference.contents[0].aborted)


@pytest.mark.slow
def test_a_crash_after_any_operation_leaves_the_log_as_before_or_as_after_a_swap(
    reference: Reference, memory_path: Path
) -> None:
    met = set()
    for number, state in enumerate(states_of(reference)):
        root = memory_path / f"{number}"
        state.write_to(root)
        swapped = state.marks[-1] if state.marks else 0
        possible = range(swapped, min(swapped + 2, len(reference.contents)))
        try:
            met.add(check(reference, root, possible, on=number % GOES_ON == 0))
        except BaseException as error:
            operation = reference.recording.operations[state.at - 1]
            error.add_note(f"state {number}: {state.at}, {state.choice}, after {operation[:3]}")
            raise
        shutil.rmtree(root)
    assert met == set(range(len(reference.contents)))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(PARTS))
def test_an_operation_that_fails_ends_the_cleaning_and_loses_nothing(
    first: int, reference: Reference, memory_path: Path
) -> None:
    opened, _ = reference.recording.marks[0]
    count = len(reference.recording.operations)
    assert count - opened > 200
    for number in range(opened + first, count, PARTS):
        root = memory_path / f"{number}"
        shutil.copytree(reference.folder, root)
        fs = FailingFileSystem(number, Random(number).choice(ERRORS))
        cleanings = Cleanings(root, reference.end, fs)
        try:
            with suppress(StorageError):
                cleanings.run()
            assert fs.failed is not None
            possible = range(len(reference.contents))
            check(reference, root, possible, on=number % GOES_ON == 0)
        except BaseException as failure:
            failure.add_note(f"operation {number} of {count}: {fs.failed and fs.failed[:3]}")
            raise
        shutil.rmtree(root)
