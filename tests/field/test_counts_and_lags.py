"""How many messages a consumer gets, through every path to a partition; how far groups are."""

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, TopicPartition

import workbench as wb
from tests.cli.program import run
from tests.field.cases import FieldCase, open_field_case
from tests.golden.cases import Case
from tests.server.consumers import consuming, poll_until

_LOG = f"{0:020}.log"
_START, _END = 33, 60  # of `events`: the low watermark that the broker acknowledged, the end
_IN_LOG = list(range(_START, _END))


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> FieldCase:
    return open_field_case("how-many-messages", tmp_path_factory.mktemp("counts"))


@pytest.fixture(scope="module")
def lags(tmp_path_factory: pytest.TempPathFactory) -> FieldCase:
    return open_field_case("negative-lag", tmp_path_factory.mktemp("lags"))


@pytest.mark.parametrize("topic", ["transfers", "balances"])
@pytest.mark.parametrize("way", ["alone", "chosen"])
def test_describe_counts_what_a_consumer_gets(counts: FieldCase, topic: str, way: str) -> None:
    name = f"{topic}-0"
    where = [counts.data / name] if way == "alone" else [counts.data, "-p", name]
    told = run("describe", *where, "--json").json
    gets = counts.truth["n"]
    assert told["records"] == gets[f"{topic} read_uncommitted"]
    assert told["records_read_committed"] == gets[f"{topic} read_committed"]
    assert told["control_records"] == {"transfers": 20, "balances": 0}[topic]
    assert told["records_below_log_start"] == 0
    assert told["log_end_offset"] == counts.truth["watermarks"][topic][1]
    for isolation in ("read_uncommitted", "read_committed"):
        scan = wb.open_log_directory(counts.data / name).scan(isolation_level=isolation)
        seen = scan.to_arrow().column("offset").to_pylist()
        assert seen == counts.truth["seen"][f"{topic} {isolation}"]


def _paths(data: Path, work: Path) -> dict[str, str]:
    """Return the ways to name a partition directory, or its only segment, by a word for each."""
    archive = work / "data.tar"
    if not archive.exists():
        with tarfile.open(archive, "w") as tar:
            tar.add(data, "data")
            tar.add(data, "also")  # so that the archive's root is not the log directory itself
        (work / "linked").symlink_to(data)
    folder = data / "events-0"
    return {
        "absolute": str(folder),
        "slash": f"{folder}/",
        "dot": ".",  # relative ones: of the partition directory
        "above": "../events-0",
        "dotted": "./../events-0/.",
        "file": _LOG,
        "absolute file": str(folder / _LOG),
        "URI": f"file://{folder}",
        "link": str(work / "linked" / "events-0"),
        "archive": f"{archive}/data/events-0",
        "file in an archive": f"{archive}/data/events-0/{_LOG}",
    }


@pytest.mark.parametrize(
    "word",
    [
        *("absolute", "slash", "dot", "above", "dotted", "file", "absolute file", "URI", "link"),
        *("archive", "file in an archive"),
    ],
)
def test_a_partition_is_the_same_log_by_every_path(
    counts: FieldCase,
    word: str,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = tmp_path_factory.getbasetemp() / "paths"
    work.mkdir(exist_ok=True)
    path = _paths(counts.data, work)[word]
    monkeypatch.chdir(counts.data / "events-0")
    logs = wb.open_log_directory(path)
    assert logs["events-0"].log_start_offset == _START
    assert logs.scan().to_arrow().column("offset").to_pylist() == _IN_LOG
    assert [each["offset"] for each in run("dump", path).lines] == _IN_LOG
    told = run("describe", path, "--json").json
    assert (told["records"], told["records_below_log_start"]) == (len(_IN_LOG), _START)
    assert logs.listing.metadata_log is not None
    with wb.serve(path) as server, consuming(server, "events") as consumer:
        where = TopicPartition("events", 0)
        assert consumer.beginning_offsets([where]) == {where: _START}
        assert consumer.end_offsets([where]) == {where: _END}
        assert [each.offset for each in poll_until(consumer, len(_IN_LOG))] == _IN_LOG
        admin = KafkaAdminClient(bootstrap_servers=server.bootstrap_servers)
        about = admin.describe_cluster()
        admin.close()
    meta = (counts.data / "meta.properties").read_text()
    assert f"cluster.id={about['cluster_id']}\n" in meta
    assert wb.verify(path) == []


def test_a_folder_that_is_not_in_a_log_directory_says_what_its_files_say(
    counts: FieldCase, tmp_path: Path
) -> None:
    shutil.copytree(counts.data / "events-0", tmp_path / "events-0")
    (logs,) = wb.open_log_directory(tmp_path / "events-0").values()
    assert (logs.root, logs.log_start_offset, logs.log_end_offset) == (None, 0, _END)


def test_a_deleted_directory_has_not_the_log_start_of_the_topic_that_came_after_it(
    counts: FieldCase, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    shutil.copytree(counts.data, data)
    old = data / f"events-0.{'a' * 32}-delete"
    shutil.copytree(data / "events-0", old)
    for logs in (wb.open_log_directory(data), wb.open_log_directory(old)):
        read = logs.scan(partitions=[old.name]).to_arrow()
        assert read.column("offset").to_pylist() == list(range(_END))
    shutil.rmtree(data / "events-0")  # as a broker that loads the directory: the entry counts
    for logs in (wb.open_log_directory(data), wb.open_log_directory(old)):
        read = logs.scan(partitions=[old.name]).to_arrow()
        assert read.column("offset").to_pylist() == _IN_LOG


def test_verify_finds_in_a_partition_what_it_finds_in_the_directory(
    golden: Callable[[str], Case],
) -> None:
    case = golden("4.2.0-damage-unclean")
    compared = 0
    for data in sorted({path.parent for path in case.path.rglob("meta.properties")})[:4]:
        whole = wb.open_log_directory(data)
        for name, partition in whole.items():
            alone = wb.open_log_directory(partition.path)
            found = set(alone.verify(partitions=[name], info=True))
            there = {f for f in whole.verify(partitions=[name], info=True) if name in f.path}
            assert {each for each in found if name in each.path} == there
            compared += len(there)
    assert compared


def test_lags_are_those_of_the_command_of_kafka(lags: FieldCase) -> None:
    told = {
        (group, topic, number): (offset, end, lag)
        for group, topic, number, offset, end, lag in (
            line.split()[:6] for line in lags.truth["tool"].splitlines() if " " in line
        )
        if group != "GROUP"
    }
    rows = run("offsets", lags.data, "--json").json
    rows = rows["offsets"] if isinstance(rows, dict) else rows
    ours = {
        (each["group"], each["topic"], str(each["partition"])): (
            str(each["offset"]),
            str(each["log_end_offset"]),
            str(each["lag"]),
        )
        for each in rows
    }
    assert ours == told
    newest = max(each["commit_time"] for each in rows)  # nothing has expired then
    stuck = run("stuck", lags.data, "--now", newest, "--json").json["stuck"]
    over = {(each["topic"], each["offset"]) for each in stuck if "starts over" in each["reason"]}
    assert over == {("invoices", 100), ("returns", 900)}
    shown = run("group", "billing", lags.data)
    assert "starts over in 1 of 2 partitions: invoices-0" in shown.out
    assert shown.code == 1


def test_a_deleted_directory_that_is_opened_alone_is_read_served_and_verified(
    tmp_path: Path,
) -> None:
    case = open_field_case("deleted-topic", tmp_path)
    folder = next(case.data.glob("ledger-0.*-delete"))
    everything = list(range(300))
    assert wb.open_log_directory(folder).scan().to_arrow()["offset"].to_pylist() == everything
    assert [each["offset"] for each in run("dump", folder).lines] == everything
    with wb.serve(folder) as server, consuming(server, "ledger") as consumer:
        assert [each.offset for each in poll_until(consumer, 300)] == everything
    assert wb.verify(folder) == []
    (folder / f"{100:020}.log").write_bytes(b"x" * 500)
    assert {each.kind for each in wb.verify(folder)} & {"garbage-tail", "batch-size"}


def test_what_a_named_file_leaves_out_is_said(counts: FieldCase) -> None:
    file = counts.data / "events-0" / _LOG
    left_out = "what is below the log start offset 33 was deleted and is left out"
    assert left_out in run("dump", file).err
    assert left_out in run("dump", counts.data, "-p", "events-0", "--offsets", "0:40").err
    told = run("dump", counts.data, "-p", "events-0").err
    assert "the offsets 0 to 32 are below the log start offset 33" in told


def test_what_is_not_there_is_said_with_what_is(lags: FieldCase) -> None:
    shown = run("group", "bilings", lags.data)
    assert shown.code == 1
    assert "no such group: bilings; did you mean billing?; groups: billing, refunds" in shown.err
    assert shown.out == ""
    assert run("group", "bilings", lags.data, "--json").json["state"] == "Dead"
    shown = run("explain", lags.data / "invoice-0")
    assert shown.code == 3
    assert "there is no such file or directory; did you mean invoices-0?" in shown.err


def test_a_file_time_is_not_called_the_time_of_a_record(lags: FieldCase) -> None:
    assert "file time (UTC)" in run("ls", lags.data).out
