import shutil
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from tests.cli.program import run
from tests.golden.cases import Case
from tests.golden.pairs import pairs_of
from tests.log_manager.managers import Managed, records
from tests.trees import snapshot
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import CLEAN_SHUTDOWN
from workbench.inspection.findings import Finding
from workbench.log_directory import open_log_directory

Golden = Callable[[str], Case]


@pytest.fixture(name="torn")
def torn_(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    with Managed(path).manager as manager:
        log = manager.get_or_create_log("orders-0", topic_id=UUID(int=5000))
        for _ in range(4):
            log.append(records(3))
    (path / CLEAN_SHUTDOWN).unlink()
    with (path / "orders-0" / f"{0:020d}.log").open("ab") as file:
        file.write(b"\0" * 77)
    return path


def _errors(path: Path) -> list[Finding]:
    return [f for f in open_log_directory(path).verify() if f.severity == "error"]


def test_the_copy_is_recovered_and_the_directory_left_alone(torn: Path, tmp_path: Path) -> None:
    before = snapshot(torn)
    outcome = run("recover", torn, "--to", tmp_path / "out")
    assert outcome.code == 0
    assert "orders-0  recovery reads from offset 0: 77 bytes are truncated" in outcome.out
    assert "log end now" in outcome.out
    assert "00000000000000000000.log: segment recovered, 77 bytes truncated" in outcome.out
    assert outcome.out.splitlines()[-1].startswith(
        "1 log recovered, 77 bytes truncated in 1 log, 0 readable records removed"
    )
    assert snapshot(torn) == before
    assert (tmp_path / "out" / CLEAN_SHUTDOWN).exists()
    points = OffsetCheckpoint.read(str(tmp_path / "out" / "recovery-point-offset-checkpoint"))
    assert list(points.offsets.values()) == [12]
    assert _errors(tmp_path / "out") == []
    assert run("predict", tmp_path / "out", "--json").json["partitions"][0]["bytes_cut"] == 0


def test_the_directory_itself_is_changed_only_when_asked_for(torn: Path, tmp_path: Path) -> None:
    before = snapshot(torn)
    choices: list[list[str | Path]] = [[], ["--to", tmp_path / "out", "--in-place"], ["--to", torn]]
    for options in choices:
        assert run("recover", torn, *options).code == 3
        assert snapshot(torn) == before
    assert run("recover", torn, "--in-place").code == 0
    assert _errors(torn) == []


def test_json_tells_of_each_folder(torn: Path, tmp_path: Path) -> None:
    found = run("recover", torn, "--to", tmp_path / "out", "--json").json
    assert (found["path"], found["had_clean_shutdown"]) == (str(tmp_path / "out"), False)
    row = found["partitions"][0]
    assert (row["name"], row["verdict"], row["bytes_cut"]) == ("orders-0", "recovers", 77)


def test_what_was_closed_in_order_is_read_again_only_when_asked_for(
    torn: Path, tmp_path: Path
) -> None:
    run("recover", torn, "--in-place")
    path = torn / "orders-0" / f"{0:020d}.log"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    outcome = run("recover", torn, "--to", tmp_path / "out")
    assert "--full" in outcome.err
    assert (
        "0 logs recovered, 0 bytes truncated, 0 readable records removed, 1 log unchanged"
        in outcome.out
    )
    outcome = run("recover", torn, "--to", tmp_path / "full", "--full")
    assert "offsets 9 to 11 are removed; 0 records of them can be read now" in outcome.out
    assert _errors(tmp_path / "full") == []


def test_where_a_broker_refuses_to_start_so_does_this(torn: Path, tmp_path: Path) -> None:
    (torn / "orders-0" / "leader-epoch-checkpoint").write_text("garbage")
    outcome = run("recover", torn, "--to", tmp_path / "out")
    assert outcome.code == 3
    assert "leader-epoch-checkpoint" in outcome.err
    assert not (tmp_path / "out" / CLEAN_SHUTDOWN).exists()


def test_it_ends_where_a_real_broker_ended(golden: Golden, tmp_path: Path) -> None:
    case = golden("4.2.0-crash-produce-1")
    assert run("recover", case.directory("before"), "--to", tmp_path / "out").code == 0
    ours, theirs = tmp_path / "out", case.directory("after")
    compared = 0
    for log in sorted(theirs.glob("*/*.log")):
        mine = ours / log.relative_to(theirs)
        if mine.exists():
            assert mine.read_bytes() == log.read_bytes()
            compared += 1
    assert compared > 5


def test_producers_expire_by_the_given_time(golden: Golden, tmp_path: Path) -> None:
    """The broker's own time gives its snapshots, byte for byte; two days later does not."""
    (pair,) = pairs_of(golden("4.2.0-damage-unclean"))
    chosen = ("dmg-t-none-0", "dmg-t-snapshot-rm-all-0")
    source = tmp_path / "source"
    source.mkdir()
    for path in pair.before.iterdir():
        if path.name in chosen:
            shutil.copytree(path, source / path.name)
        elif path.is_file() and path.name != ".lock":
            shutil.copy2(path, source)
    wanted = {
        path.relative_to(pair.after): path.read_bytes()
        for name in chosen
        for path in pair.after.glob(f"{name}/*.snapshot")
    }
    found = []
    for name, now in (("then", pair.now), ("later", pair.now + 2 * 86_400_000)):
        outcome = run("recover", source, "--to", tmp_path / name, "--now", str(now))
        assert outcome.code == 0, outcome.err
        found.append({path: (tmp_path / name / path).read_bytes() for path in wanted})
    then, later = found
    assert then == wanted
    assert {path.parent.name for path in wanted if later[path] != wanted[path]} == set(chosen)
