"""What people type first works, or is refused with a hint."""

import datetime as dt
import inspect
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import workbench as wb
from tests.cli.program import run
from workbench.runtime.times import milliseconds, time_range

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


@pytest.fixture(scope="module")
def logs() -> wb.LogDirectory:
    return wb.open_log_directory(SHOP)


WORKS = {
    'logs["orders"]': r"<Topic orders: 3 partitions, 1,351,677 bytes>",
    'logs["orders", 0]': r"<Partition orders-0 in .*>",
    'logs["orders"][2]': r"<Partition orders-2 in .*>",
    'logs["orders"].config': r"{'internal.segment.bytes': '131072'}",
    'logs["orders-0"].config': r"{'internal.segment.bytes': '131072'}",
    'logs["orders"].verify()': "<FindingList: nothing wrong>",
    'logs["orders-0"].verify()': "<FindingList: nothing wrong>",
    'logs["orders"].scan()': r"<Scan of orders-0, orders-1, orders-2: .*>",
    'logs["orders-0"].scan(columns="offset").count()': "1588",
    'len(logs["orders"].to_pandas(columns="offset"))': "5200",
    'logs["orders-0"].to_pandas(columns="offset").shape': r"\(1588, 1\)",
    'logs["orders-0"].to_arrow(limit=2).num_rows': "2",
    'logs["orders-0"][5]["key"]': "b'O-48228'",
    'logs["orders-0"][-1]["offset"]': "1587",
    'len(logs["orders-0"][5:8])': "3",
    'next(iter(logs["orders-0"]))["offset"]': "0",
    'logs.scan("orders")': r"<Scan of orders-0, .*>",
    'len(logs.scan("orders", columns="offset").limit(3))': "3",
    'logs.scan("orders").filter("$.amount>100 size>1000").count() > 0': "False",
    'logs.scan("orders").filter("key:O-48212").select("key").to_pylist()[0]': (
        r"{'key': b'O-48212'}"
    ),
    'logs.scan("orders", where="key:O-48212").filter("offset:0").select(["offset"]).to_pylist()': (
        r"\[{'offset': 0}\]"
    ),
    'logs.scan("orders-0".split("-")[0]).select("offset").tail(2)["offset"].to_pylist()': (
        r"\[\d+, \d+\]"
    ),
    'bool(logs.scan("returns"))': "False",
    'len(logs.scan("orders"))': "5200",
    'logs.scan("orders", timestamps="2024-11-26", columns="offset").count() > 0': "True",
    'logs.scan("orders", offsets=5).count()': "3",
    'logs.scan("orders", offsets="0:5").count()': "15",
    'logs.scan("orders", decode="json").head(1)["value"][0].as_py()["order_id"]': "'O-48212'",
    'logs.scan("orders", columns="offset").columns': r"\['offset'\]",
    'logs["orders-0"].explain_retention(now="2024-12-10")': r"<Explanation of orders-0: .*>",
    'logs["orders-0"].offset_for_timestamp("2024-11-26")': "227",
    'logs.explain_retention(now="2024-12-10")["orders-0"]': r"<Explanation of orders-0: .*>",
    'list(logs.plan_cleaning(now="2024-12-10"))[-1]': "'customers-1'",
    'logs.what_if({"retention.ms": "7d"}, now="2024-12-10")': r"<WhatIf at 2024-12-10T.*>",
    'wb.what_if(logs, {"orders:retention.ms": "12h"}, now=1_733_788_800_000)': r"<WhatIf .*>",
    "logs.serve()": "<Server not started, 7 topics>",
    'logs.compare("sample_data/two-brokers/broker2")': r"<ReplicaComparison .*>",
    "logs.verify()": "<FindingList: nothing wrong>",
    "logs.verify().to_pandas().shape": r"\(0, 8\)",
    'logs["orders-0"].segments[0].batches': r"<BatchTable: \d+ batches, .* Arrow table>",
    "logs.inspect": r"<Inspect: \d\d tables, .*>",
    "logs.inspect.configs().num_rows > 0": "True",
    "logs.inspect.acls().num_rows": "0",
    "logs.predict_startup()": "<StartupPrediction the broker starts: .*>",
    "logs.preflight()": "<Preflight the broker starts; topics: .*>",
    "[name for name in dir(wb) if name.startswith('Log')]": r"\['LogDirectory', 'LogManager'\]",
    "pa.table(logs['orders-0'].explain_retention()).num_rows > 0": "True",
    "logs.verify().to_arrow().num_rows": "0",
    "pa.table(logs['orders-0']).num_rows": "1588",
    'logs.get("ordres")': "None",
    '"orders" in logs': "False",
}
"""What people type first → the text of what they get."""

REFUSED = {
    'logs["ordres-0"]': "no topic or partition has the name ordres-0; did you mean orders-0",
    'logs["orders", 7]': r"orders has no partition 7 \(there are 0, 1, 2\)",
    'logs["zzz"]': r"no topic or partition has the name zzz \(topics: __cluster_metadata, ",
    'logs["orders-0"]["key"]': "'key' is not an offset",
    'logs["orders-0"][99999]': "orders-0 has no record at offset 99999: ",
    'logs.scan("ordres")': "unknown topic ordres; did you mean orders",
    'logs.scan(topic="orders")': "unknown option 'topic' of a scan; did you mean topics",
    'logs.scan("orders", columns="vlaue")': "unknown column vlaue; did you mean value",
    'logs.scan("orders").select("vlaue")': "unknown column vlaue; did you mean value",
    'logs.scan("orders").limit(3).filter("key:1")': "filter comes before limit",
    'logs.scan("orders").filter(pc.field("offset") > 5)': r"to_arrow\(\).filter",
    'logs.scan(decode={"value": "jason"})': "unknown decoding 'jason'.*did you mean json",
    'logs.scan("orders", timestamps="soon")': "'soon' is not a time",
    'logs["orders-0"].explain_retention(now="soon")': "'soon' is not a time",
    'logs["orders-0"].segments[0].batches.to_arrow()': r"logs.inspect.batches\(\)",
    'logs.what_if({"retention.mss": 5})': "did you mean retention.ms",
    'logs.what_if({"retention.ms": "7x"})': "retention.ms: '7x' is not",
    'logs.what_if({"log.retention.hours": "30m"})': "30m is not a whole number of hours",
    "wb.open": "did you mean open_log_directory",
    "wb.read": r"did you mean open_log_directory\(…\).scan",
    "wb.explain": r"did you mean open_log_directory\(…\).explain_cleaning",
    "wb.predict": r"did you mean open_log_directory\(…\).predict_startup",
    'logs.scan(value_format="json")': 'did you mean decode={"value": …}',
    "wb.scanario": "did you mean scenarios",
    'wb.recover("sample_data/shop-4.3.1")': "either to=OUT or in_place=True",
}
"""What people type first → the hint with which it is refused."""


def typed(code: str, logs: wb.LogDirectory) -> object:
    return eval(code, {"logs": logs, "wb": wb, "pa": pa, "pc": pc})  # noqa: S307 - it is ours


@pytest.mark.parametrize(("code", "shown"), WORKS.items())
def test_what_is_typed_first_works(
    code: str, shown: str, logs: wb.LogDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(SHOP.parents[1])
    assert re.fullmatch(shown, repr(typed(code, logs)))


@pytest.mark.parametrize(("code", "hint"), REFUSED.items())
def test_or_is_refused_with_a_hint(
    code: str, hint: str, logs: wb.LogDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(SHOP.parents[1])
    with pytest.raises(Exception, match=hint):
        typed(code, logs)


def test_the_end_of_a_scan_is_the_end_of_what_it_reads(logs: wb.LogDirectory) -> None:
    scans = [
        logs.scan("orders", columns=["partition", "offset"]),
        logs.scan("orders", columns=["partition", "offset"], where="offset<700"),
        logs.scan("clicks", columns=["partition", "offset"], limit=50),
        logs.scan("payments", columns=["offset"], isolation_level="read_committed"),
        logs.scan("customers", columns=["key", "offset"], latest=True),
        logs.scan(columns=["topic", "offset"], everything=True),
        logs.scan("orders", columns=["offset"], offsets="10:20"),
    ]
    for scan in scans:
        whole = scan.to_arrow()
        for count in (0, 1, 40, 1600):
            assert scan.tail(count) == whole.slice(max(len(whole) - count, 0))


def test_names_of_topics_are_no_keys(logs: wb.LogDirectory) -> None:
    assert "orders" not in logs
    assert sorted(logs) == sorted(logs.listing.partitions)


def test_topics_of_a_scan_come_first(logs: wb.LogDirectory) -> None:
    assert logs.scan("returns", columns="offset").count() == 0
    assert logs.scan("orders", columns="offset").count() == 5200
    assert logs.scan(topics="orders", columns="offset").count() == 5200


def test_help_shows_every_option_of_a_scan() -> None:
    names = inspect.signature(wb.LogDirectory.scan).parameters
    assert {"topics", "where", "isolation_level", "decode", "limit"} <= set(names)
    assert names["isolation_level"].default == "read_uncommitted"


@pytest.mark.parametrize(
    ("offsets", "wanted"),
    [
        (5, [5]),
        ("5", [5]),
        ("0:3", [0, 1, 2]),
        (":2", [0, 1]),
        ("1586:", [1586, 1587]),
        ("-2:", [1586, 1587]),
        ((-2, None), [1586, 1587]),
        ("-3:-1", [1585, 1586]),
        ({"orders-0": "-1:"}, [1587]),
    ],
)
def test_offsets_are_given_as_on_the_command_line(
    logs: wb.LogDirectory, offsets: object, wanted: list[int]
) -> None:
    scan = logs.scan(partitions="orders-0", columns="offset", offsets=offsets)  # type: ignore[arg-type]
    assert scan.to_arrow()["offset"].to_pylist() == wanted


@pytest.mark.parametrize("offsets", ["-2", "5-7", "", "a:b"])
def test_what_is_no_range_of_offsets_is_refused(logs: wb.LogDirectory, offsets: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        logs.scan("orders", offsets=offsets)


def test_a_day_is_a_range_of_times(logs: wb.LogDirectory) -> None:
    day = logs.scan("orders", timestamps="2024-11-26", columns="timestamp").to_arrow()
    whole = logs.scan("orders", columns="timestamp").to_arrow()
    wanted = [
        each for each in whole["timestamp"].to_pylist() if each.date() == dt.date(2024, 11, 26)
    ]
    assert len(day) == len(wanted) > 0
    with pytest.raises(ValueError, match="expected a pair"):
        logs.scan("orders", timestamps="2024-11-26T12:00")


def test_times_before_now_are_understood_by_python_and_the_command_line() -> None:
    now = milliseconds("now")
    assert 0 <= milliseconds("-1h") - (now - 3_600_000) < 60_000
    assert milliseconds("today") - milliseconds("yesterday") == 86_400_000
    assert milliseconds("today") % 86_400_000 == 0
    assert time_range("yesterday") == (milliseconds("yesterday"), milliseconds("today"))
    assert milliseconds("1732500000000") == 1_732_500_000_000
    done = run("dump", SHOP, "-t", "orders", "--since", "-1h", "--format", "jsonl")
    assert (done.code, done.out) == (0, "")
    assert run("dump", SHOP, "-t", "orders", "--since", "soon").code == 3


def test_a_decoding_alone_is_that_of_the_values(logs: wb.LogDirectory) -> None:
    table = logs.scan("orders", decode="json", limit=1).to_arrow()
    assert table["value"][0].as_py()["order_id"] == "O-48212"


def test_times_are_dates_wherever_a_call_takes_one(logs: wb.LogDirectory) -> None:
    partition = logs["orders-0"]
    as_text = partition.offset_for_timestamp("2024-11-26")
    assert as_text == partition.offset_for_timestamp(1_732_579_200_000)
    assert as_text is not None
    at = partition.explain_retention(now="2024-12-10")
    assert str(at) == str(partition.explain_retention(now=1_733_788_800_000))


GUESSED: dict[str, str] = {
    'logs["orders"].head': "scan().head",
    'logs["orders"].to_polars': "scan().to_polars",
    'logs["orders"].verfy': "verify",
    'logs["orders-0"].count': "scan().count",
    'logs["orders-0"].search': "scan().filter",
    "logs.scan().search": "filter",
    "logs.scan().to_dicts": "to_pylist",
    "logs.scan().write_parquet": "to_parquet",
    "logs.groups": "inspect.groups",
    "logs.group": "explain_group",
    "logs.explain": "explain_cleaning",
    "logs.lag": "inspect.group_lags",
    "logs.latest": "scan(latest=True)",
    'logs["customers"].latest': "scan(latest=True)",
    "logs.predict": "predict_startup",
    "logs.size": "inspect.disk_usage",
    "logs.batches": "inspect.batches",
    "logs.query": "sql",
    "logs.toppics": "topics",
}


@pytest.mark.parametrize("guess", GUESSED)
def test_a_name_that_is_elsewhere_is_told(logs: wb.LogDirectory, guess: str) -> None:
    found, _, name = guess.rpartition(".")
    hint = f"has no attribute {name!r}; did you mean {GUESSED[guess]}?"
    with pytest.raises(AttributeError, match=f"{re.escape(hint)}$"):
        typed(guess, logs)
    assert typed(f"{found}.{GUESSED[guess]}", logs) is not None


def test_a_directory_can_be_closed(logs: wb.LogDirectory) -> None:
    with wb.open_log_directory(SHOP) as opened:
        assert opened["orders-0"][5]["key"] == logs["orders-0"][5]["key"]
    opened.close()
    assert len(opened) == len(logs)  # nothing was held open
