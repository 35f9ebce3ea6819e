"""A format per topic: one grammar at every door."""

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import workbench as wb
from tests.cli.program import run
from workbench.loaders.scan.scan import Scan
from workbench.pipelines import to_table
from workbench.spark_source.options import parse_options
from workbench.values.by_topic import formats_of, of_topics

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("json", "json"),
        ("avro:orders.avsc", "avro:orders.avsc"),
        ("avro:a=b.avsc", "avro:a=b.avsc"),
        ("*=json", "json"),
        ("orders=json", {"orders": "json"}),
        ("orders=json,a.b-c_d=avro:x,y.avsc", {"orders": "json", "a.b-c_d": "avro:x,y.avsc"}),
        ("json,clicks=utf8", {"*": "json", "clicks": "utf8"}),
    ],
)
def test_a_text_names_a_format_or_one_per_topic(text: str, means: Any) -> None:
    assert formats_of(text) == means
    assert parse_options({"path": "x", "decode": text}).decode == {"value": means}


def test_topics_with_one_format_have_that_format() -> None:
    decode = {"key": "utf8", "value": {"orders": "json", "returns": "json", "clicks": "utf8"}}
    assert of_topics(decode, {"orders", "returns"}) == {"key": "utf8", "value": "json"}
    assert of_topics(decode, {"payments"}) == {"key": "utf8"}
    assert of_topics(decode, {"orders", "payments"}) == decode


def test_every_door_reads_the_same_values(tmp_path: Path) -> None:
    """Python's scan, export, SQL, a table, and what Spark's option makes of the text."""
    text = "orders=json,clicks=utf8"
    words = [f"--value-format={each}" for each in text.split(",")]
    logs = wb.open_log_directory(SHOP)
    chosen: Any = {"topics": ["orders", "clicks"], "offsets": (0, 3), "columns": ["topic", "value"]}
    expected = logs.scan(decode={"value": formats_of(text)}, **chosen).to_arrow()
    assert logs.scan(decode=text, **chosen).to_arrow() == expected
    of_spark = parse_options({"path": str(SHOP), "decode": text}).decode
    assert Scan(logs.listing, decode=of_spark, **chosen).to_arrow() == expected

    file = tmp_path / "some.parquet"
    options = ("-t", "orders", "-t", "clicks", "--offsets", "0:3", "--columns", "topic,value")
    assert run("export", SHOP, file, *options, *words).code == 0
    assert pq.read_table(file)["value"].to_pylist() == expected["value"].to_pylist()

    query = 'select value.order_id from orders order by partition, "offset" limit 1'
    found = run("sql", SHOP, query, *words, "--json")
    assert found.json == [{"order_id": "O-48212"}]


def test_a_table_of_each_topic_has_its_format(tmp_path: Path) -> None:
    done = run(
        "to-table", SHOP, "--to", f"{tmp_path}/{{topic}}", "-t", "orders", "-t", "payments",
        "--value-format", "orders=json", "--dry-run",
    )  # fmt: skip
    orders, payments, *_ = done.err.splitlines()
    assert "order_id string" in orders
    assert "value binary" in payments
    assert "_rescued" not in payments


def test_a_table_of_topics_with_several_formats_has_text(tmp_path: Path) -> None:
    rows = to_table(
        SHOP, tmp_path / "all", topics=["payments", "orders"], partitions=1,
        decode="orders=json,payments=utf8",
    )  # fmt: skip
    assert {row["topic"]: row["undecoded"] for row in rows.to_pylist()} == {
        "orders": 0,
        "payments": 0,
    }
    table = ds.dataset(tmp_path / "all", partitioning="hive", exclude_invalid_files=True).to_table()
    texts = table.filter(pc.field("topic") == "orders")["value"].to_pylist()
    stored = wb.open_log_directory(SHOP).scan("orders", partitions=1).to_arrow()
    assert len(texts) == len(stored)
    assert texts[0].startswith('{"order_id": "O-')


@pytest.mark.parametrize(
    "words",
    [
        ("to-table", SHOP, "--to", "x", "-t", "orders"),
        ("replay", SHOP, "--to", "localhost:1", "-t", "orders"),
        ("dump", SHOP, "-t", "orders"),
        ("offset", "orders-0", "0", SHOP),
    ],
    ids=lambda words: str(words[0]),
)
def test_a_topic_that_is_not_there_is_refused_before_anything_is_done(
    words: tuple[Any, ...], tmp_path: Path
) -> None:
    given = [tmp_path / "x" if word == "x" else word for word in words]
    done = run(*given, "--value-format", "ordres=json")
    assert done.code == 3
    assert "unknown topic ordres; did you mean orders?" in done.err
    assert not (tmp_path / "x").exists()
