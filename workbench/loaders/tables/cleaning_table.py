"""How clean the logs of a broker are, and which its cleaner would clean: a row per partition."""

from collections.abc import Iterator, Sequence

from workbench.cleaner.schedule.log_to_clean import (
    LogToClean,
    cleaning_order,
    dirty_since,
    place_of,
)
from workbench.file_system.source import absolute
from workbench.files.names import TopicPartition
from workbench.foresight.dry_listing import Config, open_dry
from workbench.foresight.dry_logs import DryLogs
from workbench.foresight.explain.cleaning import earliest_cleaning
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition
from workbench.loaders.explanations.explain_partition import cleaning_problem, dirt_of, policy_of
from workbench.runtime.times import time_or_now
from workbench.tables.cleaning import CleaningRow


def cleaning_rows(
    listing: Listing,
    partitions: Sequence[DiskPartition],
    config: Config,
    now: int | None,
    *,
    tries: bool,
    kafka: str | None = None,
) -> Iterator[CleaningRow]:
    """Yield the rows of `CleaningRow`; see `Inspect.cleaning`.

    Raises:
        ConfigError: a configuration's name or value is wrong.
        LogDirectoryError: a single file was opened.
    """
    moment = time_or_now(now)
    with open_dry(listing.log_directories, config, moment, kafka, listing.fs) as dry:
        served = [one for one in partitions if one.kind == "log" and one.only is None]
        names = {absolute(one.path) for one in served if one.is_alone}
        is_whole = all(root.is_log_directory for root in listing.roots)
        dry.load(
            lambda folder: (
                dry.is_compacted(folder.topic_partition) and (is_whole or folder.path in names)
            )
        )
        dirt = {
            name: dirt_of(dry, log, moment)
            for name, log in dry.logs.items()
            if dry.is_compacted(name)
        }
        measured = [one for one in dirt.values() if isinstance(one, LogToClean)]
        order = cleaning_order(measured)
        for partition in served:
            yield _row(dry, partition, dirt, order, moment, tries=tries)


def _row(
    dry: DryLogs,
    partition: DiskPartition,
    dirt: dict[TopicPartition, LogToClean | str],
    order: list[LogToClean],
    now: int,
    *,
    tries: bool,
) -> CleaningRow:
    name = TopicPartition(partition.topic, partition.partition)
    policy, checkpoint = policy_of(dry, name), dry.cleaner_offsets.get(name)
    start = (*name, policy.is_compacted, policy.source, checkpoint)
    found = dirt.get(name)
    if not isinstance(found, LogToClean):
        error = found or dry.problems.get(name)
        return CleaningRow(*start, *(None,) * 12, None if error is None else str(error))
    place = place_of(name, order)
    is_due = place is not None
    return CleaningRow(
        *start,
        found.first_dirty_offset,
        found.first_uncleanable_offset,
        found.offsets.least_bound.name,
        found.clean_bytes,
        found.cleanable_bytes,
        found.uncleanable_bytes,
        found.cleanable_ratio,
        found.log.config.min_cleanable_dirty_ratio,
        dirty_since(found.log, found.first_dirty_offset),
        is_due,
        None if place is None else place.place,
        earliest_cleaning(found.log, checkpoint, now),
        (cleaning_problem(found, now, dry) or None) if tries and is_due else None,
    )
