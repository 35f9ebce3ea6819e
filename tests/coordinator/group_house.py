"""A log manager with a group coordinator, on a clock that is moved by hand."""

from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from random import Random
from typing import Any

from tests.coordinator.writing import subscription
from workbench.coordinator.group_coordinator.group_coordinator_service import (
    GroupCoordinatorService,
)
from workbench.coordinator.group_coordinator.group_coordinator_shard import GroupCoordinatorShard
from workbench.coordinator.groups.classic.config import ClassicGroupConfig
from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.classic.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    MemberIdentity,
    MemberResponse,
    Protocol,
    RequestContext,
    SyncGroupRequest,
    SyncGroupResponse,
)
from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.decoders.consumer_offsets import decode_key, decode_value
from workbench.errors import StorageError
from workbench.file_system.local import LOCAL, FileSystem
from workbench.log_manager.manager import LogManager
from workbench.runtime.clock import ManualClock
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.scheduler import ManualScheduler
from workbench.runtime.steps import Step

NOW = 1_700_000_000_000
SESSION, REBALANCE = 10_000, 60_000
GROUP = "g"
TOPIC = {"cleanup.policy": "compact", "segment.bytes": 3000, "index.interval.bytes": 300}


class GroupHouse:
    """One broker: log manager and coordinator with one partition of `__consumer_offsets`.

    Args:
        root: the log directory.
        delay: `group.initial.rebalance.delay.ms`.
        max_size: `group.max.size`.
    """

    def __init__(
        self, root: Path, *, delay: int = 3_000, max_size: int = 1_000, fs: FileSystem = LOCAL
    ) -> None:
        self.root, self.fs = root, fs
        self.clock = ManualClock(NOW)
        self.steps: list[Step] = []
        self.config = ClassicGroupConfig(initial_rebalance_delay_ms=delay, max_size=max_size)
        self._numbers = 0
        self.open()

    def _number(self) -> str:
        self._numbers += 1
        return str(self._numbers)

    def open(self) -> None:
        """Start log manager and coordinator."""
        self.scheduler = ManualScheduler(self.clock)
        self.manager = LogManager(
            [self.root],
            fs=self.fs,
            clock=self.clock,
            scheduler=self.scheduler,
            rng=Random(1),
            topic_configs={GROUPS_TOPIC: TOPIC},
            node_id=1,
            cluster_id="workbench",
        )
        self.manager.startup(with_tasks=False)
        self.service = GroupCoordinatorService(
            self.manager,
            groups=self.config,
            config=OffsetConfig(topic_num_partitions=1),
            observer=self.steps.append,
            make_uuid=self._number,
        )
        self.service.startup(with_tasks=False)
        self.service.describe_groups([GROUP])  # the partition is created when it is asked for

    def close(self) -> None:
        """Stop both."""
        self.service.shutdown()
        self.manager.shutdown()

    def reopen(self, max_size: int | None = None) -> None:
        """Stop and start both."""
        self.close()
        if max_size is not None:
            self.config = ClassicGroupConfig(max_size=max_size)
        self.open()

    @property
    def shard(self) -> GroupCoordinatorShard:
        """The partition's state."""
        shard = self.service.runtime.shard(0)
        assert isinstance(shard, GroupCoordinatorShard)
        return shard

    @property
    def group(self) -> ClassicGroup:
        """The group `GROUP`."""
        found = self.shard.groups.groups.get(GROUP)
        assert found is not None
        return found

    def state(self) -> str:
        """Return the state of `GROUP`."""
        return self.group.state

    def records(self) -> list[tuple[Any, Any]]:
        """Return keys and values of all records in the log, decoded."""
        log = self.manager.get_log(GROUPS_TOPIC, 0)
        assert log is not None
        found: list[tuple[Any, Any]] = []
        at = 0
        while at < log.log_end_offset:
            batches = log.read(at, 1 << 20).records.records()
            found += [(decode_key(r.key)["data"], decode_value(r.key, r.value)) for r in batches]
            at = batches[-1].offset + 1
        return found

    def stored(self) -> list[Any]:
        """Return the values of the group's records; None: a tombstone."""
        values = [value for key, value in self.records() if key == {"group": GROUP}]
        return [None if value is None else value["data"] for value in values]

    def fail_appends(self, monkeypatch: Any) -> None:
        """Let every append to the partition fail, as a full disk does."""
        log = self.manager.get_log(GROUPS_TOPIC, 0)

        def append(*_: Any, **__: Any) -> None:
            raise StorageError(str(self.root), "no space left on device")

        monkeypatch.setattr(log, "append_as_leader", append)

    # requests

    def join(
        self,
        member: str = "",
        instance: str | None = None,
        *,
        version: int = 3,
        protocols: Sequence[str] = ("range",),
        topics: Sequence[str] = ("t",),
        kind: str = "consumer",
        session: int = SESSION,
        rebalance: int = REBALANCE,
        group: str = GROUP,
    ) -> "Future[JoinGroupResponse]":
        """Join; before version 4 a new member need not join twice."""
        offered = tuple(Protocol(name, subscription(*topics)) for name in protocols)
        request = JoinGroupRequest(group, session, rebalance, member, instance, kind, offered)
        return self.service.join_group(RequestContext("c", "/127.0.0.1", version), request)

    def sync(
        self, member: str, instance: str | None = None, generation: int | None = None, **given: Any
    ) -> "Future[SyncGroupResponse]":
        """Sync; ``assignments`` are those of a leader."""
        current = self.group.generation if generation is None else generation
        assignments = tuple(given.pop("assignments", {}).items())
        request = SyncGroupRequest(
            given.pop("group", GROUP), current, member, instance, assignments=assignments, **given
        )
        return self.service.sync_group(request)

    def heartbeat(
        self, member: str, generation: int | None = None, instance: str | None = None
    ) -> ErrorCode:
        """Send a heartbeat."""
        known = self.shard.groups.groups.get(GROUP)
        current = generation
        if current is None:
            current = 0 if known is None else known.generation
        return self.service.heartbeat(HeartbeatRequest(GROUP, current, member, instance))

    def leave(self, *members: str | MemberIdentity) -> tuple[MemberResponse, ...]:
        """Leave."""
        leaving = [MemberIdentity(each) if isinstance(each, str) else each for each in members]
        return self.service.leave_group(GROUP, leaving).members

    # groups in a state

    def joined(self, *instances: str | None, **how: Any) -> list[JoinGroupResponse]:
        """Let new members join an empty group; return their answers, the leader's first."""
        waiting = [self.join("", instance, **how) for instance in instances]
        self.clock.advance(self.config.initial_rebalance_delay_ms)
        while not all(each.done() for each in waiting):  # each new member extends the delay
            self.clock.advance(self.config.initial_rebalance_delay_ms)
        answers = [each.result(0) for each in waiting]
        return sorted(answers, key=lambda answer: answer.leader != answer.member_id)

    def stable(self, *instances: str | None, **how: Any) -> list[JoinGroupResponse]:
        """Return the members of a stable group, the leader first."""
        answers = self.joined(*instances, **how)
        given = {each.member_id: each.member_id.encode() for each in answers}
        waiting = [
            self.sync(
                answer.member_id,
                self.group.members[answer.member_id].group_instance_id,
                assignments=given if answer.leader == answer.member_id else {},
            )
            for answer in reversed(answers)
        ]
        assert {each.result(0).error for each in waiting} == {ErrorCode.NONE}
        assert self.group.state == "Stable"
        return answers
