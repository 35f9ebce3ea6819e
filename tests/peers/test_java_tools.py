"""Kafka's tools that write and read many records: what they count is what the server has."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

import pytest

import workbench
from tests.kafka_broker import run_java
from tests.peers.java_peers import VERSION, write_properties
from tests.server.conftest import SHOP
from tests.server.tools import Tools
from workbench.server.server import Server

pytestmark = pytest.mark.broker

TOOLS: Final = "org.apache.kafka.tools"
COUNT: Final = 30_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a writable server of a copy of the sample data; afterwards its directory is sound."""
    data = tmp_path_factory.mktemp("tools") / "data"
    shutil.copytree(SHOP, data)
    with workbench.serve(data, writable=True, config={"num.partitions": 3}) as running:
        yield running
    assert workbench.verify(data) == []


@pytest.fixture(scope="module")
def tool(tools: Callable[[str], Tools]) -> Tools:
    return tools(VERSION)


def count(server: Server, topic: str) -> int:
    """Return how many offsets a topic has."""
    logs = server.catalog.logs_of(topic)
    assert logs is not None
    return sum(log.high_watermark for log in logs.values())
