"""Which committed offsets a broker would remove at a time, with some retention, and by which rule.

Kafka: GroupCoordinatorShard.cleanupGroupMetadata, OffsetMetadataManager.cleanupExpiredOffsets (4.2)
"""

from collections.abc import Mapping
from typing import Any, Final

from workbench.config.broker_config import DEFINITIONS
from workbench.config.changed_defaults import defaults_before
from workbench.config.kafka_versions import series_of
from workbench.config.log_config import check
from workbench.coordinator.groups.stored_groups import CommittedOffset, StoredGroups
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.inspection.listing import Listing
from workbench.runtime.times import MINUTE, time_text
from workbench.tables.groups import OffsetFateRow

OFFSETS_RETENTION: Final = DEFINITIONS["offsets.retention.minutes"]


def retention_ms_of(config: Mapping[str, Any], kafka: str | None = None) -> int | None:
    """Return `offsets.retention.minutes` in ms: as given, otherwise the default of a version.

    Args:
        config: names to values.
        kafka: the version; None: the return value is None where nothing is given.

    Raises:
        ConfigError: the value is not allowed, or the version is unknown.
    """
    name = OFFSETS_RETENTION.name
    if name in config:
        minutes = check(OFFSETS_RETENTION, config[name])
    elif kafka is None:
        return None
    else:
        old = defaults_before(series_of(kafka))
        minutes = check(OFFSETS_RETENTION, old.get(name, OFFSETS_RETENTION.default))
    assert isinstance(minutes, int)  # the kind of the definition
    return minutes * MINUTE


def fates_of_offsets(
    listing: Listing,
    *,
    now: int,
    retention_ms: int | None = None,
    era: CoordinatorEra | None = None,
) -> tuple[OffsetFateRow, ...]:
    """Return the fate of each committed offset that a broker would serve after a restart.

    Args:
        listing: the directories.
        now: ms; when the clean-up runs.
        retention_ms: `offsets.retention.minutes` in ms; None: the default of the version.
        era: of the coordinator; None: of the one that wrote the records.

    Raises:
        OSError: a file cannot be read.
    """
    coordinator = StoredGroups(listing, now=now, era=era, retention_ms=retention_ms)
    served = [each for each in coordinator.offsets() if _is_served(each, coordinator)]
    emptied = _emptied(served, coordinator)
    return tuple(_fate(each, coordinator, emptied) for each in served)


def _is_served(each: CommittedOffset, coordinator: StoredGroups) -> bool:
    """Return whether a broker that has just loaded returns the offset."""
    return each.expiry is not None and (each.unserved is None or _is_gone(each, coordinator))


def _is_gone(each: CommittedOffset, coordinator: StoredGroups) -> bool:
    expiry, now = each.expiry, coordinator.now
    loaded = coordinator.groups.get(each.group)
    if expiry is None or now is None or loaded is None or loaded.unserved is not None:
        return False
    return expiry.is_over(now, coordinator.era)


def _emptied(offsets: list[CommittedOffset], coordinator: StoredGroups) -> set[str]:
    """Return the groups that the clean-up removes: no member, and no offset is left."""
    gone = {each.group for each in offsets}
    gone -= {each.group for each in offsets if not _is_gone(each, coordinator)}
    found = set()
    for name in gone:
        group, load, _ = coordinator.groups[name]
        if group.state == "Empty" and not any(load.table.pending_of(name)):
            found.add(name)
    return found


def _fate(each: CommittedOffset, coordinator: StoredGroups, emptied: set[str]) -> OffsetFateRow:
    assert each.expiry is not None
    at, rule = each.expiry
    is_gone = _is_gone(each, coordinator)
    reason = f"is kept: it expires {rule}"
    if at is not None:
        retention = ""
        if each.committed.expire_timestamp is None or coordinator.era is CoordinatorEra.BEFORE_2_1:
            minutes = coordinator.retention_ms // MINUTE
            retention = f", offsets.retention.minutes = {minutes:,}"
        word = "is removed: it expired" if is_gone else "is kept: it expires"
        reason = f"{word} at {time_text(at)} ({rule}{retention})"
    return OffsetFateRow(
        each.group,
        each.where.topic,
        each.where.partition,
        each.committed.offset,
        each.committed.commit_timestamp,
        at,
        rule,
        is_gone,
        each.group in emptied,
        reason,
    )


def fate_sentence(fates: tuple[OffsetFateRow, ...]) -> str:
    """Return one sentence about all offsets; empty without any."""
    if not fates:
        return ""
    gone = sum(fate.is_gone for fate in fates)
    count = len({fate.group for fate in fates if fate.removes_group})
    text = f"{gone:,} of {len(fates):,} committed offsets expire"
    groups = "1 group" if count == 1 else f"{count:,} groups"
    return f"{text}, and {groups} with them" if count else text
