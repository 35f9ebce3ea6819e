"""The coordinator's log and its offsets in memory after a step, for a player's static picture.

``static/coordinators/offsets_data.js`` keeps the same for the page.
"""

from collections.abc import Sequence
from typing import NamedTuple

from widgets.coordinators.offset_steps import Effect
from workbench.runtime.steps import Step

WITHOUT_VALUE = frozenset({"written", "marker", "ignored", "invalid", "group"})


class Entry(NamedTuple):
    """An offset in memory.

    Attributes:
        group, where: its group and partition.
        offset: the committed offset.
        record: the offset of its record in the coordinator's log.
        state: "cached", "pending" (its transaction is open) or "expired" (to be removed).
    """

    group: str
    where: str
    offset: int
    record: int
    state: str


class OffsetStates:
    """The state after one step.

    Attributes:
        log: the partition of the last step with one.
        records: offset → look of each record of that log: "unread", "written", "cached",
            "pending", "superseded", "dropped", "removed", "tombstone", "marker", "group",
            "ignored" or "invalid".
        entries: the offsets in memory, by group and partition; pending ones last.
    """

    def __init__(self, steps: Sequence[Step], at: int) -> None:
        """Go through the steps up to ``at``."""
        effects = [Effect(step) for step in steps]
        self._records: dict[str, dict[int, str]] = {}
        self._entries: dict[str, dict[tuple[str, str, int], Entry]] = {}
        self._groups: dict[tuple[str, str], int] = {}
        self.log = next((each.log for each in effects if each.role), "")
        for number, effect in enumerate(effects[: at + 1]):
            if effect.role == "loading":
                ahead = effects[number + 1 :]
                self._begin(effect.log, ahead)
            elif effect.role:
                self._take(effect)
            if effect.role:
                self.log = effect.log
        self.records = dict(sorted(self._records.get(self.log, {}).items()))
        found = self._entries.get(self.log, {}).values()
        self.entries = sorted(found, key=lambda each: (each.state == "pending", each))

    def _begin(self, log: str, ahead: Sequence[Effect]) -> None:
        """Forget the offsets; the records that the load will read are there already."""
        unread: dict[int, str] = {}
        for each in ahead:
            if each.log != log:
                continue
            if each.role in {"loading", "loaded", "unloaded"}:
                break
            if each.at >= 0:
                unread.update((each.at + i, "unread") for i in range(each.count))
        self._records[log], self._entries[log] = unread, {}

    def _take(self, effect: Effect) -> None:
        records = self._records.setdefault(effect.log, {})
        entries = self._entries.setdefault(effect.log, {})
        role = effect.role
        if role == "unloaded":
            entries.clear()
            self._records[effect.log] = dict.fromkeys(records, "unread")
        elif role in WITHOUT_VALUE and effect.at >= 0:
            records.update((effect.at + i, role) for i in range(effect.count))
            if role == "group":
                self._replace_group(effect, records)
        elif role in {"cached", "pending", "settled", "dropped"}:
            _put(effect, records, entries)
        elif role in {"tombstone", "expired"}:
            _remove(effect, records, entries)

    def _replace_group(self, effect: Effect, records: dict[int, str]) -> None:
        before = self._groups.get((effect.log, effect.group))
        if before is not None and before in records and before != effect.at:
            records[before] = "superseded"
        self._groups[effect.log, effect.group] = effect.at


Key = tuple[str, str, int]


def _keys(effect: Effect) -> tuple[Key, Key]:
    """Return the keys of an offset in force, and of one that waits for the effect's producer."""
    return (effect.group, effect.where, -1), (effect.group, effect.where, effect.producer)


def _put(effect: Effect, records: dict[int, str], entries: dict[Key, Entry]) -> None:
    """Put an offset into memory, or drop a pending one."""
    value, role = effect.value, effect.role
    if value is None:
        return
    key, pending = _keys(effect)
    record = effect.at if role in {"cached", "pending"} else value.record_offset
    if role in {"settled", "dropped"}:
        entries.pop(pending, None)
    if role == "dropped":
        records[record] = "dropped"
        return
    state = "pending" if role == "pending" else "cached"
    place = pending if role == "pending" else key
    _end(records, entries.get(place), "superseded")
    records[record] = state
    entries[place] = Entry(effect.group, effect.where, value.offset, record, state)


def _remove(effect: Effect, records: dict[int, str], entries: dict[Key, Entry]) -> None:
    """Remove an offset by its tombstone, or mark it as one that a tombstone will remove."""
    key, pending = _keys(effect)
    if effect.role == "tombstone":
        records[effect.at] = "tombstone"
        _end(records, entries.pop(key if effect.producer < 0 else pending, None), "removed")
    elif key in entries:
        entries[key] = entries[key]._replace(state="expired")


def _end(records: dict[int, str], entry: Entry | None, look: str) -> None:
    if entry is not None:
        records[entry.record] = look
