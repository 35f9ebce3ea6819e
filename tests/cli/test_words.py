"""What people type first: it works, or the answer says what to type."""

import json
from pathlib import Path

import pytest

from tests.cli.program import run
from workbench.cli.main import COMMANDS
from workbench.cli.words import ADVICE, SYNONYMS

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"

SAME = [
    # kcat, Kafka's tools
    (("topics", SHOP), ("ls", "--topics", SHOP)),
    (("kafka-topics.sh", SHOP), ("ls", "--topics", SHOP)),
    (("consume", SHOP, "-t", "orders", "-n", "2"), ("dump", SHOP, "-t", "orders", "-n", "2")),
    (("kcat", SHOP, "-t", "orders", "-n", "2"), ("dump", SHOP, "-t", "orders", "-n", "2")),
    (("kafka-console-consumer", SHOP, "-n", "1"), ("dump", SHOP, "-n", "1")),
    (("consumer-groups", SHOP), ("groups", SHOP)),
    (("kafka-consumer-groups.sh", SHOP), ("groups", SHOP)),
    (("lag", SHOP), ("offsets", SHOP)),
    (("configs", SHOP), ("cluster", SHOP, "--only", "configs")),
    (("acls", SHOP), ("cluster", SHOP, "--only", "acls")),
    (("users", SHOP), ("cluster", SHOP, "--only", "scram_users")),
    (("quotas", SHOP), ("cluster", SHOP, "--only", "quotas")),
    (("kafka-configs", SHOP), ("cluster", SHOP, "--only", "configs")),
    (("get-offsets", SHOP), ("ls", SHOP)),
    # the shell
    ((SHOP,), ("ls", SHOP)),
    ((SHOP, "--topics"), ("ls", SHOP, "--topics")),
    (("cat", SHOP, "-t", "orders", "-n", "3"), ("dump", SHOP, "-t", "orders", "-n", "3")),
    (("head", SHOP, "-t", "orders"), ("dump", SHOP, "-t", "orders", "-n", "10")),
    (("tail", SHOP, "-t", "orders"), ("dump", SHOP, "-t", "orders", "--newest", "10")),
    (("grep", "O-48212", SHOP), ("search", SHOP, "O-48212")),
    (("find", SHOP, "O-48212"), ("search", SHOP, "O-48212")),
    (("du", SHOP), ("ls", SHOP, "--sort", "size")),
    (("count", SHOP), ("ls", SHOP, "--records")),
    (("wc", SHOP), ("ls", SHOP, "--records")),
    (("list", SHOP), ("ls", SHOP)),
    (("info", SHOP), ("describe", SHOP)),
    (("help",), ("--help",)),
    (("help", "search"), ("search", "--help")),
    (("version",), ("--version",)),
    # SQL, git, fsck
    (("query", SHOP, "select 1"), ("sql", SHOP, "select 1")),
    (("check", SHOP), ("verify", SHOP)),
    (("fsck", SHOP), ("verify", SHOP)),
    (("log", SHOP), ("cluster", SHOP, "--history")),
    (("LATEST", SHOP, "-t", "customers"), ("dump", SHOP, "--latest", "-t", "customers")),
]


@pytest.mark.parametrize(
    ("typed", "meant"), [pytest.param(*each, id=str(each[0][:2])) for each in SAME]
)
def test_a_word_that_means_a_command_runs_it(
    typed: tuple[str | Path, ...], meant: tuple[str | Path, ...]
) -> None:
    outcome = run(*typed)
    assert outcome.out
    assert outcome == run(*meant)


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("fix", "recover DIR --to COPY"),
        ("restore", "undelete DIR --to COPY"),
        ("delete", "ls DIR --files"),
        ("delete-records", "ls DIR --files"),
        ("schema", "dump DIR -t _schemas --latest"),
        ("who", "cluster DIR --history"),
        ("producers", 'sql DIR "from producers"'),
        ("select", 'sql DIR "select …"'),
        ("jq", "dump DIR --json"),
        ("produce", "replay DIR --to"),
        ("upgrade", "predict DIR --kafka VERSION"),
        ("start", "predict DIR"),
        ("serach", "did you mean search?"),
        ("xyzzy", "--help lists the commands"),
    ],
)
def test_a_word_that_needs_other_arguments_says_what_to_type(typed: str, named: str) -> None:
    outcome = run(typed, SHOP)
    assert outcome.code == 3
    assert outcome.out == ""
    assert outcome.err.startswith(f"kafka-workbench: No such command {typed!r}; ")
    assert named in outcome.err


@pytest.mark.parametrize("typed", ["compct", "retentoin", "undelet", "replya", "srve"])
def test_a_command_that_writes_is_never_a_guess(typed: str) -> None:
    assert "did you mean" not in run(typed, SHOP).err


def test_words_are_not_commands_and_lead_to_commands() -> None:
    assert not COMMANDS.keys() & (SYNONYMS.keys() | ADVICE.keys())
    assert not SYNONYMS.keys() & ADVICE.keys()
    assert {words[0] for words in SYNONYMS.values()} - COMMANDS.keys() == {"--version"}
    changing = {"compact", "recover", "replay", "retention", "serve", "to-table", "undelete"}
    assert not changing & {words[0] for words in SYNONYMS.values()}


def test_doctor_of_a_directory_says_what_checks_one() -> None:
    outcome = run("doctor", SHOP)
    assert outcome.code == 3
    assert f"verify {SHOP} checks a directory" in outcome.err


def test_a_report_takes_its_file_as_the_last_argument(tmp_path: Path) -> None:
    file = tmp_path / "ticket.html"
    assert run("report", SHOP, file, "--now", "2026-11-25T08:00Z").code == 0
    assert file.read_text().startswith("<!DOCTYPE html>")
    assert "as in report DIR x.html" in run("report", SHOP).err


def test_an_export_to_json_or_stdout_writes_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "two.json"
    assert run("export", SHOP, file, "-t", "orders", "-n", "2").code == 0
    assert [json.loads(line)["offset"] for line in file.read_text().splitlines()] == [0, 1]
    shown = run("export", SHOP, "-", "-t", "orders", "-n", "2")
    assert shown.out == file.read_text()
    named = tmp_path / "three.csv"
    assert run("export", SHOP, "-o", named, "-t", "orders", "-n", "2").code == 0
    assert named.read_text().count("\n") == 3
