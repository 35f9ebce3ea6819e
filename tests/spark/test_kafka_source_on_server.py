"""Spark's own Kafka source reads from the server what our source reads from the directory."""

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
