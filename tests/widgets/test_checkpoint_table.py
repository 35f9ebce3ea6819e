"""CheckpointTable without a browser: what is sent, when it is checked, and the picture."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import traitlets

import workbench as wb
from widgets import CheckpointTable, LogExplorer, _background

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHOP = SAMPLES / "shop-4.3.1"


def sent(table: CheckpointTable) -> Any:
    return table.get_state("_table")["_table"]


def test_contradictions_come_first_with_what_a_broker_would_do() -> None:
    table = CheckpointTable(SAMPLES / "damaged")
    rows = sent(table)["rows"]
    marked = [row["name"] for row in rows if row["findings"]]
    assert marked == [row["name"] for row in rows[: len(marked)]]
    (ahead,) = (row for row in rows if row["name"] == "log-start-ahead-0")
    assert ahead["offsets"]["log_start"] == "5000"
    (found,) = ahead["findings"]["log_start"]
    assert found["found"] == "log start offset 5,000"
    assert found["expected"] == "at most 72, the log end offset"
    assert "deletes all segments" in found["broker"]
    assert sent(table)["found"] == 8
    assert table.describe().endswith("8 contradictions")


def test_directories_have_names_that_tell_them_apart(tmp_path: Path) -> None:
    for disk in ("a", "b"):
        shutil.copytree(SAMPLES / "two-brokers" / "broker1", tmp_path / disk / "data")
    table = CheckpointTable([tmp_path / "a" / "data", tmp_path / "b" / "data"])
    assert [each["name"] for each in sent(table)["directories"]] == ["a/data", "b/data"]


def test_it_finds_what_verify_finds() -> None:
    table = CheckpointTable(SAMPLES / "damaged")
    verified = wb.open_log_directory(SAMPLES / "damaged").verify(deep=False, info=True)
    assert table.findings is not None
    assert set(table.findings) <= set(verified)
    *statements, last = table.query.splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(statements), names)  # noqa: S102 - what the widget shows
    assert eval(last, names) == table.checkpoints.partitions  # noqa: S307


def test_large_logs_are_compared_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_background, "LARGEST_AT_ONCE", 1)
    table = CheckpointTable(SAMPLES / "damaged")
    assert table.findings is None
    assert not sent(table)["is_checked"]
    assert sent(table)["rows"][-1]["offsets"]
    assert table.describe().endswith("not checked")
    assert table.to_png().startswith(b"\x89PNG")
    table.receive(table, {"kind": "check", "id": 1}, [])
    assert sent(table)["found"] == 8


def test_the_explorer_follows_a_row() -> None:
    logs = wb.open_log_directory(SHOP)
    table, explorer = CheckpointTable(logs), LogExplorer(logs)
    traitlets.link((explorer, "selected"), (table, "selected"))
    table.selected = {"partition": "clicks-1"}
    assert explorer.selected["partition"] == "clicks-1"
    assert explorer.selected["segment"] == 0


@pytest.mark.parametrize("name", ["era-0.8.2.2", "era-3.9.1", "two-brokers", ""])
def test_any_directory_has_a_picture(name: str, tmp_path: Path) -> None:
    paths = sorted((SAMPLES / name).iterdir()) if name == "two-brokers" else [SAMPLES / name]
    logs = wb.open_log_directory(paths if name else tmp_path)
    table = CheckpointTable(logs)
    assert table.to_png().startswith(b"\x89PNG")
    assert len(sent(table)["directories"]) == len(logs.roots)
