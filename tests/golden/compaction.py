"""Pairs of log directories before and after a broker's cleaner ran, and the same done by ours.

Which logs were cleaned and up to where, the broker's `cleaner-offset-checkpoint` tells; when each
round began, `passN_now` of case.json tells for most, and for the others the file's time.
"""

import re
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import numpy as np
import pytest

from tests.golden.cases import Case
from tests.golden.compaction_judge import horizons_in
from tests.golden.pairs import Pair, pairs_of
from workbench.cleaner.cleaner import Cleaning, clean_log, plan_cleaning
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.decisions import Decisions
from workbench.cleaner.schedule.log_to_clean import log_to_clean
from workbench.config.broker_config import BrokerConfig
from workbench.config.broker_rules import BrokerRules
from workbench.files.names import TopicPartition, parse_directory_name
from workbench.foresight.startup.consumer import consume
from workbench.log.log import Log
from workbench.log_manager.manager import LogManager
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler

CHECKPOINT: Final = "cleaner-offset-checkpoint"
DAY_MS: Final = 86_400_000  # delete.retention.ms
A_MOMENT_MS: Final = 20  # that the line in a broker's log is late
A_ROUND_MS: Final = 5000  # that the checkpoint is written after a round has begun
SOON_MS: Final = 1000  # files with a file.delete.delay.ms of 0 are gone when a broker stops


class Round(NamedTuple):
    """One cleaning of one partition by a broker.

    Attributes:
        start: the first dirty offset.
        end: up to where the log was clean after the last round of the pass, exclusive; None where
            cleaning failed.
        now: when it began, ms.
    """

    start: int
    end: int | None
    now: int


class Compaction(NamedTuple):
    """A pair and the rounds of each partition, by folder."""

    pair: Pair
    rounds: dict[str, list[Round]]


def compactions_of(case: Case) -> Iterator[Compaction]:
    """Yield the passes of a case, in their order."""
    for pair in pairs_of(case):
        times = case.info["headline"].get(f"pass{pair.label[-1]}_now", {})
        before, after = offsets_in(pair.before), offsets_in(pair.after)
        written = int((pair.after / CHECKPOINT).stat().st_mtime_ns // 1_000_000)
        rounds = {}
        for name in sorted(times.keys() | after.keys()):
            start, end = before.get(name, 0), after.get(name, 0)
            if not (pair.before / name).is_dir() or (end == start and name not in times):
                continue
            told = [_ms(text) for text in times.get(name, [])]
            retention = int(pair.config_of(name[:-2]).get("delete.retention.ms", DAY_MS))
            latest = [(now, A_MOMENT_MS) for now in told] or [(written, A_ROUND_MS)]
            nows = [_exact(*each, pair.after / name, retention) for each in latest]
            rounds[name] = [Round(start, end if end > start else None, now) for now in nows]
        yield Compaction(pair, rounds)


def _exact(now: int, before: int, folder: Path, retention: int) -> int:
    """Return the time that delete horizons were made from, at most ``before`` ms before ``now``."""
    close = (horizon - retention for horizon in horizons_in(folder))
    return next((time for time in close if 0 <= now - time <= before), now)


def offsets_in(directory: Path) -> dict[str, int]:
    """Return the offsets of a directory's cleaner checkpoint, by folder."""
    path = directory / CHECKPOINT
    if not path.exists():
        return {}
    lines = [line.split() for line in path.read_text().splitlines()[2:]]
    return {f"{topic}-{partition}": int(offset) for topic, partition, offset in lines}


def _ms(text: str) -> int:
    found = re.fullmatch(r"(.*),(\d{3})", text)
    assert found is not None
    moment = datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1000 + int(found[2])


def compact(
    directory: Path, compaction: Compaction, rules: BrokerRules | None = None
) -> dict[str, list[Cleaning]]:
    """Load the logs of a copy, clean them as the broker did, read them, stop; return the rounds.

    Args:
        directory: the copy.
        compaction: says what the broker did, and when.
        rules: by which it is cleaned; None: those of the broker.
    """
    pair = compaction.pair
    start = min((r.now for rounds in compaction.rounds.values() for r in rounds), default=pair.now)
    clock = ManualClock(start)
    manager = LogManager(
        [directory],
        dict(pair.broker),
        clock=clock,
        scheduler=ManualScheduler(clock),
        rng=Random(1),
        topic_configs={topic: pair.config_of(topic) for topic in _topics_in(directory)},
        rules=rules or pair.rules,
    )
    config = CleanerConfig.of(BrokerConfig.of(dict(pair.broker)))
    manager.startup(with_tasks=False)
    done: dict[str, list[Cleaning]] = {}
    try:
        for log in manager.logs.values():
            log.update_high_watermark(log.log_end_offset)
            _delete_old(log)
        for name, rounds in compaction.rounds.items():
            topic, _, number = name.rpartition("-")
            log = manager.logs[TopicPartition(topic, int(number))]
            done[name] = _clean(log, rounds, config)
        clock.advance(SOON_MS)
        for log in manager.logs.values():
            _delete_old(log)
            consume(log)
        clock.advance(SOON_MS)
    finally:
        manager.shutdown()
    return done


def _delete_old(log: Log) -> None:
    """Delete as the cleaner does: only where a log is compacted, too."""
    if log.config.compact and log.config.delete:
        log.delete_old_segments()


def _clean(log: Log, rounds: list[Round], config: CleanerConfig) -> list[Cleaning]:
    start = rounds[0].start
    done: list[Cleaning] = []
    for each in rounds:
        dirty = log_to_clean(log, start, each.now)
        first, bound = dirty.first_dirty_offset, dirty.first_uncleanable_offset
        if each.end is None:
            with pytest.raises(ValueError, match="index is full"):
                clean_log(log, first, bound, each.now, config)
            return done
        plan = plan_cleaning(log, first, bound, each.now, config)
        cleaning = clean_log(log, first, bound, each.now, config)
        assert_same(plan, cleaning)
        start = cleaning.stats.end_offset
        done.append(cleaning)
    assert start == rounds[-1].end, (log.topic_partition, start, rounds)
    return done


def assert_same(plan: Cleaning, cleaning: Cleaning) -> None:
    """What was planned is what was done."""
    assert plan.stats == cleaning.stats
    for field in fields(Decisions):
        planned, done = getattr(plan.decisions, field.name), getattr(cleaning.decisions, field.name)
        assert np.array_equal(planned, done), field.name


def _topics_in(directory: Path) -> set[str]:
    names = [parse_directory_name(path.name) for path in directory.iterdir() if path.is_dir()]
    return {name.topic for name in names if name is not None}
