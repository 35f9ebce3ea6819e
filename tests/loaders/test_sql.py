"""SQL over log directories: topics and tables of inspection; nothing else is read or written."""

import json
import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import workbench as wb
from tests.cli.program import run
from tests.naive import read
from workbench.errors import QueryError
from workbench.loaders.sql import MEMORY, TABLES

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


@pytest.fixture(scope="module")
def logs() -> wb.LogDirectory:
    return wb.open_log_directory(SHOP)


def orders() -> list[dict[str, object]]:
    """Return the orders, read by the tests' own reader and parser."""
    paths = sorted(SHOP.glob("orders-*/*.log"))
    values = [record.value for path in paths for record in read(path.read_bytes())]
    return [json.loads(value) for value in values if value is not None]


def test_a_topic_is_a_view_of_its_records(logs: wb.LogDirectory) -> None:
    wanted = Counter(order["customer_id"] for order in orders())
    query = """
        select decode(value)::json->>'$.customer_id' customer, count(*) n from orders
        group by all order by n desc, customer limit 5
    """
    found = logs.sql(query).fetchall()
    assert found == sorted(wanted.items(), key=lambda row: (-row[1], row[0]))[:5]


def test_decoded_values_have_their_fields_as_columns(logs: wb.LogDirectory) -> None:
    [(total,)] = logs.sql(
        "select sum(value.total_cents) from orders", decode={"value": "json"}
    ).fetchall()
    assert total == sum(order["total_cents"] for order in orders())  # type: ignore[misc]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a log of 24 MB, in which every 10,000th record comes again 5,000 records later."""
    folder = tmp_path_factory.mktemp("large")
    rng = random.Random(7)
    with wb.LogManager([str(folder)]) as manager:
        log = manager.get_or_create_log("orders", 0)
        again = (b"", b"")
        for first in range(0, 100_000, 1000):
            pairs = [(b"%d" % (first + i), rng.randbytes(220)) for i in range(1000)]
            if first % 10_000 == 5000:
                pairs[0] = again
            elif first % 10_000 == 0:
                again = pairs[0]
            log.append(pairs)
    return folder


TWICE = """
    select key, min("offset") first, max("offset") last from orders group by key, value
    having count(*) > 1 order by first
"""


def test_what_does_not_fit_into_memory_is_written_to_a_temporary_folder(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MEMORY, "24MiB")
    logs = wb.open_log_directory(large)
    assert logs.sql("select current_setting('memory_limit')").fetchall() == [("24.0 MiB",)]
    wanted = [(b"%d" % at, at, at + 5000) for at in range(0, 100_000, 10_000)]
    assert logs.sql(TWICE).fetchall() == wanted


def test_a_query_that_needs_more_memory_says_how_to_give_it(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MEMORY, "24MiB")
    done = run("sql", str(large), "select len(list(hex(value))) n from orders")
    assert done.code == 3
    assert "needs more than 24MiB of memory" in done.err
    assert f"{MEMORY} raises this limit" in done.err
    monkeypatch.setenv(MEMORY, "much")
    with pytest.raises(QueryError, match=f"{MEMORY} is 'much', not a size such as 4GiB"):
        wb.open_log_directory(large).sql(TWICE)


@pytest.mark.parametrize("name", TABLES)
def test_every_table_of_inspection_can_be_queried(logs: wb.LogDirectory, name: str) -> None:
    count = logs.sql(f"from inspect.{name}").count("*").fetchall()
    assert count == [(len(getattr(logs.inspect, name)()),)]
    assert logs.sql(f"from {name.upper()}").count("*").fetchall() == count


def test_a_topic_is_meant_before_a_table_of_its_name(tmp_path: Path) -> None:
    with wb.LogManager([str(tmp_path / "logs")]) as manager:
        manager.get_or_create_log("batches", 0).append([(b"k", b"v"), (b"k", b"w")])
        manager.get_or_create_log("with-dash", 0).append([(b"k", b"x")])
    logs = wb.open_log_directory(tmp_path / "logs")
    assert logs.sql("select value from batches").fetchall() == [(b"v",), (b"w",)]
    assert logs.sql("select topic, record_count from inspect.batches order by 1").fetchall() == [
        ("batches", 2),
        ("with-dash", 1),
    ]
    assert logs.sql('select value from "with-dash"').fetchall() == [(b"x",)]


@pytest.mark.parametrize(
    "query",
    [
        "delete from orders",
        "copy orders to 'records.csv'",
        "select 1; select 2",
        "selec topic from orders",
        "select nosuch from orders",
        "select * from read_csv('rows.csv')",
        "select * from glob('*')",
    ],
)
def test_what_is_not_one_select_of_the_logs_is_refused(
    logs: wb.LogDirectory, query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("a\n1\n")
    with pytest.raises(QueryError):
        logs.sql(query).fetchall()
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_an_unknown_table_gets_the_nearest_name(logs: wb.LogDirectory) -> None:
    with pytest.raises(LookupError, match="unknown topic or table ordrs; did you mean orders"):
        logs.sql("select * from ordrs")
    with pytest.raises(LookupError, match="unknown topic or table segmnts; did you mean segments"):
        logs.sql("select * from segmnts")


@pytest.mark.parametrize("query", ["show tables", "SHOW ALL TABLES;", " describe "])
def test_tables_are_listed(logs: wb.LogDirectory, query: str) -> None:
    relation = logs.sql(query)
    assert relation.columns == ["name", "kind", "about"]
    listed = {name: (kind, about) for name, kind, about in relation.fetchall()}
    assert listed["orders"] == ("topic", "3 partitions")
    assert listed["returns"] == ("topic", "1 partition")
    assert {name for name, (kind, _) in listed.items() if kind == "table"} == set(TABLES)
    assert listed["batches"] == ("table", "one row per batch, from the headers alone")
    for name, (kind, _) in listed.items():
        if kind != "table":
            assert logs.sql(f"describe {name}").fetchall() == logs.sql(f"show {name}").fetchall()


@pytest.mark.parametrize(
    "query",
    [
        "from information_schema.tables",
        "show databases",
        "from duckdb_tables()",
        "from (show tables)",
    ],
)
def test_what_duckdb_would_list_of_itself_is_refused(logs: wb.LogDirectory, query: str) -> None:
    with pytest.raises(QueryError, match="show tables lists the topics and tables"):
        logs.sql(query)


def test_records_are_those_of_all_topics(logs: wb.LogDirectory, tmp_path: Path) -> None:
    found = logs.sql("select topic, count(*) from records group by all").fetchall()
    counted = Counter(logs.scan(columns=["topic"]).to_arrow()["topic"].to_pylist())
    assert dict(found) == counted
    assert counted["orders"] == len(orders())
    with wb.LogManager([str(tmp_path / "logs")]) as manager:
        manager.get_or_create_log("records", 0).append([(b"k", b"v")])
        manager.get_or_create_log("others", 0).append([(b"k", b"w")])
    ours = wb.open_log_directory(tmp_path / "logs")
    assert ours.sql("select value from records").fetchall() == [(b"v",)]


BYTES_AS_TEXT = (
    "select value->>'$.customer_id' from orders",
    "select o.value->'$.customer_id' from orders o",
    "select json_extract_string(value, '$.customer_id') from orders",
    "select count(*) from orders where json_valid(value)",
    "select value::json from records",
    "select try_cast(key as text) from orders",
    "select partition from orders where value::varchar like '%\"C-1\"%'",
    "select partition from orders where value like '%C-1%'",
    "select length(value) from orders",
)


@pytest.mark.parametrize("query", BYTES_AS_TEXT)
def test_bytes_are_never_searched_as_text(logs: wb.LogDirectory, query: str) -> None:
    """DuckDB escapes bytes that become text, so what is looked for would not be found."""
    with pytest.raises(QueryError, match=r"decode\(value\) is the text of bytes"):
        logs.sql(query).fetchall()
    assert "decode(value) is the text of bytes" in run("sql", SHOP, query).err


def test_columns_that_a_query_makes_text_are_text(logs: wb.LogDirectory) -> None:
    wanted = sorted({str(order["customer_id"]) for order in orders()})[:3]
    made = (
        "select decode(value) as value from orders",
        "select * replace (decode(value) as value) from orders",
        "select value from (select decode(value) from orders) made(value)",
    )
    for query in made:
        rows = logs.sql(f"select distinct value->>'$.customer_id' from ({query})").fetchall()  # noqa: S608 - ours
        assert sorted(row[0] for row in rows)[:3] == wanted
    query = "select count(*) from orders where value::varchar like '%C-1%'"
    [(count,)] = logs.sql(query, decode={"value": "utf8"}).fetchall()
    assert count > 0


def test_what_needs_quotes_is_told(logs: wb.LogDirectory, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match='write the column as "offset"'):
        logs.sql("select * from orders where offset = 5")
    with wb.LogManager([str(tmp_path / "logs")]) as manager:
        manager.get_or_create_log("with-dash.1", 0).append([(b"k", b"v")])
    with pytest.raises(QueryError, match=r'write the topic as "with-dash\.1"'):
        wb.open_log_directory(tmp_path / "logs").sql("select * from with-dash.1 limit 1")


def test_bytes_that_are_no_text_end_a_command_in_one_line() -> None:
    for query, why in (
        ("select decode(value) from __consumer_offsets", "invalid UTF8"),
        ("select partition from orders where key = '\u00e9'", "decode(value) is the text of bytes"),
    ):
        done = run("sql", SHOP, query)
        assert done.code == 3
        assert why in done.err
        assert "a bug in" not in done.err


def test_the_command_prints_and_writes_every_format(tmp_path: Path) -> None:
    query = "select partition, count(*) n from orders group by all order by all"
    rows = logs_of_orders()
    printed = run("sql", SHOP, query).out.split()
    assert printed == ["partition", "n", "0", "1,588", "1", "2,083", "2", "1,529"]
    csv = run("sql", SHOP, query, "--format", "csv")
    assert csv.out.splitlines() == ["partition,n", *(f"{at},{n}" for at, n in rows)]
    objects = [{"partition": at, "n": n} for at, n in rows]
    assert run("sql", SHOP, query, "--format", "json").json == objects
    assert run("sql", SHOP, query, "--format", "jsonl").lines == objects
    assert run("sql", SHOP, f"{query} limit 0", "--format", "json").json == []
    done = run("sql", SHOP, query, "-o", tmp_path / "rows.parquet")
    assert (done.code, done.out) == (0, "")
    assert pq.read_table(tmp_path / "rows.parquet").to_pylist() == objects
    assert run("sql", SHOP, query, "-o", tmp_path / "rows.parquet").code == 3
    assert run("sql", SHOP, query, "--format", "parquet").code == 3
    assert "QUERY is missing" in run("sql", SHOP).err


def logs_of_orders() -> list[tuple[int, int]]:
    """Return how many records each partition has, from the file names' offsets and the last."""
    return [(0, 1588), (1, 2083), (2, 1529)]


def test_masked_values_stay_masked(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("orders value drop\n")
    done = run("sql", SHOP, "select count(value) n from orders", "--mask", tmp_path / "rules")
    assert done.out.split() == ["n", "0"]


def test_values_are_bytes_as_text_or_hex_in_json(tmp_path: Path) -> None:
    with wb.LogManager([str(tmp_path / "logs")]) as manager:
        manager.get_or_create_log("t", 0).append([(b"\xff\x00", "é".encode()), (b"k", None)])
    done = run(
        "sql", tmp_path / "logs", 'select key, value from t order by "offset"', "--format", "json"
    )
    assert done.json == [{"key": "0xff00", "value": "é"}, {"key": "k", "value": None}]
    assert pa.table(wb.open_log_directory(tmp_path / "logs").sql("from t")).num_rows == 2


def test_the_latest_view_has_the_newest_record_of_each_key(logs: wb.LogDirectory) -> None:
    newest: dict[object, tuple[int, object]] = {}
    for row in logs.scan("customers", isolation_level="read_uncommitted").to_arrow().to_pylist():
        newest[row["key"]] = row["offset"], row["value"]
    found = logs.sql('select key, "offset", value from customers_latest').fetchall()
    assert {key: (offset, value) for key, offset, value in found} == newest
    assert any(value is None for _, _, value in found)
    (count,) = logs.sql("select count(*) from customers").fetchall()[0]
    assert count > len(found)


@pytest.mark.parametrize(
    "interval",
    ["0 seconds", "2 days 4 hours 17 minutes 33.677 seconds", "-90 seconds", "14 months -1 day",
     "1 year 1 month 1 day 1 hour 1 microsecond", "-3 months", "100 hours"],
)  # fmt: skip
def test_an_interval_reads_as_duckdb_prints_it(interval: str) -> None:
    inner = f"select interval '{interval}' as i from orders limit 1"  # noqa: S608 - it is ours
    query = f"select i, i::varchar as words from ({inner})"  # noqa: S608
    [row] = run("sql", SHOP, query, "--json").json
    assert row["i"] == row["words"]
