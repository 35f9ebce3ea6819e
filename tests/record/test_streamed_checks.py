"""Records that are checked as a stream: the facts are those of the whole content."""

import random
from collections.abc import Iterator
from typing import Final

import numpy as np
import pytest

from workbench.kernels import dispatch
from workbench.kernels.writing.checks import AT, COLUMNS, HEADS_ONLY, NEEDS_KEYS
from workbench.layout import problems
from workbench.layout.attributes import GZIP, ZSTD
from workbench.record import varint
from workbench.record.codecs.registry import CODECS
from workbench.record.writing.batch_checks import RecordRules, check_batches
from workbench.record.writing.builder import RecordsBuilder
from workbench.record.writing.streamed_checks import check_streamed

WINDOW: Final = 300
TIMES: Final = (1000, 500, 500)  # now, ms before it, ms after it
HEADER: Final = 61


def record(chance: random.Random, offset: int) -> bytes:
    """Return a record with a key, a value and headers, of which one may exceed the window."""
    parts = [
        None if chance.random() < 0.2 else chance.randbytes(chance.choice((0, 3, 40, 700)))
        for _ in range(2)
    ]
    body = b"\0" + varint.encode_long(chance.randint(-2, 1200)) + varint.encode(offset)
    for part in parts:
        body += varint.encode(-1 if part is None else len(part)) + (part or b"")
    count = chance.choice((0, 0, 1, 3))
    body += varint.encode(count)
    for _ in range(count):
        body += varint.encode(2) + b"na" + varint.encode(-1)
    return varint.encode(len(body)) + body


def pieces(data: bytes, chance: random.Random) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        size = chance.randint(1, 2 * WINDOW)
        yield data[at : at + size]
        at += size


@pytest.mark.parametrize("seed", range(300))
def test_the_facts_of_a_stream_are_those_of_its_whole_content(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randint(1, 30)
    data = bytearray(b"".join(record(chance, number) for number in range(count)))
    if seed % 3 == 1:  # damaged, cut, or followed by more
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif seed % 3 == 2:
        data = data[: chance.randrange(len(data))] if seed % 2 else data + b"\0\0"
    row = np.zeros(COLUMNS, np.int64)
    row[AT.record_count], row[AT.max_timestamp] = count, 1200
    whole, streamed = row.copy(), row.copy()
    options = HEADS_ONLY | NEEDS_KEYS
    content = np.frombuffer(bytes(data), np.uint8)
    dispatch.check_records(content, 0, len(content), whole, options, *TIMES)
    check_streamed(pieces(bytes(data), chance), streamed, options, TIMES, window=WINDOW)
    whole[AT.is_ready] = streamed[AT.is_ready]  # the slower way is taken
    if whole[AT.record_problem] != problems.OK:
        assert streamed[AT.record_problem] != problems.OK
        whole[[AT.record_problem, AT.record_problem_at]] = streamed[
            [AT.record_problem, AT.record_problem_at]
        ]
    assert streamed.tolist() == whole.tolist()


@pytest.mark.parametrize("codec", [GZIP, ZSTD])
def test_a_batch_whose_content_is_large_is_checked(codec: int) -> None:
    """40 MiB of zeros between two small records, and the same cut in the compressed bytes."""
    builder = RecordsBuilder(codec={GZIP: "gzip", ZSTD: "zstd"}[codec])
    for value in (b"first", bytes(40 << 20), b"last"):
        builder.append(1000, b"key", value)
    records = builder.build()
    (found,) = check_batches(records, RecordRules(before_ms=500, after_ms=500), 1000)
    assert (found.record_problem, found.checked_count, found.largest_timestamp) == (0, 3, 1000)
    assert (found.is_in_order, found.refused_count) == (1, 0)
    (late,) = check_batches(records, RecordRules(before_ms=500, after_ms=500), 9000)
    assert late.refused_count == 3
    compressed = memoryview(records.buffer)[HEADER:-20]
    stream = CODECS[codec].pieces
    assert stream is not None
    with pytest.raises(ValueError, match="truncated"):
        list(stream(compressed, 1 << 20))
