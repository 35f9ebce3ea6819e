"""OffsetsPlayer: what each step of a coordinator does, against the coordinator's own state."""

import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import traitlets

import workbench as wb
from tests.widgets.coordinated import Coordinated
from widgets import LogExplorer, OffsetsPlayer
from widgets._assets import STATIC
from widgets.coordinators.offset_states import OffsetStates
from widgets.coordinators.offset_steps import ROLES
from workbench.coordinator.steps import OFFSET_KINDS

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


@pytest.fixture
def coordinated(tmp_path: Path) -> Iterator[Coordinated]:
    with Coordinated(tmp_path) as found:
        yield found


def looks(states: OffsetStates) -> str:
    return " ".join(f"{offset}:{look}" for offset, look in states.records.items())


def in_memory(states: OffsetStates) -> dict[str, int]:
    return {each.where: each.offset for each in states.entries if each.state != "pending"}


def test_every_role_is_of_a_kind_that_the_coordinator_reports() -> None:
    assert set(ROLES) <= set(OFFSET_KINDS)


def test_a_commit_is_written_then_in_memory(coordinated: Coordinated) -> None:
    coordinated.commit(orders_0=42)
    coordinated.commit(orders_0=50)
    steps = coordinated.steps
    appended = [n for n, step in enumerate(steps) if step.kind == "records appended"]
    before = OffsetStates(steps, appended[1])
    assert looks(before) == "0:cached 1:written"
    assert in_memory(before) == {"orders-0": 42}
    after = OffsetStates(steps, len(steps) - 1)
    assert looks(after) == "0:superseded 1:cached"
    assert in_memory(after) == {"orders-0": 50}


def test_a_transactional_commit_waits_for_its_marker(coordinated: Coordinated) -> None:
    coordinated.commit(orders_0=1)
    coordinated.commit_transactional(9, orders_0=60, orders_1=5)
    waiting = OffsetStates(coordinated.steps, len(coordinated.steps) - 1)
    assert looks(waiting) == "0:cached 1:pending 2:pending"
    assert in_memory(waiting) == {"orders-0": 1}
    coordinated.end(9, is_commit=True)
    coordinated.commit_transactional(9, orders_0=70)
    coordinated.end(9, is_commit=False)
    ended = OffsetStates(coordinated.steps, len(coordinated.steps) - 1)
    assert looks(ended) == "0:superseded 1:cached 2:cached 3:marker 4:dropped 5:marker"
    assert in_memory(ended) == {"orders-0": 60, "orders-1": 5}


def test_a_load_begins_with_nothing_in_memory_and_reads_record_by_record(
    coordinated: Coordinated,
) -> None:
    coordinated.commit(orders_0=42)
    coordinated.commit(orders_0=50)
    coordinated.reload()
    kinds = [step.kind for step in coordinated.steps]
    unloaded = kinds.index("partition unloaded")
    loading = kinds.index("partition loading", unloaded)
    assert looks(OffsetStates(coordinated.steps, unloaded)) == "0:unread 1:unread"
    assert not OffsetStates(coordinated.steps, loading).entries
    assert looks(OffsetStates(coordinated.steps, loading + 1)) == "0:cached 1:unread"
    assert looks(OffsetStates(coordinated.steps, len(kinds) - 1)) == "0:superseded 1:cached"


def test_an_expired_offset_goes_with_its_tombstone(coordinated: Coordinated) -> None:
    coordinated.commit(orders_0=42)
    coordinated.expire()
    kinds = [step.kind for step in coordinated.steps]
    (entry,) = OffsetStates(coordinated.steps, kinds.index("offset expired")).entries
    assert entry.state == "expired"
    last = OffsetStates(coordinated.steps, len(kinds) - 1)
    assert looks(last) == "0:removed 1:tombstone 2:tombstone"
    assert not last.entries


def random_work(coordinated: Coordinated, seed: int) -> None:
    """Do whatever a coordinator does, in any order."""
    rng, opened = random.Random(seed), set[int]()
    coordinated.commit("b", orders_2=3)
    for _ in range(60):
        producer = rng.randrange(3)
        offsets: dict[str, Any] = {
            f"orders_{rng.randrange(3)}": rng.randrange(100) for _ in range(2)
        }
        what = rng.choice(["commit", "commit", "transaction", "transaction", "end", "reload"])
        if what == "commit":
            coordinated.commit(rng.choice(["a", "b"]), **offsets)
        elif what == "transaction":
            coordinated.commit_transactional(producer, rng.choice(["a", "b"]), **offsets)
            opened.add(producer)
        elif what == "end" and producer in opened:
            opened.remove(producer)
            coordinated.end(producer, is_commit=rng.random() < 0.6)
        elif what == "reload":
            coordinated.reload()
    coordinated.expire()
    coordinated.commit("a", orders_0=1)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_done_the_picture_agrees_with_the_coordinator(
    coordinated: Coordinated, seed: int
) -> None:
    random_work(coordinated, seed)
    states = OffsetStates(coordinated.steps, len(coordinated.steps) - 1)
    for group in ("a", "b"):
        wanted = coordinated.fetched(group)
        assert {e.where: e.offset for e in states.entries if e.group == group
                and e.state == "cached"} == wanted  # fmt: skip


TWIN = """
import { readFileSync } from "node:fs";
const { OffsetsData } = await import(process.argv[2]);
const data = new OffsetsData(JSON.parse(readFileSync(0, "utf-8")));
const order = [...data.steps.keys(), ...[...data.steps.keys()].reverse(), 7, 300, 2, 290];
console.log(JSON.stringify(order.filter((i) => i < data.length).map((i) => {
  const { log, records, entries } = data.stateAt(i);
  return [i, log, records.map(([offset, look]) => `${offset}:${look}`).join(" "),
    entries.map((e) => [e.group, e.where, Number(e.offset), Number(e.record), e.state])];
})));
"""


def test_the_page_and_the_picture_agree_at_every_step(
    coordinated: Coordinated, tmp_path: Path
) -> None:
    random_work(coordinated, 5)
    player = OffsetsPlayer(coordinated.steps)
    (tmp_path / "twin.mjs").write_text(TWIN)
    node = shutil.which("node")
    assert node, "install Node.js 20 or newer to test the front end"
    done = subprocess.run(
        [node, str(tmp_path / "twin.mjs"), (STATIC / "coordinators/offsets_data.js").as_uri()],
        input=json.dumps(player.get_state("_played")["_played"]),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) > 2 * 256  # more than the page keeps between two states
    for at, log, records, entries in found:
        states = OffsetStates(coordinated.steps, at)
        assert (log, records) == (states.log, looks(states)), at
        assert sorted(map(tuple, entries)) == sorted(map(tuple, states.entries)), at


def test_a_load_of_a_directory_is_played() -> None:
    player = OffsetsPlayer.of_load(SHOP, "order-dashboard")
    assert player.describe().startswith(
        "OffsetsPlayer: Load __consumer_offsets-2, 25 steps, 23 records read"
    )
    logs = wb.open_log_directory(SHOP)
    served = logs.inspect.group_offsets().to_pylist()
    wanted = {
        (row["group"], f"{row['topic']}-{row['partition']}", row["offset"], row["record_offset"])
        for row in served
        if row["log_partition"] == 2 and row["offset"] is not None
    }
    last = OffsetStates(player.steps, len(player.steps) - 1)
    assert {tuple(each)[:4] for each in last.entries} == wanted


def test_it_follows_the_explorer_and_the_explorer_it() -> None:
    logs = wb.open_log_directory(SHOP)
    player = OffsetsPlayer.of_load(logs, "order-dashboard")
    explorer = LogExplorer(logs, selected={"partition": "customers-0"})
    traitlets.link((player, "selected"), (explorer, "selected"))
    player.at = 5
    record = player.steps[5].numbers["at"]
    assert explorer.selected["partition"] == "__consumer_offsets-2"
    assert explorer.selected["offset"] == record
    explorer.selected = {"partition": "__consumer_offsets-2", "offset": 20}
    assert player.steps[player.at].numbers["at"] == 20
    at = player.at
    explorer.selected = {"partition": "orders-0", "offset": 3}
    assert player.at == at


def test_metadata_stays_in_the_kernel_unless_values_are_shown(coordinated: Coordinated) -> None:
    coordinated.commit(metadata="secret", orders_0=1)

    def sent(player: OffsetsPlayer) -> str:
        player.at = len(player.steps) - 1
        state: Any = player.get_state("_played")
        return f"{state} {player.describe()}"

    assert "secret" not in sent(OffsetsPlayer(coordinated.steps))
    assert "6 bytes" in sent(OffsetsPlayer(coordinated.steps))
    assert "secret" in sent(OffsetsPlayer(coordinated.steps, show_values=True))
    masked = sent(OffsetsPlayer(coordinated.steps, mask=lambda _, data: data[:3]))
    assert "'sec'" in masked
    assert "secret" not in masked


def test_a_saved_notebook_keeps_a_picture_and_the_step(coordinated: Coordinated) -> None:
    coordinated.commit(orders_0=42)
    player = OffsetsPlayer(coordinated.steps, title="A commit", at=3)
    bundle = player._repr_mimebundle_()
    assert bundle is not None
    assert bundle[0]["image/png"].startswith(b"\x89PNG")
    assert "A commit" in bundle[0]["text/plain"]
    before = player.to_png()
    player.at = 4
    assert player.to_png() != before
    assert OffsetsPlayer().to_png().startswith(b"\x89PNG")
