"""The runtime of a coordinator: partitions, appends and their errors."""

from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path

import pytest

from workbench import errors
from workbench.coordinator.runtime.append_errors import answer_of_old_to_commit, answer_to
from workbench.coordinator.runtime.coordinator_runtime import CoordinatorRuntime, PartitionState
from workbench.coordinator.runtime.log_records import LogChunk, LogRecord, Marker
from workbench.coordinator.runtime.records import CoordinatorRecord, CoordinatorResult
from workbench.errors import CoordinatorError, CorruptRecordError
from workbench.files.names import TopicPartition
from workbench.log_manager.manager import LogManager
from workbench.runtime.clock import ManualClock
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.error_codes import code_of as error_code_of
from workbench.runtime.steps import Step

TOPIC = "__consumer_offsets"
NOW = 1_700_000_000_000


class Register:
    """Keys and values; what a producer wrote holds once its marker commits."""

    def __init__(self, _: TopicPartition) -> None:
        self.values: dict[bytes, bytes] = {}
        self.pending: dict[int, dict[bytes, bytes]] = {}
        self.served = False

    def replay_chunk(self, chunk: LogChunk) -> None:
        for record in chunk.records():
            self.replay(record)

    def replay(self, record: LogRecord | Marker) -> None:
        if isinstance(record, Marker):
            ended = self.pending.pop(record.producer_id, {})
            self.values |= ended if record.is_commit else {}
            return
        if record.key is None:
            raise CorruptRecordError(None, None, "the key is null")
        into = self.values
        if record.producer_id >= 0:
            into = self.pending.setdefault(record.producer_id, {})
        if record.value is None:
            into.pop(record.key, None)
        else:
            into[record.key] = record.value

    def on_loaded(self) -> None:
        self.served = True

    def on_unloaded(self) -> None:
        self.served = False


def put(*pairs: tuple[bytes, bytes | None], is_atomic: bool = True) -> CoordinatorResult[str]:
    """Return the result of an operation that writes these records."""
    return CoordinatorResult([CoordinatorRecord(*pair) for pair in pairs], "done", is_atomic)


def put_number(number: int, _: Register) -> CoordinatorResult[str]:
    """Write a number under one key."""
    return put((b"k", b"%d" % number))


class Life:
    """A runtime over a log manager's logs, and the steps that it reported."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock(NOW)
        configs = {TOPIC: {"cleanup.policy": "compact", "max.message.bytes": 2000}}
        self.manager = LogManager([folder], clock=self.clock, topic_configs=configs)
        self.manager.startup(with_tasks=False)
        self.log = self.manager.get_or_create_log(TOPIC, 0)
        self.steps: list[Step] = []
        self.runtime = self.new_runtime()

    def new_runtime(self) -> CoordinatorRuntime[Register]:
        return CoordinatorRuntime(TOPIC, self.manager.get_log, Register, observer=self.steps.append)

    def values(self, runtime: CoordinatorRuntime[Register] | None = None) -> dict[bytes, bytes]:
        return (runtime or self.runtime).read(0, lambda shard: dict(shard.values))


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    found = Life(tmp_path)
    yield found
    found.manager.shutdown()


def code_of(error: pytest.ExceptionInfo[CoordinatorError]) -> ErrorCode:
    return ErrorCode(error.value.code)


def test_an_operation_is_one_batch_and_a_load_gives_the_same_state(life: Life) -> None:
    assert life.runtime.load(0)
    assert life.runtime.write(0, lambda _: put((b"a", b"1"), (b"b", b"2"))) == "done"
    life.runtime.write(0, lambda _: put((b"a", None)))
    assert life.values() == {b"b": b"2"}
    [first, second] = life.log.read(0).records.batches().rows
    for row, last in ((first, 1), (second, 2)):
        assert row["last_offset"] == last
        assert (row["base_sequence"], row["producer_id"], row["producer_epoch"]) == (0, -1, -1)
        assert row["max_timestamp"] == NOW
    again = life.new_runtime()
    again.load(0)
    assert life.values(again) == {b"b": b"2"}


def test_nothing_is_written_for_an_operation_without_records(life: Life) -> None:
    life.runtime.load(0)
    assert life.runtime.write(0, lambda _: put()) == "done"
    assert life.log.log_end_offset == 0


def test_a_transaction_takes_effect_at_its_marker(life: Life) -> None:
    life.runtime.load(0)
    for producer, is_commit in ((7, True), (8, False)):
        write_number = partial(put_number, producer)
        life.runtime.schedule_write(0, write_number, producer, 3).result()
        assert life.values().get(b"k") != b"%d" % producer
        offset = life.runtime.complete_transaction(0, producer, 3, 5, is_commit=is_commit)
        assert offset == life.log.log_end_offset - 1
    assert life.values() == {b"k": b"7"}
    rows = life.log.read(0).records.batches().rows
    assert rows["is_transactional"].all()
    assert rows["is_control"].tolist() == [False, True, False, True]
    assert life.log.last_stable_offset == 4


def test_a_failed_append_changes_nothing_and_is_translated(life: Life) -> None:
    """GO-26: MESSAGE_TOO_LARGE is answered as UNKNOWN_SERVER_ERROR."""
    life.runtime.load(0)
    with pytest.raises(CoordinatorError) as error:
        life.runtime.write(0, lambda _: put((b"a", b"1" * 3000)))
    assert code_of(error) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert life.values() == {}
    assert life.log.log_end_offset == 0
    assert life.steps[-1].kind == "append failed"
    life.runtime.write(0, lambda _: put((b"a", b"1")))
    assert life.values() == {b"a": b"1"}


def test_records_that_need_not_be_atomic_span_batches(life: Life) -> None:
    life.runtime.load(0)
    pairs = [(b"%d" % number, b"v" * 900) for number in range(5)]
    with pytest.raises(CoordinatorError):
        life.runtime.write(0, lambda _: put(*pairs))
    life.runtime.write(0, lambda _: put(*pairs, is_atomic=False))
    assert life.log.read(0, 1 << 20).records.batches().rows["record_count"].tolist() == [2, 2, 1]
    assert len(life.values()) == 5


def test_loads_and_unloads_follow_leader_epochs(life: Life) -> None:
    """GO-18: lower epochs are ignored; without an epoch a partition is always unloaded."""
    runtime = life.runtime
    with pytest.raises(CoordinatorError) as error:
        life.values()
    assert code_of(error) is ErrorCode.NOT_COORDINATOR
    assert runtime.load(0, 10)
    runtime.write(0, lambda _: put((b"a", b"1")))
    assert runtime.owned_partitions == [0]
    assert not runtime.unload(0, 9)
    assert runtime.load(0, 9)  # ignored, and still served
    assert life.values() == {b"a": b"1"}
    assert runtime.unload(0)
    assert runtime.state_of(0) is None
    assert not runtime.load(0, 9)  # the epoch is remembered
    assert not runtime.load(0, 10)
    assert runtime.load(0, 11)
    assert life.values() == {b"a": b"1"}
    assert runtime.unload(0, 12)
    assert not runtime.unload(0)
    told = [step.kind for step in life.steps]
    assert told.count("load ignored") == 3
    assert told.count("unload ignored") == 1
    assert told.count("partition unloaded") == 2


def test_a_load_that_is_ignored_says_why(life: Life) -> None:
    runtime = life.runtime
    runtime.load(0, 5)
    assert runtime.load(0, 7)  # served on, under the new epoch
    assert runtime.load(0, 7)
    assert runtime.load(0)  # without an epoch it is one above the last
    runtime.unload(0)
    runtime.load(0, 6)
    runtime.close()
    assert not runtime.load(0, 9)
    assert [step.reason for step in life.steps if step.kind == "load ignored"] == [
        "it is active already; its leader epoch is 7 now, 5 before",
        "leader epoch 7 is not newer than 7, the newest known one",
        "it is active already; its leader epoch is 8 now, 7 before",
        "leader epoch 6 is not newer than 8, the newest known one",
        "the coordinator is shut down",
    ]
    runtime.open()
    assert runtime.load(0, 9)


class Replicated:
    """A runtime whose log has other replicas, so its high watermark is moved by hand."""

    def __init__(self, folder: Path, *, reads_committed: bool = True) -> None:
        self.clock = ManualClock(NOW)
        configs = {TOPIC: {"cleanup.policy": "compact"}}
        self.manager = LogManager(
            [folder], clock=self.clock, topic_configs=configs, commits_appends=False
        )
        self.manager.startup(with_tasks=False)
        self.log = self.manager.get_or_create_log(TOPIC, 0)
        self.steps: list[Step] = []
        self.runtime: CoordinatorRuntime[Register] = CoordinatorRuntime(
            TOPIC, self.manager.get_log, Register, waits_for_replicas=True,
            reads_committed=reads_committed, observer=self.steps.append,
        )  # fmt: skip
        self.runtime.load(0, 0)

    def put(self, number: int) -> Future[str]:
        return self.runtime.schedule_write(0, partial(put_number, number))

    def commit(self, high_watermark: int) -> None:
        self.log.update_high_watermark(high_watermark)
        self.runtime.on_high_watermark(0)

    def value(self) -> bytes | None:
        return self.runtime.read(0, lambda shard: shard.values.get(b"k"))


@pytest.fixture
def replicated(tmp_path: Path) -> Iterator[Replicated]:
    found = Replicated(tmp_path)
    yield found
    found.manager.shutdown()


def failure(answer: Future[str]) -> ErrorCode:
    error = answer.exception(0)
    assert isinstance(error, CoordinatorError)
    return ErrorCode(error.code)


def test_an_operation_waits_for_the_high_watermark(replicated: Replicated) -> None:
    """CoordinatorRuntimeTest.testScheduleWriteOp: answered in order, as the watermark passes."""
    first, second = replicated.put(1), replicated.put(2)
    assert (replicated.log.log_end_offset, replicated.log.high_watermark) == (2, 0)
    assert (first.done(), second.done(), replicated.value()) == (False, False, None)
    replicated.commit(1)
    assert (first.result(0), second.done(), replicated.value()) == ("done", False, b"1")
    replicated.commit(2)
    assert (second.result(0), replicated.value()) == ("done", b"2")


def test_an_operation_that_waits_too_long_fails_and_still_counts(replicated: Replicated) -> None:
    """CoordinatorRuntimeTest.testScheduleWriteOpWhenWriteTimesOut; the offset is in the log."""
    answer = replicated.put(1)
    assert replicated.runtime.next_deadline_ms == NOW + 5_000  # offsets.commit.timeout.ms
    replicated.runtime.expire_deferred(NOW + 4_999)
    assert not answer.done()
    replicated.runtime.expire_deferred(NOW + 5_000)
    assert failure(answer) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not replicated.runtime.next_deadline_ms
    assert replicated.value() is None
    replicated.commit(1)
    assert replicated.value() == b"1"


def test_up_to_3_9_it_counts_after_the_next_load(tmp_path: Path) -> None:
    """As 3.9.1 does: see `tests/replication/coordinator_cases`."""
    replicated = Replicated(tmp_path, reads_committed=False)
    answer = replicated.put(1)
    replicated.runtime.expire_deferred(NOW + 5_000)
    assert failure(answer) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    replicated.commit(1)
    assert replicated.value() is None
    replicated.runtime.unload(0)
    replicated.runtime.load(0, 1)
    assert replicated.value() == b"1"
    replicated.manager.shutdown()


def test_an_unload_answers_what_waits(replicated: Replicated) -> None:
    """CoordinatorRuntimeTest.testScheduleUnloading: NOT_COORDINATOR."""
    answer = replicated.put(1)
    assert replicated.runtime.unload(0, 1)
    assert failure(answer) is ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize(("reads_committed", "shown"), [(True, b"1"), (False, b"2")])
def test_a_load_shows_what_the_high_watermark_has_passed(
    tmp_path: Path, *, reads_committed: bool, shown: bytes
) -> None:
    """CoordinatorLoaderImplTest.testUpdateLastWrittenOffsetAndUpdateLastCommittedOffset (4.0).

    GroupMetadataManager.doLoadGroupsAndOffsets (3.9) reads to the log end offset and shows it.
    """
    replicated = Replicated(tmp_path, reads_committed=reads_committed)
    replicated.put(1)
    replicated.put(2)
    replicated.commit(1)
    replicated.runtime.unload(0)
    replicated.runtime.load(0, 1)
    assert replicated.value() == shown
    later = replicated.put(3)
    replicated.commit(2)
    assert (later.done(), replicated.value()) == (False, b"2")
    replicated.commit(3)
    assert (later.result(0), replicated.value()) == ("done", b"3")
    replicated.manager.shutdown()


def test_a_marker_takes_effect_at_the_high_watermark(replicated: Replicated) -> None:
    replicated.runtime.schedule_write(0, partial(put_number, 7), 7, 3)
    replicated.runtime.complete_transaction(0, 7, 3, 5, is_commit=True)
    replicated.commit(1)
    assert replicated.value() is None
    replicated.commit(2)
    assert replicated.value() == b"7"


def test_requests_while_loading_are_told_to_wait(life: Life) -> None:
    """GO-46: COORDINATOR_LOAD_IN_PROGRESS while loading; other partitions work."""
    codes: list[ErrorCode] = []
    life.manager.get_or_create_log(TOPIC, 1)

    def ask(step: Step) -> None:
        if step.kind == "partition loading" and step.where == f"{TOPIC}-0":
            assert runtime.loading_partitions == [0]
            with pytest.raises(CoordinatorError) as error:
                life.values(runtime)
            codes.append(code_of(error))
            assert runtime.write(1, lambda _: put((b"a", b"1"))) == "done"

    runtime = CoordinatorRuntime(TOPIC, life.manager.get_log, Register, observer=ask)
    runtime.load(1)
    runtime.load(0)
    assert codes == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    assert runtime.owned_partitions == [0, 1]


def test_a_partition_that_cannot_be_read_is_not_served(life: Life) -> None:
    life.log.append([(NOW, b"a", b"1")])
    life.log.append([(NOW, b"k", b"2"), (NOW, b"l", b"3")])
    life.runtime.load(0, 1)
    assert life.values() == {b"a": b"1", b"k": b"2", b"l": b"3"}
    life.runtime.unload(0)
    configs = {"cleanup.policy": "delete"}
    life.manager.update_topic_config(TOPIC, configs)
    life.log.append([(NOW, None, b"no key")])
    assert not life.runtime.load(0, 2)
    assert life.runtime.state_of(0) is PartitionState.FAILED
    with pytest.raises(CoordinatorError, match="the key is null") as error:
        life.values()
    assert code_of(error) is ErrorCode.NOT_COORDINATOR


def test_a_log_that_has_gone_is_not_written(life: Life) -> None:
    """GO-27: NOT_LEADER_OR_FOLLOWER is answered as NOT_COORDINATOR; nothing is cached."""
    life.runtime.load(0)
    life.manager.async_delete(f"{TOPIC}-0")
    with pytest.raises(CoordinatorError) as error:
        life.runtime.write(0, lambda _: put((b"a", b"1")))
    assert code_of(error) is ErrorCode.NOT_COORDINATOR
    assert life.values() == {}


def test_records_of_others_make_it_load_again(life: Life) -> None:
    life.runtime.load(0)
    life.log.append([(NOW, b"foreign", b"1")])
    with pytest.raises(CoordinatorError) as error:
        life.runtime.write(0, lambda _: put((b"a", b"1")))
    assert code_of(error) is ErrorCode.NOT_COORDINATOR
    assert life.values() == {b"foreign": b"1", b"a": b"1"}
    life.runtime.write(0, lambda _: put((b"b", b"2")))
    assert len(life.values()) == 3


@pytest.mark.parametrize(
    ("error", "new", "old"),
    [
        (3, 15, 15),
        (19, 15, 15),
        (20, 20, 15),
        (6, 16, 16),
        (56, 16, 16),
        (7, 15, 7),
        (10, -1, 28),
        (18, -1, 28),
        (4, -1, 28),
        (13, 14, 14),
        (2, 2, 2),
        (47, 47, 47),
        (48, 48, 48),
    ],
)
def test_answers_to_a_commit_whose_append_failed(error: int, new: int, old: int) -> None:
    """GO-26: by the coordinator of KIP-848, and by those before 4.0."""
    assert answer_to(ErrorCode(error)) == new
    assert answer_of_old_to_commit(ErrorCode(error)) == old


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.StorageError("/data", "offline"), 56),
        (errors.RecordTooLargeError("large"), 10),
        (errors.RecordBatchTooLargeError("large"), 18),
        (errors.InvalidTimestampError("early"), 32),
        (errors.InvalidRecordError("no key"), 87),
        (errors.OutOfOrderSequenceError("gap"), 45),
        (errors.InvalidProducerEpochError("old"), 47),
        (errors.InvalidTransactionStateError("open"), 48),
        (errors.CoordinatorFencedError("old"), 52),
        (errors.CorruptRecordError(None, None, "crc"), 2),
        (errors.UnsupportedForMessageFormatError("magic"), 43),
        (errors.AppendError("other"), -1),
        (ErrorCode.NETWORK_EXCEPTION.error(), 13),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_each_error_of_the_log_has_kafkas_code(error: errors.WorkbenchError, code: int) -> None:
    assert error_code_of(error) == code
