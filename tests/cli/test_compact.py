import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.program import run
from tests.golden.cases import Case
from tests.golden.compaction import compactions_of, offsets_in
from tests.trees import snapshot
from workbench.files.names import CLEAN_SHUTDOWN

Golden = Callable[[str], Case]

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
NOW = ("--now", "2026-01-01")


@pytest.mark.parametrize("name", ["4.2.0-compact-basic", "3.9.1-compact-tombstones"])
def test_the_copy_is_what_a_broker_left(name: str, golden: Golden, workplace: Path) -> None:
    for compaction in compactions_of(golden(name)):
        pair = compaction.pair
        out = workplace / pair.label
        settings = [f"{name}={value}" for name, value in pair.broker.items()]
        for folder, rounds in compaction.rounds.items():
            topic = folder.rpartition("-")[0]
            own = pair.config_of(topic).items()
            given = [*settings, *(f"{topic}:{name}={value}" for name, value in own)]
            options = [each for setting in given for each in ("--set", setting)]
            options += [each for one in rounds for each in ("--now", str(one.now))]
            step = out.with_name(f"{out.name}-{folder}")
            source = out if out.exists() else pair.before
            done = run("compact", source, "--to", step, "-t", topic, *options, "--json")
            assert done.code == 0, done.err
            shutil.rmtree(out, ignore_errors=True)
            step.rename(out)
        for folder, rounds in compaction.rounds.items():
            assert offsets_in(out)[folder] == rounds[-1].end
            logs = [path for path in (pair.after / folder).glob("*.log") if path.stat().st_size]
            for path in logs:
                assert (out / folder / path.name).read_bytes() == path.read_bytes(), path


def test_the_copy_is_ready_for_a_broker(tmp_path: Path) -> None:
    before = snapshot(SHOP)
    out = tmp_path / "out"
    outcome = run("compact", SHOP, "--to", out, "--topic", "customers", *NOW)
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1] == f"2 logs cleaned, 256,393 bytes less: {out}"
    assert snapshot(SHOP) == before
    assert (out / CLEAN_SHUTDOWN).exists()
    assert offsets_in(out) == {"customers-0": 1521, "customers-1": 1480}
    names = [path.name for path in out.rglob("*")]
    assert not [name for name in names if name.endswith((".deleted", ".cleaned", ".swap"))]
    assert run("verify", out, "-t", "customers").code == 0
    starts = run("predict", out, "--quick", "--json").json["partitions"]
    assert all(row["verdict"] == "loads" and not row["changes"] for row in starts)


def test_it_does_what_was_planned(tmp_path: Path) -> None:
    rounds = ("--everything", "--now", "2026-01-01", "--now", "2026-02-01")
    plans = run("plan", SHOP, "-t", "customers", *rounds, "--json").json
    done = run("compact", SHOP, "--to", tmp_path / "out", "-t", "customers", *rounds, "--json").json
    for plan, log in zip(plans, done["logs"], strict=True):
        assert log["partition"] == plan["partition"]
        assert log["size_after"] == plan["size_after"]
        assert [one["records"] for one in log["rounds"]] == [
            one["records"] for one in plan["rounds"]
        ]


def test_without_topics_the_compacted_logs_are_cleaned(tmp_path: Path) -> None:
    done = run("compact", SHOP, "--to", tmp_path / "out", *NOW, "--json").json
    cleaned = [log["partition"] for log in done["logs"] if log["rounds"]]
    assert cleaned == ["customers-0", "customers-1"]
    idle = next(log for log in done["logs"] if log["partition"] == "__consumer_offsets-1")
    assert idle["clean_offset"] is None
    assert "stops at offset 0 (active segment)" in idle["problem"]


def test_target_and_topic_must_make_sense(tmp_path: Path) -> None:
    assert run("compact", SHOP).code == 3
    assert run("compact", SHOP, "--to", tmp_path / "out", "--topic", "custmers", *NOW).code == 3
    assert not (tmp_path / "out").exists()
    off = ("--set", "log.cleaner.enable=false")
    assert run("compact", SHOP, "--to", tmp_path / "off", *NOW, *off).code == 3
