"""Options: those of Spark's Kafka source in all their forms, and what is refused."""

import json
from typing import Any

import pytest

from workbench.spark_source.options import parse_options

pytestmark = pytest.mark.spark  # it imports pyspark, as the source does


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "needs a path"),
        ({"path": "x", "subscribe": "a", "subscribePattern": "b"}, "only one of"),
        ({"path": "x", "subscribe": " , "}, "no topics"),
        ({"path": "x", "subscribePattern": " "}, "pattern is empty"),
        ({"path": "x", "subscribePattern": "("}, "unterminated"),
        ({"path": "x", "assign": "orders"}, "expected such as"),
        ({"path": "x", "starting": "1"}, "unknown option 'starting'"),
        ({"path": "x", "startingOffsets": "latest"}, "starting offset can't be latest"),
        ({"path": "x", "endingOffsets": "earliest"}, "ending offset can't be earliest"),
        (
            {"path": "x", "startingOffsets": '{"a":{"0":-1}}'},
            "starting offset for a-0 can't be latest",
        ),
        (
            {"path": "x", "endingOffsets": '{"a":{"0":-2}}'},
            "ending offset for a-0 can't be earliest",
        ),
        ({"path": "x", "startingOffsets": "first"}, "expected such as"),
        ({"path": "x", "startingTimestamp": "noon"}, "not a single time: 'noon' is not a time"),
        ({"path": "x", "startingOffsetsByTimestamp": "[1]"}, "expected such as"),
        ({"path": "x", "startingOffsetsByTimestampStrategy": "any"}, "not error or latest"),
        ({"path": "x", "startingOffsetsByTimestamp": '{"a":{"0":"noon"}}'}, "expected such as"),
        ({"path": "x", "minPartitions": "0"}, "minPartitions must be positive"),
        ({"path": "x", "maxRecordsPerPartition": "-1"}, "maxRecordsPerPartition must be positive"),
        ({"path": "x", "maxPartitionBytes": "much"}, "not a size"),
        ({"path": "x", "includeHeaders": "perhaps"}, "not true or false"),
        ({"path": "x", "onCorrupt": "pray"}, "not fail, skip or rows"),
        ({"path": "x", "columns": "key,colour"}, "unknown column colour"),
        ({"path": "x", "kafka.isolation.level": "none"}, "isolation.level is 'none'"),
        ({"path": "x", "kafka.auto.offset.reset": "latest"}, "set startingOffsets"),
        ({"path": "x", "kafka.key.deserializer": "X"}, "set decode"),
        ({"path": "x", "kafka.enable.auto.commit": "true"}, "is not supported"),
        ({"path": "x", "topic": "orders"}, "unknown option 'topic' of kafka-log; did you mean sub"),
        ({"path": "x", "isolation_level": "x"}, "did you mean kafka.isolation.level"),
        ({"path": "x", "decode": "[1]"}, "not a JSON object"),
    ],
)
def test_an_option_without_meaning_is_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        parse_options(options)


@pytest.mark.parametrize("name", ["endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"])
def test_a_stream_has_no_end(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is not valid in streaming queries"):
        parse_options({"path": "x", name: "latest"}, streaming=True)


def test_names_of_options_are_known_in_any_case() -> None:
    found = parse_options({"PATH": "x", "STARTINGOFFSETS": "Earliest", "MaxPartitionBytes": "64M"})
    assert (found.starting.everywhere, found.max_partition_bytes) == (-2, 64 << 20)


def test_a_time_goes_before_times_and_those_before_offsets() -> None:
    three = {
        "path": "x",
        "startingOffsets": '{"a":{"0":1}}',
        "startingOffsetsByTimestamp": '{"a":{"0":2}}',
        "startingTimestamp": "3",
    }
    assert parse_options(three).starting.timestamp == 3
    del three["startingTimestamp"]
    assert parse_options(three).starting.timestamps == {"a-0": 2}
    del three["startingOffsetsByTimestamp"]
    assert parse_options(three).starting.offsets == {"a-0": 1}


def test_times_are_numbers_or_iso_8601() -> None:
    texts = ("1700000001040", "2023-11-14T22:13:21.040Z", "2023-11-14T23:13:21.040+01:00")
    for text in texts:
        by_partition = json.dumps({"a": {"0": text}})
        given = {"startingTimestamp": text, "endingOffsetsByTimestamp": by_partition}
        found = parse_options({"path": "x", **given})
        assert found.starting.timestamp == 1_700_000_001_040
        assert found.ending.timestamps == {"a-0": 1_700_000_001_040}
    assert parse_options({"path": "x", "endingTimestamp": "3"}).ending.timestamp == 3


def test_a_micro_batch_waits_for_a_quarter_of_an_hour_unless_it_is_told_how_long() -> None:
    delays = {"": 900_000, "500": 500, "500ms": 500, "2m": 120_000, "1h": 3_600_000}
    for text, delay in delays.items():
        given = {"maxTriggerDelay": text} if text else {}
        assert parse_options({"path": "x", **given}, streaming=True).max_delay_ms == delay


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"maxTriggerDelay": "soon"}, "maxTriggerDelay is 'soon': 'soon' is not a span of time"),
        (
            {"minOffsetsPerTrigger": "3", "maxOffsetsPerTrigger": "2"},
            "minOffsetsPerTrigger is 3, above maxOffsetsPerTrigger, 2",
        ),
    ],
)
def test_what_a_micro_batch_cannot_wait_for_is_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_options({"path": "x", **options}, streaming=True)


def test_a_query_begins_at_the_earliest_and_a_stream_at_the_latest_offset() -> None:
    assert parse_options({"path": "x"}).starting.everywhere == -2
    assert parse_options({"path": "x"}, streaming=True).starting.everywhere == -1
    assert parse_options({"path": "x"}).ending.is_latest


@pytest.mark.parametrize(
    ("path", "paths"),
    [
        ("/a,/b", ("/a", "/b")),
        ("file:/a", ("/a",)),
        ("file:///a", ("/a",)),
        ("s3://bucket/logs", ("s3://bucket/logs",)),
    ],
)
def test_a_path_is_one_directory_or_several(path: str, paths: Any) -> None:
    assert parse_options({"path": path}).paths == paths


def test_options_for_a_broker_are_passed_over() -> None:
    given = {"path": "/data", "kafka.bootstrap.servers": "localhost:9092", "groupIdPrefix": "me"}
    assert parse_options(given) == parse_options({"path": "/data"})


def test_damage_is_left_out_where_loss_of_data_is_no_failure() -> None:
    assert parse_options({"path": "x"}).on_corrupt == "fail"
    assert parse_options({"path": "x", "failOnDataLoss": "false"}).on_corrupt == "skip"
    assert parse_options({"path": "x", "onCorrupt": "rows"}).columns[-1] == "damage"


@pytest.mark.parametrize("text", ["json", ' {"value": "json"} '])
def test_a_decoding_alone_is_that_of_values(text: str) -> None:
    assert parse_options({"path": "x", "decode": text}).decode == {"value": "json"}
