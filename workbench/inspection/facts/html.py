"""Small HTML tables for notebooks: what a plain object shows without any widget.

The text is escaped, the result depends on nothing but the arguments (two runs of a notebook give
the same bytes), and colors come from the host's theme through CSS variables of Jupyter, with
fallbacks that read well on light and dark pages. Tables are not sorted, shortened or paged:
callers pass the rows to show and say in ``note`` what they left out.
"""

from collections.abc import Collection, Iterable, Sequence
from html import escape

Cell = str | int | float | None

_CLASS = "kafka-log-workbench"

# The class is named twice: JupyterLab aligns every cell right, with a stronger rule than one class.
_STYLE = """<style>
.kafka-log-workbench{font-family:var(--jp-ui-font-family,system-ui,sans-serif);\
font-size:13px;line-height:1.45;color:var(--jp-content-font-color1,inherit);\
max-width:100%;overflow-x:auto}
.kafka-log-workbench h4{margin:0 0 6px;font-size:13px;font-weight:600}
.kafka-log-workbench table{border-collapse:collapse;margin:0;border:0;\
font-variant-numeric:tabular-nums}
.kafka-log-workbench.kafka-log-workbench table th{text-align:left;\
font-weight:500;font-size:12px;white-space:normal;vertical-align:bottom;\
color:var(--jp-content-font-color2,inherit);background:none;border:0;\
border-bottom:1px solid var(--jp-border-color1,rgba(128,128,128,.5));padding:4px 14px 4px 0}
.kafka-log-workbench.kafka-log-workbench table td{text-align:left;\
white-space:nowrap;background:none;border:0;\
border-bottom:1px solid var(--jp-border-color3,rgba(128,128,128,.2));padding:4px 14px 4px 0}
.kafka-log-workbench tr{background:none!important}
.kafka-log-workbench.kafka-log-workbench table .number{text-align:right}
.kafka-log-workbench.kafka-log-workbench table .words{white-space:normal;min-width:14em}
.kafka-log-workbench.kafka-log-workbench table .long{white-space:normal;overflow-wrap:anywhere;\
min-width:9em}
.kafka-log-workbench .none{color:var(--jp-content-font-color3,rgba(128,128,128,.9))}
.kafka-log-workbench p{margin:6px 0 0;font-size:12px;color:var(--jp-content-font-color2,inherit)}
</style>"""


def table_html(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    note: str | None = None,
    *,
    sentences: Collection[str] = (),
    names: Collection[str] = (),
) -> str:
    """Return one table as HTML for ``_repr_html_``.

    Integers get thousands separators, ``None`` is shown as a dash, and a column whose cells are
    all numbers (or None) is aligned right. Text is escaped everywhere.

    Args:
        title: one line above the table; empty for none.
        columns: headings, in order.
        rows: one cell per heading each.
        note: one line below the table, for example how many rows were left out.
        sentences: headings of columns with sentences, which may take more than one line.
        names: headings of columns with names that are too long for one line.

    Raises:
        ValueError: a row has another number of cells than there are columns.
    """
    body = [list(row) for row in rows]
    for index, row in enumerate(body):
        if len(row) != len(columns):
            raise ValueError(f"row {index} has {len(row)} cells, expected {len(columns)}")
    is_numeric = [_is_numeric([row[at] for row in body]) for at in range(len(columns))]
    head = "".join(
        f'<th scope="col"{_class_of(numeric)}>{escape(name)}</th>'
        for name, numeric in zip(columns, is_numeric, strict=True)
    )
    lines = [
        "<tr>"
        + "".join(
            _cell(cell, numeric, "words" if name in sentences else "long" if name in names else "")
            for cell, numeric, name in zip(row, is_numeric, columns, strict=True)
        )
        + "</tr>"
        for row in body
    ]
    parts = [
        f'<div class="{_CLASS}">',
        _STYLE,
        f"<h4>{escape(title)}</h4>" if title else "",
        f"<table><thead><tr>{head}</tr></thead><tbody>",
        *lines,
        "</tbody></table>",
        f"<p>{escape(note)}</p>" if note else "",
        "</div>",
    ]
    return "\n".join(part for part in parts if part)


def _is_numeric(cells: Sequence[Cell]) -> bool:
    """Whether a column holds numbers only, at least one."""
    numbers = [isinstance(cell, int | float) for cell in cells if cell is not None]
    return bool(numbers) and all(numbers)


def _class_of(numeric: bool) -> str:  # noqa: FBT001 - one flag, one meaning
    return ' class="number"' if numeric else ""


def _cell(cell: Cell, numeric: bool, kind: str) -> str:  # noqa: FBT001 - of the column
    if kind and cell is not None:
        return f'<td class="{kind}">{escape(str(cell))}</td>'
    if cell is None:
        return f'<td class="{"number none" if numeric else "none"}">–</td>'
    if isinstance(cell, bool):
        return f"<td{_class_of(numeric)}>{'yes' if cell else 'no'}</td>"
    text = f"{cell:,}" if isinstance(cell, int) else str(cell)
    return f"<td{_class_of(numeric)}>{escape(text)}</td>"
