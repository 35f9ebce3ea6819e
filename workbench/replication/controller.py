"""What a controller decides: which brokers are alive, which leads, which are in sync.

One object represents the controller and its metadata log, which never fails here.

Kafka: ReplicationControlManager, PartitionChangeBuilder, ClusterControlManager (4.2); up to 2.7
KafkaController, PartitionStateMachine
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from workbench.files.names import TopicPartition
from workbench.replication.messages import NO_LEADER, AlterPartition, LeaderAndIsr
from workbench.replication.rules import Rules
from workbench.runtime.error_codes import ErrorCode

TOPIC_DEFAULTS: Final = {"min.insync.replicas": 1, "unclean.leader.election.enable": None}


class RegisteredBroker(NamedTuple):
    """What the controller knows of a broker.

    Attributes:
        epoch: rises with each registration.
        is_fenced: whether it must not lead or be in sync: it did not heartbeat.
        is_shutting_down: whether it asked for a controlled shutdown.

    Kafka: BrokerRegistration (4.2)
    """

    epoch: int
    is_fenced: bool = True
    is_shutting_down: bool = False

    @property
    def is_active(self) -> bool:
        """Whether it may lead and be in sync."""
        return not self.is_fenced and not self.is_shutting_down


class Controller:
    """Brokers and partitions as the controller knows them.

    Each method that may change partitions returns the names of the changed ones.

    Attributes:
        brokers: broker → its registration.
        partitions: partition → its state.

    Args:
        rules: how replication works.
        topic_configs: topic → its configuration: `min.insync.replicas`,
            `unclean.leader.election.enable`.
    """

    def __init__(
        self, rules: Rules, topic_configs: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        self.rules = rules
        self.brokers: dict[int, RegisteredBroker] = {}
        self.partitions: dict[TopicPartition, LeaderAndIsr] = {}
        self.unclean_elections = 0
        self._topic_configs = dict(topic_configs or {})
        self._next_epoch = 0

    def copy(self) -> "Controller":
        """Return the same state; a search branches with it."""
        other = Controller(self.rules)
        other.brokers = self.brokers.copy()
        other.partitions = self.partitions.copy()
        other.unclean_elections = self.unclean_elections
        other._topic_configs = self._topic_configs
        other._next_epoch = self._next_epoch
        return other

    def topic_config(self, topic: str) -> dict[str, Any]:
        """Return the configuration of a topic, with the defaults of the rules."""
        config = {**TOPIC_DEFAULTS, **self._topic_configs.get(topic, {})}
        if config["unclean.leader.election.enable"] is None:
            config["unclean.leader.election.enable"] = self.rules.unclean_election
        return config

    def set_topic_config(self, topic: str, name: str, value: Any) -> None:
        """Change one configuration; it does not move a leader by itself."""
        self._topic_configs[topic] = {**self._topic_configs.get(topic, {}), name: value}

    # Brokers

    def register(self, broker: int, *, was_clean: bool = True) -> list[TopicPartition]:
        """Register a broker that starts; it is fenced until it heartbeats.

        With ELR a broker that was not shut down cleanly leaves ISR and ELR: it may have lost
        records.

        Kafka: ClusterControlManager.registerBroker (4.2)
        """
        self._next_epoch += 1
        self.brokers[broker] = RegisteredBroker(self._next_epoch)
        if was_clean or not self.rules.has_elr:
            return []
        changed = []
        for name, state in self.partitions.items():
            if broker in state.isr or broker in state.elr:
                isr = tuple(member for member in state.isr if member != broker)
                if self._change(name, isr, unclean_shutdown=broker):
                    changed.append(name)
        return changed

    def unfence(self, broker: int) -> list[TopicPartition]:
        """Let a registered broker take part; partitions without a leader may elect it.

        Kafka: ReplicationControlManager.handleBrokerUnfenced (4.2)
        """
        self.brokers[broker] = self.brokers[broker]._replace(is_fenced=False)
        return [
            name
            for name, state in self.partitions.items()
            if state.leader == NO_LEADER and broker in state.replicas
            and self._change(name, state.isr)
        ]  # fmt: skip

    def fence(self, broker: int) -> list[TopicPartition]:
        """Take a broker for dead: it leaves every ISR, and others lead its partitions.

        Kafka: ReplicationControlManager.handleBrokerFenced (4.2)
        """
        if broker not in self.brokers or self.brokers[broker].is_fenced:
            return []
        self.brokers[broker] = self.brokers[broker]._replace(is_fenced=True)
        return self._leave(broker)

    def shut_down(self, broker: int) -> list[TopicPartition]:
        """Move leadership away from a broker that shuts down in an orderly way.

        Kafka: ReplicationControlManager.processControlledShutdown (4.2)
        """
        if broker not in self.brokers:
            return []
        self.brokers[broker] = self.brokers[broker]._replace(is_shutting_down=True)
        return self._leave(broker)

    def _leave(self, broker: int) -> list[TopicPartition]:
        changed = []
        for name, state in self.partitions.items():
            if self.rules.is_quorum:  # voters remain voters
                if state.leader == broker:
                    self._lead(name, NO_LEADER, state.leader_epoch)
                    changed.append(name)
                continue
            if broker in state.isr or state.leader == broker:
                isr = tuple(member for member in state.isr if member != broker)
                if self._change(name, isr):
                    changed.append(name)
        return changed

    def is_isr_eligible(self, broker: int, broker_epoch: int) -> bool:
        """Return whether a broker may join an ISR; before 3.3 each that fetches may.

        Kafka: Partition.isReplicaIsrEligible (4.2)
        """
        if not self.rules.has_quorum_controller:
            return True
        known = self.brokers.get(broker)
        return known is not None and known.is_active and (broker_epoch in {-1, known.epoch})

    def is_stale(self, broker: int, broker_epoch: int) -> bool:
        """Return whether a broker epoch is of an earlier registration."""
        known = self.brokers.get(broker)
        return broker_epoch != -1 and known is not None and broker_epoch < known.epoch

    # Partitions

    def create_partition(self, name: TopicPartition, replicas: tuple[int, ...]) -> LeaderAndIsr:
        """Create a partition: its active replicas are in sync, the first of them leads.

        Kafka: ReplicationControlManager.createTopic (4.2)
        """
        isr = tuple(broker for broker in replicas if self._is_active(broker))
        leader = isr[0] if isr else NO_LEADER
        state = LeaderAndIsr(leader, 0, isr or replicas[:1], 0, replicas)
        self.partitions[name] = state
        return state

    def alter_partition(
        self, name: TopicPartition, request: AlterPartition
    ) -> LeaderAndIsr | ErrorCode:
        """Check and make a leader's change of its ISR.

        Kafka: ReplicationControlManager.alterPartition, validateAlterPartitionData (4.2)
        """
        state = self.partitions.get(name)
        if state is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if request.leader_epoch > state.leader_epoch or (
            request.partition_epoch > state.partition_epoch
        ):
            return ErrorCode.NOT_CONTROLLER
        if request.leader_epoch < state.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if request.broker != state.leader:
            return ErrorCode.INVALID_REQUEST
        if request.partition_epoch < state.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION
        wanted = request.new_isr
        members = set(wanted)
        if (
            len(members) < len(wanted)
            or not members <= set(state.replicas)
            or state.leader not in members
        ):
            return ErrorCode.INVALID_REQUEST
        if request.is_recovering and (len(wanted) > 1 or not state.is_recovering):
            return ErrorCode.INVALID_REQUEST
        epochs = request.broker_epochs or (-1,) * len(wanted)
        if self.rules.has_quorum_controller and not all(
            self.is_isr_eligible(broker, epoch)
            for broker, epoch in zip(wanted, epochs, strict=True)
        ):
            return ErrorCode.INELIGIBLE_REPLICA
        self._change(name, wanted, is_asked_by_leader=True)
        return self.partitions[name]

    def elect_unclean(self, name: TopicPartition) -> bool:
        """Elect any live replica if none that is in sync can lead; return whether it changed.

        Kafka: Election.UNCLEAN (4.2)
        """
        return self._change(name, self.partitions[name].isr, unclean=True)

    def elect(self, name: TopicPartition, broker: int) -> bool:
        """Elect a certain replica if it is in sync and live, as a reassignment can.

        Return whether anything changed.
        """
        state = self.partitions[name]
        if broker == state.leader or broker not in state.isr or not self._is_active(broker):
            return False
        self._lead(name, broker, state.leader_epoch + 1)
        return True

    def _lead(self, name: TopicPartition, leader: int, leader_epoch: int) -> None:
        state = self.partitions[name]
        self.partitions[name] = state._replace(
            leader=leader, leader_epoch=leader_epoch, partition_epoch=state.partition_epoch + 1
        )

    def _is_active(self, broker: int) -> bool:
        known = self.brokers.get(broker)
        return known is not None and known.is_active

    def _change(
        self,
        name: TopicPartition,
        target_isr: tuple[int, ...],
        *,
        unclean: bool | None = None,
        unclean_shutdown: int | None = None,
        is_asked_by_leader: bool = False,
    ) -> bool:
        """Give a partition a wanted ISR: with its leader and ELR; return whether anything changed.

        Kafka: PartitionChangeBuilder.build (4.2)
        """
        if self.rules.is_quorum:
            return False
        old = self.partitions[name]
        config = self.topic_config(name.topic)
        if unclean is None:
            allowed = bool(config["unclean.leader.election.enable"])
            unclean = allowed and self.rules.has_unclean_configuration
        elr, last_known = self._target_elr(old, target_isr, config, unclean_shutdown)
        if (
            not target_isr
            and not self.rules.has_elr
            and (not self.rules.empties_isr or not unclean)
        ):
            target_isr = old.isr  # the last member is kept
        leader, is_unclean = self._elect(old, target_isr, elr, last_known, unclean=unclean)
        if leader != NO_LEADER and leader not in target_isr:
            target_isr = (leader,)
            elr = tuple(member for member in elr if member != leader)
            if self._min_isr(old, config) == 1:
                elr = ()
        if leader != NO_LEADER and target_isr:
            last_known = ()
        shrinks = set(old.isr) - set(target_isr) != set()
        bumps = leader != old.leader or (
            shrinks
            and self.rules.bumps_epoch_on_shrink
            and (self.rules.has_quorum_controller or not is_asked_by_leader)
        )
        new = old._replace(
            leader=leader,
            isr=target_isr,
            elr=elr,
            last_known_elr=last_known,
            is_recovering=is_unclean or (old.is_recovering and not is_asked_by_leader),
        )
        if new == old:
            return False
        self.partitions[name] = new._replace(
            leader_epoch=old.leader_epoch + bumps, partition_epoch=old.partition_epoch + 1
        )
        self.unclean_elections += is_unclean
        return True

    def _target_elr(
        self,
        old: LeaderAndIsr,
        target_isr: tuple[int, ...],
        config: Mapping[str, Any],
        unclean_shutdown: int | None,
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the ELR and the last known leader that a wanted ISR leaves.

        Kafka: PartitionChangeBuilder.maybePopulateTargetElr (4.2)
        """
        if not self.rules.has_elr:
            return (), ()
        if len(target_isr) >= self._min_isr(old, config):
            return (), ()
        candidates = {*old.elr, *old.isr} - {*target_isr, unclean_shutdown}
        elr = tuple(broker for broker in old.replicas if broker in candidates)
        last_known = old.last_known_elr
        if not target_isr and old.leader != NO_LEADER:
            last_known = (old.leader,)
        return elr, last_known

    def _min_isr(self, state: LeaderAndIsr, config: Mapping[str, Any]) -> int:
        return min(int(config["min.insync.replicas"]), len(state.replicas))

    def _elect(
        self,
        old: LeaderAndIsr,
        isr: tuple[int, ...],
        elr: tuple[int, ...],
        last_known: tuple[int, ...],
        *,
        unclean: bool,
    ) -> tuple[int, bool]:
        """Return the leader, and whether its election is unclean.

        Kafka: PartitionChangeBuilder.electLeader (4.2)
        """
        candidates = isr or elr
        live = [broker for broker in old.replicas if self._is_active(broker)]
        valid = [broker for broker in live if broker in candidates]
        if old.leader in valid:
            return old.leader, False
        if valid:
            return valid[0], False
        if self.rules.has_elr and not isr and not elr and len(last_known) == 1:
            last = last_known[0]
            if self._is_active(last):
                return last, True
        if unclean and live:
            return live[0], True
        return NO_LEADER, False
