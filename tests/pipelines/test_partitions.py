"""Tables that are divided by columns of their own, and the sizes of their files."""

import json
from pathlib import Path
from random import Random
from typing import Any, Literal

import duckdb
import pytest
from deltalake import DeltaTable as Delta
from pyiceberg.catalog import load_catalog

from tests.cli.program import run
from tests.naive import Record
from tests.pipelines.planted import IDS, Disk, Place, orders
from workbench.errors import SchemaError
from workbench.pipelines import to_table

Mode = Literal["append", "upsert"]
COUNTRIES = [
    "DE", None, "007", "7", "a/b", "a=b", "..", "%2F", " ü\n", "a" * 200,
    "__HIVE_DEFAULT_PARTITION__", "0" * 99 + "1", "0" * 99 + "2",
]  # fmt: skip
UNFIT = ["", "x" * 250, "日" * 40]
COLUMNS = ["country", "partition", "paid"]


def bought(first: int, countries: list[str | None], **more: Any) -> list[Record]:
    """Return records with these countries."""
    values = [
        {"country": each, "paid": at % 2 == 0} | more for at, each in enumerate(countries, first)
    ]
    return [
        Record(at, at, b"k%d" % at, json.dumps(each).encode())
        for at, each in enumerate(values, first)
    ]


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    made = Disk(tmp_path / "broker")
    made.append("orders-0", bought(0, [*COUNTRIES, *UNFIT]))
    return made


def partitions_of(place: Place) -> set[str | None]:
    """Return the values of ``country`` that the format itself knows of files."""
    if place.form == "delta":
        assert Delta(place.arguments["to"]).metadata().partition_columns[2:] == COLUMNS
        return {each["country"] for each in Delta(place.arguments["to"]).partitions()}
    if place.form == "iceberg":
        table = load_catalog(None, **place.options).load_table("lake.t")
        for each in COUNTRIES[-3:]:
            assert table.scan(f"country == '{each}'").to_arrow().num_rows == 1
        rows = table.inspect.partitions()["partition"].to_pylist()
        return {each["country"] for each in rows}
    files = str(place.folder / "t" / "**" / "*.parquet")
    with duckdb.connect() as connection:
        found = connection.read_parquet(files, hive_partitioning=True)
        return {row[0] for row in found.select("by_country").fetchall()}


LONG = pytest.mark.long
ICEBERG_IS_LONG = ["parquet", "delta", pytest.param("iceberg", marks=LONG)]


@pytest.mark.parametrize(
    ("place", "mode"),
    [
        *((form, mode) for form in ("parquet", "delta") for mode in ("append", "upsert")),
        ("iceberg", "upsert"),
        pytest.param("iceberg", "append", marks=LONG),
    ],
    indirect=["place"],
)
def test_a_table_is_divided_by_any_values_and_has_each(
    disk: Disk, place: Place, mode: Mode
) -> None:
    """What no folder can be named after is rescued."""
    options: dict[str, Any] = {**place.arguments, "mode": mode, "decode": "json", "tell": print}
    done = to_table(disk.path, **options, partition_by=COLUMNS)
    assert done["rescued"].to_pylist() == [len(UNFIT)]
    rows = place.table().sort_by("offset").to_pylist()
    assert [row["country"] for row in rows] == [*COUNTRIES, *[None] * len(UNFIT)]
    assert [row["paid"] for row in rows] == [at % 2 == 0 for at in range(len(rows))]
    rescued = [json.loads(row["_rescued"] or "{}").get("value.country") for row in rows]
    assert rescued == [*[None] * len(COUNTRIES), *UNFIT]
    found = partitions_of(place)
    if place.form == "parquet":  # a value that means null in folders has a name of its own there
        found = {"__HIVE_DEFAULT_PARTITION__" if "HIVE" in str(each) else each for each in found}
    assert found == set(COUNTRIES)
    # Later runs keep the partitions; a row moves with its value.
    disk.append("orders-0", [Record(20, 20, b"k0", b'{"country": "FR", "paid": false, "late": 1}')])
    to_table(disk.path, **options)
    assert "FR" in partitions_of(place)
    countries = [row["country"] for row in place.table().to_pylist()]
    assert countries.count("DE") == (1 if mode == "append" else 0)
    for other in COLUMNS[::-1], ():
        with pytest.raises(SchemaError, match=r"is partitioned by topic, day, country, partition,"):
            to_table(disk.path, **options, partition_by=other)
    assert to_table(disk.path, **options, partition_by=["day", *COLUMNS])[
        "records"
    ].to_pylist() == [0]


@pytest.mark.parametrize(
    ("column", "fields", "sentence"),
    [
        ("land", {}, "no column land to divide .* declare its type"),
        ("deep", {"deep": {"a": 1}}, "deep is struct<.*>, .*expected text, a whole number"),
        ("country", {"by_country": 1}, "by_country is a field, and names the folders"),
        ("c" * 101, {"c" * 101: 1}, "is too long a name"),
    ],
)
def test_what_cannot_divide_a_table_is_refused(
    tmp_path: Path, column: str, fields: dict[str, Any], sentence: str
) -> None:
    disk = Disk(tmp_path / "broker")
    disk.append("orders-0", bought(0, ["DE"], **fields))
    with pytest.raises(SchemaError, match=sentence):
        to_table(disk.path, tmp_path / "t", decode="json", partition_by=column)
    assert not (tmp_path / "t").exists()
    with pytest.raises(SchemaError, match="identifies rows by key"):
        to_table(
            disk.path, tmp_path / "t", decode={"key": "utf8"}, partition_by="key", mode="upsert"
        )


@pytest.mark.parametrize("place", ICEBERG_IS_LONG, indirect=True)
@pytest.mark.parametrize("mode", ["append", pytest.param("upsert", marks=LONG)])
def test_files_have_about_the_size_that_is_asked_for(
    tmp_path: Path, place: Place, mode: Mode
) -> None:
    """Of large records and small ones, in one table."""
    disk, random = Disk(tmp_path / "broker", per_batch=500), Random(1)
    for topic, size in ("orders", 1000), ("people", 60):
        values = [random.randbytes(size) for _ in range(600_000 // size)]
        disk.append(
            f"{topic}-0", [Record(at, 1, b"%d" % at, each) for at, each in enumerate(values)]
        )
    to_table(disk.path, **place.arguments, mode=mode, target_file_size=200_000)
    sizes = sorted(path.stat().st_size for path in place.folder.rglob("*.parquet"))
    assert len(place.table()) == 10_600
    if (place.form, mode) != ("delta", "upsert"):  # deltalake counts otherwise
        assert 7 <= len(sizes) <= 12
        assert 150_000 < sizes[len(sizes) // 2] < 250_000
    else:
        assert len(sizes) >= 4
    told: list[str] = []
    to_table(
        disk.path, **place.arguments, mode=mode, target_file_size=450_000, optimize=True,
        tell=told.append,
    )  # fmt: skip
    assert "joined into" in told[-1] or place.form == "iceberg"
    assert len(place.table()) == 10_600


def test_the_command_divides_and_sizes(disk: Disk, tmp_path: Path) -> None:
    words: list[str | Path] = ["--to", tmp_path / "t", "--value-format", "json"]
    more = ["--partition-by", "country, paid", "--target-file-size", "1.5 MiB"]
    assert run("to-table", disk.path, *words, *more).code == 0
    (manifest,) = tmp_path.rglob("_manifests/*.json")
    assert json.loads(manifest.read_text())["partition_by"] == ["country", "paid"]
    refused = run("to-table", disk.path, *words, "--partition-by", "paid")
    assert refused.code == 3
    assert "orders is not loaded: " in refused.err
    assert "is partitioned by topic, day, country, paid (asked for topic, day, paid)" in refused.err
    bad = run("to-table", disk.path, *words, "--target-file-size", "large")
    assert bad.code != 0
    assert "'large' is not a size (expected one such as 128MiB)" in bad.err


@pytest.mark.parametrize("place", ICEBERG_IS_LONG, indirect=True)
@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_a_topic_with_a_name_that_is_too_long_stops_no_other(
    tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch, mode: Mode
) -> None:
    """Its folder has a shorter one; deltalake, which writes an upsert itself, has none."""
    disk, long = Disk(tmp_path / "broker"), "日" * 80
    for topic in long, "n" * 249, "orders":
        monkeypatch.setitem(IDS, topic, IDS["orders"])
        disk.append(f"{topic}-0", orders(0, 3))
    failed: dict[str, Exception] = {}
    to_table(disk.path, **place.arguments, mode=mode, on_failure=failed.__setitem__)
    is_refused = (place.form, mode) == ("delta", "upsert")
    assert list(failed) == [long] * is_refused
    assert all("name of the topic is too long" in str(each) for each in failed.values())
    topics = ["n" * 249, "orders"] + [long] * (not is_refused)
    assert place.rows(("topic", "offset")) == sorted((t, at) for t in topics for at in range(3))
