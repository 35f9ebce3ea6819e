"""The first questions of somebody who has a log directory, each by one command that answers it.

The planted directory was written by the tests' own writer, so its truth is known by construction;
what brokers alone write is asked of the sample, whose truth is in sample_data/README.md.
"""

import csv
import datetime as dt
import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.program import Outcome, run
from tests.naive import Record, batch

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
DAMAGED = SHOP.with_name("damaged")
REGISTRY = SHOP.with_name("registry-4.3.1")

BIG = 9_007_199_254_741_195  # above 2^53
HOUR = 3_600_000
START = 1_700_000_000_000
FUTURE = START + 10 * 365 * 24 * HOUR
COUNTRIES = ("DE", "FR", "PT")


def planted_orders() -> list[dict[str, object]]:
    """Return 60 orders: 3 come twice, two sequence numbers are missing, one coupon is null."""
    orders: list[dict[str, object]] = []
    for number in range(60):
        if number in {17, 41}:
            continue
        order: dict[str, object] = {
            "order_id": f"O-{number}",
            "seq": number,
            "customer": f"C-{number % 7}",
            "cents": 100 + number,
            "ref": BIG + number,
            "ship_to": {"country": COUNTRIES[number % 3]},
            "items": [{"sku": f"S-{number % 2}", "quantity": 2}],
        }
        if number < 20:
            order["coupon"] = None if number % 4 else "TEN"
        orders.append(order)
        if number in {5, 25, 55}:
            orders.append(order)
    return orders


ORDERS = planted_orders()


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted")

    def write(folder: str, records: list[Record]) -> None:
        (path / folder).mkdir()
        (path / folder / f"{0:020}.log").write_bytes(b"".join(batch([each]) for each in records))

    records = [
        Record(
            at,
            START + at * 60_000,
            str(order["order_id"]).encode(),
            json.dumps(order).encode(),
            ((b"user", b"ann" if at % 5 == 0 else b"bob"), (b"action", b"delete")),
        )
        for at, order in enumerate(ORDERS)
    ]
    end = len(records)
    records.append(Record(end, START, b"bad-1", b"{not json"))
    records.append(Record(end + 1, FUTURE, b"O-late", b'{"order_id": "O-late", "seq": 60}'))
    write("orders-0", records)
    people = [(f"C-{n}", f'{{"tier": {n}, "email": "c{n}@example.org"}}') for n in range(4)]
    people += [("C-1", '{"tier": 9, "email": "c1@example.org"}')]
    stored = [Record(at, START, k.encode(), v.encode()) for at, (k, v) in enumerate(people)]
    stored.append(Record(len(stored), START, b"C-2", None))
    write("customers-0", stored)
    write(f"legacy-0.{'ab' * 16}-delete", [Record(at, START, b"k", b"v") for at in range(5)])
    return path


def value(done: Outcome) -> object:
    """Return the one value of the one row of a query."""
    [row] = done.lines
    [only] = row.values()
    return only


SUM = sum(int(str(order["cents"])) for order in ORDERS)
DISTINCT = {str(order["order_id"]): order for order in ORDERS}

SQL = {
    "how many records": ("select count(*) from orders", len(ORDERS) + 2),
    "the sum of a field": ("select sum(value.cents) from orders", SUM),
    "the sum without what is there twice": (
        "select sum(cents) from (select distinct value.order_id, value.cents cents from orders)",
        sum(int(str(order["cents"])) for order in DISTINCT.values()),
    ),
    "a nested field": (
        "select count(*) from orders where value.ship_to.country = 'PT'",
        sum(order["ship_to"] == {"country": "PT"} for order in ORDERS),
    ),
    "the items of a list": (
        (
            "select sum(item.quantity) from (select unnest(value.items) item from orders)"
            " where item.sku = 'S-1'"
        ),
        2 * sum(str(order["items"]).count("S-1") for order in ORDERS),
    ),
    "the top customer": (
        (
            "select value.customer from orders where value.customer is not null group by all"
            " order by count(*) desc, 1 limit 1"
        ),
        min(Counter(str(o["customer"]) for o in ORDERS).items(), key=lambda c: (-c[1], c[0]))[0],
    ),
    "records of the first hour": (
        (
            "select count(*) from orders where timestamp <"
            " (select min(timestamp) + interval 1 hour from orders)"
        ),
        61,  # one per minute, and bad-1
    ),
    "a join of two topics": (
        (
            "select count(*) from orders o join customers_latest c"
            " on o.value.customer = decode(c.key) where c.value is not null"
        ),
        sum(order["customer"] in {"C-0", "C-1", "C-3"} for order in ORDERS),
    ),
    "the newest value of a key": (
        "select value.tier from customers_latest where decode(key) = 'C-1'",
        9,
    ),
    "tombstones": ("select count(*) from customers_latest where value is null", 1),
    "whole numbers above 2^53": (
        "select value.ref from orders where value.order_id = 'O-11'",
        BIG + 11,
    ),
    "values that are not JSON": (
        'select "offset" from orders where not coalesce(json_valid(try(decode(value))), false)',
        len(ORDERS),
    ),
    "records that are there twice": (
        "select count(*) from (select key from orders group by key, value having count(*) > 1)",
        3,
    ),
    "gaps in a sequence": (
        (
            "select count(*) from (select s, lead(s) over (order by s) n from"
            " (select distinct value.seq s from orders)) where n - s > 1"
        ),
        2,
    ),
    "times in the future": (
        "select count(*) from orders where timestamp > '2030-01-01'",
        1,
    ),
    "who deleted, by a header": (
        (
            "select count(*) from orders where headers['user'] = 'ann'"
            " and headers['action'] = 'delete'"
        ),
        len(range(0, len(ORDERS), 5)),
    ),
}


@pytest.mark.parametrize("question", SQL)
def test_a_question_in_sql_has_the_right_answer(question: str, planted: Path) -> None:
    query, expected = SQL[question]
    assert value(run("sql", planted, query)) == expected


SEARCHES = {
    "a field that is null": ("$.coupon = null", 15),
    "a field that is missing": ("not $.coupon", None),
    "a header": ("header.user:ann header.action:delete", len(range(0, len(ORDERS), 5))),
    "a person, anywhere": ("c1@example.org", 2),
    "a key": ("key:O-25", 2),
    "a number in JSON": ("$.cents > 150", sum(int(str(o["cents"])) > 150 for o in ORDERS)),
}


@pytest.mark.parametrize("question", SEARCHES)
def test_a_search_has_the_right_count(question: str, planted: Path) -> None:
    text, expected = SEARCHES[question]
    done = run("search", planted, text, "--count", "--json")
    if expected is None:  # of all JSON that has no such field
        others = 5 + 1  # customers, and O-late; neither text nor a tombstone
        expected = sum("coupon" not in order for order in ORDERS) + others
        assert expected <= done.json["count"] <= expected + 2
    else:
        assert done.json["count"] == expected


def _records_per_topic(planted: Path) -> None:
    done = run("ls", planted, "--topics", "--records", "--json").json
    counts = {row["topic"]: row["records"] for row in done["topics"]}
    assert counts["orders"] == len(ORDERS) + 2
    assert counts["customers"] == 6


def _message_at_a_time(planted: Path) -> None:
    stamp = dt.datetime.fromtimestamp((START + 30 * 60_000) / 1000, dt.UTC).isoformat()
    [found] = run("dump", planted, "-t", "orders", "--since", stamp, "-n", "1", "--json").lines
    assert (found["offset"], found["key"]) == (30, ORDERS[30]["order_id"])


def _connects_newest(planted: Path) -> None:
    found = run("dump", planted, "-t", "customers", "--latest", "--json").lines
    newest = {each["key"]: each["value"] and each["value"]["tier"] for each in found}
    assert newest == {"C-0": 0, "C-1": 9, "C-2": None, "C-3": 3}


def _what_fills_the_disk(planted: Path) -> None:
    rows = run("ls", planted, "--topics", "--sort", "size", "--json").json
    sizes = {each["topic"]: each["size"] for each in rows["topics"]}
    size = sum(path.stat().st_size for path in planted.glob("orders-0/*.log"))
    assert sizes["orders"] == size == max(sizes.values())


def _a_deleted_topic(planted: Path) -> None:
    to = planted.parent / f"{planted.name}-back"
    assert run("undelete", planted, "-t", "legacy", "--to", to).code == 0
    assert len(run("dump", to, "-t", "legacy").lines) == 5


def _masked(planted: Path) -> None:
    rules = planted.parent / f"{planted.name}.rules"
    rules.write_text("customers value.email hash\n")
    file = planted.parent / f"{planted.name}.csv"
    options = ("-t", "customers", "--value-format", "json", "--mask", rules, "--overwrite")
    assert run("export", planted, file, *options).code == 0
    text = file.read_text()
    assert "example.org" not in text
    assert sum("tier" in row["value"] for row in csv.DictReader(io.StringIO(text))) == 5


def _fields_in_parquet(planted: Path) -> None:
    file = planted.parent / f"{planted.name}.parquet"
    done = run("export", planted, file, "-t", "orders", "--value-format", "orders=json")
    assert done.code == 0
    values = pq.read_table(file)["value"].to_pylist()
    assert sum(each["cents"] or 0 for each in values if each) == SUM


OF_THE_PLANTED: dict[str, Callable[[Path], None]] = {
    "records per topic": _records_per_topic,
    "the record at a time": _message_at_a_time,
    "the newest of each key": _connects_newest,
    "what fills the disk": _what_fills_the_disk,
    "a deleted topic comes back": _a_deleted_topic,
    "an export without private data": _masked,
    "an export with fields": _fields_in_parquet,
}


@pytest.mark.parametrize("question", OF_THE_PLANTED)
def test_a_question_about_the_planted_directory(question: str, planted: Path) -> None:
    OF_THE_PLANTED[question](planted)


OF_BROKERS: dict[str, tuple[tuple[str | Path, ...], tuple[str, ...]]] = {
    "records that are committed": (
        ("ls", SHOP, "--topics", "--records"),
        ("payments", "5,203", "4,855"),
    ),
    "the committed count in SQL": (
        ("sql", SHOP, "select count(*) n from payments", "--isolation-level", "read_committed"),
        ('{"n": 4855}',),
    ),
    "the lag of a group": (
        ("offsets", SHOP, "-g", "order-dashboard", "-t", "orders", "-p", "0"),
        ("903", "1,588", "685"),
    ),
    "a group of KIP-848": (("group", "suggestions", SHOP), ("consumer", "Empty", "uniform")),
    "where a group resumes": (("group", SHOP, "payment-service"), ("orders-0", "1,588")),
    "is a group progressing": (("stuck", SHOP), ("shipping-labels", "advancing")),
    "an open transaction": (
        ("transactions", SHOP, "--open"),
        ("payments", "payments-eu", "4,736"),
    ),
    "why it is not compacted": (
        ("explain", SHOP, "-t", "customers"),
        ("min.cleanable.dirty.ratio", "active segment"),
    ),
    "does a broker start": (("predict", SHOP), ("the broker starts: 15 loads",)),
    "what is damaged": (("verify", DAMAGED / "flipped-byte-0"), ("CRC", "offset")),
    "who changed a configuration": (
        ("cluster", SHOP, "--history", "--only", "configs"),
        ("customers", "cleanup.policy", "compact"),
    ),
    "why it is not there": (("offset", "orders-0", "5", SHOP), ("orders-0", "5")),
    "values with a schema": (
        ("sql", REGISTRY, 'select value.text from orders order by "offset" limit 1'),
        ('{"text": "tea"}',),
    ),
}


@pytest.mark.parametrize("question", OF_BROKERS)
def test_a_question_about_what_a_broker_wrote(question: str) -> None:
    command, wanted = OF_BROKERS[question]
    done = run(*command)
    assert done.code in {0, 1, 2}, done.err
    for words in wanted:
        assert words in done.out, (words, done.out[:2000])


def test_there_are_the_questions_of_the_review() -> None:
    asked = [*SQL, *SEARCHES, *OF_THE_PLANTED, *OF_BROKERS]
    assert len(asked) == len(set(asked)) >= 38
