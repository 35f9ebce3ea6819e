"""Plan what a job reads, on the driver: partitions, offsets, pieces of segments, tasks.

Names and sizes are enough, unless options name offsets or times, or a segment of this machine is
larger than a task: where it is split, headers are read, so that each piece knows its offsets.

Spark: KafkaOffsetRangeCalculator, FilePartition.getFilePartitions (4.2)
"""

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Final, NamedTuple

from workbench.comparison.ahead import Replicas
from workbench.config.internal_topics import HIDDEN_TOPICS
from workbench.errors import (
    CorruptDataWarning,
    CorruptRecordError,
    InconsistentTopicIdError,
    OffsetOutOfRangeError,
    UncommittedRecordsWarning,
    WorkbenchError,
)
from workbench.file_system.kept import Kept
from workbench.file_system.source import THIS_MACHINE, Files
from workbench.files.names import PARTITION_METADATA, TopicPartition
from workbench.files.partition_metadata import is_made_again
from workbench.inspection.findings import Finding
from workbench.inspection.listing import list_log_directories
from workbench.inspection.partition import DiskPartition, metadata_now
from workbench.inspection.unreadable import findings_about_records, unreadable
from workbench.loaders.queries.ranges import HIGHEST
from workbench.loaders.read_warnings import warn_caller
from workbench.loaders.remote import all_opened
from workbench.loaders.scan.plan import SegmentRead, choose_partitions, without_internal
from workbench.loaders.scan.splits import OPEN_COST, by_offsets, byte_ranges, pack, size_of, split
from workbench.spark_source.options import SourceOptions
from workbench.spark_source.plan.offsets import LogEnds, Offsets, StreamPosition
from workbench.spark_source.plan.reads import planned_reads
from workbench.spark_source.plan.uncommitted import Planned, uncommitted_text
from workbench.spark_source.tasks.committed import stable_end

_SMALLEST_RANGE: Final = 512  # bytes, whatever maxPartitionBytes says

_CHOSEN: Final[Kept[object, str]] = Kept(10_000)  # paths of replicas ahead, by the state of all

_TOPIC_IDS: Final[Kept[object, str]] = Kept(10_000)  # of partitions, by the state of their files

Task = tuple[SegmentRead, ...]


class UnreadableLogs(NamedTuple):
    """The `.log` files of a partition that cannot be read: FIFOs, links, files without rights.

    Attributes:
        topic, partition: the partition.
        findings: one for each file.
    """

    topic: str
    partition: int
    findings: list[Finding]


class DataLossWarning(UserWarning):
    """A job asked for records that do not exist; with failOnDataLoss it would have ended."""


class ReplicaChoice(UserWarning):
    """Of a partition in several brokers' directories one copy is read: the one that is ahead."""


class Plan:
    """A view of the directories as they are at this moment: names and sizes, unless more is needed.

    Args:
        options: the options of the ``load``.
        is_stream: what is past the last stable offset is read later, not left out: with
            read_committed, ends are last stable offsets, for which some headers are read here.
        fs: what an earlier plan of these options has opened.

    Raises:
        ConfigError: a file of the remote tier's keys holds no private key.
        LogDirectoryError: a path does not exist, or brokers are of different clusters.
        LookupError: a topic or partition that was named does not exist.
        OSError: a directory cannot be listed.
        ValueError: two directories of one broker hold a partition.

    Attributes:
        listing: the directories.
        replicas: the partitions that are chosen, of several brokers all copies.
    """

    def __init__(
        self, options: SourceOptions, *, is_stream: bool = False, fs: Files = THIS_MACHINE
    ) -> None:
        self._options = options
        self._is_stream = is_stream
        paths, fs = all_opened(options.paths, fs)
        self.listing = list_log_directories(paths, fs=fs)
        if options.tier is not None:
            options.tier.attach(self.listing)
        chosen = choose_partitions(self.listing, options.topics, options.partitions)
        if options.pattern is not None:
            chosen = [p for p in chosen if self._fits(p)]
        elif not (options.include_internal or options.topics or options.partitions):
            chosen = without_internal(chosen)
        self.replicas = chosen
        self._partitions = {self._name(p): p for p in self._ahead()}
        self.ends = LogEnds(self._partitions, self._end_of)

    def _ahead(self) -> list[DiskPartition]:
        """Return the partitions that are chosen: of several brokers' the replica that is ahead.

        Raises:
            LogDirectoryError: the brokers are of different clusters.
            ValueError: two directories of one broker hold a partition.
        """
        found: dict[TopicPartition, list[DiskPartition]] = {}
        for each in self.replicas:
            found.setdefault(TopicPartition(each.topic, each.partition), []).append(each)
        if len(found) == len(self.replicas):
            return self.replicas
        several = Replicas(self.listing, _warn_of_choice)
        ahead = []
        for name, copies in found.items():
            if len(copies) > 1 and len(several.of(name)) < len(copies):
                where = ", ".join(each.path for each in copies)
                raise ValueError(
                    f"{name} is twice in the directories of one broker: {where}; load one copy"
                )
            if len(copies) > 1:
                state = tuple((each.path, _state(each)) for each in copies)
                chosen = _CHOSEN.get(state)  # a stream asks for each micro-batch
                if chosen is None:
                    chosen = several.choose(name).path
                    _CHOSEN.put(state, chosen)
                copies = [each for each in copies if each.path == chosen]  # noqa: PLW2901
            ahead.append(copies[0])
        return ahead

    @property
    def partitions(self) -> list[DiskPartition]:
        """The partitions that are chosen, sorted by topic and number."""
        return list(self._partitions.values())

    def left_out(self) -> list[UnreadableLogs]:
        """Return what is left out of the chosen partitions because it is not a readable file.

        With onCorrupt=skip each file is a warning.

        Raises:
            CorruptRecordError: there is such a file, with onCorrupt=fail.
        """
        found = [
            UnreadableLogs(p.topic, p.partition, findings_about_records(p)) for p in self.partitions
        ]
        found = [each for each in found if each.findings]
        for finding in (finding for each in found for finding in each.findings):
            self._tell(finding)
        return found

    def _tell(self, finding: Finding) -> None:
        """Raise or warn that a file cannot be read, as onCorrupt says."""
        if self._options.on_corrupt == "fail":
            raise unreadable_error(finding)
        if self._options.on_corrupt == "skip":
            warnings.warn(f"left out: {finding}", CorruptDataWarning, stacklevel=3)

    def _fits(self, partition: DiskPartition) -> bool:
        pattern = self._options.pattern or ""
        return partition.topic not in HIDDEN_TOPICS and bool(re.search(pattern, partition.topic))

    @staticmethod
    def _name(partition: DiskPartition) -> str:
        return f"{partition.topic}-{partition.partition}"

    def _end_of(self, partition: DiskPartition) -> int:
        is_stable = self._is_stream and self._options.read_committed
        return self._readable_end(partition, stable_end if is_stable else _log_end_of)

    def _log_end(self, partition: DiskPartition) -> int:
        return self._readable_end(partition, _log_end_of)

    def _readable_end(
        self, partition: DiskPartition, end_of: Callable[[DiskPartition], int]
    ) -> int:
        """Return an end of a log; if it cannot be read, the start of the last segment."""
        try:
            return end_of(partition)
        except OSError as error:
            last = partition.segments[-1]
            for finding in unreadable(last.path, error):
                self._tell(finding)
            return last.base_offset

    def batch_tasks(self) -> list[Task]:
        """Return the tasks of a batch query.

        Raises:
            OffsetOutOfRangeError: named offsets do not exist, with failOnDataLoss.
            ValueError: the options do not fit the partitions.
        """
        starts = self.ends.resolve(self._options.starting)
        for name, start in (self._options.starting.offsets or {}).items():
            segments = self._partitions[name].segments_of_log if name in self._partitions else ()
            may_be_past = not segments or start > segments[-1].base_offset  # by names alone
            if may_be_past and start > self.ends.end(name):
                self._note_loss(name, start, self.ends.start(name), self.ends.end(name))
        if self._options.ending.is_latest:
            # Records that damaged logs hold past their end are read too.
            return self.tasks(starts, dict.fromkeys(starts, HIGHEST))
        ends = self.ends.resolve(self._options.ending)
        for name, end in ends.items():
            if starts[name] > end:
                raise ValueError(f"start offset {starts[name]} of {name} is above end offset {end}")
        return self.tasks(starts, ends)

    def tasks(self, starts: Offsets, ends: Offsets) -> list[Task]:
        """Return the tasks that read offsets from ``starts`` to ``ends``, excluded.

        Raises:
            OffsetOutOfRangeError: some of them do not exist, with failOnDataLoss.
        """
        bounds = {name: self.available(name, starts[name], end) for name, end in ends.items()}
        bounds = {name: each for name, each in bounds.items() if each[0] < each[1]}
        if self._options.isolation_level is None:
            self._tell_uncommitted(bounds)
        return self._in_tasks(bounds)

    def _tell_uncommitted(self, bounds: Mapping[str, tuple[int, int]]) -> None:
        """Warn of records of transactions that are not committed: no level was asked for."""
        planned = [Planned(self._partitions[name], *each) for name, each in bounds.items()]
        if text := uncommitted_text(planned):
            hint = (
                "kafka.isolation.level=read_committed leaves them out, read_uncommitted is silent"
            )
            text = f"{text}, before filters; {hint}"
            warn_caller(text, UncommittedRecordsWarning)

    def has(self, name: str, starts: Offsets, end: int) -> bool:
        """Return whether a partition exists; with failOnDataLoss it must, if it is wanted.

        Raises:
            OffsetOutOfRangeError: it was deleted, and offsets up to ``end`` are still to be read.
        """
        if name in self._partitions:
            return True
        start = starts.get(name, 0)
        if start < end:
            self._note_loss(name, start, 0, 0)
        return False

    @cached_property
    def topic_ids(self) -> dict[str, str]:
        """The ids of the topics of all partitions, where they are known."""
        found = {name: _topic_id(each) for name, each in self._partitions.items()}
        return {name: each for name, each in found.items() if each is not None}

    def metadata_now(self) -> dict[str, tuple[int, ...] | None]:
        """Return `partition.metadata_now` of each partition."""
        return {name: metadata_now(each) for name, each in self._partitions.items()}

    def at(self, offsets: Offsets) -> StreamPosition:
        """Return offsets with the ids of the topics that they are of."""
        ids = {name: each for name, each in self.topic_ids.items() if name in offsets}
        return StreamPosition(offsets, ids)

    def end(self) -> StreamPosition:
        """Return the end of every partition."""
        return self.at(self.ends.ends())

    def is_made_again(self, name: str, topic_id: str | None) -> bool:
        """Return whether a partition is of another topic than one of that id; warn if it is.

        Raises:
            InconsistentTopicIdError: it is, with failOnDataLoss.
        """
        now = self.topic_ids.get(name)
        if not is_made_again(topic_id, now):
            return False
        self._note(
            InconsistentTopicIdError(
                f"{name}: the topic was deleted and made again: its id is {now}, and {topic_id} of "
                "what the stream read before; failOnDataLoss=false reads it from its first offset"
            )
        )
        return True

    def require_not_cut(self, name: str, offset: int) -> None:
        """Warn when an existing partition ends below an offset that was read up to.

        Raises:
            OffsetOutOfRangeError: it does, with failOnDataLoss.
        """
        if name in self._partitions and self.ends.end(name) < offset:
            self._note_loss(name, offset, self.ends.start(name), self.ends.end(name))

    def available(self, name: str, low: int, high: int) -> tuple[int, int]:
        """Return which of the offsets [low, high) exist.

        Raises:
            OffsetOutOfRangeError: not all of them, with failOnDataLoss.
        """
        if low >= high:
            return low, low
        start = self.ends.start(name)
        end = high if high == HIGHEST else self.ends.end(name)
        if low < start:
            self._note_loss(name, low, start, end)
        if high > end or low > end:
            self._note_loss(name, max(low, high), start, end)
        return max(low, start), min(high, end)

    def _note_loss(self, name: str, offset: int, low: int, high: int) -> None:
        self._note(OffsetOutOfRangeError(offset, low, high, name))

    def _note(self, error: WorkbenchError) -> None:
        """Raise an error, or warn of it, as failOnDataLoss says."""
        if self._options.fail_on_data_loss:
            raise error
        warnings.warn(str(error), DataLossWarning, stacklevel=3)

    def _reads(self, name: str, low: int, high: int, size: int) -> list[SegmentRead]:
        """Return the pieces of a partition that hold offsets [low, high), by names and sizes."""
        partition, most = self._partitions[name], self._options.max_records
        pieces: list[SegmentRead] = []
        metadata = partition.file(PARTITION_METADATA) if self._is_stream else None
        for planned in planned_reads(
            partition, low, high, read_committed=self._options.read_committed
        ):
            read = planned if metadata is None else replace(planned, metadata=metadata)
            if most is not None:
                pieces += by_offsets(read, most, size, self._log_end(partition))
            elif read.segment.files["log"].is_here:
                # Cleanings replace the files of this machine: the pieces get offsets of their own.
                pieces += split(read, max(size, _SMALLEST_RANGE))
            else:
                pieces += byte_ranges(read, max(size, _SMALLEST_RANGE))
        return pieces

    def _in_tasks(self, bounds: Mapping[str, tuple[int, int]]) -> list[Task]:
        """Return the offsets of each partition as tasks: split to size and packed.

        With minPartitions there are about as many, unless there are more without it.
        """
        size, least = self._options.max_partition_bytes, self._options.min_partitions or 0
        pieces = self._pieces(bounds, size)
        tasks = pack(pieces, size, self._options.max_records)
        if len(tasks) >= least or not pieces:
            return tasks
        pieces = self._pieces(bounds, max(1, -(-sum(map(size_of, pieces)) // least)))
        charged = sum(size_of(each) + OPEN_COST for each in pieces)
        # `pack` does not charge the last read of a task.
        return pack(pieces, min(size, -(-charged // least) - OPEN_COST), self._options.max_records)

    def _pieces(self, bounds: Mapping[str, tuple[int, int]], size: int) -> list[SegmentRead]:
        """Return the offsets of each partition as reads of about ``size`` bytes."""
        return [
            piece
            for name, (low, high) in bounds.items()
            for piece in self._reads(name, low, high, size)
        ]


def _state(partition: DiskPartition) -> tuple[object, ...]:
    """Return what changes when a log is written to."""
    return tuple((each.base_offset, each.size, each.modified_ms) for each in partition.segments)


def _topic_id(partition: DiskPartition) -> str | None:
    """Return the id of a partition's topic; its file is read again only when it is another."""
    file = partition.file(PARTITION_METADATA)
    if file is None:
        return None
    state = file.path, file.size, file.modified_ms, file.inode
    found = _TOPIC_IDS.get(state)
    if found is None and (found := partition.topic_id) is not None:
        _TOPIC_IDS.put(state, found)
    return found


def _warn_of_choice(sentence: str) -> None:
    warnings.warn(f"kafka-log: {sentence}", ReplicaChoice, stacklevel=4)


def _log_end_of(partition: DiskPartition) -> int:
    return partition.log_end_offset


SKIP_HINT: Final = "; onCorrupt=skip leaves it out"
"""The end of `unreadable_error`: the option that gets past it."""


def unreadable_error(finding: Finding) -> CorruptRecordError:
    """Return the error that ends a job at damage, or at a file that cannot be read."""
    wanted = f" (expected {finding.expected})" if finding.expected else ""
    problem = f"{finding.found}{wanted}{SKIP_HINT}"
    return CorruptRecordError(finding.path, finding.position, problem)
