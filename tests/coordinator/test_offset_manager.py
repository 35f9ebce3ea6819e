"""The offset manager: commits, fetches, transactions, expiry and deletions, by Kafka's rules."""

import shutil
import struct
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.coordinator.writing import commit as commit_record
from tests.coordinator.writing import group as group_record
from tests.coordinator.writing import member, record
from tests.waiting import HANGS_AFTER_S
from workbench.coordinator.group_coordinator.offset_manager import OffsetManager
from workbench.coordinator.groups.commit_records import commit_key, commit_value, read_commit
from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.coordinator.groups.offset_metadata import OffsetAndMetadata
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.offsets.offset_metadata_manager import (
    UNKNOWN_OFFSET,
    FetchedOffset,
    OffsetCommit,
    OffsetMetadataManager,
)
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.coordinator.steps import OFFSET_KINDS
from workbench.decoders.consumer_offsets import decode_key, decode_value
from workbench.errors import CoordinatorError
from workbench.files.names import TopicPartition
from workbench.inspection.listing import list_log_directories
from workbench.log_manager.manager import LogManager
from workbench.runtime.clock import ManualClock
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.scheduler import ManualScheduler
from workbench.runtime.steps import Step

NOW = 1_700_000_000_000
SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
HOUR = 3_600_000
WEEK = 7 * 24 * HOUR
NONE = ErrorCode.NONE
UNSTABLE = FetchedOffset(-1, error=ErrorCode.UNSTABLE_OFFSET_COMMIT)

Pair = tuple[bytes, bytes | None]


class Broker:
    """A log manager and an offset manager with one partition of `__consumer_offsets`."""

    def __init__(
        self, folder: Path, era: CoordinatorEra = CoordinatorEra.KIP_848, **config: Any
    ) -> None:
        self.clock = ManualClock(NOW)
        self.scheduler = ManualScheduler(self.clock)
        self.folder, self.era = folder, era
        self.config = OffsetConfig(topic_num_partitions=1, **config)
        self.steps: list[Step] = []
        self.open()

    def open(self, **options: Any) -> None:
        self.manager = LogManager([self.folder], clock=self.clock, scheduler=self.scheduler)
        self.manager.startup(with_tasks=False)
        self.offsets = OffsetManager(
            self.manager,
            config=self.config,
            era=self.era,
            observer=self.steps.append,
            **options,
        )
        self.offsets.startup(with_tasks=False)

    def close(self) -> None:
        self.offsets.shutdown()
        self.manager.shutdown()

    def reopen(self, **options: Any) -> None:
        self.close()
        self.open(**options)

    def records(self) -> list[Pair]:
        """Return key and value of every record that is in the log."""
        log = self.manager.get_log(GROUPS_TOPIC, 0)
        assert log is not None
        found, at = [], 0
        while at < log.log_end_offset:  # a read ends with its segment
            batches = log.read(at, 1 << 20).records.records()
            found += [(each.key or b"", each.value) for each in batches]
            at = batches[-1].offset + 1
        return found

    def decoded(self) -> list[tuple[Any, Any]]:
        return [
            (decode_key(key)["data"], decode_value(key, value)) for key, value in self.records()
        ]

    def write(self, *pairs: tuple[bytes | None, bytes | None]) -> None:
        """Put records into the log before the offset manager loads it again."""
        log = self.manager.get_or_create_log(GROUPS_TOPIC, 0)
        log.append([(self.clock.now(), key, value) for key, value in pairs])
        self.offsets.shutdown()
        self.reopen()

    def kinds(self) -> list[str]:
        assert {step.kind for step in self.steps} <= set(OFFSET_KINDS)
        return [step.kind for step in self.steps]

    def code_of(self, request: Callable[[], object]) -> ErrorCode:
        """Return the code that a request fails with."""
        with pytest.raises(CoordinatorError) as error:
            request()
        return ErrorCode(error.value.code)

    def commit(self, group: str = "g", **options: Any) -> ErrorCode:
        """Commit one offset and return the code."""
        try:
            return self.offsets.commit(group, {"t-0": 5}, **options)["t-0"]
        except CoordinatorError as error:
            return ErrorCode(error.code)

    def transact(self, producer: int, offset: int, group: str = "g", where: str = "t-0") -> None:
        self.offsets.commit_transactional(
            group, {where: offset}, producer_id=producer, producer_epoch=0
        )

    def end(self, producer: int, *, is_commit: bool) -> None:
        self.offsets.complete_transaction(0, producer, 0, 0, is_commit=is_commit)

    def offset(self, where: str = "t-0", group: str = "g", *, stable: bool = False) -> int:
        found = self.offsets.fetch(group, [where], require_stable=stable)[where]
        return -88 if found.error is ErrorCode.UNSTABLE_OFFSET_COMMIT else found.offset


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Broker]]:
    made: list[Broker] = []

    def new(**options: Any) -> Broker:
        made.append(Broker(tmp_path / str(len(made)), **options))
        return made[-1]

    yield new
    for broker in made:
        broker.close()


@pytest.fixture
def broker(make: Callable[..., Broker]) -> Broker:
    return make()


# Commits and fetches


def test_a_commit_is_appended_then_cached_then_fetched(broker: Broker) -> None:
    """GO-25: commit, then fetch; the value remembers the record's offset."""
    value = OffsetCommit(42, 7, "mine")
    assert broker.offsets.commit("g", {"t-0": value, "t-1": 43}) == {
        TopicPartition("t", 0): NONE,
        TopicPartition("t", 1): NONE,
    }
    assert broker.offsets.fetch("g", ["t-0", "t-1", "t-2"]) == {
        TopicPartition("t", 0): FetchedOffset(42, 7, "mine"),
        TopicPartition("t", 1): FetchedOffset(43),
        TopicPartition("t", 2): UNKNOWN_OFFSET,
    }
    assert len(broker.offsets.fetch("g")) == 2
    shard = broker.offsets.runtime.shard(0)
    assert isinstance(shard, OffsetMetadataManager)
    known = shard.state.table.offsets["g"]
    assert [each.record_offset for each in known.values()] == [0, 1]
    assert broker.kinds()[-4:] == [
        "commit validated", "records appended", "offset loaded", "offset loaded",
    ]  # fmt: skip


def test_what_was_committed_is_there_after_a_restart(broker: Broker) -> None:
    broker.offsets.commit("g", {"t-0": OffsetCommit(42, 7, "mine", "AAAAAAAAAAAAAAAAAAAAAQ")})
    before = broker.offsets.fetch("g")
    broker.reopen()
    assert broker.offsets.fetch("g") == before
    ids = {"t": "AAAAAAAAAAAAAAAAAAAAAg"}
    assert broker.offsets.fetch("g", ["t-0"], topic_ids=ids)["t-0"] == UNKNOWN_OFFSET


def test_unknown_groups_have_no_offsets(broker: Broker) -> None:
    """GO-57: each partition -1, all of them an empty answer."""
    assert broker.offsets.fetch("nobody", ["t-0"])["t-0"] == UNKNOWN_OFFSET
    assert broker.offsets.fetch("nobody") == {}


def test_the_empty_group_id_commits_fetches_and_is_deleted(broker: Broker) -> None:
    """GO-42: the empty group id is a group; a transaction cannot commit for it."""
    assert broker.commit("") is NONE
    assert broker.offset(group="") == 5
    with pytest.raises(CoordinatorError, match="INVALID_GROUP_ID"):
        broker.transact(1, 5, "")
    assert broker.offsets.delete_groups([""]) == {"": NONE}
    assert broker.offset(group="") == -1


def test_a_commit_to_an_unknown_group_with_a_generation_is_refused(broker: Broker) -> None:
    """GO-40, GO-51: ILLEGAL_GENERATION, since version 9 GROUP_ID_NOT_FOUND; without one, taken."""
    assert broker.commit(generation=10, api_version=8) is ErrorCode.ILLEGAL_GENERATION
    assert broker.commit(generation=10, api_version=9) is ErrorCode.GROUP_ID_NOT_FOUND
    assert broker.offsets.fetch("g", ["t-0"])["t-0"] == UNKNOWN_OFFSET
    assert broker.offsets.group_not_exists("g")
    assert broker.commit() is NONE


def test_a_simple_commit_makes_a_group_and_ignores_instance_ids(broker: Broker) -> None:
    """GO-52: a commit from outside a group makes a simple, empty group."""
    assert broker.commit(group_instance_id="i") is NONE
    shard = broker.offsets.runtime.shard(0)
    assert isinstance(shard, OffsetMetadataManager)
    group = shard.state.groups["g"]
    assert (group.kind, group.state, group.generation) == ("simple", "Empty", 0)
    assert broker.commit(member_id="any", group_instance_id="i") is NONE
    assert len(broker.decoded()) == 2  # no record of the group


def test_a_retention_time_is_an_expire_time_in_a_value_of_version_1(broker: Broker) -> None:
    """GO-53: retention 1234 expires at now + 1234."""
    broker.offsets.commit("g", {"t-0": OffsetCommit(1, 3)}, retention_ms=1234)
    [(_, value)] = broker.decoded()
    assert value["version"] == 1
    assert value["data"]["expireTimestamp"] == NOW + 1234
    assert broker.offsets.fetch("g", ["t-0"])["t-0"].leader_epoch is None  # it has no such field


@pytest.mark.parametrize(("size", "text"), [(4096, "x" * 4096), (4097, "x" * 4097),
    (4096, "😀" * 2048), (4097, "😀" * 2048 + "x"), (2048, "ä" * 2048)])  # fmt: skip
def test_metadata_is_limited_in_utf_16_units(broker: Broker, size: int, text: str) -> None:
    """GO-29, GO-50: 4096 units are taken; 4097 fail that partition, the others are written."""
    codes = broker.offsets.commit("g", {"t-0": OffsetCommit(1, None, text), "t-1": 2})
    is_taken = size <= 4096
    assert codes["t-0"] is (NONE if is_taken else ErrorCode.OFFSET_METADATA_TOO_LARGE)
    assert codes["t-1"] is NONE
    assert broker.offset("t-0") == (1 if is_taken else -1)
    assert broker.offset("t-1") == 2
    assert len(broker.records()) == 1 + is_taken


def test_nothing_is_written_if_all_metadata_is_too_long(broker: Broker) -> None:
    """GO-29: no append, neither for a plain nor for a transactional commit."""
    long = {"t-0": OffsetCommit(1, None, "x" * 4097)}
    refused = {TopicPartition("t", 0): ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert broker.offsets.commit("g", long) == refused
    options: dict[str, Any] = {"producer_id": 1, "producer_epoch": 0}
    assert broker.offsets.commit_transactional("g", long, **options) == refused
    assert broker.records() == []
    assert broker.kinds().count("commit refused") == 2


def test_unknown_partitions_fail_alone(broker: Broker) -> None:
    """GO-50: UNKNOWN_TOPIC_OR_PARTITION for them, the others are stored."""
    broker.reopen(partition_exists=lambda where: where.topic == "t")
    codes = broker.offsets.commit("g", {"t-0": 1, "other-0": 2})
    assert codes == {
        TopicPartition("t", 0): NONE,
        TopicPartition("other", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert list(broker.offsets.fetch("g")) == [TopicPartition("t", 0)]


@pytest.mark.parametrize(
    ("error", "answer"),
    [(49, 49), (48, 48), (13, 14), (19, 15), (6, 16), (56, 16), (3, 15), (120, 120)],
)
def test_errors_of_verification_are_translated(broker: Broker, error: int, answer: int) -> None:
    """GO-49: 49 and 48 as they are, 13 as 14, 19 as 15, 6 and 56 as 16."""

    def verify(name: str, producer: int, epoch: int, where: TopicPartition) -> None:
        assert (name, producer, epoch, str(where)) == ("", 1, 0, "__consumer_offsets-0")
        raise ErrorCode(error).error("not verified")

    broker.reopen(verify=verify)
    assert broker.code_of(lambda: broker.transact(1, 5)) == answer
    assert broker.offset(stable=True) == -1


def test_a_group_with_members_takes_commits_of_its_members_only(broker: Broker) -> None:
    """GO-48, GC-6: generations, member ids and instance ids are checked in this order."""
    members = [member("a", "t"), member("b", "t", groupInstanceId="i")]
    broker.write(group_record("g", protocol="range", leader="a", generation=3, members=members))
    cases: list[tuple[dict[str, Any], ErrorCode]] = [
        ({"member_id": "a", "generation": 3}, NONE),
        ({"member_id": "a", "generation": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "c", "generation": 3}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "a", "generation": -1}, ErrorCode.ILLEGAL_GENERATION),
        ({}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "b", "generation": 3, "group_instance_id": "i"}, NONE),
        ({"member_id": "a", "generation": 3, "group_instance_id": "i"},
            ErrorCode.FENCED_INSTANCE_ID),
        ({"member_id": "a", "generation": 3, "group_instance_id": "j"},
            ErrorCode.UNKNOWN_MEMBER_ID),
    ]  # fmt: skip
    for who, code in cases:
        assert broker.commit(**who) is code, who
        transactional: dict[str, Any] = {"producer_id": 1, "producer_epoch": 0, **who}
        if not who:
            code = NONE  # noqa: PLW2901  # a producer need not know the group
        try:
            [found] = broker.offsets.commit_transactional("g", {"t-0": 1}, **transactional).values()
        except CoordinatorError as error:
            found = ErrorCode(error.code)
        assert found is code, who


def test_a_reset_tool_commits_after_the_last_member_left(broker: Broker) -> None:
    """GO-41: an empty group takes commits with generation -1 and without a member."""
    broker.write(group_record("g", generation=4))
    assert broker.commit() is NONE
    assert broker.commit(generation=4, member_id="gone") is ErrorCode.UNKNOWN_MEMBER_ID


def test_epochs_of_consumer_groups(broker: Broker) -> None:
    """GO-55: old epoch STALE_MEMBER_EPOCH, below version 9 UNSUPPORTED_VERSION, in a txn 22."""
    name = {"groupId": "g", "memberId": "m"}
    fields = {
        "instanceId": None, "rackId": None, "clientId": "c", "clientHost": "/h",
        "subscribedTopicNames": ["t"], "subscribedTopicRegex": None, "rebalanceTimeoutMs": 1,
        "serverAssignor": None, "classicMemberMetadata": None,
    }  # fmt: skip
    current = {"memberEpoch": 5, "previousMemberEpoch": 4, "state": 0,
        "assignedPartitions": [], "partitionsPendingRevocation": []}  # fmt: skip
    broker.write(
        record(3, {"groupId": "g"}, {"epoch": 5, "metadataHash": 0}),
        record(5, name, fields),
        record(8, name, current),
    )
    assert broker.commit(member_id="m", generation=5) is NONE
    assert broker.commit(member_id="m", generation=4) is ErrorCode.STALE_MEMBER_EPOCH
    old: dict[str, Any] = {"member_id": "m", "generation": 5, "api_version": 8}
    assert broker.commit(**old) is ErrorCode.UNSUPPORTED_VERSION
    assert broker.commit(member_id="x", generation=5) is ErrorCode.UNKNOWN_MEMBER_ID
    assert broker.commit() is ErrorCode.UNKNOWN_MEMBER_ID
    stale: dict[str, Any] = {
        "member_id": "m",
        "generation": 4,
        "producer_id": 1,
        "producer_epoch": 0,
    }
    codes = broker.code_of(lambda: broker.offsets.commit_transactional("g", {"t-0": 1}, **stale))
    assert codes is ErrorCode.ILLEGAL_GENERATION
    fetch = broker.offsets.fetch
    assert fetch("g", ["t-0"], member_id="m", member_epoch=5)["t-0"].offset == 5
    wrong = broker.code_of(lambda: fetch("g", ["t-0"], member_id="m", member_epoch=4))
    assert wrong is ErrorCode.STALE_MEMBER_EPOCH
    unknown = broker.code_of(lambda: fetch("g", member_id="x", member_epoch=5))
    assert unknown is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("metadata", ["", "text", "ä😀" * 40, "x" * 126, "x" * 127])
def test_values_of_every_version_are_read_as_they_were_written(version: int, metadata: str) -> None:
    """GO-21: an expire time only in version 1, the leader epoch since 3, the topic id in 4."""
    value = OffsetAndMetadata(
        9,
        3,
        metadata,
        NOW,
        NOW + 1,
        "AAAAAAAAAAAAAAAAAAAAAQ" if version == 4 else None,
        12,
        version,
    )
    data = commit_value(value)
    assert struct.unpack(">h", data[:2]) == (version,)
    assert read_commit(data, 12) == value._replace(
        leader_epoch=3 if version >= 3 else None,
        expire_timestamp=NOW + 1 if version == 1 else None,
    )
    key = commit_key("gruppe-ä", TopicPartition("t", 3))
    fields: dict[str, Any] = {"offset": 9, "leaderEpoch": 3, "commitTimestamp": NOW,
        "metadata": metadata, "expireTimestamp": NOW + 1, "topicId": value.topic_id}  # fmt: skip
    if value.topic_id is None:
        del fields["topicId"]
    assert (key, data) == commit_record("gruppe-ä", "t", 3, version=version, **fields)


@pytest.mark.parametrize(
    ("era", "version"),
    [(CoordinatorEra.BEFORE_2_1, 1), (CoordinatorEra.CLASSIC, 3), (CoordinatorEra.KIP_848, 4)],
)
def test_each_era_writes_its_version(
    make: Callable[..., Broker], era: CoordinatorEra, version: int
) -> None:
    """GO-21: 1 before 2.1, 3 up to 3.9, 4 since."""
    broker = make(era=era)
    broker.commit()
    [(_, value)] = broker.decoded()
    assert value["version"] == version
    expires = value["data"].get("expireTimestamp", -1)
    assert expires == (NOW + WEEK if era is CoordinatorEra.BEFORE_2_1 else -1)


# Errors of the log


def test_a_commit_whose_append_fails_leaves_the_old_offset(broker: Broker) -> None:
    """GO-26, GO-28, GO-38: another commit's value is kept, and the next one is taken."""
    broker.commit()
    log = broker.manager.get_log(GROUPS_TOPIC, 0)
    assert log is not None
    broker.manager.update_topic_config(GROUPS_TOPIC, {"max.message.bytes": 200})
    many = {f"t-{number}": 6 for number in range(10)}
    code = broker.code_of(lambda: broker.offsets.commit("g", many))
    assert code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert broker.offset() == 5
    assert len(broker.offsets.fetch("g")) == 1
    assert broker.code_of(lambda: broker.offsets.commit("new", many)) is code
    assert broker.offsets.group_not_exists("new")
    broker.offsets.commit("g", {"t-0": 7})
    assert broker.offset() == 7


def test_older_coordinators_answer_that_the_commit_is_too_large(
    make: Callable[..., Broker],
) -> None:
    """GO-26: MESSAGE_TOO_LARGE is INVALID_COMMIT_OFFSET_SIZE before 4.0."""
    broker = make(era=CoordinatorEra.CLASSIC)
    broker.commit()
    broker.manager.update_topic_config(GROUPS_TOPIC, {"max.message.bytes": 100})
    assert broker.commit() is ErrorCode.INVALID_COMMIT_OFFSET_SIZE


def test_a_failed_transactional_append_leaves_nothing_pending(broker: Broker) -> None:
    """GO-30: no pending offset is left."""
    broker.commit()
    broker.manager.update_topic_config(GROUPS_TOPIC, {"max.message.bytes": 100})
    with pytest.raises(CoordinatorError):
        broker.transact(1, 9)
    assert broker.offset(stable=True) == 5


def test_values_that_do_not_fit_are_refused(broker: Broker) -> None:
    code = broker.code_of(lambda: broker.offsets.commit("g", {"t-0": 1 << 63}))
    assert code is ErrorCode.INVALID_REQUEST
    for name in ("g" * 40_000, "𝄞" * 9000):  # 36,000 bytes
        code = broker.code_of(partial(broker.offsets.commit, name, {"t-0": 1}))
        assert code is ErrorCode.INVALID_GROUP_ID
    broker.offsets.shutdown()
    assert broker.commit() is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_group_does_not_exist_only_if_the_coordinator_knows(broker: Broker) -> None:
    """GO-19: not owned: unknown; owned and absent: does not exist; with offsets: exists."""
    assert not broker.offsets.group_not_exists("g")
    broker.commit()
    assert not broker.offsets.group_not_exists("g")
    assert broker.offsets.group_not_exists("other")
    broker.offsets.unload(0)
    assert not broker.offsets.group_not_exists("other")
    assert broker.commit() is ErrorCode.NOT_COORDINATOR
    assert broker.code_of(lambda: broker.offsets.fetch("g")) is ErrorCode.NOT_COORDINATOR
    broker.offsets.load(0)
    assert broker.offset() == 5


# Transactions


def test_a_transactional_commit_is_pending_until_its_marker(broker: Broker) -> None:
    """GO-30, GO-45: unstable before; the value after COMMIT, nothing after ABORT."""
    broker.transact(1, 9)
    assert broker.offset() == -1
    assert broker.offset(stable=True) == -88
    assert broker.offsets.fetch("g", require_stable=True) == {}
    broker.end(1, is_commit=True)
    assert broker.offset(stable=True) == 9
    broker.transact(1, 10)
    assert broker.offsets.fetch("g", require_stable=True) == {TopicPartition("t", 0): UNSTABLE}
    broker.end(1, is_commit=False)
    assert broker.offset(stable=True) == 9
    broker.reopen()
    assert broker.offset(stable=True) == 9


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(
    ("first", "is_commit", "expected"),
    [("plain", True, 23), ("transactional", True, 24), ("transactional", False, 24)],
)
def test_the_later_record_wins_when_the_transaction_commits(
    broker: Broker, first: str, *, is_commit: bool, expected: int, restarts: bool
) -> None:
    """GO-39: a plain commit after the transactional one wins; one before loses."""
    for kind in (first, "plain" if first == "transactional" else "transactional"):
        if kind == "plain":
            broker.offsets.commit("g", {"t-0": 24})
        else:
            broker.transact(1, 23)
    if restarts:
        broker.reopen()
    broker.end(1, is_commit=is_commit)
    assert broker.offset() == expected


def test_a_stray_marker_changes_nothing(broker: Broker) -> None:
    """GO-43: ABORT, then COMMIT of the same producer: still no offset."""
    broker.transact(1, 9)
    broker.end(1, is_commit=False)
    broker.end(1, is_commit=True)
    assert broker.offset() == -1


def test_one_producer_in_two_groups_of_different_partitions(tmp_path: Path) -> None:
    """GO-44: the marker of one partition ends only the commits in it."""
    with LogManager([tmp_path]) as manager, OffsetManager(manager) as offsets:
        numbers = {name: offsets.partition_for(name) for name in ("a", "b")}
        assert numbers == {"a": 47, "b": 48}
        for name in numbers:
            offsets.commit_transactional(name, {"t-0": 1}, producer_id=7, producer_epoch=0)
        offsets.complete_transaction(47, 7, 0, 0, is_commit=True)
        assert offsets.fetch("a", ["t-0"], require_stable=True)["t-0"].offset == 1
        assert offsets.fetch("b", ["t-0"], require_stable=True)["t-0"] == UNSTABLE


def test_a_tombstone_removes_pending_commits_of_all_producers(broker: Broker) -> None:
    """GO-58, GO-62: then the markers have nothing to move."""
    broker.commit()
    broker.transact(1, 6)
    broker.transact(2, 7)
    assert broker.offsets.delete_offsets("g", ["t-0"])["t-0"] is NONE
    for producer in (1, 2):
        broker.end(producer, is_commit=True)
    assert broker.offset(stable=True) == -1


# Deletion and expiry


def test_offsets_of_subscribed_topics_are_not_deleted(broker: Broker) -> None:
    """GO-58: subscribed 86; others 0 with a tombstone, pending ones too; nothing there: 0."""
    members = [member("a", "t")]
    broker.write(group_record("g", protocol="range", leader="a", members=members))
    who: dict[str, Any] = {"member_id": "a", "generation": 1}
    broker.offsets.commit("g", {"t-0": 1, "u-0": 2}, **who)
    broker.transact(1, 3, where="v-0")
    before = len(broker.records())
    assert broker.offsets.delete_offsets("g", ["t-0", "u-0", "v-0", "w-0"]) == {
        TopicPartition("t", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        TopicPartition("u", 0): NONE,
        TopicPartition("v", 0): NONE,
        TopicPartition("w", 0): NONE,
    }
    written = broker.decoded()[before:]
    assert [(key["topic"], value) for key, value in written] == [("u", None), ("v", None)]
    code = broker.code_of(lambda: broker.offsets.delete_offsets("nobody", ["t-0"]))
    assert code is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_is_deleted_with_its_offsets(broker: Broker) -> None:
    """GO-59: one tombstone for each partition, pending ones counted once, then the group's."""
    broker.write(group_record("full", protocol="range", members=[member("a", "t")]))
    broker.offsets.commit("g", {"t-0": 1, "t-1": 2, "t-2": 3})
    broker.transact(1, 4, where="t-2")
    broker.transact(2, 5, where="t-3")
    before = len(broker.records())
    assert broker.offsets.delete_groups(["g", "full", "nobody"]) == {
        "g": NONE,
        "full": ErrorCode.NON_EMPTY_GROUP,
        "nobody": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    keys = [key for key, _ in broker.decoded()[before:]]
    assert [key.get("partition") for key in keys] == [0, 1, 2, 3, None]
    assert broker.offsets.fetch("g") == {}
    broker.reopen()
    assert broker.offsets.group_not_exists("g")


def test_offsets_of_deleted_partitions_are_deleted(broker: Broker) -> None:
    """GO-64: of all groups, pending ones too."""
    for name in ("g", "h"):
        broker.offsets.commit(name, {"t-0": 1, "t-1": 2, "u-0": 3})
    broker.transact(1, 4, where="t-0")
    assert broker.offsets.on_partitions_deleted(["t-0", "t-1", "other-5"]) == 5
    for name in ("g", "h"):
        assert list(broker.offsets.fetch(name)) == [TopicPartition("u", 0)]
    assert broker.offset(stable=True) == -1


def test_offsets_of_a_simple_group_expire_after_their_commit(broker: Broker) -> None:
    """GO-36, GO-60, GO-66: at exactly commit + retention; then the group goes, by the task."""
    broker.offsets.commit("g", {"t-0": 1})
    broker.clock.advance(500)
    broker.offsets.commit("g", {"t-1": 2})
    broker.clock.set(NOW + WEEK - 1)
    assert broker.offsets.cleanup_group_metadata() == 0
    broker.clock.set(NOW + WEEK)
    assert broker.offsets.cleanup_group_metadata() == 1
    assert list(broker.offsets.fetch("g")) == [TopicPartition("t", 1)]
    broker.offsets.startup()
    broker.clock.advance(broker.config.retention_check_interval_ms)  # now the task has run
    assert broker.offsets.group_not_exists("g")
    keys = [decode_key(key)["type_id"] for key, value in broker.records() if value is None]
    assert keys == [1, 1, 2]
    reasons = [step.reason for step in broker.steps if step.kind == "offset expired"]
    assert "retention since the commit" in reasons[0]


def test_pending_commits_keep_an_offset_and_its_group(broker: Broker) -> None:
    """GO-61: nothing is written while a transaction commits the partition."""
    broker.commit()
    broker.transact(1, 6)
    before = broker.records()
    broker.clock.set(NOW + 2 * WEEK)
    assert broker.offsets.cleanup_group_metadata() == 0
    assert broker.records() == before
    assert "offset kept" in broker.kinds()


def test_offsets_with_an_expire_time_go_at_that_time(broker: Broker) -> None:
    """GO-32: expire times +1 and +3 ms: at +2 the first expires, and the group remains."""
    broker.offsets.commit("g", {"t-0": 1}, retention_ms=1)
    broker.offsets.commit("g", {"t-1": 2}, retention_ms=3)
    broker.clock.advance(2)
    assert broker.offsets.cleanup_group_metadata() == 1
    assert list(broker.offsets.fetch("g")) == [TopicPartition("t", 1)]


@pytest.mark.parametrize(
    ("era", "tombstones"), [(CoordinatorEra.CLASSIC, [1]), (CoordinatorEra.KIP_848, [1, 2])]
)
def test_a_simple_group_that_expired_has_a_tombstone_only_since_4_0(
    make: Callable[..., Broker], era: CoordinatorEra, tombstones: list[int]
) -> None:
    """GO-34: generation 0: offset tombstones only, and the group is gone."""
    broker = make(era=era)
    broker.commit()
    broker.clock.set(NOW + WEEK)
    assert broker.offsets.cleanup_group_metadata() == 1
    assert broker.offsets.group_not_exists("g")
    keys = [decode_key(key)["type_id"] for key, value in broker.records() if value is None]
    assert keys == tombstones


@pytest.mark.parametrize("era", [CoordinatorEra.CLASSIC, CoordinatorEra.KIP_848])
def test_an_empty_group_without_offsets_gets_a_tombstone(
    make: Callable[..., Broker], era: CoordinatorEra
) -> None:
    """GO-33: one tombstone for a group of generation 5, with the time of the append."""
    broker = make(era=era)
    broker.write(group_record("g", generation=5))
    broker.offsets.cleanup_group_metadata()
    [_, (key, value)] = broker.decoded()
    assert key == {"group": "g"}
    assert value is None
    assert broker.offsets.group_not_exists("g")


def test_before_2_1_an_offset_goes_after_its_expire_time(make: Callable[..., Broker]) -> None:
    """GO-50: retention 0 expires, an hour does not; the commit's own timestamp counts."""
    broker = make(era=CoordinatorEra.BEFORE_2_1)
    broker.offsets.commit("g", {"t-0": 1}, retention_ms=0)
    broker.offsets.commit("g", {"t-1": 2}, retention_ms=HOUR)
    two_days_ago = OffsetCommit(3, timestamp=NOW - 2 * WEEK)
    broker.offsets.commit("g", {"t-2": two_days_ago})
    broker.clock.advance(1)
    assert broker.offsets.cleanup_group_metadata() == 2
    assert list(broker.offsets.fetch("g")) == [TopicPartition("t", 1)]
    broker.clock.set(NOW + HOUR)
    assert broker.offsets.cleanup_group_metadata() == 0  # not before the time is over
    broker.clock.advance(1)
    assert broker.offsets.cleanup_group_metadata() == 1


@pytest.mark.parametrize(
    "era", [CoordinatorEra.BEFORE_2_1, CoordinatorEra.CLASSIC, CoordinatorEra.KIP_848]
)
def test_a_partition_with_an_unreadable_record(
    make: Callable[..., Broker], era: CoordinatorEra
) -> None:
    """Since 4.0 it is not served; before, it is served without any group."""
    broker = make(era=era)
    broker.commit()
    broker.write((b"\x00\x01\x00", b"cut"))
    if era is CoordinatorEra.KIP_848:
        assert broker.code_of(lambda: broker.offsets.fetch("g")) is ErrorCode.NOT_COORDINATOR
        assert "load failed" in broker.kinds()
    else:
        assert broker.offset() == -1


def test_it_obeys_the_configuration_of_the_broker(tmp_path: Path) -> None:
    """Limits, retention, the number of partitions, segments and codec of the topic."""
    config = {
        "offset.metadata.max.bytes": 3,
        "offsets.retention.minutes": 2,
        "offsets.topic.num.partitions": 7,
        "offsets.topic.segment.bytes": 5000,
        "offsets.topic.compression.codec": 3,
    }
    clock = ManualClock(NOW)
    manager = LogManager([tmp_path], config, clock=clock, scheduler=ManualScheduler(clock))
    manager.startup(with_tasks=False)
    with OffsetManager(manager) as offsets:
        codes = offsets.commit("a", {"t-0": OffsetCommit(1, None, "long"), "t-1": 2})
        assert list(codes.values()) == [ErrorCode.OFFSET_METADATA_TOO_LARGE, NONE]
        assert offsets.partition_for("a") == 97 % 7
        log = manager.get_log(GROUPS_TOPIC, 97 % 7)
        assert log is not None
        assert log.config.segment_bytes == 5000
        assert log.config.cleanup_policy == ("compact",)
        [row] = log.read(0).records.batches().rows
        assert row["codec"] == 3
        clock.advance(120_000)
        assert offsets.cleanup_group_metadata() == 1
    manager.shutdown()


def test_retention_does_not_delete_offsets_of_an_existing_directory(broker: Broker) -> None:
    """The topic is compacted also where the log manager knows no configuration of it."""
    broker.commit()
    broker.clock.advance(2 * WEEK)
    broker.reopen()
    log = broker.manager.get_log(GROUPS_TOPIC, 0)
    assert log is not None
    log.roll()
    broker.manager.delete_old_segments()
    assert log.log_start_offset == 0
    assert broker.offset() == 5


def test_threads_commit_while_the_partition_comes_and_goes(broker: Broker) -> None:
    """Requests are answered, or told that the coordinator loads or has gone; nothing is lost."""
    broker.commit()
    broker.steps.clear()
    acknowledged: dict[str, int] = {}
    refused: set[ErrorCode] = set()

    def commit_many(name: str) -> None:
        for number in range(150):
            try:
                broker.offsets.commit(name, {"t-0": number})
                acknowledged[name] = number
            except CoordinatorError as error:
                refused.add(ErrorCode(error.code))

    names = [f"g{number}" for number in range(3)]
    threads = [threading.Thread(target=commit_many, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        broker.offsets.unload(0)
        broker.offsets.load(0)
    for thread in threads:
        thread.join()
    assert refused <= {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR}
    broker.reopen()
    assert {name: broker.offset(group=name) for name in acknowledged} == acknowledged


def test_a_shutdown_ends_the_load_of_another_thread(tmp_path: Path) -> None:
    """GroupMetadataManager.shuttingDown: `while (currOffset < logEndOffset && !shuttingDown)`."""
    clock = ManualClock(NOW)
    scheduler = ManualScheduler(clock)
    configs = {GROUPS_TOPIC: {"cleanup.policy": "compact", "segment.bytes": 1 << 20}}
    manager = LogManager([tmp_path], clock=clock, scheduler=scheduler, topic_configs=configs)
    manager.startup(with_tasks=False)
    records = 12_000
    fields: Any = {"metadata": "x" * 100, "commitTimestamp": NOW - WEEK - HOUR}
    for number in range(2):
        log = manager.get_or_create_log(GROUPS_TOPIC, number)
        for at in range(0, records, 1000):
            log.append(
                [
                    (NOW, *commit_record(f"g{each}", "t", 0, 5, **fields))
                    for each in range(at, at + 1000)
                ]
            )
    begun, may_continue = threading.Event(), threading.Event()
    steps: list[Step] = []

    def observe(step: Step) -> None:
        steps.append(step)
        if step.kind == "offset loaded" and not begun.is_set():
            begun.set()
            assert may_continue.wait(HANGS_AFTER_S)

    offsets = OffsetManager(manager, observer=observe)
    before = scheduler.pending
    loader = threading.Thread(target=offsets.startup)
    loader.start()
    assert begun.wait(HANGS_AFTER_S)
    offsets.shutdown()
    may_continue.set()
    loader.join(HANGS_AFTER_S)
    assert not loader.is_alive()
    assert len(manager.logs[TopicPartition(GROUPS_TOPIC, 0)].segments) == 2  # a chunk each
    assert sum(step.kind == "offset loaded" for step in steps) == 6000  # half
    assert [step.where for step in steps if step.kind == "load stopped"] == [f"{GROUPS_TOPIC}-0"]
    assert (offsets.runtime.owned_partitions, offsets.runtime.loading_partitions) == ([], [])
    assert scheduler.pending == before  # no group-metadata-expiration
    clock.advance(2 * HOUR)
    assert {log.log_end_offset for log in manager.logs.values()} == {records}
    offsets.startup()  # it can be started again
    assert offsets.runtime.owned_partitions == [0, 1]
    offsets.shutdown()
    manager.shutdown()


def test_a_load_tells_what_each_record_does(broker: Broker) -> None:
    """Record, superseded, tombstone, pending, committed, ignored: each with its reason."""
    broker.commit()
    broker.commit()
    broker.transact(1, 6, where="t-1")
    broker.offsets.delete_offsets("g", ["t-0"])
    broker.end(1, is_commit=True)
    broker.end(1, is_commit=False)
    broker.steps.clear()
    broker.reopen()
    told = [(step.kind, step.reason) for step in broker.steps]
    assert told[:1] == [("partition unloaded", "")]
    assert told[1:] == [
        ("partition loading", "from offset 0 up to offset 6"),
        ("offset loaded", "the commit is the first for this partition"),
        ("offset loaded", "the commit replaces the one at offset 0"),
        ("offset pending", "the transaction of producer 1 is open"),
        ("offset removed", "a tombstone removes the commit at offset 1"),
        ("transaction committed", "commits in force: 1, dropped: 0"),
        ("pending offset loaded", "the transaction committed"),
        ("record ignored", "a transaction marker: producer 1 has no pending commit"),
        ("load finished", ""),
        ("partition loaded", "records up to offset 6 are replayed"),
    ]
    assert set(broker.kinds()) <= set(OFFSET_KINDS)


def test_a_real_directory_is_served_as_it_is_read_without_a_log_manager(tmp_path: Path) -> None:
    """The cluster's metadata gives the number of partitions; groups and offsets are the same."""
    root = tmp_path / "shop"
    shutil.copytree(SHOP, root)
    read = StoredGroups(list_log_directories(SHOP))
    with LogManager([root]) as manager:
        offsets = OffsetManager(manager, creates_topic=False)
        offsets.startup(with_tasks=False)
        assert offsets.partitions == read.partition_count
        groups = {loaded.group.group_id for loaded in read.served_groups()}
        assert groups
        for name in groups:
            served = {each.where: each for each in read.offsets(name) if each.unserved is None}
            found = offsets.fetch(name)
            assert {where: value.offset for where, value in found.items()} == {
                where: each.committed.offset for where, each in served.items()
            }
