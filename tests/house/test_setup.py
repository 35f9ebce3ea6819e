"""What a contributor runs says what it does, and what it installs is whole."""

import json
import pkgutil
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import environment
import pytest
import system_packages

from workbench.cli.lab import TOUR
from workbench.kernels.library import targets

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


def test_the_environment_has_the_extension_of_this_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / environment.EXTENSION.relative_to(environment.ENVIRONMENT)
    monkeypatch.setattr(environment, "EXTENSION", link)
    for _ in range(2):  # an older link is replaced
        environment.link_extension()
    load = json.loads((link / "package.json").read_text())["jupyterlab"]["_build"]["load"]
    assert (link / load).samefile(ROOT / "labextension" / load)


def linked_source(folder: Path) -> Path:
    """Return a folder with links to what is built, where building may write."""
    source = folder / "source"
    source.mkdir()
    for name in (
        ".ci",
        "pyproject.toml",
        "setup.py",
        "README.md",
        "LICENSE",
        "workbench",
        "widgets",
        "pyspark_kafka_log",
        "labextension",
        "notebooks",
        "sample_data",
    ):
        (source / name).symlink_to(ROOT / name)
    return source


def test_an_editable_installation_is_a_path_whose_packages_can_be_listed(tmp_path: Path) -> None:
    """Spark imports packages named ``pyspark_…`` that `pkgutil.iter_modules` lists."""
    source = linked_source(tmp_path)
    code = f"from setuptools import build_meta; build_meta.build_editable({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=source, check=True, capture_output=True)
    (made,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(made) as archive:
        paths = [
            archive.read(name).decode() for name in archive.namelist() if name.endswith(".pth")
        ]
    listed = {each.name for each in pkgutil.iter_modules([path.strip() for path in paths])}
    assert {"workbench", "widgets", "pyspark_kafka_log"} <= listed


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's wheel."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    folder = tmp_path_factory.mktemp("wheel")
    source = linked_source(folder)
    subprocess.run([*command, "--wheel-dir", str(folder), str(source)], check=True)
    (made,) = folder.glob("*.whl")
    return made


def test_the_wheel_holds_the_code_the_types_mark_and_the_front_end(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    wanted = {
        path.relative_to(ROOT).as_posix()
        for folder in ("workbench", "widgets", "pyspark_kafka_log")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".js", ".css", ".properties"} or path.name == "py.typed"
    }
    sources = {each for each in wanted if each.startswith("widgets/static/") and each[-3:] == ".js"}
    assert len(sources) > 100
    assert wanted - sources <= packed
    assert not sources & packed, "their bundles are what is needed"
    assert "widgets/bundles/explorer/explorer.js" in packed
    assert not [name for name in packed if name.startswith(("tests", "notebooks"))]
    target = targets.target()
    assert target is not None
    assert wheel.name.endswith(f"-py3-none-{target.wheel}.whl")
    assert f"workbench/kernels/library/{targets.FILE}" in packed


def installed(wheel: Path, home: Path) -> Path:
    """Return the Python of a new environment that has the wheel alone."""
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*install, "--no-deps", "--no-index", str(wheel)], check=True)
    return python


def test_where_numba_and_compilers_are_missing_the_kernels_read(
    wheel: Path, tmp_path: Path
) -> None:
    """The wheel is moved into an environment without them, and passes the tests of scans."""
    python = installed(wheel, tmp_path / "env")
    (packages,) = python.parents[1].glob("lib/python*/site-packages")
    for path in sys.path:
        for each in Path(path).iterdir() if path.endswith("site-packages") else ():
            is_ours = each.name.startswith(("__editable__", "kafka_log_workbench"))
            is_of_the_build = each.name.startswith(("numba", "llvmlite", "ziglang"))
            if not is_ours and not is_of_the_build and not (packages / each.name).exists():
                (packages / each.name).symlink_to(each)
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in ("tests", "sample_data", "pyproject.toml"):
        (checkout / name).symlink_to(ROOT / name)

    def run(*words: str) -> str:
        """Run Python, which finds no other program."""
        ran = subprocess.run(
            [python, *words],
            cwd=checkout,
            env={"HOME": str(tmp_path), "PATH": "/nowhere"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    code = (
        "import importlib.util, workbench.kernels.dispatch as d;"
        "print(d.__file__, d.is_compiled(), importlib.util.find_spec('numba'))"
    )
    assert run("-c", code).split() == [
        str(packages / "workbench" / "kernels" / "dispatch.py"), "True", "None"
    ]  # fmt: skip
    words = (
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "tests/loaders/test_scan.py",
    )
    assert " passed" in run(*words)


def test_an_installed_wheel_has_the_tour_and_its_data(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "env"
    python = installed(wheel, home)
    (packages,) = home.glob("lib/python*/site-packages")
    needed = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "what-it-needs.pth").write_text("\n".join(needed))

    program = home / "bin" / "kafka-workbench"
    tour = json.loads(
        subprocess.run(
            [program, "lab", "--json", "--folder", "mine"],
            cwd=tmp_path,
            capture_output=True,
            check=True,
        ).stdout
    )
    assert tour["is_checkout"] is False
    assert tour["notebooks"] == "mine/notebooks"
    data = Path(tour["data"])
    assert data.is_relative_to(home)
    for original in (ROOT / "sample_data").rglob("*"):
        place = original.relative_to(ROOT / "sample_data")
        if original.is_file() and place.parts[0] != "make":
            assert (data / place).read_bytes() == original.read_bytes()
    notebooks = {path.name for path in (data.parent / "notebooks").iterdir()}
    assert notebooks == {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}

    # JupyterLab finds its extension, with this version.
    code = "import sys; from jupyterlab.labextensions import main; main(['list'])"
    listed = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    extension = json.loads((ROOT / "labextension" / "package.json").read_text())
    released = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert extension["version"] == released
    shown = re.sub(r"\x1b\[\d*m", "", listed.stdout + listed.stderr)
    assert f"kafka-log-workbench v{released} enabled OK (python, kafka-log-workbench)" in shown

    # The copies find the samples beside them.
    code = "from workbench.cli import lab; lab.prepare_folder(lab.find_tour(), 'mine')"
    subprocess.run([python, "-c", code], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "mine" / "notebooks" / TOUR).is_file()
    assert (tmp_path / "mine" / "notebooks" / ".." / "sample_data" / "shop-4.3.1").is_dir()
