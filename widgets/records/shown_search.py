"""A search as the page shows it: how far it is, its matches in an order, their rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from widgets.records.field_columns import (
    document_of,
    field_cell,
    field_paths,
    fields_of,
    values_of,
)
from widgets.records.profiles import (
    ValueCount,
    differences,
    documents_for,
    is_hidden,
    is_searched,
    profile_of,
    values_in,
)
from widgets.view.meanings import Meanings
from widgets.view.packing import pack
from widgets.view.record_cells import ROW_COLUMNS, ReadRecord, match_row, read_records
from widgets.view.records import Lens
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition
from workbench.loaders.scan.not_searched import summary
from workbench.loaders.scan.scan import Scan
from workbench.loaders.schemas import SCAN_FIELDS
from workbench.loaders.search.matches import PLACE_ORDERS
from workbench.loaders.search.search import Search
from workbench.loaders.search.sort_keys import SortKey
from workbench.loaders.search.time_histogram import Bins

HEAD_ROWS: Final = 60
"""Rows that travel with the result, so that a saved notebook shows them without a kernel."""

PATIENCE: Final = 0.25
"""Seconds that a new query waits for a first page before it shows what there is."""

MOST_PATHS: Final = 500
"""Paths into JSON that a query can be completed with."""

MOST_PROFILED: Final = 500
"""Listed records, evenly chosen, from which the profile of a column is made."""

ROWS_AT_ONCE: Final = 50
"""Records may be large: no more of them are in memory together."""

_WHOLE: Final = frozenset({"value", "time"})  # columns without a profile: each row has its own

Numbers = npt.NDArray[np.int64]


class ShownSearch:
    """One search, which runs in a thread of its own from the beginning.

    Attributes:
        search: the search.
        meanings: decodes keys and values.
        listing: the directories as they are listed now.
        brokers: name of a partition in the listing → its broker's id; of one broker's, nothing.
        whole: the records of the same place over time, as far as any search has looked at them.
        is_extended: whether what was written since it was done was searched, too.
        order, descending, times: how the matches are listed; change them at any time, as far as
            `can_sort_by` allows.
    """

    def __init__(
        self,
        scan: Scan,
        meanings: Meanings,
        order: str,
        *,
        listing: Listing,
        brokers: Mapping[str, str],
        descending: bool,
        sort_key: SortKey | None = None,
        whole: Bins | None = None,
    ) -> None:
        self.meanings, self.whole = meanings, whole
        self.listing, self.brokers = listing, brokers
        self.order, self.descending = order, descending
        self.times: tuple[int, int] | None = None
        self.is_extended = False
        self._paths: tuple[tuple[int, bool], list[str]] | None = None
        self.search = Search(scan, newest_first=descending and order == "time", sort_key=sort_key)
        self.search.start()
        self.search.wait(matches=HEAD_ROWS, seconds=PATIENCE)

    def can_sort_by(self, order: str) -> bool:
        """Return whether the search kept what it takes to sort its matches so."""
        kept = self.search.matches.kept
        return order in PLACE_ORDERS or (kept is not None and order == kept.name)

    def listed(self) -> Numbers:
        """Return the numbers of the matches that are listed, in their order."""
        return self.search.matches.arranged(
            self.order, descending=self.descending, times=self.times
        )

    def place_of(self, partition: str, offset: int) -> int:
        """Return the row of a record in the list; -1 if it is not listed."""
        replica = self.listing.partitions.get(partition)
        if replica is None:
            return -1
        return self.search.matches.place_of(replica, offset, self.listed())

    def rows(self, numbers: Numbers, lens: Lens, columns: Sequence[str] = ()) -> list[Any]:
        """Return matches as rows of the list; null where one cannot be read any more.

        Args:
            numbers: of matches.
            lens: how much is shown.
            columns: names of columns; a row ends with the cells of those that are fields, by name,
                and of several brokers with the id of its own.
        """
        fields = fields_of(columns)
        rows: list[Any] = [None] * len(numbers)
        for place, record in self._read(numbers, lens):
            row = match_row(record, lens)
            cells: dict[str, Any] = {}
            if fields:
                document = document_of(record, lens)
                cells = {
                    name: field_cell(values_of(field, document), lens)
                    for name, field in fields.items()
                }
            if self.brokers:
                cells["broker"] = [self.brokers.get(record.place, ""), ""]
            rows[place] = [*row, cells] if cells else row
        return rows

    def _read(self, numbers: Numbers, lens: Lens) -> Iterator[tuple[int, ReadRecord]]:
        """Yield matches that can still be read, with their places among the numbers."""
        for start in range(0, len(numbers), ROWS_AT_ONCE):
            some = self.search.matches.read(numbers[start : start + ROWS_AT_ONCE], ROW_COLUMNS)
            named = [self._named(each) for each in some.partitions]
            records = read_records(some.table, lens, self.meanings, named)
            for place, record in zip(some.places, records, strict=True):
                yield start + int(place), record

    def _named(self, partition: DiskPartition) -> str:
        """Return the name of a partition in the listing."""
        own = self.listing.partitions.get(partition.name)
        return partition.name if own is None or own.path == partition.path else partition.path

    def profile(self, columns: Sequence[str], lens: Lens) -> dict[str, Any]:
        """Return what the columns of `MOST_PROFILED` listed records have, evenly chosen.

        Returns:
            ``of``: how many records; ``columns``: name → see `profile_of`; hidden ones are absent.
        """
        records = self._sample(self.listed(), lens)
        shown = [name for name in columns if not is_hidden(name, lens) and name not in _WHOLE]
        documents = documents_for(shown, records, lens)
        return {
            "of": len(records),
            "columns": {
                name: profile_of(
                    name,
                    values_in(name, records, documents, lens),
                    is_searched=is_searched(name, records, lens),
                )
                for name in shown
            },
        }

    def _sample(self, numbers: Numbers, lens: Lens) -> list[ReadRecord]:
        """Return at most `MOST_PROFILED` matches, evenly chosen, as far as they can be read."""
        count = min(len(numbers), MOST_PROFILED)
        places = np.linspace(0, len(numbers) - 1, count).astype(np.int64)
        return [record for _place, record in self._read(numbers[places], lens)]

    def count_by(self, column: str, lens: Lens) -> ValueCount:
        """Return the count of the listed records by what they have in a column, not begun."""
        numbers = np.sort(self.listed())  # as they were found: each batch is read once
        records = (record for _place, record in self._read(numbers, lens))
        return ValueCount(column, records, lens)

    def differences(self, lens: Lens) -> dict[str, Any]:
        """Return what differs between records of the brushed time and those of other times.

        Returns:
            ``inside`` and ``outside``: how many records were compared, evenly chosen; ``found``:
            see `profiles.differences`.
        """
        every = self.search.matches.arranged()
        inside = self.search.matches.arranged(times=self.times)
        samples = [self._sample(some, lens) for some in (inside, np.setdiff1d(every, inside))]
        names = ["partition", "key", "size"]
        if lens.show_values:
            documents = [document_of(each, lens) for some in samples for each in some[:HEAD_ROWS]]
            names += field_paths(documents, MOST_PATHS)
        shown = [name for name in names if not is_hidden(name, lens)]
        return {
            "inside": len(samples[0]),
            "outside": len(samples[1]),
            "found": differences(shown, samples[0], samples[1], lens),
        }

    def records(self, start: int, stop: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield listed records [start, stop) with all their columns, and their places."""
        numbers = self.listed()[start:stop]
        for at in range(0, len(numbers), ROWS_AT_ONCE):
            some = self.search.matches.read(numbers[at : at + ROWS_AT_ONCE], SCAN_FIELDS)
            for place, row in zip(some.places, dicts(some.table), strict=True):
                yield start + at + int(place), row

    def paths(self, lens: Lens) -> list[str]:
        """Return the paths of fields in the first listed records, as far as the lens shows them.

        Those of decoded keys and values are columns, too, but a query reads JSON alone.
        """
        count = min(self.search.matches.listed, HEAD_ROWS)
        seen = (count, lens.show_values)
        if self._paths is None or self._paths[0] != seen:
            numbers = np.arange(count)
            found = [document_of(record, lens) for _place, record in self._read(numbers, lens)]
            self._paths = seen, field_paths(found, MOST_PATHS)
        return self._paths[1]

    def state(self, lens: Lens, columns: Sequence[str] = ()) -> dict[str, Any]:
        """Return how far the search is, its histogram and the first rows."""
        search = self.search
        is_over = search.is_over  # before the matches, so that the last state is complete
        listed = self.listed()
        bins = search.histogram.bins()
        return {
            "status": search.status if is_over else "running",
            "problem": "" if search.error is None else str(search.error),
            "query": search.scan.where.text,
            "count": len(listed),
            "is_extended": self.is_extended,
            "found": search.matches.count,
            "listed": search.matches.listed,
            "records_read": search.records_read,
            "bytes_read": search.bytes_read,
            "bytes_total": search.bytes_total,
            "seconds": round(search.seconds, 2),
            "finding_count": search.finding_count,
            "finding": str(search.findings[0]) if search.findings else "",
            "not_searched": summary(search.scan.left_out) if is_over else "",
            "start": str(bins.start),
            "width": str(bins.width),
            "counts": pack(bins.counts),
            "without_time": search.histogram.without_time,
            "whole": self._whole(),
            "rows": self.rows(listed[:HEAD_ROWS], lens, columns),
        }

    def _whole(self) -> dict[str, Any]:
        """Return the records that were looked at over time, of the search that saw the most."""
        looked = self.search.looked.bins()
        if self.whole is None or looked.counts.sum() >= self.whole.counts.sum():
            self.whole = looked
        whole = self.whole
        return {
            "start": str(whole.start), "width": str(whole.width), "counts": pack(whole.counts),
        }  # fmt: skip


def read_record(listing: Listing, partition: str, offset: int) -> dict[str, Any] | None:
    """Read one record with all its columns, times in ms; None: it is not there."""
    if partition not in listing.partitions:
        return None
    path, offsets = listing.partitions[partition].path, (offset, offset + 1)
    scan = Scan(
        listing, partitions=path, offsets=offsets, columns=SCAN_FIELDS, include_control=True
    )
    return next(dicts(scan.head(1)), None)


def dicts(table: Any) -> Iterator[dict[str, Any]]:
    """Yield the records of a table, times in ms: not every one can be a datetime."""
    for at, field in enumerate(table.schema):
        if str(field.type).startswith("timestamp"):
            table = table.set_column(at, field.name, table[at].cast("int64"))
    yield from table.to_pylist()
