"""A preflight loads only the logs again that may lose something: what-if loads all, and agrees."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.coordinator.writing import TIME, CoordinatorLog, commit
from tests.golden.cases import Case, names
from workbench.coordinator.offsets.positions import LogPositions
from workbench.files.names import TopicPartition
from workbench.files.text import parse_uuid
from workbench.foresight.preflight.first_minutes import TierLoss
from workbench.inspection.cluster.image import StoredCluster
from workbench.inspection.partition import DiskPartition
from workbench.log_directory import LogDirectory, open_log_directory

_DELAY = 30_000  # ms; until the first check of retention
_DAY = 86_400_000
_NOW = 1_795_000_000_000  # ms; no file here is younger


def _configs(case: Case, logs: LogDirectory) -> Mapping[str, str]:
    """Return the topics' configurations, which are in no file of these directories."""
    here = {partition.topic for partition in logs.values()}
    topics = case.info.get("config", {}).get("topics", {})
    return {
        f"{topic}:{name}": str(value)
        for topic, own in topics.items()
        for name, value in own.items()
        if topic in here and name != "partitions"
    }


def _first(case: Case) -> Path:
    return case.directory(
        next(each for each in ("before1", "before", "data") if each in case.labels)
    )


@pytest.mark.parametrize("name", [
    *names("compact-delete"), *names("retention", version="4."), "4.2.0-tiered", "3.9.1-groups",
    "2.8.2-compact-basic", "k0.9-retention", "k1.1-retention",
])  # fmt: skip
@pytest.mark.parametrize("later", [0, 30 * _DAY], ids=["then", "a month later"])
def test_a_preflight_counts_what_what_if_counts(
    name: str, later: int, golden: Callable[[str], Case]
) -> None:
    case = golden(name)
    logs = open_log_directory(_first(case))
    configs = _configs(case, logs)
    now = max(path.stat().st_mtime_ns for path in _first(case).rglob("*.log")) // 1_000_000 + later
    version = name.partition("-")[0].removeprefix("k")
    found = logs.preflight(configs, now=now, kafka=version)
    assert found.first_minutes is not None
    retained, dropped = {}, {}
    for each in found.first_minutes.passes:
        where = f"{each.topic}-{each.partition}"
        if each.what == "compaction":
            dropped[where] = each.records
        elif each.what == "retention":
            retained[where] = each.log_start_offset, each.records
    served = {row.name for row in found.prediction if row.verdict in {"loads", "recovers"}}
    expected, cleaned = {}, {}
    for fate in logs.what_if(configs, now=now + _DELAY, kafka=version):
        if fate.name not in served:
            continue
        offsets = (
            logs[fate.name]
            .scan(isolation_level="read_uncommitted")
            .to_arrow()["offset"]
            .to_pylist()
        )
        records = sum(offset < fate.log_start_offset for offset in offsets)
        if records:
            expected[fate.name] = fate.log_start_offset, records
        if fate.dropped_records:
            cleaned[fate.name] = fate.dropped_records
    assert retained == expected
    assert dropped == cleaned
    assert not later or retained or dropped


def test_a_log_that_knows_no_leader_epoch_costs_what_the_tier_has(
    golden: Callable[[str], Case], tmp_path: Path
) -> None:
    """As a real 4.3.1 deleted every remote segment of such logs within seconds of its start."""
    case = golden("4.2.0-tiered")
    data = tmp_path / "data"
    shutil.copytree(case.directory("data"), data)
    copies = list(case.directory("data").parent.glob("tier/tier-local-0-*/*.log"))
    active = max(int(path.stem) for path in data.glob("tier-local-0/*.log"))
    configs = _configs(case, open_log_directory(data))
    found: dict[str, TierLoss] = {}
    for is_damaged in (False, True):
        if is_damaged:
            (data / "tier-local-0" / "leader-epoch-checkpoint").unlink()
            for path in (data / "tier-txn-0").glob("0*"):
                path.unlink()
        minutes = open_log_directory(data).preflight(configs, now=1, kafka="4.2.0").first_minutes
        assert minutes is not None
        found = {each.topic: each for each in minutes.tiers if not each.rule}
        assert found.keys() == ({"tier-local", "tier-txn"} if is_damaged else set())
    lost = found["tier-local"]
    assert (lost.segments, lost.first_offset, lost.last_offset) == (len(copies), 0, active - 1)
    assert "no leader epochs" in lost.reason
    assert found["tier-txn"].reason == "its log is made empty"


def test_remote_retention_deletes_by_age_and_by_size(golden: Callable[[str], Case]) -> None:
    """As Kafka's rule has it; a real 3.9.1 deleted what it counted twice after its start, too."""
    case = golden("4.2.0-tiered")
    logs = open_log_directory(case.directory("data"))
    configs = {**_configs(case, logs), "tier-local:retention.ms": "1000"}
    files = sorted(case.directory("data").parent.glob("tier/tier-local-0-*/*.log"))
    copies = [next(iter(open_log_directory(file).values())).segments[0] for file in files]
    newest = [int(each.batches.rows["max_timestamp"].max()) for each in copies]
    now = newest[1] + 1000
    ids = [known for each in logs.values() if (known := parse_uuid(each.topic_id or ""))]
    found = logs.preflight(configs, now=now, kafka="4.2.0", topic_ids=ids)
    minutes = found.first_minutes
    assert minutes is not None
    assert found["tier-local"].verdict == "expiring"
    assert "the remote tier loses 2 segments, offsets 0 to" in found["tier-local"].reason
    assert found["tier-txn"].verdict == "served"
    by_age, by_size = minutes.tiers[::-1]
    assert (by_age.rule, by_age.segments) == ("retention.ms", 2)
    assert by_age.last_offset == int(files[2].name[:20]) - 1
    assert (by_size.topic, by_size.segments) == ("tier-expire", 0)
    assert "1 segment, up to offset 99, if the broker counts local" in by_size.reason


def test_a_broker_without_the_tier_deletes_by_the_retention_of_the_whole_log(
    golden: Callable[[str], Case],
) -> None:
    """As a real 4.2.0 did that was started without `remote.log.storage.system.enable`."""
    case = golden("4.2.0-tiered")
    logs = open_log_directory(case.directory("data"))
    configs = {**_configs(case, logs), "tier-local:retention.ms": "1000"}
    kinds, starts = {}, {}
    for given in ("", "true", "false"):
        named = {"remote.log.storage.system.enable": given} if given else {}
        found = logs.preflight(configs | named, now=1 << 42, kafka="4.2.0")
        kinds[given] = {each.kind for each in found.concerns if each.kind.startswith("tier-")}
        minutes = found.first_minutes
        assert minutes is not None
        starts[given] = {
            each.log_start_offset
            for each in minutes.passes
            if (each.topic, each.what) == ("tier-local", "retention")
        }
    assert kinds == {
        "": {"tier-assumed", "tier-retention"}, "true": {"tier-retention"}, "false": {"tier-off"},
    }  # fmt: skip
    assert starts == {"": set(), "true": set(), "false": {logs["tier-local-0"].log_end_offset}}


def _open_records(partition: DiskPartition) -> int:
    """Count the records of transactions without a marker, batch by batch."""
    found: dict[int, int] = {}
    for segment in partition.segments:
        for row in segment.batches.rows:
            if row["is_control"]:
                found.pop(int(row["producer_id"]), None)
            elif row["is_transactional"]:
                producer = int(row["producer_id"])
                found[producer] = found.get(producer, 0) + int(row["record_count"])
    return sum(found.values())


def test_without_snapshots_a_clean_start_gives_the_records_of_open_transactions(
    golden: Callable[[str], Case], tmp_path: Path
) -> None:
    """As a real 3.8.1 did; without the clean shutdown file it knew the transactions again."""
    data = tmp_path / "data"
    shutil.copytree(golden("4.2.0-txn").directory("data"), data)
    for path in data.glob("*/*.snapshot"):
        path.unlink()
    logs = open_log_directory(data)
    count = {name: many for name, each in logs.items() if (many := _open_records(each))}
    assert len(count) == 4
    for is_clean in (True, False):
        if not is_clean:
            (data / ".kafka_cleanshutdown").unlink()
        found = open_log_directory(data).preflight(now=1, kafka="4.2.0", deep=True)
        served = {
            row.name: view.open_served
            for row in found.prediction
            for view in row.consumers
            if view.open_served
        }
        assert served == (count if is_clean else {})
        kinds = {each.kind for each in found.concerns}
        assert {"producers-forgotten", "undetected"} & kinds == (
            {"producers-forgotten", "undetected"} if is_clean else set()
        )


@pytest.mark.parametrize(("before", "after"), [("before", "after"), ("before2", "after2")])
def test_the_cleaner_of_0_8_2_ends_at_a_record_without_key(
    before: str, after: str, golden: Callable[[str], Case]
) -> None:
    """It comes to no log that is less dirty; to which of the equally dirty ones, no file says."""
    case = golden("k0.8.2-compaction-keyless")
    configs = {
        f"{topic}:{name}": value
        for topic, made in case.info["topics"].items()
        for name, value in made["config"].items()
    }
    logs = open_log_directory(case.directory(before))
    left = open_log_directory(case.directory(after))
    counts = {name: (logs[name].scan().count(), left[name].scan().count()) for name in logs}
    changed = {name for name, (first, then) in counts.items() if then < first}
    found = logs.preflight(configs | {"log.cleaner.enable": "true"}, kafka="0.8.2.2", now=_NOW)
    minutes = found.first_minutes
    assert minutes is not None
    passes = {
        f"{each.topic}-{each.partition}": each.records
        for each in minutes.passes
        if each.what == "compaction"
    }
    assert passes == {name: counts[name][0] - counts[name][1] for name in passes}
    assert minutes.cleaner_end.startswith("ends at c-nullkeys-0: ")
    text, _, tied = minutes.cleaner_end.partition(" It may come before to ")
    assert changed - passes.keys() <= {name for name in logs if name in tied}
    assert {name for name in logs if name in text.partition(" does not come to ")[2]} == (
        logs.keys() - passes.keys() - {name for name in logs if name in tied} - {"c-nullkeys-0"}
    )
    assert [each.kind for each in found.concerns].count("cleaner-ends") == 1


def test_groups_in_the_remote_part_of_a_log_go_on(
    golden: Callable[[str], Case], tmp_path: Path
) -> None:
    """The broker's checkpoint has where its logs began: with a tier, it alone decides."""
    data = tmp_path / "data"
    shutil.copytree(golden("4.2.0-tiered").directory("data"), data)
    starts = {"tier-local": 0, "tier-txn": 0, "tier-expire": 48, "tier-deleted": 60}
    written = CoordinatorLog(data)
    written.append(*(commit("g", topic, 0, 30) for topic in starts))
    written.write()
    shutil.copy(data / "tier-txn-0" / "partition.metadata", data / written.name)
    logs = open_log_directory(data)
    configs = _configs(golden("4.2.0-tiered"), logs)
    minutes = logs.preflight(configs, now=TIME, kafka="4.2.0").first_minutes
    assert minutes is not None
    found = {each.topic: (each.state, each.earliest) for each in minutes.restarts}
    assert found == {
        topic: ("below the start", start) for topic, start in starts.items() if start > 30
    }
    positions = LogPositions(logs.listing)
    positions.cluster = StoredCluster()
    tiered = {"remote.storage.enable": "true"}
    positions.cluster.configs.topics.update((topic, tiered) for topic in starts)
    for topic, start in starts.items():
        log = positions.log(TopicPartition(topic, 0))
        assert log is not None
        assert log.log_start_offset == start
