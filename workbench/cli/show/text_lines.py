"""Segments, batches and records as lines for people: what DumpLogSegments says, easier to read.

Times are in UTC. Keys and values are shown as sizes unless they are requested. Each transactional
batch has the outcome of its transaction.

Kafka: DumpLogSegments (4.2)
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import click

from workbench.cli.output import time_of
from workbench.cli.show.value_text import (
    AUTO,
    TopicText,
    key_text,
    pieces,
    plain_pieces,
    plain_text,
    size_of,
    size_text_at,
    value_text,
)
from workbench.inspection.transactions import ABORTED, FATE_NAMES, OPEN
from workbench.layout import problems
from workbench.layout.attributes import TIMESTAMP_TYPE_NAMES, codec_name
from workbench.loaders.exports.json_lines import control_of
from workbench.loaders.exports.pieces import MOST_DECODED, is_null_at, size_at
from workbench.record.columns import BinaryColumn, HeaderColumn, RecordColumns
from workbench.runtime.words import plural, safe, size_text

_LONGEST: Final = 300  # characters of a key or value, unless they are wanted whole


@dataclass(frozen=True)
class Look:
    """How records are shown.

    Attributes:
        show_values: whether keys, values and headers are shown, or only their sizes.
        key_format, value_format: two of `value_text.FORMATS`, or what `decoders` knows.
        color: whether the terminal shows colors.
        full: whether long values are shown whole.
        decoders: shows other formats.
    """

    show_values: bool = False
    key_format: str = AUTO
    value_format: str = AUTO
    color: bool = False
    full: bool = False
    decoders: TopicText | None = None

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


class RecordLines:
    """Makes lines of the records of a topic.

    Args:
        topic: decides which decoder `auto` means.
        look: how lines are shown.
    """

    def __init__(self, topic: str, look: Look) -> None:
        self._topic = topic
        self._look = look
        self._key_text = key_text(look.key_format, topic, look.decoders)
        self._value_text = value_text(look.value_format, topic, look.decoders)

    def line(
        self, columns: RecordColumns, at: int, *, is_control: bool, is_huge: bool
    ) -> Iterable[str]:
        """Return the line of a record, in pieces if it is huge, without the line end."""
        if is_control:
            return (self._control(columns, at),)
        return self._huge(columns, at) if is_huge else (self._short(columns, at),)

    def _start(self, columns: RecordColumns, at: int) -> str:
        stamp = time_of(int(columns.timestamps[at])) or "no timestamp"
        return f"  {int(columns.offsets[at]):>10,}  {stamp:<24}"

    def _control(self, columns: RecordColumns, at: int) -> str:
        told = control_of(columns, at)
        rest = ", ".join(f"{name} {each}" for name, each in told.items() if name != "type")
        kind = self._look.style(told["type"], fg="magenta")
        return f"{self._start(columns, at)}  {kind}  {safe(rest)}".rstrip()

    def _cut(self, text: str) -> str:
        return text if self._look.full or len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

    def _short(self, columns: RecordColumns, at: int) -> str:
        assert columns.keys is not None
        assert columns.values is not None
        assert columns.headers is not None
        cut = self._cut
        key, value = columns.keys.item(at), columns.values.item(at)
        headers = columns.headers.item(at)
        if self._look.show_values:
            words = f"key {cut(self._key_text(key))}  value {cut(self._value_text(key, value))}"
            shown = cut(", ".join(f"{plain_text(k)}={plain_text(v)}" for k, v in headers))
        else:
            words = f"key {size_of(key)}  value {size_of(value)}"
            shown = str(len(headers))
        tombstone = _tombstone(self._look) if value is None and key is not None else ""
        end = f"  headers {shown}" if headers else ""
        return f"{self._start(columns, at)}  {words}{tombstone}{end}"

    def _huge(self, columns: RecordColumns, at: int) -> Iterator[str]:
        keys, values, headers = columns.keys, columns.values, columns.headers
        assert keys is not None
        assert values is not None
        assert headers is not None
        yield f"{self._start(columns, at)}  key "
        yield from self._huge_key(keys, at)
        yield "  value "
        yield from self._huge_value(keys, values, at)
        if is_null_at(values, at) and not is_null_at(keys, at):
            yield _tombstone(self._look)
        first, end = headers.offsets[at : at + 2].tolist()
        if first < end:
            yield "  headers "
            if self._look.show_values:
                yield from self._cut_pieces(_header_pieces(headers, first, end))
            else:
                yield str(end - first)

    def _huge_key(self, keys: BinaryColumn, at: int) -> Iterator[str]:
        def text() -> str:
            return self._key_text(keys.item(at))

        if not self._look.show_values:
            return iter([size_text_at(keys, at)])
        return self._cut_pieces(pieces(self._look.key_format, self._topic, text, keys, at))

    def _huge_value(self, keys: BinaryColumn, values: BinaryColumn, at: int) -> Iterator[str]:
        def text() -> str:
            key = None if size_at(keys, at) > MOST_DECODED else keys.item(at)
            return self._value_text(key, values.item(at))

        if not self._look.show_values:
            return iter([size_text_at(values, at)])
        return self._cut_pieces(pieces(self._look.value_format, self._topic, text, values, at))

    def _cut_pieces(self, parts: Iterator[str]) -> Iterator[str]:
        return parts if self._look.full else _shortened(parts)


def _tombstone(look: Look) -> str:
    return look.style("  tombstone", fg="yellow")


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
