"""An explanation: the verdict of each of Kafka's rules, as rows for people and for Arrow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from workbench.files.text import INT64_MAX
from workbench.foresight.explain.rule_verdict import RuleVerdict, Value
from workbench.inspection.broker_version import MeantBroker
from workbench.inspection.facts.html import Cell, table_html
from workbench.inspection.facts.text_table import text_table
from workbench.loaders.tables.rows import ArrowTable, table_of
from workbench.runtime.times import due_text, ms_text, time_text
from workbench.runtime.words import safe, safe_lines
from workbench.tables.foresight import RuleRow

_SHOWN: Final = 100  # rows of the table in a notebook


@dataclass(frozen=True, slots=True)
class Explanation(ArrowTable):
    """The verdicts of the rules on one partition; iterating gives the rows.

    Attributes:
        partition: name of its partition directory.
        now: ms; the time that ages were measured by.
        conclusion: one sentence.
        rows: one row per rule, or per rule and segment, in the order in which Kafka asks.
        high_watermark: the assumed high watermark of the log, and why: a sentence.
        broker: the broker that is assumed, and why that one.
    """

    partition: str
    now: int
    conclusion: str
    rows: tuple[RuleVerdict, ...]
    high_watermark: str
    broker: MeantBroker

    def __iter__(self) -> Iterator[RuleVerdict]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rule: str) -> RuleVerdict:
        """Return the first row of a rule.

        Raises:
            KeyError: no row has that rule.
        """
        for row in self.rows:
            if row.rule == rule:
                return row
        raise KeyError(rule)

    def to_arrow(self) -> pa.Table:
        """Return the rows as a table (`RuleRow`); value and threshold as texts."""
        rows = (
            row._replace(value=value_text(row.value), threshold=value_text(row.threshold))
            for row in self.rows
        )
        return table_of(RuleRow, rows)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "broker": self.broker._asdict(),
            "partition": self.partition,
            "now": self.now,
            "conclusion": self.conclusion,
            "high_watermark": self.high_watermark,
            "rules": [row.as_dict() for row in self.rows],
        }

    @property
    def columns(self) -> list[str]:
        """The headings of `cells`."""
        return [*_FIRST, *(["segment"] if self._has_segments else []), *_REST]

    def cells(self, rows: Sequence[RuleVerdict] | None = None) -> list[list[Cell]]:
        """Return rows as a person reads them."""
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
            for row in (self.rows if rows is None else rows)
        ]

    @property
    def _has_segments(self) -> bool:
        return any(row.segment is not None for row in self.rows)

    def __repr__(self) -> str:
        return safe(f"<Explanation of {self.partition}: {self.conclusion}>")

    def __str__(self) -> str:
        title = f"{self.partition} at {time_text(self.now)}: {self.conclusion}"
        rows = text_table(self.columns, self.cells())
        return safe_lines([str(self.broker), title, *rows, self.high_watermark])

    def _repr_html_(self) -> str:
        left = len(self.rows) - _SHOWN
        title = f"{self.partition} at {time_text(self.now)}: {self.conclusion}"
        more = [f"{left} more rows"] if left > 0 else []
        note = "; ".join([*more, self.high_watermark, str(self.broker)])
        cells = self.cells(self.rows[:_SHOWN])
        return table_html(title, self.columns, cells, note, sentences=["why"], names=["Kafka"])


def _with_unit(row: RuleVerdict, value: Value) -> str | None:
    """Return a value as a person reads it: ``604,800,000 (7 days)`` of a rule in ms."""
    is_duration = row.rule.endswith(".ms") and isinstance(value, int) and value != INT64_MAX
    return ms_text(int(value)) if is_duration and value is not None else value_text(value)


_FIRST: Final = ("rule", "verdict")
_REST: Final = ("value", "threshold", "why", "Kafka")


def value_text(value: Value) -> str | None:
    """Return a value as text, whole numbers with thousands separators; None for none."""
    if value is None or isinstance(value, str):
        return value
    if value == INT64_MAX:
        return "unlimited"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
