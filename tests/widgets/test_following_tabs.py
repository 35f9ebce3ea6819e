"""Every tab of the screen follows a live directory: what a broker writes appears in each."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.log.logs import end_transaction, in_transaction
from tests.log_manager.managers import Managed
from widgets import Workbench
from workbench.coordinator.group_coordinator.offset_manager import OffsetManager
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.offsets.offset_metadata_manager import OffsetCommit
from workbench.inspection.segment import Segment
from workbench.loaders.search.search import Search
from workbench.loaders.tables.disk_usage import LogFileParts
from workbench.log.log import Log


class Broker:
    """A live broker's directory and the screen that follows it."""

    def __init__(self, folder: Path) -> None:
        configs = {"orders": {"segment.bytes": 2000}}
        self.managed = Managed(folder / "data", topic_configs=configs)
        self.manager = self.managed.manager

    def start(self) -> None:
        """Write something to every tab, and follow."""
        self.manager.startup(with_tasks=False)
        self.offsets = OffsetManager(self.manager, config=OffsetConfig(topic_num_partitions=1))
        self.offsets.startup(with_tasks=False)
        self.orders: Log = self.manager.get_or_create_log("orders-0")
        self.payments: Log = self.manager.get_or_create_log("payments-0")
        self.append()
        self.begin(7)
        self.offsets.commit("billing", {"orders-0": OffsetCommit(1)})
        self.screen = Workbench(self.manager.directories[0])
        self.screen.explorer.follow = True
        self.look()

    def look(self) -> None:
        """Look by hand, without the timer."""
        explorer = self.screen.explorer
        assert explorer.follower is not None
        explorer.follower.stop()
        explorer.look()
        assert explorer.last_error is None

    def append(self, batches: int = 1) -> None:
        """Append batches of three records to orders-0."""
        for _ in range(batches):
            self.orders.append([(b"k", bytes(100)) for _ in range(3)])

    def begin(self, producer: int) -> None:
        """Append to payments-0 in a transaction."""
        self.payments.append_as_leader(in_transaction(producer, 0, 2))

    def end(self, producer: int) -> None:
        """End the transaction."""
        end_transaction(self.payments, producer, commit=True)

    def open(self, tab: str) -> Any:
        """Open a tab and return its view."""
        self.screen.tab = tab
        return self.screen.views[tab]


@pytest.fixture(name="broker")
def broker_(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path)
    broker.start()
    yield broker
    broker.screen.explorer.follow = False
    broker.offsets.shutdown()
    broker.manager.shutdown()


def test_records_that_were_appended_are_found(broker: Broker) -> None:
    view = broker.open("Records")
    view.topic = "orders"
    view.wait()
    view.selected = {"partition": "orders-0", "offset": 1}
    run, before = view.result["run"], view.search
    assert view.result["count"] == 3
    broker.append(30)  # three segments more
    broker.look()
    view.wait()
    assert (view.result["count"], view.result["run"]) == (93, run)
    assert view.search is before
    assert view.search.records_read == 93  # nothing was read twice
    assert view.selected["offset"] == 1
    broker.manager.get_or_create_log("orders-1").append([(b"k", b"v")])
    broker.look()
    view.wait()
    assert view.result["count"] == 94

    # What is deleted is not found any more.
    base = broker.orders.segments[-1].base_offset
    broker.orders.update_high_watermark(broker.orders.log_end_offset)
    broker.orders.delete_records(base)
    broker.manager.delete_old_segments()
    broker.look()
    view.wait()
    assert view.result["count"] == 94 - base


def test_records_begin_with_the_newest_and_one_switch_follows_for_all(broker: Broker) -> None:
    view = broker.open("Records")
    assert (view.newest_first, view.follow, view.follower) == (True, True, None)
    assert "sort" not in view.address()  # as it begins here
    view.follow = False
    assert not broker.screen.explorer.follow
    view.follow = True
    broker.look()
    assert view.get_state("_live")["_live"]["since"]


def test_a_search_that_runs_goes_on_and_one_that_was_stopped_stays(broker: Broker) -> None:
    view = broker.open("Records")
    view.topic = "orders"
    view.wait()
    search: Search = view.search
    search.status = "running"
    broker.append()
    broker.look()
    assert search.records_read == 3
    search.status = "done"
    view.answer_progress(view.result["run"])
    view.wait()
    assert search.records_read == 6
    search.status = "canceled"
    with pytest.raises(ValueError, match="only a search that is done can be extended"):
        search.extend(search.scan)
    broker.append()
    broker.look()
    assert (view.search, search.records_read) == (search, 6)


def test_the_disk_grows_and_only_new_bytes_of_the_open_segment_are_read(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = broker.open("Disk")
    view.at = ["payments", "payments-0", "0"]
    starts: list[int] = []
    read = Segment.read

    def noting(segment: Segment, start: int = 0, *rest: Any, **options: Any) -> Any:
        if "payments-0" in segment.path:
            starts.append(start)
        return read(segment, start, *rest, **options)

    size = broker.payments.size
    monkeypatch.setattr(Segment, "read", noting)
    broker.begin(8)
    broker.look()
    assert starts[-1] == size  # the explorer shows the same segment, and reads first
    assert view.at == ["payments", "payments-0", "0"]
    sent = view.get_state("_segment")["_segment"]["nodes"]
    opened = view.logs["payments-0"].segments[0]
    whole = [part[:3] for part in LogFileParts().parts(opened, opened.size, None) if part.size]
    shown = {node[0]: (node[0], node[4], node[5]) for node in sent}
    assert [shown[part[0]] for part in whole] == whole
    orders = view.sizes
    broker.append(30)
    broker.look()
    assert view.sizes[0] > orders[0]
    broker.manager.async_delete("payments-0")
    broker.look()
    assert view.at == ["payments"]  # the directory is there, to be deleted


def test_transactions_that_begin_and_end_are_shown(broker: Broker) -> None:
    view = broker.open("Transactions")
    assert view.partition == "payments-0"
    assert len(view.get_state("_directory")["_directory"]["open"]) == 1
    view.window = [0.0, 2.0]
    broker.begin(8)
    broker.end(7)
    broker.look()
    (row,) = view.get_state("_directory")["_directory"]["open"]
    assert row["producer"] == "8"
    assert [lane["producer"] for lane in view.get_state("_shown")["_shown"]["lanes"]] == ["7", "8"]
    assert view.window == [0.0, 2.0]


def test_commits_and_the_lag_are_shown(broker: Broker) -> None:
    view = broker.open("Groups")
    assert view.offsets.select(["offset", "lag"]).to_pylist() == [{"offset": 1, "lag": 2}]
    (load,) = view._coordinator.loads  # noqa: SLF001
    broker.append()
    broker.look()
    assert view.offsets["lag"].to_pylist() == [5]
    assert view._coordinator.loads[0] is load  # noqa: SLF001 - nobody committed: not read again
    broker.offsets.commit("billing", {"orders-0": OffsetCommit(4)})
    broker.offsets.commit("shipping", {"orders-0": OffsetCommit(2)})
    broker.look()
    assert view.group == "billing"
    assert view.groups == ["billing", "shipping"]
    assert view.offsets["lag"].to_pylist() == [2]
    assert len(view.commits) == 2


def test_files_show_checkpoints_as_they_are_written(broker: Broker) -> None:
    view = broker.open("Files")
    broker.append(2)
    broker.orders.update_high_watermark(broker.orders.log_end_offset)
    broker.manager.checkpoint_recovery_points()
    broker.look()
    row = next(each for each in view.checkpoints.partitions if each.name == "orders-0")
    assert row.log_end == 9
    shown = broker.screen.explorer
    shown.file = os.path.join(broker.manager.directories[0], "recovery-point-offset-checkpoint")
    before = shown.get_state("_file")["_file"]
    broker.look()
    assert shown.get_state("_file")["_file"] is before
    broker.orders.flush()
    broker.manager.checkpoint_recovery_points()
    broker.look()
    row = next(each for each in view.checkpoints.partitions if each.name == "orders-0")
    assert row.offsets["recovery_point"] == 9
    assert shown.get_state("_file")["_file"] != before


def test_a_hidden_tab_reads_when_it_is_opened_and_without_following_nothing_moves(
    broker: Broker,
) -> None:
    hidden = broker.open("Disk")
    before = hidden.sizes
    broker.open("Files")
    broker.append(3)
    broker.look()
    assert hidden.sizes == before
    broker.open("Disk")
    after = hidden.sizes
    assert after[0] > before[0]
    sent: list[Any] = []
    hidden.observe(sent.append, names=["_usage", "_partition", "_segment"])
    broker.look()
    assert sent == []  # nothing was written, so nothing is sent
    broker.screen.explorer.follow = False
    broker.append(3)
    broker.open("Explore")
    broker.open("Disk")
    assert hidden.sizes == after
