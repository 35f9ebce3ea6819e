"""A log that a test fills, rolls and cleans, and what is left of it."""

from pathlib import Path
from typing import Any

from tests.log.logs import NOW, LogHome, end_transaction
from workbench.cleaner.cleaner import Cleaning, clean_log
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.offset_map import ENTRY_SIZE, OffsetMap
from workbench.cleaner.schedule.log_to_clean import log_to_clean
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords

DAY = 86_400_000  # delete.retention.ms
LATER = NOW + DAY + 1  # when a delete horizon that was set now has passed


class Cleanable:
    """A log of a compacted topic, every append a batch of its own.

    Args:
        root: the log directory.
        name: the folder's.
        settings: the topic's.
    """

    def __init__(self, root: Path, name: str = "orders-0", **settings: Any) -> None:
        configs = {name.replace("_", "."): value for name, value in settings.items()}
        self.home = LogHome(root, {"cleanup.policy": "compact", **configs}, name=name)
        self.log: Log = self.home.open()
        self._sequences: dict[int, int] = {}

    def append(self, *keys: int | None, value: bytes | None = b"v", **options: Any) -> None:
        """Append a batch with these keys, null for None."""
        records = [(NOW, None if key is None else b"%d" % key, value) for key in keys]
        self.log.append_as_leader(MemoryRecords.of(*records, **options))
        self._make_stable()

    def append_each(self, *keys: int | None, **options: Any) -> None:
        """Append each key in a batch of its own."""
        for key in keys:
            self.append(key, **options)

    def produce(self, producer: int, *keys: int, transactional: bool = False) -> None:
        """Append a batch of an idempotent producer, or of a transaction."""
        sequence = self._sequences.get(producer, 0)
        self._sequences[producer] = sequence + len(keys)
        self.append(
            *keys,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=transactional,
        )

    def within(self, producer: int, *keys: int) -> None:
        """Append a batch of a transaction."""
        self.produce(producer, *keys, transactional=True)

    def commit(self, producer: int) -> None:
        """Commit a transaction."""
        end_transaction(self.log, producer, commit=True)
        self._make_stable()

    def abort(self, producer: int) -> None:
        """Abort a transaction."""
        end_transaction(self.log, producer, commit=False)
        self._make_stable()

    def _make_stable(self) -> None:
        self.log.update_high_watermark(self.log.log_end_offset)

    def roll(self) -> None:
        """Begin a new active segment."""
        self.log.roll()
        self._make_stable()

    def clean(
        self, start: int = 0, now: int = NOW, upper: int | None = None, **options: Any
    ) -> Cleaning:
        """Clean once, up to the active segment unless ``upper`` is given."""
        if upper is None:
            upper = log_to_clean(self.log, start, now).first_uncleanable_offset
        return clean_log(self.log, start, upper, now, **options)

    def clean_twice(self, start: int = 0) -> None:
        """Clean, and again when the delete horizons that were set have passed."""
        self.clean(start)
        self.clean(start, LATER)

    @property
    def offsets(self) -> list[int]:
        """The offsets of all records, control records too."""
        return [record.offset for records in self._segments() for record in records.records()]

    @property
    def keys(self) -> list[int | None]:
        """The keys of all records but control records."""
        return [
            None if record.key is None else int(record.key)
            for records in self._segments()
            for row in records.batches().rows
            if not row["is_control"]
            for record in _records(records, row)
        ]

    @property
    def last_offsets(self) -> list[int]:
        """The last offset of each batch, empty ones too."""
        return [
            int(offset)
            for records in self._segments()
            for offset in records.batches().rows["last_offset"]
        ]

    @property
    def base_offsets(self) -> list[int]:
        """The base offset of each batch, empty ones too."""
        return [
            int(offset)
            for records in self._segments()
            for offset in records.batches().rows["base_offset"]
        ]

    @property
    def aborted(self) -> list[tuple[int, int, int]]:
        """The aborted transactions: producer, first and last offset."""
        found = self.log.collect_aborted_transactions(0, self.log.log_end_offset)
        return [(one.producer_id, one.first_offset, one.last_offset) for one in found]

    def _segments(self) -> list[MemoryRecords]:
        return [segment.log.read(0, segment.size) for segment in self.log.segments]


def _records(records: MemoryRecords, row: Any) -> list[Any]:
    start = int(row["position"])
    return records.part(start, start + int(row["size"])).records()


def map_of(slots: int, load_factor: float = 0.75) -> OffsetMap:
    """Return a map with that many slots."""
    return OffsetMap(slots * ENTRY_SIZE, load_factor)


SMALL = CleanerConfig(map_memory=1 << 16, buffer_size=64)
"""Buffers smaller than a batch."""
