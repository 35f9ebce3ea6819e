"""ReplicationPlayer: what the page shows of each moment, against the cluster itself."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from widgets import ReplicationPlayer
from widgets._assets import STATIC
from workbench.errors import ConfigError, ReplicationError
from workbench.replication.simulation.events import Bounds
from workbench.replication.simulation.playback import play
from workbench.replication.simulation.scenarios import SCENARIOS

ROUNDS = ["fetch 1", "produce secret", "answer 1", "fetch 1", "expire 1", "answer 1"]

TWIN = """
import { readFileSync } from "node:fs";
const { ReplicationData } = await import(process.argv[2]);
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf-8")).map((sent) => {
  const data = new ReplicationData(sent);
  return data.steps.map((_, i) => ({
    kind: data.kind(i), cells: data.cells(i), broken: data.newlyBroken(i).map(([kind]) => kind),
    differs: data.state(i).replicas.map((each) => [...data.differing(i, each)]),
  }));
})));
"""


def page_of(players: list[ReplicationPlayer], folder: Path) -> Any:
    """Return what the front end makes of the players' states."""
    node = shutil.which("node")
    assert node, "install Node.js 20 or newer to test the front end"
    (folder / "twin.mjs").write_text(TWIN)
    done = subprocess.run(
        [node, str(folder / "twin.mjs"), (STATIC / "replication/replication_data.js").as_uri()],
        input=json.dumps([each.get_state("_played")["_played"] for each in players]),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_page_shows_the_offsets_of_the_cluster_at_every_step(tmp_path: Path) -> None:
    players = [ReplicationPlayer(name) for name in SCENARIOS]
    for player, found in zip(players, page_of(players, tmp_path), strict=True):
        rows = player.played.rows()
        assert len(found) == len(rows)
        for row, shown in zip(rows, found, strict=True):
            numbers = [
                "–" if value is None else str(value)
                for name, value in row.items()
                if name.startswith(("LEO", "HW"))
            ]
            assert shown["cells"] == [*numbers, row["remote LEO"] or "–"], row
            assert shown["kind"] == row["event"]
        broken = [kind for shown in found for kind in shown["broken"]]
        assert broken == [each.kind for each in player.played.violations]


def test_a_record_that_differs_from_the_leaders_is_marked(tmp_path: Path) -> None:
    players = [ReplicationPlayer("G-3", rules=rules) for rules in ("1.1", "2.0")]
    diverged, equal = page_of(players, tmp_path)
    assert diverged[-1]["differs"] == [[], [1]]
    assert equal[-1]["differs"] == [[], []]


def test_other_rules_play_the_same_events_again() -> None:
    player = ReplicationPlayer("G-1", at=8)
    assert player.describe().split("\n")[0].endswith("rules of 0.10: 3 promises broken")
    player.set_state({"rules": "4.2"})
    assert (player.at, player.about) == (8, "rules of 4.2: all promises kept")
    assert player.played.rules == "4.2"
    with pytest.raises(ConfigError, match="'newest' is not a version"):
        player.rules = "newest"
    assert player.rules == "4.2"
    player.set_state({"rules": "older"})
    assert "'older' is not a version" in player.get_state("_error")["_error"]


def _page(player: ReplicationPlayer) -> str:
    """Return all that a page gets of a player."""
    player.at = len(player.steps) - 1
    return f"{player.get_state('_played')} {player.describe()} {player.played}"


def test_values_stay_in_the_kernel_unless_they_are_shown() -> None:
    hidden = _page(ReplicationPlayer(ROUNDS, brokers=2))
    assert "secret" not in hidden
    assert "produce #1" in hidden
    assert "secret" in _page(ReplicationPlayer(ROUNDS, brokers=2, show_values=True))


def test_it_plays_scenarios_schedules_and_events() -> None:
    assert len(ReplicationPlayer("G-0").steps) == 6
    found = wb.find_schedule("divergence", rules="1.1", bounds=Bounds(crashes=0))
    player = ReplicationPlayer(found)
    assert player.about == f"rules of 1.1: {len(player.played.violations)} promises broken"
    assert "divergence" in {each.kind for each in player.played.violations}
    reasons = ReplicationPlayer([("produce m0", "A record."), "fetch 1"], brokers=2).steps
    assert reasons[0].reason == "A record"
    assert reasons[1].reason == "1 → 0: fetch from 0"
    assert ReplicationPlayer("G-7", unclean_leader_election=False).played.violations == ()
    assert ReplicationPlayer([]).step is None


def test_it_plays_what_was_played_before() -> None:
    player = ReplicationPlayer(wb.scenarios.play("G-1", rules="0.10", acks=1))
    assert player.title == ReplicationPlayer("G-1").title
    same = ReplicationPlayer("G-1", rules="0.10", acks=1)
    assert player.played.rows() == same.played.rows()
    assert player.about == same.about
    player.rules = "4.2"
    assert player.played.violations == wb.scenarios.play("G-1", rules="4.2", acks=1).violations
    assert "m0" in player.steps[0].where + str(player.played.moments[0].event)
    own = play(["produce secret"], brokers=2, min_insync_replicas=2)
    assert "secret" not in _page(ReplicationPlayer(own))
    assert "secret" in _page(ReplicationPlayer(own, show_values=True))
    assert ReplicationPlayer(own).played.options["min_insync_replicas"] == 2


@pytest.mark.parametrize("what", [7, [7], [("produce m0", "why", "more")], object(), b"G-1"])
def test_what_cannot_be_played_is_refused_with_what_can(what: Any) -> None:
    with pytest.raises(ReplicationError, match="expected the name of a scenario, such as 'G-1'"):
        ReplicationPlayer(what)


def test_bad_input_is_told() -> None:
    with pytest.raises(ReplicationError, match="scenario 'G-77'"):
        ReplicationPlayer("G-77")
    with pytest.raises(ReplicationError, match="event 'jump 1'"):
        ReplicationPlayer(["jump 1"])
    with pytest.raises(ConfigError, match="is not a version"):
        ReplicationPlayer("G-0", rules="old")
    with pytest.raises(TypeError, match="unknown option speed"):
        ReplicationPlayer("G-0", speed=3)


def test_too_many_events_are_left_out_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("widgets.replication.replication_player.MOST_MOMENTS", 60)
    player = ReplicationPlayer(["produce m0"] * 65, brokers=1, storage="light")
    assert len(player.steps) == 60
    state = player.get_state("_played")["_played"]
    assert state["left_out"] == 5
    assert len(state["steps"][-1][9]["replicas"][0]["records"]) == 48


def test_a_saved_notebook_keeps_a_picture_and_the_step() -> None:
    player = ReplicationPlayer("G-8", at=13)
    bundle = player._repr_mimebundle_()
    assert bundle is not None
    assert bundle[0]["image/png"].startswith(b"\x89PNG")
    assert "G-8 The last replica standing" in bundle[0]["text/plain"]
    before = player.to_png()
    player.at = 4
    assert player.to_png() != before
    assert ReplicationPlayer([]).to_png().startswith(b"\x89PNG")
