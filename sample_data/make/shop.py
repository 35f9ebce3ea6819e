"""The cluster of a small tea shop in the week of Black Friday 2024, on the newest Kafka.

Three runs of one broker, so that leader epochs rise: Monday and Tuesday, Wednesday and Thursday,
Friday. What each topic shows is in ``sample_data/README.md``.
"""

from pathlib import Path

from cleaning import first_dirty_offsets, wait_for_cleaning
from client import Client
from week import Week

from tests.kafka_broker import Broker

VERSION = "4.3.1"
BROKER_SETTINGS = {
    "auto.create.topics.enable": "false",
    "log.retention.ms": "-1",  # the records are of 2024
    # Markers carry the broker's time, years after the records': do not roll a segment for that.
    "log.roll.ms": "315360000000",
    "log.index.interval.bytes": "1024",
    "log.index.size.max.bytes": "65536",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.dedupe.buffer.size": "8388608",
    "log.cleaner.threads": "1",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "2",
    "share.coordinator.state.topic.num.partitions": "2",
    "metadata.max.idle.interval.ms": "0",  # no empty record every half second in the metadata log
    "num.io.threads": "2",
    "num.network.threads": "1",
}
TOPICS: tuple[tuple[str, int, dict[str, str]], ...] = (
    ("orders", 3, {"internal.segment.bytes": "131072"}),
    (
        "customers",
        2,
        {
            "cleanup.policy": "compact",
            "internal.segment.bytes": "32768",
            "min.cleanable.dirty.ratio": "0.1",
            "index.interval.bytes": "512",
        },
    ),
    ("payments", 2, {"internal.segment.bytes": "65536", "index.interval.bytes": "512"}),
    (
        "clicks",
        2,
        {
            "internal.segment.bytes": "524288",
            "index.interval.bytes": "4096",
            "message.timestamp.type": "LogAppendTime",
        },
    ),
    ("returns", 1, {}),  # nothing has come back yet
)
ONE_BATCH_A_FLUSH = {"linger.ms": "60000", "batch.size": "1000000"}
PRODUCERS: dict[str, dict[str, str]] = {
    "web-shop": {"compression.type": "lz4", "linger.ms": "60000", "batch.size": "8192"},
    "mobile-app": {"compression.type": "lz4", "linger.ms": "60000", "batch.size": "2048"},
    "till-berlin": {"enable.idempotence": "false"},
    "crm": ONE_BATCH_A_FLUSH,
    "tracker": {
        "compression.type": "zstd",
        "acks": "1",
        "enable.idempotence": "false",
        **ONE_BATCH_A_FLUSH,
    },
    "payments-eu": {"transactional.id": "payments-eu", **ONE_BATCH_A_FLUSH},
    "payments-us": {"transactional.id": "payments-us", **ONE_BATCH_A_FLUSH},
}
CONSUMERS: dict[str, tuple[str, dict[str, str]]] = {
    "dashboard": ("orders", {"group.id": "order-dashboard", "client.id": "dashboard-1"}),
    "labels": (
        "orders",
        {"group.id": "shipping-labels", "client.id": "printer-2", "group.instance.id": "printer-2"},
    ),
    "suggestions": ("clicks", {"group.id": "suggestions", "group.protocol": "consumer"}),
}
RUNS = ((0, 2), (2, 4), (4, 5))  # days from, to


def make_shop(working: Path, seed: int) -> Path:
    """Run the shop's week below ``working`` and return its log directory, cleanly stopped."""
    broker = Broker(VERSION, working, BROKER_SETTINGS)
    week = Week(seed)
    cleaned: dict[int, int] = {}
    for day_from, day_to in RUNS:
        is_first, is_last = day_from == 0, (day_from, day_to) == RUNS[-1]
        with broker, Client(broker) as client:
            if is_first:
                for name, partitions, settings in TOPICS:
                    client.call("topic", name, partitions, settings=settings)
            if is_last:  # Friday's changes remain dirty
                client.call("config", "customers", settings={"min.cleanable.dirty.ratio": "1.0"})
            for name, settings in PRODUCERS.items():
                common = {"client.id": name, "transaction.timeout.ms": "900000"}
                client.call("producer", name, settings=common | settings)
                if "transactional.id" in settings:
                    client.call("init", name)
            if is_first:
                week.register_everyone(client)
            week.play(client, day_from, day_to)
            _consume(client, f"day {day_to}")
            if is_last:
                week.leave_a_transaction_open(client)
            else:
                wait_for_cleaning(broker, "customers", 2, cleaned)
                cleaned = first_dirty_offsets(broker, "customers")
        print(f"days {day_from} to {day_to} of {VERSION}: cleaned to {cleaned}", flush=True)
    return broker.data


def _consume(client: Client, metadata: str) -> None:
    """Let every consumer group read on and commit."""
    for name, (topic, settings) in CONSUMERS.items():
        common = {"auto.offset.reset": "earliest", "enable.auto.commit": "false"}
        client.call("subscribe", name, topic, settings=common | settings)
        client.call("consume", name, 300, metadata)
        client.call("leave", name)
