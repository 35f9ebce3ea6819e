"""A cleaner's settings beyond the topic's configuration: memory and buffers.

Kafka: CleanerConfig (4.2)
"""

from dataclasses import dataclass
from typing import Final, Self

from workbench.config.broker_config import BrokerConfig
from workbench.layout.integers import INT32_MAX

MOST_MEMORY: Final = INT32_MAX  # bytes of one offset map
_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class CleanerConfig:
    """The settings of one cleaner thread.

    Attributes:
        map_memory: size of its offset map in bytes.
        load_factor: share of the map that may be filled, 0 to 1.
        buffer_size: bytes read at a time, and about as many are written; a larger batch is read
            whole. Kafka reads half as many, because a chunk costs it less.

    Kafka: LogCleaner.CleanerThread (4.2)
    """

    map_memory: int = 128 * _MIB
    load_factor: float = 0.9
    buffer_size: int = _MIB // 2

    @classmethod
    def of(cls, broker: BrokerConfig) -> Self:
        """Return each cleaner thread's settings: its share of a broker's memory and buffers."""
        threads = max(broker.log_cleaner_threads, 1)
        return cls(
            min(broker.log_cleaner_dedupe_buffer_size // threads, MOST_MEMORY),
            broker.log_cleaner_io_buffer_load_factor,
            broker.log_cleaner_io_buffer_size // threads,
        )
