"""A table whose files are joined, and whose old ones are deleted, is loaded on."""

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest
from deltalake import DeltaTable as Delta
from pyiceberg.catalog import load_catalog

from tests.pipelines.planted import Disk, Place, orders
from workbench.pipelines import to_table

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_upkeep_with_the_tools_of_a_format_loses_no_position(form: str, tmp_path: Path) -> None:
    disk = Disk(tmp_path / "broker")
    lake = Place(form, tmp_path / "lake")
    for first in range(0, 8, 2):
        disk.append("orders-0", orders(first, first + 2))
        to_table(disk.path, **lake.arguments)
    before = lake.everything()
    if form == "delta":
        table = Delta(str(lake.folder / "t"))
        assert table.optimize.compact()["numFilesRemoved"] > 0
        table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
        table.create_checkpoint()
        table.cleanup_metadata()
    else:
        iceberg = load_catalog(None, **lake.options).load_table("lake.t")
        newest = max(each.timestamp_ms for each in iceberg.snapshots())
        iceberg.maintenance.expire_snapshots().older_than(
            EPOCH + timedelta(milliseconds=newest)
        ).commit()
        assert len(load_catalog(None, **lake.options).load_table("lake.t").snapshots()) == 1
    assert lake.everything() == before
    disk.append("orders-0", orders(8, 12))
    loads = [to_table(disk.path, **lake.arguments)["records"].to_pylist() for _ in range(2)]
    assert loads == [[4], [0]]
    assert lake.rows(("offset",)) == [(at,) for at in range(12)]


@pytest.mark.parametrize("form", ["parquet", "delta", "iceberg"])
@pytest.mark.parametrize("mode", [pytest.param("append", marks=pytest.mark.long), "upsert"])
def test_a_run_may_join_small_files(
    form: str, mode: Literal["append", "upsert"], tmp_path: Path
) -> None:
    disk = Disk(tmp_path / "broker")
    lake = Place(form, tmp_path / "lake")
    for first in range(0, 8, 2):
        disk.append("orders-0", orders(first, first + 2, late=first))
        to_table(disk.path, **lake.arguments, mode=mode, decode="json")
    before = lake.everything()
    for old in lake.folder.rglob("_manifests/*[1-3].json"):
        os.utime(old, (1, 1))  # 1970
    if form == "iceberg":
        table = load_catalog(None, **lake.options).load_table("lake.t")
        with table.transaction() as transaction:
            transaction.set_properties({"history.expire.max-snapshot-age-ms": "0"})
    told: list[str] = []
    to_table(disk.path, **lake.arguments, mode=mode, tell=told.append, optimize=True)
    assert lake.everything() == before
    if form == "parquet":
        files = sorted(path.parent for path in lake.folder.rglob("*.parquet"))
        assert files == sorted(set(files))
        assert len(list(lake.folder.rglob("_manifests/*.json"))) == 2
        assert told[-1].endswith(", 3 old manifests deleted")
    elif form == "delta":
        added = pa.table(Delta(str(lake.folder / "t")).get_add_actions(flatten=True))
        days = added["partition.day"].to_pylist()
        assert len(days) == len(set(days))
    else:
        assert len(load_catalog(None, **lake.options).load_table("lake.t").snapshots()) == 1
        assert "rewrite_data_files('lake.t')" in told[-1]
    assert form == "iceberg" or re.search(r"t: [1-9]\d* small files joined into \d", told[-1])
    disk.append("orders-0", orders(8, 12))
    loads = [
        to_table(disk.path, **lake.arguments, mode=mode, optimize=True, tell=told.append)
        for _ in range(2)
    ]
    assert [load["records"].to_pylist() for load in loads] == [[4], [0]]
