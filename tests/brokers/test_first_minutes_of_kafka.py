"""A preflight of changed directories, and what a real broker has left of them minutes later.

Each directory is one that a real broker filled, and that was then changed as a restore, a move, an
upgrade, a downgrade or a torn copy changes it. The intervals of the broker are short, so that
seconds after its start are as minutes.
"""

import re
import shutil
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

import workbench as wb
from tests.brokers.first_minutes import (
    COMMITS,
    TOPICS,
    Log,
    Resting,
    begins_at,
    broker_of,
    copied,
    fill,
    left,
    resting,
    said,
    settled,
)
from tests.golden.cases import open_case
from tests.kafka_broker import Broker, parse_version
from tests.waiting import wait_until
from workbench.coordinator.offsets.positions import BEYOND_END, RECREATED
from workbench.files.names import CLEAN_SHUTDOWN, CLEANER_OFFSETS, HIGH_WATERMARKS
from workbench.foresight.preflight.results import Preflight
from workbench.loaders.answers.first_minutes import COMMIT_LOST, EXPIRED, NOT_COMMITTED
from workbench.log_directory import LogDirectory

pytestmark = [pytest.mark.broker, pytest.mark.slow]

_BOTH: Final = ("d1", "d2")
_DELAY: Final = {"log.initial.task.delay.ms": 2000}
_DELAY_SINCE: Final = (3, 8)  # before, it is 30 seconds
_ZOOKEEPER_UNTIL: Final = (3, 3)  # of the brokers here
_FIRST_CHECK_S: Final = 30  # before `_DELAY_SINCE`
_OTHER_ID: Final = "AAAAAAAAAAAAAAAAAAAHkQ"
_CHECKPOINTS: Final = (
    "recovery-point-offset-checkpoint", "log-start-offset-checkpoint", CLEANER_OFFSETS,
    HIGH_WATERMARKS,
)  # fmt: skip


class Start(NamedTuple):
    """A directory, and the start on it.

    Attributes:
        fills: the version that filled it.
        change: of the folder with the log directories `d1` and `d2`.
        starts: the version that starts; empty: the same.
        dirs: the entries of `log.dirs`.
        is_killed: whether the broker that filled it was killed.
        kind: of a concern that the preflight has.
    """

    fills: str
    change: Callable[[Path], None] = lambda _home: None
    starts: str = ""
    dirs: tuple[str, ...] = _BOTH
    is_killed: bool = False
    kind: str = ""


def _folder(home: Path, name: str) -> Path:
    (found,) = home.glob(f"d?/{name}")
    return found


def _last_log(home: Path, name: str) -> Path:
    return max(_folder(home, name).glob("*.log"))


def _halved(name: str) -> Callable[[Path], None]:
    def change(home: Path) -> None:
        file = _last_log(home, name)
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])

    return change


def _unclean(home: Path) -> None:
    for each in _BOTH:
        (home / each / CLEAN_SHUTDOWN).unlink(missing_ok=True)


def _torn(name: str) -> Callable[[Path], None]:
    def change(home: Path) -> None:
        _unclean(home)
        _halved(name)(home)

    return change


def _torn_metadata(home: Path) -> None:
    _unclean(home)
    file = _last_log(home, "__cluster_metadata-0")
    content = file.read_bytes()
    file.write_bytes(content[: len(content) * 2 // 3])


def _cut(home: Path) -> None:
    file = _last_log(home, "keep-0")
    file.write_bytes(file.read_bytes()[:-40])


def _flipped(home: Path) -> None:
    file = _last_log(home, "keep-0")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    (file.parents[1] / "recovery-point-offset-checkpoint").unlink(missing_ok=True)


def _without_checkpoints(home: Path) -> None:
    for each in _BOTH:
        for name in _CHECKPOINTS:
            (home / each / name).unlink(missing_ok=True)


def _without_last_segment(home: Path) -> None:
    _unclean(home)
    for file in list(_folder(home, "sized-0").glob(f"{_last_log(home, 'sized-0').stem}.*")):
        file.unlink()


def _removed(name: str) -> Callable[[Path], None]:
    return lambda home: shutil.rmtree(_folder(home, name))


def _copy_alone(home: Path) -> None:
    folder = _folder(home, "keep-0")
    (other,) = {home / each for each in _BOTH} - {folder.parent}
    folder.rename(other / f"keep-0.{uuid.UUID(int=1).hex}-future")


def _copy_beside(home: Path) -> None:
    folder = _folder(home, "keep-0")
    shutil.copytree(folder, folder.with_name(f"keep-0.{uuid.UUID(int=1).hex}-future"))


def _unmounted(home: Path) -> None:
    shutil.rmtree(home / "d2")
    (home / "d2").mkdir()


def _with_id(name: str, value: str) -> Callable[[Path], None]:
    def change(home: Path) -> None:
        file = home / "d2" / "meta.properties"
        text, count = re.subn(rf"(?m)^{name}=.*", f"{name}={value}", file.read_text())
        assert count == 1
        file.write_text(text)

    return change


def _replaced_segments(home: Path) -> None:
    """Let a `.swap` of the first segment reach to the fourth, without what lies between."""
    first, *others = sorted(_folder(home, "sized-0").glob("*.log"))
    swap = first.with_name(f"{first.name}.swap")
    swap.write_bytes(first.read_bytes() + others[2].read_bytes())


def _emptied(home: Path) -> None:
    """Empty the files of `old` and of `ahead`, but leave their time indexes."""
    for name in ("old-0", "ahead-0"):
        for file in _folder(home, name).glob("*.log"):
            file.write_bytes(b"")


def _start_beyond_end(home: Path) -> None:
    folder = _folder(home, "keep-0")
    (folder.parent / "log-start-offset-checkpoint").write_text("0\n1\nkeep 0 500\n")


def _more_properties(home: Path) -> None:
    with (home / "d2" / "meta.properties").open("a") as file:
        file.write("owner=somebody\n")


STARTS: Final = {
    "unchanged": Start("4.3.1"),
    "unchanged-3.1": Start("3.1.2"),
    "segments-replaced": Start("3.9.1", _replaced_segments, kind="truncated"),
    "segments-replaced-2.8": Start("2.8.2", _replaced_segments, kind="truncated"),
    "emptied": Start("3.9.1", _emptied, kind="shorter"),
    "start-beyond-end": Start("3.9.1", _start_beyond_end, kind="truncated"),
    "start-beyond-end-2.8": Start("2.8.2", _start_beyond_end, kind="truncated"),
    "more-properties-2.8": Start("2.8.2", _more_properties, kind="meta-properties-mismatch"),
    "more-properties-2.4": Start("2.4.1", _more_properties),
    "torn": Start("4.3.1", _cut, is_killed=True, kind="unclean-shutdown"),
    "flipped": Start("4.3.1", _flipped, is_killed=True),
    "log-removed": Start("4.3.1", _removed("keep-0"), kind="created"),
    "copy-alone": Start("4.3.1", _copy_alone, kind="copy-alone"),
    "copy-alone-2.8": Start("2.8.2", _copy_alone, kind="copy-alone"),
    "copy-beside-log": Start("4.3.1", _copy_beside),
    "upgraded": Start("3.9.1", starts="4.4.0"),
    "upgraded-with-zookeeper": Start("2.8.2", starts="3.0.2"),
    "upgraded-to-first-without-zookeeper": Start("3.6.2", starts="4.1.1"),
    "downgraded": Start("4.3.1", starts="4.1.1", kind="metadata-version"),
    "downgraded-below-4": Start("4.3.1", starts="3.9.1", kind="metadata-version"),
    "downgraded-with-zookeeper": Start("2.8.2", starts="2.4.1"),
    "disk-of-another-node": Start("4.3.1", _with_id("node.id", "2")),
    "disk-of-another-node-2.8": Start("2.8.2", _with_id("broker.id", "2")),
    "disk-of-another-node-1.1": Start("1.1.1", _with_id("broker.id", "2")),
    "disk-of-another-cluster": Start("4.3.1", _with_id("cluster.id", _OTHER_ID)),
    "disk-of-another-cluster-2.4": Start("2.4.1", _with_id("cluster.id", _OTHER_ID)),
    "one-entry-less": Start("4.3.1", dirs=("d1",), kind="created"),
    "unmounted": Start("4.3.1", _unmounted, kind="meta-properties-missing"),
    "entries-swapped": Start("4.3.1", dirs=("d2", "d1"), kind="metadata-log-place"),
    "shorter-than-its-checkpoint": Start("4.3.1", _halved("keep-0"), kind="undetected"),
    "shorter-than-its-commits": Start("4.3.1", _torn("keep-0"), kind="groups"),
    "without-checkpoints": Start("4.3.1", _without_checkpoints),
    "without-last-segment": Start("4.3.1", _without_last_segment),
    "commits-torn": Start("4.3.1", _torn("__consumer_offsets-0"), kind="commits-lost"),
    "commits-removed": Start("4.3.1", _removed("__consumer_offsets-0"), kind="commits-lost"),
    "metadata-torn": Start("4.3.1", _torn_metadata, kind="stray"),
}
_BY_DEFAULT: Final = {"unchanged", "downgraded", "unmounted", "commits-removed"}


class Filled(Protocol):
    """What fills a directory with a version, once, and says what a client found in it."""

    def __call__(self, version: str, *, is_killed: bool = False) -> tuple[Path, dict[str, Log]]:
        """Return the folder, and the logs by name."""


@pytest.fixture(name="filled", scope="module")
def filled_(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """Return what fills a directory with a version, once, and what a client found in it."""
    known: dict[tuple[str, bool], tuple[Path, dict[str, Log]]] = {}

    def filled(version: str, *, is_killed: bool = False) -> tuple[Path, dict[str, Log]]:
        key = version, is_killed
        if key not in known:
            folder = tmp_path_factory.mktemp("filled") / "broker"
            known[key] = folder, fill(broker_of(version, folder), is_killed=is_killed)
        return known[key]

    return filled


def _configs(logs: LogDirectory, version: str) -> dict[str, str]:
    """Return the configurations of topics where no directory has them: they are in ZooKeeper."""
    if parse_version(version) >= _ZOOKEEPER_UNTIL:
        return {}
    here = {partition.topic for partition in logs.values()} & TOPICS.keys()
    return {f"{topic}:{name}": v for topic in here for name, v in TOPICS[topic].items()}


def _preflight(log_dirs: list[Path], version: str) -> Preflight:
    logs = wb.open_log_directory(log_dirs)
    delay = _DELAY if parse_version(version) >= _DELAY_SINCE else {}
    return logs.preflight(delay | _configs(logs, version), kafka=version)


def _refused(broker: Broker, found: Preflight) -> None:
    """Hold that the broker does not start, for the reason that was said."""
    exception = found.prediction.exception.rpartition(".")[2]
    with pytest.raises(RuntimeError, match="did not start") as error:
        broker.start()
    # 4.1 fails at a record of the level that it does not know, before it looks at the level
    known = (
        {exception, "MetadataParseException"} if exception.startswith("IllegalA") else {exception}
    )
    assert any(each in str(error.value) for each in known)


def _restarts(found: Preflight, logs: dict[str, Log]) -> dict[str, Resting]:
    """Return where group `g` is said to rest: the commits as they were, but for its restarts."""
    assert found.first_minutes is not None
    told = {f"{topic}-0": Resting(offset, "in the log") for topic, offset in COMMITS.items()}
    told |= {name: Resting(None, "none") for name in logs.keys() - told.keys()}
    for each in found.first_minutes.restarts:
        is_none = each.state in {COMMIT_LOST, EXPIRED, NOT_COMMITTED}
        # Clients that ask by name, as these do, get the offset of a topic that was made again.
        state = BEYOND_END if each.state == RECREATED else each.state
        where = Resting(None, "none") if is_none else Resting(each.offset, state)
        told[f"{each.topic}-{each.partition}"] = where
    if "commits-lost" in {each.kind for each in found.concerns}:
        told = dict.fromkeys(told, Resting(None, "none"))
    return {name: where for name, where in told.items() if name in logs}


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=() if each in _BY_DEFAULT else pytest.mark.long) for each in STARTS],
)
def test_a_broker_has_left_what_a_preflight_said(name: str, filled: Filled, tmp_path: Path) -> None:
    case = STARTS[name]
    folder, before = filled(case.fills, is_killed=case.is_killed)
    copied(folder, tmp_path)
    case.change(tmp_path)
    version = case.starts or case.fills
    log_dirs = [tmp_path / each for each in case.dirs]
    broker = broker_of(version, tmp_path, {"log.dirs": ",".join(map(str, log_dirs))})
    found = _preflight(log_dirs, version)
    assert case.kind in {"", *(each.kind for each in found.concerns)}
    if not found.prediction.starts:
        _refused(broker, found)
        return
    told = said(found, before)
    assert told
    broker.start()
    try:
        metadata = found.prediction.metadata
        leaderless = () if metadata is None else metadata.leaderless
        logs = settled(broker, told, leaderless)
        assert logs == told
        if "__consumer_offsets-0" not in leaderless:  # else no coordinator answers
            assert resting(broker, "g", logs) == _restarts(found, logs)
        if name == "unchanged":
            _begin_there(broker, found, logs)
    finally:
        broker.stop()


def _begin_there(broker: Broker, found: Preflight, logs: dict[str, Log]) -> None:
    """Hold that the consumers of a group begin where it was said, by `auto.offset.reset`."""
    assert found.first_minutes is not None
    restarts = found.first_minutes.restarts
    assert {each.topic: each.state for each in restarts} == {
        "compacted": "beyond the end", "cut": "below the start", "old": "below the start",
        "sized": "below the start",
    }  # fmt: skip
    for each in restarts:
        log = logs[f"{each.topic}-{each.partition}"]
        assert (each.earliest, each.latest) == (log.start, log.end)
        assert begins_at(broker, "g", each.topic, "earliest") == (log.records, log.end)
        assert begins_at(broker, "g", each.topic, "latest") == (0, each.latest)


@pytest.mark.long
def test_a_node_that_has_lost_its_metadata_log_sets_its_logs_aside(
    filled: Filled, tmp_path: Path
) -> None:
    copied(filled("4.3.1")[0], tmp_path)
    found = _preflight([tmp_path / "d2"], "4.3.1")
    assert {row.verdict for row in found} == {"unknown"}
    (unknown,) = (each.what for each in found.concerns if each.kind == "topics-unknown")
    assert unknown.endswith("the only controller renames all of them as stray")
    names = {row.name for row in found.prediction}
    with broker_of("4.3.1", tmp_path, {"log.dirs": str(tmp_path / "d2")}) as broker:
        assert left(broker) == {}
        strays = {path.name.split(".")[0] for path in (tmp_path / "d2").glob("*-stray")}
    assert strays == names


@pytest.mark.long
def test_logs_of_a_backup_are_older_than_the_metadata_log(filled: Filled, tmp_path: Path) -> None:
    """A topic was made again, and one made, after the backup of the logs."""
    folder, before = filled("4.3.1")
    copied(folder, tmp_path)
    broker = broker_of("4.3.1", tmp_path)
    with broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        for each in admin.delete_topics(["keep", "waiting"]).values():
            each.result()
        for each in admin.create_topics([NewTopic("keep", 1, 1), NewTopic("new", 2, 1)]).values():
            each.result()
        wait_until(lambda: "new-1" in left(broker))
    for path in tmp_path.glob("d?/*-[0-9]"):
        if path.name != "__cluster_metadata-0":
            shutil.rmtree(path)
    for path in folder.glob("d?/*-[0-9]"):
        if path.name != "__cluster_metadata-0":
            shutil.copytree(path, tmp_path / path.parent.name / path.name)
    found = _preflight([tmp_path / each for each in _BOTH], "4.3.1")
    told = said(found, before)
    assert told["keep-0"] == told["new-1"] == Log(0, 0, 0)
    assert "waiting-0" not in told
    assert {row.topic: row.verdict for row in found}["waiting"] == "not served"
    with broker:
        assert settled(broker, told) == told
        assert resting(broker, "g", told) == _restarts(found, told)
        strays = {path.name.split(".")[0] for path in tmp_path.glob("d?/*-stray")}
    assert found.first_minutes is not None
    states = {each.topic: each.state for each in found.first_minutes.restarts}
    assert (states["keep"], states["waiting"]) == ("recreated", "topic gone")
    assert strays == {row.name for row in found.prediction if row.verdict == "stray"}
    assert strays == {"keep-0", "waiting-0"}


@pytest.mark.long
@pytest.mark.parametrize("version", ["0.11.0.3", "1.1.1", "2.4.1", "2.8.2"])
def test_a_broker_without_its_zookeeper(version: str, filled: Filled, tmp_path: Path) -> None:
    copied(filled(version)[0], tmp_path)
    shutil.rmtree(tmp_path / "zookeeper")
    log_dirs = [tmp_path / each for each in _BOTH]
    found = _preflight(log_dirs, version)
    (what,) = (each.what for each in found.concerns if each.kind == "topics-in-zookeeper")
    broker = broker_of(version, tmp_path)
    if "the broker does not start, because its cluster.id is not that" in what:
        with pytest.raises(RuntimeError, match="InconsistentClusterIdException"):
            broker.start()
        return
    assert "the broker starts, serves no topic, and deletes nothing of the logs" in what
    sizes = _sizes(tmp_path)
    with broker:
        time.sleep(_FIRST_CHECK_S + 8)
        assert left(broker) == {}
    assert _sizes(tmp_path) == sizes


def _sizes(home: Path) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in home.glob("d?/*/*.log")}


@pytest.mark.long
def test_before_0_11_a_broker_without_its_zookeeper_deletes_by_its_own_retention(
    tmp_path: Path,
) -> None:
    data = open_case("k0.10.2-formats", tmp_path).directory("data")
    shutil.copytree(data, tmp_path / "broker" / "data")
    found = _preflight([tmp_path / "broker" / "data"], "0.10.2.2")
    (what,) = (each.what for each in found.concerns if each.kind == "topics-in-zookeeper")
    assert "the retention of server.properties deletes records of every log" in what
    assert found.first_minutes is not None
    ends = {f"{each.topic}-{each.partition}": each for each in found.first_minutes.passes}
    assert ends.keys() == {row.name for row in found.prediction if row.log_end_offset}
    folder = tmp_path / "broker"
    with Broker("0.10.2.2", folder, {"log.retention.check.interval.ms": "2000"}):
        wait_until(lambda: _bytes(folder) == 0)
    starts = {path.parent.name: int(path.stem) for path in folder.glob("data/*/*.log")}
    assert {name: starts[name] for name in ends} == {
        name: each.log_start_offset for name, each in ends.items()
    }


def _bytes(folder: Path) -> int:
    found = 0
    for path in folder.glob("data/*/*.log"):
        with suppress(FileNotFoundError):  # the broker has just deleted it
            found += path.stat().st_size
    return found


@pytest.mark.long
def test_zookeeper_has_logs_made_on_an_unmounted_disk(filled: Filled, tmp_path: Path) -> None:
    folder, before = filled("2.8.2")
    copied(folder, tmp_path)
    gone = {path.name for path in (tmp_path / "d2").glob("*-0")}
    _unmounted(tmp_path)
    found = _preflight([tmp_path / each for each in _BOTH], "2.8.2")
    (concern,) = (each for each in found.concerns if each.kind == "created")
    assert concern.what.startswith(f"{tmp_path / 'd2'} has neither logs nor meta.properties")
    told = said(found, before)
    told |= {name: Log(0, 0, 0) for name in gone if not name.startswith("__")}
    with broker_of("2.8.2", tmp_path) as broker:
        assert settled(broker, told) == told


@pytest.mark.long
def test_offsets_have_expired(filled: Filled, tmp_path: Path) -> None:
    folder, before = filled("4.3.1")
    copied(folder, tmp_path)
    given = {"offsets.retention.minutes": "1"}
    log_dirs = [tmp_path / each for each in _BOTH]
    found = wb.open_log_directory(log_dirs).preflight(_DELAY | given)
    assert found.first_minutes is not None
    assert {each.topic for each in found.first_minutes.restarts if each.state == EXPIRED} == {
        "ahead", "keep", "waiting",
    }  # fmt: skip
    assert len(found.first_minutes.restarts) == len(COMMITS)
    quick = {"offsets.retention.check.interval.ms": "2000"}
    told = said(found, before)
    with broker_of("4.3.1", tmp_path, given | quick) as broker:
        assert settled(broker, told) == told
        none = dict.fromkeys(told, Resting(None, "none"))
        wait_until(lambda: resting(broker, "g", told) == none)
