import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.program import run
from tests.comparison.replicas import run as batches
from tests.comparison.replicas import write_replica
from tests.golden.cases import Case
from tests.trees import snapshot


@pytest.fixture(name="disks")
def disks_(tmp_path: Path) -> dict[str, Path]:
    """Return the directories of three brokers: two alike, the third behind."""
    return {
        "1": write_replica(tmp_path / "1", batches(0, 20, 0), high_watermark=20),
        "2": write_replica(tmp_path / "2", batches(0, 20, 0), high_watermark=18),
        "3": write_replica(tmp_path / "3", batches(0, 15, 0), high_watermark=14),
    }


def given(disks: dict[str, Path], *names: str) -> list[str]:
    return [f"{name}={disks[name]}" for name in names]


def test_the_exit_status_says_alike_lag_or_divergence(
    disks: dict[str, Path], tmp_path: Path
) -> None:
    before = snapshot(tmp_path)
    assert run("compare-replicas", *given(disks, "1", "2")).code == 0
    assert run("compare-replicas", *given(disks, "1", "2", "3")).code == 1
    assert snapshot(tmp_path) == before
    other = write_replica(tmp_path / "4", [*batches(0, 9, 0), *batches(9, 20, 1, "x")])
    outcome = run("compare-replicas", *given(disks, "1"), f"4={other}")
    assert outcome.code == 2
    assert "committed-lost: 11 committed offsets from 9 to 19" in outcome.out


def test_a_person_reads_who_is_ahead_and_what_would_be_lost(disks: dict[str, Path]) -> None:
    out = run("compare-replicas", *given(disks, "1", "3")).out
    assert "orders-0: lag" in out
    assert "broker 1 is ahead (epoch 0, log end offset 20); committed up to 20" in out
    assert "warning  replica-lag: broker 3 lags by 5 offsets: log end offset 15" in out
    assert "if broker 1 led: nothing is lost" in out
    assert "if broker 3 led: broker 1 truncates to 15 (5 offsets lost); committed offsets" in out
    assert out.splitlines()[-1] == "1 partition of 2 brokers: 1 lag"
    alike = run("compare-replicas", *given(disks, "1", "2")).out
    assert "if broker" not in alike
    assert "if broker 1 led" in run("compare-replicas", *given(disks, "1", "2"), "--all").out


def test_json_is_a_list_of_partitions(disks: dict[str, Path]) -> None:
    (each,) = run("compare-replicas", *given(disks, "1", "3"), "--json").json
    assert (each["topic"], each["partition"], each["verdict"]) == ("orders", 0, "lag")
    assert (each["committed_at_least"], each["committed_at_most"]) == (20, 20)
    assert each["divergence_offset"] is None
    assert [r["would_truncate_to"] for r in each["replicas"]] == [{"3": 15}, {"1": 15}]
    assert [r["high_watermark"] for r in each["replicas"]] == [20, 14]
    assert [v["kind"] for v in each["verdicts"]] == ["replica-lag"]


def test_a_broker_may_have_several_directories(disks: dict[str, Path], tmp_path: Path) -> None:
    second = write_replica(tmp_path / "second", batches(0, 5, 0))
    shutil.move(second / "orders-0", second / "users-3")
    outcome = run("compare-replicas", *given(disks, "1"), f"1={second}", *given(disks, "2"))
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1] == "2 partitions of 2 brokers: 2 alike"
    only = run("compare-replicas", *given(disks, "1"), f"1={second}", "-t", "users", "--json").json
    assert [each["topic"] for each in only] == ["users"]
    only = run("compare-replicas", *given(disks, "1", "2"), "-p", "orders-0", "--json").json
    assert len(only) == 1


def test_what_cannot_be_compared_is_refused(disks: dict[str, Path], tmp_path: Path) -> None:
    for arguments, message in (
        ([str(disks["1"])], "is not BROKER=DIR"),
        ([f"1={disks['1']}", f"2={disks['1']}"], "expected one broker"),
        ([f"1={tmp_path / 'nowhere'}"], "there is no such file"),
        ([f"1={disks['1']}", "-t", "users"], "no broker has topic 'users'"),
        ([f"1={disks['1']}", "-p", "4"], "no broker has partition 4"),
    ):
        outcome = run("compare-replicas", *arguments)
        assert (outcome.code, outcome.out) == (3, "")
        assert message in outcome.err


def test_quick_reads_headers_only(disks: dict[str, Path]) -> None:
    log = min((disks["2"] / "orders-0").glob("*.log"))
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    assert run("compare-replicas", *given(disks, "1", "2"), "--quick").code == 0
    outcome = run("compare-replicas", *given(disks, "1", "2"))
    assert outcome.code == 2
    assert "orders-0: damage" in outcome.out


def test_the_disks_of_a_real_cluster(golden: Callable[[str], Case]) -> None:
    case = golden("3.9.1-replicas")
    brokers = [f"{number}={case.directory(f'before/broker{number}')}" for number in (1, 2, 3)]
    outcome = run("compare-replicas", *brokers)
    assert outcome.code == 2
    assert "brokers 1 and 2 hold different records from offset 21" in outcome.out
    after = [each.replace("before", "after") for each in brokers]
    assert run("compare-replicas", *after).code == 0
