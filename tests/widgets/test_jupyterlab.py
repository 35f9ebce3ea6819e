"""What the extension of JupyterLab shows for a path, and the notebook of what is shown."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from widgets import Workbench
from widgets.frame.tab_names import EXPLORE, OVERVIEW, RECORDS
from widgets.jupyterlab import open_screen, view_notebook
from workbench.errors import LogDirectoryError

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHOP = SAMPLES / "shop-4.3.1"
LOG = "00000000000000000442.log"


def opened(path: Path, top: Path = SAMPLES) -> Workbench:
    return open_screen(str(path), str(top))


def test_a_log_directory_begins_with_its_overview() -> None:
    screen = opened(SHOP)
    assert screen.tab == OVERVIEW
    assert screen.logs.listing.roots[0].path == str(SHOP)
    screen.close()


@pytest.mark.parametrize(
    ("name", "partition", "segment", "is_file"),
    [
        ("orders-0", "orders-0", 0, False),
        (f"orders-0/{LOG}", "orders-0", 442, False),
        ("orders-0/00000000000000000903.timeindex", "orders-0", 903, True),
        ("orders-0/00000000000000000890.snapshot", "orders-0", 0, True),
        ("orders-0/leader-epoch-checkpoint", "orders-0", 0, True),
        ("cleaner-offset-checkpoint", "clicks-0", 0, True),
        ("meta.properties", "clicks-0", 0, True),
    ],
)
def test_a_partition_or_a_file_is_selected_in_its_log_directory(
    name: str, partition: str, segment: int, *, is_file: bool
) -> None:
    screen = opened(SHOP / name)
    assert list(screen.views) == [EXPLORE]  # the overview of all logs is not made for a file
    assert screen.logs.listing.roots[0].path == str(SHOP)
    assert screen.explorer.selected["partition"] == partition
    assert screen.explorer.selected["segment"] == segment
    assert screen.explorer.file == (str(SHOP / name) if is_file else None)
    assert screen.explorer.show_values
    screen.close()


def test_nothing_is_opened_above_the_root_of_jupyterlab() -> None:
    screen = opened(SHOP / "orders-0" / LOG, top=SHOP / "orders-0")
    assert [each.path for each in screen.logs.listing.roots] == [str(SHOP / "orders-0")]
    assert screen.explorer.selected["segment"] == 442
    screen.close()
    with pytest.raises(LogDirectoryError, match="it is not Kafka's"):
        opened(SHOP, top=SHOP / "orders-0")


def test_a_copy_of_a_log_is_opened_whatever_its_name(tmp_path: Path) -> None:
    shutil.copy(SHOP / "orders-0" / LOG, tmp_path / "from a ticket.log")
    screen = opened(tmp_path / "from a ticket.log", tmp_path)
    assert screen.explorer.file == str(tmp_path / "from a ticket.log")
    screen.close()


def test_what_is_not_kafkas_is_refused(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("[2026-11-26 05:00:00] INFO started\n" * 100)
    (tmp_path / "empty").mkdir()
    for name, problem in {
        "server.log": "no broker creates a file of this name, and no batch is in it",
        "empty": "nothing here looks like Kafka's: it is empty",
        "gone": "there is no such file or directory",
    }.items():
        with pytest.raises(LogDirectoryError, match=problem):
            opened(tmp_path / name, tmp_path)


def test_a_link_out_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "orders-0"
    folder.mkdir(parents=True)
    (tmp_path / "secret").write_text("not for the reader")
    (folder / LOG).symlink_to(tmp_path / "secret")
    with pytest.raises(LogDirectoryError, match="it is not opened"):
        opened(folder / LOG, tmp_path)


def test_a_damaged_log_is_shown(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / LOG).write_bytes(b"not a batch" * 100)
    screen = opened(folder / LOG, tmp_path)
    assert screen.explorer.selected["segment"] == 442
    screen.close()


def run_cells(notebook: Any) -> list[Any]:
    """Run the code of a notebook; return what each cell would show."""
    names: dict[str, Any] = {}
    shown = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            *lines, last = cell.source.splitlines()
            exec("\n".join(lines), names)  # noqa: S102 - the code is ours
            shown.append(eval(last, names))  # noqa: S307 - as above
    return shown


def test_a_view_is_opened_as_a_notebook_that_shows_the_same(tmp_path: Path) -> None:
    screen = opened(SHOP / "orders-0" / LOG)
    again, records = run_cells(view_notebook(screen, str(tmp_path)))
    assert again.tab == EXPLORE
    assert again.explorer.selected == screen.explorer.selected
    assert list(records["offset"])[:2] == [442, 443]
    screen.tab = RECORDS
    again, records = run_cells(view_notebook(screen, str(tmp_path)))
    assert again.tab == RECORDS
    assert set(records["topic"]) == {"orders"}
    screen.close()
    screen = opened(SHOP / "orders-0" / "00000000000000000903.timeindex")
    again, facts = run_cells(view_notebook(screen, str(tmp_path)))
    assert again.explorer.file == screen.explorer.file
    assert facts["entries_in_use"] == 63
    screen.close()


def test_a_name_is_data_in_the_code_of_a_notebook(tmp_path: Path) -> None:
    name = """a"']); import os; os.mkdir('made') #\\"""
    shutil.copytree(SHOP, tmp_path / name)
    screen = opened(tmp_path / name / "orders-0", tmp_path)
    run_cells(view_notebook(screen, str(tmp_path)))
    assert os.listdir(tmp_path) == [name]
    assert not Path("made").exists()
    screen.close()


def test_no_notebook_is_written_into_a_log_directory() -> None:
    screen = opened(SHOP / "orders-0")
    with pytest.raises(LogDirectoryError, match="start JupyterLab in another folder"):
        view_notebook(screen, str(SHOP / "orders-1"))
    screen.close()
