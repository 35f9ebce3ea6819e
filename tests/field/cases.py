"""The cases from the field: see the README beside this file."""

import json
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent
NAMES = tuple(sorted(path.parent.name for path in FOLDER.glob("*/CASE.json")))


class FieldCase(NamedTuple):
    """An unpacked case.

    Attributes:
        name: the case's name.
        info: what `CASE.json` says.
        data: the unpacked folder, with file times; a log directory, unless it holds several.
        truth: what `truth.json` says; empty without one.
    """

    name: str
    info: dict[str, Any]
    data: Path
    truth: dict[str, Any]


def open_field_case(name: str, into: Path) -> FieldCase:
    """Unpack a case below ``into``, with the file times.

    Raises:
        FileNotFoundError: no case has this name.
    """
    folder = FOLDER / name
    with tarfile.open(folder / "data.tar.xz") as tar:
        tar.extractall(into / name, filter="fully_trusted")  # noqa: S202 - it is ours
    truth = folder / "truth.json"
    return FieldCase(
        name,
        json.loads((folder / "CASE.json").read_text()),
        into / name / "data",
        json.loads(truth.read_text()) if truth.exists() else {},
    )
