"""An explanation: the verdict of each of Kafka's rules, as rows for people and for Arrow."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, Literal

import pyarrow as pa

from workbench.foresight.explain.retention import WOULD_BE_DELETED
from workbench.inspection.broker_version import MeantBroker
from workbench.inspection.facts.html import Cell, table_html
from workbench.inspection.facts.text_table import text_table
from workbench.layout.integers import INT64_MAX
from workbench.loaders.tables.rows import ArrowTable, table_of
from workbench.runtime.times import due_text, ms_text, time_text
from workbench.runtime.words import safe, safe_lines
from workbench.tables.columns import json_of
from workbench.tables.foresight import RuleRow, Value

_SHOWN: Final = 100  # rows of the table in a notebook


@dataclass(frozen=True, slots=True)
class Explanation(ArrowTable):
    """The verdicts of the rules on a partition, group or transaction; iterating gives the rows.

    Attributes:
        subject: what it is about: "partition", "group" or "transaction".
        name: of the partition, as ``orders-0``; the group's id; the transactional id, or a producer
            id as text.
        conclusion: one sentence.
        rows: one row per rule, or per rule and segment or partition, in the order in which Kafka
            asks.
        now: ms; the time that ages of a partition are measured by; otherwise None.
        high_watermark: the assumed high watermark of a partition, and why: a sentence; otherwise
            empty.
        broker: the broker that is assumed for a partition, and why that one; otherwise None.
    """

    subject: Literal["partition", "group", "transaction"]
    name: str
    conclusion: str
    rows: tuple[RuleRow, ...]
    now: int | None = None
    high_watermark: str = ""
    broker: MeantBroker | None = None

    def __iter__(self) -> Iterator[RuleRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rule: str) -> RuleRow:
        """Return the first row of a rule.

        Raises:
            KeyError: no row has that rule.
        """
        for row in self.rows:
            if row.rule == rule:
                return row
        raise KeyError(rule)

    def of(self, partition: str) -> list[RuleRow]:
        """Return the rows of a partition, such as ``orders-0``."""
        return [row for row in self.rows if row.where == partition]

    @property
    def is_limited(self) -> bool:
        """Whether any rule blocks or limits."""
        return any(row.verdict in {"blocks", "limits"} for row in self.rows)

    def to_arrow(self) -> pa.Table:
        """Return the rows as a table (`RuleRow`); value and threshold as texts."""
        texts = (
            row._replace(value=value_text(row.value), threshold=value_text(row.threshold))
            for row in self.rows
        )
        return table_of(RuleRow, texts)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON; rules have the fields of `RuleRow`."""
        facts: dict[str, Any] = {self.subject: self.name, "conclusion": self.conclusion}
        if self.broker is not None:
            facts |= {
                "broker": self.broker._asdict(),
                "now": self.now,
                "high_watermark": self.high_watermark,
            }
        return facts | {"rules": [json_of(row) for row in self.rows]}

    @property
    def columns(self) -> list[str]:
        """The headings of `cells`."""
        if self.subject != "partition":
            return ["partition", "rule", "verdict", "why"]
        return [*_FIRST, *(["segment"] if self._has_segments else []), *_REST]

    def cells(self, rows: Sequence[RuleRow] | None = None) -> list[list[Cell]]:
        """Return rows as a person reads them; segments that a rule is not asked about are one."""
        rows = _shortened(self.rows) if rows is None else rows
        if self.subject != "partition":
            return [[row.where, row.rule, row.verdict, row.reason] for row in rows]
        return [
            [
                row.rule,
                row.verdict,
                *([row.segment] if self._has_segments else []),
                _with_unit(row, row.value),
                _with_unit(row, row.threshold),
                row.reason + ("" if row.due is None else f"; until {due_text(row.due)}"),
                row.kafka,
            ]
            for row in rows
        ]

    @property
    def _has_segments(self) -> bool:
        return any(row.segment is not None for row in self.rows)

    @property
    def _title(self) -> str:
        at = "" if self.now is None else f" at {time_text(self.now)}"
        return f"{self.name}{at}: {self.conclusion}"

    def __repr__(self) -> str:
        return safe(f"<Explanation of {self.name}: {self.conclusion}>")

    def __str__(self) -> str:
        broker = [] if self.broker is None else [str(self.broker)]
        rows = text_table(self.columns, self.cells())
        return safe_lines([*broker, self._title, *rows, *filter(None, [self.high_watermark])])

    def _repr_html_(self) -> str:
        rows = _shortened(self.rows)
        left = len(rows) - _SHOWN
        broker = "" if self.broker is None else str(self.broker)
        notes = [f"{left} more rows" if left > 0 else "", self.high_watermark, broker]
        note = "; ".join(filter(None, notes)) or None
        cells = self.cells(rows[:_SHOWN])
        return table_html(
            self._title, self.columns, cells, note, sentences=["why"], names=["Kafka"]
        )


def _shortened(rows: Iterable[RuleRow]) -> list[RuleRow]:
    """Return rows with one for the segments that follow each other and that no rule is asked about.

    It stands at the first of them, and says how many there are.
    """
    found: list[RuleRow] = []
    for (_, verdict), group in groupby(rows, lambda row: (row.rule, row.verdict)):
        first, *more = group
        if verdict != "not asked" or not more:
            found += (first, *more)
            continue
        reason = first.reason.partition(";")[0]
        reason += f", and so does not ask about {len(more) + 1:,} segments, to {more[-1].segment}"
        gone = [row for row in (first, *more) if WOULD_BE_DELETED in row.reason]
        if gone:
            reason += f"; on their own, {len(gone):,} of them would be deleted"
        found.append(first._replace(reason=reason))
    return found


def _with_unit(row: RuleRow, value: Value | None) -> str | None:
    """Return a value as a person reads it: ``604,800,000 (7 days)`` of a rule in ms."""
    is_duration = row.rule.endswith(".ms") and isinstance(value, int) and value != INT64_MAX
    return ms_text(int(value)) if is_duration and value is not None else value_text(value)


_FIRST: Final = ("rule", "verdict")
_REST: Final = ("value", "threshold", "why", "Kafka")


def value_text(value: Value | None) -> str | None:
    """Return a value as text, whole numbers with thousands separators; None for none."""
    if value is None or isinstance(value, str):
        return value
    if value == INT64_MAX:
        return "unlimited"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
