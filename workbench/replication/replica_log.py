"""What replication needs of a log: `Log` has it, and so has the light log of the search.

Kafka: the methods of UnifiedLog that Partition and the fetchers call (4.2)
"""

from collections.abc import Sequence
from typing import Any, Protocol

from workbench.files.leader_epochs import EpochEntry
from workbench.log.fetch import LogOffsetMetadata


class ReplicaEpochs(Protocol):
    """The leader epochs of a log; see `LeaderEpochCache`."""

    @property
    def entries(self) -> Sequence[EpochEntry]:
        """All epochs, ascending."""
        ...

    @property
    def latest_epoch(self) -> int | None:
        """Number of the newest epoch; None if there is none."""
        ...

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Add an epoch that begins at an offset."""
        ...


class Appended(Protocol):
    """What an append says; see `LogAppendInfo`."""

    @property
    def last_offset(self) -> int:
        """Offset of the last record; -1 when nothing was appended."""
        ...


class Fetched(Protocol):
    """What a read gives; see `FetchData`."""

    @property
    def offset_metadata(self) -> LogOffsetMetadata:
        """Position of the first returned batch."""
        ...

    @property
    def size(self) -> int:
        """Bytes of the batches."""
        ...

    @property
    def records(self) -> Any:
        """The batches."""
        ...

    @property
    def aborted_transactions(self) -> tuple[Any, ...] | None:
        """Those that a read_committed consumer must skip."""
        ...


class ReplicaLog(Protocol):
    """The log of one replica; the methods are those of `Log`."""

    @property
    def leader_epochs(self) -> ReplicaEpochs:
        """Where each leader epoch starts."""
        ...

    @property
    def log_start_offset(self) -> int:
        """The first offset that can be read."""
        ...

    @property
    def log_end_offset(self) -> int:
        """The offset of the next record."""
        ...

    @property
    def log_end(self) -> LogOffsetMetadata:
        """The log end offset and its position."""
        ...

    @property
    def high_watermark(self) -> int:
        """The offset before which every in-sync replica has the records."""
        ...

    @property
    def last_stable_offset(self) -> int:
        """The offset where read_committed consumers must stop."""
        ...

    def append_as_leader(self, records: Any, leader_epoch: int = 0, origin: Any = ...) -> Appended:
        """Append a client's records."""
        ...

    def append_as_follower(self, records: Any, leader_epoch: int = ...) -> Appended:
        """Append a leader's records."""
        ...

    def limit(self, isolation: Any) -> LogOffsetMetadata:
        """Return where a read of an isolation ends."""
        ...

    def offset_for_timestamp(self, timestamp: int) -> Any:
        """Return the first record at or after a time."""
        ...

    def read(
        self,
        start_offset: int,
        max_bytes: int = ...,
        isolation: Any = ...,
        *,
        min_one_message: bool = True,
    ) -> Fetched:
        """Return batches."""
        ...

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int] | None:
        """Return the largest leader epoch up to ``epoch`` and its end offset."""
        ...

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark within the log."""
        ...

    def maybe_increment_high_watermark(self, offset: LogOffsetMetadata) -> bool:
        """Raise the high watermark."""
        ...

    def maybe_increment_log_start_offset(self, offset: int, reason: str) -> bool:
        """Raise the log start offset."""
        ...

    def truncate_to(self, offset: int) -> bool:
        """Remove the records at and after an offset."""
        ...

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Remove all records and restart at an offset."""
        ...
