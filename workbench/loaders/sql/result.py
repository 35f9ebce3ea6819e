"""The result of a query: DuckDB's relation, with the verbs of every other result."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, Final, TypeVar

import pyarrow as pa

from workbench.inspection.facts.html import table_html
from workbench.loaders.scan.column_engines import DtypeBackend, data_frame
from workbench.loaders.scan.not_searched import NotSearched
from workbench.loaders.scan.scan import Scan
from workbench.loaders.sql.cells import cell_text, plain_rows, values_of
from workbench.runtime.extras import optional
from workbench.runtime.words import safe

_SHOWN: Final = 40  # rows in a notebook
_ASK_EVERY_S: Final = 0.05

T = TypeVar("T")


class SqlResult:
    """The rows of a query; each verb runs the query.

    What a `duckdb` relation has, this has, too: ``fetchall()``, ``df()``, ``filter(…)``, and
    ``relation`` is that relation.

    Args:
        relation: of DuckDB.
        scans: the scans that the query reads.
        connection: that runs it; None: of the relation alone.
    """

    def __init__(self, relation: Any, scans: Iterable[Scan] = (), connection: Any = None) -> None:
        self.relation = relation
        self.scans = tuple(scans)
        self._connection = connection

    def interrupt(self) -> None:
        """End a verb that another thread runs: it raises an error of DuckDB."""
        if self._connection is not None:
            self._connection.interrupt()

    def run(self, work: Callable[[], T]) -> T:
        """Do what runs the query, in a thread: Ctrl-C ends the query and raises KeyboardInterrupt.

        In the thread that gets the signal, DuckDB sees it seconds later on a busy machine, and
        then waits for the tasks that run.
        """
        with ThreadPoolExecutor(1) as thread:
            running = thread.submit(work)
            try:
                return running.result()
            except KeyboardInterrupt:
                while self._connection is not None and not running.done():
                    self.interrupt()  # again, because one that comes before the query is lost
                    wait((running,), _ASK_EVERY_S)
                raise

    @property
    def left_out(self) -> list[NotSearched]:
        """What is in the directories and the query does not read; see `Scan.left_out`."""
        return [each for scan in self.scans for each in scan.left_out]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.relation, name)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Stream to any library that speaks the Arrow C stream interface."""
        return self.relation.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self.relation)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield one dict per row, by column name; times beyond what a datetime can hold are ms."""
        names = self.relation.columns
        for batch in pa.RecordBatchReader.from_stream(self.relation):
            for row in zip(*map(values_of, batch.columns), strict=True):
                yield dict(zip(names, row, strict=True))

    def __str__(self) -> str:
        return str(self.relation)

    def __repr__(self) -> str:
        return repr(self.relation)

    def to_arrow(self) -> pa.Table:
        """Return all rows as a table."""
        return self.run(lambda: pa.table(self.relation))

    def to_pandas(self, dtype_backend: DtypeBackend | None = None) -> Any:
        """Return all rows as a `pandas.DataFrame`, with the types of `Scan.to_pandas`.

        Raises:
            MissingDependencyError: pandas is not installed.
            ValueError: the backend is unknown.
        """
        return data_frame(self.to_arrow(), dtype_backend)

    def to_polars(self) -> Any:
        """Return all rows as a `polars.DataFrame`.

        Raises:
            MissingDependencyError: polars is not installed.
        """
        return optional("polars").from_arrow(self.to_arrow())

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return all rows as dicts by column name."""
        return list(self)

    def _repr_html_(self) -> str:
        """Return the first rows as a table, for notebooks."""
        first = pa.RecordBatchReader.from_stream(self.relation.limit(_SHOWN + 1))
        rows = [[_cell(value) for value in row] for row in plain_rows(first)]
        note = f"the first {_SHOWN} rows" if len(rows) > _SHOWN else None
        return table_html("", self.relation.columns, rows[:_SHOWN], note)


def _cell(value: Any) -> Any:
    shown = cell_text(value)
    if isinstance(shown, bool):
        return "yes" if shown else "no"
    return safe(shown) if isinstance(shown, str) else shown
