"""A compacted log with all that a cleaning can meet, for the widgets that show one."""

from pathlib import Path

from tests.cleaner.cleaning import Cleanable
from tests.log.logs import NOW

CONFIG = {"orders:cleanup.policy": "compact"}


def prices(root: Path) -> Path:
    """Write two segments to clean and one that is active; return the partition directory."""
    log = Cleanable(root)
    log.append(10, 11, 10)
    log.append(12, value=None)
    log.within(5, 11, 13)
    log.abort(5)
    log.roll()
    log.within(6, 13)
    log.commit(6)
    log.append(11)
    log.roll()
    log.append(10)
    log.log.close()
    return root / "orders-0"


def many(root: Path, batches: int) -> Path:
    """Write batches of twenty records of some five hundred keys, in several segments."""
    log = Cleanable(root, segment_bytes=8_000)
    for number in range(batches):
        log.append(*[(number * 7 + each * 13) % 500 for each in range(20)])
    log.log.close()
    return root / "orders-0"


__all__ = ["CONFIG", "NOW", "many", "prices"]
