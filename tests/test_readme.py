"""What the README says is true: its code runs, its commands and files are there."""

import re
import shutil
from pathlib import Path

import pytest

import workbench

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_code_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})  # noqa: S102 - the README is ours
    assert (tmp_path / "new.parquet").stat().st_size > 0


def test_the_value_that_the_readme_shows_is_the_one_there_is() -> None:
    line = next(line for line in README.splitlines() if "].codec" in line)
    code, comment = line.split("  # ")
    names: dict[str, object] = {}
    names["logs"] = workbench.open_log_directory(ROOT / "sample_data" / "shop-4.3.1")
    assert repr(eval(code, names)) == comment  # noqa: S307 - the README is ours


def test_every_command_of_the_readme_is_one() -> None:
    from click.testing import CliRunner

    from workbench.cli.main import main

    wanted = set(re.findall(r"`kafka-workbench (\w+)", README))
    assert len(wanted) > 5
    listed = CliRunner().invoke(main, ["--help"]).output
    for command in wanted:
        assert re.search(rf"^  {command}\b", listed, re.MULTILINE), command


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
