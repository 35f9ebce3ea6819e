"""What `docs/from-the-articles.md` says of versions, held to Kafka's own classes."""

from pathlib import Path

import pytest

from tests.kafka_broker import compile_java, run_java
from workbench.server.protocol.api_keys import API_KEYS

ZOOKEEPERS = ["LEADER_AND_ISR", "STOP_REPLICA", "UPDATE_METADATA", "CONTROLLED_SHUTDOWN"]
TEXT = (Path(__file__).parents[1] / "docs" / "from-the-articles.md").read_text()


def told_by(version: str) -> dict[str, str]:
    source = Path(__file__).with_name("Articles.java").read_text()
    done = run_java(version, "Articles", classes=compile_java(version, source, "Articles"))
    assert done.returncode == 0, done.stderr
    return dict(line.split(" ") for line in done.stdout.splitlines())


@pytest.mark.broker
def test_four_requests_are_gone_and_an_entry_is_due_per_batch() -> None:
    """Two appends of three batches: one entry for the second append, or one per batch but one."""
    found = {version: told_by(version) for version in ("3.8.1", "3.9.1", "4.2.0")}
    for version, told in found.items():
        expected = "false" if version == "4.2.0" else "true"
        assert {told[name] for name in ZOOKEEPERS} == {expected}
    assert {version: told["entries"] for version, told in found.items()} == {
        "3.8.1": "1", "3.9.1": "5", "4.2.0": "5"
    }  # fmt: skip
    assert "gone since 4.0: LeaderAndIsr, StopReplica, UpdateMetadata, ControlledShutdown" in TEXT
    assert "an entry is due per batch, not per append (3.9.1)" in TEXT
    assert not {4, 5, 6, 7} & set(API_KEYS)  # their numbers
