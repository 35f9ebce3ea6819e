"""A partition that can also tell what a broker will compact and delete in it, and why.

The log is loaded as a starting broker loads it, with every change kept in memory: nothing is
written. All that is there counts as replicated.
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.inspection import partition as inspection

if TYPE_CHECKING:  # the engine that writes is imported when it is asked for
    from workbench.loaders.cleaning_plan import CleaningPlan
    from workbench.loaders.explanation import Explanation

Config = Mapping[str, Any] | None


class Partition(inspection.Partition):
    """A partition as its folder holds it, and what becomes of it.

    The methods take ``config``: names of brokers and topics to values; ``"orders:retention.ms"``
    is one topic's own. It counts more than what `__cluster_metadata` in the same directories says
    of topics. Topics of which neither tells anything have Kafka's defaults, but those that the
    cleaner's checkpoint names are compacted. ``now`` is ms since the epoch, the machine's time when
    None.

    Attributes:
        log_directories: paths of the log directories that were opened together; empty where a
            folder was opened by itself.
    """

    log_directories: tuple[str, ...] = ()

    def plan_cleaning(
        self,
        config: Config = None,
        *,
        now: int | Sequence[int] | None = None,
        passes: int = 1,
        everything: bool = False,
    ) -> "CleaningPlan":
        """Return what becomes of each record and batch when the log is cleaned, and why.

        It is cleaned also where a broker would still wait, and whatever `cleanup.policy` says;
        `explain_cleaning` tells about that.

        Args:
            config: see above.
            now: of each round, ascending; of all rounds if it is one number.
            passes: rounds, each of what the one before left; for a list of times its length counts.
            everything: begin each round where the log does, as if nothing were clean yet.

        Raises:
            ConfigError: a configuration's name or value is wrong.
            LogDirectoryError: it is no log that a broker's log manager serves.
            WorkbenchError, ValueError, OSError: cleaning fails; a broker's cleaner would, too.

        Kafka: Cleaner.doClean (4.2)
        """
        from workbench.loaders.dry_listing import open_dry, round_times
        from workbench.loaders.explaining import plan_partition

        times = round_times(now, passes)
        with open_dry(self._directories, config, times[0]) as dry:
            return plan_partition(dry, self, times, everything=everything)

    def explain_cleaning(self, config: Config = None, *, now: int | None = None) -> "Explanation":
        """Return why a broker's cleaner would work on the log now, or why not: one row a rule.

        The other compacted logs of the directories count for the order.

        Raises:
            ConfigError: a configuration's name or value is wrong.
            LogDirectoryError: it is no log that a broker's log manager serves.
            WorkbenchError, OSError: it cannot be loaded.

        Kafka: LogCleanerManager.grabFilthiestCompactedLog (4.2)
        """
        from workbench.loaders.dry_listing import open_dry, time_or_now
        from workbench.loaders.explaining import Explainer

        moment = time_or_now(now)
        with open_dry(self._directories, config, moment) as dry:
            return Explainer(dry, moment).cleaning(self)

    def explain_retention(self, config: Config = None, *, now: int | None = None) -> "Explanation":
        """Return why a broker would delete segments now, or why not: rows of rule and segment.

        Raises:
            As `explain_cleaning`.

        Kafka: UnifiedLog.deleteOldSegments (4.2)
        """
        from workbench.loaders.dry_listing import open_dry, time_or_now
        from workbench.loaders.explaining import Explainer

        moment = time_or_now(now)
        with open_dry(self._directories, config, moment) as dry:
            return Explainer(dry, moment).retention(self)

    @property
    def _directories(self) -> tuple[str, ...]:
        return self.log_directories or (os.path.dirname(os.path.abspath(self.path)),)
