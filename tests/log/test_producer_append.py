"""Whether a producer may append: sequences, epochs, transactions, coordinators."""

from pathlib import Path

import numpy as np
import pytest

from tests.log.producers import (
    CLIENT,
    COORDINATOR,
    LAST_SEQUENCE,
    NOW,
    PARTITION,
    REPLICATION,
    Producers,
    batch,
)
from workbench.errors import (
    CoordinatorFencedError,
    CorruptRecordError,
    InvalidProducerEpochError,
    InvalidTransactionStateError,
    OutOfOrderSequenceError,
)
from workbench.layout.batch_row import BATCH_ROW
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.producers.batches import TransactionMarker, producer_batches
from workbench.log.producers.producer import (
    BatchMetadata,
    CompletedTransaction,
    ProducerAppendInfo,
    ProducerStateEntry,
    TxnMetadata,
)
from workbench.log.producers.verification import VerificationStateEntry
from workbench.record.control import encode_control_key, encode_end_transaction
from workbench.runtime.steps import Step

ID = 1
COMMIT = TransactionMarker(is_abort=False, coordinator_epoch=0, timestamp=NOW)


@pytest.fixture
def producers(tmp_path: Path) -> Producers:
    return Producers(tmp_path)


def known(producers: Producers, producer_id: int = ID) -> ProducerStateEntry:
    entry = producers.manager.last_entry(producer_id)
    assert entry is not None
    return entry


def test_sequences_follow_each_other_and_a_new_epoch_begins_at_0(producers: Producers) -> None:
    """PS-1."""
    producers.append(ID, 0, 0, 0)
    producers.append(ID, 0, 1, 0)
    with pytest.raises(OutOfOrderSequenceError, match="test-0 at offset 0, producer 1: sequence 1"):
        producers.append(ID, 0, 1, 0)
    with pytest.raises(OutOfOrderSequenceError, match="sequence 5, expected 2, after 1"):
        producers.append(ID, 0, 5, 0)
    with pytest.raises(OutOfOrderSequenceError, match="epoch 1 is newer than 0"):
        producers.append(ID, 1, 2, 0)
    producers.append(ID, 1, 0, 0)
    with pytest.raises(InvalidProducerEpochError, match="epoch 0 is older than 1"):
        producers.append(ID, 0, 0, 0)
    assert known(producers).producer_epoch == 1
    assert known(producers).last_sequence == 0


def test_a_marker_alone_makes_a_producer_known(producers: Producers) -> None:
    """PS-2."""
    assert producers.end(ID, 2, 27) is None
    entry = known(producers)
    assert (entry.producer_epoch, entry.last_sequence, entry.coordinator_epoch) == (2, None, 0)
    with pytest.raises(InvalidProducerEpochError):
        producers.append(ID, 1, 0, 28)
    with pytest.raises(OutOfOrderSequenceError, match="sequence 17, expected 0, after None"):
        producers.append(ID, 2, 17, 28)
    producers.append(ID, 2, 0, 28)
    assert known(producers).last_sequence == 0


def test_after_the_last_sequence_comes_0(producers: Producers) -> None:
    """PS-3."""
    producers.append(ID, 15, LAST_SEQUENCE, 9_999_999)
    producers.append(ID, 15, 0, 10_000_000)
    assert known(producers).last_sequence == 0


def test_sequences_go_round_within_a_batch(producers: Producers) -> None:
    """PS-3."""
    producers.append(ID, 15, LAST_SEQUENCE - 10, 2000, count=21, origin=REPLICATION)
    entry = known(producers)
    assert (entry.first_sequence, entry.last_sequence) == (LAST_SEQUENCE - 10, 9)
    assert (entry.batches[0].first_offset, entry.last_data_offset) == (2000, 2020)
    assert entry.last_offset_delta == 20


def test_after_the_last_sequence_1_is_out_of_order(producers: Producers) -> None:
    """PS-3."""
    producers.append(ID, 15, LAST_SEQUENCE, 9_999_999)
    with pytest.raises(OutOfOrderSequenceError, match=r"sequence 1, expected 0, after 2147483647"):
        producers.append(ID, 15, 1, 10_000_000)


def test_what_a_leader_sends_is_taken_with_any_sequence(producers: Producers) -> None:
    """PS-4."""
    producers.append(ID, 5, 16, 0, origin=REPLICATION)
    assert known(producers).last_sequence == 16
    producers.append(ID, 5, 20, 1, origin=REPLICATION)
    assert known(producers).last_sequence == 20
    producers.append(ID, 5, 21, 2)
    assert known(producers).last_sequence == 21
    producers.append(ID + 1, 5, 99, 3, origin=REPLICATION)
    assert known(producers, ID + 1).last_sequence == 99


def test_a_producer_of_which_nothing_is_left_may_begin_anywhere(producers: Producers) -> None:
    """PS-15: its records may have been deleted; then its sequences must follow again."""
    producers.append(ID, 5, 16, 0)
    with pytest.raises(OutOfOrderSequenceError):
        producers.append(ID, 5, 20, 1)


def test_a_marker_of_a_higher_epoch_forgets_the_batches(producers: Producers) -> None:
    """PS-5."""
    producers.append(ID, 0, 0, 0, transactional=True)
    assert producers.end(ID, 1, 1) is not None
    entry = known(producers)
    assert (entry.producer_epoch, entry.first_sequence, entry.last_sequence) == (1, None, None)
    assert entry.current_transaction_first_offset is None
    for epoch in (1, 2):
        with pytest.raises(OutOfOrderSequenceError):
            producers.append(ID, epoch, 2, 2, transactional=True)
    producers.append(ID, 1, 0, 2)
    assert known(producers).first_sequence == 0


def test_a_marker_of_the_same_epoch_keeps_the_batches() -> None:
    """PS-9: from 16 to the commit at 40."""
    current = ProducerStateEntry(ID, 0, batches=[BatchMetadata(0, 15, 0, NOW)])
    append = ProducerAppendInfo(PARTITION, current, CLIENT)
    append.append(
        batch(ID, 0, 1, 16, count=5, transactional=True), None, LogOffsetMetadata(16, 990, 234)
    )
    assert (append.updated.first_sequence, append.updated.last_sequence) == (1, 5)
    append.append(batch(ID, 0, 6, 21, count=10, transactional=True))
    assert (append.updated.last_sequence, append.updated.last_data_offset) == (15, 30)
    assert append.started == [TxnMetadata(ID, LogOffsetMetadata(16, 990, 234))]
    assert append.updated.current_transaction_first_offset == 16
    completed = append.append(batch(ID, 0, -1, 40, control=True), COMMIT, None, 0)
    assert completed == CompletedTransaction(ID, 16, 40, is_aborted=False)
    updated = append.updated.stored()
    assert (updated.current_transaction_first_offset, updated.coordinator_epoch) == (None, 0)
    assert (append.updated.first_sequence, append.updated.last_sequence) == (1, 15)
    assert append.producer_id == ID


def test_a_plain_batch_inside_a_transaction_is_refused(producers: Producers) -> None:
    """PS-10."""
    producers.append(ID, 0, 0, 0, transactional=True)
    with pytest.raises(InvalidTransactionStateError, match="that began at 0 is open"):
        producers.append(ID, 0, 1, 1)
    with pytest.raises(InvalidTransactionStateError):
        producers.append(ID, 0, 1, 1, origin=REPLICATION)


def test_a_coordinator_writes_without_sequences(producers: Producers) -> None:
    """PS-22."""
    producers.append(ID, 0, -1, 99, transactional=True, origin=COORDINATOR)
    producers.append(ID, 0, -1, 100, transactional=True, origin=COORDINATOR)
    assert known(producers).last_sequence is None
    assert known(producers).last_data_offset == 100
    with pytest.raises(OutOfOrderSequenceError):
        producers.append(ID, 0, 7, 101, transactional=True)


def test_a_marker_of_an_older_epoch_is_refused(producers: Producers) -> None:
    """PS-23."""
    producers.append(ID, 5, 0, 99)
    with pytest.raises(InvalidProducerEpochError, match="epoch 4 is older than 5"):
        producers.end(ID, 4, 100)
    assert known(producers).coordinator_epoch is None


def test_a_replaced_coordinator_is_fenced(producers: Producers) -> None:
    """PS-24."""
    producers.append(ID, 0, 0, 99, transactional=True)
    assert producers.end(ID, 0, 100, coordinator_epoch=1) is not None
    assert known(producers).coordinator_epoch == 1
    producers.end(ID, 0, 101, coordinator_epoch=1)
    producers.end(ID, 0, 102, coordinator_epoch=2)
    with pytest.raises(CoordinatorFencedError, match="coordinator epoch 1 is older than 2"):
        producers.end(ID, 0, 103, coordinator_epoch=1)
    assert known(producers).coordinator_epoch == 2


@pytest.mark.parametrize("origin", [CLIENT, COORDINATOR, AppendOrigin.RAFT_LEADER])
def test_a_marker_needs_its_transaction_version_unless_a_leader_sends_it(
    producers: Producers, origin: AppendOrigin
) -> None:
    with pytest.raises(ValueError, match="needs a transaction version"):
        producers.end(ID, 0, 0, version=None, origin=origin)
    producers.end(ID, 0, 0, version=None, origin=REPLICATION)


def test_from_version_2_a_marker_has_a_higher_epoch_than_its_batches(producers: Producers) -> None:
    producers.append(ID, 5, 0, 0, transactional=True)
    with pytest.raises(InvalidProducerEpochError, match="epoch 5 is not newer than 5"):
        producers.end(ID, 5, 1, version=2)
    with pytest.raises(InvalidProducerEpochError):
        producers.end(ID, 4, 1, version=2)
    assert producers.end(ID, 6, 1, version=2) is not None


def test_from_version_2_the_marker_of_an_ended_transaction_may_come_again(
    producers: Producers,
) -> None:
    producers.append(ID, 5, 0, 0, transactional=True)
    assert producers.end(ID, 6, 1, version=2) is not None
    assert producers.end(ID, 6, 2, version=2) is None
    with pytest.raises(InvalidProducerEpochError):
        producers.end(ID, 5, 3, version=2)


def test_what_a_leader_took_is_taken_and_told_of(tmp_path: Path) -> None:
    steps: list[Step] = []
    producers = Producers(tmp_path, steps.append)
    producers.append(ID, 5, 0, 0)
    producers.append(ID, 4, 0, 1, origin=REPLICATION)
    assert known(producers).producer_epoch == 4
    producers.end(ID, 3, 2, coordinator_epoch=7, origin=REPLICATION)
    producers.end(ID, 3, 3, coordinator_epoch=6, origin=REPLICATION)
    told = [step.reason for step in steps if step.kind == "taken from the leader"]
    assert len(told) == 3
    assert "epoch 4 is older than 5" in told[0]
    assert "coordinator epoch 6 is older than 7" in told[2]


def test_an_empty_control_batch_changes_nothing(producers: Producers) -> None:
    """PS-26: compaction has removed the marker with its whole transaction."""
    producers.append(ID, 5, 0, 100, transactional=True)
    append = producers.manager.prepare_update(ID, CLIENT)
    empty = batch(ID, 5, -1, 101, control=True)._replace(record_count=0)
    assert append.append(empty) is None
    producers.manager.update(append)
    entry = known(producers)
    assert entry.current_transaction_first_offset == 100
    assert entry.last_data_offset == 100
    assert append.started == []


def test_transactions_without_records_are_passed_over(producers: Producers) -> None:
    """PS-30: one append that ends a transaction, has two empty ones, a whole and an open one."""
    producers.append(ID, 0, 0, 16, count=6, transactional=True)
    append = producers.manager.prepare_update(ID, COORDINATOR)
    abort = COMMIT._replace(is_abort=True)
    completed = [append.end_transaction(COMMIT, 0, offset, 0) for offset in (22, 23)]
    append.append(batch(ID, 0, 6, 24, count=4, transactional=True))
    completed += [append.end_transaction(abort, 0, offset, 0) for offset in (28, 29)]
    append.append(batch(ID, 0, 10, 30, transactional=True))
    first = CompletedTransaction(ID, 16, 22, is_aborted=False)
    second = CompletedTransaction(ID, 24, 28, is_aborted=True)
    assert completed == [first, None, second, None]
    assert [one.first_offset.offset for one in append.started] == [24, 30]
    producers.manager.update(append)
    producers.manager.complete_transaction(first)
    producers.manager.complete_transaction(second)
    producers.manager.on_high_watermark_updated(31)
    assert producers.manager.first_unstable_offset == LogOffsetMetadata(30)


def test_nothing_changes_until_the_update(producers: Producers) -> None:
    """PS-8."""
    producers.append(ID, 0, 0, 0)
    first = producers.manager.prepare_update(ID, CLIENT)
    first.append(batch(ID, 0, 1, 16, count=5))
    second = producers.manager.prepare_update(ID, CLIENT)
    second.append(batch(ID, 0, 1, 16, count=9))
    assert known(producers).last_sequence == 0
    producers.manager.update(first)
    entry = known(producers)
    assert (entry.first_sequence, entry.last_sequence, entry.last_data_offset) == (0, 5, 20)
    with pytest.raises(OutOfOrderSequenceError):
        producers.append(ID, 0, 7, 21)


def test_a_batch_sent_again_is_found_among_the_last_five(producers: Producers) -> None:
    offset = 0
    for number in range(6):
        producers.append(ID, 0, 2 * number, offset, count=2)
        offset += 2
    entry = known(producers)
    assert len(entry.batches) == 5
    assert entry.find_duplicate(0, 10, 11) == BatchMetadata(11, 11, 1, NOW)
    assert entry.find_duplicate(0, 2, 3) == BatchMetadata(3, 3, 1, NOW)
    assert entry.find_duplicate(0, 0, 1) is None  # forgotten
    assert entry.find_duplicate(0, 2, 5) is None  # other limits
    assert entry.find_duplicate(1, 2, 3) is None  # another epoch


def test_a_verification_blocks_later_sequences(producers: Producers) -> None:
    """PS-32."""
    verifications = producers.manager.verifications
    entry = verifications.begin(ID, 5, 0)
    assert verifications.get(ID) is entry
    with pytest.raises(
        OutOfOrderSequenceError, match="5 or less, the earliest sequence to be verified"
    ):
        producers.append(ID, 0, 6, 0)
    verifications.begin(ID, 2, 0)
    assert (entry.lowest_sequence, entry.epoch) == (2, 0)
    with pytest.raises(OutOfOrderSequenceError):
        producers.append(ID, 0, 5, 0)
    producers.append(ID, 0, 2, 0)
    verifications.end(ID)
    assert verifications.get(ID) is None
    producers.append(ID, 0, 3, 1)


def test_a_verification_keeps_the_lowest_sequence_of_the_newest_epoch() -> None:
    """PS-32."""
    entry = VerificationStateEntry(NOW, 5, 0, supports_epoch_bump=False)
    for sequence, epoch, lowest in ((8, 0, 5), (3, 0, 3), (1, -1, 3), (7, 1, 7), (9, 1, 7)):
        entry.update(sequence, epoch)
        assert entry.lowest_sequence == lowest
    assert entry.epoch == 1


def test_verifications_end_after_the_time_that_producers_do(producers: Producers) -> None:
    """PS-32."""
    producers.manager.verifications.begin(ID, 0, 0)
    producers.manager.remove_expired(NOW + producers.config.producer_id_expiration_ms - 1)
    assert producers.manager.verifications.get(ID) is not None
    producers.manager.remove_expired(NOW + producers.config.producer_id_expiration_ms)
    assert producers.manager.verifications.get(ID) is None


def test_a_new_producer_with_transactions_of_version_2_begins_at_0(producers: Producers) -> None:
    """PS-32."""
    producers.manager.verifications.begin(ID, 5, 0, supports_epoch_bump=True)
    with pytest.raises(OutOfOrderSequenceError, match="0, the first of a new producer"):
        producers.append(ID, 0, 5, 0)
    producers.append(ID, 0, 0, 0)


def test_rows_without_producer_id_give_no_producer_batches() -> None:
    rows = np.zeros(4, BATCH_ROW)
    rows["producer_id"] = -1
    assert list(producer_batches(rows)) == []
    rows["producer_id"][[1, 3]] = 7, 0
    rows["producer_epoch"] = 2
    rows["base_sequence"] = 10
    rows["last_sequence"] = 12
    rows["base_offset"] = [0, 5, 10, 15]
    rows["last_offset"] = [4, 9, 14, 17]
    rows["max_timestamp"] = NOW
    rows["record_count"] = 3
    rows["is_transactional"][3] = True
    first, second = producer_batches(rows)
    assert first == (1, 7, 2, 10, 12, 5, 9, NOW, 3, False, False)
    assert second == (3, 0, 2, 10, 12, 15, 17, NOW, 3, True, False)
    assert all(type(value) in (int, bool) for value in first)


@pytest.mark.parametrize(("control_type", "is_abort"), [(0, True), (1, False)])
def test_a_marker_is_read_from_its_record(control_type: int, *, is_abort: bool) -> None:
    key, value = encode_control_key(control_type), encode_end_transaction(9)
    assert TransactionMarker.decode(key, value, NOW) == (is_abort, 9, NOW)


def test_a_control_record_that_ends_no_transaction_is_no_marker() -> None:
    with pytest.raises(CorruptRecordError, match=r"control type .* \(found 2, expected 0 or 1\)"):
        TransactionMarker.decode(encode_control_key(2), encode_end_transaction(9), NOW)
