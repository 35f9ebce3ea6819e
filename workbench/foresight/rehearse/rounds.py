"""Clean a log at chosen times, round after round, whether or not a broker's cleaner would.

Kafka: Cleaner.doClean (4.2)
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from workbench.cleaner.cleaner import Cleaning, clean_log, plan_cleaning
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.decisions import Decisions, Verdict
from workbench.cleaner.schedule.log_to_clean import log_to_clean
from workbench.log.log import Log
from workbench.runtime.clock import ManualClock


class CleaningRound(NamedTuple):
    """One round of cleaning.

    Attributes:
        now: ms; the time that lags and delete horizons were measured by.
        first_dirty_offset: the offset where the round began.
        first_uncleanable_offset: base offset of the first segment that it did not clean.
        is_due: whether a broker's cleaner would have cleaned the log then.
        ratio: the log's dirty ratio, 0 to 1.
        size: bytes of the log before the round.
        cleaning: the decisions and their totals.
    """

    now: int
    first_dirty_offset: int
    first_uncleanable_offset: int
    is_due: bool
    ratio: float
    size: int
    cleaning: Cleaning

    @property
    def decisions(self) -> Decisions:
        """The decision about each batch and record."""
        return self.cleaning.decisions

    @property
    def end_offset(self) -> int:
        """The offset below which the log is clean afterwards."""
        return self.cleaning.stats.end_offset

    @property
    def saved(self) -> int:
        """Bytes that the round removes."""
        batches = self.decisions.batches
        return int((batches["size"] - batches["new_size"]).sum())

    @property
    def dropped(self) -> int:
        """Records that the round drops."""
        return int((~self.decisions.is_kept).sum())

    def as_dict(self) -> dict[str, Any]:
        """Return the totals as plain values, for JSON."""
        verdicts = self.decisions.batches["verdict"]
        return {
            "now": self.now,
            "first_dirty_offset": self.first_dirty_offset,
            "first_uncleanable_offset": self.first_uncleanable_offset,
            "end_offset": self.end_offset,
            "is_due": self.is_due,
            "ratio": self.ratio,
            "size": self.size,
            "size_after": self.size - self.saved,
            "map_utilization": self.cleaning.stats.map_utilization,
            "records": {
                reason.name.lower(): count for reason, count in self.decisions.counts().items()
            },
            "batches": {
                verdict.name.lower(): int((verdicts == verdict).sum()) for verdict in Verdict
            },
        }


class Rounds(NamedTuple):
    """The rounds of cleaning one log.

    Attributes:
        rounds: the rounds in order.
        problem: why there are fewer rounds than times; empty if there are not.
    """

    rounds: tuple[CleaningRound, ...]
    problem: str


def clean_rounds(
    log: Log,
    last_clean_offset: int | None,
    times: Sequence[int],
    clock: ManualClock,
    config: CleanerConfig,
    *,
    everything: bool = False,
    writes_last: bool = True,
    workers: int | None = 1,
) -> Rounds:
    """Clean a log once for each time.

    Args:
        log: the log, whose topic is assumed to be compacted.
        last_clean_offset: the cleaner checkpoint's offset; None if it does not name the log.
        times: the times of the rounds, ms.
        clock: the log's clock, which is set to the times.
        config: memory and buffers.
        everything: begin each round at the log start offset, as if no section were clean.
        writes_last: whether the last round is written, or only decided.
        workers: threads of a round that is only decided; see `plan_cleaning`.

    Raises:
        CorruptFileError, UnsupportedFormatError, CleaningAbortedError, ConfigError, StorageError:
            see `clean_log`.
    """
    rounds: list[CleaningRound] = []
    for number, now in enumerate(times, 1):
        clock.set(now)
        found = log_to_clean(log, None if everything else last_clean_offset, now)
        start, end = found.first_dirty_offset, found.first_uncleanable_offset
        if start >= end:
            bound = found.offsets.least_bound
            problem = (
                f"nothing to clean in round {number}: the dirty section begins at offset {start}, "
                f"and the cleaner stops at offset {bound.offset} ({bound.name})"
            )
            return Rounds(tuple(rounds), problem)
        size = log.size
        if writes_last or number < len(times):
            cleaning = clean_log(log, start, end, now, config)
        else:
            cleaning = plan_cleaning(log, start, end, now, config, workers=workers)
        is_due = found.is_cleanable
        rounds.append(CleaningRound(now, start, end, is_due, found.cleanable_ratio, size, cleaning))
        last_clean_offset = cleaning.stats.end_offset
    return Rounds(tuple(rounds), "")
