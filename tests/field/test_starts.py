"""What a start makes of cases from the field: the answers are those of real brokers."""

from pathlib import Path

import pytest

from tests.cli.program import run
from tests.field.cases import open_field_case
from workbench.foresight.startup.predict import predict_startup
from workbench.inspection.verify.verify import verify
from workbench.log_directory import open_log_directory

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
    assert f"{data}/d2/orders-0 and {data}/d1/orders-0" in prediction.problem
    kinds = {
        (each.kind, Path(each.path).parent.name) for each in verify([data / "d1", data / "d2"])
    }
    assert {("duplicate-partition", "d2"), ("not-checkpointed", "d2")} <= kinds
    (step,) = open_log_directory([data / "d1", data / "d2"]).preflight().steps
    assert step.startswith(f"Move {data}/d2/orders-0 (log end offset 40, not in the checkpoints")
    assert step.endswith(f"; keep {data}/d1/orders-0 (log end offset 40)")


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
