"""Commands that say what a broker would do take `--kafka`, and say first which is assumed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.program import run
from workbench.errors import ConfigError
from workbench.foresight.copies.repair import recover_directory
from workbench.foresight.copies.retaining import retain

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
SHOWN = "in __cluster_metadata-0, node 1 registered with metadata.version up to 30, of 4.3"
NOW = "2026-01-01"
COMMANDS: dict[str, tuple[str | Path, ...]] = {
    "verify": (SHOP / "customers-0",),
    "explain": (SHOP, "-p", "customers-0", "--now", NOW),
    "plan": (SHOP, "-p", "customers-0", "--now", NOW),
    "what-if": (SHOP, "-t", "customers", "--now", NOW, "--set", "retention.ms=1"),
    "retention": (SHOP, "--dry-run", "--now", NOW),
    "compact": (SHOP, "-t", "customers", "--now", NOW, "--to"),
    "recover": (SHOP, "--to"),
}


def arguments(command: str, into: Path) -> tuple[str | Path, ...]:
    given = COMMANDS[command]
    return (command, *given, into) if given[-1] == "--to" else (command, *given)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_first_line_says_which_broker_is_meant(command: str, tmp_path: Path) -> None:
    shown = run(*arguments(command, tmp_path / "a"))
    assert shown.out.splitlines()[0] == f"A broker of Kafka 4.3 is assumed: {SHOWN}."
    asked = run(*arguments(command, tmp_path / "b"), "--kafka", "2.8")
    assert asked.out.splitlines()[0] == "A broker of Kafka 2.8 is assumed: it was asked for."


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - {"verify"}))
def test_json_says_which_broker_is_meant(command: str, tmp_path: Path) -> None:
    found = run(*arguments(command, tmp_path / "a"), "--json").json
    first = found[0] if isinstance(found, list) else found
    assert first["broker"] == {"version": "4.3", "reason": SHOWN}


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_version_is_refused_with_the_known_ones(command: str, tmp_path: Path) -> None:
    refused = run(*arguments(command, tmp_path / "a"), "--kafka", "5.0")
    assert refused.code == 3
    assert "'5.0' is not a known version of Kafka; known are 0.8.2, " in refused.err
    assert not (tmp_path / "a").exists()


def test_every_python_door_refuses_an_unknown_version(tmp_path: Path) -> None:
    logs = wb.open_log_directory(SHOP)
    customers = logs["customers-0"]
    doors: list[Callable[[], object]] = [
        lambda: wb.verify(SHOP, kafka="5.0"),
        lambda: logs.verify(kafka="5.0"),
        lambda: wb.what_if(logs, {}, kafka="5.0"),
        lambda: logs.explain_cleaning(kafka="5.0"),
        lambda: customers.explain_cleaning(kafka="5.0"),
        lambda: customers.explain_retention(kafka="5.0"),
        lambda: customers.plan_cleaning(kafka="5.0"),
        lambda: recover_directory(str(tmp_path), kafka="5.0"),
        lambda: retain(str(tmp_path), 0, kafka="5.0"),
    ]
    for door in doors:
        with pytest.raises(ConfigError, match="not a known version"):
            door()


def test_results_name_the_broker() -> None:
    logs = wb.open_log_directory(SHOP)
    customers = logs["customers-0"]
    assert customers.plan_cleaning(now=0, kafka="3.0").broker.version == "3.0"
    assert customers.explain_cleaning(now=0).broker == ("4.3", SHOWN)
    assert wb.what_if(logs, {}, now=0, kafka="3.9").broker == ("3.9", "it was asked for")


@pytest.mark.parametrize(
    ("kafka", "setting", "words"),
    [
        ("4.1", "segment.bytes=1000", "expected at least 1048576"),
        ("4.0", "log.segment.bytes=1000", "expected at least 1048576"),
        ("0.10.0", "min.compaction.lag.ms=1", "Kafka 0.10.0 does not have it; 0.10.1 introduced"),
        ("3.7", "log.initial.task.delay.ms=1", "Kafka 3.7 does not have it; 3.8 introduced it"),
        ("2.2", "log.cleaner.max.compaction.lag.ms=1", "2.3 introduced"),
    ],
)
def test_a_setting_is_refused_that_the_version_does_not_take(
    kafka: str, setting: str, words: str
) -> None:
    asked = ("plan", SHOP, "-p", "customers-0", "--now", NOW)
    refused = run(*asked, "--kafka", kafka, "--set", setting)
    assert refused.code == 3
    assert words in refused.err


def test_old_brokers_take_small_segments() -> None:
    asked = ("plan", SHOP, "-p", "customers-0", "--now", NOW, "--set", "segment.bytes=1000")
    assert run(*asked, "--kafka", "4.0").code == 0


@pytest.mark.parametrize(
    "given", ["zookeeper.session.timeout.ms=6000", "orders:message.format.version=2.3"]
)
def test_a_setting_that_a_later_version_removed_is_taken(given: str) -> None:
    """As the server.properties of a broker that has ZooKeeper has it."""
    era = SHOP.with_name("era-2.8.2")
    assert run("preflight", era, "--kafka", "2.8", "--set", given).code == 1
    refused = run("preflight", era, "--kafka", "4.2", "--set", given)
    assert refused.code == 3
    assert "removed in 4.0" in refused.err


def test_before_2_3_a_log_that_is_shorter_than_the_cleaner_knows_is_not_cleaned(
    tmp_path: Path,
) -> None:
    """As a real 1.1.1 did, and a real 3.5.1 and 3.8.1 did not, with such a checkpoint."""
    data = tmp_path / "data"
    shutil.copytree(SHOP.parent / "era-1.1.1", data)
    (data / "cleaner-offset-checkpoint").write_text("0\n1\ncustomers 0 99999\n")
    logs = wb.open_log_directory(data)
    config = {"customers:min.cleanable.dirty.ratio": "0.01"}
    for version, is_cleaned in (("2.2", False), ("2.3", True)):
        dropped = logs.preflight(config, kafka=version, now=NOW)["customers"].records_compacted
        assert bool(dropped) == is_cleaned
    why = logs["customers-0"].explain_cleaning(config, kafka="2.2", now=NOW).conclusion
    assert "99999, beyond the log end offset" in why
