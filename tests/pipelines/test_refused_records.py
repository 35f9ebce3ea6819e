"""Records that an upsert refuses: no row is lost for them, and each is in a table of its own."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import run
from tests.naive import Record
from tests.pipelines.planted import AGAIN, Disk, Place
from workbench.errors import OutputError
from workbench.pipelines import to_table

FORMATS = ("parquet", "delta", "iceberg")
UPSERT: dict[str, Any] = {"mode": "upsert", "decode": {"key": "utf8", "value": "json"}}


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path / "broker")


def put(disk: Disk, first: int, *given: tuple[bytes, bytes | None]) -> None:
    disk.append("orders-0", [Record(at, 1, key, v) for at, (key, v) in enumerate(given, first)])


class Refused(Place):
    """The table of what is refused."""

    def __init__(self, lake: Place) -> None:
        self.__dict__.update(lake.__dict__)
        self.table_name = f"{lake.table_name}_refused"


@pytest.mark.parametrize("form", FORMATS)
def test_the_newest_value_that_can_be_decoded_counts_and_the_others_are_kept(
    disk: Disk, tmp_path: Path, form: str
) -> None:
    lake = Place(form, tmp_path / "lake")
    told: list[str] = []
    put(disk, 0, (b"a", b'{"n":1}'), (b"b", b'{"n":2}'), (b"a", b"bad"), (b"c", b"\xff"),
        (b"d", b'{"n":3}'), (b"d", None), (b"d", b"worse"), (b"a", b"bad again"))  # fmt: skip
    (row,) = to_table(disk.path, **lake.arguments, **UPSERT, tell=told.append).to_pylist()
    counts = [row[n] for n in ("records", "superseded", "tombstones", "undecoded")]
    assert (counts, sum(counts), row["log_end_offset"]) == ([2, 2, 1, 3], 8, 8)
    assert lake.rows(("key", "n", "offset")) == [("a", 1, 0), ("b", 2, 1)]
    refused = Refused(lake)
    columns = ("topic", "partition", "offset", "key", "value")
    first = [
        ("orders", 0, 3, "c", b"\xff"),
        ("orders", 0, 6, "d", b"worse"),
        ("orders", 0, 7, "a", b"bad again"),
    ]
    assert refused.rows(columns) == first
    assert {row[0] for row in refused.rows(("reason",))} == {"not a JSON object"}
    assert any("_refused" in each for each in told)

    put(disk, 8, (b"b", b"bad"), (b"c", b'{"n":4}'))
    to_table(disk.path, **lake.arguments, **UPSERT, tell=told.append)
    assert lake.rows(("key", "n", "offset")) == [("a", 1, 0), ("b", 2, 1), ("c", 4, 9)]
    assert refused.rows(columns) == sorted([*first, ("orders", 0, 8, "b", b"bad")])


@pytest.mark.parametrize("form", FORMATS)
def test_a_run_that_dies_between_the_two_commits_refuses_each_record_once(
    disk: Disk, tmp_path: Path, form: str
) -> None:
    lake = Place(form, tmp_path / "lake")
    put(disk, 0, (b"a", b'{"n":1}'))
    to_table(disk.path, **lake.arguments, **UPSERT)
    put(disk, 1, (b"a", b"bad"), (b"b", b'{"n":2}'))

    def dies(sentence: str) -> None:
        assert "_refused" not in sentence, "the process is dead"

    with pytest.raises(AssertionError, match="dead"):
        to_table(disk.path, **lake.arguments, **UPSERT, tell=dies)
    assert lake.rows(("key", "n")) == [("a", 1)]
    for _ in range(2):
        to_table(disk.path, **lake.arguments, **UPSERT, tell=print)
    assert lake.rows(("key", "n")) == [("a", 1), ("b", 2)]
    assert Refused(lake).rows(("offset", "value")) == [(1, b"bad")]


def test_a_mask_keeps_refused_values_private(disk: Disk, tmp_path: Path) -> None:
    lake = Place("parquet", tmp_path / "lake")
    put(disk, 0, (b"a", b'{"mail":"m"}'), (b"b", b"me@example.org"))
    to_table(disk.path, **lake.arguments, **UPSERT, mask="orders value.mail drop", tell=print)
    assert Refused(lake).rows(("key", "value", "reason")) == [("b", None, None)]


def test_a_table_of_something_else_is_not_written_into(disk: Disk, tmp_path: Path) -> None:
    put(disk, 0, (b"a", b"bad"))
    to_table(disk.path, tmp_path / "t_refused")
    with pytest.raises(OutputError, match="is not the table of what is refused from"):
        to_table(disk.path, tmp_path / "t", **UPSERT, tell=print)


def test_a_topic_does_not_share_its_table_with_what_is_refused(disk: Disk, tmp_path: Path) -> None:
    put(disk, 0, (b"a", b"bad"))
    disk.append("orders_refused-0", [Record(0, 1, b"a", b'{"n":1}')], AGAIN)
    to = tmp_path / "{topic}"
    with pytest.raises(ValueError, match=r"topic orders_refused would share the table .* refuses"):
        to_table(disk.path, to, **UPSERT, tell=print)
    assert [*tmp_path.iterdir()] == [tmp_path / "broker"]
    (row,) = to_table(disk.path, to, **UPSERT, topics="orders_refused", tell=print).to_pylist()
    assert row["records"] == 1


def test_a_strict_run_fails_for_a_refused_record_and_a_dry_one_writes_none(
    disk: Disk, tmp_path: Path
) -> None:
    put(disk, 0, (b"a", b'{"n":1}'), (b"a", b"bad"))
    command = ("to-table", disk.path, "--to", tmp_path / "t", "--upsert", "--value-format", "json")
    dry = run(*command, "--dry-run", "--strict")
    assert (dry.code, sorted(each.name for each in tmp_path.iterdir())) == (2, ["broker"])
    done = run(*command, "--strict")
    assert (done.code, f"{tmp_path / 't'}_refused" in done.err) == (2, True)
