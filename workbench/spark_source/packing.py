"""Pack what executors need: this workbench and the packages that it imports, as installed here.

Packages have their files; Python itself, Spark and Java are the cluster's own.
"""

import importlib.metadata
import re
import tarfile
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path, PurePath
from typing import Final

from workbench.errors import MissingDependencyError
from workbench.runtime.extras import EXTRAS, missing
from workbench.runtime.several import several

_OURS: Final = "kafka-log-workbench"
_FORMATS: Final = ("workbench", "pyspark_kafka_log")
_UNUSED: Final = frozenset({"include", "tests"})
"""Folders that nothing imports from."""


def pack(path: Path, packages: str | Sequence[str] = ()) -> Path:
    """Write the archive, see `workbench.spark.pack_executors`; a file that is there is replaced.

    Raises:
        MissingDependencyError: a package is not installed.
        OSError: the file cannot be written.
        ValueError: its name does not end as that of an archive that Spark unpacks.
    """
    if not path.name.endswith((".tar.gz", ".tgz")):
        raise ValueError(f"{path} does not end with .tar.gz or .tgz, which Spark unpacks")
    found = distributions(packages)
    here = Path(__file__).parents[2]
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with tarfile.open(unfinished, "w:gz", compresslevel=1) as archive:
            for name, file in sorted(_files(found)):
                archive.add(file, name)
            for folder in _FORMATS:
                archive.add(here / folder, folder, filter=_used)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def distributions(packages: str | Sequence[str]) -> list[Distribution]:
    """Return the workbench, others, and all that they require and this machine has.

    Raises:
        MissingDependencyError: a package that is named is not installed.
    """
    named = several(packages)
    found: dict[str, Distribution] = {}
    waiting = [_OURS, *named]
    while waiting:
        name = waiting.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in found:
            continue
        try:
            found[key] = importlib.metadata.distribution(name)
        except PackageNotFoundError as error:
            if name in named:
                install = f"pip install {name}"
                raise (
                    missing(name) if name in EXTRAS else MissingDependencyError(name, install)
                ) from error
            continue  # of another platform
        wanted = (each for each in found[key].requires or () if "extra ==" not in each)
        waiting.extend(re.split(r"[^\w.-]", each, maxsplit=1)[0] for each in wanted)
    return list(found.values())


def _files(distributions: Sequence[Distribution]) -> Iterator[tuple[str, str]]:
    """Yield the name in the archive and the path of each file but the programs of `bin`."""
    for each in distributions:
        for file in each.files or ():
            where = file.locate()
            is_used = _UNUSED.isdisjoint(file.parts) and file.parts[0] not in (*_FORMATS, "..")
            if is_used and file.suffix != ".pth" and Path(str(where)).is_file():
                yield str(file), str(where)


def _used(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return member if _UNUSED.isdisjoint(PurePath(member.name).parts) else None
