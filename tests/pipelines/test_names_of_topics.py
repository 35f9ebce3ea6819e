"""Topics of any name in tables: none is another one's, and none leaves its folder."""

import json
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.dataset as ds
import pytest

from tests.pipelines.planted import IDS, Disk, Place, orders
from workbench.errors import LogDirectoryError
from workbench.pipelines import to_table
from workbench.pipelines.lake import parquet_table
from workbench.pipelines.lake.data_files import PARTITIONED_BY

NUMBERS = ["007", "7", "1e3", "1.0", "2023-11-14", "true", "__HIVE_DEFAULT_PARTITION__"]
ODD = [
    *NUMBERS, "~7E", "s3:",
    ".", "..", "...", "a b", "a%2Fb", "a=b", "topic=x", "a'b", 'a"b', "a\nb", "a\\b", "a:b",
    "a?b", "a#b", "a|b", "[a]", "%00", "\x7f", "ü", "日本", "{topic}", ".hidden", "_x", "~",
    "n" * 249,
]  # fmt: skip


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk(tmp_path / "broker")
    for topic in ODD:
        monkeypatch.setitem(IDS, topic, IDS["orders"])
    return made


def test_a_reader_of_folders_takes_no_topic_for_a_number(disk: Disk, tmp_path: Path) -> None:
    for topic in NUMBERS:
        disk.append(f"{topic}-0", orders(0, 3))
        to_table(disk.path, tmp_path / topic, topics=topic)
    to_table(disk.path, tmp_path / "all")
    for table, topics in [("all", NUMBERS), *((each, [each]) for each in NUMBERS)]:
        files = f"{tmp_path}/{table}/**/*.parquet"
        wanted = sorted((each, at) for each in topics for at in range(3))
        with duckdb.connect() as connection:
            found = connection.read_parquet(files, hive_partitioning=True)
            assert sorted(found.select('topic, "offset"').fetchall()) == wanted
        frame = pl.read_parquet(files, hive_partitioning=True).select("topic", "offset")
        assert sorted(frame.rows()) == wanted
        found = ds.dataset(tmp_path / table, partitioning="hive").to_table(["topic", "offset"])
        assert sorted(tuple(row.values()) for row in found.to_pylist()) == wanted


@pytest.mark.parametrize("form", ["parquet", "delta", "iceberg"])
@pytest.mark.parametrize("is_each_its_own", [True, False])
def test_a_topic_of_any_name_has_its_rows_in_its_folder(
    disk: Disk, tmp_path: Path, form: str, *, is_each_its_own: bool
) -> None:
    for topic in ODD:
        disk.append(f"{topic}-0", orders(0, 1))
    lake = Place(form, tmp_path / "lake")
    given = dict(lake.arguments)
    if is_each_its_own:
        given["to"] = "lake.{topic}" if form == "iceberg" else str(lake.folder / "t" / "{topic}")
    before = set(tmp_path.rglob("*"))
    assert to_table(disk.path, **given)["records"].to_pylist() == [1] * len(ODD)
    assert to_table(disk.path, **given)["records"].to_pylist() == [0] * len(ODD)
    if not is_each_its_own:
        assert lake.rows(("topic",)) == sorted((each,) for each in ODD)
    elif form != "iceberg":
        made = set(tmp_path.rglob("*")) - before - {lake.folder, lake.folder / "t"}
        assert all((lake.folder / "t") in each.parents for each in made)
        assert len(list((lake.folder / "t").iterdir())) == len(ODD)


def test_a_name_that_is_not_utf_8_is_refused_and_the_others_can_be_chosen(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(IDS, "\udce9", IDS["orders"])
    disk.append("\udce9-0", orders(0, 3))
    disk.append("orders-0", orders(0, 3))
    with pytest.raises(LogDirectoryError, match=r"is not UTF-8 .* choose the other topics"):
        to_table(disk.path, tmp_path / "t")
    assert to_table(disk.path, tmp_path / "t", topics="orders")["records"].to_pylist() == [3]


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_a_table_of_an_earlier_version_goes_on_with_its_folders(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    lake = Place("parquet", tmp_path / "lake")
    disk.append("orders-0", orders(0, 20))
    with monkeypatch.context() as patch:
        patch.setattr(parquet_table, "FOLDERS", PARTITIONED_BY)
        to_table(disk.path, **lake.arguments, mode=mode)  # type: ignore[arg-type]
    (manifest,) = lake.folder.rglob("_manifests/*.json")
    there = json.loads(manifest.read_text())
    del there["folders"]
    manifest.write_text(json.dumps(there))
    disk.append("orders-0", orders(20, 26))
    to_table(disk.path, **lake.arguments, mode=mode)  # type: ignore[arg-type]
    first = 0 if mode == "append" else 19
    assert lake.rows(("topic", "offset")) == [("orders", at) for at in range(first, 26)]
    assert not list(lake.folder.rglob("by_topic=*"))
