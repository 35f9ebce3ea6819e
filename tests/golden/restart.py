"""Start and stop the engine on a log directory, as a broker was started and stopped on it."""

from pathlib import Path
from random import Random

from tests.golden.pairs import Pair
from workbench.config.broker_rules import BrokerRules
from workbench.files.names import TopicPartition, parse_directory_name
from workbench.foresight.startup.consumer import consume
from workbench.log.log import Log
from workbench.log_manager.manager import LogManager
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler
from workbench.runtime.steps import Step

ALL = -1
SOON_MS = 10_000  # a broker ran on after retention: files with a short file.delete.delay.ms go
KRAFT_SINCE = (3, 3)


def _without_topic_id(log: Log) -> str | None:
    """Say what the cluster's metadata would: a topic has an id, a folder without one is a stray."""
    return "it has no topic id" if log.topic_id is None else None


def restart(
    directory: Path,
    pair: Pair,
    *,
    reads: bool = True,
    sets_aside: bool = True,
    rules: BrokerRules | None = None,
) -> list[Step]:
    """Load the logs, do what was done to them, and stop; return what the engine says it did.

    What is put off is not done, except for what is due soon after retention.

    Args:
        directory: a copy.
        pair: says with what configuration, and when.
        reads: read every log once, as consumers did; that opens the indexes, which trims them.
        sets_aside: set logs without a topic id aside as stray, as brokers of KRaft do.
        rules: by which it starts; None: those of the pair's broker.

    Raises:
        WorkbenchError: a broker would not start; what it says is in it.
    """
    steps: list[Step] = []
    clock = ManualClock(pair.now)
    manager = LogManager(
        [directory],
        dict(pair.broker),
        clock=clock,
        scheduler=ManualScheduler(clock),
        rng=Random(1),
        observer=steps.append,
        is_stray=_without_topic_id if sets_aside and pair.number >= KRAFT_SINCE else None,
        topic_configs={topic: pair.config_of(topic) for topic in topics_in(directory)},
        rules=rules or pair.rules,
    )
    manager.startup(with_tasks=False)
    try:
        for log in manager.logs.values():
            log.update_high_watermark(log.log_end_offset)
            if reads:
                consume(log)
        for topic, offset in pair.delete_records.items():
            log = manager.logs[TopicPartition(topic, 0)]
            log.delete_records(log.high_watermark if offset == ALL else offset)
        if pair.retains:
            manager.delete_old_segments()
            clock.advance(SOON_MS if reads else 0)
    finally:
        manager.shutdown()
    return steps


def topics_in(directory: Path) -> set[str]:
    """Return the topics that a log directory has folders of."""
    names = [parse_directory_name(path.name) for path in directory.iterdir() if path.is_dir()]
    return {name.topic for name in names if name is not None}
