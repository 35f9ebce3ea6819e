import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.golden.cases import Case
from tests.log_manager.managers import Managed, records
from tests.trees import snapshot
from workbench.errors import ConfigError, LogDirectoryError
from workbench.files.names import CLEAN_SHUTDOWN, META_PROPERTIES
from workbench.files.partition_metadata import PartitionMetadata
from workbench.foresight.startup.predict import predict_startup
from workbench.log_directory import open_log_directory

Golden = Callable[[str], Case]
SAMPLES = Path(__file__).parents[2] / "sample_data"
DAMAGE = ["damage-clean", "damage-unclean", "damage-unclean-recent"]
_COMMON = "org.apache.kafka.common"


@pytest.mark.parametrize("version", ["2.8.2", "3.9.1", "4.2.0"])
@pytest.mark.parametrize("kind", DAMAGE)
def test_offsets_and_consumers_are_those_of_a_real_broker(
    golden: Golden, kind: str, version: str
) -> None:
    case = golden(f"{version}-{kind}")
    prediction = predict_startup([case.directory("before")], kafka=version)
    assert prediction.starts
    for topic, outcome in case.info["headline"]["outcome"].items():
        row = prediction[f"{topic}-0"]
        if row.verdict == "stray":
            assert outcome["listOffsets"]["read_uncommitted"] == [0, 0]  # made again
            continue
        found = [row.log_start_offset, row.log_end_offset]
        assert found == outcome["listOffsets"]["read_uncommitted"], topic
        for view in row.consumers:
            if view.isolation in outcome:
                met = outcome[view.isolation]
                assert (view.records, view.position) == (met["records"], met["position"]), topic
                assert bool(view.error) == ("error" in met), topic


def test_what_a_consumer_does_not_get_is_told(golden: Golden) -> None:
    prediction = predict_startup([golden("4.2.0-damage-clean").directory("before")])
    told = {row.name: " ".join(row.unnoticed) for row in prediction}
    assert told["dmg-none-0"] == ""
    assert told["dmg-t-none-0"] == ""
    assert "fails at offset 40" in told["dmg-flip-value-0"]
    assert "from offset 32 to 60: there is a hole" in told["dmg-rm-segment-middle-0"]
    assert "18 records of aborted transactions" in told["dmg-t-txnindex-rm-0"]
    assert "offsets 60 to 63 are in the file" in told["dmg-index-long-last-0"]
    assert "past the end 64" not in told["dmg-index-long-0"]


def test_nothing_is_written(golden: Golden) -> None:
    path = golden("4.2.0-damage-unclean").directory("before")
    before = snapshot(path)
    predict_startup([path])
    assert snapshot(path) == before


@pytest.mark.parametrize("kind", DAMAGE)
def test_logs_that_stop_a_broker_do_so_with_its_exception(
    golden: Golden, kind: str, tmp_path: Path
) -> None:
    case = golden(f"4.2.0-{kind}")
    for topic, fatal in case.info["headline"].get("fatal", {}).items():
        path = tmp_path / topic
        shutil.copytree(case.path / "fatal" / topic / "before", path)
        if kind == "damage-clean":
            (path / CLEAN_SHUTDOWN).touch()
        if not (path / META_PROPERTIES).exists():
            (path / META_PROPERTIES).write_text("version=1\nnode.id=1\ncluster.id=golden\n")
        prediction = predict_startup([path])
        assert prediction.starts == (fatal["rc"] == 0)
        assert prediction.exception in fatal["log"]
        row = prediction[f"{topic}-0"]
        assert (row.verdict, row.exception) == ("refuses", prediction.exception)


def test_shared_files_stop_a_broker_or_not_as_a_real_one(golden: Golden) -> None:
    case = golden("4.2.0-damage-directory")
    whole = case.path / "top-stray-file" / "before"
    ids = [
        PartitionMetadata.read(str(path)).topic_id for path in whole.glob("*/partition.metadata")
    ]
    for name, outcome in case.info["headline"]["outcome"].items():
        prediction = predict_startup(
            [case.path / name / "before"],
            {"log.cleaner.enable": name.endswith("cleaner-on")},
            node_id=1,
            topic_ids=[topic_id for topic_id in ids if topic_id is not None],
        )
        assert prediction.starts == outcome["started"], name
        for topic, met in outcome.get("partitions", {}).items():
            _check_partition(prediction, f"{topic}-0", met)


def _check_partition(prediction: Any, name: str, met: dict[str, Any]) -> None:
    row = next((row for row in prediction if row.name == name), None)
    if row is None or row.verdict == "stray":
        assert met["listOffsets"]["read_uncommitted"] == [0, 0]
        return
    found = [row.log_start_offset, row.log_end_offset]
    assert found == met["listOffsets"]["read_uncommitted"]
    for view in row.consumers:
        assert view.records == met[view.isolation]["records"]


def test_a_directory_closed_in_order_loads_as_it_is(tmp_path: Path) -> None:
    with Managed(tmp_path).manager as manager:
        manager.get_or_create_log("orders-0").append(records(3))
    prediction = predict_startup([tmp_path])
    assert prediction.starts
    assert [directory.verdict for directory in prediction.directories] == ["online"]
    row = prediction["orders-0"]
    assert (row.verdict, row.changes, row.unnoticed) == ("loads", (), ())
    assert (row.recovered_from, row.bytes_cut) == (None, 0)
    with pytest.raises(KeyError):
        prediction["unknown-0"]
    assert prediction.as_dict()["partitions"][0]["consumers"][0]["records"] == 3


def test_a_healthy_directory_of_a_real_broker_loads_as_it_is() -> None:
    prediction = open_log_directory(SAMPLES / "shop-4.3.1").predict_startup()
    assert prediction.starts
    assert {(row.verdict, row.changes, row.unnoticed) for row in prediction} == {("loads", (), ())}


@pytest.mark.parametrize("version", ["1.1", "2.8", "3.9"])
def test_segments_that_a_completed_swap_replaces_are_not_truncated(
    tmp_path: Path, version: str
) -> None:
    """A broker of 2.8.2 did so, of a log whose cleaning a stop had interrupted."""
    with Managed(tmp_path).manager as manager:
        log = manager.get_or_create_log("orders-0")
        for _ in range(3):
            log.append(records(3))
            log.roll()
    first, *others = sorted((tmp_path / "orders-0").glob("*.log"))[:3]
    whole = b"".join(each.read_bytes() for each in (first, *others))
    first.with_name(f"{first.name}.swap").write_bytes(whole)
    row = predict_startup([tmp_path], kafka=version)["orders-0"]
    assert (row.bytes_cut, row.records_lost, row.log_end_offset) == (0, 0, 9)


def test_a_torn_log_is_recovered_and_cut(tmp_path: Path) -> None:
    with Managed(tmp_path).manager as manager:
        manager.get_or_create_log("orders-0").append(records(3))
    (tmp_path / CLEAN_SHUTDOWN).unlink()
    with (tmp_path / "orders-0" / f"{0:020d}.log").open("ab") as file:
        file.write(b"\0" * 100)
    row = predict_startup([tmp_path])["orders-0"]
    assert (row.verdict, row.recovered_from, row.bytes_cut) == ("recovers", 0, 100)
    assert row.reason == "recovery reads from offset 0: 100 bytes are truncated"
    assert any("100 bytes truncated" in change for change in row.changes)


def test_one_directory_that_fails_does_not_stop_a_broker_with_two(tmp_path: Path) -> None:
    for name in "ab":
        with Managed(tmp_path / name, cluster_id="shop").manager as manager:
            manager.get_or_create_log(f"orders-{'ab'.index(name)}").append(records(1))
    (tmp_path / "a" / "orders-0" / "leader-epoch-checkpoint").write_text("garbage")
    prediction = predict_startup([tmp_path / "b", tmp_path / "a"])
    assert prediction.starts
    assert [directory.verdict for directory in prediction.directories] == ["online", "offline"]
    assert prediction["orders-0"].verdict == "offline"
    assert prediction["orders-0"].exception == f"{_COMMON}.errors.KafkaStorageException"
    assert prediction["orders-1"].verdict == "loads"
    assert not predict_startup([tmp_path / "a"]).starts
    first = predict_startup([tmp_path / "a", tmp_path / "b"])  # where the metadata log belongs
    assert first.problem.startswith("the log directory of the metadata log has failed")


def test_logs_marked_or_unknown_are_told_as_such(tmp_path: Path) -> None:
    with Managed(tmp_path).manager as manager:
        for name in ("gone-0", "aside-0", "orders-0"):
            manager.get_or_create_log(name).append(records(1))
        manager.async_delete("gone-0")
        manager.async_delete("aside-0", is_stray=True)
    (tmp_path / "orders-0" / "partition.metadata").unlink()
    verdicts = {row.name.split("-")[0]: row.verdict for row in predict_startup([tmp_path])}
    assert verdicts == {"gone": "deleted", "aside": "stray", "orders": "stray"}
    rows = predict_startup([tmp_path], kafka="2.8", consumers=False)
    assert {row.verdict for row in rows} == {"deleted", "refuses", "loads"}
    assert "does not know the suffix -stray" in rows.problem
    assert all(row.consumers == () for row in rows)


def test_a_partition_opened_by_itself_is_predicted_by_itself(golden: Golden) -> None:
    path = golden("4.2.0-damage-unclean").directory("before") / "dmg-cut-last-17-0"
    prediction = open_log_directory(path).predict_startup()
    assert [row.name for row in prediction] == ["dmg-cut-last-17-0"]
    assert prediction["dmg-cut-last-17-0"].bytes_cut == 17
    with pytest.raises(LogDirectoryError, match="a file"):
        open_log_directory(path / f"{0:020d}.log").predict_startup()


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogDirectoryError, match="no such directory"):
        predict_startup([tmp_path / "missing"])
    with pytest.raises(ConfigError):
        predict_startup([tmp_path], {"log.retention.mss": 1})
