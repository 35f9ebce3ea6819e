"""Segments, batches and records as lines for people: what DumpLogSegments says, easier to read.

Times are in UTC. Keys and values are shown as sizes unless they are requested. Each transactional
batch has the outcome of its transaction.

Kafka: DumpLogSegments (4.2)
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import click

from workbench.cli.output import safe, size_text, time_of
from workbench.cli.show.json_lines import control_of
from workbench.cli.show.pieces import is_null_at
from workbench.cli.show.value_text import AUTO, key_text, plain_pieces, size_text_at, value_text
from workbench.inspection.transactions import ABORTED, FATE_NAMES, OPEN
from workbench.layout import problems
from workbench.layout.attributes import TIMESTAMP_TYPE_NAMES, codec_name
from workbench.record.columns import HeaderColumn, RecordColumns
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


def record_line_maker(topic: str, look: Look) -> Callable[..., Iterator[str]]:
    """Return a function from columns, row number and whether it is a control record to a line.

    The line comes in pieces, because a huge record as one text takes several times its size.
    """
    show_key = key_text(look.key_format, topic)
    show_value = value_text(look.value_format, topic)

    def cut(pieces: Iterator[str]) -> Iterator[str]:
        return pieces if look.full else _shortened(pieces)

    def line(columns: RecordColumns, at: int, *, is_control: bool) -> Iterator[str]:
        keys, values, headers = columns.keys, columns.values, columns.headers
        assert keys is not None
        assert values is not None
        assert headers is not None
        stamp = time_of(int(columns.timestamps[at])) or "no timestamp"
        yield f"  {int(columns.offsets[at]):>10,}  {stamp:<24}"
        if is_control:
            told = control_of(columns, at)
            rest = ", ".join(f"{name} {each}" for name, each in told.items() if name != "type")
            yield f"  {look.style(told['type'], fg='magenta')}  {safe(rest)}".rstrip()
            return
        first, end = headers.offsets[at : at + 2].tolist()
        if look.show_values:
            yield "  key "
            yield from cut(show_key(keys, at))
            yield "  value "
            yield from cut(show_value(keys, values, at))
        else:
            yield f"  key {size_text_at(keys, at)}  value {size_text_at(values, at)}"
        if is_null_at(values, at) and not is_null_at(keys, at):
            yield look.style("  tombstone", fg="yellow")
        if first == end:
            return
        yield "  headers "
        if look.show_values:
            yield from cut(_header_pieces(headers, first, end))
        else:
            yield str(end - first)

    return line


def _header_pieces(headers: HeaderColumn, first: int, end: int) -> Iterator[str]:
    """Yield the headers [first, end) as ``name=value``."""
    for at in range(first, end):
        if at > first:
            yield ", "
        yield from plain_pieces(headers.keys, at)
        yield "="
        yield from plain_pieces(headers.values, at)


def _shortened(pieces: Iterator[str]) -> Iterator[str]:
    """Yield `_LONGEST` characters at most; ``…`` stands for the others."""
    left = _LONGEST
    for piece in pieces:
        yield piece[:left]
        if len(piece) > left:
            yield "…"
            return
        left -= len(piece)
