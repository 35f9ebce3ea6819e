"""One query in SQL that runs in a thread: its rows, as cells of a table."""

import time
from math import isnan
from typing import Any, Final

import pyarrow as pa

from workbench.inspection.listing import Listing
from workbench.loaders.scan.not_searched import internal_topics
from workbench.loaders.sql.cells import cell_text, plain_rows
from workbench.loaders.sql.masks import NOTHING_SHOWN
from workbench.loaders.sql.query import read_query
from workbench.loaders.sql.result import SqlResult
from workbench.loaders.sql.run import query_error, run_sql
from workbench.runtime.extras import optional
from workbench.runtime.job import CanceledError, Job
from workbench.values.masking import Masks

MOST_ROWS: Final = 10_000
"""Rows that are shown; a query can say which."""

MOST_IN_CELL: Final = 16_000
"""Characters of a cell."""

_EXACT: Final = 2**53
"""The largest number up to which a double holds each whole one."""


def shows_values(listing: Listing, query: str) -> bool:
    """Return whether a query may show what records hold.

    Raises:
        QueryError: it cannot be read.
    """
    topics = {each.topic for each in listing.partitions.values()}
    read = read_query(query, topics)
    names = {name for schema, name in read.tables if schema or name not in topics}
    return len(names) < len(read.tables) or not {each.lower() for each in names} <= NOTHING_SHOWN


class SqlRun(Job):
    """A query that runs. Canceled, DuckDB interrupts it.

    Attributes:
        query: its text.
        columns: their names and whether they are numbers, once they are known.
        rows: the first rows, with plain values: see `cells.plain`.
        is_cut: whether there are more.
        records_read: how many records were read of topics.
        note: what was left out.

    Args:
        listing: the directories.
        query: one SELECT.
        masks: rules that keep values out.
    """

    def __init__(self, listing: Listing, query: str, masks: Masks | None) -> None:
        super().__init__("sql")
        self.query = query
        self.columns: list[tuple[str, bool]] = []
        self.rows: list[tuple[Any, ...]] = []
        self.is_cut = False
        self.records_read = 0
        self.note = ""
        self._listing, self._masks = listing, masks
        self._result: SqlResult | None = None
        self._begun = time.monotonic()
        self._seconds: float | None = None
        self._order: tuple[tuple[int, bool], list[int]] | None = None

    @property
    def seconds(self) -> float:
        """How long it has run so far, or ran."""
        return time.monotonic() - self._begun if self._seconds is None else self._seconds

    def cancel(self) -> None:
        """Let it end soon."""
        super().cancel()
        if (result := self._result) is not None:
            result.interrupt()

    def expect(self, amount: int) -> None:
        """Hear how many records will be read; see `reading.Watch`."""

    def advance(self, amount: int) -> None:
        """Count records; end if it was canceled; see `reading.Watch`."""
        self.records_read += amount
        self._go_on()

    def _work(self) -> None:
        try:
            self._read()
        except Exception as error:
            if self.is_canceled:
                raise CanceledError from None
            if isinstance(error, optional("duckdb").Error):
                raise query_error(self.query, error) from error
            raise
        finally:
            self._seconds = time.monotonic() - self._begun
            self._result = None  # frees what DuckDB holds

    def _read(self) -> None:
        result = run_sql(self._listing, self.query, mask=self._masks, watch=self)
        self._result = result
        self._go_on()
        reader = pa.RecordBatchReader.from_stream(result.relation.limit(MOST_ROWS + 1))
        self.columns = [(field.name, _is_number(field.type)) for field in reader.schema]
        rows = [tuple(map(_cell, row)) for row in plain_rows(reader)]
        self._go_on()
        self.is_cut = len(rows) > MOST_ROWS
        self.rows = rows[:MOST_ROWS]
        told = [internal_topics(result.left_out, "query {} by name")]
        told += [scan.last_reading.losses() for scan in result.scans]
        self.note = "; ".join(filter(None, told))

    def arranged(self, order: int, *, is_down: bool) -> list[int]:
        """Return the numbers of the rows by a column; -1: as they came; nulls come last."""
        wanted = (order, is_down)
        if order < 0:
            return list(range(len(self.rows)))
        if self._order is None or self._order[0] != wanted:
            values = [row[order] for row in self.rows]
            known = [at for at, value in enumerate(values) if value is not None]
            _, is_number = self.columns[order]
            known.sort(key=lambda at: _sort_key(values[at], is_number=is_number), reverse=is_down)
            nulls = [at for at, value in enumerate(values) if value is None]
            self._order = wanted, [*known, *nulls]
        return self._order[1]


def _cell(value: Any) -> Any:
    cell = cell_text(value)
    return (
        f"{cell[: MOST_IN_CELL - 1]}…"
        if isinstance(cell, str) and len(cell) > MOST_IN_CELL
        else cell
    )


def _is_number(kind: pa.DataType) -> bool:
    are = pa.types
    return bool(are.is_integer(kind) or are.is_floating(kind) or are.is_decimal(kind))


def _sort_key(value: Any, *, is_number: bool) -> tuple[int, Any]:
    """Return what a value sorts by; some numbers are text, see `cells.plain`."""
    if is_number and isinstance(value, str):
        value = float(value)
    if isinstance(value, int | float):
        return (1, "") if isnan(value) else (0, value)
    return 1, str(value).casefold()


def sent(value: Any) -> Any:
    """Return a cell for the front end, whose numbers are doubles: text where they would round."""
    return f"{value:,}" if isinstance(value, int) and abs(value) > _EXACT else value
