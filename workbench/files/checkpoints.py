"""The four checkpoints that keep an offset for each partition of a log directory.

`recovery-point-offset-checkpoint`: the first offset that is perhaps not on disk yet.
`log-start-offset-checkpoint`: the log start offset, if it is not the first segment's base offset.
`replication-offset-checkpoint`: the high watermark. `cleaner-offset-checkpoint`: the first offset
that compaction has not read. Each is a checkpoint (`files.text`) of topic, partition, offset. They
are written periodically, so a crash leaves them older than the logs.

Kafka: OffsetCheckpointFile (4.0)
"""

from dataclasses import dataclass, field
from typing import Self

from workbench.errors import CorruptCheckpointError
from workbench.files import text
from workbench.files.names import MAX_PARTITION, TopicPartition
from workbench.files.reading import FileProblem, ProblemList, SmallFile
from workbench.layout.integers import INT64_MAX


@dataclass(frozen=True, slots=True)
class OffsetCheckpoint(SmallFile):
    """An offset for each partition.

    Attributes:
        offsets: in the file's order; as in a broker, a partition's last line wins.
        problems: see `reading`.
    """

    offsets: dict[TopicPartition, int] = field(default_factory=dict)
    problems: tuple[FileProblem, ...] = ()

    corrupt_error = CorruptCheckpointError
    size_limit = text.CHECKPOINT_LIMIT

    @classmethod
    def _parse(cls, data: bytes, problems: ProblemList) -> Self:
        offsets = {}
        for position, (topic, partition_text, offset_text) in text.parse_checkpoint(
            data, 3, problems
        ):
            partition = text.parse_integer(partition_text, MAX_PARTITION)
            offset = text.parse_integer(offset_text, INT64_MAX)
            if partition is None or offset is None:
                found = f"line {text.quote(f'{topic} {partition_text} {offset_text}')}"
                problems.add("malformed", position, found, "a topic, a partition and an offset")
            else:
                offsets[TopicPartition(topic, partition)] = offset
        return cls(offsets, problems.found())

    def encode(self) -> bytes:
        """Return the file's bytes."""
        return text.encode_checkpoint(
            [f"{topic} {partition} {o}" for (topic, partition), o in self.offsets.items()]
        )
