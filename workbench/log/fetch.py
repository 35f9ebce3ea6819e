"""The result of reading a log, and the position of an offset.

Kafka: LogOffsetMetadata, FetchDataInfo (4.2)
"""

from typing import Final, NamedTuple

from workbench.files.file_records import FileRecords
from workbench.files.indexes.transaction_index import AbortedTxn
from workbench.record.memory_records import EMPTY, MemoryRecords

UNKNOWN_OFFSET: Final = -1


class LogOffsetMetadata(NamedTuple):
    """An offset and its position.

    Attributes:
        offset: a record's offset.
        segment_base_offset: base offset of the segment that holds it; -1 if unknown.
        position: byte position in the segment; -1 if unknown.

    Kafka: LogOffsetMetadata (4.2)
    """

    offset: int
    segment_base_offset: int = UNKNOWN_OFFSET
    position: int = -1

    @property
    def is_offset_only(self) -> bool:
        """Whether segment and position are unknown."""
        return self.segment_base_offset == UNKNOWN_OFFSET


class FetchData(NamedTuple):
    """The result of one read of a log.

    Attributes:
        offset_metadata: position of the first returned batch.
        source: the file of the batches; None if there are none.
        position: byte position in the file where they start.
        size: bytes; the last batch may be incomplete.
        first_entry_incomplete: whether even the first batch is incomplete.
        aborted_transactions: those that a read_committed consumer must skip; None for other
            isolations.

    Kafka: FetchDataInfo (4.2)
    """

    offset_metadata: LogOffsetMetadata
    source: FileRecords | None = None
    position: int = 0
    size: int = 0
    first_entry_incomplete: bool = False
    aborted_transactions: tuple[AbortedTxn, ...] | None = None

    @property
    def records(self) -> MemoryRecords:
        """The batches, read from the file now."""
        if self.source is None or self.size <= 0:
            return EMPTY
        return self.source.read(self.position, self.size)
