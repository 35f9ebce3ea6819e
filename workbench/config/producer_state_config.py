"""How long producer state is kept, and how long transactions may take.

Kafka: ProducerStateManagerConfig (4.2)
"""

from dataclasses import dataclass

from workbench.runtime.times import DAY


@dataclass(slots=True)
class ProducerStateConfig:
    """The configuration of the producer states of all logs of a broker.

    Attributes:
        max_transaction_timeout_ms: `transaction.max.timeout.ms`.
        producer_id_expiration_ms: `producer.id.expiration.ms`.
        transaction_verification_enabled: `transaction.partition.verification.enable`.
    """

    max_transaction_timeout_ms: int = 15 * 60 * 1000
    producer_id_expiration_ms: int = DAY
    transaction_verification_enabled: bool = True
