"""The newest record of each key, with its tombstones, through every door."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.cli.program import run
from tests.field.cases import open_field_case
from workbench.loaders.scan.newest import newest_offsets
from workbench.record.buffers import BufferPool

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


def _by_hand(rows: Any) -> list[tuple[int, int]]:
    """Return partition and offset of the newest record of each key, from all records."""
    newest = {
        (row["partition"], row["key"]): row["offset"] for row in rows if row["key"] is not None
    }
    return sorted((partition, offset) for (partition, _), offset in newest.items())


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("topic", ["customers", "payments", "__consumer_offsets"])
def test_a_scan_gives_the_newest_record_of_each_key(topic: str, workers: int) -> None:
    logs = wb.open_log_directory(SHOP)
    for level in ("read_uncommitted", "read_committed"):
        options: Any = {"isolation_level": level, "workers": workers}
        expected = _by_hand(logs.scan(topic, **options))
        found = logs.scan(topic, latest=True, **options)
        assert [(row["partition"], row["offset"]) for row in found] == expected
        assert found.count() == len(expected)
        values = logs.scan(topic, latest=True, columns="value", **options).to_arrow()
        assert values.column_names == ["value"]
        assert values["value"].null_count == found.to_arrow()["value"].null_count


def test_connectors_stand_where_they_stopped_and_one_is_reset(tmp_path: Path) -> None:
    data = open_field_case("connect-offsets", tmp_path).data
    logs = wb.open_log_directory(data)
    found = logs.scan("connect-offsets", latest=True, decode={"key": "utf8", "value": "utf8"})
    rows = [(row["key"], row["partition"], row["offset"], row["value"]) for row in found]
    assert rows == [
        ('["jdbc-old",{"table":"t1"}]', 0, 13, None),
        ('["pg-source",{"server":"shop"}]', 3, 78, '{"lsn":1273,"txId":39}'),
        ('["files-in",{"filename":"/in/a.csv"}]', 3, 79, '{"position":19968}'),
    ]
    lines = run("dump", data, "-t", "connect-offsets", "--latest").lines
    assert [(each["partition"], each["offset"]) for each in lines] == [
        (row[1], row[2]) for row in rows
    ]
    assert lines[0]["value"] is None


def test_a_query_chooses_among_the_newest() -> None:
    logs = wb.open_log_directory(SHOP)
    newest = logs.scan("customers", latest=True).to_arrow()
    (offset,) = newest["offset"].to_pylist()[:1]
    key = newest["key"].to_pylist()[0].decode()
    found = [row["offset"] for row in logs.scan("customers", latest=True, where=f"key:{key}")]
    assert found == [offset]
    early = logs.scan("customers", partitions=0, latest=True, offsets=(0, 300))
    expected = _by_hand(logs.scan("customers", partitions=0, offsets=(0, 300)))
    assert [(row["partition"], row["offset"]) for row in early] == expected


def test_more_keys_than_memory_are_read_in_passes() -> None:
    reads = wb.open_log_directory(SHOP).scan("customers", partitions=0).plan()
    whole = newest_offsets(reads, BufferPool())
    assert len(whole) > 100
    for most in (10, 50):
        assert np.array_equal(newest_offsets(reads, BufferPool(), most=most), whole)


def test_contradictions_are_refused() -> None:
    with pytest.raises(ValueError, match="everything"):
        wb.open_log_directory(SHOP).scan("customers", latest=True, everything=True)
    assert run("dump", SHOP, "--latest", "--everything").code == 3
    assert run("dump", SHOP, "--latest", "--newest", "2").code == 3
