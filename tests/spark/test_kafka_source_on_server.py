"""Spark's own Kafka source and sink on the server: rows are those that our source reads."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.spark import connector

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(
        not connector.is_to_be_had(), reason="Spark's Kafka source is not there for this Spark"
    ),
]

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
COLUMNS = ("topic", "partition", "offset", "timestamp", "timestampType", "key", "value")


def test_sparks_kafka_source_gives_the_rows_of_ours(spark: Any) -> None:
    options = {
        "subscribe": "payments",
        "startingOffsets": "earliest",
        "endingOffsets": "latest",
        "kafka.isolation.level": "read_committed",
    }
    with wb.serve(SHOP) as server:
        where = {"kafka.bootstrap.servers": server.bootstrap_servers}
        served = spark.read.format("kafka").options(**options, **where).load()
        theirs = served.select(*COLUMNS).orderBy("partition", "offset").collect()
    local = spark.read.format("kafka-log").options(**options).load(str(SHOP.absolute()))
    ours = local.select(*COLUMNS).orderBy("partition", "offset").collect()
    assert len(ours) > 4000
    assert theirs == ours


def test_sparks_kafka_sink_writes_what_a_batch_and_a_stream_read(
    spark: Any, tmp_path: Path
) -> None:
    """The stream is stopped after its first records, and goes on from its checkpoint."""
    data = tmp_path / "data"
    shutil.copytree(SHOP, data)
    orders = wb.open_log_directory(data).scan(topics="orders").to_arrow().to_pylist()
    expected = Counter((row["key"], row["value"], headers(row["headers"])) for row in orders)
    with wb.serve(data, writable=True) as server:
        where = {"kafka.bootstrap.servers": server.bootstrap_servers, "includeHeaders": "true"}
        from_orders = {**where, "subscribe": "orders", "startingOffsets": "earliest"}
        batch = spark.read.format("kafka").options(**from_orders).load()
        written = batch.select("key", "value", "headers").write.format("kafka")
        written.options(**where, topic="of-a-batch").save()
        for most in (1000, 1_000_000):
            stream = (
                spark.readStream.format("kafka")
                .options(**from_orders, maxOffsetsPerTrigger=str(most))
                .load()
                .select("key", "value", "headers")
                .writeStream.format("kafka")
                .options(**where, topic="of-a-stream", checkpointLocation=str(tmp_path / "checks"))
            )
            once = most == 1000  # one micro-batch of 1,000 records, and then all that is left
            running = (
                stream.trigger(once=True) if once else stream.trigger(availableNow=True)
            ).start()
            running.awaitTermination(120)
            assert running.exception() is None
    for topic in ("of-a-batch", "of-a-stream"):
        found = wb.open_log_directory(data).scan(topics=topic).to_arrow().to_pylist()
        assert Counter((r["key"], r["value"], headers(r["headers"])) for r in found) == expected
    assert wb.verify(data) == []


def headers(found: Any) -> tuple[tuple[str, bytes | None], ...]:
    return tuple((each["key"], each["value"]) for each in found or ())
