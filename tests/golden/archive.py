"""Archives of golden cases: a folder as one solid ``.tar.xz``, and back with its file times.

An archive holds the folder's files sorted so that similar ones are together (by kind, then by
name without the label), and after them a member `TIMES`: one line per file, in the order of the
members, with its modification time in nanoseconds since the epoch. The tar headers carry no
times, because a time in each of them costs more than most of the files. Empty folders are kept.

Not promised: permissions, owners, links, times of folders.
"""

import io
import lzma
import os
import tarfile
from pathlib import Path

TIMES = "TIMES"
BLOCK_SIZE = 4096  # a run of this many zero bytes at a multiple of it becomes a hole in the file
TEXTS = frozenset({".json", ".jsonl", ".txt"})


def _similarity(path: Path) -> tuple[bool, str, str, Path]:
    """Return a sort key that puts the same file of two labels, and texts, side by side."""
    is_text = path.suffix in TEXTS
    without_label = path.name if is_text else "/".join(path.parts[-2:])
    return is_text, path.suffix, without_label, path


def pack(folder: Path, archive: Path) -> None:
    """Write all files and empty folders below ``folder`` to ``archive``, one solid xz stream.

    The result depends on paths, contents and file times only, so packing twice gives the same
    bytes (with the same liblzma).
    """
    found = sorted((path.relative_to(folder) for path in folder.rglob("*")), key=_similarity)
    plain = io.BytesIO()
    times = []
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in found:
            member = tarfile.TarInfo(path.as_posix())
            if (folder / path).is_dir():
                if not any((folder / path).iterdir()):
                    member.type = tarfile.DIRTYPE
                    tar.addfile(member)
                continue
            content = (folder / path).read_bytes()
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
            times.append(f"{(folder / path).stat().st_mtime_ns}\n")
        member = tarfile.TarInfo(TIMES)
        content = "".join(times).encode()
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    data = plain.getvalue()
    # A window over the whole content finds every repeated file, and costs that much memory to read.
    window = max(1 << 20, 1 << (len(data) - 1).bit_length())
    lzma2 = {
        "id": lzma.FILTER_LZMA2,
        "preset": 9 | lzma.PRESET_EXTREME,
        "dict_size": min(window, 1 << 27),
        "nice_len": 273,
    }
    archive.write_bytes(lzma.compress(data, filters=[lzma2]))


def extract(archive: Path, into: Path) -> None:
    """Write the archive's files below ``into`` with their times; runs of zeros become holes.

    Raises:
        tarfile.ReadError, lzma.LZMAError: the archive is damaged.
        ValueError: a member would be outside ``into``, or the times do not fit the members.
    """
    files: list[Path] = []
    times: list[int] = []
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(archive.read_bytes()))) as tar:
        made: set[Path] = set()
        for member in tar:
            target = into / member.name
            if ".." in target.parts or member.name.startswith("/"):
                raise ValueError(f"{archive}: {member.name} lies outside")
            folder = target if member.isdir() else target.parent
            if folder not in made:
                folder.mkdir(parents=True, exist_ok=True)
                made.add(folder)
            if member.isdir():
                continue
            content = tar.extractfile(member)
            assert content is not None
            data = content.read()
            if member.name == TIMES:
                times = [int(line) for line in data.split()]
            else:
                _write_sparse(target, data)
                files.append(target)
    if len(times) != len(files):
        raise ValueError(f"{archive}: {len(files)} files, {len(times)} times")
    for file, time_ns in zip(files, times, strict=True):
        os.utime(file, ns=(time_ns, time_ns))


def _write_sparse(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        if len(data) < 16 * BLOCK_SIZE:
            file.write(data)
            return
        zeros = bytes(BLOCK_SIZE)
        for at in range(0, len(data), BLOCK_SIZE):
            block = data[at : at + BLOCK_SIZE]
            if block != zeros:
                file.seek(at)
                file.write(block)
        file.truncate(len(data))
