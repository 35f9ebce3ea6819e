from pathlib import Path

import pytest

from tests.cli.program import run
from tests.log_manager.managers import NOW, Managed, records
from tests.trees import snapshot
from workbench.files.names import CLEAN_SHUTDOWN

HOUR = 3_600_000  # ms


@pytest.fixture(name="data")
def data_(tmp_path: Path) -> Path:
    """Two logs of several segments of one hour each, and one that brokers keep for themselves."""
    path = tmp_path / "data"
    topics = {"orders": {"segment.ms": HOUR}, "__consumer_offsets": {"segment.ms": HOUR}}
    managed = Managed(path, topic_configs=topics)
    with managed.manager as manager:
        names = ("orders-0", "orders-1", "__consumer_offsets-0")
        logs = [manager.get_or_create_log(name) for name in names]
        for _ in range(4):
            for log in logs:
                log.append(records(5))
            managed.clock.advance(HOUR + 1)
    return path


def test_what_is_too_old_goes_from_the_copy_with_its_reason(data: Path, tmp_path: Path) -> None:
    before = snapshot(data)
    now = NOW + 4 * HOUR + HOUR // 2
    options = ("--now", str(now), "--set", f"retention.ms={2 * HOUR}")
    outcome = run("retention", data, "--to", tmp_path / "out", *options)
    assert outcome.code == 0
    assert snapshot(data) == before
    assert "6 segments deleted" in outcome.out.splitlines()[-1]
    assert "retention.ms" in outcome.out
    left = sorted(path.name for path in (tmp_path / "out" / "orders-0").glob("*"))
    assert [name for name in left if name.endswith(".log")] == [f"{15:020d}.log"]
    assert not any(name.endswith(".deleted") for name in left)
    assert len(list((tmp_path / "out" / "__consumer_offsets-0").glob("*.log"))) == 4
    assert (tmp_path / "out" / CLEAN_SHUTDOWN).exists()


def test_a_dry_run_tells_the_same_and_writes_nothing(data: Path, tmp_path: Path) -> None:
    before = snapshot(data)
    options = ("--now", str(NOW + 5 * HOUR), "--set", "orders:retention.bytes=0", "--json")
    dry = run("retention", data, "--dry-run", *options)
    assert snapshot(data) == before
    real = run("retention", data, "--to", tmp_path / "out", *options)
    assert dry.json["dry_run"]
    assert not real.json["dry_run"]
    for name in ("log_start_offsets", "now"):
        assert dry.json[name] == real.json[name]
    for ours, theirs in zip(dry.json["segments"], real.json["segments"], strict=True):
        assert {**ours, "reason": ""} == {**theirs, "reason": ""}  # it may tell a file's time
    assert dry.json["log_start_offsets"]["orders-0"] == {"before": 0, "after": 20}
    fates = [each["is_deleted"] for each in dry.json["segments"] if each["rule"] != "retention.ms"]
    assert True in fates


def test_nothing_goes_by_kafkas_defaults(data: Path) -> None:
    outcome = run("retention", data, "--dry-run", "--now", "2023-11-15T00:00:00Z", "--json")
    assert not any(fate["is_deleted"] for fate in outcome.json["segments"])
    text = run("retention", data, "--dry-run", "--now", "2023-11-15T00:00:00Z").out
    last = text.splitlines()[-1]
    assert last.startswith("at 2023-11-15T00:00:00.000Z: 0 segments would be deleted")


def test_time_and_target_must_be_told(data: Path, tmp_path: Path) -> None:
    assert run("retention", data, "--to", tmp_path / "out").code == 3
    assert run("retention", data, "--now", "5").code == 3
    assert run("retention", data, "--now", "tomorrow", "--dry-run").code == 3


def test_what_the_metadata_tell_of_topics_counts() -> None:
    """A compacted topic keeps its segments, though nobody says with --set that it is one."""
    shop = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
    options = ("--now", "2030-01-01T00:00:00Z", "--dry-run", "--json")
    fates = run("retention", shop, *options).json["segments"]
    gone = {fate["partition"] for fate in fates if fate["is_deleted"]}
    assert gone >= {"orders-0", "clicks-0"}
    assert not [name for name in gone if name.startswith("customers")]
    given = run("retention", shop, *options, "--set", "customers:cleanup.policy=delete")
    gone = {fate["partition"] for fate in given.json["segments"] if fate["is_deleted"]}
    assert gone >= {"customers-0", "customers-1"}


def test_copies_without_an_identity_do_not_get_the_same_one(data: Path, tmp_path: Path) -> None:
    """Two directories with one `directory.id` are refused by the broker that is given both."""
    data.joinpath("meta.properties").unlink()
    for command in ("retention", "compact"):
        given = []
        for name in ("one", "two"):
            out = tmp_path / f"{command}-{name}"
            options = ("--now", str(NOW), "--set", "cleanup.policy=compact,delete")
            assert run(command, data, "--to", out, *options).code == 0
            given.append(out.joinpath("meta.properties").read_text())
        assert given[0] != given[1], command
