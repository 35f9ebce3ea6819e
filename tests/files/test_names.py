import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.files.names import (
    CLEANED,
    DELETED,
    MAX_EPOCH,
    MAX_OFFSET,
    MAX_PARTITION,
    PART,
    SWAP,
    DirectoryKind,
    DirectoryName,
    FileKind,
    FileName,
    TopicPartition,
    directory_name,
    file_name,
    misnamed_kind,
    parse_directory_name,
    parse_file_name,
    topic_name_problem,
)

TOPICS = st.from_regex(r"[a-zA-Z0-9._-]{1,249}", fullmatch=True)
PARTITIONS = st.integers(0, MAX_PARTITION)
IDS = st.from_regex(r"[0-9a-f]{32}", fullmatch=True)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("00000000000000000000.log", FileName("log", 0)),
        ("00000000000000031007.index", FileName("index", 31007)),
        ("00000000000000031007.timeindex.cleaned", FileName("timeindex", 31007, CLEANED)),
        ("00000000000000031007.txnindex.swap", FileName("txnindex", 31007, SWAP)),
        ("09223372036854775807.snapshot.deleted", FileName("snapshot", MAX_OFFSET, DELETED)),
        (
            "00000000000000000220-0000000003.checkpoint",
            FileName("checkpoint", 220, "", 3),
        ),
        (
            "00000000000000000220-0000000003.checkpoint.deleted",
            FileName("checkpoint", 220, DELETED, 3),
        ),
    ],
)
def test_names_of_files_are_built_and_parsed(name: str, parts: FileName) -> None:
    assert parse_file_name(name) == parts
    assert file_name(*parts) == name


def test_a_metadata_snapshot_being_written_has_a_random_number_in_its_name() -> None:
    name = "00000000000000000220-0000000003-4711.checkpoint.part"
    assert parse_file_name(name) == FileName("checkpoint", 220, PART, 3)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".log",
        "5.log",
        "0000000000000000000.log",
        "000000000000000000000.log",
        "09223372036854775808.log",
        "99999999999999999999.log",
        "+0000000000000000001.log",
        "-0000000000000000001.log",
        "0000000000000000_001.log",
        "\u0660" * 20 + ".log",
        "00000000000000000000",
        "00000000000000000000.",
        "00000000000000000000.LOG",
        "00000000000000000000.log.tmp",
        "00000000000000000000.log.deleted.deleted",
        "00000000000000000000.checkpoint",
        "00000000000000000000-000000000.checkpoint",
        "00000000000000000000-2147483648.checkpoint",
        "00000000000000000000-0000000000.log",
        "00000000000000000000-0000000000.checkpoint.swap",
        "00000000000000000000-vmQgF9teTKaRJL7SrniIxQ.log",
        "leader-epoch-checkpoint",
        "partition.metadata",
        "orders-0",
    ],
)
def test_other_names_are_no_files_of_an_offset(name: str) -> None:
    assert parse_file_name(name) is None


@given(
    kind=st.sampled_from(["log", "index", "timeindex", "txnindex", "snapshot"]),
    offset=st.integers(0, MAX_OFFSET),
    suffix=st.sampled_from(["", DELETED, CLEANED, SWAP]),
)
def test_file_names_round_trip(kind: FileKind, offset: int, suffix: str) -> None:
    name = FileName(kind, offset, suffix)
    assert parse_file_name(file_name(*name)) == name


@given(
    offset=st.integers(0, MAX_OFFSET),
    epoch=st.integers(0, MAX_EPOCH),
    suffix=st.sampled_from(["", DELETED, PART]),
)
def test_metadata_snapshot_names_round_trip(offset: int, epoch: int, suffix: str) -> None:
    name = FileName("checkpoint", offset, suffix, epoch)
    assert parse_file_name(file_name(*name)) == name


@given(st.text(max_size=60))
def test_parsing_a_name_never_raises(name: str) -> None:
    parts = parse_file_name(name)
    assert parts is None or parts.suffix == PART or file_name(*parts) == name
    directory = parse_directory_name(name)
    assert directory is None or isinstance(directory.partition, int)
    misnamed_kind(name)
    topic_name_problem(name)


def test_a_file_of_a_segment_with_a_wrong_number_is_recognised() -> None:
    assert misnamed_kind("5.log") == "log"
    assert misnamed_kind("orders.timeindex") == "timeindex"
    assert misnamed_kind("99999999999999999999.snapshot") == "snapshot"
    assert misnamed_kind("00000000000000000005.log") is None
    assert misnamed_kind("notes.txt") is None


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("orders-0", DirectoryName("orders", 0)),
        ("a-b-c-12", DirectoryName("a-b-c", 12)),
        ("a--5", DirectoryName("a-", 5)),
        ("topic-1-2", DirectoryName("topic-1", 2)),
        ("__consumer_offsets-49", DirectoryName("__consumer_offsets", 49)),
        (
            "orders-0.0123456789abcdef0123456789abcdef-delete",
            DirectoryName("orders", 0, "delete", "0123456789abcdef0123456789abcdef"),
        ),
        ("a.b-7.00ff-stray", DirectoryName("a.b", 7, "stray", "00ff")),
        ("a.b-7.00ff-future", DirectoryName("a.b", 7, "future", "00ff")),
    ],
)
def test_names_of_partition_folders_are_built_and_parsed(name: str, parts: DirectoryName) -> None:
    """LL-1."""
    assert parse_directory_name(name) == parts
    assert directory_name(*parts) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "-",
        "orders",
        "orders-",
        "-0",
        "orders-x",
        "orders-2147483648",
        "orders-0-delete",
        "orders-0.-delete",
        "orders-0 .x-delete",
        "orders.abc-delete",
        "not_a_partition",
        "remote-log-index-cache",
    ],
)
def test_other_folders_are_no_partitions(name: str) -> None:
    """LL-1."""
    assert parse_directory_name(name) is None


def test_a_topic_called_delete_is_no_deleted_partition() -> None:
    assert parse_directory_name("to-delete-3") == DirectoryName("to-delete", 3)


@given(TOPICS, PARTITIONS)
def test_folder_names_round_trip(topic: str, partition: int) -> None:
    assert parse_directory_name(directory_name(topic, partition)) == (topic, partition, "log", None)
    assert str(TopicPartition(topic, partition)) == directory_name(topic, partition)


@given(TOPICS, PARTITIONS, st.sampled_from(["delete", "stray"]), IDS)
def test_names_to_delete_are_cut_to_what_a_file_system_takes(
    topic: str, partition: int, kind: DirectoryKind, unique_id: str
) -> None:
    """LL-2."""
    name = directory_name(topic, partition, kind, unique_id)
    assert len(name) <= 255
    parts = parse_directory_name(name)
    assert parts is not None
    assert topic.startswith(parts.topic)
    assert parts[1:] == (partition, kind, unique_id)


def test_future_names_are_not_cut() -> None:
    assert len(directory_name("t" * 249, 0, "future", "0" * 32)) == 249 + 2 + 1 + 32 + 7


@pytest.mark.parametrize("topic", ["orders", "a.b_c-D9", "...", "x" * 249])
def test_topic_names_that_a_broker_takes(topic: str) -> None:
    assert topic_name_problem(topic) is None


@pytest.mark.parametrize("topic", ["", ".", "..", "x" * 250, "a b", "a/b", "ü", "a\n"])
def test_topic_names_that_a_broker_refuses(topic: str) -> None:
    assert topic_name_problem(topic)


def test_the_names_of_ten_thousand_partitions_parse_fast() -> None:
    kinds = (".log", ".index", ".timeindex", ".snapshot", ".txnindex", ".log.deleted", ".log.swap")
    names = [f"{offset:020d}{kind}" for offset in range(10_000) for kind in kinds]
    names += ["leader-epoch-checkpoint", "partition.metadata"] * 10_000
    costs = []
    for _ in range(3):  # other tests' threads, and a collection of their garbage, are no cost of it
        start = time.thread_time()
        found = [parse_file_name(name) for name in names]
        costs.append(time.thread_time() - start)
        assert sum(name is not None for name in found) == 70_000
    assert min(costs) < 1, (
        "0.1 s on a machine of 2024; a regular expression a name takes three times that"
    )
