"""What the palette finds by a few letters: tabs, topics, partitions, groups, offsets, keys."""

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import workbench
from widgets.view.text import quoted
from workbench.coordinator.groups.stored_groups import StoredGroups

MOST_FOUND: Final = 30
"""Places that are offered at once."""

_OFFSET: Final = re.compile(r"(?:(.*\S)[\s@:#]+)?(\d{1,19})")
_KINDS: Final = ("offset", "tab", "topic", "partition", "group", "key", "text")


class Found(NamedTuple):
    """Where the palette leads.

    Attributes:
        kind: "tab", "topic", "partition", "group", "offset", "key" or "text".
        name: what it is called; of an offset, its partition; of a key or text, what is searched.
        about: what happens there.
        offset: of an offset.
    """

    kind: str
    name: str
    about: str
    offset: str = ""


class Palette:
    """Names of everything in log directories, searched as somebody types.

    The groups are read once, in a thread, when something is first searched for.

    Args:
        logs: the directories, as they are now.
        tabs: the names of the tabs.
    """

    def __init__(self, logs: Callable[[], workbench.LogDirectory], tabs: Sequence[str]) -> None:
        self._logs, self._tabs = logs, tabs
        self._known: tuple[Any, list[tuple[str, str, str]]] = None, []
        self._groups: list[str] = []
        self._reading: threading.Thread | None = None
        self._groups_of: Any = None

    def find(self, text: str, partition: str | None) -> dict[str, Any]:
        """Return what a text can mean, the likeliest first.

        Args:
            text: letters of a name, several words in any order; an offset, perhaps after its
                partition; or what a record has.
            partition: the selected one.

        Returns:
            ``found``: see `Found`; ``is_reading``: whether groups are still being read.
        """
        text = text.strip()
        names = [*self._names(), *(("group", name, name.lower()) for name in self._read_groups())]
        words = text.lower().split()
        ranked = sorted(_ranked(names, words), key=lambda each: each[0])[:MOST_FOUND]
        found = [Found(kind, name, _ABOUT[kind]) for _, kind, name in ranked]
        found = [*self._offsets(text, partition), *found]
        if text:
            found += [
                Found("key", text, "records with this key"),
                Found("text", text, "records in which this text is"),
            ]
        is_reading = self._reading is not None and self._reading.is_alive()
        return {"found": [[*each] for each in found], "is_reading": is_reading}

    def _names(self) -> list[tuple[str, str, str]]:
        """Return kind, name and its small letters of everything that has a name in the listing."""
        logs = self._logs()
        if self._known[0] is not logs.listing:
            named = [("tab", self._tabs), ("topic", logs.topics), ("partition", logs)]
            rows = [(kind, name, name.lower()) for kind, names in named for name in names]
            self._known = logs.listing, rows
        return self._known[1]

    def _read_groups(self) -> list[str]:
        """Return the groups that are known, and begin to read them if that was not done."""
        listing = self._logs().listing
        if self._groups_of is not listing and (
            self._reading is None or not self._reading.is_alive()
        ):
            self._groups_of = listing

            def read() -> None:
                self._groups = sorted(StoredGroups(listing).groups)

            self._reading = threading.Thread(target=read, name="groups", daemon=True)
            self._reading.start()
        return self._groups

    def _offsets(self, text: str, partition: str | None) -> list[Found]:
        """Return the offset that a text names: of the selected partition, or of one in the text."""
        given = _OFFSET.fullmatch(text)
        if given is None:
            return []
        name = partition if given[1] is None else given[1].replace(" ", "-")
        if name is None or name not in self._logs():
            return []
        return [Found("offset", name, "this offset", given[2])]


_ABOUT: Final = {
    "tab": "open this tab",
    "topic": "its first partition",
    "partition": "select it",
    "group": "where it stands",
}


def _ranked(
    names: Iterable[tuple[str, str, str]], words: Sequence[str]
) -> Iterable[tuple[tuple[int, int, int, str], str, str]]:
    """Yield what holds every word, with how far it is from what was typed."""
    first = words[0] if words else ""
    for kind, name, low in names:
        if all(word in low for word in words):
            at = low.find(first)
            is_start = at == 0 or not low[at - 1].isalnum()
            rank = 0 if low == first else 1 if at == 0 else 2 if is_start else 3
            yield (rank, _KINDS.index(kind), len(name), name), kind, name


def query_of(found_kind: str, text: str) -> str:
    """Return the query that finds a key, or a text anywhere."""
    return f"key={quoted(text)}" if found_kind == "key" else quoted(text)
