"""The wheel works where nothing else is installed: every Python, alone and with each extra."""

import shutil
import sys
import tomllib
from pathlib import Path

import pytest
import wheel

import workbench

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_every_extra_is_checked() -> None:
    extras = {*PROJECT["optional-dependencies"]} - {"all"}
    assert wheel.CHECKS.keys() == extras | {wheel.CORE}
    assert wheel.versions() == ["3.11", "3.12", "3.13"]
    assert wheel.interpreter(f"3.{sys.version_info.minor}") == sys.executable


def test_the_version_has_one_place() -> None:
    assert workbench.__version__ == PROJECT["version"]
    for name in ("workbench/__init__.py", ".conda/meta.yaml", "setup.py"):
        assert PROJECT["version"] not in (ROOT / name).read_text()
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    return Path(shutil.copy(wheel.build(), folder))


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("extra", wheel.CHECKS)
@pytest.mark.parametrize("version", wheel.versions())
def test_the_wheel_works_in_a_fresh_environment(version: str, extra: str, built: Path) -> None:
    python = wheel.interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version} on this machine")
    wheel.check(built, python, extra)
