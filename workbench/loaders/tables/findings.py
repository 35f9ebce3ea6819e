"""Findings as a list that shows itself as a table."""

from typing import Final

import pyarrow as pa

from workbench.inspection.facts.html import table_html
from workbench.inspection.findings import SEVERITIES, Finding
from workbench.loaders.tables.rows import ArrowTable, finding_table
from workbench.runtime.words import plural

_SHOWN: Final = 100  # rows of the table in a notebook


class FindingList(ArrowTable, list[Finding]):
    """A list of findings; a table in notebooks, in Arrow and in pandas."""

    def __repr__(self) -> str:
        return f"<FindingList: {self.summary}>"

    def __str__(self) -> str:
        return "\n".join([self.summary, *map(str, self)])

    @property
    def summary(self) -> str:
        """How many there are of each severity."""
        counts = {each: sum(f.severity == each for f in self) for each in reversed(SEVERITIES)}
        return (
            ", ".join(
                plural(count, name, "info" if name == "info" else None)
                for name, count in counts.items()
                if count
            )
            or "nothing wrong"
        )

    def to_arrow(self) -> pa.Table:
        """Return one row per finding (`FindingRow`)."""
        return finding_table(self)

    def _repr_html_(self) -> str:
        columns = ["severity", "kind", "path", "byte", "offset", "found", "what a broker does"]
        rows = [
            [f.severity, f.kind, f.path, f.position, f.offset, f.found, f.broker]
            for f in self[:_SHOWN]
        ]
        left = len(self) - len(rows)
        note = f"{left} more findings" if left else None
        sentences = ["found", "what a broker does"]
        return table_html(self.summary, columns, rows, note, sentences=sentences)
