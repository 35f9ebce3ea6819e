"""Kafka's behaviors of files: indexes, checkpoints, metadata, and the tool that prints them.

OI TI TX the three indexes, CK checkpoints and metadata files, DU DumpLogSegmentsTest.
"""

from typing import Final

FILES: Final[dict[str, str]] = {
    "OI-1": "looking up offsets",
    "OI-2": "entries by number",
    "OI-3": "appending to a full index, or backwards",
    "OI-4": "the upper bound of a fetch",
    "OI-5": "a trimmed and reopened index",
    "OI-6": "truncating an index",
    "OI-7": "a last offset equal to the base offset",
    "TI-1": "looking up times",
    "TI-2": "appending to a full time index, or backwards",
    "TI-3": "truncating a time index",
    "TI-4": "what is not a sound time index",
    "TI-5": "the last entry, even of an empty index",
    "TI-6": "resizing",
    "TX-1": "a reopened index keeps its entries",
    "TX-2": "entries before the segment",
    "TX-3": "markers must ascend",
    "TX-4": "aborted transactions of a range",
    "TX-5": "truncating",
    "TX-6": "renaming, flushing and deleting",
    "CK-1": "offset and epoch checkpoints round trip",
    "CK-2": "empty checkpoints and those of another version",
    "CK-3": "partition.metadata",
    "CK-4": "the clean shutdown file",
    "CK-5": "meta.properties of versions 0 and 1",
    "CK-6": "directories of one broker must agree",
    "CK-7": "properties files",
    "DU-1": "batch lines and record lines",
    "DU-2": "what is in them",
    "DU-3": "an index that is not trimmed",
    "DU-4": "an empty index",
    "DU-5": "stopping after some bytes",
    "DU-6": "cluster metadata",
    "DU-7": "metadata snapshots",
    "DU-8": "a file that is not there",
    "DU-9": "remote log metadata",
    "DU-10": "offsets and groups",
    "DU-11": "members of a group",
    "DU-12": "share groups",
}
