"""Records and batches as JSON lines, in bulk: the format that other tools rely on.

A record is ``topic, partition, offset, timestamp, time, timestamp_type, key, value, headers``, as a
Kafka consumer reports them: a timestamp is in ms, or -1 if there is none; ``time`` is the same in
ISO 8601, null if there is none; null is null, and keys, values and the values of headers are what
`Shown` makes of their bytes. A batch has the fields of
`BatchRow`, with times in ms, or null if there are none.

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
    readable_json_pieces,
    size_at,
    sizes_of,
    text_json_pieces,
)
from workbench.loaders.schemas import schema_of
from workbench.record.columns import BinaryColumn, HeaderColumn, RecordColumns
from workbench.record.control import decode_control_record
from workbench.record.reading.reader import ALL_COLUMNS
from workbench.runtime.times import FIRST_TIME, LONGEST_TIME
from workbench.runtime.words import json_text
from workbench.tables.segments import BatchRow
from workbench.values.column import ColumnDecoder
from workbench.values.printing import decoded_value
from workbench.values.readable import Readable, as_json, readable
from workbench.values.schemas.schemas import Schemas

EVERYTHING: Final = ALL_COLUMNS
"""The columns to decode for complete records."""

TIMESTAMP_NAMES: Final = {**TIMESTAMP_TYPE_NAMES, NO_TIMESTAMP_TYPE: "NoTimestampType"}
"""Names of timestamp types as Kafka's clients write them."""

_RECORDS_AT_ONCE: Final = 4096
_NO_HEADERS: Final = "[]"

Rows = npt.NDArray[Any]


class Shown(NamedTuple):
    """What replaces the bytes of keys and values, for `values.readable.as_json`; None: their hex.

    Attributes:
        key: from a key to what it means.
        value: from the key and the value of a record to what the value means.
        header: from the value of a header to what it means.
    """

    key: Callable[[bytes | None], Any] | None = None
    value: Callable[[bytes | None, bytes | None], Any] | None = None
    header: Callable[[bytes | None], Any] | None = None


HEX: Final = Shown()


def _size(data: bytes | None) -> dict[str, int] | None:
    return None if data is None else {"size": len(data)}


HIDDEN: Final = Shown(_size, lambda _, value: _size(value), _size)
"""Only how many bytes there are."""


def readable_of(topic: str, schemas: Callable[[], Schemas] = Schemas) -> Shown:
    """Return keys, values and headers of a topic as `values.readable` reads them."""
    rule = Readable(topic, schemas)
    return Shown(rule.key, rule.value, readable)


def shown_by(decoders: Mapping[str, ColumnDecoder], rule: Shown = HEX) -> Shown:
    """Return keys and values as the decoders of a scan's columns read them.

    What cannot be decoded is an object with ``error`` and ``bytes``.

    Args:
        decoders: of the scan's columns.
        rule: for columns without a decoder, and for headers.
    """
    nothing = {"key": pa.nulls(1, pa.large_binary())}
    key, value = decoders.get("key"), decoders.get("value")
    return Shown(
        rule.key if key is None else lambda data: decoded_value(key, data, nothing),
        rule.value if value is None else lambda _, data: decoded_value(value, data, nothing),
        rule.header,
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


def _header_items(column: HeaderColumn, first: int, end: int, shown: Shown) -> list[str]:
    """Return the headers of records [first, end) as JSON lists of [name, value]."""
    offsets = column.offsets[first : end + 1]
    low, high = int(offsets[0]), int(offsets[-1])
    if low == high:
        return [_NO_HEADERS] * (end - first)
    names = [
        json_text(str(column.keys.item(index) or b"", "utf-8", "replace"))
        for index in range(low, high)
    ]
    show = shown.header
    values = (
        _hex_items(column.values, low, high)
        if show is None
        else [_json(show, column.values, at) for at in range(low, high)]
    )
    pairs = [f"[{name},{value}]" for name, value in zip(names, values, strict=True)]
    places = (offsets - low).tolist()
    return [f"[{','.join(pairs[a:b])}]" for a, b in pairwise(places)]


def _keys(columns: RecordColumns, rows: Rows, first: int, end: int, shown: Shown) -> list[str]:
    """Return the keys of records [first, end) as JSON; those of control records as bytes."""
    assert columns.keys is not None
    if shown.key is None:
        return _hex_items(columns.keys, first, end)
    return [
        _json(shown.key if is_data else _stored, columns.keys, at)
        for at, is_data in _of_data(columns, rows, first, end)
    ]


def _values(columns: RecordColumns, rows: Rows, first: int, end: int, shown: Shown) -> list[str]:
    """Do what `_keys` does with values."""
    keys, values = columns.keys, columns.values
    assert keys is not None
    assert values is not None
    if shown.value is None:
        return _hex_items(values, first, end)
    return [
        _json(partial(shown.value, keys.item(at)) if is_data else _stored, values, at)
        for at, is_data in _of_data(columns, rows, first, end)
    ]


def _of_data(
    columns: RecordColumns, rows: Rows, first: int, end: int
) -> Iterator[tuple[int, bool]]:
    """Yield the records [first, end), and whether each is not a control record."""
    is_control = rows["is_control"][columns.batch[first:end]]
    return zip(range(first, end), (~is_control).tolist(), strict=True)


def _stored(data: bytes | None) -> bytes | None:
    return data


def _json(meaning: Callable[[bytes | None], Any], column: BinaryColumn, at: int) -> str:
    """Return what a key or a value means as JSON."""
    return as_json(meaning(column.item(at)))


def _json_pieces(
    meaning: Callable[[bytes | None], Any], column: BinaryColumn, at: int
) -> Iterator[str]:
    """Yield what a key or a value means as JSON; what is too large to decode is text or hex."""
    if size_at(column, at) <= MOST_DECODED:
        return iter([_json(meaning, column, at)])
    return readable_json_pieces(column, at)


def _times(timestamps: npt.NDArray[np.int64]) -> list[str]:
    """Return times as JSON: ISO 8601 in UTC; null without one, or outside the years 1 to 9999."""
    known = (timestamps != -1) & (timestamps >= FIRST_TIME) & (timestamps <= LONGEST_TIME)
    moments = np.where(known, timestamps, 0).astype("datetime64[ms]")
    texts = [f'"{text}Z"' for text in np.datetime_as_string(moments, unit="ms").tolist()]
    for index in np.flatnonzero(~known).tolist():
        texts[index] = "null"
    return texts


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
        f'{prefix}{offset},"timestamp":{timestamp},"time":{time},"timestamp_type":"{kind}",'
        f'"key":{key},"value":{value},"headers":{headers}}}'
        for offset, timestamp, time, kind, key, value, headers in zip(
            columns.offsets[first:end].tolist(),
            columns.timestamps[first:end].tolist(),
            _times(columns.timestamps[first:end]),
            _type_names(columns, rows, first, end),
            _keys(columns, rows, first, end, shown),
            _values(columns, rows, first, end, shown),
            _header_items(columns.headers, first, end, shown),
            strict=True,
        )
    ]
    is_control = rows["is_control"][columns.batch[first:end]]
    for index in np.flatnonzero(is_control).tolist():
        at = first + index
        lines[index] = f'{lines[index][:-1]},"control":{json_text(control_of(columns, at))}}}'
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
        return json_text({"key": problem, "value": problem})
    key, value = keys.item(at), values.item(at)
    meaning = {"key": decoder.key(key), "value": decoder.value(key, value)}
    return json_text(printable(meaning), default=str)


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
    place = f'"file":{json_text(file)},' if file else ""
    prefix = f'{{"topic":{json_text(where[0])},"partition":{where[1]},{place}"offset":'
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
    is_control = bool(rows["is_control"][columns.batch[at]])
    yield f'{prefix}{columns.offsets[at]},"timestamp":{columns.timestamps[at]},'
    (time,) = _times(columns.timestamps[at : at + 1])
    yield f'"time":{time},"timestamp_type":"{kind}","key":'
    if shown.key is None:
        yield from hex_json_pieces(keys, at)
    else:
        yield from _json_pieces(_stored if is_control else shown.key, keys, at)
    yield ',"value":'
    if shown.value is None:
        yield from hex_json_pieces(values, at)
    else:
        key = None if size_at(keys, at) > MOST_DECODED else keys.item(at)
        yield from _json_pieces(_stored if is_control else partial(shown.value, key), values, at)
    yield ',"headers":['
    first, end = headers.offsets[at : at + 2].tolist()
    for header in range(first, end):
        yield "[" if header == first else ",["
        yield from text_json_pieces(headers.keys, header)
        yield ","
        if shown.header is None:
            yield from hex_json_pieces(headers.values, header)
        else:
            yield from _json_pieces(shown.header, headers.values, header)
        yield "]"
    yield "]"
    if is_control:
        yield f',"control":{json_text(control_of(columns, at))}'
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
    return [json_text(each) for each in batch_values(rows, topic, partition, segment)]
