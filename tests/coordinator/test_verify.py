"""`verify` says what a broker's coordinators would stumble over."""

from pathlib import Path

import pytest

import workbench
from tests.cli.program import run
from tests.coordinator.writing import TIME, CoordinatorLog, commit, transaction
from tests.golden.cases import open_case
from tests.naive import Record, batch
from workbench.inspection.findings import KINDS

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


def _kinds(root: Path, **options: object) -> list[str]:
    found = workbench.open_log_directory(root).verify(**options)  # type: ignore[arg-type]
    kinds = [finding.kind for finding in found]
    assert set(kinds) <= set(KINDS)
    return [kind for kind in kinds if "group" in kind or "transaction" in kind]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return two logs with a record each that cannot be loaded."""
    groups = CoordinatorLog(tmp_path)
    groups.append(commit("g", "foo", 0, 1), (None, b"x"))
    groups.write()
    ids = CoordinatorLog(tmp_path, "__transaction_state")
    ids.append(transaction("a"), (None, b"x"))
    return ids.write()


def test_records_that_no_broker_loads(directory: Path) -> None:
    assert _kinds(directory) == ["group-record", "transaction-record"]
    assert _kinds(directory, topics=["__consumer_offsets"]) == ["group-record"]
    assert _kinds(directory, topics=["__transaction_state"]) == ["transaction-record"]
    assert _kinds(directory, deep=False) == []
    assert _kinds(directory, partitions=[0]) == []
    table = workbench.open_log_directory(directory).inspect.findings()
    assert {"group-record", "transaction-record"} <= set(table["kind"].to_pylist())
    outcome = run("verify", directory, "--json")
    assert outcome.code == 2
    assert {"group-record", "transaction-record"} <= {each["kind"] for each in outcome.json}


def test_a_transaction_that_hangs(tmp_path: Path) -> None:
    ids = CoordinatorLog(tmp_path, "__transaction_state")
    ids.append(transaction("a", producerId=42))
    ids.write()
    folder = tmp_path / "foo-0"
    folder.mkdir()
    open_batch = batch(
        [Record(0, TIME, None, b"x")], attributes=0x10, producer_id=42, producer_epoch=3
    )
    (folder / f"{0:020}.log").write_bytes(open_batch)
    assert _kinds(tmp_path) == ["hanging-transaction"]
    assert _kinds(tmp_path, topics=["foo"]) == ["hanging-transaction"]
    (finding,) = (each for each in workbench.verify(tmp_path) if each.kind == "hanging-transaction")
    assert (finding.offset, finding.position, finding.severity) == (0, 0, "warning")
    assert "last stable offset remains 0" in finding.broker


def test_a_cut_tail_leaves_a_transaction_that_hangs(tmp_path: Path) -> None:
    """A real broker's log that lost the marker: its coordinator has completed the transaction."""
    case = open_case("k2.3-damage", tmp_path)
    found = [
        Path(finding.path).parent.name
        for finding in workbench.verify(case.directory("clean-before"))
        if finding.kind == "hanging-transaction"
    ]
    assert found == ["d-cut-header-0", "d-empty-last-0", "d-flip-last-0"]


def test_a_sound_directory_has_none() -> None:
    assert _kinds(SHOP) == []


def test_a_file_that_went_meanwhile_is_no_crash(directory: Path) -> None:
    logs = workbench.open_log_directory(directory)
    assert logs["__consumer_offsets-0"].segments
    assert logs["__transaction_state-0"].segments
    for path in directory.glob("*/*.log"):
        path.unlink()
    assert [each.kind for each in logs.verify() if "record" in each.kind] == []
