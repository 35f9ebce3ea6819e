"""Open a remote tier beside log directories: every partition gets its remote log.

Nothing is read of a partition before its remote log is asked for.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

from workbench.errors import CorruptFileError, LogDirectoryError
from workbench.file_system.source import Files
from workbench.inspection.entries import list_folder
from workbench.inspection.listing import Listing, MakePartition
from workbench.inspection.partition import DiskPartition
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
from workbench.inspection.remote_tier.stored_segments import StoredPartition, list_local_segments
from workbench.inspection.remote_tier.tier_names import (
    MANIFEST,
    FolderName,
    parse_file_name,
    parse_folder_name,
)

_NUMBER: Final = re.compile(r"[0-9]{1,9}", re.ASCII)


class _Folder(NamedTuple):
    name: str
    parsed: FolderName


class RemoteTier:
    """A folder that segments of many partitions were copied to.

    Attributes:
        path: the folder.
    """

    def __init__(
        self, path: str, fs: Files, partitions: Iterable[DiskPartition], keys: KeyRing
    ) -> None:
        """Open a tier.

        Args:
            path: the folder.
            fs: what reads it.
            partitions: those that were opened together, with those of `__remote_log_metadata`.
            keys: what decrypts segments.

        Raises:
            LogDirectoryError: the folder does not exist.
        """
        self.path = path
        self._fs = fs
        self._keys = keys
        in_use = [each for each in partitions if each.kind == "log"]
        self._metadata_partitions = [each for each in in_use if each.topic == TOPIC]
        self._names = frozenset((each.topic, each.partition) for each in in_use)
        self._folders = self._list_folders()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was read of the topic: another process reads it again."""
        return {name: value for name, value in self.__dict__.items() if name != "metadata"}

    @cached_property
    def _aiven(self) -> AivenFiles:
        return AivenFiles(self.path, self._keys, self._fs)

    def _list_folders(self) -> dict[str, list[_Folder]]:
        """Return topic id → folders, each with what its name can mean.

        Raises:
            LogDirectoryError: there is no such folder.
        """
        try:
            names = list_folder(self.path, fs=self._fs).folders
        except (FileNotFoundError, NotADirectoryError):
            raise LogDirectoryError(self.path, "there is no such folder of a remote tier") from None
        found: dict[str, list[_Folder]] = {}
        for name in names:
            for parsed in parse_folder_name(name):
                found.setdefault(parsed.topic_id, []).append(_Folder(name, parsed))
        return found

    @cached_property
    def _named(self) -> dict[tuple[str, int | None], list[_Folder]]:
        """Topic and partition (None: all of the topic) → folders of every topic id."""
        topics = {topic for topic, _ in self._names}
        found: dict[tuple[str, int | None], list[_Folder]] = {}
        for folders in self._folders.values():
            for folder in folders:
                if folder.parsed.topic in topics:
                    found.setdefault(folder.parsed[:2], []).append(folder)
        return found

    def _folder_of(self, topic: str, partition: int, topic_id: str) -> _Folder | None:
        """Return the folder of a partition; a prefix may precede the topic in Aiven's layout."""
        folders = self._folders.get(topic_id, [])
        for folder in folders:
            if folder.parsed[:2] in {(topic, partition), (topic, None)}:
                return folder
        for folder in folders:
            if folder.parsed.partition is None and folder.parsed.topic.endswith(topic):
                return folder
        return None

    @cached_property
    def metadata(self) -> MetadataTopic:
        """What `__remote_log_metadata` says of the partitions that were opened."""
        return read_metadata_topic(
            self._metadata_partitions, lambda topic, partition: (topic, partition) in self._names
        )

    def contents_of(self, partition: DiskPartition) -> RemoteContents:
        """Return what the tier holds of a partition, and what is known of it."""
        name = (partition.topic, partition.partition)
        topic_id = partition.topic_id
        named = self._named.get(name, []) or self._named.get((partition.topic, None), [])
        if topic_id is None and len(named) == 1:
            topic_id = named[0].parsed.topic_id
        mine = None if topic_id is None else self._folder_of(*name, topic_id)
        others = tuple(
            f"{self.path}/{each.name}" for each in named if each.parsed.topic_id != topic_id
        )
        stored = None if mine is None else self._list(mine, partition.partition)
        cache = self.metadata.of(*name, topic_id)
        if cache is not None:
            findings = tuple(self.metadata.findings)
            return RemoteContents(stored, cache, "topic", others, findings)
        return RemoteContents(stored, _cache_of(stored), "files", others)

    def _list(self, folder: _Folder, partition: int) -> StoredPartition:
        path = f"{self.path}/{folder.name}"
        if folder.parsed.partition is not None:
            return list_local_segments(path, self.path, self._fs)
        return list_aiven_segments(f"{path}/{partition}", self.path, self._aiven)


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
    partition: DiskPartition

    def load(self) -> RemoteContents:
        """Return what the tier holds of the partition."""
        return self.tier.contents_of(self.partition)


def with_tier_alone(
    listing: Listing, path: str, make: MakePartition, keys: Mapping[str, str] | None = None
) -> Listing:
    """Return a listing with the partitions of a remote tier, if the tier is all that was opened.

    Their topics, partitions and ids come from names of folders; where Aiven's plugin put a prefix
    before the topic, from a manifest.

    Args:
        listing: what was opened; returned as it is unless it is the tier, and nothing else.
        path: the tier's folder.
        make: makes a partition.
        keys: see `attach_remote_tier`.

    Raises:
        OSError: a folder cannot be listed.
    """
    if len(listing.roots) != 1 or _tier_path(listing.roots[0].path) != _tier_path(path):
        return listing
    (root,) = listing.roots
    found = list(_partitions_of(_tier_path(path), root.fs, make, KeyRing(keys or {})))
    if not found:
        return listing
    found.sort(key=lambda each: (each.topic, each.partition, each.path))
    used = {os.path.relpath(each.path, _tier_path(path)).split("/")[0] for each in found}
    others = tuple(name for name in root.unknown_folders if name not in used)
    root = replace(root, partitions=tuple(found), unknown_folders=others, is_tier=True)
    named: dict[str, DiskPartition] = {}
    for each in found:
        named[each.path if each.name in named else each.name] = each
    return Listing((root,), named)


def partitions_without_log(
    listing: Listing, path: str, fs: Files, keys: Mapping[str, str] | None = None
) -> list[DiskPartition]:
    """Return the partitions that only a remote tier has, sorted: no opened directory has their log.

    A topic of the same name with another topic id is another topic.

    Args:
        listing: what was opened beside the tier.
        path, fs, keys: see `attach_remote_tier`.

    Raises:
        OSError: a folder cannot be listed.
    """
    known: dict[tuple[str, int], str | None] = {
        (each.topic, each.partition): each.topic_id
        for each in listing.partitions.values()
        if each.kind == "log"
    }
    tier = _tier_path(path)
    found = []
    for each in _partitions_of(tier, fs, DiskPartition, KeyRing(keys or {})):
        topic_id = known.get((each.topic, each.partition), "")
        if topic_id is not None and topic_id != each.remote_topic_id:
            found.append(each)
    return sorted(found, key=lambda each: (each.topic, each.partition, each.path))


def _partitions_of(
    tier: str, fs: Files, make: MakePartition, keys: KeyRing
) -> Iterator[DiskPartition]:
    """Yield the partitions that a tier has segments of."""

    def of(path: str, topic: str, number: int, topic_id: str) -> DiskPartition:
        partition = make(f"{topic}-{number}", path, root=tier, topic=topic, partition=number, fs=fs)
        partition.remote_topic_id = topic_id
        return partition

    files = AivenFiles(tier, keys, fs)
    for folder in list_folder(tier, fs=fs).folders:
        path = f"{tier}/{folder}"
        for name in parse_folder_name(folder):
            contents = list_folder(path, tier, fs)
            if name.partition is not None:
                if any(parse_file_name(each.name) for each in contents.files):
                    yield of(path, name.topic, name.partition, name.topic_id)
                    break
                continue
            numbers = [each for each in contents.folders if _NUMBER.fullmatch(each)]
            topic = _topic_in_manifest(path, numbers, tier, files) or name.topic
            for each in numbers:
                yield of(f"{path}/{each}", topic, int(each), name.topic_id)


def _topic_in_manifest(
    path: str, numbers: Sequence[str], tier: str, files: AivenFiles
) -> str | None:
    """Return the topic by the first manifest that can be read, which has no prefix."""
    for number in numbers:
        for entry in list_folder(f"{path}/{number}", tier, files.stored_by).files:
            if entry.name.endswith(MANIFEST):
                with suppress(OSError, CorruptFileError):
                    stem = f"{path}/{number}/{entry.name.removesuffix(MANIFEST)}"
                    return files.manifest(stem).topic
    return None


def _tier_path(path: str) -> str:
    return (path if "://" in path else os.path.abspath(path)).rstrip("/")


def attach_remote_tier(
    listing: Listing, path: str, fs: Files, keys: Mapping[str, str] | None = None
) -> RemoteTier:
    """Give every partition in use its remote log.

    Args:
        listing: what was opened; its partitions are changed.
        path: the tier's folder.
        fs: what reads it.
        keys: key id → path of the RSA private key of an encrypted tier.

    Raises:
        ConfigError: a file holds no private key.
        LogDirectoryError: the folder does not exist.
        MissingDependencyError: keys are given, and cryptography is not installed.
        OSError: the folder cannot be listed.
    """
    tier = RemoteTier(_tier_path(path), fs, listing.partitions.values(), KeyRing(keys or {}))
    for partition in listing.partitions.values():
        if partition.kind == "log" and partition.only is None and partition.topic != TOPIC:
            partition.remote = RemoteLog(_Loader(tier, partition))
    return tier
