"""What reading a log gives, and where an offset is.

Kafka: LogOffsetMetadata, FetchDataInfo (4.2)
"""

from typing import Final, NamedTuple

from workbench.files.file_records import FileRecords
from workbench.files.transaction_index import AbortedTransaction
from workbench.record.memory_records import EMPTY, MemoryRecords

UNKNOWN_OFFSET: Final = -1


class LogOffsetMetadata(NamedTuple):
    """An offset and where it is.

    Attributes:
        offset: of a record.
        segment_base_offset: of the segment that holds it; -1 when that is not known.
        position: byte place in the segment; -1 when that is not known.

    Kafka: LogOffsetMetadata (4.2)
    """

    offset: int
    segment_base_offset: int = UNKNOWN_OFFSET
    position: int = -1

    @property
    def is_offset_only(self) -> bool:
        """Whether segment and position are not known."""
        return self.segment_base_offset == UNKNOWN_OFFSET


class FetchData(NamedTuple):
    """What one read of a log gives.

    Attributes:
        offset_metadata: where the first of the returned batches is.
        source: the file that the batches are in; None when there are none.
        position: byte place in the file where they start.
        size: bytes; the last batch may be cut.
        first_entry_incomplete: whether not even the first batch is whole.
        aborted_transactions: those that a read_committed consumer must leave out; None for other
            isolations.

    Kafka: FetchDataInfo (4.2)
    """

    offset_metadata: LogOffsetMetadata
    source: FileRecords | None = None
    position: int = 0
    size: int = 0
    first_entry_incomplete: bool = False
    aborted_transactions: tuple[AbortedTransaction, ...] | None = None

    @property
    def records(self) -> MemoryRecords:
        """The batches, read from the file now."""
        if self.source is None or self.size <= 0:
            return EMPTY
        return self.source.read(self.position, self.size)
