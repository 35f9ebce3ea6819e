import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from tests.cli.program import run
from tests.golden.cases import Case
from workbench.cli.main import COMMANDS, main

Golden = Callable[[str], Case]
SAMPLES = Path(__file__).parents[2] / "sample_data"


def test_help_names_every_command_and_every_exit_code() -> None:
    shown = run("--help")
    assert shown.code == 0
    for name in COMMANDS:
        assert f"  {name} " in shown.out
    for code in (0, 1, 2, 3, 130, 141):
        assert f"  {code} " in shown.out


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_80_columns(name: str) -> None:
    shown = run(*([name] if name else []), "--help").out
    assert [line for line in shown.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_does_and_takes_json_and_debug(name: str) -> None:
    shown = run(name, "--help")
    assert shown.code == 0
    assert "--json" in shown.out
    assert "--debug" in shown.out
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.help


@pytest.mark.parametrize("name", ["ls", "describe", "dump", "search", "verify"])
def test_a_path_that_is_not_there_is_one_clear_line(name: str, tmp_path: Path) -> None:
    outcome = run(name, tmp_path / "nowhere")
    assert outcome.code == 3
    assert outcome.out == ""
    assert outcome.err == (
        f"kafka-workbench: {tmp_path}/nowhere: there is no such file or directory\n"
    )


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("orders", "to choose the topic orders of {shop}: -t orders, in Python topics='orders'"),
        ("orders-0", "did you mean {shop}/orders-0?"),
    ],
)
@pytest.mark.parametrize("command", ["explain", "verify", "plan", "ls"])
def test_a_log_that_is_given_as_a_path_is_told_how_it_is_chosen(
    command: str, name: str, hint: str
) -> None:
    shop = SAMPLES / "shop-4.3.1"
    for words in ((name, shop), (shop, name)):
        outcome = run(command, *words)
        assert outcome.code == 3
        assert outcome.out == ""
        expected = f"{name}: there is no such path; {hint.format(shop=shop)}"
        assert outcome.err == f"kafka-workbench: {expected}\n"


@pytest.mark.parametrize(
    ("words", "usage"),
    [
        (("group", "{shop}", "billing"), "group NAME PATH"),
        (("transaction", "{shop}", "tx-1"), "transaction ID PATH"),
        (("offset", "{shop}", "orders-0", "12"), "offset PARTITION OFFSET PATH"),
        (("sql", "select 1", "{shop}"), "sql PATH QUERY"),
    ],
)
def test_a_name_after_the_path_is_told_where_it_belongs(words: tuple[str, ...], usage: str) -> None:
    shop = str(SAMPLES / "shop-4.3.1")
    outcome = run(*(word.format(shop=shop) for word in words))
    assert outcome.code == 3
    assert outcome.err.endswith(f" comes last: {usage}\n")


def test_an_unknown_topic_gets_the_nearest_name(golden: Golden) -> None:
    directory = golden("4.2.0-txn").directory("data")
    outcome = run("dump", directory, "--topic", "txn-sorce")
    assert outcome.code == 3
    assert outcome.err.endswith("unknown topic txn-sorce; did you mean txn-source?\n")
    assert len(outcome.err.splitlines()) == 1


def test_an_argument_without_a_meaning_is_a_failure_of_its_own_code(golden: Golden) -> None:
    directory = golden("4.2.0-txn").directory("data")
    assert run("dump", directory, "--offsets", "a:b").code == 3
    assert run("dump", directory, "--since", "soon").code == 3
    assert run("dump", directory, "--no-such-option").code == 3
    assert run("verify").code == 3
    assert run("no-such-command").code == 3


def test_debug_shows_where_an_error_came_from(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "workbench.cli.main"]
    for arguments in (["--debug", "ls"], ["ls", "--debug"]):
        shown = subprocess.run(
            [*program, *arguments, str(tmp_path / "nowhere")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" in shown.stderr
        assert "LogDirectoryError" in shown.stderr


def test_a_version_is_printed() -> None:
    assert run("--version").out.startswith("kafka-workbench, version ")


def test_listing_loads_neither_numba_nor_pandas(golden: Golden) -> None:
    directory = golden("4.2.0-txn").directory("data")
    code = (
        "import sys\n"
        "from workbench.cli.main import main\n"
        f"main(['ls', {str(directory)!r}], standalone_mode=False)\n"
        "print({'numba', 'pandas', 'pyspark', 'ipywidgets'} & set(sys.modules), file=sys.stderr)\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stderr == "set()\n"


def _state(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_no_command_changes_a_byte_of_what_it_looks_at(golden: Golden, tmp_path: Path) -> None:
    directory = golden("4.2.0-txn").directory("data")
    before = _state(directory)
    for name in ("ls", "describe", "dump", "search", "verify"):
        assert run(name, directory).code == 0
    assert run("describe", directory, "-p", "txn-a-0").code == 0
    assert run("export", directory, "--to", tmp_path / "all.parquet").code == 0
    assert _state(directory) == before


def test_every_failure_is_one_line(golden: Golden) -> None:
    directory = golden("4.2.0-txn").directory("data")
    index = directory / "txn-a-0" / "00000000000000000000.index"
    for arguments in (
        ["dump"],
        ["dump", directory, "--offsets", "x"],
        ["dump", index],
        ["search", index],
        ["no-such-command"],
        ["describe", directory, "--batch", "0"],
    ):
        outcome = run(*arguments)
        assert outcome.code == 3
        assert outcome.out == ""
        assert len(outcome.err.splitlines()) == 1
        assert outcome.err.startswith("kafka-workbench: ")


PIPED = (
    ["verify", "damaged"],
    ["predict", "--quick", "damaged"],
    ["describe", "shop-4.3.1", "-p", "orders-0"],
    ["plan", "shop-4.3.1", "-t", "customers", "--records"],
    ["ls", "shop-4.3.1"],
    ["doctor"],
    ["dump", "shop-4.3.1"],
    ["--help"],
    ["verify", "--help"],
)


@pytest.mark.parametrize("arguments", PIPED, ids=" ".join)
def test_a_reader_that_stopped_reading_gives_141(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    shown = subprocess.run(
        [sys.executable, "-m", "workbench.cli.main", *arguments],
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=SAMPLES,
        env={**os.environ, "PYTHONPATH": str(SAMPLES.parent)},
        check=False,
    )
    os.close(writing)
    assert shown.returncode == 141
    assert shown.stderr == b""


def test_a_closed_stderr_is_no_traceback(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    program = [sys.executable, "-m", "workbench.cli.main", "ls", str(tmp_path / "nowhere")]
    shown = subprocess.run(program, stdout=subprocess.PIPE, stderr=writing, check=False)
    os.close(writing)
    assert shown.returncode == 141
    assert shown.stdout == b""


def test_help_shows_no_marks_of_its_own_format() -> None:
    for name in COMMANDS:
        shown = run(name, "--help").out
        assert "\\b" not in shown
        assert "\b" not in shown


JOBS = (
    "topic-profile",
    "compaction-savings",
    "cluster-verify",
    "rescue-to-parquet",
    "replica-diff",
)


@pytest.mark.parametrize(
    "command",
    [*((name,) for name in COMMANDS if name != "spark"), *(("spark", job) for job in JOBS)],
)
def test_every_command_says_its_exit_codes(command: tuple[str, ...]) -> None:
    shown = " ".join(run(*command, "--help").out.split())
    assert "Exit codes: 0 " in shown
    assert "Every command exits with 3 if " in shown
