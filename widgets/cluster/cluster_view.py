"""ClusterView: a KRaft cluster at any time: topics, leaders, configurations, brokers, changes."""

import os
from collections.abc import Iterable
from typing import Any, Final

import traitlets

import workbench
from widgets._assets import script, style
from widgets._file import Answer
from widgets._widget import KafkaWidget
from widgets.cluster.cluster_moments import (
    COLUMNS,
    ClusterMoment,
    changed_rows,
    moments_of,
    table_rows,
)
from widgets.live.directory_changes import DirectoryChanges
from widgets.queries import cluster_query
from widgets.selection import NOTHING, from_front, to_front
from workbench.config.internal_topics import METADATA_LOG
from workbench.inspection.cluster.loading import cluster_at
from workbench.inspection.cluster.provenance import require_metadata_log
from workbench.runtime.times import time_text
from workbench.runtime.words import plural

_FORESEEN: Final = 200  # moments that a page without a kernel can show


class ClusterView(KafkaWidget):
    """Show a KRaft cluster at a time that a slider chooses, and what changed then.

    The snapshots and records of `__cluster_metadata-0` are folded as a controller does. Passwords,
    and keys of SCRAM, are never shown.

    Attributes:
        at: the number of the moment that is shown, one of `moments`.
        selected: the partition, see `LogExplorer.selected`; a row of Leaders selects one.
        query: Python code that gives what is shown. Read-only.
        moments: the records, or groups of them, that changed the cluster.
        logs: the log directories shown.

    Args:
        logs: the result of `workbench.open_log_directory`, or what it opens.

    Raises:
        LogDirectoryError: the path is not a log directory.
        OSError: a file cannot be read.
        StateUnknownError: there is no metadata log, as in a cluster with ZooKeeper.
        TypeError: an unknown option.

    Kafka: MetadataImage, MetadataLoader (4.2)
    """

    _esm = script("cluster/cluster_view.js")
    _css = style("cluster/cluster_view.css")

    at = traitlets.Int(0).tag(sync=True)
    selected: Any = traitlets.Dict(NOTHING).tag(sync=True, to_json=to_front, from_json=from_front)
    query = traitlets.Unicode(read_only=True).tag(sync=True)
    _cluster: Any = traitlets.Dict().tag(sync=True)

    def __init__(self, logs: Any, **options: Any) -> None:
        """Open a path, or show an opened directory; see the class."""
        logs = workbench.open_log_directory(logs)
        self.logs = logs
        self._partition = require_metadata_log(logs.listing)
        self.moments: list[ClusterMoment] = []
        super().__init__(**options)
        self._read()

    def _read(self, at: int | None = None) -> None:
        """Read the log; show a moment, by default the last."""
        self._partition = require_metadata_log(self.logs.listing)
        self.moments, findings = moments_of(self._partition)
        paths = [root.path for root in self.logs.listing.roots]
        last = max(0, len(self.moments) - 1)
        self.at = last if at is None else min(at, last)
        self._picture = None
        self._cluster = {
            "title": os.path.basename(os.path.abspath(paths[0])),
            "path": "\n".join(paths),
            "columns": COLUMNS,
            "moments": [[each.offset, each.timestamp, len(each.changes)] for each in self.moments],
            "findings": [str(each) for each in findings[:5]],
            "shown": self._content(self.at),
        }
        self._name_query()

    @traitlets.observe("at")
    def _name_query(self, _change: Any = None) -> None:
        if self.moments:
            paths = [root.path for root in self.logs.listing.roots]
            offset = self.moments[min(self.at, len(self.moments) - 1)].offset
            self.set_trait("query", cluster_query(paths, offset))

    def _content(self, at: int) -> dict[str, Any]:
        """Return what the front end shows of a moment."""
        if not self.moments:
            return {"at": 0, "tables": {name: [] for name in COLUMNS}, "left": {}}
        moment = self.moments[max(0, min(at, len(self.moments) - 1))]
        tables, left = table_rows(cluster_at(self._partition, moment.offset).cluster)
        tables["Changes"] = changed_rows(moment)
        return {"at": at, "tables": tables, "left": left}

    def answer_moment(self, at: int) -> Answer:
        """Return the cluster at a moment.

        Raises:
            ValueError: it is not the number of a moment.
        """
        if not 0 <= at < max(1, len(self.moments)):
            raise ValueError(f"no moment {at} (expected 0 to {len(self.moments) - 1})")
        return self._content(at), []

    def foreseen_answers(self) -> Iterable[tuple[str, dict[str, Any], Answer]]:
        """Yield the moments, the last ones first."""
        for at in range(len(self.moments) - 1, max(-1, len(self.moments) - 1 - _FORESEEN), -1):
            yield "moment", {"at": at}, (self._content(at), [])

    def refresh(self) -> None:
        """Read everything again, because a controller may have written since."""
        self.logs = self.logs.listed_again()
        self._read()

    def relist(self, logs: workbench.LogDirectory, written: DirectoryChanges) -> None:
        """Take over the directories as listed now; follow the last moment if it is shown."""
        self.logs = logs
        if METADATA_LOG in written.changed:
            self._read(None if self.at >= len(self.moments) - 1 else self.at)

    def inputs(self) -> list[str]:
        """Return the paths of the log directories."""
        return [root.path for root in self.logs.roots]

    def describe(self) -> str:
        """Describe the widget in one line, where no picture can be shown."""
        if not self.moments:
            return f"ClusterView: {self._cluster['title']}: no record changed the cluster"
        last = self.moments[min(self.at, len(self.moments) - 1)]
        when = "" if last.timestamp is None else f" of {time_text(last.timestamp)}"
        return (
            f"ClusterView: {self._cluster['title']}: the cluster after offset {last.offset:,}"
            f"{when}, one of {plural(len(self.moments), 'moment')}"
        )

    def to_png(self) -> bytes:
        """Draw the changes over time, and the topics. Imports matplotlib."""
        if self._picture is None:
            from widgets.cluster.cluster_picture import cluster_picture

            self._picture = cluster_picture(self._cluster)
        return self._picture
