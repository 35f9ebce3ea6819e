"""The folder for compiled kernels, if no one else can put code there.

numba keys its cache on the file of one function and does not see edits in the files of the
functions it calls. So the folder's name carries a hash of all kernels: an edit anywhere gives a new
one. `NUMBA_CACHE_DIR` sets the parent folder.

Code that numba loads from its cache runs with the user's rights. So the folder, and its parents up
to the user's own folder, must belong to the user (or root), and no one else may have write
permission.
"""

import atexit
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import warnings
from functools import cache as cached
from pathlib import Path
from typing import Final

_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_OURS_ALONE: Final = 0o700


class UnsafeCacheWarning(UserWarning):
    """Compiled kernels are not stored: others can write to the folder for them."""


_AROUND: Final = frozenset({"background.py", "cache_folder.py", "dispatch.py", "warm_up.py"})
KERNELS: Final = os.environ.get("KAFKA_WORKBENCH_KERNELS", "")
"""What the user asks for: "plain", "compiled" (wait until they are), "checked", or ""."""


@cached
def kernel_folder() -> Path:
    """Return the folder for this version's kernels, created if needed."""
    suffix = "-checked" if KERNELS == "checked" else ""
    return safe_folder(user_cache(), f"kafka-log-workbench/kernels-{_source_hash()}{suffix}")


def ready_mark() -> Path:
    """Return the path of the file that says that the folder has all kernels, for this machine."""
    machine = hashlib.sha256(sys.version.encode() + _processor()).hexdigest()[:16]
    return kernel_folder() / f"ready-{machine}"


def _processor() -> bytes:
    """Return what identifies the kind of processor, without asking numba."""
    names = (b"model name", b"flags", b"CPU part", b"Features")
    try:
        with open("/proc/cpuinfo", "rb") as file:
            first = file.read(1 << 14).split(b"\n\n")[0]
    except OSError:
        return os.fsencode(sys.platform)
    return b"\n".join(line for line in first.split(b"\n") if line.startswith(names))


def _source_hash() -> str:
    """Return a hash of every source file that a kernel may inline: this folder and the layouts.

    Those that choose and start kernels are in no machine code.
    """
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted([*here.rglob("*.py"), *(here.parent / "layout").glob("*.py")]):
        if source.name not in _AROUND:
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def user_cache() -> Path:
    """Return the folder where this user's programs cache data."""
    if configured := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(configured)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home()))
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))


def is_lasting(folder: Path) -> bool:
    """Return whether a folder that `safe_folder` gave outlives the process."""
    return folder.is_relative_to(user_cache()) or folder.is_relative_to(_shared_root())


def _shared_root() -> Path:
    """Return this user's folder among the temporary files."""
    number = os.getuid() if hasattr(os, "getuid") else 0
    return Path(tempfile.gettempdir()) / f"kafka-log-workbench-of-{number}"


def _shared(name: str) -> Path | None:
    """Return a folder among the temporary files that this user's processes share; None: not safe.

    For a container without a home that can be written to, such as a Spark executor's.
    """
    root = _shared_root()
    try:
        above = root.parent.stat()
        root.mkdir(mode=_OURS_ALONE, exist_ok=True)
        found = root.lstat()  # somebody else could have made it, or a link of its name
        is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
        if not is_ours or stat.S_IMODE(found.st_mode) != _OURS_ALONE:
            return None
        if _others_write(above) and not above.st_mode & stat.S_ISVTX:
            return None  # anybody can put another folder in its place
        folder = root / name
        folder.mkdir(mode=_OURS_ALONE, parents=True, exist_ok=True)
    except (OSError, AttributeError):  # on Windows, users have no numbers
        return None
    return folder


def safe_folder(cache: Path, name: str) -> Path:
    """Return a folder below a user's cache, created if needed; or else a temporary one.

    Where the cache cannot be written to, the user's processes share a temporary folder. Where
    others can write to the cache, there is a warning, and a folder that is removed when the process
    ends.

    Args:
        cache: the user's cache folder.
        name: the folder's path below the cache, with slashes.
    """
    folder = cache / name
    try:
        made = cache
        made.mkdir(mode=_OURS_ALONE, parents=True, exist_ok=True)
        for part in Path(name).parts:
            made /= part
            made.mkdir(mode=_OURS_ALONE, exist_ok=True)
        problem = _problem(cache, folder)
    except OSError as error:
        problem = str(error)
        if (shared := _shared(name)) is not None:
            return shared
    if problem is None:
        return folder
    warnings.warn(
        f"{folder}: not used for compiled kernels, which are compiled again ({problem}, expected a "
        "folder that only this user can write to); set NUMBA_CACHE_DIR to such a folder",
        UnsafeCacheWarning,
        stacklevel=2,
    )
    temporary = tempfile.mkdtemp(prefix="kafka-log-workbench-")  # with mode 0700
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return Path(temporary)


def _problem(cache: Path, folder: Path) -> str | None:
    """Return why a folder is not safe: itself, or a parent up to the cache and the home."""
    if sys.platform == "win32":  # other users have no rights there unless granted
        return None
    folder, home = folder.resolve(), Path.home().resolve()
    top = home if folder.is_relative_to(home) else cache.resolve()
    for each in (folder, *folder.parents):
        found = each.stat()
        if found.st_uid not in {os.geteuid(), 0}:
            return f"found {each} of user {found.st_uid}"
        if _others_write(found):
            return f"found {each} with mode {stat.S_IMODE(found.st_mode):04o}"
        if each == top:
            break
    return None


def _others_write(found: os.stat_result) -> bool:
    """Return whether users other than the owner can replace a folder's contents.

    On systems where each user has a group of their own, folders are mostly open to that group.
    """
    writers = found.st_mode & _OTHERS_WRITE
    if writers == stat.S_IWGRP and _is_own_group(found.st_gid):
        return False
    return bool(writers)


if sys.platform == "win32":

    def _is_own_group(group: int) -> bool:
        del group
        return False
else:
    import grp
    import pwd

    def _is_own_group(group: int) -> bool:
        """Return whether a group is the user's own: named after the user, with no other member."""
        try:
            user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
        except KeyError:
            return False
        is_named = user.pw_gid == group and found.gr_name == user.pw_name
        return is_named and set(found.gr_mem) <= {user.pw_name}
