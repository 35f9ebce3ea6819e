"""A partition that also explains what a broker will compact and delete in it, and why.

The log is loaded as a starting broker loads it, with every change kept in memory: nothing is
written. Every record is taken as replicated.
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.file_system.mounts import absolute
from workbench.inspection import partition as inspection

if TYPE_CHECKING:  # the engine that writes is imported when it is asked for
    import pyarrow as pa

    from workbench.loaders.offsets.explanation import OffsetExplanation
    from workbench.loaders.scan.plan import OffsetRange
    from workbench.loaders.tables.cleaning_plan import CleaningPlan
    from workbench.loaders.tables.explanation import Explanation

Config = Mapping[str, Any] | None


class Partition(inspection.Partition):
    """A partition as its directory holds it, with what a broker will do with it.

    The methods take ``config``: names of brokers and topics to values; ``"orders:retention.ms"``
    is one topic's own. It takes precedence over `__cluster_metadata` in the same directories.
    Topics that neither names have Kafka's defaults, but those that the cleaner's checkpoint names
    are compacted. ``now`` is ms since the epoch, the machine's time when None. ``kafka`` is the
    broker's version, such as "2.8"; None takes the newest that the directories show, and the
    result's ``broker`` says which and why.

    Attributes:
        log_directories: paths of the log directories that were opened together; empty where a
            partition directory was opened alone.
    """

    log_directories: tuple[str, ...] = ()

    def plan_cleaning(
        self,
        config: Config = None,
        *,
        now: int | Sequence[int] | None = None,
        passes: int = 1,
        everything: bool = False,
        workers: int | None = None,
        kafka: str | None = None,
    ) -> "CleaningPlan":
        """Return the fate of each record and batch when the log is cleaned, and why.

        The log is cleaned even where a broker would wait, and whatever `cleanup.policy` says; see
        `explain_cleaning` for that.

        Args:
            config: see the class.
            now: the times of the rounds, ascending; one number for all rounds.
            passes: the number of rounds; ignored for a list of times.
            everything: begin each round at the log start offset, as if no section were clean.
            workers: threads that decompress and decide side by side in the last round, which is
                only decided; None: one per core, at most 8. The plan does not depend on it. Each
                takes up to 64 MiB.
            kafka: see the class.

        Raises:
            ConfigError: a configuration's name or value is wrong, or the version is unknown.
            LogDirectoryError: a broker's log manager does not serve the log.
            ValueError: ``workers`` is below 1.
            WorkbenchError, OSError: cleaning fails, as it would in a broker.

        Kafka: Cleaner.doClean (4.2)
        """
        from workbench.foresight.dry_listing import open_dry, round_times
        from workbench.loaders.tables.explain_partition import plan_partition

        times = round_times(now, passes)
        with open_dry(self._directories, config, times[0], kafka) as dry:
            return plan_partition(dry, self, times, everything=everything, workers=workers)

    def explain_cleaning(
        self, config: Config = None, *, now: int | None = None, kafka: str | None = None
    ) -> "Explanation":
        """Return why a broker's cleaner would clean the log now, or why not: one row per rule.

        The other compacted logs of the directories determine its place in the order, so each call
        loads all of them; `LogDirectory.explain_cleaning` explains many partitions in one go.

        Raises:
            ConfigError: a configuration's name or value is wrong.
            LogDirectoryError: a broker's log manager does not serve the log.
            WorkbenchError, OSError: the log cannot be loaded.

        Kafka: LogCleanerManager.grabFilthiestCompactedLog (4.2)
        """
        from workbench.foresight.dry_listing import open_dry, time_or_now
        from workbench.loaders.tables.explain_partition import Explainer

        moment = time_or_now(now)
        with open_dry(self._directories, config, moment, kafka) as dry:
            return Explainer(dry, moment).cleaning(self)

    def explain_retention(
        self, config: Config = None, *, now: int | None = None, kafka: str | None = None
    ) -> "Explanation":
        """Return why a broker would delete segments now, or why not: rows of rule and segment.

        Raises:
            As `explain_cleaning`.

        Kafka: UnifiedLog.deleteOldSegments (4.2)
        """
        from workbench.foresight.dry_listing import open_dry, time_or_now
        from workbench.loaders.tables.explain_partition import Explainer

        moment = time_or_now(now)
        with open_dry(self._directories, config, moment, kafka) as dry:
            return Explainer(dry, moment).retention(self)

    def fate(self, offset: int) -> "OffsetExplanation":
        """Return what became of an offset, what a consumer that asks for it gets, and what to do.

        A record, compacted away, aborted, a control record, below the log start offset, lost in a
        damaged range, past the log end offset, …: `loaders.offsets.runs.FATES` has them all.

        Raises:
            OSError: the log end offset cannot be read.
            ValueError: the offset is below 0.
        """
        from workbench.loaders.offsets.explanation import explain_offset

        return explain_offset(self, offset)

    def fates(self, offsets: "str | int | OffsetRange | None" = None) -> "pa.Table":
        """Return one row per run of offsets with one fate (`tables.offsets.OffsetRunRow`).

        No offset is left out.

        Args:
            offsets: as `Scan` takes them; None: from 0 to the log end offset.

        Raises:
            OSError: the log end offset cannot be read.
            ValueError: it is not a range of offsets.
        """
        from workbench.loaders.offsets.explanation import run_table

        return run_table(self, offsets)

    @property
    def _directories(self) -> tuple[str, ...]:
        return self.log_directories or (os.path.dirname(absolute(self.path)),)
