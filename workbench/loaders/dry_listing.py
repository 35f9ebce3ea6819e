"""Load the logs of what was opened as a broker would, and change them on a dry copy.

What topics are configured with is taken from `__cluster_metadata` where that was opened, too; what
is given counts more.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from workbench.files.meta_properties import MetaProperties
from workbench.files.names import META_PROPERTIES
from workbench.inspection.listing import Listing, list_log_directories
from workbench.inspection.stored_configs import METADATA_LOG, StoredConfigs, read_stored_configs
from workbench.log.broker_config import BROKER_NAMES
from workbench.log.clock import SystemClock
from workbench.log_manager.dry_logs import DryLogs
from workbench.log_manager.settings import Settings

Config = Mapping[str, Any] | Settings | None
"""Names of brokers and topics to values, a topic's own as ``"orders:retention.ms"``."""


def time_or_now(now: int | None) -> int:
    """Return a time, ms; that of the machine if None."""
    return SystemClock().now() if now is None else now


def round_times(now: int | Sequence[int] | None, passes: int) -> list[int]:
    """Return the time of each round of cleaning, ms.

    Args:
        now: of each, or one of all; None takes the machine's.
        passes: how many there are, where ``now`` is not a list.

    Raises:
        ValueError: there are none, or one lies before the round before it.
    """
    times = [time_or_now(now)] * passes if now is None or isinstance(now, int) else [*now]
    if not times:
        raise ValueError("there must be at least one round of cleaning")
    if any(later < earlier for earlier, later in pairwise(times)):
        raise ValueError(f"rounds of cleaning come one after the other, not at {times}")
    return times


def open_dry(paths: Iterable[str], config: Config, now: int) -> DryLogs:
    """Return the logs of log directories, none of them loaded yet.

    Args:
        paths: of the log directories.
        config: of broker and topics.
        now: what their clock says, ms.

    Raises:
        ConfigError: a configuration's name or value is wrong.
        LogDirectoryError: a directory is not there.
    """
    directories = [os.path.abspath(path) for path in paths]
    return DryLogs(directories, settings_of(list_log_directories(directories), config), now)


def settings_of(listing: Listing, config: Config) -> Settings:
    """Return what was given on top of what the cluster's metadata tell.

    Raises:
        ConfigError: a configuration's name or value is wrong.
    """
    metadata = listing.partitions.get(METADATA_LOG)
    stored = StoredConfigs() if metadata is None else read_stored_configs(metadata)
    if not isinstance(config, Settings):
        of_broker = stored.of_broker(_node_id(listing))
        known = {name: value for name, value in of_broker.items() if name in BROKER_NAMES}
        config = Settings.of({**known, **(config or {})})
    return config.with_stored(stored.topics)


def _node_id(listing: Listing) -> int | None:
    for root in listing.roots:
        entry = root.file(META_PROPERTIES)
        if entry is not None:
            return MetaProperties.read(entry.path, strict=False).node_id
    return None
