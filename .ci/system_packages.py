"""Install what the tests need beside Python: a browser, a JDK, a C++ compiler, kcat and others.

As root on Debian or Ubuntu what is missing is installed by apt-get. Elsewhere nothing is changed:
the message says what is missing, and which tests want it. Needs nothing but Python 3.11 or newer.
Run as `python3 .ci/system_packages.py` (this is `make system`, and part of `make test`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

OLDEST_JDK = 17  # the newest brokers and Spark start on nothing older
OLDEST_NODE = 18  # the first with a test runner of its own
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass(frozen=True)
class Need:
    """One program that tests use.

    Attributes:
        name: what a person calls it.
        wanted_by: the tests that use it.
        is_there: whether this machine has it.
        packages: Debian's packages that bring it; of several in one item, separated by `|`, the
            first that this release of Debian has.
    """

    name: str
    wanted_by: str
    is_there: Callable[[], bool]
    packages: tuple[str, ...]


NEEDS = (
    Need(
        "Chromium",
        "tests of widgets and notebooks in a browser (pytest -m browser)",
        lambda: any(map(shutil.which, BROWSERS)),
        ("chromium", "fonts-dejavu-core"),
    ),
    Need(
        f"a JDK {OLDEST_JDK} or newer, with javac",
        "tests with real brokers and with Spark (pytest -m 'broker or spark')",
        lambda: (
            version_of("javac", "-version") >= OLDEST_JDK and version_of("java", "-version") > 0
        ),
        ("openjdk-17-jdk-headless|openjdk-21-jdk-headless|default-jdk-headless",),
    ),
    Need(
        "Maven (mvn)",
        "tests with real brokers, which come as Maven artifacts (pytest -m broker)",
        lambda: shutil.which("mvn") is not None,
        ("maven",),
    ),
    Need(
        f"node {OLDEST_NODE} or newer",
        "tests of the JavaScript in widgets/static",
        lambda: version_of("node", "--version") >= OLDEST_NODE,
        ("nodejs",),
    ),
    Need(
        "a C++ compiler, make, and the headers of zlib, OpenSSL and RapidJSON",
        "librdkafka's own tests (make test-long)",
        lambda: (
            shutil.which("make") is not None
            and compiles("zlib.h", "openssl/ssl.h", "rapidjson/schema.h")
        ),
        ("g++", "make", "zlib1g-dev", "libssl-dev", "rapidjson-dev"),
    ),
    Need(
        "kcat",
        "tests of the server with other programs (tests/peers)",
        lambda: shutil.which("kcat") is not None,
        ("kcat",),
    ),
    Need(
        "zsh",
        "tests of the completion of commands and topics (tests/cli)",
        lambda: shutil.which("zsh") is not None,
        ("zsh",),
    ),
    Need(
        "faketime",
        "the tests as if it were later (make test-later)",
        lambda: shutil.which("faketime") is not None,
        ("faketime",),
    ),
)


def main() -> int:
    """Install or name what is missing; return the exit status."""
    missing = [need for need in NEEDS if not need.is_there()]
    if not missing:
        return 0
    if not can_install():
        print("\n".join(advice(missing)), file=sys.stderr)
        return 1
    apt_install([package for need in missing for package in need.packages])
    if still_missing := [need.name for need in NEEDS if not need.is_there()]:
        print("apt-get did not bring: " + ", ".join(still_missing), file=sys.stderr)
        return 1
    return 0


def version_of(program: str, question: str) -> int:
    """Return the first number that `program` answers to `question`, 0 when it does not run."""
    try:
        answer = subprocess.run([program, question], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 0
    number = re.search(r"\d+", answer.stdout + answer.stderr)
    return int(number.group()) if number else 0


def compiles(*headers: str) -> bool:
    """Return whether a C++ compiler finds the headers."""
    source = "".join(f"#include <{header}>\n" for header in headers)
    command = ["c++", "-x", "c++", "-fsyntax-only", "-"]
    try:
        done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def can_install() -> bool:
    """Return whether this process can install Debian's packages."""
    return shutil.which("apt-get") is not None and os.geteuid() == 0


def advice(missing: Sequence[Need]) -> list[str]:
    """Return the lines that say what to install, and what works without it."""
    packages = " ".join(name.split("|")[-1] for need in missing for name in need.packages)
    return [
        "Some tests need programs that are not on this machine:",
        *(f"  {need.name}: for {need.wanted_by}" for need in missing),
        f"On Debian and Ubuntu: sudo apt-get install --no-install-recommends {packages}",
        "The others run without: .venv/bin/pytest -m 'not browser and not broker and not spark'",
    ]


def apt_install(packages: Sequence[str]) -> None:
    """Install `packages`, each named as in `Need.packages`, without asking."""
    command = ["apt-get", "-o", "DPkg::Lock::Timeout=300", "-y", "-qq"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run([*command, "update"], check=True, env=environment, stdin=subprocess.DEVNULL)
    names = [first_known(package.split("|")) for package in packages]
    print("installing " + " ".join(names), flush=True)
    subprocess.run(
        [*command, "install", "--no-install-recommends", *names],
        check=True,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )


def first_known(names: Sequence[str]) -> str:
    """Return the first of `names` that this release of Debian has, the last when it has none."""
    for name in names[:-1]:
        words = ["apt-cache", "show", "--no-all-versions", name]
        if subprocess.run(words, capture_output=True, check=False).returncode == 0:
            return name
    return names[-1]


def ensure_venv_module() -> None:
    """Give Debian's Python the part that makes environments, which is a package of its own there.

    Raises:
        SystemExit: it is missing and cannot be installed; the message says what to do.
    """
    try:
        import ensurepip
    except ImportError:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        if not (can_install() and Path(sys.base_prefix) == Path("/usr")):
            message = f"This Python cannot make environments: apt-get install {package}"
            raise SystemExit(message) from None
        apt_install([package])
    else:
        del ensurepip


if __name__ == "__main__":
    sys.exit(main())
