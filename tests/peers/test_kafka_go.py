"""kafka-go's own tests, against a writable server: they look for a broker at localhost:9092."""

import os
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.peers.fetched import kafka_go_tests
from tests.peers.served import SETTINGS, Outcome, assert_as_expected, writable_server

_NO_ACLS: Final = "there is no authorizer"
_NO_SASL: Final = "wants a listener with SASL at port 9093"
_AS_A_BROKER: Final = "a broker of 4.2.0 fails it, too"
REFUSED: Final = {
    "TestAlterUserScramCredentials": "SCRAM users are not served",
    "TestClientAlterClientQuotas": "quotas are not served",
    "TestClientCreateACLs": _NO_ACLS,
    "TestClientDeleteACLs": _NO_ACLS,
    "TestClientDescribeACLs": _NO_ACLS,
    "TestClientTxnOffsetCommit": _AS_A_BROKER,
    "TestDescribeUserScramCredentials": "SCRAM users are not served",
    "TestReaderConsumerGroup": f"consumer_group_rebalance: {_AS_A_BROKER}",
    "TestReaderReadCompactedMessage": f"sets a segment size that is not allowed: {_AS_A_BROKER}",
    "TestUnsupportedSASLMechanism": _NO_SASL,
    "TestWriter": f"the part with SASL/PLAIN: {_NO_SASL}",
}
"""Test → why it does not pass."""
_PANICS: Final = (
    "^TestReaderConsumerGroup$/(verify_offset_committed|consumer_group_commits_on_close)"
)
"""Tests whose helper uses a group that it has not connected: the program ends, whatever answers."""


def outcomes() -> dict[str, Outcome]:
    """Run the tests against what listens at localhost:9092."""
    program, folder = kafka_go_tests()
    done = subprocess.run(
        [program, "-test.v", "-test.timeout=500s", f"-test.skip={_PANICS}"],
        cwd=folder, env={**os.environ, "KAFKA_SKIP_NETTEST": "1", "KAFKA_VERSION": "2.8.1"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert "panic: " not in done.stdout, done.stdout
    words = {"PASS": "passed", "FAIL": "failed"}
    found = re.findall(r"^--- (PASS|FAIL): (\S+) \(", done.stdout, re.MULTILINE)
    return {name: Outcome(words[word], done.stdout) for word, name in found}


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(900)
def test_kafka_go_finds_a_broker(tmp_path: Path) -> None:
    settings = {**SETTINGS, "num.partitions": 1, "group.min.session.timeout.ms": 6000}
    options = ("--port", "9092", "--advertised", "localhost:9092")
    with writable_server(tmp_path / "data", settings, *options, node=1):
        assert_as_expected(outcomes(), REFUSED)
