import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.program import run
from tests.golden.cases import Case
from tests.log_manager.managers import Managed, records
from workbench.files.names import CLEAN_SHUTDOWN
from workbench.log_directory import open_log_directory

Golden = Callable[[str], Case]


@pytest.fixture(name="data")
def data_(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    with Managed(path).manager as manager:
        for number in range(2):
            log = manager.get_or_create_log(f"orders-{number}")
            for _ in range(4):
                log.append(records(3))
    return path


def test_a_directory_that_loads_as_it_is_gives_code_0(data: Path) -> None:
    outcome = run("predict", data)
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1] == "the broker starts: 2 loads"


def test_changes_give_code_1_and_are_told(data: Path) -> None:
    (data / CLEAN_SHUTDOWN).unlink()
    with (data / "orders-0" / f"{0:020d}.log").open("ab") as file:
        file.write(b"\0" * 77)
    outcome = run("predict", data)
    assert outcome.code == 1
    assert "77 bytes are truncated" in outcome.out
    assert outcome.out.splitlines()[-1] == "the broker starts: 2 recovers"


def test_a_long_list_has_what_changes_first_and_totals(tmp_path: Path) -> None:
    path = tmp_path / "data"
    with Managed(path).manager as manager:
        for number in range(21):
            manager.get_or_create_log(f"orders-{number}").append(records(3))
    (path / CLEAN_SHUTDOWN).unlink()
    (path / "recovery-point-offset-checkpoint").unlink()
    cut = 0
    for number in (3, 20):
        with (path / f"orders-{number}" / f"{0:020d}.log").open("r+b") as file:
            cut += file.truncate(file.seek(0, 2) - 1)
    for name in ("predict", "recover"):
        target = ("--to", tmp_path / "out") if name == "recover" else ()
        short = run(name, path, *target).out
        named = [line.split()[0] for line in short.splitlines() if line.startswith("orders-")]
        assert set(named) == {"orders-3", "orders-20"}, name
        assert "19 others" in short, name
        assert "--all shows them" in short, name
        assert str(cut) in short, name  # of two logs, whose only batch is cut
        target = ("--to", tmp_path / "all") if name == "recover" else ()
        whole = run(name, path, *target, "--all").out
        named = [line.split()[0] for line in whole.splitlines() if line.startswith("orders-")]
        assert named[:2] == ["orders-20", "orders-3"], name
        assert len(set(named)) == 21, name
        assert "--all shows them" not in whole, name


def test_damage_that_goes_unnoticed_gives_code_1(data: Path) -> None:
    path = data / "orders-0" / f"{0:020d}.log"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    outcome = run("predict", data)
    assert outcome.code == 1
    assert "not detected: a read_uncommitted consumer fails at offset 9" in outcome.out
    assert "damage in 1 log is not detected" in outcome.out
    assert run("predict", data, "--quick").code == 0


def test_a_broker_that_does_not_start_gives_code_2_and_its_exception(data: Path) -> None:
    (data / "not_a_partition").mkdir()
    outcome = run("predict", data)
    assert outcome.code == 2
    assert "org.apache.kafka.common.KafkaException" in outcome.out
    assert "the broker does not start" in outcome.out.splitlines()[-1]


def test_json_is_the_librarys_answer(golden: Golden) -> None:
    path = golden("4.2.0-damage-clean").directory("before")
    outcome = run("predict", path, "--json")
    prediction = open_log_directory(path).predict_startup()
    assert outcome.json == json.loads(json.dumps(prediction.as_dict()))
    assert outcome.code == 1
    assert list(outcome.json) == [
        "broker", "starts", "problem", "exception", "metadata", "directories", "partitions"
    ]  # fmt: skip


def test_the_broker_that_is_meant_is_named_first(golden: Golden) -> None:
    path = golden("2.8.2-plain-kafka-python").directory("data")
    outcome = run("predict", "--quick", path)
    assert outcome.code == 0
    assert outcome.out.startswith("A broker of Kafka 2.4 is assumed: ")
    later = run("predict", "--quick", "--kafka", "4.3", path)
    assert later.code == 1
    assert "the directory is of a broker with ZooKeeper" in later.out
    assert "topics that vanish" in later.out
    assert later.out.splitlines()[-1] == "the broker starts: 10 stray"
    assert run("predict", "--kafka", "5.0", path).code == 3


def test_settings_count_for_all_topics_or_for_one(data: Path) -> None:
    settings = ("--set", "segment.bytes=1000", "--set", "orders:retention.ms=5", "--set")
    assert run("predict", data, *settings, "num.recovery.threads.per.data.dir=4").code == 0
    outcome = run("predict", data, "--set", "retention.mss=5")
    assert outcome.code == 3
    assert "retention.ms" in outcome.err
    assert run("predict", data, "--set", "retention.ms").code == 3
    assert run("predict", data, "--set", "orders:retention.mss=5").code == 3


def test_nothing_is_written(data: Path, tmp_path: Path) -> None:
    (data / CLEAN_SHUTDOWN).unlink()
    shutil.copytree(data, tmp_path / "before")
    run("predict", data)
    for each in data.rglob("*"):
        if each.is_file():
            before = tmp_path / "before" / each.relative_to(data)
            assert each.read_bytes() == before.read_bytes()
    assert len(list(data.rglob("*"))) == len(list((tmp_path / "before").rglob("*")))


def test_the_time_of_the_start_can_be_given(data: Path) -> None:
    """In Python, too; what a broker does with these logs is the same at any time."""
    at = ["--now", "2024-01-01T00:00:00Z"]
    assert run("predict", data, *at, "--json").json == run("predict", data, "--json").json
    assert open_log_directory(data).predict_startup(now=0).starts
    assert run("predict", data, "--now", "soon").code == 3
