"""Records of a search as cells of a table, and one record in full, for the record browser.

The bytes of keys, values and headers are given only if the lens shows them.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from widgets.view.records import Cell, Lens
from widgets.view.text import time_text
from workbench.decoders.decoder import Decoder, printable
from workbench.decoders.registry import decoder_for

ROW_COLUMNS: Final = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
MOST_IN_CELL: Final = 600
"""Characters of a value in a cell; wide screens show about so many."""

MOST_IN_PANE: Final = 256 << 10
"""Bytes of a key, a value or a header that the pane of a record shows."""

MOST_HEADERS: Final = 200
MOST_PRETTY: Final = 64 << 10
"""Bytes of JSON that are laid out in lines; longer text is shown as it is stored."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def record_cells(table: Any, lens: Lens) -> list[list[Any]]:
    """Return the rows of a table with `ROW_COLUMNS` for the record list.

    Returns:
        For each record: partition's name, offset as text, ms or None, cells of key, value and
        headers, bytes of key and value.
    """
    columns = {name: table[name] for name in ROW_COLUMNS}
    times = columns["timestamp"].cast("int64").to_pylist()
    rows = []
    for at in range(len(table)):
        topic = columns["topic"][at].as_py()
        key, value = (_bytes(columns[name][at]) for name in ("key", "value"))
        key_cell, value_cell = _cells(decoder_for(topic), key, value, lens)
        headers = [(each["key"].encode(), each["value"]) for each in columns["headers"][at].as_py()]
        rows.append(
            [
                f"{topic}-{columns['partition'][at].as_py()}",
                str(columns["offset"][at].as_py()),
                times[at],
                key_cell,
                value_cell,
                lens.headers(headers),
                len(key or b"") + len(value or b""),
            ]
        )
    return rows


def _cells(decoder: Decoder | None, key: Any, value: Any, lens: Lens) -> tuple[Cell, Cell]:
    """Return the cells of key and value: of Kafka's own topics, what they mean."""
    if decoder is None or not lens.show_values or lens.mask is not None:
        return lens.cell("key", _copied(key)), lens.cell("value", _copied(value))
    meanings = (decoder.key(key), decoder.value(key, value))
    return tuple(  # type: ignore[return-value]
        lens.cell("", None) if each is None else [_compact(each)[:MOST_IN_CELL], "text"]
        for each in meanings
    )


def _copied(data: memoryview | None) -> bytes | None:
    return None if data is None else bytes(data)


def _bytes(scalar: Any) -> memoryview | None:
    buffer = scalar.as_buffer()
    return None if buffer is None else memoryview(buffer)


def record_in_full(row: dict[str, Any], decoded: dict[str, Any], lens: Lens) -> dict[str, Any]:
    """Return one record for the pane, except its bytes.

    Args:
        row: the record's columns, by `schemas.SCAN_FIELDS`.
        decoded: its columns as ``scan(decode=…)`` gives them, or as the topic's own decoder does.
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
    return [_shown(name, row[name], lens)[:MOST_IN_PANE] for name in ("key", "value")]


def _shown(name: str, data: bytes | None, lens: Lens) -> bytes:
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
    shown = _shown(name, data, lens)
    pretty = pretty_json(shown)
    if pretty is not None:
        return part | {"form": "json", "text": pretty}
    try:
        text = shown[:MOST_IN_PANE].decode("utf-8")
    except UnicodeDecodeError as error:
        if len(shown) <= MOST_IN_PANE or error.start < MOST_IN_PANE - 4:
            return part | {"form": "bytes"}
        text = shown[: error.start].decode("utf-8")
    is_text = not any(ord(each) < 32 and each not in "\t\n\r" for each in text)
    return part | ({"form": "text", "text": text} if is_text else {"form": "bytes"})


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


def _compact(value: Any) -> str:
    return json.dumps(printable(value), ensure_ascii=False, default=str)


def _facts(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is known of a record besides its contents."""
    yield "partition", f"{row['topic']}-{row['partition']}"
    yield "offset", f"{row['offset']:,}"
    time = time_text(row["timestamp"])
    yield "timestamp", time if row["timestamp"] is None else f"{time} UTC"
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
