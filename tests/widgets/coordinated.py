"""A coordinator on a log of its own, for the widget that plays its steps."""

from pathlib import Path
from typing import Self

import workbench as wb
from tests.log.logs import NOW
from workbench.coordinator.group_coordinator.offset_manager import OffsetManager
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.offsets.offset_metadata_manager import OffsetCommit
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler
from workbench.runtime.steps import Step

WEEK = 7 * 24 * 3_600_000


class Coordinated:
    """An offset manager with one partition of `__consumer_offsets`.

    Attributes:
        steps: what it reported.
    """

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock(NOW)
        self.steps: list[Step] = []
        self._manager = wb.LogManager(
            [folder], clock=self.clock, scheduler=ManualScheduler(self.clock)
        )
        config = OffsetConfig(topic_num_partitions=1)
        self._offsets = OffsetManager(self._manager, config=config, observer=self.steps.append)

    def __enter__(self) -> Self:
        self._manager.startup(with_tasks=False)
        self._offsets.startup(with_tasks=False)
        return self

    def __exit__(self, *_: object) -> None:
        self._offsets.shutdown()
        self._manager.shutdown()

    def commit(self, group: str = "billing", *, metadata: str = "", **offsets: int) -> None:
        """Commit offsets: ``orders_0=5`` is for the partition ``orders-0``."""
        self.clock.advance(10)
        values = {_name(each): OffsetCommit(n, metadata=metadata) for each, n in offsets.items()}
        self._offsets.commit(group, values)

    def commit_transactional(self, producer: int, group: str = "billing", **offsets: int) -> None:
        """Commit offsets in a producer's transaction."""
        self.clock.advance(10)
        values = {_name(each): n for each, n in offsets.items()}
        self._offsets.commit_transactional(group, values, producer_id=producer, producer_epoch=0)

    def end(self, producer: int, *, is_commit: bool) -> None:
        """Write the transaction marker."""
        self._offsets.complete_transaction(0, producer, 0, 0, is_commit=is_commit)

    def reload(self) -> None:
        """Unload the partition and load it again, as after two changes of the leader."""
        self._offsets.unload(0)
        self._offsets.load(0)

    def expire(self) -> None:
        """Wait until everything has expired, and let the cleanup task run."""
        self.clock.advance(2 * WEEK)
        self._offsets.cleanup_group_metadata()

    def fetched(self, group: str) -> dict[str, int]:
        """Return the offsets that the coordinator serves."""
        return {str(where): each.offset for where, each in self._offsets.fetch(group).items()}


def _name(keyword: str) -> str:
    return keyword.replace("_", "-")
