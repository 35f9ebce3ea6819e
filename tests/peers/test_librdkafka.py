"""librdkafka's own tests that reach a broker, in their quick mode, against a writable server.

Tests that disturb sockets (`sockem`) run after the others: they close descriptors that tests beside
them have taken. A test that fails beside others runs again, alone. One that is expected to fail
runs alone, too: it leaves threads behind. Tests of share groups, which are described and not
joined, and of librdkafka's mock of a broker are not run.
"""

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

from tests.kafka_broker import class_path, java_command
from tests.peers.fetched import librdkafka_tests
from tests.peers.served import SETTINGS, Outcome, assert_as_expected, writable_server

VERSION: Final = "4.2.0"
_NO_ACLS: Final = "there is no authorizer"
_NO_SASL: Final = "wants a listener with SASL"
_QUICK: Final = "is left out in the quick mode"
SKIPPED: Final = {
    "0082_fetch_max_bytes": _QUICK,
    "0092_mixed_msgver": "a broker of 4.0 writes no old messages",
    "0097_ssl_verify": "wants a listener with TLS",
    "0101_fetch_from_follower": "wants a second broker",
    "0126_oauthbearer_oidc": _NO_SASL,
    "0135_sasl_credentials": _NO_SASL,
    "0142_reauthentication": _NO_SASL,
}
"""Test → why it skips itself."""
_CLASSIC: Final = "is of the classic protocol of groups"
SKIPPED_BY: Final[dict[str, dict[str, str]]] = {
    "classic": {},
    "consumer": {"0084_destroy_flags": _CLASSIC, "0132_strategy_ordering": _CLASSIC},
}
"""Protocol of groups → test → why it skips itself."""
FAILED: Final = {
    "0081_admin": f"{_NO_ACLS}: it ends there, so `PARTS` run by themselves",
    "0109_auto_create_topics": _NO_ACLS,
    "0115_producer_auth": _NO_ACLS,
    "0119_consumer_auth": _NO_ACLS,
}
"""Test → why it fails."""
REFUSED_PARTS: Final = {
    "AlterConfigs": "configurations of a broker are not served",
    "IncrementalAlterConfigs": "configurations of a broker and of groups are not served",
    "UserScramCredentials": "SCRAM users are not served",
}
"""Part of `0081_admin` → why it fails."""
PARTS: Final = (
    *REFUSED_PARTS,
    "AlterConsumerGroupOffsets",
    "CreatePartitions",
    "CreateTopics",
    "DeleteConsumerGroupOffsets",
    "DeleteGroups",
    "DeleteRecords",
    "DeleteTopics",
    "DescribeCluster",
    "DescribeConfigs",
    "DescribeConsumerGroups",
    "DescribeTopics",
    "ListConsumerGroupOffsets",
    "ListConsumerGroups",
    "ListOffsets",
)
_LEFT_OUT: Final = re.compile("share_consumer|_mock$")
_TOOLS: Final = {
    "kafka-acls.sh": "kafka.admin.AclCommand",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
}


def names(folder: Path, scenario: str) -> dict[str, bool]:
    """Return the tests that reach a broker → whether they disturb sockets.

    Args:
        folder: of the tests.
        scenario: of the broker that they want: "default", or "noautocreate".
    """
    _, _, text = (folder / "test.c").read_text().partition("\nstruct test tests[] = {")
    table, _, _ = text.partition("{NULL}};")
    found = {}
    for entry in table.split("_TEST(")[1:]:
        name, flags, *_ = re.split(r"[,)]", entry)
        wanted = re.search(r'\.scenario = "(.+?)"', entry)
        if (
            not re.search(r"TEST_F_(LOCAL|MANUAL|KNOWN_ISSUE)\b", flags)
            and not _LEFT_OUT.search(name)
            and scenario in (wanted[1] if wanted else "default").split(",")
        ):
            found[name] = "TEST_F_SOCKEM" in flags
    return found


def _lay_out(folder: Path) -> None:
    """Make of a folder what the tests want of an installed Kafka: tools, and the clients' jar."""
    jars = class_path(VERSION)
    run_class = f'java -cp "$CLASSPATH:{jars}"'
    commands = {name: shlex.join(java_command(VERSION, each)) for name, each in _TOOLS.items()}
    (folder / "bin").mkdir()
    for name, command in {**commands, "kafka-run-class.sh": run_class}.items():
        tool = folder / "bin" / name
        tool.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        tool.chmod(0o755)
    (folder / "libs").mkdir()
    (clients,) = (
        path for path in map(Path, jars.split(os.pathsep)) if "kafka-clients" in path.name
    )
    (folder / "libs" / clients.name).symlink_to(clients)


class Runner:
    """Runs tests against a broker.

    Args:
        bootstrap: the broker's address.
        folder: gets reports, and Kafka's tools, which some of the tests run.
        options: of the program.
        settings: of its environment.
    """

    def __init__(
        self, bootstrap: str, folder: Path, options: Iterable[str], **settings: str
    ) -> None:
        self.tests = librdkafka_tests()
        _lay_out(folder)
        configuration = folder / "test.conf"
        configuration.write_text(f"bootstrap.servers={bootstrap}\n")
        self._report = folder / "report.json"
        self._command = [str(self.tests / "test-runner"), "-L", "-Q", *options]
        self._environment = {
            **os.environ,
            "BROKERS": bootstrap,
            "KAFKA_PATH": str(folder),
            "LD_LIBRARY_PATH": f"{self.tests.parent / 'src'}:{self.tests.parent / 'src-cpp'}",
            "RDKAFKA_TEST_CONF": str(configuration),
            "TEST_KAFKA_VERSION": VERSION,
            "TEST_REPORT": str(self._report),
            **settings,
        }

    def outcomes(self, wanted: Iterable[str], beside: int, part: str = "") -> dict[str, Outcome]:
        """Run tests, `beside` of them at a time; return how each ended.

        Args:
            wanted: the tests.
            beside: how many run at a time.
            part: the one part of them that is run, if any.

        Raises:
            AssertionError: the program wrote no report.
        """
        numbers = ",".join(name[:4] for name in wanted)
        self._report.unlink(missing_ok=True)
        done = subprocess.run(
            [*self._command, f"-p{beside}"],
            cwd=self.tests, env={**self._environment, "TESTS": numbers, "SUBTESTS": part},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            check=False,
        )  # fmt: skip
        assert self._report.exists(), done.stdout[-10_000:]
        found = json.loads(self._report.read_text())["tests"]
        return {
            name: Outcome(
                found[name]["state"].lower(),
                done.stdout if found[name]["state"] != "PASSED" else "",
            )
            for name in wanted
        }

    def every(self, scenario: str) -> dict[str, Outcome]:
        """Run all tests of a scenario; return how each ended."""
        found = names(self.tests, scenario)
        good = [name for name, disturbs in found.items() if not disturbs and name not in FAILED]
        ended = self.outcomes(good, 4)
        ended |= self.outcomes([name for name, disturbs in found.items() if disturbs], 1)
        late = [name for name, outcome in ended.items() if outcome.word == "failed"]
        for name in (*late, *(FAILED.keys() & found.keys())):
            ended |= self.outcomes([name], 1)
        return ended

    def parts(self) -> dict[str, Outcome]:
        """Run each part of `0081_admin` by itself; return how it ended."""
        return {
            part: self.outcomes(["0081_admin"], 1, f"do_test_{part}:")["0081_admin"]
            for part in PARTS
        }


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.dies(signal.SIGABRT)  # the program ends so where a test has failed
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_librdkafka_finds_a_broker(tmp_path: Path, protocol: str) -> None:
    with writable_server(tmp_path / "data") as server:
        runner = Runner(server.where, tmp_path, (), TEST_CONSUMER_GROUP_PROTOCOL=protocol)
        assert_as_expected(runner.every("default"), SKIPPED | SKIPPED_BY[protocol] | FAILED)
        assert_as_expected(runner.parts(), REFUSED_PARTS)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(600)
def test_librdkafka_finds_a_broker_that_makes_no_topics(tmp_path: Path) -> None:
    settings = {**SETTINGS, "auto.create.topics.enable": "false"}
    with writable_server(tmp_path / "data", settings) as server:
        runner = Runner(server.where, tmp_path, ("-s", "noautocreate"))
        assert_as_expected(runner.every("noautocreate"), {})
