"""A log or topic that cannot be loaded does not stop the others of a run, and is reported."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import run
from tests.naive import Record
from tests.pipelines.planted import Disk, Place, orders
from workbench.errors import LogDirectoryError, SchemaError
from workbench.pipelines import to_table

TEXT: dict[str, Any] = {"decode": {"key": "utf8", "value": "json"}}
BAD_KEY = Record(9, 1, b"\xff\xfe", b'{"number": 1}')


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    made = Disk(tmp_path / "broker")
    for topic in ("orders", "people", "zones"):
        made.append(f"{topic}-0", orders(0, 9))
    return made


def loaded(place: Place) -> dict[str, int]:
    """Return topic → how many rows the table has of it."""
    topics = [row[0] for row in place.rows()]
    return {topic: topics.count(topic) for topic in topics}


def test_a_log_that_is_not_the_one_before_stops_no_other(disk: Disk, place: Place) -> None:
    to_table(disk.path, **place.arguments)
    shutil.rmtree(disk.path / "people-0")
    disk.append("people-0", orders(0, 4))
    disk.append("orders-0", orders(9, 12))
    disk.append("zones-0", orders(9, 11))
    with pytest.raises(LogDirectoryError, match="people-0 ends at offset 4"):
        to_table(disk.path, **place.arguments)
    assert loaded(place) == {"orders": 12, "people": 9, "zones": 11}
    failed: dict[str, Exception] = {}
    done = to_table(disk.path, **place.arguments, on_failure=failed.__setitem__)
    assert list(failed) == ["people-0"]
    assert done["topic"].to_pylist() == ["orders", "zones"]


def test_a_topic_whose_keys_cannot_be_decoded_stops_no_other(disk: Disk, place: Place) -> None:
    disk.append("people-0", [BAD_KEY])
    failed: dict[str, Exception] = {}
    options = {**TEXT, "mode": "upsert", "on_failure": failed.__setitem__}
    done = to_table(disk.path, **place.arguments, **options)
    assert {name: type(error) for name, error in failed.items()} == {"people": SchemaError}
    assert "offset 9 cannot be decoded" in str(failed["people"])
    assert loaded(place) == {"orders": 7, "zones": 7}
    assert done["topic"].to_pylist() == ["orders", "zones"]
    assert to_table(disk.path, **place.arguments, **options)["records"].to_pylist() == [0, 0]


def test_the_first_error_is_raised_at_the_end_and_names_the_others(
    disk: Disk, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An error lets go of the rows at once: nobody waits until Arrow's threads have had time.
    monkeypatch.setattr("workbench.pipelines.lake.data_files._PATIENCE", 3600)
    disk.append("people-0", [BAD_KEY])
    disk.append("orders-0", [BAD_KEY])
    with pytest.raises(SchemaError, match="orders-0") as raised:
        to_table(disk.path, **place.arguments, **TEXT, mode="upsert")
    (note,) = raised.value.__notes__
    assert note.startswith("people is not loaded, either: ")
    assert loaded(place) == {"zones": 7}


def test_the_command_loads_the_others_and_fails(disk: Disk, tmp_path: Path) -> None:
    disk.append("people-0", [BAD_KEY])
    words: list[str | Path] = ["--to", tmp_path / "{topic}", "--key-format", "utf8", "--upsert"]
    done = run("to-table", disk.path, *words)
    assert done.code == 3
    assert "people is not loaded: " in done.err
    assert "14 records loaded into " in done.err
    assert "people" not in done.out


def test_a_dry_run_says_what_a_run_would_do_and_writes_nothing(disk: Disk, place: Place) -> None:
    options = {**place.arguments, **TEXT}
    told: list[str] = []
    planned = to_table(disk.path, **options, tell=told.append, dry_run=True)
    assert planned["records"].to_pylist() == [9, 9, 9]
    (sentence,) = told
    assert " would be made with the columns topic " in sentence
    assert ", number int64" in sentence
    assert not [path for path in place.folder.rglob("*") if path.suffix in {".parquet", ".json"}]
    assert to_table(disk.path, **options).equals(planned)
    disk.append("people-0", orders(9, 11, paid=2.5))
    to_table(disk.path, **options, tell=told.append, dry_run=True)
    assert ", paid double (new)" in told[-1]
    assert "number int64," in told[-1]
    assert "paid" not in place.table().column_names
    assert loaded(place) == {"orders": 9, "people": 9, "zones": 9}
