from pathlib import Path

from tests.cli.program import run
from tests.trees import snapshot

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
ONE = ("-p", "customers-0", "--now", "2026-01-01")


def test_reasons_are_counted_and_nothing_is_written() -> None:
    before = snapshot(SHOP)
    outcome = run("plan", SHOP, *ONE, "--why", "1000", "--why", "1526", "--keys", "2")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0].startswith("A broker of Kafka 4.3 is assumed: ")
    assert lines[1] == "customers-0: 174,064 bytes become 44,521; 612 of 822 records are dropped"
    (dropped,) = [line.split() for line in lines if " dropped  " in line and "bytes" not in line]
    assert dropped[:3] == ["1", "dropped", "612"]
    assert "offset 1000: round 1: dropped: a later record has the same key" in outcome.out
    assert "offset 1526: no record at this offset is cleaned" in outcome.out
    assert any(line.startswith("C-10056 ") for line in lines)
    assert snapshot(SHOP) == before


def test_json_has_what_is_asked_for() -> None:
    options = ("--why", "1000", "--keys", "2", "--batches", "--records", "--json")
    (plan,) = run("plan", SHOP, *ONE, *options).json
    assert plan["size_after"] == 44_521
    assert plan["rounds"][0]["is_due"] is False
    assert [bytes.fromhex(row["key"]) for row in plan["keys"]] == [b"C-10056", b"C-10042"]
    assert len(plan["records"]) == sum(row["record_count"] for row in plan["batches"]) == 822
    assert sum(row["records"] for row in plan["reasons"]) == 822
    (plain,) = run("plan", SHOP, *ONE, "--json").json
    assert not {"why", "keys", "batches", "records"} & set(plain)


def test_all_compacted_logs_are_planned_when_none_is_named() -> None:
    plans = run("plan", SHOP, "--now", "2026-01-01", "--json").json
    assert [plan["partition"] for plan in plans if plan["rounds"]] == ["customers-0", "customers-1"]
    assert not any(plan["partition"].startswith(("orders", "__cluster")) for plan in plans)
    assert "no log is known to be compacted" in run("plan", SHOP / "orders-0").out


def test_rounds_take_their_times() -> None:
    times = ("--everything", "--now", "2026-01-01", "--now", "2026-02-01")
    (plan,) = run("plan", SHOP, "-p", "customers-0", *times, "--json").json
    assert [each["records"].get("tombstone_horizon_passed") for each in plan["rounds"]] == [None, 9]
    (twice,) = run("plan", SHOP, *ONE, "--passes", "2", "--json").json
    assert len(twice["rounds"]) == 1
    assert "round 2" in twice["problem"]
    assert run("plan", SHOP, *times, "--passes", "3").code == 3
    assert run("plan", SHOP, "--now", "2026-02-01", "--now", "2026-01-01").code == 3


def test_a_log_that_cannot_be_loaded_does_not_keep_the_others() -> None:
    damaged = SHOP.parent / "damaged"
    options = ("-t", "garbage-epochs", "-t", "healthy", "--now", "2026-11-21")
    outcome = run("plan", damaged, *options)
    assert outcome.code == 1
    assert "garbage-epochs-0: " in outcome.out
    assert "healthy-0: " in outcome.out
