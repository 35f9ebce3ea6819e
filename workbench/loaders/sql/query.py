"""What a query in SQL names, and which columns it takes as text, from DuckDB's own tree of it."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from workbench.errors import QueryError
from workbench.loaders.scan.column_engines import new_connection

LIST: Final = "show tables lists the topics and tables"
_ASKS_FOR_NAMES: Final = re.compile(
    r"\s*(show(\s+all)?\s+tables|show(\s+topics)?|describe|help|[.]?(tables|schema)|\\dt?)\s*;?\s*",
    re.IGNORECASE,
)
_TAKES_TEXT: Final = re.compile(r"->>?|(.*_)?json(_.*)?", re.IGNORECASE)
_TAKES_BYTES: Final = frozenset({
    "base64", "decode", "hex", "md5", "octet_length", "sha1", "sha256", "to_base64", "to_hex",
})  # fmt: skip
_HEADER: Final = re.compile(
    rb"""((?:(?:\w+|"[^"]+")\s*\.\s*)*"?headers"?)\s*\[\s*('(?:[^']|'')*')\s*\]"""
)
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


class ColumnPath(NamedTuple):
    """A column that a query names, perhaps with its table, and perhaps a field of it.

    Attributes:
        names: as the query spells them: ``("o", "value", "total")``.
        is_of_bytes: whether it is given to a function that takes bytes alone.
    """

    names: tuple[str, ...]
    is_of_bytes: bool = False


class Needed(NamedTuple):
    """What a query names, in the spelling that DuckDB compares, which knows no case.

    Attributes:
        names: of columns, and of anything else.
        fields: the fields of columns no more of which is needed: column → names of fields.
    """

    names: frozenset[str]
    fields: Mapping[str, frozenset[str]]


class SqlQuery(NamedTuple):
    """The contents of one SELECT.

    Attributes:
        asks_for_names: whether it is ``show tables``.
        tables: schema and name of each table, as the query spells them.
        taken_as_text: columns that are given to what takes text.
        made_columns: names that the query gives to columns of its own.
        named_columns: table, or "" if it is not said, and name of each column that the query names.
        paths: each column that the query names, with the fields of it.
        aliases: the other names of tables: name → schema and name of the table.
        needed: what the query needs of its tables; None: perhaps everything.
        text: what DuckDB runs: the query, in which ``headers['name']`` is the value of the last
            header of that name, as `Headers.lastHeader` gives it.
    """

    asks_for_names: bool
    tables: set[tuple[str, str]]
    taken_as_text: list[TakenAsText]
    made_columns: set[str]
    named_columns: set[tuple[str, str]]
    paths: set[ColumnPath]
    aliases: dict[str, tuple[str, str]]
    needed: Needed | None
    text: str


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
    found = SqlQuery(asks_for_names, set(), [], set(), set(), set(), {}, None, query)
    if asks_for_names:
        return found
    nodes = list(_nodes(_tree(query, topics)))
    for node in nodes:
        kind = node.get("type")
        name = str(node.get("function_name", ""))
        if kind == "BASE_TABLE":
            table = node["schema_name"], node["table_name"]
            found.tables.add(table)
            found.aliases[node["alias"] or table[1]] = table
        elif kind == "SHOW_REF" and node["show_type"] == "SHOW":
            found.tables.add((node["schema_name"], node["table_name"].strip('"')))
        if (kind == "SHOW_REF" and node["show_type"] == "SHOW_SPECIAL") or name.startswith(
            "duckdb_"
        ):
            raise QueryError(f"{query}: it asks for what DuckDB itself has; {LIST}")
        found.made_columns.update(_made_columns(node))
        if node.get("class") == "COLUMN_REF":
            *table, name = node["column_names"][:2]
            found.named_columns.update({("".join(table), name), ("", node["column_names"][0])})
        found.paths.update(_paths(node))
        found.taken_as_text.extend(_taken_as_text(node))
    if any(schema.lower() == "information_schema" for schema, _ in found.tables):
        raise QueryError(f"{query}: information_schema knows nothing of the log directory; {LIST}")
    found = found._replace(needed=_needed(nodes, found.aliases))
    if "headers" in found.made_columns:
        return found
    return found._replace(text=_with_headers(query, nodes))


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


def _paths(node: dict[str, Any]) -> Iterator[ColumnPath]:
    """Yield the columns that a node of the tree names, with their fields."""
    if node.get("class") == "COLUMN_REF":
        yield ColumnPath(tuple(node["column_names"]))
    elif field := _field(node):
        yield ColumnPath((*field[0]["column_names"], field[1]))
    elif node.get("class") == "FUNCTION" and node["function_name"] in _TAKES_BYTES:
        for each in node["arguments"]:
            if each["expression"].get("class") == "COLUMN_REF":
                yield ColumnPath(tuple(each["expression"]["column_names"]), is_of_bytes=True)


def _needed(nodes: Collection[dict[str, Any]], tables: Collection[str]) -> Needed | None:
    """Return what a query needs of its tables; None: perhaps everything."""
    plain = {id(n["expression"]) for n in nodes if n.get("type") == "ORDER_DEFAULT"}  # by all
    if any(_takes_all(node) for node in nodes if id(node) not in plain):
        return None
    whole = {name.lower() for name in tables}
    names: set[str] = set()
    fields: dict[str, set[str]] = {}
    taken = {id(field[0]) for field in map(_field, nodes) if field is not None}
    for node in nodes:
        for path in (each.names for each in _paths(node) if id(node) not in taken):
            lower = [name.lower() for name in path]
            if lower[0] in whole and len(lower) == 1:  # all columns of a table, as a struct
                return None
            names.update(lower)
            for at, name in enumerate(lower):  # any of them may be the column
                fields.setdefault(name, set()).add("".join(path[at + 1 : at + 2]))
    parts = {name: frozenset(some) for name, some in fields.items() if "" not in some}
    return Needed(frozenset(names), parts)


def _takes_all(node: dict[str, Any]) -> bool:
    """Return whether a node of the tree may take columns that it does not name."""
    if node.get("class") in {"STAR", "POSITIONAL_REFERENCE"}:
        return True
    if node.get("type") in {"PIVOT", "SHOW_REF", "TABLE_FUNCTION"}:
        return True
    is_natural = node.get("type") == "JOIN" and node["ref_type"] == "NATURAL"
    return is_natural or bool(node.get("using_columns") or node.get("column_name_alias"))


def _field(node: dict[str, Any]) -> tuple[dict[str, Any], str] | None:
    """Return the column and the name of ``column['name']`` and ``(column).name``."""
    if node.get("type") not in {"ARRAY_EXTRACT", "STRUCT_EXTRACT"}:
        return None
    column, name = node["children"]
    text = _text_of(name)
    return (column, text) if column.get("class") == "COLUMN_REF" and text is not None else None


def _text_of(node: dict[str, Any]) -> str | None:
    """Return the text of a constant, as each version of DuckDB has it."""
    given = node.get("literal") or node.get("value") or {}
    kind = given.get("kind") or (given.get("type") or {}).get("id")
    text = given.get("text", given.get("value"))
    return text if kind in {"STRING", "VARCHAR"} and isinstance(text, str) else None


def _with_headers(query: str, nodes: Collection[dict[str, Any]]) -> str:
    """Return the query with each ``headers['name']`` as DuckDB takes it of a list of headers.

    Names of headers may be there several times, so they are not a map.
    """
    chosen = {
        id(each)
        for node in nodes
        for each in node.get("select_list", ())
        if node.get("type") == "SELECT_NODE" and not each.get("alias")
    }
    data, end = query.encode(), len(query.encode())
    starts = {}
    for node in nodes:
        field = _field(node)
        if field and node["type"] == "ARRAY_EXTRACT" and field[0]["column_names"][-1] == "headers":
            starts[field[0]["query_location"]] = field[1] if id(node) in chosen else None
    for start, heading in sorted(starts.items(), reverse=True):
        found = _HEADER.match(data, start, end)
        if found is not None:  # each version of DuckDB counts positions its own way
            value = b"[each.value for each in %b if each.key = %b][-1]" % found.groups()
            alias = "" if heading is None else ' as "{}"'.format(heading.replace('"', '""'))
            data = data[:start] + value + alias.encode() + data[found.end() :]
            end = start
    return data.decode()


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
