"""The server that peers' tests talk to, and the verdict on what they found.

A peer is a program of others that speaks Kafka's protocol. Each of its tests is one outcome; a test
that does not pass must be in the peer's table of refusals, with the reason.
"""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tests.server.served_process import ServedProcess

SETTINGS: Final[Mapping[str, object]] = {
    "num.partitions": 4,
    "offsets.topic.num.partitions": 2,
    "transaction.state.log.num.partitions": 2,
    "group.min.session.timeout.ms": 1000,
    "group.initial.rebalance.delay.ms": 0,
}
"""What the peers' own tests set in their broker's `server.properties`."""


def writable_server(
    folder: Path, settings: Mapping[str, object] = SETTINGS, *options: str, node: int = 0
) -> ServedProcess:
    """Return a server of a new directory; start it in a ``with`` statement.

    Args:
        folder: made; its parent exists.
        settings: the broker's configuration.
        options: of the command, too.
        node: the broker's id.
    """
    folder.mkdir()
    identity = f"version=1\ncluster.id=peers\nnode.id={node}\n"
    (folder / "meta.properties").write_text(identity)
    sets = (word for name, value in settings.items() for word in ("--set", f"{name}={value}"))
    return ServedProcess(folder, "--writable", *options, *sets)


class Outcome(NamedTuple):
    """How a test of a peer ended.

    Attributes:
        word: "passed", "failed" or "skipped".
        output: what it said.
    """

    word: str
    output: str = ""


def go_tests(program: Path, folder: Path, *options: str, **settings: str) -> dict[str, Outcome]:
    """Run a program that ``go test -c`` made; return how each test and part of a test ended.

    Args:
        program: the program.
        folder: where it is run.
        options: the program's, without ``-test.v``.
        settings: of its environment, beside this one.

    Raises:
        AssertionError: the program ended by itself, so tests are missing.
    """
    done = subprocess.run(
        [program, "-test.v", *options],
        cwd=folder, env={**os.environ, **settings}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
    )  # fmt: skip
    assert "panic: " not in done.stdout, done.stdout[-10_000:]
    words = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
    found = re.findall(r"^\s*--- (PASS|FAIL|SKIP): (\S+) \(", done.stdout, re.MULTILINE)
    return {
        name: Outcome(words[word], done.stdout if word == "FAIL" else "") for word, name in found
    }


def go_test_names(*sources: Path) -> list[str]:
    """Return the names of the tests in source files of Go."""
    texts = (source.read_text() for source in sources)
    return [name for text in texts for name in re.findall(r"^func (Test\w+)", text, re.MULTILINE)]


def assert_as_expected(outcomes: Mapping[str, Outcome], refused: Mapping[str, str]) -> None:
    """Compare what a peer's tests found with the table of refusals, both ways.

    Args:
        outcomes: test → how it ended.
        refused: test → why it does not pass against our server, or does not run.

    Raises:
        AssertionError: a test that is not refused did not pass, or a refused one passed or is gone.
    """
    others = {
        name: outcome
        for name, outcome in outcomes.items()
        if outcome.word != "passed" and name not in refused
    }
    told = (f"{name} {outcome.word}:\n{outcome.output}" for name, outcome in others.items())
    assert not others, "\n\n".join(told)
    passed = [name for name in refused if outcomes[name].word == "passed"]
    assert not passed, f"passed, so their refusals are no longer true: {passed}"
