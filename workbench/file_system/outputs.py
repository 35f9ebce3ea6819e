"""Create files and folders for a user: complete or not at all, and never inside the input.

An output has a random name beside its target until it is complete: so nothing is written through a
link that somebody put there, a reader never sees half of it, and an error or Ctrl-C leaves no file.
Paths of inputs are compared by device and file number, not by spelling: links, ``..`` and another
case may name the same file.
"""

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, Final

from workbench.errors import OutputError
from workbench.file_system.local import LOCAL
from workbench.file_system.source import looks_like_uri

UNFINISHED: Final = ".unfinished"
"""Suffix of the random names of incomplete outputs."""

_SWAPPED: Final = "another process has put something else here meanwhile"

StrPath = str | os.PathLike[str]

Places = dict[tuple[int, int], str]
"""Device and number of a file or folder → its path."""

_NEW_FILE: Final = (
    os.O_RDWR
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


@contextmanager
def new_file(
    path: StrPath, inputs: Iterable[StrPath] = (), *, overwrite: bool = False
) -> Iterator[BinaryIO]:
    """Yield a file to write, which is synced to the disk and gets its name when the block ends.

    Args:
        path: the file.
        inputs: paths that are read meanwhile.
        overwrite: replace a file of that name. A link is replaced, never followed.

    Raises:
        OutputError: the file would be inside an input, its name exists, or it is a URI.
        OSError: it cannot be written.
    """
    target = _resolved(path)
    refuse_inputs(target, inputs)
    _refuse_existing(target, overwrite=overwrite)
    unfinished = _unfinished_name(os.path.dirname(target))
    try:
        with create_new(unfinished) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            made = os.fstat(file.fileno())
        if overwrite:
            os.replace(unfinished, target)
        else:
            _name_new(unfinished, target)
        require_unchanged(target, made)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished)
        raise
    LOCAL.sync_directory(os.path.dirname(target))


@contextmanager
def new_folder(path: StrPath, inputs: Iterable[StrPath] = ()) -> Iterator[str]:
    """Yield the path of a folder to fill, which gets its name when the block ends.

    Args:
        path: the folder; must not exist, or be empty.
        inputs: paths that are read meanwhile.

    Raises:
        OutputError: the folder would be inside an input, is not empty, or is a URI.
        OSError: it cannot be created.
    """
    target = _resolved(path)
    refuse_inputs(target, inputs)
    is_there = os.path.isdir(target) and not os.path.islink(target)
    if os.path.lexists(target) and (not is_there or os.listdir(target)):
        raise OutputError(target, "exists already, and is not an empty directory")
    # The folder may be a mount point, which cannot be replaced: then only its contents are new.
    beside = target if is_there else os.path.dirname(target)
    os.makedirs(beside, exist_ok=True)
    unfinished = _unfinished_name(beside)
    os.mkdir(unfinished)
    made = os.lstat(unfinished)
    moved: list[str] = []
    try:
        yield unfinished
        require_unchanged(unfinished, made)
        if is_there:
            for name in sorted(os.listdir(unfinished)):
                moved.append(os.path.join(target, name))
                os.rename(os.path.join(unfinished, name), moved[-1])
            os.rmdir(unfinished)
        else:
            os.rename(unfinished, target)
    except BaseException:
        for each in (unfinished, *moved):
            _remove(each)
        raise
    LOCAL.sync_directory(beside)


def require_unchanged(path: str, made: os.stat_result) -> None:
    """Refuse to go on where another process has put something in the place of what was made.

    Who may rename entries of the folder that holds an output can do that at any time; so this is
    asked last, and what is said is that the output is not what it should be.

    Args:
        path: where it should be.
        made: its status when it was made.

    Raises:
        OutputError: something else is there, such as a link, or nothing.
    """
    if not is_unchanged(path, made):
        raise OutputError(path, _SWAPPED)


@contextmanager
def still_there(path: str | None) -> Iterator[None]:
    """Refuse, before and after a block, a place to which a link leads by now.

    Args:
        path: where a link led when it was resolved; None: not on this machine.

    Raises:
        OutputError: another process has put a link in its place, or in that of a folder above it.
    """
    _require_no_link(path)
    yield
    _require_no_link(path)


def _require_no_link(path: str | None) -> None:
    if path is not None and os.path.realpath(path) != path:
        raise OutputError(path, _SWAPPED)


def is_unchanged(path: str, made: os.stat_result) -> bool:
    """Return whether what was made is still at its path."""
    try:
        return os.path.samestat(os.lstat(path), made)
    except OSError:
        return False


def remove_folder(path: str, *, keep: bool) -> None:
    """Remove what was created in a folder, and the folder itself unless it is to be kept."""
    for name in os.listdir(path):
        _remove(os.path.join(path, name))
    if not keep:
        os.rmdir(path)


def _remove(path: str) -> None:
    """Remove a file, or a folder with all that it holds, as far as that is possible."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(path)


def create_new(path: str) -> BinaryIO:
    """Return a new file to read and write; anything of its name, even a link, is an error.

    Raises:
        FileExistsError: the name exists.
        OSError: the file cannot be created.
    """
    return os.fdopen(os.open(path, _NEW_FILE, 0o666), "w+b")


def require_local(path: StrPath) -> str:
    """Return a path to write to, if it is one of this machine and not ``s3://bucket/folder``.

    Raises:
        OutputError: it is a URI, which would become a folder ``s3:`` here.
    """
    text = os.fspath(path)
    if looks_like_uri(text):
        problem = "is a URI (expected a path of this machine); write to a folder, and copy that"
        raise OutputError(text, problem)
    return text


def refuse_inputs(path: StrPath, inputs: Iterable[StrPath]) -> None:
    """Reject a path that is one of the inputs, or is inside one.

    Args:
        path: the output, which need not exist.
        inputs: files and folders; URIs are ignored, outputs are local.

    Raises:
        OutputError: the path is one of the inputs, or inside one, or is a URI.
    """
    require_local(path)
    refuse_inside(path, places_of(inputs))


def places_of(inputs: Iterable[StrPath]) -> Places:
    """Return what `refuse_inside` looks for; see `refuse_inputs`."""
    return {
        identity: each
        for each in (os.fspath(path) for path in inputs)
        if "://" not in each and (identity := _identity(each)) is not None
    }


def refuse_inside(path: StrPath, places: Places) -> None:
    """Reject a path as `refuse_inputs` does, of inputs that several outputs have.

    Raises:
        OutputError: the path is one of the inputs, or inside one.
    """
    inner = os.path.realpath(path)
    while places:
        found = _identity(inner)
        if found in places:
            raise OutputError(os.fspath(path), f"must not be inside the input {places[found]}")
        outer = os.path.dirname(inner)
        if outer == inner:
            return
        inner = outer


def _resolved(path: StrPath) -> str:
    """Return a path with a real folder; its last name may be a link."""
    folder, name = os.path.split(os.path.abspath(require_local(path)))
    return os.path.join(os.path.realpath(folder), name)


def _refuse_existing(target: str, *, overwrite: bool) -> None:
    if not os.path.lexists(target):
        return
    if not overwrite:
        raise OutputError(target, "exists already")
    with suppress(FileNotFoundError):  # a link to nothing
        if not stat.S_ISREG(os.stat(target).st_mode):
            raise OutputError(target, "exists already, and is not a plain file")


def _name_new(unfinished: str, target: str) -> None:
    """Give a file a name that does not exist yet."""
    try:
        os.link(unfinished, target)
    except FileExistsError as error:
        raise OutputError(target, "exists now; another process created it") from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        create_new(target).close()  # the file system knows no links: take the name first
        os.replace(unfinished, target)
    else:
        os.unlink(unfinished)


def _unfinished_name(folder: str) -> str:
    return os.path.join(folder, f".{secrets.token_hex(8)}{UNFINISHED}")


def _identity(path: str) -> tuple[int, int] | None:
    """Return the device and number of the file at a path; None if it does not exist."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
