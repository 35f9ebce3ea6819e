"""Groups, committed offsets and transactions: what is loaded is what the brokers answered.

`groups.json` and the headlines of the cases hold what an admin client was told by a broker that
stood on the directory, `committed.jsonl` what old clients were.
"""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.cli.program import run
from tests.golden.cases import CASES, Case, names
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.coordinator.transactions.stored_transactions import (
    HANGS,
    WAITS,
    StoredTransactions,
)
from workbench.inspection.listing import list_log_directories

Golden = Callable[[str], Case]

# These groups commit again between the admin client's answer and the copy of the directory.
LATER_COMMITS = re.compile("g-many-.*")


def _coordinator(directory: Path) -> StoredGroups:
    return StoredGroups(list_log_directories(directory))


def _answers(case: Case) -> dict[str, dict[str, Any]]:
    """Return label → what an admin client got."""
    told = json.loads((case.path / "groups.json").read_text())
    return {"data": told} if "groupOffsets" in told else told


def _as_told(row: dict[str, Any]) -> dict[str, Any]:
    told = {"offset": row["offset"], "metadata": row["metadata"]}
    return told if row["leader_epoch"] is None else {**told, "leaderEpoch": row["leader_epoch"]}


def _served_offsets(directory: Path) -> dict[str, dict[str, Any]]:
    outcome = run("offsets", directory, "--json")
    assert outcome.code == 0, outcome.err
    found: dict[str, dict[str, Any]] = {}
    for row in outcome.json:
        assert row["unserved"] is None
        if row["offset"] is None:  # assigned, and not committed: a client is told nothing of it
            continue
        found.setdefault(row["group"], {})[f"{row['topic']}-{row['partition']}"] = _as_told(row)
    return found


@pytest.mark.parametrize("name", names("groups|streams-group"))
def test_the_offsets_are_those_that_an_admin_client_was_told(name: str, golden: Golden) -> None:
    """GO-6, GO-10, GO-43: committed, aborted and pending transactions; tombstones; expiry."""
    case = golden(name)
    for label, told in _answers(case).items():
        found = _served_offsets(case.directory(label))
        wanted = {group: offsets for group, offsets in told["groupOffsets"].items() if offsets}
        if label == "before":
            wanted, found = (
                {group: each for group, each in offsets.items() if not LATER_COMMITS.match(group)}
                for offsets in (wanted, found)
            )
        assert found == wanted


@pytest.mark.parametrize("name", names("groups"))
def test_an_open_transactions_commits_are_not_served(name: str, golden: Golden) -> None:
    """GO-45."""
    case = golden(name)
    directory = case.directory("after")
    rows = run("offsets", directory, "--all", "--group", "g-txn", "--json").json
    pending = [row for row in rows if row["unserved"] is not None]
    assert {(row["topic"], row["partition"], row["offset"]) for row in pending} == {
        ("g-one", 0, 23),
        ("g-two", 0, 8),
    }
    assert all("has neither committed nor aborted" in row["unserved"] for row in pending)
    assert all(row["producer_id"] is not None for row in pending)


@pytest.mark.parametrize("name", names("groups|streams-group"))
def test_the_groups_are_those_that_an_admin_client_was_told(name: str, golden: Golden) -> None:
    """GC-31."""
    case = golden(name)
    for label, told in _answers(case).items():
        rows = {row["group"]: row for row in run("groups", case.directory(label), "--json").json}
        if "listGroups" in told:
            consumers = {
                group: row["state"]
                for group, row in rows.items()
                if row["kind"] in {"classic", "simple", "consumer"}
            }
            known = {group: state for group, state in told["listGroups"].items() if state != "?"}
            assert consumers.keys() == told["listGroups"].keys()
            assert known.items() <= consumers.items()  # brokers before 2.6 tell no states
            assert known or case.version.startswith("2.4")
        if "allGroups" in told:
            assert {group: _listed(row) for group, row in rows.items()} == told["allGroups"]
        for group, text in told.get("describeGroups", {}).items():
            if (case.version[:3], label, group) == ("2.4", "before", "g-static"):
                continue  # KAFKA-10284: a static member that came back was not written
            _assert_described(rows.get(group), text)


def _listed(row: dict[str, Any]) -> str:
    kind = "Classic" if row["kind"] == "simple" else row["kind"].capitalize()
    return (
        f"(groupId='{row['group']}', type={kind}, protocol='{row['protocol_type']}', "
        f"groupState={row['state']})"
    )


def _assert_described(row: dict[str, Any] | None, told: dict[str, Any] | str) -> None:
    if row is None:
        assert isinstance(told, str) or told["state"] == "Dead"
        return
    assert isinstance(told, dict)
    assert row["state"] == told["state"]
    assert (row["protocol"] or "") == told["assignor"]
    is_simple = re.search(r"isSimpleConsumerGroup=(\w+)", told["text"])
    assert is_simple is not None
    assert (row["kind"] == "simple") == (is_simple[1] == "true")
    members = [
        {
            "member": member["member_id"],
            "instance": member["group_instance_id"],
            "client": member["client_id"],
            "host": member["client_host"],
            "assignment": member["assignment"],
        }
        for member in row["members"]
    ]
    key = "member"
    assert sorted(members, key=lambda each: each[key]) == sorted(
        told["members"], key=lambda each: each[key]
    )
    epochs = re.search(r"groupEpoch=(\w+), targetAssignmentEpoch=(\w+)", told["text"])
    if epochs is not None:
        is_classic = row["kind"] in {"classic", "simple"}
        mine = (None if is_classic else row["generation"], row["assignment_epoch"])
        assert tuple("null" if each is None else str(each) for each in mine) == epochs.groups()
    reached = re.findall(r"memberEpoch=(\w+)", told["text"])
    mine_reached = ["null" if m["epoch"] is None else str(m["epoch"]) for m in row["members"]]
    if reached:
        assert sorted(mine_reached) == sorted(reached)


@pytest.mark.parametrize("name", names("groups", version="4."))
def test_share_groups_are_those_that_an_admin_client_was_told(name: str, golden: Golden) -> None:
    case = golden(name)
    for label, told in _answers(case).items():
        rows = {row["group"]: row for row in run("groups", case.directory(label), "--json").json}
        for group, text in told["shareGroups"].items():
            row = rows[group]
            assert f"groupState={row['state']}," in text
            assert f"groupEpoch={row['generation']}, " in text
            assert f"targetAssignmentEpoch={row['assignment_epoch']}," in text
            assert re.findall(r"memberId=([^,]+)", text) == [
                member["member_id"] for member in row["members"]
            ]
            partitions = re.findall(r"assignment=\(topicPartitions=([^)]*)\)", text)
            assert [sorted(each.split(",")) for each in partitions] == [
                member["assignment"] for member in row["members"]
            ]


@pytest.mark.parametrize("name", names("groups", version="4."))
def test_share_offsets_are_those_that_an_admin_client_was_told(name: str, golden: Golden) -> None:
    case = golden(name)
    compared = 0
    for label, told in _answers(case).items():
        for group, partitions in told["shareOffsets"].items():
            facts = run("group", group, case.directory(label), "--json").json
            rows = {f"{row['topic']}-{row['partition']}": row for row in facts["share_offsets"]}
            assert rows.keys() == partitions.keys()
            for partition, text in partitions.items():
                row = rows[partition]
                start, epoch = row["start_offset"], row["leader_epoch"]
                lag = "null" if row["lag"] is None else row["lag"]
                mine = f"{{startOffset={start}, leaderEpoch={epoch}, lag={lag}}}"
                assert text == ("null" if start is None else f"SharePartitionOffsetInfo{mine}")
                assert row["in_flight"] == sum(
                    row[state] for state in ("available", "acknowledged", "archived")
                )
                compared += 1
            assert facts["conclusion"].startswith("delivers from its start offsets in ")
    assert compared >= 6


_EVENTS = {"accept": "acknowledged", "release": "released", "reject": "rejected"}


@pytest.mark.parametrize("name", names("groups", version="4."))
def test_deliveries_are_those_that_a_share_consumer_made(name: str, golden: Golden) -> None:
    """It printed topic, partition, offset, delivery count and acknowledgement of each record."""
    case = golden(name)
    told = {
        (f"{topic}-{partition}", offset, count, _EVENTS[how])
        for step in case.info["steps"]
        if step["do"] in {"share consumer sh1 in s-one", "again sh1"}
        for topic, partition, offset, count, how in step["answer"]["records"]
    }
    assert len(told) >= 40
    rows = workbench.open_log_directory(case.directory("before")).inspect.deliveries("s-one")
    found = {
        (f"{row['topic']}-{row['partition']}", offset, row["delivery_count"], row["event"])
        for row in rows.to_pylist()
        if row["last_offset"] is not None
        for offset in range(row["first_offset"], row["last_offset"] + 1)
    }
    assert found == told


@pytest.mark.parametrize("name", names("offsets|transactions"))
def test_the_offsets_are_those_that_old_clients_were_told(name: str, golden: Golden) -> None:
    """GO-2, GO-10, GO-20: groups of every old value version, tombstones, expire times."""
    case = golden(name)
    told = {
        (row["group"], row["topic"], row["partition"]): (row["offset"], row["metadata"])
        for row in case.rows("committed")
        if row["offset"] not in (None, -1)
    }
    assert told
    for label in case.labels:
        if label.startswith("mid"):
            continue
        found = {
            (row["group"], row["topic"], row["partition"]): (row["offset"], row["metadata"])
            for row in run("offsets", case.directory(label), "--json").json
        }
        asked = {(row["group"], row["topic"], row["partition"]) for row in case.rows("committed")}
        assert {key: value for key, value in found.items() if key in asked} == told


@pytest.mark.parametrize("name", names("txn"))
def test_offsets_within_transactions_are_those_that_a_broker_told(
    name: str, golden: Golden
) -> None:
    """GO-3, GO-4: a transaction commits or aborts what it committed for a group."""
    case = golden(name)
    for label, key in (("before-restart", "before_restart"), ("data", "end")):
        found = _served_offsets(case.directory(label))
        told = case.info["headline"][f"groupOffsets_{key}"]
        assert found == {group: offsets for group, offsets in told.items() if offsets}


@pytest.mark.parametrize("name", [*names("txn", version="3.9"), *names("txn", version="4.")])
def test_transactions_are_those_that_an_admin_client_was_told(name: str, golden: Golden) -> None:
    """TC-17, TC-18, TC-19: the last record of each id; Ongoing ones with their partitions."""
    case = golden(name)
    for label, key in (("before-restart", "before_restart"), ("data", "end")):
        rows = run("transactions", case.directory(label), "--json").json
        told = case.info["headline"][f"describeTransactions_{key}"]
        found = {row["transactional_id"]: row for row in rows}
        for name_, text in told.items():
            if text.startswith("error"):
                assert name_ not in found
                continue
            row = found[name_]
            start = re.search(r"transactionStartTimeMs=OptionalLong(?:\[(\d+)\]|\.empty)", text)
            partitions = re.search(r"topicPartitions=\[(.*)\]", text)
            assert start is not None
            assert partitions is not None
            assert f"state={row['state']}, producerId={row['producer_id']}, " in text
            assert f"producerEpoch={row['producer_epoch']}, " in text
            assert f"transactionTimeoutMs={row['timeout_ms']}, " in text
            if label == "data":  # what runs remembers when an empty transaction began
                assert row["start_time"] == (int(start[1]) if start[1] else None)
            assert row["partitions"] == sorted(filter(None, partitions[1].split(", ")))


@pytest.mark.parametrize("name", names("txn"))
def test_what_hangs_is_known_to_the_coordinator(name: str, golden: Golden) -> None:
    """The producers that were killed left transactions open: their markers will come."""
    case = golden(name)
    coordinator = StoredTransactions(list_log_directories(case.directory("data")))
    opened = coordinator.open_producers()
    assert {each.transactional_id for each in opened} == {"tx-hang-1", "tx-hang-2"}
    assert {each.verdict for each in opened} == {WAITS}
    ends = case.info["headline"]["listOffsets_end"]
    for each in opened:
        assert each.last_stable_offset == ends["read_committed"][str(each.where)][1]
        end = ends["read_uncommitted"][str(each.where)][1]
        assert each.blocked == end - each.last_stable_offset


def test_a_transaction_hangs_that_no_transactional_id_lists(golden: Golden, tmp_path: Path) -> None:
    """Without the log of the coordinator's partition nothing is said."""
    case = golden("4.2.0-txn")
    left_out = shutil.ignore_patterns("__transaction_state*")
    shutil.copytree(case.directory("data"), tmp_path, ignore=left_out, dirs_exist_ok=True)
    (opened, *_) = StoredTransactions(list_log_directories(tmp_path)).open_producers()
    assert (opened.verdict, opened.transactional_id) == (None, None)
    assert "__transaction_state" in opened.reason
    # The same partitions in the state before the transactions began.
    for folder in case.directory("before-restart").glob("__transaction_state-*"):
        shutil.copytree(folder, tmp_path / folder.name)
    verdicts = {
        each.verdict for each in StoredTransactions(list_log_directories(tmp_path)).open_producers()
    }
    assert verdicts == {HANGS}
    outcome = run("transactions", tmp_path, "--open")
    assert outcome.code == 1
    assert "hangs" in outcome.out


@pytest.mark.parametrize("case", [case.name for case in CASES if "damage" not in case.kind])
def test_every_directory_loads_as_its_broker_loaded_it(case: str, golden: Golden) -> None:
    """GO-17: no finding where a broker had none; each group is in its partition."""
    opened = golden(case)
    for label in opened.labels:
        listing = list_log_directories(opened.directory(label))
        groups = StoredGroups(listing)
        assert groups.findings() == []
        assert StoredTransactions(listing).findings() == []
        if groups.groups and opened.version.startswith(("2.8", "2.3")):
            assert groups.era is CoordinatorEra.CLASSIC


@pytest.mark.parametrize("name", names("groups"))
def test_the_rebalances_are_those_that_consumers_took_part_in(name: str, golden: Golden) -> None:
    """CG-2: at each poll a consumer printed its generation (or epoch) and its assignment."""
    case = golden(name)
    rows = workbench.open_log_directory(case.directory("before")).inspect.rebalances().to_pylist()
    polls = [
        (step["at"], step["answer"])
        for step in case.info["steps"]
        if isinstance(step.get("answer"), dict) and step["answer"].get("group")
    ]
    assert polls
    for at, answer in polls:
        told = answer["group"]
        before = [
            row
            for row in rows
            if row["group"] == told["id"] and row["time"].timestamp() * 1000 <= at
        ]
        changes = [change for row in before for change in row["changes"]]
        own = [each for each in changes if each["member_id"] == told["member"]]
        if told["instance"] and case.version.startswith("2.4") and not own:
            continue  # KAFKA-10284: a static member that came back was not written
        change = own[-1]
        assert sorted(change["assignment"]) == sorted(answer["assignment"])
        epoch = change["epoch"]
        assert (before[-1]["generation"] if epoch is None else epoch) == told["generation"]


@pytest.mark.parametrize("name", names("groups|streams-group|offsets"))
def test_the_last_rebalance_leaves_the_group_as_a_broker_loads_it(
    name: str, golden: Golden
) -> None:
    """Every era; the same holds where compaction removed most of the history."""
    case = golden(name)
    for label in case.labels:
        inspect = workbench.open_log_directory(case.directory(label)).inspect
        last = {row["group"]: row for row in inspect.rebalances().to_pylist()}
        groups = {row["group"]: row for row in inspect.groups().to_pylist()}
        told = {group for group, row in groups.items() if row["record_offset"] is not None}
        assert told == {group for group, row in last.items() if row["state"] != "Dead"}
        for group in told:
            for column in ("kind", "state", "generation", "assignment_epoch", "leader", "members"):
                assert last[group][column] == groups[group][column]


@pytest.mark.parametrize("name", names("offsets"))
def test_the_rebalances_of_each_old_version(name: str, golden: Golden) -> None:
    """A consumer came and went, twice: up to 0.10.0 a tombstone removes the empty group."""
    case = golden(name)
    if case.version.startswith("0.8"):  # groups are not the broker's yet
        return
    label = "before" if "before" in case.labels else case.labels[0]
    logs = workbench.open_log_directory(case.directory(label))
    rows = logs.inspect.rebalances("team-b").to_pylist()
    emptied = "removed" if case.version < "0.10.1" or case.version.startswith("0.9") else "emptied"
    assert [row["event"] for row in rows] == ["rebalanced", emptied] * 2


@pytest.mark.parametrize("name", names("txn"))
def test_explanations_of_real_transactions(name: str, golden: Golden) -> None:
    """What an admin client got: state, start, partitions, last stable offsets."""
    case = golden(name)
    logs = workbench.open_log_directory(case.directory("data"))
    ends = case.info["headline"]["listOffsets_end"]
    told = case.info["headline"].get("describeTransactions_end", {})
    for transaction in ("tx-hang-1", "tx-hang-2"):
        story = logs.explain_transaction(transaction)
        assert story.conclusion.startswith("is open since")
        stable = [row for row in story if row.rule == "last stable offset"]
        assert stable
        for row in stable:
            assert row.value == ends["read_committed"][str(row.where)][1]
        if transaction in told:
            start = re.search(r"StartTimeMs=OptionalLong\[(\d+)\]", told[transaction])
            timeout = re.search(r"transactionTimeoutMs=(\d+)", told[transaction])
            assert start is not None
            assert timeout is not None
            (row,) = (row for row in story if row.rule == "timeout")
            assert row.due == int(start[1]) + int(timeout[1])
    for transaction, text in told.items():
        if "state=Complete" in text or "state=Empty" in text:
            assert logs.explain_transaction(transaction).conclusion.startswith("nothing is open")
