"""The remote tier of a load (KIP-405), attached on the driver.

Tasks get the remote segments that they read, and nothing else of the tier. Only a task of
read_committed that reads a remote segment lists the tier itself, because the marker that ends a
transaction may be in a later segment. A worker keeps that listing for its next tasks.
"""

import json
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import lru_cache

from workbench.inspection.listing import Listing, list_log_directories
from workbench.inspection.partition import DiskPartition
from workbench.inspection.remote_tier.remote_log import RemoteRead
from workbench.inspection.remote_tier.tier import attach_remote_tier
from workbench.inspection.segment import Segment
from workbench.loaders.remote import all_opened, opened
from workbench.loaders.scan.plan import SegmentRead
from workbench.spark_source.option_values import Given, plain_path


@dataclass(frozen=True)
class TierOptions:
    """The remote tier that options name.

    Attributes:
        path: its folder or URL.
        keys: (key id, path of the RSA private key) of an encrypted tier; tasks read the files too.
    """

    path: str
    keys: tuple[tuple[str, str], ...] = ()

    def attach(self, listing: Listing) -> None:
        """Give every partition of a listing its remote log.

        Raises:
            ConfigError: a file holds no private key.
            LogDirectoryError: there is no such tier, or its server cannot be reached.
            MissingDependencyError: keys are given, and cryptography is not installed.
            OSError: the tier cannot be listed.
        """
        attach_remote_tier(listing, *opened(self.path, listing.fs), dict(self.keys))


def parse_tier(given: Given) -> TierOptions | None:
    """Return the tier of ``remote`` and ``remoteKeys``, which is JSON: ``{"key1": "key1.pem"}``.

    Raises:
        ValueError: the keys are not such JSON, or there is no tier for them.
    """
    text = given.get("remotekeys")
    keys: object = {}
    if text is not None:
        try:
            keys = json.loads(text)
        except ValueError:
            keys = None
        if not isinstance(keys, Mapping) or not all(isinstance(key, str) for key in keys.values()):
            raise ValueError(f'remoteKeys is {text!r}, expected such as {{"key1": "private.pem"}}')
    if "remote" not in given:
        if text is not None:
            raise ValueError("remoteKeys needs remote: the folder or URL of the remote tier")
        return None
    assert isinstance(keys, Mapping)
    paths = tuple((key_id, plain_path(path)) for key_id, path in keys.items())
    return TierOptions(plain_path(given["remote"]), paths)


def without_tier(partition: DiskPartition) -> DiskPartition:
    """Return a partition without its remote log, to be sent to a task."""
    if partition.remote is None:
        return partition
    local = copy(partition)
    local.remote = None
    return local


def segments_from(read: SegmentRead, paths: tuple[str, ...], tier: TierOptions) -> list[Segment]:
    """Return the remote segments from that of a read on, which a marker may be in.

    Args:
        read: the read of a remote segment.
        paths: the log directories.
        tier: the remote tier.

    Raises:
        FileNotFoundError: the log has the segment no more.
    """
    found = _remote_reads(_listed(paths, tier), read.partition.name)
    local = read.partition.segments
    if not _has(found, read) or (local and found[-1].high < local[0].base_offset):
        found = _remote_reads(listed_again(paths, tier), read.partition.name)
    if not _has(found, read):
        raise FileNotFoundError(read.segment.path)
    wanted = {each.segment.path: each.segment for each in found if each.segment is not None}
    start = list(wanted).index(read.segment.path)
    return list(wanted.values())[start:]


def listed_again(paths: tuple[str, ...], tier: TierOptions) -> Listing:
    """Return log directories with their remote tier, listed now and not for an earlier query.

    Raises:
        As `TierOptions.attach`.
    """
    _listed.cache_clear()
    return _listed(paths, tier)


@lru_cache(1)
def _listed(paths: tuple[str, ...], tier: TierOptions) -> Listing:
    given, fs = all_opened(paths)
    listing = list_log_directories(given, fs=fs)
    tier.attach(listing)
    return listing


def _remote_reads(listing: Listing, name: str) -> tuple[RemoteRead, ...]:
    every = listing.partitions.values()
    return next((each.remote_reads for each in every if each.name == name), ())


def _has(found: tuple[RemoteRead, ...], read: SegmentRead) -> bool:
    paths = (each.segment.path for each in found if each.segment is not None)
    return read.segment.path in paths
