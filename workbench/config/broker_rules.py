"""How brokers of each version of Kafka start, clean and delete: every rule that changed, as data.

Each rule is one field, so a reader sees what a version added. The engine gets one `BrokerRules`
with its context, and asks the field where Kafka has another branch; nothing compares versions.
What the fields do not say is as in 4.2. `limits` names what is known to differ and is not modeled.

Kafka: Log, LogSegment, LogCleaner, LogManager at each tag (0.8.2.2 to 3.9), and their successors
(4.0 to 4.3)
"""

from enum import Enum
from typing import Final, Literal, NamedTuple, Self

from workbench.config.kafka_versions import MODELED, Number, number_of, series_of

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
    RENAMED_AFTER_START = "the log is renamed as stray once the broker has started"
    RENAMED_AT_LOAD = "the log is renamed as stray when it is loaded"


class BrokerRules(NamedTuple):
    """The rules of start, cleaning and retention of one version.

    Attributes:
        version: the version asked for, such as "2.8.2".
        index_check: what a start does about indexes that are implausible.
        leaves_missing_index: a missing offset index becomes an empty one, which passes the check,
            because opening a segment made the file (0.9.0, 0.10.0, 1.1 to 2.2).
        has_time_index: segments have a time index (0.10.1).
        has_producer_state: brokers know producers: snapshots, transaction indexes (0.11).
        snapshots: which producer snapshots are kept.
        indexes_last_offset: an index entry has the last offset of its batch, not the first (2.0).
        skips_bad_tail: a size below 14, or beyond the end of the file, ends a log as a torn batch
            does; later versions refuse a size below 14 (before 0.10.2).
        searches_last_offsets: a search takes the first batch whose last offset reaches the wanted
            one; since 4.1 it also looks where batches begin.
        allocates_told_size: the size of a message is allocated before it is compared with the
            file; garbage that claims a huge one ends the process (before 0.10).
        recovery_limits_size: recovery truncates at a batch larger than `max.message.bytes` (before
            0.11).
        swaps: how an interrupted replacement is finished.
        undoes_partial_swaps: a `.swap` at or after a `.cleaned` is removed (2.0).
        splits_overflow: a segment with offsets too far from its base offset is split (2.0).
        moves_first_epoch: the first leader epoch begins at the log start offset, even if no
            checkpoint has it (before 3.0).
        empties_below_start: all segments of a log that ends before its log start offset are
            removed (2.2.1).
        has_delete_horizons: the first cleaning that meets a tombstone or marker of magic 2 sets
            its delete horizon; before, the file's time decided (KIP-534, 3.1).
        keeps_last_of_round: the last batch of a round of cleaning is kept, perhaps empty (4.0).
        upgrades_old_batches: a cleaned batch of magic 0 or 1 becomes magic 2 (4.0).
        writes_old_formats: a topic can be configured for magic 0 or 1 (before 3.0).
        needs_keys: the cleaner's thread ends at a record without key (0.8.2).
        unpacks: the cleaner writes what is left of a compressed message uncompressed (0.8.2).
        has_min_lag: `min.compaction.lag.ms` exists, and `compact,delete` (0.10.1).
        has_max_lag: `max.compaction.lag.ms` exists (2.3).
        marks_uncleanable: a log that fails is left alone; before, the thread ends (2.1).
        retains_by_file_time: `retention.ms` goes by the time of the file (before 0.10.1).
        rolls_by_creation: `segment.ms` counts from when the segment was opened (before 0.10.1).
        deletes_below_start: segments below the log start offset are deleted (KIP-107, 0.11).
        keeps_above_high_watermark: segments above the high watermark are not deleted (0.11).
        topics_from: where a broker learns which topics exist.
        strays: what is done with logs of unknown topics.
        clears_quorum_state: a `quorum-state` that is not a JSON object is removed, and version 1 is
            unknown (before 3.8).
        has_directory_ids: `meta.properties` has a `directory.id` (3.7).
        epoch_in_clean_shutdown: the marker of a clean shutdown has the broker's epoch (3.7).
        least_segment_bytes: the least `segment.bytes` that a user can set.
    """

    version: str
    index_check: IndexCheck
    leaves_missing_index: bool
    has_time_index: bool
    has_producer_state: bool
    snapshots: SnapshotRule
    indexes_last_offset: bool
    skips_bad_tail: bool
    recovery_limits_size: bool
    swaps: SwapRule
    undoes_partial_swaps: bool
    splits_overflow: bool
    moves_first_epoch: bool
    searches_last_offsets: bool
    allocates_told_size: bool
    empties_below_start: bool
    has_delete_horizons: bool
    keeps_last_of_round: bool
    upgrades_old_batches: bool
    writes_old_formats: bool
    needs_keys: bool
    unpacks: bool
    has_min_lag: bool
    has_max_lag: bool
    marks_uncleanable: bool
    retains_by_file_time: bool
    rolls_by_creation: bool
    deletes_below_start: bool
    keeps_above_high_watermark: bool
    topics_from: TopicsFrom
    strays: StrayRule
    clears_quorum_state: bool
    has_directory_ids: bool
    epoch_in_clean_shutdown: bool
    least_segment_bytes: int

    @classmethod
    def of(cls, version: str = MODELED) -> Self:
        """Return the rules of a version.

        Args:
            version: as in `kafka_versions.series_of`.

        Raises:
            ConfigError: the version is unknown; the known ones are named.
        """
        at = number_of(version)
        return cls(
            version=str(version),
            index_check=_index_check(at),
            leaves_missing_index=(0, 9) <= at < (0, 10, 1) or (1, 1) <= at < (2, 3),
            has_time_index=at >= (0, 10, 1),
            has_producer_state=at >= (0, 11),
            snapshots=_snapshots(at),
            indexes_last_offset=at >= (2, 0),
            skips_bad_tail=at < (0, 10, 2),
            recovery_limits_size=at < (0, 11),
            swaps=_swaps(at),
            undoes_partial_swaps=at >= (2, 0),
            splits_overflow=at >= (2, 0),
            moves_first_epoch=at < (3, 0),
            searches_last_offsets=at < (4, 1),
            allocates_told_size=at < (0, 10),
            empties_below_start=at >= (2, 2, 1),
            has_delete_horizons=at >= (3, 1),
            keeps_last_of_round=at >= (4, 0),
            upgrades_old_batches=at >= (4, 0),
            writes_old_formats=at < (3, 0),
            needs_keys=at < (0, 9),
            unpacks=at < (0, 9),
            has_min_lag=at >= (0, 10, 1),
            has_max_lag=at >= (2, 3),
            marks_uncleanable=at >= (2, 1),
            retains_by_file_time=at < (0, 10, 1),
            rolls_by_creation=at < (0, 10, 1),
            deletes_below_start=at >= (0, 11),
            keeps_above_high_watermark=at >= (0, 11),
            topics_from=_topics_from(at),
            strays=_strays(at),
            clears_quorum_state=at < (3, 8),
            has_directory_ids=at >= (3, 7),
            epoch_in_clean_shutdown=at >= (3, 7),
            least_segment_bytes=NEW_LEAST_SEGMENT if at >= (4, 0) else OLD_LEAST_SEGMENT,
        )

    @property
    def series(self) -> str:
        """The series of the version: "2.8"."""
        return series_of(self.version)


def _index_check(at: Number) -> IndexCheck:
    if at < (0, 9):
        return IndexCheck.REFUSES
    return IndexCheck.REBUILDS if at < (2, 3) else IndexCheck.SKIPPED


def _snapshots(at: Number) -> SnapshotRule:
    if at < (0, 11):
        return SnapshotRule.NONE
    return SnapshotRule.LAST_SEGMENTS if at < (2, 8) else SnapshotRule.EACH_SEGMENT


def _swaps(at: Number) -> SwapRule:
    if at < (0, 9):
        return SwapRule.RENAME_LOG
    if at < (2, 0):
        return SwapRule.RECOVER_FROM_FLOOR
    return SwapRule.RECOVER_OVERLAPPING if at < (3, 0) else SwapRule.RENAME_ALL


def _topics_from(at: Number) -> TopicsFrom:
    if at < (3, 0):  # KRaft in 2.8 was a preview
        return TopicsFrom.ZOOKEEPER
    return TopicsFrom.EITHER if at < (4, 0) else TopicsFrom.METADATA_LOG


def _strays(at: Number) -> StrayRule:
    if at < (3, 0):
        return StrayRule.KEPT
    if at < (3, 6):
        return StrayRule.DELETED
    return StrayRule.RENAMED_AFTER_START if at < (3, 7) else StrayRule.RENAMED_AT_LOAD


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
        if rules.needs_keys:
            found.append("a record without key ends the cleaner; here it is dropped, as since 0.9")
    return found
