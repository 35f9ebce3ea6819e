"""`kafka-workbench cluster`: what it prints is what `logs.inspect` says, with its reasons."""

import json
import shutil
from pathlib import Path

import workbench as wb
from tests.cli.program import run

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHOP = SAMPLES / "shop-4.3.1"
METADATA = "__cluster_metadata-0"


def test_json_has_the_tables_of_inspect() -> None:
    outcome = run("cluster", SHOP, "--at", "40", "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert (found["offset"], found["findings"]) == (40, [])
    inspect = wb.open_log_directory(SHOP).inspect
    for name in ("topics", "topic_partitions", "configs", "brokers", "features", "quorum"):
        assert found[name] == getattr(inspect, name)(40).to_pylist(), name
    for name in ("acls", "quotas", "scram_users", "delegation_tokens"):
        assert found[name] == [], name


def test_a_state_says_where_it_comes_from_and_what_is_not_in_it() -> None:
    outcome = run("cluster", SHOP, "--at", "2026-11-21T14:53:04", "--only", "topics")
    assert outcome.code == 0, outcome.err
    first, second = outcome.out.splitlines()[:2]
    assert first.startswith("The state after offset ")
    assert first.endswith("read from offset 0 on.")
    assert second.endswith("later records of the log are not in it.")
    whole = run("cluster", SHOP).out
    assert "None in this state: ACLs, Client quotas, SCRAM users, Delegation tokens." in whole


def test_the_history_is_that_of_one_kind_up_to_a_time() -> None:
    outcome = run("cluster", SHOP, "--history", "--only", "configs", "--at", "30", "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert {each["kind"] for each in found} == {"config"}
    assert max(each["offset"] for each in found) <= 30
    line = run("cluster", SHOP, "--history", "--only", "configs").out.splitlines()[1]
    assert line.split()[:3] == ["9", "2026-11-21T14:53:01.582Z", "config"]


def test_what_cannot_be_known_is_said() -> None:
    early = run("cluster", SHOP, "--at", "2020-01-01")
    assert (early.code, early.out) == (3, "")
    assert "the state at 2020-01-01T00:00:00.000Z is not there (found the oldest of" in early.err
    old = run("cluster", SAMPLES / "era-2.8.2")
    assert old.code == 3
    assert "a cluster with ZooKeeper" in old.err
    elsewhere = run("cluster", SAMPLES / "two-brokers" / "broker1")
    assert elsewhere.code == 3
    assert "metadata.log.dir" in elsewhere.err
    wrong = run("cluster", SHOP, "--at", "yesteryear")
    assert wrong.code == 3
    assert "is not a time" in wrong.err


def test_damage_is_reported_with_the_rest_of_the_state(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(SHOP / METADATA, copy / METADATA)
    log = copy / METADATA / f"{0:020}.log"
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0xFF
    log.write_bytes(data)
    outcome = run("cluster", copy, "--json")
    assert outcome.code == 1
    found = json.loads(outcome.out)
    assert found["findings"][0]["path"] == str(log)
    assert found["topics"]
    assert str(log) in outcome.err
