"""The launcher: what it opens, where it copies, and what it leaves alone."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.program import run
from workbench.cli.lab import (
    DATA_VARIABLE,
    TOUR,
    copy_notebooks,
    find_tour,
    lab_command,
    lab_environment,
    link_logs,
    link_samples,
    prepare_folder,
    run_lab,
)
from workbench.errors import LogDirectoryError


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    return tmp_path / "runtime"


def test_a_checkout_is_copied_to_the_folder_that_is_given(tmp_path: Path) -> None:
    tour = find_tour()
    assert tour.is_checkout
    work = prepare_folder(tour, str(tmp_path))
    assert work == tmp_path / "notebooks"
    names = {path.name for path in tour.notebooks.glob("*.ipynb")}
    assert {path.name for path in work.glob("*.ipynb")} == names
    assert TOUR in names
    (work / TOUR).write_text("saved by JupyterLab")
    assert (tour.notebooks / TOUR).read_text() != "saved by JupyterLab"
    assert (work.parent / "sample_data" / "shop-4.3.1").is_dir()


def test_the_command_opens_the_copies(tmp_path: Path) -> None:
    outcome = run("lab", "--folder", tmp_path, "--json")
    assert outcome.json["notebooks"] == str(tmp_path / "notebooks")
    assert f"--ServerApp.root_dir={tmp_path / 'notebooks'}" in outcome.json["command"]


def test_a_directory_that_is_not_there_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(LogDirectoryError, match="no such file or directory"):
        run_lab(str(tmp_path / "nothing"))


def test_a_copy_that_was_edited_is_never_written_over(tmp_path: Path) -> None:
    source, target = tmp_path / "package", tmp_path / "mine"
    source.mkdir()
    for name in ("01_a.ipynb", "02_b.ipynb"):
        (source / name).write_text("first")
    copy_notebooks(source, target)
    (target / "01_a.ipynb").write_text("edited")
    for name in ("01_a.ipynb", "02_b.ipynb", "03_c.ipynb"):
        (source / name).write_text("second")
    copy_notebooks(source, target)
    texts = {path.name: path.read_text() for path in target.glob("*.ipynb")}
    assert texts == {"01_a.ipynb": "edited", "02_b.ipynb": "second", "03_c.ipynb": "second"}


def test_a_file_of_the_users_that_has_a_notebooks_name_stays(tmp_path: Path) -> None:
    source, target = tmp_path / "package", tmp_path / "mine"
    for folder, text in ((source, "ours"), (target, "theirs")):
        folder.mkdir()
        (folder / "01_a.ipynb").write_text(text)
    copy_notebooks(source, target)
    assert (target / "01_a.ipynb").read_text() == "theirs"


def test_the_directory_reaches_the_notebooks_as_an_absolute_path() -> None:
    environment = lab_environment({DATA_VARIABLE: "elsewhere"}, "some/logs")
    assert environment[DATA_VARIABLE] == str(Path("some/logs").resolve())
    assert lab_environment({}, None).get(DATA_VARIABLE) is None


def test_a_sample_directory_of_the_users_is_not_replaced_by_a_link(tmp_path: Path) -> None:
    samples = tmp_path / "package" / "sample_data"
    samples.mkdir(parents=True)
    for folder in (tmp_path / "linked", tmp_path / "theirs"):
        folder.mkdir()
    (tmp_path / "theirs" / "sample_data").mkdir()
    (tmp_path / "linked" / "sample_data").symlink_to("an older installation")
    link_samples(samples, tmp_path / "linked")
    link_samples(samples, tmp_path / "theirs")
    assert (tmp_path / "linked" / "sample_data").readlink() == samples
    assert not (tmp_path / "theirs" / "sample_data").is_symlink()


def test_links_in_the_root_lead_to_the_samples_and_the_directory_and_old_ones_go(
    tmp_path: Path,
) -> None:
    samples, logs, work = tmp_path / "sample_data", tmp_path / "kafka-logs", tmp_path / "work"
    for folder in (samples, logs, work, tmp_path / "other", work / "other"):
        folder.mkdir()
    (work / "theirs").symlink_to(tmp_path)
    assert link_logs(samples, str(logs), work) == "kafka-logs"
    assert (work / "kafka-logs").resolve() == logs
    assert (work / "sample_data").resolve() == samples
    assert link_logs(samples, str(tmp_path / "other"), work) == "other-2", "a folder is there"
    names = {path.name for path in work.iterdir() if path.is_symlink()}
    assert names == {"other-2", "sample_data", "theirs"}
    assert link_logs(samples, "s3://bucket/logs", work) is None
    assert link_logs(None, None, work) is None
    assert [path.name for path in work.iterdir() if path.is_symlink()] == ["theirs"]
    assert (work / "other").is_dir()


def test_a_directory_is_opened_in_place_of_the_tour(tmp_path: Path) -> None:
    command = lab_command(tmp_path, "kafka logs", browser=True)
    assert "--LabApp.default_url=/lab/tree/kafka%20logs" in command


def test_settings_go_before_the_users_and_do_not_replace_them(runtime: Path) -> None:
    path = lab_environment({"JUPYTER_CONFIG_PATH": "mine"}, None)["JUPYTER_CONFIG_PATH"]
    first, second = path.split(":")
    assert second == "mine"
    assert first.startswith(str(runtime))
    settings = json.loads(
        (Path(first) / "labconfig" / "default_setting_overrides.json").read_text()
    )
    assert settings["@jupyter-widgets/jupyterlab-manager:plugin"] == {"saveState": True}


def test_jupyterlab_is_this_environments_own(tmp_path: Path) -> None:
    command = lab_command(tmp_path, browser=False, options=["--port=0"])
    assert command[:4] == [sys.executable, "-P", "-m", "jupyterlab"]
    assert f"--LabApp.default_url=/doc/tree/{TOUR}" in command
    assert "--no-browser" in command
    assert command[-1] == "--port=0"
