"""Every file of a log directory, decoded for the explorer, with its bytes; never one outside."""

import os
from pathlib import Path
from typing import Any

import pytest
import traitlets

import workbench as wb
from widgets import LogExplorer
from widgets.explorer.file_view import MOST_ENTRIES, FileView, find_file
from widgets.view.file_descriptions import file_description
from widgets.view.records import OPEN, Lens
from workbench.inspection.entries import FileEntry
from workbench.inspection.listing import Listing

DATA = Path(__file__).parents[2] / "sample_data"
SHOP = DATA / "shop-4.3.1"


def listing(name: str) -> Listing:
    found: Listing = wb.open_log_directory(DATA / name).listing
    return found


def every_file(of: Listing) -> list[FileEntry]:
    roots = [file for root in of.roots for file in root.files]
    return roots + [file for each in of.partitions.values() for file in each.files]


def contents(path: Path) -> dict[str, Any]:
    return FileView(FileEntry(path.name, str(path))).contents()


def fields(path: Path, start: int = 0, stop: int = 4096) -> list[tuple[str, str, str]]:
    window, _ = FileView(FileEntry(path.name, str(path))).window(start, stop, OPEN)
    return [(each["name"], each["value"], each["note"]) for each in window["fields"]]


@pytest.mark.parametrize("name", ["shop-4.3.1", "damaged", "era-0.8.2.2", "era-2.8.2"])
def test_every_file_of_every_directory_has_a_view(name: str) -> None:
    for entry in every_file(listing(name)):
        view = FileView(entry)
        sent = view.contents()
        assert sent["meaning"].endswith(".")
        assert len(sent["rows"]) == min(sent["total"], MOST_ENTRIES)
        assert all(len(row) == len(sent["columns"]) for row in sent["rows"])
        _, (data,) = view.window(0, 1 << 20, OPEN)
        assert data == Path(entry.path).read_bytes()
        for start, size in sent["places"]:
            assert 0 <= start < start + size <= sent["size"]


@pytest.mark.parametrize(
    ("file", "kind", "columns", "first"),
    [
        ("replication-offset-checkpoint", "high watermarks", ["partition", "offset"],
         ["__transaction_state-0", "3,185"]),
        ("orders-0/00000000000000000000.index", "offset index",
         ["offset", "relative offset", "position"], None),
        ("orders-0/00000000000000000000.timeindex", "time index",
         ["timestamp", "offset", "relative offset"],
         ["2024-11-25T03:19:36.289Z", "3", "3"]),
        ("orders-0/leader-epoch-checkpoint", "leader epochs", ["epoch", "start offset"], None),
        ("meta.properties", "broker and cluster", ["name", "value"], ["node.id", "1"]),
        ("bootstrap.checkpoint", "bootstrap metadata",
         ["position", "size", "base offset", "last offset", "record count", "max timestamp",
          "magic"], None),
    ],
)  # fmt: skip
def test_a_file_is_a_table_of_its_entries(
    file: str, kind: str, columns: list[str], first: list[str] | None
) -> None:
    sent = contents(SHOP / file)
    assert (sent["kind"], sent["columns"], sent["problems"]) == (kind, columns, [])
    assert sent["rows"]
    assert first is None or sent["rows"][0] == first


def test_an_entrys_place_is_where_its_bytes_are() -> None:
    path = SHOP / "recovery-point-offset-checkpoint"
    sent = contents(path)
    for row, (start, size) in zip(sent["rows"], sent["places"], strict=True):
        topic, partition, offset = path.read_bytes()[start : start + size].decode().split()
        assert row == [f"{topic}-{partition}", f"{int(offset):,}"]


def test_fields_of_a_window_in_the_middle_have_the_numbers_of_the_whole_file() -> None:
    path = SHOP / "orders-0" / "00000000000000000000.timeindex"
    whole = [name for name, _, _ in fields(path)]
    part = [name for name, _, _ in fields(path, 30, 40)]
    assert part == ["entry 2", "timestamp", "relative offset", "entry 3", "timestamp"]
    assert whole[6:11] == part
    assert fields(path)[1][2] == "2024-11-25T03:19:36.289Z"


def test_problems_are_said_and_what_can_be_read_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "cleaner-offset-checkpoint"
    path.write_bytes(b"0\n2\norders 0 7\nno offset\n")
    sent = contents(path)
    assert sent["rows"] == [["orders-0", "7"]]
    assert any("no offset" in each for each in sent["problems"])
    path.unlink()
    assert contents(path)["problems"] == ["cannot be read: No such file or directory"]


def test_users_data_in_files_stay_hidden_with_the_values() -> None:
    path = SHOP / "orders-0" / "00000000000000000000.log"
    view = FileView(FileEntry(path.name, str(path)))
    window, (data,) = view.window(0, 4096, Lens())
    assert data == bytes(4096)
    assert window["masks"] == [[0, 4096]]
    assert view.contents()["rows"][0][:3] == ["0", "582", "0"] or view.contents()["rows"]


def test_long_files_are_cut_and_say_how_long_they_are(tmp_path: Path) -> None:
    path = tmp_path / "replication-offset-checkpoint"
    count = MOST_ENTRIES + 5
    lines = "".join(f"t {number} 1\n" for number in range(count))
    path.write_text(f"0\n{count}\n{lines}")
    sent = contents(path)
    assert (len(sent["rows"]), sent["total"]) == (MOST_ENTRIES, count)


def test_only_listed_files_are_opened(tmp_path: Path) -> None:
    explorer = LogExplorer(SHOP)
    with pytest.raises(traitlets.TraitError, match="is not a file of the opened directories"):
        explorer.file = "/etc/passwd"
    with pytest.raises(traitlets.TraitError):
        explorer.file = str(SHOP / ".." / "README.md")
    answer, (data,) = explorer.answer_file_bytes(path="/etc/passwd", start=0, stop=10)
    assert (answer["fields"], data) == ([], b"")
    assert find_file(explorer.logs.listing, str(tmp_path)) is None


def test_what_is_not_opened_says_why(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / "00000000000000000000.log").touch()
    (tmp_path / "backup").mkdir()
    os.mkfifo(tmp_path / "meta.properties")
    explorer = LogExplorer(tmp_path)
    nodes = {node["name"]: node for node in explorer.get_state("_directory")["_directory"]["nodes"]}
    explorer.file = nodes["meta.properties"]["key"]
    assert "FIFO" in explorer.get_state("_file")["_file"]["meaning"]
    explorer.file = nodes["backup"]["key"]
    assert "does not start" in explorer.get_state("_file")["_file"]["meaning"]


def test_a_partition_leaves_the_file_and_a_new_listing_keeps_it() -> None:
    path = str(SHOP / "meta.properties")
    explorer = LogExplorer(SHOP, file=path)
    assert explorer.get_state("_file")["_file"]["kind"] == "broker and cluster"
    assert "small_file_facts" in explorer.query["file"]
    explorer.refresh()
    assert explorer.file == path
    explorer.selected = {"partition": "orders-0"}
    assert explorer.file is None
    assert explorer.get_state("_file")["_file"] is None
    rows, _ = explorer.answer_files("orders-0")
    names = [row[1] for row in rows["rows"]]
    assert names == sorted(names)
    assert "leader-epoch-checkpoint" in names


@pytest.mark.parametrize("file", ["meta.properties", "orders-0/00000000000000000000.log", "x.txt"])
def test_the_python_of_a_file_can_be_run(file: str, tmp_path: Path) -> None:
    path = SHOP / file
    if file == "x.txt":
        path = tmp_path / file
        path.write_text("hello")
    explorer = LogExplorer(path.parent if file == "x.txt" else SHOP, file=str(path))
    exec(explorer.query["file"], {})  # noqa: S102 - it is the code under test


def test_names_with_suffixes_say_what_a_broker_was_doing() -> None:
    kind, meaning = file_description("00000000000000000042.index.deleted")
    assert kind == "offset index"
    assert meaning.endswith("It waits for its deletion.")
    assert file_description("notes.txt")[0] == "unknown file"
    assert file_description("00000000000000000042-0000000003.checkpoint")[0] == "metadata snapshot"
