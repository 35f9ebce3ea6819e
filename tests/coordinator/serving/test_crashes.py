"""A coordinator that is killed at any write: the next one ends the transaction as decided."""

import shutil
from pathlib import Path

import pytest

from tests.coordinator.serving.house import ORDERS, PAYMENTS, TransactionHouse
from tests.engine.crash_states import CrashState, crash_states
from tests.engine.file_systems import RecordingFileSystem
from workbench.coordinator.transaction_coordinator.request_checks import ProducerIdAndEpoch
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.steps import Step

DECIDED, ANSWERED, COMPLETE = "decided", "answered", "complete"


def _end_recorded(root: Path, version: int, *, commit: bool) -> list[CrashState]:
    """Return what a kill may leave at every operation of an EndTxn, the last write also in part."""
    root.mkdir()
    recording = RecordingFileSystem(root)
    house = TransactionHouse(root, version, holds=True, fs=recording)
    producer = house.init()
    client = 2 if version == 2 else 0
    house.add(producer, ORDERS, PAYMENTS, client=client)
    house.produce(producer, b"o")
    house.produce(producer, b"p", where=PAYMENTS)
    begin = len(recording.operations)

    def note(step: Step) -> None:
        if step.kind == "transition completed":
            recording.mark(DECIDED if "→ Prepare" in step.reason else COMPLETE)

    house.coordinator.states.observer = note
    assert house.end(producer, commit=commit, client=client).error is ErrorCode.NONE
    recording.mark(ANSWERED)
    house.run()
    assert str(house.status()).startswith("Complete")
    states = [s for s in crash_states(recording, extra=0) if s.at >= begin]
    return [s for s in states if s.choice == "all is there" or s.choice.startswith("torn")]


def _initialize(house: TransactionHouse) -> ProducerIdAndEpoch:
    """Initialize as a client does: again while a transaction is being ended."""
    found = house.coordinator.init_producer_id("tx")
    if found.error is ErrorCode.CONCURRENT_TRANSACTIONS:
        found = house.coordinator.init_producer_id("tx")
    assert found.error is ErrorCode.NONE
    return found


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("version", [0, 2])
def test_a_killed_end_is_finished_by_the_next_coordinator(
    memory_path: Path, version: int, *, commit: bool
) -> None:
    """TC-20: what was answered stays; what was not is committed or aborted everywhere alike."""
    outcomes = set()
    for state in _end_recorded(memory_path / "killed", version, commit=commit):
        root = memory_path / "left"
        state.write_to(root)
        house = TransactionHouse(root, version, epoch=1, request_block=None)
        status = str(house.status())
        if DECIDED in state.marks:
            assert status == ("CompleteCommit" if commit else "CompleteAbort")
            assert house.coordinator.markers.pending == []
        producer = _initialize(house)
        orders, payments = house.committed(ORDERS), house.committed(PAYMENTS)
        is_committed = orders == [b"o"]
        assert (orders, payments) == (([b"o"], [b"p"]) if is_committed else ([], []))
        if ANSWERED in state.marks:
            assert is_committed == commit
        outcomes.add((status, *state.marks))
        client = 2 if version == 2 else 0
        house.add(producer, client=client)
        house.produce(producer, b"next")
        assert house.end(producer, client=client).error is ErrorCode.NONE
        assert house.committed(ORDERS) == [*orders, b"next"]
        house.stop()
        shutil.rmtree(root)
    end = "Commit" if commit else "Abort"
    assert outcomes >= {
        ("Ongoing",),  # killed before the decision was in the log
        (f"Complete{end}", DECIDED, ANSWERED),  # killed among the markers
        (f"Complete{end}", DECIDED, ANSWERED, COMPLETE),
    }
