"""Build and parse names of the files and folders of a log directory.

The files of a segment are named after its base offset, in 20 digits; a producer snapshot after the
offset where it ends (exclusive). A suffix says what a broker was doing with a file: `.cleaned`
(compaction writes it), `.swap` (complete, to replace others), `.deleted` (waits for deletion),
`.part` (a metadata snapshot being written). A partition directory is named `<topic>-<partition>`;
with `.<id>-delete`, `.<id>-stray` or `.<id>-future` after it, it is not the partition's log, or not
yet.

Parsing never raises: None means that no broker uses such a name.

Kafka: LogFileUtils, LocalLog.parseTopicPartitionName, Snapshots (4.0)
"""

import os
import re
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from workbench.file_system import local
from workbench.layout.integers import INT32_MAX, INT64_MAX

FileKind = Literal["log", "index", "timeindex", "txnindex", "snapshot", "checkpoint"]
DirectoryKind = Literal["log", "delete", "stray", "future"]

DELETED: Final = ".deleted"
CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"
PART: Final = ".part"

LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"
QUORUM_STATE: Final = "quorum-state"

RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS: Final = "log-start-offset-checkpoint"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
CLEANER_OFFSETS: Final = "cleaner-offset-checkpoint"
META_PROPERTIES: Final = "meta.properties"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
LOCK: Final = ".lock"
BOOTSTRAP_CHECKPOINT: Final = "bootstrap.checkpoint"

REMOTE_INDEX_CACHE: Final = "remote-log-index-cache"
"""The folder where tiered storage keeps indexes."""

OFFSET_CHECKPOINTS: Final = (RECOVERY_POINTS, LOG_START_OFFSETS, HIGH_WATERMARKS, CLEANER_OFFSETS)
"""The four checkpoints of one format: an offset for each partition."""

PARTITION_FILES: Final = frozenset({LEADER_EPOCHS, PARTITION_METADATA, QUORUM_STATE})
"""Names without an offset that a broker writes into a partition directory."""

ROOT_FILES: Final = frozenset(
    {*OFFSET_CHECKPOINTS, META_PROPERTIES, CLEAN_SHUTDOWN, LOCK, BOOTSTRAP_CHECKPOINT}
)
"""Names of the plain files that a broker writes into a log directory."""

TEMPORARY: Final = local.TEMPORARY
"""Suffix of a checkpoint's name while it is written; a crash may leave it."""

MAX_OFFSET: Final = INT64_MAX
MAX_PARTITION: Final = INT32_MAX
MAX_EPOCH: Final = INT32_MAX
MAX_TOPIC_LENGTH: Final = 249
MAX_DIRECTORY_LENGTH: Final = 255  # in -delete and -stray names, which shorten the topic to fit

SEGMENT_KINDS: Final[tuple[FileKind, ...]] = ("log", "index", "timeindex", "txnindex")

_OFFSET_DIGITS: Final = 20
# What may follow the 20 digits. A lookup here, not a regular expression, because listing 10,000
# partitions parses 90,000 names.
_ENDINGS: Final[dict[str, tuple[FileKind, str, int | None]]] = {
    f".{kind}{suffix}": (kind, suffix, None)
    for kind in (*SEGMENT_KINDS, "snapshot")
    for suffix in ("", DELETED, CLEANED, SWAP)
}  # fmt: skip
_CHECKPOINT_ENDING: Final = re.compile(
    r"-([0-9]{10})(?:\.checkpoint(|\.deleted|\.part)|-[^/]*\.checkpoint(\.part))", re.ASCII
)
_MARKED_DIRECTORY: Final = re.compile(r"\S+-\S+\.\S+-(delete|stray|future)", re.ASCII)
_JAVA_INT: Final = re.compile(r"\+?\d+")  # Java takes the digits of every script
_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]+", re.ASCII)


class TopicPartition(NamedTuple):
    """A partition of a topic; sorts by topic, then number. `str()` is its directory's name."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class FileName(NamedTuple):
    """The parts of the name of a file that is named after an offset.

    Attributes:
        kind: the file's kind; "checkpoint" is a metadata snapshot of KRaft.
        offset: base offset of the segment; for "snapshot" and "checkpoint" the offset up to which
            (exclusive) they hold the state.
        suffix: "" for a file in use, otherwise `DELETED`, `CLEANED`, `SWAP` or `PART`.
        epoch: leader epoch of a "checkpoint"; None for the others.
    """

    kind: FileKind
    offset: int
    suffix: str = ""
    epoch: int | None = None


class DirectoryName(NamedTuple):
    """The parts of the name of a partition directory.

    Attributes:
        topic: may be shortened in "delete" and "stray" names.
        partition: its number.
        kind: "log" in use; "delete" waits for deletion; "stray" belongs to no topic the broker
            knows; "future" is a copy moving in from another log directory.
        unique_id: the text between the last dot and the kind; None for "log".
    """

    topic: str
    partition: int
    kind: DirectoryKind = "log"
    unique_id: str | None = None


@lru_cache(maxsize=4096)  # thousands of partitions hold files of the same few names
def parse_file_name(name: str) -> FileName | None:
    """Return the parts of a name that starts with an offset; None if no broker uses such a name.

    Names without an offset (`PARTITION_FILES`, `ROOT_FILES`) give None as well.
    """
    digits = name[:_OFFSET_DIGITS]
    parts = _ENDINGS.get(name[_OFFSET_DIGITS:]) or _checkpoint_parts(name)
    # isdecimal alone would accept the digits of other scripts.
    if parts is None or not (digits.isdecimal() and digits.isascii()):
        return None
    offset = int(digits)
    return FileName(parts[0], offset, parts[1], parts[2]) if offset <= MAX_OFFSET else None


def _checkpoint_parts(name: str) -> tuple[FileKind, str, int | None] | None:
    found = _CHECKPOINT_ENDING.fullmatch(name, _OFFSET_DIGITS)
    if found is None or int(found[1]) > MAX_EPOCH:
        return None
    return "checkpoint", found[2] or found[3] or "", int(found[1])


def misnamed_kind(name: str) -> FileKind | None:
    """Return the kind in a file's name without a valid offset, for example `5.log`; otherwise None.

    A broker parses the text before the first dot of such a name: it fails to start if that is not a
    number, and opens the file with 20 digits if it is.

    Kafka: LogLoader.loadSegmentFiles, LogFileUtils.offsetFromFileName (4.0)
    """
    if parse_file_name(name) is not None:
        return None
    for kind in (*SEGMENT_KINDS, "snapshot"):
        if name.endswith(f".{kind}"):
            return kind
    return None


def file_name(kind: FileKind, offset: int, suffix: str = "", epoch: int | None = None) -> str:
    """Return the name of a file that is named after ``offset``; `parse_file_name` parses it.

    Args:
        kind: the file's kind.
        offset: see `FileName`.
        suffix: "" or one of `DELETED`, `CLEANED`, `SWAP`, `PART`.
        epoch: only for a "checkpoint", and required there.

    Kafka: LogFileUtils.filenamePrefixFromOffset, Snapshots.filenameFromSnapshotId (4.0)
    """
    if epoch is None:
        return f"{offset:020d}.{kind}{suffix}"
    return f"{offset:020d}-{epoch:010d}.{kind}{suffix}"


def segment_paths(directory: str, offset: int, suffix: str = "") -> list[str]:
    """Return the paths of a segment's files, of the kinds `SEGMENT_KINDS`; see `file_name`."""
    stem = os.path.join(directory, f"{offset:020d}.")
    return [f"{stem}{kind}{suffix}" for kind in SEGMENT_KINDS]


def parse_directory_name(name: str) -> DirectoryName | None:
    """Return the parts of a partition directory's name; None if a broker would not start with it.

    The topic ends at the last `-`, so it may hold dashes and digits itself. `topic_name_problem`
    says whether the topic's name is allowed.

    Kafka: LocalLog.parseTopicPartitionName (4.0)
    """
    kind: DirectoryKind = "log"
    unique_id = None
    if name.endswith(("-delete", "-stray", "-future")):
        found = _MARKED_DIRECTORY.fullmatch(name)
        if found is None:
            return None
        kind = found[1]  # type: ignore[assignment]  # the pattern names just these three
        name, _, rest = name.rpartition(".")
        unique_id = rest.removesuffix(f"-{kind}")
    topic, dash, number = name.rpartition("-")
    if not dash or not topic or _JAVA_INT.fullmatch(number) is None:
        return None
    partition = int(number)
    if partition > MAX_PARTITION:
        return None
    return DirectoryName(topic, partition, kind, unique_id)


def directory_name(
    topic: str, partition: int, kind: DirectoryKind = "log", unique_id: str | None = None
) -> str:
    """Return the name of a partition directory; `parse_directory_name` parses it.

    Args:
        topic: shortened if a "delete" or "stray" name would have more than 255 characters.
        partition: its number.
        kind: the directory's kind.
        unique_id: 32 hex digits of a random UUID; required unless ``kind`` is "log".

    Kafka: LocalLog.logDeleteDirName, logStrayDirName, logFutureDirName (4.0)
    """
    if kind == "log":
        return f"{topic}-{partition}"
    ending = f"-{partition}.{unique_id}-{kind}"
    if kind != "future":
        topic = topic[: MAX_DIRECTORY_LENGTH - len(ending)]
    return topic + ending


def topic_name_problem(topic: str) -> str | None:
    """Return, in Kafka's words, why a broker would not create a topic of a name; None if it would.

    Kafka: Topic.validate (4.2)
    """
    if not topic:
        return "the empty string is not allowed"
    if topic in {".", ".."}:
        return "'.' or '..' is not allowed"
    if len(topic) > MAX_TOPIC_LENGTH:
        return f"the length of '{topic}' is longer than the max allowed length {MAX_TOPIC_LENGTH}"
    if _TOPIC.fullmatch(topic) is None:
        return (
            f"'{topic}' contains one or more characters other than ASCII alphanumerics, '.', "
            "'_' and '-'"
        )
    return None


def partition_problem(topic: object, number: object) -> str | None:
    """Return why no broker would create a partition of a topic; None if one would.

    Kafka: Topic.validate, ReplicationControlManager.createTopic (4.2)
    """
    if not isinstance(topic, str):
        return f"a topic's name is a text (found {topic!r})"
    if (problem := topic_name_problem(topic)) is not None:
        return f"topic name {topic!r} is invalid: {problem}"
    if isinstance(number, bool) or not (isinstance(number, int) and 0 <= number <= MAX_PARTITION):
        return f"partition {number!r} of {topic} is invalid (expected a number, 0 or more)"
    return None
