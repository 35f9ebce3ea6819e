"""Local and remote segments read as one log: what consumers read through the broker's remote tier.

The cases' brokers copied segments to a `LocalTieredStorage`, deleted local ones by
`local.retention.bytes`, remote ones by `retention.bytes`, and records by DeleteRecords.
"""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.golden.cases import Case

Golden = Callable[[str], Case]
Isolation = Any

CASES = ["3.9.1-tiered", "4.2.0-tiered"]
LEVELS = ["read_uncommitted", "read_committed"]


def told(case: Case, isolation: Isolation) -> dict[str, list[tuple[Any, ...]]]:
    """Return what the consumer read, by topic."""
    found = defaultdict(list)
    for row in case.consumed(isolation):
        found[row["topic"]].append((row["offset"], row["timestamp"], row["key"], row["value"]))
    return found


def scanned(logs: wb.LogDirectory, topic: str, isolation: Isolation) -> list[tuple[Any, ...]]:
    table = logs.scan(topics=topic, isolation_level=isolation).to_arrow()
    stamps = table["timestamp"].cast("int64").to_pylist()
    texts = [
        [None if each is None else each.hex() for each in table[name].to_pylist()]
        for name in ("key", "value")
    ]
    return list(zip(table["offset"].to_pylist(), stamps, *texts, strict=True))


def without_metadata(case: Case, into: Path) -> wb.LogDirectory:
    """Open a case as if its `__remote_log_metadata` were on other brokers."""
    folder = into / case.name
    folder.mkdir()
    for each in case.directory("data").iterdir():
        if not each.name.startswith("__remote_log_metadata"):
            (folder / each.name).symlink_to(each)
    return wb.open_log_directory(
        [each for each in folder.iterdir() if each.is_dir() and each.name.startswith("tier-")],
        remote=case.path / "tier",
    )


@pytest.mark.parametrize("isolation", LEVELS)
@pytest.mark.parametrize("name", CASES)
def test_remote_and_local_segments_read_as_the_log_that_a_consumer_read(
    name: str, isolation: Isolation, golden: Golden
) -> None:
    case = golden(name)
    logs = wb.open_log_directory(case.directory("data"), remote=case.path / "tier")
    expected = told(case, isolation)
    assert {topic: scanned(logs, topic, isolation) for topic in expected} == expected
    beginnings = case.info["headline"]["listOffsets"][isolation]
    for partition, (start, end) in beginnings.items():
        assert (logs[partition].log_start_offset, logs[partition].log_end_offset) == (start, end)


@pytest.mark.parametrize("name", CASES)
def test_without_the_metadata_topic_the_files_alone_give_the_same_records(
    name: str, golden: Golden, tmp_path: Path
) -> None:
    case = golden(name)
    logs = without_metadata(case, tmp_path)
    expected = told(case, "read_uncommitted")
    for topic, rows in expected.items():
        first = rows[0][0]  # a partition that is opened alone has no checkpoint of its start
        found = scanned(logs, topic, "read_uncommitted")
        assert [row for row in found if row[0] >= first] == rows
    assert {p.remote.contents.source for p in logs.values() if p.remote} == {"files"}
