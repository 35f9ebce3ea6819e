"""Formats of keys and values, and masks, on the command line."""

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.program import run
from tests.naive import Record, batch
from tests.values.avro_values import written

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "email", "type": "string"},
        {"name": "tags", "type": {"type": "map", "values": "int"}},
    ],
}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs" / "orders-0"
    folder.mkdir(parents=True)
    value = written(ORDER, {"id": 7, "email": "ada@example.org", "tags": {"a": 1}})
    framed = b"\x00\x00\x00\x00\x05" + value
    records = [Record(0, 1, b"k", framed), Record(1, 1, b"k", b"nope"), Record(2, 1, b"k", None)]
    (folder / f"{0:020}.log").write_bytes(batch(records))
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "5.avsc").write_text(json.dumps(ORDER))
    return tmp_path


def test_dump_shows_avro(logs: Path) -> None:
    how = f"avro:{logs}/schemas"
    said = run(
        "dump", logs / "logs", "--format", "text", "--show-values", "--value-format", how
    ).out
    assert '{"id": 7, "email": "ada@example.org", "tags": {"a": 1}}' in said
    assert "it does not begin with the id of a schema" in said
    found = run("search", logs / "logs", "--key", "k", "--show-values", "--value-format", how).out
    assert '"email": "ada@example.org"' in found


def test_export_writes_avro_as_columns_and_masks_it(logs: Path) -> None:
    rules = logs / "masks"
    rules.write_text("orders value.email first 3  # an address\n")
    more = ("--value-format", f"avro:{logs}/schemas", "--mask", rules, "--columns", "offset,value")
    assert run("export", logs / "logs", logs / "out.parquet", *more).code == 0
    values = pq.read_table(logs / "out.parquet")["value"].to_pylist()
    assert values == [{"id": 7, "email": "ada", "tags": [("a", 1)]}, None, None]
    assert run("export", logs / "logs", logs / "out.csv", *more).code == 0
    with open(logs / "out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert json.loads(rows[0]["value"]) == {"id": 7, "email": "ada", "tags": {"a": 1}}
    for name in ("out.parquet", "out.csv"):
        assert b"ada@example.org" not in (logs / name).read_bytes()


def test_an_unknown_format_is_refused(logs: Path) -> None:
    result = run("dump", logs / "logs", "--value-format", "avra")
    assert (result.code, result.out) == (3, "")
    assert "'avra' is not one of auto, avro," in result.err
    masks = logs / "masks"
    masks.write_text("orders value.email hash\n")
    wrong = run("export", logs / "logs", logs / "out.jsonl", "--mask", masks)
    assert "--mask needs parquet or csv" in wrong.err


def test_lines_of_json_have_the_values_that_parquet_has(logs: Path) -> None:
    """Avro: the second reader is pyarrow's, of the columns that a scan decodes."""
    options = ("--value-format", "avro", "--key-format", "utf8")
    assert run("export", logs / "logs", logs / "told.jsonl", *options).code == 0
    assert run("export", logs / "logs", logs / "told.parquet", *options).code == 0
    lines = [json.loads(line) for line in (logs / "told.jsonl").read_text().splitlines()]
    table = pq.read_table(logs / "told.parquet")
    assert run("dump", logs / "logs", "--json", *options).lines == lines
    assert [line["key"] for line in lines] == table["key"].to_pylist()
    for line, value in zip(lines, table["value"].to_pylist(), strict=True):
        if value is None:
            assert line["value"] is None or set(line["value"]) == {"error", "bytes"}
        else:
            assert line["value"] == {**value, "tags": dict(value["tags"])}
