"""The named bytes of a batch as lines for people."""

from typing import Final

from workbench.cli.colors import has_color, painted_part, styled
from workbench.cli.show.value_text import plain_text
from workbench.inspection.bytes.field_list import PRIVATE, ByteField
from workbench.runtime.words import safe

_LONGEST: Final = 120  # characters of a value


def field_line(field: ByteField, *, show_values: bool) -> str:
    """Return ``position  size  name  value  note``; values may be hidden."""
    name = "  " * field.level + field.name
    start = f"{field.position:>10}  {field.size:>7}  {name:<26}"
    value = _value(field, show_values)
    note = (f"  ({field.note})" if value else field.note) if field.note else ""
    line = safe(f"{start}{value}{note}".rstrip())
    if not has_color():
        return f"{line}  <- wrong" if field.is_wrong else line
    if field.is_wrong:
        return styled(line, fg="red")
    if field.level == 0:
        return styled(line, bold=True)
    return painted_part(line, len(start), len(start) + len(value))


def _value(field: ByteField, show_values: bool) -> str:
    if field.value is None:
        return ""
    if isinstance(field.value, bytes):
        if field.name in PRIVATE and not show_values:
            return f"{len(field.value)} bytes, hidden"
        text = plain_text(field.value)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return str(field.value)
