"""Bring deleted or stray logs of a topic back, in a copy, under the names that brokers serve.

A broker renames the directory of a deleted partition to `ledger-0.<id>-delete`, and removes it
after `file.delete.delay.ms`; of a topic that it does not know, to `ledger-0.<id>-stray`. It
shortens a topic that is too long for such a name. The files inside keep their names. The copy has
the directory's own name again, and a topic id in `partition.metadata`: a broker serves it if the
cluster has a topic with that id.

Kafka: UnifiedLog.renameDir, LocalLog.logDeleteDirName (4.2)
"""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple
from uuid import UUID

from workbench.errors import LogDirectoryError, StateUnknownError
from workbench.file_system.outputs import new_folder
from workbench.file_system.source import absolute
from workbench.files import names
from workbench.files.partition_metadata import PartitionMetadata
from workbench.files.text import format_uuid
from workbench.foresight.copies.copying import SkippedFile, copy_folder_into
from workbench.inspection.cluster.history import ClusterHistory
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition
from workbench.runtime.words import did_you_mean, plural


class BroughtBack(NamedTuple):
    """A log that was brought back.

    Attributes:
        source: path of the `-delete` or `-stray` directory.
        path: path of the copy.
        topic_id: the id in its `partition.metadata`; None if it has none.
        left_out: what was not copied.
    """

    source: str
    path: str
    topic_id: str | None
    left_out: tuple[SkippedFile, ...]


def undelete(
    listing: Listing,
    topic: str,
    target: str,
    topic_id: UUID | None = None,
    partitions: Collection[int] | None = None,
) -> list[BroughtBack]:
    """Copy the deleted and stray logs of a topic into a new log directory; nothing else is written.

    Args:
        listing: the log directories.
        topic: its name.
        target: the copy, missing or empty.
        topic_id: the id of the topic in the cluster that is to serve it; None keeps the log's own.
        partitions: numbers of the partitions that are brought back; None: all.

    Returns:
        One row per partition, by number. Of several directories of a partition, that with the
        latest file is taken.

    Raises:
        LookupError: no directory of the topic, or of a partition, is deleted or stray.
        LogDirectoryError: it cannot be copied from there.
        OutputError: ``target`` holds something, or one path contains the other.
        OSError: reading or writing failed.
    """
    rows = []
    chosen = _chosen(listing, topic, partitions)
    with new_folder(target, [root.path for root in listing.roots]) as unfinished:
        for number, partition in sorted(chosen.items()):
            name = names.directory_name(topic, number)
            source, into = absolute(partition.path), os.path.join(unfinished, name)
            if not os.path.isdir(source):
                raise LogDirectoryError(source, "not a directory of this machine; copy it first")
            os.mkdir(into)
            left_out = tuple(sorted(copy_folder_into(source, into)))
            if topic_id is not None:
                path = os.path.join(into, names.PARTITION_METADATA)
                if os.path.lexists(path):
                    os.unlink(path)
                with open(path, "xb") as file:
                    file.write(PartitionMetadata(topic_id).encode())
            shown = _id_of(into)
            rows.append(BroughtBack(source, os.path.join(absolute(target), name), shown, left_out))
    return rows


def _chosen(
    listing: Listing, topic: str, partitions: Collection[int] | None
) -> dict[int, DiskPartition]:
    """Return the logs to bring back, by number.

    Raises:
        LookupError: there is none.
    """
    found: dict[int, DiskPartition] = {}
    full = _FullNames(listing)
    for root in listing.roots:
        for partition in root.partitions:
            if partition.kind in {"delete", "stray"} and full.of(partition) == topic:
                before = found.get(partition.partition, partition)
                found[partition.partition] = max(before, partition, key=_latest)
    if not found:
        raise LookupError(_nothing(listing, topic))
    if partitions is not None:
        for number in partitions:
            if number not in found:
                there = ", ".join(map(str, sorted(found)))
                raise LookupError(
                    f"partition {number} of topic {topic} is neither deleted nor stray; those that "
                    f"are: {there}"
                )
        return {number: found[number] for number in partitions}
    return found


class _FullNames:
    """The topics of deleted and stray logs: names of directories shorten those that are too long.

    The metadata log has the whole name of a topic id, as long as it has the record that made it.
    """

    def __init__(self, listing: Listing) -> None:
        self._listing = listing

    def of(self, partition: DiskPartition) -> str:
        """Return the topic of a log; what is left of its name if the metadata do not know it."""
        if len(partition.name) < names.MAX_DIRECTORY_LENGTH or partition.topic_id is None:
            return partition.topic
        known = self._by_id.get(partition.topic_id, "")
        return known if known.startswith(partition.topic) else partition.topic

    @cached_property
    def _by_id(self) -> dict[str, str]:
        """Topic id → name, of every topic that the metadata log mentions, deleted ones too."""
        metadata = self._listing.metadata_log
        found: dict[str, str] = {}
        if metadata is not None:
            with suppress(OSError, StateUnknownError):
                for change in ClusterHistory(metadata):
                    if change.kind == "topic":
                        found |= {str(change.before): str(change.key)}
                        found |= {str(change.after): str(change.key)}
        return found


def _latest(partition: DiskPartition) -> int:
    return max((file.modified_ms for file in partition.files), default=-1)


def _id_of(folder: str) -> str | None:
    path = os.path.join(folder, names.PARTITION_METADATA)
    if not os.path.exists(path):
        return None
    found = PartitionMetadata.read(path, strict=False).topic_id
    return None if found is None else format_uuid(found)


def _nothing(listing: Listing, topic: str) -> str:
    """Say why there is nothing to bring back."""
    every: Iterable[DiskPartition] = (each for root in listing.roots for each in root.partitions)
    full = _FullNames(listing)
    gone = {full.of(each) for each in every if each.kind in {"delete", "stray"}}
    in_use = sum(each.topic == topic for each in listing.partitions.values())
    if in_use:
        return (
            f"topic {topic} has {plural(in_use, 'log')} in use, and none that is deleted or stray"
        )
    hint = did_you_mean(topic, sorted(gone))
    return f"no directory of topic {topic} is deleted or stray{hint}"
