"""Kafka's own topics are left out unless they are named, and the answer says so: at every door."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import workbench as wb
from tests.cli.program import run

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
OWN = {"__cluster_metadata", "__consumer_offsets", "__transaction_state"}
USERS = {"clicks", "customers", "orders", "payments"}
LEFT_OUT = "3 of Kafka's own topics left out: "


@pytest.fixture(scope="module")
def logs() -> wb.LogDirectory:
    return wb.open_log_directory(SHOP)


@pytest.fixture(scope="module")
def counts() -> dict[str, int]:
    """Records per topic by the headers of the batches, without those of control batches."""
    found: Counter[str] = Counter()
    for path in SHOP.glob("*/*.log"):
        data, at = path.read_bytes(), 0
        while at + 61 <= len(data):
            if not data[at + 22] & 0x20:
                topic = path.parent.name.rpartition("-")[0]
                found[topic] += int.from_bytes(data[at + 57 : at + 61], "big")
            at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    return dict(found)


def topics_of(scan: wb.Scan) -> set[str]:
    return {partition.topic for partition in scan.partitions}


def test_a_scan_is_of_the_topics_of_users(logs: wb.LogDirectory) -> None:
    scan = logs.scan()
    assert topics_of(scan) >= USERS
    assert not OWN & topics_of(scan)
    own = [each for each in scan.left_out if each.kind == "internal"]
    assert {str(each).split()[2] for each in own} == OWN
    assert sum(each.size or 0 for each in own) == sum(
        path.stat().st_size for name in OWN for path in SHOP.glob(f"{name}-*/*.log")
    )
    assert topics_of(logs.scan(partitions=0)) == topics_of(scan)


@pytest.mark.parametrize(
    "options",
    [
        {"include_internal": True},
        {"everything": True},
        {"topics": "__consumer_offsets"},
        {"topics": ["orders", "__consumer_offsets"]},
        {"where": "topic:__consumer_offsets"},
    ],
)
def test_they_are_there_for_those_who_name_them(
    logs: wb.LogDirectory, options: dict[str, Any]
) -> None:
    scan = logs.scan(**options)
    assert "__consumer_offsets" in topics_of(scan)
    assert "__consumer_offsets" not in {
        str(each).split()[2] for each in scan.left_out if each.kind == "internal"
    }


def test_a_partition_that_is_named_or_opened_alone_is_meant(logs: wb.LogDirectory) -> None:
    name = next(name for name in logs if name.startswith("__consumer_offsets-"))
    assert topics_of(logs.scan(partitions=name)) == {"__consumer_offsets"}
    assert topics_of(logs[name].scan()) == {"__consumer_offsets"}
    assert topics_of(wb.open_log_directory(SHOP / name).scan()) == {"__consumer_offsets"}
    lines = run("dump", SHOP / "__cluster_metadata-0", "-n", "2").lines
    assert [line["topic"] for line in lines] == ["__cluster_metadata"] * 2


def test_a_query_that_excludes_a_topic_names_no_other(logs: wb.LogDirectory) -> None:
    assert topics_of(logs.scan(where="-topic:orders")) == topics_of(logs.scan()) - {"orders"}


def test_a_directory_of_nothing_else_is_read(tmp_path: Path) -> None:
    """A controller's directory has the metadata log alone."""
    with wb.LogManager([str(tmp_path / "logs")]) as manager:
        manager.get_or_create_log("__consumer_offsets", 0).append([(b"k", b"v")])
    logs = wb.open_log_directory(tmp_path / "logs")
    assert logs.scan().count() == 1
    assert len(run("dump", tmp_path / "logs").lines) == 1


def test_every_command_says_what_it_leaves_out(counts: dict[str, int], tmp_path: Path) -> None:
    expected = sum(count for topic, count in counts.items() if topic not in OWN)
    dumped = run("dump", SHOP)
    assert len(dumped.lines) == expected
    assert not OWN & {line["topic"] for line in dumped.lines}
    assert f"{LEFT_OUT}name them with -t" in dumped.err
    for name in ("x.parquet", "x.csv", "x.jsonl"):
        exported = run("export", SHOP, tmp_path / name, "--json")
        assert exported.json["records"] == expected, name
        assert f"{LEFT_OUT}name them with -t" in exported.err, name
    assert set(pq.read_table(tmp_path / "x.parquet")["topic"].to_pylist()) == {
        topic for topic, count in counts.items() if count and topic not in OWN
    }
    counted = run("sql", SHOP, "select count(*) n from records")
    assert counted.lines == [{"n": expected}]
    assert f"{LEFT_OUT}query them by name" in counted.err
    [named] = run("sql", SHOP, "select count(*) n from __consumer_offsets").lines
    assert named["n"] == counts["__consumer_offsets"]
    named_err = run("dump", SHOP, "-t", "__consumer_offsets").err
    assert "of Kafka's own" not in named_err
    one = run("dump", SHOP, "-t", "orders", "-n", "1")
    assert "of Kafka's own" not in one.err


def test_a_search_reads_them_all_the_same() -> None:
    """Whoever looks for a name must not miss it in a topic of Kafka's own."""
    found = run("search", SHOP, "payment-service", "--json")
    assert "__consumer_offsets" in {json.loads(line)["topic"] for line in found.out.splitlines()}
    assert "of Kafka's own" not in found.err
