import shutil
from pathlib import Path

import pytest

from tests.cli.program import run
from tests.trees import snapshot

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
NOW = ("--now", "2026-11-30")


def test_what_goes_is_told_for_every_partition() -> None:
    before = snapshot(SHOP)
    options = ("--set", "retention.ms=86400000", "--set", "min.cleanable.dirty.ratio=0.2")
    outcome = run("what-if", SHOP, *NOW, *options)
    assert outcome.code == 0
    rows = {line.split()[0]: line.split() for line in outcome.out.splitlines() if line}
    assert rows["orders-1"][1:6] == ["delete", "517,177", "517,177", "0", "0"]
    assert rows["customers-0"][1:3] == ["compact", "174,064"]
    assert rows["customers-0"][4] != "0"
    assert "retention deletes" in outcome.out.splitlines()[-1]
    assert "is kept" in run("what-if", SHOP, *NOW, *options, "--why").out
    assert snapshot(SHOP) == before


def test_the_change_stands_beside_what_is_configured() -> None:
    """As configured is the outcome without --set; the difference is theirs."""
    plain = {
        row["topic"] + str(row["partition"]): row
        for row in run("what-if", SHOP, *NOW, "--json").json["partitions"]
    }
    assert all(row["difference"] == 0 for row in plain.values())
    changed = run("what-if", SHOP, *NOW, "--set", "orders:retention.ms=1", "--json").json
    for row in changed["partitions"]:
        before = plain[row["topic"] + str(row["partition"])]["size_after"]
        assert row["size_as_configured"] == before
        assert row["difference"] == row["size_after"] - before
        assert (row["difference"] < 0) is (row["topic"] == "orders" and before > 0)
    assert changed["unknown_configs"] == []  # the samples have the cluster's metadata


def test_it_says_where_configurations_are_unknown(tmp_path: Path) -> None:
    for name in ("orders-0", "clicks-1"):
        shutil.copytree(SHOP / name, tmp_path / name)
    outcome = run("what-if", tmp_path, *NOW)
    assert "the configuration of 2 topics is not in these directories" in outcome.out
    assert "clicks, orders" in outcome.out
    given = run("what-if", tmp_path, *NOW, "--set", "orders:cleanup.policy=delete", "--json").json
    assert given["unknown_configs"] == ["clicks"]


@pytest.mark.parametrize("command", ["what-if", "explain", "plan"])
def test_a_topic_that_is_not_there_is_refused(command: str) -> None:
    outcome = run(command, SHOP, *NOW, "--set", "ordes:retention.ms=1")
    assert (outcome.code, outcome.out) == (3, "")
    assert "unknown topic ordes; did you mean orders?" in outcome.err
    assert run("what-if", SHOP, *NOW, "-t", "ordes").code == 3


def test_it_is_what_retention_and_compact_do(tmp_path: Path) -> None:
    settings = ("--set", "orders:retention.bytes=300000", "--set", "min.cleanable.dirty.ratio=0.2")
    told = run("what-if", SHOP, *NOW, *settings, "--json").json["partitions"]
    fates = {f"{row['topic']}-{row['partition']}": row for row in told}
    run("retention", SHOP, "--to", tmp_path / "retained", *NOW, *settings[:2])
    run("compact", SHOP, "--to", tmp_path / "compacted", *NOW, "-t", "customers", *settings[2:])
    for topic, out in (("orders", "retained"), ("customers", "compacted")):
        for name, fate in fates.items():
            if fate["topic"] == topic:
                left = sum(path.stat().st_size for path in (tmp_path / out / name).glob("*.log"))
                assert left == fate["size_after"], name


def test_one_topic_can_be_asked_about() -> None:
    rows = run("what-if", SHOP, *NOW, "-t", "clicks", "--json").json["partitions"]
    assert [(row["topic"], row["partition"]) for row in rows] == [("clicks", 0), ("clicks", 1)]
    assert {row["verdict"] for row in rows[0]["verdicts"] if row["segment"] is not None} >= {"kept"}


def test_a_log_that_cannot_be_loaded_is_told() -> None:
    outcome = run("what-if", SHOP.parent / "damaged", "-t", "garbage-epochs", *NOW)
    assert outcome.code == 1
    assert "leader-epoch-checkpoint" in outcome.out
    assert run("what-if", SHOP, "--set", "retention=5").code == 3
