"""A real broker serves a log that the engine has made, by the id that its topic has elsewhere."""

import shutil
from pathlib import Path

import pytest

from tests.brokers.house import BrokerHouse
from workbench.log_manager.manager import LogManager


@pytest.mark.broker
def test_a_broker_serves_a_log_made_without_naming_its_topic_id(tmp_path: Path) -> None:
    house = BrokerHouse("4.2.0", tmp_path)
    with house.broker:
        house.read("create", house.broker.bootstrap, "orders/2:retention.ms=-1")
    shutil.rmtree(house.broker.data / "orders-0")
    with LogManager([house.broker.data]) as manager:
        log = manager.get_or_create_log("orders-0")
        log.append([(1_700_000_000_000, b"key", b"value")])
        manager.get_or_create_log("unknown-0").append([(b"key", b"value")])
    seen = house.broker.log.stat().st_size
    with house.broker:
        told = house.read("read", house.broker.bootstrap, "orders")
    assert [words[2:] for words in told if words[2] == "0"] == 2 * [
        ["0", "1700000000000", "x6b6579", "x76616c7565"]
    ]
    assert (house.broker.data / "orders-0").is_dir()
    aside = [path.name for path in house.broker.data.glob("*-stray")]
    assert [name.partition(".")[0] for name in aside] == ["unknown-0"]  # the cluster has none such
    assert [line for line in house.log_since(seen) if "orders-0" in line and "stray" in line] == []
