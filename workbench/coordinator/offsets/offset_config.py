"""The configuration of the offset manager.

Kafka: OffsetConfig (2.8), GroupCoordinatorConfig (4.2)
"""

from typing import Any, NamedTuple, Self

from workbench.config.broker_config import BrokerConfig
from workbench.config.internal_topics import INTERNAL_TOPICS, OFFSETS_TOPIC
from workbench.layout.attributes import CODEC_NAMES
from workbench.runtime.times import DAY, MINUTE


class OffsetConfig(NamedTuple):
    """How offsets are kept.

    Attributes:
        metadata_max_bytes: `offset.metadata.max.bytes`: the longest metadata of a commit, in
            UTF-16 units, whatever the name says.
        retention_ms: `offsets.retention.minutes`, in ms.
        retention_check_interval_ms: `offsets.retention.check.interval.ms`.
        topic_num_partitions: `offsets.topic.num.partitions`, if the topic is created.
        topic_segment_bytes: `offsets.topic.segment.bytes`, if the topic is created.
        topic_compression_codec: `offsets.topic.compression.codec`, by name.
    """

    metadata_max_bytes: int = 4096
    retention_ms: int = 7 * DAY
    retention_check_interval_ms: int = 10 * MINUTE
    topic_num_partitions: int = 50
    topic_segment_bytes: int = 100 << 20
    topic_compression_codec: str = "none"

    @classmethod
    def of(cls, config: BrokerConfig) -> Self:
        """Return what a broker's configuration says."""
        return cls(
            config.offset_metadata_max_bytes,
            config.offsets_retention_minutes * MINUTE,
            config.offsets_retention_check_interval_ms,
            config.offsets_topic_num_partitions,
            config.offsets_topic_segment_bytes,
            CODEC_NAMES[config.offsets_topic_compression_codec],
        )

    @property
    def topic_config(self) -> dict[str, Any]:
        """Return the configuration of `__consumer_offsets`.

        Kafka: GroupCoordinatorService.groupMetadataTopicConfigs (4.2)
        """
        own = {"compression.type": "producer", "segment.bytes": self.topic_segment_bytes}
        return {**INTERNAL_TOPICS[OFFSETS_TOPIC], **own}
