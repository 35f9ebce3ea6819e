"""What became of offsets, how many records consumers get, and which offsets damage has taken."""

from typing import Annotated, NamedTuple

from workbench.tables.columns import PartitionNumber, Topic

AbortedRecords = Annotated[int, "records of aborted transactions"]
ControlRecords = Annotated[int, "control records, which no consumer gets"]
_Byte = Annotated[int | None, "position in the file"]


class OffsetRunRow(NamedTuple):
    """Offsets that follow each other and have one fate: one row per run of a partition."""

    topic: Topic
    partition: PartitionNumber
    first_offset: Annotated[int, "the first offset"]
    last_offset: Annotated[int, "the last offset, included"]
    offsets: Annotated[int, "how many offsets there are"]
    fate: Annotated[str, "record, open, aborted, control, compacted, deleted, damaged, …"]
    reason: Annotated[str, "what shows it"]
    path: Annotated[str | None, "the file that has it, or is damaged; null: none"]
    byte: _Byte


class RecordCountRow(NamedTuple):
    """How many records consumers get of a partition: one row per partition."""

    topic: Topic
    partition: PartitionNumber
    log_start_offset: Annotated[int, "the first offset that can be read"]
    log_end_offset: Annotated[int, "the offset after the last record that can be read"]
    offsets: Annotated[int, "log end minus log start offset: what interfaces show as messages"]
    records: Annotated[int, "records that a read_uncommitted consumer gets"]
    records_read_committed: Annotated[int, "records that a read_committed consumer gets"]
    aborted_records: AbortedRecords
    open_records: Annotated[int, "records of transactions that have not ended"]
    control_records: ControlRecords


class DamagedRangeRow(NamedTuple):
    """A range of offsets that consumers do not get because bytes are damaged."""

    topic: Topic
    partition: PartitionNumber
    first_offset: Annotated[int, "the first lost offset"]
    last_offset: Annotated[int, "the last lost offset, included"]
    offsets: Annotated[int, "how many offsets are lost"]
    records: Annotated[int | None, "how many records batch headers count there; null: unknown"]
    next_offset: Annotated[int, "where a consumer can continue: seek to it"]
    stops: Annotated[bool, "whether consumers fail there until they seek; otherwise they pass it"]
    rescuable: Annotated[int, "records there that --rescue, or rescue=True, still reads"]
    reason: Annotated[str, "what is damaged"]
    path: Annotated[str | None, "the damaged file"]
    byte: _Byte
