"""Appending to a log: what is checked, what is set, what is refused and leaves no trace."""

import errno
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.file_systems import FailingFileSystem, Operation
from tests.examples import examples
from tests.log.folder import batch, marker, produced
from tests.log.logs import (
    COORDINATOR,
    NOW,
    LogHome,
    bases,
    end_transaction,
    every_offset,
    in_transaction,
    offsets,
    sent_by,
    values,
)
from workbench.errors import (
    CoordinatorFencedError,
    CorruptRecordError,
    InconsistentTopicIdError,
    InvalidProducerEpochError,
    InvalidRecordError,
    OffsetsOutOfOrderError,
    OutOfOrderSequenceError,
    RecordBatchTooLargeError,
    RecordTooLargeError,
    StorageError,
    UnexpectedAppendOffsetError,
)
from workbench.file_system.local import LOCAL
from workbench.files.indexes.transaction_index import AbortedTxn
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.builder import end_transaction_marker
from workbench.runtime.failures import LogDirFailures

LARGEST = 2**31 - 1
RAFT_LEADER = AppendOrigin.RAFT_LEADER
TOPIC_ID = UUID("1f2e3d4c-5b6a-4798-8a9b-0c1d2e3f4a5b")


def together(*batches: MemoryRecords) -> MemoryRecords:
    return MemoryRecords.copy_of(b"".join(map(bytes, batches)))


def refused(log: Log, error: type[Exception], records: MemoryRecords, **options: Any) -> str:
    """Append what must be refused and leave the log as it was; return what is said."""
    end, size = log.log_end_offset, log.size
    with pytest.raises(error) as caught:
        log.append_as_leader(records, **options)
    assert (log.log_end_offset, log.size) == (end, size)
    return str(caught.value)


# --- offsets --------------------------------------------------------------------------------------


def test_the_controllers_leader_numbers_its_records_itself(tmp_path: Path) -> None:
    """UL-12."""
    log = LogHome(tmp_path).open()
    info = log.append_as_leader(batch(0, 2, epoch=3), 3, RAFT_LEADER)
    assert (info.first_offset, info.last_offset) == (0, 1)
    said = refused(
        log, UnexpectedAppendOffsetError, batch(0, epoch=3), leader_epoch=3, origin=RAFT_LEADER
    )
    assert "below the log end offset 2" in said
    assert log.append_as_leader(batch(2, epoch=3), 3, RAFT_LEADER).first_offset == 2


def test_a_batch_of_the_controllers_leader_has_its_epoch(tmp_path: Path) -> None:
    log = LogHome(tmp_path).open()
    said = refused(log, InvalidRecordError, batch(0, epoch=2), leader_epoch=3, origin=RAFT_LEADER)
    assert "found 2, expected 3" in said


def test_an_append_tells_the_offset_of_its_first_record(tmp_path: Path) -> None:
    """UL-13: also right after a roll."""
    log = LogHome(tmp_path).open()
    for number in range(5):
        info = log.append_as_leader(values(2))
        assert (info.first_offset, info.last_offset) == (2 * number, 2 * number + 1)
    log.roll()
    assert log.append_as_leader(values(2)).first_offset == 10


def test_a_client_begins_at_offset_0(tmp_path: Path) -> None:
    log = LogHome(tmp_path).open()
    assert "found 1, expected 0" in refused(log, InvalidRecordError, values(base_offset=1))


def followers(magic: int, codec: str, *numbers: int) -> MemoryRecords:
    epoch = {"partition_leader_epoch": 0} if magic == 2 else {}
    return together(
        *(
            MemoryRecords.of((NOW, b"k", b"v"), magic=magic, codec=codec, base_offset=n, **epoch)
            for n in numbers
        )
    )


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_a_follower_takes_ascending_offsets_behind_the_end(
    tmp_path: Path, magic: int, codec: str
) -> None:
    """UL-14."""
    log = LogHome(tmp_path).open()
    with pytest.raises(OffsetsOutOfOrderError, match="offset 2 follows 3"):
        log.append_as_follower(followers(magic, codec, 0, 1, 3, 2, 4))
    assert log.log_end_offset == 0
    log.append_as_follower(followers(magic, codec, 0, 1))
    with pytest.raises(UnexpectedAppendOffsetError) as caught:
        log.append_as_follower(followers(magic, codec, 0))
    assert (caught.value.first_offset, caught.value.last_offset) == (0, 0)
    assert every_offset(log) == [0, 1]
    log.append_as_follower(followers(magic, codec, 2, 40))
    assert every_offset(log) == [0, 1, 2, 40]


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_an_empty_log_takes_nothing_below_its_start(tmp_path: Path, magic: int, codec: str) -> None:
    """UL-14."""
    log = LogHome(tmp_path).open(log_start_offset=7)
    assert (log.log_start_offset, log.log_end_offset) == (7, 7)
    records = [(NOW, b"k", b"v")] * 3
    wrong = MemoryRecords.of(*records, magic=magic, codec=codec, base_offset=4)
    with pytest.raises(UnexpectedAppendOffsetError) as caught:
        log.append_as_follower(wrong)
    assert (caught.value.first_offset, caught.value.last_offset) == (4, 6)


def test_a_gap_of_2_31_offsets_begins_a_new_segment(tmp_path: Path) -> None:
    """LO-18: a follower of a log that was compacted heavily."""
    home = LogHome(tmp_path)
    log = home.open()
    log.append_as_follower(batch(0))
    log.append_as_follower(batch(LARGEST + 2))
    assert bases(log) == [0, LARGEST + 2]
    log.append_as_follower(batch(LARGEST + 3))
    assert bases(log) == [0, LARGEST + 2]
    assert home.snapshots == [LARGEST + 2]
    assert every_offset(log) == [0, LARGEST + 2, LARGEST + 3]
    assert all(segment.offset_index.last_offset >= 0 for segment in log.segments)
    home.reopen(log, clean=False)
    assert every_offset(log) == [0, LARGEST + 2, LARGEST + 3]


def test_a_compressed_old_batch_may_begin_far_before_its_last_offset(tmp_path: Path) -> None:
    """LO-18: the new segment begins as low as its first record might be."""
    home = LogHome(tmp_path)
    log = home.open()

    def old(*numbers: int) -> MemoryRecords:
        records = [(NOW, b"k%d" % number, b"v") for number in numbers]
        return MemoryRecords.of(*records, magic=1, codec="gzip", base_offset=numbers[0])

    log.append_as_follower(old(0, 1))
    log.append_as_follower(old(LARGEST + 2, LARGEST + 3))
    assert bases(log) == [0, 3]
    log.append_as_follower(old(LARGEST + 4, LARGEST + 5))
    assert bases(log) == [0, 3, LARGEST + 4]
    assert home.snapshots == [3, LARGEST + 4]


def test_an_unfinished_batch_at_the_end_is_left_out(tmp_path: Path) -> None:
    log = LogHome(tmp_path).open()
    whole = bytes(batch(0, 3))
    info = log.append_as_follower(MemoryRecords.copy_of(whole + whole[:40]))
    assert info.valid_bytes == log.size == len(whole)
    assert log.append_as_follower(MemoryRecords.copy_of(b"")).last_offset == -1


def test_a_follower_leaves_out_batches_of_a_later_leader(tmp_path: Path) -> None:
    log = LogHome(tmp_path).open()
    fetched = together(batch(0, epoch=4), batch(1, epoch=5), batch(2, epoch=4))
    info = log.append_as_follower(fetched, leader_epoch=4)
    assert (info.last_offset, info.last_leader_epoch) == (0, 4)
    assert every_offset(log) == [0]


# --- what records must be -------------------------------------------------------------------------


def test_an_append_larger_than_a_segment_is_refused(tmp_path: Path) -> None:
    """UL-15."""
    size = values(1, value=bytes(100)).size
    log = LogHome(tmp_path, {"segment.bytes": size}).open()
    log.append_as_leader(values(1, value=bytes(100)))
    said = refused(log, RecordBatchTooLargeError, values(1, value=bytes(101)))
    assert f"segment.bytes = {size}" in said


def test_only_a_leader_refuses_a_batch_above_the_largest(tmp_path: Path) -> None:
    """UL-15."""
    large = values(1, value=bytes(300))
    log = LogHome(tmp_path, {"max.message.bytes": large.size - 1}).open()
    said = refused(log, RecordTooLargeError, large)
    assert f"{large.size} bytes, more than max.message.bytes = {large.size - 1}" in said
    log.append_as_follower(values(1, value=bytes(300), partition_leader_epoch=0))
    assert log.log_end_offset == 1


def test_a_batch_that_grows_by_compression_is_looked_at_again(tmp_path: Path) -> None:
    """UL-15: what cannot be compressed is larger in the topic's codec."""
    noise = values(1, value=bytes(range(256)))
    settings = {"max.message.bytes": noise.size, "compression.type": "gzip"}
    log = LogHome(tmp_path, settings).open()
    assert "in the topic's codec" in refused(log, RecordTooLargeError, noise)


def test_records_of_a_compacted_topic_have_keys(tmp_path: Path) -> None:
    """UL-16."""
    log = LogHome(tmp_path, {"cleanup.policy": "compact"}).open()

    def sent(*keys: bytes | None) -> MemoryRecords:
        return MemoryRecords.of(*((NOW, key, b"v") for key in keys))

    for keys, wrong in (((None,), [0]), ((None, b"a"), [0]), ((b"a", None), [1])):
        with pytest.raises(InvalidRecordError) as caught:
            log.append_as_leader(sent(*keys))
        assert sorted(caught.value.record_errors) == wrong
    log.append_as_leader(sent(b"a"))
    log.append_as_leader(sent(b"a", b"b"))
    assert log.log_end_offset == 3


def test_null_values_and_records_without_time_can_be_appended(tmp_path: Path) -> None:
    """UL-17."""
    log = LogHome(tmp_path).open()
    log.append_as_leader(MemoryRecords.of((None, None)))
    (record,) = log.read(0).records.records()
    assert (record.key, record.value, record.timestamp) == (None, None, None)


def test_a_changed_byte_is_refused(tmp_path: Path) -> None:
    log = LogHome(tmp_path).open()
    damaged = values(2)
    damaged.buffer[-1] ^= 1
    assert "CRC" in refused(log, CorruptRecordError, damaged)


# --- leader epochs --------------------------------------------------------------------------------


def epochs(log: Log) -> list[tuple[int, int]]:
    return [(entry.epoch, entry.start_offset) for entry in log.leader_epochs.entries]


def test_a_leader_stamps_its_epoch_and_a_follower_takes_it_over(tmp_path: Path) -> None:
    """UL-18."""
    leader = LogHome(tmp_path).open()
    leader.append_as_leader(values(1), 72)
    assert epochs(leader) == [(72, 0)]
    (row,) = leader.read(0).records.batches().rows
    assert row["partition_leader_epoch"] == 72
    follower = LogHome(tmp_path, name="orders-1").open()
    follower.append_as_follower(batch(0, epoch=42))
    assert epochs(follower) == [(42, 0)]
    follower.append_as_follower(batch(1, epoch=42))
    follower.append_as_follower(batch(2, epoch=43))
    assert epochs(follower) == [(42, 0), (43, 2)]


def test_batches_of_an_old_format_clear_the_epochs(tmp_path: Path) -> None:
    """UL-59."""
    home = LogHome(tmp_path)
    log = home.open()
    log.append_as_leader(values(1), 5)
    assert epochs(log) == [(5, 0)]
    log.append_as_follower(followers(1, "none", 1))
    assert epochs(log) == []
    assert len(home.told("leader epochs cleared")) == 1
    assert home.path.joinpath("leader-epoch-checkpoint").read_text() == "0\n0\n"


# --- producers ------------------------------------------------------------------------------------


def test_what_a_producer_sent_before_is_answered_as_then(tmp_path: Path) -> None:
    """UL-19."""
    home = LogHome(tmp_path)
    log = home.open()
    sequence = 0
    answers = []
    for count in (1, 3, 1, 2, 1):
        answers.append((sequence, count, log.append_as_leader(sent_by(1, sequence, count))))
        sequence += count
        home.clock.advance(1)
    end, size = log.log_end_offset, log.size
    for sequence, count, first in answers:
        again = log.append_as_leader(sent_by(1, sequence, count))
        assert again.is_duplicate
        assert (again.first_offset, again.last_offset) == (first.first_offset, first.last_offset)
        assert again.log_append_time == NOW  # the batch's own time
    assert (log.log_end_offset, log.size) == (end, size)
    assert len(home.told("duplicate found")) == 5
    said = refused(log, OutOfOrderSequenceError, sent_by(1, 2, 2))
    assert "sequence 2, expected 8" in said
    log.append_as_leader(sent_by(1, 8))
    refused(log, OutOfOrderSequenceError, sent_by(1, 0))  # the sixth batch from the end


def test_a_gap_in_a_producers_sequences_is_refused(tmp_path: Path) -> None:
    """UL-20."""
    log = LogHome(tmp_path).open()
    log.append_as_leader(sent_by(1, 0))
    refused(log, OutOfOrderSequenceError, sent_by(1, 2))
    log.append_as_leader(sent_by(1, 1))


def test_an_older_epoch_of_a_producer_is_refused(tmp_path: Path) -> None:
    """UL-20."""
    log = LogHome(tmp_path).open()
    log.append_as_leader(sent_by(1, 0, epoch=5))
    said = refused(log, InvalidProducerEpochError, sent_by(1, 0, epoch=4))
    assert "epoch 4 is older than 5" in said


def test_a_follower_takes_what_the_leader_has(tmp_path: Path) -> None:
    """UL-20: several producers in one append, sequences again, and an epoch that falls."""
    log = LogHome(tmp_path).open()
    log.append_as_follower(
        together(
            produced(0, 2, producer=1),
            produced(2, producer=2, sequence=0),
            produced(3, producer=1, sequence=2),
            produced(4, producer=2, sequence=1, producer_epoch=3),
        )
    )
    entries = log.producer_state.producers
    assert {pid: entry.last_sequence for pid, entry in entries.items()} == {1: 2, 2: 1}
    log.append_as_follower(produced(5, producer=1, sequence=2))
    log.append_as_follower(produced(6, producer=2, sequence=0, producer_epoch=2))
    assert every_offset(log) == list(range(7))


@pytest.mark.parametrize("origin", [AppendOrigin.CLIENT, COORDINATOR])
def test_a_producer_whose_records_are_gone_goes_on_in_its_sequence(
    tmp_path: Path, origin: AppendOrigin
) -> None:
    """UL-21: when its transaction was verified with the coordinator."""
    log = LogHome(tmp_path).open()
    log.producer_state.verifications.begin(23, 3, 1)
    log.append_as_leader(in_transaction(23, 3, epoch=1), origin=origin)
    assert log.log_end_offset == 1


def test_a_marker_of_a_replaced_coordinator_is_refused(tmp_path: Path) -> None:
    """UL-22: even when the transaction is empty."""
    log = LogHome(tmp_path).open()
    log.append_as_leader(in_transaction(1, 0))
    end_transaction(log, 1, commit=False, coordinator_epoch=1)
    log.append_as_leader(in_transaction(1, 1))
    stale = end_transaction_marker(0, NOW, 1, 0, commit=True, coordinator_epoch=0)
    said = refused(log, CoordinatorFencedError, stale, origin=COORDINATOR)
    assert "coordinator epoch 0 is older than 1" in said
    end_transaction(log, 2, commit=True, coordinator_epoch=7)
    empty = end_transaction_marker(0, NOW, 2, 0, commit=True, coordinator_epoch=6)
    refused(log, CoordinatorFencedError, empty, origin=COORDINATOR)


def test_a_marker_of_an_older_producer_epoch_is_refused(tmp_path: Path) -> None:
    """UL-22."""
    log = LogHome(tmp_path).open()
    log.append_as_leader(in_transaction(1, 0, epoch=1))
    stale = end_transaction_marker(0, NOW, 1, 0, commit=False, coordinator_epoch=1)
    refused(log, InvalidProducerEpochError, stale, origin=COORDINATOR)


def test_nothing_is_known_of_a_producer_whose_batch_was_refused(tmp_path: Path) -> None:
    """PS-8: the second batch is refused, and the first was not written."""
    log = LogHome(tmp_path, {"compression.type": "producer"}).open()
    log.append_as_leader(sent_by(1, 0))
    refused(log, OutOfOrderSequenceError, sent_by(1, 5))
    entry = log.producer_state.last_entry(1)
    assert entry is not None
    assert entry.last_sequence == 0
    log.append_as_leader(sent_by(1, 1))


# --- disks that fail ------------------------------------------------------------------------------


def test_a_failed_log_directory_is_not_used_any_more(tmp_path: Path) -> None:
    """UL-62."""
    home = LogHome(tmp_path)
    log = home.open()
    log.append_as_leader(values(2))
    home.failures.add(str(tmp_path), OSError(errno.EIO, "the disk is broken"))
    with pytest.raises(StorageError, match="already offline"):
        log.append_as_leader(values(1))
    with pytest.raises(StorageError, match="already offline"):
        log.read(0)


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, "short"])
def test_a_write_that_fails_takes_the_directory_offline(tmp_path: Path, error: Any) -> None:
    def is_append(operation: Operation) -> bool:
        return operation.kind == "write" and operation.path.endswith(".log")

    home = LogHome(tmp_path, fs=FailingFileSystem(2, error, only=is_append))
    log = home.open()
    log.append_as_leader(values(2))
    log.append_as_leader(values(1))
    with pytest.raises(StorageError, match="append to orders-0"):
        log.append_as_leader(values(1))
    assert home.failures.is_offline(str(tmp_path))
    assert log.log_end_offset == 3
    with pytest.raises(StorageError):
        log.append_as_leader(values(1))
    home.fs, home.failures = LOCAL, LogDirFailures()
    assert every_offset(home.open(clean=False)) == [0, 1, 2]


def test_a_transaction_index_that_cannot_be_written(tmp_path: Path) -> None:
    """UL-45: the marker is in the log, but nobody may read past the transaction."""
    fs = FailingFileSystem(0, only=lambda operation: operation.path.endswith(".txnindex"))
    home = LogHome(tmp_path, fs=fs)
    log = home.open()
    log.append_as_leader(in_transaction(1, 0, 10))
    log.update_high_watermark(10)
    assert log.first_unstable_offset == 0
    with pytest.raises(StorageError):
        end_transaction(log, 1, commit=False)
    assert log.log_end_offset == 11
    assert log.last_stable_offset == 0
    with pytest.raises(StorageError):
        log.append_as_leader(values(1))
    log.close_handlers()
    home.fs, home.failures = LOCAL, LogDirFailures()
    again = home.open(clean=False)
    again.update_high_watermark(11)
    assert again.log_end_offset == 11
    assert again.first_unstable_offset is None
    assert again.collect_aborted_transactions(0, 11) == [AbortedTxn(1, 0, 10, 11)]


# --- topic ids ------------------------------------------------------------------------------------


def test_the_topic_id_stands_in_its_file(tmp_path: Path) -> None:
    """UL-61."""
    home = LogHome(tmp_path)
    log = home.open()
    assert log.topic_id is None
    log.append_as_leader(values(1))
    assert "partition.metadata" not in home.names
    log.assign_topic_id(TOPIC_ID)
    log.assign_topic_id(TOPIC_ID)
    text = home.path.joinpath("partition.metadata").read_text()
    assert text.startswith("version: 0\ntopic_id: ")
    with pytest.raises(InconsistentTopicIdError, match="it cannot become"):
        log.assign_topic_id(UUID(int=1))
    again = home.reopen(log)
    assert again.topic_id == TOPIC_ID
    with pytest.raises(InconsistentTopicIdError):
        again.assign_topic_id(UUID(int=1))


# --- a plain list ---------------------------------------------------------------------------------

contents = st.none() | st.binary(max_size=20)
appends = st.lists(
    st.lists(st.tuples(contents, contents), min_size=1, max_size=4), min_size=1, max_size=15
)


@examples(40)
@given(
    appends=appends,
    codec=st.sampled_from(["none", "gzip", "snappy", "lz4", "zstd"]),
    topic=st.sampled_from(["producer", "uncompressed", "lz4"]),
    data=st.data(),
)
def test_what_is_appended_is_what_is_read(
    appends: list[list[tuple[bytes | None, bytes | None]]],
    codec: str,
    topic: str,
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """UL-10: over segments, codecs and reopening; a read begins with the batch of its offset."""
    settings = {"segment.bytes": 500, "index.interval.bytes": 100, "compression.type": topic}
    home = LogHome(tmp_path_factory.mktemp("log"), settings)
    log = home.open()
    expected: list[tuple[bytes | None, bytes | None]] = []
    firsts = []
    for records in appends:
        sent = MemoryRecords.of(*((NOW, key, value) for key, value in records), codec=codec)
        info = log.append_as_leader(sent)
        assert info.first_offset == len(expected)
        firsts.append(info.first_offset)
        expected += records
    if data.draw(st.booleans()):
        log = home.reopen(log, clean=data.draw(st.booleans()))
    start = data.draw(st.integers(0, len(expected) - 1))
    found = log.read(start).records.records()
    first = max(one for one in firsts if one <= start)
    assert found[0].offset == first
    position, read = 0, []
    while position < log.log_end_offset:
        one = log.read(position, data.draw(st.integers(1, 400))).records.records()
        read += [(record.key, record.value) for record in one if record.offset >= position]
        assert one[0].offset <= position
        position = one[-1].offset + 1
    assert read == expected
    assert offsets(log.read(log.log_end_offset)) == []


def test_markers_of_a_leader_are_taken_by_a_follower(tmp_path: Path) -> None:
    log = LogHome(tmp_path).open()
    log.append_as_follower(
        together(produced(0, 2, producer=1, transactional=True), marker(2, producer=1, commit=True))
    )
    assert log.first_unstable_offset == 0
    log.update_high_watermark(3)
    assert log.first_unstable_offset is None


def test_a_follower_refuses_a_batch_that_no_leader_has_numbered(tmp_path: Path) -> None:
    log = Log.open(str(tmp_path / "orders-0"))
    with pytest.raises(InvalidRecordError, match=r"offset 0 has no .* epoch .*leader"):
        log.append_as_follower(MemoryRecords.of((b"key", b"value")))
    assert log.log_end_offset == 0
    assert log.leader_epochs.latest is None
    log.append_as_follower(MemoryRecords.of((b"key", b"value"), partition_leader_epoch=0))
    with pytest.raises(InvalidRecordError, match="found -1, expected 0 or more"):
        log.append_as_follower(MemoryRecords.of((b"key", b"value"), base_offset=1))
    assert log.log_end_offset == 1
