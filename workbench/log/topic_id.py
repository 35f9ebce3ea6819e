"""The id of a log's topic, in the `partition.metadata` of its directory.

Kafka: PartitionMetadataFile (4.2)
"""

from uuid import UUID

from workbench.files.names import PARTITION_METADATA
from workbench.files.partition_metadata import PartitionMetadata
from workbench.log.context import LogContext


def read_topic_id(context: LogContext) -> UUID | None:
    """Return the topic's id; None if there is no file.

    Raises:
        CorruptCheckpointError: the file is not valid.
        StorageError: it cannot be read; the log directory is offline.
    """
    path = context.path(PARTITION_METADATA)
    if not context.fs.exists(path):
        return None
    with context.guard("read the topic id of"):
        data = context.fs.read(path, PartitionMetadata.size_limit + 1)
        return PartitionMetadata.decode(data, path).topic_id


def write_topic_id(context: LogContext, topic_id: UUID) -> None:
    """Write the topic's id.

    Raises:
        StorageError: writing failed; the log directory is offline.
    """
    with context.guard("write the topic id of"):
        path = context.path(PARTITION_METADATA)
        context.fs.write_atomically(path, PartitionMetadata(topic_id=topic_id).encode())
