import json
import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import run
from tests.startup.behind import open_behind
from tests.startup.damages import DAMAGES, METADATA, open_base
from tests.trees import snapshot
from workbench.config.broker_config import BrokerConfig
from workbench.config.kafka_versions import number_of
from workbench.errors import LogDirectoryError
from workbench.foresight.preflight.preflight import judge_preflight
from workbench.foresight.preflight.results import Preflight
from workbench.foresight.startup.predict import predict_startup
from workbench.foresight.startup.prediction import StartupPrediction
from workbench.inspection.findings import Finding
from workbench.inspection.listing import list_log_directories
from workbench.inspection.node_start.metadata_log import recovered_range
from workbench.inspection.verify.verify import verify
from workbench.log_directory import open_log_directory
from workbench.runtime.times import time_text

OUTCOMES = {
    path.stem: json.loads(path.read_text())
    for path in sorted(Path(__file__).parent.glob("outcomes/*.json"))
}
STARTS = [(version, name) for version, found in OUTCOMES.items() for name in found]

_LOST = "without any metadata log, what the cluster knows is in no file: the note says so"
_DOES = {
    "delete": "deletes all of them", "stray": "renames all of them as stray"
}  # fmt: skip
_LATER = "the copy is complete, and takes the place of the log once the broker runs"
_VOTERS = "the configured voters are in no file of the directory"
DIFFERENT = {
    **{name: _LOST for name in DAMAGES if name.endswith("metadata-folder-removed")},
    "disks-d1-not-named": _LOST,
    "disks-future-and-current": _LATER,
    "3.7-state-other-voter": _VOTERS,
    "3.7-state-two-voters": _VOTERS,
}
"""Outcomes that are not predicted, and why."""
MADE_BY_ZOOKEEPER = {"3.0-d2-emptied"}
"""Starts that make more logs, of topics that only ZooKeeper has."""
OTHER_EXCEPTIONS = dict.fromkeys(
    ("3.0-d2-properties-version-7", "3.3-d2-properties-version-7"),
    "kafka.common.InconsistentBrokerMetadataException",
)
"""Exceptions of versions that call the same refusal otherwise."""
_STRAYS = (
    "A broker renames the directory to -stray", "A broker deletes the directory once it has started"
)  # fmt: skip


class Start:
    """A damaged directory, what a broker did with it, and what is predicted."""

    def __init__(self, version: str, name: str, root: Path) -> None:
        self.damage = DAMAGES[name]
        self.outcome: dict[str, Any] = OUTCOMES[version][name]
        self.damage.change(root)
        self.directories = [root / each for each in self.damage.log_dirs]
        self.version = version

    @property
    def folders(self) -> list[str]:
        """The folders that the broker left."""
        return [name for found in self.outcome["folders"].values() for name in found]

    @property
    def started(self) -> bool:
        return bool(self.outcome["how"] == "started")

    def predict(self) -> StartupPrediction:
        return predict_startup(
            self.directories, node_id=self.damage.node_id, kafka=self.version, consumers=False
        )


@pytest.fixture(name="opened", scope="module")
def opened_(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that opens a base, once."""

    @cache
    def opened(base: str) -> Path:
        return open_base(base, tmp_path_factory.mktemp(base))

    return opened


@pytest.fixture(name="start", params=STARTS, ids="-".join)
def start_(
    request: pytest.FixtureRequest, opened: Callable[[str], Path], tmp_path: Path
) -> Iterator[Start]:
    version, name = request.param
    root = tmp_path / "root"
    shutil.copytree(opened(DAMAGES[name].base), root)
    yield Start(version, name, root)
    shutil.rmtree(root)


def _folders(prediction: StartupPrediction, directory: Path) -> list[str]:
    """Return the folders that a broker leaves, as `make.py` writes them."""
    found = []
    for row in prediction:
        if row.directory == str(directory):
            name = re.sub(r"\.[0-9a-f]{32}-", ".*-", row.name)
            if row.verdict == "future" and "becomes the log" in row.reason:
                name = row.reason.split()[-1]
            is_new = row.verdict == "stray" and not name.endswith("-stray")
            is_deleted = row.verdict == "deleted" and "once it has started" in row.reason
            ending = ".*-stray" if is_new else ".*-delete" if is_deleted else ""
            if ending:  # a broker writes the number again
                name = re.sub(r"\d+$", lambda digits: str(int(digits[0])), name)
            found.append(name + ending)
    return found


def test_a_start_is_predicted_as_a_real_broker_did(
    start: Start, request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.params["start"][1]
    if not all(path.exists() for path in start.directories):
        with pytest.raises(LogDirectoryError, match="no such directory"):
            start.predict()
        assert not start.started
        return
    before = [snapshot(path) for path in start.directories if path.is_dir()]
    prediction = start.predict()
    assert before == [snapshot(path) for path in start.directories if path.is_dir()]
    if name in DIFFERENT:
        assert prediction.starts
        metadata = prediction.metadata
        assert metadata is not None
        assert (METADATA in metadata.note) == (DIFFERENT[name] is _LOST)
        if DIFFERENT[name] is _LOST and start.started:  # a dynamic quorum waits for its voters
            endings = {folder.rpartition(".*-")[2] for folder in start.folders if ".*-" in folder}
            assert [metadata.note.endswith(_DOES[each]) for each in endings] == [True]
        return
    assert prediction.starts == start.started, prediction.problem
    listing = list_log_directories([path for path in start.directories if path.is_dir()])
    _hold_topics(start, judge_preflight(listing, prediction, BrokerConfig.of({})))
    if not start.started:
        expected = start.outcome["exception"]
        if OTHER_EXCEPTIONS.get(name) != expected:
            assert prediction.exception == expected, prediction.problem
        return
    offline = {each.path for each in prediction.directories if each.verdict == "offline"}
    made = prediction.metadata.created if prediction.metadata is not None else ()
    _hold_ends(start, prediction)
    predicted, real = list(made), []
    for directory in start.directories:
        if str(directory) not in offline:
            predicted += _folders(prediction, directory)
            real += start.outcome["folders"].get(directory.name, [])
    real = [folder for folder in real if folder != METADATA]
    if name in MADE_BY_ZOOKEEPER:
        assert set(predicted) < set(real)
        new = next(each for each in prediction.directories if each.path.endswith("d2"))
        assert "is made empty and begins at offset 0" in new.problem
        assert prediction.summary.endswith("1 log directory is taken as new")
        assert {start.outcome["ends"][each] for each in set(real) - set(predicted)} == {0}
    else:
        assert sorted(predicted) == sorted(real)


def _hold_ends(start: Start, prediction: StartupPrediction) -> None:
    """Hold what each log ends with to what a client was told; None is a partition without leader.

    A log with another topic's id ends the round in which a broker makes its logs leaders, so more
    partitions than those that are named may be without one.
    """
    if "ends" not in start.outcome or prediction.metadata is None:  # ZooKeeper has the topics
        return
    predicted: dict[str, int | None] = {row.name: None for row in prediction}
    predicted |= dict.fromkeys(prediction.metadata.created, 0)
    may_fail = any("neither of them" in row.unserved for row in prediction)
    for row in prediction:
        if row.verdict in {"loads", "recovers"} and not row.unserved:
            predicted[row.name] = row.log_end_offset
    for name, end in start.outcome["ends"].items():
        if not (may_fail and end is None) and name not in _unsure(prediction):
            assert predicted[name] == end, name


def _unsure(prediction: StartupPrediction) -> set[str]:
    """Return the partitions that one start of a broker serves, and another does not."""
    return {row.name for row in prediction if "may remain without a leader" in row.unserved}


def _hold_topics(start: Start, found: Preflight) -> None:
    """Hold the verdict of each topic to the logs that a real broker kept."""
    if not start.started:
        assert {row.verdict for row in found} <= {"not served", "deleted"}
        assert found.concerns[0].severity == "error"
        assert found.steps
        return
    offline = {each.path for each in found.directories if each.verdict == "offline"}
    kept = {
        folder
        for directory in start.directories
        if str(directory) not in offline
        for folder in start.outcome["folders"].get(directory.name, [])
    }
    ends = {} if found.prediction.metadata is None else start.outcome.get("ends", {})
    for row in found:
        served = [each for each in kept if re.fullmatch(rf"{re.escape(row.topic)}-\d+", each)]
        if found.prediction.metadata is None:  # others are made, of topics in ZooKeeper
            served = [each for each in served if each in {start.name for start in found.prediction}]
        if "no topic of the cluster has this name" in row.reason:
            assert served  # the broker keeps the log, and no client can name it
        elif any(ends.get(each, 0) is None for each in served) or "may remain" in row.reason:
            assert row.verdict in {"not served", "served in part"} or any(
                "neither of them" in each.unserved for each in found.prediction
            )
        elif row.verdict in {"not served", "deleted"}:
            assert not served, row
        elif row.verdict == "served in part":
            assert 0 < len(served) < row.partitions, row
        else:
            assert len(served) == row.partitions, row


def test_verify_says_that_a_broker_does_not_start_when_predict_does(start: Start) -> None:
    if not all(path.exists() for path in start.directories):
        return
    prediction = predict_startup(start.directories, consumers=False)
    findings = verify(list(map(str, start.directories)))
    fatal = [each for each in findings if "does not start" in _of_a_clean_stop(each)]
    if number_of(prediction.broker.version) < (3, 8):
        fatal = [each for each in fatal if "Since 3.8" not in each.broker]
    fatal += [each for each in findings if "waits for a controller" in each.broker]
    for each in findings:  # a directory goes offline: fatal for the only one, or the first
        is_first = start.directories[0] in Path(each.path).parents
        goes_offline = "goes offline" in each.broker and len(start.directories) == 1
        ends = "or its metadata log in it, exits" in each.broker and is_first
        if goes_offline or ends or ("continues without it" in each.broker and is_first):
            fatal.append(each)
    if prediction.starts:
        assert not fatal
    else:
        assert fatal, prediction.problem
    stray = {row.name for row in prediction if row.verdict in {"stray", "deleted"} and row.steps}
    named = {Path(each.path).name for each in findings if each.broker.startswith(_STRAYS)}
    if prediction.starts and prediction.metadata is not None and prediction.metadata.log:
        before = {name for name in stray | named if name.endswith(("-stray", "-delete"))}
        assert stray - before == named - before


def _of_a_clean_stop(finding: Finding) -> str:
    """Return what a broker does, without what it would do elsewhere or otherwise stopped."""
    others = ("With only this directory", "A broker with only this directory")
    is_general = any(finding.broker.startswith(text) for text in others)
    return "" if is_general else finding.broker


@pytest.mark.parametrize("name", [name for name in DAMAGES if name.startswith(("log-", "raft-"))])
def test_inspection_and_engine_recover_the_metadata_log_alike(name: str, tmp_path: Path) -> None:
    root = open_base(DAMAGES[name].base, tmp_path)
    DAMAGES[name].change(root)
    prediction = predict_startup([root / "data"], consumers=False)
    assert prediction.metadata is not None
    row = prediction.metadata.log
    assert row is not None
    found = recovered_range(list_log_directories(root / "data").partitions[METADATA])
    assert (found.start, found.end) == (row.log_start_offset, row.log_end_offset)
    assert found.cut == row.bytes_cut


def test_topics_that_vanish_are_named(tmp_path: Path) -> None:
    root = open_base("plain", tmp_path)
    DAMAGES["log-stock-flipped"].change(root)
    logs = open_log_directory(root / "data")
    metadata = logs.predict_startup(consumers=False).metadata
    assert metadata is not None
    assert metadata.vanished == ("orders", "stock")
    assert (metadata.topics, metadata.known_until) == (0, 30)
    assert metadata.log is not None
    assert metadata.log.bytes_cut == 1190


def test_a_node_that_is_not_the_only_controller_may_learn_what_it_lost(tmp_path: Path) -> None:
    root = open_base("plain", tmp_path)
    DAMAGES["log-stock-flipped"].change(root)
    state = root / "data" / METADATA / "quorum-state"
    state.write_text(state.read_text().replace('{"voterId":1}', '{"voterId":1},{"voterId":2}'))
    prediction = open_log_directory(root / "data").predict_startup(consumers=False)
    assert {row.verdict for row in prediction} == {"loads"}
    assert prediction.metadata is not None
    assert "nodes 2 may send again what is truncated" in prediction.metadata.note


@pytest.mark.parametrize(
    ("version", "does"), [("4.2.0", "sets aside as stray"), ("3.6.2", "deletes")]
)
def test_a_broker_that_is_no_controller_says_until_when_it_knows(
    version: str, does: str, tmp_path: Path
) -> None:
    """It fetches the newest metadata before it serves a log: what happened since is in no file."""
    base, first = ("plain", "data") if version == "4.2.0" else ("3.6", "d1")
    root = open_base(base, tmp_path)
    state = root / first / METADATA / "quorum-state"
    directories = [root / first] if base == "plain" else [root / "d1", root / "d2"]
    alone = predict_startup(directories, kafka=version, consumers=False)
    assert alone.metadata is not None
    assert not alone.metadata.later
    state.write_text(state.read_text().replace('"voterId":1', '"voterId":9'))
    prediction = predict_startup(directories, kafka=version, consumers=False)
    assert {row.verdict for row in prediction} == {"loads"}
    assert prediction.metadata is not None
    later = prediction.metadata.later
    assert "node 1 is not a controller: its copy of the metadata log ends at offset" in later
    assert re.search(r"ends at offset \d+, of 2026-\d\d-\d\dT", later)
    assert f"from node 9, and then {does} each log whose topic was deleted" in later
    assert prediction.summary.endswith("as far as this copy of the metadata says")
    found = judge_preflight(list_log_directories(directories), prediction, BrokerConfig.of({}))
    assert "metadata-behind" in {each.kind for each in found.concerns}


@pytest.mark.parametrize("version", ["3.6.2", "4.3.1"])
def test_a_broker_that_was_down_is_said_to_be_behind(version: str, tmp_path: Path) -> None:
    """While it was down, one topic was deleted, one made again, and one moved to another broker."""
    directory, truth = open_behind(version, tmp_path)
    prediction = predict_startup([directory], kafka=version, consumers=False)
    assert {row.verdict for row in prediction} == {"loads"}
    assert prediction.metadata is not None
    metadata, ending = truth["metadata"], {"3.6.2": "delete", "4.3.1": "stray"}[version]
    later = prediction.metadata.later
    assert f"ends at offset {metadata['end']}, of {time_text(metadata['time'])}" in later
    gone = sorted(f"{name}-0.*-{ending}" for name in ("again", "away", "gone"))
    assert truth["folders"] == [*gone, "stays-0"]
    done = {"delete": "deletes", "stray": "sets aside as stray"}[ending]
    assert f"{done} each log whose topic was deleted, made again or moved to other" in later
    outcome = run("predict", directory, "--kafka", version, "--quick")
    assert outcome.code == 1
    assert later in " ".join(outcome.out.split())
    found = judge_preflight(list_log_directories(directory), prediction, BrokerConfig.of({}))
    assert "metadata-behind" in {each.kind for each in found.concerns}


def test_every_log_of_a_directory_that_fails_has_a_row(tmp_path: Path) -> None:
    root = open_base("3.6", tmp_path)
    DAMAGES["3.6-d2-recovery-points-garbage"].change(root)
    prediction = predict_startup([root / "d1", root / "d2"], kafka="3.6.2", consumers=False)
    rows = {row.name: row.verdict for row in prediction if row.directory == str(root / "d2")}
    assert rows == {"orders-1": "offline", "stock-0": "offline"}
    assert prediction.metadata is not None
    assert prediction.metadata.created == ("orders-1", "stock-0")  # again, empty, in d1
    found = judge_preflight(
        list_log_directories([root / "d1", root / "d2"]), prediction, BrokerConfig.of({})
    )
    assert {row.topic for row in found} == {"orders", "stock"}
    assert "served" not in {row.verdict for row in found}


def test_a_level_that_no_version_knows_is_refused(tmp_path: Path) -> None:
    root = open_base("4.4", tmp_path)
    parsing = "org.apache.kafka.server.common.serialization.MetadataParseException"
    for version, exception in (
        ("3.8", parsing), ("4.0", parsing), ("4.2", parsing),  # as real ones threw
        ("4.3", "java.lang.IllegalArgumentException"), ("4.4", ""),
    ):  # fmt: skip
        prediction = predict_startup([root / "d1", root / "d2"], kafka=version, consumers=False)
        assert prediction.starts == (not exception)
        assert prediction.exception == exception
    shown = predict_startup([root / "d1", root / "d2"], consumers=False)
    assert shown.broker.version == "4.4"
    assert "metadata.version up to 33, of 4.4" in shown.broker.reason


@pytest.mark.parametrize("version", ["3.6.2", "4.3.1"])
def test_a_log_that_another_node_may_lead_follows_it(version: str, tmp_path: Path) -> None:
    """Node 2 leads "away"; a real node 2 was truncated as node 1 came back from an older copy."""
    data, _ = open_behind(version, tmp_path)
    found = open_log_directory(data).preflight(now=1, kafka=version)
    (concern,) = (each for each in found.concerns if each.kind == "follows")
    assert concern.severity == "info"
    assert "lead away-0, or" in concern.what
    assert concern.what.endswith(
        "Above their checkpointed high watermarks are away-0 (1 offset from 9)"
    )
