"""What peers' suites consist of: fetched from the registries once, into the project's cache."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.kafka_broker import CACHE as JAVA_CACHE

CACHE: Final = JAVA_CACHE.with_name("peers")
_PROJECT: Final = Path(__file__).parents[2]
_FRANZ_GO: Final = Path(__file__).with_name("franz_go")
_KAFKA_GO: Final = Path(__file__).with_name("kafka_go")
_SARAMA: Final = Path(__file__).with_name("sarama")
KGO: Final = "github.com/twmb/franz-go/pkg/kgo"
"""The package of franz-go that has the client."""


def sources_of(package: str) -> Path:
    """Return the folder of a Python package's source distribution, of the version in the lock."""
    lock = (_PROJECT / "requirements.lock").read_text()
    entry = re.search(rf"^{package}==(\S+).*(?:\n    --hash.*)+", lock, re.MULTILINE)
    assert entry is not None, package

    def fetch(into: Path) -> None:
        pinned = into / "requirements.txt"
        pinned.write_text(entry.group() + "\n")
        options = ("--no-deps", "--no-build-isolation", f"--no-binary={package}")
        _pip("download", *options, "--require-hashes", f"--dest={into}", f"--requirement={pinned}")
        (archive,) = into.glob("*.tar.gz")
        with tarfile.open(archive) as members:
            members.extractall(into, filter="data")
        archive.unlink()

    (folder,) = _kept(f"{package}-{entry[1]}", fetch).glob("*/")
    return folder


def installed(pinned: Path) -> Path:
    """Return the folder with the Python packages of a file of requirements with hashes."""
    digest = _digest(pinned)

    def install(into: Path) -> None:
        options = ("--no-deps", "--require-hashes")
        _pip("install", *options, f"--target={into}", f"--requirement={pinned}")

    return _kept(f"{pinned.parent.name}-packages-{digest}", install)


def kgo_tests() -> tuple[Path, Path]:
    """Return the program of the tests of `KGO`, and the folder of their sources."""
    return _go_tests(_FRANZ_GO, KGO)


def kafka_go_tests() -> tuple[Path, Path]:
    """Return the program of kafka-go's tests, and the folder of their sources."""
    return _go_tests(_KAFKA_GO, "github.com/segmentio/kafka-go")


def _go_tests(module: Path, package: str) -> tuple[Path, Path]:
    digest = _digest(*sorted(module.iterdir()))

    def compile_tests(into: Path) -> None:
        _go(module, "test", "-c", "-o", str(into / "tests"), package)

    program = _kept(f"{module.name}-{digest}", compile_tests) / "tests"
    return program, Path(_go(module, "list", "-f", "{{.Dir}}", package).strip())


def scraper() -> Path:
    """Return the program that asks for what an exporter of metrics does, by sarama."""

    def compile_program(into: Path) -> None:
        _go(_SARAMA, "build", "-o", str(into / "scrape"), ".")

    return _kept(f"sarama-{_digest(*sorted(_SARAMA.iterdir()))}", compile_program) / "scrape"


def _go(module: Path, *arguments: str) -> str:
    """Run Go in the folder of a module, which pins what it uses; return what it prints."""
    program = installed(_FRANZ_GO / "requirements.txt") / "go" / "bin" / "go"
    environment = {
        **os.environ,
        "GOCACHE": str(CACHE / "go-build"),
        "GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false",
        "GOMODCACHE": str(CACHE / "go-modules"),
        "GOTOOLCHAIN": "local",
    }
    return _run([str(program), *arguments], cwd=module, env=environment)


def _digest(*files: Path) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def _kept(name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder of the cache; where it is missing, it is made beside and then renamed."""
    folder = CACHE / name
    if not folder.exists():
        working = folder.with_name(f"{name}.{os.getpid()}")
        shutil.rmtree(working, ignore_errors=True)
        working.mkdir(parents=True)
        make(working)
        if folder.exists():  # another process was faster
            shutil.rmtree(working)
        else:
            working.rename(folder)
    return folder


def _pip(*arguments: str) -> None:
    _run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments])


def _run(command: list[str], cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout
