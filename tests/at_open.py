"""A process that changes a folder at a chosen moment: just before one of its files is opened."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


class AtOpen:
    """Does something once, before the file of a number is opened in a folder."""

    def __init__(self) -> None:
        self._folder = ""
        self._left = 0  # files to be opened before
        self._then: Callable[[], object] | None = None
        sys.addaudithook(self._hook)  # cannot be taken away again

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._then is None or event != "open" or not isinstance(arguments[0], str):
            return
        if arguments[0].startswith(self._folder):
            self._left -= 1
            if self._left < 0:
                then, self._then = self._then, None
                then()

    def run(
        self, folder: Path, number: int, then: Callable[[], object], run: Callable[[], object]
    ) -> bool:
        """Run something; return whether it opened so many files, and the other thing was done."""
        self._folder, self._left, self._then = f"{folder}/", number, then
        try:
            run()
            return self._then is None
        finally:
            self._then = None


AT_OPEN = AtOpen()
