"""The cluster's metadata log of a directory, continued as the leader of its quorum would.

A KRaft broker that opens the directory later finds the topics and configurations that were made
here. That holds if it is a controller too, the only one; otherwise the controllers' log decides.

Kafka: QuorumController, KafkaRaftClient, MetadataRecordSerde (4.2)
"""

import os
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Final, Self

from workbench.config.internal_topics import METADATA_LOG
from workbench.config.log_config import LogConfig
from workbench.decoders.api_records import FRAME_VERSION
from workbench.decoders.cluster_metadata import MESSAGES
from workbench.inspection.cluster.image import METADATA_VERSION
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.log import Log
from workbench.record import varint
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.clock import Clock

_TYPES: Final = {message.name: type_id for type_id, message in MESSAGES.items()}
FOREVER: Final = LogConfig.of({"retention.ms": -1, "retention.bytes": -1})
"""The configuration of a metadata log: snapshots alone shorten it."""
_PARTITION_RECORDS: Final = ((23, 2), (17, 1))
"""`metadata.version` since which a PartitionRecord has a version: eligible leader replicas
(4.0-IV1), directories (3.7-IV2)."""

MetadataRecord = tuple[str, Mapping[str, Any]]
"""Name of a record by Kafka's definition, and its fields."""


class MetadataLog:
    """Appends records to `__cluster_metadata-0`; threads may share it.

    Args:
        log: the log.
        clock: the time.
        features: name → finalized level.
    """

    def __init__(self, log: Log, clock: Clock, features: Mapping[str, int]) -> None:
        self._log = log
        self._clock = clock
        self._features = features
        self._lock = threading.Lock()

    @classmethod
    def find(
        cls, directories: Iterable[str], clock: Clock, features: Mapping[str, int]
    ) -> Self | None:
        """Open the log in one of the directories; None if none has it.

        Raises:
            StorageError, CorruptFileError: it cannot be opened.
        """
        for directory in directories:
            path = os.path.join(directory, METADATA_LOG)
            if os.path.isdir(path):
                return cls(Log.open(path, FOREVER, clock=clock), clock, features)
        return None

    @property
    def partition_record_version(self) -> int:
        """Version in which the cluster writes a PartitionRecord.

        Kafka: MetadataVersion.partitionRecordVersion (4.2)
        """
        level = self._features.get(METADATA_VERSION, 0)
        return next((version for since, version in _PARTITION_RECORDS if level >= since), 0)

    @property
    def last_offset(self) -> int:
        """The last offset of the log."""
        return self._log.log_end_offset - 1

    @property
    def leader_epoch(self) -> int:
        """The leader epoch in which records are appended."""
        return self._log.leader_epochs.latest_epoch or 0

    def append(self, records: Iterable[MetadataRecord]) -> None:
        """Append records in one batch, and return when they are on the disk.

        Raises:
            StorageError: they might not be.

        Kafka: QuorumController.ControllerWriteEvent (4.2)
        """
        values = [self._encoded(name, fields) for name, fields in records]
        epoch = self.leader_epoch
        with self._lock:
            batch = MemoryRecords.of(
                *((None, value) for value in values),
                timestamp=self._clock.now(),
                base_offset=self._log.log_end_offset,
                partition_leader_epoch=epoch,
            )
            self._log.append_as_leader(batch, epoch, AppendOrigin.RAFT_LEADER)
            self._log.flush(force_active_segment=True)

    def _encoded(self, name: str, fields: Mapping[str, Any]) -> bytes:
        version = self.partition_record_version if name.startswith("Partition") else 0
        return encode_record(name, fields, version)

    def close(self) -> None:
        """Flush and close the log."""
        self._log.close()


def encode_record(name: str, fields: Mapping[str, Any], version: int) -> bytes:
    """Return the value of a record of the metadata log.

    Kafka: MetadataRecordSerde, AbstractApiMessageSerde.write (4.2)
    """
    type_id = _TYPES[name]
    head = b"".join(map(varint.encode_unsigned, (FRAME_VERSION, type_id, version)))
    return head + MESSAGES[type_id].encode(dict(fields), version)
