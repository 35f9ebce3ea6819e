"""Segments, batches and records as lines for people: what DumpLogSegments says, easier to read.

Times are in UTC. Keys and values are shown as sizes unless they are requested. Each transactional
batch has the outcome of its transaction.

Kafka: DumpLogSegments (4.2)
"""

from dataclasses import dataclass
from typing import Any, Final

import click

from workbench.cli.output import safe, size_text, time_of
from workbench.cli.show.json_lines import control_fields
from workbench.cli.show.value_text import AUTO, key_text, plain_text, size_of, value_text
from workbench.inspection.transactions import ABORTED, FATE_NAMES, OPEN
from workbench.layout import problems
from workbench.layout.attributes import TIMESTAMP_TYPE_NAMES, codec_name
from workbench.record.columns import RecordColumns
from workbench.runtime.words import plural

_LONGEST: Final = 300  # characters of a key or value, unless they are wanted whole


@dataclass(frozen=True)
class Look:
    """How records are shown.

    Attributes:
        show_values: whether keys, values and headers are shown, or only their sizes.
        key_format, value_format: two of `value_text.FORMATS`.
        color: whether the terminal shows colors.
        full: whether long values are shown whole.
    """

    show_values: bool = False
    key_format: str = AUTO
    value_format: str = AUTO
    color: bool = False
    full: bool = False

    def style(self, text: str, **how: Any) -> str:
        """Return text with colors, if they are wanted."""
        return click.style(text, **how) if self.color else text


def segment_line(partition: str, path: str, size: int, look: Look) -> str:
    """Return the line above the batches of a segment."""
    return look.style(safe(f"{partition}  {path}  {size_text(size)}"), bold=True)


def batch_line(row: Any, fate: int, look: Look) -> str:
    """Return a row of a batch table as one line.

    Args:
        row: one BATCH_ROW.
        fate: the outcome of its transaction, as in `inspection.transactions`.
        look: how the line is shown.
    """
    magic, count = int(row["magic"]), int(row["record_count"])
    first, last = int(row["base_offset"]), int(row["last_offset"])
    offsets = f"{first:,}" if first == last else f"{'?' if first < 0 else f'{first:,}'}–{last:,}"
    words = [
        f"batch at {int(row['position']):,}",
        f"{int(row['size']):,} B",
        f"offsets {offsets}",
        "records unknown" if count < 0 else plural(count, "record"),
        _times(row),
        codec_name(int(row["codec"])) if row["codec"] else "",
        f"magic {magic}",
        _producer(row),
        f"leader epoch {int(row['partition_leader_epoch'])}" if magic > 1 else "",
        "control" if row["is_control"] else "",
        _fate(row, fate, look),
    ]
    if row["delete_horizon"] != -1:
        words.append(f"delete horizon {time_of(int(row['delete_horizon']))}")
    line = look.style("  ".join(filter(None, words)), fg="cyan")
    if row["problem"]:
        line += "  " + look.style(problems.WORDS[int(row["problem"])], fg="red", bold=True)
    return line


def _times(row: Any) -> str:
    name = TIMESTAMP_TYPE_NAMES.get(int(row["timestamp_type"]))
    if name is None:
        return "no timestamp"
    return f"{name} to {time_of(int(row['max_timestamp'])) or 'none'}"


def _producer(row: Any) -> str:
    if row["producer_id"] < 0:
        return ""
    epoch, first, last = (
        int(row[name]) for name in ("producer_epoch", "base_sequence", "last_sequence")
    )
    sequence = (
        "" if first < 0 else f" sequence {first}" if first == last else f" sequence {first}–{last}"
    )
    return f"producer {int(row['producer_id'])} epoch {epoch}{sequence}"


def _fate(row: Any, fate: int, look: Look) -> str:
    if not row["is_transactional"] or row["is_control"]:
        return ""
    return look.style(FATE_NAMES[fate], fg={ABORTED: "red", OPEN: "yellow"}.get(fate, "green"))


def record_line_maker(topic: str, look: Look) -> Any:
    """Return a function from columns, row number and whether it is a control record to a line."""
    show_key = key_text(look.key_format, topic)
    show_value = value_text(look.value_format, topic)

    def cut(text: str) -> str:
        return text if look.full or len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

    def line(columns: RecordColumns, at: int, *, is_control: bool) -> str:
        assert columns.keys is not None
        assert columns.values is not None
        assert columns.headers is not None
        key, value = columns.keys.item(at), columns.values.item(at)
        stamp = time_of(int(columns.timestamps[at])) or "no timestamp"
        start = f"  {int(columns.offsets[at]):>10,}  {stamp:<24}"
        if is_control:
            told = control_fields(key, value)
            rest = ", ".join(f"{name} {each}" for name, each in told.items() if name != "type")
            return f"{start}  {look.style(told['type'], fg='magenta')}  {safe(rest)}".rstrip()
        headers = columns.headers.item(at)
        if look.show_values:
            words = f"key {cut(show_key(key))}  value {cut(show_value(key, value))}"
            shown = cut(", ".join(f"{plain_text(k)}={plain_text(v)}" for k, v in headers))
        else:
            words = f"key {size_of(key)}  value {size_of(value)}"
            shown = str(len(headers))
        tombstone = (
            look.style("  tombstone", fg="yellow") if value is None and key is not None else ""
        )
        return f"{start}  {words}{tombstone}" + (f"  headers {shown}" if headers else "")

    return line
