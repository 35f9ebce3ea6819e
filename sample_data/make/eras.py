"""One small log directory for each era of the formats, by a broker and clients of that era."""

import json
import random
from pathlib import Path

from cleaning import first_dirty_offsets, wait_for_cleaning
from client import Client, Record
from people import DAY_MS, MONDAY, PRODUCTS, make_customers

from tests.kafka_broker import KRAFT_SINCE, Broker, parse_version, run_java

VERSIONS = ("0.8.2.2", "0.9.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.8.2", "3.9.1")
BROKER_SETTINGS = {
    "auto.create.topics.enable": "false",
    "log.retention.hours": "87600",  # the records are of 2024
    "log.roll.hours": "87600",
    "log.index.size.max.bytes": "65536",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.dedupe.buffer.size": "8388608",
    "log.cleaner.threads": "1",
    "num.io.threads": "2",
    "num.network.threads": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.segment.bytes": "16384",
}
SMALL = {"segment.bytes": "8192", "index.interval.bytes": "512"}
COMPACT = SMALL | {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
# The version each codec came with.
CODECS = {"none": (0,), "gzip": (0,), "snappy": (0,), "lz4": (0, 8, 2), "zstd": (2, 1)}
TRANSACTIONS_SINCE = (0, 11)
TIMESTAMPS_SINCE = (0, 10)
NEW_CONSUMER_SINCE = (0, 9)


class Era:
    """A few days of the shop as a broker of one version would have written them.

    Args:
        version: the version of the broker and the clients.
        working: a folder for the broker.
        seed: the seed of the contents.
    """

    def __init__(self, version: str, working: Path, seed: int) -> None:
        self._version = version
        self._number = parse_version(version)
        self._rng = random.Random(f"{version} {seed}")  # noqa: S311
        self._now = MONDAY
        self._customers = make_customers(self._rng, 40)
        self.broker = Broker(version, working, self._settings(is_cleaning=True))

    def make(self) -> Path:
        """Write, clean, write on with the cleaner off; return the log directory."""
        with self.broker, Client(self.broker) as client:
            self._create(client, "orders", 2, SMALL)
            self._create(client, "customers", 1, COMPACT)
            self._open_producers(client)
            self._write_orders(client, 36)
            self._write_customers(client, 60)
            if self._number >= TIMESTAMPS_SINCE:
                settings = SMALL | {"message.timestamp.type": "LogAppendTime"}
                self._create(client, "clicks", 1, settings)
                self._write_clicks(client, 24)
            if self._number >= TRANSACTIONS_SINCE:
                self._create(client, "payments", 1, SMALL)
                self._write_payments(client, 24)
            if self._number >= NEW_CONSUMER_SINCE:
                settings = {"group.id": "order-dashboard", "auto.offset.reset": "earliest"}
                client.call("subscribe", "dashboard", "orders", settings=settings)
                client.call("consume", "dashboard", 50, "first reading")
                client.call("leave", "dashboard")
            wait_for_cleaning(self.broker, "customers", 1, {})
            cleaned = first_dirty_offsets(self.broker, "customers")
        self.broker.settings = self._settings(is_cleaning=False)
        with self.broker, Client(self.broker) as client:
            self._open_producers(client)
            self._write_customers(client, 25)  # the dirty part
            self._write_orders(client, 6)
        print(f"{self._version}: customers cleaned to {cleaned[0]}", flush=True)
        return self.broker.data

    def _settings(self, *, is_cleaning: bool) -> dict[str, str]:
        settings = BROKER_SETTINGS | {"log.cleaner.enable": str(is_cleaning).lower()}
        if self._number >= TRANSACTIONS_SINCE:
            settings["transaction.state.log.num.partitions"] = "1"
        if self._number >= KRAFT_SINCE:
            settings["metadata.max.idle.interval.ms"] = "0"
        return settings

    def _create(
        self, client: Client, topic: str, partitions: int, settings: dict[str, str]
    ) -> None:
        if self._number >= TRANSACTIONS_SINCE:  # the same version brought the admin client
            client.call("topic", topic, partitions, settings=settings)
            return
        where = ("--zookeeper", self.broker.zookeeper, "--topic", topic)
        size = ("--partitions", str(partitions), "--replication-factor", "1")
        configs = [text for k, v in settings.items() for text in ("--config", f"{k}={v}")]
        arguments = ("--create", *where, *size, *configs)
        done = run_java(self._version, "kafka.admin.TopicCommand", *arguments)
        if f'Created topic "{topic}"' not in done.stdout:
            raise RuntimeError(
                f"{self._version} did not create {topic}:\n{done.stdout}{done.stderr}"
            )

    def _open_producers(self, client: Client) -> None:
        # The client of 0.8.2 cannot flush: there a batch ends when its time is over.
        linger = "60000" if self._number >= NEW_CONSUMER_SINCE else "50"
        settings = {"linger.ms": linger, "batch.size": "100000", "acks": "all"}
        for codec, since in CODECS.items():
            if self._number >= since:
                client.call("producer", codec, settings=settings | {"compression.type": codec})
        if self._number >= TRANSACTIONS_SINCE:
            transactional = {"transactional.id": "payments", "compression.type": "none"}
            client.call("producer", "payments", settings=settings | transactional)
            client.call("init", "payments")

    def _tick(self) -> int:
        self._now += self._rng.randrange(DAY_MS // 400)
        return self._now

    def _codec(self) -> str:
        return self._rng.choice([name for name, since in CODECS.items() if self._number >= since])

    def _write_orders(self, client: Client, batches: int) -> None:
        rng = self._rng
        for _ in range(batches):
            codec = self._codec()
            partition = rng.randrange(2)
            for _ in range(rng.randrange(1, 8)):
                sku, name, cents = rng.choice(PRODUCTS)
                order_id = f"O-{rng.randrange(10_000, 99_999)}"
                value = {"order_id": order_id, "sku": sku, "name": name, "cents": cents}
                headers = (("channel", rng.choice((b"web", b"app", b"till"))),)
                record = Record(order_id.encode(), as_json(value), self._tick(), headers)
                client.send(codec, "orders", partition, record)
            client.call("flush", codec)

    def _write_customers(self, client: Client, batches: int) -> None:
        rng = self._rng
        for _ in range(batches):
            codec = self._codec()
            for customer in rng.sample(self._customers, rng.randrange(2, 9)):
                key = customer.customer_id.encode()
                customer.points += rng.randrange(100)
                profile = {"name": customer.name, "city": customer.city, "points": customer.points}
                is_gone = rng.random() < 0.06
                record = Record(key, None if is_gone else as_json(profile), self._tick())
                client.send(codec, "customers", 0, record)
            client.call("flush", codec)

    def _write_clicks(self, client: Client, batches: int) -> None:
        for _ in range(batches):
            codec = self._codec()
            for _ in range(self._rng.randrange(5, 30)):
                page = f"/tea/{self._rng.choice(PRODUCTS)[0]}".encode()
                client.send(codec, "clicks", 0, Record(None, page))
            client.call("flush", codec)

    def _write_payments(self, client: Client, transactions: int) -> None:
        for number in range(transactions):
            client.call("begin", "payments")
            for _ in range(self._rng.randrange(1, 7)):
                value = as_json({"payment": number, "cents": self._rng.randrange(500, 9000)})
                client.send("payments", "payments", 0, Record(b"%d" % number, value, self._tick()))
            client.call("abort" if number % 4 == 1 else "commit", "payments")


def as_json(value: dict[str, object]) -> bytes:
    """Return compact JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def make_era(version: str, working: Path, seed: int) -> Path:
    """Make one era's directory below ``working`` and return it, cleanly stopped."""
    return Era(version, working, seed).make()
