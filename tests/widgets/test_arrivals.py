"""What came to a live directory since one looked: our engine writes it, and it is counted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.log.logs import end_transaction, in_transaction
from tests.log_manager.managers import Managed
from widgets import Workbench
from widgets.frame.tab_names import EXPLORE, FINDINGS, RECORDS
from widgets.live.arrivals import Arrivals
from workbench.log.log import Log

SAMPLES = Path(__file__).parents[2] / "sample_data"


@pytest.fixture(name="managed")
def managed_(tmp_path: Path) -> Iterator[Managed]:
    managed = Managed(tmp_path / "data", topic_configs={"orders": {"segment.bytes": 2000}})
    with managed.manager:
        append(managed.manager.get_or_create_log("orders-0"))
        yield managed


@pytest.fixture(name="screen")
def screen_(managed: Managed) -> Iterator[Workbench]:
    """The screen of the directory; the tests look by themselves."""
    screen = Workbench(managed.manager.directories[0])
    arrivals_of(screen).follower.stop()
    yield screen
    screen.close()


def append(log: Log, batches: int = 1) -> None:
    for _ in range(batches):
        log.append([(b"k", bytes(100)) for _ in range(3)])


def arrivals_of(screen: Workbench) -> Arrivals:
    assert screen.arrivals is not None
    return screen.arrivals


def came(screen: Workbench) -> list[str]:
    arrivals_of(screen).look()
    told: dict[str, Any] = screen.bar.came
    assert told["since"].endswith(" UTC")
    return [text for _what, text, _tone in told["parts"]]


def test_records_segments_and_partitions_are_counted_until_they_are_dismissed(
    managed: Managed, screen: Workbench
) -> None:
    orders = managed.manager.get_or_create_log("orders-0")
    assert came(screen) == []
    append(orders)
    assert came(screen) == ["3 records"]
    append(orders, 6)  # 2,000 bytes are five batches
    assert came(screen) == ["21 records", "1 segment rolled"]
    screen.bar.answer_came("")
    assert came(screen) == []
    append(managed.manager.get_or_create_log("teas-0"))
    assert came(screen) == ["3 records", "1 new partition"]


def test_markers_of_transactions_are_not_records(managed: Managed, screen: Workbench) -> None:
    payments = managed.manager.get_or_create_log("payments-0")
    payments.append_as_leader(in_transaction(7, 0, 2))
    end_transaction(payments, 7, commit=True)
    assert came(screen) == ["2 records", "1 new partition"]


def test_new_bytes_that_are_damaged_are_counted_and_lead_to_findings(
    managed: Managed, screen: Workbench
) -> None:
    orders = managed.manager.get_or_create_log("orders-0")
    size = orders.size
    append(orders, 2)
    with Path(orders.active_segment.log.path).open("r+b") as file:
        file.seek(size + 70)  # behind the header of the first new batch
        file.write(b"\xff")
    assert came(screen) == ["3 records", "1 damaged batch"]
    append(orders)
    assert came(screen) == ["6 records", "1 damaged batch"]
    screen.bar.answer_came("damage")
    assert (screen.tab, screen.explorer.follow) == (FINDINGS, True)
    kinds = {each["kind"] for each in screen.explorer.get_state("_findings")["_findings"]}
    assert "crc" in kinds


def test_what_came_is_shown_in_views_that_follow(managed: Managed, screen: Workbench) -> None:
    append(managed.manager.get_or_create_log("orders-0"))
    assert came(screen) == ["3 records"]
    for what, tab in (("segments", EXPLORE), ("records", RECORDS)):
        screen.bar.answer_came(what)
        assert (screen.tab, screen.explorer.follow) == (tab, True)


def test_directories_that_nobody_writes_are_not_watched() -> None:
    screen = Workbench(SAMPLES / "shop-4.3.1")
    assert (screen.arrivals, screen.bar.came) == (None, {})
