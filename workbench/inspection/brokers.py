"""Whose directories were opened together: those of one broker, or those of several.

A broker's id is `node.id` (once `broker.id`) in `meta.properties`.
"""

from contextlib import suppress
from typing import Final

from workbench.inspection.listing import Listing, Root
from workbench.inspection.partition import DiskPartition

NO_ID: Final = -1
"""The id of a broker whose directories have none: without `meta.properties`, or too old."""


def listings_by_broker(listing: Listing) -> dict[int, Listing]:
    """Return id of each broker → its directories, sorted by id.

    Directories without an id count as one broker's, with the id `NO_ID`.
    """
    roots: dict[int, list[Root]] = {}
    for root in listing.roots:
        roots.setdefault(_node_id(root), []).append(root)
    if len(roots) == 1:
        return dict.fromkeys(roots, listing)
    return {node_id: _listing_of(own) for node_id, own in sorted(roots.items())}


def brokers_by_name(listing: Listing) -> dict[str, str]:
    """Return name of each partition in a listing → its broker's id; of one broker's, nothing."""
    listings = listings_by_broker(listing)
    if len(listings) < 2:
        return {}
    ids = {
        each.path: str(node_id)
        for node_id, own in listings.items()
        for each in own.partitions.values()
    }
    return {name: ids[each.path] for name, each in listing.partitions.items() if each.path in ids}


def _node_id(root: Root) -> int:
    with suppress(OSError):  # `verify` says so where it cannot be read
        found = root.meta_properties
        if found is not None and found.node_id is not None:
            return found.node_id
    return NO_ID


def _listing_of(roots: list[Root]) -> Listing:
    found: dict[str, DiskPartition] = {}
    for root in roots:
        for partition in root.partitions:
            key = partition.name if partition.name not in found else partition.path
            found[key] = partition
    return Listing(tuple(roots), found)
