"""Clients read remote segments and local ones of a server as one log."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.cli.program import run
from tests.golden.archive import extract
from tests.golden.cases import Case
from tests.server.asking import Asker
from tests.server.consumers import consuming, poll_until
from tests.server.test_odd_directories import read_on
from tests.widgets.requested import Client, fetch, list_offsets
from workbench.errors import LogDirectoryError
from workbench.log.timestamp_search import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)
from workbench.runtime.error_codes import ErrorCode
from workbench.server.protocol.api_keys import LIST_OFFSETS
from workbench.server.server import Server
from workbench.server.watching.request_steps import tell_request

GOLDEN = Path(__file__).parents[1] / "golden"
TOPICS = ["tier-deleted", "tier-expire", "tier-local", "tier-txn"]


@pytest.fixture(scope="module")
def case(golden: Callable[[str], Case]) -> Case:
    return golden("4.2.0-tiered")


def opened(case: Case) -> workbench.LogDirectory:
    return workbench.open_log_directory(case.directory("data"), remote=case.path / "tier")


@pytest.fixture(scope="module")
def server(case: Case) -> Iterator[Server]:
    with workbench.serve(opened(case)) as server:
        yield server


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_a_consumer_reads_what_one_read_through_the_brokers_tier(
    case: Case, server: Server, isolation: Any
) -> None:
    expected = sorted(
        (row["topic"], row["offset"], row["timestamp"], row["key"], row["value"])
        for row in case.consumed(isolation)
    )
    with consuming(server, *TOPICS, isolation_level=isolation) as consumer:
        found = poll_until(consumer, len(expected))
        found += [each for records in consumer.poll(100).values() for each in records]
    texts = (
        (r, [None if each is None else each.hex() for each in (r.key, r.value)]) for r in found
    )
    assert expected == sorted((r.topic, r.offset, r.timestamp, *both) for r, both in texts)
    assert not server.findings


def found_offset(asker: Asker, topic: str, isolation: int, timestamp: int) -> dict[str, Any]:
    partition = {"partitionIndex": 0, "timestamp": timestamp}
    topics = [{"name": topic, "partitions": [partition]}]
    values = {"isolationLevel": isolation, "topics": topics}
    (found,) = asker.ask(LIST_OFFSETS, 11, values)["topics"][0]["partitions"]
    return found  # type: ignore[no-any-return]


def test_offsets_and_times_are_answered_as_the_broker_answered_them(tmp_path: Path) -> None:
    extract(GOLDEN / "remote_tiers" / "4.2.0-list-offsets.tar.xz", tmp_path)
    lines = (tmp_path / "list_offsets.tsv").read_text().splitlines()[1:]
    logs = workbench.open_log_directory(tmp_path / "data", remote=tmp_path / "tier")
    timestamps = set()
    with workbench.serve(logs) as server, Asker(server.bootstrap_servers) as asker:
        for topic, *numbers in (line.split("\t") for line in lines):
            isolation, timestamp, *answer = map(int, numbers)
            timestamps.add(timestamp)
            found = found_offset(asker, topic, isolation, timestamp)
            ours = [found["timestamp"], found["offset"], found["leaderEpoch"]]
            assert ours == answer, (topic, isolation, timestamp)
    assert {LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED} <= timestamps
    assert EARLIEST_PENDING_UPLOAD in timestamps


@pytest.mark.parametrize("strict", [False, True])
def test_a_consumer_continues_after_a_remote_segment_that_is_gone(
    strict: bool,  # noqa: FBT001
    case: Case,
    tmp_path: Path,
) -> None:
    tier = tmp_path / "tier"
    shutil.copytree(case.path / "tier", tier)
    for path in tier.glob("tier-local-0-*/00000000000000000048-*.log"):
        path.unlink()
    logs = workbench.open_log_directory(case.directory("data"), remote=tier)
    with (
        workbench.serve(logs, strict=strict) as server,
        Asker(server.bootstrap_servers) as asker,
    ):
        code = ErrorCode.CORRUPT_MESSAGE if strict else ErrorCode.NONE
        assert read_on(asker, "tier-local", 0, 200) == (48 if strict else 200, code)
        assert read_on(asker, "tier-local", 96, 200) == (200, ErrorCode.NONE)
        assert [(each.kind, each.offset) for each in server.findings] == [("remote-missing", 48)]


def test_the_story_of_a_request_says_what_came_from_a_remote_segment(case: Case) -> None:
    with workbench.serve(opened(case)) as server, Client(server) as client:
        server.watch()
        stories = [
            tell_request(request)
            for request in (
                fetch(client, 50, topic="tier-local"),
                fetch(client, 150, topic="tier-local"),
                list_offsets(client, 1_700_000_000_010, topic="tier-local"),
            )
        ]
    kinds = [[each.step.kind for each in story.steps] for story in stories]
    assert "log failed" not in {kind for each in kinds for kind in each}
    assert ["records sliced" in each for each in kinds] == [False, True, False]
    reasons = [each.step.reason for each in stories[0].steps]
    assert any("bytes of records of a remote segment" in reason for reason in reasons)


def test_a_writable_server_has_no_tier(case: Case) -> None:
    with pytest.raises(LogDirectoryError, match="a writable server reads no remote tier"):
        workbench.serve(opened(case), writable=True)
    tier = ("--remote", case.path / "tier")
    assert run("serve", "--writable", *tier, case.directory("data")).code == 3
    done = run("serve", "--remote", case.path / "none", case.directory("data"))
    assert "no such folder of a remote tier" in done.err
