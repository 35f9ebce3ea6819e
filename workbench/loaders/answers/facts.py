"""What is known of log directories as a whole, each part computed when it is first asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from workbench.comparison.compare import Comparer
from workbench.comparison.results import VERDICTS, PartitionComparison
from workbench.coordinator.transactions.stored_transactions import OpenProducer, StoredTransactions
from workbench.errors import WorkbenchError
from workbench.foresight.dry_listing import open_dry
from workbench.foresight.dry_logs import DryLogs
from workbench.foresight.preflight.results import Preflight
from workbench.foresight.startup.removal import removal_sentence
from workbench.inspection.brokers import listings_by_broker
from workbench.inspection.cluster.image import StoredCluster
from workbench.inspection.cluster.loading import stored_cluster
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition
from workbench.loaders.answers.days import WrittenDays, written
from workbench.loaders.answers.stuck import lags_at, not_consumed, not_readable, stuck_logs
from workbench.loaders.explanations.explain_partition import (
    Explainer,
    is_cleaned,
    load_one,
    policy_of,
)
from workbench.loaders.offsets.damage import Losses, losses_of_damaged
from workbench.loaders.tables.coordinator_rows import open_producer_row
from workbench.runtime.times import time_or_now
from workbench.tables.stuck import GroupLagRow, StuckRow
from workbench.tables.transactions import OpenProducerRow


class TopicSize(NamedTuple):
    """The bytes of one topic that the disk holds, without the holes of preallocated files.

    Attributes:
        topic: its name.
        partitions: how many logs it has here.
        logs: bytes of `.log` files in use.
        others: bytes of all other files of those logs.
        leftovers: bytes of `-delete`, `-stray` and `-future` folders.
        length: the lengths of all these files, with their holes.
    """

    topic: str
    partitions: int
    logs: int
    others: int
    leftovers: int
    length: int

    @property
    def size(self) -> int:
        """All of its bytes that the disk holds."""
        return self.logs + self.others + self.leftovers


def topic_sizes(listing: Listing) -> list[TopicSize]:
    """Return the bytes of each topic, largest first; no file is opened."""
    found: dict[str, list[int]] = {}
    for root in listing.roots:
        for partition in root.partitions:
            row = found.setdefault(partition.topic, [0, 0, 0, 0, 0])
            held = sum(file.occupied for file in partition.files)
            row[4] += sum(file.size for file in partition.files)
            if partition.kind != "log":
                row[3] += held
                continue
            logs = sum(each.files["log"].occupied for each in partition.segments)
            row[0] += 1
            row[1] += logs
            row[2] += held - logs
    rows = [TopicSize(topic, *row) for topic, row in found.items()]
    return sorted(rows, key=lambda row: (-row.size, row.topic))


class LogVerdict(NamedTuple):
    """What the cleaner and retention would do with a log now.

    Attributes:
        partition: its name.
        size: bytes of its segments.
        policy: its `cleanup.policy`; None if no source names it.
        is_compacted: whether the log is taken to be compacted.
        is_due: whether the cleaner would clean it.
        cleaning: the cleaner's verdict in one sentence; empty if the log is not compacted.
        deletes: segments that retention deletes.
        deleted_bytes: bytes of those.
        retention: the verdict of retention in one sentence.
        problem: why the log could not be loaded; empty if it could.
    """

    partition: str
    size: int
    policy: str | None
    is_compacted: bool
    is_due: bool = False
    cleaning: str = ""
    deletes: int = 0
    deleted_bytes: int = 0
    retention: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Facts:
    """What is known of log directories; a part that was asked for is kept.

    Attributes:
        listing: the log directories.
        now: ms; what ages are measured by. None: lags of groups by the newest commit, everything
            else by the machine's time.
        kafka: the version that is assumed; None: the newest that the directories show.
        predict: returns the preflight of a start on them.
        verify: returns what `verify` reports.
        progress: a callback before each log that is judged; what it raises ends the work.
        is_deep: whether `verify` checks every CRC and decodes every record.
    """

    listing: Listing
    now: int | None
    kafka: str | None
    predict: Callable[[], Preflight]
    verify: Callable[[], Sequence[Finding]]
    progress: Callable[[], None] = lambda: None
    is_deep: bool = field(kw_only=True)

    @cached_property
    def brokers(self) -> dict[int, Listing]:
        """Id of each broker → its directories, if they are those of several; otherwise nothing."""
        found = listings_by_broker(self.listing)
        return found if len(found) > 1 else {}

    @cached_property
    def replicas(self) -> list[PartitionComparison]:
        """The replicas of each partition that several brokers have, compared; the worst first."""
        comparer = Comparer({str(node_id): own for node_id, own in self.brokers.items()})
        compared = []
        for name in comparer.partitions():
            self.progress()
            compared.append(comparer.compare(name, deep=self.is_deep))
        return sorted(compared, key=lambda each: -VERDICTS.index(each.verdict))

    @cached_property
    def preflight(self) -> Preflight:
        """The preflight of a start."""
        return self.predict()

    @cached_property
    def findings(self) -> Sequence[Finding]:
        """What is damaged."""
        return self.verify()

    @cached_property
    def removal(self) -> str:
        """How many readable records a start removes; empty if none, or of several brokers."""
        if len(listings_by_broker(self.listing)) > 1:
            return ""
        return removal_sentence(self.listing, [self.preflight.prediction])

    @cached_property
    def losses(self) -> list[Losses]:
        """What damage has taken of the logs in which it was found."""
        return losses_of_damaged(self.listing.partitions.values(), self.findings)

    @cached_property
    def cluster(self) -> StoredCluster:
        """The cluster's metadata."""
        return stored_cluster(self.listing)

    @cached_property
    def sizes(self) -> list[TopicSize]:
        """The bytes of each topic, largest first."""
        return topic_sizes(self.listing)

    @cached_property
    def written(self) -> WrittenDays:
        """When the bytes of the logs were written."""
        return written(self.listing, self.progress)

    @cached_property
    def stuck(self) -> list[StuckRow]:
        """What is stuck, most bytes first."""
        rows = [
            *self._judged.stuck,
            *not_readable(self.listing, self._open_producers),
            *not_consumed(self.listing, self._lags),
        ]
        return sorted(rows, key=lambda row: -row.bytes)

    @cached_property
    def lags(self) -> list[GroupLagRow]:
        """Committed offsets, largest lag first."""
        return sorted(self._lags, key=lambda row: -(row.lag or 0))

    @cached_property
    def _lags(self) -> list[GroupLagRow]:
        """Committed offsets as they are stored."""
        return lags_at(self.listing, now=self.now, kafka=self.kafka)

    @cached_property
    def opened(self) -> list[OpenProducerRow]:
        """Open transactions."""
        return [*map(open_producer_row, self._open_producers)]

    @cached_property
    def _open_producers(self) -> list[OpenProducer]:
        """Open transactions as they are stored."""
        return StoredTransactions(self.listing).open_producers()

    @property
    def logs(self) -> list[LogVerdict]:
        """What the cleaner and retention would do with each log now, largest first."""
        return self._judged.logs

    @cached_property
    def _judged(self) -> "_Judged":
        """What is said of the logs of a running broker; they are loaded once for it."""
        with open_dry(
            self.listing.log_directories, None, time_or_now(self.now), self.kafka, self.listing.fs,
            self.listing,
        ) as dry:  # fmt: skip
            dry.load(lambda _folder: True, self.progress)
            return self._judgment(dry)

    def judge(self, dry: DryLogs) -> None:
        """Keep what is said of logs that were loaded for something else, as they are configured.

        Args:
            dry: all logs of the directories; not one of them has changed.
        """
        self.__dict__.setdefault("_judged", self._judgment(dry))

    def _judgment(self, dry: DryLogs) -> "_Judged":
        served = [
            each for each in self.listing.partitions.values()
            if each.kind == "log" and each.only is None
        ]  # fmt: skip
        moment = dry.clock.now()
        rows: list[LogVerdict] = []
        explainer = Explainer(dry, moment, tries=False)
        for partition in served:
            self.progress()
            rows.append(_verdict(dry, explainer, partition))
        stuck = [*stuck_logs(dry, moment, self.progress)]
        return _Judged(sorted(rows, key=lambda row: (-row.size, row.partition)), stuck)


class _Judged(NamedTuple):
    """The verdicts on logs, largest log first, and what is stuck of them."""

    logs: list[LogVerdict]
    stuck: list[StuckRow]


def _verdict(dry: DryLogs, explainer: Explainer, partition: DiskPartition) -> LogVerdict:
    name, size = partition.name, partition.size
    try:
        log = load_one(dry, partition)
        policy = policy_of(dry, log.topic_partition)
        cleaning = explainer.cleaning(partition) if policy.is_compacted else None
        retention = explainer.retention(partition)
    except (WorkbenchError, OSError) as error:
        return LogVerdict(name, size, None, is_compacted=False, problem=str(error))
    gone = {row.segment for row in retention if row.verdict == "deleted"}
    deleted = sum(each.size for each in log.retention_state().segments if each.base_offset in gone)
    return LogVerdict(
        name, size, policy.text, policy.is_compacted,
        is_due=cleaning is not None and is_cleaned(cleaning.rows),
        cleaning="" if cleaning is None else cleaning.conclusion,
        deletes=len(gone), deleted_bytes=deleted, retention=retention.conclusion,
    )  # fmt: skip
