"""Replicas of one partition, written by the engine into the log directories of several brokers."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import workbench as wb
from tests.log.logs import NOW, LogHome
from workbench.comparison.results import PartitionComparison
from workbench.files import names
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import TopicPartition
from workbench.record.memory_records import MemoryRecords

ORDERS: Final = TopicPartition("orders", 0)


class Written(NamedTuple):
    """A batch: its first offset, how many records, its leader epoch, and what the values say."""

    first: int
    size: int
    epoch: int
    text: str = "m"

    @property
    def records(self) -> MemoryRecords:
        """The bytes that a leader sends."""
        return MemoryRecords.of(
            *(
                (NOW + offset, b"k%d" % offset, f"{self.text}{offset}".encode())
                for offset in range(self.first, self.first + self.size)
            ),
            base_offset=self.first,
            partition_leader_epoch=self.epoch,
        )


def run(first: int, end: int, epoch: int, text: str = "m") -> list[Written]:
    """Return batches of one record each, for the offsets [first, end)."""
    return [Written(offset, 1, epoch, text) for offset in range(first, end)]


def write_replica(
    root: Path,
    batches: Iterable[Written],
    *,
    high_watermark: int | None = None,
    start: int = 0,
    leads: int | None = None,
    clean: bool = True,
    settings: Mapping[str, Any] | None = None,
) -> Path:
    """Write one broker's log directory with one log; return the directory.

    Args:
        root: the directory.
        batches: what the log holds.
        high_watermark: what the checkpoint says; None: no checkpoint.
        start: log start offset.
        leads: an epoch in which the broker became the leader without appending.
        clean: whether there is a clean shutdown file.
        settings: the topic's.
    """
    root.mkdir(parents=True, exist_ok=True)
    home = LogHome(root, {"segment.bytes": 600, "index.interval.bytes": 100, **(settings or {})})
    log = home.open()
    for each in batches:
        log.append_as_follower(each.records, each.epoch)
    if leads is not None:
        log.leader_epochs.assign(leads, log.log_end_offset)
    log.close()
    checkpoints = {names.HIGH_WATERMARKS: high_watermark, names.LOG_START_OFFSETS: start or None}
    for name, offset in checkpoints.items():
        if offset is not None:
            (root / name).write_bytes(OffsetCheckpoint({ORDERS: offset}).encode())
    (root / names.RECOVERY_POINTS).write_bytes(OffsetCheckpoint({ORDERS: 0}).encode())
    if clean:
        (root / names.CLEAN_SHUTDOWN).touch()
    return root


def compare(**brokers: Path) -> PartitionComparison:
    """Compare the replicas of ``orders-0``."""
    return wb.compare_replicas(brokers)["orders-0"]


def kinds(compared: PartitionComparison) -> list[str]:
    """Return the kinds of the findings that are not only information, sorted."""
    return sorted(f.kind for f in compared.findings if f.severity != "info")
