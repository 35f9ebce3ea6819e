"""SQL over log directories: topics and tables of inspection; nothing else is read or written."""

import csv
import io
import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import workbench as wb
from tests.cli.program import run
from tests.cli.terminal import on_a_terminal
from tests.golden.cases import Case
from tests.naive import Record, batch, read
from tests.values.json_texts import some_values
from workbench.errors import QueryError, SchemaError
from workbench.loaders.sql.masks import NOTHING_SHOWN, SHOWN
from workbench.loaders.sql.query import read_query
from workbench.loaders.sql.run import MEMORY, TABLES

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


@pytest.mark.parametrize(
    "query",
    [
        "select sum(value.total_cents) from orders",
        "select sum(o.value.total_cents) from orders as o",
        "select sum(value['total_cents']) from orders",
        "select sum((value).total_cents) from orders",
        "select sum(orders.value.total_cents) from orders",
        "with o as (select * from orders) select sum(value.total_cents) from o",
    ],
)
def test_fields_of_json_need_no_option(logs: wb.LogDirectory, query: str) -> None:
    [(total,)] = logs.sql(query).fetchall()
    assert total == sum(order["total_cents"] for order in orders())  # type: ignore[misc]
    assert next(iter(run("sql", SHOP, query).lines[0].values())) == total


def test_fields_of_values_with_a_schema_need_no_option() -> None:
    registry = SHOP.with_name("registry-4.3.1")
    logs = wb.open_log_directory(registry)
    query = 'select value.id, value.text from orders order by "offset"'
    with pytest.warns(wb.CorruptDataWarning, match="does not begin with the id of a schema"):
        rows = logs.sql(query).fetchall()
    # What sample_data/README.md says was written there.
    assert rows[:3] == [(1, "tea"), (2, "grün"), (1 << 40, "later")]
    assert set(rows[3:]) == {(None, None)}


def test_one_topic_has_fields_beside_the_bytes_of_another(logs: wb.LogDirectory) -> None:
    """Only topics whose fields are named are decoded."""
    query = """
        select count(*), count(decode(p.value)) from orders o, payments p
        where o.value.order_id = 'O-48212' and p.partition = 0 and p."offset" < 10
    """
    expected = logs.sql(
        'select count(*) from payments where partition = 0 and "offset" < 10'
    ).fetchall()[0]
    assert logs.sql(query).fetchall() == [expected * 2]


def test_a_header_is_found_by_its_name(tmp_path: Path) -> None:
    headers = (
        ((b"user", b"ann"), (b"user", b"bob")),
        ((b"it's", None), (b"other", b"\xff")),
        (),
    )
    folder = tmp_path / "logs" / "t-0"
    folder.mkdir(parents=True)
    records = [Record(at, 5, b"abc"[at : at + 1], b"v", each) for at, each in enumerate(headers)]
    (folder / f"{0:020}.log").write_bytes(batch(records))
    logs = wb.open_log_directory(tmp_path / "logs")
    # The last header of a name, as Headers.lastHeader of Kafka's clients.
    found = logs.sql("select headers['user'], \"headers\" [ 'other' ] from t")
    assert found.columns == ["user", "other"]
    assert found.fetchall() == [(b"bob", None), (None, b"\xff"), (None, None)]
    query = """select 'é' e, decode(key) k from t as x
        where x.headers['user'] = 'bob' or len(x.headers) = 0 or x.headers['it''s'] = 'a'"""
    assert logs.sql(query).fetchall() == [("é", "a"), ("é", "c")]
    assert logs.sql("select headers[1].key k from t").fetchall() == [("user",), ("it's",), (None,)]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select order_id from orders", "unknown column order_id; it is a field of value: "),
        ("select o.order_id from orders o", "write value.order_id"),
        ("select vlaue from orders", "unknown column vlaue; did you mean value?"),
        ("select o.partitoin from orders o", "unknown column partitoin; did you mean partition?"),
        ("select nosuch from orders", "schema is value.NAME; columns: topic, partition, offset"),
        ("select record_cuont from batches", "did you mean record_count?"),
        ("select zzz from quotas", "unknown column zzz; columns: "),
        ("select value.order_idd from orders", "no field order_idd; did you mean value.order_id?"),
        ("select value.ship_to.citty from orders", "did you mean value.ship_to.city?"),
        ("select value.x from __consumer_offsets", "no fields are known of the values of __"),
        ("select headers.user from orders", "write headers['user']"),
        ("select decode(value), value.order_id from orders", "decode(value)->>'$.order_id'"),
        ("select value.a.b from (select decode(value) value from orders)", "decode(value)->>'$.a'"),
    ],
)  # fmt: skip
def test_what_a_query_names_wrongly_gets_a_hint_of_ours(
    logs: wb.LogDirectory, query: str, words: str
) -> None:
    with pytest.raises(QueryError) as raised:
        logs.sql(query)
    assert words in str(raised.value)
    assert "FROM clause" not in str(raised.value)
    assert words in run("sql", SHOP, query).err


def test_a_result_has_the_verbs_of_every_other(logs: wb.LogDirectory) -> None:
    query = "select partition, count(*) n, min(timestamp) since from orders group by all order by 1"
    found = logs.sql(query)
    rows = found.to_pylist()
    assert [(row["partition"], row["n"]) for row in rows] == logs_of_orders()
    assert found.to_arrow().to_pylist() == rows
    assert found.to_polars().to_dicts() == rows
    frame = found.to_pandas()
    assert frame.to_dict("records") == rows
    assert str(frame.dtypes["n"]) == "int64"
    assert found.df().columns.tolist() == ["partition", "n", "since"]  # a relation of DuckDB
    assert len(found) == 3
    html = found._repr_html_()
    assert '<td class="number">2,083</td>' in html
    assert "2024-11-" in html
    many = logs.sql("select key, value from orders")._repr_html_()
    assert "the first 40 rows" in many
    assert many.count("<tr>") == 41


def test_auto_that_is_asked_for_is_text_everywhere(tmp_path: Path) -> None:
    asked = ("--key-format", "auto", "--value-format", "auto")
    query = "select key, value from __consumer_offsets limit 1"
    [row] = run("sql", SHOP, query, *asked).lines
    assert json.loads(row["key"])["type"] == "OffsetCommit"
    file = tmp_path / "x.parquet"
    assert run("export", SHOP, file, "-t", "orders", "-n", "3", *asked).code == 0
    texts = pq.read_table(file)["value"].to_pylist()
    assert [json.loads(text)["order_id"] for text in texts] == [
        order["order_id"] for order in orders()[:3]
    ]
    assert run("export", SHOP, tmp_path / "y.parquet", "-t", "orders", "-n", "3").code == 0
    assert isinstance(pq.read_table(tmp_path / "y.parquet")["value"][0].as_py(), bytes)
    table = tmp_path / "x.csv"
    assert run("export", SHOP, table, "-t", "__consumer_offsets", "-n", "1", *asked).code == 0
    [exported] = csv.DictReader(io.StringIO(table.read_text()))
    assert json.loads(exported["key"])["type"] == "OffsetCommit"


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
    assert run("sql", SHOP, query).lines == [{"partition": at, "n": n} for at, n in rows]
    printed = run("sql", SHOP, query, "--format", "table").out.split()
    assert printed == ["partition", "n", "0", "1,588", "1", "2,083", "2", "1,529"]
    rows_of_csv = run("sql", SHOP, query, "--format", "csv")
    assert rows_of_csv.out.splitlines() == ["partition,n", *(f"{at},{n}" for at, n in rows)]
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
    assert done.lines == [{"n": 0}]


def test_a_mask_of_a_field_that_no_format_reads_says_what_to_do() -> None:
    logs = wb.open_log_directory(SHOP)
    with pytest.raises(SchemaError, match="values are bytes, which has no fields"):
        logs.sql("select value from orders", mask="orders value.email drop")


def test_every_table_is_known_to_masks() -> None:
    assert sorted([*SHOWN, *NOTHING_SHOWN, "keys"]) == sorted(TABLES)


@pytest.mark.parametrize(
    ("rule", "table"),
    [
        ("orders key hash", "keys"),
        ("* key hash", "groups"),
        ("__consumer_offsets value drop", "commits"),
        ("__consumer_* key drop", "inspect.group_offsets"),
        ("__transaction_state key first 2", "transactions"),
        ("__cluster_metadata value drop", "configs"),
    ],
)
def test_a_table_that_a_mask_does_not_cover_is_refused(
    logs: wb.LogDirectory, rule: str, table: str
) -> None:
    name = table.removeprefix("inspect.")
    with pytest.raises(SchemaError, match=f"the table {name} would show what this rule hides"):
        logs.sql(f"from {table}", mask=rule)
    assert logs.sql("from segments", mask=rule).fetchall()
    other = "orders value drop" if name != "keys" else "customers headers drop"
    assert logs.sql(f"from {table}", mask=other).fetchall()


def test_metadata_of_commits_are_hidden_by_any_mask_as_in_widgets(tmp_path: Path) -> None:
    copied = tmp_path / "logs"
    shutil.copytree(SHOP, copied)
    key = b"\0\1" + b"\0\5group" + b"\0\6orders" + bytes(4)
    value = b"\0\3" + bytes(8) + b"\xff" * 4 + b"\0\3ada" + bytes(8)
    with wb.LogManager([str(copied)]) as manager:
        manager.get_or_create_log("__consumer_offsets-0").append([(key, value)])
    logs = wb.open_log_directory(copied)
    for table in ("commits", "group_offsets"):
        query = f"select metadata from {table} where \"group\" = 'group'"  # noqa: S608 - ours
        assert logs.sql(query).fetchall() == [("ada",)]
        assert logs.sql(query, mask="orders key drop").fetchall() == [("masked",)]
        assert logs.sql(query, mask="* metadata first 1").fetchall() == [("a",)]


def test_names_that_differ_in_case_alone_are_refused_together(tmp_path: Path) -> None:
    """DuckDB would read one of them twice."""
    with wb.LogManager([str(tmp_path / "logs")]) as manager:
        for topic, count in (("orders", 1), ("ORDERS", 3), ("Batches", 2), ("_batches", 4)):
            manager.get_or_create_log(topic, 0).append([(b"k", b"v")] * count)
    logs = wb.open_log_directory(tmp_path / "logs")

    def counted(query: str) -> int:
        return int(logs.sql(f"select count(*) from {query}").fetchall()[0][0])  # noqa: S608 - ours

    assert counted("orders") == 1
    assert counted('"ORDERS"') == 3
    assert counted("orders a, orders b") == 1
    assert counted('"ORDERS" a, Segments b, segments c') == 3 * 4 * 4
    assert counted('"Batches", inspect.batches') == 2 * 4
    assert counted("_batches, inspect.batches") == 4 * 4
    assert counted("_batches, batches") == 4 * 4
    for query in (
        'orders, "ORDERS"', '"ORDERS_latest", orders_latest', '"Batches", batches',
        '(select * from "ORDERS"), (select * from orders)',
    ):  # fmt: skip
        with pytest.raises(QueryError, match="are one name to DuckDB"):
            counted(query)


def test_csv_runs_nothing_in_a_spreadsheet_and_steers_no_terminal(tmp_path: Path) -> None:
    hostile = ["=cmd|' /C calc'!A0", "+1+1", "-2.5", "@SUM(A1)", "\x1b]0;owned\x07", "plain"]
    with wb.LogManager([str(tmp_path / "logs")]) as manager:
        manager.get_or_create_log("t", 0).append([(None, text.encode()) for text in hostile])
    query: list[str | Path] = [
        "sql",
        tmp_path / "logs",
        'select decode(value), "offset" from t order by 2',
        "--format",
        "csv",
    ]
    rows = list(csv.reader(io.StringIO(run(*query).out)))
    escaped = ["'" + text if text[0] in "=+@" else text for text in hostile]
    assert [row[0] for row in rows[1:]] == escaped
    assert [row[1] for row in rows[1:]] == [*"012345"]
    plain = list(csv.reader(io.StringIO(run(*query, "--no-escape-formulas").out)))
    assert [row[0] for row in plain[1:]] == hostile
    assert run(*query, "-o", tmp_path / "out.csv").code == 0
    assert list(csv.reader(io.StringIO((tmp_path / "out.csv").read_text()))) == rows
    shown = on_a_terminal(*map(str, query))
    assert "\x1b]" not in shown
    assert r"\x1b]0;owned\x07" in shown


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


_OF_TRANSACTIONS = """select topic, partition, "offset", committed from records
where topic like 'txn-%'"""


def _places(rows: list[dict[str, Any]]) -> set[tuple[str, int, int]]:
    return {(row["topic"], row["partition"], row["offset"]) for row in rows}


@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
def test_a_query_has_the_records_that_a_consumer_of_the_level_read(
    level: Any, golden: Callable[[str], Case]
) -> None:
    case = golden("4.4.0-txn")
    directory = case.directory("data")
    outcome = run("sql", directory, _OF_TRANSACTIONS, "--isolation-level", level)
    assert _places(outcome.lines) == _places(case.consumed(level))


def test_the_column_committed_is_true_of_what_read_committed_reads(
    golden: Callable[[str], Case],
) -> None:
    case = golden("4.4.0-txn")
    outcome = run("sql", case.directory("data"), _OF_TRANSACTIONS)
    both, committed = _places(case.consumed()), _places(case.consumed("read_committed"))
    assert len(committed) < len(both)
    assert _places(outcome.lines) == both
    assert _places([row for row in outcome.lines if row["committed"]]) == committed
    assert "of aborted transactions" in outcome.err


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("timestamp::date", "infinity"),
        ("min('-infinity'::date)", "-infinity"),
        ("max('200000-01-01'::date)", 6_249_223_180_800_000),
        ("list(timestamp)", ["infinity"]),
        ("{'a': timestamp, 'b': null}", {"a": "infinity", "b": None}),
        ("map {timestamp: '2020-01-01'::date}", [["infinity", "2020-01-01"]]),
        ("union_value(a := timestamp::date)", "infinity"),
        ("make_timestamp(1234567)", "1970-01-01T00:00:01.234567"),
        ("make_timestamp_ns(1234)", "1970-01-01T00:00:00.000001234"),
    ],
)
def test_times_are_shown_whole_within_any_type(tmp_path: Path, value: str, cell: object) -> None:
    (tmp_path / "t-0").mkdir()
    stored = batch([Record(0, 1_700_000_000_000_000_000, b"k", b"v")])
    (tmp_path / "t-0" / f"{0:020}.log").write_bytes(stored)
    query = f"select {value} as found from t limit 1"  # noqa: S608 - it is ours
    assert run("sql", tmp_path, query).lines == [{"found": cell}]


def test_a_type_that_parquet_lacks_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    query = "select max(timestamp) - min(timestamp) as age from orders"
    done = run("sql", SHOP, query, "--to", tmp_path / "age.parquet")
    assert done.code == 3
    assert "column age has the type interval, which Parquet does not have" in done.err
    assert not any(tmp_path.iterdir())


def test_times_beyond_what_duckdb_holds_are_infinity(tmp_path: Path) -> None:
    """One such record must not make every query of its topic fail; the broker takes any time."""
    folder = tmp_path / "logs" / "t-0"
    folder.mkdir(parents=True)
    stamps = (5, 300_000_000_000_000, 2**62, 9_223_372_036_854_774, -(2**60))
    stored = b"".join(batch([Record(at, t, b"k", b"v")]) for at, t in enumerate(stamps))
    (folder / f"{0:020}.log").write_bytes(stored)
    shown = ["1970-01-01T00:00:00.005Z", 300_000_000_000_000, "infinity", 9_223_372_036_854_774]
    query = 'select timestamp from t order by "offset"'
    done = run("sql", tmp_path / "logs", query)
    assert [row["timestamp"] for row in done.lines] == [*shown, "-infinity"]
    done = run("sql", tmp_path / "logs", "select max(max_timestamp) m from batches")
    assert done.lines == [{"m": "infinity"}]
    logs = wb.open_log_directory(tmp_path / "logs")
    rows = logs.sql(query).to_pylist()
    assert [row["timestamp"] for row in rows[1:]] == [*shown[1:], "-infinity"]
    assert str(rows[0]["timestamp"]) == "1970-01-01 00:00:00.005000+00:00"
    counted = logs.sql("select count(*) from t where timestamp > '2020-01-01'").fetchall()
    assert counted == [(3,)]
    text = logs.scan("t").to_duckdb("r").sql("select max(timestamp)::varchar from r").fetchall()
    assert text == [("infinity",)]


# --- only what a query needs is read --------------------------------------------------------------


NEEDS = {
    "select sum(value.total_cents) from orders": (["value"], {"total_cents"}),
    "select sum(VALUE.Total_Cents) as s from orders where value.order_id > 'O'": (
        ["value"], {"total_cents", "order_id"},
    ),
    "select o.value['total_cents'], (o.value).ship_to.city from orders o order by all": (
        ["value"], {"total_cents", "ship_to"},
    ),
    "select count(*) from orders": (["offset"], None),
    "select decode(key), partition from orders where value.total_cents > 1": (
        ["partition", "key", "value"], {"total_cents"},
    ),
    "select x.c.city from (select value.ship_to c from orders) x": (["value"], {"ship_to"}),
    "select committed, headers['a'] from orders": (["headers", "committed"], None),
}  # fmt: skip
JSON_BY = [None, "json", "orders=json", {"*": "json"}, {"orders": "json", "payments": "utf8"}]
ALL = [
    "select value.total_cents, value from orders",
    "with o as (from orders) select value.total_cents from o",
    "select o from orders o where value.total_cents > 1",
    "select value.total_cents, #1 from orders",
    "select a.value.total_cents from orders a join orders b using (value)",
    "select a.value.total_cents from orders a natural join payments",
    "select value.total_cents, columns('key') from orders",
    "select topic, value.total_cents from orders o(topic, partition)",
    "unpivot orders on partition, key into name n value v",
]


@pytest.mark.parametrize("query", NEEDS)
def test_a_query_reads_the_columns_and_fields_that_it_needs(
    logs: wb.LogDirectory, query: str
) -> None:
    columns, fields = NEEDS[query]
    (scan,) = logs.sql(query).scans
    assert scan.columns == columns
    if fields is not None:
        assert {each.name for each in scan.schema.field("value").type} == fields


@pytest.mark.parametrize("decoding", JSON_BY, ids=str)
def test_it_reads_no_more_however_the_format_is_given(logs: wb.LogDirectory, decoding: Any) -> None:
    decode = {} if decoding is None else {"value": decoding}
    (scan,) = logs.sql("select value.total_cents from orders", decode=decode).scans
    assert [each.name for each in scan.schema.field("value").type] == ["total_cents"]


@pytest.mark.parametrize("query", ALL)
def test_a_query_that_may_need_all_reads_all(query: str) -> None:
    needed = read_query(query, ["orders", "payments"]).needed
    assert needed is None or "value" not in needed.fields


@pytest.mark.filterwarnings("ignore::workbench.CorruptDataWarning")
def test_fields_alone_are_those_of_whole_values(tmp_path: Path) -> None:
    randomly = random.Random(3)
    alone = 0
    for number in range(12):
        folder = tmp_path / str(number) / "t-0"
        folder.mkdir(parents=True)
        values = [b'{"a":1,"b":"x"}', *some_values(randomly, 3)]
        records = [Record(at, 5, None, value) for at, value in enumerate(values)]
        (folder / f"{0:020}.log").write_bytes(batch(records))
        opened = wb.open_log_directory(folder.parent)
        narrow = opened.sql("select value.a, typeof(value.a) from t", decode={"value": "json"})
        wide = opened.sql(
            "with o as (from t) select value.a, typeof(value.a) from o", decode={"value": "json"}
        )
        assert str(narrow.fetchall()) == str(wide.fetchall())  # NaN is like NaN
        assert [each.found for each in narrow.scans[0].findings] == [
            each.found for each in wide.scans[0].findings
        ]
        alone += narrow.scans[0].columns == ["value"]
    assert alone > 2
