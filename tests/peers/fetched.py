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
_LIBRDKAFKA: Final = Path(__file__).with_name("librdkafka")
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
    return _sarama_programs() / "scrape"


def toxiproxy() -> Path:
    """Return the program through which sarama's functional tests disturb connections."""
    return _sarama_programs() / "toxiproxy"


def sarama_tests() -> tuple[Path, Path]:
    """Return the program of sarama's functional tests, and the folder of their sources.

    Their topics have three replicas; here they have one, as there is one broker.
    """

    def compile_tests(into: Path) -> None:
        found = _go(_SARAMA, "list", "-f", "{{.Dir}}", "github.com/IBM/sarama").strip()
        source = shutil.copytree(found, into / "source")
        _replace(source / "functional_test.go", "ReplicationFactor: 3,", "ReplicationFactor: 1,")
        _go(source, "test", "-c", "-tags", "functional", "-o", str(into / "tests"), ".")

    folder = _kept(f"sarama-tests-{_digest(*sorted(_SARAMA.glob('go.*')))}", compile_tests)
    return folder / "tests", folder / "source"


def _sarama_programs() -> Path:
    def compile_programs(into: Path) -> None:
        _go(_SARAMA, "build", "-o", str(into / "scrape"), ".")
        server = "github.com/Shopify/toxiproxy/v2/cmd/server"
        _go(_SARAMA, "build", "-o", str(into / "toxiproxy"), server)

    return _kept(f"sarama-{_digest(*sorted(_SARAMA.iterdir()))}", compile_programs)


def librdkafka_tests() -> Path:
    """Return the folder of librdkafka's own tests, with the program ``test-runner``.

    Their sources are in the npm package of Confluent's client. Some topics have three replicas;
    here they have one, as there is one broker.
    """
    (name, _, version) = "confluentinc/kafka-javascript@1.10.1".rpartition("@")

    def compile_tests(into: Path) -> None:
        deno(_LIBRDKAFKA, "cache", f"npm:@{name}@{version}")
        (package,) = (CACHE / "deno" / "npm").glob(f"**/@{name}/{version}")
        source = shutil.copytree(package / "deps" / "librdkafka", into / "source")
        replicas = "partition_cnt, replication_factor,\n"
        _replace(source / "tests" / "test.c", replicas, "partition_cnt, 1,\n")
        # a package of npm loses the bits of programs
        _run(["bash", "configure", "--disable-gssapi", "--disable-curl"], cwd=source)
        for folder, target in ((source, "libs"), (source / "tests", "test-runner")):
            _run(["make", "--silent", "--jobs=2", target], cwd=folder)

    digest = _digest(_LIBRDKAFKA / "deno.lock")
    return _kept(f"librdkafka-{digest}", compile_tests) / "source" / "tests"


def deno(pinned: Path, command: str, *arguments: str) -> str:
    """Run deno with the packages that the lock of a folder pins; return what it prints."""
    program = shutil.which("deno", path=Path(sys.executable).parent)
    assert program is not None
    options = ("--quiet", "--no-config", "--frozen", f"--lock={pinned / 'deno.lock'}")
    environment = {**os.environ, "DENO_DIR": str(CACHE / "deno")}
    return _run([program, command, *options, *arguments], env=environment)


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text, file
    file.write_text(text.replace(old, new))


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
