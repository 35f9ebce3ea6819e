"""What the README and docs/questions.md say is true: code and commands run, files are there."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

import widgets
import workbench
import workbench.pipelines
from tests.cli.program import run
from tests.widgets.requested import Client, fetch
from workbench.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
QUESTIONS = (ROOT / "docs" / "questions.md").read_text()
ENGINE = (ROOT / "docs" / "engine.md").read_text()
SHOP = ROOT / "sample_data" / "shop-4.3.1"
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_code_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    monkeypatch.chdir(tmp_path)
    (block,) = BLOCKS
    exec(compile(block, "README.md", "exec"), {})  # noqa: S102 - the README is ours
    assert (tmp_path / "new.parquet").stat().st_size > 0


def test_the_value_that_the_readme_shows_is_the_one_there_is() -> None:
    line = next(line for line in README.splitlines() if "].codec" in line)
    code, comment = line.split("  # ")
    names: dict[str, object] = {}
    names["logs"] = workbench.open_log_directory(ROOT / "sample_data" / "shop-4.3.1")
    assert repr(eval(code, names)) == comment  # noqa: S307 - the README is ours


def test_a_reader_has_the_whole_readme_in_five_minutes() -> None:
    assert len(README.encode()) <= 8 << 10
    picture = README.index("](notebooks/images/app.png)")
    assert README.count("\n", 0, picture) < 8  # on the first screen


def test_verify_finds_nothing_in_the_log_that_the_documents_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", ENGINE, re.DOTALL)
    (block, commit) = [block for block in blocks if "wb.LogManager(" in block]
    exec(compile(block, "engine.md", "exec"), {})  # noqa: S102 - the text is ours
    assert workbench.verify("logs", info=True) == []
    assert "\nnothing wrong\nchecked 1 partition, 1 segment, " in run("verify", "logs").out
    assert run("predict", "logs", "--json").json["partitions"][0]["verdict"] == "loads"
    exec(compile(commit, "engine.md", "exec"), {})  # noqa: S102 - the text is ours
    assert workbench.verify("logs", info=True) == []
    [row] = run("offsets", "logs", "--json").json
    assert (row["group"], row["offset"], row["unserved"]) == ("billing", 42, None)


COMMANDS = sorted(set(re.findall(r"`(?:\.venv/bin/)?kafka-workbench ([^`]+)`", README + QUESTIONS)))
LASTING = ("spark", "lab", "app", "serve", "replay")  # these run for long, or need a cluster
PLAIN = [command for command in COMMANDS if not command.startswith(LASTING)]


def test_every_command_has_its_question() -> None:
    named = {command.split()[0] for command in COMMANDS}
    assert named == set(main.COMMANDS)


@pytest.mark.parametrize("command", PLAIN)
def test_a_command_runs_as_it_is_printed(command: str, tmp_path: Path) -> None:
    outcome = run(*filled(command, tmp_path))
    # The shop has what is stuck, and records that Kafka's default retention deletes after a start.
    assert outcome.code == command.startswith(("stuck", "preflight")), outcome.err
    assert outcome.out or "FILE" in command
    for name, made in (("OUT", "out"), ("FILE", "records.parquet")):
        assert (tmp_path / made).exists() == (name in command.split())


WORDS = {
    "DIR": SHOP,
    "PATH": SHOP / "orders-0",
    "PATTERN": "O-48212",
    "NAME": "order-dashboard",
    "ID": "payments-eu",
    "MS": "1767225600000",
    "TIME": "2026-11-21T14:53:04",
    "NAME=VALUE": "retention.ms=0",
    "QUERY": "select count(*) from orders",
}


def filled(command: str, folder: Path) -> list[str]:
    """Return the words of a command, with paths and values for those in capitals."""
    words = {**WORDS, "OUT": folder / "out", "FILE": folder / "records.parquet"}
    words["report.html"] = folder / "report.html"
    if command.startswith("undelete"):
        deleted = folder / "deleted" / f"ledger-0.{'a' * 32}-delete"
        shutil.copytree(SHOP / "orders-0", deleted)
        words["DIR"] = deleted.parent
    if "RULES" in command:
        (folder / "rules").write_text("orders value drop\n")
        words["RULES"] = folder / "rules"
    if "1=DIR1" in command:
        words |= {"1=DIR1": f"1={SHOP}", "2=DIR2": f"2={shutil.copytree(SHOP, folder / 'others')}"}
    return [str(words.get(word, word)) for word in shlex.split(command)]


def test_the_lab_opens_the_directory_that_is_named() -> None:
    (command,) = [command for command in COMMANDS if command.startswith("lab")]
    name, path = command.split()
    assert run(name, path, "--json").json["data"] == path


def test_the_python_of_the_questions_runs(tmp_path: Path) -> None:
    cells = re.findall(r"^\| [^|]+ \| (`[^|]+`) \| [^|]*\|$", QUESTIONS, re.MULTILINE)
    assert len(cells) > 15
    with workbench.serve(SHOP) as server:
        server.watch()
        with Client(server) as client:
            fetch(client, 0)
        names = {
            **{name: getattr(widgets, name) for name in widgets.__all__},
            "server": server,
            "widgets": widgets,
            "wb": workbench,
            "workbench": workbench,
            "path": tmp_path / "records.parquet",
            "logs": workbench.open_log_directory(SHOP),
            "others": workbench.open_log_directory(shutil.copytree(SHOP, tmp_path / "others")),
        }
        for cell in cells:
            if "spark" in cell:  # tests/spark/test_readme.py
                continue
            start = 'logs.scan(topics="customers")'
            for code in re.findall(r"`([^`]+)`", cell):
                whole = f"{start}{code}" if code.startswith(".") else code
                start = whole.rpartition(".")[0]
                if "…" in whole:  # what is left out is not known here
                    whole = whole.partition("(")[0]
                assert eval(whole, dict(names)) is not None, code  # noqa: S307 - it is ours


def test_every_file_that_the_readme_names_is_there() -> None:
    for name in re.findall(r"\]\(([\w./-]+)\)", README):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`((?:workbench|sample_data|tests)/[\w./-]+)`", README):
        assert (ROOT / name).exists(), name


def test_every_verb_of_the_readme_is_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for verb in set(re.findall(r"^    make (\w+)", README, re.MULTILINE)):
        assert re.search(rf"^{verb}:", makefile, re.MULTILINE), verb
    assert shutil.which("make")
