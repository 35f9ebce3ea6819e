"""What a record browser answers when its front end asks: pages, records, counts, an export."""

import os
from collections.abc import Iterable
from typing import Any, Final

import workbench
from widgets._file import PAGE_ROWS, Answer
from widgets._values import ShowsValues
from widgets.records.column_order import check_order
from widgets.records.profiles import ValueCount, is_hidden
from widgets.records.shown_search import PATIENCE, ShownSearch, read_record
from widgets.view.meanings import Meanings
from widgets.view.record_cells import MOST_IN_PANE, pane_bytes, record_in_full
from workbench.loaders.exports.export import Export, Format
from workbench.loaders.queries.language import completions
from workbench.loaders.scan.not_searched import summary
from workbench.loaders.scan.scan import Scan
from workbench.runtime.words import plural
from workbench.values.masking import Masks

MOST_ROWS: Final = 1000
MOST_IN_FILE: Final = 5000
MOST_OPENED_IN_FILE: Final = 500
"""Rows, and records in full, that a page of `to_html` can show."""


class RecordAnswers(ShowsValues):
    """The part of `RecordBrowser` that answers messages; each ``answer_`` method is one kind.

    Attributes:
        logs: the log directories searched.
        columns: what is shown of each record.
        shown: the search as it is listed; None if there are no partitions.
        export: the last export, see `Export`.
    """

    logs: workbench.LogDirectory
    columns: Any
    shown: ShownSearch | None = None
    export: Export | None = None
    _run: int
    _meanings: Meanings
    _count: ValueCount | None = None

    @property
    def _times(self) -> tuple[int, int] | None:
        """The brushed time, [from, to) in ms; None without one."""
        raise NotImplementedError

    def _show(self) -> None:
        """Send the state of the search and its first rows."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Stop the search; what was found remains."""
        raise NotImplementedError

    def _listed_scan(self) -> Scan:
        """Return a scan of the listed records."""
        raise NotImplementedError

    def answer_progress(self, run: int) -> Answer:
        """Send how far the search is, if it is still the one that is asked about."""
        if run == self._run:
            self._show()
        return {}, []

    def answer_complete(self, text: str, at: int) -> Answer:
        """Return what the word before a place of a query can become: start, text and meaning.

        Names of fields of JSON are among them as far as values are shown.
        """
        return {"completions": [[*each] for each in completions(text, at, self._field_paths())]}, []

    def _field_paths(self) -> list[str]:
        lens = self.lens
        return self.shown.paths(lens) if self.shown is not None and lens.show_values else []

    def answer_fields(self) -> Answer:
        """Return the paths of the fields that can be columns."""
        return {"paths": self._field_paths()}, []

    def answer_profile(self, run: int) -> Answer:
        """Return what is in the columns of some listed records; see `ShownSearch.profile`."""
        if run != self._run or self.shown is None:
            return {"of": 0, "columns": {}}, []
        return self.shown.profile(self.columns, self.lens), []

    def answer_count_by(self, run: int, column: str, *, again: bool) -> Answer:
        """Count the listed records by a column for a while; ``again``: go on with that.

        Raises:
            ValueError: values are hidden.
            QueryError: it is not a column.
        """
        if run != self._run or self.shown is None:
            return {"is_over": True, "counted": 0, "rows": []}, []
        check_order(column)
        if is_hidden(column, self.lens):
            raise ValueError("records are counted by what they hold only while values are shown")
        if not again or self._count is None:
            self._count = self.shown.count_by(column, self.lens)
        self._count.advance(PATIENCE)
        return self._count.state(), []

    def answer_differences(self, run: int) -> Answer:
        """Return what differs inside and outside of the brush; see `ShownSearch.differences`."""
        if run != self._run or self.shown is None or self._times is None:
            return {"inside": 0, "outside": 0, "found": []}, []
        return self.shown.differences(self.lens), []

    def answer_cancel(self, run: int) -> Answer:
        """Stop the search."""
        if run == self._run:
            self.cancel()
        return {}, []

    def answer_rows(self, run: int, start: int, stop: int, *, whole: bool = False) -> Answer:
        """Return rows [start, stop) of the list, at most 1000; ``whole``: with all of each text."""
        if run != self._run or self.shown is None or not 0 <= start < stop <= start + MOST_ROWS:
            return {"rows": []}, []
        lens = self.lens
        lens.most = MOST_IN_PANE if whole else lens.most
        return {"rows": self.shown.rows(self.shown.listed()[start:stop], lens, self.columns)}, []

    def answer_place(self, partition: str, offset: str) -> Answer:
        """Return the row of a record in the list; -1 if it is not listed."""
        return {
            "row": -1 if self.shown is None else self.shown.place_of(partition, int(offset))
        }, []

    def answer_record(self, partition: str, offset: str) -> Answer:
        """Return a record in full, and the first bytes of its key and value."""
        row = read_record(self.logs.listing, partition, int(offset))
        return ({"record": None}, [b"", b""]) if row is None else self._in_full(row)

    def _in_full(self, row: dict[str, Any]) -> Answer:
        lens, meaning = self.lens, {}
        if lens.decodes and not row["is_control"]:
            headers = [(each["key"].encode(), each["value"]) for each in row["headers"]]
            (meaning,) = self._meanings.of(row["topic"], [row["key"]], [row["value"]], [headers])
        return {"record": record_in_full(row, meaning, lens)}, pane_bytes(row, lens)

    def answer_export(self, path: str, format: Format) -> Answer:  # noqa: A002 - the message's name
        """Begin to write the listed records to a file."""
        if self.export is not None and self.export.status == "running":
            raise ValueError("another file is being written")
        if self.mask is not None and not isinstance(self.mask, Masks):
            raise ValueError(
                "the mask is a function, which a file cannot be written with: give rules of a mask,"
                " as in logs.scan(mask=…)"
            )
        wanted = os.path.expanduser(path.strip())
        self.export = Export(self._listed_scan(), wanted, format)
        self.export.start()
        self.export.wait(PATIENCE)
        return self.answer_export_progress()

    def answer_export_progress(self) -> Answer:
        """Return how far the export is: ``status``, ``records`` and a ``text``."""
        export = self.export
        if export is None:
            return {"status": "ready", "records": 0, "text": ""}, []
        left = summary(export.not_searched)
        texts = {
            "done": f"{plural(export.records, 'record')} in {os.path.abspath(export.path)}"
            + (f"; {left}" if left else ""),
            "canceled": "Stopped. No file was written.",
            "failed": str(export.error),
        }
        text = texts.get(export.status, "")
        return {"status": export.status, "records": export.records, "text": text}, []

    def answer_stop_export(self) -> Answer:
        """Stop the export."""
        if self.export is not None:
            self.export.cancel()
        return {}, []

    def foreseen_answers(self) -> Iterable[tuple[str, dict[str, Any], Answer]]:
        """Yield the first pages of the list, and the records of the first rows."""
        if self.shown is None:
            return
        listed = len(self.shown.listed())
        for start in range(0, min(listed, MOST_IN_FILE), PAGE_ROWS):
            window = {"run": self._run, "start": start, "stop": start + PAGE_ROWS}
            yield "rows", window, self.answer_rows(self._run, start, start + PAGE_ROWS)
        yield "profile", {"run": self._run}, self.answer_profile(self._run)
        yield "fields", {}, self.answer_fields()
        for at, row in self.shown.records(0, min(listed, MOST_OPENED_IN_FILE)):
            name = f"{row['topic']}-{row['partition']}"
            place = {"partition": name, "offset": str(row["offset"])}
            yield "place", place, ({"row": at}, [])
            yield "record", place, self._in_full(row)
