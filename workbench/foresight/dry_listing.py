"""Load the logs of an opened listing as a broker would, and change them on a dry copy.

The configuration of topics comes from `__cluster_metadata` if that was opened; values that are
given take precedence.
"""

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from workbench.config.broker_config import BROKER_NAMES, BrokerConfig
from workbench.config.settings import Settings, not_in_version
from workbench.file_system.source import THIS_MACHINE, Files, absolute
from workbench.files.meta_properties import MetaProperties
from workbench.files.names import CLEANER_OFFSETS, META_PROPERTIES
from workbench.foresight.dry_logs import DryLogs
from workbench.inspection.broker_version import MeantBroker, meant_broker
from workbench.inspection.cluster.loading import stored_cluster
from workbench.inspection.listing import Listing, list_log_directories
from workbench.runtime.times import Time, milliseconds, time_or_now
from workbench.runtime.words import did_you_mean

Config = Mapping[str, Any] | Settings | None
"""Names of brokers and topics to values, a topic's own as ``"orders:retention.ms"``."""


def round_times(now: Time | Sequence[Time] | None, passes: int) -> list[int]:
    """Return the time of each round of cleaning, ms.

    Args:
        now: the time of each round, or one for all; None takes the machine's time.
        passes: the number of rounds if ``now`` is not a list.

    Raises:
        ValueError: there is no round, or the times do not ascend.
    """
    if now is None or isinstance(now, int | str | dt.datetime):
        times = [time_or_now(now)] * passes
    else:
        times = [milliseconds(each) for each in now]
    if not times:
        raise ValueError("there must be at least one round of cleaning")
    if any(later < earlier for earlier, later in pairwise(times)):
        raise ValueError(f"the times of rounds must ascend, not be {times}")
    return times


def open_dry(
    paths: Iterable[str],
    config: Config,
    now: int,
    kafka: str | None = None,
    fs: Files = THIS_MACHINE,
    listing: Listing | None = None,
) -> DryLogs:
    """Return the logs of log directories, none of them loaded yet.

    Args:
        paths: the log directories.
        config: the configuration of broker and topics.
        now: the time of their clock, ms.
        kafka: the broker's version; None: the newest that the directories show.
        fs: what reads the directories.
        listing: the same log directories, if they were just listed.

    Raises:
        ConfigError: a configuration's name or value is wrong, or the version is unknown.
        LogDirectoryError: a directory does not exist.
    """
    directories = [absolute(path) for path in paths]
    listing = list_log_directories(directories, fs=fs) if listing is None else listing
    meant, settings = meant_settings(listing, config, kafka)
    return DryLogs(directories, settings, now, meant, fs)


def meant_settings(
    listing: Listing, config: Config, kafka: str | None = None
) -> tuple[MeantBroker, Settings]:
    """Return the broker that is assumed, and the given configuration on top of the stored one.

    Raises:
        ConfigError: a configuration's name or value is wrong, or the version is unknown.
        LookupError: a configuration is of a topic that is not there.
        OSError: the metadata log cannot be read.
    """
    cluster = stored_cluster(listing)
    meant = meant_broker(listing, kafka, cluster)
    topics = cluster.configs.topics
    if isinstance(config, Settings):
        settings = replace(config, rules=meant.rules)
    else:
        of_broker = cluster.configs.of_broker(_node_id(listing))
        known = {
            name: value
            for name, value in of_broker.items()
            if name in BROKER_NAMES and not not_in_version(name, value, meant.rules)
        }
        settings = Settings.of({**known, **(config or {})}, meant.rules)
        settings = replace(settings, broker=_with_cleaner(settings.broker, listing))
    require_topics(settings.topics, {*topics, *(p.topic for p in listing.partitions.values())})
    return meant, settings.with_stored(topics)


def _with_cleaner(config: BrokerConfig, listing: Listing) -> BrokerConfig:
    """Return a configuration with a cleaner, if the directories show one and nothing is set.

    Before 0.9 the default is to have none; only a broker with a cleaner makes its checkpoint.

    Kafka: LogManager, LogCleanerManager, OffsetCheckpoint (0.8.2)
    """
    name = "log.cleaner.enable"
    if config.log_cleaner_enable or name in config.origins:
        return config
    if not any(root.has_name(CLEANER_OFFSETS) for root in listing.roots):
        return config
    return replace(
        config, log_cleaner_enable=True, origins={**config.origins, name: CLEANER_OFFSETS}
    )


def require_topics(named: Iterable[str], known: Collection[str]) -> None:
    """Refuse topics that are not there, such as those that a configuration names.

    Raises:
        LookupError: a topic is not known; the message names the nearest.
    """
    for topic in named:
        if topic not in known:
            raise LookupError(f"unknown topic {topic}{did_you_mean(topic, sorted(known))}")


def _node_id(listing: Listing) -> int | None:
    for root in listing.roots:
        entry = root.file(META_PROPERTIES)
        if entry is not None:
            return entry.read(MetaProperties).node_id
    return None
