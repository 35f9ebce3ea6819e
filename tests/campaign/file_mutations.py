"""What is done to indexes, snapshots, checkpoints and other small files, and to any bytes."""

import json
import struct
from collections.abc import Callable
from random import Random
from typing import Any, Final

import crc32c
import numpy as np

from tests.campaign.log_mutations import Change, cut_or_longer, some_bytes, with_field
from workbench.layout.index_entries import ABORTED_TRANSACTION, OFFSET_ENTRY, TIME_ENTRY
from workbench.layout.producer_snapshot import CRC_FROM, PRODUCER_ENTRY, SNAPSHOT_HEADER

MANY: Final = 2_000_000  # bytes that a run of entries is made to
NUMBERS: Final = (
    "0", "-1", "1", "2147483647", "2147483648", "-2147483648", "9223372036854775807",
    "9223372036854775808", "-9223372036854775809", "1" + "0" * 5000, "1e9", "0x10", "+5", "\u0663",
    "\u00b2",    "1_000", " 7", "", "NaN", "true", "null", "[]", "{}",
)  # fmt: skip
TEXTS: Final = (
    "\x1b[31mred\x1b[0m", "line\nbreak", "\r", "\0", "\ufeff", "=1+1", "\u202e", "a" * 100_000,
    "\u00e9", "\\u0000", '"', "#", "=", " ",
)  # fmt: skip
NESTING: Final = 30_000  # brackets, one in the other


def _entries(layout: "np.dtype[Any]", head: int = 0) -> Change:
    """Change a file of entries of one layout: a field, the order, the number of them."""

    def mutate(data: bytes, rng: Random) -> bytes:
        size = layout.itemsize
        first, body = data[:head], data[head:]
        parts = [body[at : at + size] for at in range(0, len(body) - size + 1, size)]
        rest = body[len(parts) * size :]
        if not parts:
            parts = [bytes(size)]
        one, other = rng.randrange(len(parts)), rng.randrange(len(parts))
        match rng.randrange(6):
            case 0 | 1 | 2:
                parts[one] = with_field(parts[one], layout, rng)
            case 3:
                parts[one], parts[other] = parts[other], parts[one]
            case 4:
                parts.insert(one, parts[other])
            case _:
                parts *= rng.choice((0, 2, MANY // (size * len(parts)) + 1))
        return first + b"".join(parts) + rest

    return mutate


def snapshot_mended(data: bytes) -> bytes:
    """Return a producer snapshot with the checksum made right."""
    return data[:2] + struct.pack(">I", crc32c.crc32c(data[CRC_FROM:])) + data[CRC_FROM:]


def _snapshot(data: bytes, rng: Random) -> bytes:
    """A field of a producer snapshot, or its number of entries, with a valid CRC."""
    if len(data) < SNAPSHOT_HEADER.itemsize:
        return data
    if rng.random() < 0.25:
        return snapshot_mended(with_field(data, SNAPSHOT_HEADER, rng, ("version", "count")))
    head = SNAPSHOT_HEADER.itemsize
    changed = _entries(PRODUCER_ENTRY, head)(data, rng)
    count = (len(changed) - head) // PRODUCER_ENTRY.itemsize
    return snapshot_mended(changed[:6] + struct.pack(">i", count) + changed[head:])


def text_changed(data: bytes, rng: Random) -> bytes:
    """Words of a text file replaced, lines dropped, repeated, swapped or made long."""
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    number = rng.randrange(len(lines))
    words = lines[number].split(" ")
    word = rng.randrange(len(words))
    match rng.randrange(8):
        case 0 | 1 | 2:
            words[word] = rng.choice(NUMBERS)
            lines[number] = " ".join(words)
        case 3:
            words[word] = rng.choice(TEXTS)
            lines[number] = " ".join(words)
        case 4:
            del lines[number]
        case 5:
            lines[number:number] = lines[number : number + 1] * rng.choice((1, 2, 20_000))
        case 6:
            lines.insert(number, rng.choice((*NUMBERS, *TEXTS, " ".join(NUMBERS[:3]))))
        case _:
            return "\r\n".join(lines).encode("utf-8", "surrogateescape")
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _json(data: bytes, rng: Random) -> bytes:
    """A JSON file with a value of another kind, or nested deeply."""
    try:
        value = json.loads(data)
    except ValueError:
        return text_changed(data, rng)
    if not isinstance(value, dict) or not value:
        return data
    name = rng.choice(sorted(value))
    if rng.random() < 0.2:
        inner = rng.choice(("[" * NESTING, '{"a":' * NESTING, "[" * NESTING + "]" * NESTING))
        return data.replace(b"{", b'{"x":' + inner.encode() + b",", 1)
    value[name] = rng.choice(
        (None, True, -1, 2**63, 10**400, 1.5, "", "x" * 50_000, "\x1b[2J\n", [], [[]], {}, [{}])
    )
    if isinstance(value[name], int) and value[name] > 2**64:
        value[name] = "LARGE"
        return json.dumps(value).replace('"LARGE"', "1" + "0" * 5000).encode()
    return json.dumps(value).encode()


def _zeros(data: bytes, rng: Random) -> bytes:
    """Zeros from one place to another, or to the end."""
    start = rng.randrange(len(data) + 1)
    end = rng.choice((len(data), rng.randrange(start, len(data) + 1)))
    return data[:start] + bytes(end - start) + data[end:]


def _noise(data: bytes, rng: Random) -> bytes:
    """Nothing but chance."""
    return rng.randbytes(rng.choice((len(data), 1, 300)))


def _doubled(data: bytes, rng: Random) -> bytes:
    """The whole file, twice."""
    return data * rng.choice((2, 2, 3))


def _empty(data: bytes, rng: Random) -> bytes:
    """Nothing."""
    del data, rng
    return b""


CONTENT_MUTATIONS: Final[dict[str, Change]] = {
    "bytes": some_bytes,
    "cut or longer": cut_or_longer,
    "zeros": _zeros,
    "noise": _noise,
    "doubled": _doubled,
    "empty": _empty,
}
"""For any file, by name."""

OF_SUFFIX: Final[dict[str, dict[str, Callable[[bytes, Random], bytes]]]] = {
    ".index": {"index entries": _entries(OFFSET_ENTRY)},
    ".timeindex": {"time index entries": _entries(TIME_ENTRY)},
    ".txnindex": {"transaction index entries": _entries(ABORTED_TRANSACTION)},
    ".snapshot": {"snapshot": _snapshot},
    ".checkpoint": {"text": text_changed},
    "": {"text": text_changed, "json": _json},
}
"""For files whose name ends so."""
