"""What a start makes of cases from the field: the answers are those of real brokers."""

from pathlib import Path

import pytest

from tests.cli.program import run
from tests.field.cases import FieldCase, open_field_case
from workbench.foresight.preflight.results import Preflight
from workbench.foresight.startup.predict import predict_startup
from workbench.inspection.verify.verify import verify
from workbench.log_directory import open_log_directory

_AT = 1_795_885_200_000  # within hours after the brokers of these cases stopped
_STORAGE = "org.apache.kafka.common.errors.KafkaStorageException"


@pytest.mark.parametrize(
    ("name", "exception", "words"),
    [
        ("quorum-state-empty", "java.io.UncheckedIOException", "quorum-state"),
        ("snapshot-gone", "java.lang.IllegalStateException", "begins at offset 101"),
        ("lost-and-found", "org.apache.kafka.common.KafkaException", "lost+found"),
    ],
)
def test_it_does_not_start(name: str, exception: str, words: str, tmp_path: Path) -> None:
    case = open_field_case(name, tmp_path)
    prediction = predict_startup([case.data])
    assert not prediction.starts
    assert prediction.exception == exception
    assert words in prediction.problem
    outcome = run("predict", "--quick", case.data)
    assert outcome.code == 2
    assert outcome.out.startswith("A broker of Kafka 4.2 is assumed")
    assert outcome.out.splitlines()[-1].count("lost+found") <= 1  # in the path alone
    assert any(
        each.severity == "error" and "not start" in each.broker for each in verify(case.data)
    )


def test_an_overflowing_segment_loads_unsplit_after_a_clean_stop(tmp_path: Path) -> None:
    data = open_field_case("offset-overflow-clean", tmp_path).data
    row = predict_startup([data])["stock-0"]
    assert (row.verdict, row.changes, row.log_end_offset) == ("loads", (), 4294967308)
    (finding,) = (each for each in verify(data) if each.kind == "offset-overflow")
    assert finding.broker.startswith(
        "After the clean shutdown, a broker loads the segment as it is"
    )


def test_an_overflowing_segment_is_split_without_loss_after_a_kill(tmp_path: Path) -> None:
    data = open_field_case("offset-overflow-clean", tmp_path).data
    (data / ".kafka_cleanshutdown").unlink()
    (data / "recovery-point-offset-checkpoint").unlink()
    row = predict_startup([data])["stock-0"]
    assert (row.verdict, row.bytes_cut, row.log_end_offset) == ("recovers", 0, 4294967308)
    assert row.reason == "recovery reads from offset 0: nothing is truncated"
    assert any("segment split" in change for change in row.changes)
    (finding,) = (each for each in verify(data) if each.kind == "offset-overflow")
    assert "recovery splits the segment" in finding.broker


def test_a_partition_on_two_disks_stops_the_broker(tmp_path: Path) -> None:
    data = open_field_case("two-disks", tmp_path).data
    prediction = predict_startup([data / "d1", data / "d2"])
    assert not prediction.starts
    assert prediction.exception == "java.lang.IllegalStateException"
    duplicates = f"duplicate log directories {data}/d2/orders-0 and {data}/d1/orders-0"
    assert prediction.problem.startswith(f"orders-0: {duplicates}")
    kinds = {
        (each.kind, Path(each.path).parent.name) for each in verify([data / "d1", data / "d2"])
    }
    assert {("duplicate-partition", "d2"), ("not-checkpointed", "d2")} <= kinds
    (step,) = open_log_directory([data / "d1", data / "d2"]).preflight().steps
    assert step.startswith(f"Move {data}/d2/orders-0 (log end offset 40, not in the checkpoints")
    kept = f"; keep {data}/d1/orders-0 (log end offset 40)"
    assert step.endswith(f"{kept}; both have the same bytes")
    log = data / "d2" / "orders-0" / f"{0:020}.log"
    changed = bytearray(log.read_bytes())
    changed[-1] ^= 1
    log.write_bytes(changed)
    (step,) = open_log_directory([data / "d1", data / "d2"]).preflight().steps
    assert step.endswith(kept)


def test_nulls_after_a_power_loss(tmp_path: Path) -> None:
    prediction = predict_startup([open_field_case("power-loss", tmp_path).data], consumers=False)
    assert not prediction.starts
    assert "every log directory has failed" in prediction.problem
    assert (prediction["orders-0"].verdict, prediction["orders-0"].exception) == (
        "offline",
        _STORAGE,
    )
    row = prediction["stock-0"]
    assert (row.verdict, row.bytes_cut, row.log_end_offset) == ("recovers", 3000, 40)


def test_a_deleted_topic_is_deleted_at_the_next_start(tmp_path: Path) -> None:
    case = open_field_case("deleted-topic", tmp_path)
    prediction = predict_startup([case.data])
    assert prediction.starts
    (name,) = (folder for folder in case.truth["dirs"] if folder.endswith("-delete"))
    assert prediction[name].verdict == "deleted"
    assert prediction["stock-0"].verdict == "recovers"
    outcome = run("export", case.data / name, tmp_path / "ledger.jsonl")
    assert outcome.code == 0
    assert len((tmp_path / "ledger.jsonl").read_text().splitlines()) == case.truth["records"]


def _disks(case: FieldCase) -> list[Path]:
    return [case.data / "d1", case.data / "d2"]


def _preflight(*paths: Path) -> Preflight:
    return open_log_directory(paths).preflight(now=_AT)


def test_an_unmounted_disk_keeps_the_broker_from_starting(tmp_path: Path) -> None:
    disks = _disks(open_field_case("empty-mount", tmp_path))
    outcome = run("predict", *disks)
    assert outcome.code == 2
    assert outcome.out.splitlines()[-1] == (
        f"the broker does not start: {disks[1]}: no meta.properties (expected one) "
        "(java.lang.RuntimeException)"
    )
    found = _preflight(*disks)
    assert not found.prediction.starts
    assert {row.topic: (row.verdict, row.partitions) for row in found} == {
        "__consumer_offsets": ("not served", 2), "orders": ("not served", 4),
        "stock": ("not served", 2),
    }  # fmt: skip
    (step,) = found.steps
    assert step.startswith(
        f"Mount the disk that belongs at {disks[1]}: it has __consumer_offsets-1, orders-1, "
        "orders-3, stock-0. If the disk is new"
    )
    assert run("preflight", *disks).code == 2
    assert run("preflight", disks[1]).code == 2  # alone, it is an empty directory


def test_a_reformatted_disk_gets_empty_logs(tmp_path: Path) -> None:
    case = open_field_case("reformatted-disk", tmp_path)
    disks, ends = _disks(case), case.truth["alive"]["ends"]
    outcome = run("predict", *disks)
    assert outcome.code == 1
    assert outcome.out.splitlines()[-1] == (
        "the broker starts: 4 loads; 4 partitions are made empty"
    )
    found = _preflight(*disks)
    metadata = found.prediction.metadata
    assert metadata is not None
    empty = ("__consumer_offsets-1", "orders-1", "orders-3", "stock-0")
    assert metadata.created == empty
    assert {name for name, (_, end) in ends.items() if not end} == {*empty[1:]}
    assert {row.name: row.log_end_offset for row in found.prediction if row.log_end_offset} == {
        name: end for name, (_, end) in ends.items() if end
    }
    assert {row.topic: row.verdict for row in found} == {
        "__consumer_offsets": "empty in part", "orders": "empty in part", "stock": "empty in part",
    }  # fmt: skip
    assert run("preflight", *disks, "--now", str(_AT)).code == 1


def test_a_disk_of_another_cluster_is_refused(tmp_path: Path) -> None:
    disks = _disks(open_field_case("foreign-disk", tmp_path))
    prediction = predict_startup(disks)
    assert not prediction.starts
    assert prediction.exception == "java.lang.RuntimeException"
    assert f"{disks[1]}/meta.properties: cluster.id" in prediction.problem
    (step,) = _preflight(*disks).steps
    assert step.startswith("Take the directory with the other cluster.id out of log.dirs")


def test_a_directory_that_was_moved_by_hand_is_found(tmp_path: Path) -> None:
    case = open_field_case("hand-moved", tmp_path)
    disks, ends = _disks(case), case.truth["alive"]["ends"]
    found = _preflight(*disks)
    assert {row.verdict for row in found.prediction} == {"loads"}
    offsets = {
        row.name: [row.log_start_offset, row.log_end_offset]
        for row in found.prediction
        if not row.name.startswith("__")
    }
    assert offsets == ends
    assert found.prediction["orders-0"].directory == str(disks[1])
    assert run("preflight", *disks, "--now", str(_AT)).code == 0


def test_timestamps_in_seconds_are_deleted_by_the_first_check(tmp_path: Path) -> None:
    case = open_field_case("seconds-unit", tmp_path)
    found = _preflight(case.data)
    assert found.first_minutes is not None
    left = {"alerts-0": [0, 40], "events-0": [0, 40]}
    assert left == case.truth["before"]
    for each in found.first_minutes.passes:
        left[f"{each.topic}-{each.partition}"][0] = each.log_start_offset
    assert left == case.truth["real"]["alive"]
    assert {row.topic: row.verdict for row in found if row.size} == {
        "alerts": "expiring", "events": "served",
    }  # fmt: skip
    (warning,) = (each.what for each in found.concerns if each.kind == "first-retention")
    assert "which seems to be in seconds: 2026-11-28T16:15:29.000Z" in warning
    assert run("preflight", case.data, "--now", str(_AT)).code == 1


def test_groups_with_offsets_beyond_the_end_start_over_after_the_start(tmp_path: Path) -> None:
    found = _preflight(open_field_case("negative-lag", tmp_path).data)
    assert found.first_minutes is not None
    assert [each[:5] for each in found.first_minutes.restarts] == [
        ("billing", "invoices", 0, 100, "beyond the end"),
        ("refunds", "returns", 0, 900, "beyond the end"),
    ]
    (concern,) = (each for each in found.concerns if each.kind == "groups")
    assert concern.severity == "warning"


@pytest.mark.parametrize(("version", "known"), [("3.8", 20), ("3.7", 19)])
def test_an_older_version_does_not_know_the_level_of_metadata(
    version: str, known: int, tmp_path: Path
) -> None:
    data = open_field_case("downgrade", tmp_path).data
    for command in ("predict", "preflight"):
        outcome = run(command, data, "--kafka", version)
        assert outcome.code == 2
        last = outcome.out.splitlines()[-1]
        assert f"is 21, which {version} does not know (expected a level from 1 to {known})" in last
