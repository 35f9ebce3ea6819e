import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import mutations
from tests.naive import Record, batch
from workbench.log_directory import open_log_directory

_SECONDS = 200


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    """A walk that does not move forward fails the test instead of never returning."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _unnoticed(directory: Path, base_offset: int, field: str, value: int) -> str:
    mutations.build(directory / "data", mutations.field(base_offset, -1, field, value))
    mutations.with_recovery_points(directory / "data")
    logs = open_log_directory(directory / "data")
    return " ".join(logs.predict_startup(kafka="4.2")["bad-0"].unnoticed)


@pytest.mark.parametrize(("base_offset", "value", "position"), [
    (36, 0, 3), (36, -1, 2), (36, 36, 39), (36, 40, 43), (18, 0, 3),
])  # fmt: skip
def test_a_base_offset_that_goes_back_ends_the_walk(
    tmp_path: Path, base_offset: int, value: int, position: int
) -> None:
    told = _unnoticed(tmp_path, base_offset, "base_offset", value)
    assert f"fails at offset {position}: no progress: the last batch" in told
    assert "again and again" in told


@pytest.mark.parametrize(("field", "value"), [
    ("base_offset", -(2**63)), ("base_offset", 2**63 - 1),
    ("last_offset_delta", -1), ("last_offset_delta", -(2**31)),
])  # fmt: skip
def test_extremes_of_offsets_end_the_walk(tmp_path: Path, field: str, value: int) -> None:
    assert "fails at offset" in _unnoticed(tmp_path, 36, field, value)


@pytest.mark.parametrize("value", [0, 1, -(2**31), 2**31 - 1])
def test_extremes_of_a_length_end_the_walk(tmp_path: Path, value: int) -> None:
    assert "fails at offset" in _unnoticed(tmp_path, 36, "batch_length", value)


def test_a_batch_that_lies_before_the_one_before_it_is_passed(tmp_path: Path) -> None:
    mutations.build(tmp_path / "data", mutations.field(36, 2, "base_offset", 0))
    mutations.with_recovery_points(tmp_path / "data")
    prediction = open_log_directory(tmp_path / "data").predict_startup()
    assert [view.position for view in prediction["bad-0"].consumers] == [72]


def _with_a_false_marker(folder: Path) -> None:
    """Put a transaction at the end of a segment whose marker has a key of one byte."""
    path = mutations.segment(folder, 36)
    data = path.read_bytes()
    kept = data[: mutations.batch_positions(data)[-1]]
    producer = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
    data = batch([Record(51, value=b"v"), Record(52)], attributes=0x10, **producer)
    marker = batch([Record(53, key=b"x", value=b"y")], attributes=0x30, **producer)
    path.write_bytes(kept + data + marker)


def test_a_transaction_marker_that_cannot_be_read_is_the_consumers_error(tmp_path: Path) -> None:
    mutations.build(tmp_path / "data", _with_a_false_marker)
    mutations.with_recovery_points(tmp_path / "data")
    prediction = open_log_directory(tmp_path / "data").predict_startup()
    assert prediction.starts
    told = " ".join(prediction[mutations.DAMAGED].unnoticed)
    assert "a read_committed consumer fails at offset 53: a batch cannot be read" in told


def test_a_marker_that_stops_a_broker_is_named_with_its_place(tmp_path: Path) -> None:
    mutations.build(tmp_path / "data", _with_a_false_marker)
    prediction = open_log_directory(tmp_path / "data").predict_startup()
    assert not prediction.starts
    reason = prediction[mutations.DAMAGED].reason
    assert f"{36:020d}.log at byte" in reason
    assert "key" in reason
