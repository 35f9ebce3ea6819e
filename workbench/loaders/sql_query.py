"""What a query in SQL names, and which columns it takes as text, from DuckDB's own tree of it."""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from workbench.errors import QueryError
from workbench.loaders.scan.column_engines import new_connection

LIST: Final = "show tables lists the topics and tables"
_ASKS_FOR_NAMES: Final = re.compile(
    r"\s*(show(\s+all)?\s+tables|show|describe)\s*;?\s*", re.IGNORECASE
)
_TAKES_TEXT: Final = re.compile(r"->>?|(.*_)?json(_.*)?", re.IGNORECASE)
_TEXT_TYPES: Final = frozenset({"BPCHAR", "CHAR", "JSON", "STRING", "TEXT", "VARCHAR"})


class TakenAsText(NamedTuple):
    """A column that a query gives to what takes text.

    DuckDB then escapes bytes, so that JSON is never found in them, and reports no error.

    Attributes:
        column: its name.
        taker: a function, an operator or a type.
    """

    column: str
    taker: str


class SqlQuery(NamedTuple):
    """The contents of one SELECT.

    Attributes:
        asks_for_names: whether it is ``show tables``.
        tables: schema and name of each table, as the query spells them.
        taken_as_text: columns that are given to what takes text.
        made_columns: names that the query gives to columns of its own.
    """

    asks_for_names: bool
    tables: set[tuple[str, str]]
    taken_as_text: list[TakenAsText]
    made_columns: set[str]


def read_query(query: str, topics: Collection[str]) -> SqlQuery:
    """Return what a query names and does.

    Args:
        query: one statement.
        topics: names that may need quotes.

    Raises:
        MissingDependencyError: duckdb is not installed.
        QueryError: it cannot be parsed, is not one SELECT, or asks for tables of DuckDB itself.
    """
    asks_for_names = _ASKS_FOR_NAMES.fullmatch(query) is not None
    found = SqlQuery(asks_for_names, tables=set(), taken_as_text=[], made_columns=set())
    if asks_for_names:
        return found
    for node in _nodes(_tree(query, topics)):
        kind = node.get("type")
        name = str(node.get("function_name", ""))
        if kind == "BASE_TABLE":
            found.tables.add((node["schema_name"], node["table_name"]))
        elif kind == "SHOW_REF" and node["show_type"] == "SHOW":
            found.tables.add((node["schema_name"], node["table_name"].strip('"')))
        if (kind == "SHOW_REF" and node["show_type"] == "SHOW_SPECIAL") or name.startswith(
            "duckdb_"
        ):
            raise QueryError(f"{query}: it asks for what DuckDB itself has; {LIST}")
        found.made_columns.update(_made_columns(node))
        found.taken_as_text.extend(_taken_as_text(node))
    if any(schema.lower() == "information_schema" for schema, _ in found.tables):
        raise QueryError(f"{query}: information_schema knows nothing of the log directory; {LIST}")
    return found


def _tree(query: str, topics: Collection[str]) -> Any:
    [(text,)] = new_connection().execute("select json_serialize_sql(?)", [query]).fetchall()
    tree = json.loads(text)
    hint = ""
    if not tree["error"]:
        count = len(tree["statements"])
        if count == 1:
            return tree
        what = f"{count} statements"
    elif tree["error_type"] == "not implemented":
        what = "it does more than read"
    else:
        at = int(tree.get("position", len(query)))
        what = tree["error_message"] + (f" at character {at}" if "position" in tree else "")
        hint = _quotes(query, at, topics)
    raise QueryError(f"{query}: {what} (expected one SELECT statement){hint}")


def _quotes(query: str, at: int, topics: Collection[str]) -> str:
    """Return a hint if the word where parsing ended, or a topic's name before it, needs quotes."""
    if query[at : at + 6].lower() == "offset":
        return '; offset is a word of SQL, so write the column as "offset"'
    for name in topics:
        start = query.find(name, max(0, at - len(name)))
        if 0 <= start <= at < start + len(name):
            return f'; write the topic as "{name}"'
    return ""


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _made_columns(node: dict[str, Any]) -> Iterator[str]:
    if node.get("class") and node.get("alias"):
        yield node["alias"]
    yield from node.get("column_name_alias", ())
    yield from (each["key"] for each in node.get("replace_list", ()))


def _taken_as_text(node: dict[str, Any]) -> Iterator[TakenAsText]:
    taker, given = "", []
    if node.get("class") == "CAST":
        types = {str(each).upper() for part in _nodes(node["type_expr"]) for each in part.values()}
        taker, given = next(iter(sorted(types & _TEXT_TYPES)), ""), [node["child"]]
    elif node.get("class") == "FUNCTION" and _TAKES_TEXT.fullmatch(node["function_name"]):
        taker, given = node["function_name"], [each["expression"] for each in node["arguments"]]
    elif node.get("class") == "LAMBDA" and node["expr"]["class"] == "CONSTANT":  # value->'$.a'
        taker, given = "->", [node["lhs"]]
    for each in given:
        if taker and each.get("class") == "COLUMN_REF":
            yield TakenAsText(each["column_names"][-1], taker)
