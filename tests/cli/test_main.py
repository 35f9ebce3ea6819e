import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from tests.cli.program import run
from tests.golden.cases import Case
from tests.waiting import wait_until
from workbench.cli.command import Command
from workbench.cli.main import COMMANDS, main

Golden = Callable[[str], Case]
SAMPLES = Path(__file__).parents[2] / "sample_data"


@pytest.mark.parametrize("serves", [False, True])
def test_cycles_are_seldom_looked_for_while_a_command_runs_that_ends(*, serves: bool) -> None:
    before, during = gc.get_threshold(), []

    @click.command(cls=Command, serves=serves)
    def command() -> None:
        during.append(gc.get_threshold()[0])

    command.main([], standalone_mode=False)
    assert during == [before[0] if serves else 1_000_000]
    assert gc.get_threshold() == before


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
    ("words", "turned"),
    [
        (("group", "{shop}", "payment-service"), ("group", "payment-service", "{shop}")),
        (("transaction", "{shop}", "tx-1"), ("transaction", "tx-1", "{shop}")),
        (("offset", "{shop}", "orders-0", "12"), ("offset", "orders-0", "12", "{shop}")),
        (("offset", "{shop}/orders-0", "12"), ("offset", "orders-0", "12", "{shop}")),
        (("offset", "12", "{shop}/orders-0/"), ("offset", "orders-0", "12", "{shop}/orders-0")),
        (("sql", "select 1", "{shop}"), ("sql", "{shop}", "select 1")),
        (
            ("search", "O-48212", "{shop}", "-t", "orders"),
            ("search", "{shop}", "O-48212", "-t", "orders"),
        ),
    ],
)
def test_a_path_may_stand_before_or_after_the_names(
    words: tuple[str, ...], turned: tuple[str, ...]
) -> None:
    shop = str(SAMPLES / "shop-4.3.1")
    outcome = run(*(word.format(shop=shop) for word in words))
    assert outcome.out
    assert outcome == run(*(word.format(shop=shop) for word in turned))


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


WITHOUT_NUMBA = """
import sys
class Nothing:
    def find_spec(self, name, *rest):
        assert name.split(".")[0] not in {"numba", "llvmlite"}, name
sys.meta_path.insert(0, Nothing())
import json
from workbench.cli.main import main
directory, *calls = json.loads(sys.argv[1])
for name, *words in calls:
    main([name, directory, *words], standalone_mode=False)
    print("done", name, file=sys.stderr)
import widgets, workbench
logs = workbench.open_log_directory(directory)
widgets.Workbench(logs)
widgets.LogExplorer(logs)
print("done widgets", file=sys.stderr)
"""


def test_no_command_and_no_widget_imports_numba(golden: Golden, tmp_path: Path) -> None:
    """Each decodes, checks or plans with compiled code, which is a library; Spark has its own."""
    directory = str(golden("4.2.0-txn").directory("data"))
    calls = [
        ["ls", "--records"],
        ["describe"],
        ["describe", "-p", "txn-a-0"],
        ["dump", "-n", "1"],
        ["search", "a"],
        ["verify"],
        ["groups"],
        ["transactions"],
        ["explain"],
        ["predict"],
        ["plan"],
        ["stuck"],
        ["sql", "select count(*) from records"],
        ["export", "--to", str(tmp_path / "all.parquet")],
        ["report", "-o", str(tmp_path / "report.html")],
        ["recover", "--to", str(tmp_path / "recovered")],
        ["compact", "--to", str(tmp_path / "compacted"), "--now", "2026-03-01T12:00:00Z"],
    ]
    words = [sys.executable, "-c", WITHOUT_NUMBA, json.dumps([directory, *calls])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "done widgets" in done.stderr


def test_listing_loads_no_more_than_it_needs(golden: Golden) -> None:
    directory = golden("4.2.0-txn").directory("data")
    code = (
        "import sys\n"
        "from workbench.cli.main import main\n"
        f"main(['ls', {str(directory)!r}], standalone_mode=False)\n"
        "print({'numba', 'pandas', 'pyarrow', 'duckdb', 'pyspark', 'ipywidgets', 'email.message',\n"
        "       'importlib.metadata'} & set(sys.modules), file=sys.stderr)\n"
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


def test_an_error_has_its_code_where_stderr_is_a_full_disk(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "workbench.cli.main", "verify", str(tmp_path / "nowhere")]
    with open("/dev/full", "wb") as full:
        shown = subprocess.run(program, stdout=subprocess.PIPE, stderr=full, check=False)
    assert (shown.returncode, shown.stdout) == (3, b"")


@pytest.mark.parametrize(
    "words",
    [
        "export LOGS --to OUT --format csv --mask FILE",
        "to-table LOGS --to OUT --types clicks=FILE",
        "dump LOGS --value-format avro:FILE",
        "dump LOGS --value-format json_schema:FILE",
        "dump LOGS --value-format protobuf:FILE",
        "serve LOGS --passwords FILE",
        "serve LOGS --certificate FILE",
        "serve LOGS --writable --config FILE",
    ],
)
def test_an_option_waits_for_no_pipe_and_reads_no_device(words: str, tmp_path: Path) -> None:
    fifo, huge, out = tmp_path / "fifo", tmp_path / "huge", tmp_path / "out"
    os.mkfifo(fifo)
    huge.touch()
    os.truncate(huge, 1 << 40)
    logs = str(SAMPLES / "era-2.8.2")
    for file, problem in ((fifo, "found a FIFO"), (huge, "more than ")):
        given = words.replace("LOGS", logs).replace("OUT", str(out)).replace("FILE", str(file))
        outcome = run(*given.split())
        assert outcome.code == 3
        assert problem in outcome.err
    assert not out.exists()


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


@pytest.mark.parametrize("threads", [1, 3])  # of the command itself; with the query's
def test_a_query_that_is_interrupted_ends_at_once_and_says_so(threads: int) -> None:
    """It would run for a minute; DuckDB alone looks for Ctrl-C late, and waits for its tasks."""
    query = "select count(*) from range(400000) a(x), range(400000) b(y) where hash(x) < hash(y)"
    program = [sys.executable, "-m", "workbench.cli.main", "sql", "shop-4.3.1", query]
    with subprocess.Popen(program, stderr=subprocess.PIPE, text=True, cwd=SAMPLES) as running:
        tasks = Path(f"/proc/{running.pid}/task")
        wait_until(lambda: len(list(tasks.iterdir())) > threads)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert errors.strip() == "interrupted"


def test_an_interrupt_while_the_command_is_imported_ends_with_its_exit_code() -> None:
    """The script's first module is there before click, whose import takes most of that time."""
    program = """
import signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from workbench.cli.entry import main
main()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, b"interrupted\n")


def test_an_interrupt_where_text_is_executed_ends_with_its_exit_code() -> None:
    """Python dies by the signal after a KeyboardInterrupt that leaves an `exec` of text."""
    program = """
import signal
from workbench.cli import main
def interrupted(self, *args, **options):
    exec("signal.raise_signal(signal.SIGINT)")
main.click.Group.main = interrupted
main.main(["ls"])
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, b"interrupted\n")


def test_a_pipe_has_letters_as_people_type_them_and_escapes_those_that_it_lacks() -> None:
    shop = str(SAMPLES / "shop-4.3.1")
    program, lines = [sys.executable, "-m", "workbench.cli.main"], {}
    for encoding in ("utf-8", "ascii"):
        done = subprocess.run(
            [*program, "search", shop, "-t", "orders", "Kraków", "-n", "1", "-v"],
            env=os.environ | {"PYTHONIOENCODING": encoding},
            capture_output=True,
            check=True,
        )
        lines[encoding] = done.stdout.decode(encoding)
    assert "Kraków" in lines["utf-8"]
    assert lines["ascii"] == lines["utf-8"].replace("ó", "\\u00f3")
    assert '"city":"Kraków"' in run("dump", shop, "-t", "orders", "-n", "1").out
    assert '"Kraków"' in run("sql", shop, "select 'Kraków' as city").out
