"""Log managers for tests: a clock that is moved by hand, and disks that fail on demand."""

import errno
import os
from pathlib import Path
from typing import Any

from workbench.file_system.local import DirectoryLock, File, FileSystem
from workbench.log_manager.manager import LogManager
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler
from workbench.runtime.steps import Step

NOW = 1_700_000_000_000
INITIAL_DELAY = 30_000  # ms; log.initial.task.delay.ms


class Managed:
    """A log manager with its clock and the steps that it reported.

    Attributes:
        manager: to be started by the test.
        clock: moves by hand.
        steps: everything that was reported.
    """

    def __init__(self, *directories: Path | str, config: Any = None, **options: Any) -> None:
        self.clock = ManualClock(NOW)
        self.steps: list[Step] = []
        self.manager = LogManager(
            directories,
            {"num.recovery.threads.per.data.dir": 1, **(config or {})},
            clock=self.clock,
            scheduler=ManualScheduler(self.clock),
            observer=self.steps.append,
            **options,
        )

    def kinds(self) -> list[str]:
        """Return the kinds of all steps."""
        return [step.kind for step in self.steps]


class FailingDirectories(FileSystem):
    """A file system on which chosen directories fail: whatever changes something in them.

    Attributes:
        failing: their paths.
    """

    def __init__(self, *failing: Path | str) -> None:
        self.failing = {str(path) for path in failing}

    def check(self, path: str) -> None:
        """Raise the error of a broken disk if a path is in a directory that fails."""
        if any(path == each or path.startswith(f"{each}/") for each in self.failing):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    def open(self, path: str) -> File:
        return _FailingFile(path, self)

    def create(self, path: str) -> File:
        self.check(path)
        return super().create(path)

    def list(self, path: str) -> Any:
        self.check(path)
        return super().list(path)

    def rename(self, old: str, new: str) -> None:
        self.check(old)
        super().rename(old, new)

    def remove(self, path: str) -> None:
        self.check(path)
        super().remove(path)

    def make_directory(self, path: str) -> None:
        self.check(path)
        super().make_directory(path)

    def sync_directory(self, path: str) -> None:
        self.check(path)
        super().sync_directory(path)

    def lock(self, path: str) -> DirectoryLock:
        self.check(path)
        return super().lock(path)


class _FailingFile(File):
    def __init__(self, path: str, fs: FailingDirectories) -> None:
        super().__init__(path)
        self._fs = fs

    def write(self, data: Any, position: int) -> None:
        self._fs.check(self.path)
        super().write(data, position)

    def sync(self) -> None:
        self._fs.check(self.path)
        super().sync()


def files_of(folder: Path) -> list[str]:
    """Return the names in a folder, sorted."""
    return sorted(path.name for path in folder.iterdir())


def records(count: int, size: int = 10) -> list[tuple[bytes | None, bytes | None]]:
    """Return records for one batch."""
    return [(None, b"v" * size)] * count
