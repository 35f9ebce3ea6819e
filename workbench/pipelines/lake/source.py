"""What a table is loaded from: of each partition the replica that is ahead, and its new offsets."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from workbench.comparison.ahead import Replicas
from workbench.config.internal_topics import HIDDEN_TOPICS
from workbench.errors import LogDirectoryError
from workbench.files.names import TopicPartition
from workbench.files.partition_metadata import is_made_again
from workbench.inspection.listing import Listing, StrPath, require_logs
from workbench.inspection.partition import DiskPartition
from workbench.inspection.transactions import IsolationLevel, Transactions, read_transactions
from workbench.loaders.in_hand import InHand, place_of
from workbench.loaders.offsets.runs import offset_runs
from workbench.loaders.remote import listed_with_tier
from workbench.loaders.scan.plan import choose_partitions, segments_within
from workbench.loaders.scan.splits import size_of
from workbench.pipelines.lake.table import LoadedUpTo, Log, Positions
from workbench.runtime.several import Names, Partitions

_MOST_LOGS = 1000  # of a commit


def logs_of(
    paths: InHand | Iterable[InHand],
    remote: StrPath | None,
    remote_keys: Mapping[str, StrPath] | None,
    tell: Callable[[str], object],
) -> Listing:
    """Open directories of one broker or of several of one cluster.

    Args:
        paths: what `open_log_directory` takes.
        remote: the folder or URL of the remote tier.
        remote_keys: key id → file of the private key.
        tell: receives which replica is read, and why, as a sentence.

    Returns:
        A listing with one copy of each partition: the replica that is ahead.

    Raises:
        LogDirectoryError: a path does not exist, nothing there looks like Kafka's, brokers are of
            different clusters, or two directories of one broker hold a partition.
    """
    place = place_of(paths)
    if remote is None:
        remote, remote_keys = place.tier.get("remote"), place.tier.get("remote_keys", remote_keys)
    listing, _ = listed_with_tier(place.paths, remote, remote_keys, fs=place.fs)
    require_logs(listing)
    copies: dict[TopicPartition, list[str]] = {}
    for key, each in listing.partitions.items():
        if each.kind == "log" or each.is_alone:
            copies.setdefault(TopicPartition(each.topic, each.partition), []).append(key)
    replicas = Replicas(listing, tell)
    ahead: dict[str, DiskPartition] = {}
    for name, keys_of_copies in copies.items():
        found = [listing.partitions[key] for key in keys_of_copies]
        if len(found) > len(replicas.of(name)) and len(found) > 1:
            where = ", ".join(each.path for each in found)
            raise LogDirectoryError(
                found[0].path, f"{name} is twice in the directories of one broker: {where}"
            )
        ahead[str(name)] = found[0] if len(found) == 1 else replicas.choose(name)
    return Listing(listing.roots, ahead)


def chosen(
    listing: Listing,
    topics: Names,
    partitions: Partitions,
) -> list[DiskPartition]:
    """Return the partitions to load, sorted; the topics that brokers make only if they are named.

    Raises:
        LogDirectoryError: the name of one is not UTF-8, which no table has.
        LookupError: a topic or partition does not exist.
    """
    found = choose_partitions(listing, topics, partitions)
    if topics is None and partitions is None:
        found = [each for each in found if each.topic not in HIDDEN_TOPICS or each.is_alone]
    for each in found:
        if any("\ud800" <= character <= "\udfff" for character in each.topic):  # surrogates
            raise LogDirectoryError(
                each.path,
                f"the name of the topic is not UTF-8 (found {os.fsencode(each.topic)!r}), which no "
                "table has and no broker makes; choose the other topics by their names",
            )
    return found


class NewOffsets(NamedTuple):
    """The offsets of a partition that a run deals with.

    Attributes:
        partition: the replica that is read.
        isolation_level: with read_uncommitted, records of transactions are records.
        transactions: its transactions; None: there is nothing new.
        low: where earlier runs ended; 0 if there was none.
        high: where this one ends: the log end offset or the last stable offset.
        log_end: the log end offset.
    """

    partition: DiskPartition
    isolation_level: IsolationLevel
    transactions: Transactions | None
    low: int
    high: int
    log_end: int

    @property
    def log(self) -> Log:
        """Topic and partition."""
        return self.partition.topic, self.partition.partition

    @property
    def loaded(self) -> LoadedUpTo:
        """Where the next run begins."""
        return LoadedUpTo(self.high, self.partition.topic_id)

    def fates(self) -> Counter[str]:
        """Return how many offsets of the range have which fate, see `runs.FATES`."""
        found: Counter[str] = Counter()
        if self.low >= self.high:
            return found
        for run in offset_runs(self.partition, self.low, self.transactions):
            if run.first >= self.high:
                break
            found[run.fate] += min(run.last, self.high - 1) - max(run.first, self.low) + 1
        if self.isolation_level == "read_uncommitted":
            found["record"] += found.pop("aborted", 0) + found.pop("open", 0)
        return found


def new_offsets(
    partition: DiskPartition, position: LoadedUpTo | None, isolation_level: IsolationLevel
) -> NewOffsets:
    """Return the offsets of a partition that were not loaded yet.

    Args:
        partition: the replica to read.
        position: up to where the table has it; None: nothing. That of a topic with another id says
            nothing of this one, whose offsets begin again.
        isolation_level: ``read_committed`` ends at the last stable offset.

    Raises:
        LogDirectoryError: the log ends below what was loaded.
        OSError: the log end offset cannot be read.
    """
    name = f"{partition.topic}-{partition.partition}"
    is_new = position is None or is_made_again(position.topic_id, partition.topic_id)
    low = 0 if position is None or is_new else position.next_offset
    end = max(partition.log_end_offset, partition.log_start_offset)
    if low > end:
        raise LogDirectoryError(
            partition.path,
            f"the log of {name} ends at offset {end}, and the table has it up to {low}: the log "
            "was truncated, or this is another cluster's; load it into another table",
        )
    if low == end:
        return NewOffsets(partition, isolation_level, None, low, end, end)
    transactions = read_transactions(partition)
    high = end
    if isolation_level == "read_committed":
        high = max(low, min(end, transactions.last_stable_offset))
    return NewOffsets(partition, isolation_level, transactions, low, high, end)


def in_commits(
    ranges: Sequence[NewOffsets], most_bytes: int, *, splits_logs: bool = True
) -> Iterator[list[NewOffsets]]:
    """Yield ranges to commit together, of about so many bytes; logs are split, at segments."""
    commit: list[NewOffsets] = []
    size = 0
    for each in ranges:
        first = each.low
        for read in segments_within(each.partition, each.low, each.high):
            base = max(first, min(read.segment.base_offset, each.high))
            is_full = size and size + size_of(read) > most_bytes
            if is_full and (splits_logs or base == each.low):
                if base > first:
                    commit.append(each._replace(low=first, high=base))
                    first = base
                if commit:
                    yield commit
                commit, size = [], 0
            size += size_of(read)
        if first < each.high:
            commit.append(each._replace(low=first))
        if len(commit) >= _MOST_LOGS:
            yield commit
            commit, size = [], 0
    if commit:
        yield commit


def ids_of(partitions: Iterable[DiskPartition]) -> Positions:
    """Return the logs with their topic ids, for `Table.positions`."""
    return {(each.topic, each.partition): LoadedUpTo(0, each.topic_id) for each in partitions}
