"""Python and SQL that give the records which the record browser shows."""

from collections.abc import Mapping
from typing import Any, Final

HEAD: Final = "import workbench as wb"

_SIZE: Final = "coalesce(octet_length(key), 0) + coalesce(octet_length(value), 0)"
_FIRST_BY: Final = {"time": ["timestamp"], "offset": [], "key": ["key"], "size": [_SIZE]}


def record_code(opened: str, options: Mapping[str, Any], order: str) -> dict[str, str]:
    """Return the code by language: "python" and "sql".

    Args:
        opened: the expression that opens the directories, see `queries.opening`.
        options: the options of the scan, without those that have their default.
        order: "time", "offset", "key" or "size", perhaps with " desc".
    """
    given = "".join(f"\n    {name}={_literal(value)}," for name, value in options.items())
    start = f"{HEAD}\n\nlogs = {opened}\nscan = logs.scan({given}\n)\n"
    name, _, direction = order.partition(" ")
    columns = [*_FIRST_BY[name], "topic", "partition", '"offset"']
    ordered = ", ".join(f"{each} {direction}".strip() for each in columns)
    lines = (
        'connection = scan.to_duckdb("records")',
        'connection.sql("""',
        '    select topic, partition, "offset", timestamp, key, value from records',
        f"    order by {ordered} limit 1000",
        '""")',
    )
    return {"python": f"{start}scan.to_pandas()", "sql": start + "\n".join(lines)}


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
