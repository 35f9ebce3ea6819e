"""TransactionLanes: which transactions a log holds, how they ended, and what is open."""

from collections.abc import Collection
from typing import Any

import traitlets

import workbench
from widgets._assets import script, style
from widgets._widget import KafkaWidget
from widgets.coordinators.group_rows import UNKNOWN
from widgets.coordinators.transaction_bars import ABORTED, OPEN, PartitionBars, bars_of
from widgets.live.directory_changes import DirectoryChanges
from widgets.queries import transaction_query
from widgets.selection import NOTHING, from_front, to_front
from workbench.config.internal_topics import TRANSACTIONS_TOPIC
from workbench.loaders.in_hand import surroundings_of
from workbench.loaders.scan.plan import choose_partitions
from workbench.runtime.words import plural


class TransactionLanes(KafkaWidget):
    """Show the transactions of a partition: a lane for each producer, a bar for each transaction.

    A bar goes from the first record to the transaction marker. The last stable offset is a line:
    consumers with ``isolation.level=read_committed`` read no further.

    Attributes:
        selected: the partition and the first record of a transaction, see
            `LogExplorer.selected`; with ``traitlets.link((view, "selected"), (explorer,
            "selected"))`` both follow each other. A partition with transactions is shown when it is
            selected.
        partition: the name of the partition shown; set it to show another.
        window: the offsets shown, [from, to); empty: all.
        query: Python code that gives what is shown. Read-only.
        partitions: name of a partition with transactions → its transactions.
        transactions, open_producers: the tables of `inspect.transactions` and
            `inspect.open_producers`.

    Args:
        logs: the result of `workbench.open_log_directory`, or what it opens. A topic or partition
            of it shows its own transactions, with the names of their producers from the directory.
        topics, partitions: which partitions, as in `LogDirectory.scan`; None: all that are given.
            The batch headers of each are walked.

    Raises:
        LogDirectoryError: the path is not a log directory.
        LookupError: a topic or partition does not exist.

    Kafka: ProducerStateManager, TransactionsCommand (4.2)
    """

    _esm = script("coordinators/transaction_lanes.js")
    _css = style("decisions/log_rules.css", "coordinators/coordinators.css")

    selected: Any = traitlets.Dict(NOTHING).tag(sync=True, to_json=to_front, from_json=from_front)
    partition = traitlets.Unicode().tag(sync=True)
    window = traitlets.List(traitlets.Float()).tag(sync=True)
    query = traitlets.Unicode(read_only=True).tag(sync=True)
    _directory: Any = traitlets.Dict().tag(sync=True)
    _shown: Any = traitlets.Dict({"partition": ""}).tag(sync=True)

    def __init__(
        self, logs: Any, topics: Any = None, partitions: Any = None, **options: Any
    ) -> None:
        """Open a path, or take an opened directory; see the class."""
        place, given = surroundings_of(logs)
        self.logs = logs = workbench.open_log_directory(place)
        if topics is None and partitions is None:
            partitions = given
        self._scope = (topics, partitions)
        self.partitions: dict[str, PartitionBars] = {}
        self._read(set(logs))
        self._read_transactions()
        wanted, window = options.pop("partition", None), options.pop("window", [])
        super().__init__(**options)
        self._send_directory()
        if self.selected["partition"] in self.partitions:
            wanted = wanted or self.selected["partition"]
        self.partition = self._first() if wanted is None else wanted
        self.window = window

    def _read(self, names: Collection[str]) -> None:
        """Read the transactions of some partitions, and what is open in all of them."""
        topics, numbers = self._scope
        chosen = {id(each) for each in choose_partitions(self.logs.listing, topics, numbers)}
        logs = {
            key: each
            for key, each in self.logs.listing.partitions.items()
            if each.kind == "log" and each.topic != TRANSACTIONS_TOPIC
        }
        found = {
            key: bars_of(each) if key in names else self.partitions.get(key)
            for key, each in logs.items()
            if id(each) in chosen
        }
        self._others = len(logs) - len(found)
        self.partitions = {key: bars for key, bars in found.items() if bars is not None}
        self.open_producers = self.logs.inspect.open_producers(topics, numbers)

    def _read_transactions(self) -> None:
        self.transactions = self.logs.inspect.transactions()
        self._names = {
            row["producer_id"]: row["transactional_id"]
            for row in self.transactions.select(["producer_id", "transactional_id"]).to_pylist()
            if row["transactional_id"] is not None
        }

    def relist(self, logs: workbench.LogDirectory, written: DirectoryChanges) -> None:
        """Take over the directories as they are listed now; keep the partition and the window.

        Of segments that grew, only new headers are read.
        """
        self.logs = logs
        if not written.changed:
            return
        self._read(written.changed)
        if TRANSACTIONS_TOPIC in written.topics:
            self._read_transactions()
        window = list(self.window)
        with self.hold_sync():
            self._send_directory()
            if self.partition not in self.partitions:
                self.partition = self._first()
            elif self.partition in written.changed:
                self._show()
                self.window = window

    def _send_directory(self) -> None:
        self._picture = None
        self._directory = {
            "conclusion": self._conclusion(),
            "partitions": [self._partition_row(key) for key in self.partitions],
            "open": [self._open_row(row) for row in self.open_producers.to_pylist()],
        }

    def _first(self) -> str:
        """Choose the partition with the most blocked offsets, then with the most transactions."""

        def weight(key: str) -> tuple[int, bool, int]:
            found = self.partitions[key]
            blocked = found.log_end_offset - found.last_stable_offset
            return blocked, not key.startswith("__"), len(found.bars)

        return max(self.partitions, key=weight, default="")

    @traitlets.validate("partition")
    def _known(self, proposal: Any) -> str:
        name = str(proposal["value"])
        if name and name not in self.partitions:
            known = ", ".join(list(self.partitions)[:8]) or "none"
            raise LookupError(f"no transaction in {name!r} (partitions with transactions: {known})")
        return name

    @traitlets.observe("partition")
    def _show(self, _change: Any = None) -> None:
        self._picture = None
        with self.hold_sync():
            self.window = []
            found = self.partitions[self.partition].sent(self._names) if self.partition else {}
            self._shown = {"partition": self.partition, **found}
            self.set_trait("query", self._code())

    def _code(self) -> str:
        """Return Python code that gives what is shown."""
        paths = [str(root.path) for root in self.logs.listing.roots]
        shown = self.logs[self.partition] if self.partition else None
        return transaction_query(paths, None if shown is None else (shown.topic, shown.partition))

    @traitlets.observe("selected")
    def _follow(self, _change: Any) -> None:
        """Show the selected partition, if it has transactions."""
        if self.selected.get("partition") in self.partitions:
            self.partition = self.selected["partition"]

    @traitlets.observe("window")
    def _forget_picture(self, _change: Any) -> None:
        self._picture = None

    def _conclusion(self) -> str:
        """Say which transaction blocks which partition, the worst first."""
        if not self.partitions:
            others = f"; {plural(self._others, 'other log')} of the directory not looked at"
            return f"no transaction in these partitions{others if self._others else ''}"
        rows = self.open_producers.to_pylist()
        if not rows:
            count = sum(len(each.bars) for each in self.partitions.values())
            done = plural(count, "transaction")
            return f"no transaction is open: {done} ended in {plural(len(self.partitions), 'log')}"
        worst = max(rows, key=lambda row: row["blocked_offsets"])
        who = worst["transactional_id"] or f"producer {worst['producer_id']}"
        where = f"{worst['topic']}-{worst['partition']}"
        blocked = plural(worst["blocked_offsets"], "offset")
        text = (
            f"{plural(len(rows), 'open transaction')}: {who!r} keeps the last stable offset of "
            f"{where} at {worst['last_stable_offset']:,}, {blocked} below the log end offset"
        )
        return f"{text}, and hangs" if worst["verdict"] == "hangs" else text

    def _partition_row(self, key: str) -> dict[str, Any]:
        found = self.partitions[key]
        bars = found.bars
        return {
            "name": key,
            "cells": [
                key,
                f"{len(bars):,}",
                f"{int((bars.outcome == ABORTED).sum()):,}",
                f"{int((bars.outcome == OPEN).sum()):,}",
                f"{found.last_stable_offset:,}",
                f"{found.log_end_offset - found.last_stable_offset:,}",
            ],
            "blocked": found.last_stable_offset < found.log_end_offset,
        }

    def _open_row(self, row: dict[str, Any]) -> dict[str, Any]:
        since = "none" if row["first_time"] is None else f"{row['first_time']:%FT%TZ}"
        name = f"{row['topic']}-{row['partition']}"
        return {
            "partition": name if name in self.partitions else None,
            "producer": str(row["producer_id"]),
            "offset": str(row["first_offset"]),
            "cells": [
                name,
                row["transactional_id"] or f"producer {row['producer_id']}",
                row["state"] or UNKNOWN,
                f"{row['first_offset']:,}",
                since,
                f"{row['blocked_offsets']:,}",
                row["verdict"] or "unknown",
                row["reason"],
            ],
            "verdict": row["verdict"],
        }

    def describe(self) -> str:
        """Return the partition and what is open."""
        return (
            f"TransactionLanes: {self.partition or 'no partition'}: {self._directory['conclusion']}"
        )

    def to_png(self) -> bytes:
        """Draw the lanes of the partition and what is open. Imports matplotlib."""
        if self._picture is None:
            from widgets.coordinators.transaction_picture import transaction_picture

            self._picture = transaction_picture(self._directory, self._shown, list(self.window))
        return self._picture
