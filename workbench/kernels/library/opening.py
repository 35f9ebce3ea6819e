"""Open the library: from this package alone, if it is of these texts and for this processor.

A checkout whose texts have changed since its library was built is refused: code that is not what
the text says would run. Where there is no library for a system or a processor, the plain twins run.
"""

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any

from workbench.kernels.library.targets import FILE, PLACE, ROOT, levels


class StaleLibraryError(ImportError):
    """The library was built from other texts."""


class Kernels:
    """The functions of the library, for one level of the processor.

    Attributes:
        level: see `targets.LEVELS`.
    """

    def __init__(self, library: ctypes.CDLL, level: int) -> None:
        self._library = library
        self.level = level

    @property
    def name(self) -> str:
        """The level as LLVM names it."""
        return "".join(levels()[self.level])

    def function(self, name: str) -> Any:
        """Return the C function of an entry."""
        return self._library[f"kernel_{name}_{self.level}"]


@cache
def opened() -> Kernels | str:
    """Return the library, opened once per process; or why the plain twins run.

    A lower level runs if `KAFKA_WORKBENCH_KERNELS` has its name.

    Raises:
        StaleLibraryError: it was built from other texts than those of this checkout.
    """
    is_checkout = (ROOT.parent / "setup.py").is_file()
    try:
        library = ctypes.CDLL(str(PLACE)) if PLACE.is_file() else _out_of_archive(PLACE)
    except OSError as error:
        return f"{PLACE}: {error}"
    if library is None:
        return f"{PLACE} is not there" + (": make env builds it" if is_checkout else "")
    if is_checkout:
        _require_these_texts(library)
    best = library.kernel_level()
    able = {level.cpu: number for number, level in levels().items() if number <= best}
    if not able:
        return f"this processor has less than {' or '.join(each.cpu for each in levels().values())}"
    return Kernels(library, able.get(os.environ.get("KAFKA_WORKBENCH_KERNELS", ""), best))


def is_current() -> bool:
    """Return whether there is a library, of the texts that are there."""
    try:
        _require_these_texts(ctypes.CDLL(str(PLACE)))
    except (ImportError, OSError, ValueError):
        return False
    return True


def _require_these_texts(library: ctypes.CDLL) -> None:
    """Refuse a library of other texts.

    Raises:
        StaleLibraryError: a text differs, or is not there.
    """
    import hashlib  # for a checkout alone: it opens a library of its own

    texts = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library, "kernel_texts")))
    for line in texts.decode().splitlines():
        wanted, name = line.split(" ", 1)
        try:
            found = hashlib.sha256((ROOT / name).read_bytes()).hexdigest()
        except OSError as error:
            found = str(error)
        if found != wanted:
            raise StaleLibraryError(
                f"workbench/{name} has changed since the kernels were compiled: run make env"
            )


def _out_of_archive(place: Path) -> ctypes.CDLL | None:
    """Open the library of a package that Python imports from a zip file; None: there is none.

    The system opens files alone. So the library is written to a folder that is this process's own,
    and removed once it is open.
    """
    import hashlib
    import tempfile

    loader: Any = globals().get("__loader__")
    try:
        data = loader.get_data(str(place))
    except (AttributeError, OSError):
        return None
    name = f"kafka-log-workbench-{hashlib.sha256(data).hexdigest()[:16]}-"
    with tempfile.TemporaryDirectory(prefix=name) as folder:  # with mode 0700
        path = os.path.join(folder, FILE)
        with open(path, "xb") as file:
            file.write(data)
        return ctypes.CDLL(path)
