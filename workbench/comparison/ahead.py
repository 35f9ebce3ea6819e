"""The disks of several brokers of one cluster, read as one: of each partition the replica ahead.

Which replica that is, is decided when the partition is first asked for, as `compare_replicas`
decides it: by the leader epoch of the last batch, then by the log end offset. The server and
Spark's source read it.

Kafka: none; a controller elects from the in-sync replicas that run
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property

from workbench.comparison.disks import BrokerDisks
from workbench.comparison.replica import Replica, read_replica
from workbench.config.internal_topics import HIDDEN_TOPICS
from workbench.errors import LogDirectoryError
from workbench.files.leader_epochs import UNKNOWN_EPOCH
from workbench.files.names import TopicPartition
from workbench.inspection.brokers import listings_by_broker
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition


class Replicas:
    """The replicas in a listing that holds the directories of several brokers.

    Args:
        listing: the directories.
        tell: receives which replica is read, and why, as a sentence.
        verb: what is done with a replica in that sentence.

    Attributes:
        brokers: id → its disks; none if the directories are those of one broker.

    Raises:
        LogDirectoryError: the brokers are of different clusters.
    """

    def __init__(self, listing: Listing, tell: Callable[[str], object], verb: str = "read") -> None:
        self._whole = listing
        self._tell = tell
        self._verb = verb
        self._lock = threading.Lock()
        self._chosen: dict[TopicPartition, DiskPartition] = {}
        several = listings_by_broker(listing)
        self.brokers = {
            node_id: BrokerDisks(str(node_id), own)
            for node_id, own in several.items()
            if len(several) > 1
        }
        self._check_clusters()

    def _check_clusters(self) -> None:
        first: tuple[int, frozenset[str]] | None = None
        for node_id, disks in self.brokers.items():
            ids = disks.cluster_ids
            if first is not None and ids and not ids & first[1]:
                where = disks.listing.roots[0].path
                raise LogDirectoryError(
                    str(where),
                    f"belongs to broker {node_id} of cluster {', '.join(sorted(ids))} (expected "
                    f"cluster {', '.join(sorted(first[1]))}, that of broker {first[0]})",
                )
            if first is None and ids:
                first = node_id, ids

    def of(self, name: TopicPartition) -> dict[int, DiskPartition]:
        """Return the replicas of a partition by the ids of their brokers."""
        return {
            node_id: disks.logs[name]
            for node_id, disks in self.brokers.items()
            if name in disks.logs
        }

    def leader_epoch(self, name: TopicPartition) -> int:
        """Return the newest leader epoch in the replicas' epoch files; -1 if there is none."""
        newest = UNKNOWN_EPOCH
        for partition in self.of(name).values():
            with suppress(OSError):
                found = partition.leader_epochs
                if found is not None and found.latest is not None:
                    newest = max(newest, found.latest.epoch)
        return newest

    def choose(self, name: TopicPartition) -> DiskPartition:
        """Return the replica that is ahead; its batches' headers are read for that, once."""
        with self._lock:
            chosen = self._chosen.get(name)
            if chosen is not None:
                return chosen
            replicas = {
                node_id: read_replica(self.brokers[node_id], partition, deep=False)
                for node_id, partition in self.of(name).items()
            }
            best = max(replicas, key=lambda node_id: replicas[node_id].rank)
            self._chosen[name] = replicas[best].partition
        others = [_state(node_id, each) for node_id, each in replicas.items() if node_id != best]
        if any(each.rank != replicas[best].rank for each in replicas.values()):
            own = _state(best, replicas[best])
            self._tell(f"{name}: {own} is {self._verb}, because it is ahead of {', '.join(others)}")
        return self._chosen[name]

    @cached_property
    def listing(self) -> Listing:
        """The directories as one broker's that has the replicas that are ahead.

        Only those of the topics that brokers make for themselves are chosen.
        """
        if not self.brokers:
            return self._whole
        partitions = dict(self._whole.partitions)
        names = {name for disks in self.brokers.values() for name in disks.logs}
        for name in sorted(names):
            if name.topic in HIDDEN_TOPICS:
                partitions[str(name)] = self.choose(name)
        return Listing(self._whole.roots, partitions)


def _state(node_id: int, replica: Replica) -> str:
    epoch = "no epoch" if replica.last_epoch is None else f"epoch {replica.last_epoch}"
    return f"the replica of broker {node_id} ({epoch}, log end offset {replica.log_end_offset})"
