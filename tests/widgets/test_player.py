"""The players without a browser: what is sent, what is refused, and the picture that is saved."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import traitlets
from ipywidgets import HTML, IntSlider

import workbench as wb
from tests.golden.cases import Case
from widgets import (
    LookupPlayer,
    OffsetsPlayer,
    RecoveryPlayer,
    RequestPlayer,
    Stack,
    StepPlayer,
)
from widgets.players.player_picture import player_picture
from widgets.view.players import steps as steps_view
from widgets.view.players.player_states import PlayerStates
from widgets.view.players.steps import MOST_STEPS, number_text
from workbench.errors import LogDirectoryError, PlayerError
from workbench.foresight.rehearse.log import rehearse_recovery
from workbench.runtime.steps import KINDS, Step

Golden = Callable[[str], Case]
PNG = b"\x89PNG"
KIND, SEGMENT, POSITION, SIZE, ROLE = range(5)
SEGMENT_BYTES = 16_384


@pytest.fixture
def orders(tmp_path: Path) -> tuple[wb.Partition, list[Step]]:
    """A partition of several segments that our engine wrote, and its steps."""
    steps: list[Step] = []
    config = {"orders": {"segment.bytes": SEGMENT_BYTES}}
    with wb.LogManager([tmp_path], topic_configs=config, observer=steps.append) as manager:
        log = manager.get_or_create_log("orders-0")
        steps.clear()
        for number in range(60):
            log.append([(number * 1000, b"key", b"v" * 700)])
        told = list(steps)
    return wb.open_log_directory(tmp_path)["orders-0"], told


@pytest.fixture
def torn(orders: tuple[wb.Partition, list[Step]]) -> str:
    """The same partition, of whose last batch the end is missing."""
    path = orders[0].path
    last = orders[0].segments[-1]
    os.truncate(last.path, last.size - 100)
    return path


def sent(player: StepPlayer) -> Any:
    """What goes to the front end."""
    return player.get_state("_played")["_played"]


def roles(player: StepPlayer) -> list[str]:
    return [row[ROLE] for row in sent(player)["steps"]]


def batches(segment: wb.Segment) -> list[Any]:
    return [segment.batches[row] for row in range(len(segment.batches))]


def states(player: StepPlayer) -> PlayerStates:
    return PlayerStates(player.scenes, player.steps, player.touches, player.at)


def test_a_look_up_probes_the_index_then_walks_to_the_batch(
    orders: tuple[wb.Partition, list[Step]],
) -> None:
    player = LookupPlayer(orders[0], offset=35)
    assert player.steps[player.at].kind == "batch found"
    order = list(dict.fromkeys(roles(player)))
    assert order == ["floor", "probe", "entry", "passed", "found"]
    segment = next(each for each in reversed(orders[0].segments) if each.base_offset <= 35)
    batch = next(each for each in batches(segment) if each.last_offset >= 35)
    found = sent(player)["steps"][-1]
    assert sent(player)["segments"][found[SEGMENT]]["base_offset"] == str(segment.base_offset)
    assert found[POSITION : SIZE + 1] == [batch.position, batch.size]
    assert player.about == f"found: the batch of offset 35 at byte {batch.position:,}"


def test_a_look_up_of_a_time_searches_the_time_index_first(
    orders: tuple[wb.Partition, list[Step]],
) -> None:
    player = LookupPlayer(orders[0], timestamp=35_000)
    order = list(dict.fromkeys(roles(player)))
    assert order == ["time probe", "time entry", "probe", "entry", "passed", "found"]
    row = sent(player)["steps"][0]
    positions = {each.position for each in batches(orders[0].segments[row[SEGMENT]])}
    assert row[POSITION] in positions, "an entry of the time index stands at its batch"
    assert "1970-01-01T00:00:35.000Z" in player.title


def test_a_recovery_validates_every_batch_and_cuts_what_is_torn(torn: str) -> None:
    before = {path.name: path.read_bytes() for path in Path(torn).iterdir()}
    player = RecoveryPlayer(torn)
    assert {path.name: path.read_bytes() for path in Path(torn).iterdir()} == before
    partition = wb.open_log_directory(torn)["orders-0"]
    assert roles(player).count("valid") == sum(len(each.batches) for each in partition.segments)
    cut = next(row for row in sent(player)["steps"] if row[ROLE] == "cut")
    assert cut[POSITION] + cut[SIZE] == partition.segments[-1].size
    assert cut[POSITION] == partition.segments[-1].batches.valid_size
    assert f"{cut[SIZE]} bytes truncated; log end offset 59" in player.about


def test_before_the_recovery_point_nothing_is_read(torn: str) -> None:
    partition = wb.open_log_directory(torn)["orders-0"]
    player = RecoveryPlayer(torn, recovery_point=partition.segments[-1].base_offset)
    touched = {row[SEGMENT] for row in sent(player)["steps"] if row[POSITION] >= 0}
    assert touched == {len(partition.segments) - 1}


def test_batches_that_no_step_touches_are_sent_only_where_they_are_few(
    torn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = wb.open_log_directory(torn)["orders-0"].segments[-1]

    def lengths() -> list[int]:
        player = RecoveryPlayer(torn, recovery_point=last.base_offset)
        return [each["batches"]["position"]["length"] for each in sent(player)["segments"]]

    assert min(lengths()) > 0
    monkeypatch.setattr(steps_view, "MOST_UNTOUCHED", 3)
    assert lengths() == [0] * (len(lengths()) - 1) + [len(last.batches)]


def test_the_index_entries_of_a_recovery_are_those_of_the_file(
    orders: tuple[wb.Partition, list[Step]],
) -> None:
    player = RecoveryPlayer(orders[0])
    index = orders[0].segments[0].offset_index
    assert index is not None
    added = [
        row[POSITION] for row in sent(player)["steps"] if row[ROLE] == "added" and row[SEGMENT] == 0
    ]
    assert added == list(index.positions)


def test_appended_batches_are_found_by_their_offset_and_a_roll_begins_a_segment(
    orders: tuple[wb.Partition, list[Step]],
) -> None:
    partition, told = orders
    player = StepPlayer(told, partition)
    assert player.at == len(told) - 1
    appended = [row for row in sent(player)["steps"] if row[ROLE] == "appended"]
    places = [
        [number, batch.position, batch.size]
        for number, segment in enumerate(partition.segments)
        for batch in batches(segment)
    ]
    assert [row[SEGMENT : SIZE + 1] for row in appended] == places
    player.at = roles(player).index("rolled") - 1
    assert states(player).unborn == set(range(1, len(partition.segments)))


def test_a_player_follows_what_is_written_while_it_shows(tmp_path: Path) -> None:
    steps: list[Step] = []
    with wb.LogManager([tmp_path], observer=steps.append) as manager:
        log = manager.get_or_create_log("orders-0")
        log.append([(b"key", b"first")])
        folder = tmp_path / "orders-0"
        player = StepPlayer(steps, folder)
        first = player.at
        log.append([(b"key", b"second")])
        player.show(steps, wb.open_log_directory(tmp_path)["orders-0"])
        assert player.at > first
        assert sent(player)["segments"][0]["batches"]["position"]["length"] == 2


def test_a_step_out_of_range_is_brought_back(orders: tuple[wb.Partition, list[Step]]) -> None:
    player = LookupPlayer(orders[0], offset=5, at=1)
    player.at = 10_000
    assert player.at == len(player.steps) - 1
    player.at = -7
    assert player.at == 0
    with pytest.raises(traitlets.TraitError):
        player.set_trait("at", "first")


def test_what_cannot_be_looked_up_is_told_in_words(
    orders: tuple[wb.Partition, list[Step]],
) -> None:
    outside = LookupPlayer(orders[0], offset=1000)
    assert outside.step is None
    assert outside.at == -1
    assert "offset 1000 is not in orders-0" in outside.about
    assert outside.to_png().startswith(PNG)
    assert LookupPlayer(orders[0], timestamp=10**12).about == "no record at or after that time"
    with pytest.raises(ValueError, match="either an offset or a timestamp"):
        LookupPlayer(orders[0], offset=1, timestamp=1)


def test_a_path_that_is_no_partition_is_refused(tmp_path: Path) -> None:
    (tmp_path / "something").mkdir()
    for path in (tmp_path, tmp_path / "something", tmp_path / "orders-0"):
        with pytest.raises(LogDirectoryError):
            RecoveryPlayer(path)
    with pytest.raises(TypeError, match="speed"):
        StepPlayer(speed=3)


def test_steps_of_any_kind_and_of_files_that_are_gone_are_played() -> None:
    steps = [Step(kind, "/gone/orders-0/00000000000000000007.log", "", {}) for kind in KINDS]
    player = StepPlayer(steps)
    assert {row[SEGMENT] for row in sent(player)["steps"]} == {-1}
    assert [row[0] for row in sent(player)["kinds"]] == list(KINDS)
    for player.at in (0, len(steps) - 1):
        assert player.to_png().startswith(PNG)


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        (OffsetsPlayer, r"OffsetsPlayer\.of_load makes them of log directories"),
        (StepPlayer, "LookupPlayer and RecoveryPlayer make them of a partition"),
        (RequestPlayer, r"expected one of the requests in Server\.watch\(\)"),
    ],
)
def test_a_player_of_something_else_says_what_it_plays(kind: Any, hint: str) -> None:
    logs = wb.open_log_directory(Path(__file__).parents[2] / "sample_data" / "shop-4.3.1")
    for what in (logs, logs["orders-0"], 7, "orders-0", [7]):
        with pytest.raises(PlayerError, match=hint):
            kind(what)


def test_too_many_steps_are_cut_and_that_is_told() -> None:
    player = StepPlayer([Step("flushed", "orders-0", "", {})] * (MOST_STEPS + 3))
    assert len(player.steps) == MOST_STEPS
    assert sent(player)["left_out"] == 3


def test_a_saved_notebook_keeps_the_step_as_a_picture_and_a_text(
    orders: tuple[wb.Partition, list[Step]],
) -> None:
    player = LookupPlayer(orders[0], offset=35, at=0)
    bundle = player._repr_mimebundle_()
    assert bundle is not None
    first = bundle[0]["image/png"]
    assert first.startswith(PNG)
    assert "1. segment found" in bundle[0]["text/plain"]
    player.at = len(player.steps) - 1
    assert player.to_png() != first
    assert "batch found" in player.describe()


def test_every_step_of_a_recovery_can_be_drawn(torn: str) -> None:
    player = RecoveryPlayer(torn)
    for at in range(0, len(player.steps), 9):
        player.at = at
        assert player_picture(player).startswith(PNG)


@pytest.mark.parametrize("case", ["4.2.0-damage-unclean", "k0.10.0-formats"])
def test_what_brokers_left_is_played(golden: Golden, case: str, tmp_path: Path) -> None:
    found = golden(case)
    source = found.directory("before" if "before" in found.labels else found.labels[0])
    partitions = wb.open_log_directory(source).listing.partitions
    for partition in list(partitions.values())[:12]:
        copy = shutil.copytree(partition.path, tmp_path / partition.name, dirs_exist_ok=True)
        player = RecoveryPlayer(copy)
        if player.steps:
            player.at = len(player.steps) - 1
            assert player.to_png().startswith(PNG)


def test_segments_may_be_pictures_of_a_rehearsal(torn: str) -> None:
    rehearsal = rehearse_recovery(torn)
    player = StepPlayer(rehearsal.steps, rehearsal.segments)
    assert roles(player) == roles(RecoveryPlayer(torn))


def test_a_stack_is_saved_as_the_picture_in_it(orders: tuple[wb.Partition, list[Step]]) -> None:
    player = LookupPlayer(orders[0], offset=35)
    bundle = Stack([IntSlider(), player])._repr_mimebundle_()
    assert bundle["image/png"] == player.to_png()
    assert bundle["text/plain"] == player.describe()
    assert "image/png" not in Stack([IntSlider()])._repr_mimebundle_()
    assert Stack([IntSlider(), HTML("<p>7 days</p>")])._repr_mimebundle_()["text/html"] == (
        "<p>7 days</p>"
    )


def test_numbers_are_told_as_people_read_them() -> None:
    assert number_text("position", 12_345) == "12,345"
    assert number_text("cut", 1536) == "1,536 (1.5 KiB)"
    assert number_text("timestamp", 0) == "1970-01-01T00:00:00.000Z (0)"
    assert number_text("now", 0) == "1970-01-01T00:00:00.000Z (0)"
    assert number_text("delay_ms", 43_200_000) == "43,200,000 ms (12 h)"
    assert number_text("rule", "retention.ms") == "retention.ms"


def test_a_probe_says_what_is_stored(orders: tuple[wb.Partition, list[Step]]) -> None:
    partition = orders[0]
    base = partition.segments[1].base_offset
    for player in (
        LookupPlayer(partition, offset=base + 15),
        LookupPlayer(partition, timestamp=1000 * (base + 15)),
    ):
        probes = [step for step in player.steps if step.kind == "index probed"]
        of_second = [s for s in probes if f"{base:020d}" in s.where]
        assert of_second
        for step in of_second:
            assert step.numbers["relative_offset"] == step.numbers["offset"] - base > 0
            if step.where.endswith(".index"):
                assert f"(stored as {step.numbers['relative_offset']})" in step.reason


def test_another_offset_or_time_can_be_looked_up(
    orders: tuple[wb.Partition, list[Step]],
) -> None:
    player = LookupPlayer(orders[0], offset=35)
    same = LookupPlayer(orders[0], timestamp=20_000)
    player.look_up(timestamp=20_000)
    assert (player.title, player.about, player.at) == (same.title, same.about, same.at)
    assert player.steps == same.steps
    player.receive(player, {"kind": "look_up", "id": 1, "text": "7"}, [])
    assert player.title == "Look up offset 7 in orders-0"
    player.receive(player, {"kind": "look_up", "id": 2, "text": "soon"}, [])
    assert isinstance(player.last_error, ValueError)
    assert player.title == "Look up offset 7 in orders-0"
    with pytest.raises(ValueError, match="offset"):
        player.look_up()
