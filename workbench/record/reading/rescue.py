"""What a damaged batch still gives: its records one by one, as far as their lengths lead.

A CRC covers a whole batch, so one changed byte hides every record of it from consumers. Each record
begins with its length, so those beside a damaged one can be read all the same.

Kafka: DefaultRecord.readFrom, DefaultRecordBatch.ensureValid (4.2)
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptRecordError
from workbench.kernels import dispatch
from workbench.layout import problems
from workbench.layout.batch_header import SMALLEST_RECORD
from workbench.layout.message_header import SMALLEST_ENTRY
from workbench.record import varint
from workbench.record.buffers import thread_pool
from workbench.record.columns import ColumnBuilder
from workbench.record.reading.batch_records import decompressed

Bytes = npt.NDArray[np.uint8]

RESCUABLE: Final = frozenset(
    {
        problems.CRC_MISMATCH,
        problems.BAD_VARINT,
        problems.BAD_RECORD_LENGTH,
        problems.BAD_KEY,
        problems.BAD_VALUE,
        problems.BAD_HEADERS,
        problems.RECORD_NOT_FILLED,
        problems.BYTES_AFTER_RECORDS,
    }
)
"""The problems of batches whose records may lie there, one after the other."""


class RescuedRecord(NamedTuple):
    """A record of a damaged batch.

    Attributes:
        offset: its offset; -1: its bytes do not say it.
        code: OK if its fields fit into its length, otherwise what is wrong.
    """

    offset: int
    code: int


class RescuedContents(NamedTuple):
    """What a damaged batch still gives.

    Attributes:
        data: uint8[n], the bytes of the readable records alone, uncompressed.
        records: the records that were found, in order, readable or not.
        unread: bytes after them, where no length leads on.
        why: why nothing could be read; empty if the records were reached.
    """

    data: Bytes
    records: tuple[RescuedRecord, ...]
    unread: int = 0
    why: str = ""

    @property
    def readable(self) -> int:
        """How many records can be read."""
        return sum(record.code == problems.OK for record in self.records)

    @property
    def is_whole(self) -> bool:
        """Whether every byte is in a record that can be read."""
        return not (self.why or self.unread) and self.readable == len(self.records)

    @property
    def text(self) -> str:
        """What a reader of these records must know, as a part of a sentence."""
        if self.why:
            return f"nothing is rescued: {self.why}"
        found = len(self.records)
        text = f"rescued {self.readable} of the {found} records that its lengths lead to"
        if self.unread:
            text += f", not {self.unread} bytes after them"
        return f"{text}; each may have changed bytes" if self.readable else text


def rescue(batch: Bytes, row: Any) -> RescuedContents:
    """Return what a damaged batch still gives.

    Of a compressed batch, nothing if it does not decompress; of a wrapper of magic 0 or 1, all of
    its messages or none.

    Args:
        batch: uint8[n], the bytes of the batch.
        row: its BATCH_ROW, with a size, magic and codec that are possible.
    """
    own = np.array([row])
    own["position"] = 0
    try:
        buffer, start, end = decompressed(batch, own[0])
    except CorruptRecordError as error:
        return RescuedContents(batch[:0], (), why=error.problem)
    content = np.array(buffer[start:end])  # its own: the next batch takes the same memory
    if own["magic"][0] < 2:
        return _messages(content, own)
    return _records(content, own)


def _messages(content: Bytes, row: npt.NDArray[Any]) -> RescuedContents:
    """Return all messages of an entry of magic 0 or 1, or none."""
    builder = ColumnBuilder(0, thread_pool())
    out = builder.reserve(len(content) // SMALLEST_ENTRY + 1, 0)
    span = np.array([[0, len(content)]], np.int64)
    _, code, _ = dispatch.decode_messages(content, span, row, 0, 1, 0, out)
    if code not in problems.READ:
        return RescuedContents(content[:0], (), why=problems.WORDS[int(code)])
    offsets = out.offsets[: builder.record_count].tolist()
    return RescuedContents(content, tuple(RescuedRecord(offset, problems.OK) for offset in offsets))


def _records(content: Bytes, row: npt.NDArray[Any]) -> RescuedContents:
    """Return the records of magic 2 whose fields fit into their lengths."""
    row["record_count"] = 1
    builder = ColumnBuilder(0, thread_pool())
    out = builder.reserve(len(content) // SMALLEST_RECORD + 1, 0)
    view, at = memoryview(content), 0
    sound: list[Bytes] = []
    found: list[RescuedRecord] = []
    while at < len(content):
        try:
            length, body = varint.decode(view, at)
        except CorruptRecordError:
            break
        if not SMALLEST_RECORD - 1 <= length <= len(content) - body:
            break
        end = body + length
        span = np.array([[at, end]], np.int64)
        _, code, _ = dispatch.decode_records(content, span, row, 0, 1, 0, out)
        if code == problems.OK:
            sound.append(content[at:end])
        offset = int(out.offsets[builder.record_count - 1]) if code == problems.OK else -1
        found.append(RescuedRecord(offset, int(code)))
        at = end
    data = np.concatenate(sound) if sound else content[:0]
    return RescuedContents(data, tuple(found), len(content) - at)
