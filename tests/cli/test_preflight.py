import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.program import run
from tests.field.cases import open_field_case
from tests.golden.cases import Case
from tests.startup.damages import open_base
from workbench.config.removed_configs import removed_in
from workbench.files.names import CLEAN_SHUTDOWN
from workbench.foresight.preflight.concerns import concerns_of_version
from workbench.inspection.broker_version import MeantBroker
from workbench.inspection.cluster.image import StoredCluster, StoredConfigs
from workbench.inspection.listing import Listing
from workbench.log_directory import open_log_directory

Golden = Callable[[str], Case]


@pytest.fixture(name="plain")
def plain_(tmp_path: Path) -> Path:
    """Return a sound directory of 4.2.0 with the topics orders (2 partitions) and stock."""
    return open_base("plain", tmp_path) / "data"


def test_every_topic_of_a_sound_directory_is_served(plain: Path) -> None:
    outcome = run("preflight", plain)
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1] == "the broker starts; topics: 2 served"
    assert "What to do" not in outcome.out


def test_json_is_the_librarys_answer(plain: Path) -> None:
    outcome = run("preflight", plain, "--kafka", "4.3", "--json")
    found = open_log_directory(plain).preflight(kafka="4.3")
    assert outcome.json == json.loads(json.dumps(found.as_dict()))
    assert [(row.topic, row.verdict, row.partitions) for row in found] == [
        ("orders", "served", 2), ("stock", "served", 1),
    ]  # fmt: skip
    (directory,) = found.directories
    assert directory.cluster_id == open_log_directory(plain).roots[0].meta_properties.cluster_id  # type: ignore[union-attr]


def test_another_node_and_another_cluster_are_refused(plain: Path) -> None:
    for options, found in (
        (("--node-id", "7"), "node.id 1"),
        (("--cluster-id", "x"), "cluster.id"),
    ):
        outcome = run("preflight", plain, *options)
        assert outcome.code == 2
        assert f"error: {plain}/meta.properties: {found}" in outcome.out
        assert "1. Start with directories of one cluster and one node" in outcome.out
        assert "no topic is served: the broker does not start" in outcome.out.splitlines()[-1]


def test_a_partition_on_two_disks_says_which_step_to_take(tmp_path: Path) -> None:
    data = open_field_case("two-disks", tmp_path).data
    outcome = run("preflight", data / "d1", data / "d2")
    assert outcome.code == 2
    assert f"1. Move {data}/d2/orders-0 (log end offset 40, not in the checkpoints" in outcome.out


def test_a_missing_partition_is_created_empty(plain: Path) -> None:
    shutil.rmtree(plain / "orders-1")
    found = open_log_directory(plain).preflight()
    assert (found["orders"].verdict, found["stock"].verdict) == ("empty", "served")
    assert found["orders"].reason == "orders-1: these directories have no log of it"
    assert "created" in {each.kind for each in found.concerns}
    assert run("preflight", plain).code == 1


def test_another_topic_id_makes_a_log_stray(plain: Path) -> None:
    shutil.copytree(plain / "stock-0", plain / "stock-9")
    path = plain / "orders-1" / "partition.metadata"
    path.write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAHkQ\n")
    found = open_log_directory(plain).preflight()
    assert {row.topic: row.verdict for row in found} == {
        "orders": "empty", "stock": "served in part",
    }  # fmt: skip
    (stray,) = (each.what for each in found.concerns if each.kind == "stray")
    assert "orders-1 (its topic id AAAAAAAAAAAAAAAAAAAHkQ is in no topic" in stray
    assert "has no partition 9" in found["stock"].reason
    assert run("preflight", plain).code == 2


def test_recovery_is_counted_and_timed_by_the_given_rate(plain: Path) -> None:
    (plain / CLEAN_SHUTDOWN).unlink()
    (plain / "recovery-point-offset-checkpoint").unlink()
    sizes = {p: (plain / p / f"{0:020d}.log").stat().st_size
             for p in ("orders-0", "orders-1", "stock-0")}  # fmt: skip
    found = open_log_directory(plain).preflight(rate=1000.0)
    by_topic = {row.topic: row.recovery_bytes for row in found}
    assert by_topic == {
        "orders": sizes["orders-0"] + sizes["orders-1"], "stock": sizes["stock-0"],
    }  # fmt: skip
    metadata = (plain / "__cluster_metadata-0" / f"{0:020d}.log").stat().st_size
    total = sum(sizes.values()) + metadata
    assert found.recovery.size == total
    assert found.recovery.threads == 2
    assert found.recovery.seconds == max(total / 2, metadata) / 1000
    assert "0.0 s" not in run("preflight", plain, "--rate", "0.001").out


def test_what_a_start_truncates_is_damage(plain: Path) -> None:
    (plain / CLEAN_SHUTDOWN).unlink()
    with (plain / "stock-0" / f"{0:020d}.log").open("ab") as file:
        file.write(b"\0" * 77)
    found = open_log_directory(plain).preflight()
    row = found["stock"]
    assert (row.verdict, row.bytes_cut, row.reason) == (
        "damaged", 77, "stock-0: 77 bytes are truncated",
    )  # fmt: skip
    assert run("preflight", plain).code == 1


def test_damage_that_no_broker_detects_is_found_by_reading(plain: Path) -> None:
    path = plain / "stock-0" / f"{0:020d}.log"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    assert run("preflight", plain).code == 0
    outcome = run("preflight", plain, "--deep")
    assert outcome.code == 1
    assert "damage that the broker does not detect: stock-0" in outcome.out


def test_an_older_version_does_not_know_what_a_later_one_wrote(golden: Golden) -> None:
    path = golden("4.2.0-groups").directory("before")
    outcome = run("preflight", path, "--kafka", "3.9")
    assert outcome.code == 2 or "Kafka 3.9 does not write this" in outcome.out
    assert "Start Kafka 4." in outcome.out


def test_a_directory_of_zookeeper_is_not_for_a_node_without_it(tmp_path: Path) -> None:
    data = open_base("zookeeper", tmp_path) / "data"
    outcome = run("preflight", data, "--kafka", "4.2")
    assert outcome.code == 2
    assert "5 not served" in outcome.out
    assert "migrate the cluster to KRaft there" in outcome.out
    stays = open_log_directory(data).preflight(kafka="2.8")
    assert {row.verdict for row in stays} == {"served"}
    assert "topics-in-zookeeper" in {each.kind for each in stays.concerns}


def test_configurations_that_are_gone_or_have_another_default_are_named() -> None:
    topics = {"orders": {"message.format.version": "2.8", "retention.ms": "1"}}
    cluster = StoredCluster(StoredConfigs(topics, {"": {"log.cleaner.threads": "2"}}))

    def concerns(meant: str, shown: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        brokers = MeantBroker(meant, ""), MeantBroker(shown, "")
        for each in concerns_of_version(Listing((), {}), *brokers, cluster):
            found.setdefault(each.kind, []).append(each.what)
        return found

    upgraded = concerns("4.3", "3.9")
    (removed,) = upgraded["removed-config"]
    assert removed.startswith("message.format.version is set for topic orders: removed in 4.0")
    assert [what.split()[3] for what in upgraded["changed-default"]] == [
        "message.timestamp.after.max.ms", "num.recovery.threads.per.data.dir",
    ]  # fmt: skip
    assert concerns("3.9", "3.9") == {}
    assert removed_in("retention.ms") is None


def test_old_formats_are_named(golden: Golden) -> None:
    path = golden("k0.10.2-formats").directory("data")
    kinds = {each.kind: each for each in open_log_directory(path).preflight(kafka="4.2").concerns}
    assert "begin with magic 0 or 1" in kinds["old-format"].what
    assert "a cleaning rewrites them as magic 2" in kinds["old-format"].what


def test_a_partition_directory_alone_is_refused(plain: Path) -> None:
    outcome = run("preflight", plain / "orders-0")
    assert outcome.code == 3
    assert "not a log directory, which a preflight needs" in outcome.err
