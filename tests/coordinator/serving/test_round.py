"""Transactional rounds through the engine alone: what is committed is read, what is not, is not."""

from pathlib import Path

import pytest

from tests.coordinator.serving.house import ORDERS, PAYMENTS, TransactionHouse, kinds
from workbench.coordinator.steps import TRANSACTION_KINDS
from workbench.coordinator.transaction_coordinator.request_checks import ProducerIdAndEpoch
from workbench.inspection.listing import list_log_directories
from workbench.inspection.transaction_markers import read_markers
from workbench.inspection.transactions import read_transactions
from workbench.runtime.error_codes import ErrorCode

ANSWERED = ProducerIdAndEpoch(-1, -1)


@pytest.mark.parametrize("version", [0, 1])
def test_commits_are_read_and_aborts_are_not(tmp_path: Path, version: int) -> None:
    house = TransactionHouse(tmp_path, version)
    producer = house.init()
    assert producer == (4000, 0, ErrorCode.NONE)
    for number, commit in enumerate([True, False, True]):
        assert house.add(producer, ORDERS, PAYMENTS, client=0) is ErrorCode.NONE
        house.produce(producer, b"o%d" % number, sequence=number)
        house.produce(producer, b"p%d" % number, where=PAYMENTS, sequence=number)
        assert house.end(producer, commit=commit, client=0) == ANSWERED
    assert house.committed(ORDERS) == [b"o0", b"o2"]
    assert house.committed(PAYMENTS) == [b"p0", b"p2"]
    assert house.state().producer_epoch == 0


def test_version_2_bumps_the_epoch_at_every_end(tmp_path: Path) -> None:
    """TC-29."""
    house = TransactionHouse(tmp_path)
    producer = house.init()
    for number, commit in enumerate([True, False, True]):
        assert house.add(producer) is ErrorCode.NONE
        house.produce(producer, b"%d" % number)
        producer = house.end(producer, commit=commit)
        assert producer == (4000, number + 1, ErrorCode.NONE)
    assert house.committed() == [b"0", b"2"]


def test_an_open_transaction_holds_readers_back_until_its_marker(tmp_path: Path) -> None:
    house = TransactionHouse(tmp_path, holds=True)
    producer = house.init()
    house.add(producer)
    house.produce(producer, b"mine")
    house.log().append([(None, b"later")])
    assert house.committed() == []
    assert house.end(producer).error is ErrorCode.NONE
    assert str(house.status()) == "PrepareCommit"
    assert house.committed() == []
    house.run()
    assert str(house.status()) == "CompleteCommit"
    assert house.committed() == [b"mine", b"later"]


def test_the_steps_tell_what_was_decided_and_where_it_was_written(tmp_path: Path) -> None:
    house = TransactionHouse(tmp_path)
    producer = house.init()
    house.add(producer)
    house.log()
    del house.steps[:]
    house.end(producer, commit=False)
    assert kinds(house.steps) == [
        "transition prepared", "transition appended", "transition completed",
        "marker appended", "transition appended", "transition completed",
    ]  # fmt: skip
    prepared, appended, _, marker, *_ = house.steps
    assert prepared.reason == "EndTxn: Ongoing → PrepareAbort"
    assert appended.reason == "__transaction_state-0 at offset 2"
    assert (marker.where, marker.reason, marker.numbers["offset"]) == ("orders-0", "ABORT", 0)
    house.end(producer._replace(producer_epoch=7))
    assert house.steps[-1].kind == "request refused"
    assert house.steps[-1].reason == (
        "EndTxn: PRODUCER_FENCED (90): the producer has epoch 7, the transactional id has epoch 1 "
        "in state CompleteAbort"
    )
    assert set(kinds(house.steps)) <= TRANSACTION_KINDS.keys()


def test_what_was_written_is_what_inspection_reads(tmp_path: Path) -> None:
    """The markers of three ends, and the state of the id, in the files."""
    house = TransactionHouse(tmp_path)
    producer = house.init()
    for commit in (True, False, True):
        house.add(producer)
        house.produce(producer, b"x")
        producer = house.end(producer, commit=commit)
    house.stop()
    partition = list_log_directories(tmp_path).partitions["orders-0"]
    markers = read_markers(partition)
    assert markers.is_abort.tolist() == [False, True, False]
    assert markers.producer_ids.tolist() == [4000] * 3
    assert read_transactions(partition).last_stable_offset == partition.log_end_offset == 6
