"""Which committed offsets are gone at a time with some retention, against what brokers removed."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.cli.program import run
from tests.coordinator.writing import TIME, CoordinatorLog, commit, group, member
from tests.golden.cases import Case, names
from workbench.errors import ConfigError
from workbench.loaders.schemas import schema_of
from workbench.tables.groups import OffsetFateRow

MINUTE, DAY = 60_000, 86_400_000
MINUTES = "offsets.retention.minutes"


@pytest.fixture
def log(tmp_path: Path) -> CoordinatorLog:
    return CoordinatorLog(tmp_path)


def _gone(directory: Path, now: int, **config: Any) -> dict[tuple[str, str], bool]:
    """Return group and partition of each offset that goes → whether its group goes with it."""
    named = {name.replace("_", "."): value for name, value in config.items()}
    fates = workbench.what_if(directory, named, now=now, topics=["__consumer_offsets"]).offsets
    return {(each.group, each.name): each.removes_group for each in fates if each.is_gone}


def test_each_rule_and_its_time(log: CoordinatorLog) -> None:
    """GO-12, GO-60: retention from the commit, or since the group is empty; subscribed: never."""
    log.append(commit("simple", "foo", 0, 1), commit("empty", "foo", 0, 1))
    log.append(commit("own", "foo", 0, 1, 1, expireTimestamp=TIME + 5))
    log.append(group("empty", currentStateTimestamp=TIME + 1000))
    log.append(commit("live", "foo", 0, 1), commit("live", "bar", 0, 1))
    log.append(group("live", protocol="range", leader="m", members=[member("m", "foo")]))
    log.append(commit("open", "foo", 0, 1), commit("open", "bar", 0, 1))
    log.append(commit("open", "foo", 0, 2), producer=7)
    directory = log.write()
    every = {
        TIME + 5: {("own", "foo-0"): True},
        TIME + MINUTE: {
            ("simple", "foo-0"): True, ("live", "bar-0"): False, ("open", "bar-0"): False,
        },
        TIME + MINUTE + 1000: {("empty", "foo-0"): True},
    }  # fmt: skip
    gone: dict[tuple[str, str], bool] = {}
    for now, more in every.items():
        assert _gone(directory, now - 1, offsets_retention_minutes=1) == gone
        gone |= more
        assert _gone(directory, now, offsets_retention_minutes="1") == gone
    assert _gone(directory, TIME + 10 * DAY, offsets_retention_minutes=99_999) == {
        ("own", "foo-0"): True
    }


def test_the_rows(log: CoordinatorLog) -> None:
    log.append(commit("g", "foo", 0, 1), commit("g", "foo", 1, 1, commitTimestamp=TIME + 5000))
    result = workbench.what_if(log.write(), {MINUTES: 1}, now=TIME + MINUTE)
    table = result.offsets_to_arrow()
    assert table.schema == schema_of(OffsetFateRow)
    assert table["is_gone"].to_pylist() == [True, False]
    first, second = result.offsets
    assert first.reason == (
        "is removed: it expired at 2023-11-14T22:14:20.000Z "
        "(retention since the commit, offsets.retention.minutes = 1)"
    )
    assert second.reason.startswith("is kept: it expires at 2023-11-14T22:14:25.000Z")
    assert "1 of 2 committed offsets expire" in result.summary
    assert result.as_dict()["offsets"][0]["rule"] == "retention since the commit"
    with pytest.raises(LookupError, match="unknown topic foo"):
        workbench.what_if(log.root, {}, topics=["foo"])
    (Path(log.root) / "foo-0").mkdir()
    assert workbench.what_if(log.root, {}, topics=["foo"]).offsets == ()


@pytest.mark.parametrize("value", [0, -1, "soon", None])
def test_a_retention_that_kafka_refuses(log: CoordinatorLog, value: Any) -> None:
    log.append(commit("g", "foo", 0, 1))
    with pytest.raises(ConfigError, match=r"offsets\.retention\.minutes"):
        workbench.what_if(log.write(), {MINUTES: value})


def test_what_a_broker_does_not_serve_is_left_out(log: CoordinatorLog) -> None:
    log.append(commit("g", "foo", 0, 1), commit("h", "foo", 0, 1), (None, b"x"))
    assert workbench.what_if(log.write(), {MINUTES: 1}, now=TIME + DAY).offsets == ()


def test_the_command(log: CoordinatorLog) -> None:
    log.append(commit("g", "foo", 0, 1))
    arguments = ("what-if", log.write(), "--set", f"{MINUTES}=1")
    late = run(*arguments, f"--now={TIME + MINUTE}")
    assert "with its group" in late.out
    assert "1 of 1 committed offsets expire, and 1 group with them" in late.out
    early = run(*arguments, f"--now={TIME}")
    assert "is removed" not in early.out
    assert "is kept" in run(*arguments, f"--now={TIME}", "--why").out
    (row,) = run(*arguments, f"--now={TIME + MINUTE}", "--json").json["offsets"]
    assert (row["group"], row["is_gone"], row["expires_at"]) == ("g", True, TIME + MINUTE)


@pytest.mark.parametrize("name", names("groups"))
def test_as_a_real_brokers_clean_up(
    name: str, golden: Callable[[str], Case], tmp_path: Path
) -> None:
    """The log up to the tombstones that expiry wrote: the same offsets go, and not before."""
    directory = golden(name).directory("before")
    logs = workbench.open_log_directory(directory)
    rows = logs.inspect.commits("g-expires", lag=False).to_pylist()
    removed = {(row["topic"], row["partition"]) for row in rows if row["fate"] == "removed"}
    first = next(row for row in rows if row["fate"] == "tombstone")
    at = round(first["time"].timestamp() * 1000)
    folder = tmp_path / first["log"]
    shutil.copytree(directory / first["log"], folder)
    for segment in logs[first["log"]].segments:
        batches = segment.batches.rows
        later = batches["position"][batches["last_offset"] >= first["log_offset"]]
        if len(later):
            with (folder / Path(segment.path).name).open("rb+") as file:
                file.truncate(int(later[0]))
    gone = _gone(tmp_path, at, offsets_retention_minutes=1)
    assert gone == {("g-expires", f"{topic}-{number}"): True for topic, number in removed}
    assert _gone(tmp_path, at - 2000, offsets_retention_minutes=1) == {}
