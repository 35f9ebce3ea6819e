"""Random sequences of operations on a log, as text: seeded, so that each can be made again.

One operation a line; `Sequence.java` and `ours.py` read the same lines. Batches are given as bytes,
made by `tests.naive` and none of the two. Much of what is asked for is wrong: sequences out of
order, epochs of the past, damaged batches, offsets beyond the log's end.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tests.naive import Record, batch

START = 1_800_000_000_000
TRANSACTIONAL, CONTROL = 1 << 4, 1 << 5
SMALL = "internal.segment.bytes=2048 index.interval.bytes=200 segment.index.bytes=480"
CONFIGS = (
    SMALL,
    "internal.segment.bytes=1024 index.interval.bytes=1 segment.index.bytes=96",
    "internal.segment.bytes=4096 segment.index.bytes=1000 preallocate=true",
    "internal.segment.bytes=3000 index.interval.bytes=300 segment.index.bytes=480 segment.ms=3000",
    f"{SMALL} retention.bytes=5000 file.delete.delay.ms=1000",
    f"{SMALL} retention.ms=20000 file.delete.delay.ms=1000 message.timestamp.type=LogAppendTime",
    f"{SMALL} flush.messages=7 compression.type=uncompressed max.message.bytes=600",
    f"{SMALL} cleanup.policy=compact retention.bytes=3000 message.timestamp.before.max.ms=50000",
    f"{SMALL} cleanup.policy=compact,delete retention.bytes=6000 delete.retention.ms=20000",
)
CLEANED = CONFIGS[-1]  # without compression, as two compressors seldom write the same bytes


@dataclass
class Producer:
    """What a well-behaved producer would send next."""

    identity: int
    epoch: int = 0
    sequence: int = 0
    is_transactional: bool = False
    is_open: bool = False
    last: bytes = b""


class Script:
    """Makes the lines of one sequence.

    Args:
        seed: also chooses the configuration.
        length: number of operations.
    """

    def __init__(self, seed: int, length: int) -> None:
        self.random = random.Random(seed)
        self.length = length
        self.config = CONFIGS[seed % len(CONFIGS)]
        self.now = START
        self.leader_epoch = 0
        self.end = 0  # about where the log ends
        self.producers = [Producer(100 + i, is_transactional=i % 2 == 1) for i in range(5)]
        if seed % 3 == 0:
            self.producers[0].sequence = 2**31 - 5

    def lines(self) -> Iterator[str]:
        """Yield the lines; the last closes the log."""
        yield f"config {self.config}"
        yield "open clean 0 0"
        operations = (
            (self.plain, 30),
            (self.idempotent, 25),
            (self.marker, 8),
            (self.damaged, 3),
            (self.follower, 4),
            (self.roll, 2),
            (self.flush, 3),
            (self.high_watermark, 10),
            (self.truncate, 2),
            (self.truncate_fully, 0.3),
            (self.delete_records, 2),
            (self.retain, 5),
            (self.clock, 8),
            (self.read, 12),
            (self.time, 6),
            (self.epoch, 3),
            (self.snapshot, 2),
            (self.reopen, 2),
            (self.clean, 10 if self.config == CLEANED else 0),
        )
        weights = [weight for _, weight in operations]
        for _ in range(self.length):
            (chosen,) = self.random.choices([operation for operation, _ in operations], weights)
            yield from chosen()
        yield "highwatermark 1000000000"
        yield "close"

    def _records(self, count: int, base: int = 0, size: int = 60) -> list[Record]:
        choose = self.random
        return [
            Record(
                base + i,
                self.now + choose.randint(-3000, 500),
                self._key(),
                choose.randbytes(choose.randint(0, size)) if choose.random() < 0.9 else None,
                ((b"h", b"v"),) if choose.random() < 0.1 else (),
            )
            for i in range(count)
        ]

    def _key(self) -> bytes | None:
        choose = self.random
        if self.config == CLEANED:
            return b"%d" % choose.randrange(12)
        return choose.randbytes(choose.randint(0, 8)) if choose.random() < 0.9 else None

    def _append(self, data: bytes, origin: str = "client") -> str:
        if self.random.random() < 0.03:
            self.leader_epoch += self.random.randint(1, 2)
        return f"append {self.leader_epoch} {origin} {data.hex()}"

    def plain(self) -> Iterator[str]:
        codec = 0 if self.config == CLEANED else self.random.choice((0, 0, 0, 1, 2, 3, 4))
        data = batch(self._records(self.random.randint(1, 6)), codec)
        if self.random.random() < 0.1:
            data += batch(self._records(2), codec)
            self.end += 2
        self.end += 3
        yield self._append(data)

    def idempotent(self) -> Iterator[str]:
        choose = self.random
        producer = choose.choice(self.producers)
        kind = choose.choices(("next", "again", "gap", "stale", "new epoch"), (85, 6, 4, 2, 3))[0]
        if kind == "again" and producer.last:
            yield self._append(producer.last)
            return
        if kind == "new epoch":
            producer.epoch += 1
            producer.sequence = 0
        count = choose.randint(1, 4)
        sequence = producer.sequence + (2 if kind == "gap" else 0)
        data = batch(
            self._records(count),
            producer_id=producer.identity,
            producer_epoch=producer.epoch - (1 if kind == "stale" else 0),
            base_sequence=sequence % 2**31,
            attributes=TRANSACTIONAL if producer.is_transactional else 0,
        )
        if kind not in {"gap", "stale"}:
            producer.sequence = (sequence + count) % 2**31
            producer.last = data
            producer.is_open = producer.is_transactional
            self.end += count
        yield self._append(data)

    def marker(self) -> Iterator[str]:
        choose = self.random
        producer = choose.choice([p for p in self.producers if p.is_transactional])
        if not producer.is_open and choose.random() < 0.7:
            return
        commit = choose.random() < 0.5
        key = b"\0\0" + (b"\0\1" if commit else b"\0\0")
        data = batch(
            [Record(0, self.now, key, b"\0\0" + choose.choice((0, 0, 0, 1)).to_bytes(4))],
            producer_id=producer.identity,
            producer_epoch=producer.epoch,
            attributes=TRANSACTIONAL | CONTROL,
        )
        producer.is_open = False
        self.end += 1
        yield self._append(data, "coordinator")

    def damaged(self) -> Iterator[str]:
        choose = self.random
        good = bytearray(batch(self._records(3), choose.choice((0, 1))))
        kind = choose.randrange(6)
        if kind == 0:
            good[choose.randrange(21, len(good))] ^= 1 << choose.randrange(8)
        elif kind == 1:
            good = bytearray(batch(self._records(20, size=200)))
        elif kind == 2:
            good = bytearray(batch([Record(0, self.now + 100 * 86_400_000, b"k", b"future")]))
        elif kind == 3:
            good = bytearray(batch(self._records(3), count=2))
        elif kind == 4:
            good = bytearray(batch(self._records(2), base_offset=5, last_offset=6))
        else:
            good = bytearray(batch([Record(0, self.now - 100 * 86_400_000, b"k", b"past")]))
        yield self._append(bytes(good))

    def follower(self) -> Iterator[str]:
        base = self.end + 20 if self.random.random() < 0.8 else max(0, self.end - 30)
        count = self.random.randint(1, 3)
        records = self._records(count, base)
        data = batch(records, leader_epoch=self.leader_epoch)
        self.end = base + count
        yield f"follow {self.leader_epoch} {data.hex()}"

    def roll(self) -> Iterator[str]:
        yield "roll"

    def flush(self) -> Iterator[str]:
        # Percent of the log's end: past it Kafka claims to have flushed, the engine does not.
        part = self.random.randint(0, 100)
        yield self.random.choice(("flush all", "flush some", f"flushto {part}"))

    def _offset(self) -> int:
        return max(0, round(self.random.uniform(-0.05, 1.1) * self.end))

    def high_watermark(self) -> Iterator[str]:
        yield f"highwatermark {self.random.choice((self._offset(), self.end, 1_000_000_000))}"

    def truncate(self) -> Iterator[str]:
        offset = round(self.end * self.random.uniform(0.6, 1.05))
        self.end = min(self.end, offset)
        self._forget()
        yield f"truncate {offset}"

    def truncate_fully(self) -> Iterator[str]:
        self.end = self._offset() + 10
        self._forget()
        start = f" {self.end + 3}" if self.random.random() < 0.3 else ""
        yield f"truncatefully {self.end}{start}"

    def _forget(self) -> None:
        """Let producers begin a new epoch, as what they sent may be gone."""
        for producer in self.producers:
            producer.epoch += 1
            producer.sequence = 0
            producer.last = b""

    def delete_records(self) -> Iterator[str]:
        yield f"deleterecords {round(self.end * self.random.uniform(0, 0.8))}"

    def retain(self) -> Iterator[str]:
        yield "retain"

    def clock(self) -> Iterator[str]:
        self.now += self.random.choice((1, 100, 1500, 5000, 70_000))
        yield f"now {self.now}"
        if self.random.random() < 0.02:
            self.now += 90_000_000
            yield f"now {self.now}"
            yield "expire"

    def read(self) -> Iterator[str]:
        choose = self.random
        isolation = choose.choice(("log_end", "high_watermark", "txn_committed"))
        size = choose.choice((1, 100, 1000, 100_000))
        yield f"read {self._offset()} {size} {isolation} {choose.choice(('one', 'none'))}"

    def time(self) -> Iterator[str]:
        choose = self.random
        moment = choose.choice((-1, -2, -3, self.now - choose.randint(-1000, 60_000)))
        yield f"time {moment}"

    def epoch(self) -> Iterator[str]:
        yield f"epoch {self.random.randint(-1, self.leader_epoch + 1)}"

    def snapshot(self) -> Iterator[str]:
        yield "snapshot"

    def reopen(self) -> Iterator[str]:
        if self.random.random() < 0.5:
            yield "close"
            yield "open clean last last"
        else:
            yield "crash"
            yield "open crash last last"

    def clean(self) -> Iterator[str]:
        choose = self.random
        yield f"clean {choose.choice(('none', 'last'))} {choose.choice((4, 1000))} 0.8 500"
