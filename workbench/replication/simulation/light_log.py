"""A log of values in memory, for searches that look at many states.

It follows `Log` in what replication sees: offsets, leader epochs, high watermark. Tests hold it
equal to `Log`, and a schedule that a search finds is played again on real logs.

Kafka: UnifiedLog, LeaderEpochFileCache (4.2)
"""

from typing import Any, NamedTuple

from workbench.errors import OffsetOutOfRangeError, UnexpectedAppendOffsetError
from workbench.files.leader_epochs import EpochEntry, LeaderEpochs
from workbench.log.fetch import LogOffsetMetadata


class LightRecord(NamedTuple):
    """One record: its leader epoch and its value."""

    epoch: int
    value: str


class LightAppend(NamedTuple):
    """Where an append is stored; see `LogAppendInfo`."""

    first_offset: int
    last_offset: int
    last_leader_epoch: int | None


class LightBatches(NamedTuple):
    """Records that a leader sent, from an offset on."""

    first_offset: int
    records: tuple[LightRecord, ...]


class LightFetch(NamedTuple):
    """The result of a read; a record counts as one byte."""

    offset_metadata: LogOffsetMetadata
    size: int
    records: LightBatches
    aborted_transactions: None = None


class LightEpochs:
    """Where each leader epoch starts; see `LeaderEpochCache`."""

    __slots__ = ("entries",)

    def __init__(self, entries: tuple[EpochEntry, ...] = ()) -> None:
        self.entries = entries

    @property
    def latest_epoch(self) -> int | None:
        """Number of the newest epoch; None if there is none."""
        return self.entries[-1].epoch if self.entries else None

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Add an epoch; later ones, and those that begin there or later, are removed."""
        entries = self.entries
        if entries and entries[-1].epoch == epoch and start_offset >= entries[-1].start_offset:
            return False
        kept = len(entries)
        while kept and (
            entries[kept - 1].epoch >= epoch or entries[kept - 1].start_offset >= start_offset
        ):
            kept -= 1
        self.entries = (*entries[:kept], EpochEntry(epoch, start_offset))
        return True

    def truncate_from_end(self, end_offset: int) -> None:
        """Remove the epochs that begin at or after an offset."""
        self.entries = tuple(entry for entry in self.entries if entry.start_offset < end_offset)

    def truncate_from_start(self, start_offset: int) -> None:
        """Remove the epochs that end before an offset; that of the offset begins there."""
        gone = [entry for entry in self.entries if entry.start_offset <= start_offset]
        if gone:
            first = EpochEntry(gone[-1].epoch, start_offset)
            self.entries = (first, *self.entries[len(gone) :])


class LightLog:
    """A log of values; see `Log` for the methods.

    Attributes:
        content: the records from the log start offset on.
        keeps_epochs: whether records carry leader epochs; not before 0.11.
    """

    __slots__ = (
        "content",
        "high_watermark",
        "keeps_epochs",
        "leader_epochs",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, *, keeps_epochs: bool = True) -> None:
        self.content: tuple[LightRecord, ...] = ()
        self.leader_epochs = LightEpochs()
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.high_watermark = 0
        self.keeps_epochs = keeps_epochs

    def copy(self) -> "LightLog":
        """Return a log with the same records."""
        other = LightLog.__new__(LightLog)
        other.content = self.content
        other.leader_epochs = LightEpochs(self.leader_epochs.entries)
        other.log_start_offset = self.log_start_offset
        other.log_end_offset = self.log_end_offset
        other.high_watermark = self.high_watermark
        other.keeps_epochs = self.keeps_epochs
        return other

    @property
    def log_end(self) -> LogOffsetMetadata:
        """The log end offset; the position is the number of records."""
        return LogOffsetMetadata(self.log_end_offset, 0, self.log_end_offset)

    @property
    def last_stable_offset(self) -> int:
        """The high watermark: there are no transactions."""
        return self.high_watermark

    def limit(self, isolation: Any) -> LogOffsetMetadata:
        """Return where a read of an isolation ends."""
        if isolation == "log_end":
            return self.log_end
        return LogOffsetMetadata(self.high_watermark, 0, self.high_watermark)

    def offset_for_timestamp(self, timestamp: int) -> None:
        """Return None: values have no time."""

    def append_as_leader(
        self,
        records: Any,
        leader_epoch: int = 0,
        origin: Any = None,  # noqa: ARG002  # one kind of record
    ) -> LightAppend:
        """Append values."""
        first = self.log_end_offset
        values = tuple(LightRecord(leader_epoch, value) for value in records)
        self._append(values)
        return LightAppend(first, self.log_end_offset - 1, leader_epoch)

    def append_as_follower(self, records: Any, leader_epoch: int = 0) -> LightAppend:
        """Append what `read` of the leader gave."""
        if records.first_offset < self.log_end_offset:
            raise UnexpectedAppendOffsetError(
                f"offset {records.first_offset} is before the log end offset {self.log_end_offset}",
                records.first_offset,
                records.first_offset + len(records.records) - 1,
            )
        first = records.first_offset
        values = tuple(record for record in records.records if record.epoch <= leader_epoch)
        self._append(values)
        last = values[-1].epoch if values else None
        return LightAppend(first, self.log_end_offset - 1 if values else -1, last)

    def _append(self, values: tuple[LightRecord, ...]) -> None:
        if self.keeps_epochs:
            for place, record in enumerate(values):
                self.leader_epochs.assign(record.epoch, self.log_end_offset + place)
        self.content += values
        self.log_end_offset += len(values)

    def read(
        self,
        start_offset: int,
        max_bytes: int = 1 << 20,
        isolation: Any = "log_end",
        *,
        min_one_message: bool = True,
    ) -> LightFetch:
        """Return records; a record counts as one byte."""
        start, end = self.log_start_offset, self.log_end_offset
        if not start <= start_offset <= end:
            raise OffsetOutOfRangeError(start_offset, start, end, "the log")
        limit = end if isolation == "log_end" else self.high_watermark
        most = max(max_bytes, 1) if min_one_message else max_bytes
        records = self.content[start_offset - start : max(0, limit - start)][:most]
        at = LogOffsetMetadata(start_offset, 0, start_offset)
        return LightFetch(at, len(records), LightBatches(start_offset, records))

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int] | None:
        """Return the largest leader epoch up to ``epoch`` and its end offset."""
        return LeaderEpochs(self.leader_epochs.entries).end_offset_for(epoch, self.log_end_offset)

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark within the log."""
        self.high_watermark = max(self.log_start_offset, min(offset, self.log_end_offset))
        return self.high_watermark

    def maybe_increment_high_watermark(self, offset: LogOffsetMetadata) -> bool:
        """Raise the high watermark."""
        if offset.offset > self.log_end_offset:
            raise ValueError(f"high watermark {offset.offset} is above {self.log_end_offset}")
        if offset.offset <= self.high_watermark:
            return False
        self.high_watermark = offset.offset
        return True

    def maybe_increment_log_start_offset(self, offset: int, reason: str) -> bool:  # noqa: ARG002
        """Raise the log start offset."""
        if offset > self.high_watermark:
            raise OffsetOutOfRangeError(offset, self.log_start_offset, self.high_watermark, "")
        if offset <= self.log_start_offset:
            return False
        self.content = self.content[offset - self.log_start_offset :]
        self.log_start_offset = offset
        self.leader_epochs.truncate_from_start(offset)
        return True

    def truncate_to(self, offset: int) -> bool:
        """Remove the records at and after an offset."""
        if offset >= self.log_end_offset:
            self.leader_epochs.truncate_from_end(self.log_end_offset)
            return False
        self.content = self.content[: max(0, offset - self.log_start_offset)]
        self.log_end_offset = max(offset, self.log_start_offset)
        self.leader_epochs.truncate_from_end(self.log_end_offset)
        self.high_watermark = min(self.high_watermark, self.log_end_offset)
        return True

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Remove all records and restart at an offset."""
        self.content = ()
        self.leader_epochs = LightEpochs()
        self.log_start_offset = offset if log_start_offset is None else log_start_offset
        self.log_end_offset = offset
        self.high_watermark = offset
