"""Say which readable records a start removes, for all that verifies."""

import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from workbench.files.names import TopicPartition, parse_directory_name
from workbench.foresight.startup.losses import removal_text
from workbench.foresight.startup.predict import predict_startup
from workbench.foresight.startup.prediction import PartitionStart, StartupPrediction
from workbench.inspection.brokers import listings_by_broker
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing, opened_paths


def removals_at_start(
    listing: Listing,
    findings: Sequence[Finding],
    kafka: str | None = None,
    only: Collection[TopicPartition] | None = None,
) -> list[StartupPrediction]:
    """Return what a start on the directories does with their logs, by broker.

    Empty if nothing was found, or where it is not known how a broker starts: with a part of a
    directory.

    Args:
        listing: the directories.
        findings: what `verify` found in them.
        kafka: the version that is assumed; None: the newest that the directories show.
        only: the partitions that were verified; None: all.

    Raises:
        ConfigError: the version is unknown.
        LogDirectoryError: a directory is gone.
    """
    if not findings or not all(root.is_log_directory for root in listing.roots):
        return []
    predictions = (
        predict_startup(own.log_directories, fs=own.fs, kafka=kafka, consumers=False)
        for own in listings_by_broker(listing).values()
    )
    return [
        each if only is None else replace(each, partitions=tuple(_of(each, only)))
        for each in predictions
    ]


def _of(
    prediction: StartupPrediction, only: Collection[TopicPartition]
) -> Iterator[PartitionStart]:
    for row in prediction:
        name = parse_directory_name(row.name)
        if name is not None and TopicPartition(name.topic, name.partition) in only:
            yield row


def removal_sentence(listing: Listing, predictions: Iterable[StartupPrediction]) -> str:
    """Return how many readable records a start removes, and how to save them; empty if none.

    Args:
        listing: the directories.
        predictions: of a start, by broker.
    """
    where = shlex.join(opened_paths(listing))
    return " ".join(filter(None, (removal_text(each, where) for each in predictions)))


def removed_records(predictions: Iterable[StartupPrediction]) -> Mapping[str, int | None]:
    """Return folder of a log → how many readable records a start removes of it; None: unknown."""
    return {
        os.path.join(row.directory, row.name): row.records_lost
        for each in predictions
        for row in each
        if each.starts
    }
