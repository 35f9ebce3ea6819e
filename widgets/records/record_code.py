"""Python and SQL that give the records which the record browser shows."""

import json
from collections.abc import Mapping
from typing import Any, Final

from widgets.queries import HEAD
from widgets.records.field_columns import PLAIN_COLUMNS, field_of
from workbench.loaders.queries.json_path import ANY, Step

_SIZE: Final = "coalesce(octet_length(key), 0) + coalesce(octet_length(value), 0)"
_FIRST_BY: Final = {"time": "timestamp", "partition": "", "offset": "", "size": _SIZE}


def record_code(opened: str, options: Mapping[str, Any], order: str) -> dict[str, str]:
    """Return the code by language: "python" and "sql".

    Args:
        opened: the expression that opens the directories, see `queries.opening`.
        options: the options of the scan, without those that have their default.
        order: the name of a column, perhaps with " desc".
    """
    given = "".join(f"\n    {name}={_literal(value)}," for name, value in options.items())
    start = f"{HEAD}\n\nlogs = {opened}\nscan = logs.scan({given}\n)\n"
    name, _, direction = order.partition(" ")
    columns = [*_first_by(name), "topic", "partition", '"offset"']
    ordered = ", ".join(f"{each} {direction}".strip() for each in columns if each)
    lines = (
        'connection = scan.to_duckdb("records")',
        'connection.sql("""',
        '    select topic, partition, "offset", timestamp, key, value from records',
        f"    order by {ordered} limit 1000",
        '""")',
    )
    return {"python": f"{start}scan.to_pandas()", "sql": start + "\n".join(lines)}


def _first_by(order: str) -> list[str]:
    """Return what SQL sorts by before the place; of a field its numbers, then its texts."""
    if order in _FIRST_BY:
        return [_FIRST_BY[order]]
    if order in PLAIN_COLUMNS:
        return [order]
    field = field_of(order)
    steps = "".join(map(_step, field.steps)).replace("'", "''")
    text = f"try(decode({field.column}) ->> '${steps}')"
    return [f"try_cast({text} as double)", f"lower({text})"]


def _step(step: Step) -> str:
    """Return a step of a path as DuckDB writes it."""
    if isinstance(step, str):
        return f".{json.dumps(step, ensure_ascii=False)}"
    return "[*]" if step is ANY else f"[{step}]"


def _literal(value: Any) -> str:
    """Return Python code of a text, a number, or a tuple or list of them."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))})"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return repr(value)


def _quoted(text: str) -> str:
    plain = repr(text)
    return plain if "'" in text or '"' in text or "\\" in text else f'"{text}"'
