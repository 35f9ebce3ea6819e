"""A partition that also explains what a broker will compact and delete in it, and why.

The log is loaded as a starting broker loads it, with every change kept in memory: nothing is
written. Every record is taken as replicated.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

from workbench.file_system.source import absolute
from workbench.inspection import partition as inspection
from workbench.inspection.listing import Listing
from workbench.loaders.log_scope import LogScope
from workbench.runtime.times import Time

if TYPE_CHECKING:  # the engine that writes is imported when it is asked for
    import pyarrow as pa

    from workbench.loaders.explanations.cleaning_plan import CleaningPlan
    from workbench.loaders.explanations.explanation import Explanation
    from workbench.loaders.offsets.explanation import OffsetExplanation
    from workbench.loaders.scan.plan import OffsetRange
    from workbench.loaders.scan.scan import Scan

Config = Mapping[str, Any] | None


class Partition(LogScope, inspection.DiskPartition):
    """A partition as its directory holds it, with what a broker will do with it.

    ``partition[5]`` is the record at offset 5, ``partition[-1]`` the last one, ``partition[5:8]`` a
    scan; iterating gives all records.

    The methods about cleaning and retention take ``config``: names of brokers and topics to values;
    ``"orders:retention.ms"`` is one topic's own. It takes precedence over `__cluster_metadata` in
    the same directories. Topics that neither names have Kafka's defaults, but those that the
    cleaner's checkpoint names are compacted. ``now`` is a time as ``"2024-12-10"`` or ``"-1h"``, a
    datetime, or ms since the epoch; the machine's time when None. ``kafka`` is the broker's
    version, such as "2.8"; None takes the newest that the directories show, and the result's
    ``broker`` says which and why.

    Attributes:
        log_directories: paths of the log directories that were opened together; empty where a
            partition directory was opened alone.
        listing: what was opened together; None: not known in this process.
        tier: the arguments of `open_log_directory` that name the remote tier; empty without one.
    """

    log_directories: tuple[str, ...] = ()
    listing: Listing | None = None
    tier: Mapping[str, Any] = MappingProxyType({})

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was read, and what else was opened."""
        return {**super().__getstate__(), "listing": None}

    @property
    def topic_name(self) -> str:
        """The name of the topic."""
        return self.topic

    @property
    def _listed(self) -> Listing:
        return Listing((), {self.name: self}) if self.listing is None else self.listing

    @property
    def _chosen(self) -> dict[str, Any]:
        return {"partitions": self.name}

    @overload
    def __getitem__(self, offset: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, offset: slice) -> "Scan": ...
    def __getitem__(self, offset: int | slice) -> "dict[str, Any] | Scan":
        """Return the record at an offset, or a scan of a range; below 0 counts from the log end.

        Raises:
            LookupError: there is no such record; the message says what became of it.
            TypeError: it is not an offset.
        """
        if isinstance(offset, slice):
            if offset.step is not None:
                raise TypeError("a range of offsets has no step")
            return self.scan(offsets=(offset.start, offset.stop))
        if not isinstance(offset, int):
            raise TypeError(f"{offset!r} is not an offset (expected a number, or a range as 5:8)")
        at = offset if offset >= 0 else self.log_end_offset + offset
        # Control records have offsets, too.
        for record in self.scan(offsets=at, include_control=True) if at >= 0 else ():
            return record
        why = self.fate(at).run.why if at >= 0 else f"the log end offset is {self.log_end_offset}"
        raise LookupError(f"{self.name} has no record at offset {offset}: {why}")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.scan())

    def plan_cleaning(
        self,
        config: Config = None,
        *,
        now: Time | Sequence[Time] | None = None,
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
        from workbench.loaders.explanations.explain_partition import plan_partition

        times = round_times(now, passes)
        with open_dry(self._directories, config, times[0], kafka, self.fs) as dry:
            return plan_partition(dry, self, times, everything=everything, workers=workers)

    def explain_cleaning(
        self, config: Config = None, *, now: Time | None = None, kafka: str | None = None
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
        from workbench.foresight.dry_listing import open_dry
        from workbench.loaders.explanations.explain_partition import Explainer
        from workbench.runtime.times import time_or_now

        moment = time_or_now(now)
        with open_dry(self._directories, config, moment, kafka, self.fs) as dry:
            return Explainer(dry, moment).cleaning(self)

    def explain_retention(
        self, config: Config = None, *, now: Time | None = None, kafka: str | None = None
    ) -> "Explanation":
        """Return why a broker would delete segments now, or why not: rows of rule and segment.

        Raises:
            As `explain_cleaning`.

        Kafka: UnifiedLog.deleteOldSegments (4.2)
        """
        from workbench.foresight.dry_listing import open_dry
        from workbench.loaders.explanations.explain_partition import Explainer
        from workbench.runtime.times import time_or_now

        moment = time_or_now(now)
        with open_dry(self._directories, config, moment, kafka, self.fs) as dry:
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
