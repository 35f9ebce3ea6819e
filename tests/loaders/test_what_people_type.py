"""What people type first works, or is refused with a hint."""

import datetime as dt
import inspect
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.program import run
from workbench.runtime.times import milliseconds, time_range

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


@pytest.fixture(scope="module")
def logs() -> wb.LogDirectory:
    return wb.open_log_directory(SHOP)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("orders", "orders is a topic; its partitions are orders-0, orders-1, orders-2"),
        ("ordres-0", "no partition has the name ordres-0; did you mean orders-0"),
        (("orders", 0), "a partition's name is one text, as orders-0"),
    ],
)
def test_a_name_that_is_no_partitions_gets_a_hint(
    logs: wb.LogDirectory, name: str, hint: str
) -> None:
    with pytest.raises(KeyError, match=hint):
        logs[name]
    assert name not in logs
    assert logs.get(name) is None


def test_topics_of_a_scan_come_first(logs: wb.LogDirectory) -> None:
    assert logs.scan("returns", columns="offset").count() == 0
    assert logs.scan("orders", columns="offset").count() == 5200
    assert logs.scan(topics="orders", columns="offset").count() == 5200


def test_help_shows_every_option_of_a_scan() -> None:
    names = inspect.signature(wb.LogDirectory.scan).parameters
    assert {"topics", "where", "isolation_level", "decode", "limit"} <= set(names)
    assert names["isolation_level"].default == "read_uncommitted"


def test_a_misspelled_option_gets_a_hint(logs: wb.LogDirectory) -> None:
    with pytest.raises(TypeError, match="unknown option 'topic' of a scan; did you mean topics"):
        logs.scan(topic="orders")  # type: ignore[call-arg]


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
    at = partition.explain_retention(now="2024-12-10")  # type: ignore[arg-type]
    assert str(at) == str(partition.explain_retention(now=1_733_788_800_000))
