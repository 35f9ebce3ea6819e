"""What each file of a log directory is, in a name and a sentence."""

from typing import Final

_ABOUT: Final[dict[str, tuple[str, str]]] = {
    "recovery-point-offset-checkpoint": (
        "recovery points",
        (
            "Up to which offset each partition was flushed: after an unclean shutdown, recovery "
            "begins there."
        ),
    ),
    "log-start-offset-checkpoint": (
        "log start offsets",
        (
            "The first readable offset of each partition where it is above the first segment's, "
            "for example after records were deleted on request."
        ),
    ),
    "replication-offset-checkpoint": (
        "high watermarks",
        (
            "The high watermark of each partition when the broker last wrote the file; consumers "
            "read up to the high watermark."
        ),
    ),
    "cleaner-offset-checkpoint": (
        "cleaner offsets",
        "Up to which offset the cleaner has cleaned each compacted partition.",
    ),
    "meta.properties": (
        "broker and cluster",
        "Which broker and cluster the log directory belongs to; another broker refuses it.",
    ),
    ".kafka_cleanshutdown": (
        "clean shutdown file",
        "A broker wrote it when it shut down cleanly: the next start needs no recovery.",
    ),
    ".lock": (
        "lock",
        (
            "A running broker holds a lock on the file, so that no other opens the directory. "
            "The file itself is empty."
        ),
    ),
    "bootstrap.checkpoint": ("bootstrap metadata", "The records a cluster's metadata begins with."),
    "leader-epoch-checkpoint": (
        "leader epochs",
        "The first offset of each leader epoch; followers use it to find where to truncate.",
    ),
    "partition.metadata": (
        "topic id",
        "The topic's id: a topic that is deleted and created again has another.",
    ),
    "quorum-state": (
        "quorum state",
        "The last election of the metadata quorum that this voter took part in.",
    ),
    "log": ("log", "Records, in batches."),
    "index": (
        "offset index",
        "Where batches begin: a lookup starts at the last entry at or before its offset.",
    ),
    "timeindex": (
        "time index",
        "The largest timestamp up to an offset: a lookup by time starts here.",
    ),
    "txnindex": (
        "transaction index",
        "The segment's aborted transactions: read_committed consumers skip their records.",
    ),
    "snapshot": (
        "producer snapshot",
        (
            "The state of each producer id at the offset in the name: its epoch, last sequence "
            "number and open transaction."
        ),
    ),
    "checkpoint": ("metadata snapshot", "The cluster's metadata at an offset, as records."),
}
_SUFFIXES: Final[dict[str, str]] = {
    ".deleted": "It waits for its deletion.",
    ".cleaned": "An incomplete cleaning left it; a broker deletes it when it starts.",
    ".swap": "A complete cleaning left it; a broker completes the swap when it starts.",
    ".tmp": "It was being written; a broker ignores it.",
    ".part": "It was being written; a broker deletes it when it starts.",
}
UNKNOWN: Final = ("unknown file", "No broker creates a file of this name.")


def file_description(name: str) -> tuple[str, str]:
    """Return what a file of this name is: a short name, and what it is for."""
    stem, state = name, ""
    for suffix, sentence in _SUFFIXES.items():
        if name.endswith(suffix):
            stem, state = name.removesuffix(suffix), f" {sentence}"
    kind, sentence = _ABOUT.get(stem) or _by_ending(stem) or UNKNOWN
    return kind, sentence + state


def _by_ending(stem: str) -> tuple[str, str] | None:
    digits, _, ending = stem.partition(".")
    return _ABOUT.get(ending) if digits.replace("-", "").isdigit() else None
