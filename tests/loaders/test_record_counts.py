"""How many records consumers get: as clients of a running broker counted, and as a scan gives."""

from pathlib import Path

import pytest

import workbench as wb
from tests.cli.program import run
from tests.field.cases import FieldCase, open_field_case
from tests.golden.cases import Case, open_case
from workbench.inspection.transactions import IsolationLevel
from workbench.loaders.offsets.record_counts import count_records

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
NAMES = (
    "4.2.0-txn", "4.2.0-compact-txn", "2.8.2-compact-txn", "4.2.0-retention", "k0.11-transactions",
    "k0.8.2-compaction", "k0.10.0-mixed-wrapper", "k0.10.2-message-format", "4.2.0-raft",
)  # fmt: skip


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> FieldCase:
    return open_field_case("how-many-messages", tmp_path_factory.mktemp("counts"))


def test_counts_are_those_of_consumers_of_the_running_broker(case: FieldCase) -> None:
    table = wb.open_log_directory(case.data).inspect.record_counts().to_pylist()
    rows = {row["topic"]: row for row in table}
    for topic in ("transfers", "balances"):
        gets = case.truth["n"]
        assert rows[topic]["records"] == gets[f"{topic} read_uncommitted"]
        assert rows[topic]["records_read_committed"] == gets[f"{topic} read_committed"]
        start, end = rows[topic]["log_start_offset"], rows[topic]["log_end_offset"]
        assert [start, end] == case.truth["watermarks"][topic]
        assert rows[topic]["offsets"] == end - start
    assert rows["transfers"]["control_records"] == 20
    assert rows["transfers"]["aborted_records"] == 5
    assert (rows["events"]["records"], rows["events"]["records_read_committed"]) == (27, 27)


def test_ls_counts_by_topic_and_partition(case: FieldCase) -> None:
    told = run("ls", case.data, "--records", "--topics", "--json").json
    counts = {t["topic"]: (t["records"], t["records_read_committed"]) for t in told["topics"]}
    assert (counts["transfers"], counts["balances"]) == ((100, 95), (13, 13))
    assert counts["events"] == (27, 27)
    assert told["totals"]["records"] == sum(each for each, _ in counts.values())
    shown = run("ls", case.data, "--records", "-t", "transfers").out
    assert "committed" in shown.splitlines()[0]
    assert run("ls", case.data, "--json").json["totals"]["records"] is None


def _matches(logs: wb.LogDirectory) -> int:
    asked = 0
    for name, partition in logs.items():
        counts = count_records(partition)
        by_level: dict[IsolationLevel, int] = {
            "read_uncommitted": counts.records,
            "read_committed": counts.committed,
        }
        for level, count in by_level.items():
            scan = logs.scan(partitions=name, columns=["offset"], isolation_level=level)
            assert scan.to_arrow().num_rows == count, (name, level)
            asked += count > 0
        control = logs.scan(partitions=name, columns=["is_control"], include_control=True)
        assert sum(control.to_arrow()["is_control"].to_pylist()) == counts.control
    return asked


@pytest.mark.parametrize("name", NAMES)
def test_counts_are_those_of_a_scan(name: str, tmp_path: Path) -> None:
    golden: Case = open_case(name, tmp_path)
    for label in (golden.labels[0], golden.labels[-1]):
        assert _matches(wb.open_log_directory(golden.directory(label)))


def test_counts_of_the_sample_are_those_of_a_scan() -> None:
    assert _matches(wb.open_log_directory(SHOP)) > 10
