"""What the engine writes for a broker, and what a consumer must read of it afterwards."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from workbench.files.names import TopicPartition
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.log import Log
from workbench.log_manager.manager import LogManager
from workbench.record.writing.builder import RecordsBuilder, end_transaction_marker
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler

HOUR_MS: Final = 3_600_000
START: Final = time.time_ns() // 1_000_000 - HOUR_MS  # a broker forgets producers after a day
SMALL: Final = {"segment.bytes": "3000", "index.interval.bytes": "300", "retention.ms": "-1"}
Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True)
class Sent:
    """One record as a consumer gives it."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


@dataclass
class Expected:
    """What there is to read of a topic.

    Attributes:
        records: all, also those of transactions that were aborted or are open.
        hidden: offsets that read_committed consumers do not get.
        begin, end, stable: log start, log end and last stable offset.
    """

    records: list[Sent] = field(default_factory=list)
    hidden: set[int] = field(default_factory=set)
    begin: int = 0
    end: int = 0
    stable: int | None = None

    def of(self, isolation: str) -> list[Sent]:
        """Return the records that consumers of an isolation level get."""
        there = [one for one in self.records if self.begin <= one.offset < self.end]
        if isolation == "read_uncommitted":
            return there
        limit = self.end if self.stable is None else self.stable
        return [one for one in there if one.offset < limit and one.offset not in self.hidden]


@dataclass(frozen=True)
class Topic:
    """A topic, its configuration here, and what is written to it."""

    name: str
    write: Callable[["Writer"], None]
    config: dict[str, str] = field(default_factory=dict)


class Writer:
    """Appends to one log and keeps what was sent."""

    def __init__(
        self, manager: LogManager, topic: str, clock: ManualClock, *, has_epochs: bool
    ) -> None:
        self.manager = manager
        self.partition = TopicPartition(topic, 0)
        self.clock = clock
        self.has_epochs = has_epochs
        self.random = Random(topic)
        self.expected = Expected()
        self.sequences: dict[int, int] = {}  # producer id to its next sequence

    @property
    def log(self) -> Log:
        """The log, as the manager has it."""
        return self.manager.logs[self.partition]

    def send(self, count: int, codec: str = "none", epoch: int = 0, **options: Any) -> range:
        """Append one batch of ``count`` records; return its offsets."""
        choose = self.random
        builder = RecordsBuilder(codec=codec, **options)
        sent = []
        for _ in range(count):
            key = choose.choice((None, b"", b"key-%d" % choose.randrange(50)))
            value = choose.choice((None, b"", choose.randbytes(choose.randint(1, 120)), b"a" * 200))
            headers: Headers = choose.choice(((), (("h", b"1"),), (("ü", None), ("h", b""))))
            timestamp = self.clock.now() + choose.randint(-500, 0)
            stored = tuple((name.encode(), content) for name, content in headers)
            builder.append(timestamp, key, value, stored)
            sent.append((timestamp, key, value, headers))
        info = self.log.append_as_leader(builder.build(), epoch if self.has_epochs else 0)
        for offset, one in enumerate(sent, info.first_offset):
            timestamp = info.log_append_time if info.log_append_time >= 0 else one[0]
            self.expected.records.append(Sent(offset, timestamp, *one[1:]))
        self.clock.advance(choose.randint(1, 1000))
        return range(info.first_offset, info.last_offset + 1)

    def transaction(self, producer: int, batches: int, how: str) -> None:
        """Append batches of one transaction, and its marker unless it is left "open"."""
        first = None
        sequence = self.sequences.get(producer, 0)
        for _ in range(batches):
            count = self.random.randint(1, 4)
            offsets = self.send(
                count, producer_id=producer, producer_epoch=0, base_sequence=sequence,
                is_transactional=True,
            )  # fmt: skip
            sequence += count
            first = offsets[0] if first is None else first
            if how == "abort":
                self.expected.hidden |= set(offsets)
        self.sequences[producer] = sequence
        if how == "open":
            assert first is not None
            self.expected.stable = min(first, self.expected.stable or first)
            return
        marker = end_transaction_marker(
            0, self.clock.now(), producer, 0, commit=how == "commit", coordinator_epoch=0
        )
        self.log.append_as_leader(marker, 0, AppendOrigin.COORDINATOR)

    def all_are_visible(self) -> None:
        """Let the high watermark come to the log's end, as with a single replica."""
        self.log.update_high_watermark(self.log.log_end_offset)

    def finish(self) -> None:
        """Note where the log begins and ends."""
        self.all_are_visible()
        self.expected.begin, self.expected.end = self.log.log_start_offset, self.log.log_end_offset


def _plain(writer: Writer) -> None:
    for _ in range(30):
        writer.send(writer.random.randint(1, 8))


def _codecs(codec: str) -> Callable[[Writer], None]:
    def write(writer: Writer) -> None:
        for _ in range(20):
            writer.send(writer.random.randint(1, 20), codec)

    return write


def _transactions(writer: Writer) -> None:
    for number in range(12):
        writer.transaction(1000 + number % 3, 2, ("commit", "abort", "commit", "abort")[number % 4])
        if number % 3 == 0:
            writer.send(2)


def _hanging(writer: Writer) -> None:
    _transactions(writer)
    writer.transaction(1005, 2, "open")
    writer.send(5)


def _idempotent(writer: Writer) -> None:
    for number in range(15):
        count = 1 + number % 3
        sequence = writer.sequences.get(2000, 0)
        writer.send(count, producer_id=2000, producer_epoch=0, base_sequence=sequence)
        writer.sequences[2000] = sequence + count


def _epochs(writer: Writer) -> None:
    for number in range(30):
        writer.send(3, epoch=number // 12)


def _truncated(writer: Writer) -> None:
    _plain(writer)
    end = writer.log.log_end_offset * 2 // 3
    writer.log.truncate_to(end)
    writer.expected.records = [
        one for one in writer.expected.records if one.offset < writer.log.log_end_offset
    ]
    writer.send(4, "lz4")


def _retained(writer: Writer) -> None:
    _plain(writer)
    writer.all_are_visible()
    assert any(verdict.is_deleted for verdict in writer.log.delete_old_segments())
    writer.send(2)


def _records_deleted(writer: Writer) -> None:
    _plain(writer)
    writer.all_are_visible()
    writer.log.delete_records(writer.log.log_end_offset // 2 + 1)
    writer.log.delete_old_segments()
    writer.send(2)


def _rolled(writer: Writer) -> None:
    for _ in range(5):
        writer.send(2)
        writer.log.roll()


def _empty(_writer: Writer) -> None:
    pass


TOPICS: Final = (
    Topic("plain", _plain),
    *(Topic(f"codec-{codec}", _codecs(codec)) for codec in ("gzip", "snappy", "lz4", "zstd")),
    Topic("recompressed", _codecs("lz4"), {"compression.type": "gzip"}),
    Topic("append-time", _plain, {"message.timestamp.type": "LogAppendTime"}),
    Topic("transactions", _transactions),
    Topic("hanging", _hanging),
    Topic("idempotent", _idempotent),
    Topic("epochs", _epochs),
    Topic("truncated", _truncated),
    Topic("retained", _retained, {"retention.bytes": "4000"}),
    Topic("records-deleted", _records_deleted),
    Topic("rolled", _rolled),
    Topic("preallocated", _plain, {"preallocate": "true"}),
    Topic("empty", _empty),
)


def open_manager(data: Path, clock: ManualClock, **config: str) -> LogManager:
    """Return a log manager on a broker's directory, with small segments.

    Args:
        data: the directory.
        clock: its time.
        config: more of every topic, with _ for each dot.
    """
    every = {name.replace("_", "."): value for name, value in config.items()}
    return LogManager(
        [data],
        {"log.index.size.max.bytes": "4096"},
        clock=clock,
        scheduler=ManualScheduler(clock),
        rng=Random(1),
        topic_configs={topic.name: SMALL | topic.config | every for topic in TOPICS},
    )


def write_all(manager: LogManager, clock: ManualClock, *, has_epochs: bool) -> dict[str, Writer]:
    """Write every topic; return what is to be read of them."""
    writers = {}
    for topic in TOPICS:
        writer = writers[topic.name] = Writer(manager, topic.name, clock, has_epochs=has_epochs)
        topic.write(writer)
        writer.finish()
    return writers
