"""Damaged `.log` files: a problem or the same records, never a crash, a hang or a false record.

A false record is one that was not there before the damage. The offset, size and leader epoch of a
batch are outside its CRC: a changed offset moves the records of its batch, nothing else.
"""

import os
import random
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.examples import every_byte
from tests.golden.cases import Case
from tests.naive import Record, batch, message, wrapper
from tests.naive import read as read_plainly
from tests.record.reading import Outcome, read
from workbench.file_system.source import FileSource
from workbench.layout import problems
from workbench.record.reading.reader import RecordReader

Golden = Callable[[str], Case]

MASKS = (0x01, 0x80, 0xFF)
MEMORY_BOUND = 96 << 20  # bytes: the window, the arena and outputs of a small file, with room


def some_records(first: int, count: int = 3) -> list[Record]:
    headers = ((b"trace", b"\x01"), (b"", None))
    values = [b"value-%d" % first * 3, None, b"", b"last"]
    return [
        Record(
            first + at * 2,
            1_700_000_000_000 + first + at,
            None if at == 1 else b"k%d" % at,
            values[at],
            headers if at == 0 else (),
        )
        for at in range(count)
    ]


def small_logs() -> Iterator[tuple[str, list[bytes]]]:
    """Yield (name, batches) of logs of every format and codec, three batches each."""
    for codec in range(5):
        yield (
            f"v2-{codec}",
            [
                batch(some_records(10), codec, producer_id=5, producer_epoch=1, base_sequence=0),
                batch(some_records(20), codec, attributes=8, leader_epoch=3),
                batch(some_records(30, 4), codec),
            ],
        )
    for magic in (0, 1):
        yield f"v{magic}-0", [message(magic, record) for record in some_records(10)]
        for codec in (1, 2, 3):
            entries = [wrapper(magic, some_records(first), codec) for first in (10, 20, 30)]
            yield f"v{magic}-{codec}", entries
    yield (
        "mixed",
        [message(0, some_records(1)[0]), wrapper(1, some_records(10), 1), batch(some_records(20))],
    )


SMALL = dict(small_logs())


def contents_of(records: list[Record]) -> list[tuple[object, ...]]:
    """Return records without their offsets."""
    return [(r.timestamp, r.key, r.value, r.headers) for r in records]


@pytest.mark.parametrize("name", SMALL)
def test_a_sound_log_reads_as_it_was_written(name: str, tmp_path: Path) -> None:
    """MR-2 LR-1 for every format and codec."""
    data = b"".join(SMALL[name])
    outcome = read(tmp_path, data)
    assert outcome == Outcome(read_plainly(data), [], problems.END)
    assert len(outcome.records) >= 3


@every_byte
@pytest.mark.parametrize("name", SMALL)
def test_a_log_cut_anywhere_gives_the_whole_batches_before_the_cut(
    name: str, step: int, tmp_path: Path
) -> None:
    """FR-4 FR-9 FR-15: the rest is not finished, which is no damage."""
    data = b"".join(SMALL[name])
    ends = np.cumsum([len(entry) for entry in SMALL[name]]).tolist()
    for cut in sorted({*range(0, len(data), step), *ends[:-1]}):
        whole = max((end for end in ends if end <= cut), default=0)
        outcome = read(tmp_path, data[:cut])
        assert outcome.records == read_plainly(data[:whole])
        assert outcome.problems == []
        assert outcome.stop_code == (problems.END if cut == whole else problems.UNFINISHED)


def check_damaged(entries: list[bytes], position: int, outcome: Outcome) -> None:
    """Check what is read of a log whose byte at ``position`` was changed."""
    starts = np.cumsum([0, *map(len, entries)]).tolist()
    hit = max(at for at, start in enumerate(starts[:-1]) if start <= position)
    inside = position - starts[hit]
    records = [read_plainly(entry) for entry in entries]
    if inside < 8:  # the offset
        everything = [record for found in records for record in found]
        assert contents_of(outcome.records) == contents_of(everything) or outcome.is_told
        others = [r for at, found in enumerate(records) if at != hit for r in found]
        assert [record for record in outcome.records if record in others] == others
        return
    is_epoch = entries[hit][16] == 2 and 12 <= inside < 16
    others = [r for at, found in enumerate(records) if at != hit or is_epoch for r in found]
    if inside >= 12 and inside != 16:
        assert outcome.records == others
    else:  # a wrong size may swallow later batches, and a wrong magic gives a wrong header size
        before = [r for found in records[:hit] for r in found]
        everything = [record for found in records for record in found]
        assert outcome.records[: len(before)] == before
        assert all(record in everything for record in outcome.records)
    assert is_epoch or outcome.is_told


@every_byte
@pytest.mark.parametrize("name", SMALL)
def test_every_changed_byte_gives_a_problem_or_the_same_records(
    name: str, step: int, tmp_path: Path
) -> None:
    """DB-5 DB-7 LR-2: for each byte of each kind of batch."""
    entries = SMALL[name]
    data = b"".join(entries)
    for position in range(0, len(data), step):
        for mask in MASKS:
            changed = bytearray(data)
            changed[position] ^= mask
            outcome = read(tmp_path, bytes(changed))
            check_damaged(entries, position, outcome)


@every_byte
@pytest.mark.parametrize("name", SMALL)
def test_no_changed_byte_is_too_much_for_a_reader_that_checks_no_crc(
    name: str, step: int, tmp_path: Path
) -> None:
    """DB-6 DR-1 DR-2 DR-3 LR-4: lengths, counts and streams that the CRC would have caught."""
    data = b"".join(SMALL[name])
    for position in range(12, len(data), step):
        changed = bytearray(data)
        changed[position] ^= MASKS[position % 3]
        with traced_memory() if position % 16 == 0 else nullcontext():
            read(tmp_path, bytes(changed), check_crc=False)


@contextmanager
def traced_memory() -> Iterator[None]:
    """Fail when more than the bound is taken inside."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MEMORY_BOUND
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "case", ["k0.8.2-formats", "k0.10.2-formats", "k2.3-formats", "4.2.0-plain-java"]
)
def test_random_damage_to_real_logs_gives_no_false_record(
    case: str, seed: int, tmp_path: Path, golden: Golden
) -> None:
    """Bytes changed, inserted, removed, zeroed; pieces swapped. Batches left whole are found."""
    randomly = random.Random(f"{case} {seed}")
    paths = sorted(p for p in Path(golden(case).path).rglob("*.log") if p.stat().st_size > 1000)
    for number in range(60):
        data = randomly.choice(paths).read_bytes()
        originals = set(contents_of(read_plainly(data)))
        with traced_memory() if number % 8 == 0 else nullcontext():
            outcome = read(tmp_path, damaged(data, randomly))
        assert set(contents_of(outcome.records)) <= originals
        assert len(outcome.records) == len(originals) or outcome.is_told


def damaged(data: bytes, randomly: random.Random) -> bytes:
    """Return bytes with one to three kinds of damage."""
    for _ in range(randomly.randint(1, 3)):
        at = randomly.randrange(len(data))
        size = randomly.choice([1, 1, 2, 4, 12, 61, 200])
        kind = randomly.choice(["change", "insert", "remove", "zero", "cut", "swap"])
        if kind == "change":
            data = data[:at] + randomly.randbytes(min(size, 4)) + data[at + min(size, 4) :]
        elif kind == "insert":
            data = data[:at] + randomly.randbytes(size) + data[at:]
        elif kind == "remove":
            data = data[:at] + data[at + size :]
        elif kind == "zero":
            data = data[:at] + bytes(min(size, len(data) - at)) + data[at + size :]
        elif kind == "cut":
            data = data[: max(at, 20)]
        else:
            data = data[at:] + data[:at]
        if not data:
            return b"\0"
    return data


def test_bytes_of_nothing_but_zeros_are_passed_over_quickly(tmp_path: Path) -> None:
    """A file that was allocated and never written, 64 MiB: little memory, one problem."""
    path = tmp_path / "zeros.log"
    with path.open("wb") as file:
        file.write(batch(some_records(1)))
        file.truncate(64 << 20)
    with FileSource(str(path)) as source, traced_memory():
        chunks = list(RecordReader(source))
    assert sum(len(chunk.columns) for chunk in chunks) == 3
    (problem,) = [problem for chunk in chunks for problem in chunk.problems]
    assert problem.code == problems.BAD_SIZE
    assert problem.position + problem.size == 64 << 20


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_the_first_record_is_found_behind_zeros(magic: int, tmp_path: Path) -> None:
    (record,) = some_records(0, 1)
    entry = batch([record]) if magic == 2 else message(magic, replace(record, headers=()))
    outcome = read(tmp_path, bytes(61) + entry)
    assert [found.offset for found in outcome.records] == [0]
    assert [problem.size for problem in outcome.problems] == [61]


@pytest.mark.parametrize("seed", range(2))
def test_noise_of_every_size_is_survived(seed: int, tmp_path: Path) -> None:
    randomly = random.Random(seed)
    for size in [*range(80), 1000, 70_000, 1 << 20]:
        for fill in (randomly.randbytes(size), bytes(size), b"\x02" * size, b"\xff" * size):
            outcome = read(tmp_path, fill)
            assert outcome.records == []
            assert outcome.is_told == (size > 0)


def test_a_batch_inside_a_value_is_not_taken_for_one_of_the_log(tmp_path: Path) -> None:
    """A log of logs, torn in its last batch: what is in the value has a lower offset."""
    inner = batch([Record(3, 5, b"inner", b"inner")])
    outer = batch([Record(100, 6, b"outer", inner + bytes(200))])
    outcome = read(tmp_path, batch(some_records(90)) + outer[:-50])
    assert outcome.records == some_records(90)
    assert outcome.problems == []
    assert outcome.stop_code == problems.UNFINISHED


def test_a_file_that_shrinks_while_it_is_read_ends_there(tmp_path: Path) -> None:
    path = tmp_path / "shrinks.log"
    first = b"".join(batch([Record(at, 1, b"k", bytes(200_000))]) for at in range(60))
    path.write_bytes(first)
    with FileSource(str(path)) as source:
        reader = RecordReader(source)
        chunks = iter(reader)
        count = len(next(chunks).columns)
        os.truncate(path, 200_000 * 25)
        count += sum(len(chunk.columns) for chunk in chunks)
    assert 0 < count < 60
    assert reader.stop_code == problems.UNFINISHED
