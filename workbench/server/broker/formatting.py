"""Format an empty log directory, as Kafka's tool and the first start of a controller do.

The tool writes `meta.properties` (here the log manager does) and `bootstrap.checkpoint`; the
controller, alone in its quorum, begins `__cluster_metadata-0` with the records of that file. So a
topic that is made here has its configuration after a restart, and a broker serves it then.

Kafka: Formatter, BootstrapDirectory, QuorumController.CompleteActivationEvent (4.2)
"""

import os
from collections.abc import Iterable, Mapping
from typing import Any, Final

from workbench.config.internal_topics import METADATA_LOG, METADATA_TOPIC_ID
from workbench.file_system.local import LOCAL
from workbench.files import names
from workbench.files.quorum_state import QuorumState
from workbench.inspection.cluster.image import (
    EVERY_BROKER,
    METADATA_VERSION,
)
from workbench.inspection.cluster.loading import SnapshotFile, StateReading
from workbench.inspection.listing import Listing
from workbench.layout.control_records import LEADER_CHANGE, SNAPSHOT_FOOTER, SNAPSHOT_HEADER
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.builder import quorum_control_batch
from workbench.runtime.clock import Clock
from workbench.server.broker.metadata_log import (
    FOREVER,
    MetadataRecord,
    encode_record,
)

FORMATTED_FEATURES: Final[Mapping[str, int]] = {
    METADATA_VERSION: 29,
    "eligible.leader.replicas.version": 1,
    "group.version": 1,
    "share.version": 1,
    "streams.version": 1,
    "transaction.version": 2,
}
"""Feature → the level that 4.2 gives a new cluster, in the order of its records."""
_ELR: Final = "eligible.leader.replicas.version"
_EPOCH: Final = 1  # of the first leader
_BROKER: Final = 4  # resource type


def stored_bootstrap_features(listing: Listing) -> dict[str, int]:
    """Return the features in `bootstrap.checkpoint` of a formatted directory; none without it.

    Raises:
        OSError: the file cannot be read.
    """
    for root in listing.roots:
        entry = root.file(names.BOOTSTRAP_CHECKPOINT)
        if entry is not None:
            reading = StateReading(names.MAX_OFFSET)
            reading.snapshot(SnapshotFile(0, entry))
            return dict(reading.fold.cluster.features)
    return {}


def bootstrap_checkpoint(features: Mapping[str, int], now: int) -> bytes:
    """Return the bytes of `bootstrap.checkpoint`.

    Args:
        features: name → level.
        now: time of the records, ms.

    Kafka: BootstrapDirectory.writeBinaryFile, BatchFileWriter (4.2)
    """
    records = _feature_records(features)
    end = 1 + len(records)
    return b"".join(
        batch.buffer.tobytes()
        for batch in (
            quorum_control_batch(
                SNAPSHOT_HEADER,
                {"version": 0, "lastContainedLogTimestamp": 0},
                base_offset=0,
                timestamp=now,
                leader_epoch=0,
            ),
            _batch(records, now, base_offset=1, epoch=0),
            quorum_control_batch(
                SNAPSHOT_FOOTER, {"version": 0}, base_offset=end, timestamp=now, leader_epoch=0
            ),
        )
    )


def format_directory(
    directory: str, node_id: int, features: Mapping[str, int], clock: Clock
) -> None:
    """Give a locked log directory that has no logs the metadata of a new cluster.

    Args:
        directory: its path.
        node_id: the id of the only node.
        features: name → level; those of `bootstrap.checkpoint`, if it is there.
        clock: the time.

    Raises:
        OSError: a file cannot be written.
        StorageError: the log cannot be.
    """
    now = clock.now()
    checkpoint = os.path.join(directory, names.BOOTSTRAP_CHECKPOINT)
    if not LOCAL.exists(checkpoint):
        LOCAL.write_atomically(checkpoint, bootstrap_checkpoint(features, now))
    path = os.path.join(directory, METADATA_LOG)
    log = Log.open(path, FOREVER, clock=clock)
    try:
        if log.topic_id is None:
            log.assign_topic_id(METADATA_TOPIC_ID)
        state = QuorumState(node_id, _EPOCH, None, None, "", 0, (node_id,), version=0)
        LOCAL.write_atomically(os.path.join(path, names.QUORUM_STATE), state.encode())
        log.leader_epochs.assign(_EPOCH, 0)
        voters = [{"voterId": node_id}]
        leader = {
            "version": 0, "leaderId": node_id, "voters": voters, "grantingVoters": voters
        }  # fmt: skip
        elected = quorum_control_batch(
            LEADER_CHANGE, leader, base_offset=0, timestamp=now, leader_epoch=_EPOCH
        )
        log.append_as_leader(elected, _EPOCH, AppendOrigin.RAFT_LEADER)
        first = _batch(_activation_records(features), now, base_offset=1, epoch=_EPOCH)
        log.append_as_leader(first, _EPOCH, AppendOrigin.RAFT_LEADER)
    finally:
        log.close()


def _feature_records(features: Mapping[str, int]) -> list[MetadataRecord]:
    return [
        ("FeatureLevelRecord", {"name": name, "featureLevel": level})
        for name, level in features.items()
    ]


def _activation_records(features: Mapping[str, int]) -> list[MetadataRecord]:
    """Kafka: ActivationRecordsGenerator.recordsForEmptyLog, FeatureControlManager (4.2)."""
    least: dict[str, Any] = {
        "resourceType": _BROKER, "resourceName": EVERY_BROKER,
        "name": "min.insync.replicas", "value": "1",
    }  # fmt: skip
    return [
        ("BeginTransactionRecord", {"name": "Bootstrap records"}),
        *_feature_records(features),
        *([("ConfigRecord", least)] if features.get(_ELR) else []),
        ("EndTransactionRecord", {}),
    ]


def _batch(
    records: Iterable[MetadataRecord], now: int, *, base_offset: int, epoch: int
) -> MemoryRecords:
    return MemoryRecords.of(
        *((None, encode_record(name, fields, 0)) for name, fields in records),
        timestamp=now,
        base_offset=base_offset,
        partition_leader_epoch=epoch,
    )
