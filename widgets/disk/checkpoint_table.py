"""CheckpointTable: every checkpoint and metadata file of log directories, held against the logs."""

import os
import time
from typing import Any, Final

import traitlets

import workbench
from widgets._assets import script, style
from widgets._background import are_quickly_read
from widgets._file import Answer
from widgets._widget import KafkaWidget
from widgets.disk.checkpoint_rows import (
    count_findings,
    directory_rows,
    partition_rows,
    summary,
)
from widgets.live.directory_changes import DirectoryChanges
from widgets.queries import checkpoint_query
from widgets.selection import NOTHING, from_front, to_front
from widgets.view.text import title_of
from workbench.inspection.brokers import listings_by_broker
from workbench.inspection.facts.checkpoint_table import Checkpoints, checkpoint_table
from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition
from workbench.inspection.verify.verify import verify_partitions
from workbench.runtime.words import plural

_BETWEEN: Final = 0.2  # seconds between two reports of progress


MOST_COMPARED_AGAIN: Final = 64 << 20
"""Bytes of changed logs whose headers are read again while a broker writes to them."""


class CheckpointTable(KafkaWidget):
    """Show recovery points, high watermarks, leader epochs and ids beside what the logs hold.

    What contradicts a log or another file is marked, with what a broker would do about it. More
    than 1000 partitions, or 4 GiB of logs, are compared with their checkpoints when `check` is
    called, or by the button.

    Attributes:
        selected: the partition, see `LogExplorer.selected`; with
            ``traitlets.link((table, "selected"), (explorer, "selected"))`` both follow each other.
        query: Python code that gives what is shown. Read-only.
        checkpoints: what the files say, with the findings.
        findings: every finding of the check, also those about other files; None before it.
        logs: the log directories shown.

    Args:
        logs: the result of `workbench.open_log_directory`, or what it opens.
        check: whether to compare the files with the logs at once; None leaves it to their size.

    Raises:
        LogDirectoryError: the path is not a log directory.
        TypeError: an unknown option.

    Kafka: LogManager.loadLogs, OffsetCheckpointFile (4.2)
    """

    _esm = script("disk/checkpoint_table.js")
    _css = style("disk/checkpoint_table.css")

    selected: Any = traitlets.Dict(NOTHING).tag(sync=True, to_json=to_front, from_json=from_front)
    query = traitlets.Unicode(read_only=True).tag(sync=True)
    _table: Any = traitlets.Dict().tag(sync=True)
    _progress: Any = traitlets.List().tag(sync=True)

    def __init__(self, logs: Any, *, check: bool | None = None, **options: Any) -> None:
        """Open a path, or show an opened directory; see the class."""
        logs = workbench.open_log_directory(logs)
        self.logs = logs
        self.findings: list[Finding] | None = None
        super().__init__(**options)
        self._read()
        if are_quickly_read(self._partitions) if check is None else check:
            self.check()
        else:
            self._show()

    @property
    def _partitions(self) -> list[DiskPartition]:
        return list(self.logs.listing.partitions.values())

    def _read(self) -> None:
        self.checkpoints: Checkpoints = checkpoint_table(self.logs.listing)
        paths = [str(root.path) for root in self.logs.listing.roots]
        self.set_trait("query", checkpoint_query(paths))

    def check(self) -> list[Finding]:
        """Compare the files with the names, headers and indexes of all logs; return the findings.

        What is found is what `workbench.verify` finds without reading the records.
        """
        total = max(1, sum(partition.size for partition in self._partitions))
        done, shown, found = 0, time.monotonic(), list[Finding]()
        brokers = listings_by_broker(self.logs.listing).values()
        every = (each for listing in brokers for each in verify_partitions(listing, deep=False))
        for checked, findings in every:
            found += findings
            done += checked.size if isinstance(checked, DiskPartition) else 0
            if time.monotonic() - shown > _BETWEEN:
                shown = time.monotonic()
                self._progress = [done, total]
        self.findings = found
        self.checkpoints = self.checkpoints.with_findings(found)
        self._progress = []
        self._show()
        return found

    def refresh(self) -> None:
        """Read everything again, because a broker may have written since."""
        self.logs = self.logs.listed_again()
        was_checked = self.findings is not None
        self.findings = None
        self._read()
        if was_checked:
            self.check()
        else:
            self._show()

    def relist(self, logs: workbench.LogDirectory, written: DirectoryChanges) -> None:
        """Take over the directories as they are listed now, and read the files again.

        Partitions that changed are compared again, if they were, unless they are larger than
        `MOST_COMPARED_AGAIN` together: then the findings are kept until the next check.
        """
        before = {each.path for each in self._partitions}
        self.logs = logs
        found = self.findings
        self._read()
        if found is not None:
            changed = [logs.listing.partitions[n] for n in written.changed if n in logs]
            if sum(each.size for each in changed) <= MOST_COMPARED_AGAIN:
                found = self._compared_again(found, {each.path for each in changed})
            gone = before - {each.path for each in self._partitions}
            found = [each for each in found if not _is_in(each.path, gone)]
            self.checkpoints = self.checkpoints.with_findings(found)
        self.findings = found
        self._show()

    def _compared_again(self, found: list[Finding], paths: set[str]) -> list[Finding]:
        """Return findings with those of some partitions as they are now."""
        kept = [each for each in found if not _is_in(each.path, paths)]
        brokers = listings_by_broker(self.logs.listing).values()
        for listing in brokers:
            steps = verify_partitions(listing, folders=paths, deep=False)
            kept += [each for _, some in steps for each in some if _is_in(each.path, paths)]
        return kept

    def answer_check(self) -> Answer:
        """Read everything again and compare."""
        self.findings = []
        self.refresh()
        return {}, []

    def _show(self) -> None:
        paths = [str(root.path) for root in self.logs.listing.roots]
        rows = partition_rows(self.checkpoints, self.logs.listing)
        directories = directory_rows(self.checkpoints)
        self._picture = None
        self._table = {
            **title_of(paths),
            "summary": summary(self.checkpoints, sum(each.size for each in self._partitions)),
            "directories": directories,
            "rows": rows,
            "is_checked": self.findings is not None,
            "found": count_findings(rows, directories),
        }

    def inputs(self) -> list[str]:
        """Return the paths of the log directories."""
        return [root.path for root in self.logs.roots]

    def describe(self) -> str:
        """Describe the widget in one line, where no picture can be shown."""
        sent = self._table
        told = plural(sent["found"], "contradiction") if sent["is_checked"] else "not checked"
        return f"CheckpointTable: {sent['title']}: {sent['summary']}, {told}"

    def to_png(self) -> bytes:
        """Draw the directories and the first partitions. Imports matplotlib."""
        if self._picture is None:
            from widgets.disk.checkpoint_picture import checkpoint_picture

            self._picture = checkpoint_picture(self._table)
        return self._picture


def _is_in(path: str, folders: set[str]) -> bool:
    """Return whether a path is one of the partition directories, or a file in one."""
    return path in folders or os.path.dirname(path) in folders
