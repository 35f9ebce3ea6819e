from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

_MEMORY = Path("/dev/shm")  # noqa: S108  # a file system that needs no disk


@pytest.fixture
def memory_path() -> Iterator[Path]:
    """A folder whose files need no disk: thousands of syncs take no time there."""
    parent = _MEMORY if _MEMORY.is_dir() else None
    with TemporaryDirectory(prefix="engine-", dir=parent) as path:
        yield Path(path)
