"""One file of a log directory, read for the explorer: what it says, and windows of its bytes."""

import os
from itertools import islice
from typing import Any, Final

from widgets.view.bytes import byte_window, places
from widgets.view.file_descriptions import file_description
from widgets.view.records import Lens
from workbench.inspection.bytes.field_list import ByteField
from workbench.inspection.bytes.file_fields import file_window
from workbench.inspection.entries import FileEntry
from workbench.inspection.facts.file_facts import is_small_file_name, small_file_facts
from workbench.inspection.listing import Listing, Root
from workbench.inspection.partition import BATCH_FILES, DiskPartition
from workbench.inspection.segment import Segment
from workbench.runtime.times import time_text

MOST_ENTRIES: Final = 1000
"""The explorer shows so many entries or batches of a file, and says how many more there are."""

MOST_FILES: Final = 5000
"""The explorer lists so many files of a partition."""

_LONGEST_ENTRY: Final = 46  # bytes, of a producer snapshot

_BESIDE: Final = frozenset({"path", "size", "kind", "problems"})
_BATCH_COLUMNS: Final = (
    "position", "size", "base_offset", "last_offset", "record_count", "max_timestamp", "magic",
)  # fmt: skip

_NOTHING: Final[dict[str, Any]] = {
    "modified": "", "facts": [], "columns": [], "rows": [], "places": [], "total": 0,
    "problems": [],
}  # fmt: skip


def find_file(listing: Listing, path: str) -> FileEntry | None:
    """Return the listed file with this path; None if the listing has none: no other is opened."""
    folder = os.path.dirname(path)
    for root in listing.roots:
        every = [*root.files]
        for partition in root.partitions:
            every += partition.files if partition.path == folder else ()
        for entry in every:
            if entry.path == path:
                return entry
    return None


def find_unread(listing: Listing, path: str) -> tuple[str, str] | None:
    """Return what a listed folder or unread entry is, in a name and a sentence; None for others."""
    for root in listing.roots:
        for name in root.unknown_folders:
            if f"{root.path}/{name}" == path:
                sentence = "A broker that finds a folder of this name here does not start."
                return "not a partition directory", sentence
        places: tuple[Root | DiskPartition, ...] = (root, *root.partitions)
        for place in places:
            if isinstance(place, DiskPartition) and place.path != os.path.dirname(path):
                continue
            if isinstance(place, DiskPartition) and path in {
                f"{place.path}/{n}" for n in place.folders
            }:
                return "folder", "No broker creates a folder in a partition directory."
            for each in place.unread:
                if each.path == path:
                    return (
                        "not read",
                        f"{each.found[:1].upper()}{each.found[1:]}: it is not opened.",
                    )
    return None


def list_files(files: tuple[FileEntry, ...]) -> list[list[Any]]:
    """Return rows of a partition's files: path, name, what it is, size in bytes, last written."""
    return [
        [
            each.path,
            each.name,
            file_description(each.name)[0],
            each.size,
            time_text(each.modified_ms),
        ]
        for each in files[:MOST_FILES]
    ]


def nothing_read(path: str, kind: str, meaning: str) -> dict[str, Any]:
    """Return what `FileView.contents` would of something that is not opened."""
    name = os.path.basename(path)
    return {"path": path, "name": name, "kind": kind, "meaning": meaning, "size": 0, **_NOTHING}


class FileView:
    """The explorer's view of a file.

    Attributes:
        entry: the file.
    """

    def __init__(self, entry: FileEntry) -> None:
        self.entry = entry

    def contents(self) -> dict[str, Any]:
        """Return what the file says: facts, a table of its entries, and what is wrong with it."""
        kind, meaning = file_description(self.entry.name)
        return self._readable() | {
            "path": self.entry.path,
            "name": self.entry.name,
            "kind": kind,
            "meaning": meaning,
            "size": self.entry.size,
            "modified": time_text(self.entry.modified_ms),
        }

    def _readable(self) -> dict[str, Any]:
        try:
            return self._decoded()
        except OSError as error:
            return _NOTHING | {"problems": [f"cannot be read: {error.strerror or error}"]}

    def _decoded(self) -> dict[str, Any]:
        name = self.entry.name
        for suffix in (".deleted", ".cleaned", ".swap", ".part"):
            name = name.removesuffix(suffix)
        if name.endswith(BATCH_FILES):
            return self._batches()
        if not is_small_file_name(self.entry.name):
            return _NOTHING
        facts = small_file_facts(self.entry.path, MOST_ENTRIES, self.entry.fs)
        entries: list[dict[str, Any]] = []
        shown: list[list[str]] = []
        total = 0
        for key, value in facts.items():
            if key in _BESIDE:
                continue
            if isinstance(value, list) and all(isinstance(each, dict) for each in value):
                entries, total = value[:MOST_ENTRIES], len(value)
            elif isinstance(value, dict):
                entries = [{"name": name, "value": text} for name, text in value.items()]
                total = len(value)
            else:
                shown.append([_words(key), _text(key, value)])
        total = max(total, facts.get("entries_in_use", 0), facts.get("producer_count", 0))
        columns = list(entries[0]) if entries else []
        return {
            "facts": shown,
            "columns": [_words(each) for each in columns],
            "rows": [[_text(each, entry[each]) for each in columns] for entry in entries],
            "total": total,
            "problems": facts["problems"],
            "places": self._places(len(entries)) if not facts["problems"] else [],
        }

    def _places(self, count: int) -> list[list[int]]:
        """Return where each entry's bytes are, start and size, if the entries are in file order."""
        groups = [each for each in self._fields() if each.name.startswith(("entry ", "line "))]
        if groups and groups[0].name == "line 1":
            groups = groups[2:] if self.entry.name.endswith("checkpoint") else []
        return [[each.position, each.size] for each in groups[:count]]

    def _fields(self) -> list[ByteField]:
        _, fields = file_window(self.entry, 0, MOST_ENTRIES * _LONGEST_ENTRY)
        return fields

    def _batches(self) -> dict[str, Any]:
        """Return the first batches of a file of records."""
        segment = Segment(0, {"log": self.entry}, is_active=True)
        rows: list[list[str]] = []
        total = 0
        for table in islice(segment.batch_parts(), MOST_ENTRIES):
            total += len(table)
            rows += [
                [_text(each, row[each].item()) for each in _BATCH_COLUMNS]
                for row in table.rows[: max(0, MOST_ENTRIES - len(rows))]
            ]
        columns = [_words(each) for each in _BATCH_COLUMNS]
        places = [[int(row[0].replace(",", "")), int(row[1].replace(",", ""))] for row in rows]
        return _NOTHING | {"columns": columns, "rows": rows, "total": total, "places": places}

    def window(self, start: int, stop: int, lens: Lens) -> tuple[dict[str, Any], list[bytes]]:
        """Return bytes [start, stop) and their fields; users' data as the lens allows."""
        data, fields = file_window(self.entry, start, stop)
        content, buffers = byte_window(data, places(fields, 0), start, lens)
        return content | {"decompressed_size": None}, buffers


def _words(name: str) -> str:
    return name.replace("_", " ")


def _text(name: str, value: Any) -> str:
    if value is None:
        return "none"
    if "timestamp" in name and isinstance(value, int) and value >= 0:
        return time_text(value)
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
