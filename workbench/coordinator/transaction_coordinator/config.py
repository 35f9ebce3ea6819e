"""How a transaction coordinator is configured.

Kafka: TransactionConfig, TransactionStateManagerConfig, TransactionLogConfig (4.2)
"""

from dataclasses import dataclass
from typing import Any, Final, Self

from workbench.config.broker_config import BrokerConfig
from workbench.config.internal_topics import INTERNAL_TOPICS, TRANSACTIONS_TOPIC
from workbench.coordinator.runtime.partitioning import DEFAULT_PARTITIONS
from workbench.coordinator.transactions.states import TransactionVersion
from workbench.runtime.times import DAY, HOUR

_SECOND: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionConfig:
    """The configurations of a transaction coordinator; times in ms.

    Attributes:
        transactional_id_expiration_ms: `transactional.id.expiration.ms`.
        transaction_max_timeout_ms: `transaction.max.timeout.ms`.
        num_partitions: `transaction.state.log.num.partitions`.
        segment_bytes: `transaction.state.log.segment.bytes`.
        load_buffer_size: `transaction.state.log.load.buffer.size`, bytes.
        abort_interval_ms: `transaction.abort.timed.out.transaction.cleanup.interval.ms`.
        expiration_interval_ms: `transaction.remove.expired.transaction.cleanup.interval.ms`.
        two_phase_commit_enable: `transaction.two.phase.commit.enable`.
        transaction_version: the cluster's feature `transaction.version`.

    Kafka: TransactionConfig (4.2)
    """

    transactional_id_expiration_ms: int = 7 * DAY
    transaction_max_timeout_ms: int = 900 * _SECOND
    num_partitions: int = DEFAULT_PARTITIONS
    segment_bytes: int = 100 << 20
    load_buffer_size: int = 5 << 20
    abort_interval_ms: int = 10 * _SECOND
    expiration_interval_ms: int = HOUR
    two_phase_commit_enable: bool = False
    transaction_version: TransactionVersion = TransactionVersion.TV_2

    @classmethod
    def of(cls, config: BrokerConfig) -> Self:
        """Return what a broker's configuration says."""
        return cls(
            transactional_id_expiration_ms=config.transactional_id_expiration_ms,
            transaction_max_timeout_ms=config.transaction_max_timeout_ms,
            num_partitions=config.transaction_state_log_num_partitions,
            segment_bytes=config.transaction_state_log_segment_bytes,
            load_buffer_size=config.transaction_state_log_load_buffer_size,
            abort_interval_ms=config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
            expiration_interval_ms=(
                config.transaction_remove_expired_transaction_cleanup_interval_ms
            ),
            two_phase_commit_enable=config.transaction_two_phase_commit_enable,
        )

    @property
    def topic_config(self) -> dict[str, Any]:
        """The configuration of `__transaction_state`.

        Kafka: TransactionStateManager.transactionTopicConfigs (4.2)
        """
        return {
            **INTERNAL_TOPICS[TRANSACTIONS_TOPIC],
            "compression.type": "uncompressed",
            "unclean.leader.election.enable": "false",
            "segment.bytes": str(self.segment_bytes),
        }
