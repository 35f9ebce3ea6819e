import json
import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

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

OUTCOMES = {
    path.stem: json.loads(path.read_text())
    for path in sorted(Path(__file__).parent.glob("outcomes/*.json"))
}
STARTS = [(version, name) for version, found in OUTCOMES.items() for name in found]

_LOST = "without any metadata log, what the cluster knows is in no file: the note says so"
_LATER = "the copy is complete, and takes the place of the log once the broker runs"
_VOTERS = "the configured voters are in no file of the directory"
DIFFERENT = {
    "metadata-folder-removed": _LOST,
    "3.7-metadata-folder-removed": _LOST,
    "3.9-metadata-folder-removed": _LOST,
    "dynamic-metadata-folder-removed": _LOST,
    "disks-d1-not-named": _LOST,
    "disks-future-and-current": _LATER,
    "3.7-state-other-voter": _VOTERS,
    "3.7-state-two-voters": _VOTERS,
}
"""Outcomes that are not predicted, and why."""
_SETS_ASIDE = "A broker renames the directory to -stray"


class Start:
    """A damaged directory, what a broker did with it, and what is predicted."""

    def __init__(self, version: str, name: str, root: Path) -> None:
        self.damage = DAMAGES[name]
        self.outcome: dict[str, Any] = OUTCOMES[version][name]
        self.damage.change(root)
        self.directories = [root / each for each in self.damage.log_dirs]
        self.version = version

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
            found.append(f"{name}.*-stray" if is_new else name)
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
        return
    assert prediction.starts == start.started, prediction.problem
    listing = list_log_directories([path for path in start.directories if path.is_dir()])
    _hold_topics(start, judge_preflight(listing, prediction, BrokerConfig.of({})))
    if not start.started:
        assert prediction.exception == start.outcome["exception"], prediction.problem
        return
    offline = {each.path for each in prediction.directories if each.verdict == "offline"}
    made = prediction.metadata.created if prediction.metadata is not None else ()
    predicted, real = list(made), []
    for directory in start.directories:
        if str(directory) not in offline:
            predicted += _folders(prediction, directory)
            real += start.outcome["folders"].get(directory.name, [])
    assert sorted(predicted) == sorted(folder for folder in real if folder != METADATA)


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
    for row in found:
        served = [each for each in kept if re.fullmatch(rf"{re.escape(row.topic)}-\d+", each)]
        if "no topic of the cluster has this name" in row.reason:
            assert served  # the broker keeps the log, and no client can name it
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
        is_first = str(start.directories[0]) == str(Path(each.path).parent)
        goes_offline = "goes offline" in each.broker and len(start.directories) == 1
        if goes_offline or ("continues without it" in each.broker and is_first):
            fatal.append(each)
    if prediction.starts:
        assert not fatal
    else:
        assert fatal, prediction.problem
    stray = {row.name for row in prediction if row.verdict == "stray" and row.steps}
    named = {Path(each.path).name for each in findings if each.broker.startswith(_SETS_ASIDE)}
    if prediction.starts and prediction.metadata is not None and prediction.metadata.log:
        assert stray == {name for name in named if not name.endswith("-stray")}


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
