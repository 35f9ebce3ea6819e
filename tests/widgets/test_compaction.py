"""The compaction player: the engine's own steps and decisions, and what the page gets of them."""

import os
from pathlib import Path
from typing import Any

import pytest
import traitlets

import workbench as wb
from tests.cleaner.cleaning import DAY
from tests.widgets.cleanable import CONFIG, NOW, many, prices
from widgets import CompactionPlayer
from widgets.view.packing import unpack
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.decisions import Reason
from workbench.errors import LogDirectoryError

PNG = b"\x89PNG"
KIND, SEGMENT, RECORD, BATCH, ROLE = 0, 1, 2, 3, 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return prices(tmp_path)


def played(player: CompactionPlayer) -> Any:
    """What goes to the front end."""
    return player.get_state("_played")["_played"]


def kinds(player: CompactionPlayer) -> list[str]:
    return [step.kind for step in player.steps]


def test_nothing_on_the_disk_changes(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.parent.rglob("*") if path.is_file()}
    CompactionPlayer(folder, CONFIG, now=NOW)
    after = {path: path.read_bytes() for path in folder.parent.rglob("*") if path.is_file()}
    assert after == before


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="there is no list of open files")
def test_a_player_keeps_no_file_open(folder: Path) -> None:
    player = CompactionPlayer(folder, CONFIG, now=NOW)
    links = [Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd")]
    held = [os.readlink(link) for link in links if os.path.lexists(link)]
    assert player.rehearsal.rounds
    assert [path for path in held if path.startswith(str(folder.parent))] == []


@pytest.mark.parametrize("times", [{"passes": 0}, {"now": []}, {"now": [NOW, NOW - 1]}])
def test_rounds_that_make_no_sense_are_refused(folder: Path, times: Any) -> None:
    with pytest.raises(ValueError, match="round"):
        CompactionPlayer(folder, CONFIG, **times)


def test_steps_name_their_records_and_batches(folder: Path) -> None:
    player = CompactionPlayer(folder, CONFIG, now=NOW)
    sent = played(player)
    offsets = unpack(sent["rounds"][0]["records"]["offset"]).tolist()
    for step, row in zip(player.steps, sent["steps"], strict=True):
        if step.kind.startswith(("record", "key")):
            assert offsets[row[RECORD]] == step.numbers["offset"]
        if step.kind.startswith("batch"):
            bases = unpack(sent["rounds"][0]["batches"]["base_offset"]).tolist()
            assert step.numbers.get("base_offset", bases[row[BATCH]]) == bases[row[BATCH]]
    assert [row[2] for row in sent["rounds"][0]["segments"]] == ["dirty", "dirty", "active"]


def test_the_page_gets_the_cleaners_decisions(folder: Path) -> None:
    player = CompactionPlayer(folder, CONFIG, now=NOW)
    decisions = player.rehearsal.rounds[0].cleaning
    assert decisions is not None
    sent = played(player)["rounds"][0]
    count = len(decisions.decisions)
    assert unpack(sent["records"]["reason"])[:count].tolist() == list(decisions.decisions.reasons)
    verdicts = unpack(sent["batches"]["verdict"]).tolist()
    assert verdicts == [*decisions.decisions.batches["verdict"].tolist(), 0]
    assert unpack(sent["batches"]["kept"]).sum() == decisions.decisions.is_kept.sum()


def test_it_agrees_with_the_plan_of_the_partition(folder: Path) -> None:
    plan = wb.open_log_directory(folder)["orders-0"].plan_cleaning(CONFIG, now=NOW)
    player = CompactionPlayer(folder, CONFIG, now=NOW)
    rounds = player.rehearsal.rounds
    assert rounds[0].cleaning is not None
    assert rounds[0].cleaning.decisions.reasons.tolist() == (
        plan.rounds[0].cleaning.decisions.reasons.tolist()
    )


def test_of_every_record_it_says_why(folder: Path) -> None:
    player = CompactionPlayer(folder, CONFIG, now=[NOW, NOW + DAY + 1], everything=True)
    assert player.why(0) == [Reason.SUPERSEDED, None]
    assert player.why(3) == [Reason.TOMBSTONE_HORIZON_SET, Reason.TOMBSTONE_HORIZON_PASSED]
    assert player.why(5) == [Reason.ABORTED, None]
    assert player.why(6)[0] == Reason.MARKER_NEEDED
    assert player.why(10) == [None, None], "the active segment is not cleaned"


def test_the_next_round_begins_with_what_the_last_one_left(folder: Path) -> None:
    player = CompactionPlayer(folder, CONFIG, now=[NOW, NOW + DAY + 1], everything=True)
    first, second = player.rehearsal.rounds
    assert first.records is not None
    assert second.records is not None
    kept = [offset for offset in first.records.offsets.tolist()
            if (reason := player.why(offset)[0]) is None or reason.is_kept]  # fmt: skip
    assert second.records.offsets.tolist() == kept
    assert [row[2] for row in played(player)["rounds"][1]["segments"]] == ["dirty", "active"]


def test_it_goes_to_an_offset_and_to_a_key(folder: Path) -> None:
    player = CompactionPlayer(folder, CONFIG, now=NOW)
    player.go_to(3)
    assert player.step is not None
    assert (player.step.kind, player.step.numbers["offset"]) == ("record kept", 3)
    found = []
    for _ in range(4):
        player.go_to(b"11")
        found.append(player.step.numbers["offset"])
    assert found == [4, 9, 1, 4], "after the last comes the first"
    with pytest.raises(LookupError):
        player.go_to(b"no such key")


def test_keys_are_shown_only_where_that_is_asked_for(folder: Path) -> None:
    hidden = played(CompactionPlayer(folder, CONFIG, now=NOW))
    assert hidden["keys"] == [["1", "key 1"], ["2", "key 2"], ["3", "key 3"], ["4", "key 4"]]
    shown = played(CompactionPlayer(folder, CONFIG, now=NOW, show_values=True))
    assert [full for _, full in shown["keys"]] == ["10", "11", "12", "13"]
    masked = CompactionPlayer(folder, CONFIG, now=NOW, mask=lambda _column, key: key[:1] + b"*")
    assert {full for _, full in played(masked)["keys"]} == {"1*"}


def test_short_names_leave_out_what_all_keys_begin_with(tmp_path: Path) -> None:
    with wb.LogManager([tmp_path]) as manager:
        log = manager.get_or_create_log("orders-0")
        for key in (b"customer-17", b"customer-18", b"customer-204"):
            log.append([(key, b"v")])
        log.roll()
        log.update_high_watermark(log.log_end_offset)
    player = CompactionPlayer(tmp_path / "orders-0", CONFIG, show_values=True)
    assert [short for short, _ in played(player)["keys"]] == ["17", "18", "204"]


def test_a_log_that_waits_is_cleaned_all_the_same_and_that_is_told(folder: Path) -> None:
    ratio = {"orders:min.cleanable.dirty.ratio": 1}
    player = CompactionPlayer(folder, CONFIG | ratio, now=NOW)
    assert kinds(player)[0] == "log not due"
    assert "log cleaned" in kinds(player)


def test_where_nothing_may_be_cleaned_it_says_so(folder: Path) -> None:
    lag = {"orders:min.compaction.lag.ms": DAY}
    player = CompactionPlayer(folder, CONFIG | lag, now=NOW)
    assert kinds(player) == ["log not due"]
    assert player.about == "nothing can be cleaned"
    assert player.to_png().startswith(PNG)


def test_a_small_map_takes_several_rounds(folder: Path) -> None:
    cleaner = CleanerConfig(map_memory=3 * 24, load_factor=0.7)
    player = CompactionPlayer(folder, CONFIG, now=NOW, passes=3, cleaner=cleaner)
    ends = [each.cleaning.stats.end_offset for each in player.rehearsal.rounds if each.cleaning]
    assert kinds(player).count("map full") >= 1
    assert ends == sorted(set(ends))


@pytest.mark.parametrize("detail", ["records", None])
def test_a_log_that_cannot_be_read_says_why(folder: Path, detail: Any) -> None:
    (folder.parent / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":"1"}')
    first = min(folder.glob("*.log"))
    data = bytearray(first.read_bytes())
    data[8:12] = (5).to_bytes(4)  # a size that no batch has
    first.write_bytes(bytes(data))
    player = CompactionPlayer(folder, CONFIG, now=NOW, detail=detail)
    assert player.rehearsal.error is not None
    assert first.name in player.about
    assert player.to_png().startswith(PNG)


def test_of_many_records_it_plays_batches_and_reads_records_when_asked(tmp_path: Path) -> None:
    player = CompactionPlayer(many(tmp_path, 60), CONFIG, now=NOW, detail="batches")
    sent = played(player)
    assert sent["rounds"][0]["records"] is None
    assert not sent["keys"]
    assert not {"key mapped", "record kept", "record dropped"} & set(kinds(player))
    content, _ = player.answer_records(0, 2, 0, 200)
    assert content["count"] == 20
    offset, cell, is_kept, why = content["rows"][0]
    (reason,) = player.why(int(offset))
    assert reason is not None
    assert (offset, is_kept) == ("40", reason.is_kept)
    assert cell[1] == "hidden"
    assert why.startswith("superseded by offset") == (reason == Reason.SUPERSEDED)
    assert player.answer_records(0, 2, 0, 5000)[0]["rows"] == []
    assert player.to_png().startswith(PNG)


def test_a_key_of_a_large_log_is_found_in_its_batch(tmp_path: Path) -> None:
    player = CompactionPlayer(many(tmp_path, 60), CONFIG, now=NOW, detail="batches")
    found, _ = player.answer_find("13", 0)
    step = player.steps[found["step"]]
    assert step.numbers["base_offset"] == 0
    assert found["batch"] == 0
    later, _ = player.answer_find("13", found["step"])
    assert later["step"] > found["step"]
    assert player.answer_find("no such key", 0)[0]["step"] == -1
    by_offset, _ = player.answer_find("1,000", 0)
    assert by_offset["batch"] == 50


def test_of_very_many_it_plays_segments(tmp_path: Path) -> None:
    player = CompactionPlayer(many(tmp_path, 60), CONFIG, now=NOW, detail="segments")
    assert "segment cleaned" in kinds(player)
    assert "batch rebuilt" not in kinds(player)
    found, _ = player.answer_find("13", 0)
    assert player.steps[found["step"]].kind == "segment cleaned"
    assert player.answer_records(0, 2, 0, 200)[0]["count"] == 20


def test_every_step_can_be_drawn(folder: Path) -> None:
    player = CompactionPlayer(folder, CONFIG, now=NOW, show_values=True)
    wanted = range(0, len(player.steps), 6)
    pictures = set()
    for at in wanted:
        player.at = at
        pictures.add(player.to_png())
    assert len(pictures) == len(wanted)


def test_a_saved_notebook_keeps_a_picture_and_the_step(folder: Path) -> None:
    player = CompactionPlayer(folder, CONFIG, now=NOW)
    player.go_to(0)
    bundle = player._repr_mimebundle_()
    assert bundle is not None
    assert bundle[0]["image/png"].startswith(PNG)
    assert "superseded by offset 2" in bundle[0]["text/plain"]


def test_what_cannot_be_played_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(LogDirectoryError):
        CompactionPlayer(tmp_path / "nothing-0")
    with pytest.raises(TypeError, match="speed"):
        CompactionPlayer(folder, CONFIG, speed=3)
    player = CompactionPlayer(folder, CONFIG, now=NOW)
    with pytest.raises(traitlets.TraitError):
        player.set_trait("at", "first")
    player.at = 10_000
    assert player.at == len(player.steps) - 1


def test_any_key_can_be_drawn(tmp_path: Path) -> None:
    times, formula = [NOW], b"$\\frac$"
    player = CompactionPlayer(
        prices(tmp_path), CONFIG, now=times, everything=True, mask=lambda *_: formula
    )
    kinds = [step.kind for step in player.steps]
    for kind in ("key mapped", "record dropped"):
        player.at = kinds.index(kind)
        assert player.to_png().startswith(b"\x89PNG")
