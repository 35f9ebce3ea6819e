"""The documentation's pages on file formats, made from the declarations that the engine reads by.

The text is the docstrings', the tables are the dtypes' with the comments beside their fields, and
the examples are bytes of `sample_data` as `workbench.inspection.bytes` names them. So a page
changes with the engine. `site_pages` puts the pages into the site.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from formats import FORMATS, Example, Format

import workbench as wb
from workbench.inspection.bytes.fields import ByteField, explain_batch
from workbench.inspection.bytes.file_fields import file_window
from workbench.inspection.entries import FileEntry
from workbench.layout import attributes
from workbench.layout.control_records import CONTROL_TYPE_NAMES
from workbench.layout.structure import place, width

PROJECT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = "formats"

_TYPES: Final = {"i": "int", "u": "uint"}
_MOST_HEX: Final = 8  # bytes of a field that are shown
_MOST_TEXT: Final = 44  # characters of a value that are shown
_MOST_LINE: Final = 160  # characters of a line of a text file


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path of each page, relative to the site, and its Markdown; first the overview."""
    yield f"{FOLDER}/index.md", _overview()
    for each in FORMATS:
        yield f"{FOLDER}/{each.page}.md", format_page(each)


def _overview() -> str:
    rows = [f"| [{each.title}]({each.page}.md) | {subject(each)} |" for each in FORMATS]
    return "\n".join(
        [
            "# File formats",
            "",
            "What each byte of a log directory means. These pages are made from the declarations",
            "that the engine itself reads and writes by, and their examples from `sample_data`.",
            "",
            "| Format | Subject |",
            "|---|---|",
            *rows,
            "",
        ]
    )


def subject(page: Format) -> str:
    """Return a line that says what a format is."""
    heading, module = page.modules[0]
    return heading or _docstring(module).partition("\n")[0]


def format_page(page: Format) -> str:
    """Return the Markdown of a format: text, tables of fields, worked examples."""
    parts = [f"# {page.title}", subject(page)]
    for number, (heading, module) in enumerate(page.modules):
        parts += [f"## {heading}"] if number else []
        parts.append(_prose(_docstring(module).partition("\n\n")[2]))
    for heading, module, name in page.layouts:
        parts.append(f"## {heading}\n\n{layout_table(module, name)}")
    if page.page == "record-batch":
        parts.append(f"## Attributes\n\n{_attribute_table()}")
    if page.page == "control-records":
        parts.append(f"## Types\n\n{_type_table()}")
    if page.state:
        parts.append(f"## What the workbench reads from it\n\n{_state_table(*page.state)}")
    for number, example in enumerate(page.examples):
        heading = "Example" if len(page.examples) == 1 else f"Example {number + 1}"
        parts.append(f"## {heading}\n\n{example_text(example)}")
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(_sources(page)))
    parts.append(f"---\n\nFrom the declarations in {names}.")
    return "\n\n".join(parts) + "\n"


def layout_table(module: str, name: str) -> str:
    """Return the fields of a dtype as a Markdown table, with the comments in its declaration."""
    layout: np.dtype[Any] = getattr(importlib.import_module(module), name)
    comments = _comments(module)
    rows = ["| Byte | Size | Field | Type | Meaning |", "|---:|---:|---|---|---|"]
    for field in layout.names or ():
        kind = f"{_TYPES[layout[field].kind]}{8 * width(layout, field)}"
        meaning = comments.get((name, field)) or comments.get((None, field), "")
        rows.append(
            f"| {place(layout, field)} | {width(layout, field)} | `{field}` | {kind} | {meaning} |"
        )
    rows.append(f"| {layout.itemsize} | | | | the end |")
    return "\n".join(rows)


def _comments(module: str) -> dict[tuple[str | None, str], str]:
    """Return the comments beside the fields of a module's dtypes, by dtype and field.

    A field that takes its declaration from another dtype has the comment there: under None.
    """
    found: dict[tuple[str | None, str], str] = {}
    dtype: str | None = None
    for line in inspect.getsource(importlib.import_module(module)).splitlines():
        if begins := re.match(r"(\w+): Final = np\.dtype", line):
            dtype = begins[1]
        if field := re.match(r'\s+\("(\w+)", [^)]+\),?\s*# (.+)', line):
            found[dtype, field[1]] = found[None, field[1]] = field[2].replace("|", "\\|")
    return found


def example_text(example: Example) -> str:
    """Return an example as Markdown: what it is, how to get it, and every byte with its name."""
    path = PROJECT / "sample_data" / example.path
    about = f"{example.about} File: `sample_data/{example.path}`."
    if example.stop is None:
        command = f"kafka-workbench describe sample_data/{example.path} --batch {example.start}"
        about += f" The same on the command line: `{command} --show-values`."
    return f"{about}\n\n```text\n{rows_text(fields(path, example))}\n```"


def fields(path: Path, example: Example) -> list[tuple[ByteField, bytes]]:
    """Return the fields of an example, each with its bytes; those of a compressed part last."""
    if example.stop is not None:
        data, found = file_window(FileEntry(path.name, str(path)), example.start, example.stop)
        return [(each, data[each.position :][: each.size]) for each in found]
    partition = wb.open_log_directory(path.parents[1])[path.parent.name]
    (segment,) = [each for each in partition.segments if each.path == str(path)]
    whole = path.read_bytes()
    shown, keeps = [], not example.groups
    for each in explain_batch(segment, example.start):
        if each.level == 0 and example.groups:
            keeps = each.name in example.groups
        if keeps:
            at = each.position
            shown.append((each, b"" if each.is_decompressed else whole[at : at + each.size]))
    return shown


def rows_text(found: list[tuple[ByteField, bytes]]) -> str:
    """Return fields as lines: byte, size, the bytes in hexadecimal, name, value, meaning."""
    rows = [("byte", "size", "bytes", "field", "value", "meaning")]
    levels = [each.level for each, _ in found] + [0]
    for (each, data), following in zip(found, levels[1:], strict=True):
        is_whole = each.level == 0 and following > 0  # a group whose fields follow
        shown = "" if is_whole else data[:_MOST_HEX].hex(" ") + " …" * (len(data) > _MOST_HEX)
        shown = "(decompressed)" if each.is_decompressed else shown
        name = "  " * each.level + each.name
        value = "" if is_whole else _value(each)
        rows.append((str(each.position), str(each.size), shown, name, value, each.note))
    if not any(row[5] for row in rows[1:]):
        rows[0] = (*rows[0][:5], "")
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return "\n".join(
        f"{row[0]:>{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:{widths[2]}}  {row[3]:{widths[3]}}"
        f"  {row[4]:{widths[4]}}  {row[5]}".rstrip()
        for row in rows
    )


def _value(field: ByteField) -> str:
    value = field.value
    if isinstance(value, bytes):
        text = value.decode("utf-8", "replace")
        value = text if text.isprintable() and "\ufffd" not in text else value.hex()
    elif isinstance(value, bool):
        value = "yes" if value else "no"
    text = "" if value is None else str(value)
    most = _MOST_LINE if field.name.startswith("line ") else _MOST_TEXT
    return text if len(text) <= most else text[:most] + "…"


def _attribute_table() -> str:
    rows = ["| Bits | Name |", "|---|---|"]
    for name, value in vars(attributes).items():
        if name.endswith(("_MASK", "_BIT")):
            bits = [str(bit) for bit in range(16) if value >> bit & 1]
            rows.append(f"| {', '.join(bits)} | {name.rpartition('_')[0].lower()} |")
    codecs = ", ".join(f"{number} {name}" for number, name in enumerate(attributes.CODEC_NAMES))
    times = ", ".join(f"{bit} {name}" for bit, name in attributes.TIMESTAMP_TYPE_NAMES.items())
    return "\n".join([*rows, "", f"Codecs: {codecs}. Timestamp types (bit 3): {times}."])


def _type_table() -> str:
    rows = [f"| {number} | {name} |" for number, name in CONTROL_TYPE_NAMES.items()]
    return "\n".join(["| Type | Name |", "|---:|---|", *rows])


def _state_table(module: str, name: str) -> str:
    """Return the attributes of a class as its docstring describes them."""
    kind = getattr(importlib.import_module(module), name)
    text = inspect.getdoc(kind) or ""
    part = text.partition("Attributes:\n")[2].partition("\n\n")[0]
    rows = [f"`{module}.{name}`: {text.partition(chr(10))[0]}"]
    rows += ["", "| Attribute | Meaning |", "|---|---|"] if part else []
    for item in re.split(r"\n(?=    \w)", part) if part else []:
        attribute, _, meaning = " ".join(item.split()).partition(": ")
        rows.append(f"| `{attribute}` | {meaning} |")
    return "\n".join(rows)


def _docstring(module: str) -> str:
    return inspect.getdoc(importlib.import_module(module)) or ""


def _prose(docstring: str) -> str:
    """Return a docstring as Markdown; the line with Kafka's classes last, in italics."""
    parts = docstring.split("\n\n")
    shown = [
        f"*{' '.join(part.split())}*"
        if part.startswith("Kafka: ")
        else f"```text\n{inspect.cleandoc(part)}\n```"
        if part.startswith("    ")
        else part
        for part in parts
    ]
    return "\n\n".join(shown)


def _sources(page: Format) -> Iterator[str]:
    yield from (module for _, module in page.modules)
    yield from (module for _, module, _ in page.layouts)
