"""Each topic has a format of its own: in Python, SQL and on the command line."""

import csv
import io
import json
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.program import run
from workbench.errors import SchemaError

SAMPLES = Path(__file__).parents[2] / "sample_data"
REGISTRY = SAMPLES / "registry-4.3.1"
# What sample_data/README.md says was written with Confluent's serializers.
FIRST = {"id": 1, "text": "tea"}


@pytest.fixture
def logs(tmp_path: Path) -> wb.LogDirectory:
    """The samples with a schema registry, and a topic of JSON beside them."""
    with wb.LogManager([str(tmp_path / "logs")]) as manager:
        manager.get_or_create_log("prices", 0).append(
            [(None, b'{"order": 1, "cents": 250}'), (None, b"\xff"), (None, None)]
        )
    return wb.open_log_directory([REGISTRY, tmp_path / "logs"])


def test_a_join_of_avro_and_json_topics(logs: wb.LogDirectory) -> None:
    query = """
        select o.value.text, p.value.cents from orders o join prices p
        on o.value.id = p.value.order
    """
    decode = {"value": {"orders": "avro", "prices": "json"}}
    with pytest.warns(wb.CorruptDataWarning):
        assert logs.sql(query, decode=decode).fetchall() == [("tea", 250)]
    with pytest.warns(wb.CorruptDataWarning):
        assert logs.sql(query).fetchall() == [("tea", 250)]
    paths = [root.path for root in logs.roots]
    done = run(
        "sql", *paths, query, "--value-format", "orders=avro", "--value-format", "prices=json"
    )
    assert done.lines == [{"text": "tea", "cents": 250}]


def test_one_topic_has_the_type_of_its_format(logs: wb.LogDirectory) -> None:
    decode = {"value": {"orders": "avro", "prices": "json"}}
    alone = logs.scan("orders", decode=decode)
    assert alone.schema == logs.scan("orders", decode={"value": "avro"}).schema
    assert alone.head(1)["value"].to_pylist()[0].items() >= FIRST.items()
    bytes_alone = logs.scan("payments", decode=decode)
    assert str(bytes_alone.schema.field("value").type) == "large_binary"


def test_several_types_in_one_column_are_text(logs: wb.LogDirectory) -> None:
    decode = {"value": {"orders": "avro", "prices": "json"}}
    with pytest.warns(wb.CorruptDataWarning):
        table = logs.scan(["orders", "prices", "clicks"], decode=decode).to_arrow()
    assert str(table.schema.field("value").type) == "large_string"
    texts = {
        topic: [row["value"] for row in table.to_pylist() if row["topic"] == topic]
        for topic in ("orders", "prices", "clicks")
    }
    assert json.loads(texts["orders"][0]).items() >= FIRST.items()
    assert [text and json.loads(text) for text in texts["prices"]] == [
        {"order": 1, "cents": 250}, None, None,
    ]  # fmt: skip
    # A topic without a format is as people read it: by the id of its schema.
    assert json.loads(texts["clicks"][0])["page"]


def test_the_format_of_the_others_has_a_star(logs: wb.LogDirectory) -> None:
    decode = {"value": {"*": "avro", "prices": "hex"}}
    with pytest.warns(wb.CorruptDataWarning):
        table = logs.scan(["orders", "prices"], decode=decode).to_arrow()
    shown = table.to_pylist()
    assert json.loads(shown[0]["value"]).items() >= FIRST.items()
    assert [row["value"] for row in shown if row["topic"] == "prices"][1] == "ff"
    equal = logs.scan("orders", decode={"value": {"*": "utf8", "orders": "utf8"}})
    assert str(equal.schema.field("value").type) == "large_string"


def test_lines_and_tables_show_each_topic_by_its_format(
    logs: wb.LogDirectory, tmp_path: Path
) -> None:
    paths = [root.path for root in logs.roots]
    options = ("-t", "prices", "-t", "orders", "--value-format", "prices=hex")
    rows = {
        (row["topic"], row["offset"]): row["value"] for row in run("dump", *paths, *options).lines
    }
    assert rows["prices", 1] == "ff"
    assert rows["orders", 0].items() >= FIRST.items()
    text = run("dump", *paths, *options, "--format", "text").out
    assert "value ff" in text
    assert '"text": "tea"' in text
    both = (*options, "--value-format", "avro")
    target = tmp_path / "x.csv"
    assert run("export", *paths, target, *both).code == 0
    first, *_ = csv.DictReader(io.StringIO(target.read_text()))
    assert json.loads(first["value"]).items() >= FIRST.items()
    found = run("search", *paths, "tea", *options, "--json").lines
    assert [line["value"]["text"] for line in found if line["topic"] == "orders"] == ["tea"]


def test_what_is_no_topic_or_format_is_refused(logs: wb.LogDirectory) -> None:
    with pytest.raises(LookupError, match="unknown topic ordres; did you mean orders"):
        logs.scan(decode={"value": {"ordres": "json"}})
    with pytest.raises(LookupError, match="unknown topic ordres; did you mean orders"):
        logs.sql("select value from orders", decode={"value": {"ordres": "json"}})
    with pytest.raises(SchemaError, match="unknown decoding 'jsn'"):
        logs.scan(decode={"value": {"orders": "jsn"}})
    done = run("dump", REGISTRY, "--value-format", "orders=jsn")
    assert done.code == 3
    assert "'jsn' is not one of" in done.err
    done = run("sql", REGISTRY, "select 1 from orders", "--value-format", "ordres=json")
    assert "unknown topic ordres; did you mean orders" in done.err
    done = run("dump", REGISTRY, "--value-format", "ordres=json")
    assert "unknown topic ordres; did you mean orders" in done.err
