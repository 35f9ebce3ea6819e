from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.program import run
from tests.golden.cases import Case
from workbench.files.meta_properties import MetaProperties
from workbench.inspection.bytes.fields import explain_batch
from workbench.log_directory import open_log_directory

Golden = Callable[[str], Case]


@pytest.fixture
def directory(golden: Golden) -> Path:
    return golden("4.2.0-txn").directory("data")


def test_a_directory_says_who_wrote_it_and_which_topics_it_has(directory: Path) -> None:
    told = run("describe", directory, "--json").json
    logs = open_log_directory(directory)
    root = told["directories"][0]
    meta = MetaProperties.read(str(directory / "meta.properties"))
    assert (root["cluster_id"], root["node_id"]) == (meta.cluster_id, meta.node_id)
    assert root["partitions"] == len(logs)
    assert [topic["topic"] for topic in told["topics"]] == logs.topics
    assert root["problems"] == []


def test_a_partition_says_its_offsets_segments_and_transactions(directory: Path) -> None:
    told = run("describe", directory, "--partition", "txn-a-0", "--json").json
    partition = open_log_directory(directory)["txn-a-0"]
    assert told["log_start_offset"] == partition.log_start_offset
    assert told["log_end_offset"] == partition.log_end_offset
    assert told["topic_id"] == partition.topic_id
    assert [s["base_offset"] for s in told["segments"]] == [
        segment.base_offset for segment in partition.segments
    ]
    plain = run("dump", directory, "-p", "txn-a-0", "--json").lines
    assert told["records"] == len(plain)
    markers = run("dump", directory, "-p", "txn-a-0", "--json", "--control").lines
    assert told["control_records"] == len(markers) - len(plain)
    assert told["aborted_transactions"]
    assert told["leader_epochs"]
    alone = run("describe", directory / "txn-a-0", "--json").json
    assert alone["segments"] == told["segments"]


def test_a_segment_says_its_batches_and_index_entries(directory: Path) -> None:
    segment = open_log_directory(directory)["txn-a-0"].segments[1]
    base = segment.base_offset
    told = run("describe", directory, "-p", "txn-a-0", "--segment", str(base), "--json").json
    assert told["path"] == segment.path
    assert [b["position"] for b in told["batch_table"]] == segment.batches.column(
        "position"
    ).tolist()
    assert segment.offset_index is not None
    assert told["offset_index"] == [
        {"offset": offset, "relative_offset": offset - base, "position": position}
        for offset, position in segment.offset_index
    ]
    assert segment.time_index is not None
    assert told["time_index"] == [
        {"timestamp": timestamp, "offset": offset, "relative_offset": offset - base}
        for timestamp, offset in segment.time_index
    ]
    by_file = run("describe", segment.path, "--json").json
    assert by_file["batch_table"] == told["batch_table"]
    assert by_file["base_offset"] == segment.base_offset


def test_a_batch_is_told_byte_by_byte(directory: Path) -> None:
    segment = open_log_directory(directory)["txn-a-0"].segments[0]
    fields = explain_batch(segment, 0)
    told = run("describe", segment.path, "--batch", "0", "--json").json
    assert [each["name"] for each in told] == [field.name for field in fields]
    assert [each["position"] for each in told] == [field.position for field in fields]
    for form in ((), ("--json",)):
        hidden = run("describe", segment.path, "--batch", "0", "--hide-values", *form).out
        assert "base_timestamp" in hidden
        assert "sigma" not in hidden
        assert b"sigma".hex() not in hidden
        assert "sigma" in run("describe", segment.path, "--batch", "0", *form).out
    assert run("describe", segment.path, "--batch", "99999999").code == 3


@pytest.mark.parametrize(
    "name",
    [
        "meta.properties",
        "recovery-point-offset-checkpoint",
        "txn-a-0/leader-epoch-checkpoint",
        "txn-a-0/partition.metadata",
        "txn-a-0/*.index",
        "txn-a-0/*.timeindex",
        "txn-a-0/*.txnindex",
        "txn-a-0/*.snapshot",
    ],
)
def test_every_small_file_can_be_described(name: str, directory: Path) -> None:
    path = min(directory.glob(name))
    told = run("describe", path, "--json").json
    assert told["path"] == str(path)
    assert told["problems"] == []
    assert run("describe", path).code == 0


def test_text_of_everything_is_printed(directory: Path) -> None:
    assert "cluster id" in run("describe", directory).out
    partition = run("describe", directory, "-p", "txn-a-0")
    assert "last stable offset" in partition.out
    segment = run("describe", directory, "-p", "txn-a-0", "--segment", "1", "--rows", "1")
    assert "more; --all shows them" in segment.out
    assert (partition.code, segment.code) == (0, 0)


def test_a_segment_that_is_not_there_names_those_that_are(directory: Path) -> None:
    outcome = run("describe", directory, "-p", "txn-a-0", "--segment", "2")
    assert outcome.code == 3
    assert "unknown segment 2: txn-a-0 has " in outcome.err
    assert run("describe", directory, "--segment", "0").code == 3


def test_every_golden_era_can_be_described(golden: Golden) -> None:
    for name, label in (("k0.8.2-formats", "data"), ("k0.10.2-damage", "clean-before")):
        directory = golden(name).directory(label)
        for partition in open_log_directory(directory):
            assert run("describe", directory, "-p", partition).code == 0
