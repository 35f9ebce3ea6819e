"""The 52 first words of a newcomer (the review's list): none ends without a way on."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.cli.program import run
from workbench.cli.main import COMMANDS, main

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
FILE = SHOP / "orders-0" / f"{0:020}.log"

WORKS: list[tuple[tuple[str | Path, ...], str]] = [
    # worked at once
    (("ls", SHOP), "orders-0"),
    (("ls", FILE), "orders-0"),
    (("dump", FILE, "-n", "1"), "O-48212"),
    (("search", SHOP, "O-48212"), "O-48212"),
    (("search", SHOP, "-t", "orders", "O-48212", "--since", "2024-11-01"), "O-48212"),
    (("groups", SHOP), "order-dashboard"),
    (("transactions", SHOP), "payments-eu"),
    (("--version",), "kafka-workbench"),
    (("serve", "--help"), "--writable"),
    (("export", SHOP, "-", "-t", "orders", "-n", "1", "--format", "csv"), "O-48212"),
    # the way round did not matter to people
    (("group", SHOP, "order-dashboard"), "order-dashboard"),
    (("sql", "select count(*) n from orders", SHOP), '{"n": 5200}'),
    # ended in "No such command"
    (("topics", SHOP), "orders"),
    (("head", SHOP, "-t", "orders"), "O-48212"),
    (("tail", SHOP, "-t", "orders"), "orders"),
    (("count", SHOP), "167,255"),
    (("consume", SHOP, "-t", "orders", "-n", "1"), "O-48212"),
    (("query", SHOP, "select count(*) n from orders"), '{"n": 5200}'),
    (("info", FILE), "orders-0"),
    (("check", SHOP), "16 partitions"),
    (("configs", SHOP), "cleanup.policy"),
    (("consumer-groups", SHOP), "order-dashboard"),
    (("to-parquet", "--help"), "Write the records"),
    (("help",), "compare-replicas"),
    (("help", "dump"), "Usage: kafka-workbench dump"),
    ((SHOP,), "orders-0"),
    # had a neighbor that leads astray
    (("cat", SHOP, "-t", "orders", "-n", "1"), "O-48212"),
    (("lag", SHOP), "order-dashboard"),
    (("du", SHOP), "clicks"),
    (("grep", "O-48212", SHOP), "O-48212"),
    (("fsck", SHOP), "16 partitions"),
    (("version",), "kafka-workbench"),
    (("acls", SHOP), ""),
    (("users", SHOP), ""),
    (("list", SHOP), "orders-0"),
]

SAYS: list[tuple[tuple[str | Path, ...], str]] = [
    (("delete", SHOP), "ls DIR --files"),
    (("repair", SHOP), "recover DIR --to COPY"),
    (("fix", SHOP), "recover DIR --to COPY"),
    (("restore", SHOP), "undelete DIR --to COPY"),
    (("producers", SHOP), 'sql DIR "from producers"'),
    (("schema", SHOP), "dump DIR -t _schemas"),
    (("who", SHOP), "cluster DIR --history"),
    (("doctor", SHOP), "verify"),
    (("describe", SHOP, "orders"), "orders"),
    (("report", SHOP), "report DIR x.html"),
    (("export", SHOP), "export PATH FILE"),
    (("compact", SHOP), "--to OUT"),
    (("replay", SHOP), "--to"),
    (("undelete", SHOP), "--to"),
    (("ls", "/no/such/path"), "/no/such/path"),
    (("dump", SHOP, "-t", "ordres"), "did you mean orders?"),
    (("diff", SHOP), "BROKER=DIR"),
]


@pytest.mark.parametrize(
    ("typed", "shown"), [pytest.param(*e, id=" ".join(map(str, e[0]))) for e in WORKS]
)
def test_a_first_word_works(typed: tuple[str | Path, ...], shown: str) -> None:
    done = run(*typed)
    assert done.code == 0, done.err
    assert shown in done.out + done.err
    assert "did you mean" not in done.err


@pytest.mark.parametrize(
    ("typed", "said"), [pytest.param(*e, id=" ".join(map(str, e[0]))) for e in SAYS]
)
def test_a_first_word_says_what_to_type(typed: tuple[str | Path, ...], said: str) -> None:
    done = run(*typed)
    assert done.code == 3
    assert said in done.err
    assert "bug in" not in done.err


def test_the_list_has_the_words_of_the_review() -> None:
    assert len(WORKS) + len(SAYS) == 52


SHORT = {
    "-F": "--literal",
    "-H": "--header",
    "-c": "--count",
    "-g": "--group",
    "-i": "--ignore-case",
    "-k": "--key",
    "-n": "--limit",
    "-o": "--to",
    "-p": "--partition",
    "-r": "--reverse",
    "-t": "--topic",
    "-v": "--wide",
    "-w": "--where",
    "-x": "--hex",
}
"""Each short option, and the long one that it means wherever it is."""

ALONE = {"-f": {"dump"}, "-X": {"replay", "to-table", "spark to-table"}}
"""Short options without a long name, and where they are: kcat's, of its meaning."""

WITHOUT_TOPIC = {
    "app": "one screen of all",
    "doctor": "is about this installation",
    "group": "one group; offsets -g GROUP -t TOPIC has its rows",
    "groups": "groups are of the cluster; offsets -t TOPIC has those of a topic",
    "lab": "opens a notebook",
    "offset": "names one partition",
    "report": "one page about all",
    "spark pack": "makes an archive",
    "sql": "where topic = …",
    "transaction": "one transaction; transactions -t TOPIC has those of a topic",
}
WITHOUT_PARTITION = {
    **WITHOUT_TOPIC,
    "preflight": "its rows are topics",
    "serve": "clients see whole topics",
    "spark cluster-verify": "a job reads whole topics",
    "spark compaction-savings": "a job reads whole topics",
    "spark replica-diff": "a job reads whole topics",
    "spark rescue-to-parquet": "a job reads whole topics",
    "spark topic-profile": "a job reads whole topics",
}
TIMED = {"cluster", "dump", "export", "group", "offsets", "search", "transactions"}
"""What shows records, or other things with a time each."""


def _every_command() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(main)
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            for job in command.list_commands(context):
                each = command.get_command(context, job)
                assert each is not None
                yield f"{name} {job}", each
        else:
            yield name, command


def _options(command: click.Command) -> dict[str, click.Option]:
    """Return the options by each of their names."""
    return {
        name: each
        for each in command.params
        if isinstance(each, click.Option)
        for name in each.opts
    }


def test_a_short_option_means_one_thing_in_every_command() -> None:
    found: set[str] = set()
    for name, command in _every_command():
        options = _options(command)
        for short in (each for each in options if len(each) == 2):
            if short in ALONE:
                assert name in ALONE[short]
            else:
                assert SHORT[short] in options[short].opts, (name, short)
                found.add(short)
        if "--json" in options:
            assert options["--json"].is_flag, name
    assert found == set(SHORT)


def test_topics_partitions_and_times_are_chosen_in_one_way_wherever_they_can_be() -> None:
    every = dict(_every_command())
    for short, without in (("-t", WITHOUT_TOPIC), ("-p", WITHOUT_PARTITION)):
        assert {name for name, each in every.items() if short not in _options(each)} == set(without)
        for name in every.keys() - without.keys():
            option = _options(every[name])[short]
            assert option.multiple or name == "undelete", name
            text = option.help or ""
            assert text.startswith(("Only this ", "Serve only this ")), (name, text)
    for name, each in every.items():
        options = _options(each)
        assert ("--since" in options) == ("--until" in options) == (name in TIMED), name


def test_rows_of_a_topic_are_chosen_where_rows_have_one() -> None:
    rows = run("offsets", SHOP, "-t", "orders", "-p", "0", "--json").json
    assert {(row["topic"], row["partition"]) for row in rows} == {("orders", 0)}
    assert rows == [
        row
        for row in run("offsets", SHOP, "--json").json
        if (row["topic"], row["partition"]) == ("orders", 0)
    ]
    found = run("stuck", SHOP, "-p", "orders-1", "--json").json
    assert {(row["topic"], row["partition"]) for row in found["groups"]} == {("orders", 1)}
    for command in ("offsets", "stuck"):
        assert "unknown topic ordres; did you mean orders" in run(command, SHOP, "-t", "ordres").err


NOW = "2026-12-20T00:00:00Z"


def _named(*words: str | Path) -> list[dict[str, object]]:
    """Return what a command says of partitions: objects with topic and partition, or a name."""
    found = run(*words, "--json").json
    if isinstance(found, dict):
        found = found.get("partitions") or found.get("segments") or found["logs"]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    ("command", "key"),
    [
        (("predict", "--quick"), "name"),
        (("what-if",), "partition"),
        (("retention", "--dry-run", "--now", NOW), "partition"),
        (("transactions", "--open"), "partition"),
        (("transactions", "--markers"), "partition"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else each,
)
def test_what_is_said_of_a_partition_is_what_is_said_of_it_among_all(
    command: tuple[str, ...], key: str
) -> None:
    name, *options = command
    every = _named(name, SHOP, *options)
    for choice in (("-t", "payments"), ("-p", "payments-0"), ("-t", "payments", "-p", "0")):
        chosen = _named(name, SHOP, *options, *choice)
        wanted = "payments" if len(choice) == 2 and choice[0] == "-t" else "payments-0"
        assert chosen == [
            row
            for row in every
            if (f"{row['topic']}-{row[key]}" if "topic" in row else str(row[key])).startswith(
                wanted
            )
        ]
    unknown = run(name, SHOP, *options, "-t", "paymints")
    assert unknown.code == 3
    assert "unknown topic paymints; did you mean payments" in unknown.err


def test_a_preflight_of_a_topic_judges_that_topic() -> None:
    every = run("preflight", SHOP, "--now", "2026-11-21T15:00Z", "--json")
    of_one = run("preflight", SHOP, "--now", "2026-11-21T15:00Z", "-t", "returns", "--json")
    assert of_one.json["topics"] == [
        row for row in every.json["topics"] if row["topic"] == "returns"
    ]
    assert {row["verdict"] for row in of_one.json["topics"]} == {"served"}
    assert (every.code, of_one.code) == (1, 0)
    assert of_one.json["directories"] == every.json["directories"]
    assert "unknown topic" in run("preflight", SHOP, "-t", "retruns").err


def test_a_copy_of_some_logs_has_them_as_a_copy_of_all_has_them(tmp_path: Path) -> None:
    whole, some = tmp_path / "whole", tmp_path / "some"
    options, name = ("--full", "--now", NOW, "--json"), "orders-1"
    every = run("recover", SHOP, "--to", whole, *options).json
    chosen = run("recover", SHOP, "--to", some, "-p", name, *options).json
    assert chosen["partitions"] == [
        {**row, "directory": str(some)} for row in every["partitions"] if row["name"] == name
    ]
    assert [each.name for each in some.iterdir() if each.is_dir()] == [name]
    for file in (whole / name).iterdir():
        assert (some / name / file.name).read_bytes() == file.read_bytes()
    refused = run("recover", some, "--in-place", "-p", name)
    assert "a directory is recovered as a whole: give --to OUT for some" in refused.err


def test_retention_and_compaction_of_some_logs_leave_the_others(tmp_path: Path) -> None:
    def files(folder: Path) -> dict[str, list[str]]:
        return {
            each.name: sorted(file.name for file in each.glob("*.log"))
            for each in folder.iterdir()
            if each.is_dir()
        }

    kept, cleaned = tmp_path / "kept", tmp_path / "cleaned"
    assert run("retention", SHOP, "--to", kept, "--now", NOW, "-p", "orders-1").code == 0
    changed = {name for name, found in files(kept).items() if found != files(SHOP)[name]}
    assert changed == {"orders-1"}
    told = run("compact", SHOP, "--to", cleaned, "--now", NOW, "-p", "customers-1", "--json").json
    assert [each["partition"] for each in told["logs"]] == ["customers-1"]


def test_a_cluster_shows_one_topic_and_one_time() -> None:
    shown = run("cluster", SHOP, "-t", "orders", "--json").json
    assert {row["topic"] for row in shown["topics"] + shown["topic_partitions"]} == {"orders"}
    assert {row["resource"] for row in shown["configs"]} == {"orders"}
    assert "brokers" not in shown
    every = run("cluster", SHOP, "--history", "--json").json
    since = run("cluster", SHOP, "--since", "2026-11-21T14:54Z", "-p", "orders-0", "--json").json
    first = 1795272840000  # 2026-11-21T14:54Z
    assert since == [
        row for row in every if row["timestamp"] >= first and row["entity"] == "orders-0"
    ]
    assert since


def test_what_has_a_time_is_chosen_by_it() -> None:
    at = "2026-11-21T14:54:04Z"
    rows = run("offsets", SHOP, "--json").json
    newer = run("offsets", SHOP, "--since", at, "--json").json
    older = run("offsets", SHOP, "--until", at, "--json").json
    assert newer
    assert older
    timed = [row for row in rows if row["commit_time"] is not None]
    assert [row for row in timed if row in newer or row in older] == timed
    assert not any(row in older for row in newer)
    group = run("group", "order-dashboard", SHOP, "--since", at, "--json").json
    every = run("group", "order-dashboard", SHOP, "--json").json
    assert 0 < len(group["rebalances"]) < len(every["rebalances"])
    assert group["offsets"] == every["offsets"]


@pytest.mark.parametrize("typed", ["tables", ".tables", "\\dt", "help", "show topics;"])
def test_sql_lists_its_tables_by_the_words_of_other_shells(typed: str) -> None:
    assert run("sql", SHOP, typed) == run("sql", SHOP, "show")


def test_a_range_without_a_record_is_said_to_have_none() -> None:
    for words in (("--since", "2030-01-01"), ("--offsets", "5000:")):
        done = run("dump", SHOP, "-t", "orders", "--json", *words)
        assert (done.code, done.out) == (0, "")
        assert done.err == "kafka-workbench: no record has these offsets and times\n"
    assert run("dump", SHOP, "-t", "orders", "--json", "-n", "0").err == ""
