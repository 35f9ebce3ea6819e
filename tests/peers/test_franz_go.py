"""The tests of franz-go's client (`kgo`) that reach a broker, against a writable server.

All tests of the six files that ask a broker run; the other files hold tests of the client alone.
The chains of consumers that rebalance while they read and write (`TestGroupETL`, and `TestTxnEtl`
in transactions) pass on 1,000 records, and in `make test-long` on 5,000, instead of 500,000.
"""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.peers.fetched import kgo_tests
from tests.peers.served import (
    SETTINGS,
    assert_as_expected,
    go_test_names,
    go_tests,
    writable_server,
)
from tests.server.served_process import ServedProcess

_NO_SHARE = "share groups are described, not joined"
_NO_SCRAM = "needs a broker with SCRAM or OAUTHBEARER; the server has SASL/PLAIN"
REFUSED: Final = {
    "TestConsumeRegexShareSkipsInternal": _NO_SHARE,
    "TestIssueProduceBrokerTooOldFailsRecords": "needs a broker without Produce 3",
    "TestOAuthAuth": _NO_SCRAM,
    "TestSCRAMAuth": _NO_SCRAM,
    "TestSCRAMAuthBadCredentials": _NO_SCRAM,
    "TestShareGroup": _NO_SHARE,
    "TestShareGroupAckOnClose": _NO_SHARE,
    "TestShareGroupETL": _NO_SHARE,
    "TestShareGroupOffsetsAdmin": _NO_SHARE,
}
"""Test → why it does not pass. All skip themselves."""

_FILES: Final = ("client", "consumer", "group", "produce_request", "share", "txn")
_SECONDS: Final = 240
_AT_ONCE: Final = 4  # tests that run side by side: most of the time they wait for heartbeats
_OFTEN: Final = {**SETTINGS, "group.consumer.heartbeat.interval.ms": 500}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    with writable_server(tmp_path_factory.mktemp("franz-go") / "data", _OFTEN) as server:
        yield server


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first time, Go is fetched and compiles the tests
@pytest.mark.parametrize("records", [1000, pytest.param(5000, marks=pytest.mark.long)])
def test_franz_go_finds_a_broker(server: ServedProcess, records: int) -> None:
    program, folder = kgo_tests()
    names = go_test_names(*(folder / f"{name}_test.go" for name in _FILES))
    outcomes = go_tests(
        program,
        folder,
        f"-test.parallel={_AT_ONCE}",
        f"-test.timeout={_SECONDS}s",
        f"-test.run=^({'|'.join(names)})$",
        KGO_LOG_LEVEL="none",
        KGO_SEEDS=server.where,
        KGO_TEST_RECORDS=str(records),
        KGO_TEST_RF="1",
    )
    assert set(names) <= outcomes.keys()
    assert_as_expected(outcomes, REFUSED)
