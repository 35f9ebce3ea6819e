import errno
import os
from pathlib import Path

import pytest

from workbench.errors import OutputError
from workbench.file_system.outputs import new_file, new_folder, refuse_inputs
from workbench.file_system.source import THIS_MACHINE
from workbench.loaders.changes import copied


def write(path: str | Path, data: bytes = b"new", *inputs: Path, overwrite: bool = False) -> None:
    with new_file(path, inputs, overwrite=overwrite) as file:
        file.write(data)


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    with new_file(target) as file:
        file.write(b"half")
        assert not target.exists()
        (unfinished,) = tmp_path.iterdir()
        assert unfinished.name.endswith(".unfinished")
    assert target.read_bytes() == b"half"
    assert list(tmp_path.iterdir()) == [target]


def write_half_a_file(target: Path, failure: BaseException) -> None:
    with new_file(target, overwrite=True) as file:
        file.write(b"half")
        raise failure


def write_half_a_folder(target: Path, failure: BaseException) -> None:
    with new_folder(target) as folder:
        Path(folder, "half").touch()
        raise failure


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_a_failure_leaves_nothing_behind(failure: BaseException, tmp_path: Path) -> None:
    old = tmp_path / "old.csv"
    old.write_bytes(b"old")
    (tmp_path / "empty").mkdir()
    for target in (old, tmp_path / "new.csv"):
        with pytest.raises(type(failure)):
            write_half_a_file(target, failure)
    for target in (tmp_path / "folder", tmp_path / "empty"):
        with pytest.raises(type(failure)):
            write_half_a_folder(target, failure)
    assert old.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["empty", "old.csv"]


def test_nothing_is_written_through_links(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    out = tmp_path / "out"
    out.mkdir()
    for name in ("records.csv", "records.csv.unfinished"):
        (out / name).symlink_to(precious)
    with pytest.raises(OutputError, match="exists already"):
        write(out / "records.csv")
    write(out / "records.csv", overwrite=True)
    assert precious.read_bytes() == b"precious"
    assert not (out / "records.csv").is_symlink()
    assert (out / "records.csv").read_bytes() == b"new"
    (out / "dangling").symlink_to(tmp_path / "nowhere")
    write(out / "dangling", overwrite=True)
    assert not (tmp_path / "nowhere").exists()


def test_what_is_no_plain_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "folder").mkdir()
    for name in ("fifo", "null", "folder"):
        with pytest.raises(OutputError, match="not a plain file"):
            write(tmp_path / name, overwrite=True)


def test_a_file_that_somebody_else_made_meanwhile_stays(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    with pytest.raises(OutputError, match="exists now"), new_file(target):
        target.write_bytes(b"theirs")
    assert target.read_bytes() == b"theirs"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_system_without_hard_links_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    write(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == b"new"
    with pytest.raises(FileExistsError), new_file(tmp_path / "other.csv"):
        (tmp_path / "other.csv").touch()


@pytest.mark.parametrize("overwrite", [False, True])
def test_nothing_is_made_among_the_inputs(overwrite: bool, tmp_path: Path) -> None:  # noqa: FBT001
    logs = tmp_path / "logs"
    (logs / "orders-0").mkdir(parents=True)
    log = logs / "orders-0" / "0.log"
    log.write_bytes(b"batches")
    (tmp_path / "beside").symlink_to(logs)
    os.link(log, tmp_path / "same.log")
    (tmp_path / "other").mkdir()
    for target in (
        logs,
        log,
        logs / "out.csv",
        logs / "orders-0" / "deep" / "out.csv",
        tmp_path / "beside" / "orders-0" / "out.csv",
        tmp_path / "other" / ".." / "logs" / "out.csv",
    ):
        with pytest.raises(OutputError, match="must not be inside the input"):
            write(target, b"new", logs, overwrite=overwrite)
        with (
            pytest.raises(OutputError, match="must not be inside the input"),
            new_folder(target, [logs]),
        ):
            pass
    with pytest.raises(OutputError, match="must not be inside the input"):
        write(tmp_path / "same.log", b"new", log, overwrite=overwrite)
    assert log.read_bytes() == b"batches"
    assert sorted(path.name for path in logs.rglob("*")) == ["0.log", "orders-0"]
    write(tmp_path / "logs.csv", b"new", logs, overwrite=overwrite)


def test_an_input_of_another_case_is_the_same_where_the_file_system_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    stat = os.stat

    def careless(path: str) -> os.stat_result:
        return stat(path.replace("LOGS", "logs"))

    monkeypatch.setattr(os, "stat", careless)
    with pytest.raises(OutputError, match="must not be inside the input"):
        refuse_inputs(tmp_path / "LOGS" / "out.csv", [logs])


def test_a_folder_is_new_or_fills_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").touch()
    number = (tmp_path / "empty").stat().st_ino
    for name in ("new", "empty", "a/b"):
        with new_folder(tmp_path / name) as folder:
            Path(folder, "file").write_bytes(b"data")
            assert not (tmp_path / name / "file").exists()
        assert [path.name for path in (tmp_path / name).iterdir()] == ["file"]
    assert (tmp_path / "empty").stat().st_ino == number
    for name in ("full", "full/notes"):
        with (
            pytest.raises(OutputError, match="not an empty directory"),
            new_folder(tmp_path / name),
        ):
            pass


def put_a_link(folder: Path, precious: Path) -> None:
    """Put a link in the place of what is not finished, or of a copy."""
    (made,) = (path for path in folder.iterdir() if path != precious)
    made.rename(folder.parent / "moved")
    made.symlink_to(precious)


@pytest.fixture(name="precious")
def precious_(tmp_path: Path) -> Path:
    """A folder that no output is in, beside one."""
    precious = tmp_path / "outer" / "precious"
    precious.mkdir(parents=True)
    (precious / "kept").touch()
    return precious


def test_a_link_in_the_place_of_an_output_is_named(precious: Path) -> None:
    outer = precious.parent
    with (
        pytest.raises(OutputError, match="another process has put something else"),
        new_folder(outer / "out"),
    ):
        put_a_link(outer, precious)
    (outer.parent / "moved").rmdir()
    with (
        pytest.raises(OutputError, match="another process has put something else"),
        new_file(outer / "out.csv", overwrite=True),
    ):
        put_a_link(outer, precious)
    assert [path.name for path in precious.iterdir()] == ["kept"]


@pytest.mark.parametrize("failure", [None, OSError(errno.ENOSPC, "full")])
def test_nothing_is_removed_where_a_link_stands_for_a_copy(
    precious: Path, failure: OSError | None
) -> None:
    outer, source = precious.parent, precious.parent.parent / "source"
    (source / "t-0").mkdir(parents=True)

    def change() -> None:
        with copied(str(source), THIS_MACHINE, str(outer / "copy")):
            put_a_link(outer, precious)
            if failure is not None:
                raise failure

    with pytest.raises(OSError if failure else OutputError):
        change()
    assert [path.name for path in precious.iterdir()] == ["kept"]
