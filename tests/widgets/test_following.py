"""A live directory is followed: what our engine writes appears, and the selection stays."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.log_manager.cleaning import COMPACT
from tests.log_manager.managers import Managed
from tests.waiting import wait_until
from widgets import LogExplorer
from widgets.explorer import following
from widgets.explorer.segment_view import SegmentView
from widgets.view.packing import unpack
from workbench.log.log import Log
from workbench.record.reading import batch_table

SEGMENT = {"segment.bytes": 2000, "cleanup.policy": "delete"}


@pytest.fixture(name="managed")
def managed_(tmp_path: Path) -> Iterator[Managed]:
    config = {"orders": SEGMENT, "teas": COMPACT | {"segment.bytes": 2000}}
    managed = Managed(tmp_path / "data", topic_configs=config)
    with managed.manager:
        yield managed


def append(log: Log, batches: int = 1, key: bytes = b"k") -> None:
    for _ in range(batches):
        log.append([(key, bytes(100)) for _ in range(3)])


def positions(explorer: LogExplorer) -> list[int]:
    sent: Any = explorer.get_state("_segment")["_segment"]
    return list(unpack(sent["batches"]["position"]))


def followed(managed: Managed, **options: Any) -> LogExplorer:
    explorer = LogExplorer(managed.manager.directories[0], follow=True, **options)
    assert explorer.follower is not None
    explorer.follower.stop()  # the tests look by themselves
    explorer.look()
    return explorer


def test_new_batches_appear_and_are_marked_and_the_selection_stays(managed: Managed) -> None:
    log = managed.manager.get_or_create_log("orders-0")
    append(log, 2)
    explorer = followed(managed)
    first, second = positions(explorer)
    explorer.selected = {"partition": "orders-0", "segment": 0, "position": second}
    explorer.view = [0.0, 100.0]
    assert not explorer.look()
    append(log, 2)
    assert explorer.look()
    assert positions(explorer)[:2] == [first, second]
    assert len(positions(explorer)) == 4
    assert explorer.selected["position"] == second
    assert explorer.view == [0.0, 100.0]
    fresh = explorer.get_state("_fresh")["_fresh"]
    assert fresh["partitions"] == ["orders-0"]
    assert fresh["segments"] == {"0": positions(explorer)[2]}
    assert explorer.get_state("_strip")["_strip"]["log_end_offset"] == "12"
    assert explorer.get_state("_segment")["_segment"]["rows"] == 12


def test_only_what_is_new_is_read(managed: Managed, monkeypatch: pytest.MonkeyPatch) -> None:
    log = managed.manager.get_or_create_log("orders-0")
    append(log, 3)
    explorer = followed(managed)
    end = positions(explorer)[-1]
    starts: list[int] = []
    scan, check = batch_table.scan_batches, SegmentView._check  # noqa: SLF001

    def noting_scan(source: Any, start: int = 0, stop: int | None = None) -> Any:
        starts.append(start)
        return scan(source, start, stop)

    def noting_check(view: SegmentView, start: int) -> dict[int, int]:
        starts.append(start)
        return check(view, start)

    monkeypatch.setattr(batch_table, "scan_batches", noting_scan)
    monkeypatch.setattr(SegmentView, "_check", noting_check)
    append(log)
    assert explorer.look()
    assert min(starts) > end


def test_new_segments_and_partitions_appear_and_deleted_ones_go(managed: Managed) -> None:
    manager = managed.manager
    log = manager.get_or_create_log("orders-0")
    append(log)
    explorer = followed(managed)
    append(log, 12)
    log.roll()
    manager.get_or_create_log("orders-1")
    assert explorer.look()
    state = explorer.get_state()
    bases = state["_strip"]["base_offset"]
    assert len(bases) == len(log.segments) > 2
    assert set(state["_fresh"]["segments"]) >= set(bases[1:])
    assert "orders-1" in explorer.logs
    assert "orders-1" in {node["key"] for node in state["_directory"]["nodes"]}

    # Retention deletes the segment that is shown: the next one is, and no error.
    assert explorer.selected["segment"] == 0
    log.update_high_watermark(log.log_end_offset)
    log.delete_records(int(bases[2]))
    manager.delete_old_segments()
    assert explorer.look()
    assert explorer.selected["segment"] == int(bases[2])
    assert explorer.get_state("_strip")["_strip"]["base_offset"][0] == bases[2]
    assert explorer.last_error is None

    manager.async_delete("orders-0")
    assert explorer.look()
    assert explorer.selected["partition"] is None
    assert "orders-0" not in explorer.logs
    assert explorer.last_error is None


def test_a_compacted_segment_is_read_again_and_its_batch_is_found(managed: Managed) -> None:
    manager = managed.manager
    log = manager.get_or_create_log("teas-0")
    for number in range(8):
        append(log, key=b"%d" % (number % 2))
    log.roll()
    explorer = followed(managed)
    explorer.verify("teas-0")
    explorer.selected = {"partition": "teas-0", "offset": 2}
    before = positions(explorer)
    log.update_high_watermark(log.log_end_offset)
    managed.clock.advance(60_000)
    assert explorer.look()
    assert len(positions(explorer)) < len(before)
    assert explorer.selected["partition"] == "teas-0"
    assert explorer.get_state("_fresh")["_fresh"]["segments"]["0"] == 0
    assert explorer.get_state("_changed")["_changed"] == ["teas-0"]
    assert explorer.last_error is None


def test_many_batches_are_not_sent_at_every_look(
    managed: Managed, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = managed.manager.get_or_create_log("orders-0")
    append(log, 3)
    explorer = followed(managed)
    monkeypatch.setattr(following, "MOST_BYTES_PER_S", 0.1)
    append(log)
    explorer.look()  # the first is sent, and begins the pause
    append(log)
    explorer.look()
    assert len(positions(explorer)) == 4
    monkeypatch.setattr(following, "MOST_BYTES_PER_S", 1 << 30)
    assert not explorer.look()
    assert len(positions(explorer)) == 5


def followers() -> set[threading.Thread]:
    """Return the threads that follow; widgets of other tests may still do."""
    return {each for each in threading.enumerate() if each.name == "follow"}


def test_the_timer_follows_and_ends(managed: Managed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("widgets.live.follower.LOOK_EVERY_S", 0.01)
    log = managed.manager.get_or_create_log("orders-0")
    append(log)
    explorer = LogExplorer(managed.manager.directories[0])
    others = followers()
    explorer.follow = True
    append(log)
    wait_until(lambda: len(positions(explorer)) == 2)
    explorer.follow = False
    wait_until(lambda: not followers() - others)
    with pytest.raises(ValueError, match="set follow first"):
        explorer.look()


def test_a_single_file_is_not_followed(managed: Managed) -> None:
    log = managed.manager.get_or_create_log("orders-0")
    append(log)
    explorer = LogExplorer(Path(managed.manager.directories[0]) / "orders-0" / f"{0:020d}.log")
    with pytest.raises(ValueError, match="cannot be followed"):
        explorer.follow = True
    assert explorer.follow is False
    explorer.refresh()
    assert len(explorer.logs) == 1
