"""Segments, batches and records as lines for people: what DumpLogSegments says, easier to read.

Times are in UTC. Each transactional batch has the outcome of its transaction. On a terminal, a
record is one line, with aligned keys, shortened to the width.

Kafka: DumpLogSegments (4.2)
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import click
from rich.cells import cell_len, set_cell_size

from workbench.cli.colors import painted_part
from workbench.cli.output import time_of
from workbench.cli.show.value_text import (
    Formats,
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
from workbench.values.schemas.schemas import Schemas

_LONGEST: Final = 300  # characters of a key or value, unless they are wanted whole
_LEAST_KEY: Final = 8  # cells of the column of keys
_MOST_KEY: Final = 32
_TOMBSTONE: Final = "  tombstone"


@dataclass(frozen=True)
class Look:
    """How records are shown.

    Attributes:
        show_values: whether keys, values and headers are shown, or only their sizes.
        key_format, value_format: of `value_text.FORMATS`, or what `decoders` knows.
        color: whether the terminal shows colors.
        full: whether long values are shown whole.
        decoders: shows other formats.
        schemas: reads the schemas of the topic `_schemas`.
        width: of the terminal, where lines end; None: there is no terminal.
    """

    show_values: bool = True
    key_format: Formats = Formats()  # noqa: RUF009 - it cannot be changed
    value_format: Formats = Formats()  # noqa: RUF009
    color: bool = False
    full: bool = False
    decoders: TopicText | None = None
    schemas: Callable[[], Schemas] = Schemas
    width: int | None = None

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
    problem = problems.WORDS[int(row["problem"])] if row["problem"] else ""
    words = [
        f"batch at {int(row['position']):,}",
        f"{int(row['size']):,} B",
        f"offsets {offsets}",
        "records unknown" if count < 0 else plural(count, "record"),
        problem,
        outcome := _fate(row, fate),
        "control" if row["is_control"] else "",
        _times(row),
        codec_name(int(row["codec"])) if row["codec"] else "",
        f"magic {magic}",
        _producer(row),
        f"leader epoch {int(row['partition_leader_epoch'])}" if magic > 1 else "",
    ]
    if row["delete_horizon"] != -1:
        words.append(f"delete horizon {time_of(int(row['delete_horizon']))}")
    line = "  ".join(filter(None, words))
    if look.width is not None and not look.full:
        line = _within(line, look.width)
    color = {ABORTED: "red", OPEN: "yellow"}.get(fate, "green")
    styles: dict[str, dict[str, Any]] = {
        problem: {"fg": "red", "bold": True},
        outcome: {"fg": color},
    }
    return "  ".join(
        look.style(word, **styles.get(word, {"fg": "cyan"})) for word in line.split("  ")
    )


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


def _fate(row: Any, fate: int) -> str:
    return FATE_NAMES[fate] if row["is_transactional"] and not row["is_control"] else ""


class RecordLines:
    """Makes lines of the records of a topic.

    Args:
        topic: decides which decoder `auto` means.
        look: how lines are shown.
    """

    def __init__(self, topic: str, look: Look) -> None:
        self._look = look
        self._key_format, self._value_format = (
            look.key_format.of(topic),
            look.value_format.of(topic),
        )
        self._key_text = key_text(self._key_format, topic, look.decoders, look.schemas)
        self._value_text = value_text(self._value_format, topic, look.decoders, look.schemas)
        self._key_width = _LEAST_KEY

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
        key_words, words, headers = map(self._cut, self._texts(columns, at))
        before = f"{self._start(columns, at)}  key "
        start = f"{before}{self._aligned(key_words)}  value {words}"
        assert columns.keys is not None
        assert columns.values is not None
        is_tombstone = is_null_at(columns.values, at) and not is_null_at(columns.keys, at)
        mark = _TOMBSTONE if is_tombstone else ""
        line = f"{start}{mark}" + (f"  headers {headers}" if headers else "")
        if self._look.width is not None and not self._look.full:
            line = _within(line, self._look.width)
        if not self._look.color:
            return line
        if mark and line.startswith(mark, len(start)):
            line = line[: len(start)] + _tombstone(self._look) + line[len(start) + len(mark) :]
        line = painted_part(line, len(start) - len(words), len(start))
        return painted_part(line, len(before), len(start) - len(words) - len("  value "))

    def fields(self, columns: RecordColumns, at: int) -> Iterator[tuple[str, str]]:
        """Yield time, key, value and headers of a record, whole, by their names."""
        key, value, headers = self._texts(columns, at)
        yield "time", time_of(int(columns.timestamps[at])) or "no timestamp"
        yield "key", key
        yield "value", value
        if headers:
            yield "headers", headers

    def _texts(self, columns: RecordColumns, at: int) -> tuple[str, str, str]:
        """Return key, value and headers as text, or their sizes and number."""
        assert columns.keys is not None
        assert columns.values is not None
        assert columns.headers is not None
        key, value = columns.keys.item(at), columns.values.item(at)
        headers = columns.headers.item(at)
        if not self._look.show_values:
            return size_of(key), size_of(value), str(len(headers) or "")
        shown = ", ".join(f"{plain_text(k)}={plain_text(v)}" for k, v in headers)
        return self._key_text(key), self._value_text(key, value), shown

    def _aligned(self, key: str) -> str:
        """Return a key as wide as those before it, on a terminal."""
        if self._look.width is None:
            return key
        self._key_width = max(self._key_width, min(cell_len(key), _MOST_KEY))
        if cell_len(key) > self._key_width and not self._look.full:
            return _within(key, self._key_width)
        return key + " " * (self._key_width - cell_len(key))

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
        return self._cut_pieces(pieces(self._key_format, text, keys, at))

    def _huge_value(self, keys: BinaryColumn, values: BinaryColumn, at: int) -> Iterator[str]:
        def text() -> str:
            key = None if size_at(keys, at) > MOST_DECODED else keys.item(at)
            return self._value_text(key, values.item(at))

        if not self._look.show_values:
            return iter([size_text_at(values, at)])
        return self._cut_pieces(pieces(self._value_format, text, values, at))

    def _cut_pieces(self, parts: Iterator[str]) -> Iterator[str]:
        return parts if self._look.full else _shortened(parts)


def _tombstone(look: Look) -> str:
    return look.style(_TOMBSTONE, fg="yellow")


def _within(text: str, width: int) -> str:
    """Return text that takes at most so many cells; ``…`` stands for the rest."""
    return text if cell_len(text) <= width else f"{set_cell_size(text, max(0, width - 1))}…"


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
