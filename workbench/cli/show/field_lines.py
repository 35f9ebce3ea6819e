"""The named bytes of a batch as lines for people."""

import sys
from typing import Final

import click

from workbench.cli.show.value_text import plain_text
from workbench.inspection.bytes.field_list import ByteField
from workbench.runtime.words import safe

_PRIVATE: Final = frozenset({"key", "value", "records"})
_LONGEST: Final = 120  # characters of a value


def field_line(field: ByteField, *, show_values: bool) -> str:
    """Return ``position  size  name  value  note``; keys and values are hidden unless wanted."""
    name = "  " * field.level + field.name
    line = f"{field.position:>10}  {field.size:>7}  {name:<26}{_value(field, show_values)}"
    if field.note:
        line += f"  ({field.note})" if _value(field, show_values) else field.note
    line = safe(line.rstrip())
    if not sys.stdout.isatty():
        return f"{line}  <- wrong" if field.is_wrong else line
    if field.is_wrong:
        return click.style(line, fg="red")
    return click.style(line, bold=True) if field.level == 0 else line


def _value(field: ByteField, show_values: bool) -> str:
    if field.value is None:
        return ""
    if isinstance(field.value, bytes):
        if field.name in _PRIVATE and not show_values:
            return f"{len(field.value)} bytes, hidden"
        text = plain_text(field.value)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return str(field.value)
