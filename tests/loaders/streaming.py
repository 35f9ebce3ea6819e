"""A program: scan a log directory as a stream and print what it took, as JSON.

Memory is measured over what the process holds once everything is imported and a small log read.
"""

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil

import workbench


class Memory(threading.Thread):
    """Watches how much memory this process holds; `largest` is the most so far.

    The system's own account counts what the process held that started this one.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process()
        self.baseline = self.largest = self._process.memory_info().rss

    def run(self) -> None:
        """Look every few milliseconds."""
        while True:
            self.largest = max(self.largest, self._process.memory_info().rss)
            time.sleep(0.005)


def stream(path: Path, **arguments: Any) -> tuple[int, int]:
    """Scan all columns; return how many records and bytes of Arrow data came."""
    scan = workbench.open_log_directory(path).scan(workers=2, **arguments)
    records = size = 0
    for batch in scan.to_arrow_batch_reader():
        records += batch.num_rows
        size += batch.nbytes
    return records, size


def main(small: str, large: str) -> None:
    """Read the small log, then the large one."""
    stream(Path(small))
    memory = Memory()
    memory.start()
    start = time.perf_counter()
    records, size = stream(Path(large))
    seconds = time.perf_counter() - start
    counted = workbench.open_log_directory(large).scan(workers=2).count()
    parquet = workbench.open_log_directory(large).scan(limit=records // 4, workers=2)
    written = parquet.to_parquet(Path(small).parent / "some.parquet")
    print(  # noqa: T201
        json.dumps(
            {
                "records": records,
                "bytes": size,
                "counted": counted,
                "written": written,
                "seconds": seconds,
                "memory": memory.largest - memory.baseline,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
