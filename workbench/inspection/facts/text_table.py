"""Tables of plain text: aligned cells, numbers flush right."""

from collections.abc import Sequence


def padded(rows: Sequence[Sequence[str]], flush_right: Sequence[bool]) -> list[str]:
    """Return rows as lines with aligned cells, two spaces apart.

    Args:
        rows: the rows, each with one text per column; the headings are one of them.
        flush_right: of each column, whether it is.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    form = "  ".join(
        f"{{:{'>' if right else '<'}{width}}}"
        for right, width in zip(flush_right, widths, strict=True)
    )
    return [form.format(*row).rstrip() for row in rows]


def text_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return headings and rows as aligned lines; None as a dash, whole numbers flush right."""
    cells = [[_text(value) for value in row] for row in rows]
    return padded([list(columns), *cells], numeric_columns(len(columns), rows))


def numeric_columns(count: int, rows: Sequence[Sequence[object]]) -> list[bool]:
    """Return of each column whether it has whole numbers, or nothing, in all rows."""
    return [
        bool(rows) and all(isinstance(row[at], int | None) for row in rows) for at in range(count)
    ]


def _text(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else str(value)
