"""What an explorer answers when its front end asks: records, bytes, files, offsets."""

from collections.abc import Iterable
from typing import Any

import numpy as np

import workbench
from widgets._file import PAGE_ROWS, Answer
from widgets._values import ShowsValues
from widgets._widget import MOST_BYTES
from widgets.explorer.file_view import FileView, list_files
from widgets.explorer.segment_view import SegmentView
from widgets.view.bytes import byte_window
from widgets.view.packing import pack
from widgets.view.records import OPEN
from widgets.view.text import offset_or_time

PAGE_BYTES = 4096
"""Bytes that the front end asks for at once; `static/bytes/byte_pages.js` has the same number."""


class ExplorerAnswers(ShowsValues):
    """The part of `LogExplorer` that answers messages; each ``answer_`` method is one kind.

    Attributes:
        logs: the log directories shown.
        shown: the selected segment as read; None without one.
    """

    logs: workbench.LogDirectory
    shown: SegmentView | None
    selected: Any
    file: Any
    _file_view: FileView | None
    _place: tuple[str | None, int | None]

    def columns_of(self, partition: str, view: SegmentView) -> dict[str, Any]:
        """Return what the state has of a segment, and whether values are shown."""
        shown = {"shows_values": self.show_values}
        return view.columns(partition, self.saved_lens) | shown

    def answer_records(self, partition: str, segment: str, start: int, stop: int) -> Answer:
        """Return rows [start, stop) of the record list, at most 1000."""
        view = self._current(partition, segment)
        if view is None or not 0 <= start < stop <= start + 1000:
            return {"rows": []}, []
        return {"rows": view.page(start, stop, self.lens)}, []

    def foreseen_answers(self) -> Iterable[tuple[str, dict[str, Any], Answer]]:
        """Yield those about the selected segment: its files, records, and bytes of each batch."""
        if self.shown is None:
            return
        partition, segment = self._place
        place: dict[str, Any] = {"partition": partition, "segment": str(segment)}
        yield "fates", place, self.answer_fates(**place)
        yield "files", {"partition": partition}, self.answer_files(str(partition))
        for start in range(0, len(self.shown.records), PAGE_ROWS):
            window = {**place, "start": start, "stop": start + PAGE_ROWS}
            answer = self.answer_records(**window)
            yield "records", window, answer
            for at, row in enumerate(answer[0]["rows"], start):
                if row[0]:
                    found = {"row": at, "place": self.shown.place_of(at)}
                    yield "row", {**place, "offset": str(row[0])}, (found, [])
        for row in self.shown.rows:
            position, explained = int(row["position"]), self.shown.explained(int(row["position"]))
            sizes = {
                False: len(explained.batch.data),
                True: len(explained.batch.decompressed or b""),
            }
            for inside, size in sizes.items():
                for start in range(0, size, PAGE_BYTES):
                    stop = min(size, start + PAGE_BYTES)
                    window = {**place, "position": position, "inside": inside}
                    window |= {"start": start, "stop": stop}
                    yield "bytes", window, self.answer_bytes(**window)

    def answer_row(self, partition: str, segment: str, offset: str) -> Answer:
        """Return an offset's row in the record list, and the position of its bytes in the batch."""
        view = self._current(partition, segment)
        if view is None:
            return {"row": -1, "place": None}, []
        row = view.records.row_of_offset(int(offset))
        return {"row": row, "place": view.place_of(row)}, []

    def answer_fates(self, partition: str, segment: str) -> Answer:
        """Return the outcome of each batch's transaction, as a packed column and its buffer."""
        view = self._current(partition, segment)
        packed = pack(np.zeros(0, np.int8) if view is None else view.fates())
        data = packed.pop("data")
        return {"column": packed}, [] if data is None else [data]

    def answer_bytes(
        self, *, partition: str, segment: str, position: int, inside: bool, start: int, stop: int
    ) -> Answer:
        """Return bytes [start, stop) of a batch, on disk or decompressed, and their fields."""
        view = self._current(partition, segment)
        if view is None or not 0 <= start < stop <= start + MOST_BYTES:
            return {"start": start, "fields": [], "masks": []}, [b""]
        explained = view.explained(position)
        inner = explained.batch.decompressed
        data = (inner or b"") if inside else explained.batch.data
        fields = explained.inside if inside else explained.on_disk
        lens = OPEN if view.is_control(position) else self.lens
        content, buffers = byte_window(data[start:stop], fields, start, lens)
        return content | {"decompressed_size": None if inner is None else len(inner)}, buffers

    def answer_files(self, partition: str) -> Answer:
        """Return rows of a partition's files."""
        return {"rows": list_files(self.logs.listing.partitions[partition].files)}, []

    def answer_file_bytes(self, *, path: str, start: int, stop: int) -> Answer:
        """Return bytes [start, stop) of the file that is shown, and their fields."""
        view = self._file_view if self.file == path else None
        if view is None or not 0 <= start < stop <= start + MOST_BYTES:
            return {"start": start, "fields": [], "masks": [], "decompressed_size": None}, [b""]
        return view.window(start, stop, self.lens)

    def answer_go(self, text: str, partition: str | None) -> Answer:
        """Select the offset, or the UTC time in any ISO form, that the text names."""
        if partition is None:
            raise ValueError("select a partition first")
        offset = self._offset_of(text.strip(), partition)
        self.selected = {"partition": partition, "offset": offset}
        return {"text": f"Offset {offset:,}."}, []

    def _offset_of(self, text: str, partition: str) -> int:
        offset, moment = offset_or_time(text)
        if offset is not None or moment is None:
            return offset or 0
        found = self.logs.listing.partitions[partition].offset_for_timestamp(moment)
        if found is None:
            raise ValueError(f"{partition} has no record at or after {text}")
        return int(found)

    def answer_refresh(self) -> Answer:
        """List the directory again and reread the selection."""
        self.refresh()
        return {}, []

    def _current(self, partition: str, segment: str) -> SegmentView | None:
        """Return the view a question is about; None if another segment is selected now."""
        return self.shown if self._place == (partition, int(segment)) else None

    def refresh(self) -> None:
        """List the log directories again."""
        raise NotImplementedError
