"""Kafka's behaviours of the log cleaner, which is still being built.

CL LogCleanerTest, CM LogCleanerManagerTest, CI LogCleanerIntegrationTest, OM OffsetMapTest.
"""

from typing import Final

_TO_COME: Final = {
    "CL-10", "CL-23", "CL-28", "CL-30", "CL-37", "CL-40",
    "CM-1", "CM-2", "CM-4", "CM-5", "CM-6", "CM-7", "CM-8", "CM-11",
    "CI-1", "CI-2", "CI-3", "CI-4", "CI-5", "CI-6", "CI-7", "CI-8",
}  # fmt: skip

CLEANING: Final[dict[str, str]] = {
    "CL-1": "old values go, newest stay",
    "CL-2": "retention while a log is cleaned",
    "CL-3": "preallocated files of cleaned segments",
    "CL-4": "statistics",
    "CL-5": "a map with room for few keys",
    "CL-6": "a map that becomes full",
    "CL-7": "the map of offsets",
    "CL-8": "deleted keys",
    "CL-9": "segments that may not be cleaned",
    "CL-10": "what is to be cleaned",
    "CL-11": "records without keys",
    "CL-12": "an aborted cleaning",
    "CL-13": "the last batch stays",
    "CL-14": "holes before the active segment",
    "CL-15": "old tombstones",
    "CL-16": "records larger than the buffers",
    "CL-17": "damaged batches",
    "CL-18": "a read that keeps nothing",
    "CL-19": "messages of another magic than their wrapper",
    "CL-20": "grouping segments",
    "CL-21": "groups of sparse offsets",
    "CL-22": "groups of empty segments",
    "CL-23": "groups with empty indexes",
    "CL-24": "overflowed segments",
    "CL-25": "producers after cleaning",
    "CL-26": "the last batch of a producer",
    "CL-27": "the last batch of an aborted transaction",
    "CL-28": "batches at sequence 0",
    "CL-29": "transactions",
    "CL-30": "transactions over segments",
    "CL-31": "commit markers",
    "CL-32": "abort markers",
    "CL-33": "abort markers with empty batches",
    "CL-34": "commit markers with empty batches",
    "CL-35": "empty control batches",
    "CL-36": "markers in other segments than their records",
    "CL-37": "several passes with aborted transactions",
    "CL-38": "keys like those of markers",
    "CL-39": "crashes while segments are replaced",
    "CL-40": "settings of the cleaner",
    "CM-1": "the dirtiest log is cleaned first",
    "CM-2": "errors name the log",
    "CM-3": "checkpoints that cannot be right",
    "CM-4": "checkpoints that are put right",
    "CM-5": "logs whose segments the cleaner deletes",
    "CM-6": "paused logs",
    "CM-7": "the cleaner's checkpoint",
    "CM-8": "pauses within pauses",
    "CM-9": "what may be cleaned",
    "CM-10": "open transactions",
    "CM-11": "states of a cleaning",
    "CI-1": "logs that cannot be cleaned",
    "CI-2": "the largest compaction lag",
    "CI-3": "the smallest compaction lag",
    "CI-4": "every codec",
    "CI-5": "compaction and deletion together",
    "CI-6": "old formats",
    "CI-7": "buffers of the cleaner",
    "CI-8": "interrupted threads",
    "OM-1": "keys of the offset map",
    "OM-2": "a full map",
    "OM-3": "offsets of the map",
    "OM-4": "how full the map is",
}

NOT_OF_CLEANING: Final[dict[str, str]] = dict.fromkeys(
    sorted(_TO_COME), "not held yet: the log cleaner is still being built"
)
