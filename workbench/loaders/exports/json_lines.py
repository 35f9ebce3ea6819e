"""Records and batches as JSON lines, in bulk: the format that other tools rely on.

A record is ``topic, partition, offset, timestamp, timestampType, key, value, headers``, as a Kafka
consumer reports them: a timestamp is in ms, or -1 if there is none; bytes are hex, null is null,
and keys and values are what `Shown` makes of them. A batch has the fields of `BatchRow`,
with times in ms, or null if there are none.

Kafka: ConsumerRecord, TimestampType (4.2)
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from workbench.decoders.decoder import Decoder, printable
from workbench.errors import CorruptRecordError
from workbench.layout import problems
from workbench.layout.attributes import (
    NO_TIMESTAMP_TYPE,
    TIMESTAMP_TYPE_NAMES,
    codec_name,
)
from workbench.loaders.exports.pieces import (
    HUGE,
    MOST_DECODED,
    hex_json_pieces,
    size_at,
    sizes_of,
    text_json_pieces,
)
from workbench.loaders.schemas import schema_of
from workbench.record.columns import BinaryColumn, HeaderColumn, RecordColumns
from workbench.record.control import decode_control_record
from workbench.record.reading.reader import ALL_COLUMNS
from workbench.tables.segments import BatchRow
from workbench.values.column import ColumnDecoder
from workbench.values.printing import decoded_value

EVERYTHING: Final = ALL_COLUMNS
"""The columns to decode for complete records."""

TIMESTAMP_NAMES: Final = {**TIMESTAMP_TYPE_NAMES, NO_TIMESTAMP_TYPE: "NoTimestampType"}
"""Names of timestamp types as Kafka's clients write them."""

_RECORDS_AT_ONCE: Final = 4096
_NO_HEADERS: Final = "[]"

Rows = npt.NDArray[Any]


class Shown(NamedTuple):
    """What replaces the bytes of keys and values, ready for JSON; None: their hex.

    Attributes:
        key: from a key to what it means.
        value: from the key and the value of a record to what the value means.
    """

    key: Callable[[bytes | None], Any] | None = None
    value: Callable[[bytes | None, bytes | None], Any] | None = None


HEX: Final = Shown()


def shown_by(decoders: Mapping[str, ColumnDecoder]) -> Shown:
    """Return keys and values as the decoders of a scan's columns read them.

    What cannot be decoded is an object with ``error`` and ``bytes``.
    """
    nothing = {"key": pa.nulls(1, pa.large_binary())}
    key, value = decoders.get("key"), decoders.get("value")
    return Shown(
        None if key is None else lambda data: decoded_value(key, data, nothing),
        None if value is None else lambda _, data: decoded_value(value, data, nothing),
    )


def first_records(runs: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    """Return the runs, shortened to ``most`` records in total."""
    kept = []
    for first, end in runs:
        taken = min(end - first, most)
        if taken:
            kept.append((first, first + taken))
        most -= taken
    return kept


def _hex_items(column: BinaryColumn, first: int, end: int) -> list[str]:
    """Return the items [first, end) as JSON: hex strings, or null."""
    offsets = column.offsets[first : end + 1]
    low = int(offsets[0])
    text = column.data[low : int(offsets[-1])].tobytes().hex()
    places = ((offsets - low) * 2).tolist()
    items = [f'"{text[a:b]}"' for a, b in pairwise(places)]
    if column.null_count:
        for index in np.flatnonzero(column.is_null()[first:end]).tolist():
            items[index] = "null"
    return items


def _header_items(column: HeaderColumn, first: int, end: int) -> list[str]:
    """Return the headers of records [first, end) as JSON lists of [name, hex or null]."""
    offsets = column.offsets[first : end + 1]
    low, high = int(offsets[0]), int(offsets[-1])
    if low == high:
        return [_NO_HEADERS] * (end - first)
    names = [
        json.dumps(str(column.keys.item(index) or b"", "utf-8", "replace"))
        for index in range(low, high)
    ]
    values = _hex_items(column.values, low, high)
    pairs = [f"[{name},{value}]" for name, value in zip(names, values, strict=True)]
    places = (offsets - low).tolist()
    return [f"[{','.join(pairs[a:b])}]" for a, b in pairwise(places)]


def _keys(columns: RecordColumns, rows: Rows, first: int, end: int, shown: Shown) -> list[str]:
    """Return the keys of records [first, end) as JSON; those of control records as hex."""
    assert columns.keys is not None
    items = _hex_items(columns.keys, first, end)
    if shown.key is not None:
        for at in _of_data(columns, rows, first, end):
            items[at - first] = _json(shown.key, columns.keys, at)
    return items


def _values(columns: RecordColumns, rows: Rows, first: int, end: int, shown: Shown) -> list[str]:
    """Do what `_keys` does with values."""
    keys, values = columns.keys, columns.values
    assert keys is not None
    assert values is not None
    items = _hex_items(values, first, end)
    if shown.value is not None:
        for at in _of_data(columns, rows, first, end):
            items[at - first] = _json(partial(shown.value, keys.item(at)), values, at)
    return items


def _of_data(columns: RecordColumns, rows: Rows, first: int, end: int) -> list[int]:
    """Return which of the records [first, end) are not control records."""
    is_control = rows["is_control"][columns.batch[first:end]]
    found: list[int] = (np.flatnonzero(~is_control) + first).tolist()
    return found


def _json(meaning: Callable[[bytes | None], Any], column: BinaryColumn, at: int) -> str:
    """Return what a key or a value means as JSON; those that are too large are not decoded."""
    if size_at(column, at) > MOST_DECODED:
        return json.dumps({"error": f"not decoded: more than {MOST_DECODED:,} bytes"})
    return json.dumps(printable(meaning(column.item(at))), default=str)


def _type_names(columns: RecordColumns, rows: Rows, first: int, end: int) -> list[str]:
    codes = columns.timestamp_types(rows, first, end)
    if (codes == codes[0]).all():
        return [TIMESTAMP_NAMES[int(codes[0])]] * (end - first)
    return [TIMESTAMP_NAMES[code] for code in codes.tolist()]


def _block(
    columns: RecordColumns, rows: Rows, first: int, end: int, prefix: str, shown: Shown
) -> list[str]:
    """Return records [first, end) as lines, without the line ends."""
    assert columns.headers is not None
    lines = [
        f'{prefix}{offset},"timestamp":{timestamp},"timestampType":"{kind}",'
        f'"key":{key},"value":{value},"headers":{headers}}}'
        for offset, timestamp, kind, key, value, headers in zip(
            columns.offsets[first:end].tolist(),
            columns.timestamps[first:end].tolist(),
            _type_names(columns, rows, first, end),
            _keys(columns, rows, first, end, shown),
            _values(columns, rows, first, end, shown),
            _header_items(columns.headers, first, end),
            strict=True,
        )
    ]
    is_control = rows["is_control"][columns.batch[first:end]]
    for index in np.flatnonzero(is_control).tolist():
        at = first + index
        lines[index] = f'{lines[index][:-1]},"control":{json.dumps(control_of(columns, at))}}}'
    return lines


def control_of(columns: RecordColumns, at: int) -> dict[str, Any]:
    """Return `control_fields` of a record; those of a huge one are not read."""
    keys, values = columns.keys, columns.values
    assert keys is not None
    assert values is not None
    if max(size_at(keys, at), size_at(values, at)) > MOST_DECODED:
        return {"type": "UNKNOWN", "problem": f"it has more than {MOST_DECODED:,} bytes"}
    return control_fields(keys.item(at), values.item(at))


def control_fields(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    """Return the fields of a control record; ``type`` is ``ABORT``, ``COMMIT``, ….

    An unreadable control record has ``type`` ``UNKNOWN`` and a ``problem``.
    """
    try:
        record = decode_control_record(key, value)
    except CorruptRecordError as error:
        return {"type": "UNKNOWN", "problem": error.problem}
    told: dict[str, Any] = {"type": record.name.upper()}
    if isinstance(record.value, dict):
        told.update(record.value)
    elif record.value is not None:
        told["version"] = record.value.version
        told["coordinatorEpoch"] = record.value.coordinator_epoch
    return json.loads(json.dumps(told, default=str))  # type: ignore[no-any-return]


def _decoded(columns: RecordColumns, at: int, decoder: Decoder) -> str:
    """Return what the key and the value of a record mean, as JSON."""
    keys, values = columns.keys, columns.values
    assert keys is not None
    assert values is not None
    if max(size_at(keys, at), size_at(values, at)) > MOST_DECODED:
        problem = {"error": f"not decoded: more than {MOST_DECODED:,} bytes"}
        return json.dumps({"key": problem, "value": problem})
    key, value = keys.item(at), values.item(at)
    meaning = {"key": decoder.key(key), "value": decoder.value(key, value)}
    return json.dumps(printable(meaning), default=str)


def record_lines(
    columns: RecordColumns,
    rows: Rows,
    runs: list[tuple[int, int]],
    where: tuple[str, int],
    decoder: Decoder | None = None,
    *,
    shown: Shown = HEX,
    file: str = "",
) -> Iterator[str]:
    """Yield records as text of many lines, each with its end; a huge record comes in pieces.

    Args:
        columns: the records, with keys, values and headers.
        rows: BATCH_ROW[m] that ``columns.batch`` numbers.
        runs: [first, end) of the records wanted, ascending.
        where: topic and partition.
        decoder: adds ``decoded`` with ``key`` and ``value`` to all but control records.
        shown: what replaces the bytes of keys and values of all but control records.
        file: the path of the file that holds the records; empty: not written.
    """
    place = f'"file":{json.dumps(file)},' if file else ""
    prefix = f'{{"topic":{json.dumps(where[0])},"partition":{where[1]},{place}"offset":'
    ends = np.cumsum(sizes_of(columns))
    for start, end in runs:
        first = start
        while first < end:
            before = int(ends[first - 1]) if first else 0
            behind = int(np.searchsorted(ends, before + HUGE, "right"))
            last = min(behind, first + _RECORDS_AT_ONCE, end)
            if last == first:
                yield from _huge_line(columns, rows, first, prefix, decoder, shown)
                first += 1
                continue
            lines = _block(columns, rows, first, last, prefix, shown)
            if decoder is not None:
                for at, line in enumerate(lines, first):
                    if not rows["is_control"][columns.batch[at]]:
                        told = _decoded(columns, at, decoder)
                        lines[at - first] = f'{line[:-1]},"decoded":{told}}}'
            lines.append("")
            yield "\n".join(lines)
            first = last


def _huge_line(
    columns: RecordColumns,
    rows: Rows,
    at: int,
    prefix: str,
    decoder: Decoder | None,
    shown: Shown,
) -> Iterator[str]:
    """Yield the line of one record in pieces."""
    keys, values, headers = columns.keys, columns.values, columns.headers
    assert keys is not None
    assert values is not None
    assert headers is not None
    (kind,) = _type_names(columns, rows, at, at + 1)
    yield f'{prefix}{columns.offsets[at]},"timestamp":{columns.timestamps[at]},'
    yield f'"timestampType":"{kind}","key":'
    if shown.key is None:
        yield from hex_json_pieces(keys, at)
    else:
        yield from _keys(columns, rows, at, at + 1, shown)
    yield ',"value":'
    if shown.value is None:
        yield from hex_json_pieces(values, at)
    else:
        yield from _values(columns, rows, at, at + 1, shown)
    yield ',"headers":['
    first, end = headers.offsets[at : at + 2].tolist()
    for header in range(first, end):
        yield "[" if header == first else ",["
        yield from text_json_pieces(headers.keys, header)
        yield ","
        yield from hex_json_pieces(headers.values, header)
        yield "]"
    yield "]"
    if rows["is_control"][columns.batch[at]]:
        yield f',"control":{json.dumps(control_of(columns, at))}'
    elif decoder is not None:
        yield f',"decoded":{_decoded(columns, at, decoder)}'
    yield "}\n"


def batch_values(rows: Rows, topic: str, partition: int, segment: int) -> list[dict[str, Any]]:
    """Return BATCH_ROW[n] as dicts with the fields of `BatchRow`, times in ms."""
    constants: dict[str, Any] = {"topic": topic, "partition": partition, "segment": segment}
    columns: list[list[Any]] = []
    for column in schema_of(BatchRow):
        name = column.name
        if name in constants:
            columns.append([constants[name]] * len(rows))
            continue
        values = rows[name].tolist()
        if name == "codec":
            values = [codec_name(code) for code in values]
        elif name == "timestamp_type":
            values = [TIMESTAMP_TYPE_NAMES.get(code) for code in values]
        elif name == "problem":
            values = [problems.WORDS.get(code) for code in values]
        elif name == "base_timestamp":
            horizons = rows["delete_horizon"].tolist()
            values = [
                None if value == -1 or horizon != -1 else value
                for value, horizon in zip(values, horizons, strict=True)
            ]
        elif column.nullable and not pa.types.is_boolean(column.type):
            values = [None if value == -1 else value for value in values]
        columns.append(values)
    names = schema_of(BatchRow).names
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def batch_lines(rows: Rows, topic: str, partition: int, segment: int) -> list[str]:
    """Return batches as JSON lines, without the line ends."""
    return [json.dumps(each) for each in batch_values(rows, topic, partition, segment)]
