"""Random logs to clean, and what is done to them: seeded, so that each can be made again.

A case is a folder of segments, written by `tests.naive` and none of the two cleaners, and a script
for `tests.engine_jvm`: load, clean, continue writing, clean again later. What is in the segments is
anything that brokers may leave: batches of all kinds and codecs, some from former cleanings, with
holes in the offsets, open transactions, producers that are known by a marker alone.
"""

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.cleaner_jvm.judge import OLDEST
from tests.engine_jvm.scripts import CONTROL, START, TRANSACTIONAL
from tests.naive import Record, batch, message, wrapper

LOG_APPEND_TIME: Final = 1 << 3
HORIZON: Final = 1 << 6
HOUR: Final = 3_600_000
RETENTION: Final = 10 * HOUR  # delete.retention.ms
KINDS: Final = (
    "plain", "idempotent", "transactional", "marker", "old", "cleaned", "emptied", "control",
)  # fmt: skip
STYLES: Final[dict[str, tuple[int, ...]]] = {
    "keys": (60, 0, 0, 0, 0, 5, 0, 0),
    "producers": (15, 60, 0, 2, 0, 5, 3, 0),
    "transactions": (10, 5, 45, 30, 0, 3, 5, 1),
    "old formats": (20, 0, 0, 0, 60, 3, 0, 0),
    "everything": (20, 15, 25, 14, 12, 6, 6, 2),
}
CONFIGS: Final = (
    "internal.segment.bytes=1500 index.interval.bytes=200 segment.index.bytes=480",
    "internal.segment.bytes=3000 index.interval.bytes=1 segment.index.bytes=1200",
    "internal.segment.bytes=6000 index.interval.bytes=700 segment.index.bytes=1200",
    "internal.segment.bytes=1000000 index.interval.bytes=4096 segment.index.bytes=12000",
    "internal.segment.bytes=4000 index.interval.bytes=300 segment.index.bytes=96 preallocate=true",
    "internal.segment.bytes=700 index.interval.bytes=100 segment.index.bytes=480",
)


@dataclass
class Producer:
    """A producer and where it is."""

    identity: int
    epoch: int = 0
    sequence: int = 0
    is_open: bool = False


@dataclass
class Case:
    """One log and its script.

    Args:
        seed: of everything.

    Attributes:
        segments: base offset to bytes; the last is the active one.
        script: lines for `tests.engine_jvm`.
        has_codecs: whether a batch is compressed; two compressors seldom write the same bytes.
        is_damaged: whether `damage` was done.
    """

    seed: int
    segments: dict[int, bytes] = field(default_factory=dict)
    script: list[str] = field(default_factory=list)
    has_codecs: bool = False
    is_damaged: bool = False

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        choose = self._random
        self.has_codecs = choose.random() < 0.4
        self._style = choose.choices(tuple(STYLES), (3, 2, 4, 2, 5))[0]
        self._now = START
        self._time = START - 8 * HOUR  # about which the records of a segment are
        self._next = choose.choice((0, 0, 0, 17, 2**31 + 5))
        self._epoch = 0
        self._keys = [b"%d" % number for number in range(choose.choice((2, 6, 20, 60)))]
        self._keys += [b"", b"\0\0\0\0", b"long" * 70]
        self._tombstones = choose.choice((0, 0.15, 0.15, 0.6))
        self._producers = [Producer(100 + number) for number in range(choose.choice((1, 3, 6)))]
        self._write_segments()
        self.script += self._lines()

    def damage(self) -> None:
        """Flip a bit of a batch, after its length, and load the log as after a clean shutdown."""
        choose = self._random
        bases = [base for base, data in self.segments.items() if len(data) > 80][:-1]
        if not bases:
            return
        base = choose.choice(bases)
        data, places, at = bytearray(self.segments[base]), [], 0
        while at < len(data):
            size = 12 + int.from_bytes(data[at + 8 : at + 12])
            places.append((at + 21, at + size))
            at += size
        data[choose.randrange(*choose.choice(places))] ^= 1 << choose.randrange(8)
        self.segments[base] = bytes(data)
        self.script = [line.replace("open crash", "open clean") for line in self.script]
        self.is_damaged = True

    def write_to(self, folder: Path) -> None:
        """Write the segments, each an hour younger than the one before it."""
        folder.mkdir(parents=True)
        age = len(self.segments)
        for number, (base, data) in enumerate(self.segments.items()):
            path = folder / f"{base:020}.log"
            path.write_bytes(data)
            modified = OLDEST - (age - number) * HOUR // 1000
            os.utime(path, (modified, modified))

    def _write_segments(self) -> None:
        choose = self._random
        count = choose.randint(2, 7)
        for _ in range(count):
            self._time += 8 * HOUR // count
            base = self._next
            data = b"".join(self._entries(choose.randint(0, 12)))
            while choose.random() < 0.5 and any(one.is_open for one in self._producers):
                data += self._marker()
            self.segments[base] = data
            self._next = max(self._next, base + 1) + choose.choice((0, 0, 0, 1, 9))
            if choose.random() < 0.02:
                self._next += 2**31 - choose.randint(0, 60)

    def _lines(self) -> Iterator[str]:
        """Yield the lines of the script."""
        choose = self._random
        lag = choose.choice((0, 0, 0, 0, HOUR, 3 * HOUR))
        longest = choose.choice((2**63 - 1, 4 * HOUR))
        config = f"config {choose.choice(CONFIGS)} cleanup.policy=compact"
        config += f" delete.retention.ms={choose.choice((0, 1, RETENTION, RETENTION))}"
        config += f" min.compaction.lag.ms={lag} max.compaction.lag.ms={longest}"
        yield f"{config} max.message.bytes={choose.choice((100, 1000, 1_000_000))}"
        yield f"now {self._now}"
        yield "open crash 0 0"
        yield f"highwatermark {self._next if choose.random() < 0.9 else self._next - 20}"
        for number in range(choose.randint(1, 4)):
            if number:
                yield from self._go_on()
            yield self._clean(number)
            if self.has_codecs or choose.random() < 0.3:
                yield "close"
                yield "keep"
                yield "open clean last last"
                yield "highwatermark 9223372036854775807"
            else:
                yield "keep"

    def _go_on(self) -> Iterator[str]:
        choose = self._random
        for _ in range(choose.choice((0, 0, 1, 3))):
            for entry in self._entries(choose.randint(1, 5)):
                yield f"follow {self._epoch} {entry.hex()}"
            yield "roll"
        yield "highwatermark 9223372036854775807"
        self._now += choose.choice((0, 1, HOUR, RETENTION, RETENTION + 1, 5 * RETENTION))
        self._time = self._now
        yield f"now {self._now}"

    def _clean(self, number: int) -> str:
        choose = self._random
        start = choose.choice(("none", "last" if number else "none", "0", f"{self._next // 2}"))
        slots, factor = choose.choice((2, 4, 7, 30, 1000, 1000, 1000)), choose.choice((0.6, 0.9))
        buffer_size = choose.choice((64, 300, 2000, 100_000))
        return f"clean {start} {slots} {factor} {buffer_size}"

    def _entries(self, count: int) -> Iterator[bytes]:
        for _ in range(count):
            kind = self._random.choices(KINDS, STYLES[self._style])[0]
            data = getattr(self, f"_{kind}")()
            if self._random.random() < 0.03:
                self._epoch += self._random.randint(1, 2)
            if self._random.random() < 0.08:
                self._next += self._random.choice((1, 2, 50))
            if data:
                yield data

    def _codec(self, most: int = 4) -> int:
        return self._random.randint(0, most) if self.has_codecs else 0

    def _records(self, count: int, *, has_headers: bool = True) -> list[Record]:
        choose = self._random
        base, self._next = self._next, self._next + count
        found = []
        for offset in range(base, base + count):
            key = None if choose.random() < 0.04 else choose.choice(self._keys)
            value = None
            if choose.random() >= self._tombstones:
                times = 3000 if choose.random() < 0.01 else choose.choice((0, 1, 4, 30))
                value = choose.randbytes(choose.randint(0, 8)) * times
            headers = ((b"h", b"v"), (b"", None)) if choose.random() < 0.1 else ()
            time = self._time + choose.randint(-HOUR, 500)
            if choose.random() < 0.03:
                time = choose.choice((-1, -1, 0, 2**62))
            found.append(Record(offset, time, key, value, headers if has_headers else ()))
        return found

    def _size(self) -> int:
        if self._random.random() < 0.01:
            return 150
        return self._random.choice((1, 1, 2, 3, 7))

    def _plain(self, **fields: int) -> bytes:
        attributes = LOG_APPEND_TIME if self._random.random() < 0.1 else 0
        records = self._records(self._size())
        fields = {"attributes": attributes, "leader_epoch": self._epoch, **fields}
        return batch(records, self._codec(), **fields)

    def _of(self, producer: Producer, attributes: int, **fields: int) -> bytes:
        attributes |= LOG_APPEND_TIME if self._random.random() < 0.1 else 0
        records = self._records(self._size())
        sequence = producer.sequence
        producer.sequence += len(records)
        numbers = {"producer_id": producer.identity, "producer_epoch": producer.epoch}
        numbers |= {"base_sequence": sequence, "leader_epoch": self._epoch} | fields
        return batch(records, self._codec(), attributes=attributes, **numbers)

    def _idempotent(self) -> bytes:
        choose = self._random
        producer = choose.choice(self._producers)
        if producer.is_open:
            return b""
        if choose.random() < 0.1:
            producer.epoch, producer.sequence = producer.epoch + 1, 0
        if choose.random() < 0.1:
            producer.sequence = 0  # as coordinators do
        return self._of(producer, 0)

    def _transactional(self) -> bytes:
        producer = self._random.choice(self._producers)
        producer.is_open = True
        return self._of(producer, TRANSACTIONAL)

    def _marker(self) -> bytes:
        choose = self._random
        producer = choose.choice(self._producers)
        opened = [one for one in self._producers if one.is_open]
        if opened and choose.random() < 0.9:
            producer = opened[0]
        if not producer.is_open and choose.random() < 0.8:
            return b""
        producer.is_open = False
        if choose.random() < 0.3:
            producer.epoch += 1  # as from transaction.version 2 on
        kind = choose.choice((b"\0\1", b"\0\0"))
        record = Record(self._next, self._now, b"\0\0" + kind, b"\0\0\0\0\0\0")
        self._next += 1
        fields = {"producer_id": producer.identity, "producer_epoch": producer.epoch}
        fields |= {"attributes": TRANSACTIONAL | CONTROL, "leader_epoch": self._epoch}
        if choose.random() < 0.05:
            fields |= {"base_timestamp": self._horizon()}
            fields["attributes"] |= HORIZON
        return batch([record], **fields)

    def _horizon(self) -> int:
        return self._now + self._random.choice((-HOUR, 0, HOUR, RETENTION))

    def _old(self) -> bytes:
        choose = self._random
        magic = choose.choice((0, 1))
        count = self._size()
        records = self._records(count, has_headers=False)
        if choose.random() < 0.2:  # cleaned by an old broker
            records = [record for record in records if choose.random() < 0.6] or records[-1:]
        codec = self._codec(most=3)
        if codec:
            is_append_time = magic == 1 and choose.random() < 0.2
            inner = 0 if magic == 1 and choose.random() < 0.1 else magic
            attributes = LOG_APPEND_TIME if is_append_time else 0
            return wrapper(magic, records, codec, attributes=attributes, inner_magic=inner)
        return b"".join(message(magic, record) for record in records)

    def _cleaned(self) -> bytes:
        """Make a batch as a former cleaning left it: with holes, perhaps with a delete horizon."""
        choose = self._random
        first = self._next
        records = self._records(6)
        kept = [record for record in records if choose.random() < 0.5] or records[2:3]
        if choose.random() < 0.1:
            self._next += 20_000
            kept += self._records(1)
        fields = {"base_offset": first, "last_offset": self._next - 1, "leader_epoch": self._epoch}
        if choose.random() < 0.5:
            fields |= {"base_timestamp": self._horizon(), "attributes": HORIZON}
        return batch(kept, self._codec(), **fields)

    def _emptied(self) -> bytes:
        """Make a batch that a former cleaning left for its producer's sake, without records."""
        choose = self._random
        producer = choose.choice(self._producers)
        is_open = producer.is_open
        kinds = (TRANSACTIONAL,) if is_open else (0, TRANSACTIONAL, TRANSACTIONAL | CONTROL)
        attributes = choose.choice(kinds)
        producer.is_open = is_open or attributes == TRANSACTIONAL
        count = 1 if attributes & CONTROL else choose.randint(1, 3)
        first, self._next = self._next, self._next + count
        sequence = -1 if attributes & CONTROL else producer.sequence
        producer.sequence += 0 if attributes & CONTROL else count
        return batch(
            [], base_offset=first, last_offset=self._next - 1, attributes=attributes,
            producer_id=producer.identity, producer_epoch=producer.epoch, base_sequence=sequence,
            max_timestamp=self._now, leader_epoch=self._epoch,
        )  # fmt: skip

    def _control(self) -> bytes:
        """Make a control batch that ends no transaction."""
        key = self._random.choice((b"\0\0\0\2", b"\0\0\0\3", b"\0\0\0\x63"))
        record = Record(self._next, self._now, key, b"\0\0\0\0\0\0")
        self._next += 1
        return batch([record], attributes=CONTROL, leader_epoch=self._epoch)
