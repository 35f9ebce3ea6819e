"""TransactionLanes: a log's transactions as the page gets them, against a plain walk of the log."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import traitlets

import workbench as wb
from tests.coordinator.writing import CoordinatorLog, commit, transaction
from tests.golden.cases import Case
from widgets import LogExplorer, TransactionLanes
from widgets.coordinators import transaction_bars
from widgets.coordinators.transaction_bars import ABORTED, COMMITTED, OPEN, Bars, bars_of
from widgets.view.packing import unpack
from workbench.inspection.partition import DiskPartition

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"

Golden = Callable[[str], Case]


class Plain(NamedTuple):
    producer: int
    epoch: int
    first: int
    last: int
    marker: int
    outcome: int
    batches: int
    records: int


def walk(partition: DiskPartition) -> Iterator[Plain]:
    """Yield the transactions by the plainest walk: batch by batch, in order."""
    opened: dict[int, list[Any]] = {}
    for segment in partition.segments:
        for row in range(len(segment.batches)):
            batch: Any = segment.batches[row]
            if batch.is_control:
                (chunk,) = segment.read(batch.position, batch.position + batch.size)
                assert chunk.columns.keys is not None
                key = chunk.columns.keys.item(0) or b""
                mine = opened.pop(batch.producer_id, [])
                kind = int.from_bytes(key[2:4], "big")
                yield _plain(batch.producer_id, mine, batch.base_offset, 1 - kind)
            elif batch.is_transactional:
                opened.setdefault(batch.producer_id, []).append(batch)
    for producer, mine in opened.items():
        yield _plain(producer, mine, -1, OPEN)


def _plain(producer: int, mine: list[Any], marker: int, outcome: int) -> Plain:
    if not mine:
        return Plain(producer, -1, marker, marker, marker, outcome, 0, 0)
    records = sum(batch.record_count for batch in mine)
    return Plain(
        producer, mine[-1].producer_epoch, mine[0].base_offset, mine[-1].last_offset, marker,
        outcome, len(mine), records,
    )  # fmt: skip


def plain_rows(bars: Bars) -> list[Plain]:
    columns = [column.tolist() for column in bars[:-1]]
    return [Plain(*row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("name", ["payments-0", "payments-1", "__consumer_offsets-1"])
def test_the_bars_are_those_of_a_plain_walk(name: str) -> None:
    partition = wb.open_log_directory(SHOP)[name]
    found = bars_of(partition)
    assert found is not None
    assert plain_rows(found.bars) == sorted(walk(partition), key=lambda each: each.first)


@pytest.mark.parametrize("case", ["4.2.0-txn", "2.8.2-txn"])
def test_the_bars_of_brokers_logs_are_those_of_a_plain_walk(golden: Golden, case: str) -> None:
    logs = wb.open_log_directory(golden(case).directory("data"))
    seen: set[int] = set()
    for partition in logs.listing.partitions.values():
        found = bars_of(partition)
        wanted = sorted(walk(partition), key=lambda each: (each.first, each.producer))
        if found is None:
            assert wanted == []
            continue
        rows = sorted(plain_rows(found.bars), key=lambda each: (each.first, each.producer))
        assert rows == wanted
        seen |= {row.outcome for row in rows}
    assert seen == {COMMITTED, ABORTED, OPEN}


def lanes(view: TransactionLanes) -> dict[str, dict[str, Any]]:
    sent = view.get_state("_shown")["_shown"]["lanes"]
    return {
        each["producer"]: {name: unpack(column).tolist() for name, column in each["bars"].items()}
        for each in sent
    }


def test_each_producer_has_a_lane_and_its_id() -> None:
    view = TransactionLanes(SHOP)
    assert view.partition == "payments-0"
    sent = view.get_state("_shown")["_shown"]
    assert [(each["producer"], each["name"]) for each in sent["lanes"]] == [
        ("3", "payments-eu"),
        ("4", "payments-us"),
    ]
    assert (sent["stable"], sent["log_end"]) == ("4736", "4739")
    eu = lanes(view)["3"]
    assert [eu[name][-1] for name in ("first", "last", "marker", "outcome")] == [4736, 4738, -1, 2]


def test_what_is_open_is_said() -> None:
    view = TransactionLanes(SHOP)
    assert view.describe() == (
        "TransactionLanes: payments-0: 1 open transaction: 'payments-eu' keeps the last stable "
        "offset of payments-0 at 4,736, 3 offsets below the log end offset"
    )
    done = TransactionLanes(SHOP, topics=["__consumer_offsets"])
    assert "no transaction is open: 754 transactions ended in 1 log" in done.describe()


def test_a_hanging_transaction_is_named(tmp_path: Path) -> None:
    log = CoordinatorLog(tmp_path, "orders")
    log.append(commit("g", "t", 0, 1), producer=5)
    log.write()
    empty = CoordinatorLog(tmp_path, "__transaction_state")
    empty.write()
    (tmp_path / "__transaction_state-0" / f"{0:020}.log").write_bytes(b"")
    view = TransactionLanes(tmp_path)
    assert view.open_producers["transactional_id"].to_pylist() == [None]
    assert "producer 5" in view.describe()


def test_many_producers_and_bars_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = CoordinatorLog(tmp_path, "orders")
    log.append(commit("g", "t", 0, 1), producer=100)  # stays open: its lane is there
    for producer in range(20):
        log.append(commit("g", "t", 0, 1), producer=producer)
        log.marker(producer, commit=producer % 3 > 0)
    log.write()
    monkeypatch.setattr(transaction_bars, "MOST_LANES", 5)
    monkeypatch.setattr(transaction_bars, "MOST_BARS", 4)
    sent = TransactionLanes(tmp_path).get_state("_shown")["_shown"]
    assert [each["producer"] for each in sent["lanes"]] == ["100", "16", "17", "18", "19"]
    assert sent["lanes_left_out"] == 16
    assert sent["bars_left_out"] == 17
    assert sum(each["bars"]["first"]["length"] for each in sent["lanes"]) == 4


def test_it_follows_the_explorer_and_the_explorer_it() -> None:
    logs = wb.open_log_directory(SHOP)
    view = TransactionLanes(logs)
    explorer = LogExplorer(logs, selected={"partition": "customers-0"})
    traitlets.link((view, "selected"), (explorer, "selected"))
    explorer.selected = {"partition": "payments-1", "offset": 7}
    assert view.partition == "payments-1"
    view.selected = {"partition": "payments-0", "segment": None, "position": None, "offset": 4736}
    assert explorer.selected["offset"] == 4736
    assert view.partition == "payments-0"
    explorer.selected = {"partition": "customers-0"}
    assert view.partition == "payments-0"


def test_only_partitions_with_transactions_can_be_shown() -> None:
    view = TransactionLanes(SHOP)
    assert list(view.partitions) == ["__consumer_offsets-1", "payments-0", "payments-1"]
    with pytest.raises(LookupError, match="no transaction in 'orders-0'"):
        view.partition = "orders-0"
    assert TransactionLanes(SHOP, partition="payments-1").partition == "payments-1"
    with pytest.raises(LookupError):
        TransactionLanes(SHOP, topics=["nowhere"])


def test_a_saved_notebook_keeps_a_picture_and_what_is_open() -> None:
    view = TransactionLanes(SHOP)
    bundle = view._repr_mimebundle_()
    assert bundle is not None
    assert bundle[0]["image/png"].startswith(b"\x89PNG")
    assert "payments-eu" in bundle[0]["text/plain"]
    before = view.to_png()
    view.window = [4700.0, 4739.0]
    assert view.to_png() != before
    assert TransactionLanes(SHOP, window=[4700, 4739]).to_png() == view.to_png()


@pytest.mark.filterwarnings("error")
def test_any_transactional_id_can_be_drawn(tmp_path: Path) -> None:
    log = CoordinatorLog(tmp_path, "orders")
    log.append(commit("g", "t", 0, 1), producer=5)
    log.write()
    state = CoordinatorLog(tmp_path, "__transaction_state")
    state.append(transaction("$\\frac$ グループ", producerId=5))
    state.write()
    view = TransactionLanes(tmp_path)
    assert "グループ" in view.describe()
    assert view.to_png().startswith(b"\x89PNG")


def test_a_directory_without_transactions_is_shown_as_such(tmp_path: Path) -> None:
    with wb.LogManager([tmp_path]) as manager:
        manager.get_or_create_log("orders-0").append([(b"k", b"v")])
        manager.get_or_create_log("payments-0").append([(b"k", b"v")])
    view = TransactionLanes(tmp_path)
    assert view.partition == ""
    assert view.describe().endswith("no transaction in these partitions")
    assert view.to_png().startswith(b"\x89PNG")
    part = TransactionLanes(view.logs["orders-0"])
    assert part.describe().endswith("; 1 other log of the directory not looked at")


def test_its_code_gives_what_is_open_and_the_markers_of_the_partition() -> None:
    view = TransactionLanes(SHOP)
    *statements, last = view.query.splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(statements), names)  # noqa: S102 - what the widget shows
    shown = eval(last, names)  # noqa: S307
    assert shown.producer_id.tolist() == view.open_producers["producer_id"].to_pylist()
    assert names["ids"].state.tolist() == view.transactions["state"].to_pylist()
    markers = {each.marker for each in walk(view.logs[view.partition]) if each.marker >= 0}
    assert markers
    assert markers <= set(names["markers"].offset)
