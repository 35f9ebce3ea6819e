"""What explanations and plans take for the high watermark, and that they say so."""

from pathlib import Path

import pytest

import workbench
from tests.cli.program import run
from tests.log_manager.managers import NOW, Managed, records
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import HIGH_WATERMARKS, TopicPartition

CONFIG = {"retention.ms": 1000, "segment.bytes": 200, "cleanup.policy": "compact,delete"}
TOLD = {
    8: "high watermark 8: replication-offset-checkpoint says 8",
    5: (
        "high watermark taken as the log end offset 8: replication-offset-checkpoint says 5, and "
        "the leader raises it when all in-sync replicas have the records; a sole replica does so "
        "at startup"
    ),
    None: (
        "high watermark taken as the log end offset 8: no replication-offset-checkpoint names the "
        "log"
    ),
}


@pytest.fixture(name="data", params=list(TOLD))
def data_(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, str]:
    data = tmp_path / "data"
    with Managed(data, topic_configs={"orders": CONFIG}).manager as manager:
        for number in range(4):
            manager.get_or_create_log("orders-0").append(
                [(NOW, b"key-%d" % number, b"value" * 9)] * 2
            )
    path = data / HIGH_WATERMARKS
    path.unlink()
    if request.param is not None:
        offsets = {TopicPartition("orders", 0): request.param}
        path.write_bytes(OffsetCheckpoint(offsets).encode())
    return data, TOLD[request.param]


def test_explanations_and_plans_say_what_they_take_for_the_high_watermark(
    data: tuple[Path, str],
) -> None:
    path, told = data
    orders = workbench.open_log_directory(path)["orders-0"]
    config = {f"orders:{name}": value for name, value in CONFIG.items()}
    later = NOW + 100_000
    explained = orders.explain_retention(config, now=later)
    assert explained.conclusion.startswith("retention deletes 4 of 4 segments")
    for explanation in (explained, orders.explain_cleaning(config, now=later)):
        assert explanation.high_watermark == told
        assert str(explanation).endswith(told)
        assert told in explanation._repr_html_()
        assert explanation.as_dict()["high_watermark"] == told
    plan = orders.plan_cleaning(config, now=later)
    assert plan.high_watermark == plan.as_dict()["high_watermark"] == told
    assert str(plan).endswith(told)
    fate = workbench.what_if(path, config, now=later)["orders-0"]
    assert fate.high_watermark == ("" if told == TOLD[8] else told)
    assert (told in fate.reasons) == (told != TOLD[8])


def test_commands_say_it_too(data: tuple[Path, str], tmp_path: Path) -> None:
    path, told = data
    settings = [f"--set=orders:{name}={value}" for name, value in CONFIG.items()]
    options = ["--now", str(NOW + 100_000), *settings]
    for command in ("explain", "plan"):
        assert told in run(command, path, *options).out.replace("\n", " ")
    out = run("compact", path, "--to", tmp_path / "compacted", *options).out
    assert (told in out) == (told != TOLD[8])
    settings.append("--set=orders:cleanup.policy=delete")
    options = ["--now", str(NOW + 100_000), *settings]
    dry = run("retention", path, "--dry-run", *options)
    assert (told in dry.out) == (told != TOLD[8])
    assert run("retention", path, "--dry-run", *options, "--json").json["high_watermarks"] == {
        "orders-0": told
    }


def test_what_is_explained_is_what_a_log_manager_then_does(tmp_path: Path) -> None:
    config = {"retention.ms": 1000, "segment.bytes": 200}
    with Managed(tmp_path, topic_configs={"orders": config}).manager as manager:
        for _ in range(4):
            manager.get_or_create_log("orders-0").append(records(8))
    orders = workbench.open_log_directory(tmp_path)["orders-0"]
    given = {f"orders:{name}": value for name, value in config.items()}
    told = orders.explain_retention(given, now=NOW + 2000)
    assert told.conclusion.startswith("retention deletes 4 of 4 segments")
    managed = Managed(tmp_path, topic_configs={"orders": config})
    managed.clock.advance(2000)
    with managed.manager as manager:
        assert manager.delete_old_segments() == 4
