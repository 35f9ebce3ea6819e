"""How brokers of each version of Kafka start, clean and delete: every rule that changed, as data.

Each rule is one line of a table: since when, until when, and a sentence. The engine gets one
`BrokerRules` with its context, and asks the field where Kafka has another branch; nothing compares
versions. What the fields do not say is as in 4.2. `limits` names what is known to differ and is
not modeled.

Kafka: Log, LogSegment, LogCleaner, LogManager at each tag (0.8.2.2 to 3.9), and their successors
(4.0 to 4.4)
"""

from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Annotated, Any, Final, Literal, NamedTuple

from workbench.config.kafka_versions import MODELED, SERIES, Number, number_of, series_of

OLD_LEAST_SEGMENT: Final = 14
NEW_LEAST_SEGMENT: Final = 1 << 20


class IndexCheck(Enum):
    """What a start does about an offset or time index that its sanity check refuses.

    Kafka: AbstractIndex.sanityCheck; KAFKA-7283 (2.3)
    """

    REFUSES = "the broker does not start"
    REBUILDS = "the segment is recovered and its indexes are rebuilt"
    SKIPPED = "offset and time index are not checked"


class SwapRule(Enum):
    """How a start finishes the replacement of segments that a crash interrupted.

    Kafka: Log.loadSegments, completeSwapOperations; KAFKA-6264 (2.0), LogLoader.load (3.0)
    """

    RENAME_LOG = "each .swap log is renamed; segments that it replaces are kept"
    RECOVER_FROM_FLOOR = (
        "each .swap is recovered, and replaces the segments in its range, the one before it too"
    )
    RECOVER_OVERLAPPING = "each .swap is recovered, and replaces the segments that it overlaps"
    RENAME_ALL = "the segments in the range of all .swap files are removed, and those are renamed"


class SnapshotRule(Enum):
    """Which producer snapshots a log keeps.

    Kafka: Log.minSnapshotsOffsetToRetain (0.11 to 2.7), removeStraySnapshots (2.8)
    """

    NONE = "there are none"
    LAST_SEGMENTS = "those of the last two segments, of the recovery point's, and of the end"
    EACH_SEGMENT = "one for each segment, and of the end"


class TopicsFrom(Enum):
    """Where a broker learns which topics exist."""

    ZOOKEEPER = "ZooKeeper"
    EITHER = "ZooKeeper, or in KRaft mode the metadata log"
    METADATA_LOG = "the metadata log"


class StrayRule(Enum):
    """What a broker in KRaft mode does with a log whose topic the metadata log does not know.

    Kafka: BrokerMetadataPublisher.findStrayPartitions (3.0 to 3.6), LogManager.isStrayKraftReplica
    (3.7)
    """

    KEPT = "the log is kept"
    DELETED = "the log is deleted once the broker has started"
    RENAMED_AT_LOAD = "the log is renamed as stray when it is loaded"


class PropertiesRule(Enum):
    """What has to be the same in the `meta.properties` of all log directories.

    Kafka: KafkaServer.getBrokerMetadataAndOfflineDirs (2.4),
    BrokerMetadataCheckpoint.getBrokerMetadataAndOfflineDirs (2.8 to 3.6), MetaPropertiesEnsemble
    (3.7)
    """

    IDS_THAT_ARE_THERE = "ids, where a file has them"
    BOTH_IDS = "broker.id and cluster.id, and whether a file has them"
    EVERYTHING = "every property"
    EVERYTHING_WITH_ZOOKEEPER = "every property with ZooKeeper; in KRaft mode, the ids"


class FailedDirectoryRule(Enum):
    """What a start does after one of several log directories has failed.

    Kafka: LogManager.loadLogs, getOrCreateLog; ReplicaManager.handleLogDirFailure (3.7)
    """

    ENDS_IN_A_LOG = "the broker ends if a log fails; if a checkpoint fails, it goes on without it"
    MAKES_LOGS_AGAIN = "the broker goes on, and makes empty logs in the other directories"
    KEEPS_PLACES = "the broker goes on, unless its metadata log is in that directory"


class _Rule(NamedTuple):
    """A rule: what each version does, and a sentence.

    Attributes:
        values: the first version of each value, ascending; the first is the oldest of all.
        sentence: what the rule says where it holds.
    """

    values: tuple[tuple[Number, object], ...]
    sentence: str


def _by_version(values: Mapping[str, object], sentence: str) -> _Rule:
    rows = ((tuple(map(int, first.split("."))), value) for first, value in values.items())
    return _Rule(tuple(rows), sentence)


def _since(version: str, sentence: str) -> _Rule:
    return _by_version({SERIES[0]: False, version: True}, sentence)


def _until(version: str, sentence: str) -> _Rule:
    return _by_version({SERIES[0]: True, version: False}, sentence)


class BrokerRules(NamedTuple):
    """The rules of start, cleaning and retention of one version.

    A line has a rule's name, the first version with each value, and what the rule says. `version`
    is the version asked for, such as "2.8.2".
    """

    version: str

    # how logs are loaded and recovered
    index_check: Annotated[
        IndexCheck,
        _by_version(
            {"0.8.2": IndexCheck.REFUSES, "0.9": IndexCheck.REBUILDS, "2.3": IndexCheck.SKIPPED},
            "what a start does about indexes that are implausible",
        ),
    ]
    leaves_missing_index: Annotated[
        bool,
        _by_version(
            {"0.8.2": False, "0.9": True, "0.10.1": False, "1.1": True, "2.3": False},
            "a missing offset index becomes an empty one, which passes the check, because opening "
            "a segment made the file",
        ),
    ]
    has_time_index: Annotated[bool, _since("0.10.1", "segments have a time index")]
    has_producer_state: Annotated[
        bool, _since("0.11", "brokers know producers: snapshots, transaction indexes")
    ]
    snapshots: Annotated[
        SnapshotRule,
        _by_version(
            {
                "0.8.2": SnapshotRule.NONE,
                "0.11": SnapshotRule.LAST_SEGMENTS,
                "2.8": SnapshotRule.EACH_SEGMENT,
            },
            "which producer snapshots are kept",
        ),
    ]
    indexes_last_offset: Annotated[
        bool, _since("2.0", "an index entry has the last offset of its batch, not the first")
    ]
    indexes_each_batch: Annotated[
        bool,
        _since(
            "3.9",
            "of batches that are appended together, each gets the index entry that is due; before, "
            "all together get one at most",
        ),
    ]
    skips_bad_tail: Annotated[
        bool,
        _until(
            "0.10.2",
            "a size below 14, or beyond the end of the file, ends a log as a torn batch does; "
            "later versions refuse a size below 14",
        ),
    ]
    recovery_limits_size: Annotated[
        bool, _until("0.11", "recovery truncates at a batch larger than `max.message.bytes`")
    ]
    swaps: Annotated[
        SwapRule,
        _by_version(
            {
                "0.8.2": SwapRule.RENAME_LOG,
                "0.9": SwapRule.RECOVER_FROM_FLOOR,
                "2.0": SwapRule.RECOVER_OVERLAPPING,
                "3.0": SwapRule.RENAME_ALL,
            },
            "how an interrupted replacement is finished",
        ),
    ]
    undoes_partial_swaps: Annotated[
        bool, _since("2.0", "a `.swap` at or after a `.cleaned` is removed")
    ]
    splits_overflow: Annotated[
        bool, _since("2.0", "a segment with offsets too far from its base offset is split")
    ]
    moves_first_epoch: Annotated[
        bool,
        _until(
            "3.0",
            "the first leader epoch begins at the log start offset, even if no checkpoint has it",
        ),
    ]
    searches_last_offsets: Annotated[
        bool,
        _until(
            "4.1",
            "a search takes the first batch whose last offset reaches the wanted one; later "
            "versions also look where batches begin",
        ),
    ]
    allocates_told_size: Annotated[
        bool,
        _until(
            "0.10",
            "the size of a message is allocated before it is compared with the file; garbage that "
            "claims a huge one ends the process",
        ),
    ]
    empties_below_start: Annotated[
        bool,
        _since("2.2.1", "all segments of a log that ends before its log start offset are removed"),
    ]

    # how logs are cleaned
    has_delete_horizons: Annotated[
        bool,
        _since(
            "3.1",
            "the first cleaning that meets a tombstone or marker of magic 2 sets its delete "
            "horizon; before, the file's time decided (KIP-534)",
        ),
    ]
    keeps_last_of_round: Annotated[
        bool, _since("4.0", "the last batch of a round of cleaning is kept, perhaps empty")
    ]
    upgrades_old_batches: Annotated[
        bool, _since("4.0", "a cleaned batch of magic 0 or 1 becomes magic 2")
    ]
    newest_magic: Annotated[
        int,
        _by_version(
            {"0.8.2": 0, "0.10": 1, "0.11": 2},
            "the newest format of batches that a broker reads",
        ),
    ]
    writes_old_formats: Annotated[bool, _until("3.0", "a topic can be configured for magic 0 or 1")]
    needs_keys: Annotated[bool, _until("0.9", "the cleaner's thread ends at a record without key")]
    unpacks: Annotated[
        bool, _until("0.9", "the cleaner writes what is left of a compressed message uncompressed")
    ]
    has_min_lag: Annotated[
        bool, _since("0.10.1", "`min.compaction.lag.ms` exists, and `compact,delete`")
    ]
    resets_beyond_end: Annotated[
        bool,
        _since(
            "2.3",
            "a checkpoint of the cleaner beyond the log end is ignored; before, the log is not "
            "cleaned until it is longer",
        ),
    ]
    has_max_lag: Annotated[bool, _since("2.3", "`max.compaction.lag.ms` exists")]
    cleans_at_load: Annotated[
        bool,
        _until(
            "3.1",
            "after a start the cleaner does not wait for high watermarks: it cleans each log that "
            "is due before retention deletes segments of compacted logs",
        ),
    ]
    marks_uncleanable: Annotated[
        bool, _since("2.1", "a log that fails is left alone; before, the thread ends")
    ]

    # what is deleted, and when a segment is rolled
    retains_by_file_time: Annotated[
        bool, _until("0.10.1", "`retention.ms` goes by the time of the file")
    ]
    knows_unlimited_age: Annotated[
        bool,
        _since("0.9", "a `retention.ms` of -1 sets no limit; before, every segment is older"),
    ]
    rolls_by_creation: Annotated[
        bool, _until("0.10.1", "`segment.ms` counts from when the segment was opened")
    ]
    deletes_below_start: Annotated[
        bool, _since("0.11", "segments below the log start offset are deleted (KIP-107)")
    ]
    keeps_above_high_watermark: Annotated[
        bool, _since("0.11", "segments above the high watermark are not deleted")
    ]
    has_remote_tier: Annotated[
        bool, _since("3.6", "segments are copied to a remote tier, and then deleted here (KIP-405)")
    ]
    least_segment_bytes: Annotated[
        int,
        _by_version(
            {"0.8.2": OLD_LEAST_SEGMENT, "4.1": NEW_LEAST_SEGMENT},
            "the least `segment.bytes` that a topic can have",
        ),
    ]
    least_log_segment_bytes: Annotated[
        int,
        _by_version(
            {"0.8.2": OLD_LEAST_SEGMENT, "4.0": NEW_LEAST_SEGMENT},
            "the least `log.segment.bytes` that a broker can have",
        ),
    ]

    # how a node starts
    topics_from: Annotated[
        TopicsFrom,
        _by_version(  # KRaft in 2.8 was a preview
            {
                "0.8.2": TopicsFrom.ZOOKEEPER,
                "3.0": TopicsFrom.EITHER,
                "4.0": TopicsFrom.METADATA_LOG,
            },
            "where a broker learns which topics exist",
        ),
    ]
    strays: Annotated[
        StrayRule,
        _by_version(
            {
                "0.8.2": StrayRule.KEPT,
                "3.0": StrayRule.DELETED,
                "3.7": StrayRule.RENAMED_AT_LOAD,
            },
            "what is done with logs of unknown topics",
        ),
    ]
    knows_stray_names: Annotated[
        bool,
        _since("3.6", "a folder may be named as stray; before, a broker does not start with one"),
    ]
    failed_directory: Annotated[
        FailedDirectoryRule,
        _by_version(
            {
                "0.8.2": FailedDirectoryRule.ENDS_IN_A_LOG,
                "3.3": FailedDirectoryRule.MAKES_LOGS_AGAIN,
                "3.7": FailedDirectoryRule.KEEPS_PLACES,
            },
            "what a start does after one of several log directories has failed",
        ),
    ]
    checks_topic_id_version: Annotated[
        bool,
        _until(
            "3.7",
            "a `partition.metadata` of another version than 0 takes its log directory offline",
        ),
    ]
    reads_snapshots_at_start: Annotated[
        bool,
        _since(
            "3.6", "a node does not start if the newest snapshot of its metadata log is damaged"
        ),
    ]
    checks_quorum_state_version: Annotated[
        bool, _since("3.7", "a `quorum-state` of an unknown version keeps a node from starting")
    ]
    clears_quorum_state: Annotated[
        bool,
        _until(
            "3.8", "a `quorum-state` that is not a JSON object is removed, and version 1 is unknown"
        ),
    ]
    stores_cluster_id: Annotated[
        bool,
        _since(
            "2.4", "`meta.properties` has the `cluster.id`, and the node joins no other cluster"
        ),
    ]
    properties_alike: Annotated[
        PropertiesRule,
        _by_version(
            {
                "0.8.2": PropertiesRule.IDS_THAT_ARE_THERE,
                "2.4": PropertiesRule.BOTH_IDS,
                "2.8": PropertiesRule.EVERYTHING,
                "3.4": PropertiesRule.EVERYTHING_WITH_ZOOKEEPER,
                "3.7": PropertiesRule.IDS_THAT_ARE_THERE,
            },
            "what has to be the same in the `meta.properties` of all log directories",
        ),
    ]
    needs_properties_version: Annotated[
        bool,
        _until(
            "2.8",
            "a broker does not start if `meta.properties` has no `version` or no `broker.id`; a "
            "log directory with an unknown version goes offline",
        ),
    ]
    skips_unreadable_properties: Annotated[
        bool,
        _since(
            "3.7",
            "a log directory whose `meta.properties` cannot be read goes offline; before, the "
            "broker does not start",
        ),
    ]
    has_directory_ids: Annotated[bool, _since("3.7", "`meta.properties` has a `directory.id`")]
    epoch_in_clean_shutdown: Annotated[
        bool, _since("3.7", "the marker of a clean shutdown has the broker's epoch")
    ]

    @staticmethod
    def of(version: str = MODELED) -> "BrokerRules":
        """Return the rules of a version.

        Args:
            version: as in `kafka_versions.series_of`.

        Raises:
            ConfigError: the version is unknown; the known ones are named.
        """
        return _rules_of(str(version))

    @property
    def series(self) -> str:
        """The series of the version: "2.8"."""
        return series_of(self.version)


@cache
def _rules_of(version: str) -> BrokerRules:
    at = number_of(version)
    values: dict[str, Any] = {}
    for name, hint in BrokerRules.__annotations__.items():
        for rule in getattr(hint, "__metadata__", ()):
            (*_, values[name]) = (value for first, value in rule.values if first <= at)
    return BrokerRules(version, **values)


MODELED_RULES: Final = BrokerRules.of()
"""The rules of the version that the engine follows by default."""


About = Literal["start", "cleaning"]


def limits(rules: BrokerRules, *about: About) -> list[str]:
    """Return a sentence for each thing in which brokers of a version differ from what is modeled.

    Empty for the versions that the engine follows in everything it is asked.

    Args:
        rules: those of the version.
        about: what is asked; nothing: everything.
    """
    found = []
    if "start" in about or not about:
        if rules.allocates_told_size:
            found.append(
                "garbage at the end of a log that claims a huge size ends the process, depending "
                "on its heap; here the log ends before the garbage"
            )
        if not rules.splits_overflow:
            found.append(
                "a segment with offsets too far from its base offset is left as it is; here it "
                "is split"
            )
        if not rules.indexes_last_offset:
            found.append("index entries hold the first offset of a batch; rebuilt here, the last")
        if rules.snapshots is not SnapshotRule.EACH_SEGMENT:
            found.append("fewer producer snapshots are kept, or none; here, one for each segment")
    if "cleaning" in about or not about:
        if rules.writes_old_formats:
            found.append(
                "batches of magic 0 and 1 that lose records keep their format; here the same "
                "records are left in batches of magic 2, of other sizes"
            )
        if rules.unpacks:
            found.append("what is left of a compressed message is uncompressed, so larger")
    return found
