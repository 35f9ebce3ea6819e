"""`groups`, `group`, `offsets`, `transactions`: what they print, and their exit codes."""

from pathlib import Path

import pytest

from tests.cli.program import run
from tests.coordinator.writing import TIME, CoordinatorLog, commit, group, member, transaction

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
DAY = 86_400_000


def test_groups_of_the_shop() -> None:
    outcome = run("groups", SHOP, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    found = {row["group"]: (row["kind"], row["state"], row["generation"]) for row in outcome.json}
    assert found == {
        "order-dashboard": ("classic", "Empty", 6),
        "payment-service": ("simple", "Empty", 0),
        "shipping-labels": ("classic", "Stable", 1),
        "suggestions": ("consumer", "Empty", 7),
    }
    (labels,) = (row for row in outcome.json if row["group"] == "shipping-labels")
    (only,) = labels["members"]
    assert only["group_instance_id"] == "printer-2"
    assert only["assignment"] == ["orders-0", "orders-1", "orders-2"]
    assert labels["leader"] == only["member_id"]
    assert labels["log_partition"] == 2
    text = run("groups", SHOP).out
    assert "shipping-labels" in text
    assert "rules of Kafka 4.0 and newer" in text


def test_offsets_of_the_shop() -> None:
    outcome = run("offsets", SHOP, "--group", "suggestions", "--json")
    (row,) = outcome.json
    assert outcome.code == 0
    known = {
        "group": "suggestions", "topic": "clicks", "partition": 0, "offset": 1500,
        "leader_epoch": None, "metadata": "day 5", "log_end_offset": 80096, "lag": 78596,
        "high_watermark": 80096, "state": "in the log", "unserved": None,
    }  # fmt: skip
    assert known.items() <= row.items()
    assert row["expires_at"] == row["commit_time"] + 7 * DAY
    assert "78,596" in run("offsets", SHOP).out
    assert run("offsets", SHOP, "--group", "nosuch", "--json").json == []


def test_what_expired_is_left_out_at_a_time(tmp_path: Path) -> None:
    log = CoordinatorLog(tmp_path)
    log.append(commit("g", "foo", 0, 1))
    log.write()
    late = f"--now={TIME + 7 * DAY}"
    assert len(run("offsets", tmp_path, "--json").json) == 1
    assert len(run("offsets", tmp_path, "--json", f"--now={TIME + 7 * DAY - 1}").json) == 1
    assert run("offsets", tmp_path, "--json", late, "--kafka", "2.8").json == []
    (row,) = run("offsets", tmp_path, "--json", late, "--all").json
    assert row["unserved"] == "expired: retention since the commit"
    kept = run("offsets", tmp_path, "--json", late, "--retention-minutes", "99999")
    assert len(kept.json) == 1


def test_one_group_with_all_that_is_known(tmp_path: Path) -> None:
    log = CoordinatorLog(tmp_path)
    log.append(group("g", protocol="range", leader="m", members=[member("m", "foo")]))
    log.append(commit("g", "foo", 0, 1))
    log.append(commit("g", "foo", 1, 2), producer=7)
    log.write()
    outcome = run("group", "g", tmp_path, "--json")
    assert outcome.code == 1  # a transaction holds one of the commits
    assert outcome.json["conclusion"].startswith("waits in 1 of 2 partitions: foo-1: producer 7")
    assert "UNSTABLE_OFFSET_COMMIT" in outcome.json["conclusion"]
    assert (outcome.json["state"], outcome.json["pending_offsets"]) == ("Stable", 1)
    assert [(row["offset"], row["unserved"] is None) for row in outcome.json["offsets"]] == [
        (1, True),
        (2, False),
    ]
    (rebalance,) = outcome.json["rebalances"]
    assert (rebalance["event"], rebalance["joined"]) == ("rebalanced", ["m"])
    text = run("group", "g", tmp_path).out
    assert "joined: m" in text
    assert "has neither committed nor aborted" in text
    assert "/h" in text


def test_a_group_that_is_not_there_is_dead(tmp_path: Path) -> None:
    log = CoordinatorLog(tmp_path)
    log.append(commit("g", "foo", 0, 1))
    outcome = run("group", "nosuch", log.write(), "--json")
    assert outcome.code == 1
    assert (outcome.json["state"], outcome.json["offsets"]) == ("Dead", [])


def test_transactions_of_the_shop() -> None:
    outcome = run("transactions", SHOP, "--json")
    assert outcome.code == 0
    found = {
        row["transactional_id"]: (row["producer_id"], row["state"], row["partitions"])
        for row in outcome.json
    }
    assert found == {
        "payments-eu": (3, "Ongoing", ["payments-0"]),
        "payments-us": (4, "CompleteCommit", []),
    }
    (row,) = run("transactions", SHOP, "--open", "--json").json
    assert (row["transactional_id"], row["verdict"], row["blocked_offsets"]) == (
        "payments-eu",
        "waits",
        3,
    )
    assert "payments-eu" in run("transactions", SHOP).out


@pytest.mark.parametrize("command", ["groups", "offsets", "transactions"])
def test_directories_without_the_topic(command: str, tmp_path: Path) -> None:
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n0\n")  # a broker's, still empty
    outcome = run(command, tmp_path, "--json")
    assert (outcome.code, outcome.json) == (0, [])
    assert "no partition of __" in outcome.err
    assert run(command, tmp_path).code == 0


@pytest.mark.parametrize("command", ["groups", "offsets"])
def test_what_cannot_be_read_is_told_and_nothing_of_it_served(command: str, tmp_path: Path) -> None:
    log = CoordinatorLog(tmp_path)
    log.append(commit("g", "foo", 0, 1), (None, b"x"))
    outcome = run(command, log.write(), "--json")
    assert (outcome.code, outcome.json) == (1, [])
    assert "the key is null" in outcome.err
    everything = run(command, tmp_path, "--json", "--all")
    assert everything.code == 1
    assert len(everything.json) == 1
    assert "fails" in everything.json[0]["unserved"]


def test_what_cannot_be_read_of_transactions_is_told(tmp_path: Path) -> None:
    log = CoordinatorLog(tmp_path, "__transaction_state")
    log.append(transaction("a"), (None, b"x"))
    outcome = run("transactions", log.write(), "--json")
    assert outcome.code == 1
    assert [row["transactional_id"] for row in outcome.json] == ["a"]
    assert "the key is null" in outcome.err


def test_a_version_that_is_none() -> None:
    outcome = run("groups", SHOP, "--kafka", "newest")
    assert outcome.code == 3
    assert "'newest' is not a version of Kafka" in outcome.err


def test_names_that_steer_a_terminal_are_escaped(tmp_path: Path) -> None:
    log = CoordinatorLog(tmp_path)
    log.append(group("g\x1b[31m", protocol="r\n", members=[member("m\x07")]))
    log.append(commit("g\x1b[31m", "t\x1b[0m", 0, 1))
    for arguments in (["groups"], ["offsets"], ["group", "g\x1b[31m"]):
        out = run(*arguments, log.write()).out
        assert "\x1b" not in out
        assert "\x07" not in out
        assert "\\x1b[31m" in out
