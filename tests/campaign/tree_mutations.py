"""What is done to names, and to what kind of thing a name stands for."""

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

FILE_NAMES: Final = (
    "99999999999999999999.log", "09223372036854775807.log", "00000000002147483648.log",
    "00000000000000000001.log", "0.log", ".log", "-1.log", "00000000000000000000.log.swap",
    "00000000000000000000.log.cleaned", "00000000000000000000.log.deleted",
    "00000000000000000000.log.swap.deleted", "00000000000000000000.LOG",
    "\u0660" * 20 + ".log", "18446744073709551616.index", "99999999999999999999.snapshot",
    "00000000000000000005-0000000001.checkpoint", "\x1b[31m00000000000000000000.log",
    "new\nline.log", "=cmd.log", "\udcff.log", "a" * 250, "meta.properties", "quorum-state",
    "leader-epoch-checkpoint", "partition.metadata", ".kafka_cleanshutdown", ".lock",
    "recovery-point-offset-checkpoint", "bootstrap.checkpoint",
)  # fmt: skip
FOLDER_NAMES: Final = (
    "orders-99999999999", "orders-2147483647", "-0", "orders", "orders--1", "a-b-3",
    "\u0663-\u0663",
    "orders-0.1f0a4c0ee3a54b0f8c1d8a9cb5d3f1aa-delete", "orders-7.x-stray", "orders-8.y-future",
    "__cluster_metadata-0", "__consumer_offsets-3", "new\nline-0", "\x1b[31mred-0", "=1+1-0",
    "\udcff-0", "a" * 249 + "-0", "+-0", "..-0",
)  # fmt: skip
SIZES: Final = (1 << 20, 64 << 20, 3 << 30, 1 << 40)  # bytes; the files are sparse

Step = Callable[[Path, Path, Random], None]
"""Takes the directory, a path in it, and a source of chance."""


def rename(_: Path, path: Path, rng: Random) -> None:
    """Give a file or folder another name; what had that name is gone."""
    name = rng.choice(FOLDER_NAMES if path.is_dir() and not path.is_symlink() else FILE_NAMES)
    target = path.with_name(name)
    if target != path:
        remove(target)
        path.rename(target)


def remove(path: Path) -> None:
    """Remove whatever has this name."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def delete(_: Path, path: Path, __: Random) -> None:
    """Take it away."""
    remove(path)


def empty_file(_: Path, path: Path, rng: Random) -> None:
    """Put an empty file of another name beside it."""
    target = path.with_name(rng.choice(FILE_NAMES))
    remove(target)
    target.touch()


def copy_to(_: Path, path: Path, rng: Random) -> None:
    """Put a copy under another name beside it."""
    if path.is_file():
        target = path.with_name(rng.choice(FILE_NAMES))
        if target != path:
            remove(target)
            shutil.copy2(path, target)


def swap(_: Path, path: Path, rng: Random) -> None:
    """Change the contents of two files of a folder."""
    others = sorted(other for other in path.parent.iterdir() if other.is_file() and other != path)
    if path.is_file() and others:
        other = rng.choice(others)
        between = path.with_name("between")
        path.rename(between)
        other.rename(path)
        between.rename(other)


def folder_for_file(_: Path, path: Path, rng: Random) -> None:
    """Make it a folder, empty or with a file in it."""
    remove(path)
    path.mkdir()
    if rng.random() < 0.5:
        (path / rng.choice(FILE_NAMES)).write_bytes(b"x")


def file_for_folder(_: Path, path: Path, rng: Random) -> None:
    """Make it a file."""
    remove(path)
    path.write_bytes(rng.randbytes(rng.choice((0, 70))))


def fifo(_: Path, path: Path, __: Random) -> None:
    """Make it a pipe that nobody writes to."""
    remove(path)
    os.mkfifo(path)


def unix_socket(_: Path, path: Path, __: Random) -> None:
    """Make it a socket."""
    remove(path)
    with socket.socket(socket.AF_UNIX) as end:
        here = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:  # a socket's path must be short
            end.bind(f"/proc/self/fd/{here}/{path.name[:20]}")
        except (OSError, UnicodeError):
            return
        finally:
            os.close(here)
    made = path.with_name(path.name[:20])
    if made != path:
        made.rename(path)


def link(directory: Path, path: Path, rng: Random) -> None:
    """Make it a link: to nothing, to itself, out of the directory, to a device, to a folder."""
    remove(path)
    path.symlink_to(
        rng.choice(
            (
                path.name, "nowhere", ".", "..", "/etc/hostname", "/etc", "/dev/zero", "/dev/null",
                str(directory), "/proc/self/mem",
            )
        )
    )  # fmt: skip


def links_to_itself(_: Path, path: Path, __: Random) -> None:
    """Put two links to the folder itself beside it."""
    for name in ("one-0", "two-0"):
        target = path.with_name(name)
        remove(target)
        target.symlink_to(".")


def sparse(_: Path, path: Path, rng: Random) -> None:
    """Make the file longer by a hole."""
    if path.is_file() and not path.is_symlink():
        os.truncate(path, path.stat().st_size + rng.choice(SIZES))


def old(_: Path, path: Path, rng: Random) -> None:
    """Give it a time at an edge."""
    if not path.is_symlink():
        os.utime(path, (0, rng.choice((0, -1, 2**31, 2**33))))


TREE_MUTATIONS: Final[dict[str, Step]] = {
    "name": rename,
    "gone": delete,
    "empty file beside": empty_file,
    "copy beside": copy_to,
    "swapped": swap,
    "folder": folder_for_file,
    "file": file_for_folder,
    "pipe": fifo,
    "socket": unix_socket,
    "link": link,
    "links to the folder itself": links_to_itself,
    "hole": sparse,
    "time": old,
}
"""By name."""
