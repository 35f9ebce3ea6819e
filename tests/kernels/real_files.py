"""Files of real brokers, the smallest of each case, for the kernels and their twins."""

from collections.abc import Callable, Iterator
from pathlib import Path

from tests.golden.cases import Case

Golden = Callable[[str], Case]

REAL_CASES = (
    "k0.8.2-formats",
    "k0.10.0-formats",
    "k0.10.0-mixed-wrapper",
    "k0.11-transactions",
    "k2.3-message-format",
    "4.2.0-plain-java",
    "4.2.0-compact-txn",
)


def real_files(golden: Golden, largest: int, count: int) -> Iterator[bytes]:
    """Yield the contents of ``count`` files of each case, the smallest that are not empty."""
    for name in REAL_CASES:
        paths = [
            p for p in Path(golden(name).path).rglob("*.log") if 0 < p.stat().st_size <= largest
        ]
        by_size = sorted(paths, key=lambda path: (path.stat().st_size, str(path)))
        for path in by_size[:: max(1, len(by_size) // count)][:count]:
            yield path.read_bytes()
