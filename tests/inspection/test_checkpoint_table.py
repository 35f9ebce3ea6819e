"""The table of checkpoints: what each file says, and every finding in the row it is about."""

import shutil
from pathlib import Path

import pytest

from tests.trees import snapshot
from workbench.inspection.facts.checkpoint_table import (
    CLEANER_OFFSET,
    HIGH_WATERMARK,
    LEADER_EPOCH,
    LOG_START,
    QUORUM,
    RECOVERY_POINT,
    TOPIC_ID,
    Checkpoints,
    PartitionCheckpoints,
    checkpoint_table,
)
from workbench.inspection.listing import list_log_directories
from workbench.inspection.verify.verify import verify_listing

SAMPLES = Path(__file__).parents[2] / "sample_data"
FILES = {
    "recovery-point-offset-checkpoint": RECOVERY_POINT,
    "log-start-offset-checkpoint": LOG_START,
    "replication-offset-checkpoint": HIGH_WATERMARK,
    "cleaner-offset-checkpoint": CLEANER_OFFSET,
}


def table_of(*paths: Path) -> Checkpoints:
    listing = list_log_directories(paths)
    return checkpoint_table(listing).with_findings(verify_listing(listing, deep=False))


def row(table: Checkpoints, name: str) -> PartitionCheckpoints:
    (found,) = (each for each in table.partitions if each.name == name)
    return found


def kinds(row: PartitionCheckpoints) -> dict[str, list[str]]:
    return {column: [each.kind for each in found] for column, found in row.findings.items()}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLES / "shop-4.3.1", tmp_path / "shop"))


def test_a_real_directory_has_its_files_in_the_table_and_nothing_contradicts_them() -> None:
    table = table_of(SAMPLES / "shop-4.3.1")
    (directory,) = table.directories
    assert (directory.stop, directory.version, directory.node_id) == ("clean", 1, 1)
    assert directory.cluster_id == "UFAuhneKS6-IfZHEHHKjvg"
    text = (SAMPLES / "shop-4.3.1" / "meta.properties").read_text()
    assert f"directory.id={directory.directory_id}" in text
    assert not directory.findings
    assert not any(each.findings for each in table.partitions)
    customers = row(table, "customers-0")
    assert customers.offsets[CLEANER_OFFSET] == 909
    assert customers.offsets[RECOVERY_POINT] == customers.log_end
    metadata = (SAMPLES / "shop-4.3.1" / "customers-0" / "partition.metadata").read_text()
    assert f"topic_id: {customers.topic_id}" in metadata
    state = row(table, "__cluster_metadata-0").quorum
    assert state is not None
    assert state.leader_id == 1


def test_every_damage_of_the_samples_is_in_its_row_and_column() -> None:
    table = table_of(SAMPLES / "damaged")
    assert {each.name: kinds(each) for each in table.partitions if each.findings} == {
        "checkpoints-ahead-0": {
            RECOVERY_POINT: ["checkpoint-beyond-end"],
            HIGH_WATERMARK: ["checkpoint-beyond-end"],
        },
        "epochs-ahead-0": {LEADER_EPOCH: ["leader-epochs-mismatch"]},
        "garbage-epochs-0": {LEADER_EPOCH: ["leader-epochs-damaged"]},
        "garbage-metadata-0": {TOPIC_ID: ["partition-metadata-damaged"]},
        "log-start-ahead-0": {LOG_START: ["checkpoint-beyond-end"]},
        "torn-tail-0": {
            RECOVERY_POINT: ["checkpoint-beyond-end"],
            HIGH_WATERMARK: ["checkpoint-beyond-end"],
        },
    }


@pytest.mark.parametrize("file", FILES)
def test_an_entry_past_the_end_marks_the_entry_of_its_own_file(shop: Path, file: str) -> None:
    (shop / file).write_text("0\n1\norders 1 77777\n")
    table = table_of(shop)
    found = row(table, "orders-1")
    assert found.offsets[FILES[file]] == 77_777
    assert kinds(found)[FILES[file]] == ["checkpoint-beyond-end"]
    assert "checkpoint-beyond-end" not in str(kinds(row(table, "orders-2")))


def test_a_partition_without_a_directory_and_one_without_an_entry_are_rows(shop: Path) -> None:
    shutil.rmtree(shop / "orders-1")
    shutil.copytree(shop / "orders-2", shop / "orders-7")
    table = table_of(shop)
    gone = row(table, "orders-1")
    assert gone.path is None
    assert gone.log_end is None
    assert gone.offsets[HIGH_WATERMARK] > 0
    assert kinds(row(table, "orders-7")) == {RECOVERY_POINT: ["not-checkpointed"]}
    (directory,) = table.directories
    found = [each.kind for some in directory.findings.values() for each in some]
    assert "checkpoint-partition" in found


@pytest.mark.parametrize(
    ("damage", "column", "kind"),
    [
        ("orders-0/partition.metadata", TOPIC_ID, "partition-metadata-missing"),
        ("orders-0/leader-epoch-checkpoint", LEADER_EPOCH, "leader-epochs-missing"),
    ],
)
def test_a_missing_file_is_in_its_column(shop: Path, damage: str, column: str, kind: str) -> None:
    (shop / damage).unlink()
    assert kinds(row(table_of(shop), "orders-0")) == {column: [kind]}


def test_damaged_files_of_the_directory_are_told_with_the_directory(shop: Path) -> None:
    (shop / "meta.properties").write_bytes(b"\xff\x00 = what\n")
    (shop / "cleaner-offset-checkpoint").write_text("nonsense")
    (shop / "__cluster_metadata-0" / "quorum-state").write_text("{")
    before = snapshot(shop)
    table = table_of(shop)
    (directory,) = table.directories
    assert {name: found[0].kind for name, found in directory.findings.items()} == {
        "meta.properties": "meta-properties-damaged",
        "cleaner-offset-checkpoint": "checkpoint-damaged",
    }
    assert kinds(row(table, "__cluster_metadata-0")) == {QUORUM: ["quorum-state-damaged"]}
    assert snapshot(shop) == before


def test_directories_of_two_brokers_contradict_each_other(tmp_path: Path) -> None:
    brokers = [SAMPLES / "two-brokers" / name for name in ("broker1", "broker2")]
    table = table_of(*brokers)
    told = [row.findings for row in table.partitions] + [row.findings for row in table.directories]
    found = {each.kind for findings in told for some in findings.values() for each in some}
    assert {"duplicate-partition", "meta-properties-mismatch"} <= found
    assert not table_of(tmp_path).partitions


@pytest.mark.parametrize("era", ["era-0.8.2.2", "era-0.10.2.2", "era-2.8.2"])
def test_every_era_is_read(era: str) -> None:
    table = table_of(SAMPLES / era)
    orders = row(table, "orders-0")
    assert orders.offsets[HIGH_WATERMARK] == orders.log_end
    assert not orders.findings
    alone = table_of(SAMPLES / era / "orders-0")
    assert not alone.directories
    assert row(alone, "orders-0").log_end == orders.log_end
