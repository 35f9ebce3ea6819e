"""The bytes of any file of a log directory, a window at a time, with the fields in it.

Indexes and producer snapshots have fields by their layout, text files one for each line; of other
files, the window is one field called ``value``, because its bytes may be users' data.
"""

import os
from typing import Any, Final

import numpy as np

from workbench.file_system.source import FileSource
from workbench.files import names
from workbench.inspection.bytes.field_list import ByteField, FieldList
from workbench.inspection.entries import FileEntry
from workbench.inspection.facts.file_facts import in_use
from workbench.layout.index_entries import ABORTED_TRANSACTION, OFFSET_ENTRY, TIME_ENTRY
from workbench.layout.producer_snapshot import PRODUCER_ENTRY, SNAPSHOT_HEADER
from workbench.runtime.times import time_text

_ENTRIES: Final[dict[str, np.dtype[Any]]] = {
    "index": OFFSET_ENTRY,
    "timeindex": TIME_ENTRY,
    "txnindex": ABORTED_TRANSACTION,
    "snapshot": PRODUCER_ENTRY,
}
_TEXTS: Final = frozenset(
    {
        *names.OFFSET_CHECKPOINTS,
        *names.PARTITION_FILES,
        names.META_PROPERTIES,
        names.CLEAN_SHUTDOWN,
    }
)
_MOST_TEXT: Final = 1 << 20  # bytes; longer texts are not split into lines


def file_window(entry: FileEntry, start: int, stop: int) -> tuple[bytes, list[ByteField]]:
    """Return bytes [start, stop) of a file, as far as it has them, and the fields that they touch.

    Raises:
        NotRegularFileError: a folder, FIFO, socket or device has this name.
        OSError: the file cannot be read.
    """
    name = os.path.basename(entry.path)
    parsed = names.parse_file_name(name)
    with entry.open() as source:
        data = source.read(start, stop - start).tobytes()
        stop = start + len(data)
        if parsed is not None and parsed.kind in _ENTRIES:
            layout = _ENTRIES[parsed.kind]
            header = SNAPSHOT_HEADER if parsed.kind == "snapshot" else None
            first = header.itemsize if header else 0
            low = first + max(0, start - first) // layout.itemsize * layout.itemsize
            low = 0 if start < first else low
            high = min(source.size, stop + layout.itemsize)
            fields = FieldList(memoryview(source.read(low, high - low)), low)
            _explain_entries(fields, layout, header, parsed.offset)
            return data, [each for each in fields.fields if each.position < stop]
        if in_use(name) in _TEXTS:
            return data, _lines(source) if source.size <= _MOST_TEXT else []
    return data, [ByteField("value", start, len(data), data, "", 1)] if data else []


def _explain_entries(
    fields: FieldList, layout: np.dtype[Any], header: np.dtype[Any] | None, base_offset: int
) -> None:
    """Add the fields of the entries in the data, and of the header if it begins there."""
    at, end = 0, len(fields.data)
    first = header.itemsize if header else 0
    if header is not None and fields.base == 0:
        group = fields.begin("header", 0)
        fields.add_layout(header, 0, end, {})
        at = min(first, end)
        fields.finish(group, at)
    while at < end:
        number = (fields.base + at - first) // layout.itemsize
        group = fields.begin(f"entry {number}", at)
        values = fields.add_layout(layout, at, end, {})
        if "relative_offset" in values:
            fields.amend("relative_offset", f"offset {base_offset + values['relative_offset']:,}")
        if "timestamp" in values:
            fields.amend("timestamp", time_text(values["timestamp"]))
        at = min(at + layout.itemsize, end)
        fields.finish(group, at)


def _lines(source: FileSource) -> list[ByteField]:
    """Return a field for each line of a text."""
    fields, at = [], 0
    data = source.read(0, source.size).tobytes()
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        fields.append(ByteField(f"line {number}", at, len(line), text, "", 1))
        at += len(line)
    return fields
