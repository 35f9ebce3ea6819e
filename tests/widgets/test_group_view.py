"""GroupView: a group's commits over time as the page gets them, and its link to the explorer."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import traitlets

import workbench as wb
from tests.coordinator.writing import TIME, CoordinatorLog, Pair, commit
from tests.naive import Record, batch
from widgets import GroupView, LogExplorer
from widgets.coordinators.group_lines import (
    ABORTED,
    BACK,
    COMMITTED,
    MOST_POINTS,
    PENDING,
    TOMBSTONE,
    TRANSACTIONAL,
)
from widgets.view.packing import unpack

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


class TimedLog(CoordinatorLog):
    """A coordinator's log in which each batch has a time of its own."""

    def at(self, time: int, *pairs: Pair, **extra: int) -> None:
        """Append a batch at a time after `TIME`, in ms."""
        first = self.next_offset
        records = [Record(first + i, TIME + time, *pair) for i, pair in enumerate(pairs)]
        self.content += batch(records, **extra)
        self.next_offset += len(pairs)

    def ends(self, time: int, producer: int, *, commit: bool) -> None:
        """Append a transaction marker."""
        pair = struct.pack(">hh", 0, commit), struct.pack(">hi", 0, 3)
        self.at(time, pair, attributes=0x30, producer_id=producer, producer_epoch=0)


def write_data(root: Path, name: str, times: list[int]) -> None:
    """Write a partition with ten records at each time after `TIME`."""
    folder = root / name
    folder.mkdir()
    content = b"".join(
        batch([Record(10 * number + i, TIME + time, b"k", b"v") for i in range(10)])
        for number, time in enumerate(times)
    )
    (folder / f"{0:020}.log").write_bytes(content)


@pytest.fixture
def eventful(tmp_path: Path) -> Path:
    """A group with a commit of every kind, a fall, and a tombstone."""
    write_data(tmp_path, "orders-0", [0, 100, 200, 300])
    log = TimedLog(tmp_path)
    transaction = {"attributes": 0x10, "producer_epoch": 0}
    log.at(50, commit("dash", "orders", 0, 5, metadata="secret words"))
    log.at(120, commit("dash", "orders", 0, 15), producer_id=7, **transaction)
    log.ends(130, 7, commit=True)
    log.at(210, commit("dash", "orders", 0, 22), producer_id=8, **transaction)
    log.ends(220, 8, commit=False)
    log.at(230, commit("dash", "orders", 0, 2))
    log.at(240, commit("dash", "orders", 0, 30), producer_id=9, **transaction)
    log.at(250, commit("dash", "gone", 1, 4))
    log.at(260, commit("dash", "gone", 1, None))
    return log.write()


def lane(view: GroupView, name: str) -> dict[str, Any]:
    sent = view.get_state("_lanes")["_lanes"]
    assert sent["group"] == view.group
    found: dict[str, Any] = next(each for each in sent["lanes"] if each["name"] == name)
    commits = {each: unpack(found["commits"][each]).tolist() for each in ("time", "offset", "kind")}
    return found | commits


def lane_names(view: GroupView) -> list[str]:
    return [each["name"] for each in view.get_state("_lanes")["_lanes"]["lanes"]]


def story(view: GroupView) -> Any:
    return view.get_state("_story")["_story"]


def test_every_commit_has_its_time_offset_and_kind(eventful: Path) -> None:
    view = GroupView(eventful, "dash")
    orders = lane(view, "orders-0")
    assert [time - TIME for time in orders["time"]] == [50, 120, 210, 230, 240]
    assert orders["offset"] == [5, 15, 22, 2, 30]
    assert orders["kind"] == [COMMITTED, TRANSACTIONAL, ABORTED, BACK, PENDING]
    assert unpack(orders["commits"]["place"]).tolist() == [0, 1, 3, 5, 6]
    gone = lane(view, "gone-1")
    assert gone["kind"] == [COMMITTED, TOMBSTONE]
    assert gone["partition"] is None
    assert story(view)["span"] == [TIME + 50, TIME + 300]


def test_the_log_end_offset_moves_with_the_records_timestamps(eventful: Path) -> None:
    view = GroupView(eventful, "dash")
    ends = lane(view, "orders-0")["ends"]
    assert (unpack(ends["time"]) - TIME).tolist() == [50, 100, 200, 300]
    assert unpack(ends["offset"]).tolist() == [10, 20, 30, 40]


@pytest.mark.parametrize("group", ["order-dashboard", "payment-service", "suggestions"])
def test_the_lines_end_where_the_coordinator_stands(group: str) -> None:
    view = GroupView(SHOP, group)
    offsets = view.offsets.to_pylist()
    assert offsets
    for row in offsets:
        name = f"{row['topic']}-{row['partition']}"
        line = view.lines[name]
        assert line.offsets[line.is_effective][-1] == row["offset"]
        assert np.all(np.diff(line.times) >= 0)
        end = unpack(lane(view, name)["ends"]["offset"])[-1]
        assert end - line.offsets[line.is_effective][-1] == row["lag"]


@pytest.mark.parametrize("group", ["suggestions", "payment-service"])
def test_the_line_agrees_with_the_lag_of_each_commit(group: str) -> None:
    view = GroupView(SHOP, group)
    commits = wb.open_log_directory(SHOP).inspect.commits(group).to_pylist()
    compared = 0
    for row in commits:
        time, name = row["commit_time"], f"{row['topic']}-{row['partition']}"
        if row["lag"] is None or time is None or row["time"] != time:
            continue
        ends = lane(view, name)["ends"]
        at = np.searchsorted(unpack(ends["time"]), time.timestamp() * 1000, side="right") - 1
        assert max(unpack(ends["offset"])[at], row["offset"]) == row["log_end_offset"]
        compared += 1
    assert compared


def test_a_log_end_offset_that_is_not_known_is_not_guessed(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    later = batch([Record(90, TIME + 500, b"k", b"v")])  # what was there before is deleted
    (folder / f"{90:020}.log").write_bytes(later)
    log = TimedLog(tmp_path)
    log.at(50, commit("dash", "orders", 0, 91))
    ends = lane(GroupView(log.write(), "dash"), "orders-0")["ends"]
    assert (unpack(ends["time"]) - TIME).tolist() == [50, 500]
    assert unpack(ends["offset"]).tolist() == [-1, 91]


def test_a_group_whose_commits_are_all_of_before_1970_has_no_lane(tmp_path: Path) -> None:
    log = TimedLog(tmp_path)
    log.at(-2 * TIME, commit("dash", "orders", 0, 91, commitTimestamp=-5))
    view = GroupView(log.write(), "dash")
    assert story(view)["span"] == []
    assert len(story(view)["rows"]) == 1


def test_many_commits_are_thinned_and_a_window_gets_its_own(tmp_path: Path) -> None:
    log = TimedLog(tmp_path)
    for number in range(4 * MOST_POINTS):
        log.at(number, commit("busy", "orders", 0, number if number != 999 else 3))
    view = GroupView(log.write(), "busy")
    shown = lane(view, "orders-0")
    assert MOST_POINTS // 2 < len(shown["time"]) < 2 * MOST_POINTS
    assert shown["commits"]["total"] == 4 * MOST_POINTS
    fall = shown["kind"].index(BACK)
    assert shown["offset"][fall - 1 : fall + 1] == [998, 3]
    view.window = [TIME + 500.0, TIME + 700.0]
    closer = lane(view, "orders-0")
    assert [time - TIME for time in closer["time"]] == list(range(500, 702))
    view.window = []
    assert lane(view, "orders-0")["time"] == shown["time"]


def test_another_group_is_shown_when_it_is_set() -> None:
    view = GroupView(SHOP, "suggestions")
    assert lane_names(view) == ["clicks-0"]
    view.group = "order-dashboard"
    assert lane_names(view) == ["orders-0", "orders-1"]
    assert story(view)["group"] == "order-dashboard"
    assert "lag 2,241" in view.describe()
    with pytest.raises(LookupError, match=r"no record of group 'shop'.*order-dashboard"):
        view.group = "shop"
    assert view.group == "order-dashboard"


def test_metadata_stays_in_the_kernel_unless_values_are_shown(tmp_path: Path) -> None:
    log = TimedLog(tmp_path)
    log.at(9, commit("words", "orders", 0, 1, metadata="secret"))
    folder = log.write()
    hidden = GroupView(folder, "words").get_state()
    sent = str({name: hidden[name] for name in ("_story", "_lanes")})
    assert "secret" not in sent
    assert "6 bytes" in sent
    assert "'secret'" in str(story(GroupView(folder, "words", show_values=True)))
    masked = GroupView(folder, "words", mask=lambda _, data: data[:2])
    assert "'se'" in str(story(masked))


def test_rows_say_the_state(eventful: Path) -> None:
    rows = story(GroupView(eventful, "dash"))["rows"]
    assert [(row["name"], row["cells"][1:5]) for row in rows] == [
        ("orders-0", ["2", "40", "38", "in the log"]),
        ("orders-0", ["30", "40", "10", "pending"]),
    ]


def test_rebalances_are_marks_with_their_members() -> None:
    view = GroupView(SHOP, "order-dashboard")
    marks = story(view)["marks"]
    assert [mark["label"] for mark in marks][:3] == [
        "created · generation 0",
        "rebalanced · generation 1",
        "emptied · generation 2",
    ]
    assert [mark["time"] for mark in marks] == sorted(mark["time"] for mark in marks)
    assert story(view)["span"][0] == marks[0]["time"]
    assert ["dashboard-1-6e80da…", "orders-0, orders-1, orders-2"] in marks[1]["facts"]


def test_it_follows_the_explorer_and_the_explorer_it() -> None:
    logs = wb.open_log_directory(SHOP)
    view = GroupView(logs, "suggestions")
    explorer = LogExplorer(logs, selected={"partition": "customers-0"})
    traitlets.link((explorer, "selected"), (view, "selected"))
    view.selected = {"partition": "clicks-0", "offset": 1500}
    assert explorer.selected["offset"] == 1500
    assert explorer.selected["position"] is not None
    explorer.selected = {"partition": "__consumer_offsets-1", "offset": 2603}
    assert view.selected["offset"] == 2603


def test_a_saved_notebook_keeps_a_picture_and_the_story(eventful: Path) -> None:
    view = GroupView(eventful, "dash")
    bundle = view._repr_mimebundle_()
    assert bundle is not None
    assert bundle[0]["image/png"].startswith(b"\x89PNG")
    assert bundle[0]["text/plain"].startswith("GroupView: dash: ")
    before = view.to_png()
    view.window = [TIME + 60.0, TIME + 200.0]
    assert view.to_png() != before
    assert GroupView(eventful, "dash", window=[TIME + 60, TIME + 200]).to_png() == view.to_png()


@pytest.mark.filterwarnings("error")
def test_any_name_time_and_offset_can_be_drawn(tmp_path: Path) -> None:
    log = TimedLog(tmp_path)
    name = "$\\frac$ グループ\n\x00"
    far = (1 << 62) - TIME
    log.at(0, commit(name, "orders", 0, (1 << 63) - 1))
    for number in range(2 * MOST_POINTS):
        log.at(far + number, commit(name, "orders", 0, number))
    view = GroupView(log.write(), name)
    assert view.group == name
    assert len(lane(view, "orders-0")["time"]) < 2 * MOST_POINTS
    assert view.to_png().startswith(b"\x89PNG")


def test_a_directory_without_groups_is_shown_as_such(tmp_path: Path) -> None:
    write_data(tmp_path, "orders-0", [0])
    view = GroupView(tmp_path)
    assert view.group == ""
    assert view.groups == []
    assert view.describe().startswith("GroupView: no groups: no partition of __consumer_offsets")
    assert view.to_png().startswith(b"\x89PNG")
    with pytest.raises(LookupError, match="groups in these directories: none"):
        GroupView(tmp_path, "dash")


def test_its_code_gives_the_rows_and_the_reasons_that_it_shows(eventful: Path) -> None:
    view = GroupView(eventful, now=TIME + 1)
    *statements, last = view.query.splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(statements), names)  # noqa: S102 - what the widget shows
    shown = eval(last, names)  # noqa: S307
    assert shown.offset.tolist() == view.offsets["offset"].to_pylist()
    known = view.commits["offset"].drop_null().to_pylist()
    assert names["commits"].offset.dropna().tolist() == known
    assert len(names["commits"]) == len(view.commits)
    assert len(names["rebalances"]) == len(view.rebalances)
    assert names["why"].conclusion == view.explanation.conclusion
