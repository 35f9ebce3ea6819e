"""A committed offset, and the committed offsets of a group.

Kafka: OffsetAndMetadata (4.2)
"""

from typing import NamedTuple

from workbench.files.names import TopicPartition


class OffsetAndMetadata(NamedTuple):
    """A committed offset.

    Attributes:
        offset: the next record that the group wants; never compared with the log.
        leader_epoch: the epoch of the last record that the group consumed; None: unknown.
        metadata: the client's own text.
        commit_timestamp: the time of the commit, ms; -1 if the client sent that.
        expire_timestamp: the commit's own expiry, ms; None: the retention of the broker and the
            group decides.
        topic_id: the id of the topic that it was committed for; None: unknown.
        record_offset: the commit's offset in the coordinator's log.
        version: the value's version.
    """

    offset: int
    leader_epoch: int | None
    metadata: str
    commit_timestamp: int
    expire_timestamp: int | None
    topic_id: str | None
    record_offset: int
    version: int


Offsets = dict[TopicPartition, OffsetAndMetadata]
