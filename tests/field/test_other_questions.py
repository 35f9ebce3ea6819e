"""Answers to cases from the field that no start decides: foreign segments, newest values."""

import shutil
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.program import run
from tests.field.cases import open_field_case
from workbench.errors import LogDirectoryError
from workbench.files.redpanda_segment import is_redpanda_segment

NEWEST = """
    select decode(key) connector, partition, max("offset"),
           arg_max_null(decode(value), "offset") position
    from "connect-offsets" group by all order by all
"""


def test_connectors_stand_at_their_newest_records_and_a_tombstone_is_a_reset(
    tmp_path: Path,
) -> None:
    data = open_field_case("connect-offsets", tmp_path).data
    assert wb.open_log_directory(data).sql(NEWEST).fetchall() == [
        ('["files-in",{"filename":"/in/a.csv"}]', 3, 79, '{"position":19968}'),
        ('["jdbc-old",{"table":"t1"}]', 0, 13, None),
        ('["pg-source",{"server":"shop"}]', 3, 78, '{"lsn":1273,"txId":39}'),
    ]


WITHOUT_EPOCH = """
    select distinct "group", topic, partition from group_offsets
    where "offset" is not null and leader_epoch is null
    order by all
"""


def test_groups_that_commit_without_a_leader_epoch_are_seen(tmp_path: Path) -> None:
    case = open_field_case("no-epoch", tmp_path)
    expected = [
        (group, "orders", partition)
        for group, commits in sorted(case.truth.items())
        for partition, _, epoch in commits
        if epoch is None
    ]
    assert expected == [
        ("reader-manual", "orders", 0),
        ("reader-manual", "orders", 1),
        ("reader-mixed", "orders", 1),
    ]
    assert wb.open_log_directory(case.data).sql(WITHOUT_EPOCH).fetchall() == expected
    now = "2026-11-28T17:00:00Z"
    lines = run("offsets", case.data, "--now", now).out.splitlines()
    at = lines[0].split().index("epoch")
    shown = [tuple(line.split()[:3]) for line in lines[1:] if line.split()[at] == "–"]
    assert shown == [(group, topic, str(partition)) for group, topic, partition in expected]
    for group, said in (("reader-manual", 2), ("reader-mixed", 1), ("reader-java", 0)):
        assert (
            run("group", group, case.data, "--now", now).out.count("without a leader epoch") == said
        )


SPELLINGS = """
    select json_keys(decode(key)) spelling, list(decode(key)->>'subject') subjects
    from _schemas_latest where decode(key)->>'keytype' = 'SCHEMA' group by all order by all
"""


def test_keys_of_schemas_that_a_deletion_would_miss_are_spelled_otherwise(tmp_path: Path) -> None:
    logs = wb.open_log_directory(open_field_case("schema-orphan", tmp_path).data)
    found = {tuple(names): sorted(subjects) for names, subjects in logs.sql(SPELLINGS).fetchall()}
    assert found == {
        ("keytype", "subject", "version", "magic"): ["orders-value"],
        ("magic", "keytype", "subject", "version"): ["clicks-value", "users-value"],
    }


def test_batches_that_are_too_large_are_found_by_batch(tmp_path: Path) -> None:
    logs = wb.open_log_directory(open_field_case("no-epoch", tmp_path).data)
    query = "select topic, size from batches where size > 300 order by size desc"
    rows = [
        ("orders", int(size))
        for partition in logs.values()
        if partition.topic == "orders"
        for segment in partition.segments
        for size in segment.batches.rows["size"]
        if size > 300
    ]
    assert rows
    assert [row for row in logs.sql(query).fetchall() if row[0] == "orders"] == sorted(
        rows, key=lambda row: -row[1]
    )
    said = run(
        "search", open_field_case("no-epoch", tmp_path / "again").data, "--where", "size > 300"
    )
    assert "from batches where size > N" in said.err


@pytest.fixture
def redpanda(tmp_path: Path) -> Path:
    return open_field_case("redpanda", tmp_path).data


@pytest.mark.parametrize("place", ["", "kafka/orders/0_12", "kafka/orders/0_12/0-1-v1.log"])
@pytest.mark.parametrize("command", ["ls", "describe", "dump", "verify"])
def test_segments_of_redpanda_are_named(redpanda: Path, place: str, command: str) -> None:
    outcome = run(command, redpanda / place)
    assert outcome.code == 3
    assert "is a segment of Redpanda, not of Kafka" in outcome.err
    with pytest.raises(LogDirectoryError, match="Redpanda"):
        wb.verify(redpanda / place)


def test_a_name_like_redpandas_alone_is_not_its_segment(redpanda: Path, tmp_path: Path) -> None:
    segment = redpanda / "kafka" / "orders" / "0_12" / "0-1-v1.log"
    assert is_redpanda_segment(str(segment))
    other = tmp_path / "0-1-v1.log"
    damaged = bytearray(segment.read_bytes())
    damaged[20] ^= 1  # in the header
    other.write_bytes(damaged)
    assert not is_redpanda_segment(str(other))
    other.write_bytes(segment.read_bytes()[:60])
    assert not is_redpanda_segment(str(other))
    shutil.copy(segment, tmp_path / "00000000000000000000.log")
    assert not is_redpanda_segment(str(tmp_path / "00000000000000000000.log"))


def test_the_last_sequences_of_producers_are_those_that_the_broker_described(
    tmp_path: Path,
) -> None:
    case = open_field_case("producer-state", tmp_path)
    known = [line.split() for line in case.truth["state"][1:]]
    told = run("describe", case.data, "-p", "warnings-0", "--json").json
    assert [
        (each["producer_id"], each["producer_epoch"], each["last_sequence"], each["timestamp"])
        for each in told["producers_in_newest_snapshot"]
    ] == [(int(row[0]), int(row[1]), int(row[3]), int(row[4])) for row in known]


def test_a_deleted_schema_still_decodes_and_is_found(tmp_path: Path) -> None:
    data = open_field_case("schema-gone", tmp_path).data
    lines = run("dump", data, "-t", "orders", "--value-format", "avro", "--json").lines
    assert [each["value"]["id"] for each in lines] == [*range(1000, 1020)]
    found = run("search", data, "-t", "_schemas", "--where", "$.id=20", "--json").lines
    assert [each["offset"] for each in found] == [2, 3]


def test_what_retention_took_of_a_history_and_since_when_it_does_not(tmp_path: Path) -> None:
    data = open_field_case("schema-history", tmp_path).data
    told = run("offset", "schema-history.shop-0", "3", data, "--json").json
    assert (told["fate"], told["first_offset"], told["last_offset"]) == ("deleted", 0, 6)
    assert told["path"].endswith("00000000000000000003.log.deleted")
    changes = run("cluster", data, "--history", "--only", "configs", "--json").json
    assert [
        (each["timestamp"], each["before"], each["after"])
        for each in changes
        if each["entity"] == "topic schema-history.shop" and each["field"] == "retention.ms"
    ] == [(1795882582489, None, "604800000"), (1795882601309, "604800000", "-1")]


def test_a_time_gives_the_offset_that_the_broker_gave(tmp_path: Path) -> None:
    case = open_field_case("time-lookup", tmp_path)
    partition = wb.open_log_directory(case.data)["events-0"]
    scanned = partition.scan(columns=["offset", "timestamp"]).to_arrow()
    times = scanned["timestamp"].cast("int64").to_pylist()
    for time, offset in case.truth["offsets_for_times"].items():
        found = partition.offset_for_timestamp(int(time))
        assert (-1 if found is None else found) == offset
        early = case.truth["early"][time]
        if offset >= 0:
            assert sum(each < int(time) for each in times[offset:]) == early
