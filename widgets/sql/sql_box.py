"""SqlBox: a query in SQL over log directories, with completions; its result is a table."""

import json
from collections.abc import Mapping
from typing import Any, Final

import traitlets

import workbench
from widgets._assets import script, style
from widgets._file import Answer
from widgets._values import ShowsValues
from widgets.live.directory_changes import DirectoryChanges
from widgets.queries import opening
from widgets.sql.sql_run import SqlRun, sent, shows_values
from widgets.view.records import AnyMask
from workbench.errors import QueryError
from workbench.loaders.sql.completion import completions
from workbench.runtime.words import plural
from workbench.values.masking import Masks

FIRST: Final = "show tables"
MOST_AT_ONCE: Final = 1000
"""Rows that the front end can ask for at once."""

PATIENCE: Final = 0.3
"""Seconds that a new query may take before the page hears that it runs."""

HIDDEN: Final = (
    "Values are hidden, and this query may show them: only tables of names, sizes and times are"
    " shown. Values (V) shows them."
)


class SqlBox(ShowsValues):
    """Run one SELECT over the topics and tables of log directories.

    It is the command's `sql`: topics are tables of records, ``batches`` or ``groups`` tables of
    inspection; a query can neither write nor read other files, and keeps to the same memory. The
    first 10,000 rows are shown. While values are hidden, only queries of tables of names, sizes and
    times run. No result is in a saved notebook.

    Attributes:
        query: the query that is shown; setting it runs it.
        show_values: whether queries may show what records hold.
        logs: the log directories.
        run: the query that runs or ran; None: none could be begun.
        code: "python" and "command" → what gives the same rows. Read-only.

    Args:
        logs: the result of `workbench.open_log_directory`, or what it opens.
        show_values: None: values are shown.
        mask: rules that keep values out, as in `LogDirectory.sql`.

    Raises:
        LogDirectoryError: the path is not a log directory.
        TypeError: an unknown option.
    """

    _esm = script("sql/sql_box.js")
    _css = style("sql/sql.css")

    in_address = ("query",)
    query = traitlets.Unicode(FIRST).tag(sync=True)
    code = traitlets.Dict(read_only=True).tag(sync=True)
    _run: Any = traitlets.Dict({"number": 0, "status": "ready"}).tag(sync=True)

    run: SqlRun | None = None

    def __init__(
        self,
        logs: Any,
        *,
        show_values: bool | None = None,
        mask: AnyMask = None,
        **options: Any,
    ) -> None:
        """Open a path, or query an opened directory; see the class."""
        self.logs = workbench.open_log_directory(logs)
        self._problem = ""
        self._is_ready = False
        super().__init__(show_values=show_values, mask=mask, **options)
        self._is_ready = True
        self._begin()

    @traitlets.observe("query")
    def _begin_again(self, _change: Any) -> None:
        self._begin()

    def _begin(self) -> None:
        """Run the query in a thread, and end the one before."""
        if not self._is_ready:
            return
        self.cancel()
        self.run, self._problem = None, ""
        self._tell_code()
        try:
            if self.mask is not None and not isinstance(self.mask, Masks):
                raise QueryError(
                    "the mask is a function, which SQL cannot ask (expected rules of a mask)"
                )
            if not self.show_values and shows_values(self.logs.listing, self.query):
                raise QueryError(HIDDEN)
            self.run = SqlRun(self.logs.listing, self.query, self.mask)
            self.run.start()
            self.run.wait(PATIENCE)
        except (workbench.WorkbenchError, LookupError) as error:
            self._problem = str(error.args[0] if error.args else error)
        self._tell(number=self._run["number"] + 1)

    def _tell(self, *, number: int) -> None:
        status = "failed" if self.run is None else self.run.status
        self._run = {"number": number, "status": status}

    def _tell_code(self) -> None:
        paths = [str(root.path) for root in self.logs.listing.roots]
        opened = opening(paths, self.logs.tier)
        text = self.query.strip()
        quotes = '"""' if '"""' not in text and "\\" not in text else ""
        quoted = f"{quotes}\n{text}\n{quotes}" if quotes else json.dumps(text)
        python = f"import workbench as wb\n\nlogs = {opened}\nlogs.sql({quoted}).to_pandas()"
        given = " ".join(map(_shell, paths))
        self.set_trait(
            "code", {"python": python, "command": f"kafka-workbench sql {given} {_shell(text)}"}
        )

    @traitlets.observe("show_values")
    def _judge_again(self, _change: Any) -> None:
        self._begin()

    def relist(self, logs: workbench.LogDirectory, _written: DirectoryChanges) -> None:
        """Take over the directories as they are now; the next query reads them."""
        self.logs = logs

    def address(self) -> dict[str, str]:
        """Return the query."""
        return {} if self.query == FIRST else {"sql": self.query}

    def show_address(self, parts: Mapping[str, str]) -> None:
        """Run the query of an address."""
        self.query = parts.get("sql", FIRST)

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the query is over."""
        if self.run is not None:
            self.run.wait(seconds)
        self._tell(number=self._run["number"])

    def cancel(self) -> None:
        """Stop the query."""
        if self.run is not None:
            self.run.cancel()

    def close(self) -> None:
        """Stop the query and take the widget off the page."""
        self.cancel()
        super().close()

    # Answers to the front end.

    def answer_run(self, query: str) -> Answer:
        """Run a query, also the one that was run last."""
        if query == self.query:
            self._begin()
        else:
            self.query = query
        return {}, []

    def answer_cancel(self) -> Answer:
        """Stop the query that runs."""
        self.cancel()
        return {}, []

    def answer_state(self) -> Answer:
        """Return how far the query is: columns, how many rows, and what was left out of them."""
        run = self.run
        if run is None:
            return {"status": "failed", "problem": self._problem, "count": 0, "columns": []}, []
        status = run.status
        if status != self._run["status"]:
            self._tell(number=self._run["number"])
        is_done = status == "done"
        return {
            "status": status,
            "problem": "" if run.error is None else str(run.error),
            "columns": [[*each] for each in run.columns] if is_done else [],
            "count": len(run.rows) if is_done else 0,
            "is_cut": run.is_cut,
            "records_read": run.records_read,
            "seconds": round(run.seconds, 2),
            "note": run.note,
        }, []

    def answer_rows(
        self, number: int, start: int, stop: int, order: int, *, is_down: bool
    ) -> Answer:
        """Return rows [start, stop) by a column; -1: as they came."""
        run = self.run
        if run is None or number != self._run["number"] or not 0 <= start < stop:
            return {"rows": []}, []
        places = run.arranged(order, is_down=is_down)[start : min(stop, start + MOST_AT_ONCE)]
        return {"rows": [list(map(sent, run.rows[at])) for at in places]}, []

    def answer_complete(self, text: str, at: int) -> Answer:
        """Return what the word before a place of a query can become: start, text and meaning."""
        shown = self.lens.show_values and self.mask is None
        found = completions(self.logs.listing, text, at, fields=shown)
        return {"completions": [[*each] for each in found]}, []

    def inputs(self) -> list[str]:
        """Return the paths of the directories that the widget reads."""
        return [str(root.path) for root in self.logs.listing.roots]

    def describe(self) -> str:
        """Describe the widget in one line, where no picture can be shown."""
        count = 0 if self.run is None else len(self.run.rows)
        return f"SqlBox({plural(count, 'row')})"


def _shell(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"
