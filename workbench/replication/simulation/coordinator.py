"""The group coordinator of a simulated broker, for a partition of `__consumer_offsets`.

The partition's leader loads it. It answers a commit when the high watermark has passed the record,
and shows an offset only then. When another broker leads, it drops what it knows.

Kafka: BrokerMetadataPublisher, GroupCoordinatorService, CoordinatorRuntime (4.2);
KafkaApis.handleLeaderAndIsrRequest, GroupMetadataManager (up to 3.9)
"""

import re
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

from workbench.coordinator.group_coordinator.group_coordinator_service import ResultsByPartition
from workbench.coordinator.group_coordinator.offset_manager import OffsetManager
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.coordinator.runtime.partitioning import DEFAULT_PARTITIONS
from workbench.errors import CoordinatorError, ReplicationError
from workbench.files.names import TopicPartition, parse_directory_name
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.log import Log
from workbench.log_manager.manager import LogManager
from workbench.record.memory_records import MemoryRecords
from workbench.replication.partition import ALL_REPLICAS
from workbench.replication.replica_manager import ReplicaManager
from workbench.replication.rules import Rules
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.steps import Observer

_COMMIT: Final = re.compile(r"(?P<group>\S+) (?P<partition>\S+)=(?P<offset>\d+)")


class Commit(NamedTuple):
    """An offset that a group commits; as text `billing orders-0=42`."""

    group: str
    partition: TopicPartition
    offset: int

    def __str__(self) -> str:
        return f"{self.group} {self.partition}={self.offset}"

    @classmethod
    def of(cls, text: str) -> "Commit":
        """Return the commit that a text means.

        Raises:
            ReplicationError: it means none.
        """
        found = _COMMIT.fullmatch(text)
        name = parse_directory_name(found["partition"]) if found else None
        if found is None or name is None:
            raise ReplicationError(f"commit {text!r}: expected such as 'billing orders-0=42'")
        return cls(found["group"], TopicPartition(name.topic, name.partition), int(found["offset"]))


class SimulatedCoordinator:
    """The coordinator of one life of a broker.

    Args:
        partition: of `__consumer_offsets`: number 0 is the topic's only partition, another number
            one of 50.
        logs: the broker's logs.
        replicas: the broker's replica manager.
        observer: receives its steps.
    """

    def __init__(
        self,
        partition: TopicPartition,
        logs: LogManager,
        replicas: ReplicaManager,
        observer: Observer | None,
    ) -> None:
        self._partition = partition
        self._replicas = replicas
        self._log: Log | None = None
        self._epoch = -1
        self._era = _era_of(replicas.rules)
        self.offsets = OffsetManager(
            logs,
            config=OffsetConfig(
                topic_num_partitions=DEFAULT_PARTITIONS if partition.partition else 1
            ),
            era=self._era,
            observer=observer,
            creates_topic=False,
            append=self._append,
            waits_for_replicas=True,
        )
        self.offsets.startup(with_tasks=False, leads=())

    @property
    def _number(self) -> int:
        return self._partition.partition

    def apply(self) -> None:
        """Load or drop the partition, as the replica manager now leads or follows.

        Kafka: BrokerMetadataPublisher.updateCoordinator (4.2)
        """
        partition = self._replicas.partitions[self._partition]
        if partition.leader_epoch <= self._epoch:
            return
        self._epoch = partition.leader_epoch
        if not partition.is_leader:
            self.offsets.unload(self._number, self._epoch)
            return
        log = partition.log
        assert isinstance(log, Log)
        if log is not self._log:
            log.watermarks.listeners.append(self._on_high_watermark)
            self._log = log
        self.offsets.load(self._number, self._epoch)

    def _on_high_watermark(self) -> None:
        self.offsets.runtime.on_high_watermark(self._number)

    def _append(self, log: Log, batch: MemoryRecords, leader_epoch: int, _: int) -> Any:  # noqa: ARG002
        """Append as the leader of the partition.

        Since 4.0 with acks=1, so that it appends below `min.insync.replicas`, too.

        Kafka: CoordinatorPartitionWriter.append (4.2), GroupMetadataManager.appendForGroup (3.9)
        """
        acks = 1 if self._era is CoordinatorEra.KIP_848 else ALL_REPLICAS
        answer = self._replicas.append_records_to_leader(
            self._partition, batch, AppendOrigin.COORDINATOR, acks
        )
        if answer.error is not ErrorCode.NONE:
            raise answer.error.error(f"an append to {self._partition} was refused")
        return answer.info

    def commit(self, commit: Commit, answer: Callable[[ErrorCode, int], None]) -> None:
        """Commit an offset; the answer and the record's offset, -1 for none, come when they do."""
        log = self._replicas.partitions[self._partition].log
        before = log.log_end_offset
        try:
            future = self.offsets.schedule_commit(commit.group, {commit.partition: commit.offset})
        except CoordinatorError as error:
            answer(ErrorCode(error.code), -1)
            return

        def done(future: Future[ResultsByPartition[ErrorCode]]) -> None:
            error = future.exception()
            if error is None:
                answer(future.result()[commit.partition], before)
            else:
                assert isinstance(error, CoordinatorError)
                answer(ErrorCode(error.code), before)

        future.add_done_callback(done)

    def fetch(self, group: str, partition: str) -> int | ErrorCode:
        """Return the committed offset that a consumer gets, -1 without one; or why it gets none."""
        try:
            found = self.offsets.fetch(group, [partition])[partition]
        except CoordinatorError as error:
            return ErrorCode(error.code)
        return found.offset if found.error is ErrorCode.NONE else found.error

    @property
    def next_deadline_ms(self) -> int | None:
        """When the next commit has waited too long; None: no commit waits."""
        return self.offsets.runtime.next_deadline_ms

    def expire(self, now: int) -> None:
        """Answer the commits that have waited too long."""
        self.offsets.runtime.expire_deferred(now)


def _era_of(rules: Rules) -> CoordinatorEra:
    """Return the coordinator of the rules' version."""
    if not rules.keeps_replicas_at_end:  # 2.1
        return CoordinatorEra.BEFORE_2_1
    return CoordinatorEra.KIP_848 if rules.has_elr else CoordinatorEra.CLASSIC
