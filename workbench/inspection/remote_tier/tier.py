"""Open a remote tier beside log directories: every partition gets its remote log.

Nothing is read of a partition before its remote log is asked for.
"""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench.errors import LogDirectoryError
from workbench.inspection.entries import list_folder
from workbench.inspection.listing import Listing
from workbench.inspection.partition import Partition
from workbench.inspection.remote_tier.aiven_files import AivenFiles
from workbench.inspection.remote_tier.aiven_keys import KeyRing
from workbench.inspection.remote_tier.aiven_segments import list_aiven_segments
from workbench.inspection.remote_tier.metadata_cache import MetadataCache
from workbench.inspection.remote_tier.metadata_topic import (
    TOPIC,
    MetadataTopic,
    read_metadata_topic,
)
from workbench.inspection.remote_tier.remote_log import RemoteContents, RemoteLog
from workbench.inspection.remote_tier.stored_segments import (
    StoredPartition,
    list_local_segments,
)
from workbench.inspection.remote_tier.tier_names import FolderName, parse_folder_name


class RemoteTier:
    """A folder that segments of many partitions were copied to.

    Attributes:
        path: the folder.
    """

    def __init__(self, path: str, partitions: Iterable[Partition], keys: KeyRing) -> None:
        """Open a tier.

        Args:
            path: the folder; what its last part begins with is enough, as in Aiven's `key.prefix`.
            partitions: those that were opened together, with those of `__remote_log_metadata`.
            keys: what decrypts segments.

        Raises:
            LogDirectoryError: the folder does not exist.
        """
        self.path = path
        self._keys = keys
        self._prefix = ""
        in_use = [each for each in partitions if each.kind == "log"]
        self._metadata_partitions = [each for each in in_use if each.topic == TOPIC]
        self._names = frozenset((each.topic, each.partition) for each in in_use)
        self._folders = self._list_folders()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was read of the topic: another process reads it again."""
        return {name: value for name, value in self.__dict__.items() if name != "metadata"}

    @cached_property
    def _aiven(self) -> AivenFiles:
        return AivenFiles(self.path, self._keys)

    def _list_folders(self) -> dict[tuple[str, int | None], list[FolderName]]:
        """Return topic and partition (None: all of the topic) → their folders."""
        names = self._folder_names()
        topics = {topic for topic, _ in self._names}
        found: dict[tuple[str, int | None], list[FolderName]] = {}
        for name in names:
            for parsed in parse_folder_name(name):
                if parsed.topic in topics:
                    found.setdefault(parsed[:2], []).append(parsed)
        return found

    def _folder_names(self) -> list[str]:
        """Return the names of the folders, without the prefix."""
        with suppress(FileNotFoundError, NotADirectoryError):
            return list_folder(self.path).folders
        folder, _, prefix = self.path.rpartition("/")
        with suppress(FileNotFoundError, NotADirectoryError):
            every = list_folder(folder).folders if folder and prefix else []
            found = [name.removeprefix(prefix) for name in every if name.startswith(prefix)]
            if found:
                self.path, self._prefix = folder, prefix
                return found
        raise LogDirectoryError(self.path, "there is no such folder of a remote tier")

    @cached_property
    def metadata(self) -> MetadataTopic:
        """What `__remote_log_metadata` says of the partitions that were opened."""
        return read_metadata_topic(
            self._metadata_partitions, lambda topic, partition: (topic, partition) in self._names
        )

    def contents_of(self, partition: Partition) -> RemoteContents:
        """Return what the tier holds of a partition, and what is known of it."""
        name = (partition.topic, partition.partition)
        folders = [*self._folders.get(name, []), *self._folders.get((partition.topic, None), [])]
        topic_id = partition.topic_id
        if topic_id is None and len({each.topic_id for each in folders}) == 1:
            topic_id = folders[0].topic_id
        mine = [each for each in folders if each.topic_id == topic_id]
        others = tuple(self._path_of(each) for each in folders if each.topic_id != topic_id)
        stored = self._list(mine[0], partition.partition) if mine else None
        cache = self.metadata.of(*name, topic_id)
        if cache is not None:
            findings = tuple(self.metadata.findings)
            return RemoteContents(stored, cache, "topic", others, findings)
        return RemoteContents(stored, _cache_of(stored), "files", others)

    def _list(self, folder: FolderName, partition: int) -> StoredPartition:
        path = self._path_of(folder)
        if folder.partition is not None:
            return list_local_segments(path, self.path)
        return list_aiven_segments(f"{path}/{partition}", self.path, self._aiven)

    def _path_of(self, folder: FolderName) -> str:
        partition = "" if folder.partition is None else f"-{folder.partition}"
        return f"{self.path}/{self._prefix}{folder.topic}{partition}-{folder.topic_id}"


def _cache_of(stored: StoredPartition | None) -> MetadataCache:
    """Return the metadata that segments' own files give: every copy counts as complete."""
    cache = MetadataCache()
    known = []
    for each in stored.segments.values() if stored is not None else ():
        try:
            metadata = each.own_metadata()
        except OSError:  # `verify` says so
            continue
        if metadata is not None:
            known.append(metadata)
    for metadata in sorted(known, key=lambda each: (each.start_offset, each.end_offset)):
        cache.add_finished(metadata)
    return cache


@dataclass(frozen=True)
class _Loader:
    tier: RemoteTier
    partition: Partition

    def load(self) -> RemoteContents:
        """Return what the tier holds of the partition."""
        return self.tier.contents_of(self.partition)


def attach_remote_tier(
    listing: Listing, path: str, keys: Mapping[str, str] | None = None
) -> RemoteTier:
    """Give every partition in use its remote log.

    Args:
        listing: what was opened; its partitions are changed.
        path: the tier's folder, mounted if it is a URL.
        keys: key id → path of the RSA private key of an encrypted tier.

    Raises:
        ConfigError: a file holds no private key.
        LogDirectoryError: the folder does not exist.
        MissingDependencyError: keys are given, and cryptography is not installed.
        OSError: the folder cannot be listed.
    """
    path = path if "://" in path else os.path.abspath(path)
    tier = RemoteTier(path.rstrip("/"), listing.partitions.values(), KeyRing(keys or {}))
    for partition in listing.partitions.values():
        if partition.kind == "log" and partition.only is None and partition.topic != TOPIC:
            partition.remote = RemoteLog(_Loader(tier, partition))
    return tier
