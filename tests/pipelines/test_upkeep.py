"""A table whose files its owner joins, and whose old ones are deleted, is loaded on."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

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
