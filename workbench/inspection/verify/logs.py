"""Check partitions one after the other, with what their log directory says of them.

That is read once: tasks of Spark take it along with their partitions.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from workbench.config.broker_rules import BrokerRules
from workbench.files import names
from workbench.files.names import TopicPartition
from workbench.inspection.confirmed_findings import check_twice
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Root
from workbench.inspection.partition import DiskPartition
from workbench.inspection.verify.checkpoints import Checkpoints
from workbench.inspection.verify.directory import era_of
from workbench.inspection.verify.file import verify_single_file
from workbench.inspection.verify.partition import Advance, Era, PartitionResult, verify_partition
from workbench.inspection.verify.remote import verify_remote
from workbench.inspection.verify.segments.segment import collect
from workbench.inspection.verify.shutdown_state import ShutdownState, shutdown_state_of


@dataclass(frozen=True)
class DirectoryFacts:
    """What a log directory says of its partitions.

    Attributes:
        shutdown: how its broker stopped.
        era: what the directories of partitions should hold.
        cleaned: the partitions that the cleaner's checkpoint names.
    """

    shutdown: ShutdownState
    era: Era
    cleaned: frozenset[TopicPartition]

    @classmethod
    def of(cls, root: Root, rules: BrokerRules, checkpoints: Checkpoints) -> "DirectoryFacts":
        """Return what a log directory says, by its checkpoints too."""
        cleaned = checkpoints.get(names.CLEANER_OFFSETS)
        partitions = frozenset(() if cleaned is None else cleaned.offsets)
        return cls(shutdown_state_of(root, rules), era_of(root), partitions)

    def about(self, partitions: Iterable[DiskPartition]) -> "DirectoryFacts":
        """Return the same without what it says of other partitions."""
        chosen = {TopicPartition(each.topic, each.partition) for each in partitions}
        points = self.shutdown.recovery_points
        shutdown = replace(
            self.shutdown, recovery_points={each: points[each] for each in chosen & points.keys()}
        )
        return replace(self, shutdown=shutdown, cleaned=self.cleaned & chosen)


def verify_logs(
    partitions: Iterable[DiskPartition],
    facts: DirectoryFacts,
    *,
    deep: bool = True,
    advance: Advance | None = None,
    workers: int = 1,
    seen: set[Finding] | None = None,
) -> Iterator[tuple[DiskPartition, PartitionResult]]:
    """Yield the partitions of one log directory, and what was found in each.

    Args:
        partitions: those marked for deletion are checked only where they were opened alone.
        facts: what the log directory says of them.
        deep, advance, workers: see `verify_partitions`.
        seen: findings about remote segments that came before, which do not come again; gets those
            that come.
    """
    seen = set() if seen is None else seen
    in_use = facts.shutdown.stop == "running"
    for each in partitions:
        if each.kind == "delete" and not each.is_alone:
            continue
        if each.only is not None:
            alone: list[Finding] = []
            collect(
                verify_single_file(each, each.only, facts.shutdown, deep=deep, workers=workers),
                alone,
            )
            yield each, PartitionResult(alone, None)
            continue
        check = partial(
            verify_partition,
            situation=facts.shutdown,
            era=facts.era,
            is_cleaned=TopicPartition(each.topic, each.partition) in facts.cleaned,
            advance=advance,
            workers=workers,
        )
        result = check_twice(each, check, deep=deep, is_running=in_use)
        if each.remote is not None:
            remote: list[Finding] = []
            collect(verify_remote(each, each.remote, deep=deep), remote)
            remote = [finding for finding in dict.fromkeys(remote) if finding not in seen]
            seen.update(remote)  # the metadata topic is about many partitions
            result = replace(result, findings=[*result.findings, *remote])
        yield each, result
