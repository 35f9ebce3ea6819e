"""Names in a remote tier, in the two layouts that the workbench reads.

`LocalTieredStorage` (Kafka's own, for tests)::

    <topic>-<partition>-<topic id>/<20 digits>-<segment id>.log|.index|.timeindex|.txnindex|
                                                           .snapshot|.leader_epoch_checkpoint

Aiven's plugin for object stores and file systems, under a prefix that the user chose::

    <prefix><topic>-<topic id>/<partition>/<20 digits>-<segment id>.log|.indexes|.rsm-manifest

The digits are the segment's start offset; ids have 22 characters and may contain ``-`` and ``_``.

Kafka: RemoteLogSegmentFileset, RemoteTopicPartitionDirectory (4.2)
"""

import re
from typing import Final, NamedTuple

from workbench.files.names import MAX_OFFSET, MAX_PARTITION

LOG: Final = ".log"
INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TRANSACTION_INDEX: Final = ".txnindex"
SNAPSHOT: Final = ".snapshot"
LEADER_EPOCHS: Final = ".leader_epoch_checkpoint"
INDEXES: Final = ".indexes"
MANIFEST: Final = ".rsm-manifest"

LOCAL_SUFFIXES: Final = (LOG, INDEX, TIME_INDEX, TRANSACTION_INDEX, SNAPSHOT, LEADER_EPOCHS)
"""Files of a segment in `LocalTieredStorage`; only the transaction index may be missing."""

AIVEN_SUFFIXES: Final = (LOG, INDEXES, MANIFEST)
"""Files of a segment in Aiven's layout."""

_ID: Final = r"[A-Za-z0-9_-]{22}"
_FILE: Final = re.compile(rf"([0-9]{{20}})-({_ID})(\.[a-z_-]+)", re.ASCII)
_LOCAL_FOLDER: Final = re.compile(rf"(.+)-([0-9]{{1,10}})-({_ID})", re.ASCII)
_TOPIC_FOLDER: Final = re.compile(rf"(.+)-({_ID})", re.ASCII)


class RemoteFileName(NamedTuple):
    """The parts of a file's name.

    Attributes:
        start_offset: of the segment.
        segment_id: 22 characters.
        suffix: one of `LOCAL_SUFFIXES` or `AIVEN_SUFFIXES`.
    """

    start_offset: int
    segment_id: str
    suffix: str


class FolderName(NamedTuple):
    """The parts of a folder's name; ``partition`` is None where folders of partitions follow."""

    topic: str
    partition: int | None
    topic_id: str


def parse_file_name(name: str) -> RemoteFileName | None:
    """Return the parts of a file's name; None if it is not a segment's."""
    found = _FILE.fullmatch(name)
    if found is None or found[3] not in {*LOCAL_SUFFIXES, *AIVEN_SUFFIXES}:
        return None
    offset = int(found[1])
    return RemoteFileName(offset, found[2], found[3]) if offset <= MAX_OFFSET else None


def parse_folder_name(name: str) -> tuple[FolderName, ...]:
    """Return what a folder's name can mean: of a partition, of a topic, of both, or nothing.

    ``a-0-<id>`` is partition 0 of topic a in one layout, and topic a-0 in the other.
    """
    found = []
    match = _LOCAL_FOLDER.fullmatch(name)
    if match is not None and int(match[2]) <= MAX_PARTITION:
        found.append(FolderName(match[1], int(match[2]), match[3]))
    match = _TOPIC_FOLDER.fullmatch(name)
    if match is not None:
        found.append(FolderName(match[1], None, match[2]))
    return tuple(found)
