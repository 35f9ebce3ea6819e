"""The files of a segment, written and searched here and by Kafka's own classes: the same answers.

Random steps on sound and on damaged files; at the end the bytes are the same too.
"""

import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from tests import naive
from tests.kafka_broker import compile_java, run_java
from tests.naive import Record
from workbench.errors import (
    CorruptIndexError,
    CorruptRecordError,
    InvalidOffsetError,
    OffsetOverflowError,
)
from workbench.file_system.local import LOCAL
from workbench.files.file_records import FileRecords, TimestampAndOffset
from workbench.files.indexes.offset_index import WritableOffsetIndex
from workbench.files.indexes.time_index import WritableTimeIndex
from workbench.files.indexes.transaction_index import AbortedTxn, WritableTransactionIndex

VERSION = "4.2.0"
BASE = 1000
ERRORS: dict[type[Exception], set[str]] = {
    CorruptIndexError: {"CorruptIndexException"},
    CorruptRecordError: {"CorruptRecordException", "InvalidRecordException", "KafkaException"},
    InvalidOffsetError: {"InvalidOffsetException", "IllegalArgumentException"},
    OffsetOverflowError: {"IndexOffsetOverflowException"},
    ValueError: {
        "IllegalArgumentException",
        "IllegalStateException",
        "KafkaException",
        "BufferOverflowException",
    },
}

Lines = Iterator[tuple[str, ...]]


class Ours:
    """Does what a line says, and shows the result as `KafkaFiles` does."""

    offsets: WritableOffsetIndex
    times: WritableTimeIndex
    transactions: WritableTransactionIndex
    log: FileRecords

    def run(self, words: tuple[str, ...]) -> str | set[str]:
        """Return the line, or the names that the error may have there."""
        name, *rest = words
        method: Callable[..., object] = getattr(self, name.replace(".", "_"))
        arguments = [int(word) if word.lstrip("-").isdigit() else word for word in rest]
        try:
            return shown(method(*arguments))
        except tuple(ERRORS) as error:
            return ERRORS[next(kind for kind in ERRORS if isinstance(error, kind))]

    def offsets_open(self, path: str, base: int, size: int) -> object:
        self.offsets = WritableOffsetIndex(LOCAL, path, base, size)
        return self.offsets.entries, self.offsets.last_offset

    def offsets_lookup(self, target: int) -> object:
        return self.offsets.lookup(target)

    def offsets_upper(self, position: int, size: int) -> object:
        return self.offsets.fetch_upper_bound(position, size)

    def offsets_append(self, offset: int, position: int) -> object:
        self.offsets.append(offset, position)
        return self.offsets.entries, self.offsets.last_offset, self.offsets.is_full

    def offsets_truncate_to(self, offset: int) -> object:
        self.offsets.truncate_to(offset)
        return self.offsets.entries, self.offsets.last_offset

    def offsets_reset(self) -> object:
        self.offsets.reset()
        return self.offsets.entries

    def offsets_resize(self, size: int) -> object:
        return self.offsets.resize(size), self.offsets.max_entries

    def offsets_sanity(self) -> object:
        self.offsets.sanity_check()
        return "sane"

    def offsets_close(self) -> object:
        self.offsets.close()
        return "closed"

    def times_open(self, path: str, base: int, size: int) -> object:
        self.times = WritableTimeIndex(LOCAL, path, base, size)
        return self.times.entries, *self.times.last_entry

    def times_lookup(self, target: int) -> object:
        return self.times.lookup(target)

    def times_append(self, timestamp: int, offset: int, skip: int) -> object:
        self.times.maybe_append(timestamp, offset, skip_full_check=skip == 1)
        return self.times.entries, *self.times.last_entry, self.times.is_full

    def times_truncate_to(self, offset: int) -> object:
        self.times.truncate_to(offset)
        return self.times.entries, *self.times.last_entry

    def times_reset(self) -> object:
        self.times.reset()
        return self.times.entries

    def times_resize(self, size: int) -> object:
        return self.times.resize(size), self.times.max_entries

    def times_sanity(self) -> object:
        self.times.sanity_check()
        return "sane"

    def times_close(self) -> object:
        self.times.close()
        return "closed"

    def transactions_open(self, path: str, base: int) -> object:
        self.transactions = WritableTransactionIndex(LOCAL, path, base)
        return self.transactions.is_empty

    def transactions_append(self, *fields: int) -> object:
        producer_id, first, last, stable = fields
        self.transactions.append(AbortedTxn(producer_id, first, last, stable))
        return "appended"

    def transactions_collect(self, start: int, end: int) -> object:
        found = self.transactions.collect_aborted(start, end)
        shorts = [f"{entry.producer_id}:{entry.last_offset}" for entry in found.transactions]
        return found.is_complete, *shorts

    def transactions_truncate_to(self, offset: int) -> object:
        self.transactions.truncate_to(offset)
        return "cut"

    def transactions_sanity(self) -> object:
        self.transactions.sanity_check()
        return "sane"

    def transactions_close(self) -> object:
        self.transactions.close()
        return "closed"

    def log_open(self, path: str) -> object:
        self.log = FileRecords.open(LOCAL, path)
        return self.log.size

    def log_offset(self, target: int, start: int) -> object:
        return self.log.search_for_offset(target, start)

    def log_timestamp(self, target: int, start: int, start_offset: int) -> object:
        return self.log.search_for_timestamp(target, start, start_offset)

    def log_largest(self, start: int) -> object:
        return self.log.largest_timestamp_after(start)

    def log_batches(self) -> object:
        return len(self.log.batches())

    def log_truncate_to(self, size: int) -> object:
        return self.log.truncate_to(size), self.log.size

    def log_close(self) -> object:
        self.log.close()
        return "closed"


def shown(result: object) -> str:
    """Return a result as Java prints it."""
    if isinstance(result, TimestampAndOffset):
        result = result._replace(
            leader_epoch=-1 if result.leader_epoch is None else result.leader_epoch
        )
    if isinstance(result, tuple):
        return " ".join(shown(item) for item in result)
    if isinstance(result, bool):
        return str(result).lower()
    return "none" if result is None else str(result)


def damaged(numbers: list[int], chance: Random, most: int) -> list[int]:
    """Return numbers, some of them changed now and then."""
    found = list(numbers)
    for _ in range(chance.choice([0, 0, 1, 5, len(found)]) if found else 0):
        found[chance.randrange(len(found))] = chance.randrange(-3, most)
    return found


def index_steps(path: Path, chance: Random, kind: str) -> Lines:
    """Yield steps on an offset or time index; ``path`` is filled with something to begin with."""
    entry, most = (">ii", 3000) if kind == "offsets" else (">qi", 3000)
    size = struct.calcsize(entry)
    count = chance.choice([0, 1, 2, 3, 10, 100, 1500])
    firsts = damaged(sorted(chance.sample(range(most), count)), chance, most)
    seconds = damaged(sorted(chance.choices(range(most), k=count)), chance, most)
    data = b"".join(struct.pack(entry, *pair) for pair in zip(firsts, seconds, strict=True))
    if chance.random() < 0.3:
        # Kafka's time index is broken after half an entry found room.
        data += bytes(size * chance.randrange(10) + chance.randrange(8))
    is_new = chance.random() < 0.2
    if not is_new:
        path.write_bytes(data)
    room = size * (count + 40)
    entries = len(data) // size
    yield f"{kind}.open", str(path), str(BASE), str(room)
    yield (f"{kind}.sanity",)
    for _ in range(60):
        at = chance.randrange(-5, most + 5)
        step = chance.randrange(20)
        if step < 8:
            yield f"{kind}.lookup", str(at + (BASE if kind == "offsets" else 0))
        elif step < 12 and kind == "offsets":
            yield "offsets.upper", str(at), str(chance.randrange(200))
        elif step < 16:
            numbers = (BASE + at, chance.randrange(most)) if kind == "offsets" else (at, BASE + at)
            # Kafka's time index is broken after an offset that is too far.
            if kind == "offsets" and chance.random() < 0.05:
                numbers = (numbers[0] + 2**31, numbers[1])
            more = () if kind == "offsets" else (str(chance.randrange(2)),)
            yield f"{kind}.append", *map(str, numbers), *more
            entries += 1
        elif step < 18:
            yield f"{kind}.truncate_to", str(BASE + at)
        elif step < 19:
            yield (f"{kind}.reset",)
        else:
            yield f"{kind}.resize", str(room + chance.randrange(-size, 3 * size))
    yield (f"{kind}.sanity",)
    yield (f"{kind}.close",)


def transaction_steps(path: Path, chance: Random) -> Lines:
    """Yield steps on a transaction index."""
    yield "transactions.open", str(path), str(chance.choice([0, 20]))
    last = 0
    for _ in range(40):
        first = max(0, last - chance.randrange(10))
        step = chance.randrange(10)
        if step < 4:
            last += chance.choice([0, 1, 5])
            yield "transactions.append", *map(str, (step, first, last, last - chance.randrange(3)))
        elif step < 8:
            start = chance.randrange(last + 3)
            yield "transactions.collect", str(start), str(start + chance.randrange(20))
        elif step < 9:
            yield "transactions.truncate_to", str(last - chance.randrange(-1, 5))
        else:
            yield ("transactions.sanity",)
    yield ("transactions.close",)


def random_batch(chance: Random, offset: int) -> bytes:
    """Return a batch of any format and codec."""
    count = chance.choice([1, 1, 2, 5])
    time = chance.randrange(100)
    records = [
        Record(offset + 2 * n, time + chance.randrange(20), b"k", bytes(chance.randrange(90)))
        for n in range(count)
    ]
    magic = chance.choice([0, 1, 2, 2, 2, 2])
    codec = chance.randrange(5)
    if magic == 2:
        return naive.batch(
            records,
            codec,
            attributes=chance.choice([0, 0, 8]),
            leader_epoch=chance.randrange(-1, 3),
            last_offset=records[-1].offset + chance.choice([0, 0, 3]),
        )
    if codec in {0, 4}:
        return naive.message(magic, records[0])
    return naive.wrapper(magic, records, codec)


def log_steps(path: Path, chance: Random) -> Lines:
    """Yield steps on a log; now and then its offsets fall, or its end is damaged."""
    data, places, offset = b"", [0], BASE
    for _ in range(chance.choice([0, 1, 5, 60])):
        data += random_batch(chance, max(0, offset))
        places.append(len(data))
        offset += chance.choice([10, 11, 40]) if chance.random() < 0.97 else -25
    places.pop()
    tail = chance.choice(
        [b"", b"", bytes(11), bytes(17), bytes(40), bytes(11) + b"\x30" + bytes(20)]
    )
    path.write_bytes(data + tail)
    yield "log.open", str(path)
    yield ("log.batches",)
    for _ in range(25):
        start = str(chance.choice(places) if places and chance.random() < 0.3 else 0)
        target = chance.randrange(BASE - 3, max(offset, BASE) + 5)
        yield "log.offset", str(target), start
        yield (
            "log.timestamp",
            str(chance.randrange(-1, 125)),
            start,
            str(chance.choice([0, target])),
        )
        yield "log.largest", start
    if places:
        yield "log.truncate_to", str(chance.choice(places))
        yield ("log.batches",)
    yield "log.truncate_to", str(len(data) + len(tail) + 1)
    yield ("log.close",)


@pytest.mark.broker
@pytest.mark.parametrize("kind", ["offsets", "times", "transactions", "log"])
def test_kafka_s_own_classes_answer_and_write_the_same(tmp_path: Path, kind: str) -> None:
    ours_folder, theirs_folder = tmp_path / "ours", tmp_path / "theirs"
    ours_folder.mkdir()
    steps: list[tuple[str, ...]] = []
    for seed in range(150):
        path, chance = ours_folder / str(seed), Random(seed)
        if kind == "log":
            steps += log_steps(path, chance)
        elif kind == "transactions":
            steps += transaction_steps(path, chance)
        else:
            steps += index_steps(path, chance, kind)
    shutil.copytree(ours_folder, theirs_folder)
    script, results = tmp_path / "script", tmp_path / "results"
    text = "\n".join(" ".join(step) for step in steps) + "\n"
    script.write_text(text.replace(str(ours_folder), str(theirs_folder)))
    source = Path(__file__).with_name("KafkaFiles.java").read_text(encoding="utf-8")
    classes = compile_java(VERSION, source, "KafkaFiles")
    done = run_java(VERSION, "KafkaFiles", str(script), str(results), classes=classes)
    assert done.returncode == 0, done.stderr
    theirs = results.read_text().splitlines()
    assert len(theirs) == len(steps)
    ours = Ours()
    for number, (step, expected) in enumerate(zip(steps, theirs, strict=True)):
        found = ours.run(step)
        context = (number, steps[max(0, number - 8) : number + 1])
        if isinstance(found, set):
            assert expected in found, context
        else:
            assert found == expected, context
    for path in ours_folder.iterdir():
        assert path.read_bytes() == (theirs_folder / path.name).read_bytes(), path.name
    assert len(list(ours_folder.iterdir())) == len(list(theirs_folder.iterdir()))
