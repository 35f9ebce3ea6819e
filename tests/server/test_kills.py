"""Servers are killed under Kafka's own producers; nothing that was acknowledged is lost."""

from pathlib import Path

import pytest

from tests.server.killed_servers import kill_servers

pytestmark = pytest.mark.broker


def test_what_producers_were_told_outlives_kills_and_a_broker_serves_on(tmp_path: Path) -> None:
    kill_servers(tmp_path, seed=1, kills=3)
