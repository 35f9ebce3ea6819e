"""Whether topics are served after a start on directories, and what its first minutes take."""

from collections.abc import Collection
from uuid import UUID

from workbench.errors import LogDirectoryError
from workbench.foresight.dry_listing import Config, meant_settings
from workbench.foresight.preflight.preflight import judge_preflight
from workbench.foresight.preflight.results import Preflight
from workbench.foresight.startup.predict import predict_startup
from workbench.inspection.listing import Listing
from workbench.loaders.answers.first_minutes import Judge, LosingLogs, first_minutes
from workbench.log_manager.loading import Progress
from workbench.runtime.times import time_or_now


def preflight_of(
    listing: Listing,
    config: Config = None,
    *,
    kafka: str | None = None,
    node_id: int | None = None,
    cluster_id: str | None = None,
    topic_ids: Collection[UUID] | None = None,
    now: int | None = None,
    rate: float | None = None,
    deep: bool = False,
    progress: Progress | None = None,
    judge: Judge | None = None,
) -> Preflight:
    """Return what `LogDirectory.preflight` does.

    Args:
        listing: the log directories.
        config, kafka, node_id, cluster_id, topic_ids, now, rate, deep, progress: as there.
        judge: a callback with all logs, if they are loaded for the first minutes: the caller need
            not load them again.

    Raises:
        ConfigError: a configuration's name or value is wrong, or the version is unknown.
        LogDirectoryError: a single file or partition directory was opened.
    """
    for root in listing.roots:
        if not root.is_log_directory:
            raise LogDirectoryError(root.path, "not a log directory, which a preflight needs")
    meant, settings = meant_settings(listing, config, kafka)
    start = time_or_now(now)
    losing = LosingLogs(start + settings.broker.log_initial_task_delay_ms)
    version = meant.version if kafka else None
    prediction = predict_startup(
        listing.log_directories,
        settings.broker,
        topic_configs=settings.topic_configs,
        fs=listing.fs,
        node_id=node_id,
        cluster_id=cluster_id,
        now=start,
        topic_ids=topic_ids,
        kafka=version,
        consumers=deep,
        progress=progress,
        look=losing.look,
    )
    minutes = first_minutes(
        listing, settings, prediction, losing=losing.paths, now=start, kafka=version, judge=judge
    )
    return judge_preflight(
        listing,
        prediction,
        settings.broker,
        rate=rate,
        are_topics_given=topic_ids is not None,
        first_minutes=minutes,
    )
