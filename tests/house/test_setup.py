"""What a contributor runs says what it does, and what it installs is whole."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import environment
import pytest
import system_packages

ROOT = Path(__file__).parents[2]


def test_make_help_tells_of_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony
    shown = subprocess.run(
        ["make", "help"],  # noqa: S607 - the make that runs these tests
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert sorted(re.findall(r"^  make ([\w-]+) +\w", shown, re.MULTILINE)) == sorted(
        phony.group(1).split()
    )


def test_what_is_missing_is_named_with_the_tests_that_want_it() -> None:
    lines = system_packages.advice(system_packages.NEEDS)
    text = "\n".join(lines)
    for word in ("Chromium", "javac", "mvn", "node", "-m browser", "-m broker"):
        assert word in text
    assert "apt-get install --no-install-recommends chromium fonts-dejavu-core" in text


def test_a_program_that_is_not_there_has_version_0() -> None:
    assert system_packages.version_of("no-such-program", "--version") == 0
    assert system_packages.version_of(sys.executable, "--version") == sys.version_info.major


def test_the_builder_is_taken_from_the_lock_with_all_its_hashes() -> None:
    block = "setuptools==80 \\\n    --hash=sha256:01 \\\n    --hash=sha256:02\n"
    lock = f"a==1 \\\n    --hash=sha256:00\n{block}z==1\n"
    assert environment.requirement_of("setuptools", lock) == block


def test_names_are_found_in_the_lock_whatever_their_spelling() -> None:
    assert environment.names_in("Jinja2==3 \\\nruamel.yaml==1 ; a == 'b' \\\n    --hash\n") == {
        "jinja2",
        "ruamel-yaml",
    }


def test_the_environment_is_renewed_when_a_dependency_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyproject.toml", "requirements.lock"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    monkeypatch.setattr(environment, "PROJECT", tmp_path)
    monkeypatch.setattr(environment, "LOCK", tmp_path / "requirements.lock")
    before = environment.fingerprint()
    settings = (tmp_path / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(
        settings.replace("line-length = 100", "line-length = 99")
    )
    assert environment.fingerprint() == before
    (tmp_path / "pyproject.toml").write_text(settings.replace('"pyarrow>=18"', '"pyarrow>=19"'))
    assert environment.fingerprint() != before


def test_the_wheel_holds_the_code_the_types_mark_and_the_front_end(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    source = tmp_path / "source"
    source.mkdir()
    for name in (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "workbench",
        "widgets",
        "pyspark_kafka_log",
    ):
        (source / name).symlink_to(ROOT / name)
    subprocess.run([*command, "--wheel-dir", str(tmp_path), str(source)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    wanted = {
        path.relative_to(ROOT).as_posix()
        for folder in ("workbench", "widgets", "pyspark_kafka_log")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".js", ".mjs", ".css"} or path.name == "py.typed"
    }
    assert wanted
    assert wanted <= packed
    assert not [name for name in packed if name.startswith("tests")]
