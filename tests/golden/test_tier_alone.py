"""All brokers are gone and the bucket is left: a remote tier that is opened without directories.

What it gives is what consumers of the recorded brokers read, up to where the tier ends.
"""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow.dataset as ds
import pytest

import workbench as wb
from tests.cli.program import run
from tests.golden.cases import Case
from tests.golden.test_remote_tier_golden import CASES, LEVELS, consumed, scanned, told
from workbench.errors import LogDirectoryError
from workbench.inspection.transactions import read_transactions
from workbench.pipelines import to_table

Golden = Callable[[str], Case]
Isolation = Any
TIERED: Final = {"4.2.0-tiered": {"tier-deleted": 148, "tier-local": 188}}
"""Topic → where the tier ends, by the names of its files and their last batches."""


def below(rows: list[tuple[Any, ...]], first: int, end: int) -> list[tuple[Any, ...]]:
    return [row for row in rows if first <= row[0] < end]


@pytest.mark.parametrize("isolation", LEVELS)
@pytest.mark.parametrize("name", CASES)
def test_a_tier_alone_gives_what_consumers_read_up_to_its_end(
    name: str, isolation: Isolation, golden: Golden
) -> None:
    case = golden(name)
    logs = wb.open_log_directory(case.path / "tier")
    expected = told(case.consumed(isolation))
    assert {each.topic for each in logs.values()} == set(expected)
    for topic, rows in expected.items():
        partition = logs[f"{topic}-0"]
        assert partition.topic_id is not None
        start, end = partition.log_start_offset, partition.log_end_offset
        assert end == TIERED.get(name, {}).get(topic, end)
        if isolation == "read_committed":  # the marker of the last transaction may be local
            end = read_transactions(partition).last_stable_offset
        # The tier does not know that DeleteRecords has moved the log start offset.
        found = below(scanned(logs, topic, isolation), rows[0][0], end)
        assert found == below(rows, start, end)
        assert len(found) > 30
    assert logs.verify() == []


@pytest.mark.parametrize("as_remote", [False, True])
def test_a_manifest_names_the_topic_and_not_the_prefix_of_the_folder(
    as_remote: bool,  # noqa: FBT001 - from pytest
    aiven: Path,
) -> None:
    assert [each.name for each in (aiven / "tier").iterdir()] == [
        "cluster1-paid-1J1AOWzlS16i7CFBC_5i7w"
    ]
    keys = {"key1": aiven / "private.pem"}
    given: Any = () if as_remote else aiven / "tier"
    remote = aiven / "tier" if as_remote else None
    logs = wb.open_log_directory(given, remote=remote, remote_keys=keys)
    assert [each.name for each in logs.values()] == ["paid-0"]
    rows = consumed(aiven, "read_uncommitted")
    for opened in (logs, pickle.loads(pickle.dumps(logs)), logs.listed_again()):  # noqa: S301
        assert scanned(opened, "paid", "read_uncommitted") == below(rows, 0, 274)


def test_commands_read_a_tier_by_its_path_and_by_remote(golden: Golden, tmp_path: Path) -> None:
    tier = golden("4.2.0-tiered").path / "tier"
    for place in ([tier], ["--remote", tier]):
        listed = run("ls", *place, "--json").json
        assert listed["totals"]["remote_segments"] == 15
        stored = sum(path.stat().st_size for path in tier.glob("*/*.log"))
        assert listed["totals"]["remote_size"] == stored
        by_size = run("ls", *place, "--sort", "size", "--json").json["partitions"]
        assert by_size[0]["name"] == "tier-local-0"
        assert run("search", *place, "--count").out.strip() == "616"
        assert run("search", *place, "k5", "-t", "tier-local", "--count").code == 0
        dumped = run("dump", *place, "-t", "tier-local", "--json").lines
        assert [row["offset"] for row in dumped] == [*range(188)]
        (counted,) = run("sql", *place, "select count(*) n from records", "--json").json
        assert counted == {"n": 616}
        target = tmp_path / f"{len(place)}.parquet"
        assert run("export", *place, target).code == 0
        assert ds.dataset(target).count_rows() == 616
        assert run("offset", "tier-txn-0", "5", *place, "--json").json["fate"] == "record"
    to_table(tier, tmp_path / "lake")
    assert ds.dataset(tmp_path / "lake", partitioning="hive").count_rows() > 500


@pytest.mark.parametrize("command", ["predict", "preflight", "explain", "stuck"])
def test_no_broker_starts_on_a_tier(command: str, golden: Golden) -> None:
    tier = golden("4.2.0-tiered").path / "tier"
    outcome = run(command, tier)
    assert outcome.code == 3
    assert "a remote tier without log directories: no broker starts there" in outcome.err


def test_where_neither_path_nor_tier_is_given_the_path_is_asked_for() -> None:
    assert "Missing argument 'PATH...'" in run("ls").err
    with pytest.raises(LogDirectoryError, match="no path was given"):
        wb.open_log_directory(())
