import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import workbench as wb
from tests.cli.program import run
from tests.trees import snapshot

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHOP = SAMPLES / "shop-4.3.1"
NOW = ("--now", "2026-01-01")


def test_each_rule_is_told_with_its_verdict() -> None:
    before = snapshot(SHOP)
    outcome = run("explain", SHOP, "-p", "customers-0", *NOW)
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0].startswith("A broker of Kafka 4.3 is assumed: in __cluster_metadata-0, node 1 ")
    assert lines[1].startswith("customers-0, compaction: the log is not cleaned: ")
    (ratio,) = [line for line in lines if line.startswith("min.cleanable.dirty.ratio")]
    assert ratio.split()[1] == "blocks"
    assert "LogCleanerManager.grabFilthiestCompactedLog" in ratio
    assert any(line.startswith("customers-0, deletion: ") for line in lines)
    assert snapshot(SHOP) == before


def test_settings_count_and_one_side_can_be_asked_for() -> None:
    options = ("-p", "customers-0", *NOW, "--set", "min.cleanable.dirty.ratio=0.5", "--cleaning")
    outcome = run("explain", SHOP, *options)
    assert "the log is cleaned first of 2 logs" in outcome.out
    assert "deletion" not in outcome.out
    retention = run("explain", SHOP, "-p", "orders-0", *NOW, "--retention", "--json").json
    assert retention[0]["cleaning"] is None
    assert retention[0]["retention"]["conclusion"].startswith("retention deletes 4 of 4 segments")


def test_json_holds_every_row() -> None:
    (row,) = run("explain", SHOP, "-p", "payments-1", *NOW, "--json").json
    assert set(row) == {"broker", "partition", "cleaning", "retention", "problem"}
    assert row["broker"]["version"] == "4.3"
    assert row["cleaning"]["now"] == 1_767_225_600_000
    rules = [rule["rule"] for rule in row["cleaning"]["rules"]]
    assert rules[0] == "log.cleaner.enable"
    assert rules[-1] == "order"
    verdicts = {rule["segment"]: rule["verdict"] for rule in row["retention"]["rules"]}
    assert verdicts[475] == "not asked"


def test_what_cannot_be_loaded_is_told_and_counts_as_a_failure() -> None:
    options = ("-t", "garbage-epochs", "-t", "healthy", "--now", "2026-11-21")
    outcome = run("explain", SAMPLES / "damaged", *options)
    assert outcome.code == 1
    assert "garbage-epochs-0: " in outcome.out
    assert "healthy-0, deletion: " in outcome.out
    assert run("explain", SAMPLES / "damaged", *options, "--json").json[0]["problem"]


def test_the_clusters_own_log_is_left_out_unless_it_is_named() -> None:
    meant, *rest = run("explain", SAMPLES / "era-3.9.1", *NOW).out.splitlines()
    assert meant.startswith("A broker of Kafka 3.9 is assumed")
    assert "__cluster_metadata" not in "\n".join(rest).replace("(__cluster_metadata)", "")
    outcome = run("explain", SAMPLES / "era-3.9.1", *NOW, "-t", "__cluster_metadata")
    assert outcome.code == 1
    assert "KRaft manages it" in outcome.out


def test_arguments_without_a_meaning_fail() -> None:
    assert run("explain", SHOP, "--now", "soon").code == 3
    assert run("explain", SHOP, "--set", "no.such.name=1").code == 3
    assert run("explain", SHOP, "-t", "nothing").code == 3
    assert run("explain", SHOP / "orders-0" / f"{0:020d}.log").code == 3


def test_python_prints_an_explanation_as_the_command_does() -> None:
    logs = wb.open_log_directory(SHOP)
    printed = str(logs["orders-0"].explain_retention(now=1_733_011_200_000)).splitlines()
    shown = run("explain", SHOP, "-p", "orders-0", "--retention", "--now", "2024-12-01")
    assert printed[0] == shown.out.splitlines()[0]
    assert printed[2:-1] == shown.out.splitlines()[2 : len(printed) - 1]
    assert any("(7 days)" in line for line in printed)


def test_a_narrow_terminal_names_the_columns_that_it_does_not_show() -> None:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (40, 80))
    program = [sys.executable, "-m", "workbench.cli.main", "explain", SHOP, "-p", "orders-0"]
    shown = subprocess.run(
        [*map(str, program), "--retention"], stdout=slave, stderr=subprocess.PIPE, check=True
    )
    os.close(slave)
    os.close(master)
    assert shown.stderr.decode().endswith(
        "the terminal is too narrow for value, threshold, Kafka; --json has all\n"
    )
