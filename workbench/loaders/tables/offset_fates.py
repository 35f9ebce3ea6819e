"""Which committed offsets a broker would remove at a time, with some retention, and by which rule.

Kafka: GroupCoordinatorShard.cleanupGroupMetadata, OffsetMetadataManager.cleanupExpiredOffsets (4.2)
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import pyarrow as pa

from workbench.config.definitions import Definition
from workbench.config.log_config import check
from workbench.config.values import at_least
from workbench.coordinator.era import Era
from workbench.coordinator.groups.stored_groups import CommittedOffset, StoredGroups
from workbench.inspection.listing import Listing
from workbench.loaders import schemas
from workbench.loaders.tables.rows import table_of
from workbench.runtime.times import time_text

OFFSETS_RETENTION: Final = Definition(
    "offsets.retention.minutes", "int", 7 * 24 * 60, at_least(1),
    "Time after which the committed offsets of a group without members are removed.",
)  # fmt: skip
_MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class OffsetFate:
    """What the clean-up of expired offsets does with one committed offset.

    Attributes:
        group: the group's id.
        topic, partition: where it is committed for.
        offset: the committed offset.
        commit_timestamp: when it was committed, ms.
        expires_at: when it expires, ms; None: never while the group is unchanged.
        rule: the rule of Kafka that decides.
        is_gone: whether it is removed at the given time.
        removes_group: whether the group is removed with it, because nothing else is left of it.
        reason: in words.
    """

    group: str
    topic: str
    partition: int
    offset: int
    commit_timestamp: int
    expires_at: int | None
    rule: str
    is_gone: bool
    removes_group: bool
    reason: str

    @property
    def name(self) -> str:
        """The partition, as its directory is named."""
        return f"{self.topic}-{self.partition}"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return asdict(self)


def retention_ms_of(config: Mapping[str, Any]) -> int | None:
    """Return a given `offsets.retention.minutes` in ms; None: it is not given.

    Raises:
        ConfigError: the value is not allowed.
    """
    if OFFSETS_RETENTION.name not in config:
        return None
    minutes = check(OFFSETS_RETENTION, config[OFFSETS_RETENTION.name])
    assert isinstance(minutes, int)  # the kind of the definition
    return minutes * _MINUTE_MS


def fates_of_offsets(
    listing: Listing, *, now: int, retention_ms: int | None = None, era: Era | None = None
) -> tuple[OffsetFate, ...]:
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


def _fate(each: CommittedOffset, coordinator: StoredGroups, emptied: set[str]) -> OffsetFate:
    assert each.expiry is not None
    at, rule = each.expiry
    is_gone = _is_gone(each, coordinator)
    reason = f"is kept: it expires {rule}"
    if at is not None:
        retention = ""
        if each.committed.expire_timestamp is None or coordinator.era is Era.BEFORE_2_1:
            minutes = coordinator.retention_ms // _MINUTE_MS
            retention = f", offsets.retention.minutes = {minutes:,}"
        word = "is removed: it expired" if is_gone else "is kept: it expires"
        reason = f"{word} at {time_text(at)} ({rule}{retention})"
    return OffsetFate(
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


def fate_table(fates: tuple[OffsetFate, ...]) -> pa.Table:
    """Return one row per committed offset (`schemas.OFFSET_FATES`)."""
    names = {"commit_time": "commit_timestamp"}
    fields = [names.get(name, name) for name in schemas.OFFSET_FATES.names]
    return table_of(
        schemas.OFFSET_FATES, ([getattr(fate, name) for name in fields] for fate in fates)
    )


def fate_sentence(fates: tuple[OffsetFate, ...]) -> str:
    """Return one sentence about all offsets; empty without any."""
    if not fates:
        return ""
    gone = sum(fate.is_gone for fate in fates)
    count = len({fate.group for fate in fates if fate.removes_group})
    text = f"{gone:,} of {len(fates):,} committed offsets expire"
    groups = "1 group" if count == 1 else f"{count:,} groups"
    return f"{text}, and {groups} with them" if count else text
