"""Compiled kernels are loaded only from where nobody else can put any."""

import grp
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

import workbench
from workbench.kernels.cache_folder import UnsafeCacheWarning, is_lasting, safe_folder

NAME = "kafka-log-workbench/kernels-0123"
SOMEBODY = 65534


@pytest.fixture(name="cache", autouse=True)
def cache_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    cache = tmp_path / ".cache"
    cache.mkdir(mode=0o755)
    return cache


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def refused(cache: Path) -> str:
    """Return the warning that the folder is not used, whose replacement is private."""
    with pytest.warns(UnsafeCacheWarning) as caught:
        found = safe_folder(cache, NAME)
    assert not found.is_relative_to(cache)
    assert mode(found) == 0o700
    assert found.stat().st_uid == os.geteuid()
    return str(caught[0].message)


def refused_folder(cache: Path) -> str:
    """Return the private folder that is used instead, with a warning."""
    with pytest.warns(UnsafeCacheWarning):
        found = safe_folder(cache, NAME)
    assert mode(found) == 0o700
    return str(found)


def test_a_folder_is_made_for_its_user_alone_and_used_again(cache: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = os.umask(0)
        try:
            folder = safe_folder(cache, NAME)
        finally:
            os.umask(before)
        assert folder == cache / NAME
        assert mode(folder) == mode(folder.parent) == 0o700
        assert safe_folder(cache, NAME) == folder


@pytest.mark.parametrize("bits", [0o777, 0o757, 0o1777])
@pytest.mark.parametrize("at", [".", ".cache", ".cache/kafka-log-workbench", f".cache/{NAME}"])
def test_a_folder_that_others_may_write_to_is_refused(bits: int, at: str, cache: Path) -> None:
    safe_folder(cache, NAME)
    (cache.parent / at).chmod(bits)
    said = refused(cache)
    assert f"found {(cache.parent / at).resolve()} with mode {bits:04o}" in said
    assert "NUMBA_CACHE_DIR" in said


@pytest.mark.parametrize(
    ("group", "members"), [("staff", []), ("ann", ["ann", "bob"])], ids=["shared", "joined"]
)
def test_a_group_with_others_in_it_may_not_write(
    group: str, members: list[str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    safe_folder(cache, NAME)
    cache.chmod(0o775)
    be_ann(cache, group, members, monkeypatch)
    assert "with mode 0775" in refused(cache)


def test_a_group_of_the_users_own_may_write(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.chmod(0o775)
    be_ann(cache, "ann", ["ann"], monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert safe_folder(cache, NAME) == cache / NAME


def be_ann(cache: Path, group: str, members: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the system say that the user is ann, and that the folder's group is a given one."""
    number = cache.stat().st_gid
    monkeypatch.setattr(pwd, "getpwuid", lambda _: SimpleNamespace(pw_name="ann", pw_gid=number))
    found = SimpleNamespace(gr_name=group, gr_mem=members)
    monkeypatch.setattr(grp, "getgrgid", lambda _: found)


def test_a_folder_of_another_user_is_refused(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    safe_folder(cache, NAME)
    owner = os.geteuid()
    if owner == 0:  # whose folders are nobody else's
        owner = SOMEBODY
        os.chown(cache / NAME, owner, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)
    with pytest.warns(UnsafeCacheWarning, match=f"of user {owner}"):
        assert not safe_folder(cache, NAME).is_relative_to(tmp_path / ".cache")


def test_a_link_is_judged_by_what_it_leads_to(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (cache / "kafka-log-workbench").symlink_to(tmp_path / "open")
    assert "with mode 0777" in refused(cache)


@pytest.fixture(name="temporary")
def temporary_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files, as /tmp, and no cache: as in a container of YARN."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    (tmp_path / ".cache" / "kafka-log-workbench").write_text("a file")
    return folder


def test_where_the_cache_cannot_be_written_to_processes_share_a_temporary_folder(
    cache: Path, temporary: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folder = safe_folder(cache, NAME)
        assert safe_folder(cache, NAME) == folder
    assert folder.is_relative_to(temporary)
    assert is_lasting(folder)
    assert mode(temporary / folder.relative_to(temporary).parts[0]) == 0o700


@pytest.mark.parametrize("planted", ["open", "link", "file"])
def test_a_temporary_folder_that_others_prepared_is_refused(
    planted: str, cache: Path, temporary: Path, tmp_path: Path
) -> None:
    root = temporary / safe_folder(cache, NAME).relative_to(temporary).parts[0]
    shutil.rmtree(root)
    if planted == "open":
        root.mkdir(mode=0o777)
        root.chmod(0o777)
    elif planted == "link":
        (tmp_path / "theirs").mkdir(mode=0o700)
        root.symlink_to(tmp_path / "theirs")
    else:
        root.write_text("")
    assert not is_lasting(Path(refused_folder(cache)))


def test_a_temporary_folder_whose_name_others_can_take_is_refused(
    cache: Path, temporary: Path
) -> None:
    temporary.chmod(0o777)  # without the sticky bit
    assert not is_lasting(Path(refused_folder(cache)))


def test_kernels_work_without_loading_from_a_folder_of_others(tmp_path: Path) -> None:
    cache = tmp_path / "shared"
    cache.mkdir()
    cache.chmod(0o777)
    code = "from workbench.kernels.murmur2 import *; from workbench.kernels import _jit; "
    code += "print(_jit.CACHE_FOLDER)"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "UnsafeCacheWarning" in done.stderr
    folder = Path(done.stdout.strip())
    assert not folder.is_relative_to(cache)
    assert not folder.exists()  # removed with the process
    assert not any(path.is_file() for path in cache.rglob("*"))


def test_machine_code_is_found_wherever_the_package_lies(cache: Path, tmp_path: Path) -> None:
    """As by each application of Spark, for which executors unpack it again."""
    code = "import numpy as np; from workbench.kernels import checksum; "
    code += "assert checksum.crc32(np.zeros(8, np.uint8)) == 0x6522DF69; "
    code += "print(sum(checksum.crc32.stats.cache_misses.values()), checksum.__file__)"
    misses = []
    for name in ("first", "second"):
        root = tmp_path / name
        shutil.copytree(Path(workbench.__file__).parent, root / "workbench")
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(root)}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment, cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        missed, path = done.stdout.split()
        assert Path(path).is_relative_to(root)
        misses.append(int(missed))
    assert misses[0] > 0
    assert misses[1] == 0
