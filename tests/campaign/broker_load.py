"""A broker under load, and what is known of its records: who wrote which, and what it acknowledged.

Topics are written in every way that changes a directory: segments roll several times a second, one
topic is compacted, one loses records by age, one by size, one is deleted and made again, and one is
written in transactions that commit or abort.
"""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from random import Random
from typing import Any, Final, NamedTuple

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import KafkaError, KafkaTimeoutError

from tests.kafka_broker import Broker

BROKER: Final = {
    "auto.create.topics.enable": "false",
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.retention.check.interval.ms": "300",
    "log.segment.delete.delay.ms": "300",
    "log.initial.task.delay.ms": "100",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
}
_ROLLS: Final = {"segment.ms": "300"}
TOPICS: Final = {
    "kept": {"retention.ms": "-1"},
    "keys": {"cleanup.policy": "compact", "max.compaction.lag.ms": "500"},
    "aged": {"retention.ms": "1500"},
    "sized": {"retention.bytes": "60000"},
    "again": {"retention.ms": "-1"},
    "debits": {"retention.ms": "-1"},
}
"""Topic → what it has beside `_ROLLS`; "again" is deleted and made again."""

PARTITIONS: Final = {"kept": 2, "again": 2}
KEYS: Final = 40
REMADE_EVERY_S: Final = 4.0
PATIENCE_S: Final = 180.0
REMADE_S: Final = 2.0  # without a record, after which a topic that was there is another

Place = tuple[str, int]
"""Topic and partition."""


class Read(NamedTuple):
    """A record that somebody was given."""

    topic: str
    partition: int
    offset: int
    key: str | None
    value: str | None

    @property
    def place(self) -> Place:
        """Its topic and partition."""
        return self.topic, self.partition


class Sent(NamedTuple):
    """A record that a producer has sent."""

    topic: str
    partition: int
    key: str
    committed: bool | None = None


class Load:
    """Writes to a broker until it is stopped; what it knows may be asked by any thread.

    Args:
        broker: a running one.
        seed: of what is written, and where.

    Attributes:
        made: how often the topic that is deleted was made.
    """

    def __init__(self, broker: Broker, seed: int) -> None:
        self._broker = broker
        self._rng = Random(seed)
        self._lock = threading.Lock()
        self._count = 0
        self._sent: dict[str, Sent] = {}  # by value, of which no two are the same
        self._offsets: dict[str, int] = {}
        self._aborted: set[str] = set()
        self.made = 0
        self._end = threading.Event()

    # what is known

    def acknowledged(self) -> dict[Place, dict[int, tuple[str, str]]]:
        """Return place → offset → key and value, of what the broker has acknowledged so far.

        Records of transactions are left out until these have committed.
        """
        found: dict[Place, dict[int, tuple[str, str]]] = {}
        with self._lock:
            for value, offset in self._offsets.items():
                sent = self._sent[value]
                if sent.committed is not False:
                    place = found.setdefault((sent.topic, sent.partition), {})
                    place[offset] = (sent.key, value)
        return found

    def wrong(self, records: Iterable[Read]) -> str | None:
        """Return what is wrong with records that were read: nobody sent one, or to elsewhere."""
        with self._lock:
            for record in records:
                sent = self._sent.get(record.value or "")
                if sent is None or (sent.topic, sent.partition, sent.key) != (
                    *record.place,
                    record.key,
                ):
                    return f"{record} was never sent: {sent}"
                offset = self._offsets.get(record.value or "", record.offset)
                if offset != record.offset:
                    return f"{record} is at offset {offset}"
        return None

    def is_aborted(self, value: str | None) -> bool:
        """Whether a record's transaction was aborted."""
        return value in self._aborted

    def newest(self, topic: str, known: dict[Place, dict[int, tuple[str, str]]]) -> dict[str, int]:
        """Return key → its newest acknowledged offset, of a topic with one partition."""
        there = sorted(known.get((topic, 0), {}).items())
        return {key: offset for offset, (key, _) in there}

    # writing

    @contextmanager
    def running(self) -> Iterator[None]:
        """Write in threads until the block ends; then everything is acknowledged or failed."""
        admin = KafkaAdminClient(bootstrap_servers=self._broker.bootstrap)
        admin.create_topics([self._new(name) for name in TOPICS])
        self.made = 1
        work = (self._produce, self._produce_again, self._transact, self._make_again)
        problems: list[Exception] = []

        def guarded(function: Any) -> None:
            try:
                function()
            except Exception as error:  # noqa: BLE001 - the block's thread raises it
                problems.append(error)

        threads = [threading.Thread(target=guarded, args=(each,), daemon=True) for each in work]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._end.set()
            for thread in threads:
                thread.join(PATIENCE_S)
            admin.close()
        if problems:
            raise problems[0]

    def _new(self, name: str) -> NewTopic:
        configs = {**_ROLLS, **TOPICS[name]}
        return NewTopic(name, PARTITIONS.get(name, 1), 1, topic_configs=configs)

    def _send(self, producer: KafkaProducer, topic: str, *, committed: bool | None = None) -> Any:
        with self._lock:
            self._count += 1
            value = f"{topic} {self._count} {'x' * self._rng.randrange(300)}"
            key = f"{self._rng.randrange(KEYS)}"
            partition = self._rng.randrange(PARTITIONS.get(topic, 1))
            self._sent[value] = Sent(topic, partition, key, committed)
        future = producer.send(topic, value.encode(), key.encode(), partition=partition)
        future.add_callback(lambda told: self._acknowledge(value, told.offset))
        return future

    def _acknowledge(self, value: str, offset: int) -> None:
        with self._lock:
            self._offsets[value] = offset

    def _produce(self) -> None:
        producer = KafkaProducer(bootstrap_servers=self._broker.bootstrap, linger_ms=5)
        plain = [name for name in TOPICS if name not in {"debits", "again"}]
        while not self._end.is_set():
            some = self._rng.choices(plain, k=self._rng.randrange(1, 60))
            for future in [self._send(producer, name) for name in some]:
                future.get(PATIENCE_S)
        producer.close()

    def _produce_again(self) -> None:
        """Write to the topic that is deleted, with another producer for each of its lives."""
        while not self._end.is_set():
            producer = KafkaProducer(
                bootstrap_servers=self._broker.bootstrap, linger_ms=5, max_block_ms=1000,
                request_timeout_ms=1000, delivery_timeout_ms=2000,
            )  # fmt: skip
            with suppress(KafkaError):  # the topic was deleted just now
                while not self._end.is_set():
                    for future in [self._send(producer, "again") for _ in range(10)]:
                        future.get(PATIENCE_S)
            producer.close()

    def _transact(self) -> None:
        producer = KafkaProducer(
            bootstrap_servers=self._broker.bootstrap, transactional_id="mover", linger_ms=5
        )
        producer.init_transactions()
        chance = Random(self._rng.random())
        while not self._end.is_set():
            producer.begin_transaction()
            before = self._count
            futures = [self._send(producer, "debits", committed=False) for _ in range(5)]
            for future in futures:
                future.get(PATIENCE_S)
            with self._lock:
                mine = [
                    value
                    for value, sent in self._sent.items()
                    if sent.topic == "debits" and int(value.split()[1]) > before
                ]
                is_aborted = chance.random() < 0.3
                if is_aborted:
                    self._aborted.update(mine)
            if is_aborted:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
                with self._lock:
                    for value in mine:
                        self._sent[value] = self._sent[value]._replace(committed=True)
            time.sleep(0.02)
        producer.close()

    def _make_again(self) -> None:
        admin = KafkaAdminClient(bootstrap_servers=self._broker.bootstrap)
        while not self._end.wait(REMADE_EVERY_S):
            admin.delete_topics(["again"])
            with self._lock:  # nothing of it must be there any more
                gone = [value for value in self._offsets if value.startswith("again ")]
                for value in gone:
                    del self._offsets[value]
            deadline = time.monotonic() + PATIENCE_S
            while True:
                try:
                    admin.create_topics([self._new("again")])
                    break
                except KafkaError:  # its name is not free yet
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
            self.made += 1
        admin.close()


def read_with_client(bootstrap: str, isolation: str = "read_uncommitted") -> list[Read]:
    """Return every record of the topics that a client of a broker or server is given.

    A partition is read up to the end that it had; "again" only as far as there is something, as it
    may be another topic by then.
    """
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level=isolation, fetch_max_wait_ms=20,
        auto_offset_reset="earliest",
    )  # fmt: skip
    try:
        places = [
            TopicPartition(topic, number)
            for topic in TOPICS
            for number in sorted(consumer.partitions_for_topic(topic) or ())
        ]
        consumer.assign(places)
        consumer.seek_to_beginning(*places)
        ends = consumer.end_offsets(places)
        found: list[Read] = []
        moved, at = time.monotonic(), [0] * len(places)
        while True:
            for records in consumer.poll(timeout_ms=200).values():
                found += [
                    Read(
                        each.topic, each.partition, each.offset, _text(each.key), _text(each.value)
                    )
                    for each in records
                ]
            before, at = at, [_position(consumer, place) for place in places]
            left = {place: (n, ends[place]) for place, n in zip(places, at, strict=True)}
            left = {place: (n, end) for place, (n, end) in left.items() if n < end}
            if at != before:
                moved = time.monotonic()
            waited = time.monotonic() - moved
            if not left or (waited > REMADE_S and {place.topic for place in left} == {"again"}):
                return found
            assert waited < PATIENCE_S, f"a client reads no further: {left}"
    finally:
        consumer.close()


def _position(consumer: KafkaConsumer, place: TopicPartition) -> int:
    """Return where a client is; -1 where it waits for a topic that was deleted."""
    try:
        at = consumer.position(place, timeout_ms=500)
    except KafkaTimeoutError:
        return -1
    return -1 if at is None else at


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()
