"""What the disks of one broker say besides its logs: checkpoints, how it stopped, its cluster.

Kafka: LogManager, OffsetCheckpointFile (4.2)
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from workbench.config.internal_topics import METADATA_TOPIC
from workbench.files import names
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.meta_properties import MetaProperties
from workbench.files.names import TopicPartition
from workbench.inspection.cluster.image import StoredCluster
from workbench.inspection.cluster.loading import read_stored_cluster
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing, Root
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import if_readable
from workbench.inspection.verify.shutdown_state import (
    PartitionShutdownState,
    ShutdownState,
    shutdown_state_of,
)


@dataclass(frozen=True)
class BrokerDisks:
    """The log directories of one broker.

    Attributes:
        broker: the name that the caller gave the broker.
        listing: its directories.
    """

    broker: str
    listing: Listing

    @cached_property
    def logs(self) -> dict[TopicPartition, DiskPartition]:
        """The logs in use; if two directories hold one, the first."""
        found: dict[TopicPartition, DiskPartition] = {}
        for partition in self.listing.partitions.values():
            if partition.kind == "log":
                found.setdefault(TopicPartition(partition.topic, partition.partition), partition)
        return found

    @cached_property
    def cluster(self) -> StoredCluster | None:
        """What its copy of the metadata log says; None without a readable one."""
        metadata = self.listing.metadata_log
        return None if metadata is None else if_readable(lambda: read_stored_cluster(metadata))

    @property
    def metadata_end(self) -> int:
        """The log end offset of its copy of the metadata log; -1 without one."""
        metadata = self.listing.metadata_log
        found = None if metadata is None else if_readable(lambda: metadata.log_end_offset)
        return -1 if found is None else found

    @cached_property
    def node_id(self) -> int | None:
        """The broker's id in `meta.properties`; otherwise its name if that is a number."""
        for each in self._meta_properties:
            if each.node_id is not None:
                return each.node_id
        return int(self.broker) if self.broker.isdecimal() else None

    @cached_property
    def cluster_ids(self) -> frozenset[str]:
        """The cluster ids in `meta.properties`."""
        found = (each.cluster_id for each in self._meta_properties)
        return frozenset(each for each in found if each)

    @cached_property
    def _meta_properties(self) -> list[MetaProperties]:
        found = []
        for root in self.listing.roots:
            with suppress(OSError):  # `verify` says so where it cannot be read
                if (each := root.meta_properties) is not None:
                    found.append(each)
        return found

    def situation(self, partition: DiskPartition) -> PartitionShutdownState:
        """Return how the broker would find a log when it starts."""
        name = TopicPartition(partition.topic, partition.partition)
        return self._situations.get(partition.root or "", ShutdownState()).of(name)

    def high_watermark(self, partition: DiskPartition) -> int | None:
        """Return the checkpointed high watermark of a log; None without one."""
        return self._offset(names.HIGH_WATERMARKS, partition)

    def cleaner_offset(self, partition: DiskPartition) -> int | None:
        """Return up to where the cleaner has read a log; None if it has not."""
        return self._offset(names.CLEANER_OFFSETS, partition)

    def has_high_watermarks(self, partition: DiskPartition) -> bool:
        """Return whether the log directory of a log has a checkpoint of high watermarks."""
        return (partition.root, names.HIGH_WATERMARKS) in self._checkpoints

    def twice(self) -> Iterator[Finding]:
        """Yield a finding for each log that is in two directories of the broker."""
        for partition in self.listing.partitions.values():
            name = TopicPartition(partition.topic, partition.partition)
            first = self.logs.get(name)
            if partition.kind == "log" and first is not partition and name.topic != METADATA_TOPIC:
                assert first is not None
                yield Finding(
                    "duplicate-partition", "error", partition.path, None, None,
                    f"{name} is also in {first.path}, which was compared", "one directory",
                    "A broker does not start with both.",
                )  # fmt: skip

    @cached_property
    def _roots(self) -> dict[str, Root]:
        return {root.log_directory: root for root in self.listing.roots}

    @cached_property
    def _situations(self) -> dict[str, ShutdownState]:
        return {path: shutdown_state_of(root) for path, root in self._roots.items()}

    @cached_property
    def _checkpoints(self) -> dict[tuple[str | None, str], OffsetCheckpoint]:
        found: dict[tuple[str | None, str], OffsetCheckpoint] = {}
        for path, root in self._roots.items():
            for name in (names.HIGH_WATERMARKS, names.CLEANER_OFFSETS):
                checkpoint = None
                with suppress(OSError):  # `verify` says so where it cannot be read
                    checkpoint = root.checkpoint(name)
                if checkpoint is not None and not checkpoint.problems:
                    found[path, name] = checkpoint
        return found

    def _offset(self, name: str, partition: DiskPartition) -> int | None:
        checkpoint = self._checkpoints.get((partition.root, name))
        if checkpoint is None:
            return None
        return checkpoint.offsets.get(TopicPartition(partition.topic, partition.partition))
