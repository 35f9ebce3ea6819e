"""Records of a search as cells of a table, and one record in full, for the record browser.

The bytes of keys, values and headers are given only if the lens shows them.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, starmap
from typing import Any, Final, NamedTuple

from widgets.view.meanings import Meanings
from widgets.view.records import NOTHING_MEANT, Lens
from workbench.decoders.decoder import printable
from workbench.runtime.times import time_text
from workbench.values.readable import is_text

ROW_COLUMNS: Final = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
MOST_IN_CELL: Final = 600
"""Characters of a value in a cell; wide screens show about so many."""

MOST_IN_PANE: Final = 256 << 10
"""Bytes of a key, a value or a header that the pane of a record shows."""

MOST_HEADERS: Final = 200
MOST_PRETTY: Final = 64 << 10
"""Bytes of JSON that are laid out in lines; longer text is shown as it is stored."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


class ReadRecord(NamedTuple):
    """A record that was read again, and what its key and value mean; see `Meanings`.

    Attributes:
        partition: its name.
        place: the name that the partition has in the listing, where replicas have their paths.
        time: ms; None without a timestamp.
    """

    partition: str
    place: str
    offset: int
    time: int | None
    key: bytes | None
    value: bytes | None
    headers: list[tuple[bytes, bytes | None]]
    meaning: Mapping[str, Any]

    @property
    def size(self) -> int:
        """Bytes of key and value."""
        return len(self.key or b"") + len(self.value or b"")


def read_records(
    table: Any, lens: Lens, meanings: Meanings, places: Sequence[str] = ()
) -> list[ReadRecord]:
    """Return the records of a table with `ROW_COLUMNS`, decoded if the lens shows that.

    Args:
        table, lens, meanings: see above.
        places: `ReadRecord.place` of each; none: the partition's name.
    """
    columns = {name: table[name] for name in ROW_COLUMNS}
    times = columns["timestamp"].cast("int64").to_pylist()
    topics = columns["topic"].to_pylist()
    partitions, offsets = columns["partition"].to_pylist(), columns["offset"].to_pylist()
    keys, values = columns["key"].to_pylist(), columns["value"].to_pylist()
    headers = [
        [(each["key"].encode(), each["value"]) for each in some]
        for some in columns["headers"].to_pylist()
    ]
    meant: list[Mapping[str, Any]] = [NOTHING_MEANT] * len(table)
    if lens.decodes:
        for start, stop in _runs(topics):
            within = slice(start, stop)
            meant[within] = meanings.of(
                topics[start], keys[within], values[within], headers[within]
            )
    names = [f"{topic}-{number}" for topic, number in zip(topics, partitions, strict=True)]
    parts = zip(names, places or names, offsets, times, keys, values, headers, meant, strict=True)
    return list(starmap(ReadRecord, parts))


def match_row(record: ReadRecord, lens: Lens) -> list[Any]:
    """Return a record as a row of the record list.

    Returns:
        Partition's name in the listing, offset as text, ms or None, cells of key, value and
        headers, bytes of key and value.
    """
    return [
        record.place,
        str(record.offset),
        record.time,
        lens.cell("key", record.key, record.meaning),
        lens.cell("value", record.value, record.meaning),
        lens.headers(record.headers),
        record.size,
    ]


def _runs(topics: list[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each run of equal topics."""
    start = 0
    for _topic, run in groupby(topics):
        stop = start + sum(1 for _ in run)
        yield start, stop
        start = stop


def record_in_full(row: dict[str, Any], decoded: dict[str, Any], lens: Lens) -> dict[str, Any]:
    """Return one record for the pane, except its bytes.

    Args:
        row: the record's columns, by `schemas.SCAN_FIELDS`.
        decoded: what its key and value mean, see `Meanings`.
        lens: how much is shown.

    Returns:
        ``facts``: pairs of a name and a text; ``key`` and ``value``: see `_part`; ``headers``:
        name, text and kind of each.
    """
    headers = row["headers"]
    shown = [
        [each["key"] if lens.show_values else "", *lens.cell("header", each["value"])[:2]]
        for each in headers[:MOST_HEADERS]
    ]
    return {
        "facts": list(_facts(row)),
        "key": _part("key", row["key"], decoded, lens),
        "value": _part("value", row["value"], decoded, lens),
        "headers": shown,
        "header_count": len(headers),
    }


def pane_bytes(row: dict[str, Any], lens: Lens) -> list[bytes]:
    """Return the first `MOST_IN_PANE` bytes of key and value; nothing where they are hidden."""
    return [shown_bytes(name, row[name], lens)[:MOST_IN_PANE] for name in ("key", "value")]


def shown_bytes(name: str, data: bytes | None, lens: Lens) -> bytes:
    """Return the bytes that a lens lets through of a key or a value; nothing where it is hidden."""
    if data is None or not lens.show_values:
        return b""
    return lens.mask(name, data) if lens.mask else data


def _part(name: str, data: bytes | None, decoded: dict[str, Any], lens: Lens) -> dict[str, Any]:
    """Return a key or a value.

    Returns:
        ``size`` in bytes, None for null; ``cell``: its short form; ``form``: "json", "decoded",
        "text", "bytes" or "hidden"; ``text``: that form in full.
    """
    size = None if data is None else len(data)
    part = {"size": size, "cell": lens.cell(name, data), "form": "hidden", "text": ""}
    if data is None or not lens.show_values:
        return part
    if name in decoded and lens.mask is None:
        text = json.dumps(printable(decoded[name]), indent=2, ensure_ascii=False, default=str)
        return part | {"form": "decoded", "text": text[:MOST_IN_PANE]}
    shown = shown_bytes(name, data, lens)
    pretty = pretty_json(shown)
    if pretty is not None:
        return part | {"form": "json", "text": pretty}
    try:
        text = shown[:MOST_IN_PANE].decode("utf-8")
    except UnicodeDecodeError as error:
        if len(shown) <= MOST_IN_PANE or error.start < MOST_IN_PANE - 4:
            return part | {"form": "bytes"}
        text = shown[: error.start].decode("utf-8")
    return part | ({"form": "text", "text": text} if is_text(text) else {"form": "bytes"})


def pretty_json(data: bytes) -> str | None:
    """Return a JSON object or array in lines, every value as it is written; None: it is none."""
    if len(data) > MOST_PRETTY or data.strip()[:1] not in {b"{", b"["}:
        return None
    try:
        text = data.decode("utf-8")
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    return "".join(_lines(_TOKEN.findall(text)))


def _lines(tokens: list[str]) -> Iterator[str]:
    """Yield the tokens of JSON with line ends and indentation between them."""
    level = 0
    for before, now, following in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        if now in "{[":
            level += 1
            yield now if following in {"}", "]"} else f"{now}\n{'  ' * level}"
        elif now in "}]":
            level -= 1
            yield now if before in {"{", "["} else f"\n{'  ' * level}{now}"
        elif now == ",":
            yield f",\n{'  ' * level}"
        else:
            yield ": " if now == ":" else now


def _facts(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is known of a record besides its contents."""
    yield "partition", f"{row['topic']}-{row['partition']}"
    yield "offset", f"{row['offset']:,}"
    yield "timestamp", time_text(row["timestamp"])
    if row["timestamp_type"] is not None:
        yield "timestamp type", row["timestamp_type"]
    yield (
        "batch",
        f"offset {row['batch_base_offset']:,}" if row["batch_base_offset"] else "offset 0",
    )
    yield "position", f"byte {row['batch_position']:,} of segment {row['segment']}"
    yield "compression", row["codec"]
    if row["producer_id"] is not None:
        producer = f"{row['producer_id']}, epoch {row['producer_epoch']}"
        yield "producer", f"{producer}, sequence {row['sequence']}"
    if row["is_transactional"]:
        yield "transaction", "the batch is transactional"
    if row["partition_leader_epoch"] is not None:
        yield "leader epoch", str(row["partition_leader_epoch"])
    if row["magic"] != 2:
        yield "magic", str(row["magic"])
