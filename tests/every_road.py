"""One directory with everything that a log may hold, and what a consumer gets of it."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from tests.naive import Record, batch, marker, message, wrapper

COLUMNS: Final = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")

Row = tuple[Any, ...]
"""Topic, partition, offset, timestamp (ms; None: none), key, value, headers."""

_LATE: Final = 1_700_000_000_000
_BEFORE_1970: Final = -86_400_001
_FIRST: Final = int(datetime(1, 1, 1, tzinfo=UTC).timestamp() * 1000)

HEADERS: Final = (("a", b"1"), ("", None), ("a", b"\xff\x00"), ("empty", b""))

OBJECTS: Final[tuple[dict[str, Any], ...]] = (
    {"a": 1, "b": "k"}, {"a": 1.5}, {"a": None}, {"a": 7, "late": [1]}, {"late": []},
    {"text": 1}, {"text": "2"}, {"text": True}, {"large": 1}, {"large": 2**63},
    {"deep": {"x": [{"y": 1}]}}, {"deep": {"x": [{"y": "z"}, None]}}, {"Topic": "o", "day": "d"},
    {"edge": -(2**63)}, {"edge": 2**63 - 1}, {"digits": 10**38}, {"digits": 1},
    {"mixed": [1, "x", None, True, {"k": [2]}, [3]]}, {"mixed": []},
    {"a.b": {"`c`": {'"d"': 1}}},
    {"": 1, " ,;{}()=\t\n/%": "\0", "😀": "\u2028"}, {"long" * 99: 1},
)  # fmt: skip
"""Values of the topic `json`: what is hard about types and names."""

TYPED: Final[tuple[dict[str, Any], ...]] = (
    {"a": 1.0, "b": "k"}, {"a": 1.5}, {"a": None}, {"a": 7.0, "late": [1]}, {"late": []},
    {"text": "1"}, {"text": "2"}, {"text": "true"}, {"large": Decimal(1)},
    {"large": Decimal(2**63)},
    {"deep": {"x": [{"y": "1"}]}}, {"deep": {"x": [{"y": "z"}, None]}}, {"Topic": "o", "day": "d"},
    {"edge": -(2**63)}, {"edge": 2**63 - 1}, {"digits": str(10**38)}, {"digits": "1"},
    {"mixed": ["1", "x", None, "true", '{"k": [2]}', "[3]"]}, {"mixed": []},
    {"a.b": {"`c`": {'"d"': 1}}},
    {"": 1, " ,;{}()=\t\n/%": "\0", "😀": "\u2028"}, {"long" * 99: 1},
)  # fmt: skip
"""`OBJECTS` with one type of each field; fields that an object does not have are null."""

FIELDS: Final = tuple(dict.fromkeys(name for each in OBJECTS for name in each))

_TEXT: Final = b'{"a": 0, "o": {"id": 1}, "t": "x"}'

STRANGE: Final[tuple[tuple[bytes, Row, dict[str, str]], ...]] = (
    (_TEXT, (0, {"id": 1}, "x"), {}),
    (b"\xef\xbb\xbf" + _TEXT, (0, {"id": 1}, "x"), {}),
    (_TEXT.decode().encode("utf-16"), (0, {"id": 1}, "x"), {}),
    (b'{"a": 1, "o": {"id": 1, "ID": 2}}', (1, {"id": 1}, None), {"value.o.ID": "2"}),
    (b'{"a": 2, "\\ud800": [1.50]}', (2, None, None), {"value.\\ud800": "[1.50]"}),
    (b'{"a": 3, "a\\u0000": {"b": 1E400}}', (3, None, None), {"value.a\0": '{"b": 1E400}'}),
    (b'{"a": 4, "t": "\\ud800"}', (4, None, None), {"value.t": "\\ud800"}),
    (b'{"a": 5, "t": [1.50, 1e2]}', (5, None, "[1.50, 1e2]"), {}),
    (b'{"a": 6, "a": 7}', (None, None, None), {"value": '{"a": 6, "a": 7}'}),
    (b"[1]", (None, None, None), {"value": "[1]"}),
)
"""JSON of which not all fits: the bytes, the fields ``a``, ``o``, ``t``, and what is rescued."""


def times(first: int, times_of: list[int], **more: Any) -> list[Record]:
    """Return records with these times."""
    return [
        Record(at, time, b"k%d" % (at % 3), b"v,%d\n\"'" % at, **more)
        for at, time in enumerate(times_of, first)
    ]


def some(first: int, count: int = 4, **more: Any) -> list[Record]:
    """Return records like any others; their times go with their offsets."""
    return times(first, [_LATE + at for at in range(first, first + count)], **more)


_ODD: Final = [
    Record(0, _LATE), Record(1, _LATE, b"", b""), Record(2, _LATE, None, b"\xff\xfe\x00"),
    Record(3, _LATE, "ключ".encode(), None), Record(4, _LATE, b"=1+1", "\u2028\t😀".encode()),
]  # fmt: skip
_WITH_HEADERS: Final = tuple((name.encode(), value) for name, value in HEADERS)
_PRODUCER: Final = {"attributes": 0x10, "producer_id": 7, "producer_epoch": 0}

SOUND: Final[dict[str, tuple[bytes, list[Record]]]] = {
    "codecs": (b"".join(batch(some(4 * c), c) for c in range(5)), some(0, 20)),
    "odd": (batch(_ODD), _ODD),
    "headers": (batch(some(0, headers=_WITH_HEADERS)), some(0, headers=_WITH_HEADERS)),
    "times": (
        batch(times(0, [_BEFORE_1970, -2, 0, 1, _FIRST]), max_timestamp=1),
        times(0, [_BEFORE_1970, -2, 0, 1, _FIRST]),
    ),
    "no-time": (
        batch([Record(0, -1, b"k", b"v")], base_timestamp=-1, max_timestamp=-1),
        [Record(0, -1, b"k", b"v")],
    ),
    "append-time": (batch(some(0), attributes=0x08, max_timestamp=_LATE + 9),
                    times(0, [_LATE + 9] * 4)),
    "compacted": (
        batch(some(2, 2) + some(9, 1), base_offset=0, last_offset=11) + batch(some(20)),
        some(2, 2) + some(9, 1) + some(20),
    ),
    "transactions": (
        batch(some(0, 2), **_PRODUCER) + marker(2, 7, commit=False) + batch(some(3, 2))
        + batch(some(5, 2), **_PRODUCER) + marker(7, 7, commit=True)
        + batch(some(8, 2), **_PRODUCER) + batch(some(10, 2)),
        some(3, 2) + some(5, 2),
    ),
    "json": (
        batch([Record(at, _LATE, b"k%d" % at, json.dumps(value).encode())
               for at, value in enumerate(OBJECTS)]),
        [Record(at, _LATE, b"k%d" % at, json.dumps(value).encode())
         for at, value in enumerate(OBJECTS)],
    ),
}  # fmt: skip
"""Topics of magic 2 without damage: the content of a log, and what a consumer gets of it."""

OTHERS: Final[dict[str, tuple[bytes, list[Record]]]] = {
    "magic-0": (
        message(0, Record(0, -1, b"k", b"v")) + wrapper(0, times(1, [-1, -1]), 1),
        [Record(0, -1, b"k", b"v"), *times(1, [-1, -1])],
    ),
    "magic-1": (
        b"".join(message(1, each) for each in some(0))
        + b"".join(wrapper(1, some(4 * codec), codec) for codec in (1, 2, 3)),
        some(0, 4) + [each for codec in (1, 2, 3) for each in some(4 * codec)],
    ),
    "every-magic": (
        message(0, Record(0, -1, b"k", b"v")) + wrapper(1, some(1, 3), 1) + batch(some(4), 4)
        + wrapper(0, times(8, [-1, -1]), 2) + batch(some(10)) + message(1, some(14, 1)[0]),
        [Record(0, -1, b"k", b"v"), *some(1, 7), *times(8, [-1, -1]), *some(10, 5)],
    ),
    "magic-1-behind-2": (
        batch(some(0)) + wrapper(1, some(4), 1), some(0, 8),
    ),
    "damaged": (
        batch(some(0)) + batch(some(4), crc=7) + batch(some(8)) + b"\x01" * 100
        + batch(some(12), 4) + batch(some(16))[:-5],
        some(0) + some(8) + some(12),
    ),
}  # fmt: skip

EVERYTHING: Final = SOUND | OTHERS


def plant(path: Path) -> Path:
    """Write the logs of `EVERYTHING`; each has one partition."""
    for topic, (content, _) in EVERYTHING.items():
        path.joinpath(f"{topic}-0").mkdir(parents=True)
        path.joinpath(f"{topic}-0", f"{0:020d}.log").write_bytes(content)
    return path


def wanted(topics: dict[str, tuple[bytes, list[Record]]]) -> list[Row]:
    """Return what a consumer with read_committed gets, sorted."""
    found: list[Row] = [
        (
            topic, 0, each.offset, None if each.timestamp == -1 else each.timestamp,
            each.key, each.value, [(name.decode(), value) for name, value in each.headers],
        )
        for topic, (_, records) in topics.items()
        for each in records
    ]  # fmt: skip
    return sorted(found, key=lambda row: row[:3])


def milliseconds(time: Any) -> int | None:
    """Return a time of any road in ms since 1970."""
    if isinstance(time, str):
        time = datetime.fromisoformat(time)
    if isinstance(time, datetime):
        time = time.replace(tzinfo=time.tzinfo or UTC)
        time = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    return None if time is None else int(time)


def rows_of(table: pa.Table) -> list[Row]:
    """Return `COLUMNS` of a table, sorted."""
    return as_rows(table.select(list(COLUMNS)).to_pylist())


def as_rows(found: Iterable[dict[str, Any]]) -> list[Row]:
    """Return rows by the names of `COLUMNS`, sorted."""
    rows: list[Row] = [
        (
            *(row[name] for name in ("topic", "partition", "offset")),
            milliseconds(row["timestamp"]),
            *(row[name] for name in ("key", "value")),
            [(each["key"], each["value"]) for each in row["headers"] or ()],
        )
        for row in found
    ]
    return sorted(rows, key=lambda row: row[:3])


def require_same(found: list[Row], expected: list[Row]) -> None:
    """Check rows; the first that differs is shown."""
    for left, right in zip(found, expected, strict=False):
        assert left == right
    assert len(found) == len(expected)
